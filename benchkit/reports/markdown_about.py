"""The Markdown report on what was run: speed, hardware and sessions, settings, and how the report was made."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit import VERSION
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of
from benchkit.pages.markdown import Markdown, bullets, code, folded, paragraph, table, words
from benchkit.reports.figures import NOT_AVAILABLE, latency, number, per_second, seconds
from benchkit.reports.latency_ratio import COLD, ending_of, hardware_of, limits_of, measured_on
from benchkit.reports.markdown_parts import FEW_ROWS, LONGEST_TEXT, cut_table, left, own, right
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, tokens_told
from benchkit.statistics.percentiles import PERCENTS

MOST_NAMED = 8


def speed_part(run: RunReport) -> Iterator[Markdown]:
    """Latencies of warm and cold trials, tokens, attempts."""
    speed = run.speed
    found = (("warm", speed.warm), ("cold", speed.cold))
    if any(column.n for _, column in found):
        yield table(
            [left("latency in s"), right("trials"), right("timeouts"), *(right(f"p{one}") for one in PERCENTS)],
            ([own(name), *_latency_cells(column)] for name, column in found if column.n))
        yield paragraph(own(f"Judged trials and timeouts, nearest rank; {COLD}."))
        where = measured_on(run.record.sessions)
        if where:
            yield paragraph(own("Measured on"), code(where, LONGEST_TEXT))
    else:
        yield paragraph(own("No latency was recorded."))
    yield bullets(_counts(run))


def _latency_cells(column: LatencyColumn) -> list[Markdown]:
    found = [own(latency(one.value) if one else NOT_AVAILABLE) for one in column.percentiles]
    return [own(number(column.n)), own(number(column.timeouts)), *found]


def _counts(run: RunReport) -> Iterator[Markdown]:
    tokens, attempts, loading = run.speed.tokens, run.speed.attempts, run.speed.loading
    if tokens.trials:
        rate = tokens.output_per_second
        speed = f", {per_second(rate)} output tokens per second" if rate is not None else ""
        yield own(f"tokens: {tokens_told(tokens)}{speed}")
    loads = [load for load in loading.sessions if load is not None]
    if loads:
        yield own(f"loading the model took {' to '.join(map(seconds, sorted({min(loads), max(loads)})))} s")
    yield own(f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts, "
              f"{count_of(attempts.retries, 'request')} sent again inside a trial")


def circumstances_part(run: RunReport) -> Iterator[Markdown]:
    """Hardware, task and judge; sessions and settings folded."""
    record = run.record
    yield bullets([
        words(own("**Hardware:**"), code(hardware_of(record.sessions), LONGEST_TEXT)),
        words(own("**System:**"), code(record.system, LONGEST_TEXT)),
        words(own("**Task:**"), code(f"{record.task.name} {record.task.version}"), own("split"), code(record.split),
              own("judged by"), code(f"{record.judge.name} {record.judge.version}"))])
    yield folded(own(count_of(len(record.sessions), "session")), _sessions(run))
    if record.settings:
        yield folded(own(count_of(len(record.settings), "setting")), _settings(run))


def _sessions(run: RunReport) -> Markdown:
    sessions = run.record.sessions
    rows = ([own(session.started_at), code(hardware_of([session]), LONGEST_TEXT),
             own(", ".join(limits_of(session)) or "none"), own(ending_of(session)),
             own(NOT_AVAILABLE if session.context_length is None else str(session.context_length)),
             code(canonical(session.environment))] for session in sessions[:MOST_NAMED])
    shown = table([left("started"), left("hardware"), left("limits"), left("ended"), right("context length"),
                    left("environment")], rows)
    more = len(sessions) - MOST_NAMED
    return Markdown(shown + (paragraph(own(f"and {count_of(more, 'more session')}")) if more > 0 else ""))


def _settings(run: RunReport) -> Markdown:
    return cut_table("setting", [left("setting"), left("value")], [
        [code(name, LONGEST_TEXT), code(canonical(run.record.settings[name]), LONGEST_TEXT)]
        for name in sorted(run.record.settings)], 2 * FEW_ROWS)


def footer(labels: Sequence[str]) -> Markdown:
    """How the report was made, by which kit, from what."""
    names = [code(label, LONGEST_TEXT) for label in labels[:MOST_NAMED]]
    more = [own(f"and {len(labels) - MOST_NAMED} more")] if len(labels) > MOST_NAMED else []
    records = "record" if len(labels) == 1 else "records"
    return Markdown("---\n\n" + paragraph(
        own(f"Made by `report.py --markdown`, kit {VERSION}, from the run {records}"),
        *names, *more,
        own("alone: the same records give the same bytes. `python3 report.py RUN --case ID` shows every output.")))
