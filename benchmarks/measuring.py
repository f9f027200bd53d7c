"""What all benchmarks share: timing one thing against another, medians and ratios with their spread, tables.

Bare times say little on a busy machine. So things that are compared are run in turns, each round gives one ratio, and
the median of the ratios is shown with its range.
What does not live here: what is measured.
"""
from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchkit.reports.columns import left, right
from benchkit.reports.columns import table as aligned
from benchkit.running.environment import CPUINFO, processor

ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds the doors."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of some figures, and the range they lie in."""

    middle: float
    low: float
    high: float


def spread(figures: Sequence[float]) -> Spread:
    """Median and range. Raises ValueError where there are no figures."""
    if not figures:
        raise ValueError("no figures have no middle")
    return Spread(median(figures), min(figures), max(figures))


def ratios(figures: Sequence[float], against: Sequence[float]) -> Spread:
    """How many times the other each figure is, round by round. Raises ValueError unless both have as many rounds."""
    return spread([one / other for one, other in zip(figures, against, strict=True)])


def in_turns(things: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each thing gave in each round; every round runs all of them, and begins with another one.

    What slows the machine down for a while so falls on all of them alike.
    """
    found: dict[str, list[float]] = {name: [] for name in things}
    names = list(things)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(things[name]())
    return found


def seconds_of(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call takes."""
    start = clock()
    call()
    return clock() - start


def command_seconds(command: Sequence[str | Path], folder: Path, codes: Sequence[int] = (0,)) -> float:
    """How long a process takes from start to end, its output read and dropped.

    Raises RuntimeError with its last words if it ends with another exit code: the time of a failure measures nothing.
    """
    start = time.perf_counter()
    ended = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    took = time.perf_counter() - start
    if ended.returncode not in codes:
        said = ended.stderr.decode(errors="replace")[-500:]
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {ended.returncode}: {said}")
    return took


def ratio_text(found: Spread, digits: int = 2) -> str:
    """A ratio and its range: `1.31 (1.28 to 1.40)`."""
    return f"{found.middle:,.{digits}f} ({found.low:,.{digits}f} to {found.high:,.{digits}f})"


def machine_line(date: str | None = None) -> str:
    """Where and when a table was made, in a line: date, processors, system, Python."""
    day = date if date is not None else time.strftime("%Y-%m-%d", time.gmtime())
    return (f"{day}, {os.cpu_count()} x {processor(CPUINFO)}, {platform.system()} {platform.release().split('-')[0]}, "
            f"{platform.python_implementation()} {platform.python_version()}")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, titles first; the first column stands to the left, figures to the right."""
    columns = [left(titles[0]), *(right(title) for title in titles[1:])]
    return "\n".join(aligned(columns, rows))
