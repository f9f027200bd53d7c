"""Two systems, or two recordings of one, over the same cases: is there a difference, and how sure is that?

A difference is first minus second, exact. A finding rests on two p: that of the judged trials, and the largest that is
left however the incomplete trials go. A p is exact, by convolution, where that is quick, else `About`.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement, count, product

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import Interval, open_plus_two_p, plus_two_p

ZERO = Fraction(0)
ALPHA = Fraction(1, 20)
MOST_WAYS = 2000
"""Ways for incomplete trials to go of which each is looked at, for unequal numbers of planned trials."""
MOST_LABEL_WORK = 5 * 10**8
"""Ways x squared trials, at most: up to 2 seconds (64 cases, 10 trials against 3: 700 ways of .6 ms)."""
# Bits moved by an exact convolution; this many take well below a second. Any 1000 cases x 10 trials stay
# below; 10,000 cases x 10 trials would need minutes and a gigabyte, and are approximated.
MOST_WORK_FOR_EXACT = 12 * 10**9
# How far a sum may reach before its steps are rounded.
LARGEST_LATTICE = 1_000_000
# So many sums of the largest terms are enumerated where the rest is taken for normal: a few cases that differ by
# much among many that hardly do are no normal distribution.
MOST_LARGE_SUMS = 1024
# No approximation says less: so far out a normal distribution is no guide.
LEAST_ABOUT = Fraction(1, 10**6)


class About(Fraction):
    """A probability that was approximated; it is worded so, and is never below LEAST_ABOUT."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OpenValue:
    """A value of one case, or a difference: over what was judged (None of nothing), and what it may become."""

    low: Fraction
    judged: Fraction | None
    high: Fraction

    def __sub__(self, other: OpenValue) -> OpenValue:
        judged = None if self.judged is None or other.judged is None else self.judged - other.judged
        return OpenValue(self.low - other.high, judged, self.high - other.low)

    def __add__(self, more: Fraction) -> OpenValue:
        return OpenValue(self.low + more, None if self.judged is None else self.judged + more, self.high + more)


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
        return Fraction(self.first.passed, self.first.completed) - Fraction(self.second.passed, self.second.completed)

    @property
    def open_difference(self) -> OpenValue:
        """The difference with all that incomplete trials leave open. ZeroDivisionError without a planned trial."""
        first, second = (OpenValue(Fraction(one.passed, one.planned),
                                   Fraction(one.passed, one.completed) if one.completed else None,
                                   Fraction(one.most_passed, one.planned)) for one in (self.first, self.second))
        return first - second


def pass_rate_differences(pairs: Sequence[PairedCounts]) -> list[Fraction]:
    """The differences in pass^1 of the cases in which both sides completed a trial."""
    return [pair.difference for pair in pairs if pair.both_completed]


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """The exact mean; None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


def sign_flip_p(differences: Sequence[Fraction], most_work: int | None = None) -> Fraction:
    """Two-sided p of "no difference on other such cases": each difference could have had the other sign.

    The share of all sign patterns whose sum is at least as far from 0; equal to an exhaustive paired
    permutation test, and with one trial a case to the exact sign test of McNemar. 1 where nothing differs.
    Exact for suites up to about 1000 cases x 10 trials, beyond `most_work` (MOST_WORK_FOR_EXACT) it is `About`.
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


def label_permutation_p(pairs: Sequence[PairedCounts], most_work: int | None = None) -> Fraction:
    """Two-sided p of "nothing changed in these same cases": in each, any trial could be of either side.

    Given how many trials of a case passed in all, those of the first side are hypergeometric; the statistic
    is the sum of differences. With one case and equal numbers of trials it is Fisher's exact test. Cases in
    which a side completed nothing say nothing, and are left out.
    """
    lengths, weights, observed = [], [], []
    for pair in (pair for pair in pairs if pair.both_completed):
        first, second = pair.first.completed, pair.second.completed
        passed = pair.first.passed + pair.second.passed
        fewest, most = max(0, passed - second), min(first, passed)
        if fewest < most:
            # how many ways there are to each number of passes of the first side, each from the one before
            ways = [math.comb(first, fewest) * math.comb(second, passed - fewest)]
            for c in range(fewest, most):
                ways.append(ways[-1] * ((first - c) * (passed - c)) // ((c + 1) * (second - passed + c + 1)))
            shared = math.gcd(*ways)
            weights.append(tuple(way // shared for way in ways))
            lengths.append(Fraction(1, first) + Fraction(1, second))
            observed.append(pair.first.passed - fewest)
    steps = on_lattice(lengths, [len(one) - 1 for one in weights])
    return two_sided_tail([Term(step, one) for step, one in zip(steps, weights, strict=True)],
                          sum(step * number for step, number in zip(steps, observed, strict=True)), most_work)


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


def worst_sign_flip_p(differences: Sequence[OpenValue]) -> Fraction:
    """The largest sign-flip p over all ways for the incomplete trials to go; 1 where they can turn the sum around.

    For a sum above 0, p is 2/2^m times the number of sets of cases whose differences sum to 0 or less: those that the
    sign patterns turn, or those that they keep. Each such sum falls with each difference, so p is largest at the least.
    """
    ahead = sum((one.judged for one in differences if one.judged is not None), ZERO)
    worst = [one.low if ahead > 0 else one.high for one in differences]
    return sign_flip_p(worst) if ahead * sum(worst, ZERO) > 0 else Fraction(1)


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
        *(combinations_with_replacement(_ways_on(pair), number) for pair, number in alike.items())))


def _ways_on(pair: PairedCounts) -> list[PairedCounts]:
    """All planned trials judged: for each number that may pass on both sides together, the fewest by first."""
    first, second, found = pair.first, pair.second, []
    for both in range(first.passed + second.passed, first.most_passed + second.most_passed + 1):
        of_second = min(second.most_passed, both - first.passed)
        found.append(PairedCounts(*(Counts(planned, passed, planned - passed) for planned, passed in (
            (first.planned, both - of_second), (second.planned, of_second)))))
    return found


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
    """Two-sided p of "as many cases stop passing every time as begin to", for equal numbers of trials: a sign test."""
    return sign_flip_p([Fraction(1)] * began + [Fraction(-1)] * stopped)


def difference_bounds(pairs: Sequence[PairedCounts]) -> Interval | None:
    """What incomplete trials leave open: [worst first - best second, best first - worst second] in pass^1.

    Means over the cases; None without a case.
    """
    differences = [pair.open_difference for pair in pairs]
    low, high = mean([one.low for one in differences]), mean([one.high for one in differences])
    return None if low is None or high is None else Interval(float(low), float(high))


def same_within(interval: Interval, margin: Fraction | float) -> bool:
    """Equivalence: the whole interval lies in [-margin, margin]. A large p is never sameness."""
    return -margin <= interval.low and interval.high <= margin


@dataclass(frozen=True, slots=True)
class Term:
    """A variable that is 0, step, 2 step, ..., with probabilities in proportion to `weights`."""

    step: int
    weights: tuple[int, ...]

    @property
    def reach(self) -> int:
        """The largest value."""
        return self.step * (len(self.weights) - 1)

    @property
    def variance(self) -> Fraction:
        """The variance."""
        return self.moment(2) - self.moment(1) ** 2

    def moment(self, power: int) -> Fraction:
        """The expected value of a power of it."""
        weighted = sum((i * self.step) ** power * weight for i, weight in enumerate(self.weights))
        return Fraction(weighted, sum(self.weights))


def on_lattice(values: Sequence[Fraction], lengths: Sequence[int]) -> list[int]:
    """Whole numbers in proportion to the values, as small as they can be.

    `lengths` says how many steps of each value a sum may take. Where the denominators are so unlike that the
    sum could reach further than LARGEST_LATTICE, the values are rounded to a lattice of that size. A test on
    them is still a valid permutation test, of a statistic that weighs the cases very slightly differently.
    """
    scale = math.lcm(*(value.denominator for value in values))
    whole = [int(value * scale) for value in values]
    divisor = math.gcd(*whole) or 1
    reach = sum(abs(value) * length for value, length in zip(whole, lengths, strict=True)) // divisor
    if reach > LARGEST_LATTICE:
        return [round(Fraction(value * LARGEST_LATTICE, divisor * reach)) for value in whole]
    return [value // divisor for value in whole]


def two_sided_tail(terms: Sequence[Term], observed: int, most_work: int | None = None) -> Fraction:
    """Probability that the sum lies at least as far from its mean as the observed one.

    Exact where that takes at most `most_work`, else `About`.
    """
    mean = sum((term.moment(1) for term in terms), ZERO)
    distance = abs(observed - mean)
    if distance == 0:
        return Fraction(1)
    low, high = math.floor(mean - distance), math.ceil(mean + distance)
    slot_bits = sum((sum(term.weights) - 1).bit_length() for term in terms)
    work = slot_bits * sum(term.reach for term in terms) * sum(len(term.weights) for term in terms) // 2
    if work <= (MOST_WORK_FOR_EXACT if most_work is None else most_work):
        return _outside_exactly(terms, low, high)
    return About(min(Fraction(1), max(LEAST_ABOUT, Fraction(_outside_about(terms, mean - low, high - mean)))))


def _outside_exactly(terms: Sequence[Term], low: int, high: int) -> Fraction:
    """P(sum <= low or sum >= high) with the generating polynomial packed into one integer.

    The coefficient of x^j stands in slot j; slots are wide enough for the sum of all coefficients, so
    nothing ever carries from one to the next. Short terms first keep the product short for long.
    """
    total = math.prod(sum(term.weights) for term in terms)
    slot = (total.bit_length() + 7) // 8
    product = 1
    for term in sorted(terms, key=lambda term: term.reach):
        longer = product * term.weights[0]
        for power, weight in enumerate(term.weights[1:], start=1):
            longer += (product * weight if weight > 1 else product) << (power * term.step * slot * 8)
        product = longer
    reach = sum(term.reach for term in terms)
    slots = product.to_bytes(slot * (reach + 1), "little")
    outside = slots[: max(0, low + 1) * slot] + slots[high * slot :]
    ways = sum(int.from_bytes(outside[at : at + slot], "little") for at in range(0, len(outside), slot))
    return Fraction(ways, total)


def _outside_about(terms: Sequence[Term], below: Fraction, above: Fraction) -> float:
    """P(sum <= mean - below or sum >= mean + above) by a normal distribution, half a step nearer for continuity.

    The sums of the terms that spread most are enumerated, and only the rest is taken for normal.
    """
    rest = sorted(terms, key=lambda term: term.variance, reverse=True)
    sums = {0.0: 1.0}  # as distances from their mean, each with its probability
    while rest and len(sums) * len(rest[0].weights) <= MOST_LARGE_SUMS:
        term, longer = rest.pop(0), dict[float, float]()
        total, mean = sum(term.weights), term.moment(1)
        for place, weight in enumerate(term.weights):
            away = float(place * term.step - mean)
            for one, probability in sums.items():
                longer[one + away] = longer.get(one + away, 0.0) + probability * (weight / total)
        sums = longer
    lower, upper = float(below) - 0.5, float(above) - 0.5
    spread = math.sqrt(2 * sum(float(term.variance) for term in rest))
    return math.fsum(
        probability * (math.erfc((upper - one) / spread) + math.erfc((lower + one) / spread)) / 2 if spread
        else probability * (one >= upper or -one >= lower) for one, probability in sums.items())
