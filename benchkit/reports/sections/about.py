"""What was run: task, judge, hardware, sessions, settings; and how a report was made."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit import VERSION
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of
from benchkit.basics.values import JSON
from benchkit.recordings.recording import SessionFacts
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, seconds
from benchkit.reports.latency_ratio import ending_of, hardware_of, limits_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.warnings import temperature_of

SESSIONS, SETTINGS = doc.Cut(8, 50, "session"), doc.Cut(20, 60, "setting")
MOST_NAMED = 10
_SESSION = (doc.Column("started"), doc.flexible("hardware", doc.MORE), doc.Column("limits"),
            doc.number("loaded in, s"), doc.number("context length"), doc.Column("ended"),
            doc.flexible("environment", doc.MORE))


def about_blocks(run: RunReport) -> Iterator[doc.Block]:
    """The circumstances of a run."""
    record = run.record
    yield doc.Facts(list(_facts(run)))
    yield doc.Fold(count_of(len(record.sessions), "session"), [doc.Table(
        "Sessions", _SESSION, [_session(one) for one in record.sessions], SESSIONS)], detail=doc.MORE)
    if record.settings:
        rows = [(doc.Code(name, 400), doc.Code(canonical(record.settings[name]), 400))
                for name in sorted(record.settings)]
        yield doc.Fold(count_of(len(rows), "setting"), [
            doc.Table("Settings", [doc.Column("setting"), doc.flexible("value")], rows, SETTINGS)], detail=doc.MORE)


def _facts(run: RunReport) -> Iterator[tuple[str, doc.Spans]]:
    record = run.record
    yield "Run", (doc.Code(run.name), f", {count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}")
    yield "System", doc.Code(record.system, 400)
    temperature = temperature_of(record.settings)
    if temperature is not None:
        yield "Temperature", f"{temperature:g}"
    yield "Task", (doc.Code(f"{record.task.name} {record.task.version}"), ", split ", doc.Code(record.split))
    yield "Judged by", (doc.Code(f"{record.judge.name} {record.judge.version}"), ", source ",
                        doc.Code(record.judge.task_sha256[:12]))
    yield "Hardware", doc.Code(hardware_of(record.sessions), 400)
    yield "Kit", doc.Code(record.kit)


def _session(session: SessionFacts) -> Sequence[doc.Cell]:
    length = NOT_AVAILABLE if session.context_length is None else str(session.context_length)
    environment = ", ".join(f"{key}: {_value(value)}" for key, value in session.environment.items()
                            if value is not None)
    stamp = session.started_at
    return (f"{stamp[:10]} {stamp[11:19]} UTC", doc.Code(hardware_of([session]), 400),
            ", ".join(limits_of(session)) or "none", seconds(session.load_s), length, ending_of(session),
            doc.Code(environment, 400))


def _value(value: JSON) -> str:
    return value if isinstance(value, str) else canonical(value)


def footer(labels: Sequence[str]) -> doc.Spans:
    """How a report was made, by which kit, from what."""
    names: list[doc.Span] = [doc.Code(label) for label in labels[:MOST_NAMED]]
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    records, give = ("record", "gives") if len(labels) == 1 else ("records", "give")
    return (f"Made by report.py, kit {VERSION}, from the run {records} ", *doc.listed(names), f"{more} alone: the same "
            f"{records} {give} the same bytes. ", doc.Code("python3 report.py RUN --case ID"), " shows every output.")
