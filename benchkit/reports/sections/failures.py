"""Why trials failed: by check, by what was expected and came instead, which for which; and who could not be judged."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, word_for
from benchkit.pages.parts import Tone
from benchkit.render.document import (
    Bar,
    Bars,
    Block,
    Cell,
    Chart,
    Code,
    Column,
    Cut,
    Detail,
    Fold,
    Kind,
    Mark,
    Table,
    flexible_column,
    number_column,
    quiet,
    words,
)
from benchkit.reports.failures import MANY_REASONS, CheckCount, Confusion, Failures, Unjudged
from benchkit.reports.figures import of, share
from benchkit.reports.run_report import RunReport

CHECKS = Cut(20, 200, "check")
REASONS = Cut(12, 300, "reason")
MOST_CONFUSIONS = 8
NO_TRIAL = "."
"""Stands in a confusion table where no trial was, so that the others are seen."""


def failure_blocks(run: RunReport) -> Iterator[Block]:
    """All that is known of failed trials."""
    failures = run.failures
    if not failures.failed:
        yield words(f"No judged trial failed ({of(failures.judged, failures.judged)} passed)."
                    if failures.judged else "No trial was judged.")
        return
    yield words(f"{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} failed.")
    yield _checks(failures)
    if failures.reasons:
        yield _reasons(failures)
    if failures.is_cut:
        yield quiet(f"{MANY_REASONS[0].upper()}{MANY_REASONS[1:]}.")
    yield from map(_confusion, run.confusions[:MOST_CONFUSIONS])


def _checks(failures: Failures) -> Chart:
    checks = sorted(failures.checks, key=lambda check: -check.failed)
    caption = f"Checks that did not hold, as a share of {count_of(failures.failed, 'failed trial')}"
    columns = [flexible_column("check"), Column("of the failed trials"), Column("the only check that failed")]
    rows = [(Code(check.name, 60), share(check.failed, failures.failed), share(check.alone, failures.failed))
            for check in checks]
    bars = [_check_bar(check, failures.failed) for check in checks]
    return Chart(Bars(caption, "check", "share of failed trials", "trials, alone", bars, CHECKS),
                 instead=[Table(caption, columns, rows, CHECKS)])


def _check_bar(check: CheckCount, failed: int) -> Bar:
    return Bar(Code(check.name), check.failed / failed, None, None, f"{check.failed:,}, {check.alone:,}",
               Tone.FAIL if check.failed else Tone.PLAIN)


def _reasons(failures: Failures) -> Chart:
    title = "what was expected, and what came"
    rows = [(reason.count, Code(f"{reason.check}: {reason.text}", 120)) for reason in failures.reasons]
    bars = [Bar((Code(reason.check), " ", Code(reason.text, 400)), reason.count / failures.failed, None, None,
                f"{reason.count:,}", Tone.FAIL) for reason in failures.reasons]
    return Chart(Bars(title.capitalize(), "reason", "share of failed trials", "trials", bars, REASONS),
                 instead=[Table(title, [number_column("trials"), flexible_column(title)], rows, REASONS)])


def _confusion(confusion: Confusion) -> Fold:
    caption = "Expected in the line, got in the column, counted in trials"
    columns = [Column("expected, got", flexible=True),
               *(Column(Code(label, 30), Kind.NUMBER, flexible=True) for label in confusion.got),
               number_column("trials")]
    rows = [(Code(expected, 30), *(_confused(expected, got, count)
                                   for got, count in zip(confusion.got, counts, strict=True)), sum(counts))
            for expected, counts in zip(confusion.expected, confusion.counts, strict=True)]
    return Fold(("Which answer was taken for which: ", Code(confusion.check, 60)),
                [Table(caption, columns, rows, look="confusion")], is_open=True, detail=Detail.MORE)


def _confused(expected: str, got: str, count: int) -> Cell:
    return Mark(f"{count:,}", Tone.PASS if expected == got else Tone.FAIL) if count else NO_TRIAL


def unjudged_blocks(run: RunReport) -> Iterator[Block]:
    """Incomplete trials by type of error."""
    planned = run.coverage.planned
    if not run.unjudged:
        yield words(f"None of {count_of(planned, 'planned trial')}.")
        return
    columns = [Column("type"), Column("planned trials"), flexible_column("message")]
    yield Table("Incomplete trials, by type of error", columns, [
        (Code(error.type), share(error.count, planned), _message(error)) for error in run.unjudged])


def _message(error: Unjudged) -> Cell:
    told = f" ({of(error.with_message, error.count)})" if error.with_message < error.count else ""
    return Code(error.message, 400), told
