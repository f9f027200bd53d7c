"""The report page on what was run: task, judge, hardware, sessions, settings; and how the page was made."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchkit import VERSION
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of
from benchkit.pages.html import Child, Html, joined
from benchkit.pages.parts import code, facts, fold, paragraph
from benchkit.pages.tables import Column, number_column, table
from benchkit.recordings.recording import SessionFacts
from benchkit.reports.figures import NOT_AVAILABLE, seconds
from benchkit.reports.latency_ratio import ending_of, hardware_of, limits_of
from benchkit.reports.page_parts import line, name
from benchkit.reports.run_report import RunReport
from benchkit.reports.warnings import temperature_of

MOST_SESSIONS, MOST_SETTINGS, MOST_NAMED = 50, 60, 10


def about_part(run: RunReport) -> Iterator[Html]:
    """The circumstances of a run."""
    yield facts(_facts(run))
    yield from _sessions(run.record.sessions)
    if run.record.settings:
        yield from _settings(run)


def _facts(run: RunReport) -> Iterator[tuple[str, Child]]:
    record = run.record
    planned = f"{count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}"
    yield "Run", joined(name(run.name), f", {planned}")
    yield "System", name(record.system)
    temperature = temperature_of(record.settings)
    if temperature is not None:
        yield "Temperature", f"{temperature:g}"
    yield "Task", joined(name(f"{record.task.name} {record.task.version}"), ", split ", name(record.split))
    yield "Judged by", joined(name(f"{record.judge.name} {record.judge.version}"), ", source ",
                              code(record.judge.task_sha256[:12]))
    yield "Hardware", line(hardware_of(record.sessions))
    yield "Kit", line(record.kit)


def _sessions(sessions: Sequence[SessionFacts]) -> Iterator[Html]:
    columns = [Column("started"), Column("hardware"), Column("limits"), number_column("loaded in, s"),
               number_column("context length"), Column("ended"), Column("environment")]
    more = len(sessions) - MOST_SESSIONS
    yield from table(count_of(len(sessions), "session"), columns, map(_session, sessions[:MOST_SESSIONS]))
    if more > 0:
        yield paragraph(f"And {count_of(more, 'more session')}.")


def _session(session: SessionFacts) -> list[Child]:
    length = NOT_AVAILABLE if session.context_length is None else str(session.context_length)
    environment = ", ".join(f"{key}: {_value(value)}" for key, value in session.environment.items()
                            if value is not None)
    return [_moment(session.started_at), line(hardware_of([session])), ", ".join(limits_of(session)) or "none",
            seconds(session.load_s), length, ending_of(session), line(environment)]


def _moment(stamp: str) -> str:
    """A stamp as people write it: `2026-11-30 12:45:59 UTC`."""
    return f"{stamp[:10]} {stamp[11:19]} UTC"


def _value(value: object) -> str:
    return value if isinstance(value, str) else canonical(value)  # type: ignore[arg-type]


def _settings(run: RunReport) -> Iterator[Html]:
    names = sorted(run.record.settings)[:MOST_SETTINGS]
    rows: Iterable[Sequence[Child]] = (
        [line(key), code(line(canonical(run.record.settings[key])))] for key in names)
    yield fold(count_of(len(run.record.settings), "setting"),
               *table("Settings", [Column("setting"), Column("value")], rows))


def footer(labels: Sequence[str]) -> Html:
    """How the page was made, by which kit, from what."""
    names = [joined(" " if number == 0 else ", ", name(label)) for number, label in enumerate(labels[:MOST_NAMED])]
    more = len(labels) - MOST_NAMED
    return paragraph(
        f"Made by report.py --html, kit {VERSION}, from the run {'record' if len(labels) == 1 else 'records'}", *names,
        f" and {more} more" if more > 0 else None, " alone: the same records give the same page.")
