"""Figures as a person reads them: percent with one digit, seconds with three, and `n/a` for what nobody knows.

What stands for a metric where there is room for one figure is decided here, for all renderers, and so is where a
curve of completed-only values may be drawn.
What does not live here: figures in JSON (statistics/figures.py), and columns (columns.py).
"""
from __future__ import annotations

from fractions import Fraction

from benchkit.statistics.percentiles import TRIALS_NEEDED, Latency, Percentile
from benchkit.statistics.suites import SuiteMetric

NOT_AVAILABLE = "n/a"


def percent(value: Fraction | float | None) -> str:
    """A share as percent with one digit, ties to even: `68.3`. Only a share of 1 reads 100.0, only 0 reads 0.0.

    What would be rounded to them reads `<0.1` and `>99.9`.
    """
    if value is None:
        return NOT_AVAILABLE
    tenths = _tenths(value)
    if value > 0 and not tenths:
        return "<0.1"
    return ">99.9" if value < 1 and tenths == 1000 else _with_tenths(tenths)


def percent_in_words(value: Fraction | float) -> str:
    """A share in a sentence: `68.3 %`, `less than 0.1 %`, `more than 99.9 %`."""
    return f"{percent(value)} %".replace("<", "less than ").replace(">", "more than ")


def _tenths(value: Fraction | float) -> int:
    return round(Fraction(value) * 1000)


def _with_tenths(tenths: int) -> str:
    return f"{tenths // 10}.{tenths % 10}"


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


def points(value: Fraction | float | None) -> str:
    """A difference of shares in percentage points, with its sign: `+3.3`, `-0.1`.

    Only a difference of 0 reads 0.0, and only one of 1 reads 100.0: all others have some, but not all, of the tenths.
    """
    if value is None:
        return NOT_AVAILABLE
    sign = "-" if value < 0 else "+" if value > 0 else ""
    return sign + distance(-value if value < 0 else value)


def distance(value: Fraction | float) -> str:
    """A difference of shares in percentage points, without a sign: `3.3`."""
    tenths = _tenths(value)
    return _with_tenths(min(max(tenths, 1), 999) if 0 < value < 1 else tenths)


def points_spread(low: float, high: float) -> str:
    """An interval of differences, in percentage points: `-3.2 to +4.0`."""
    return f"{points(low)} to {points(high)}"


def probability(value: Fraction) -> str:
    """A p-value to three digits: `0.0312`, `1.91e-06`; `below 1e-300` where a float ends."""
    return f"{float(value):.3g}" if value > Fraction(1, 10**300) or not value else "below 1e-300"


def share(part: int, whole: int) -> str:
    """A count with its denominator and what that is in percent: `7 of 10 (70.0 %)`."""
    return of(part, whole) + (f" ({percent(Fraction(part, whole))} %)" if whole else "")


def of(part: int, whole: int) -> str:
    """A count and what it is of: `7 of 10`, `12 of 30,000`."""
    return f"{part:,} of {whole:,}"


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


def number(value: int) -> str:
    """A large count with its thousands apart: `1,234,567`."""
    return f"{value:,}"
