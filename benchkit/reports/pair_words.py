"""What two runs say about each other, in sentences and labelled facts for any renderer. A large p is no sameness."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from benchkit.basics.texts import as_given, count_of, shown_line, verb_for, word_for
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
from benchkit.reports.repeats import FirstDifferenceFacts, Repeat
from benchkit.statistics.lattice_sums import About
from benchkit.statistics.permutation import ALPHA

LONGEST_LABEL = 40


class Finding(StrEnum):
    """What kind of answer a comparison gives."""

    NOT_COMPARED = "not compared"
    NOTHING_KNOWN = "nothing known"
    BETTER = "better"
    WORSE = "worse"
    SAME_WITHIN_MARGIN = "same within margin"
    NOT_DECIDED = "not decided"
    TOO_FEW_DIFFER = "too few differ"
    NOT_TOLD_APART = "not told apart"


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The finding, and its sentence."""

    finding: Finding
    text: str


def label_of(side: SideBySide, run: int) -> str:
    """The name of a run, short enough for a sentence."""
    return shown_line(side.labels[run], LONGEST_LABEL)


def title_of(side: SideBySide, pair: Pair) -> str:
    """`candidate against base`."""
    return f"{label_of(side, pair.candidate)} against {label_of(side, pair.base)}"


def verdict_of(side: SideBySide, pair: Pair) -> PairVerdict:
    """What the pair says, at 5 % after Holm."""
    base, candidate = label_of(side, pair.base), label_of(side, pair.candidate)
    comparison = pair.comparison
    if comparison is None or pair.adjusted_p is None:
        reasons = "; ".join(incompatibility.text for incompatibility in pair.incompatibilities)
        return PairVerdict(Finding.NOT_COMPARED, f"{candidate} and {base} are not compared: {reasons}")
    if not comparison.compared:
        return PairVerdict(Finding.NOTHING_KNOWN, (
            f"nothing is known: in none of {count_of(len(comparison.cases), 'common case')} did both runs judge a "
            "trial"))
    finding = _finding(comparison, pair)
    sentence = _MAY_TURN if finding is Finding.NOT_DECIDED and comparison.may_turn else _SENTENCES[finding]
    return PairVerdict(finding, sentence.format(
        base=base, candidate=candidate, rates=_rates(comparison), within=_within(comparison),
        why=_why_open(comparison, pair), margin=as_given(comparison.margin or 0),
        way="more" if comparison.interval.low > 0 else "less", open=_open(comparison),
        spread=points_spread(comparison.interval.low, comparison.interval.high),
        around=points_spread(comparison.open_interval.low, comparison.open_interval.high)))


_SENTENCES = {
    Finding.BETTER: "{candidate} passes more often than {base}: {rates}{within}",
    Finding.WORSE: "{candidate} passes less often than {base}: {rates}{within}",
    Finding.SAME_WITHIN_MARGIN: "{candidate} and {base} are the same within {margin} points: {rates}",
    Finding.NOT_DECIDED: (
        "{candidate} passes {way} often than {base} in these cases: {rates}, and the interval excludes no difference "
        "({spread} points); but {why}"),
    Finding.TOO_FEW_DIFFER: (
        "{candidate} and {base} cannot be told apart: {rates}, but {why}"),
    Finding.NOT_TOLD_APART: (
        "{candidate} and {base} are not told apart: {rates}; on other such cases the difference may lie anywhere from "
        "{around} points"),
}
_MAY_TURN = "which of {candidate} and {base} passes more often is not decided: {rates}, but {open}"


def _finding(comparison: Comparison, pair: Pair) -> Finding:
    if pair.adjusted_p is not None and pair.adjusted_p < ALPHA and comparison.difference:
        return Finding.BETTER if comparison.difference > 0 else Finding.WORSE
    if comparison.same_within_margin:
        return Finding.SAME_WITHIN_MARGIN
    if comparison.is_apart or (comparison.may_turn and comparison.p < ALPHA):
        return Finding.NOT_DECIDED
    return Finding.TOO_FEW_DIFFER if _too_few_differ(pair) else Finding.NOT_TOLD_APART


def _too_few_differ(pair: Pair) -> bool:
    return pair.smallest_adjusted_p is not None and pair.smallest_adjusted_p >= ALPHA


def _why_open(comparison: Comparison, pair: Pair) -> str:
    if _too_few_differ(pair):
        return (f"only {comparison.differing:,} of {count_of(comparison.compared, 'case')} "
                f"{verb_for(comparison.differing, comparison.compared, 'differs', 'differ')}, and no p below "
                f"{_p(pair.smallest_adjusted_p)} can come of that")
    return f"p is {_p(pair.adjusted_p)}"


def _open(comparison: Comparison) -> str:
    """What incomplete trials leave open."""
    number, bounds = sum(comparison.incomplete), comparison.bounds
    around = NOT_AVAILABLE if bounds is None else points_spread(bounds.low, bounds.high)
    return (f"{count_of(number, 'incomplete trial')} {'leaves' if number == 1 else 'leave'} a difference of {around} "
            f"points open (p up to {probability(comparison.p_of_finding)})")


def _p(value: Fraction | None) -> str:
    return NOT_AVAILABLE if value is None else probability(value)


def _rates(comparison: Comparison) -> str:
    judged = "judged tries" if any(comparison.incomplete) else "tries"
    return f"{percent(comparison.candidate_rate)} % against {percent(comparison.base_rate)} % of {judged}"


def _within(comparison: Comparison) -> str:
    return f" (and both are the same within {as_given(comparison.margin or 0)} points)" if (
        comparison.same_within_margin) else ""


Fact: TypeAlias = tuple[str, str]
"""A label, which is empty where the one before goes on, and its text."""
AROUND = 30
"""Letters shown of each of two outputs from where they part."""


def number_facts(side: SideBySide, pair: Pair, comparison: Comparison) -> Iterator[Fact]:
    """All that was counted and tested over the common cases."""
    yield from _test_facts(side, pair, comparison)
    yield from _margin_facts(comparison)
    yield from _bounds_facts(comparison)
    yield from (("latency", latency_text(ratio)) for ratio in comparison.latency)
    hardware = latency_measured_on(side, pair, comparison)
    if hardware:
        yield "measured on", " against ".join(shown_line(one) for one in hardware)
    yield from _repeat_facts(comparison.repeat)
    for label, ids in (("only in base", comparison.only_base), ("only here", comparison.only_candidate)):
        if ids:
            yield label, f"{count_of(len(ids), 'case')} left out: {listed(ids)}"


def _test_facts(side: SideBySide, pair: Pair, comparison: Comparison) -> Iterator[Fact]:
    yield "difference", (
        f"{points(comparison.difference)} points in pass^1 (95 %: "
        f"{points_spread(comparison.interval.low, comparison.interval.high)}) over "
        f"{count_of(comparison.compared, 'case')} judged on both sides")
    adjusted = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    yield "p", (
        p_text(comparison)
        + (f", {adjusted} after Holm over {side.tests} pairs" if side.tests > 1 else "")
        + f"; the smallest it could be is {probability(comparison.smallest_p)}, with "
        f"{count_of(comparison.differing, 'differing case')}")


def p_text(comparison: Comparison) -> str:
    """The p, by which test, and what it may become as incomplete trials go."""
    found = f"{probability(comparison.p)} by sign-flip"
    if comparison.p > comparison.sign_flip:
        found = (f"{probability(comparison.p)} by exchanging trials within each case, for the numbers of judged "
                 f"trials differ ({probability(comparison.sign_flip)} by sign-flip, which needs equal ones)")
    if comparison.p_worst > comparison.p:
        found += f", up to {probability(comparison.p_worst)} as incomplete trials go"
    return found + about_words((comparison.p, comparison.sign_flip, comparison.p_worst))


def regression_facts(comparison: Comparison, most: int | None = None) -> Iterator[Fact]:
    """How many cases stopped passing every time, how many began to, and which may have stopped: `most` by name."""
    fallen, may, p = len(comparison.regressions), comparison.open_regressions, comparison.mirror_p
    before = comparison.passed_every_time
    yield "regressions", (f"{share(fallen, before)} {word_for(before, 'case')} that passed every time "
                          f"{verb_for(fallen, before, 'does', 'do')} not any more")
    if p is not None and fallen + comparison.progressed:
        yield "", (f"{fallen:,} stopped passing every time, {comparison.progressed:,} began to: p "
                            f"{probability(p)} by the {'' if isinstance(p, About) else 'exact '}sign test")
    if may:
        yield "", (f"{count_of(len(may), 'case')} may have regressed: not all trials were judged: "
                             f"{listed((case.id for case in may), most)}")


def _margin_facts(comparison: Comparison) -> Iterator[Fact]:
    """Nothing of sameness where the two differ and nobody asked."""
    if comparison.margin is None and comparison.is_apart:
        return
    farthest = distance(comparison.smallest_margin, comparison.margin)
    smallest = f"the interval lies within {farthest} points of no difference"
    if any(comparison.incomplete):
        smallest += ", whatever becomes of the incomplete trials"
    if comparison.margin is None:
        yield "sameness", f"{smallest}: no smaller margin could call them the same"
        return
    answer = "the same" if comparison.same_within_margin else "not shown to be the same"
    yield "sameness", f"{answer} within {as_given(comparison.margin)} points; {smallest}"


def _bounds_facts(comparison: Comparison) -> Iterator[Fact]:
    base, candidate = comparison.incomplete
    bounds = comparison.bounds
    if bounds is None or not base + candidate:
        return
    who = {None: "who is ahead is open", "base": "the base is ahead either way",
           "candidate": "the candidate is ahead either way"}[comparison.robust]
    yield "incomplete", (
        f"{count_of(base, 'trial')} of the base and {candidate:,} of the candidate: as they go, the difference is "
        f"{points_spread(bounds.low, bounds.high)} points; {who}")


def latency_measured_on(side: SideBySide, pair: Pair, comparison: Comparison) -> tuple[str, ...]:
    """The hardware of the candidate and of the base, once where it is the same; empty if there is none to tell."""
    hardware = [measured_on(side.runs[one].record.sessions) for one in (pair.candidate, pair.base)]
    return tuple(dict.fromkeys(text or NOT_SAID for text in hardware)) if comparison.latency and any(hardware) else ()


def latency_text(ratio: LatencyRatio) -> str:
    """The medians of both sides, and how much longer the candidate takes."""
    sides = (f"{latency(median_of(ratio.candidate))} s against {latency(median_of(ratio.base))} s, medians of "
             f"{ratio.candidate.n:,} and {count_of(ratio.base.n, f'{ratio.warmth} trial')}")
    return sides if ratio.ratio is None else f"{sides}: {times_as_long(ratio.ratio)}"


def listed(ids: Iterable[str], most: int | None = None) -> str:
    """All names, on one line; with `most`, so many of them, and how many more."""
    names = [shown_line(name, 60) for name in ids]
    kept = names if most is None else names[:most]
    return ", ".join(kept) + (f" and {len(names) - len(kept)} more" if len(kept) < len(names) else "")


def _repeat_facts(repeat: Repeat | None) -> Iterator[tuple[str, str]]:
    """What two recordings of one system have in common, as labels and texts; nothing for two systems."""
    if repeat is None:
        return
    yield "same system", (
        f"{'one recording' if repeat.is_one_log else 'two recordings'}; did anything change in these same cases? p "
        f"{probability(repeat.p)}, permuting the labels within each case")
    for one in repeat.repetitions:
        yield "outputs", (
            f"{one.warmth}: {share(one.outputs.equal, one.outputs.compared)} equal, and "
            f"{share(one.verdicts.equal, one.verdicts.compared)} verdicts")
    if not repeat.repetitions:
        yield "outputs", "no trial gave one on both sides"
    yield from (("", text) for text in repeat.errors.texts("the base", "the candidate"))
    if repeat.only_base or repeat.only_candidate:
        yield "", (
            f"{count_of(repeat.only_base, 'trial')} ran in the base only, {repeat.only_candidate:,} in the candidate "
            "only")
    yield "by itself", (
        f"two warm outputs of one case are equal in {_percent(repeat.self_base)} of pairs inside the base, "
        f"{_percent(repeat.self_candidate)} inside the candidate")
    if repeat.repetitions or repeat.parting is not None:
        yield "parting", ("no output differs: an observation, not a promise" if repeat.parting is None
                          else _parting(repeat.parting))


def _percent(value: Fraction | None) -> str:
    return NOT_AVAILABLE if value is None else f"{percent(value)} %"


def _parting(parting: FirstDifferenceFacts) -> str:
    where = f"first in trial {parting.trial.trial} of {shown_line(parting.trial.case, 60)} ({parting.warmth})"
    verdicts = f"verdicts {parting.base.verdict} and {parting.candidate.verdict}"
    at = parting.character
    if at is None or parting.base.output is None or parting.candidate.output is None:
        return f"{where}, where a side has no output; {verdicts}"
    return (f"{where}, at character {at + 1}: {_piece(parting.base.output, at)} in the base, "
            f"{_piece(parting.candidate.output, at)} in the candidate; {verdicts}")


def _piece(text: str, at: int) -> str:
    if at >= len(text):
        return "the end"
    return json.dumps(text[at:at + AROUND], ensure_ascii=False) + ("..." if at + AROUND < len(text) else "")
