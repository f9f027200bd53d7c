"""Two systems, or two recordings of one, over the same cases: is there a difference, and how sure is that?

A difference is first minus second, exact, over the cases that both sides have; cases of one side only are
left out by the caller, who names them. A finding rests on two p: that of the judged trials, and the one that is left
when the incomplete trials go against it. Whether two runs may be compared at all is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import Interval, plus_two_p
from benchkit.statistics.lattice_sums import Term, on_lattice, two_sided_tail

ZERO = Fraction(0)
ALPHA = Fraction(1, 20)
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

    @property
    def open_difference(self) -> OpenDifference:
        """The difference with all that incomplete trials leave open. ZeroDivisionError without a planned trial."""
        return _open(self.first) - _open(self.second)

    def at_worst(self, *, first_is_ahead: bool) -> PairedCounts:
        """All planned trials: the incomplete ones of the side ahead as failed, those of the other as passed."""
        ahead, behind = (self.first, self.second) if first_is_ahead else (self.second, self.first)
        ahead = Counts(ahead.planned, ahead.passed, ahead.planned - ahead.passed)
        behind = Counts(behind.planned, behind.most_passed, behind.failed)
        return PairedCounts(ahead, behind) if first_is_ahead else PairedCounts(behind, ahead)


@dataclass(frozen=True, slots=True)
class OpenDifference:
    """A difference of one case: over what was judged (None where a side judged nothing), the least and the most."""

    low: Fraction
    judged: Fraction | None
    high: Fraction

    def __add__(self, more: Fraction) -> OpenDifference:
        return OpenDifference(self.low + more, None if self.judged is None else self.judged + more, self.high + more)


@dataclass(frozen=True, slots=True)
class OpenValue:
    """What one side has in a case: over what was judged (None of nothing), and the least and the most it may become."""

    low: Fraction
    judged: Fraction | None
    high: Fraction

    def __sub__(self, other: OpenValue) -> OpenDifference:
        judged = None if self.judged is None or other.judged is None else self.judged - other.judged
        return OpenDifference(self.low - other.high, judged, self.high - other.low)


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


def paired_p(pairs: Sequence[PairedCounts], allowed: Fraction = ZERO) -> Fraction:
    """Two-sided p of "no difference", or of "the first is lower by `allowed`", over the judged trials.

    That of the sign-flip test of difference + allowed. Where the numbers of judged trials differ in any case, that
    test alone calls equal systems different: a case that fails seldom is seen to fail on the side with more trials.
    Then it is the larger of it and of the within-case label p (which knows no `allowed`; with one, of `plus_two_p`).
    """
    differences = pass_rate_differences(pairs)
    p = sign_flip_p([difference + allowed for difference in differences])
    if has_uneven_trials(pairs):
        p = max(p, label_permutation_p(pairs), plus_two_p(differences, -allowed) if allowed else ZERO)
    return p


def has_uneven_trials(pairs: Iterable[PairedCounts]) -> bool:
    """Whether the numbers of completed trials differ in any case in which both sides completed one."""
    return any(pair.both_completed and pair.first.completed != pair.second.completed for pair in pairs)


def worst_differences(differences: Sequence[OpenDifference]) -> list[Fraction]:
    """The differences when all incomplete trials go against the side that is ahead; none if it is not ahead then."""
    ahead = sum((one.judged for one in differences if one.judged is not None), ZERO)
    worst = [one.low if ahead > 0 else one.high for one in differences]
    return worst if ahead * sum(worst, ZERO) > 0 else []


def worst_sign_flip_p(differences: Sequence[OpenDifference]) -> Fraction:
    """The largest sign-flip p over all ways for the incomplete trials to go; 1 where they can turn the sum around."""
    return sign_flip_p(worst_differences(differences))


def worst_paired_p(pairs: Sequence[PairedCounts], allowed: Fraction = ZERO) -> Fraction:
    """The `paired_p` that is left when all incomplete trials go against the side that is ahead; else 1."""
    worst = worst_differences([pair.open_difference + allowed for pair in pairs])
    if not worst:
        return Fraction(1)
    return paired_p([pair.at_worst(first_is_ahead=sum(worst) > 0) for pair in pairs], allowed)


def mirrored_p(stopped: int, began: int) -> Fraction:
    """Two-sided p of "as many cases stop passing every time as begin to": the exact sign test.

    It holds for equal numbers of trials on both sides only.
    """
    return sign_flip_p([Fraction(1)] * began + [Fraction(-1)] * stopped)


def difference_bounds(pairs: Sequence[PairedCounts]) -> Interval | None:
    """What incomplete trials leave open: [worst first - best second, best first - worst second] in pass^1.

    Means over the cases; None without a case. Raises ZeroDivisionError for a case without a planned trial.
    """
    differences = [pair.open_difference for pair in pairs]
    low, high = mean([one.low for one in differences]), mean([one.high for one in differences])
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


def _open(case: Counts) -> OpenValue:
    """The pass rate of a case."""
    judged = Fraction(case.passed, case.completed) if case.completed else None
    return OpenValue(Fraction(case.passed, case.planned), judged, Fraction(case.most_passed, case.planned))
