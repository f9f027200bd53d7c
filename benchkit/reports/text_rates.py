"""The text report on what was run, how much of it is known, and how often it passes."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchkit.basics.texts import count_of, shown_line
from benchkit.recordings.recording import SessionFacts
from benchkit.reports.columns import INDENT, WIDTH, left, right, table, width_of, wrapped
from benchkit.reports.figures import (
    and_unknown,
    each_by_itself,
    error_words,
    number,
    of,
    percent,
    share,
    spread,
    standard_error,
)
from benchkit.reports.latency_ratio import ending_of, hardware_of, limits_of
from benchkit.reports.run_report import RunReport, flake_unseen
from benchkit.reports.tally import EVERY_K, last_ks, shown_ks
from benchkit.reports.warnings import temperature_of
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

MOST_SESSIONS = 8


def about_lines(run: RunReport) -> Iterator[str]:
    """What was run: system, task, hardware, sessions."""
    record = run.record
    temperature = temperature_of(record.settings)
    warmth = f", temperature {temperature:g}" if temperature is not None else ""
    yield from _fact("run", f"{run.name}, {count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}")
    yield from _fact("system", record.system + warmth)
    yield from _fact("task", f"{record.task.name} {record.task.version}, split {record.split}; "
                             f"judged by {record.judge.name} {record.judge.version}")
    yield from _fact("hardware", hardware_of(record.sessions))
    for session in record.sessions[:MOST_SESSIONS]:
        yield from _fact("session", _session(session))
    if len(record.sessions) > MOST_SESSIONS:
        yield from _fact("", f"and {count_of(len(record.sessions) - MOST_SESSIONS, 'more session')}")


def _fact(label: str, text: str) -> list[str]:
    return wrapped(shown_line(text, 400), f"{INDENT}{label:<10}")


def _session(session: SessionFacts) -> str:
    return ", ".join([session.started_at, *limits_of(session), f"ended: {ending_of(session)}"])


def coverage_lines(run: RunReport) -> Iterator[str]:
    """How much of the plan has a verdict."""
    coverage = run.coverage
    yield from _fact("trials", f"{share(coverage.completed, coverage.planned)} judged, "
                               f"{number(coverage.planned - coverage.completed)} incomplete")
    yield from _fact("cases", f"{of(coverage.cases_complete, coverage.cases)} with all trials, "
                              f"{of(coverage.cases_touched, coverage.cases)} with some")
    yield from _fact("k_max", f"{number(coverage.k_max)}: so many trials of every case were judged")


def pass_lines(run: RunReport) -> Iterator[str]:
    """pass@k and pass^k for every k, or some of many: worst, completed-only, best, interval, re-run standard error."""
    if not run.suite:
        yield INDENT + "there are no cases"
        return
    shown = shown_ks(run.suite, EVERY_K)
    yield from wrapped(
        f"percent, mean over {count_of(run.coverage.cases, 'case')}; worst / done / best: incomplete trials taken as "
        "failed / left out (completed-only) / taken as passed; 95 %: interval for other such cases; se: standard "
        f"error of a re-run{error_words(metric for one in shown for metric in (one.at, one.hat))}",
        INDENT)
    yield ""
    titles, *rows = _pass_table([_pass_row(at_k, run.coverage.cases) for at_k in shown])
    at = titles.index("worst")
    hat = titles.index("worst", at + 1)
    yield " " * at + f"{'pass@k: at least one of k passes':<{hat - at}}pass^k: all of k pass"
    yield from [titles, *rows]
    yield ""
    if len(shown) < len(run.suite):
        yield (f"{INDENT}above {EVERY_K} only round k are shown; JSON (--out) lists every k from 1 to "
               f"{last_ks(run.suite)}")
    yield from wrapped(flake_unseen(run), INDENT)


def _pass_table(rows: Sequence[Sequence[str]]) -> list[str]:
    columns = [right("k"), *_METRIC, *_METRIC, left("cases done")]
    lines = table(columns, rows)
    return lines if max(map(width_of, lines)) <= WIDTH else table(columns, rows, gap=" ")


_METRIC = (right("worst"), right("done"), right("best"), right("95 %"), right("se"))


def _pass_row(at_k: SuiteAtK, cases: int) -> list[str]:
    return [number(at_k.k), *metric_cells(at_k.at), *metric_cells(at_k.hat), of(at_k.hat.completed_cases, cases)]


def metric_cells(metric: SuiteMetric) -> list[str]:
    """worst, completed-only, best, interval, standard error."""
    return [percent(metric.worst), percent(metric.completed), percent(metric.best),
            spread(metric.low, metric.high), standard_error(metric.se)]


def tag_lines(run: RunReport) -> Iterator[str]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield INDENT + "no case has a tag"
        return
    is_open = run.coverage.completed < run.coverage.planned
    columns = [left("tag", flexible=True), right("cases"), left("trials passed"), right("worst"), right("done"),
               right("best"), right("95 %"), *([left("cases done")] if is_open else [])]
    yield from table(columns, _tag_rows(run, is_open))
    note = each_by_itself(len(run.tags))
    if note:
        yield from wrapped(note, INDENT)


def _tag_rows(run: RunReport, is_open: bool) -> Iterable[list[str]]:
    for row in run.tags:
        done = [of(row.rate.completed_cases, row.cases)] if is_open else []
        passed = f"{of(row.passed, row.judged)} judged{and_unknown(row.unknown)}"
        yield [row.tag, number(row.cases), passed, *metric_cells(row.rate)[:4], *done]
