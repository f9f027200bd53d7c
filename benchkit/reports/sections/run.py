"""What is said of one run: how much is known, how often it passes, why trials failed, what was run, and how fast."""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, percent_in_words, sentence, word_for
from benchkit.pages.tones import Tone
from benchkit.recordings.recording import SessionFacts
from benchkit.render import document as doc
from benchkit.reports import figures
from benchkit.reports.failures import MANY_REASONS, Confusion
from benchkit.reports.figures import of, percent, rate, seconds, share, spread
from benchkit.reports.outputs import value_text
from benchkit.reports.run_report import FLAKE, RunReport
from benchkit.reports.speed import COLD, LatencyColumn, ending_of, hardware_of, measured_on
from benchkit.reports.tally import EVERY_K, shown_ks
from benchkit.reports.warnings import temperature_of
from benchkit.statistics.percentiles import PERCENTS
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

if TYPE_CHECKING:
    from benchkit.pages.curve_charts import CurveChart, DistributionChart, Point

SESSIONS, SETTINGS = doc.Cut(8, 50, "session"), doc.Cut(20, 60, "setting")
LONGEST_IN_TABLE, LONGEST_VALUE, MOST_LONGER = 72, 400, 60
"""Longer values of settings stand below the table, on pages and in Markdown the beginning, in text whole."""
SHORT_S = 0.1
"""Shorter latencies are drawn in milliseconds."""
TAGS, CHECKS, REASONS = doc.Cut(30, 500, "tag"), doc.Cut(20, 200, "check"), doc.Cut(12, 300, "reason")
MOST_CONFUSIONS = 8
NO_TRIAL = "."
"""Stands in a confusion table where no trial was, so that the others are seen."""
NO_ERROR = "none"
"""Stands for a standard error of 0, which is no error bar."""
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
        yield doc.Chart(partial(_curves, run), f"In the picture, {OPEN_BANDS}." if run.totals.incomplete else "")
    every = shown_ks(run.suite, EVERY_K)
    shown = every if len(every) <= FEW_K else shown_ks(run.suite)
    yield suite_table(run, "How often one try, any of k and all of k pass", shown)
    yield doc.quiet("In percent. pass@k: at least one of k tries passes; pass^k: all of them do.")
    if len(every) > len(shown):
        *_, before, last = (one.k for one in run.suite)
        ends = f"{last:,}" if last == before + 1 else f"{before:,}, and for {last:,}"
        yield suite_table(run, f"The same for every k from 1 to {ends}", every, doc.ALL)
    wavering = (f" ({NO_ERROR}: over so many tries no case wavered, which promises nothing)"
                if any(0 in (one.at.se, one.hat.se) for one in every) else "")
    ranges = (" Ranges: incomplete trials taken as failed to taken as passed; done: left out (completed-only), over "
              "the cases done." if run.totals.incomplete else "")
    yield doc.quiet(f"Mean over {count_of(run.coverage.cases, 'case')}. 95 %: interval for other such cases. "
                    f"se: standard error of a re-run of these cases{wavering}.{ranges}", detail=doc.MORE)
    yield doc.quiet(flake_unseen(run))


def flake_unseen(run: RunReport) -> str:
    """What a run of this length may well have missed, in a sentence."""
    if run.record.trials == 1:
        return (f"One trial a case cannot show a flaky case: one that fails 1 time in {FLAKE.denominator} looks like "
                "any other.")
    return (f"A case that fails 1 time in {FLAKE.denominator} looks stable in {percent_in_words(run.flake_unseen)} of "
            f"runs of {count_of(run.record.trials, 'trial')}.")


def suite_table(run: RunReport, caption: str, suite: Sequence[SuiteAtK], detail: doc.Detail = doc.LEAD,
                is_short: bool = False) -> doc.Table:
    """Both rates at some k; a short one has no standard errors, and leaves out what incomplete trials are left out of.
    """
    is_open = run.totals.incomplete > 0 and not is_short
    columns = [doc.number("k")]
    for group in ("pass@k", "pass^k"):
        columns.append(doc.number("%", group))
        if is_open:
            columns.append(doc.number("done", group, "completed-only: incomplete trials left out"))
        columns.append(doc.number("95 %", group))
        if not is_short:
            columns.append(doc.number("se", group, "standard error of a re-run", doc.MORE if is_open else doc.LEAD))
    rows = [(f"{one.k:,}", *_cells(one.at, is_open, is_short), *_cells(one.hat, is_open, is_short),
             of(one.hat.completed_cases, run.coverage.cases)) for one in suite]
    return doc.Table(caption, [*columns, doc.Column("cases done")], rows, is_titled=detail is doc.ALL, detail=detail)


def _cells(metric: SuiteMetric, is_open: bool, is_short: bool) -> list[str]:
    completed = [percent(metric.completed)] if is_open else []
    error = [] if is_short else [NO_ERROR if metric.se == 0 else percent(metric.se)]
    return [rate(metric), *completed, spread(metric.low, metric.high), *error]


def _curves(run: RunReport) -> CurveChart:
    from benchkit.pages.curve_charts import Curve, CurveChart
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
    from benchkit.pages.curve_charts import Point
    is_open = any(one.worst != one.best for one in metrics.values())
    return [Point(k, figures.completed_of_all(one, cases), one.low, one.high,
                  float(one.worst) if is_open else None, float(one.best) if is_open else None)
            for k, one in metrics.items()]


def rate_bar(label: doc.Spans, metric: SuiteMetric | None, note: doc.Spans) -> doc.Bar:
    """A bar at a rate, or over the range that incomplete trials leave open."""
    if metric is None:
        return doc.Bar(label, None, None, None, note)
    worst, best = float(metric.worst), float(metric.best)
    if metric.worst == metric.best:
        return doc.Bar(label, worst, metric.low, metric.high, note)
    return doc.Bar(label, None, metric.low, metric.high, note, least=worst, most=best)


def tag_blocks(run: RunReport) -> Iterator[doc.Block]:
    """How often the cases of each tag pass."""
    if not run.tags:
        yield doc.words("No case has a tag.", detail=doc.ALL)
        return
    caption = "Share of tries that pass, by tag, with 95 % intervals for other such cases"
    columns = [doc.flexible("tag"), doc.number("cases"), doc.Column("trials passed"), doc.number("pass^1 %"),
               doc.number("95 %")]
    rows, bars = [], []
    for row in run.tags:
        passed, judged, unknown = row.trials.passed, row.trials.completed, row.trials.incomplete
        rows.append((doc.Code(row.tag), row.cases, f"{of(passed, judged)} judged{figures.and_unknown(unknown)}",
                     rate(row.rate), spread(row.rate.low, row.rate.high)))
        bars.append(rate_bar((doc.Code(row.tag), f" {count_of(row.cases, 'case')}"), row.rate,
                             figures.passed_of(passed, judged, unknown)))
    yield doc.Chart(doc.Bars(caption, "tag", "pass^1", "passed", bars, TAGS),
                    instead=[doc.Table(caption, columns, rows, TAGS, detail=doc.MORE)], detail=doc.MORE)
    note = figures.each_by_itself(len(run.tags))
    if note:
        yield doc.quiet(sentence(note), detail=doc.MORE)


def failure_blocks(run: RunReport) -> Iterator[doc.Block]:
    """All that is known of failed trials: by check, by what was expected and came instead, which for which."""
    failures = run.failures
    if not failures.failed:
        yield doc.words(f"No judged trial failed ({of(failures.judged, failures.judged)} passed)."
                        if failures.judged else "No trial was judged.")
        return
    yield doc.words(f"{share(failures.failed, failures.judged)} {word_for(failures.judged, 'judged trial')} failed.")
    checks = sorted(failures.checks, key=lambda check: -check.failed)
    caption = f"Checks that did not hold, as a share of {count_of(failures.failed, 'failed trial')}"
    columns = [doc.flexible("check"), doc.Column("of the failed trials"), doc.Column("the only check that failed")]
    rows = [(doc.Code(check.name, 60), share(check.failed, failures.failed), share(check.alone, failures.failed))
            for check in checks]
    bars = [doc.Bar(doc.Code(check.name), check.failed / failures.failed, None, None,
                    f"{check.failed:,}, {check.alone:,}", Tone.FAIL if check.failed else Tone.PLAIN)
            for check in checks]
    yield doc.Chart(doc.Bars(caption, "check", "share of failed trials", "trials, alone", bars, CHECKS),
                    instead=[doc.Table(caption, columns, rows, CHECKS)])
    if failures.reasons:
        title = "what was expected, and what came"
        bars = [doc.Bar((doc.Code(reason.check), " ", doc.Code(reason.text, 400)), reason.count / failures.failed,
                        None, None, f"{reason.count:,}", Tone.FAIL) for reason in failures.reasons]
        yield doc.Chart(doc.Bars(title.capitalize(), "reason", "share of failed trials", "trials", bars, REASONS),
                        instead=[reason_table(run, title, title, REASONS)])
    if failures.is_cut:
        yield doc.quiet(sentence(MANY_REASONS))
    yield from map(_confusion, run.confusions[:MOST_CONFUSIONS])


def reason_table(run: RunReport, caption: str, title: str, cut: doc.Cut) -> doc.Table:
    """How many trials failed for which reason."""
    return doc.Table(caption, [doc.number("trials"), doc.flexible(title)], [
        (reason.count, doc.Code(f"{reason.check}: {reason.text}", 120)) for reason in run.failures.reasons], cut)


def _confusion(confusion: Confusion) -> doc.Fold:
    columns = [doc.flexible("expected, got"),
               *(doc.Column(doc.Code(label, 30), doc.Kind.NUMBER, flexible=True) for label in confusion.got),
               doc.number("trials")]
    rows: list[list[doc.Cell]] = []
    for expected, counts in zip(confusion.expected, confusion.counts, strict=True):
        marks = (doc.Mark(f"{count:,}", Tone.PASS if expected == got else Tone.FAIL) if count else NO_TRIAL
                 for got, count in zip(confusion.got, counts, strict=True))
        rows.append([doc.Code(expected, 30), *marks, sum(counts)])
    table = doc.Table("Expected in the line, got in the column, counted in trials", columns, rows, look="confusion")
    return doc.Fold(("Which answer was taken for which: ", doc.Code(confusion.check, 60)), [table], is_open=True,
                    detail=doc.MORE)


def unjudged_blocks(run: RunReport) -> Iterator[doc.Block]:
    """Incomplete trials by type of error."""
    planned = run.coverage.planned
    if not run.unjudged:
        yield doc.words(f"None of {count_of(planned, 'planned trial')}.")
        return
    rows = []
    for error in run.unjudged:
        told = f" ({of(error.with_message, error.count)})" if error.with_message < error.count else ""
        rows.append((doc.Code(error.type), share(error.count, planned), (doc.Code(error.message, 400), told)))
    yield doc.Table("Incomplete trials, by type of error",
                    [doc.Column("type"), doc.Column("planned trials"), doc.flexible("message")], rows)


def about_blocks(run: RunReport) -> Iterator[doc.Block]:
    """The circumstances of a run."""
    record = run.record
    temperature = temperature_of(record.settings)
    yield doc.Facts([
        ("Run", (doc.Code(run.name), f", {count_of(record.trials, 'trial')} of {count_of(len(record.cases), 'case')}")),
        ("System", doc.Code(record.system, 400)),
        *([] if temperature is None else [("Temperature", f"{temperature:g}")]),
        ("Task", (doc.Code(f"{record.task.name} {record.task.version}"), ", split ", doc.Code(record.split))),
        ("Judged by", (doc.Code(f"{record.judge.name} {record.judge.version}"), ", source ",
                       doc.Code(record.judge.task_sha256[:12]))),
        ("Hardware", doc.Code(hardware_of(record.sessions), 400)),
        ("Kit", doc.Code(record.kit))])
    columns = [doc.Column("started"), doc.flexible("hardware", doc.MORE), doc.Column("limits"),
               doc.number("loaded in, s"), doc.number("context length"), doc.Column("ended"),
               doc.flexible("environment", doc.MORE)]
    yield doc.Fold(count_of(len(record.sessions), "session"), [doc.Table(
        "Sessions", columns, [_session(one) for one in record.sessions], SESSIONS)], detail=doc.MORE)
    if record.settings:
        values = {name: canonical(record.settings[name]) for name in sorted(record.settings)}
        rows = [(doc.Code(name, 400), doc.Code(value, 400)) for name, value in values.items()
                if len(value) <= LONGEST_IN_TABLE]
        table = doc.Table("Settings", [doc.Column("setting"), doc.flexible("value")], rows, SETTINGS)
        longer: list[doc.Block] = [
            doc.Verbatim(value_text(record.settings[name]), doc.Code(name, 400), LONGEST_VALUE)
            for name, value in values.items() if len(value) > LONGEST_IN_TABLE]
        left = len(longer) - MOST_LONGER
        longer[MOST_LONGER:] = [doc.quiet(f"And {count_of(left, 'more long setting')}.")] if left > 0 else []
        yield doc.Fold(count_of(len(values), "setting"), [*([table] if rows else []), *longer], detail=doc.MORE)


def _session(session: SessionFacts) -> Sequence[doc.Cell]:
    length = figures.NOT_AVAILABLE if session.context_length is None else str(session.context_length)
    environment = ", ".join(f"{key}: {value if isinstance(value, str) else canonical(value)}"
                            for key, value in session.environment.items() if value is not None)
    limits = (("budget", session.budget_s), ("timeout", session.timeout_s))
    told = ", ".join(f"{name} {seconds(value)} s" for name, value in limits if value is not None)
    stamp = session.started_at
    return (f"{stamp[:10]} {stamp[11:19]} UTC", doc.Code(hardware_of([session]), 400),
            told or "none", seconds(session.load_s), length, ending_of(session),
            doc.Code(environment, 400))


def speed_blocks(run: RunReport) -> Iterator[doc.Block]:
    """Latencies of warm and cold trials, drawn and as a table, and what they cost."""
    warm, cold = run.speed.warm, run.speed.cold
    if warm.n or cold.n:
        columns = [doc.Column("seconds"), *map(doc.number, ("warm", "95 %", "cold", "95 %"))]
        yield doc.Chart(partial(_latencies, warm, cold))
        yield doc.Table("Latency, by percentile", columns, list(_rows(warm, cold)), detail=doc.MORE)
        yield doc.quiet(f"In seconds, judged trials and timeouts, by nearest rank; {COLD}: its prompt is not in the "
                        "cache of the server; 95 %: rank interval (?: too few trials for that end).", detail=doc.MORE)
    else:
        yield doc.words("No latency was recorded.")
    yield doc.Facts(list(_facts(run)))


def _facts(run: RunReport) -> Iterator[tuple[str, doc.Spans]]:
    tokens, attempts = run.speed.tokens, run.speed.attempts
    for name, column in (("Latency, warm", run.speed.warm), ("Latency, cold", run.speed.cold)):
        if column.n:
            median = f"median {figures.latency(column.median)} s, " if column.median else ""
            timeouts = f", {count_of(column.timeouts, 'timeout')}" if column.timeouts else ""
            yield name, (f"{median}longest judged {seconds(column.longest)} s, of {count_of(column.n, 'trial')}"
                         f"{timeouts}")
    where = measured_on(run.record.sessions)
    if where and (run.speed.warm.n or run.speed.cold.n):
        yield "Measured on", doc.Code(where, 400)
    loads = [session.load_s for session in run.record.sessions if session.load_s is not None]
    if any(loads):
        took = seconds(loads[0]) if len(loads) == 1 else f"{seconds(min(loads))} to {seconds(max(loads))}"
        yield "Loading", f"the model took {took} s to load"
    if run.speed.reloads:
        yield "Loading again", (f"{count_of(run.speed.reloads, 'trial')} waited for the model, up to "
                                f"{seconds(run.speed.longest_reload_s)} s")
    if tokens.trials:
        prompt = "an unknown number" if tokens.prompt is None else f"{tokens.prompt:,}"
        some = f" (by {tokens.prompt_trials:,} of them)" if 0 < tokens.prompt_trials < tokens.trials else ""
        cached = "" if tokens.cached is None else f"; {tokens.cached:,} of those in from the cache"
        yield "Tokens", (f"{prompt} in{some}, {tokens.output:,} out, over {count_of(tokens.trials, 'trial')} that say "
                         f"so{cached}")
    else:
        yield "Tokens", f"no trial of {run.coverage.planned:,} says how many tokens it took"
    if tokens.output_per_second is not None:
        yield "Output speed", (f"{figures.per_second(tokens.output_per_second)} tokens per second (sum of tokens over "
                               "sum of output time)")
    yield "Attempts", (f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts; "
                       f"{count_of(attempts.retries, 'request')} sent again inside a trial")


def _rows(warm: LatencyColumn, cold: LatencyColumn) -> Iterator[Sequence[doc.Cell]]:
    yield "trials", f"{warm.n:,}", "", f"{cold.n:,}", ""
    if warm.timeouts or cold.timeouts:
        yield "of these timeouts", f"{warm.timeouts:,}", "", f"{cold.timeouts:,}", ""
    yield "shortest judged", seconds(warm.shortest), "", seconds(cold.shortest), ""
    for place, one, other in zip(PERCENTS, warm.percentiles, cold.percentiles, strict=True):
        yield f"p{place}", *figures.percentile_cells(place, one), *figures.percentile_cells(place, other)
    yield "longest judged", seconds(warm.longest), "", seconds(cold.longest), ""


def _latencies(warm: LatencyColumn, cold: LatencyColumn) -> DistributionChart:
    from benchkit.pages.curve_charts import DistributionChart, Group, PercentileMark
    longest = max(warm.longest or 0.0, cold.longest or 0.0)
    scale, unit = (1, "s") if longest >= SHORT_S else (1000, "ms")
    groups = []
    for name, column in (("warm", warm), ("cold", cold)):
        marks = []
        for place, found in zip(PERCENTS, column.percentiles, strict=True):
            if found is not None and not found.value.censored:
                low, high = (end.seconds * scale if end is not None and not end.censored else None
                             for end in (found.low, found.high))
                marks.append(PercentileMark(f"p{place}", found.value.seconds * scale, low, high))
        if column.n:
            note = f"{count_of(column.timeouts, 'timeout')} not drawn" if column.timeouts else ""
            drawn = array("d", (latency * scale for latency in column.judged))
            groups.append(Group(name, drawn, tuple(marks), note))
    return DistributionChart("Latency of one trial", tuple(groups), unit, ("judged trial", "judged trials"))
