"""What all benchmarks share: timing one thing against another, medians and ratios with their spread, tables.

Bare times say little on a busy machine. So things that are compared are run in turns, each round gives one ratio, and
the median of the ratios is shown with its range.
"""
from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchkit.disk.machine import CPUINFO, processor

Found = TypeVar("Found")
ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds the commands."""
# a process begins with the peak memory of the one that started it, until exec: so a small one starts what is measured
_LAUNCHER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
took = time.perf_counter() - start
print(os.waitstatus_to_exitcode(status), took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


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


def in_turns(things: Mapping[str, Callable[[], Found]], rounds: int) -> dict[str, list[Found]]:
    """What each thing gave in each round; every round runs all of them, and begins with another one.

    What slows the machine down for a while so falls on all of them alike.
    """
    found: dict[str, list[Found]] = {name: [] for name in things}
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


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: seconds on the wall, seconds of processor time, and the most memory (resident set)."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def cost_of(command: Sequence[str | Path], folder: Path, codes: Sequence[int] = (0,)) -> Cost:
    """Run a process to its end, its output dropped, without the caller's PYTHON* variables. It needs a POSIX system.

    Begin commands with `sys.executable`: a `python3` that is a script of a version manager takes longer than the rest.
    Raises RuntimeError with its last words if it ends with another exit code: a failure measures nothing.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    words = [str(word) for word in command]
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", _LAUNCHER, *words], cwd=folder, env=kept, check=False,
                           capture_output=True, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise RuntimeError(f"{words[0]}: it cannot be started: {ended.stderr.decode(errors='replace')[-500:]}")
    code, wall_s, cpu_s, peak = ended.stdout.split()
    if int(code) not in codes:
        last = ended.stderr[-500:].decode(errors="replace")
        raise RuntimeError(f"{' '.join(words)}: exit code {int(code)}: {last}")
    return Cost(float(wall_s), float(cpu_s), int(peak) * (1 if sys.platform == "darwin" else 1024))


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
    lines = [titles, *rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  " + "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in
                                      enumerate(zip(line, widths, strict=True))).rstrip() for line in lines)
