"""The report page on one pair of runs: its sentence, its numbers, and every case whose pass rates differ."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of
from benchkit.pages.html import Child, Html, joined, whole
from benchkit.pages.marks import Tone
from benchkit.pages.parts import article, callout, facts, fold, paragraph
from benchkit.pages.row_chart import DifferenceRow, RowTitles, difference_chart
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.page_lead import warnings_callout
from benchkit.reports.page_pairs import pair_anchor, tone_of_finding
from benchkit.reports.page_parts import line, linked, name, quiet
from benchkit.reports.page_run import RunOnPage
from benchkit.reports.pair_words import number_facts, regression_facts
from benchkit.reports.paired_cases import CaseDifference, Outcome
from benchkit.reports.text_cases import passed_cell
from benchkit.reports.verdicts import title_of, verdict_of

FEW_CASES, MOST_CASES = 25, 500
MOST_NAMED = 300


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both runs of a pair, and at which place each of them has a case."""

    base: RunOnPage
    candidate: RunOnPage
    base_places: Mapping[str, int]
    candidate_places: Mapping[str, int]


def pairs_part(side: SideBySide, runs: Sequence[RunOnPage]) -> Iterator[Html]:
    """Every pair, compared or not."""
    places = [{row.id: place for place, row in enumerate(run.report.cases)} for run in runs]
    for number, pair in enumerate(side.pairs):
        sides = _Sides(runs[pair.base], runs[pair.candidate], places[pair.base], places[pair.candidate])
        yield article(pair_anchor(number), title_of(side, pair), *_pair(side, pair, sides))
        yield Html("\n")


def _pair(side: SideBySide, pair: Pair, sides: _Sides) -> Iterator[Html]:
    verdict = verdict_of(side, pair)
    tone = tone_of_finding(verdict.finding)
    yield callout(tone, str(verdict.finding).capitalize(), paragraph(verdict.text, "."))
    found = pair.comparison
    if found is None:
        return
    yield warnings_callout(count_of(len(found.warnings), "warning"), found.warnings)
    yield facts((*((_label(label), text) for label, text in number_facts(side, pair, found)), *_counts(found)))
    yield from _changed(found, sides)
    yield from _unchanged(found, sides)


def _label(label: str) -> str:
    return label if label == "p" else label.capitalize() or "\u00a0"


def _counts(found: Comparison) -> Iterator[tuple[str, Child]]:
    counts = {outcome: len(found.with_outcome(outcome)) for outcome in Outcome}
    unknown = f", {counts[Outcome.UNKNOWN]:,} not judged on both sides" if counts[Outcome.UNKNOWN] else ""
    yield "Cases", (f"{counts[Outcome.LOST]:,} lost, {counts[Outcome.WON]:,} won, "
                    f"{counts[Outcome.TIED]:,} tied{unknown}")
    yield from ((_label(label), text) for label, text in regression_facts(found))


def _changed(found: Comparison, sides: _Sides) -> Iterator[Html]:
    lost = [case for case in found.with_outcome(Outcome.LOST) if not case.is_regression]
    for title, cases in (("Regressions: passed every time, and do not any more", found.regressions),
                         ("Lost otherwise", lost), ("Won", found.with_outcome(Outcome.WON))):
        if cases:
            yield from _charts(title, sorted(cases, key=lambda case: -abs(float(case.difference or 0))), sides)


def _charts(title: str, cases: Sequence[CaseDifference], sides: _Sides) -> Iterator[Html]:
    yield from _chart(f"{title} ({count_of(len(cases), 'case')})", cases[:FEW_CASES], sides)
    more = cases[FEW_CASES:MOST_CASES]
    if more:
        left = len(cases) - FEW_CASES - len(more)
        yield fold(count_of(len(more), "more case"), whole(_chart(f"{title}, continued", more, sides)),
                   quiet(f"And {count_of(left, 'more case')}, not shown.") if left else None)


def _chart(title: str, cases: Sequence[CaseDifference], sides: _Sides) -> Iterator[Html]:
    titles = RowTitles(title, "case", "difference in pass rate", "passed")
    yield from difference_chart(titles, [_row(case, sides) for case in cases])


def _row(case: CaseDifference, sides: _Sides) -> DifferenceRow:
    difference = float(case.difference or 0)
    now = linked(sides.candidate.case_anchor(sides.candidate_places[case.id]), passed_cell(case.candidate))
    was = linked(sides.base.case_anchor(sides.base_places[case.id]), passed_cell(case.base))
    return DifferenceRow(name(case.id), difference, None, None, joined(now, ", was ", was),
                         Tone.PASS if difference > 0 else Tone.FAIL)


def _unchanged(found: Comparison, sides: _Sides) -> Iterator[Html]:
    for title, outcome in (("tied", Outcome.TIED), ("not judged on both sides", Outcome.UNKNOWN)):
        cases = found.with_outcome(outcome)
        if cases:
            names = [joined(", " if number else "", linked(
                sides.candidate.case_anchor(sides.candidate_places[case.id]), line(case.id)))
                for number, case in enumerate(cases[:MOST_NAMED])]
            more = len(cases) - MOST_NAMED
            yield fold(f"{count_of(len(cases), 'case')} {title}",
                       paragraph(*names, f" and {more} more" if more > 0 else None))
