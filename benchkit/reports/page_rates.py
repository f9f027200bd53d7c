"""The report page on how much is known and how often it passes: coverage, curves with bands, every k, tags.

What does not live here: single cases (page_cases.py), and why trials failed (page_failures.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchkit.basics.names import count_of
from benchkit.pages.curve_chart import Curve, CurveChart, Point, curve_chart
from benchkit.pages.html import Html, element, joined, whole
from benchkit.pages.marks import Part, Tone, legend, stacked_bar
from benchkit.pages.parts import facts, fold, paragraph
from benchkit.pages.row_chart import Bar, RowTitles
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.figures_as_text import percent, share, spread
from benchkit.reports.page_parts import cut_bars, line, name, quiet
from benchkit.reports.run_report import FLAKE, RunReport
from benchkit.reports.tags import TagRow
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

FEW_TAGS, MOST_TAGS = 30, 500
OPEN_ROWS = 12
"""A table of more k than this is folded."""


def coverage_part(run: RunReport) -> Iterator[Html]:
    """How much of the plan has a verdict, and why the rest has none."""
    coverage, totals = run.coverage, run.totals
    unrun = sum(error.count for error in run.unjudged if error.type == "NotRun")
    parts = [Part(Tone.PASS, totals.passed), Part(Tone.FAIL, totals.failed),
             Part(Tone.INCOMPLETE, totals.incomplete - unrun), Part(Tone.ABSENT, unrun)]
    yield element("figure", stacked_bar(f"{count_of(coverage.planned, 'planned trial')}", parts),
                  legend([part.tone for part in parts if part.count]))
    yield facts([
        ("Trials", f"{share(coverage.completed, coverage.planned)} judged: {totals.passed} passed, "
                   f"{totals.failed} failed; {totals.incomplete} incomplete"),
        ("Cases", f"{coverage.cases_complete} of {coverage.cases} with all their trials, "
                  f"{coverage.cases_touched} of {coverage.cases} with some"),
        ("k_max", f"{coverage.k_max}: so many trials of every case were judged")])
    if run.unjudged:
        yield from table("Incomplete trials, by type of error", [
            Column("type"), number_column("planned trials"), Column("message")],
            ([error.type, share(error.count, coverage.planned), joined(
                line(error.message), f" ({error.with_message} of {error.count})"
                if error.with_message < error.count else None)] for error in run.unjudged))


def pass_part(run: RunReport) -> Iterator[Html]:
    """pass@k and pass^k over k, drawn and as a table."""
    if not run.suite:
        yield paragraph("There are no cases.")
        return
    if len(run.suite) > 1:
        yield curve_chart(_chart(run))
    rows = whole(_pass_table(run))
    yield rows if len(run.suite) <= OPEN_ROWS else fold(f"The same for every k from 1 to {_last_ks(run)}", rows)
    yield quiet(
        f"In percent, mean over {count_of(run.coverage.cases, 'case')}. pass@k: at least one of k tries passes; "
        "pass^k: all of them do. 95 %: interval for other such cases. se: standard error of a re-run of these cases."
        + (
            " Incomplete trials are left out; worst to best: they are taken as failed, as passed."
            if run.coverage.completed < run.coverage.planned else ""))
    yield quiet(
        f"A case that fails 1 time in {FLAKE.denominator} looks stable in {percent(run.flake_unseen)} % of runs of "
        f"{count_of(run.record.trials, 'trial')}.")


def _last_ks(run: RunReport) -> str:
    *_, before, last = (at_k.k for at_k in run.suite)
    return str(last) if last == before + 1 else f"{before}, and for {last}"


def _chart(run: RunReport) -> CurveChart:
    last = run.suite[-1]
    told = (f"At k = {last.k}, pass@k is {percent(last.at.completed)} % and pass^k {percent(last.hat.completed)} %; "
            "bands are 95 % intervals for other such cases, incomplete trials included")
    return CurveChart(
        "pass@k and pass^k", told, "k, number of tries", "share of cases", (
            Curve("pass@k: at least one of k tries passes", curve_points({one.k: one.at for one in run.suite})),
            Curve("pass^k: all of k tries pass", curve_points({one.k: one.hat for one in run.suite}))))


def curve_points(metrics: Mapping[int, SuiteMetric]) -> list[Point]:
    """Completed-only values by k, with their intervals."""
    return [Point(k, None if one.completed is None else float(one.completed), one.low, one.high)
            for k, one in metrics.items()]


def _pass_table(run: RunReport) -> Iterator[Html]:
    is_open = run.coverage.completed < run.coverage.planned
    columns = [Column("k"), *_metric_columns("pass@k", is_open), *_metric_columns("pass^k", is_open),
               number_column("cases done")]
    yield from table("Both rates for every k", columns, (
        [str(one.k), *_cells(one.at, is_open), *_cells(one.hat, is_open), _done(one, run)] for one in run.suite))


def _metric_columns(metric: str, is_open: bool) -> list[Column]:
    return [number_column(metric), *([number_column("worst to best")] if is_open else []), number_column("95 %"),
            number_column("se")]


def _done(one: SuiteAtK, run: RunReport) -> str:
    return f"{one.hat.completed_cases} of {run.coverage.cases}"


def _cells(metric: SuiteMetric, is_open: bool) -> list[str]:
    bounds = [f"{percent(metric.worst)} to {percent(metric.best)}"] if is_open else []
    return [percent(metric.completed), *bounds, spread(metric.low, metric.high), percent(metric.se)]


def tag_part(run: RunReport) -> Iterator[Html]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield paragraph("No case has a tag.")
        return
    titles = RowTitles("Share of tries that pass, by tag, with 95 % intervals for other such cases", "tag", "pass^1",
                       "passed")
    yield from cut_bars(titles, map(_tag_bar, run.tags), FEW_TAGS, len(run.tags), MOST_TAGS)


def _tag_bar(row: TagRow) -> Bar:
    rate = row.rate
    label = joined(name(row.tag), " ", element("span", count_of(row.cases, "case"), class_="quiet"))
    return Bar(label, None if rate.completed is None else float(rate.completed), rate.low, rate.high,
               f"{row.passed} of {row.judged}")
