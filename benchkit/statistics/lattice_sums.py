"""The distribution of a sum of independent whole-number variables: what permutation tests rest on.

Exact by convolution where that is quick, else by inverting the characteristic function. What the variables
mean is the business of `paired`.
"""

from __future__ import annotations

import cmath
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

# Bits moved by an exact convolution; this many take well below a second. Any 1000 cases x 10 trials stay
# below; 10,000 cases x 10 trials would need minutes and a gigabyte, and go by inversion.
MOST_WORK_FOR_EXACT = 12 * 10**9
# How far a sum may reach before its steps are rounded: an inversion takes about a second then.
LARGEST_LATTICE = 1_000_000
# Probability that a sum lies outside the window an inversion looks at, at most.
OUTSIDE_WINDOW = 1e-15
# Frequencies left out add at most this times the logarithm of the number of points to a probability.
NEGLIGIBLE = 1e-14
# Values of a term that are less probable than this, below or above all others, are left out of an inversion: of a
# case of 1,000 trials a third is left.
IMPROBABLE = 1e-20
# An inversion is true to this, so it cannot tell a smaller probability from none, and a SMALL one has no third digit.
KNOWN_TO = Fraction(1, 10**9)
SMALL = 1000 * KNOWN_TO
# Exponentials of more than this are not asked for.
LARGEST_EXPONENT = 300.0


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


def two_sided_tail(terms: Sequence[Term], observed: int) -> Fraction:
    """Probability that the sum lies at least as far from its mean as the observed one.

    Exact up to MOST_WORK_FOR_EXACT, beyond it true to KNOWN_TO; where that is SMALL it is the next multiple of
    KNOWN_TO above: no figure that is smaller, or has more digits, than can be known.
    """
    mean = sum((term.mean for term in terms), Fraction(0))
    distance = abs(observed - mean)
    if distance == 0:
        return Fraction(1)
    low, high = math.floor(mean - distance), math.ceil(mean + distance)
    if _work(terms) <= MOST_WORK_FOR_EXACT:
        return _outside_exactly(terms, low, high)
    return _outside_by_inversion(terms, low, high)


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


def _outside_by_inversion(terms: Sequence[Term], low: int, high: int) -> Fraction:
    """The same by the discrete inverse transform: 1 - P(low < sum < high), the inner sum in closed form.

    As many frequencies as the sum has values would give its probabilities without error but for rounding, so
    as many as the window has points add at most OUTSIDE_WINDOW to it. They come in conjugate pairs. Phases
    are reduced as whole numbers before they become floats.
    """
    groups = _Alike.groups(terms)
    points = _window(terms, groups)
    inner = min(high - low - 1, points)

    def at(frequency: int) -> float:
        transform = _characteristic(groups, frequency, points)
        if transform == 0:
            return 0.0
        phase = cmath.exp(-1j * math.pi * (frequency * (low + high) % (2 * points)) / points)
        kernel = math.sin(math.pi * (frequency * inner % (2 * points)) / points)
        once_or_twice = 1 if 2 * frequency == points else 2
        return once_or_twice * (transform * phase).real * kernel / math.sin(math.pi * frequency / points)

    inside = (inner + math.fsum(at(frequency) for frequency in range(1, points // 2 + 1))) / points
    found = max(Fraction(0), 1 - Fraction(inside))
    return min(Fraction(1), found) if found >= SMALL else (math.floor(found / KNOWN_TO) + 1) * KNOWN_TO


def _window(terms: Sequence[Term], groups: Sequence[_Alike]) -> int:
    """Points around the mean that hold the sum but for OUTSIDE_WINDOW (Chernoff's inequality), or all.

    P(sum - mean >= t) <= E exp(tilt (sum - mean)) / exp(tilt t) for any tilt above 0. This one is the best for a
    normal distribution, which such sums come near to; less where the exponential would leave the range of floats.
    """
    every_point = sum(term.reach for term in terms) + 1
    strictness = math.log(2 / OUTSIDE_WINDOW)
    widest = max(1, *(group.step * (len(group.probabilities) - 1) for group in groups))
    tilt = min(math.sqrt(2 * strictness / float(sum(term.variance for term in terms))), LARGEST_EXPONENT / widest)
    reach = max(strictness + sum(group.number * group.log_moment(side) for group in groups) for side in (tilt, -tilt))
    return min(every_point, 2 * math.ceil(reach / tilt) + 1)


@dataclass(frozen=True, slots=True)
class _Alike:
    """Equal terms: their step, their probabilities from the highest value down, and their number.

    `first` is the place of the lowest value, behind those that are too improbable to count.
    """

    step: int
    first: int
    probabilities: array[float]
    number: int

    def log_moment(self, tilt: float) -> float:
        """log E exp(tilt (value - mean)) of one of them."""
        upwards = self.probabilities[::-1]
        mean = math.fsum(place * probability for place, probability in enumerate(upwards))
        return math.log(math.fsum(probability * math.exp(tilt * self.step * (place - mean))
                                  for place, probability in enumerate(upwards)))

    @classmethod
    def groups(cls, terms: Sequence[Term]) -> list[_Alike]:
        """Groups of equal terms, those that spread most first: they make a product negligible soonest."""
        numbers = Counter(terms)
        spread = {term: number * float(term.variance) / term.step**2 for term, number in numbers.items()}
        return [cls(term.step, *_probable(term.weights), numbers[term])
                for term in sorted(numbers, key=spread.__getitem__, reverse=True)]


def _probable(weights: Sequence[int]) -> tuple[int, array[float]]:
    """The place of the first probability that counts, and all from the last such one down to it."""
    total = sum(weights)
    probabilities = [weight / total for weight in weights]
    counting = [place for place, one in enumerate(probabilities) if one >= IMPROBABLE]
    first, last = counting[0], counting[-1]
    return first, array("d", reversed(probabilities[first:last + 1]))


def _characteristic(groups: Sequence[_Alike], frequency: int, points: int) -> complex:
    """E exp(2 pi i frequency sum / points), by Horner's rule in each group; 0 if negligible."""
    product = 1 + 0j
    for group in groups:
        turn = cmath.exp(2j * math.pi * (frequency * group.step % points) / points)
        value = 0j
        for probability in group.probabilities:
            value = value * turn + probability
        shift = cmath.exp(2j * math.pi * (frequency * group.step * group.first * group.number % points) / points)
        product *= value**group.number * shift
        if abs(product) < NEGLIGIBLE:
            return 0j
    return product
