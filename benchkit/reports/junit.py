"""Runs as JUnit XML, the file that CI systems show: a suite is a run, a test is a case, what was run is properties."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import word_for
from benchkit.basics.values import JSON
from benchkit.pages.escaping import xml_attribute, xml_text
from benchkit.recordings.recording import SessionFacts
from benchkit.reports.comparison import labels_of
from benchkit.reports.figures import of, rate, spread
from benchkit.reports.gate import ERROR, FAILURE, kind_of, problem_of
from benchkit.reports.latency_ratio import ending_of, hardware_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow
from benchkit.statistics.suites import SuiteMetric


def junit_report(runs: Sequence[RunReport]) -> Iterator[str]:
    """The file, test by test."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield _start("testsuites", {"name": "report", **_counts(row for run in runs for row in run.cases),
                                **_time(row for run in runs for row in run.cases)})
    for number, label in enumerate(labels_of([run.name for run in runs])):
        yield from _suite(number, label, runs[number])
    yield "</testsuites>\n"


def _suite(number: int, label: str, run: RunReport) -> Iterator[str]:
    yield _start("testsuite", {
        "id": str(number), "name": label, **_counts(run.cases), **_time(run.cases),
        "timestamp": _timestamp(run.record.sessions)})
    yield "<properties>\n"
    yield from (_empty("property", {"name": name, "value": value}) for name, value in _properties_of(run))
    yield "</properties>\n"
    place = f"{run.record.task.module}.{label}"
    for number in range(len(run.cases)):
        yield from _test(place, run, number)
    yield "</testsuite>\n"


def _test(place: str, run: RunReport, number: int) -> Iterator[str]:
    row, record = run.cases[number], run.record
    attributes = {"classname": place, "name": row.id, **_time([row])}
    problem = problem_of(row, record.results_of(number), record.cases[number].expected)
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


def _time(rows: Iterable[CaseRow]) -> dict[str, str]:
    """Seconds of all trials together, as they were recorded; no attribute where nobody knows."""
    known = [row.microseconds for row in rows if row.microseconds is not None]
    return {"time": "{}.{:06}".format(*divmod(sum(known), 1_000_000))} if known else {}


def _timestamp(sessions: Sequence[SessionFacts]) -> str:
    # the schemas know no fractions and no time zone; the stamps of sessions are UTC
    return sessions[0].started_at[:len("2026-11-30T12:00:00")]


def _start(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>\n"


def _empty(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}/>\n"


def _attribute(key: str, value: str) -> str:
    return f' {key}="{xml_attribute(value)}"'


def _properties_of(run: RunReport) -> Iterator[tuple[str, str]]:
    """What was run, how much of it is known, how often it passes, on which hardware, and the warnings."""
    record, coverage = run.record, run.coverage
    yield "kit", record.kit
    yield "system", record.system
    yield "task", f"{record.task.name} {record.task.version}"
    yield "judge", f"{record.judge.name} {record.judge.version}"
    yield "split", record.split
    yield "trials", str(record.trials)
    yield "judged", f"{of(coverage.completed, coverage.planned)} {word_for(coverage.planned, 'planned trial')}"
    for at_k in run.suite[:1] + run.suite[1:][-1:]:
        yield f"pass^{at_k.k} %", _rate(at_k.hat)
    yield from ((f"settings.{key}", _shown_value(value)) for key, value in record.settings.items())
    yield "hardware", hardware_of(record.sessions)
    yield "sessions", str(len(record.sessions))
    for number, session in enumerate(record.sessions, 1):
        yield from ((f"session.{number}.{key}", value) for key, value in _session_facts(session))
    yield from ((f"warning.{caution.code}", caution.text) for caution in run.warnings)


def _rate(metric: SuiteMetric) -> str:
    return f"{rate(metric)} (95 %: {spread(metric.low, metric.high)})"


def _session_facts(session: SessionFacts) -> Iterator[tuple[str, str]]:
    yield "started_at", session.started_at
    yield "hardware", hardware_of([session])
    yield from ((key, _shown_value(value)) for key, value in session.environment.items() if value is not None)
    limits = (("timeout_s", session.timeout_s), ("budget_s", session.budget_s), ("load_s", session.load_s),
              ("context_length", session.context_length))
    yield from ((key, str(value)) for key, value in limits if value is not None)
    yield "stop", ending_of(session)


def _shown_value(value: JSON) -> str:
    return value if isinstance(value, str) else canonical(value)
