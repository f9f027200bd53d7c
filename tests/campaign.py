"""The long test of what is promised about every trial: faults on purpose, thousands of them.

    python3 -m tests.campaign --rounds 15 --seed 1          within 45 s on two cores
    python3 -m tests.campaign --rounds 1000 --seed 1        all that is there to try; half an hour
    python3 -m tests.campaign --only kills --turn 7         one turn of one part again

One line a part as it ends, a table, and the summary figure as the last line; exit code 1 if any promise broke. The
seed decides the moments and places of all faults; what a moment meets depends on the machine. A part that this
machine has no tool for is skipped by name.
"""
from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from tests.faults.found import KINDS, NOTHING, Found, Missing, Part, Turn, wrong
from tests.faults.parts import BY_NAME, PARTS

HEADINGS = {"lost": "lost", "twice": "twice", "calls": "calls too many", "changed": "changed", "wrong": "wrong"}
MOST_SHOWN = 10
WORKERS = (os.cpu_count() or 1) + 1
"""One more than cores: faults wait for each other's processes a good part of their time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a part came to: how many turns, the seconds they took together, and why it was skipped, if it was."""

    name: str
    turns: int = 0
    took_s: float = 0.0
    found: Found = NOTHING
    skipped: str | None = None

    def plus(self, other: Outcome) -> Outcome:
        """Two turns of a part taken together."""
        return replace(self, turns=self.turns + other.turns, took_s=self.took_s + other.took_s,
                       found=self.found + other.found, skipped=self.skipped or other.skipped)


def take_turn(name: str, number: int, rounds: int, seed: int) -> Outcome:
    """One turn of a part, in a folder of its own, with dice that depend on the seed, the part and the turn alone."""
    part, start = BY_NAME[name], time.monotonic()
    dice = random.Random(f"{seed}/{name}/{number}")
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        try:
            found = part.run(Turn(number, part.turns(rounds), rounds, dice, Path(folder)))
        except Missing as missing:
            return Outcome(name, skipped=str(missing))
    return Outcome(name, 1, time.monotonic() - start, found)


def campaign(parts: Sequence[Part], rounds: int, seed: int, turn: int | None = None) -> Iterator[Outcome]:
    """Every part with all its turns, spread over the cores; one outcome a part, in their order."""
    with tempfile.TemporaryDirectory(prefix="bytecode-") as cache, ProcessPoolExecutor(
            WORKERS, get_context("spawn"), _become_worker, (cache,)) as pool:
        futures = {part.name: [pool.submit(take_turn, part.name, number, rounds, seed) for number in _numbers(
            part, rounds, turn)] for part in parts}
        for part in parts:
            outcome = Outcome(part.name)
            for future in futures[part.name]:
                outcome = outcome.plus(_outcome_of(part.name, future))
            yield outcome


def _become_worker(cache: str) -> None:
    """Have the processes of a worker keep compiled modules there: not in the tree, and not anew for each of them.

    Ctrl-C reaches them, too: a shell that starts a campaign in the background has it ignored by all below.
    """
    os.environ["PYTHONPYCACHEPREFIX"] = cache
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _numbers(part: Part, rounds: int, turn: int | None) -> Sequence[int]:
    return range(part.turns(rounds)) if turn is None else [turn]


def _outcome_of(name: str, future: Future[Outcome]) -> Outcome:
    """A turn that broke down proves nothing, so it is a problem."""
    error = future.exception()
    if error is not None:
        return Outcome(name, 1, found=Found(1, 0, (wrong(f"the turn broke down: {type(error).__name__}: {error}"),)))
    return future.result()


def line_of(outcome: Outcome) -> str:
    """A part that has ended, in a line; the first problems below it."""
    part, found = BY_NAME[outcome.name], outcome.found
    if outcome.skipped is not None:
        return f"{part.name}: skipped, {outcome.skipped}"
    says = "all held" if not found.problems else f"{len(found.problems)} PROMISES BROKEN"
    lines = [f"{part.name}: {found.faults:,} faults ({part.says}), {found.acknowledged:,} acknowledged trials; {says}"]
    lines += [f"    {problem.kind}: {problem.text}" for problem in found.problems[:MOST_SHOWN]]
    return "\n".join(lines)


def table_of(outcomes: Sequence[Outcome]) -> str:
    """All parts, in columns."""
    rows = [("part", "turns", "faults", "acknowledged", *HEADINGS.values(), "seconds")]
    rows += [_row(outcome) for outcome in outcomes if outcome.skipped is None]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)


def _row(outcome: Outcome) -> tuple[str, ...]:
    found = outcome.found
    return (outcome.name, f"{outcome.turns:,}", f"{found.faults:,}", f"{found.acknowledged:,}",
            *(f"{found.count(kind):,}" for kind in KINDS), f"{outcome.took_s:,.1f}")


def summary_of(outcomes: Sequence[Outcome]) -> str:
    """The figure that the campaign is for, in one line."""
    found = sum((outcome.found for outcome in outcomes), NOTHING)
    counts = ", ".join(f"{found.count(kind):,} {HEADINGS[kind]}" for kind in KINDS[1:])
    skipped = ", ".join(outcome.name for outcome in outcomes if outcome.skipped is not None) or "none"
    return (f"{found.count('lost'):,} of {found.acknowledged:,} acknowledged trials lost in {found.faults:,} faults; "
            f"{counts}; parts skipped: {skipped}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign; 1 if any promise broke."""
    flags = argparse.ArgumentParser(prog="python3 -m tests.campaign", description=(__doc__ or "").split("\n")[0])
    flags.add_argument("--rounds", type=int, default=15, help="how much of everything (default %(default)s)")
    flags.add_argument("--seed", type=int, default=1, help="decides moments and places (default %(default)s)")
    flags.add_argument("--only", action="append", choices=list(BY_NAME), metavar="PART", help="this part only")
    flags.add_argument("--turn", type=int, help="this turn of the part only")
    options = flags.parse_args(argv)
    parts = [part for part in PARTS if not options.only or part.name in options.only]
    outcomes = []
    for outcome in campaign(parts, options.rounds, options.seed, options.turn):
        print(line_of(outcome), flush=True)
        outcomes.append(outcome)
    print(f"\n{table_of(outcomes)}\n\n{summary_of(outcomes)}")
    return 1 if any(outcome.found.problems for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
