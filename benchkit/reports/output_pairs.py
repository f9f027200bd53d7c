"""Two outputs of a flaky case, one that passed and one that failed, and in which piece of them they differ.

What does not live here: what the checks say of them (failures.py), and how they are shown.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchkit.recordings.run_record import Result

MOST_PARSED, MOST_BRACKETS = 20_000, 200
"""Longer outputs, and deeper ones (which not every Python reads), are compared as text only."""


@dataclass(frozen=True, slots=True)
class OutputPair:
    """The first trial of a case that passed, and the first that failed."""

    passed: Result
    failed: Result


@dataclass(frozen=True, slots=True)
class Parted:
    """A text in three: what both begin with, what is its own, what both end with."""

    start: str
    own: str
    end: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of two JSON objects whose values differ; None where an object does not have it."""

    name: str
    passed: str | None
    failed: str | None


def output_pair(results: Iterable[Result]) -> OutputPair | None:
    """The pair of one case; None unless a trial passed and another failed."""
    first: dict[str, Result] = {}
    for result in results:
        first.setdefault(result.verdict, result)
        if "pass" in first and "fail" in first:
            return OutputPair(first["pass"], first["fail"])
    return None


def parted(text: str, other: str) -> Parted:
    """The piece of a text that another does not share, between what both begin and end with."""
    most = min(len(text), len(other))
    start = _common(text, other, most)
    end = _common(text[start:][::-1], other[start:][::-1], most - start)
    return Parted(text[:start], text[start:len(text) - end], text[len(text) - end:])


def _common(text: str, other: str, most: int) -> int:
    """How many characters two texts begin with in common, found by halving: slices are compared at once."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def field_differences(passed: str, failed: str) -> tuple[FieldDifference, ...]:
    """The fields that differ, if both outputs are JSON objects; nothing else."""
    one, other = _object_of(passed), _object_of(failed)
    if one is None or other is None:
        return ()
    return tuple(_differences(one, other))


def _object_of(text: str) -> Mapping[str, Any] | None:
    if len(text) > MOST_PARSED or text.count("[") + text.count("{") > MOST_BRACKETS:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[FieldDifference]:
    for name in dict.fromkeys((*one, *other)):
        here, there = (_text_of(side, name) for side in (one, other))
        if here != there:
            yield FieldDifference(name, here, there)


def _text_of(fields: Mapping[str, Any], name: str) -> str | None:
    return json.dumps(fields[name], ensure_ascii=False) if name in fields else None
