"""What the campaign is made of, as values: a part, one turn of it, and what the turn found."""
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KINDS = ("lost", "twice", "calls", "changed", "wrong")
"""lost: an acknowledged trial is gone; twice: a cell is there twice; calls: more calls than cells left and trials in
flight; changed: an output, a finish or an error type differs, or old bytes of the log do; wrong: any other promise."""


class Missing(Exception):
    """A part cannot be tried on this machine; the text names what is missing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A promise that did not hold; `kind` is one of KINDS."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What was found: faults brought about, trials that had been acknowledged before one, promises that broke."""

    faults: int = 0
    acknowledged: int = 0
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: Found) -> Found:
        return Found(self.faults + other.faults, self.acknowledged + other.acknowledged,
                     self.problems + other.problems)

    def count(self, kind: str) -> int:
        """How many promises of one kind broke."""
        return sum(problem.kind == kind for problem in self.problems)


NOTHING = Found()


@dataclass(frozen=True, slots=True)
class Turn:
    """One try of a part: which of how many, in a campaign of so many rounds, with dice and a folder of its own."""

    number: int
    turns: int
    rounds: int
    dice: random.Random
    folder: Path


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of fault. `turns` says how often it is tried in so many rounds; `run` tries it once.

    `run` raises Missing where the machine has not what it takes.
    """

    name: str
    says: str
    turns: Callable[[int], int]
    run: Callable[[Turn], Found]


def one_in(rounds: int) -> Callable[[int], int]:
    """One turn every so many rounds, and at least one."""
    return lambda given: max(1, given // rounds)


def wrong(text: str) -> Problem:
    """A promise that is none of the counted ones."""
    return Problem("wrong", text)


def holds(is_so: bool, text: str) -> tuple[Problem, ...]:
    """No problem if it is so."""
    return () if is_so else (wrong(text),)
