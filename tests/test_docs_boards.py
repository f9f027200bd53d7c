"""docs/boards.md held against the program: its tables say what the code says, and its commands run, offline."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path

import packs.early_warning as pack
from benchkit.boards import batch, job, scores, trace_check
from benchkit.boards.board_document import board_document
from benchkit.boards.trace_events import KNOWN_EVENT_TYPES
from benchkit.boards.trace_invariants import INVARIANTS
from benchkit.boards.usage import CACHE_ONLY, NO_REPLY, NOT_REPORTED
from benchkit.render.as_html import as_html
from tests.commands import HANGS_S, put_python3
from tests.sample_board import sample_board
from tests.workflow import typed_in

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "boards.md").read_text(encoding="utf-8")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "runs", "recorded", "tests", "benchmarks", "_llm_cache")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def table(first: str, section: str = "") -> list[list[str]]:
    """The rows of the table whose first title this is, in a section (empty: the first in the file)."""
    start = TEXT.index(f"\n## {section}\n" if f"\n## {section}\n" in TEXT else f"\n### {section}\n") if section else 0
    start = TEXT.index(f"\n| {first} |", start)
    lines = TEXT[start + 1:].split("\n\n", 1)[0].split("\n")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def quoted(cells: Iterable[str]) -> list[str]:
    """The names in code in some cells, in order."""
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


class TheTables(unittest.TestCase):
    def test_every_event_type_stands_there_with_the_keys_of_its_data_and_what_they_hold(self) -> None:
        told = {quoted([kind])[0]: dict(re.findall(r"`(\w+)` \(([^)]*)\)", keys)) for kind, keys in table("type")}
        self.assertEqual(told, {kind: dict(keys) for kind, keys in KNOWN_EVENT_TYPES.items()})
        self.assertEqual(list(told), list(KNOWN_EVENT_TYPES))

    def test_every_invariant_of_the_trace_stands_there(self) -> None:
        self.assertEqual([row[0].replace("`", "") for row in table("invariant")], list(INVARIANTS))
        for line in ("trace self-consistent", "trace invariant violations: N"):
            self.assertIn(f"`{line}`", TEXT)
        self.assertEqual(trace_check.Verification(0, 0, 0, ()).headline, "trace self-consistent")

    def test_every_field_of_batch_json_and_every_status_stands_there(self) -> None:
        fields = quoted(row[0] for row in table("field", "batch.json"))
        self.assertEqual(set(fields), set(batch._FIELDS))
        self.assertEqual(quoted(row[0] for row in table("status", "The batch")), list(batch.STATUSES))

    def test_every_file_of_a_batch_stands_there(self) -> None:
        self.assertEqual(set(quoted(row[0] for row in table("file", "The batch"))), {
            batch.BATCH, batch.CASES, batch.RESPONSES, batch.TRACE, batch.EVAL, batch.BOARD_MARKDOWN,
            batch.BOARD_HTML})

    def test_every_field_of_a_judged_row_stands_there(self) -> None:
        self.assertEqual(set(quoted(row[0] for row in table("field", "eval.jsonl"))), set(scores._FIELDS))

    def test_every_key_of_a_job_stands_there_with_its_default(self) -> None:
        told = {name for name in quoted(row[0] for row in table("key", "The job")) if not name.startswith("[")}
        self.assertEqual(told, {*job._JOB, *job._PACK, *job._TASK})
        normal, text = job.BatchGate(), TEXT.replace("\n", " ")
        for name in ("least_questions", "most_one_answer", "most_blind_score"):
            self.assertIn(f"`{name}` ({getattr(normal, name):g})", text)
        self.assertIn(f"`timeout_s` of one request ({job.JobLimits().timeout_s:g})", text)

    def test_every_track_of_the_example_pack_stands_there_in_its_own_words(self) -> None:
        kinds = {"capability": "capability", "hard gate": "gate"}
        told = [(quoted([name])[0], kinds[kind], says, says_not) for name, kind, says, says_not in table("track")]
        self.assertEqual(told, [(one.name, one.kind, one.measures, one.measures_not) for one in pack.tracks])

    def test_the_sections_of_the_board_stand_there_in_their_order(self) -> None:
        titles = re.findall(r"<h2[^>]*>(.*?)</h2>", "".join(as_html(board_document(sample_board(hostile=False)))))
        told = [name for row in table("section") for name in re.split(r", (?=[A-Z])", row[0])]
        self.assertEqual(told, ["first line", *titles])

    def test_both_words_for_no_tokens_stand_there(self) -> None:
        self.assertEqual(quoted(row[0] for row in table("word", "Cost")), [CACHE_ONLY, NOT_REPORTED, NO_REPLY])

    def test_every_flag_of_a_run_stands_there(self) -> None:
        import board
        commands = next(one for one in board.parser()._actions if one.choices)
        flags = {flag for action in commands.choices["run"]._actions for flag in action.option_strings}  # type: ignore[index]
        told = {name.split(" ")[0] for name in quoted(row[0] for row in table("flag"))}
        self.assertEqual(told, flags - {"-h", "--help", "--version", "--quiet"})

    def test_every_link_leads_to_a_heading(self) -> None:
        headings = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
                    for title in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)}
        links = re.findall(r"\]\(#([^)]+)\)", TEXT)
        self.assertGreater(len(links), 10)
        self.assertLessEqual(set(links), headings)


@unittest.skipUnless(shutil.which("sh"), "the commands are for a POSIX shell")
class TheCommands(unittest.TestCase):
    def test_they_run_one_after_the_other_in_a_fresh_copy_without_a_model(self) -> None:
        self.assertGreater(len(BLOCKS), 6)
        with tempfile.TemporaryDirectory() as folder:
            home, tools = Path(folder) / "kit", Path(folder) / "tools"
            shutil.copytree(ROOT, home, ignore=LEFT_OUT)
            for path in (home / "jobs").glob("*.toml"):
                # half of the questions, once each: the commands are the same
                text = path.read_text(encoding="utf-8").replace("count = 24", "count = 12")
                path.write_text(text.replace("trials = 3", "trials = 1"), encoding="utf-8")
            put_python3(tools)
            surroundings = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "OLLAMA_HOST": "127.0.0.1:1"}
            for block in BLOCKS:
                lines = block.splitlines()
                with self.subTest(block=block):
                    if all(re.fullmatch(r"python3 board\.py [\w./,:= -]+", line) for line in lines):
                        for line in lines:  # what needs no shell is typed in this process
                            told = typed_in(home, *shlex.split(line)[1:])
                            self.assertEqual(told.code, 0, told.stderr)
                        continue
                    done = subprocess.run(["sh", "-euc", block], cwd=home, env=surroundings, capture_output=True,
                                          encoding="utf-8", timeout=HANGS_S, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr[-2_000:])
                    self.assertNotIn("Traceback", done.stderr)
