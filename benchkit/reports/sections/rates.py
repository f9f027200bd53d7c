"""How much of a run is known, and how often it passes: coverage, pass@k and pass^k over k, tags."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit.basics.texts import count_of, sentence
from benchkit.pages.curve_charts import Curve, CurveChart, Point
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import (
    and_unknown,
    completed_of_all,
    each_by_itself,
    error_words,
    of,
    passed_of,
    percent,
    rate,
    share,
    spread,
    standard_error,
)
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import EVERY_K, TagRow, last_ks, shown_ks
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

TAGS = doc.Cut(30, 500, "tag")
FEW_K = 5
"""So many k are shown at once."""
OPEN_BANDS = ("darker bands are what incomplete trials leave open (taken as failed to taken as passed), and the lines, "
              "which leave them out, end where a case has fewer than k others")
"""What a curve chart has where there are incomplete trials."""


def coverage_blocks(run: RunReport) -> Iterator[doc.Block]:
    """How much of the plan has a verdict."""
    coverage, totals = run.coverage, run.totals
    unrun = sum(error.count for error in run.unjudged if error.type == "NotRun")
    yield doc.Paragraph(doc.Tally(count_of(coverage.planned, "planned trial"), [
        (Tone.PASS, totals.passed), (Tone.FAIL, totals.failed), (Tone.INCOMPLETE, totals.incomplete - unrun),
        (Tone.ABSENT, unrun)]), detail=doc.ALL)
    yield doc.Facts([
        ("Trials", f"{share(coverage.completed, coverage.planned)} judged: {totals.passed:,} passed, "
                   f"{totals.failed:,} failed; {totals.incomplete:,} incomplete"),
        ("Cases", f"{of(coverage.cases_complete, coverage.cases)} with all trials, "
                  f"{of(coverage.cases_touched, coverage.cases)} with some"),
        ("k_max", f"{coverage.k_max:,}: so many trials of every case were judged")])


def rate_blocks(run: RunReport) -> Iterator[doc.Block]:
    """pass@k and pass^k over k, drawn and as a table: some k for a first look, every k for a long one."""
    if not run.suite:
        yield doc.words("There are no cases.")
        return
    if len(run.suite) > 1:
        yield doc.Chart(_curves(run), f"In the picture, {OPEN_BANDS}." if run.totals.incomplete else "")
    every = shown_ks(run.suite, EVERY_K)
    shown = every if len(every) <= FEW_K else shown_ks(run.suite)
    yield _table(run, "How often one try, any of k and all of k pass", shown)
    yield doc.quiet("In percent. pass@k: at least one of k tries passes; pass^k: all of them do.")
    if len(every) > len(shown):
        title = f"The same for every k from 1 to {last_ks(run.suite)}"
        yield _table(run, title, every, doc.ALL)
    is_open = run.coverage.completed < run.coverage.planned
    explained = (f"Mean over {count_of(run.coverage.cases, 'case')}. 95 %: interval for other such cases. "
                 f"se: standard error of a re-run of these cases{error_words(_metrics(every))}.")
    ranges = (" Ranges: incomplete trials taken as failed to taken as passed; done: left out (completed-only), over "
              "the cases done." if is_open else "")
    yield doc.quiet(explained + ranges, detail=doc.MORE)


def ends_table(run: RunReport) -> doc.Table:
    """The rates at k = 1 and at the last k."""
    ends = run.suite if len(run.suite) < 2 else (run.suite[0], run.suite[-1])
    return _table(run, "How often it passes", ends, is_short=True)


def _metrics(suite: Sequence[SuiteAtK]) -> Iterator[SuiteMetric]:
    for one in suite:
        yield from (one.at, one.hat)


def _table(run: RunReport, caption: str, suite: Sequence[SuiteAtK], detail: doc.Detail = doc.LEAD,
           is_short: bool = False) -> doc.Table:
    is_open = run.coverage.completed < run.coverage.planned and not is_short
    columns = [doc.number("k"), *_metric_columns("pass@k", is_open, is_short),
               *_metric_columns("pass^k", is_open, is_short), doc.Column("cases done")]
    rows = [(f"{one.k:,}", *_cells(one.at, is_open, is_short), *_cells(one.hat, is_open, is_short),
             of(one.hat.completed_cases, run.coverage.cases)) for one in suite]
    return doc.Table(caption, columns, rows, is_titled=detail is doc.ALL, detail=detail)


def _metric_columns(group: str, is_open: bool, is_short: bool) -> list[doc.Column]:
    done = [doc.number("done", group, "completed-only: incomplete trials left out")] if is_open else []
    detail = doc.MORE if is_open else doc.LEAD
    error = [] if is_short else [doc.number("se", group, "standard error of a re-run", detail)]
    return [doc.number("%", group), *done, doc.number("95 %", group), *error]


def _cells(metric: SuiteMetric, is_open: bool, is_short: bool) -> list[doc.Cell]:
    completed = [percent(metric.completed)] if is_open else []
    error = [] if is_short else [standard_error(metric.se)]
    return [rate(metric), *completed, spread(metric.low, metric.high), *error]


def _curves(run: RunReport) -> CurveChart:
    last, cases = run.suite[-1], run.coverage.cases
    told = (f"At k = {last.k:,}, pass@k is {rate(last.at)} % and pass^k {rate(last.hat)} %; "
            "bands are 95 % intervals for other such cases, incomplete trials included"
            + (f"; {OPEN_BANDS}" if run.totals.incomplete else ""))
    return CurveChart(
        "pass@k and pass^k", told, "k, number of tries", "share of cases", (
            Curve("pass@k: at least one of k tries passes", curve_points({one.k: one.at for one in run.suite}, cases)),
            Curve("pass^k: all of k tries pass", curve_points({one.k: one.hat for one in run.suite}, cases))))


def curve_points(metrics: Mapping[int, SuiteMetric], cases: int) -> list[Point]:
    """By k: the completed-only value where it is over all cases, the interval, and worst and best if any differ."""
    is_open = any(one.worst != one.best for one in metrics.values())
    return [Point(k, completed_of_all(one, cases), one.low, one.high,
                  float(one.worst) if is_open else None, float(one.best) if is_open else None)
            for k, one in metrics.items()]


def rate_bar(label: doc.Spans, metric: SuiteMetric | None, note: doc.Spans) -> doc.Bar:
    """A bar at a rate, or over the range that incomplete trials leave open."""
    if metric is None:
        return doc.Bar(label, None, None, None, note)
    if metric.worst == metric.best:
        return doc.Bar(label, float(metric.worst), metric.low, metric.high, note)
    return doc.Bar(label, None, metric.low, metric.high, note, least=float(metric.worst), most=float(metric.best))


def tag_blocks(run: RunReport) -> Iterator[doc.Block]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield doc.words("No case has a tag.", detail=doc.ALL)
        return
    caption = "Share of tries that pass, by tag, with 95 % intervals for other such cases"
    columns = [doc.flexible("tag"), doc.number("cases"), doc.Column("trials passed"), doc.number("pass^1 %"),
               doc.number("95 %")]
    rows = [(doc.Code(row.tag), row.cases, f"{of(row.passed, row.judged)} judged{and_unknown(row.unknown)}",
             rate(row.rate), spread(row.rate.low, row.rate.high)) for row in run.tags]
    yield doc.Chart(doc.Bars(caption, "tag", "pass^1", "passed", [_tag_bar(row) for row in run.tags], TAGS),
                    instead=[doc.Table(caption, columns, rows, TAGS, detail=doc.MORE)], detail=doc.MORE)
    note = each_by_itself(len(run.tags))
    if note:
        yield doc.quiet(sentence(note), detail=doc.MORE)


def _tag_bar(row: TagRow) -> doc.Bar:
    return rate_bar((doc.Code(row.tag), f" {count_of(row.cases, 'case')}"), row.rate,
                    passed_of(row.passed, row.judged, row.unknown))
