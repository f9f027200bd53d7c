"""What a cut leaves: trials of each case when only the first cells of each shard were run, and what is then known.

The cells of a plan are numbered in the order of running; shard i of N (from 0) holds the numbers i, i + N, i + 2N, ...
    trial-major   number = trial x cases + case      what the kit does
    case-major    number = case x trials + trial     what it does not do
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchkit.statistics.intervals import wilson


@dataclass(frozen=True, slots=True)
class Plan:
    """So many trials of each of so many cases."""

    cases: int
    trials: int

    @property
    def cells(self) -> int:
        """All of them."""
        return self.cases * self.trials


def trial_major_counts(plan: Plan, done: Sequence[int]) -> list[int]:
    """Trials of each case where shard i of len(done) has run the first done[i] of its cells, trial-major.

    A shard comes back to a case after cases / gcd(cases, shards) of its cells: whole rounds are counted, not walked.
    """
    shards = len(done)
    period = plan.cases // math.gcd(plan.cases, shards)
    counts = [0] * plan.cases
    for index, cells in enumerate(done):
        rounds, rest = divmod(cells, period)
        for step in range(period if rounds else rest):
            counts[(index + step * shards) % plan.cases] += rounds + (step < rest)
    return counts


def case_major_counts(plan: Plan, done: Sequence[int]) -> list[int]:
    """The same, case-major."""
    shards = len(done)
    counts = [0] * plan.cases
    for index, cells in enumerate(done):
        before = 0
        for case in range(plan.cases):
            # cells of this shard with a number below (case + 1) x trials
            below = min(cells, max(0, -((index - (case + 1) * plan.trials) // shards)))
            counts[case] += below - before
            before = below
            if below == cells:
                break
    return counts


@dataclass(frozen=True, slots=True)
class Known:
    """What may be said after a cut.

    fewest    trials of the case that has the fewest
    at_least  cases that have k trials, so that their pass^k is known, by k
    width     of the 95 % interval of a case's pass rate where that is 1/2 (Wilson; 1 without a trial): nine cases of
              ten have none wider
    error     how far the mean pass rate over the cases that have a trial is from the truth, where the file of cases is
              sorted, the easy half first
    """

    fewest: int
    at_least: tuple[int, ...]
    width: float
    error: float


def known_after(plan: Plan, counts: Sequence[int], ks: Sequence[int], random: Random) -> Known:
    """What the counts say. The easy half of the cases passes 80 % of its trials, the other half 40 %."""
    widths = {count: _width_of_half(count) for count in set(counts)}
    rates = [0.8 if case < plan.cases / 2 else 0.4 for case in range(plan.cases)]
    seen = [min(1.0, max(0.0, random.gauss(rate, math.sqrt(rate * (1 - rate) / count))))
            for rate, count in zip(rates, counts, strict=True) if count]
    mean = math.fsum(seen) / len(seen) if seen else 0.0
    return Known(
        fewest=min(counts), at_least=tuple(sum(count >= k for count in counts) for k in ks),
        width=sorted(widths[count] for count in counts)[math.ceil(0.9 * plan.cases) - 1],
        error=mean - math.fsum(rates) / plan.cases)


def _width_of_half(count: int) -> float:
    found = wilson(count // 2, count)
    return found.high - found.low
