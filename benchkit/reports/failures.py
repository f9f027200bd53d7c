"""Why trials did not pass: by check, by explanation, by which answer was taken for which, and by error.

Explanations and messages are free text, and every one of a million trials may bring its own.

The kit knows nothing about a task's labels. It reads them from explanations of the form `expected X, got Y`; what a
case expects where its check held is looked up in what the same expected value was called elsewhere.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.json_text import canonical
from benchkit.basics.values import JSON
from benchkit.recordings.run_record import JudgedCase, Result

Thing = TypeVar("Thing", bound=Hashable)

MOST_KEPT = 10_000
"""So many different things are counted exactly."""


class Frequent(Generic[Thing]):
    """How often each thing came, in the order of first ones.

    Where there are more than MOST_KEPT, the rarer half is set aside, again and again (lossy counting, Manku and
    Motwani 2002): of n counted, whatever came more than 2 n / MOST_KEPT times is there, its count too low by at most
    that. `is_cut` says that it came to this.
    """

    __slots__ = ("counts", "is_cut")

    def __init__(self) -> None:
        self.counts: Counter[Thing] = Counter()
        self.is_cut = False

    def take(self, thing: Thing, times: int = 1) -> None:
        """One more of them, or several."""
        self.counts[thing] += times
        if len(self.counts) > MOST_KEPT:
            frequent = {thing for thing, _ in self.counts.most_common(MOST_KEPT // 2)}
            self.counts = Counter({thing: count for thing, count in self.counts.items() if thing in frequent})
            self.is_cut = True

    def add(self, other: Frequent[Thing]) -> None:
        """All that another one counted."""
        for thing, times in other.counts.items():
            self.take(thing, times)
        self.is_cut |= other.is_cut


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


MOST_LABELS = 12
"""A table with more rows than this is not read by anyone."""
LONGEST_LABEL = 24
NO_LABEL = "(none)"
"""Got, where the check failed without naming an answer: text that did not parse, a field that is missing."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """One check's table. `counts[row][column]`: trials where `expected[row]` was wanted and `got[column]` came."""

    check: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def labels_in(text: str) -> tuple[str, str] | None:
    """The two labels of `expected X, got Y`; None for a text of another form."""
    head, found, got = text.partition(", got ")
    expected = head.removeprefix("expected ")
    if not found or expected == head or not expected or not got:
        return None
    return expected, got


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a case expects by a check.

    `value` identifies the expected answer, `own` is its name if the case gives one by itself.
    """

    value: str
    own: str | None


class _CheckCount:
    """One check: all labels, what each expected answer was called first, and the trials by what came of them."""

    __slots__ = ("called", "held", "labels", "named", "unnamed")

    def __init__(self) -> None:
        self.labels: set[str] = set()
        self.called: dict[str, str] = {}
        self.held: Counter[_Wanted] = Counter()
        self.unnamed: Counter[_Wanted] = Counter()
        self.named: Counter[tuple[str, str]] = Counter()

    def label_of(self, wanted: _Wanted) -> str | None:
        """What the expected answer was called, by whichever case, or else what the case itself says."""
        return self.called.get(wanted.value, wanted.own)


class ConfusionCount:
    """Counts the trials of a run, case by case. A check with too many labels, or too long ones, is given up at once."""

    def __init__(self) -> None:
        self._checks: dict[str, _CheckCount | None] = {}
        self._begin()

    def _begin(self) -> None:
        """What is counted of a case by check: held, failed without a label, and how the expected label is called."""
        self._held: Counter[str] = Counter()
        self._unnamed: Counter[str] = Counter()
        self._called: dict[str, str] = {}

    def take(self, result: Result) -> None:
        """One trial of the case under way."""
        labels = {check: found for check, text in (result.explain or {}).items()
                  if (found := labels_in(text)) is not None}
        for check, named in labels.items():
            self._name(check, named)
        for check, holds in (result.checks or {}).items():
            if holds:
                self._held[check] += 1
            elif check not in labels:
                self._unnamed[check] += 1
            elif (count := self._checks[check]) is not None:
                count.named[labels[check]] += 1

    def _name(self, check: str, labels: tuple[str, str]) -> None:
        count = self._count_of(check)
        if count is not None:
            count.labels.update(labels)
            self._called.setdefault(check, labels[0])
            if not _are_few(count.labels):
                self._checks[check] = None

    def _count_of(self, check: str) -> _CheckCount | None:
        if check not in self._checks:
            self._checks[check] = _CheckCount()
        return self._checks[check]

    def end(self, case: JudgedCase) -> None:
        """The trials taken since the last end were those of this case."""
        for check in self._held | self._unnamed:
            count = self._count_of(check)
            if count is not None:
                wanted = _wanted(case.expected, check)
                count.held[wanted] += self._held[check]
                count.unnamed[wanted] += self._unnamed[check]
        for check, label in self._called.items():
            count = self._count_of(check)
            if count is not None:
                count.called.setdefault(_wanted(case.expected, check).value, label)
        self._begin()

    def confusions(self) -> tuple[Confusion, ...]:
        """The tables of all checks with explanations of the form, and few enough short labels.

        A check that expects the same of every case has nothing to confuse, and no table.
        """
        tables = (_table(check, count) for check in sorted(self._checks)
                  if (count := self._checks[check]) is not None and count.labels)
        return tuple(table for table in tables if 2 <= len(table.expected) <= MOST_LABELS)


def _are_few(labels: set[str]) -> bool:
    return len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_LABEL and "\n" not in label for label in labels)


def _wanted(expected: JSON, check: str) -> _Wanted:
    """The expected answer is the case's own field, if there is one of the check's name."""
    if not isinstance(expected, Mapping):
        return _Wanted(canonical(expected), None)
    value = expected.get(check)
    return _Wanted(canonical(expected.get(check, expected)), value if isinstance(value, str) else None)


def _table(check: str, count: _CheckCount) -> Confusion:
    pairs = count.named.copy()
    for wanted in count.held:
        label = count.label_of(wanted)
        if label is not None:
            pairs[label, label] += count.held[wanted]
            pairs[label, NO_LABEL] += count.unnamed[wanted]
    pairs = +pairs  # without those that never came
    expecteds = sorted({expected for expected, _ in pairs})
    gots = sorted({got for _, got in pairs}, key=lambda got: (got == NO_LABEL, got))
    counts = tuple(tuple(pairs[expected, got] for got in gots) for expected in expecteds)
    return Confusion(check, tuple(expecteds), tuple(gots), counts)
