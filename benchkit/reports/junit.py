"""Runs as JUnit XML, the file that CI systems show: a suite is a run, a test is a case.

What does not live here: when a case is a failure or an error (case_problems.py), what stands in the properties
(run_facts.py), and escaping (pages/escaping.py).
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchkit.pages.escaping import xml_attribute, xml_text
from benchkit.recordings.pieces import SessionFacts
from benchkit.recordings.run_record import Result
from benchkit.reports.by_case import CaseTrials, by_case
from benchkit.reports.case_problems import ERROR, FAILURE, kind_of, problem_of
from benchkit.reports.case_rows import CaseRow
from benchkit.reports.comparison import labels_of
from benchkit.reports.run_facts import facts_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import latency_of


def junit_report(runs: Sequence[RunReport]) -> Iterator[str]:
    """The file, test by test."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield _start("testsuites", {"name": "report", **_counts(row for run in runs for row in run.cases),
                                **_time(result for run in runs for result in run.record.results)})
    for number, label in enumerate(labels_of([run.name for run in runs])):
        yield from _suite(number, label, runs[number])
    yield "</testsuites>\n"


def _suite(number: int, label: str, run: RunReport) -> Iterator[str]:
    yield _start("testsuite", {
        "id": str(number), "name": label, **_counts(run.cases), **_time(run.record.results),
        "timestamp": _timestamp(run.record.sessions)})
    yield "<properties>\n"
    yield from (_empty("property", {"name": name, "value": value}) for name, value in facts_of(run))
    yield "</properties>\n"
    place = f"{run.record.task.module}.{label}"
    for row, case in zip(run.cases, by_case(run.record), strict=True):
        yield from _test(place, row, case)
    yield "</testsuite>\n"


def _test(place: str, row: CaseRow, case: CaseTrials) -> Iterator[str]:
    attributes = {"classname": place, "name": row.id, **_time(case.results)}
    problem = problem_of(row, case.results)
    if problem is None:
        yield _empty("testcase", attributes)
        return
    yield _start("testcase", attributes)
    yield _start(problem.kind, {"type": problem.type, "message": problem.message}).rstrip("\n")
    yield xml_text("\n".join(problem.lines)) + f"</{problem.kind}>\n"
    yield "</testcase>\n"


def _counts(rows: Iterable[CaseRow]) -> dict[str, str]:
    kinds = Counter(map(kind_of, rows))
    return {"tests": str(kinds.total()), "failures": str(kinds[FAILURE]), "errors": str(kinds[ERROR]), "skipped": "0"}


def _time(results: Iterable[Result]) -> dict[str, str]:
    """Seconds of all trials together, as they were recorded; no attribute where nobody knows."""
    known = [seconds for result in results if (seconds := latency_of(result)) is not None]
    return {"time": f"{math.fsum(known):.6f}"} if known else {}


def _timestamp(sessions: Sequence[SessionFacts]) -> str:
    # the schemas know no fractions and no time zone; the stamps of sessions are UTC
    return sessions[0].started_at[:len("2026-11-30T12:00:00")]


def _start(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>\n"


def _empty(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}/>\n"


def _attribute(key: str, value: str) -> str:
    return f' {key}="{xml_attribute(value)}"'
