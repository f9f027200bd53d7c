"""Which answer was taken for which: a table of expected against got, for checks that explain themselves so.

The kit knows nothing about a task's labels. It reads them from explanations of the form `expected X, got Y`; what a
case expects where its check held is looked up in what the same expected value was called elsewhere.
What does not live here: explanations of any other form (failures.py counts them all).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.canonical import canonical
from benchkit.recordings.run_record import JudgedCase
from benchkit.reports.case_rows import CaseTrials

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


def confusions_of(cases: Sequence[CaseTrials]) -> tuple[Confusion, ...]:
    """The tables of all checks with explanations of the form, and few enough short labels.

    A check that expects the same of every case has nothing to confuse, and no table.
    """
    seen: dict[str, set[str]] = {}
    called: dict[tuple[str, str], str] = {}
    for case in cases:
        for check, text in _explanations(case):
            labels = labels_in(text)
            if labels is not None:
                seen.setdefault(check, set()).update(labels)
                called.setdefault((check, _expected_value(case.case, check)), labels[0])
    few = [check for check, labels in seen.items() if _are_few(labels)]
    tables = (_table(check, cases, called) for check in sorted(few))
    return tuple(table for table in tables if 2 <= len(table.expected) <= MOST_LABELS)


def _explanations(case: CaseTrials) -> Iterable[tuple[str, str]]:
    return (item for result in case.results if result.explain for item in result.explain.items())


def _are_few(labels: set[str]) -> bool:
    return len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_LABEL and "\n" not in label for label in labels)


def _expected_value(case: JudgedCase, check: str) -> str:
    """What identifies the expected answer of a case: its own field if there is one of the check's name."""
    if isinstance(case.expected, Mapping) and check in case.expected:
        return canonical(case.expected[check])
    return canonical(case.expected)


def _table(check: str, cases: Sequence[CaseTrials], called: Mapping[tuple[str, str], str]) -> Confusion:
    pairs: Counter[tuple[str, str]] = Counter()
    for case in cases:
        expected = _expected_label(case.case, check, called)
        if expected is not None:
            pairs.update(_pairs(case, check, expected))
    expecteds = sorted({expected for expected, _ in pairs})
    gots = sorted({got for _, got in pairs}, key=lambda got: (got == NO_LABEL, got))
    counts = tuple(tuple(pairs[expected, got] for got in gots) for expected in expecteds)
    return Confusion(check, tuple(expecteds), tuple(gots), counts)


def _expected_label(case: JudgedCase, check: str, called: Mapping[tuple[str, str], str]) -> str | None:
    known = called.get((check, _expected_value(case, check)))
    if known is not None or not isinstance(case.expected, Mapping):
        return known
    value = case.expected.get(check)
    return value if isinstance(value, str) else None


def _pairs(case: CaseTrials, check: str, expected: str) -> Iterable[tuple[str, str]]:
    for result in case.results:
        if result.checks is None or check not in result.checks:
            continue
        if result.checks[check]:
            yield expected, expected
        else:
            labels = labels_in((result.explain or {}).get(check, ""))
            yield labels or (expected, NO_LABEL)
