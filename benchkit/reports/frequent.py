"""Counts of texts in bounded memory: of many different ones only the frequent ones are kept.

Explanations and messages are free text, and every one of a million trials may bring its own.
What does not live here: what is counted (failures.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)

MOST_KEPT = 10_000
"""So many different things are counted exactly."""


class Frequent(Generic[Thing]):
    """How often each thing came, in the order of first ones.

    Where there are more than MOST_KEPT, the rarer half is set aside, again and again (lossy counting, Manku and
    Motwani 2002): of n counted, whatever came more than 2 n / MOST_KEPT times is there, its count too low by at most
    that. `is_cut` says that it came to this.
    """

    __slots__ = ("counts", "is_cut")

    def __init__(self) -> None:
        self.counts: Counter[Thing] = Counter()
        self.is_cut = False

    def take(self, thing: Thing, times: int = 1) -> None:
        """One more of them, or several."""
        self.counts[thing] += times
        if len(self.counts) > MOST_KEPT:
            frequent = {thing for thing, _ in self.counts.most_common(MOST_KEPT // 2)}
            self.counts = Counter({thing: count for thing, count in self.counts.items() if thing in frequent})
            self.is_cut = True

    def add(self, other: Frequent[Thing]) -> None:
        """All that another one counted."""
        for thing, times in other.counts.items():
            self.take(thing, times)
        self.is_cut |= other.is_cut
