"""The numbers of a pair: difference, p, bounds, sameness, regressions, latency, what two recordings have in common."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from benchkit.basics.texts import as_given, count_of, verb_for, word_for
from benchkit.render import document as doc
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import (
    NOT_AVAILABLE,
    about_words,
    distance,
    latency,
    percent,
    points,
    points_spread,
    probability,
    share,
    times_as_long,
)
from benchkit.reports.latency_ratio import NOT_SAID, LatencyRatio, measured_on, median_of
from benchkit.reports.paired_cases import Outcome
from benchkit.reports.repeats import FirstDifferenceFacts, Repeat
from benchkit.statistics.lattice_sums import About

Fact: TypeAlias = tuple[str, doc.Spans]

FEW_NAMED, MOST_NAMED = 12, 300
AROUND = 30
"""Characters shown of each of two outputs from where they differ."""


def number_blocks(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[doc.Block]:
    """All that was counted and tested over the common cases: first what decides, then what explains."""
    is_asked = found.margin is not None
    sameness = list(_sameness(found))
    yield doc.Facts([*_test(side, pair, found), *(sameness if is_asked else ()), *_bounds(found), *_counts(found),
                     *_regressions(found), *_left_out(found)])
    more = [*(() if is_asked else sameness), *_latency(side, pair, found), *_repeat(found.repeat)]
    if more:
        yield doc.Facts(more, detail=doc.MORE)


def _test(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[Fact]:
    adjusted = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    holm = f", {adjusted} after Holm over {side.tests} pairs" if side.tests > 1 else ""
    yield "difference", (
        f"{points(found.difference)} points in pass^1 "
        f"(95 %: {points_spread(found.interval.low, found.interval.high)}) over "
        f"{count_of(found.compared, 'case')} judged on both sides")
    yield "p", (f"{p_text(found)}{holm}; the smallest it could be is {probability(found.smallest_p)}, with "
                f"{count_of(found.differing, 'differing case')}")


def p_text(found: Comparison) -> str:
    """The p, by which test, and what it may become as incomplete trials go."""
    by = f"{probability(found.p)} by sign-flip"
    if found.p > found.sign_flip:
        by = (f"{probability(found.p)} by exchanging trials within each case, for the numbers of judged trials differ "
              f"({probability(found.sign_flip)} by sign-flip, which needs equal ones)")
    worst = f", up to {probability(found.p_worst)} as incomplete trials go" if found.p_worst > found.p else ""
    return by + worst + about_words((found.p, found.sign_flip, found.p_worst))


def _sameness(found: Comparison) -> Iterator[Fact]:
    """Nothing of sameness where the two differ and nobody asked."""
    if found.margin is None and found.is_apart:
        return
    smallest = f"the interval lies within {distance(found.smallest_margin, found.margin)} points of no difference"
    if any(found.incomplete):
        smallest += ", whatever becomes of the incomplete trials"
    if found.margin is None:
        yield "sameness", f"{smallest}: no smaller margin could call them the same"
        return
    answer = "the same" if found.same_within_margin else "not shown to be the same"
    yield "sameness", f"{answer} within {as_given(found.margin)} points; {smallest}"


def _bounds(found: Comparison) -> Iterator[Fact]:
    base, candidate = found.incomplete
    if found.bounds is None or not base + candidate:
        return
    who = f"the {found.robust} is ahead either way" if found.robust else "who is ahead is open"
    yield "incomplete", (
        f"{count_of(base, 'trial')} of the base and {candidate:,} of the candidate: as they go, the difference is "
        f"{points_spread(found.bounds.low, found.bounds.high)} points; {who}")


def _counts(found: Comparison) -> Iterator[Fact]:
    counts = {outcome: len(found.with_outcome(outcome)) for outcome in Outcome}
    unknown = f", {counts[Outcome.UNKNOWN]:,} not judged on both sides" if counts[Outcome.UNKNOWN] else ""
    yield "cases", (f"{counts[Outcome.LOST]:,} lost, {counts[Outcome.WON]:,} won, "
                    f"{counts[Outcome.TIED]:,} tied{unknown}")


def _regressions(found: Comparison) -> Iterator[Fact]:
    """How many cases stopped passing every time, how many began to, and which may have stopped."""
    fallen, before, p = len(found.regressions), found.passed_every_time, found.mirror_p
    yield "regressions", (f"{share(fallen, before)} {word_for(before, 'case')} that passed every time "
                          f"{verb_for(fallen, before, 'does', 'do')} not any more")
    if p is not None and fallen + found.progressed:
        yield "changes", (f"{fallen:,} stopped passing every time, {found.progressed:,} began to: p {probability(p)} "
                          f"by the {'' if isinstance(p, About) else 'exact '}sign test")
    may = [case.id for case in found.open_regressions]
    if may:
        yield "open", (f"{count_of(len(may), 'case')} may have regressed: not all trials were judged: ",
                       *cut_short([doc.Code(one, 60) for one in may], FEW_NAMED))


def _left_out(found: Comparison) -> Iterator[Fact]:
    for side, ids in (("base", found.only_base), ("candidate", found.only_candidate)):
        if ids:
            names = cut_short([doc.Code(one, 60) for one in ids], MOST_NAMED)
            yield "left out", (f"{count_of(len(ids), 'case')} of the {side} only: ", *names)


def _latency(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[Fact]:
    yield from (("latency", latency_text(ratio)) for ratio in found.latency)
    hardware = [measured_on(side.runs[one].record.sessions) for one in (pair.candidate, pair.base)]
    if found.latency and any(hardware):
        told = dict.fromkeys(text or NOT_SAID for text in hardware)
        yield "measured on", doc.listed((doc.Code(text, 200) for text in told), " against ")


def latency_text(ratio: LatencyRatio) -> str:
    """The medians of both sides, and how much longer the candidate takes."""
    sides = (f"{latency(median_of(ratio.candidate))} s against {latency(median_of(ratio.base))} s, medians of "
             f"{ratio.candidate.n:,} and {count_of(ratio.base.n, f'{ratio.warmth} trial')}")
    return sides if ratio.ratio is None else f"{sides}: {times_as_long(ratio.ratio)}"


def _repeat(repeat: Repeat | None) -> Iterator[Fact]:
    """What two recordings of one system have in common; nothing for two systems."""
    if repeat is None:
        return
    yield "same system", (
        f"{'one recording' if repeat.is_one_log else 'two recordings'}; did anything change in these same cases? p "
        f"{probability(repeat.p)}, permuting the labels within each case")
    for one in repeat.repetitions:
        yield "outputs", (f"{one.warmth}: {share(one.outputs.equal, one.outputs.compared)} equal, and "
                          f"{share(one.verdicts.equal, one.verdicts.compared)} verdicts")
    if not repeat.repetitions:
        yield "outputs", "no trial gave one on both sides"
    yield from (("errors", text) for text in repeat.errors.texts("the base", "the candidate"))
    if repeat.only_base or repeat.only_candidate:
        yield "one-sided", (f"{count_of(repeat.only_base, 'trial')} ran in the base only, {repeat.only_candidate:,} in "
                            "the candidate only")
    base, candidate = (NOT_AVAILABLE if one is None else f"{percent(one)} %"
                       for one in (repeat.self_base, repeat.self_candidate))
    yield "by itself", (f"two warm outputs of one case are equal in {base} of pairs inside the base, {candidate} "
                        "inside the candidate")
    if repeat.parting is not None:
        yield "parting", _parting(repeat.parting)
    elif repeat.repetitions:
        yield "parting", "no output differs: an observation, not a promise"


def _parting(parting: FirstDifferenceFacts) -> tuple[doc.Span, ...]:
    at, outputs = parting.character, (parting.base.output, parting.candidate.output)
    pieces = () if at is None else tuple(doc.Code(_piece(text, at), 200) for text in outputs if text is not None)
    where = ((f", at character {at + 1}: ", pieces[0], " in the base, ", pieces[1], " in the candidate")
             if at is not None and len(pieces) == 2 else (", where a side has no output",))
    return (f"first in trial {parting.trial.trial} of ", doc.Code(parting.trial.case, 60), f" ({parting.warmth})",
            *where, f"; verdicts {parting.base.verdict} and {parting.candidate.verdict}")


def _piece(text: str, at: int) -> str:
    if at >= len(text):
        return "the end"
    return json.dumps(text[at:at + AROUND], ensure_ascii=False) + ("..." if at + AROUND < len(text) else "")


def cut_short(names: Sequence[doc.Span], most: int) -> tuple[doc.Span, ...]:
    """So many of some names, and how many more there are."""
    return *doc.listed(names[:most]), f" and {len(names) - most:,} more" if len(names) > most else ""
