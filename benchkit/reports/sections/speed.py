"""How long the trials of a run took, and what they cost: latencies, loading, tokens, attempts."""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of
from benchkit.pages.curve_charts import DistributionChart, Group, PercentileMark
from benchkit.render import document as doc
from benchkit.reports.figures import latency, per_second, percentile_cells, seconds
from benchkit.reports.latency_ratio import COLD, measured_on
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, tokens_told
from benchkit.statistics.percentiles import PERCENTS

SHORT_S = 0.1
"""Shorter latencies are drawn in milliseconds."""


def speed_blocks(run: RunReport) -> Iterator[doc.Block]:
    """Latencies of warm and cold trials, drawn and as a table, and what they cost."""
    warm, cold = run.speed.warm, run.speed.cold
    if warm.n or cold.n:
        columns = [doc.Column("seconds"), *map(doc.number, ("warm", "95 %", "cold", "95 %"))]
        yield doc.Chart(_chart(run))
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
            yield name, _in_short(column)
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
    if tokens.trials:
        cached = "" if tokens.cached is None else f"; {tokens.cached:,} of those in from the cache"
        yield "Tokens", tokens_told(tokens) + cached
    else:
        yield "Tokens", f"no trial of {run.coverage.planned:,} says how many tokens it took"
    if tokens.output_per_second is not None:
        yield "Output speed", (f"{per_second(tokens.output_per_second)} tokens per second (sum of tokens over sum of "
                               "output time)")
    yield "Attempts", (f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts; "
                       f"{count_of(attempts.retries, 'request')} sent again inside a trial")


def _in_short(column: LatencyColumn) -> doc.Spans:
    """The median and the longest, and of how many trials."""
    found = dict(zip(PERCENTS, column.percentiles, strict=True)).get(50)
    parts: list[doc.Span] = [f"median {latency(found.value)} s, "] if found else []
    timeouts = f", {count_of(column.timeouts, 'timeout')}" if column.timeouts else ""
    return *parts, f"longest judged {seconds(column.longest)} s, of {count_of(column.n, 'trial')}{timeouts}"


def _rows(warm: LatencyColumn, cold: LatencyColumn) -> Iterator[Sequence[doc.Cell]]:
    yield "trials", f"{warm.n:,}", "", f"{cold.n:,}", ""
    if warm.timeouts or cold.timeouts:
        yield "of these timeouts", f"{warm.timeouts:,}", "", f"{cold.timeouts:,}", ""
    yield "shortest judged", seconds(warm.shortest), "", seconds(cold.shortest), ""
    for percent, one, other in zip(PERCENTS, warm.percentiles, cold.percentiles, strict=True):
        yield f"p{percent}", *percentile_cells(percent, one), *percentile_cells(percent, other)
    yield "longest judged", seconds(warm.longest), "", seconds(cold.longest), ""


def _chart(run: RunReport) -> DistributionChart:
    longest = max(speed for speed in (run.speed.warm.longest, run.speed.cold.longest, 0.0) if speed is not None)
    per_second, unit = (1, "s") if longest >= SHORT_S else (1000, "ms")
    return DistributionChart("Latency of one trial", tuple(_groups(run, per_second)), unit,
                             ("judged trial", "judged trials"))


def _groups(run: RunReport, per_second: int) -> Iterator[Group]:
    for name, column in (("warm", run.speed.warm), ("cold", run.speed.cold)):
        if column.n:
            note = f"{count_of(column.timeouts, 'timeout')} not drawn" if column.timeouts else ""
            drawn = array("d", (latency * per_second for latency in column.judged))
            yield Group(name, drawn, tuple(_marks(column, per_second)), note)


def _marks(column: LatencyColumn, per_second: int) -> Iterator[PercentileMark]:
    for percent, found in zip(PERCENTS, column.percentiles, strict=True):
        if found is not None and not found.value.censored:
            low, high = (end.seconds * per_second if end is not None and not end.censored else None
                         for end in (found.low, found.high))
            yield PercentileMark(f"p{percent}", found.value.seconds * per_second, low, high)
