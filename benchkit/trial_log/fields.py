"""The fields of one JSON object, asked for by name and type; whatever else stands there is a ValueError that says so.

Any wire form of the kit can be read with it. What does not live here: which fields a line or a file has.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON

MOST_INTEGER = 2**53 - 1
_HEX_16 = re.compile(r"[0-9a-f]{16}")
_STAMP = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}Z")
_MISSING = object()


class Fields:
    """A JSON object whose fields are read one by one. Every method raises ValueError naming the field."""

    __slots__ = ("_inside", "_values")

    def __init__(self, value: JSON, inside: str = "") -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{_named(inside)} must be an object, not {_told(value)}")
        self._values: Mapping[str, Any] = value
        self._inside = inside

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def is_null(self, name: str) -> bool:
        """Whether the field is null or not there at all."""
        return self._values.get(name) is None

    def text(self, name: str) -> str:
        """A text, which may be empty."""
        value = self._values.get(name, _MISSING)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def text_or_null(self, name: str) -> str | None:
        """A text or null; the field must be there."""
        value = self._values.get(name, _MISSING)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a text or null")
        return value

    def name(self, name: str) -> str:
        """A text that is not empty."""
        value = self._values.get(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text that is not empty")
        return value

    def one_of(self, name: str, words: Sequence[str]) -> str:
        """One of a closed list of words."""
        value = self._values.get(name)
        if not isinstance(value, str) or value not in words:
            raise self.wrong(name, "one of " + ", ".join(words))
        return value

    def hex_16(self, name: str) -> str:
        """16 hex digits, small letters."""
        value = self._values.get(name)
        if not isinstance(value, str) or not _HEX_16.fullmatch(value):
            raise self.wrong(name, "16 hex digits")
        return value

    def stamp(self, name: str) -> str:
        """A time in UTC with milliseconds and Z."""
        value = self._values.get(name)
        if not isinstance(value, str) or not _STAMP.fullmatch(value):
            raise self.wrong(name, "a time such as 2026-11-30T12:00:00.000Z")
        return value

    def integer(self, name: str, least: int = 0, most: int = MOST_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        value = self._values.get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def integer_or_null(self, name: str) -> int | None:
        """A whole number from 0, or null; a field that is not there counts as null."""
        return None if self._values.get(name) is None else self.integer(name)

    def seconds(self, name: str) -> float:
        """Seconds: a number from 0."""
        value = self._values.get(name)
        # not "value < 0": NaN must not pass
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MOST_INTEGER:
            raise self.wrong(name, "a number of seconds from 0")
        return float(value)

    def seconds_or_null(self, name: str) -> float | None:
        """Seconds, or null; a field that is not there counts as null."""
        return None if self._values.get(name) is None else self.seconds(name)

    def required(self, name: str) -> None:
        """Raise unless the field is there, null or not: what is unknown is null, never left out."""
        if name not in self._values:
            raise self.wrong(name, "there (null if unknown)")

    def mapping(self, name: str) -> Mapping[str, JSON]:
        """An object, as it is."""
        value = self._values.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object")
        return value

    def inner(self, name: str) -> Fields:
        """The fields of an object inside this one."""
        return Fields(self.mapping(name), f"{self._inside}{name}.")

    def items(self, name: str) -> Sequence[Any]:
        """A list, as it is."""
        value = self._values.get(name)
        if not isinstance(value, (list, tuple)):
            raise self.wrong(name, "a list")
        return value

    def wrong(self, name: str, wanted: str) -> ValueError:
        """The error that says what a field must be and what it is."""
        value = self._values.get(name, _MISSING)
        return ValueError(f"{_named(self._inside + name)} must be {wanted}, not {_told(value)}")


def _named(name: str) -> str:
    name = name.rstrip(".")
    return f'field "{name}"' if name else "the value"


def _told(value: object) -> str:
    if value is _MISSING:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return shown_line(repr(value), 60)
    return "an object" if isinstance(value, Mapping) else "a list"
