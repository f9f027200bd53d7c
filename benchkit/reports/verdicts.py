"""What two runs say about each other, in a sentence. A large p is no sameness."""
from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from benchkit.basics.texts import as_given, count_of, shown_line, verb_for
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import NOT_AVAILABLE, percent, points_spread, probability
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
