"""Two runs, case by case: which cases the candidate won, lost, tied, and which used to pass every time.

What does not live here: what the differences say about other such cases (comparison.py).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from benchkit.reports.case_rows import CaseRow
from benchkit.statistics.paired import PairedCounts


class Outcome(StrEnum):
    """Who passes a case more often; UNKNOWN where one side judged no trial of it."""

    WON = "won"
    LOST = "lost"
    TIED = "tied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CaseDifference:
    """One case that both runs have."""

    base: CaseRow
    candidate: CaseRow

    @property
    def id(self) -> str:
        """The case."""
        return self.base.id

    @property
    def counts(self) -> PairedCounts:
        """The trials of both sides; the candidate is the first, so that above 0 means better."""
        return PairedCounts(self.candidate.counts, self.base.counts)

    @property
    def difference(self) -> Fraction | None:
        """Pass rate of the candidate minus that of the base over judged trials; None where a side has none."""
        return self.counts.difference if self.counts.both_completed else None

    @property
    def outcome(self) -> Outcome:
        """What became of the case on the candidate's side."""
        difference = self.difference
        if difference is None:
            return Outcome.UNKNOWN
        if not difference:
            return Outcome.TIED
        return Outcome.WON if difference > 0 else Outcome.LOST

    @property
    def is_regression(self) -> bool:
        """The base passed every time, and the candidate failed a trial."""
        return self.base.passed_every_time and self.candidate.passed < self.candidate.n

    @property
    def may_be_regression(self) -> bool:
        """The base passed every time, and the candidate failed no trial, but not all of its trials were judged."""
        return self.base.passed_every_time and self.candidate.passed == self.candidate.n and (
            self.candidate.incomplete > 0)

    @property
    def is_progress(self) -> bool:
        """The reverse of a regression: the candidate passes every time, and the base failed a trial."""
        return self.candidate.passed_every_time and self.base.passed < self.base.n


def case_differences(base: Sequence[CaseRow], candidate: Iterable[CaseRow]) -> tuple[CaseDifference, ...]:
    """The common cases, in the order of the base."""
    others = {row.id: row for row in candidate}
    return tuple(CaseDifference(row, others[row.id]) for row in base if row.id in others)


def only_in(rows: Iterable[CaseRow], others: Iterable[CaseRow]) -> tuple[str, ...]:
    """The ids of cases that the other side does not have, in order."""
    known = {row.id for row in others}
    return tuple(row.id for row in rows if row.id not in known)
