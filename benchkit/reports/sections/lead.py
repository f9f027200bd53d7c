"""What a person wants to know first of a run: what was observed, what is open, how far it can be trusted; warnings."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import all_of, count_of, word_for
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import of, percent, rate, share, spread
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections.anchors import Anchors
from benchkit.reports.sections.cases import trouble_table
from benchkit.reports.sections.run import reason_table, suite_table
from benchkit.reports.tally import in_state, never_passed
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
    errors = {error.type: error for error in run.unjudged}
    unrun = errors.pop("NotRun", None)
    if "CheckError" in errors:
        yield doc.words("not judged: ", doc.Code(errors["CheckError"].message, 400))
    elif errors:
        most = max(errors.values(), key=lambda error: error.with_message)
        started = run.coverage.planned - (unrun.count if unrun else 0)
        yield doc.words("most frequent error: ", doc.Code(most.type),
                        f" in {of(most.with_message, started)} {word_for(started, 'started trial')}: ",
                        doc.Code(most.message, 200))
    if run.suite:
        ends = run.suite if len(run.suite) < 2 else (run.suite[0], run.suite[-1])
        yield suite_table(run, "How often it passes", ends, is_short=True)
    if run.failures.reasons:
        why = f"why, of {count_of(run.failures.failed, 'failed trial')}"
        yield reason_table(run, "Why trials failed", why, doc.Cut(FEW, FEW, "reason"))
    flaky = sorted(in_state(run.cases, State.FLAKY), key=lambda row: row.unevenness)
    rows = flaky[:FEW] + list(never_passed(run.cases)[:FEW])
    if rows:
        yield trouble_table(run, "Cases that fail", rows, Anchors(), "for example", doc.Cut())
    if run.warnings:
        yield doc.words(f"warnings: {', '.join(dict.fromkeys(one.code for one in run.warnings))}")


def headline(run: RunReport) -> doc.Facts:
    """What was observed, with its counts; what is open after it; what follows for other tries."""
    return doc.Facts([("System", doc.Code(run.record.system, 400)), ("Result", _result(run)),
                      ("Incomplete", _incomplete(run)), ("Confidence", _confidence(run))])


def warning_blocks(warnings: Sequence[ReportWarning]) -> Iterator[doc.Callout]:
    """Warnings that must not be overlooked, each with its code; nothing where there are none."""
    if warnings:
        yield doc.Callout(Tone.FLAKY, count_of(len(warnings), "warning"), [warning_list(warnings)])


def warning_list(warnings: Sequence[ReportWarning]) -> doc.Bullets:
    """`code: why`, one a line."""
    return doc.Bullets([(doc.Code(one.code), f": {one.text}") for one in warnings])


def _result(run: RunReport) -> doc.Spans:
    totals, coverage = run.totals, run.coverage
    if not coverage.completed:
        return doc.Strong(f"nothing is known: none of {count_of(coverage.planned, 'planned trial')} could be judged")
    passed = doc.Strong(f"{of(totals.passed, coverage.completed)} judged "
                        f"{word_for(coverage.completed, 'try', 'tries')} passed: "
                        f"{percent(totals.passed / coverage.completed)} %")
    if run.record.trials == 1:
        each = word_for(coverage.cases, "the one case", f"each of {coverage.cases:,} cases")
        return passed, f"; {each} was to be tried once"
    counts = [f"{len(in_state(run.cases, state)):,} {words}" for state, words in (
        (State.STABLE_PASS, "passed every time"), (State.FLAKY, "sometimes"), (State.STABLE_FAIL, "never"))]
    left = len(in_state(run.cases, State.POSSIBLY_FLAKY, State.NO_DATA))
    has_left = any(error.type == "NotRun" for error in run.unjudged)
    words = word_for(left, "has tries left", "have tries left") if has_left else word_for(left, "is open", "are open")
    tries_left = f"; {left:,} {words}" if left else ""
    return passed, f"; of {count_of(coverage.cases, 'case')} {', '.join(counts)}{tries_left}"


def _incomplete(run: RunReport) -> str:
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    complete = f"{coverage.cases_complete:,} of {count_of(coverage.cases, 'case')} complete"
    if not missing:
        were = word_for(coverage.planned, "was", "were")
        return f"nothing: {all_of(coverage.planned, 'planned trial')} {were} judged"
    if all(error.type == "NotRun" for error in run.unjudged):
        return f"{of(missing, coverage.planned)} planned trials did not run; {complete}"
    most_first = sorted(run.unjudged, key=lambda error: -error.count)
    types = [f"{error.count:,} {error.type}" for error in most_first]
    shown = ", ".join(types[:2]) + (", ..." if len(types) > 2 else "")
    return f"{of(missing, coverage.planned)} planned trials ({shown}); {complete}"


def _confidence(run: RunReport) -> str:
    if not run.suite:
        return "nothing: there are no cases"
    first, last = run.suite[0].hat, run.suite[-1].hat
    start = "as the missing ones go: " if run.totals.incomplete else ""
    one = f"{start}pass^1 {rate(first)} % (95 %: {spread(first.low, first.high)})"
    if run.record.trials == 1:
        return f"{one}; one trial cannot show what is reliable"
    return f"{one}, pass^{run.suite[-1].k:,} {rate(last)} % ({spread(last.low, last.high)})"


def _figures(run: RunReport) -> Iterator[doc.Figure]:
    coverage = run.coverage
    if run.suite:
        last = run.suite[-1]
        yield _rate("pass^1: one try passes", run.suite[0].hat)
        if last.k > 1:
            yield _rate(f"pass@{last.k}: any of {last.k} passes", last.at)
            yield _rate(f"pass^{last.k}: all of {last.k} pass", last.hat)
    if run.record.trials > 1:
        flaky, left, stable = (len(in_state(run.cases, state)) for state in (
            State.FLAKY, State.POSSIBLY_FLAKY, State.STABLE_PASS))
        told = f"of {coverage.cases:,}{f', {left:,} open' if left else ''}; {stable:,} pass every time"
        yield doc.Figure(f"{flaky:,}", "flaky cases", told, Tone.FLAKY if flaky else Tone.PLAIN)
    missing = coverage.planned - coverage.completed
    yield doc.Figure(f"{missing:,}", "incomplete trials",
                     f"{share(coverage.completed, coverage.planned)} judged" if coverage.planned else "nothing planned",
                     Tone.INCOMPLETE if missing else Tone.PLAIN)


def _rate(name: str, metric: SuiteMetric) -> doc.Figure:
    return doc.Figure(f"{rate(metric)}\u00a0%", name, f"95 %: {spread(metric.low, metric.high)}")
