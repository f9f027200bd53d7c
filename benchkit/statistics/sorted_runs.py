"""Many values in order, without a sorted list of them: short sorted runs, 8 bytes a value.

A value of some rank is found by halving all runs at once.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

LONGEST_RUN = 8_192
"""Sorting a run takes a list of its values for a moment: 32 bytes each."""


class SortedRuns(Sequence[float]):
    """Finite values, ascending, each times `factor` (above 0). `runs` are ascending; no value is kept elsewhere."""

    __slots__ = ("_factor", "_runs", "_size")

    def __init__(self, runs: Sequence[Sequence[float]] = (), factor: float = 1.0) -> None:
        self._runs, self._factor, self._size = runs, factor, sum(map(len, runs))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[float]:
        return (value * self._factor for value in heapq.merge(*self._runs))

    @overload
    def __getitem__(self, place: int) -> float: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[float]: ...
    def __getitem__(self, place: int | slice) -> float | Sequence[float]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(self._size)[place])
        return self._at(range(self._size)[place]) * self._factor

    def _at(self, place: int) -> float:
        lows, highs = [0] * len(self._runs), [len(run) for run in self._runs]
        while True:
            windows = list(zip(self._runs, lows, highs, strict=True))
            middles = sorted(run[(low + high) // 2] for run, low, high in windows if low < high)
            middle = middles[len(middles) // 2]
            below = [bisect_left(run, middle, low, high) for run, low, high in windows]
            through = [bisect_right(run, middle, low, high) for run, low, high in windows]
            if place < sum(below):
                highs = below
            elif place < sum(through):
                return middle
            else:
                lows = through

    def times(self, factor: float) -> SortedRuns:
        """The same values in another unit."""
        return SortedRuns(self._runs, self._factor * factor)

    @classmethod
    def joined(cls, parts: Iterable[SortedRuns]) -> SortedRuns:
        """All values of several. Raises ValueError where their factors differ."""
        kept = list(parts)
        factors = {part._factor for part in kept} or {1.0}
        if len(factors) > 1:
            raise ValueError("values in different units have no common order")
        return cls([run for part in kept for run in part._runs], factors.pop())

    def counts(self, bin_of: Callable[[float], int], bins: int) -> list[int]:
        """How many values are in each of the bins 0 to `bins` - 1; a larger value must not be in a lower bin."""
        factor = self._factor
        ends = [sum(bisect_right(run, number, key=lambda value: bin_of(value * factor)) for run in self._runs)
                for number in range(bins)]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]


class RunSorter:
    """Takes values one by one, and has them in order at the end."""

    __slots__ = ("_open", "_runs")

    def __init__(self) -> None:
        self._open = array("d")
        self._runs: list[array[float]] = []

    def take(self, value: float) -> None:
        """One more value."""
        self._open.append(value)
        if len(self._open) >= LONGEST_RUN:
            self._close()

    def sorted(self) -> SortedRuns:
        """All values so far; those that are no finite number are left out."""
        self._close()
        return SortedRuns(tuple(self._runs))

    def _close(self) -> None:
        self._runs.append(array("d", sorted(filter(math.isfinite, self._open))))
        self._open = array("d")


def sorted_runs(values: Iterable[float]) -> SortedRuns:
    """The values in order; as they are where they already stand in sorted runs."""
    if isinstance(values, SortedRuns):
        return values
    sorter = RunSorter()
    for value in values:
        sorter.take(value)
    return sorter.sorted()
