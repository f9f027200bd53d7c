"""The text report on why trials failed: by check, by what was expected and came instead, and which for which."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, shown_line, word_for
from benchkit.reports.columns import GAP, INDENT, WIDTH, Column, clipped, folded, left, right, table, width_of, wrapped
from benchkit.reports.failures import MANY_REASONS, Confusion, Unjudged
from benchkit.reports.figures import number, of, share
from benchkit.reports.run_report import RunReport

MOST_REASONS = 12
MOST_OF_A_LABEL = 16
GENEROUS = 12
NO_TRIAL = "."
"""Stands in a confusion table where no trial was, so that the others are seen."""


def failure_lines(run: RunReport) -> Iterator[str]:
    """By check, then by explanation."""
    failures = run.failures
    if not failures.judged:
        yield INDENT + "no trial was judged"
        return
    if not failures.failed:
        yield f"{INDENT}no judged trial failed ({of(failures.judged, failures.judged)} passed)"
        return
    yield f"{INDENT}{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} failed"
    yield ""
    columns = [left("check", flexible=True), left("of the failed trials"), left("the only check that failed")]
    yield from table(columns, ([check.name, share(check.failed, failures.failed), share(check.alone, failures.failed)]
                               for check in sorted(failures.checks, key=lambda check: -check.failed)))
    if failures.reasons:
        yield ""
        yield from table([right("trials"), left("what was expected, and what came", flexible=True)],
                         ([number(reason.count), f"{reason.check}: {reason.text}"]
                          for reason in failures.reasons[:MOST_REASONS]))
        more = len(failures.reasons) - MOST_REASONS
        if more > 0:
            yield f"{INDENT}and {count_of(more, 'rarer reason')}"
        if failures.is_cut:
            yield from wrapped(MANY_REASONS, INDENT)


def confusion_lines(run: RunReport) -> Iterator[str]:
    """A table for each check whose labels are few; nothing where there is none."""
    for confusion in run.confusions:
        yield ""
        yield f"{INDENT}{clipped(confusion.check, 40)}: expected in the line, got in the column, counted in trials"
        yield from _confusion_table(confusion)


def _confusion_table(confusion: Confusion) -> list[str]:
    expected = [clipped(label, MOST_OF_A_LABEL) for label in confusion.expected]
    room = WIDTH - len(INDENT) - max(map(width_of, expected)) - len(" trials")
    most = max(room // len(confusion.got) - 1, 3)
    columns = [left(""), *(right(folded(shown_line(label), most)[0]) for label in confusion.got), right("trials")]
    rows = [[label, *(number(count) if count else NO_TRIAL for count in counts), number(sum(counts))]
            for label, counts in zip(expected, confusion.counts, strict=True)]
    return table(columns, rows, gap=GAP if most > GENEROUS else " ")


def unjudged_lines(run: RunReport) -> Iterator[str]:
    """Incomplete trials by type of error."""
    if not run.unjudged:
        yield f"{INDENT}none of {count_of(run.coverage.planned, 'planned trial')}"
        return
    columns: list[Column] = [left("type"), left("planned trials"), left("message", flexible=True)]
    yield from table(columns, ([error.type, share(error.count, run.coverage.planned), _message(error)]
                               for error in run.unjudged))


def _message(error: Unjudged) -> str:
    return error.message + (f" ({of(error.with_message, error.count)})" if error.with_message < error.count else "")
