"""The report page on several runs: side by side, every pair drawn and in words, cases won and lost by name."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of
from benchkit.pages.curve_chart import Curve, CurveChart, curve_chart
from benchkit.pages.html import Child, Html, breakable, element, joined
from benchkit.pages.marks import Tone, badge
from benchkit.pages.parts import bullets, callout, folded_callout, link, paragraph, together
from benchkit.pages.row_chart import Bar, DifferenceRow, RowTitles, bar_chart, difference_chart
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import NOT_AVAILABLE, about_words, number, of, percent, points, probability, rate, spread
from benchkit.reports.page_lead import warning_list
from benchkit.reports.page_parts import line, name, quiet, rate_bar, rate_percent, sentence
from benchkit.reports.page_rates import OPEN_BANDS, curve_points
from benchkit.reports.page_run import RunOnPage
from benchkit.reports.pair_words import Finding, title_of, verdict_of
from benchkit.reports.run_report import suite_at
from benchkit.reports.tally import in_state, never_passed
from benchkit.statistics.estimators import State

MOST_VERDICTS = 6
MOST_CURVES = 6
"""More curves with their bands hide each other."""
_TONES = {Finding.BETTER: Tone.PASS, Finding.WORSE: Tone.FAIL, Finding.NOT_COMPARED: Tone.INCOMPLETE,
          Finding.NOTHING_KNOWN: Tone.INCOMPLETE}


def pair_anchor(number: int) -> str:
    """Where a pair stands, by its place among the pairs."""
    return f"pair-{number + 1}"


def tone_of_finding(finding: Finding) -> Tone:
    """Better, worse, unknown, or none of these."""
    return _TONES.get(finding, Tone.PLAIN)


def pairs_lead(side: SideBySide) -> Html:
    """Which pairs cannot be compared, and the warnings of every run in one box that opens."""
    apart = [verdict_of(side, pair).text for pair in side.pairs if pair.comparison is None]
    more = len(apart) - MOST_VERDICTS
    shown = [sentence(text) for text in apart[:MOST_VERDICTS]] + ([f"And {more} more."] if more > 0 else [])
    lost = callout(Tone.INCOMPLETE, f"{count_of(len(apart), 'pair')} not compared", bullets(shown)) if apart else None
    return joined(lost, _warnings(side))


def _warnings(side: SideBySide) -> Html | None:
    found = [(label, run.warnings) for label, run in zip(side.labels, side.runs, strict=True) if run.warnings]
    if not found:
        return None
    of = ", ".join(f"{len(warnings)} of {line(label)}" for label, warnings in found)
    body = [joined(paragraph(element("strong", name(label))), warning_list(warnings)) for label, warnings in found]
    total = count_of(sum(len(warnings) for _, warnings in found), "warning")
    return folded_callout(Tone.FLAKY, f"{total}: {of}", *body)


def _verdicts(side: SideBySide) -> Iterator[Html]:
    """What every pair says, a line each."""
    yield bullets(_verdict(side, number, pair) for number, pair in enumerate(side.pairs[:MOST_VERDICTS]))
    if len(side.pairs) > MOST_VERDICTS:
        yield quiet(f"And {count_of(len(side.pairs) - MOST_VERDICTS, 'more pair')}: see ",
                    link("pairs", "pair by pair"), ".")


def _verdict(side: SideBySide, number: int, pair: Pair) -> Html:
    finding, found = verdict_of(side, pair).finding, pair.comparison
    rates = (f": {percent(found.candidate_rate)} % against {percent(found.base_rate)} %"
             + (" of judged tries" if any(found.incomplete) else "")
             if found is not None and found.compared else "")
    return joined(badge(tone_of_finding(finding), str(finding)), " ",
                  link(pair_anchor(number), breakable(title_of(side, pair))), rates)


def overview_part(side: SideBySide, runs: Sequence[RunOnPage]) -> Iterator[Html]:
    """All runs in a table and a picture, what every pair says, then the curves and the differences of all pairs."""
    k = min(run.record.trials for run in side.runs)
    yield from _runs_table(side, runs, k)
    yield quiet(f"pass^1: share of tries that pass; pass^{k}: of cases that pass {k} of {count_of(k, 'try', 'tries')} "
                "(a range where incomplete trials leave it open). 95 %: interval for other such cases. Rank: those "
                f"left open at 5 % after Holm over {count_of(side.tests, 'compared pair')}.")
    titles = RowTitles("Share of tries that pass, with 95 % intervals", "run", "pass^1", "pass^1")
    yield from bar_chart(titles, (_rate_bar(run) for run in runs))
    yield from _verdicts(side)
    if k > 1 and len(runs) <= MOST_CURVES:
        yield curve_chart(_chart(runs, k))
        if _is_open(runs):
            yield quiet(sentence(OPEN_BANDS))
    if side.tests:
        yield from _differences(side)


def _runs_table(side: SideBySide, runs: Sequence[RunOnPage], k: int) -> Iterator[Html]:
    last = [number_column(f"pass^{k}"), number_column("95 %")] if k > 1 else []
    columns = [Column("run"), number_column("rank"), number_column("pass^1"), number_column("95 %"), *last,
               number_column("flaky"), number_column("no pass"), number_column("incomplete")]
    yield from table("Runs side by side", columns, (_run_row(side, place, run, k) for place, run in enumerate(runs)))


def _run_row(side: SideBySide, place: int, page: RunOnPage, k: int) -> list[Child]:
    run, rank = page.report, side.ranks[place]
    metrics = [None if (one := suite_at(run, number)) is None else one.hat for number in dict.fromkeys((1, k))]
    rates = [cell for one in metrics
             for cell in (rate_percent(one), NOT_AVAILABLE if one is None else spread(one.low, one.high))]
    counts = (len(in_state(run.cases, State.FLAKY)), len(never_passed(run.cases)))
    label = joined(link(page.anchor("all"), name(page.label)), element("br"),
                   element("span", breakable(line(run.record.system)), class_="quiet"))
    return [label, NOT_AVAILABLE if rank is None else str(rank), *rates,
            *map(number, counts), of(run.totals.incomplete, run.totals.planned)]


def _rate_bar(page: RunOnPage) -> Bar:
    metric = page.report.suite[0].hat if page.report.suite else None
    return rate_bar(link(page.anchor("all"), name(page.label)), metric, rate_percent(metric))


def _is_open(runs: Sequence[RunOnPage]) -> bool:
    return any(run.report.totals.incomplete for run in runs)


def _chart(runs: Sequence[RunOnPage], k: int) -> CurveChart:
    curves = [Curve(run.label, curve_points({one.k: one.hat for one in run.report.suite if one.k <= k},
                                            run.report.coverage.cases)) for run in runs]
    told = "; ".join(f"{run.label}: {rate(one.hat)} %" for run in runs
                     if (one := suite_at(run.report, k)) is not None)
    told += f"; {OPEN_BANDS}" if _is_open(runs) else ""
    return CurveChart("pass^k of every run: all of k tries pass", f"At k = {k:,}: {told}", "k, number of tries",
                      "share of cases", curves)


def _differences(side: SideBySide) -> Iterator[Html]:
    titles = RowTitles("Differences in pass^1, candidate minus base, with 95 % intervals for other such cases",
                       "candidate against base", "difference", "points, p after Holm")
    rows = [_difference(side, number, pair, pair.comparison) for number, pair in enumerate(side.pairs)
            if pair.comparison is not None]
    yield from difference_chart(titles, rows)
    yield quiet("Right of the middle the candidate is better. p: exact sign-flip test, with incomplete trials against "
                "who is ahead; or exchanging trials within each case where that is larger and the numbers of judged "
                f"trials differ{about_words(pair.adjusted_p for pair in side.pairs)}.")


def _difference(side: SideBySide, number: int, pair: Pair, found: Comparison) -> DifferenceRow:
    adjusted = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    note = joined(together(f"{points(found.difference)},"), " ", together(f"p {adjusted}"))
    return DifferenceRow(
        link(pair_anchor(number), breakable(title_of(side, pair))),
        None if found.difference is None else float(found.difference), found.interval.low, found.interval.high, note,
        tone_of_finding(verdict_of(side, pair).finding))
