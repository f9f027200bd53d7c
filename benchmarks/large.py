"""What becomes of the cost of a trial as runs grow to a million: time and memory of every stage of the workflow.

    python3 -m benchmarks.large                          1,000 to 1,000,000 trials: half an hour, 4 GB in TMPDIR
    python3 -m benchmarks.large --sizes 1000 10000 100000   three minutes

Synthetic logs (synthetic.py) of 1,000 cases are read, converted, judged into lines, reported, digested and merged by
the commands, each a process of its own. Time a trial is a slope from the smallest size on, without the start of Python;
growth is against the second size. Memory a trial is the slope of the peak between the two largest sizes. Beside it
stands the scan by which a run resumes, against `json.loads` over the same lines. It needs a POSIX system.
Exit code 0, or 1 if time a trial grows by more than 1.1 from the second to the largest size, memory by more than 64
bytes a trial, the scan takes more than twice `json.loads`, or the page is larger than 20 MB.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchkit.trial_log.reader import read_log
from benchmarks.measuring import ROOT, Cost, cost_of, machine_line, ratio_text, ratios, seconds_of, table
from benchmarks.synthetic import many_cases, put_cases, put_log

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CASES = 1_000
MOST_GROWTH, MOST_BYTES, MOST_SCAN, MOST_PAGE = 1.1, 64.0, 2.0, 20_000_000
STAGES: Mapping[str, Sequence[str]] = {
    "status": ("bench.py", "--log", "LOG", "--status"),
    "convert": ("bench.py", "--log", "LOG", "--convert", "N.json"),
    "judge": ("harness.py", "run", "--cases", "cases.json", "--system", "replay:LOG", "--out", "N-run.jsonl"),
    "report": ("report.py", "N-run.jsonl", "--out", "N-report.json"),
    "report and page": ("report.py", "N-run.jsonl", "--html", "N.html"),
    "digests": ("outputs_digest.py", "LOG"),
    "merge": ("bench.py", "--merge", "LOG", "--log", "N-merged.jsonl"),
}
TOGETHER = ("convert", "judge", "report")


@dataclass(frozen=True, slots=True)
class Workflow:
    """What the stages took, by size: one cost for each round."""

    costs: Mapping[int, Mapping[str, Sequence[Cost]]]

    def microseconds(self, stage: str, size: int) -> float:
        """Processor time a trial: the slope from the smallest size on; medians of rounds."""
        first = min(self.costs)
        took = self._cpu_s(stage, size) - self._cpu_s(stage, first)
        return took / (size - first) * 1e6

    def bytes_a_trial(self, stage: str) -> float:
        """The slope of the peak of memory between the two largest sizes; below 0 where it does not grow."""
        small, large = sorted(self.costs)[-2:]
        peaks = [median(cost.peak_bytes for cost in self.costs[size][stage]) for size in (small, large)]
        return (peaks[1] - peaks[0]) / (large - small)

    def peak(self, stage: str, size: int) -> int:
        """The most memory of any round, in bytes."""
        return max(cost.peak_bytes for cost in self.costs[size][stage])

    def _cpu_s(self, stage: str, size: int) -> float:
        return median(cost.cpu_s for cost in self.costs[size][stage])


def command_of(stage: str, size: int) -> list[str]:
    """The command of a stage, its files named after the size."""
    cli, *words = STAGES[stage]
    return [sys.executable, str(ROOT / cli),
            *(word.replace("LOG", f"{size}.jsonl").replace("N", str(size), 1) if word != "run" else word
              for word in words)]


def run_size(folder: Path, size: int, rounds: int) -> dict[str, list[Cost]]:
    """Run every stage on a log of so many trials, several times."""
    costs: dict[str, list[Cost]] = {stage: [] for stage in STAGES}
    for _ in range(rounds):
        for made in ("{}.json", "{}-run.jsonl", "{}-merged.jsonl"):
            (folder / made.format(size)).unlink(missing_ok=True)
        for stage in STAGES:
            costs[stage].append(cost_of(command_of(stage, size), folder))
    return costs


def scan_ratio(path: Path, rounds: int) -> tuple[float, str]:
    """Reading a log against json.loads over its lines, in this process: the middle ratio, and its text."""
    def loads() -> None:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)

    scans = [seconds_of(lambda: read_log(path), time.process_time) for _ in range(rounds)]
    found = ratios(scans, [seconds_of(loads, time.process_time) for _ in range(rounds)])
    return found.middle, ratio_text(found)


def time_rows(workflow: Workflow) -> list[list[str]]:
    """Microseconds a trial, by size; and what the stages that follow a recording come to together."""
    sizes = sorted(workflow.costs)[1:]
    rows = [
        [
            stage,
            *(f"{workflow.microseconds(stage, size):.1f}" for size in sizes),
            f"{workflow.microseconds(stage, sizes[-1]) / workflow.microseconds(stage, sizes[0]):.2f}",
        ]
        for stage in STAGES
    ]
    return [*rows, ["convert + judge + report", *(f"{together(workflow, size):.1f}" for size in sizes),
                    f"{growth(workflow):.2f}"]]


def together(workflow: Workflow, size: int) -> float:
    """Microseconds a trial from a log to its report."""
    return sum(workflow.microseconds(stage, size) for stage in TOGETHER)


def growth(workflow: Workflow) -> float:
    """How much more a trial costs at the largest size than at the second."""
    sizes = sorted(workflow.costs)
    return together(workflow, sizes[-1]) / together(workflow, sizes[1])


def memory_rows(workflow: Workflow) -> list[list[str]]:
    """Peak of memory by size in MB, and bytes a trial."""
    sizes = sorted(workflow.costs)
    return [
        [stage, *(f"{workflow.peak(stage, size) / 1e6:.0f}" for size in sizes), f"{workflow.bytes_a_trial(stage):.1f}"]
        for stage in STAGES
    ]


def broken(workflow: Workflow, scan: float, page_bytes: int) -> list[str]:
    """Which promises do not hold, in words."""
    said = (
        []
        if growth(workflow) <= MOST_GROWTH
        else [f"a trial costs {growth(workflow):.2f} times as much in a large run"]
    )
    said += [f"{stage} takes {workflow.bytes_a_trial(stage):.1f} bytes of memory a trial" for stage in STAGES
             if workflow.bytes_a_trial(stage) > MOST_BYTES]
    said += [f"the scan takes {scan:.2f} times json.loads"] if scan > MOST_SCAN else []
    return said + ([f"the page has {page_bytes:,} bytes"] if page_bytes > MOST_PAGE else [])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.large", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="at least three, multiples of 1,000")
    flags.add_argument("--rounds", type=int, default=5, help="of every size but the largest, which runs once")
    options = flags.parse_args(argv)
    sizes = sorted(set(options.sizes))
    if len(sizes) < 3 or any(size < CASES or size % CASES for size in sizes):
        flags.error("--sizes: give at least three, each a multiple of 1,000")
    with tempfile.TemporaryDirectory() as name:
        folder, cases = Path(name), many_cases(CASES)
        put_cases(folder / "cases.json", cases)
        costs: dict[int, dict[str, list[Cost]]] = {}
        for size in sizes:
            put_log(folder / f"{size}.jsonl", cases, size // CASES)
            costs[size] = run_size(folder, size, options.rounds if size <= 10_000 else 1)
        workflow = Workflow(costs)
        scan, scan_text = scan_ratio(folder / f"{sizes[-2]}.jsonl", options.rounds)
        page_bytes = (folder / f"{sizes[-1]}.html").stat().st_size
    shown = [f"{size:,}" for size in sizes]
    print(table(["microseconds of a processor a trial", *shown[1:], "growth"], time_rows(workflow)))
    print()
    print(table(["peak of memory, MB", *shown, "bytes a trial"], memory_rows(workflow)))
    print(f"\nreading a log of {sizes[-2]:,} trials to resume, against json.loads over its lines: {scan_text}")
    print(f"the page of {sizes[-1]:,} trials: {page_bytes / 1e6:.1f} MB")
    said = broken(workflow, scan, page_bytes)
    print("\n".join(["", *(f"NOT AS PROMISED: {text}" for text in said)]))
    print(f"{machine_line()}\nagain: python3 -m benchmarks.large --sizes {' '.join(map(str, sizes))}")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
