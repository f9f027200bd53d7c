"""What shards and merges cost here: merged trials a second, bytes a trial, memory for each planned cell.

    python3 -m benchmarks.merge_rate                  a quarter of a minute; simulate_fleet takes its figures as given
    python3 -m benchmarks.merge_rate --rounds 3       fewer rounds

Real logs are made by `bench.py --shard` with a system that answers at once, in a scratch folder (TMPDIR says where),
and merged by `bench.py --merge`: two sizes in turns, so that the rate is a slope, without the start of Python. It is
processor time, for that depends least on what else goes on. Beside it stands `json.loads` over the lines of the same
logs, in this process. It needs a POSIX system.
Exit code 0, or 1 if a tree of merges does not give the bytes of one merge.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.measuring import (
    ROOT,
    cost_of,
    in_turns,
    machine_line,
    ratio_text,
    ratios,
    seconds_of,
    spread,
    table,
)

SYSTEM = '''"""Answers at once, with a text of the length that answers have."""
from benchkit.basics.values import Reply


class Quick:
    def open(self):
        return {"server": None}

    def settings(self):
        return {"kind": "quick"}

    def warm(self):
        return 0.0

    def answer(self, request):
        return Reply(f"{request.case} {request.trial} " + "x" * 200)

    def close(self):
        pass


def system(name, options):
    return Quick()
'''
TASK = '''"""Nothing is asked, and any answer is right."""
NAME, VERSION = "quick", "1"


def messages(case):
    return [{"role": "user", "content": case.input}]


def schema():
    return None


def check(case, output):
    return {"answered": bool(output)}
'''
CASES = 64
SMALL, LARGE = 32, 157
"""Trials of each case in the small and the large run: 2,048 and 10,048 cells."""
SHARDS = 10
SPARSE = 65_535
"""Shards of a run of which two are run: its plan is large, and what is recorded of it is little."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A scratch folder that holds a task, cases and a system."""

    path: Path

    def prepare(self) -> None:
        """Write what a run needs."""
        cases: list[dict[str, object]] = [
            {"id": f"case-{number:04}", "split": "development", "input": "x", "expected": None, "tags": []}
            for number in range(CASES)]
        (self.path / "cases.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
        (self.path / "quick_task.py").write_text(TASK, encoding="utf-8")
        (self.path / "quick_system.py").write_text(SYSTEM, encoding="utf-8")

    def bench(self, *flags: str) -> list[str]:
        """The command of bench.py with these flags."""
        return [sys.executable, str(ROOT / "bench.py"), *flags]

    def shard(self, trials: int, index: int, of: int) -> list[str]:
        """The command that runs a shard."""
        return self.bench("--system", "quick_system:x", "--task", "quick_task", "--cases", "cases.json", "--trials",
                          str(trials), "--shard", f"{index}/{of}", "--log", f"{trials}-{index}.jsonl", "--quiet")

    def merge(self, logs: Sequence[str], out: str) -> float:
        """Merge logs; seconds of processor time."""
        (self.path / out).unlink(missing_ok=True)
        return cost_of(self.bench("--merge", *logs, "--log", out), self.path).cpu_s


def logs_of(trials: int, indexes: Sequence[int]) -> list[str]:
    """The names of the logs of a run."""
    return [f"{trials}-{index}.jsonl" for index in indexes]


def rates(folder: Folder, rounds: int) -> list[list[str]]:
    """Merged trials a second, against json.loads over the same lines, and bytes a trial."""
    indexes = range(1, SHARDS + 1)
    for trials in (SMALL, LARGE):
        for index in indexes:
            cost_of(folder.shard(trials, index, SHARDS), folder.path)
    lines = [line for name in logs_of(LARGE, indexes) for line in (folder.path / name).read_bytes().splitlines()]
    things: dict[str, Callable[[], float]] = {
        "small": partial(folder.merge, logs_of(SMALL, indexes), "small.jsonl"),
        "large": partial(folder.merge, logs_of(LARGE, indexes), "large.jsonl"),
        "json": lambda: seconds_of(lambda: [json.loads(line) for line in lines], time.process_time),
    }
    found = in_turns(things, rounds)
    cells = CASES * (LARGE - SMALL)
    slopes = [large - small for large, small in zip(found["large"], found["small"], strict=True)]
    whole_json = [took * cells / (CASES * LARGE) for took in found["json"]]
    size = (folder.path / "large.jsonl").stat().st_size - (folder.path / "small.jsonl").stat().st_size
    return [
        ["merged trials a second of processor time", ratio_text(spread([cells / slope for slope in slopes]), 0)],
        ["the same, against json.loads over the lines", ratio_text(ratios(slopes, whole_json))],
        ["bytes a trial in the log (answers of 200 characters)", f"{size / cells:,.0f}"],
    ]


def memory(folder: Folder) -> list[list[str]]:
    """Bytes of memory for each planned cell, by slope between a plan of 10^6 and one of 10^7 cells."""
    few, many = 10**6 // CASES, 10**7 // CASES
    peaks: dict[str, list[int]] = {"a shard": [], "a shard that goes on": [], "a merge": [], "a merge of a merge": []}
    for trials in (few, many):
        cost_of(folder.shard(trials, 1, SPARSE), folder.path)
        shard = folder.shard(trials, 2, SPARSE)
        merge = folder.bench("--merge", *logs_of(trials, (1, 2)), "--log", f"{trials}-merged.jsonl")
        again = folder.bench("--merge", f"{trials}-merged.jsonl", "--log", f"{trials}-again.jsonl")
        for what, command in zip(peaks, (shard, shard, merge, again), strict=True):
            peaks[what].append(cost_of(command, folder.path).peak_bytes)
    cells = CASES * (many - few)
    return [[f"bytes of memory for each planned cell: {what}", f"{max(0, large - small) / cells:.1f}"]
            for what, (small, large) in peaks.items()]


def tree_is_flat(folder: Folder) -> bool:
    """Whether merges of merges give the bytes of one merge."""
    halves = (range(1, SHARDS // 2 + 1), range(SHARDS // 2 + 1, SHARDS + 1))
    for name, indexes in zip(("left.jsonl", "right.jsonl"), halves, strict=True):
        folder.merge(logs_of(SMALL, indexes), name)
    folder.merge(["left.jsonl", "right.jsonl"], "tree.jsonl")
    return (folder.path / "tree.jsonl").read_bytes() == (folder.path / "small.jsonl").read_bytes()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.merge_rate", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=7, help="how often each merge is timed (default %(default)s)")
    options = flags.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.prepare()
        rows = [*rates(folder, max(1, options.rounds)), *memory(folder)]
        is_flat = tree_is_flat(folder)
    print(table(["what shards and merges cost", "median (range)"], rows))
    print(f"\na merge of merges has the bytes of one merge: {'yes' if is_flat else 'NO'}")
    print(f"{machine_line()}\nagain: python3 -m benchmarks.merge_rate --rounds {options.rounds}")
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
