"""The trials of a case by what came of them: trials with the same outcome are told once.

A check is a pure function of a case and an output, so equal outputs have equal verdicts, checks and explanations.
What does not live here: how a group is shown, and how many of them.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from benchkit.recordings.run_record import Result


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Trials with one outcome, at least one, in order."""

    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """The trial that stands for all of them."""
        return self.results[0]

    @property
    def trials(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(result.trial for result in self.results)


def answer_groups(results: Iterable[Result]) -> tuple[AnswerGroup, ...]:
    """The groups of a case's trials, in the order of their first ones."""
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        groups.setdefault(_outcome(result), []).append(result)
    return tuple(AnswerGroup(tuple(group)) for group in groups.values())


def _outcome(result: Result) -> Hashable:
    return result.verdict, result.output, result.finish, result.reasoning, result.error


def ranges_of(numbers: Iterable[int]) -> str:
    """Ascending numbers as a person writes them: `1-4, 7, 9-10`."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
