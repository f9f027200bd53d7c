"""Percentiles of latencies by exact nearest rank, with timeouts as right-censored values.

A timeout is a trial that took longer than its limit, nobody knows by how much: it ranks above every completed one.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from benchkit.statistics.intervals import CONFIDENCE, upper_tail

PERCENTS = (50, 90, 95, 99)
TRIALS_NEEDED = {50: 1, 90: 10, 95: 20, 99: 100}


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds; if `censored`, the trial was stopped at this limit and took longer."""

    seconds: float
    censored: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Latencies in seconds, ascending: of the completed trials, and the limits of those that timed out."""

    completed: Sequence[float]
    timeouts: Sequence[float] = ()

    @property
    def size(self) -> int:
        """Number of trials, timeouts included."""
        return len(self.completed) + len(self.timeouts)

    def at_rank(self, rank: int) -> Latency:
        """The value of this rank, 1 the quickest. Any rank among timeouts gives their smallest limit."""
        is_completed = rank <= len(self.completed)
        return Latency(self.completed[rank - 1] if is_completed else self.timeouts[0], censored=not is_completed)


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile and the ends of its interval, each None where the sample does not reach that far."""

    value: Latency
    low: Latency | None
    high: Latency | None


def nearest_rank(percent: int, size: int) -> int:
    """The smallest rank that has at least this percentage of the sample at or below it, in whole numbers."""
    return -(-percent * size // 100)


def percentile(sample: Sample, percent: int) -> Percentile | None:
    """The percentile, one of PERCENTS, with its 95 % rank interval; None from fewer trials than TRIALS_NEEDED says."""
    if sample.size < TRIALS_NEEDED[percent]:
        return None
    low, high = (None if rank is None else sample.at_rank(rank) for rank in rank_interval(percent, sample.size))
    return Percentile(sample.at_rank(nearest_rank(percent, sample.size)), low, high)


def rank_interval(percent: int, size: int, confidence: float = CONFIDENCE) -> tuple[int | None, int | None]:
    """Ranks that hold the true percentile q: the distribution-free interval from X ~ Bin(size, q).

    low is the largest r with P(X >= r) >= .975, high the smallest r with P(X >= r) <= .025 (at 95 %), each None where
    the sample does not reach so far. The first is the second seen from the other end.
    """
    tail = (1 - confidence) / 2
    low = size + 1 - _first_rare_count(size, 100 - percent, tail)
    high = _first_rare_count(size, percent, tail)
    return low if low >= 1 else None, high if high <= size else None


def _first_rare_count(size: int, percent: int, tail: float) -> int:
    """The smallest r above size * percent / 100 with P(Bin(size, percent %) >= r) <= tail."""
    return bisect_left(range(size + 2), True, lo=nearest_rank(percent, size),
                       key=lambda count: upper_tail(size, count, percent / 100) <= tail)
