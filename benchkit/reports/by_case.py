"""The trials of a run, case by case: what every question about a run begins with.

What does not live here: what the counts of a case say (statistics/), and what a report shows of them (case_rows.py).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchkit.recordings.run_record import JudgedCase, Result, RunRecord
from benchkit.statistics.estimators import Counts


@dataclass(frozen=True, slots=True)
class CaseTrials:
    """One case with its planned trials, in order, and their counts."""

    case: JudgedCase
    results: Sequence[Result]
    counts: Counts


def by_case(record: RunRecord) -> tuple[CaseTrials, ...]:
    """The cases of a run in the order of its plan."""
    return tuple(
        _case_trials(case, record.results[place * record.trials:(place + 1) * record.trials])
        for place, case in enumerate(record.cases))


def _case_trials(case: JudgedCase, results: Sequence[Result]) -> CaseTrials:
    verdicts = [result.verdict for result in results]
    return CaseTrials(case, results, Counts(len(results), verdicts.count("pass"), verdicts.count("fail")))
