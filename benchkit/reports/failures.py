"""Why trials did not pass: those that failed, by check and by explanation; those that nobody could judge, by error.

What does not live here: which answer was taken for which (confusion.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.recordings.run_record import Result


@dataclass(frozen=True, slots=True)
class CheckCount:
    """One check: in how many failed trials it did not hold, and in how many it was the only one."""

    name: str
    failed: int
    alone: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One explanation of one check, as the task words it, and how many trials it explains."""

    check: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Failures:
    """Why `failed` trials of `judged` failed. Checks in the order the task names them, reasons by count."""

    judged: int
    failed: int
    checks: tuple[CheckCount, ...]
    reasons: tuple[Reason, ...]


def failed_checks(result: Result) -> tuple[str, ...]:
    """The names of the checks that did not hold in one trial; none where it was not judged."""
    return tuple(name for name, holds in (result.checks or {}).items() if not holds)


def failures_of(results: Iterable[Result]) -> Failures:
    """Count over all trials of a run, in one pass."""
    names: dict[str, None] = {}
    failed: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    verdicts: Counter[str] = Counter()
    for result in results:
        verdicts[result.verdict] += 1
        names.update(dict.fromkeys(result.checks or ()))
        if result.verdict == "fail":
            wrong = failed_checks(result)
            failed.update(wrong)
            alone.update(wrong if len(wrong) == 1 else ())
            reasons.update((result.explain or {}).items())
    return Failures(
        verdicts["pass"] + verdicts["fail"], verdicts["fail"],
        tuple(CheckCount(name, failed[name], alone[name]) for name in names),
        _by_count(reasons))


def _by_count(reasons: Counter[tuple[str, str]]) -> tuple[Reason, ...]:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Reason(check, text, count) for (check, text), count in ordered)


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
