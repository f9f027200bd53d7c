"""The trials of runs as CSV (RFC 4180): one row each, for a spreadsheet, which runs nothing of it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from benchkit.basics.json_text import canonical
from benchkit.pages.html import csv_field
from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.reports.comparison import labels_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import hardware_of, latency_of
from benchkit.trial_log.schema import ERROR_FIELDS, RESULT, TIMINGS_FIELDS, USAGE_FIELDS

CsvValue: TypeAlias = str | int | float | bool | None


def csv_line(values: Iterable[CsvValue]) -> str:
    """One row, CRLF at its end. Texts are made harmless; numbers stay numbers; None is an empty field."""
    return ",".join(map(_field, values)) + "\r\n"


def _field(value: CsvValue) -> str:
    if isinstance(value, str):
        return csv_field(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


RUN_COLUMNS = ("run", "system", "task", "split", "hardware", "sessions")
CASE_COLUMNS = ("case", "tags", "expected")
CHECK_PREFIX = "check:"
"""Before the name of a check, which is the task's own, so that it is never taken for another column."""
_INSIDE = {"error": ERROR_FIELDS, "usage": USAGE_FIELDS, "timings": TIMINGS_FIELDS}


def _columns() -> Iterator[tuple[str, str, str]]:
    """The title of each column of a result, its field, and the one inside that ("" for the field itself)."""
    for one in RESULT:
        for inner in _INSIDE.get(one.name, ()):
            if inner.csv:
                yield inner.csv, one.name, inner.name
        if one.csv and one.name not in _INSIDE:
            yield one.csv, one.name, ""
    # the last one, for it is a long text
    yield "partial", "error", "partial"


COLUMNS = tuple(_columns())
_BEFORE_CHECKS = 1 + [title for title, *_ in COLUMNS].index("verdict")


def trials_csv(runs: Sequence[RunReport]) -> Iterator[str]:
    """The lines of the file, titles first; runs in order, cases in order, trials ascending."""
    checks = check_names(runs)
    titles, own = [CHECK_PREFIX + name for name in checks], [title for title, *_ in COLUMNS]
    yield csv_line((*RUN_COLUMNS, *CASE_COLUMNS, *own[:_BEFORE_CHECKS], *titles, *own[_BEFORE_CHECKS:]))
    for label, run in zip(labels_of([run.name for run in runs]), runs, strict=True):
        of_run = (label, *_run_values(run))
        for place, case in enumerate(run.record.cases):
            known = (*of_run, *_case_values(case))
            for result in run.record.results_of(place):
                yield csv_line((*known, *_trial_values(result, checks)))


def check_names(runs: Iterable[RunReport]) -> tuple[str, ...]:
    """The names of all checks of all runs, each once, in the order in which they first stand."""
    return tuple(dict.fromkeys(check.name for run in runs for check in run.failures.checks))


def _run_values(run: RunReport) -> tuple[CsvValue, ...]:
    record = run.record
    return (record.system, record.task.name, record.split, hardware_of(record.sessions),
            len(record.sessions))


def _case_values(case: JudgedCase) -> tuple[CsvValue, ...]:
    expected = case.expected if isinstance(case.expected, str) else canonical(case.expected)
    return case.id, ";".join(case.tags), expected


def _trial_values(result: Result, checks: Iterable[str]) -> tuple[CsvValue, ...]:
    values = [_value(result, name, inner) for _, name, inner in COLUMNS]
    held = result.checks or {}
    return (*values[:_BEFORE_CHECKS], *(held.get(name) for name in checks), *values[_BEFORE_CHECKS:])


def _value(result: Result, name: str, inner: str) -> CsvValue:
    if name == "explain":
        return "; ".join(f"{check}: {text}" for check, text in (result.explain or {}).items())
    outer: Any = latency_of(result) if name == "latency_s" else getattr(result, name)
    value: CsvValue = getattr(outer, inner) if inner and outer is not None else outer
    return value
