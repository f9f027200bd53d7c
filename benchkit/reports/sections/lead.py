"""What a person wants to know first of a run: what was observed, what is open, how far it can be trusted; warnings."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import all_of, count_of, percent_in_words, word_for
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.failures import check_error
from benchkit.reports.figures import of, percent, rate, share, spread
from benchkit.reports.run_report import FLAKE, RunReport
from benchkit.reports.sections.cases import trouble_table
from benchkit.reports.sections.rates import ends_table
from benchkit.reports.tally import CaseRow, in_state, never_passed
from benchkit.reports.warnings import ReportWarning
from benchkit.statistics.estimators import State
from benchkit.statistics.suites import SuiteMetric

FEW = 3
"""So many reasons and cases stand on the first screen."""


def lead_blocks(run: RunReport) -> Iterator[doc.Block]:
    """The headline, the warnings, and the first figures of a run."""
    yield headline(run)
    yield from warning_blocks(run.warnings)
    yield doc.Figures(list(_figures(run)), detail=doc.ALL)


def first_blocks(run: RunReport) -> Iterator[doc.Block]:
    """About twenty lines after a run: the headline, k = 1 and the last k, what fails most, warnings by code."""
    yield headline(run)
    yield from _first_error(run)
    if run.suite:
        yield ends_table(run)
    if run.failures.reasons:
        why = f"why, of {count_of(run.failures.failed, 'failed trial')}"
        reasons = [(one.count, doc.Code(f"{one.check}: {one.text}", 120)) for one in run.failures.reasons]
        yield doc.Table("Why trials failed", [doc.number("trials"), doc.flexible(why)], reasons,
                        doc.Cut(FEW, FEW, "reason"))
    rows = _examples(run)
    if rows:
        yield trouble_table(run, "Cases that fail", rows, cut=doc.Cut(), title="for example")
    codes = ", ".join(dict.fromkeys(one.code for one in run.warnings))
    if codes:
        yield doc.Paragraph(f"warnings: {codes}")


def headline(run: RunReport) -> doc.Facts:
    """What was observed, with its counts; what is open after it; what follows for other tries."""
    system = run.record.system
    return doc.Facts([("System", doc.Code(system, 400)), ("Result", (doc.Strong(_result(run)), *_cases(run))),
                      ("Incomplete", _incomplete(run)), ("Confidence", _confidence(run))])


def warning_blocks(warnings: Sequence[ReportWarning]) -> Iterator[doc.Callout]:
    """Warnings that must not be overlooked, each with its code; nothing where there are none."""
    if warnings:
        yield doc.Callout(Tone.FLAKY, count_of(len(warnings), "warning"),
                          [doc.Bullets(list(map(warning_line, warnings)))])


def warning_line(warning: ReportWarning) -> doc.Spans:
    """`code: why`."""
    return doc.Code(warning.code), f": {warning.text}"


def flake_unseen(run: RunReport) -> str:
    """What a run of this length may well have missed, in a sentence."""
    if run.record.trials == 1:
        return (f"One trial a case cannot show a flaky case: one that fails 1 time in {FLAKE.denominator} looks like "
                "any other.")
    return (f"A case that fails 1 time in {FLAKE.denominator} looks stable in {percent_in_words(run.flake_unseen)} of "
            f"runs of {count_of(run.record.trials, 'trial')}.")


def _result(run: RunReport) -> str:
    totals, coverage = run.totals, run.coverage
    if not coverage.completed:
        return f"nothing is known: none of {count_of(coverage.planned, 'planned trial')} could be judged"
    return (f"{of(totals.passed, coverage.completed)} judged {word_for(coverage.completed, 'try', 'tries')} passed: "
            f"{percent(totals.passed / coverage.completed)} %")


def _cases(run: RunReport) -> tuple[str, ...]:
    coverage = run.coverage
    if not coverage.completed:
        return ()
    if run.record.trials == 1:
        each = word_for(coverage.cases, "the one case", f"each of {coverage.cases:,} cases")
        return (f"; {each} was to be tried once",)
    counts = [f"{_count(run, state):,} {words}" for state, words in (
        (State.STABLE_PASS, "passed every time"), (State.FLAKY, "sometimes"), (State.STABLE_FAIL, "never"))]
    left = _count(run, State.POSSIBLY_FLAKY) + _count(run, State.NO_DATA)
    tries_left = f"; {left:,} {word_for(left, 'has', 'have')} tries left" if left else ""
    return (f"; of {count_of(coverage.cases, 'case')} {', '.join(counts)}{tries_left}",)


def _incomplete(run: RunReport) -> str:
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    if not missing:
        were = word_for(coverage.planned, "was", "were")
        return f"nothing: {all_of(coverage.planned, 'planned trial')} {were} judged"
    if all(error.type == "NotRun" for error in run.unjudged):
        return f"{of(missing, coverage.planned)} planned trials did not run; {_complete(run)}"
    most_first = sorted(run.unjudged, key=lambda error: -error.count)
    types = [f"{error.count:,} {error.type}" for error in most_first]
    shown = ", ".join(types[:2]) + (", ..." if len(types) > 2 else "")
    return f"{of(missing, coverage.planned)} planned trials ({shown}); {_complete(run)}"


def _complete(run: RunReport) -> str:
    return f"{run.coverage.cases_complete:,} of {count_of(run.coverage.cases, 'case')} complete"


def _confidence(run: RunReport) -> str:
    if not run.suite:
        return "nothing: there are no cases"
    first, last = run.suite[0].hat, run.suite[-1].hat
    start = "as the missing ones go: " if run.totals.incomplete else ""
    one = f"{start}pass^1 {rate(first)} % (95 %: {spread(first.low, first.high)})"
    if run.record.trials == 1:
        return f"{one}; one trial cannot show what is reliable"
    return f"{one}, pass^{run.suite[-1].k:,} {rate(last)} % ({spread(last.low, last.high)})"


def _count(run: RunReport, state: State) -> int:
    return len(in_state(run.cases, state))


def _figures(run: RunReport) -> Iterator[doc.Figure]:
    if run.suite:
        last = run.suite[-1]
        yield _rate("pass^1: one try passes", run.suite[0].hat)
        if last.k > 1:
            yield _rate(f"pass@{last.k}: any of {last.k} passes", last.at)
            yield _rate(f"pass^{last.k}: all of {last.k} pass", last.hat)
    if run.record.trials > 1:
        yield _flaky(run)
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    yield doc.Figure(f"{missing:,}", "incomplete trials",
                     f"{share(coverage.completed, coverage.planned)} judged" if coverage.planned else "nothing planned",
                     Tone.INCOMPLETE if missing else Tone.PLAIN)


def _rate(name: str, metric: SuiteMetric) -> doc.Figure:
    return doc.Figure(f"{rate(metric)}\u00a0%", name, f"95 %: {spread(metric.low, metric.high)}")


def _flaky(run: RunReport) -> doc.Figure:
    flaky, left = _count(run, State.FLAKY), _count(run, State.POSSIBLY_FLAKY)
    told = f"of {run.coverage.cases:,}" + (f", {left:,} open" if left else "")
    return doc.Figure(f"{flaky:,}", "flaky cases", f"{told}; {_count(run, State.STABLE_PASS):,} pass every time",
                      Tone.FLAKY if flaky else Tone.PLAIN)


def _first_error(run: RunReport) -> Iterator[doc.Block]:
    """What a check of the task raised, whole; else the most frequent error, in one line."""
    found = check_error(run.unjudged)
    if found is not None:
        yield doc.Paragraph(("not judged: ", doc.Code(found.message, 400)))
        return
    most = max((error for error in run.unjudged if error.type != "NotRun"), key=lambda error: error.with_message,
               default=None)
    if most is not None:
        count = of(most.with_message, run.coverage.planned)
        yield doc.Paragraph(("most frequent error: ", doc.Code(most.type), f" in {count}: ",
                             doc.Code(most.message, 200)))


def _examples(run: RunReport) -> list[CaseRow]:
    flaky = sorted(in_state(run.cases, State.FLAKY), key=lambda row: row.unevenness)
    return flaky[:FEW] + list(never_passed(run.cases)[:FEW])
