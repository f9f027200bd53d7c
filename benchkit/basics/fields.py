"""Fields of JSON objects from strangers: of the right type, or a ValueError that names the field.

A careful reader (fields.py) decides which types are right; here they are only remembered. So there is one place
that knows what is right, and one that is quick.
"""
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast

from benchkit.basics.json_text import MOST_INTEGER, canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON

_HEX = re.compile(r"[0-9a-f]*")
_STAMP = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}Z")


class Fields:
    """One JSON object and the place it stands at (`results[3]`; "" is the whole file).

    Every getter raises ValueError(`<place>.<field> is <what it is>, not <what it should be>`).
    """

    __slots__ = ("place", "values")

    def __init__(self, value: JSON, place: str = "") -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{place or 'it'} is {_kind(value)}, not an object")
        self.values: Mapping[str, JSON] = value
        self.place = place

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def has_exactly(self, names: Collection[str], optional: Collection[str] = ()) -> None:
        """Raise ValueError for a field that is missing or that nobody knows."""
        if self.values.keys() == names:
            return
        for name in names:
            if name not in self.values:
                raise ValueError(f"{self.at(name)} is missing")
        for name in self.values:
            if name not in names and name not in optional:
                raise ValueError(f"{self.at(shown_line(name, 60))} is no field that is known")

    def at(self, name: str) -> str:
        """Where a field stands, in words: `results[3].verdict`."""
        return f"{self.place}.{name}" if self.place else name

    def wrong(self, name: str, wanted: str) -> ValueError:
        """The error for a field that is not what it should be."""
        if name not in self.values:
            return ValueError(f"{self.at(name)} is missing")
        return ValueError(f"{self.at(name)} is {_kind(self.values[name])}, not {wanted}")

    def json(self, name: str) -> JSON:
        """Any value, but the field must be there."""
        if name not in self.values:
            raise self.wrong(name, "there")
        return self.values[name]

    def text(self, name: str) -> str:
        """A string."""
        value = self.values.get(name)
        if type(value) is not str:
            raise self.wrong(name, "a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A string or null."""
        value = self.values.get(name, 0)
        if value is not None and type(value) is not str:
            raise self.wrong(name, "a text or null")
        return value

    def name(self, name: str) -> str:
        """A string that is not empty."""
        value = self.values.get(name)
        if type(value) is not str or not value:
            raise self.wrong(name, "a text that is not empty")
        return value

    def hex_digits(self, name: str, count: int) -> str:
        """So many hex digits, in small letters."""
        value = self.values.get(name)
        if type(value) is not str or len(value) != count or not _HEX.fullmatch(value):
            raise self.wrong(name, f"{count} hex digits")
        return value

    def stamp(self, name: str) -> str:
        """A time in UTC, with milliseconds and Z."""
        value = self.values.get(name)
        if type(value) is not str or not _STAMP.fullmatch(value):
            raise self.wrong(name, "a time like 2026-11-30T12:00:00.000Z")
        return value

    def one_of(self, name: str, words: Collection[str]) -> str:
        """One word of a closed list."""
        value = self.values.get(name)
        if type(value) is not str or value not in words:
            raise self.wrong(name, "one of " + ", ".join(words))
        return value

    def integer(self, name: str, least: int = 0, most: int = MOST_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        value = self.values.get(name)
        if type(value) is not int or value < least:
            raise self.wrong(name, f"a whole number of at least {least}")
        if value > most:
            raise self.wrong(name, f"a whole number of at most {most}")
        return value

    def version(self, name: str, read: int) -> None:
        """Raise ValueError where this is another version than the one that is read; true and 1.0 are none."""
        if type(self.values.get(name)) is not int or self.values[name] != read:
            raise self.wrong(name, f"{read}, the version this kit reads")

    def integer_or_none(self, name: str) -> int | None:
        """A whole number of at least 0, or null."""
        value = self.values.get(name, "")
        if value is not None and (type(value) is not int or not 0 <= value <= MOST_INTEGER):
            raise self.wrong(name, "a whole number of at least 0, or null")
        return value

    def seconds(self, name: str) -> float:
        """A number of at least 0."""
        value = self.values.get(name)
        if not _is_seconds(value):
            raise self.wrong(name, "seconds of at least 0")
        return cast("float", value)

    def seconds_or_none(self, name: str) -> float | None:
        """A number of at least 0, or null."""
        value = self.values.get(name, "")
        if value is not None and not _is_seconds(value):
            raise self.wrong(name, "seconds of at least 0, or null")
        return cast("float | None", value)

    def boolean(self, name: str) -> bool:
        """True or false."""
        value = self.values.get(name)
        if type(value) is not bool:
            raise self.wrong(name, "true or false")
        return value

    def mapping(self, name: str) -> Mapping[str, JSON]:
        """An object, its inside unread."""
        value = self.values.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object")
        return value

    def sequence(self, name: str) -> Sequence[JSON]:
        """A list, its inside unread."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def inner(self, name: str) -> Fields:
        """An object, to read on."""
        return Fields(self.json(name), self.at(name))

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list one by one, to read on: a first one that is wrong ends it before all are made."""
        place = self.at(name)
        return (Fields(value, f"{place}[{number}]") for number, value in enumerate(self.sequence(name)))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.sequence(name)
        if not all(type(value) is str for value in values):
            raise self.wrong(name, "a list of texts")
        return tuple(cast("Sequence[str]", values))


def _is_seconds(value: JSON) -> bool:
    # so that NaN does not pass, nor what overflows when it is added up
    return type(value) in (int, float) and 0 <= cast("float", value) <= MOST_INTEGER


def _kind(value: JSON) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, str | bytes) or value is None or isinstance(value, bool | int | float):
        return shown_line(json.dumps(value), 60)
    return "a list"


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


@dataclass(frozen=True, slots=True)
class LeafDifference:
    """A leaf by its place (`options.temperature`), and what stands there in the one and in the other, to be shown."""

    place: str
    one: str
    other: str


def differences(one: JSON, other: JSON, place: str = "") -> Iterator[LeafDifference]:
    """Every leaf in which the two differ, in order of their places; what is missing is null."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{place}.{key}" if place else key)
    elif canonical(one) != canonical(other):
        yield LeafDifference(place, shown_line(canonical(one), 80), shown_line(canonical(other), 80))
