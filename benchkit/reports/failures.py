"""Why trials did not pass: those that failed, by check and by explanation; those that nobody could judge, by error.

What does not live here: which answer was taken for which (confusion.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.recordings.run_record import Result
from benchkit.reports.frequent import Frequent

MANY_REASONS = ("there were more reasons than are counted one by one: rare ones are left out, and the others may be a "
                "little more frequent than it says")


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
    """Why `failed` trials of `judged` failed. Checks in the order the task names them, reasons by count.

    `is_cut`: there were so many different reasons that rare ones are left out, and counts may be a little low.
    """

    judged: int
    failed: int
    checks: tuple[CheckCount, ...]
    reasons: tuple[Reason, ...]
    is_cut: bool = False


def failed_checks(result: Result) -> tuple[str, ...]:
    """The names of the checks that did not hold in one trial; none where it was not judged."""
    return tuple(name for name, holds in (result.checks or {}).items() if not holds)


class FailureCount:
    """Counts the trials of a case, or of a run, one after the other."""

    def __init__(self) -> None:
        self._judged = self._failed = 0
        self._names: dict[str, bool] = {}
        self._wrong: Counter[str] = Counter()
        self._alone: Counter[str] = Counter()
        self._reasons: Frequent[tuple[str, str]] = Frequent()

    def take(self, result: Result) -> None:
        """One trial."""
        self._names.update(result.checks or {})
        self._judged += result.verdict in ("pass", "fail")
        if result.verdict == "fail":
            self._failed += 1
            wrong = failed_checks(result)
            self._wrong.update(wrong)
            self._alone.update(wrong if len(wrong) == 1 else ())
            for reason in (result.explain or {}).items():
                self._reasons.take(reason)

    def add(self, other: FailureCount) -> None:
        """All that another one counted."""
        self._judged += other._judged
        self._failed += other._failed
        self._names.update(other._names)
        self._wrong.update(other._wrong)
        self._alone.update(other._alone)
        self._reasons.add(other._reasons)

    def failures(self, most_reasons: int | None = None) -> Failures:
        """What was counted; with `most_reasons` only so many of them."""
        checks = tuple(CheckCount(name, self._wrong[name], self._alone[name]) for name in self._names)
        return Failures(self._judged, self._failed, checks, _by_count(self._reasons.counts)[:most_reasons],
                        self._reasons.is_cut)


def failures_of(results: Iterable[Result]) -> Failures:
    """Count over all trials of a run, in one pass."""
    counted = FailureCount()
    for result in results:
        counted.take(result)
    return counted.failures()


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


class UnjudgedCount:
    """Counts the trials that nobody could judge, one after the other."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._messages: dict[str, Frequent[str]] = {}

    def take(self, result: Result, count: int = 1) -> None:
        """One trial, judged or not; or several that are alike."""
        if result.error is not None:
            self._counts[result.error.type] += count
            self._messages.setdefault(result.error.type, Frequent()).take(result.error.message, count)

    def unjudged(self) -> tuple[Unjudged, ...]:
        """The types that occur, in the order of the closed list."""
        return tuple(self._unjudged(name) for name in ERROR_TYPES if name in self._counts)

    def _unjudged(self, name: str) -> Unjudged:
        message, count = min(self._messages[name].counts.items(), key=lambda item: (-item[1], item[0]))
        return Unjudged(name, self._counts[name], message, count)


def check_error(unjudged: Iterable[Unjudged]) -> Unjudged | None:
    """The trials that the task's own check could not judge; None if there are none."""
    return next((one for one in unjudged if one.type == "CheckError"), None)


def unjudged_of(results: Iterable[Result]) -> tuple[Unjudged, ...]:
    """The types that occur, in one pass."""
    counted = UnjudgedCount()
    for result in results:
        counted.take(result)
    return counted.unjudged()
