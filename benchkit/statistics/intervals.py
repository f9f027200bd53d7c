"""Intervals for a proportion, for a suite mean, for a paired difference and for a board's headline.

Exact fractions come in, floats go out; every interval lies inside the range of what it bounds.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

CONFIDENCE = 0.95
SMALLEST_SHARE_OF_A_SUM = 1e-18


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends, low <= high."""

    low: float
    high: float


NOTHING_KNOWN = Interval(0.0, 1.0)


def normal_quantile(probability: float) -> float:
    """The z with P(Z <= z) = probability, 0 < probability < 1, for a standard normal Z.

    Newton's method on the smaller tail, which is convex there: from 0 the steps never overshoot. Importing the
    library's `statistics` for it would cost more than all else a report imports.
    """
    if not 0 < probability < 1:
        raise ValueError(f"no quantile at probability {probability}")
    tail = min(probability, 1 - probability)
    z = 0.0
    while True:
        excess = math.erfc(z / math.sqrt(2)) / 2 - tail
        step = excess * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
        if step <= 1e-15 * (1 + z):
            return z if probability > 0.5 else -z
        z += step


def two_sided_z(confidence: float) -> float:
    """The z that leaves half of what confidence leaves on either side: 1.96 for 0.95."""
    return normal_quantile((1 + confidence) / 2)


def wilson(successes: Fraction | int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a proportion; successes may be a fraction. Without a trial it is [0, 1].

    Raises ValueError unless 0 <= successes <= trials.
    """
    _check(successes, trials)
    if trials == 0:
        return NOTHING_KNOWN
    proportion = Fraction(successes) / trials
    z_squared = two_sided_z(confidence) ** 2
    low, high = _wilson_low(proportion, trials, z_squared), 1 - _wilson_low(1 - proportion, trials, z_squared)
    # an end that is below 1 stays so, where no float between is near enough
    return Interval(low, high if proportion == 1 else min(high, math.nextafter(1, 0)))


def _wilson_low(proportion: Fraction, trials: int, z_squared: float) -> float:
    """The smaller root of (1 + z^2/n) x^2 - (2p + z^2/n) x + p^2 = 0, by the larger: no digits are lost near 0."""
    share = z_squared / trials
    spread = float(proportion * (1 - proportion) / trials) + share / (4 * trials)
    larger = float(proportion) + share / 2 + math.sqrt(z_squared * spread)
    return float(proportion) ** 2 / larger


def case_wilson(total: Fraction | int, cases: int, confidence: float = CONFIDENCE) -> Interval:
    """Interval of a suite mean: Wilson's formula with n = number of cases, x = the sum of their values.

    It is exactly Wilson's when the values are 0 or 1, and never has width zero: where all of a few cases
    agree, normal, t and bootstrap intervals shrink to a point, and cover far too rarely.
    """
    return wilson(total, cases, confidence)


def log_binomial_term(trials: int, successes: int, probability: float) -> float:
    """The logarithm of P(X = successes), X binomial, 0 < probability < 1."""
    choose = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return choose + successes * math.log(probability) + (trials - successes) * math.log1p(-probability)


def upper_tail(trials: int, successes: int, probability: float) -> float:
    """P(X >= successes), X binomial, 0 < probability < 1; meant for the smaller side, above the mean of X.

    Terms by their ratios from P(X = successes) on, until they no longer count. Exact at the edges:
    1 for successes = 0, 0 for successes > trials.
    """
    if successes <= 0 or successes > trials:
        return 1.0 if successes <= 0 else 0.0
    odds = probability / (1 - probability)
    terms = [1.0]
    for reached in range(successes, trials):
        term = terms[-1] * (trials - reached) / (reached + 1) * odds
        if term < SMALLEST_SHARE_OF_A_SUM:
            break
        terms.append(term)
    return math.exp(log_binomial_term(trials, successes, probability)) * math.fsum(terms)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a proportion: covers at least as often as it says. Without a trial it is [0, 1]."""
    tail = (1 - confidence) / 2
    return _where(successes, trials, lambda count, p: upper_tail(trials, count, p) >= tail)


def anytime(successes: int, trials: int, alpha: float = 0.05) -> Interval:
    """An interval that stays valid however often one looks and whenever one stops.

    { p : (n+1) C(n,c) p^c (1-p)^(n-c) > alpha }, the confidence sequence of a uniform mixture (Ville's
    inequality). Without a trial it is [0, 1].
    """
    least = math.log(alpha) - math.log(trials + 1)
    return _where(successes, trials, lambda count, p: log_binomial_term(trials, count, p) > least)


def _where(successes: int, trials: int, holds: Callable[[int, float], bool]) -> Interval:
    """From where a condition on a count and a probability begins to hold, by bisection; the high end is the mirror."""
    _check(successes, trials)

    def low_end(count: int) -> float:
        outside, inside = 0.0, count / trials
        while count and (middle := (outside + inside) / 2) not in (outside, inside):
            outside, inside = (outside, middle) if holds(count, middle) else (middle, inside)
        return inside

    return Interval(low_end(successes), 1 - low_end(trials - successes)) if trials else NOTHING_KNOWN


def paired_plus_two(differences: Sequence[Fraction], confidence: float = CONFIDENCE) -> Interval:
    """Interval of the mean of paired differences in [-1, 1], with pseudo-cases +1 and -1 added.

    m = sum(d) / (M+2), v = (sum(d^2) + 2) / (M+2) - m^2, m +- z sqrt(v / (M+2)). With one trial a case it is
    the interval of Bonett and Price (2012).
    """
    return open_plus_two([(difference, difference) for difference in differences], confidence)


def open_plus_two(differences: Sequence[tuple[Fraction, Fraction]], confidence: float = CONFIDENCE) -> Interval:
    """An interval that holds `paired_plus_two` of all differences there may be, each between a least and a most.

    From the least mean to the most, with the largest sum of squares and the mean nearest 0 in the variance.
    """
    low, high, error = _open_mean(differences)
    half = two_sided_z(confidence) * error
    return Interval(max(-1.0, float(low) - half), min(1.0, float(high) + half))


def plus_two_p(differences: Sequence[Fraction], mean: Fraction) -> Fraction:
    """Two-sided p of "the mean is this", by `paired_plus_two`: 1 - the confidence at which an end of it lies there."""
    return open_plus_two_p([(difference, difference) for difference in differences], mean)


def open_plus_two_p(differences: Sequence[tuple[Fraction, Fraction]], mean: Fraction) -> Fraction:
    """No `plus_two_p` is larger of all differences there may be, by `open_plus_two`: 1 where their mean may be this."""
    low, high, error = _open_mean(differences)
    distance = max(low - mean, mean - high, Fraction(0))
    return Fraction(math.erfc(float(distance) / (math.sqrt(2) * error)))


def _open_mean(differences: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction, float]:
    """The least mean with the pseudo-cases, the most, and its largest standard error, which is above 0."""
    size = len(differences) + 2
    low = sum((least for least, _ in differences), Fraction(0)) / size
    high = sum((most for _, most in differences), Fraction(0)) / size
    squares = sum((max(least * least, most * most) for least, most in differences), Fraction(0)) + 2
    nearest = max(low, -high, Fraction(0))
    return low, high, math.sqrt((squares / size - nearest**2) / size)


@dataclass(frozen=True, slots=True)
class HeadlineInterval:
    """The one number of a board, and its interval."""

    value: Fraction
    interval: Interval


def headline(capability: Sequence[Fraction], gate_failed: int, gate_trials: int) -> HeadlineInterval:
    """Mean of the capability values of the cases x (1 - hard-gate fail rate), at 95 %.

    Raises ValueError without a case. A gate nobody tried has not failed, and its interval is [0, 1].
    """
    if not capability:
        raise ValueError("a headline needs at least one case")
    fail_rate = Fraction(gate_failed, gate_trials) if gate_trials else Fraction(0)
    return _headline(capability, fail_rate, clopper_pearson(gate_failed, gate_trials, confidence=0.975))


def headline_over_cases(capability: Sequence[Fraction], gate_failures: Sequence[Fraction]) -> HeadlineInterval:
    """The same of several answers to each case: for each case its mean capability, and the share that failed.

    Both intervals are over cases (case-Wilson, 97.5 %): answers to one question break a gate together, and an
    interval over answers as if they were independent covers .71 where it says .95 (24 cases x 10, 3 of 10 break it).
    """
    cases, failed = len(capability), sum(gate_failures, Fraction(0))
    return _headline(capability, failed / cases, case_wilson(failed, cases, confidence=0.975))


def _headline(capability: Sequence[Fraction], fail_rate: Fraction, failures: Interval) -> HeadlineInterval:
    """Corners of capability x (1 - gate fail rate), both at 97.5 % for 95 % together."""
    total = sum(capability, Fraction(0))
    able = case_wilson(total, len(capability), confidence=0.975)
    return HeadlineInterval(total / len(capability) * (1 - fail_rate),
                            Interval(able.low * (1 - failures.high), able.high * (1 - failures.low)))


def _check(successes: Fraction | int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"no proportion has {successes} successes in {trials} trials")
