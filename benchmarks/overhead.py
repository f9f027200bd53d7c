"""What a trial costs beside its server: one at a time, 8 at once, and where there is nothing to wait for.

    python3 -m benchmarks.overhead                     about three minutes
    python3 -m benchmarks.overhead --rounds 9          more rounds, narrower ranges
    python3 -m benchmarks.overhead --kit ../before     the commands of another folder, for a comparison

Every figure is a slope: a run of few trials and one of many are subtracted, so that start-up and the end of a run do
not count. Each round has all runs in turns.

The server is a process of its own that thinks for a set time over each answer, and says how long it was at work: from
the first byte of a request to the last of its answer, summed over chats, and over the looks that follow each of them.
One at a time, the wall time of a trial is compared with that; 8 at once, the trials of a second with the ideal, which
is 8 chats under way at every moment and nothing else done. A bare client (bare_client.py) asks the same of the server,
writes a line and syncs it, and does nothing else: no client of this kind can come below it. Where there is nothing to
wait for, a baseline answers at once, on the disk of --folder, and again with the sync to the disk left out: the
difference is the share of the sync. Processor time is the kit's own, of its process alone. It needs a POSIX system.
Exit code 0.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import (
    ROOT,
    Cost,
    Spread,
    cost_of,
    in_turns,
    machine_line,
    ratio_text,
    ratios,
    spread,
    table,
)

AT_ONCE, DEFAULT_ROUNDS, DEFAULT_SECONDS = 8, 5, 0.05
ONE, MANY = "one at a time", f"{AT_ONCE} at once"
LEAST = "a bare client"
INSTANT, UNSYNCED = "no server", "no server, no sync"
MODEL, BASELINE = "ollama:benchmark", "baselines:constant"
WITHOUT_SYNC = """import os, runpy, sys
os.fsync = os.fdatasync = lambda fd: None
sys.path.insert(0, os.path.dirname(sys.argv[1]))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""A command on a machine on which a sync does nothing."""


@dataclass(frozen=True, slots=True)
class Slope:
    """What a trial took, in seconds: on the wall, of the kit's processor, in the server over chats and over looks."""

    wall_s: float
    cpu_s: float
    chat_s: float = 0.0
    look_s: float = 0.0

    @property
    def server_s(self) -> float:
        """The server's time, over whatever it was asked."""
        return self.chat_s + self.look_s


@dataclass(frozen=True, slots=True)
class Run:
    """A run as a command: the folder of the commands, the folder to work in, the system, and flags around it."""

    kit: Path
    folder: Path
    system: str
    flags: Sequence[str] = ()
    before: Sequence[str] = ()

    def cost(self, trials: int, planned: int) -> Cost:
        """Run so many trials of the plan, into a log of their own."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            what = ["--system", self.system, "--task", "triage_task", "--cases", str(self.kit / "cases.json")]
            size = ["--trials", str(-(-planned // self._cases())), "--limit", str(trials)]
            return cost_of([sys.executable, *self.before, self.kit / "bench.py", *what, *size, "--log", "log.jsonl",
                            "--quiet", *self.flags], Path(name))

    def _cases(self) -> int:
        cases = json.loads((self.kit / "cases.json").read_text(encoding="utf-8"))["cases"]
        return sum(case["split"] == "development" for case in cases)


@contextmanager
def answering(seconds: float) -> Iterator[tuple[str, Callable[[], tuple[float, float]]]]:
    """A server for a while: its address, and a function that ends it and says its seconds in chats and in looks."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.server", str(seconds)], cwd=ROOT, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None

        def at_work() -> tuple[float, float]:
            chat_s, look_s = process.communicate("")[0].split()
            return float(chat_s), float(look_s)
        yield f"127.0.0.1:{process.stdout.readline().strip()}", at_work
    finally:
        process.kill()
        process.communicate()


def slope_with_server(kit: Path, folder: Path, seconds: float, at_once: int, trials: tuple[int, int]) -> Slope:
    """A trial against a server that thinks so long, `at_once` of them under way; by a run of few and one of many."""
    def cost(host: str, count: int) -> Cost:
        return Run(kit, folder, MODEL, ("--host", host, "--parallel", str(at_once))).cost(count, trials[1])

    return _slope_of(cost, seconds, trials)


def slope_of_bare_client(folder: Path, seconds: float, trials: tuple[int, int]) -> Slope:
    """A trial of the least client there can be, against the same server."""
    def cost(host: str, count: int) -> Cost:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            return cost_of([sys.executable, "-m", "benchmarks.bare_client", host.rpartition(":")[2], str(count),
                            str(Path(name) / "log.jsonl")], ROOT)

    return _slope_of(cost, seconds, trials)


def _slope_of(cost: Callable[[str, int], Cost], seconds: float, trials: tuple[int, int]) -> Slope:
    """What a trial adds to a run; `cost` runs so many of them against a host, each time a new server."""
    found = []
    for count in trials:
        with answering(seconds) as (host, at_work):
            took = cost(host, count)
            found.append((took.wall_s, took.cpu_s, *at_work()))
    few, many = found
    return Slope(*((more - less) / (trials[1] - trials[0]) for less, more in zip(few, many, strict=True)))


def slope_without_server(kit: Path, folder: Path, before: Sequence[str], trials: tuple[int, int]) -> Slope:
    """A trial of a baseline that answers at once."""
    few, many = (Run(kit, folder, BASELINE, before=before).cost(count, trials[1]) for count in trials)
    extra = trials[1] - trials[0]
    return Slope((many.wall_s - few.wall_s) / extra, (many.cpu_s - few.cpu_s) / extra)


def rows_of(found: Mapping[str, Sequence[Slope]]) -> list[list[str]]:
    """A row for each kind of run: milliseconds of wall and processor, and what it is worth against its measure."""
    return [[name, _milliseconds([one.wall_s for one in slopes]), _milliseconds([one.server_s for one in slopes]),
             _milliseconds([one.cpu_s for one in slopes]), MEASURES[name](found)] for name, slopes in found.items()]


def times_the_server(slopes: Sequence[Slope]) -> Spread:
    """The wall time of a trial as so many times the server's; 1 if the kit took no time."""
    return ratios([one.wall_s for one in slopes], [one.server_s for one in slopes])


def share_of_ideal(slopes: Sequence[Slope], at_once: int) -> Spread:
    """Trials of a second against `at_once` chats under way at every moment; 1 if the kit and its looks took no time."""
    return ratios([one.chat_s / at_once for one in slopes], [one.wall_s for one in slopes])


def sync_share(synced: Sequence[Slope], unsynced: Sequence[Slope]) -> Spread:
    """Which part of a trial's wall time goes where the sync is left out."""
    return spread([1 - without.wall_s / one.wall_s for one, without in zip(synced, unsynced, strict=True)])


MEASURES: Mapping[str, Callable[[Mapping[str, Sequence[Slope]]], str]] = {
    ONE: lambda found: f"{ratio_text(times_the_server(found[ONE]), 3)} times the server's time",
    LEAST: lambda found: f"{ratio_text(times_the_server(found[LEAST]), 3)} times the server's time",
    MANY: lambda found: f"{ratio_text(share_of_ideal(found[MANY], AT_ONCE), 3)} of the ideal",
    INSTANT: lambda found: f"{ratio_text(sync_share(found[INSTANT], found[UNSYNCED]))} of it for the sync",
    UNSYNCED: lambda found: "",
}
"""What is said of each kind of run."""


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{spread(seconds).middle * 1_000:.2f}"


def measure(kit: Path, folder: Path, seconds: float, rounds: int, size: int) -> dict[str, list[Slope]]:
    """The slopes of each kind of run; `size` is the number of trials of the smaller run one at a time."""
    def served(at_once: int) -> Callable[[], Slope]:
        trials = (size * at_once, 11 * size * at_once)
        return lambda: slope_with_server(kit, folder, seconds, at_once, trials)

    def instant(before: Sequence[str]) -> Callable[[], Slope]:
        return lambda: slope_without_server(kit, folder, before, (10 * size, 110 * size))

    def least() -> Slope:
        return slope_of_bare_client(folder, seconds, (size, 11 * size))

    return in_turns({ONE: served(1), LEAST: least, MANY: served(AT_ONCE), INSTANT: instant(()),
                     UNSYNCED: instant(("-c", WITHOUT_SYNC))}, rounds)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.overhead", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="how often each is run (default %(default)s)")
    flags.add_argument("--seconds", type=float, default=DEFAULT_SECONDS,
                       help="how long the server thinks over an answer (default %(default)s)")
    flags.add_argument("--size", type=int, default=20, help="trials of the smaller run one at a time; the others are "
                       "multiples of it (default %(default)s)")
    flags.add_argument("--kit", type=Path, default=ROOT, help="the folder of the commands (default: these)")
    flags.add_argument("--folder", type=Path, help="where logs are written: which disk matters (default: the folder "
                       "for temporary files)")
    given = flags.parse_args(argv)
    rounds, size = max(1, given.rounds), max(1, given.size)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        found = measure(given.kit.resolve(), Path(name), given.seconds, rounds, size)
    print(table(["trials", "wall ms", "server ms", "cpu ms", "ratio"], rows_of(found)))
    print(f"\na trial, by slope; medians (ranges) of {rounds} rounds; an answer takes {given.seconds * 1_000:g} ms")
    again = f"--rounds {rounds} --seconds {given.seconds:g} --size {size}"
    print(f"{machine_line()}\nagain: python3 -m benchmarks.overhead {again}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
