"""The Markdown report on several runs: side by side, every pair compared, and the pairs that are not, and why."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import as_given, count_of
from benchkit.pages.markdown import Markdown, bullets, code, folded, heading, paragraph, strong, warning, words
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import (
    NOT_AVAILABLE,
    about_words,
    distance,
    number,
    percent,
    points,
    points_spread,
    probability,
    rate,
    share,
)
from benchkit.reports.markdown_parts import (
    FEW_ROWS,
    LONGEST_NAME,
    LONGEST_TEXT,
    Room,
    cut_table,
    left,
    left_out,
    own,
    right,
)
from benchkit.reports.pair_words import latency_measured_on, latency_text, p_text, regression_facts, verdict_of
from benchkit.reports.paired_cases import CaseDifference, Outcome
from benchkit.reports.repeats import Repeat
from benchkit.reports.tally import in_state, never_passed
from benchkit.reports.text_cases import passed_cell
from benchkit.statistics.estimators import State


def overview(beside: SideBySide, most: int) -> Iterator[Markdown]:
    """Heading and table of all runs, best ranks possible in it."""
    yield heading(2, own(f"{len(beside.runs)} runs"))
    columns = [left("run"), left("system"), right("rank"), right("`pass^1` %"), right("`pass^k` %"), right("k"),
               right("flaky"), right("no pass"), right("incomplete"), right("warnings")]
    rows = [_overview_row(beside, place) for place in range(len(beside.runs))]
    yield cut_table("run", columns, rows, most)


def _overview_row(beside: SideBySide, place: int) -> list[Markdown]:
    run, rank = beside.runs[place], beside.ranks[place]
    rates = [own(rate(run.suite[end].hat if run.suite else None)) for end in (0, -1)]
    counts = (run.record.trials, len(in_state(run.cases, State.FLAKY)), len(never_passed(run.cases)),
              run.totals.incomplete, len(run.warnings))
    return [code(beside.labels[place], LONGEST_NAME), code(run.record.system, LONGEST_NAME),
            own(NOT_AVAILABLE if rank is None else str(rank)), *rates, *(own(number(count)) for count in counts)]


def pairs_part(beside: SideBySide, room: Room) -> Iterator[Markdown]:
    """All compared pairs in a table, then what each of them hides, then the pairs that are not compared."""
    compared = [(pair, pair.comparison) for pair in beside.pairs if pair.comparison is not None]
    if compared:
        yield heading(3, own("Compared"))
        columns = [left("base"), left("candidate"), right("cases"), right("base %"), right("candidate %"),
                   right("difference"), right("95 %"), right("p"), right("p, Holm"), left("won, lost, tied"),
                   right("regressions")]
        yield cut_table("pair", columns, [_pair_row(beside, pair, found) for pair, found in compared], room.named)
        yield paragraph(own(
            "Means of `pass^1` over the cases in which both judged a trial; difference: points, candidate minus base; "
            "p: exact sign-flip test, or exchanging trials within each case where that is larger and the numbers of "
            f"judged trials differ{about_words(p for pair, found in compared for p in (found.p, pair.adjusted_p))}; "
            "Holm: the largest as incomplete trials go, corrected for "
            f"{count_of(beside.tests, 'pair')}; "
            "regression: a case that passed every time and does not any more."))
    for pair, found in compared[:room.told]:
        yield from _details(beside, pair, found, room.pair_rows)
    yield from left_out(len(compared) - room.told, "detailed pair")
    yield from _not_compared(beside, room.named)


def _pair_row(beside: SideBySide, pair: Pair, found: Comparison) -> list[Markdown]:
    counts = ", ".join(str(len(found.with_outcome(one))) for one in (Outcome.WON, Outcome.LOST, Outcome.TIED))
    adjusted = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    return [*_names(beside, pair), own(number(found.compared)), own(percent(found.base_rate)),
            own(percent(found.candidate_rate)), own(points(found.difference)),
            own(points_spread(found.interval.low, found.interval.high)), own(probability(found.p)), own(adjusted),
            own(counts), own(number(len(found.regressions)))]


def _names(beside: SideBySide, pair: Pair) -> tuple[Markdown, Markdown]:
    return code(beside.labels[pair.base], LONGEST_NAME), code(beside.labels[pair.candidate], LONGEST_NAME)


def _details(beside: SideBySide, pair: Pair, found: Comparison, most: int) -> Iterator[Markdown]:
    base, candidate = _names(beside, pair)
    yield heading(4, candidate, own("against"), base)
    yield paragraph(verdict_of(beside, pair).text)
    yield warning(words(code(caution.code), caution.text) for caution in found.warnings)
    yield bullets(_facts(beside, pair, found, most))
    lost = [case for case in found.with_outcome(Outcome.LOST) if not case.is_regression]
    other = "other " if found.regressions else ""
    for words_for, cases in ((("regression", "regressions"), found.regressions),
                             ((f"{other}case lost", f"{other}cases lost"), lost),
                             (("case won", "cases won"), found.with_outcome(Outcome.WON))):
        if cases:
            yield _cases(count_of(len(cases), *words_for), cases, most)


def _facts(beside: SideBySide, pair: Pair, found: Comparison, most: int) -> Iterator[str]:
    if any(found.incomplete) and found.bounds is not None:
        ahead = f"the {found.robust} is ahead however they go" if found.robust else "nobody is ahead however they go"
        of_base, of_candidate = found.incomplete
        yield own(f"incomplete trials ({of_base} of the base, {of_candidate} of the candidate) leave the difference "
                  f"between {points(found.bounds.low)} and {points(found.bounds.high)}: {ahead}")
    if found.margin is not None:
        same = "the same" if found.same_within_margin else "not shown to be the same"
        yield own(f"within {as_given(found.margin)} points: {same} "
                  f"(smallest margin: {distance(found.smallest_margin, found.margin)})")
    yield own(f"p: {p_text(found)}; smallest that these cases could reach: {probability(found.smallest_p)}")
    yield from (text for _, text in list(regression_facts(found, most))[1:])
    yield from (own(f"latency: {latency_text(ratio)}") for ratio in found.latency)
    hardware = [code(one, LONGEST_TEXT) for one in latency_measured_on(beside, pair, found)]
    if hardware:
        yield words(own("measured on"), hardware[0], *(part for one in hardware[1:] for part in (own("against"), one)))
    if found.only_base or found.only_candidate:
        yield own(f"left out: {count_of(len(found.only_base), 'case')} of the base alone, "
                  f"{len(found.only_candidate)} of the candidate alone")
    if found.repeat is not None:
        yield from _repeat(found.repeat)


def _repeat(repeat: Repeat) -> Iterator[Markdown]:
    yield own(f"{'one recording' if repeat.is_one_log else 'two recordings'} of one system: within-case p "
              f"{probability(repeat.p)}")
    for one in repeat.repetitions:
        yield own(f"{one.warmth} trials: {share(one.outputs.equal, one.outputs.compared)} outputs and "
                  f"{share(one.verdicts.equal, one.verdicts.compared)} verdicts are equal")
    yield from map(own, repeat.errors.texts("the base", "the candidate"))


def _cases(title: str, cases: Sequence[CaseDifference], most: int) -> Markdown:
    columns = [left("case"), left("base passed"), left("candidate passed"), right("difference")]
    shown = cut_table("case", columns, [
        [code(case.id, LONGEST_NAME), own(passed_cell(case.base)), own(passed_cell(case.candidate)),
         own(points(case.difference))] for case in cases], most)
    return folded(own(title), shown) if len(cases) > FEW_ROWS else Markdown(paragraph(strong(own(title))) + shown)


def _not_compared(beside: SideBySide, most: int) -> Iterator[Markdown]:
    apart = [pair for pair in beside.pairs if pair.incompatibilities]
    if apart:
        yield heading(3, own("Not compared"))
        yield bullets(words(_both(beside, pair), incompatibility.text)
                      for pair in apart[:most] for incompatibility in pair.incompatibilities)
        yield from left_out(len(apart) - most, "pair")


def _both(beside: SideBySide, pair: Pair) -> Markdown:
    base, candidate = _names(beside, pair)
    return words(base, own("and"), candidate, own("are not compared:"))
