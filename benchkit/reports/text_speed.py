"""The text report on latency, loading, tokens and attempts."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of, shown_line
from benchkit.reports.columns import INDENT, left, right, table, wrapped
from benchkit.reports.figures import number, per_second, percentile_cells, seconds
from benchkit.reports.latency_ratio import COLD, measured_on
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, tokens_told
from benchkit.statistics.percentiles import PERCENTS


def latency_lines(run: RunReport) -> Iterator[str]:
    """Percentiles of warm and cold trials with their rank intervals, and load times."""
    speed = run.speed
    if speed.warm.n or speed.cold.n:
        yield from wrapped(f"seconds, judged trials and timeouts; {COLD}; 95 %: rank interval (?: too few trials for "
                           "that end)", INDENT)
        columns = [left(""), right("warm"), right("95 %"), right("cold"), right("95 %")]
        yield from table(columns, _latency_rows(speed.warm, speed.cold))
        where = measured_on(run.record.sessions)
        if where:
            yield from wrapped(f"measured on {shown_line(where)}", INDENT)
    else:
        yield INDENT + "no latency was recorded"
    loads = [load for load in speed.loading.sessions if load is not None]
    if loads:
        yield f"{INDENT}loading the model took {_list_of_seconds(loads)} s"
    if speed.loading.reloads:
        yield (f"{INDENT}{count_of(speed.loading.reloads, 'trial')} waited for the model to load again, "
               f"up to {seconds(speed.loading.longest_reload_s)} s")


def _list_of_seconds(loads: Sequence[float]) -> str:
    if len(loads) <= 4:
        return ", ".join(map(seconds, loads))
    return f"{seconds(min(loads))} to {seconds(max(loads))}"


def _latency_rows(warm: LatencyColumn, cold: LatencyColumn) -> Iterator[list[str]]:
    yield ["trials", number(warm.n), "", number(cold.n), ""]
    if warm.timeouts or cold.timeouts:
        yield ["of these timeouts", number(warm.timeouts), "", number(cold.timeouts), ""]
    for percent, one, other in zip(PERCENTS, warm.percentiles, cold.percentiles, strict=True):
        yield [f"p{percent}", *percentile_cells(percent, one), *percentile_cells(percent, other)]
    yield ["longest judged", seconds(warm.longest), "", seconds(cold.longest), ""]


def token_lines(run: RunReport) -> Iterator[str]:
    """Tokens in and out, and how fast they came."""
    tokens = run.speed.tokens
    if not tokens.trials:
        yield f"{INDENT}no trial of {run.coverage.planned:,} says how many tokens it took"
        return
    rate = tokens.output_per_second
    yield from wrapped(tokens_told(tokens), INDENT)
    if rate is not None:
        yield f"{INDENT}{per_second(rate)} output tokens per second (sum of tokens over sum of output time)"


def attempt_lines(run: RunReport) -> Iterator[str]:
    """How many trials took more than one start, and how many requests were sent again."""
    attempts = run.speed.attempts
    yield (f"{INDENT}{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts; "
           f"{count_of(attempts.retries, 'request')} sent again inside a trial")
