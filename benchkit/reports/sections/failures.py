"""Why trials failed: by check, by what was expected and came instead, which for which; and who could not be judged."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, word_for
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.failures import MANY_REASONS, CheckCount, Confusion, Failures, Unjudged
from benchkit.reports.figures import of, share
from benchkit.reports.run_report import RunReport

CHECKS = doc.Cut(20, 200, "check")
REASONS = doc.Cut(12, 300, "reason")
MOST_CONFUSIONS = 8
NO_TRIAL = "."
"""Stands in a confusion table where no trial was, so that the others are seen."""


def failure_blocks(run: RunReport) -> Iterator[doc.Block]:
    """All that is known of failed trials."""
    failures = run.failures
    if not failures.failed:
        yield doc.words(f"No judged trial failed ({of(failures.judged, failures.judged)} passed)."
                        if failures.judged else "No trial was judged.")
        return
    yield doc.words(f"{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} failed.")
    yield _checks(failures)
    if failures.reasons:
        yield _reasons(failures)
    if failures.is_cut:
        yield doc.quiet(f"{MANY_REASONS[0].upper()}{MANY_REASONS[1:]}.")
    yield from map(_confusion, run.confusions[:MOST_CONFUSIONS])


def _checks(failures: Failures) -> doc.Chart:
    checks = sorted(failures.checks, key=lambda check: -check.failed)
    caption = f"Checks that did not hold, as a share of {count_of(failures.failed, 'failed trial')}"
    columns = [doc.flexible("check"), doc.Column("of the failed trials"), doc.Column("the only check that failed")]
    rows = [(doc.Code(check.name, 60), share(check.failed, failures.failed), share(check.alone, failures.failed))
            for check in checks]
    bars = [_check_bar(check, failures.failed) for check in checks]
    return doc.Chart(doc.Bars(caption, "check", "share of failed trials", "trials, alone", bars, CHECKS),
                     instead=[doc.Table(caption, columns, rows, CHECKS)])


def _check_bar(check: CheckCount, failed: int) -> doc.Bar:
    return doc.Bar(doc.Code(check.name), check.failed / failed, None, None, f"{check.failed:,}, {check.alone:,}",
                   Tone.FAIL if check.failed else Tone.PLAIN)


def _reasons(failures: Failures) -> doc.Chart:
    title = "what was expected, and what came"
    rows = [(reason.count, doc.Code(f"{reason.check}: {reason.text}", 120)) for reason in failures.reasons]
    bars = [doc.Bar((doc.Code(reason.check), " ", doc.Code(reason.text, 400)), reason.count / failures.failed, None,
                    None, f"{reason.count:,}", Tone.FAIL) for reason in failures.reasons]
    return doc.Chart(doc.Bars(title.capitalize(), "reason", "share of failed trials", "trials", bars, REASONS),
                     instead=[doc.Table(title, [doc.number("trials"), doc.flexible(title)], rows, REASONS)])


def _confusion(confusion: Confusion) -> doc.Fold:
    caption = "Expected in the line, got in the column, counted in trials"
    columns = [doc.Column("expected, got", flexible=True),
               *(doc.Column(doc.Code(label, 30), doc.Kind.NUMBER, flexible=True) for label in confusion.got),
               doc.number("trials")]
    rows = [(doc.Code(expected, 30), *(_confused(expected, got, count)
                                       for got, count in zip(confusion.got, counts, strict=True)), sum(counts))
            for expected, counts in zip(confusion.expected, confusion.counts, strict=True)]
    return doc.Fold(("Which answer was taken for which: ", doc.Code(confusion.check, 60)),
                    [doc.Table(caption, columns, rows, look="confusion")], is_open=True, detail=doc.MORE)


def _confused(expected: str, got: str, count: int) -> doc.Cell:
    return doc.Mark(f"{count:,}", Tone.PASS if expected == got else Tone.FAIL) if count else NO_TRIAL


def unjudged_blocks(run: RunReport) -> Iterator[doc.Block]:
    """Incomplete trials by type of error."""
    planned = run.coverage.planned
    if not run.unjudged:
        yield doc.words(f"None of {count_of(planned, 'planned trial')}.")
        return
    columns = [doc.Column("type"), doc.Column("planned trials"), doc.flexible("message")]
    yield doc.Table("Incomplete trials, by type of error", columns, [
        (doc.Code(error.type), share(error.count, planned), _message(error)) for error in run.unjudged])


def _message(error: Unjudged) -> doc.Cell:
    told = f" ({of(error.with_message, error.count)})" if error.with_message < error.count else ""
    return doc.Code(error.message, 400), told
