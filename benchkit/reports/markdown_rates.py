"""The Markdown report on how much is known and how often it passes."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of
from benchkit.pages.markdown import Markdown, MarkdownColumn, code, paragraph, table
from benchkit.reports.figures import (
    and_unknown,
    each_by_itself,
    error_words,
    number,
    of,
    percent,
    rate,
    share,
    spread,
    standard_error,
)
from benchkit.reports.markdown_parts import LONGEST_NAME, cut_table, left, own, own_sentence, right
from benchkit.reports.run_report import RunReport, flake_unseen
from benchkit.reports.tally import shown_ks
from benchkit.statistics.suites import SuiteAtK, SuiteMetric


def coverage_part(run: RunReport) -> Iterator[Markdown]:
    """How much of the plan has a verdict."""
    coverage = run.coverage
    columns = [left("trials judged"), right("incomplete"), left("cases with all trials"), left("cases with some"),
               right("`k_max`")]
    yield table(columns, [[
        own(share(coverage.completed, coverage.planned)), own(number(coverage.planned - coverage.completed)),
        own(of(coverage.cases_complete, coverage.cases)), own(of(coverage.cases_touched, coverage.cases)),
        own(number(coverage.k_max))]])


def pass_part(run: RunReport) -> Iterator[Markdown]:
    """pass@k and pass^k for a few k; what incomplete trials leave open only where there are some."""
    if not run.suite:
        yield paragraph(own("There are no cases."))
        return
    is_open, shown = run.coverage.completed < run.coverage.planned, shown_ks(run.suite)
    yield table([right("k"), *_metric_columns("`pass@k` %", is_open), *_metric_columns("`pass^k` %", is_open),
                 left("cases done")],
                (_pass_row(at_k, run.coverage.cases, is_open) for at_k in shown))
    yield paragraph(own(
        f"Percent, mean over {count_of(run.coverage.cases, 'case')}. `pass@k`: at least one of k tries passes; "
        "`pass^k`: all of them do. 95 %: interval for other such cases; se: standard error of a re-run"
        f"{error_words(metric for one in shown for metric in (one.at, one.hat))}."
        + (" Ranges: incomplete trials taken as failed to taken as passed; completed-only: left out, over the cases "
           "done." if is_open else "")))
    yield from own_sentence(flake_unseen(run))


def _metric_columns(name: str, is_open: bool) -> list[MarkdownColumn]:
    return [right(name), *([right("completed-only")] if is_open else []), right("95 %"), right("se")]


def _pass_row(at_k: SuiteAtK, cases: int, is_open: bool) -> list[Markdown]:
    return [own(number(at_k.k)), *_cells(at_k.at, is_open), *_cells(at_k.hat, is_open),
            own(of(at_k.hat.completed_cases, cases))]


def _cells(metric: SuiteMetric, is_open: bool) -> list[Markdown]:
    completed = [own(percent(metric.completed))] if is_open else []
    return [own(rate(metric)), *completed, own(spread(metric.low, metric.high)), own(standard_error(metric.se))]


def tag_part(run: RunReport, most: int) -> Iterator[Markdown]:
    """How often the cases of each tag pass."""
    if run.tags:
        columns = [left("tag"), right("cases"), left("trials passed"), right("`pass^1` %"), right("95 %")]
        yield cut_table("tag", columns, [
            [code(row.tag, LONGEST_NAME), own(number(row.cases)),
             own(f"{of(row.passed, row.judged)} judged{and_unknown(row.unknown)}"), own(rate(row.rate)),
             own(spread(row.rate.low, row.rate.high))] for row in run.tags], most)
        yield from own_sentence(each_by_itself(len(run.tags)))
