"""The Markdown report on how much is known and how often it passes.

What does not live here: why trials failed, and single cases (markdown_cases.py).
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.names import count_of
from benchkit.pages.markdown import Markdown, MarkdownColumn, code, paragraph, table
from benchkit.reports.figures_as_text import percent, share, spread
from benchkit.reports.markdown_parts import LONGEST_NAME, cut_table, left, own, right
from benchkit.reports.run_report import FLAKE, RunReport
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

KS = (1, 2, 3, 5, 10)
"""The k that people ask for; the last one is always shown, too."""


def coverage_part(run: RunReport) -> Iterator[Markdown]:
    """How much of the plan has a verdict."""
    coverage = run.coverage
    columns = [left("trials judged"), right("incomplete"), left("cases with all trials"), left("cases with some"),
               right("`k_max`")]
    yield table(columns, [[
        own(share(coverage.completed, coverage.planned)), own(str(coverage.planned - coverage.completed)),
        own(f"{coverage.cases_complete} of {coverage.cases}"), own(f"{coverage.cases_touched} of {coverage.cases}"),
        own(str(coverage.k_max))]])


def pass_part(run: RunReport) -> Iterator[Markdown]:
    """pass@k and pass^k for a few k; what incomplete trials leave open only where there are some."""
    if not run.suite:
        yield paragraph(own("There are no cases."))
        return
    is_open = run.coverage.completed < run.coverage.planned
    yield table([right("k"), *_metric_columns("`pass@k` %", is_open), *_metric_columns("`pass^k` %", is_open),
                 left("cases done")],
                (_pass_row(at_k, run.coverage.cases, is_open) for at_k in shown_ks(run.suite)))
    yield paragraph(own(
        f"Percent, mean over {count_of(run.coverage.cases, 'case')}. `pass@k`: at least one of k tries passes; "
        "`pass^k`: all of them do. 95 %: interval for other such cases; se: standard error of a re-run."
        + (" Worst to best: incomplete trials taken as failed, as passed." if is_open else "")))
    yield paragraph(own(
        f"A case that fails 1 time in {FLAKE.denominator} looks stable in {percent(run.flake_unseen)} % of runs of "
        f"{count_of(run.record.trials, 'trial')}."))


def shown_ks(suite: tuple[SuiteAtK, ...]) -> list[SuiteAtK]:
    """Those of KS that a suite has, and its last k."""
    return [at_k for at_k in suite if at_k.k in KS or at_k is suite[-1]]


def _metric_columns(name: str, is_open: bool) -> list[MarkdownColumn]:
    return [right(name), *([right("worst to best")] if is_open else []), right("95 %"), right("se")]


def _pass_row(at_k: SuiteAtK, cases: int, is_open: bool) -> list[Markdown]:
    return [own(str(at_k.k)), *_cells(at_k.at, is_open), *_cells(at_k.hat, is_open),
            own(f"{at_k.hat.completed_cases} of {cases}")]


def _cells(metric: SuiteMetric, is_open: bool) -> list[Markdown]:
    bounds = [spread_of(metric)] if is_open else []
    return [own(percent(metric.completed)), *bounds, own(spread(metric.low, metric.high)), own(percent(metric.se))]


def spread_of(metric: SuiteMetric) -> Markdown:
    """What the incomplete trials leave open, in percent; one figure where they leave nothing open."""
    worst, best = percent(metric.worst), percent(metric.best)
    return own(worst if metric.worst == metric.best else f"{worst} to {best}")


def tag_part(run: RunReport, most: int) -> Iterator[Markdown]:
    """How often the cases of each tag pass."""
    if run.tags:
        columns = [left("tag"), right("cases"), left("trials passed"), right("`pass^1` %"), right("95 %")]
        yield cut_table("tag", columns, [
            [code(row.tag, LONGEST_NAME), own(str(row.cases)), own(f"{row.passed} of {row.judged} judged"),
             spread_of(row.rate), own(spread(row.rate.low, row.rate.high))] for row in run.tags], most)
