"""The trials of a case by what came of them: trials with the same outcome are told once.

A check is a pure function of a case and an output, so equal outputs have equal verdicts, checks and explanations.
Of each outcome one result is kept, and a line for each trial, or for the first few.
What does not live here: how a group is shown, and how many of them.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from benchkit.basics.names import count_of
from benchkit.recordings.run_record import Result
from benchkit.reports.text_case import measures_of


@dataclass(frozen=True, slots=True)
class Room:
    """How much is kept of a case: outcomes by verdict, and of each outcome trials and ranges. None: all of them."""

    outcomes: Mapping[str, int] | None = None
    trials: int | None = None
    ranges: int | None = None


EVERYTHING = Room()


@dataclass(frozen=True, slots=True)
class TrialLine:
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
    lines: tuple[TrialLine, ...]


def answer_groups(results: Iterable[Result], room: Room = EVERYTHING) -> tuple[AnswerGroup, ...]:
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

    def __init__(self, first: Result, room: Room) -> None:
        self._first, self._room, self._size = first, room, 0
        self._lines: list[TrialLine] = []
        self._numbers = Ranges(room.ranges)
        self.take(first)

    def take(self, result: Result) -> None:
        self._size += 1
        self._numbers.take(result.trial)
        if self._room.trials is None or self._size <= self._room.trials:
            facts = (f"trial {result.trial}", f"seed {result.seed}", *measures_of(result))
            self._lines.append(TrialLine(result.trial, ", ".join(facts)))

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
