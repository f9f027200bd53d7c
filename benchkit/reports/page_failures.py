"""The report page on why trials failed: by check, by explanation, and which answer was taken for which."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, word_for
from benchkit.pages.html import Html, element, joined
from benchkit.pages.marks import Tone
from benchkit.pages.parts import paragraph
from benchkit.pages.row_chart import Bar, RowTitles
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.failures import MANY_REASONS, CheckCount, Confusion, Reason
from benchkit.reports.figures import number, of, share
from benchkit.reports.page_parts import cut_bars, line, name, quiet, sentence
from benchkit.reports.run_report import RunReport

FEW_CHECKS, MOST_CHECKS = 20, 200
FEW_REASONS, MOST_REASONS = 12, 300
MOST_CONFUSIONS = 8


def failure_part(run: RunReport) -> Iterator[Html]:
    """All that is known of failed trials."""
    failures = run.failures
    if not failures.failed:
        yield paragraph(f"No judged trial failed ({of(failures.judged, failures.judged)} passed)."
                        if failures.judged else "No trial was judged.")
        return
    yield paragraph(f"{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} failed.")
    yield from _checks(run)
    yield from _reasons(run)
    for confusion in run.confusions[:MOST_CONFUSIONS]:
        yield from _confusion(confusion)


def _checks(run: RunReport) -> Iterator[Html]:
    checks = sorted(run.failures.checks, key=lambda check: -check.failed)
    failed = count_of(run.failures.failed, "failed trial")
    titles = RowTitles(f"Checks that did not hold, as a share of {failed}", "check",
                       "share of failed trials", "trials, alone")
    yield from cut_bars(titles, (_check_bar(check, run.failures.failed) for check in checks), FEW_CHECKS, len(checks),
                        MOST_CHECKS)


def _check_bar(check: CheckCount, failed: int) -> Bar:
    return Bar(name(check.name), check.failed / failed, None, None, f"{check.failed}, {check.alone}",
               Tone.FAIL if check.failed else Tone.PLAIN)


def _reasons(run: RunReport) -> Iterator[Html]:
    reasons = run.failures.reasons
    if reasons:
        titles = RowTitles("What was expected, and what came", "reason", "share of failed trials", "trials")
        yield from cut_bars(titles, (_reason_bar(reason, run.failures.failed) for reason in reasons), FEW_REASONS,
                            len(reasons), MOST_REASONS)
    if run.failures.is_cut:
        yield quiet(sentence(MANY_REASONS))


def _reason_bar(reason: Reason, failed: int) -> Bar:
    return Bar(joined(name(reason.check), " ", line(reason.text)), reason.count / failed, None, None,
               number(reason.count), Tone.FAIL)


def _confusion(confusion: Confusion) -> Iterator[Html]:
    columns = [Column("expected \\ got"), *map(number_column, confusion.got), number_column("trials")]
    yield from table(f"{confusion.check}: expected in the row, got in the column, counted in trials", columns, (
        [expected, *(_cell(expected, got, count) for got, count in zip(confusion.got, counts, strict=True)),
         number(sum(counts))]
        for expected, counts in zip(confusion.expected, confusion.counts, strict=True)), "confusion")


def _cell(expected: str, got: str, count: int) -> Html:
    if not count:
        return element("span", "\u00b7", class_="quiet")
    return element("span", number(count), class_=f"badge {Tone.PASS if expected == got else Tone.FAIL}")
