"""The text report on what was run, how much of it is known, and how often it passes.

What does not live here: why trials failed (text_failures.py), single cases (text_cases.py), speed (text_speed.py).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchkit.basics.names import count_of, shown_line
from benchkit.recordings.pieces import SessionFacts
from benchkit.reports.cautions import temperature_of
from benchkit.reports.circumstances import ending_of, hardware_of, limits_of
from benchkit.reports.columns import INDENT, left, right, table, wrapped
from benchkit.reports.figures_as_text import NOT_AVAILABLE, percent, share, spread
from benchkit.reports.run_report import FLAKE, RunReport
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
        yield from _fact("", f"and {len(record.sessions) - MOST_SESSIONS} more sessions")


def _fact(label: str, text: str) -> list[str]:
    return wrapped(shown_line(text, 400), f"{INDENT}{label:<10}")


def _session(session: SessionFacts) -> str:
    return ", ".join([session.started_at, *limits_of(session), f"ended: {ending_of(session)}"])


def coverage_lines(run: RunReport) -> Iterator[str]:
    """How much of the plan has a verdict."""
    coverage = run.coverage
    yield from _fact("trials", f"{share(coverage.completed, coverage.planned)} judged, "
                               f"{coverage.planned - coverage.completed} incomplete")
    yield from _fact("cases", f"{coverage.cases_complete} of {coverage.cases} with all their trials, "
                              f"{coverage.cases_touched} of {coverage.cases} with some")
    yield from _fact("k_max", f"{coverage.k_max}: so many trials of every case were judged")


def pass_lines(run: RunReport) -> Iterator[str]:
    """pass@k and pass^k for every k: worst, completed-only and best, interval, re-run standard error."""
    if not run.suite:
        yield INDENT + "there are no cases"
        return
    yield from wrapped(
        f"percent, mean over {count_of(run.coverage.cases, 'case')}; worst / done / best: incomplete trials taken as "
        "failed / left out (completed-only) / taken as passed; 95 %: interval for other such cases; se: standard "
        "error of a re-run",
        INDENT)
    yield ""
    columns = [right("k"), *_METRIC, *_METRIC, left("cases done")]
    titles, *rows = table(columns, (_pass_row(at_k, run.coverage.cases) for at_k in run.suite))
    at = titles.index("worst")
    hat = titles.index("worst", at + 1)
    yield " " * at + f"{'pass@k: at least one of k passes':<{hat - at}}pass^k: all of k pass"
    yield from [titles, *rows]
    yield ""
    yield from wrapped(
        f"a case that fails 1 time in {FLAKE.denominator} looks stable in {percent(run.flake_unseen)} % of runs "
        f"of {count_of(run.record.trials, 'trial')}", INDENT)


_METRIC = (right("worst"), right("done"), right("best"), right("95 %"), right("se"))


def _pass_row(at_k: SuiteAtK, cases: int) -> list[str]:
    return [str(at_k.k), *metric_cells(at_k.at), *metric_cells(at_k.hat), f"{at_k.hat.completed_cases} of {cases}"]


def metric_cells(metric: SuiteMetric) -> list[str]:
    """worst, completed-only, best, interval, standard error."""
    return [percent(metric.worst), percent(metric.completed), percent(metric.best),
            spread(metric.low, metric.high), NOT_AVAILABLE if metric.se is None else percent(metric.se)]


def tag_lines(run: RunReport) -> Iterator[str]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield INDENT + "no case has a tag"
        return
    columns = [left("tag", flexible=True), right("cases"), left("trials passed"), right("worst"), right("done"),
               right("best"), right("95 %")]
    yield from table(columns, _tag_rows(run))


def _tag_rows(run: RunReport) -> Iterable[list[str]]:
    for row in run.tags:
        yield [row.tag, str(row.cases), f"{row.passed} of {row.judged} judged", *metric_cells(row.rate)[:4]]
