"""The same repeated-trial task with this kit, with Inspect AI and with promptfoo, side by side in one run.

    python3 -m benchmarks.peers --inspect PYTHON --promptfoo PROGRAM      about ten minutes
    python3 -m benchmarks.peers --inspect PYTHON --rounds 3               one peer, wider ranges

Neither is needed by the kit. Install them in a scratch folder of their own:

    python3 -m venv v && v/bin/pip install inspect-ai          then --inspect v/bin/python
    mkdir pf && cd pf && npm install promptfoo                 then --promptfoo pf/node_modules/.bin/promptfoo

What is not given is named as left out, and so is what fails, with the line that says why. All are asked the same 50
questions, k trials of each, answered at once by the same text and judged by equality, so that only the tools' own work
is left; what each does with a trial is printed below the tables. The cost of a trial is a slope, (large - small) /
(trials between them), so that starting is not in it. Processor time has that of child processes in it; memory is the
largest resident set. Both sizes are at or above 1,000 trials, from where on Inspect AI writes its log less often. Every
run is counted afterwards: all its trials must have been judged right. In every round each tool runs once, in turns; a
round before the first is not counted.

All run in temporary folders (TMPDIR says where), with a home of their own and none of the caller's variables but
PATH; as it comes, except for what would leave the machine: no telemetry, no update check, no sharing, and a proxy that
is not there. It needs a POSIX system. Exit code 0; 1 if the kit itself fails.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.measuring import Cost, Spread, cost_of, in_turns, machine_line, ratio_text, ratios, spread, table
from benchmarks.peer_tools import Tool, alone, inspect_ai, kit, last_line, promptfoo, said

CASES = 50
SMALL, LARGE = 20, 40
"""Trials of each case in the small and the large run."""
AT_ONCE = 4
"""What promptfoo keeps under way, and so what the kit is measured with, too."""
PEERS = {"Inspect AI": "--inspect PYTHON", "promptfoo": "--promptfoo PROGRAM"}


@dataclass(frozen=True, slots=True)
class Round:
    """What a tool took in one round: to say its version, for a run of one trial, for the small and the large run."""

    version: Cost
    one: Cost
    small: Cost
    large: Cost


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a tool could not be measured, in a line."""

    why: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Trials of each case in the small and in the large run, and the number of cases."""

    small: int = SMALL
    large: int = LARGE
    cases: int = CASES

    @property
    def between(self) -> int:
        """How many trials more the large run has."""
        return self.cases * (self.large - self.small)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A scratch folder in which each run gets a folder, and all of them one home."""

    path: Path
    numbers: count[int] = field(default_factory=count)

    @property
    def home(self) -> Path:
        """Where the tools keep what they keep for a user."""
        return self.path / "home"

    def cost(self, command: Sequence[str], folder: Path) -> Cost:
        """What a command takes; what it prints counts as its last words if it fails."""
        return cost_of(alone(["sh", "-c", 'exec "$@" >&2', "sh", *command], self.home), folder)

    def run(self, tool: Tool, cases: int, trials: int) -> Cost:
        """What a run takes. Raises RuntimeError unless all its trials were judged, and right."""
        folder = self.path / str(next(self.numbers))
        folder.mkdir()
        for name, text in tool.files(cases).items():
            (folder / name).write_text(text, encoding="utf-8")
        cost = self.cost(tool.run(trials), folder)
        right = tool.right(folder)
        if right != cases * trials:
            raise RuntimeError(f"it judged {right} of {cases * trials} trials right, and all are")
        shutil.rmtree(folder)
        return cost

    def round(self, tool: Tool, sizes: Sizes) -> Round | Failed:
        """One round of one tool."""
        try:
            return Round(self.cost(tool.version, self.path), self.run(tool, 1, 1),
                         self.run(tool, sizes.cases, sizes.small), self.run(tool, sizes.cases, sizes.large))
        except (RuntimeError, OSError, LookupError, ValueError) as error:
            return Failed(reason(error))


def reason(error: Exception) -> str:
    """Why a tool failed, in a line: the exit code, and the last line that names an error, or else the last one."""
    if isinstance(error, LookupError):
        return f"something is missing in what it left: {error}"
    _, ended, code_and_words = str(error).rpartition("exit code ")
    if not ended:
        return last_line(str(error))
    code, _, words = code_and_words.partition(": ")
    named = [line for line in words.splitlines() if "error" in line.lower()]
    return f"exit code {code}: {last_line(named[-1] if named else words)}"


def measured(tools: Sequence[Tool], scratch: Scratch, sizes: Sizes, rounds: int) -> dict[str, list[Round] | Failed]:
    """The rounds of each tool, by its name, or why there are none; one that fails once is out."""
    first = in_turns({tool.name: partial(scratch.round, tool, sizes) for tool in tools}, 1)
    able = {tool.name: partial(scratch.round, tool, sizes) for tool in tools
            if not isinstance(first[tool.name][0], Failed)}
    return {**{name: sound(found) for name, found in first.items()},
            **{name: sound(found) for name, found in (in_turns(able, rounds) if able else {}).items()}}


def sound(found: Sequence[Round | Failed]) -> list[Round] | Failed:
    """All rounds, or the first failure among them."""
    for one in found:
        if isinstance(one, Failed):
            return one
    return [one for one in found if isinstance(one, Round)]


@dataclass(frozen=True, slots=True)
class Figure:
    """What is shown of a round: a column, and with `is_compared` one more that says how many times the kit's it is."""

    title: str
    of: Callable[[Round], float]
    digits: int = 2
    is_compared: bool = True


def slope(figure: Callable[[Cost], float], trials: int) -> Callable[[Round], float]:
    """What one trial adds to a figure, when the large run has so many more. What is noise can be below zero."""
    return lambda one: (figure(one.large) - figure(one.small)) / trials


def figures_of(sizes: Sizes) -> dict[str, tuple[Figure, ...]]:
    """The columns of each table, by its title."""
    more, most = sizes.between, sizes.cases * sizes.large
    return {
        "a trial, by slope": (
            Figure("CPU ms", slope(lambda cost: cost.cpu_s * 1_000, more)),
            Figure("wall ms", slope(lambda cost: cost.wall_s * 1_000, more))),
        "memory": (
            Figure(f"peak MB at {most:,} trials", lambda one: one.large.peak_bytes / 2**20, 0),
            # not compared: what the kit adds is near zero, and a ratio to that says nothing
            Figure("KB a trial", slope(lambda cost: cost.peak_bytes / 2**10, more), 1, is_compared=False)),
        "starting": (
            Figure("CPU ms of --version", lambda one: one.version.cpu_s * 1_000, 0),
            Figure("CPU ms of a run of 1 trial", lambda one: one.one.cpu_s * 1_000, 0)),
    }


def tables(found: Mapping[str, Sequence[Round]], sizes: Sizes) -> str:
    """Three tables: a trial, memory, starting. The first tool is what the others are compared with."""
    base = next(iter(found.values()))
    shown = []
    for title, figures in figures_of(sizes).items():
        titles = [words for figure in figures for words in (figure.title, "times the kit")[: 1 + figure.is_compared]]
        rows = [[name, *(cell for figure in figures for cell in cells(figure, rounds, base))]
                for name, rounds in found.items()]
        shown.append(table([title, *titles], rows))
    return "\n\n".join(shown)


def cells(figure: Figure, rounds: Sequence[Round], base: Sequence[Round]) -> list[str]:
    """The figure with its range, and how many times the base's it is; "-" where the base's is noise around zero."""
    own, others = [figure.of(one) for one in rounds], [figure.of(one) for one in base]
    middle = ratio_text(spread(own), figure.digits)
    if not figure.is_compared:
        return [middle]
    if rounds is base:
        return [middle, "1"]
    return [middle, times(ratios(own, others)) if min(others) > 0 else "-"]


def times(found: Spread) -> str:
    """A ratio with as many digits as it has use for."""
    return ratio_text(found, 2 if found.middle < 10 else 0)


def page(tools: Sequence[Tool], found: Mapping[str, list[Round] | Failed], sizes: Sizes) -> str:
    """The tables, what each tool does with a trial, and who is left out."""
    able = {name: one for name, one in found.items() if not isinstance(one, Failed)}
    told = [f"  {tool.name}: {tool.does}" for tool in tools if tool.name in able]
    return "\n".join((tables(able, sizes), "", "what each does with a trial, as it comes", *told, *left_out(found)))


def left_out(found: Mapping[str, list[Round] | Failed]) -> list[str]:
    """A line for each tool that is not in the tables: why it failed, or how to name it."""
    failed = [f"left out: {name} failed: {one.why}" for name, one in found.items() if isinstance(one, Failed)]
    missing = [f"left out: {peer}, not given: {flag} (--help says how to install it)" for peer, flag in PEERS.items()
               if not any(name.startswith(peer) for name in found)]
    return failed + missing


def versioned(tool: Tool, scratch: Scratch) -> str:
    """The tool's name with its version; the name alone where --version fails (so will the rounds, which say why)."""
    try:
        return with_version(tool.name, said(alone(tool.version, scratch.home), scratch.path))
    except (RuntimeError, OSError):
        return tool.name


def with_version(name: str, printed: str) -> str:
    """The name with the last word of what --version printed behind it, before what a comma sets apart."""
    tool, comma, rest = name.partition(",")
    return f"{tool} {last_line(printed).split()[-1]}{comma}{rest}"


def program(given: str) -> str:
    """The whole path of a program. Links are kept: a virtual environment is known by the link it is called by."""
    found = shutil.which(given)
    if found is None:
        raise argparse.ArgumentTypeError(f"{given}: no such program here; --help says how to install it")
    return os.path.abspath(found)


def parser() -> argparse.ArgumentParser:
    """The flags."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.peers", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--inspect", type=program, metavar="PYTHON", help="a Python that has the package inspect-ai")
    flags.add_argument("--promptfoo", type=program, metavar="PROGRAM", help="the program of the package promptfoo")
    flags.add_argument("--trials", type=int, nargs=2, default=(SMALL, LARGE), metavar=("SMALL", "LARGE"),
                       help=f"trials of each of {CASES} cases (default {SMALL} {LARGE})")
    flags.add_argument("--rounds", type=int, default=5, help="how often each is run (default %(default)s)")
    return flags


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = parser()
    options = flags.parse_args(argv)
    sizes, rounds = Sizes(*options.trials), max(1, options.rounds)
    if not 1 <= sizes.small < sizes.large:
        flags.error("--trials: SMALL must be at least 1, and LARGE more")
    tools = [kit(), kit(AT_ONCE)]
    tools += [inspect_ai(options.inspect)] if options.inspect else []
    tools += [promptfoo(options.promptfoo)] if options.promptfoo else []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        scratch = Scratch(Path(name).resolve())
        scratch.home.mkdir()
        named = [replace(tool, name=versioned(tool, scratch)) for tool in tools]
        found = measured(named, scratch, sizes, rounds)
    if isinstance(own := found[named[0].name], Failed):
        print(f"benchmarks.peers: the kit itself failed: {own.why}", file=sys.stderr)
        return 1
    print(page(named, found, sizes))
    print(f"\nmedians (ranges) of {rounds} rounds; a trial is the slope between {sizes.cases * sizes.small:,} and "
          f"{sizes.cases * sizes.large:,} trials")
    print(f"{machine_line()}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    print(f"again: python3 -m benchmarks.peers --inspect PYTHON --promptfoo PROGRAM --trials {sizes.small} "
          f"{sizes.large} --rounds {rounds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
