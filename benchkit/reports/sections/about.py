"""What was run: task, judge, hardware, sessions, settings; how long the trials took, and what they cost."""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of
from benchkit.pages.curve_charts import DistributionChart, Group, PercentileMark
from benchkit.recordings.recording import SessionFacts
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, latency, per_second, percentile_cells, seconds
from benchkit.reports.outputs import value_text
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import COLD, LatencyColumn, ending_of, hardware_of, limits_of, measured_on, tokens_told
from benchkit.reports.warnings import temperature_of
from benchkit.statistics.percentiles import PERCENTS

SESSIONS, SETTINGS = doc.Cut(8, 50, "session"), doc.Cut(20, 60, "setting")
LONGEST_IN_TABLE, LONGEST_VALUE, MOST_LONGER = 72, 400, 60
"""Longer values of settings stand below the table, on pages and in Markdown the beginning, in text whole."""
SHORT_S = 0.1
"""Shorter latencies are drawn in milliseconds."""


def about_blocks(run: RunReport) -> Iterator[doc.Block]:
    """The circumstances of a run."""
    record = run.record
    temperature = temperature_of(record.settings)
    yield doc.Facts([
        ("Run", (doc.Code(run.name), f", {count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}")),
        ("System", doc.Code(record.system, 400)),
        *([] if temperature is None else [("Temperature", f"{temperature:g}")]),
        ("Task", (doc.Code(f"{record.task.name} {record.task.version}"), ", split ", doc.Code(record.split))),
        ("Judged by", (doc.Code(f"{record.judge.name} {record.judge.version}"), ", source ",
                       doc.Code(record.judge.task_sha256[:12]))),
        ("Hardware", doc.Code(hardware_of(record.sessions), 400)),
        ("Kit", doc.Code(record.kit))])
    columns = [doc.Column("started"), doc.flexible("hardware", doc.MORE), doc.Column("limits"),
               doc.number("loaded in, s"), doc.number("context length"), doc.Column("ended"),
               doc.flexible("environment", doc.MORE)]
    yield doc.Fold(count_of(len(record.sessions), "session"), [doc.Table(
        "Sessions", columns, [_session(one) for one in record.sessions], SESSIONS)], detail=doc.MORE)
    if record.settings:
        values = {name: canonical(record.settings[name]) for name in sorted(record.settings)}
        rows = [(doc.Code(name, 400), doc.Code(value, 400)) for name, value in values.items()
                if len(value) <= LONGEST_IN_TABLE]
        table = doc.Table("Settings", [doc.Column("setting"), doc.flexible("value")], rows, SETTINGS)
        longer: list[doc.Block] = [
            doc.Verbatim(value_text(record.settings[name]), doc.Code(name, 400), LONGEST_VALUE)
            for name, value in values.items() if len(value) > LONGEST_IN_TABLE]
        left = len(longer) - MOST_LONGER
        longer[MOST_LONGER:] = [doc.quiet(f"And {count_of(left, 'more long setting')}.")] if left > 0 else []
        yield doc.Fold(count_of(len(values), "setting"), [*([table] if rows else []), *longer], detail=doc.MORE)


def _session(session: SessionFacts) -> Sequence[doc.Cell]:
    length = NOT_AVAILABLE if session.context_length is None else str(session.context_length)
    environment = ", ".join(f"{key}: {value if isinstance(value, str) else canonical(value)}"
                            for key, value in session.environment.items() if value is not None)
    stamp = session.started_at
    return (f"{stamp[:10]} {stamp[11:19]} UTC", doc.Code(hardware_of([session]), 400),
            ", ".join(limits_of(session)) or "none", seconds(session.load_s), length, ending_of(session),
            doc.Code(environment, 400))


def speed_blocks(run: RunReport) -> Iterator[doc.Block]:
    """Latencies of warm and cold trials, drawn and as a table, and what they cost."""
    warm, cold = run.speed.warm, run.speed.cold
    if warm.n or cold.n:
        columns = [doc.Column("seconds"), *map(doc.number, ("warm", "95 %", "cold", "95 %"))]
        yield doc.Chart(_latencies(warm, cold))
        yield doc.Table("Latency, by percentile", columns, list(_rows(warm, cold)), detail=doc.MORE)
        yield doc.quiet(f"In seconds, judged trials and timeouts, by nearest rank; {COLD}: its prompt is not in the "
                        "cache of the server; 95 %: rank interval (?: too few trials for that end).", detail=doc.MORE)
    else:
        yield doc.words("No latency was recorded.")
    yield doc.Facts(list(_facts(run)))


def _facts(run: RunReport) -> Iterator[tuple[str, doc.Spans]]:
    tokens, loading, attempts = run.speed.tokens, run.speed.loading, run.speed.attempts
    for name, column in (("Latency, warm", run.speed.warm), ("Latency, cold", run.speed.cold)):
        if column.n:
            found = dict(zip(PERCENTS, column.percentiles, strict=True)).get(50)
            median = f"median {latency(found.value)} s, " if found else ""
            timeouts = f", {count_of(column.timeouts, 'timeout')}" if column.timeouts else ""
            yield name, (f"{median}longest judged {seconds(column.longest)} s, of {count_of(column.n, 'trial')}"
                         f"{timeouts}")
    where = measured_on(run.record.sessions)
    if where and (run.speed.warm.n or run.speed.cold.n):
        yield "Measured on", doc.Code(where, 400)
    loads = [load for load in loading.sessions if load is not None]
    if any(loads):
        took = seconds(loads[0]) if len(loads) == 1 else f"{seconds(min(loads))} to {seconds(max(loads))}"
        yield "Loading", f"the model took {took} s to load"
    if loading.reloads:
        yield "Loading again", (f"{count_of(loading.reloads, 'trial')} waited for the model, up to "
                                f"{seconds(loading.longest_reload_s)} s")
    cached = "" if tokens.cached is None else f"; {tokens.cached:,} of those in from the cache"
    yield "Tokens", (tokens_told(tokens) + cached if tokens.trials else
                     f"no trial of {run.coverage.planned:,} says how many tokens it took")
    if tokens.output_per_second is not None:
        yield "Output speed", (f"{per_second(tokens.output_per_second)} tokens per second (sum of tokens over sum of "
                               "output time)")
    yield "Attempts", (f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts; "
                       f"{count_of(attempts.retries, 'request')} sent again inside a trial")


def _rows(warm: LatencyColumn, cold: LatencyColumn) -> Iterator[Sequence[doc.Cell]]:
    yield "trials", f"{warm.n:,}", "", f"{cold.n:,}", ""
    if warm.timeouts or cold.timeouts:
        yield "of these timeouts", f"{warm.timeouts:,}", "", f"{cold.timeouts:,}", ""
    yield "shortest judged", seconds(warm.shortest), "", seconds(cold.shortest), ""
    for percent, one, other in zip(PERCENTS, warm.percentiles, cold.percentiles, strict=True):
        yield f"p{percent}", *percentile_cells(percent, one), *percentile_cells(percent, other)
    yield "longest judged", seconds(warm.longest), "", seconds(cold.longest), ""


def _latencies(warm: LatencyColumn, cold: LatencyColumn) -> DistributionChart:
    longest = max(warm.longest or 0.0, cold.longest or 0.0)
    scale, unit = (1, "s") if longest >= SHORT_S else (1000, "ms")
    groups = []
    for name, column in (("warm", warm), ("cold", cold)):
        marks = []
        for percent, found in zip(PERCENTS, column.percentiles, strict=True):
            if found is not None and not found.value.censored:
                low, high = (end.seconds * scale if end is not None and not end.censored else None
                             for end in (found.low, found.high))
                marks.append(PercentileMark(f"p{percent}", found.value.seconds * scale, low, high))
        if column.n:
            note = f"{count_of(column.timeouts, 'timeout')} not drawn" if column.timeouts else ""
            drawn = array("d", (latency * scale for latency in column.judged))
            groups.append(Group(name, drawn, tuple(marks), note))
    return DistributionChart("Latency of one trial", tuple(groups), unit, ("judged trial", "judged trials"))
