"""The Markdown report on why trials failed, and on single cases."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of, word_for
from benchkit.pages.markdown import Markdown, code, folded, paragraph, table, words
from benchkit.reports.columns import clipped
from benchkit.reports.failures import MANY_REASONS, Confusion
from benchkit.reports.figures import each_by_itself, number, percent, share, spread
from benchkit.reports.markdown_parts import (
    FEW_ROWS,
    LONGEST_NAME,
    LONGEST_TEXT,
    cut_table,
    left,
    listed,
    own,
    own_sentence,
    right,
)
from benchkit.reports.outputs import expected_line
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow, in_state, never_passed
from benchkit.reports.text_cases import MOST_MARKS, main_failure, passed_cell
from benchkit.statistics.estimators import State

MOST_CONFUSIONS = 3


def failure_part(run: RunReport) -> Iterator[Markdown]:
    """By check, by explanation, and which answer was taken for which."""
    failures = run.failures
    if not failures.failed:
        yield paragraph(own("No judged trial failed." if failures.judged else "No trial was judged."))
        return
    yield paragraph(own(f"{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} "
                        f"failed."))
    checks = sorted(failures.checks, key=lambda check: -check.failed)
    yield listed("check", [left("check"), left("of the failed trials"), left("the only check that failed")], (
        [code(check.name, LONGEST_NAME), own(share(check.failed, failures.failed)),
         own(share(check.alone, failures.failed))] for check in checks), 2 * FEW_ROWS)
    if failures.reasons:
        yield cut_table("reason", [right("trials"), left("what was expected, and what came")], [
            [own(number(reason.count)), code(f"{reason.check}: {reason.text}", LONGEST_TEXT)]
            for reason in failures.reasons], FEW_ROWS)
    if failures.is_cut:
        yield paragraph(own(f"{MANY_REASONS[0].upper()}{MANY_REASONS[1:]}."))
    for confusion in run.confusions[:MOST_CONFUSIONS]:
        yield _confusion(confusion)
    if len(run.confusions) > MOST_CONFUSIONS:
        yield paragraph(own(f"Such tables of {count_of(len(run.confusions) - MOST_CONFUSIONS, 'more check')} are not "
                            "shown."))


def _confusion(confusion: Confusion) -> Markdown:
    titles = [left("expected, got"), *(right(code(label)) for label in confusion.got), right("trials")]
    rows = ([code(label), *(own(number(count) if count else ".") for count in counts), own(number(sum(counts)))]
            for label, counts in zip(confusion.expected, confusion.counts, strict=True))
    return folded(words(own("Which answer was taken for which:"), clipped(confusion.check, LONGEST_NAME)),
                  table(titles, rows))


def flaky_part(run: RunReport, most: int) -> Iterator[Markdown]:
    """The cases that passed and failed, and how many more may be."""
    flaky = in_state(run.cases, State.FLAKY)
    maybe = in_state(run.cases, State.POSSIBLY_FLAKY)
    if flaky:
        yield _trouble(run, flaky, most)
    else:
        yield paragraph(own(f"No case of {run.coverage.cases:,} both passed and failed."))
    if maybe:
        yield paragraph(own(f"{count_of(len(maybe), 'case')} of {run.coverage.cases:,} may be, "
                            "as the incomplete trials go."))


def never_part(run: RunReport, most: int) -> Iterator[Markdown]:
    """The cases of which no judged trial passed."""
    never = never_passed(run.cases)
    if never:
        yield _trouble(run, never, most)
    else:
        touched = run.coverage.cases_touched
        yield paragraph(own(f"Every one of {count_of(touched, 'case')} with a judged trial passed at least once."
                            if touched else "No trial was judged."))


def _trouble(run: RunReport, rows: Sequence[CaseRow], most: int) -> Markdown:
    marks = [left("trials")] if has_marks(run) else []
    columns = [left("case"), left("passed"), *marks, right("95 %"), left("expected"), left("fails most often by")]
    expected = {case.id: case.expected for case in run.record.cases}
    return listed("case", columns, (
        [code(row.id, LONGEST_NAME), own(passed_cell(row)), *_marks(run, row), own(spread(row.low, row.high)),
         code(expected_line(expected[row.id]), LONGEST_TEXT), code(main_failure(row), LONGEST_TEXT)]
        for row in rows), most)


def has_marks(run: RunReport) -> bool:
    """Whether there are few enough trials to show each as a mark."""
    return run.record.trials <= MOST_MARKS


def _marks(run: RunReport, row: CaseRow) -> list[Markdown]:
    return [code(row.marks)] if has_marks(run) else []


def all_cases_part(run: RunReport, most: int) -> Iterator[Markdown]:
    """A line for each case."""
    if run.cases:
        marks = [left("trials")] if has_marks(run) else []
        columns = [left("case"), left("passed"), *marks, right("95 %"), right("disagree %"), left("state")]
        yield cut_table("case", columns, [
            [code(row.id, LONGEST_NAME), own(passed_cell(row)), *_marks(run, row), own(spread(row.low, row.high)),
             own(percent(row.disagreement)), own(str(row.state))] for row in run.cases], most)
        yield from own_sentence(each_by_itself(len(run.cases)))
        yield paragraph(own("Disagree: how often two fresh trials differ." + (
            " In trials, `+` passed, `-` failed, `?` incomplete." if marks else "")))


def unjudged_part(run: RunReport) -> Iterator[Markdown]:
    """Incomplete trials by type of error; nothing where there are none."""
    if run.unjudged:
        yield table([left("type"), left("planned trials"), left("most say")], (
            [own(error.type), own(share(error.count, run.coverage.planned)), code(error.message, LONGEST_TEXT)]
            for error in run.unjudged))
