"""A report as a document: of one run, of several side by side; its first screen; one case; and its formats."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from benchkit import VERSION
from benchkit.basics.texts import count_of
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.as_text import as_text
from benchkit.render.columns import NO_PAINT, Paint
from benchkit.reports import figures
from benchkit.reports.comparison import SideBySide
from benchkit.reports.figures import NOT_AVAILABLE, of, percent, points, points_spread, probability, rate, spread
from benchkit.reports.paired_cases import CaseOutcome
from benchkit.reports.run_report import RunReport, suite_at
from benchkit.reports.sections import cases, pairs
from benchkit.reports.sections import run as of_run
from benchkit.reports.sections.anchors import Anchors, anchors_of
from benchkit.reports.sections.lead import first_blocks, lead_blocks, warning_list
from benchkit.reports.sections.run import OPEN_BANDS, curve_points, rate_bar
from benchkit.reports.tally import in_state, never_passed
from benchkit.reports.verdicts import of_tries, verdict_of
from benchkit.statistics.estimators import State

if TYPE_CHECKING:
    from benchkit.pages.curve_charts import CurveChart

RUNS, PAIRS = doc.Cut(None, 640, "run"), doc.Cut(None, 640, "pair")
MOST_APART, MOST_VERDICTS, MOST_CURVES = 6, 6, 6
"""Reasons and verdicts in words; curves, which hide each other with their bands if there are more."""
MOST_IN_TITLE, MOST_IN_FOOTER = 3, 10


def document_of(side: SideBySide, anchors: Sequence[Anchors] = ()) -> doc.Document:
    """The report of one run, or of several that are compared; with anchors also the details of its trials."""
    places = anchors or [Anchors()] * len(side.runs)
    titles = [(doc.Code(label), ": ", doc.Code(run.record.system))
              for label, run in zip(side.labels, side.runs, strict=True)]
    if len(side.runs) == 1:
        run = side.runs[0]
        return doc.Document(titles[0], partial(lead_blocks, run), run_sections(run, places[0]), _footer(side.labels))
    indices = [{case.id: place for place, case in enumerate(run.cases)} for run in side.runs]
    sections = [
        *comparison_sections(side, [f"run-{number}-all" for number in range(1, len(side.runs) + 1)],
                             lambda run, case: places[run].case(indices[run][case])),
        *(doc.Section(f"run-{number}-all", title, partial(_whole_run, run, place), is_part=True)
          for number, (title, run, place) in enumerate(zip(titles, side.runs, places, strict=True), 1))]
    title = (f"{count_of(len(side.runs), 'run')}: ", *_names(side.labels, MOST_IN_TITLE))
    return doc.Document(title, partial(comparison_lead, side), sections, _footer(side.labels))


def _names(labels: Sequence[str], most: int) -> Sequence[doc.Span]:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return *doc.listed(map(doc.Code, labels[:most])), more


def _footer(labels: Sequence[str]) -> doc.Spans:
    """How a report was made, by which kit, from what."""
    records, give = ("record", "gives") if len(labels) == 1 else ("records", "give")
    return (f"Made by report.py, kit {VERSION}, from the run {records} ", *_names(labels, MOST_IN_FOOTER),
            f" alone: the same {records} {give} the same bytes. ", doc.Code("python3 report.py RUN --case ID"),
            " shows every output.")


def _whole_run(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    yield from lead_blocks(run)
    yield from run_sections(run, anchors)


def run_sections(run: RunReport, anchors: Anchors) -> list[doc.Section]:
    """What is said of one run, in the order in which a person asks; details of trials only where they have anchors."""
    sections = [
        ("coverage", "How much is known", partial(of_run.coverage_blocks, run), doc.LEAD),
        ("rates", "How often it passes", partial(of_run.rate_blocks, run), doc.LEAD),
        ("failures", "Why trials failed", partial(of_run.failure_blocks, run), doc.LEAD),
        ("flaky", "Flaky cases", partial(cases.flaky_blocks, run, anchors), doc.LEAD),
        ("never", "Cases without a pass", partial(cases.never_blocks, run, anchors), doc.LEAD),
        ("incomplete", "Incomplete trials", partial(of_run.unjudged_blocks, run), doc.LEAD),
        ("tags", "By tag", partial(of_run.tag_blocks, run), doc.MORE),
        ("grid", "Every trial", partial(cases.all_blocks, run, anchors), doc.MORE),
        ("cases", "Case by case", partial(cases.bar_blocks, run, anchors), doc.ALL),
        ("speed", "Latency, tokens, attempts", partial(of_run.speed_blocks, run), doc.LEAD),
        ("about", "What was run", partial(of_run.about_blocks, run), doc.MORE),
        ("details", "Input, output and checks", partial(cases.detail_blocks, run, anchors), doc.ALL)]
    return [doc.Section(anchors.prefix + name, title, blocks, detail=detail) for name, title, blocks, detail in sections
            if name != "details" or anchors.detailed]


# several runs side by side


def comparison_sections(side: SideBySide, run_anchors: Sequence[str] = (),
                        case_anchor: pairs.CaseAnchor = pairs.nowhere) -> Iterator[doc.Section]:
    """What is said of several runs before each of them; the anchors are those of runs and of their cases."""
    anchors = run_anchors or [""] * len(side.runs)
    yield doc.Section("overview", "Side by side", partial(_overview_blocks, side, anchors))
    if side.tests:
        yield doc.Section("pairs", "Pair by pair", partial(pairs.compared_blocks, side, case_anchor))


def comparison_lead(side: SideBySide) -> Iterator[doc.Block]:
    """What must not be overlooked of several runs: the pairs that are not compared, why, and the warnings of each."""
    apart = [verdict_of(side, pair).text for pair in side.pairs if pair.comparison is None]
    if apart:
        more = len(apart) - MOST_APART
        rest = [doc.quiet(f"And {more:,} more."), doc.Fold("All of them", [doc.Bullets(apart)], detail=doc.ALL)]
        yield doc.Callout(Tone.INCOMPLETE, f"{count_of(len(apart), 'pair')} not compared",
                          [doc.Bullets(apart[:MOST_APART]), *(rest if more > 0 else ())])
    told = [(label, run.warnings) for label, run in zip(side.labels, side.runs, strict=True) if run.warnings]
    if told:
        counts = [span for label, warnings in told for span in (", ", f"{len(warnings)} of ", doc.Code(label))]
        total = count_of(sum(len(warnings) for _, warnings in told), "warning")
        yield doc.Callout(Tone.FLAKY, (f"{total}: ", *counts[1:]), [
            block for label, warnings in told
            for block in (doc.words(doc.Strong(doc.Code(label))), warning_list(warnings))], folded=True, detail=doc.ALL)


def _overview_blocks(side: SideBySide, anchors: Sequence[str]) -> Iterator[doc.Block]:
    """All runs in a table and a picture, what every pair says, the curves, and the differences of all pairs."""
    k = min(run.record.trials for run in side.runs)
    names = [doc.Link(anchor, doc.Code(label)) for anchor, label in zip(anchors, side.labels, strict=True)]
    all_pass = f"; pass^{k}: how often all of {k} pass" if k > 1 else ""
    yield _rates(side, names, k)
    yield doc.quiet(f"In percent. pass^1: how often one try passes{all_pass} (a range where incomplete trials leave it "
                    "open). 95 %: interval for other such cases. rank: what is left open at 5 % after Holm over "
                    f"{count_of(side.tests, 'compared pair')}.")
    firsts = [run.suite[0].hat if run.suite else None for run in side.runs]
    yield doc.Chart(doc.Bars("Share of tries that pass, with 95 % intervals", "run", "pass^1", "pass^1", [
        rate_bar(name, first, NOT_AVAILABLE if first is None else f"{rate(first)} %")
        for name, first in zip(names, firsts, strict=True)]))
    yield doc.Bullets([_verdict(side, number) for number in range(len(side.pairs))[:MOST_VERDICTS]], detail=doc.ALL)
    if len(side.pairs) > MOST_VERDICTS:
        more = count_of(len(side.pairs) - MOST_VERDICTS, "more pair")
        yield doc.quiet(f"And {more}: see ", doc.Link("pairs", "pair by pair"), ".", detail=doc.ALL)
    yield doc.Table("What was run", [
        doc.flexible("run"), doc.number("cases"), doc.number("flaky"), doc.number("no pass"), doc.number("trials"),
        doc.number("warnings"), doc.flexible("system")], [
        (name, len(run.cases), len(in_state(run.cases, State.FLAKY)), len(never_passed(run.cases)), run.record.trials,
         len(run.warnings), doc.Code(run.record.system))
        for name, run in zip(names, side.runs, strict=True)], RUNS, detail=doc.MORE)
    if k > 1 and len(side.runs) <= MOST_CURVES:
        is_open = any(run.totals.incomplete for run in side.runs)
        yield doc.Chart(partial(_curves, side, k, is_open), f"In the picture, {OPEN_BANDS}." if is_open else "")
    if side.tests:
        yield _differences(side)


def _rates(side: SideBySide, names: Sequence[doc.Link], k: int) -> doc.Table:
    """Both rates of every run, its rank, and what is incomplete."""
    ks = list(dict.fromkeys((1, k)))
    titles = [column for one in ks for column in (doc.number(f"pass^{one}"), doc.number("95 %"))]
    rows = list[Sequence[doc.Cell]]()
    for name, run, rank in zip(names, side.runs, side.ranks, strict=True):
        found = [suite_at(run, one) for one in ks]
        cells = [cell for one in found for cell in (
            (rate(one.hat), spread(one.hat.low, one.hat.high)) if one else (NOT_AVAILABLE, NOT_AVAILABLE))]
        rows.append((name, *cells, str(rank or NOT_AVAILABLE), of(run.totals.incomplete, run.totals.planned)))
    columns = [doc.flexible("run"), *titles, doc.number("rank"), doc.Column("incomplete")]
    return doc.Table("Runs side by side", columns, rows, RUNS)


def _verdict(side: SideBySide, number: int) -> doc.Spans:
    finding, found = verdict_of(side, side.pairs[number]).finding, side.pairs[number].comparison
    rates = (f", {percent(found.candidate_rate)} % against {percent(found.base_rate)} %{of_tries(found)}"
             if found is not None and found.compared else "")
    return (*_linked_title(side, number), ": ", doc.Mark(str(finding), pairs.tone_of(finding)), rates)


def _linked_title(side: SideBySide, number: int) -> tuple[doc.Span, ...]:
    return pairs.pair_title(side, side.pairs[number], pairs.pair_anchor(side, number))


def _curves(side: SideBySide, k: int, is_open: bool) -> CurveChart:
    from benchkit.pages.curve_charts import Curve, CurveChart
    runs = list(zip(side.labels, side.runs, strict=True))
    curves = [Curve(label, curve_points({one.k: one.hat for one in run.suite if one.k <= k}, run.coverage.cases))
              for label, run in runs]
    told = "; ".join(f"{label}: {rate(one.hat)} %" for label, run in runs if (one := suite_at(run, k)) is not None)
    return CurveChart("pass^k of every run: all of k tries pass",
                      f"At k = {k:,}: {told}{f'; {OPEN_BANDS}' if is_open else ''}", "k, number of tries",
                      "share of cases", curves)


def _differences(side: SideBySide) -> doc.Chart:
    """All pairs that are compared, in a picture and as a table."""
    rows, bars = list[Sequence[doc.Cell]](), list[doc.Bar]()
    for number, pair in enumerate(side.pairs):
        if (one := pair.comparison) is not None:
            title, (low, high) = _linked_title(side, number), (one.interval.low, one.interval.high)
            p = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
            bars.append(doc.Bar(title, None if one.difference is None else float(one.difference), low, high,
                                f"{points(one.difference)}, p\u00a0{p}", pairs.tone_of(verdict_of(side, pair).finding)))
            counts = (len(one.with_outcome(outcome)) for outcome in (
                CaseOutcome.LOST, CaseOutcome.WON, CaseOutcome.TIED))
            rows.append((title, percent(one.candidate_rate), percent(one.base_rate), points(one.difference),
                         points_spread(low, high), p, *counts, len(one.regressions)))
    columns = [doc.flexible("candidate against base"), doc.number("candidate", "pass^1"), doc.number("base", "pass^1"),
               *map(doc.number, ("points", "95 %", "p", "lost", "won", "tied", "regressed"))]
    holm = f", after Holm over {side.tests} pairs" if side.tests > 1 else ""
    return doc.Chart(
        doc.Bars("Differences in pass^1, candidate minus base, with 95 % intervals for other such cases",
                 "candidate against base", "difference", "points, p", bars, PAIRS, is_signed=True),
        "Over the cases in which both judged a trial; above 0 the candidate is better. p: sign-flip test, or "
        "exchanging trials within each case where that is larger and the numbers of judged trials differ"
        f"{figures.about_words(pair.adjusted_p for pair in side.pairs)}; with incomplete trials against who is ahead"
        f"{holm}. regressed: cases that passed every time and do not any more.",
        [doc.Table("Differences", columns, rows, PAIRS)], detail=doc.MORE)


# the formats


def text_report(side: SideBySide, paint: Paint = NO_PAINT, is_full: bool = False) -> Iterator[str]:
    """The report for a terminal, line by line: what a person wants to know first, or all of it."""
    yield from as_text(document_of(side), paint, is_full)
    if not is_full:
        yield from ("\n", "This is what comes first; --full prints all, --case ID all trials of a case.\n")


def markdown_report(side: SideBySide) -> Iterator[str]:
    """The report for a pull request: all of it fits a comment, whatever it is about."""
    from benchkit.render.as_markdown import COMMENT, as_markdown
    return as_markdown(document_of(side), COMMENT)


def page_report(side: SideBySide) -> Iterator[str]:
    """The report as one self-contained page, with every trial of a run of up to 10,000."""
    from benchkit.render.as_html import as_html
    return as_html(document_of(side, anchors_of(side.runs)))


def first_screen(run: RunReport, paint: Paint = NO_PAINT) -> str:
    """About twenty lines after a run."""
    return "".join(as_text(doc.Document("", partial(first_blocks, run), ()), paint))


def case_report(runs: Sequence[RunReport], case_id: str, paint: Paint = NO_PAINT) -> Iterator[str]:
    """A case with all its trials in each of the runs, line by line. Raises KeyError where a run has no such case."""
    return as_text(doc.Document("", (), [cases.case_section(run, case_id) for run in runs]), paint, is_full=True)
