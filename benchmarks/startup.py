"""How long the commands take to start, against Python itself.

    python3 -m benchmarks.startup                     about a quarter of a minute
    python3 -m benchmarks.startup --rounds 31         more rounds, narrower ranges

Each command is started with --help, and with the cheapest command that does something: over 64 recorded trials of a
baseline, made in a scratch folder first. In every round each command runs once, in turns with `python3 -I -c pass`
(nothing) and `python3 -I -c "import argparse, json"` (the least that a command needs); a ratio is taken within a round.
Processor time is less disturbed by what else goes on than time on the wall; both are shown. One round before the first
compiles what is not compiled yet. The interpreter is called by its own path, never by a script. Exit code 0.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measuring import ROOT, Cost, cost_of, in_turns, machine_line, ratio_text, ratios, spread, table

NOTHING = "python3 -I -c pass"
LEAST = 'python3 -I -c "import argparse, json"'
DEFAULT_ROUNDS = 15
REAL = {
    "bench.py --status": ("--log", "recorded/keywords.jsonl", "--status"),
    "harness.py check": ("check", "--task", "triage_task", "--cases", str(ROOT / "cases.json")),
    "report.py RUN": ("runs/keywords.json",),
    "outputs_digest.py LOG": ("recorded/keywords.jsonl",),
    "board.py list": ("list",),
}
"""The cheapest command of each command that does something, by the name it has in the table."""


def prepare(folder: Path) -> None:
    """Record and judge what the commands read."""
    cases = ("--task", "triage_task", "--cases", str(ROOT / "cases.json"))
    for words in (
        ("bench.py", "--system", "baselines:keywords", "--trials", "1", "--quiet", *cases),
        ("harness.py", "run", "--system", "replay:recorded/keywords.json", "--trials", "1", "--out",
         "runs/keywords.json", *cases),
    ):
        cost_of([sys.executable, ROOT / words[0], *words[1:]], folder)


def commands() -> dict[str, list[str]]:
    """What is run, by the name it has in the table."""
    found = {NOTHING: [sys.executable, "-I", "-c", "pass"],
             LEAST: [sys.executable, "-I", "-c", "import argparse, json"]}
    for name, words in REAL.items():
        cli = name.split()[0]
        found[f"{cli} --help"] = [sys.executable, str(ROOT / cli), "--help"]
        found[name] = [sys.executable, str(ROOT / cli), *words]
    return found


def rows_of(found: Mapping[str, Sequence[Cost]]) -> list[list[str]]:
    """A row for each command: milliseconds of processor time, how many times the others that is, and the wall."""
    cpu = {name: [one.cpu_s for one in costs] for name, costs in found.items()}
    wall = {name: [one.wall_s for one in costs] for name, costs in found.items()}
    return [[name, f"{spread(cpu[name]).middle * 1_000:.0f}", ratio_text(ratios(cpu[name], cpu[NOTHING])),
             ratio_text(ratios(cpu[name], cpu[LEAST])), ratio_text(ratios(wall[name], wall[NOTHING]))]
            for name in found]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.startup", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="how often each is run (default %(default)s)")
    rounds = max(1, flags.parse_args(argv).rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        things = {what: partial(cost_of, command, folder) for what, command in commands().items()}
        in_turns(things, 1)
        found = in_turns(things, rounds)
    print(table(["command", "ms", "times nothing", "times the least", "wall, times nothing"], rows_of(found)))
    print(f"\nmedians (ranges) of {rounds} rounds; all but the last column is processor time")
    print(f"{machine_line()}\nagain: python3 -m benchmarks.startup --rounds {rounds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
