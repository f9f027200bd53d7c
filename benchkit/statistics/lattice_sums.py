"""The distribution of a sum of independent whole-number variables: what permutation tests rest on.

Exact by convolution where that is quick, else about, by a normal distribution. What the variables
mean is the business of `permutation`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

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
class Term:
    """A variable that is 0, step, 2 step, ..., with probabilities in proportion to `weights`."""

    step: int
    weights: tuple[int, ...]

    @property
    def reach(self) -> int:
        """The largest value."""
        return self.step * (len(self.weights) - 1)

    @property
    def mean(self) -> Fraction:
        """The expected value."""
        return self._moment(1)

    @property
    def variance(self) -> Fraction:
        """The variance."""
        return self._moment(2) - self._moment(1) ** 2

    def _moment(self, power: int) -> Fraction:
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


def two_sided_tail(terms: Sequence[Term], observed: int, most_work: int = MOST_WORK_FOR_EXACT) -> Fraction:
    """Probability that the sum lies at least as far from its mean as the observed one.

    Exact where that takes at most `most_work`, else `About`.
    """
    mean = sum((term.mean for term in terms), Fraction(0))
    distance = abs(observed - mean)
    if distance == 0:
        return Fraction(1)
    low, high = math.floor(mean - distance), math.ceil(mean + distance)
    if _work(terms) <= most_work:
        return _outside_exactly(terms, low, high)
    return About(min(Fraction(1), max(LEAST_ABOUT, Fraction(_outside_about(terms, mean - low, high - mean)))))


def _work(terms: Sequence[Term]) -> int:
    slot_bits = sum((sum(term.weights) - 1).bit_length() for term in terms)
    return slot_bits * sum(term.reach for term in terms) * sum(len(term.weights) for term in terms) // 2


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
    ordered = sorted(terms, key=lambda term: term.variance, reverse=True)
    sums, taken = {0.0: 1.0}, 0
    while taken < len(ordered) and len(sums) * len(ordered[taken].weights) <= MOST_LARGE_SUMS:
        sums, taken = _with_term(sums, ordered[taken]), taken + 1
    lower, upper = float(below) - 0.5, float(above) - 0.5
    spread = math.sqrt(2 * sum(float(term.variance) for term in ordered[taken:]))
    return math.fsum(
        probability * (math.erfc((upper - one) / spread) + math.erfc((lower + one) / spread)) / 2 if spread
        else probability * (one >= upper or -one >= lower) for one, probability in sums.items())


def _with_term(sums: Mapping[float, float], term: Term) -> dict[float, float]:
    """Sums as distances from their mean, each with its probability, and one term more."""
    found: dict[float, float] = {}
    total, mean = sum(term.weights), term.mean
    for place, weight in enumerate(term.weights):
        away = float(place * term.step - mean)
        for one, probability in sums.items():
            found[one + away] = found.get(one + away, 0.0) + probability * (weight / total)
    return found
