"""The report page on all cases: a mark for each trial that leads to its details, and bars with intervals."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of, shown_line
from benchkit.pages.html import Child, Html, joined, whole
from benchkit.pages.marks import BarPart, Tone, badge, legend, mark, stacked_bar
from benchkit.pages.parts import paragraph
from benchkit.pages.row_chart import Bar, RowTitles
from benchkit.pages.tables import Column, mark_column, number_column, table
from benchkit.recordings.run_record import Result
from benchkit.reports.figures import each_by_itself, percent
from benchkit.reports.page_parts import cut_bars, linked, name, quiet, sentence, tone_of, tone_of_trial, words_of
from benchkit.reports.page_run import MOST_ROWS, RunOnPage, places_by_trouble
from benchkit.reports.tally import CaseRow
from benchkit.reports.text_cases import passed_cell

MOST_COLUMNS = 20
"""With more trials than this, the marks of a case stand in one cell, line under line."""
FEW_BARS = 30
LONGEST_TOLD = 60


def grid_part(run: RunOnPage) -> Iterator[Html]:
    """Every case in the order of its file, with a mark for each trial, or with counts in a large run."""
    if not run.report.cases:
        yield paragraph("There are no cases.")
        return
    shown = sorted(places_by_trouble(run.report.cases)[:MOST_ROWS])
    if run.has_grid:
        yield legend([Tone.PASS, Tone.FAIL, Tone.INCOMPLETE, Tone.ABSENT])
        yield from _marks_table(run, shown)
    else:
        yield legend([Tone.PASS, Tone.FAIL, Tone.INCOMPLETE])
        yield from _counts_table(run, shown)
    yield quiet("A mark or a name leads to input, output and checks. " if run.has_grid else None,
                "Disagree: how often two fresh trials of a case would differ.")
    left = len(run.report.cases) - len(shown)
    if left:
        yield quiet(f"And {count_of(left, 'more case')}, not shown: those above have the most failures and unknowns.")


def _marks_table(run: RunOnPage, places: Sequence[int]) -> Iterator[Html]:
    trials = run.report.record.trials
    has_columns = trials <= MOST_COLUMNS
    columns = ([mark_column(str(trial), f"trial {trial}") for trial in range(1, trials + 1)] if has_columns
               else [Column(f"trials 1 to {trials}")])
    yield from table(f"Every trial of {count_of(len(places), 'case')}", [
        Column("case"), *columns, *_FIGURES], (
        [_case_name(run, place), *_marks(run, place, has_columns), *_figures(run.report.cases[place])]
        for place in places))


def _marks(run: RunOnPage, place: int, has_columns: bool) -> list[Html]:
    marks = [_mark(run, place, result) for result in run.results_of(place)]
    return marks if has_columns else [whole(joined(one, " ") for one in marks)]


def _mark(run: RunOnPage, place: int, result: Result) -> Html:
    told = f"{shown_line(result.case, LONGEST_TOLD)}, trial {result.trial}: {words_of(result)}"
    return mark(tone_of_trial(result), told, run.trial_anchor(place, result.trial))


def _counts_table(run: RunOnPage, places: Sequence[int]) -> Iterator[Html]:
    yield from table(f"Trials of {count_of(len(places), 'case')}", [
        Column("case"), Column("trials"), *_FIGURES], (_counts_row(run, place) for place in places))


def _counts_row(run: RunOnPage, place: int) -> list[Child]:
    row = run.report.cases[place]
    parts = [
        BarPart(Tone.PASS, row.passed),
        BarPart(Tone.FAIL, row.n - row.passed),
        BarPart(Tone.INCOMPLETE, row.incomplete),
    ]
    return [_case_name(run, place), stacked_bar(shown_line(row.id, LONGEST_TOLD), parts), *_figures(row)]


def _case_name(run: RunOnPage, place: int) -> Html:
    return linked(run.case_anchor(place), name(run.report.cases[place].id))


_FIGURES = (number_column("passed"), number_column("disagree %", "how often two fresh trials differ"), Column("state"))


def _figures(row: CaseRow) -> tuple[Child, Child, Child]:
    return passed_cell(row), percent(row.disagreement), badge(tone_of(row), str(row.state))


def bars_part(run: RunOnPage) -> Iterator[Html]:
    """How often each case passes, with its interval: the flaky ones first."""
    rows = run.report.cases
    titles = RowTitles("Share of judged trials that passed, with Wilson's 95 % intervals, flaky cases first", "case",
                       "pass rate", "passed")
    places = places_by_trouble(rows)
    yield from cut_bars(titles, (_bar(run, place) for place in places), FEW_BARS, len(rows), MOST_ROWS)
    note = each_by_itself(len(rows))
    if note:
        yield quiet(sentence(note))


def _bar(run: RunOnPage, place: int) -> Bar:
    row = run.report.cases[place]
    return Bar(_case_name(run, place), row.passed / row.n if row.n else None, row.low, row.high, passed_cell(row),
               tone_of(row))
