"""The trials of runs as CSV (RFC 4180): one row each, for a spreadsheet, which runs nothing of it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from benchkit.basics.json_text import canonical
from benchkit.pages.html import csv_field
from benchkit.recordings.run_record import Result
from benchkit.reports.comparison import labels_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import hardware_of, latency_of
from benchkit.trial_log.schema import ERROR_FIELDS, RESULT, TIMINGS_FIELDS, USAGE_FIELDS

CsvValue: TypeAlias = str | int | float | bool | None


def csv_line(values: Iterable[CsvValue]) -> str:
    """One row, CRLF at its end. Texts are made harmless; numbers stay numbers; None is an empty field."""
    return ",".join("" if value is None else csv_field(value) if isinstance(value, str)
                    else str(value).lower() if isinstance(value, bool) else repr(value) for value in values) + "\r\n"


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
    # the checks of all runs, each once, in the order in which they first stand
    checks = tuple(dict.fromkeys(check.name for run in runs for check in run.failures.checks))
    titles, own = [CHECK_PREFIX + name for name in checks], [title for title, *_ in COLUMNS]
    yield csv_line((*RUN_COLUMNS, *CASE_COLUMNS, *own[:_BEFORE_CHECKS], *titles, *own[_BEFORE_CHECKS:]))
    for label, run in zip(labels_of([run.name for run in runs]), runs, strict=True):
        record = run.record
        of_run = (label, record.system, record.task.name, record.split, hardware_of(record.sessions),
                  len(record.sessions))
        for place, case in enumerate(record.cases):
            expected = case.expected if isinstance(case.expected, str) else canonical(case.expected)
            for result in record.results_of(place):
                values, held = [_value(result, name, inner) for _, name, inner in COLUMNS], result.checks or {}
                yield csv_line((*of_run, case.id, ";".join(case.tags), expected, *values[:_BEFORE_CHECKS],
                                *(held.get(name) for name in checks), *values[_BEFORE_CHECKS:]))


def _value(result: Result, name: str, inner: str) -> CsvValue:
    if name == "explain":
        return "; ".join(f"{check}: {text}" for check, text in (result.explain or {}).items())
    outer: Any = latency_of(result) if name == "latency_s" else getattr(result, name)
    value: CsvValue = getattr(outer, inner) if inner and outer is not None else outer
    return value
