"""Why trials did not pass: by check, by explanation, by which answer was taken for which, and by error.

Explanations and messages are free text, and every one of a million trials may bring its own.

The kit knows nothing about a task's labels. It reads them from explanations of the form `expected X, got Y`; what a
case expects where its check held is looked up in what the same expected value was called elsewhere.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.json_text import canonical
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
        ordered = sorted(self._reasons.counts.items(), key=lambda item: (-item[1], item[0]))
        reasons = tuple(Reason(check, text, count) for (check, text), count in ordered[:most_reasons])
        return Failures(self._judged, self._failed, checks, reasons, self._reasons.is_cut)


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
        most = {name: min(messages.counts.items(), key=lambda item: (-item[1], item[0]))
                for name, messages in self._messages.items()}
        return tuple(Unjudged(name, self._counts[name], *most[name]) for name in ERROR_TYPES if name in self._counts)


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
    head, _, got = text.partition(", got ")
    expected = head.removeprefix("expected ")
    return (expected, got) if expected and got and expected != head else None


class _CheckCount:
    """One check: all labels, what each expected answer was called first, and the trials by what came of them.

    An expected answer is identified by its canonical text, and stands with the name that the case itself gives it.
    """

    __slots__ = ("called", "held", "labels", "named", "unnamed")

    def __init__(self) -> None:
        self.labels: set[str] = set()
        self.called: dict[str, str] = {}
        self.held: Counter[tuple[str, str | None]] = Counter()
        self.unnamed: Counter[tuple[str, str | None]] = Counter()
        self.named: Counter[tuple[str, str]] = Counter()

    def table(self, check: str) -> Confusion:
        """What was counted, by labels; a check that held names none, so its label is looked up."""
        pairs = self.named.copy()
        for wanted in self.held:
            label = self.called.get(*wanted)
            if label is not None:
                pairs[label, label] += self.held[wanted]
                pairs[label, NO_LABEL] += self.unnamed[wanted]
        pairs = +pairs  # without those that never came
        expecteds = sorted({expected for expected, _ in pairs})
        gots = sorted({got for _, got in pairs}, key=lambda got: (got == NO_LABEL, got))
        return Confusion(check, tuple(expecteds), tuple(gots),
                         tuple(tuple(pairs[expected, got] for got in gots) for expected in expecteds))


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
            if (count := self._count_of(check)) is not None:
                count.labels.update(named)
                self._called.setdefault(check, named[0])
                if len(count.labels) > MOST_LABELS or any(len(label) > LONGEST_LABEL or "\n" in label
                                                          for label in count.labels):
                    self._checks[check] = None
        for check, holds in (result.checks or {}).items():
            if holds:
                self._held[check] += 1
            elif check not in labels:
                self._unnamed[check] += 1
            elif (count := self._checks[check]) is not None:
                count.named[labels[check]] += 1

    def _count_of(self, check: str) -> _CheckCount | None:
        if check not in self._checks:
            self._checks[check] = _CheckCount()
        return self._checks[check]

    def end(self, case: JudgedCase) -> None:
        """The trials taken since the last end were those of this case."""
        for check in dict.fromkeys((*self._held, *self._unnamed, *self._called)):
            if (count := self._count_of(check)) is not None:
                # the expected answer is the case's own field, if there is one of the check's name
                fields = case.expected if isinstance(case.expected, Mapping) else {}
                own = fields.get(check)
                wanted = canonical(fields.get(check, case.expected)), own if isinstance(own, str) else None
                if self._held[check] or self._unnamed[check]:
                    count.held[wanted] += self._held[check]
                    count.unnamed[wanted] += self._unnamed[check]
                if check in self._called:
                    count.called.setdefault(wanted[0], self._called[check])
        self._begin()

    def confusions(self) -> tuple[Confusion, ...]:
        """The tables of all checks with explanations of the form, and few enough short labels.

        A check that expects the same of every case has nothing to confuse, and no table.
        """
        tables = (count.table(check) for check, count in sorted(self._checks.items()) if count and count.labels)
        return tuple(table for table in tables if 2 <= len(table.expected) <= MOST_LABELS)
