"""Trials that could not be judged: how many, by type of error, in the order of the closed list.

What does not live here: trials that failed (failures.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.recordings.run_record import Result


@dataclass(frozen=True, slots=True)
class Unjudged:
    """One type of error: how many trials ended in it, and the message most of them carry."""

    type: str
    count: int
    message: str
    with_message: int


def unjudged_of(results: Iterable[Result]) -> tuple[Unjudged, ...]:
    """The types that occur."""
    messages: dict[str, Counter[str]] = {}
    for result in results:
        if result.error is not None:
            messages.setdefault(result.error.type, Counter())[result.error.message] += 1
    return tuple(_unjudged(name, messages[name]) for name in ERROR_TYPES if name in messages)


def _unjudged(name: str, messages: Counter[str]) -> Unjudged:
    message, count = min(messages.items(), key=lambda item: (-item[1], item[0]))
    return Unjudged(name, messages.total(), message, count)
