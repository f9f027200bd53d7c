"""Do the tests bite? Mutants of the kit, made by hand: each breaks one promise, and a test must kill it.

    python3 -m tests.mutants

A copy of the tree is changed in one place, and the tests named for it are run there: first on an unchanged copy,
where they must pass, then on the mutant, where one must fail. Then the same with a part of the campaign, for those of
the log. One line a mutant says which test killed it and which part; exit code 1 if one lives.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", "__pycache__", ".mypy_cache", ".ruff_cache", "recorded", "runs")
CAMPAIGN_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Mutant:
    """One promise broken: in a file, a text that stands there once is another.

    `part` of the campaign kills it, too; None for what the campaign does not play.
    """

    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    part: str | None = None


WRITER, APPENDING = "benchkit/trial_log/writer.py", "benchkit/disk/appending.py"
MUTANTS = (
    Mutant("a torn tail is not closed", WRITER,
           '            self._file.append(b"\\n")\n            log = self.read()\n', "            pass\n",
           ("tests.test_trial_log_writer.CutAnywhere",), "cuts"),
    Mutant("the checksum is not checked", "benchkit/basics/json_text.py",
           """closing == b',"sum":"' + sha256_hex(body)[:16].encode("ascii") + b'"}'""",
           """closing[:8] == b',"sum":"' and closing[24:] == b'"}'""",
           ("tests.test_basics_json_text", "tests.test_trial_log_reader.Damaged"), "altered lines"),
    Mutant("acknowledged before the sync", APPENDING,
           "        self.write(data)\n        self.sync()\n", "        self.sync()\n        self.write(data)\n",
           ("tests.test_disk_appending", "tests.test_trial_log_writer.FailingDisks"), "power cuts (stand-in)"),
    Mutant("a sync that fails is swallowed", APPENDING,
           "            self._calls.sync(self._fd)\n        except OSError as error:\n"
           "            self._lost(error)\n",
           "            self._calls.sync(self._fd)\n        except OSError:\n            pass\n",
           ("tests.test_disk_appending", "tests.test_trial_log_writer.FailingDisks"), "sync that fails"),
    Mutant("a short write is taken for a whole one", APPENDING,
           "                view = view[count:]\n", "                break\n",
           ("tests.test_disk_appending",), "writes in small pieces"),
    Mutant("a torn tail is cut off", WRITER,
           '            self._file.append(b"\\n")\n',
           "            import os\n            os.truncate(self._path, log.size)\n"
           "            self._file.size = log.size\n",
           ("tests.test_trial_log_writer.CutAnywhere",), "cuts"),
    Mutant("resuming ignores what is there", "benchkit/running/plan.py",
           "        if selection.holds(cell) and is_left(log, cell, changes, selection):\n",
           "        if selection.holds(cell):\n",
           ("tests.test_running_plan", "tests.test_running_session"), "kills"),
    Mutant("no lock", APPENDING,
           "                    calls.lock(fd)\n", "                    pass\n",
           ("tests.test_disk_appending", "tests.test_trial_log_writer.TwoWriters"), "two writers at once"),
    Mutant("findings rest on the judged trials alone", "benchkit/reports/comparison.py",
           "p_worst=worst_paired_p(counts) if is_incomplete else p,", "p_worst=p,",
           ("tests.test_reports_comparison.AgainstReferenceValues", "tests.test_benchmarks_false_findings")),
    Mutant("a reply that the server broke off counts as an answer", "benchkit/network/openai_protocol.py",
           "        if self._finish.casefold() not in _ENDS:\n", "        if not self._finish:\n",
           ("tests.test_network_replies", "tests.test_command_openai")),
    Mutant("truths are looked for in the trials alone that a board samples", "benchkit/boards/trace_check.py",
           "        for what in self._asked.exposed_in(segment, game):\n",
           "        for what in self._asked.exposed_in(segment, game) if segment.key.cell.trial == 1 else ():\n",
           ("tests.test_boards_publish",)),
)


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """A copy of all that the tests need."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield tree


def change(tree: Path, mutant: Mutant) -> None:
    """Make the mutant. Raises LookupError where its text does not stand exactly once."""
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise LookupError(f"{mutant.file}: {text.count(mutant.old)} times there: {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8", newline="\n")


def run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module in the copy."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run([sys.executable, "-m", *words], cwd=tree, env=kept, capture_output=True, text=True,
                          check=False, timeout=600)


def failed_test(tree: Path, tests: Sequence[str]) -> str | None:
    """The first test that fails; None if all pass."""
    done = run(tree, "unittest", "--failfast", *tests)
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAIL|ERROR): \S+ \(([\w.]+)\)", done.stderr, re.MULTILINE)
    return found.group(1) if found else f"no test, but this: {done.stderr.strip()[-200:]}"


def broken_part(tree: Path, part: str) -> str | None:
    """What the part of the campaign found first; None if all held."""
    done = run(tree, "tests.campaign", "--rounds", str(CAMPAIGN_ROUNDS), "--only", part)
    found = re.search(r"^    (\w+: .*)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and found:
        return f"{part} ({found.group(1)[:100]})"
    return "skipped here" if ": skipped, " in done.stdout else None


def verdict_on(mutant: Mutant) -> tuple[bool, str]:
    """Whether the mutant is dead, and a line that says by which test and which part."""
    with copy_of_tree() as tree:
        change(tree, mutant)
        test = failed_test(tree, mutant.tests)
        part = None if mutant.part is None else broken_part(tree, mutant.part)
    is_dead = test is not None and (mutant.part is None or part is not None)
    line = f"{mutant.breaks}: killed by {test or 'NO TEST'}"
    return is_dead, line if mutant.part is None else (
        f"{line}\n    and by the campaign: {part or f'NOT BY {mutant.part}'}")


def main() -> int:
    """All mutants; 1 if one lives, or if the sound kit does not pass the tests that are to kill them."""
    with copy_of_tree() as tree:
        failed = failed_test(tree, sorted({test for mutant in MUTANTS for test in mutant.tests}))
    if failed:
        print(f"the kit as it is fails {failed}, so nothing can be said of mutants")
        return 1
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        verdicts = list(pool.map(verdict_on, MUTANTS))
    print(*(line for _is_dead, line in verdicts), sep="\n")
    print(f"{sum(is_dead for is_dead, _line in verdicts)} of {len(MUTANTS)} mutants are dead")
    return 0 if all(is_dead for is_dead, _line in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
