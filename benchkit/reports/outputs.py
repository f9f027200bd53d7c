"""The outputs of a case: trials with the same outcome told once, and a passing output beside a failing one."""
from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON
from benchkit.recordings.run_record import Result
from benchkit.reports.text_case import measures_of

LONGEST = 200
_PLAIN = (str, int, float, type(None))


def expected_line(expected: JSON, most: int = LONGEST) -> str:
    """`category: outage, needs_reply: true`, at most `most` characters; nothing where nothing is expected by name."""
    if isinstance(expected, Mapping) and all(isinstance(value, _PLAIN) for value in expected.values()):
        return shown_line(", ".join(f"{name}: {_text(value)}" for name, value in expected.items()), most)
    return "" if expected is None else shown_line(_text(expected), most)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class OutputSpace:
    """How much is kept of a case: outcomes by verdict, and of each outcome trials and ranges. None: all of them."""

    outcomes: Mapping[str, int] | None = None
    trials: int | None = None
    ranges: int | None = None


EVERYTHING = OutputSpace()


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """A trial of a group: its number, and what was measured of it."""

    trial: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """`size` trials with one outcome, at least one: `first` stands for all of them.

    `numbers` are written as a person writes them: `1-4, 7, 9-10`. `lines` are the trials in order, as many as there
    was room for.
    """

    first: Result
    size: int
    numbers: str
    lines: tuple[TrialSummary, ...]


def answer_groups(results: Iterable[Result], room: OutputSpace = EVERYTHING) -> tuple[AnswerGroup, ...]:
    """The groups of a case's trials, in the order of their first ones."""
    groups: dict[Hashable, _Group] = {}
    left = None if room.outcomes is None else dict(room.outcomes)
    for result in results:
        outcome = _outcome(result)
        if outcome in groups:
            groups[outcome].take(result)
        elif left is None or left[result.verdict]:
            groups[outcome] = _Group(result, room)
            if left is not None:
                left[result.verdict] -= 1
    return tuple(group.group() for group in groups.values())


def _outcome(result: Result) -> Hashable:
    return result.verdict, result.output, result.finish, result.reasoning, result.error


class _Group:
    """Takes the trials of one outcome in order."""

    def __init__(self, first: Result, room: OutputSpace) -> None:
        self._first, self._room, self._size = first, room, 0
        self._lines: list[TrialSummary] = []
        self._numbers = Ranges(room.ranges)
        self.take(first)

    def take(self, result: Result) -> None:
        self._size += 1
        self._numbers.take(result.trial)
        if self._room.trials is None or self._size <= self._room.trials:
            facts = (f"trial {result.trial}", f"seed {result.seed}", *measures_of(result))
            self._lines.append(TrialSummary(result.trial, ", ".join(facts)))

    def group(self) -> AnswerGroup:
        return AnswerGroup(self._first, self._size, self._numbers.text(), tuple(self._lines))


class Ranges:
    """Takes ascending numbers, and keeps the first `most` ranges of neighbours; of others only how many there are."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._kept: list[range] = []
        self._count = 0
        self._next: int | None = None

    def take(self, number: int) -> None:
        """The next number."""
        if number != self._next:
            self._count += 1
            if self._most is None or self._count <= self._most:
                self._kept.append(range(number, number + 1))
        elif self._count == len(self._kept):
            self._kept[-1] = range(self._kept[-1].start, number + 1)
        self._next = number + 1

    def text(self) -> str:
        """The ranges as a person writes them."""
        told = ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in self._kept)
        more = self._count - len(self._kept)
        return told + (f" and {count_of(more, 'more range')}" if more else "")


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
