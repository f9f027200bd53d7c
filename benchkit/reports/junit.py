"""Runs as JUnit XML, the file that CI systems show: a suite is a run, a test is a case, what was run is properties."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, shown_line, word_for
from benchkit.basics.values import JSON
from benchkit.pages.html import xml_attribute, xml_text
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Result
from benchkit.reports.comparison import labels_of
from benchkit.reports.failures import failed_checks
from benchkit.reports.figures import of, rate, spread
from benchkit.reports.outputs import expected_line
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import ending_of, hardware_of
from benchkit.reports.tally import CaseRow, main_failure
from benchkit.statistics.suites import SuiteMetric

FAILURE, ERROR = "failure", "error"
MOST_QUOTED = 3
"""So many failed trials of a case are told one by one; the rest is counted."""
LONGEST_QUOTE = 400


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
    problem = _problem_of(row, record.results_of(number), record.cases[number].expected)
    if problem is None:
        yield _empty("testcase", attributes)
        return
    yield _start("testcase", attributes)
    yield _start(problem.kind, {"type": problem.type, "message": problem.message}).rstrip("\n")
    yield xml_text("\n".join(problem.lines)) + f"</{problem.kind}>\n"
    yield "</testcase>\n"


def _counts(rows: Iterable[CaseRow]) -> dict[str, str]:
    kinds = Counter(map(_kind_of, rows))
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


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a test did not pass: FAILURE or ERROR, its type, one line, and more lines."""

    kind: str
    type: str
    message: str
    lines: tuple[str, ...]


def _kind_of(row: CaseRow) -> str | None:
    """FAILURE where a trial failed, else ERROR where one is unknown, else None: the test passes."""
    if row.passed < row.n:
        return FAILURE
    return ERROR if row.incomplete else None


def _problem_of(row: CaseRow, results: Iterable[Result], expected: JSON) -> _Problem | None:
    """Why a case is no stable pass, and what was expected of it; None if it passed every planned trial."""
    kind = _kind_of(row)
    if kind is None:
        return None
    told = _told(results)
    message = _message(row, told.errors, expected_line(expected))
    return _Problem(kind, str(row.state) if kind == FAILURE else told.errors.most_common(1)[0][0], message,
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
