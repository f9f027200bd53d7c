"""The outputs of a case: trials with the same outcome told once, and a passing output beside a failing one."""
from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON, Timings, Usage
from benchkit.recordings.run_record import Result
from benchkit.reports.figures import seconds
from benchkit.reports.speed import latency_of

LONGEST = 200
_PLAIN = (str, int, float, type(None))


def expected_line(expected: JSON, most: int = LONGEST) -> str:
    """`category: outage, needs_reply: true`, at most `most` characters; nothing where nothing is expected by name."""
    if isinstance(expected, Mapping) and all(isinstance(value, _PLAIN) for value in expected.values()):
        return shown_line(", ".join(f"{name}: {_text(value)}" for name, value in expected.items()), most)
    return "" if expected is None else shown_line(_text(expected), most)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def value_text(value: JSON) -> str:
    """An input or an expected value as text: the fields of a flat object line by line, what is deeper as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value and all(isinstance(one, _PLAIN) for one in value.values()):
        return "\n".join(_field_text(name, one) for name, one in value.items())
    return json.dumps(value, indent=1, ensure_ascii=False)


def _field_text(name: str, value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept of a case: outcomes by verdict, and of each outcome trials and ranges. None: all of them."""

    outcomes: Mapping[str, int] | None = None
    trials: int | None = None
    ranges: int | None = None


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """A trial of a group: its number, its seed, and what was measured of it."""

    trial: int
    seed: int
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """`size` trials with one outcome, at least one: `first` stands for all of them.

    `numbers` are written as a person writes them: `1-4, 7, 9-10`. `trials` are the first of them in order.
    """

    first: Result
    size: int
    numbers: str
    trials: tuple[TrialFacts, ...]


def answer_groups(results: Iterable[Result], limits: Limits = Limits()) -> tuple[AnswerGroup, ...]:
    """The trials of a case by outcome, in the order of their first ones.

    A check is a pure function of a case and an output, so equal outputs have equal verdicts, checks and explanations.
    """
    groups: dict[Hashable, _Group] = {}
    left = None if limits.outcomes is None else dict(limits.outcomes)
    for result in results:
        outcome = result.verdict, result.output, result.finish, result.reasoning, result.error
        if outcome in groups:
            groups[outcome].take(result)
        elif left is None or left[result.verdict]:
            groups[outcome] = _Group(result, limits)
            if left is not None:
                left[result.verdict] -= 1
    return tuple(group.group() for group in groups.values())


class _Group:
    """Takes the trials of one outcome in order."""

    def __init__(self, first: Result, limits: Limits) -> None:
        self._first, self._limits, self._size = first, limits, 0
        self._trials: list[TrialFacts] = []
        self._numbers = Ranges(limits.ranges)
        self.take(first)

    def take(self, result: Result) -> None:
        self._size += 1
        self._numbers.take(result.trial)
        if self._limits.trials is None or self._size <= self._limits.trials:
            self._trials.append(TrialFacts(result.trial, result.seed, tuple(measures_of(result))))

    def group(self) -> AnswerGroup:
        return AnswerGroup(self._first, self._size, self._numbers.text(), tuple(self._trials))


def measures_of(result: Result) -> list[str]:
    """What was measured of a trial, fact by fact: seconds, attempts, tokens, timings."""
    facts = [f"{seconds(latency_of(result))} s"] if latency_of(result) is not None else []
    facts += ["cold"] if result.cold else []
    facts += [f"attempt {result.attempts}"] if result.attempts > 1 else []
    facts += [f"{result.retries} sent again"] if result.retries else []
    facts += [f"finish {shown_line(result.finish, 30)}"] if result.finish not in (None, "stop") else []
    return facts + _usage_facts(result.usage) + _timing_facts(result.timings)


def _usage_facts(usage: Usage | None) -> list[str]:
    if usage is None:
        return []
    counts = (("in", usage.prompt_tokens), ("out", usage.output_tokens), ("cached", usage.cached_tokens))
    return [f"{count} tokens {name}" for name, count in counts if count is not None]


def _timing_facts(timings: Timings | None) -> list[str]:
    if timings is None:
        return []
    parts = (("load", timings.load_s), ("prompt", timings.prompt_s), ("output", timings.output_s),
             ("first token", timings.first_token_s), ("other", timings.other_s))
    return [f"{name} {seconds(value)} s" for name, value in parts if value is not None]


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
