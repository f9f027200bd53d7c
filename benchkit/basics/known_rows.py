"""Reading many objects of one kind fast: those whose types were accepted before are not looked at field by field.

A careful reader (fields.py) decides which types are right; here they are only remembered. So there is one place
that knows what is right, and one that is quick.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from benchkit.basics.strict_json import MOST_INTEGER


class KnownRows:
    """Objects with these fields, at least two, and no others; with the types of those that were accepted so far."""

    __slots__ = ("_known", "_number", "_pick")

    def __init__(self, names: Sequence[str]) -> None:
        self._pick = itemgetter(*names)
        self._number = len(names)
        self._known: set[tuple[type, ...]] = set()

    def row(self, value: Any) -> tuple[Any, ...] | None:
        """The values in the order of the names; None unless an object of exactly these types was accepted."""
        if type(value) is not dict or len(value) != self._number:
            return None
        try:
            row: tuple[Any, ...] = self._pick(value)
        except KeyError:
            return None
        return row if tuple(map(type, row)) in self._known else None

    def accept(self, value: Mapping[str, Any]) -> None:
        """Remember the types of an object that a careful reader has accepted; one with other fields is left alone."""
        if len(value) == self._number:
            self._known.add(tuple(map(type, self._pick(value))))


def all_in_bounds(numbers: Sequence[int | float | None]) -> bool:
    """Whether all numbers are from 0 to what the careful reader takes for counts and seconds, None aside."""
    known = list(filter(None, numbers))
    return not known or (min(known) > 0 and max(known) <= MOST_INTEGER)
