"""What is counted and what it says: one case, how far outputs repeat themselves, and how figures are rounded.

Every function is exact; a value whose fraction would have hundreds of digits is kept as `shortened` says.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import comb
from typing import Generic, TypeVar

Cell = TypeVar("Cell", bound=Hashable)

DIGITS = 6
CUT = 10**60
"""Behind so many digits a value with a longer denominator is cut."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The trials of one case: how many were planned, and how many of them passed and failed.

    The rest is incomplete: no reply came, or none that could be judged. Raises ValueError where numbers do not fit.
    """

    planned: int
    passed: int
    failed: int

    def __post_init__(self) -> None:
        if min(self.passed, self.failed) < 0 or self.passed + self.failed > self.planned:
            raise ValueError(f"no case has {self.passed} passes and {self.failed} fails in {self.planned} planned "
                             "trials")

    @property
    def completed(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def incomplete(self) -> int:
        """Planned trials without a verdict."""
        return self.planned - self.completed

    @property
    def most_passed(self) -> int:
        """Passes there would be if every incomplete trial had passed."""
        return self.passed + self.incomplete


class State(StrEnum):
    """What may be said of the stability of a case."""

    STABLE_PASS = "stable pass"
    STABLE_FAIL = "stable fail"
    FLAKY = "flaky"
    POSSIBLY_FLAKY = "possibly flaky"
    ONE_TRIAL = "one trial"
    NO_DATA = "no data"


def state(counts: Counts) -> State:
    """The state of a case: stable only when all of its planned trials completed, and at least two did."""
    if counts.completed == 0:
        return State.NO_DATA
    if counts.passed and counts.failed:
        return State.FLAKY
    if counts.incomplete:
        return State.POSSIBLY_FLAKY
    if counts.planned == 1:
        return State.ONE_TRIAL
    return State.STABLE_PASS if counts.passed else State.STABLE_FAIL


def disagreement(completed: int, passed: int) -> Fraction | None:
    """Probability that two fresh trials differ in verdict: 2 c (n-c) / (n (n-1)), for 2p(1-p); None below two."""
    return Fraction(2 * passed * (completed - passed), completed * (completed - 1)) if completed >= 2 else None


def looks_stable_share(trials: int, rate: Fraction) -> Fraction:
    """Share of runs of this many trials in which a case that fails at rate q keeps one verdict: (1-q)^n + q^n."""
    fails, of = rate.numerator, rate.denominator
    return shortened((of - fails) ** trials + fails**trials, of**trials)


@dataclass(frozen=True, slots=True)
class Agreement(Generic[Cell]):
    """Cells that both sides have, how many of them are equal, and the first that is not."""

    compared: int
    equal: int
    first_difference: Cell | None

    @property
    def share(self) -> Fraction | None:
        """Share of equal cells; None where nothing could be compared."""
        return Fraction(self.equal, self.compared) if self.compared else None


def equal_pairs_share(outputs: Iterable[Hashable]) -> Fraction | None:
    """Share of equal pairs among the outputs of one case: sum of C(count, 2) / C(n, 2).

    The unbiased estimate of the probability that two fresh outputs are equal; None with fewer than two.
    """
    counts = Counter(outputs)
    pairs = comb(counts.total(), 2)
    return Fraction(sum(comb(count, 2) for count in counts.values()), pairs) if pairs else None


def mean_share(shares: Iterable[Fraction | None]) -> Fraction | None:
    """Mean of the shares that there are; None if there are none."""
    known = [share for share in shares if share is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def parting_index(first: str, second: str) -> int | None:
    """Index of the first character in which two texts differ, or one has ended; None when they are equal."""
    for index, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return index
    return None if len(first) == len(second) else min(len(first), len(second))


def figure(value: Fraction | float | None) -> float | None:
    """The value as it stands in JSON: a float of at most 6 digits after the point, ties to even; None stays.

    What would become -1, 0 or 1 and is not keeps 6 digits of its distance from there: 0.99999950025, 2.5e-07.
    A float is taken at its exact binary value; NaN and infinities raise.
    """
    if value is None:
        return None
    exact = Fraction(value)
    rounded = round(exact, DIGITS)
    return float(rounded) if rounded not in (-1, 0, 1) else _beside(int(rounded), exact - rounded)


def probability_figure(value: Fraction | None) -> float | None:
    """A p as it stands in JSON: 6 digits that count, so that a small one is told from none; None stays."""
    return figure(value) if value is None or value > Fraction(1, 10) else _beside(0, value)


def _beside(whole: int, rest: Fraction) -> float:
    """The sum, with 6 digits of the rest; where a float cannot tell it from the whole number, the float next to it."""
    if not rest:
        return float(whole)
    found = float(whole + Fraction(f"{float(rest):.{DIGITS - 1}e}"))
    return found if found != whole else math.nextafter(whole, math.copysign(math.inf, rest))


def shortened(numerator: int, denominator: int) -> Fraction:
    """The quotient; one with a long denominator as a short fraction that every rounding takes to the same place.

    It is cut behind 60 digits, and half a unit of the last one is added where anything was cut off: then no
    number of so many digits, and so no tie of a rounding to fewer, lies between the quotient and what stands for it.
    A share of the ways to draw 500 of 1,000 trials has 300 digits above and below the line.
    """
    if denominator <= CUT:
        return Fraction(numerator, denominator)
    whole, rest = divmod(numerator * CUT, denominator)
    return Fraction(2 * whole + (rest > 0), 2 * CUT)
