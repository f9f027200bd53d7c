"""Each case by itself: how often it passed, its state, why it failed most often.

What does not live here: how its trials are counted (case_tally.py), and the suite as a whole (statistics/suites.py).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from benchkit.reports.case_tally import CaseTally
from benchkit.reports.failures import Failures
from benchkit.statistics.estimators import Counts, State, disagreement, state
from benchkit.statistics.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case.

    `n` trials were judged, `passed` of them passed, `incomplete` were planned and could not be judged.
    `low` and `high` are Wilson's 95 % interval of passed/n, None without a judged trial; `disagreement` is the
    probability that two fresh trials differ, None below two. `marks`, `failures` and `microseconds` are those of
    CaseTally.
    """

    id: str
    n: int
    passed: int
    incomplete: int
    low: float | None
    high: float | None
    disagreement: Fraction | None
    state: State
    marks: str
    failures: Failures
    microseconds: int | None

    @property
    def counts(self) -> Counts:
        """Its trials, counted."""
        return Counts(self.n + self.incomplete, self.passed, self.n - self.passed)

    @property
    def passed_every_time(self) -> bool:
        """Whether all of its planned trials were judged and passed, be it a single one."""
        return self.n > 0 and self.passed == self.n and not self.incomplete

    @property
    def unevenness(self) -> float:
        """From 0, where half of the judged trials passed, to 1, where all or none did; 0 without one."""
        return abs(2 * self.passed - self.n) / self.n if self.n else 0.0


def case_rows(cases: Iterable[CaseTally]) -> tuple[CaseRow, ...]:
    """A row for each case, in order."""
    intervals: dict[Counts, Interval] = {}
    rows = []
    for case in cases:
        if case.counts not in intervals:
            intervals[case.counts] = wilson(case.counts.passed, case.counts.completed)
        rows.append(_row(case, intervals[case.counts]))
    return tuple(rows)


def _row(case: CaseTally, interval: Interval) -> CaseRow:
    counts = case.counts
    is_known = counts.completed > 0
    return CaseRow(
        case.case.id, counts.completed, counts.passed, counts.incomplete,
        interval.low if is_known else None, interval.high if is_known else None,
        disagreement(counts.completed, counts.passed), state(counts), case.marks, case.failures, case.microseconds)


def in_state(rows: Iterable[CaseRow], *states: State) -> tuple[CaseRow, ...]:
    """The rows in one of some states, in order."""
    return tuple(row for row in rows if row.state in states)


def never_passed(rows: Iterable[CaseRow]) -> tuple[CaseRow, ...]:
    """The cases of which some trial was judged and none passed."""
    return tuple(row for row in rows if row.n and not row.passed)
