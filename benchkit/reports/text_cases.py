"""The text report on single cases: all of them with their states, the flaky ones, and those without a pass."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchkit.basics.texts import count_of
from benchkit.reports.columns import INDENT, Column, left, right, table, wrapped
from benchkit.reports.figures import each_by_itself, percent, spread
from benchkit.reports.paint import Paint
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow, in_state, never_passed
from benchkit.reports.tally import main_failure as main_failure
from benchkit.reports.tally import passed_cell as passed_cell
from benchkit.statistics.estimators import State

MOST_MARKS = 20
"""Trials shown as marks; more would take the room of the ids."""


def case_lines(run: RunReport, paint: Paint) -> Iterator[str]:
    """A line for each case."""
    if not run.cases:
        yield INDENT + "there are no cases"
        return
    has_marks = run.record.trials <= MOST_MARKS
    yield f"{INDENT}disagree: how often two fresh trials differ, in percent" + (
        "; + passed  - failed  ? incomplete" if has_marks else "")
    columns = [left("case", flexible=True), left("passed"), *_marks_column(has_marks), right("95 %"),
               right("disagree"), left("state", paint=paint.state)]
    yield from table(columns, (_case_row(row, has_marks) for row in run.cases))
    note = each_by_itself(len(run.cases))
    if note:
        yield from wrapped(note, INDENT)


def _marks_column(has_marks: bool) -> tuple[Column, ...]:
    return (left("trials"),) if has_marks else ()


def _case_row(row: CaseRow, has_marks: bool) -> list[str]:
    marks = [row.marks] if has_marks else []
    return [row.id, passed_cell(row), *marks, spread(row.low, row.high), percent(row.disagreement), str(row.state)]


def flaky_lines(run: RunReport) -> Iterator[str]:
    """The cases that passed and failed, those that may, and what fails in them."""
    yield from _trouble(in_state(run.cases, State.FLAKY), f"no case of {run.coverage.cases:,} both passed and failed")
    maybe = in_state(run.cases, State.POSSIBLY_FLAKY)
    if maybe:
        yield f"{INDENT}and {count_of(len(maybe), 'case')} of {run.coverage.cases:,} may be, as the unknown trials go"


def never_lines(run: RunReport) -> Iterator[str]:
    """The cases of which no judged trial passed."""
    none = f"every one of {count_of(run.coverage.cases_touched, 'case')} with a judged trial passed at least once"
    yield from _trouble(never_passed(run.cases), none if run.coverage.cases_touched else "no trial was judged")


def _trouble(rows: Sequence[CaseRow], none: str) -> Iterable[str]:
    if not rows:
        return [INDENT + none]
    return table([left("case", flexible=True), left("passed"), left("fails most often by", flexible=True)],
                 ([row.id, passed_cell(row), main_failure(row)] for row in rows))
