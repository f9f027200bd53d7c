"""Figures as a person reads them: percent with one digit, seconds with three, and `n/a` for what nobody knows."""
from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from benchkit.basics.texts import NOT_AVAILABLE as NOT_AVAILABLE
from benchkit.basics.texts import distance as distance
from benchkit.basics.texts import percent as percent
from benchkit.basics.texts import percent_in_words as percent_in_words
from benchkit.basics.texts import points as points
from benchkit.statistics.percentiles import TRIALS_NEEDED, Latency, Percentile
from benchkit.statistics.permutation import ALPHA, LEAST_ABOUT, About
from benchkit.statistics.suites import SuiteMetric


def spread(low: Fraction | float | None, high: Fraction | float | None) -> str:
    """An interval of shares, in percent: `55.7 to 78.7`."""
    return NOT_AVAILABLE if low is None or high is None else f"{percent(low)} to {percent(high)}"


def rate(metric: SuiteMetric | None) -> str:
    """The one figure that stands for a metric at a k, in percent: exact, or the range incomplete trials leave open.

    `16.7`, `41.7 to 83.3` (worst to best). The completed-only value is no such figure: over the cases that have k
    completed trials it may lie outside that range.
    """
    if metric is None:
        return NOT_AVAILABLE
    return percent(metric.worst) if metric.worst == metric.best else spread(metric.worst, metric.best)


def completed_of_all(metric: SuiteMetric, cases: int) -> float | None:
    """The completed-only value where it is over all of the cases, so between worst and best; None elsewhere."""
    is_of_all = metric.completed is not None and metric.completed_cases == cases
    return float(metric.completed) if metric.completed is not None and is_of_all else None


def points_spread(low: float, high: float) -> str:
    """An interval of differences, in percentage points: `-3.2 to +4.0`."""
    return f"{points(low)} to {points(high)}"


MOST_DIGITS = 17


def probability(value: Fraction, level: Fraction = ALPHA) -> str:
    """A p-value to three digits: `0.0312`, `1.91e-06`; `about 0.0312` where it was approximated, and `below 1e-300`.

    Beside a level it has as many digits as it takes to stand on the same side of it: `0.0499999`, not `0.05`.
    Only a p of 1 reads 1.
    """
    if 0 < value < Fraction(1, 10**300):
        return "below 1e-300"
    digits = 3
    while digits < MOST_DIGITS and any((Fraction(f"{float(value):.{digits}g}") < one) != (value < one)
                                       for one in (level, ALPHA, 1)):
        digits += 1
    return ("about " if isinstance(value, About) else "") + f"{float(value):.{digits}g}"


def about_words(values: Iterable[Fraction | None]) -> str:
    """What `about` means, behind a sentence; nothing where no p was approximated."""
    is_there = any(isinstance(value, About) for value in values)
    return f" (about: a normal approximation, never below {float(LEAST_ABOUT):g})" if is_there else ""


def share(part: int, whole: int) -> str:
    """A count with its denominator and what that is in percent: `7 of 10 (70.0 %)`."""
    return of(part, whole) + (f" ({percent(Fraction(part, whole))} %)" if whole else "")


def of(part: int, whole: int) -> str:
    """A count and what it is of: `7 of 10`, `12 of 30,000`."""
    return f"{part:,} of {whole:,}"


def passed_of(passed: int, judged: int, unknown: int) -> str:
    """How many trials passed of those that were judged, and how many were not: `7 of 9, 1 unknown`."""
    return of(passed, judged) + and_unknown(unknown)


def and_unknown(count: int) -> str:
    """What stands behind a count of judged trials, so that the others are no secret; nothing where there are none."""
    return f", {count:,} unknown" if count else ""


MANY_INTERVALS = 10
"""Of fewer 95 % intervals none is expected to miss."""


def each_by_itself(count: int) -> str:
    """What so many 95 % intervals beside each other are not, in a sentence without a full stop; nothing for a few."""
    if count < MANY_INTERVALS:
        return ""
    missing = max(1, round(count / 20))
    return (f"each 95 % interval is by itself, not adjusted for how many there are: of {count:,} about {missing:,} "
            f"{'misses' if missing == 1 else 'miss'} by chance")


def times_as_long(ratio: Fraction) -> str:
    """A ratio of two times in words: `1.25 times as long`; beyond a hundred times or a hundredth only about."""
    if ratio < Fraction(1, 100):
        return "less than a hundredth as long"
    if ratio < 100:
        return f"{float(ratio):.2f} times as long"
    digits = len(str(int(ratio))) - 2
    return f"about {round(ratio / 10**digits) * 10**digits:,} times as long"


def seconds(value: float | None) -> str:
    """Seconds, to the digits that matter: `0.000012`, `0.012`, `1.23`, `123`."""
    if value is None:
        return NOT_AVAILABLE
    if value >= 100:
        return f"{value:.0f}"
    if value >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}" if value >= 0.001 or not value else f"{value:.6f}"


def per_second(rate: Fraction | float | None) -> str:
    """A speed: `41.2`; below one in ten seconds to the digits that matter: `0.04`."""
    if rate is None:
        return NOT_AVAILABLE
    return f"{float(rate):.1f}" if rate >= Fraction(1, 10) or not rate else f"{float(rate):.2g}"


def latency(value: Latency | None) -> str:
    """A latency in seconds; `> 120` where the trial was stopped at that limit."""
    if value is None:
        return NOT_AVAILABLE
    return ("> " if value.censored else "") + seconds(value.seconds)


def percentile_cells(percent: int, found: Percentile | None) -> tuple[str, str]:
    """A percentile of latencies and its rank interval, `?` where it has no such end; how many trials it needs."""
    if found is None:
        return NOT_AVAILABLE, f"needs {TRIALS_NEEDED[percent]}"
    if found.low is None and found.high is None:
        return latency(found.value), NOT_AVAILABLE
    low, high = (latency(end) if end else "?" for end in (found.low, found.high))
    return latency(found.value), f"{low} to {high}"


def number(value: int | None) -> str:
    """A large count with its thousands apart: `1,234,567`."""
    return NOT_AVAILABLE if value is None else f"{value:,}"
