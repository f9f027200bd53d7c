"""Two systems, or two recordings of one, over the same cases: is there a difference, and how sure is that?

A difference is first minus second, exact, over the cases that both sides have; cases of one side only are
left out by the caller, who names them. A finding rests on two p: that of the judged trials, and the largest
that is left however the incomplete trials go. Whether two runs may be compared at all is not decided here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement, count, product
from typing import Literal

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import Interval, open_plus_two_p, plus_two_p
from benchkit.statistics.lattice_sums import MOST_WORK_FOR_EXACT, Term, on_lattice, two_sided_tail

ZERO = Fraction(0)
ALPHA = Fraction(1, 20)
MOST_WAYS = 2000
"""Ways for incomplete trials to go of which each is looked at, for unequal numbers of planned trials."""
MOST_LABEL_WORK = 5 * 10**8
"""Ways x squared trials, at most: up to 2 seconds (64 cases, 10 trials against 3: 700 ways of .6 ms)."""


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

    @property
    def ways_on(self) -> tuple[PairedCounts, ...]:
        """All planned trials judged: for each number that may pass on both sides together, the fewest by first."""
        first, second = self.first, self.second
        passed = range(first.passed + second.passed, first.most_passed + second.most_passed + 1)
        of_second = [min(second.most_passed, both - first.passed) for both in passed]
        return tuple(PairedCounts(_judged(first.planned, both - second_passed), _judged(second.planned, second_passed))
                     for both, second_passed in zip(passed, of_second, strict=True))


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


def sign_flip_p(differences: Sequence[Fraction], most_work: int = MOST_WORK_FOR_EXACT) -> Fraction:
    """Two-sided p of "no difference on other such cases": each difference could have had the other sign.

    The share of all sign patterns whose sum is at least as far from 0; equal to an exhaustive paired
    permutation test, and with one trial a case to the exact sign test of McNemar. 1 where nothing differs.
    Exact for suites up to about 1000 cases x 10 trials, beyond `most_work` it is `About`.
    """
    changed = [value for value in differences if value]
    whole = on_lattice(changed, [1] * len(changed))
    terms = [Term(abs(value), (1, 1)) for value in whole if value]
    return two_sided_tail(terms, sum(value for value in whole if value > 0), most_work)


def smallest_sign_flip_p(differences: Sequence[Fraction]) -> Fraction:
    """The smallest p the sign-flip test could have reached with as many non-zero differences m: 2 / 2^m."""
    changed = sum(value != 0 for value in differences)
    return min(Fraction(1), Fraction(2, 2**changed))


def fewest_differing(level: Fraction) -> int | None:
    """How many cases must differ before the sign-flip test can give a p below `level`; None where it never can."""
    return next(number for number in count(1) if Fraction(2, 2**number) < level) if level > 0 else None


def label_permutation_p(pairs: Sequence[PairedCounts], most_work: int = MOST_WORK_FOR_EXACT) -> Fraction:
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
    return two_sided_tail(terms, observed, most_work)


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
    """The largest sign-flip p over all ways for the incomplete trials to go; 1 where they can turn the sum around.

    For a sum above 0, p is 2/2^m times the number of sets of cases whose differences sum to 0 or less: those that the
    sign patterns turn, or those that they keep. Each such sum falls with each difference, so p is largest at the least.
    """
    return sign_flip_p(worst_differences(differences))


def worst_paired_p(pairs: Sequence[PairedCounts], allowed: Fraction = ZERO) -> Fraction:
    """No `paired_p` is larger, whichever of the incomplete trials pass; 1 where they can turn the sum around.

    With as many planned trials on both sides of every case it is the largest sign-flip p. Else it is the largest of
    this and of what bounds the others: `worst_label_p` and, with an `allowed`, `open_plus_two_p`.
    """
    differences = [pair.open_difference for pair in pairs]
    p = worst_sign_flip_p([difference + allowed for difference in differences])
    if p < 1 and any(pair.first.planned != pair.second.planned for pair in pairs):
        ends = [(one.low, one.high) for one in differences]
        p = max(p, worst_label_p(pairs), open_plus_two_p(ends, -allowed) if allowed else ZERO)
    return p


def worst_label_p(pairs: Sequence[PairedCounts]) -> Fraction:
    """No `label_permutation_p` is larger, whichever of the incomplete trials pass; 1 where the sum can become 0.

    How many pass in a case, of both sides together, decides what labels can do; it may raise p either way. For a given
    number p is largest where the side ahead has the fewest of them: the sum is nearest to 0 then. So all such numbers
    are tried where they are few, cases that are alike in any order; else it is `label_bound`.
    """
    differences = [pair.open_difference for pair in pairs]
    low, high = sum((one.low for one in differences), ZERO), sum((one.high for one in differences), ZERO)
    if low <= 0 <= high:
        return Fraction(1)
    alike = Counter(pairs if low > 0 else [PairedCounts(pair.second, pair.first) for pair in pairs])
    ways = math.prod(math.comb(pair.first.incomplete + pair.second.incomplete + number, number)
                     for pair, number in alike.items())
    trials = sum(pair.first.planned + pair.second.planned for pair in pairs)
    if ways > min(MOST_WAYS, MOST_LABEL_WORK // trials**2):
        return label_bound(pairs, min(abs(low), abs(high)))
    return max(label_permutation_p(list(chain.from_iterable(way))) for way in product(
        *(combinations_with_replacement(pair.ways_on, number) for pair, number in alike.items())))


def label_bound(pairs: Sequence[PairedCounts], distance: Fraction) -> Fraction:
    """No label permutation of all planned trials takes the sum of differences so far from 0 more probably than this.

    2 exp(-2 distance^2 / sum(step^2 n)), step = 1/n1 + 1/n2; n = the fewest of n1, n2, and what may pass, and what may
    fail on both sides together. Hoeffding (1963), theorem 4: the passes of a side are drawn without replacement, which
    spreads no more than n draws with it, whichever of the four is taken for the draws; and their lemma for [0, 1].
    """
    spread = ZERO
    for first, second in ((pair.first, pair.second) for pair in pairs):
        step = Fraction(1, first.planned) + Fraction(1, second.planned)
        spread += step**2 * min(first.planned, second.planned, first.most_passed + second.most_passed,
                                first.planned - first.passed + second.planned - second.passed)
    return min(Fraction(1), Fraction(2 * math.exp(-2 * distance**2 / spread))) if spread else ZERO


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
        ways = _callbacks(first, second, passed, range(fewest, most + 1))
        shared = math.gcd(*ways)
        return cls(
            step=Fraction(1, first) + Fraction(1, second),
            weights=tuple(way // shared for way in ways),
            observed=pair.first.passed - fewest,
        )


def _callbacks(first: int, second: int, passed: int, of_first: range) -> list[int]:
    """How many ways there are to each number of passes of the first side, each from the one before."""
    ways = [math.comb(first, of_first[0]) * math.comb(second, passed - of_first[0])]
    for c in of_first[:-1]:
        ways.append(ways[-1] * ((first - c) * (passed - c)) // ((c + 1) * (second - passed + c + 1)))
    return ways


def _open(case: Counts) -> OpenValue:
    """The pass rate of a case."""
    judged = Fraction(case.passed, case.completed) if case.completed else None
    return OpenValue(Fraction(case.passed, case.planned), judged, Fraction(case.most_passed, case.planned))


def _judged(planned: int, passed: int) -> Counts:
    """A case whose trials are all judged."""
    return Counts(planned, passed, planned - passed)
