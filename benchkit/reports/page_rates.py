"""The report page on how much is known and how often it passes: coverage, curves with bands, every k, tags."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchkit.basics.texts import count_of
from benchkit.pages.curve_chart import Curve, CurveChart, Point, curve_chart
from benchkit.pages.html import Html, element, joined, whole
from benchkit.pages.marks import BarPart, Tone, legend, stacked_bar
from benchkit.pages.parts import facts, fold, paragraph
from benchkit.pages.row_chart import Bar, RowTitles
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.figures import (
    completed_of_all,
    each_by_itself,
    error_words,
    number,
    of,
    passed_of,
    percent,
    rate,
    share,
    spread,
    standard_error,
)
from benchkit.reports.page_parts import cut_bars, line, name, quiet, rate_bar, sentence
from benchkit.reports.run_report import RunReport, flake_unseen
from benchkit.reports.tally import TagRow, last_ks
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

FEW_TAGS, MOST_TAGS = 30, 500
OPEN_ROWS = 12
"""A table of more k than this is folded."""
OPEN_BANDS = ("darker bands are what incomplete trials leave open (taken as failed to taken as passed), and the lines, "
              "which leave them out, end where a case has fewer than k others")
"""What a curve chart has where there are incomplete trials."""


def coverage_part(run: RunReport) -> Iterator[Html]:
    """How much of the plan has a verdict, and why the rest has none."""
    coverage, totals = run.coverage, run.totals
    unrun = sum(error.count for error in run.unjudged if error.type == "NotRun")
    parts = [BarPart(Tone.PASS, totals.passed), BarPart(Tone.FAIL, totals.failed),
             BarPart(Tone.INCOMPLETE, totals.incomplete - unrun), BarPart(Tone.ABSENT, unrun)]
    yield element("figure", stacked_bar(f"{count_of(coverage.planned, 'planned trial')}", parts),
                  legend([part.tone for part in parts if part.count]))
    yield facts([
        ("Trials", f"{share(coverage.completed, coverage.planned)} judged: {totals.passed:,} passed, "
                   f"{totals.failed:,} failed; {totals.incomplete:,} incomplete"),
        ("Cases", f"{of(coverage.cases_complete, coverage.cases)} with all trials, "
                  f"{of(coverage.cases_touched, coverage.cases)} with some"),
        ("k_max", f"{number(coverage.k_max)}: so many trials of every case were judged")])
    if run.unjudged:
        yield from table("Incomplete trials, by type of error", [
            Column("type"), number_column("planned trials"), Column("message")],
            ([error.type, share(error.count, coverage.planned), joined(
                line(error.message), f" ({of(error.with_message, error.count)})"
                if error.with_message < error.count else None)] for error in run.unjudged))


def pass_part(run: RunReport) -> Iterator[Html]:
    """pass@k and pass^k over k, drawn and as a table."""
    if not run.suite:
        yield paragraph("There are no cases.")
        return
    if len(run.suite) > 1:
        yield curve_chart(_chart(run))
    rows = whole(_pass_table(run))
    yield rows if len(run.suite) <= OPEN_ROWS else fold(f"The same for every k from 1 to {last_ks(run.suite)}", rows)
    yield quiet(
        f"In percent, mean over {count_of(run.coverage.cases, 'case')}. pass@k: at least one of k tries passes; "
        "pass^k: all of them do. 95 %: interval for other such cases. se: standard error of a re-run of these cases"
        f"{error_words(metric for one in run.suite for metric in (one.at, one.hat))}."
        + (
            " Ranges: incomplete trials taken as failed to taken as passed; completed-only: left out, over the cases "
            f"done. In the picture, {OPEN_BANDS}."
            if run.coverage.completed < run.coverage.planned else ""))
    yield quiet(sentence(flake_unseen(run)))


def _chart(run: RunReport) -> CurveChart:
    last, cases = run.suite[-1], run.coverage.cases
    told = (f"At k = {last.k:,}, pass@k is {rate(last.at)} % and pass^k {rate(last.hat)} %; "
            "bands are 95 % intervals for other such cases, incomplete trials included"
            + (f"; {OPEN_BANDS}" if run.totals.incomplete else ""))
    return CurveChart(
        "pass@k and pass^k", told, "k, number of tries", "share of cases", (
            Curve("pass@k: at least one of k tries passes", curve_points({one.k: one.at for one in run.suite}, cases)),
            Curve("pass^k: all of k tries pass", curve_points({one.k: one.hat for one in run.suite}, cases))))


def curve_points(metrics: Mapping[int, SuiteMetric], cases: int) -> list[Point]:
    """By k: the completed-only value where it is over all cases, the interval, and worst and best if any differ."""
    is_open = any(one.worst != one.best for one in metrics.values())
    return [Point(k, completed_of_all(one, cases), one.low, one.high,
                  float(one.worst) if is_open else None, float(one.best) if is_open else None)
            for k, one in metrics.items()]


def _pass_table(run: RunReport) -> Iterator[Html]:
    is_open = run.coverage.completed < run.coverage.planned
    columns = [Column("k"), *_metric_columns("pass@k", is_open), *_metric_columns("pass^k", is_open),
               number_column("cases done")]
    yield from table("Both rates for every k", columns, (
        [number(one.k), *_cells(one.at, is_open), *_cells(one.hat, is_open), _done(one, run)] for one in run.suite))


def _metric_columns(metric: str, is_open: bool) -> list[Column]:
    return [number_column(metric), *([number_column("completed-only")] if is_open else []), number_column("95 %"),
            number_column("se")]


def _done(one: SuiteAtK, run: RunReport) -> str:
    return of(one.hat.completed_cases, run.coverage.cases)


def _cells(metric: SuiteMetric, is_open: bool) -> list[str]:
    completed = [percent(metric.completed)] if is_open else []
    return [rate(metric), *completed, spread(metric.low, metric.high), standard_error(metric.se)]


def tag_part(run: RunReport) -> Iterator[Html]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield paragraph("No case has a tag.")
        return
    titles = RowTitles("Share of tries that pass, by tag, with 95 % intervals for other such cases", "tag", "pass^1",
                       "passed")
    yield from cut_bars(titles, map(_tag_bar, run.tags), FEW_TAGS, len(run.tags), MOST_TAGS)
    note = each_by_itself(len(run.tags))
    if note:
        yield quiet(sentence(note))


def _tag_bar(row: TagRow) -> Bar:
    label = joined(name(row.tag), " ", element("span", count_of(row.cases, "case"), class_="quiet"))
    return rate_bar(label, row.rate, passed_of(row.passed, row.judged, row.unknown))
