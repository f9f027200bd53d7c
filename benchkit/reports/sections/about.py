"""What was run: task, judge, hardware, sessions, settings; and how a report was made."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit import VERSION
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of
from benchkit.basics.values import JSON
from benchkit.recordings.recording import SessionFacts
from benchkit.render.document import (
    Block,
    Cell,
    Code,
    Column,
    Cut,
    Detail,
    Facts,
    Fold,
    Span,
    Spans,
    Table,
    flexible_column,
    listed,
    number_column,
)
from benchkit.reports.figures import NOT_AVAILABLE, seconds
from benchkit.reports.latency_ratio import ending_of, hardware_of, limits_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.warnings import temperature_of

SESSIONS, SETTINGS = Cut(8, 50, "session"), Cut(20, 60, "setting")
MOST_NAMED = 10
_SESSION = (Column("started"), flexible_column("hardware", Detail.MORE), Column("limits"),
            number_column("loaded in, s"), number_column("context length"), Column("ended"),
            flexible_column("environment", Detail.MORE))


def about_blocks(run: RunReport) -> Iterator[Block]:
    """The circumstances of a run."""
    record = run.record
    yield Facts(list(_facts(run)))
    yield Fold(count_of(len(record.sessions), "session"), [Table(
        "Sessions", _SESSION, [_session(one) for one in record.sessions], SESSIONS)], detail=Detail.MORE)
    if record.settings:
        rows = [(Code(name, 400), Code(canonical(record.settings[name]), 400)) for name in sorted(record.settings)]
        yield Fold(count_of(len(rows), "setting"), [
            Table("Settings", [Column("setting"), flexible_column("value")], rows, SETTINGS)], detail=Detail.MORE)


def _facts(run: RunReport) -> Iterator[tuple[str, Spans]]:
    record = run.record
    yield "Run", (Code(run.name), f", {count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}")
    yield "System", Code(record.system, 400)
    temperature = temperature_of(record.settings)
    if temperature is not None:
        yield "Temperature", f"{temperature:g}"
    yield "Task", (Code(f"{record.task.name} {record.task.version}"), ", split ", Code(record.split))
    yield "Judged by", (Code(f"{record.judge.name} {record.judge.version}"), ", source ",
                        Code(record.judge.task_sha256[:12]))
    yield "Hardware", Code(hardware_of(record.sessions), 400)
    yield "Kit", Code(record.kit)


def _session(session: SessionFacts) -> Sequence[Cell]:
    length = NOT_AVAILABLE if session.context_length is None else str(session.context_length)
    environment = ", ".join(f"{key}: {_value(value)}" for key, value in session.environment.items()
                            if value is not None)
    stamp = session.started_at
    return (f"{stamp[:10]} {stamp[11:19]} UTC", Code(hardware_of([session]), 400),
            ", ".join(limits_of(session)) or "none", seconds(session.load_s), length, ending_of(session),
            Code(environment, 400))


def _value(value: JSON) -> str:
    return value if isinstance(value, str) else canonical(value)


def footer(labels: Sequence[str]) -> Spans:
    """How a report was made, by which kit, from what."""
    names: list[Span] = [Code(label) for label in labels[:MOST_NAMED]]
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    records, give = ("record", "gives") if len(labels) == 1 else ("records", "give")
    return (f"Made by report.py, kit {VERSION}, from the run {records} ", *listed(names), f"{more} alone: the same "
            f"{records} {give} the same bytes. ", Code("python3 report.py RUN --case ID"), " shows every output.")
