"""JSON indented by 1, as `json.dumps(value, indent=1)` writes it, or on one line, fast enough for a million trials.

`json.dumps` with an indent is pure Python in 3.11 and 3.12, and takes five times as long as without. Here the
text around the values of a shape is made once, and only the values are encoded.
What does not live here: the shapes (recordings/), and files (disk/).
"""
from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator

from benchkit.basics.values import JSON

HOLE = "%s"
"""Stands in a shape wherever a value comes later."""

_encode = json.JSONEncoder(allow_nan=False).encode


def text_of(value: str | None) -> str:
    """The text of a text, or null. Only for a text is the encoder's way short."""
    return "null" if value is None else _encode(value)


def number_of(value: float | None) -> str:
    """The text of a number, or null; raises ValueError for NaN and infinities."""
    if value is None:
        return "null"
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    return repr(value)


def truth_of(value: bool) -> str:
    """The text of true or false."""
    return "true" if value else "false"


def indented(value: JSON, level: int = 0) -> str:
    """A whole value, its lines after the first indented by `level` more. Raises ValueError for NaN."""
    text = json.dumps(value, indent=1, allow_nan=False)
    return text.replace("\n", "\n" + " " * level) if level else text


def on_one_line(value: JSON) -> str:
    """A whole value on one line, without spaces, keys in their order. Raises ValueError for NaN."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def form_of(shape: JSON, level: int) -> str:
    """The text of a shape with a `%s` for each HOLE, to be filled by `form % (text, ...)`.

    Every other `%` is doubled. A value put in at depth d of the shape is itself `indented(value, level + d)`.
    """
    return _with_holes(indented(shape, level))


def line_form_of(shape: JSON) -> str:
    """The same on one line."""
    return _with_holes(on_one_line(shape))


def pieces_of_object(members: Iterable[tuple[str, Iterable[str]]], level: int = 0) -> Iterator[str]:
    """`indented(value, level)` of an object, piece by piece: each member is a key and the pieces of its value.

    These are indented by one level more.
    """
    return _pieces("{}", ((text_of(key) + ": ", value) for key, value in members), level)


def pieces_of_list(members: Iterable[Iterable[str]], level: int = 0) -> Iterator[str]:
    """The same of a list: each member is the pieces of its value."""
    return _pieces("[]", (("", value) for value in members), level)


def _pieces(brackets: str, members: Iterable[tuple[str, Iterable[str]]], level: int) -> Iterator[str]:
    before = brackets[0]
    for head, value in members:
        yield before + "\n" + " " * (level + 1) + head
        yield from value
        before = ","
    yield brackets if before != "," else "\n" + " " * level + brackets[1]


def _with_holes(text: str) -> str:
    return text.replace("%", "%%").replace(f'"%{HOLE}"', HOLE)
