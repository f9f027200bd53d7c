"""Fields of JSON objects from strangers: of the right type, or a ValueError that names the field."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from benchkit.basics.json_text import MOST_INTEGER, canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON

_MISSING = object()
_HEX = re.compile(r"[0-9a-f]*")
_STAMP = r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}Z"
# possessive (*+, ++): a text is never read twice, however it ends; the escapes leave out lone surrogates
_TEXT = (
    r'"[ !#-\[\]-~]*+(?:\\(?:["\\/bfnrt]|u(?:[0-9a-ce-f][0-9a-f]{3}|d[0-7][0-9a-f]{2}'
    r'|d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}))[ !#-\[\]-~]*+)*+"'
)
_COUNT = r"(?:0|[1-9][0-9]{0,9})"
_SECONDS = r"(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,17})?(?:e-[0-9]{2})?"


@dataclass(frozen=True, slots=True)
class Type:
    """What may stand in a field: values of these types of Python; and all but None need that `holds` is true of them.

    words    for people
    pattern  of the value in a canonical text, where a fast scan takes it
    read     makes what the kit works with of the value and its place; None: it is that
    write    the way back
    """

    words: str
    types: frozenset[type]
    holds: Callable[[Any], object] | None = None
    pattern: str = ""
    read: Callable[[Any, str], Any] | None = None
    write: Callable[[Any], JSON] | None = None

    def admits(self, value: object) -> bool:
        """Whether this value may stand there."""
        return type(value) in self.types and (value is None or self.holds is None or bool(self.holds(value)))

    def or_null(self) -> Type:
        """The same, or null."""
        words = f"{self.words}{',' if self.words[-1].isdigit() else ''} or null"
        return replace(self, words=words, types=self.types | {type(None)}, pattern=f"(?:null|{self.pattern})")


def type_of(words: str, *types: type, holds: Callable[[Any], object] | None = None, pattern: str = "") -> Type:
    """A type of field that is read and written as it stands."""
    return Type(words, frozenset(types), holds, pattern)


def hex_digits(count: int) -> Type:
    """So many hex digits, in small letters."""
    return type_of(f"{count} hex digits", str, pattern=f'"[0-9a-f]{{{count}}}"',
                   holds=lambda value: len(value) == count and _HEX.fullmatch(value) is not None)


def one_of(words: Collection[str]) -> Type:
    """One word of a closed list."""
    return type_of(f"one of {', '.join(words)}", str, holds=lambda value: value in words,
                   pattern=f'"(?:{"|".join(words)})"')


def whole(least: int, most: int) -> Type:
    """A whole number within these."""
    words = f"a whole number of at least {least}" + (f" and at most {most:,}" if most < MOST_INTEGER else "")
    return type_of(words, int, holds=lambda value: least <= value <= most, pattern=_COUNT)


def is_bounded(value: float) -> bool:
    """Whether a number is from 0 to the largest whole number that every reader of JSON takes as it is."""
    # so that NaN does not pass, nor what overflows when it is added up
    return 0 <= value <= MOST_INTEGER


TEXT, NAME = type_of("a text", str, pattern=_TEXT), type_of("a text that is not empty", str, holds=bool, pattern=_TEXT)
TRUTH, OBJECT, LIST = type_of("true or false", bool), type_of("an object", dict), type_of("a list", list)
STAMP = type_of("a time like 2026-11-30T12:00:00.000Z", str, holds=re.compile(_STAMP).fullmatch, pattern=f'"{_STAMP}"')
COUNT = type_of("a whole number of at least 0", int, holds=is_bounded, pattern=_COUNT)
SECONDS = type_of("seconds of at least 0", int, float, holds=is_bounded, pattern=_SECONDS)
SHARE = type_of("a number from 0 to 1", int, float, holds=lambda value: 0 <= value <= 1)
TEXTS = replace(type_of("a list of texts", list, holds=lambda value: all(type(one) is str for one in value)),
                read=lambda value, place: tuple(value), write=list)
ANYTHING = type_of("any JSON", type(None), bool, int, float, str, list, dict)
HEX_16, HEX_64 = hex_digits(16), hex_digits(64)
TEXT_OR_NULL, COUNT_OR_NULL, SECONDS_OR_NULL = TEXT.or_null(), COUNT.or_null(), SECONDS.or_null()


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

    def take(self, name: str, wanted: Type) -> Any:
        """A value that may stand in a field of this type."""
        value = self.values.get(name, _MISSING)
        if not wanted.admits(value):
            raise self.wrong(name, wanted.words)
        return value

    def json(self, name: str) -> JSON:
        """Any value, but the field must be there."""
        if name not in self.values:
            raise self.wrong(name, "there")
        return self.values[name]

    def text(self, name: str) -> str:
        """A string."""
        return cast("str", self.take(name, TEXT))

    def text_or_none(self, name: str) -> str | None:
        """A string or null."""
        return cast("str | None", self.take(name, TEXT_OR_NULL))

    def name(self, name: str) -> str:
        """A string that is not empty."""
        return cast("str", self.take(name, NAME))

    def hex_digits(self, name: str, count: int) -> str:
        """So many hex digits, in small letters."""
        return cast("str", self.take(name, hex_digits(count)))

    def stamp(self, name: str) -> str:
        """A time in UTC, with milliseconds and Z."""
        return cast("str", self.take(name, STAMP))

    def one_of(self, name: str, words: Collection[str]) -> str:
        """One word of a closed list."""
        return cast("str", self.take(name, one_of(words)))

    def integer(self, name: str, least: int = 0, most: int = MOST_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        value = self.values.get(name)
        if type(value) is not int or value < least:
            raise self.wrong(name, f"a whole number of at least {least}")
        if value > most:
            raise self.wrong(name, f"a whole number of at most {most}")
        return value

    def version(self, name: str, *read: int) -> int:
        """The version of a file, one of those that are read; true and 1.0 are none."""
        if type(self.values.get(name)) is not int or self.values[name] not in read:
            versions = " or ".join(map(str, read))
            raise self.wrong(name, f"{versions}, the version{'s' if len(read) > 1 else ''} this kit reads")
        return cast("int", self.values[name])

    def integer_or_none(self, name: str) -> int | None:
        """A whole number of at least 0, or null."""
        return cast("int | None", self.take(name, COUNT_OR_NULL))

    def boolean(self, name: str) -> bool:
        """True or false."""
        return cast("bool", self.take(name, TRUTH))

    def mapping(self, name: str) -> Mapping[str, JSON]:
        """An object, its inside unread."""
        return cast("Mapping[str, JSON]", self.take(name, OBJECT))

    def sequence(self, name: str) -> Sequence[JSON]:
        """A list, its inside unread."""
        return cast("Sequence[JSON]", self.take(name, LIST))

    def inner(self, name: str) -> Fields:
        """An object, to read on."""
        return Fields(self.json(name), self.at(name))

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list one by one, to read on: a first one that is wrong ends it before all are made."""
        place = self.at(name)
        return (Fields(value, f"{place}[{number}]") for number, value in enumerate(self.sequence(name)))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        self.take(name, LIST)
        return tuple(self.take(name, TEXTS))


def _kind(value: JSON) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, str | bytes) or value is None or isinstance(value, bool | int | float):
        return shown_line(json.dumps(value), 60)
    return "a list"


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
