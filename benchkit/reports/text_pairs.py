"""The text of several runs: a table of all of them, then every pair, in words first, then in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of
from benchkit.reports.columns import INDENT, WIDTH, Column, clipped, left, right, table, wrapped
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import NOT_AVAILABLE, of, points, rate, spread
from benchkit.reports.paint import NO_PAINT, Paint
from benchkit.reports.pair_words import listed, number_facts, regression_facts
from benchkit.reports.paired_cases import CaseDifference, Outcome
from benchkit.reports.run_report import RunReport, suite_at
from benchkit.reports.text_cases import passed_cell
from benchkit.reports.verdicts import Finding, title_of, verdict_of
from benchkit.statistics.suites import SuiteMetric

LABEL = 14
MOST_TIED = 12
"""So many tied cases are named; nothing became of them."""


def side_by_side_text(side: SideBySide, paint: Paint = NO_PAINT) -> str:
    """All runs in a table, then every pair; ends in a newline."""
    lines = [paint.strong("Side by side"), *runs_lines(side)]
    for pair in side.pairs:
        lines += ["", paint.strong(clipped(title_of(side, pair), WIDTH)), *pair_lines(side, pair, paint)]
    return "\n".join(lines) + "\n"


def runs_lines(side: SideBySide) -> Iterator[str]:
    """A line for each run: how often it passes, the ranks it may hold, what is not known of it."""
    k = min(run.record.trials for run in side.runs)
    all_pass = f", pass^{k}: how often all of {k} pass" if k > 1 else ""
    yield from wrapped(
        f"percent; pass^1: how often one try passes{all_pass} (a range where incomplete trials leave it open); 95 %: "
        "interval for other such cases; rank: what is left open at 5 % after Holm over "
        f"{count_of(side.tests, 'compared pair')}", INDENT)
    columns = [left("run", flexible=True), right("pass^1"), right("95 %"), *_last_columns(k), right("rank"),
               left("incomplete"), left("system", flexible=True)]
    yield from table(columns, (_run_row(side, place, run, k) for place, run in enumerate(side.runs)))


def _last_columns(k: int) -> tuple[Column, ...]:
    return (right(f"pass^{k}"), right("95 %")) if k > 1 else ()


def _run_row(side: SideBySide, place: int, run: RunReport, k: int) -> list[str]:
    metrics = [None if (one := suite_at(run, number)) is None else one.hat for number in dict.fromkeys((1, k))]
    cells = [cell for metric in metrics for cell in _metric_cells(metric)]
    rank = side.ranks[place]
    return [side.labels[place], *cells, NOT_AVAILABLE if rank is None else str(rank),
            of(run.totals.incomplete, run.totals.planned), run.record.system]


def _metric_cells(metric: SuiteMetric | None) -> tuple[str, str]:
    return rate(metric), NOT_AVAILABLE if metric is None else spread(metric.low, metric.high)


def pair_lines(side: SideBySide, pair: Pair, paint: Paint = NO_PAINT) -> Iterator[str]:
    """One pair: the sentence, the numbers, the cases."""
    verdict = verdict_of(side, pair)
    first, *rest = wrapped(verdict.text, INDENT)
    tone = {Finding.BETTER: paint.good, Finding.WORSE: paint.bad}.get(verdict.finding, paint.unsure)
    yield from map(tone, [first, *rest])
    if pair.comparison is None:
        return
    yield ""
    for label, text in number_facts(side, pair, pair.comparison):
        yield from fact(label, text)
    yield from case_lists(pair.comparison)
    yield from [""] if pair.comparison.warnings else []
    for caution in pair.comparison.warnings:
        yield from wrapped(f"{caution.code}: {caution.text}", INDENT, INDENT * 2)


def fact(label: str, text: str) -> list[str]:
    """A labelled fact, wrapped beside its label."""
    return wrapped(text, f"{INDENT}{label:<{LABEL}}")


def case_lists(comparison: Comparison) -> Iterator[str]:
    """How many cases were lost, won and tied, and each of them by name."""
    lost, won, tied, unknown = (comparison.with_outcome(outcome) for outcome in (
        Outcome.LOST, Outcome.WON, Outcome.TIED, Outcome.UNKNOWN))
    yield from fact("cases", f"{len(lost):,} lost, {len(won):,} won, {len(tied):,} tied"
                    + (f", {len(unknown):,} not judged on both sides" if unknown else ""))
    ids = [case.id for case in comparison.regressions]
    (label, text), *more = regression_facts(comparison)
    yield from fact(label, f"{text}: {listed(ids)}" if ids else text)
    for label, text in more:
        yield from fact(label, text)
    yield from _case_table("lost", lost)
    yield from _case_table("won", won)
    for label, cases, most in (("tied", tied, MOST_TIED), ("unknown", unknown, len(unknown))):
        if cases:
            yield ""
            yield from fact(label, listed((case.id for case in cases), most))


def _case_table(label: str, cases: Sequence[CaseDifference]) -> Iterator[str]:
    if not cases:
        return
    yield ""
    columns = [left(label, flexible=True), left("base"), left("candidate"), right("points"),
               left("state", flexible=True)]
    yield from table(columns, map(_case_row, cases))


def _case_row(case: CaseDifference) -> list[str]:
    was, now = case.base.state, case.candidate.state
    return [case.id, passed_cell(case.base), passed_cell(case.candidate), points(case.difference),
            str(now) if was == now else f"{was} -> {now}"]
