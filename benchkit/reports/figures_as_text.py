"""Figures as a person reads them: percent with one digit, seconds with three, and `n/a` for what nobody knows.

What does not live here: figures in JSON (statistics/figures.py), and columns (columns.py).
"""
from __future__ import annotations

from fractions import Fraction

from benchkit.statistics.percentiles import TRIALS_NEEDED, Latency, Percentile

NOT_AVAILABLE = "n/a"


def percent(value: Fraction | float | None) -> str:
    """A share as percent with one digit, ties to even: `68.3`. Only a share of 1 reads 100.0, only 0 reads 0.0."""
    if value is None:
        return NOT_AVAILABLE
    tenths = round(Fraction(value) * 1000)
    if 0 < value < 1:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths // 10}.{tenths % 10}"


def spread(low: float | None, high: float | None) -> str:
    """An interval of shares, in percent: `55.7 to 78.7`."""
    return NOT_AVAILABLE if low is None or high is None else f"{percent(low)} to {percent(high)}"


def points(value: Fraction | float | None) -> str:
    """A difference of shares in percentage points, with its sign: `+3.3`, `-0.1`. Only a difference of 0 reads 0.0."""
    if value is None:
        return NOT_AVAILABLE
    sign = "-" if value < 0 else "+" if value > 0 else ""
    return sign + percent(-value if value < 0 else value)


def points_spread(low: float, high: float) -> str:
    """An interval of differences, in percentage points: `-3.2 to +4.0`."""
    return f"{points(low)} to {points(high)}"


def probability(value: Fraction) -> str:
    """A p-value to three digits: `0.0312`, `1.91e-06`; `below 1e-300` where a float ends."""
    return f"{float(value):.3g}" if value > Fraction(1, 10**300) or not value else "below 1e-300"


def share(part: int, whole: int) -> str:
    """A count with its denominator and what that is in percent: `7 of 10 (70.0 %)`."""
    return f"{part} of {whole}" + (f" ({percent(Fraction(part, whole))} %)" if whole else "")


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
