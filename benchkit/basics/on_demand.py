"""Sequences whose members are made when they are asked for, and kept by nobody.

They stand where a tuple would take more memory than there is: the trials of a log, the results of a large run.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class OnDemand(Sequence[T], Generic[T]):
    """`size` members, made by `read(start, stop)`: an iterator over those at start, start + 1, ... stop - 1.

    A slice without steps is another such sequence over the same members; any other slice is a tuple. Two are equal,
    and equal to a tuple, if all members are. Every reading makes the members again.
    """

    __slots__ = ("_first", "_read", "_size")

    def __init__(self, size: int, read: Callable[[int, int], Iterator[T]], first: int = 0) -> None:
        self._size, self._read, self._first = size, read, first

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return self._read(self._first, self._first + self._size)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            places = range(self._size)[place]
            if places.step == 1:
                return OnDemand(len(places), self._read, self._first + places.start)
            return tuple(self[one] for one in places)
        at = range(self._first, self._first + self._size)[place]
        return next(self._read(at, at + 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"<{self._size} on demand: {shown}{', ...' if self._size > 3 else ''}>"
