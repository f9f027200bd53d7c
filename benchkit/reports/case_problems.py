"""What is wrong with a case where it has to be a yes or a no: nothing, a failure, or an error.

A case is fine when every planned trial was judged and passed. A failed trial makes it a failure, whose type is the
state of the case (`flaky`, `stable fail`, ...), whatever the unknown trials would have said; without one, a trial
that could not be judged makes it an error, whose type is that of most such trials.
What does not live here: what a state is (statistics/estimators.py), and how a problem is written (junit.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchkit.basics.names import count_of, shown_line, word_for
from benchkit.basics.values import JSON
from benchkit.recordings.run_record import Result
from benchkit.reports.case_rows import CaseRow
from benchkit.reports.expected import expected_line
from benchkit.reports.failures import failed_checks
from benchkit.reports.figures_as_text import of
from benchkit.reports.text_cases import main_failure

FAILURE, ERROR = "failure", "error"
MOST_QUOTED = 3
"""So many failed trials of a case are told one by one; the rest is counted."""
LONGEST_QUOTE = 400


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a test did not pass: FAILURE or ERROR, its type, one line, and more lines."""

    kind: str
    type: str
    message: str
    lines: tuple[str, ...]


def kind_of(row: CaseRow) -> str | None:
    """FAILURE where a trial failed, else ERROR where one is unknown, else None: the test passes."""
    if row.passed < row.n:
        return FAILURE
    return ERROR if row.incomplete else None


def problem_of(row: CaseRow, results: Iterable[Result], expected: JSON) -> Problem | None:
    """Why a case is no stable pass, and what was expected of it; None if it passed every planned trial."""
    kind = kind_of(row)
    if kind is None:
        return None
    told = _told(results)
    message = _message(row, told.errors, expected_line(expected))
    return Problem(kind, str(row.state) if kind == FAILURE else told.errors.most_common(1)[0][0], message,
                   (f"trials: {row.marks}   (+ passed  - failed  ? incomplete)",
                    *(_failed_lines(row, told.failed) if kind == FAILURE else _error_lines(told.reasons))))


@dataclass(frozen=True, slots=True)
class _Told:
    """Of the trials of a case: the first ones that failed, all errors by type, and the first reasons by count."""

    failed: list[Result]
    errors: Counter[str]
    reasons: Counter[str]


def _told(results: Iterable[Result]) -> _Told:
    told = _Told([], Counter(), Counter())
    for result in results:
        if result.verdict == "fail" and len(told.failed) < MOST_QUOTED:
            told.failed.append(result)
        if result.error is not None:
            told.errors[result.error.type] += 1
            reason = f"{result.error.type}: {result.error.message}"
            if reason in told.reasons or len(told.reasons) < MOST_QUOTED:
                told.reasons[reason] += 1
    return told


def _message(row: CaseRow, errors: Mapping[str, int], expected: str) -> str:
    judged = f"{of(row.passed, row.n)} {word_for(row.n, 'judged trial')} passed" if row.n else "no trial was judged"
    parts = [f"{row.state}: {judged}"]
    if row.incomplete:
        types = ", ".join(f"{count:,} {name}" for name, count in errors.items())
        planned = row.n + row.incomplete
        parts.append(f"{of(row.incomplete, planned)} {word_for(planned, 'planned one is', 'planned ones are')} "
                     f"incomplete ({types})")
    if row.passed < row.n:
        parts += [main_failure(row), f"expected {expected}" if expected else ""]
    return "; ".join(filter(None, parts))


def _failed_lines(row: CaseRow, failed: Iterable[Result]) -> Iterator[str]:
    for result in failed:
        yield f"trial {result.trial}, seed {result.seed}: failed"
        explained = result.explain or {}
        for check in failed_checks(result):
            yield f"  {shown_line(check)}: {shown_line(explained.get(check, 'did not hold'))}"
        yield f"  output: {shown_line(result.output or '', LONGEST_QUOTE)}"
    more = row.n - row.passed - MOST_QUOTED
    if more > 0:
        yield f"and {count_of(more, 'more failed trial')}"


def _error_lines(reasons: Mapping[str, int]) -> Iterator[str]:
    for reason, count in reasons.items():
        yield f"{count:,} x {shown_line(reason, LONGEST_QUOTE)}"
