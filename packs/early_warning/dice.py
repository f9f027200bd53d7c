"""Chance that is the same on every Python: only `random()` of a seeded generator, and indices made from it.

`random.Random(seed).random()` is promised to give the same sequence in every version; `choice`, `shuffle` and
`randint` are not (https://docs.python.org/3/library/random.html#notes-on-reproducibility).
"""
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


class Dice:
    """A seeded source of numbers and choices."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + int(self._random() * (most - least + 1))

    def tenths(self, least: float, most: float) -> float:
        """A number with one decimal."""
        return round(least + self._random() * (most - least), 1)

    def happens(self, chance: float) -> bool:
        """True with this chance."""
        return self._random() < chance

    def pick(self, things: Sequence[Thing]) -> Thing:
        """One of them."""
        return things[int(self._random() * len(things))]

    def some(self, things: Sequence[Thing], count: int) -> tuple[Thing, ...]:
        """`count` of them (all, if there are fewer), each once, in any order."""
        left = list(things)
        return tuple(left.pop(int(self._random() * len(left))) for _ in range(min(count, len(left))))

    def shuffled(self, things: Sequence[Thing]) -> tuple[Thing, ...]:
        """All of them in any order."""
        return self.some(things, len(things))
