"""What was run, as names and values, for formats that have a place for such pairs.

What does not live here: the cases of a run, and how a pair is written (junit.py).
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.canonical import canonical
from benchkit.basics.values import JSON
from benchkit.recordings.pieces import SessionFacts
from benchkit.reports.circumstances import ending_of, hardware_of
from benchkit.reports.figures_as_text import percent, spread
from benchkit.reports.run_report import RunReport
from benchkit.statistics.suites import SuiteMetric


def facts_of(run: RunReport) -> Iterator[tuple[str, str]]:
    """What was run, how much of it is known, how often it passes, on which hardware, and the warnings."""
    record, coverage = run.record, run.coverage
    yield "kit", record.kit
    yield "system", record.system
    yield "task", f"{record.task.name} {record.task.version}"
    yield "judge", f"{record.judge.name} {record.judge.version}"
    yield "split", record.split
    yield "trials", str(record.trials)
    yield "judged", f"{coverage.completed} of {coverage.planned} planned trials"
    for at_k in run.suite[:1] + run.suite[1:][-1:]:
        yield f"pass^{at_k.k} %", _rate(at_k.hat)
    yield from ((f"settings.{key}", _shown_value(value)) for key, value in record.settings.items())
    yield "hardware", hardware_of(record.sessions)
    yield "sessions", str(len(record.sessions))
    for number, session in enumerate(record.sessions, 1):
        yield from ((f"session.{number}.{key}", value) for key, value in _session_facts(session))
    yield from ((f"warning.{caution.code}", caution.text) for caution in run.cautions)


def _rate(metric: SuiteMetric) -> str:
    worst, best = percent(metric.worst), percent(metric.best)
    return f"{worst if metric.worst == metric.best else f'{worst} to {best}'} (95 %: {spread(metric.low, metric.high)})"


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
