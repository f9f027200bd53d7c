"""Which answer was taken for which: a table of expected against got, for checks that explain themselves so.

The kit knows nothing about a task's labels. It reads them from explanations of the form `expected X, got Y`; what a
case expects where its check held is looked up in what the same expected value was called elsewhere.
What does not live here: explanations of any other form (failures.py counts them all).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from benchkit.basics.canonical import canonical
from benchkit.basics.values import JSON
from benchkit.recordings.run_record import JudgedCase, Result

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
