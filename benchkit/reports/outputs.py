"""The outputs of a case: trials with the same outcome told once, and a passing output beside a failing one."""
from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeGuard

from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON, Timings, Usage
from benchkit.recordings.run_record import Result
from benchkit.reports.figures import seconds
from benchkit.reports.speed import latency_of
from benchkit.trial_log.schema import VERDICTS

LONGEST = 200
MOST_PARSED, MOST_BRACKETS = 20_000, 200
"""Longer outputs, and deeper ones (which not every Python reads), are compared as text only."""


def expected_line(expected: JSON, most: int = LONGEST) -> str:
    """`category: outage, needs_reply: true`, at most `most` characters; nothing where nothing is expected by name."""
    if _is_flat(expected):
        return shown_line(", ".join(f"{name}: {_text(value)}" for name, value in expected.items()), most)
    return "" if expected is None else shown_line(_text(expected), most)


def value_text(value: JSON) -> str:
    """An input or an expected value as text: fields line by line, unless there are fields in them."""
    if isinstance(value, str):
        return value
    if _is_flat(value) and value:
        texts = {name: _text(one) for name, one in value.items()}
        return "\n".join(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}" for name, text in texts.items())
    return json.dumps(value, indent=1, ensure_ascii=False)


def _is_flat(value: JSON) -> TypeGuard[Mapping[str, JSON]]:
    return isinstance(value, Mapping) and all(isinstance(one, str | int | float | None) for one in value.values())


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def measures_of(result: Result) -> str:
    """What was measured of a trial: its seed, seconds, attempts, tokens, timings."""
    latency, usage, timings = latency_of(result), result.usage or Usage(), result.timings or Timings()
    tokens = {"in": usage.prompt_tokens, "out": usage.output_tokens, "cached": usage.cached_tokens}
    times = {"load": timings.load_s, "prompt": timings.prompt_s, "output": timings.output_s,
             "first token": timings.first_token_s, "other": timings.other_s}
    return ", ".join([
        f"seed {result.seed}",
        *([f"{seconds(latency)} s"] if latency is not None else []),
        *(["cold"] if result.cold else []),
        *([f"attempt {result.attempts}"] if result.attempts > 1 else []),
        *([f"{result.retries} sent again"] if result.retries else []),
        *([f"finish {shown_line(result.finish, 30)}"] if result.finish not in (None, "stop") else []),
        *(f"{count} tokens {name}" for name, count in tokens.items() if count is not None),
        *(f"{name} {seconds(value)} s" for name, value in times.items() if value is not None)])


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """`size` trials with one outcome, at least one: `first` stands for all of them.

    `numbers` are written as a person writes them: `1-4, 7, 9-10`. `trials` are the first of them, in order: what was
    measured, by number.
    """

    first: Result
    size: int
    numbers: str
    trials: Mapping[int, str]


def answer_groups(results: Iterable[Result], most: Mapping[str, int] | None = None, most_trials: int = sys.maxsize,
                  most_ranges: int = sys.maxsize) -> tuple[AnswerGroup, ...]:
    """The trials of a case by outcome, in the order of their first ones; of each verdict at most so many outcomes.

    A check is a pure function of a case and an output, so equal outputs have equal verdicts, checks and explanations.
    """
    groups: dict[Hashable, tuple[Result, array[int], dict[int, str]]] = {}
    left = {**dict.fromkeys(VERDICTS, sys.maxsize), **(most or {})}
    for result in results:
        outcome = result.verdict, result.output, result.finish, result.reasoning, result.error
        if outcome not in groups and left[result.verdict]:
            left[result.verdict] -= 1
            groups[outcome] = result, array("q"), {}
        if outcome in groups:
            _, numbers, trials = groups[outcome]
            numbers.append(result.trial)
            if len(trials) < most_trials:
                trials[result.trial] = measures_of(result)
    return tuple(AnswerGroup(first, len(numbers), ranges_of(numbers, most_ranges), trials)
                 for first, numbers, trials in groups.values())


def ranges_of(numbers: Sequence[int], most: int = sys.maxsize) -> str:
    """Ascending numbers as a person writes them, and how many more ranges of neighbours than `most` there are."""
    starts = array("q", (place for place, number in enumerate(numbers)
                         if not place or number != numbers[place - 1] + 1))
    ranges = ((numbers[start], numbers[end - 1]) for start, end in
              zip(starts, chain(starts[1:], [len(numbers)]), strict=False))
    told = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in islice(ranges, most))
    return told + (f" and {count_of(len(starts) - most, 'more range')}" if len(starts) > most else "")


def output_pair(results: Iterable[Result]) -> tuple[Result, Result] | None:
    """The first trial of a case that passed, and the first that failed; None unless it has both."""
    first: dict[str, Result] = {}
    for result in results:
        first.setdefault(result.verdict, result)
        if "pass" in first and "fail" in first:
            return first["pass"], first["fail"]
    return None


def parted(text: str, other: str) -> tuple[str, str, str]:
    """A text in three: what it and another begin with, what the other does not share, what both end with."""
    most = min(len(text), len(other))
    start = _common(text, other, most)
    end = _common(text[start:][::-1], other[start:][::-1], most - start)
    return text[:start], text[start:len(text) - end], text[len(text) - end:]


def _common(text: str, other: str, most: int) -> int:
    """How many characters two texts begin with in common, found by halving: slices are compared at once."""
    return bisect_left(range(most), True, key=lambda place: text[:place + 1] != other[:place + 1])


def field_differences(passed: str, failed: str) -> dict[str, tuple[str | None, str | None]]:
    """Both values of the fields that differ, if both outputs are JSON objects; None where an object has no such field.
    """
    one, other = _object_of(passed), _object_of(failed)
    if one is None or other is None:
        return {}
    return {name: (one.get(name), other.get(name)) for name in dict.fromkeys((*one, *other))
            if one.get(name) != other.get(name)}


def _object_of(text: str) -> dict[str, str] | None:
    """The fields of a JSON object, each value as JSON; None for a text that is none."""
    if len(text) > MOST_PARSED or text.count("[") + text.count("{") > MOST_BRACKETS:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    return {name: json.dumps(inner, ensure_ascii=False) for name, inner in value.items()}
