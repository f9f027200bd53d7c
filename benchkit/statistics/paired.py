"""Two systems, or two recordings of one, over the same cases: is there a difference, and how sure is that?

A difference is first minus second, exact, over the cases that both sides have; cases of one side only are
left out by the caller, who names them. Whether two runs may be compared at all is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import Interval
from benchkit.statistics.lattice_sums import Term, on_lattice, two_sided_tail

FEWEST_DIFFERING_CASES = 6  # with fewer, not even differences all in one direction give p < .05


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """The trials of one case on both sides."""

    first: Counts
    second: Counts

    @property
    def both_completed(self) -> bool:
        """Whether each side has a completed trial, without which there is no difference."""
        return self.first.completed > 0 and self.second.completed > 0

    @property
    def difference(self) -> Fraction:
        """Pass rate of first minus that of second, over completed trials. ZeroDivisionError without one."""
        return Fraction(self.first.passed, self.first.completed) - Fraction(
            self.second.passed, self.second.completed
        )


def pass_rate_differences(pairs: Sequence[PairedCounts]) -> list[Fraction]:
    """The differences in pass^1 of the cases in which both sides completed a trial."""
    return [pair.difference for pair in pairs if pair.both_completed]


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """The exact mean; None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


def sign_flip_p(differences: Sequence[Fraction]) -> Fraction:
    """Two-sided p of "no difference on other such cases": each difference could have had the other sign.

    The share of all sign patterns whose sum is at least as far from 0; equal to an exhaustive paired
    permutation test, and with one trial a case to the exact sign test of McNemar. 1 where nothing differs.
    Exact for suites up to about 1000 cases x 10 trials, beyond it as `lattice_sums` says.
    """
    changed = [value for value in differences if value]
    whole = on_lattice(changed, [1] * len(changed))
    terms = [Term(abs(value), (1, 1)) for value in whole if value]
    return two_sided_tail(terms, observed=sum(value for value in whole if value > 0))


def smallest_sign_flip_p(differences: Sequence[Fraction]) -> Fraction:
    """The smallest p the sign-flip test could have reached with as many non-zero differences m: 2 / 2^m."""
    changed = sum(value != 0 for value in differences)
    return min(Fraction(1), Fraction(2, 2**changed))


def label_permutation_p(pairs: Sequence[PairedCounts]) -> Fraction:
    """Two-sided p of "nothing changed in these same cases": in each, any trial could be of either side.

    Given how many trials of a case passed in all, those of the first side are hypergeometric; the statistic
    is the sum of differences. With one case and equal numbers of trials it is Fisher's exact test. Cases in
    which a side completed nothing say nothing, and are left out.
    """
    cases = [_Labels.of(pair) for pair in pairs if pair.both_completed]
    open_cases = [case for case in cases if len(case.weights) > 1]
    steps = on_lattice(
        [case.step for case in open_cases],
        [len(case.weights) - 1 for case in open_cases],
    )
    terms = [Term(step, case.weights) for step, case in zip(steps, open_cases, strict=True)]
    observed = sum(step * case.observed for step, case in zip(steps, open_cases, strict=True))
    return two_sided_tail(terms, observed)


def difference_bounds(pairs: Sequence[PairedCounts]) -> Interval | None:
    """What incomplete trials leave open: [worst first - best second, best first - worst second] in pass^1.

    Means over the cases; None without a case. Raises ZeroDivisionError for a case without a planned trial.
    """
    low = mean([_lowest(pair.first) - _highest(pair.second) for pair in pairs])
    high = mean([_highest(pair.first) - _lowest(pair.second) for pair in pairs])
    return None if low is None or high is None else Interval(float(low), float(high))


def robust_winner(bounds: Interval | None) -> Literal["first", "second"] | None:
    """Who is ahead however the incomplete trials would have gone: both ends of the bounds have one sign."""
    if bounds is None or bounds.low <= 0 <= bounds.high:
        return None
    return "first" if bounds.low > 0 else "second"


def same_within(interval: Interval, margin: Fraction | float) -> bool:
    """Equivalence: the whole interval lies in [-margin, margin]. A large p is never sameness."""
    return -margin <= interval.low and interval.high <= margin


@dataclass(frozen=True, slots=True)
class _Labels:
    """One case under permutation of labels: `weights` are the ways to fewest, fewest + 1, ... passes of first."""

    step: Fraction
    weights: tuple[int, ...]
    observed: int

    @classmethod
    def of(cls, pair: PairedCounts) -> _Labels:
        first, second = pair.first.completed, pair.second.completed
        passed = pair.first.passed + pair.second.passed
        fewest, most = max(0, passed - second), min(first, passed)
        ways = _ways(first, second, passed, range(fewest, most + 1))
        shared = math.gcd(*ways)
        return cls(
            step=Fraction(1, first) + Fraction(1, second),
            weights=tuple(way // shared for way in ways),
            observed=pair.first.passed - fewest,
        )


def _ways(first: int, second: int, passed: int, of_first: range) -> list[int]:
    """How many ways there are to each number of passes of the first side, each from the one before."""
    ways = [math.comb(first, of_first[0]) * math.comb(second, passed - of_first[0])]
    for c in of_first[:-1]:
        ways.append(ways[-1] * ((first - c) * (passed - c)) // ((c + 1) * (second - passed + c + 1)))
    return ways


def _lowest(case: Counts) -> Fraction:
    return Fraction(case.passed, case.planned)


def _highest(case: Counts) -> Fraction:
    return Fraction(case.most_passed, case.planned)
