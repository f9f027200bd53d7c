"""Runs as JUnit XML, the file that CI systems show: a suite is a run, a test is a case, what was run is properties."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

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

FAILURE, ERROR = "failure", "error"
MOST_QUOTED = 3
"""So many failed trials of a case are told one by one; the rest is counted."""
LONGEST_QUOTE = 400


def junit_report(runs: Sequence[RunReport]) -> Iterator[str]:
    """The file, test by test."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    every = [row for run in runs for row in run.cases]
    yield _tag("testsuites", {"name": "report", **_counts(every), **_time(every)})
    for number, (label, run) in enumerate(zip(labels_of([run.name for run in runs]), runs, strict=True)):
        # the schemas know no fractions and no time zone; the stamps of sessions are UTC
        stamp = run.record.sessions[0].started_at[:len("2026-11-30T12:00:00")]
        yield _tag("testsuite", {"id": str(number), "name": label, **_counts(run.cases), **_time(run.cases),
                                 "timestamp": stamp})
        yield "<properties>\n"
        yield from (_tag("property", {"name": name, "value": value}, "/") for name, value in _properties_of(run))
        yield "</properties>\n"
        for place, row in enumerate(run.cases):
            yield from _test(f"{run.record.task.module}.{label}", run, row, place)
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def _test(classname: str, run: RunReport, row: CaseRow, place: int) -> Iterator[str]:
    """A case; where it is no stable pass also why, and what was expected of it."""
    attributes, kind = {"classname": classname, "name": row.id, **_time([row])}, _kind_of(row)
    if kind is None:
        yield _tag("testcase", attributes, "/")
        return
    failed = list[Result]()
    errors, reasons = Counter[str](), Counter[str]()
    for result in run.record.results_of(place):
        if result.verdict == "fail" and len(failed) < MOST_QUOTED:
            failed.append(result)
        if result.error is not None:
            errors[result.error.type] += 1
            reason = f"{result.error.type}: {result.error.message}"
            if reason in reasons or len(reasons) < MOST_QUOTED:
                reasons[reason] += 1
    lines = [f"trials: {row.marks}   (+ passed  - failed  ? incomplete)"]
    if kind == FAILURE:
        lines += _failed_lines(row, failed)
    else:
        lines += [f"{count:,} x {shown_line(reason, LONGEST_QUOTE)}" for reason, count in reasons.items()]
    yield _tag("testcase", attributes)
    yield _tag(kind, {"type": str(row.state) if kind == FAILURE else errors.most_common(1)[0][0],
                      "message": _message(row, errors, expected_line(run.record.cases[place].expected))}).rstrip("\n")
    yield xml_text("\n".join(lines)) + f"</{kind}>\n"
    yield "</testcase>\n"


def _kind_of(row: CaseRow) -> str | None:
    """FAILURE where a trial failed, else ERROR where one is unknown, else None: the test passes."""
    if row.passed < row.n:
        return FAILURE
    return ERROR if row.incomplete else None


def _counts(rows: Iterable[CaseRow]) -> dict[str, str]:
    kinds = Counter(map(_kind_of, rows))
    return {"tests": str(kinds.total()), "failures": str(kinds[FAILURE]), "errors": str(kinds[ERROR]), "skipped": "0"}


def _time(rows: Iterable[CaseRow]) -> dict[str, str]:
    """Seconds of all trials together, as they were recorded; no attribute where nobody knows."""
    known = [row.microseconds for row in rows if row.microseconds is not None]
    return {"time": "{}.{:06}".format(*divmod(sum(known), 1_000_000))} if known else {}


def _tag(name: str, attributes: Mapping[str, str], end: str = "") -> str:
    told = "".join(f' {key}="{xml_attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{told}{end}>\n"


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
        yield f"pass^{at_k.k} %", f"{rate(at_k.hat)} (95 %: {spread(at_k.hat.low, at_k.hat.high)})"
    yield from ((f"settings.{key}", _shown_value(value)) for key, value in record.settings.items())
    yield "hardware", hardware_of(record.sessions)
    yield "sessions", str(len(record.sessions))
    for number, session in enumerate(record.sessions, 1):
        yield from ((f"session.{number}.{key}", value) for key, value in _session_facts(session))
    yield from ((f"warning.{warning.code}", warning.text) for warning in run.warnings)


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
