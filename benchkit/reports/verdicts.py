"""What two runs say about each other: a finding in a sentence, and the answer of the gate.

A large p is no sameness. The gate is for automation: may the candidate take the place of the base? It says which of
its rules are broken, which could not have been, and what speaks against a candidate that it lets pass.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from benchkit.basics.texts import all_of, as_given, count_of, names_of, shown_line, verb_for, word_for
from benchkit.recordings.run_record import Totals
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import NOT_AVAILABLE, distance, percent, points, points_spread, probability
from benchkit.statistics import permutation
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


def of_tries(found: Comparison) -> str:
    """What stands behind the two rates of a comparison, where not all planned trials were judged; else nothing.

    A mean over cases is no share of judged trials then, for cases have unequal numbers of them.
    """
    if not any(found.incomplete):
        return ""
    return " of judged tries" if found.compared == 1 else f", means of {found.compared:,} cases over their judged tries"


def verdict_of(side: SideBySide, pair: Pair) -> PairVerdict:
    """What the pair says, at 5 % after Holm."""
    base, candidate, found = label_of(side, pair.base), label_of(side, pair.candidate), pair.comparison
    if found is None or pair.adjusted_p is None or pair.smallest_adjusted_p is None:
        reasons = "; ".join(incompatibility.text for incompatibility in pair.incompatibilities)
        return PairVerdict(Finding.NOT_COMPARED, f"{candidate} and {base} are not compared: {reasons}")
    if not found.compared:
        return PairVerdict(Finding.NOTHING_KNOWN, (
            f"nothing is known: in none of {count_of(len(found.cases), 'common case')} did both runs judge a trial"))
    rates = f"{percent(found.candidate_rate)} % against {percent(found.base_rate)} %{of_tries(found) or ' of tries'}"
    within = f"the same within {as_given(found.margin or 0)} points"
    too_few_differ = pair.smallest_adjusted_p >= ALPHA
    why = f"p is {probability(pair.adjusted_p)}"
    if too_few_differ:
        why = (f"only {found.differing:,} of {count_of(found.compared, 'case')} "
               f"{verb_for(found.differing, found.compared, 'differs', 'differ')}, and no p below "
               f"{probability(pair.smallest_adjusted_p)} can come of that")
    if pair.adjusted_p < ALPHA and found.difference:
        way, finding = ("more", Finding.BETTER) if found.difference > 0 else ("less", Finding.WORSE)
        also = f" (and both are {within})" if found.same_within_margin else ""
        return PairVerdict(finding, f"{candidate} passes {way} often than {base}: {rates}{also}")
    if found.same_within_margin:
        return PairVerdict(Finding.SAME_WITHIN_MARGIN, f"{candidate} and {base} are {within}: {rates}")
    if found.may_turn and (found.is_apart or found.p < ALPHA):
        count, bounds = sum(found.incomplete), found.bounds
        around = NOT_AVAILABLE if bounds is None else points_spread(bounds.low, bounds.high)
        return PairVerdict(Finding.NOT_DECIDED, (
            f"which of {candidate} and {base} passes more often is not decided: {rates}, but "
            f"{count_of(count, 'incomplete trial')} {'leaves' if count == 1 else 'leave'} a difference of {around} "
            f"points open (p up to {probability(found.p_of_finding)})"))
    if found.is_apart:
        way, spread = "more" if found.interval.low > 0 else "less", found.interval
        return PairVerdict(Finding.NOT_DECIDED, (
            f"{candidate} passes {way} often than {base} in these cases: {rates}, and the interval excludes no "
            f"difference ({points_spread(spread.low, spread.high)} points); but {why}"))
    if too_few_differ:
        return PairVerdict(Finding.TOO_FEW_DIFFER, f"{candidate} and {base} cannot be told apart: {rates}, but {why}")
    around = points_spread(found.open_interval.low, found.open_interval.high)
    return PairVerdict(Finding.NOT_TOLD_APART, (
        f"{candidate} and {base} are not told apart: {rates}; on other such cases the difference may lie anywhere "
        f"from {around} points"))


@dataclass(frozen=True, slots=True)
class GateRules:
    """What is allowed.

    A regression is a fall of mean pass^1 by more than `max_drop` (a share), with a p of "it fell by at most that" below
    `alpha`, however incomplete trials go. With `strict`, any case that passed every time and does not any more, or is
    not there any more, is one, too.
    """

    alpha: Fraction = Fraction(1, 20)
    max_drop: Fraction = Fraction(0)
    allow_incomplete: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule: its code, whether it is broken, and what was found; `p` where it rests on one.

    `why_open`: why it could not have been broken, or incomplete trials could undo that it is; else empty; `briefly`
    the same in a few words. `doubt`: what speaks against a candidate though the rule is not broken; else empty.
    """

    code: str
    is_broken: bool
    text: str
    p: Fraction | None = None
    why_open: str = ""
    briefly: str = ""
    doubt: str = ""


class GateAnswer(StrEnum):
    """The answer of the gate; all but the first let the candidate pass."""

    REFUSED = "refused"
    NOT_DECIDED = "not decided"
    UNSURE = "accepted, but not shown to be as good"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of the gate, rule by rule."""

    rules: GateRules
    results: tuple[RuleResult, ...]

    @property
    def broken(self) -> tuple[RuleResult, ...]:
        """The rules that are broken: with none, the candidate is accepted."""
        return tuple(result for result in self.results if result.is_broken)

    @property
    def why_open(self) -> tuple[str, ...]:
        """What keeps the rules that are open from an answer."""
        return tuple(result.why_open for result in self.results if result.why_open)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What keeps a candidate that is accepted from being shown to be as good."""
        return tuple(result.doubt for result in self.results if result.doubt)

    @property
    def answer(self) -> GateAnswer:
        """What the rules come to."""
        if self.broken:
            return GateAnswer.REFUSED
        if self.why_open:
            return GateAnswer.NOT_DECIDED
        return GateAnswer.UNSURE if self.doubts else GateAnswer.ACCEPTED


def gate_of(comparison: Comparison, candidate: Totals, rules: GateRules) -> Gate:
    """Hold a comparison, and all trials of the candidate, against the rules."""
    strict = [_strict(comparison)] if rules.strict else []
    return Gate(rules, (_drop(comparison, rules), _incomplete(candidate, rules), *strict))


def _drop(comparison: Comparison, rules: GateRules) -> RuleResult:
    known, absent = len(comparison.cases), len(comparison.only_base)
    # of these the candidate may have fallen by anything
    missing = (f"{absent:,} of {count_of(absent + known, 'case')} of the base {'is' if absent == 1 else 'are'} not in "
               "the candidate") if absent else ""
    if comparison.difference is None:
        nothing = "no case was judged on both sides, so nothing is known of a fall"
        return RuleResult("drop", False, nothing, why_open=_joined(nothing, missing), briefly=nothing)
    p, p_worst = comparison.p, comparison.p_worst
    if rules.max_drop:
        # of "the fall is at most what is allowed": over the judged trials, and with the incomplete ones against it
        counts = [case.counts for case in comparison.cases]
        p = permutation.paired_p(counts, rules.max_drop)
        p_worst = permutation.worst_paired_p(counts, rules.max_drop) if any(comparison.incomplete) else p
    is_fall = -comparison.difference > rules.max_drop
    is_broken = is_fall and max(p, p_worst) < rules.alpha
    drop = f"more than {as_given(rules.max_drop)} points"
    wanted = f"{drop} with p below {float(rules.alpha):g}"
    briefly, why = _why_open(comparison, rules, p, p_worst) if is_fall and not is_broken else ("", "")
    found = (f"a fall by {wanted}" if is_broken else f"a fall by {drop}, but {why}" if why
             else f"no fall by {wanted} was found")
    text = (f"mean pass^1 changed by {points(comparison.difference, rules.max_drop)} points over "
            f"{count_of(comparison.compared, 'case')}, {_p_text(comparison, rules, p, p_worst)}: {found}")
    fall = f"pass^1 fell by {points(comparison.difference, rules.max_drop).lstrip('-')} points"
    if why and p < rules.alpha:
        why_open = f"{fall}, and {why}, and the exit code is 0; judge the incomplete trials first"
    elif why:
        strict = "" if rules.strict else ", or --strict, which refuses by cases"
        why_open = (f"{fall}, and {why}, so no alpha of {float(rules.alpha):g} could refuse it, and the exit code is "
                    f"0; use more cases{strict}")
    lowest = permutation.mean([case.counts.open_difference.low for case in comparison.cases]) or Fraction(0)
    doubt = ""
    if is_fall:
        doubt = f"{fall}, p {probability(max(p, p_worst), rules.alpha)}"
    elif -lowest > rules.max_drop and any(comparison.incomplete):
        doubt = f"incomplete trials leave a fall by up to {distance(-lowest, rules.max_drop)} points open"
    return RuleResult("drop", is_broken, text, max(p, p_worst), _joined(why_open, missing) if why else "", briefly,
                      _joined(doubt, missing))


def _joined(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _p_text(comparison: Comparison, rules: GateRules, p: Fraction, p_worst: Fraction) -> str:
    is_uneven = (permutation.has_uneven_trials(case.counts for case in comparison.cases) if rules.max_drop
                 else p > comparison.sign_flip)
    of = f" of a fall by at most {as_given(rules.max_drop)} points" if rules.max_drop else ""
    uneven = ", for unequal numbers of trials" if is_uneven else ""
    up_to = f" (up to {probability(p_worst, rules.alpha)} as incomplete trials go)" if p_worst > p else ""
    return f"{'p' if is_uneven else 'sign-flip p'} {probability(p, rules.alpha)}{up_to}{of}{uneven}"


def _why_open(comparison: Comparison, rules: GateRules, p: Fraction, p_worst: Fraction) -> tuple[str, str]:
    """Why a fall could not be refused whatever it is, in a few words and with the p; empty where it could."""
    if p < rules.alpha <= p_worst:
        return "incomplete trials could undo it", (
            f"incomplete trials could undo it: with them p is up to {probability(p_worst, rules.alpha)}")
    shifted = [difference + rules.max_drop for difference in comparison.differences]
    smallest, needed = permutation.smallest_sign_flip_p(shifted), permutation.fewest_differing(rules.alpha)
    if smallest < rules.alpha:
        return "", ""
    differing = count_of(sum(value != 0 for value in shifted), "differing case")
    way = f"{needed:,} would be needed" if needed else f"no p is below {float(rules.alpha):g}"
    return f"{differing}; {way}", f"with {differing} the smallest p is {probability(smallest, rules.alpha)}"


def answer_line(gate: Gate, pair: str) -> str:
    """Why the exit code is what it is, in a line that does not reassure where the candidate fell.

    `pair` is `candidate against base`.
    """
    answer, rules = gate.answer, count_of(len(gate.results), "rule")
    if answer is GateAnswer.REFUSED:
        return f"refused ({len(gate.broken)} of {rules} broken): {pair}"
    if answer is GateAnswer.NOT_DECIDED:
        return f"not decided: {'; '.join(gate.why_open)} ({pair})"
    if answer is GateAnswer.UNSURE:
        return f"{answer}: {'; '.join(gate.doubts)} (none of {rules} broken): {pair}"
    return f"accepted (none of {rules} broken): {pair}"


def _incomplete(candidate: Totals, rules: GateRules) -> RuleResult:
    is_broken = candidate.incomplete > 0 and not rules.allow_incomplete
    text = (f"{candidate.incomplete:,} of {count_of(candidate.planned, 'trial')} of the candidate "
            f"{verb_for(candidate.incomplete, candidate.planned, 'is', 'are')} incomplete")
    if not candidate.incomplete:
        text = (f"{all_of(candidate.planned, 'trial')} of the candidate {word_for(candidate.planned, 'was', 'were')} "
                "judged")
    elif rules.allow_incomplete:
        text += ", which --allow-incomplete allows"
    else:
        text += (": go on with them (bench.py --log LOG; --retry-errors for those that ended in an error, but a "
                 "check that raised is to be mended) and judge again, or give --allow-incomplete")
    return RuleResult("incomplete", is_broken, text)


def _strict(comparison: Comparison) -> RuleResult:
    fallen, gone = [case.id for case in comparison.regressions], comparison.gone
    may = [case.id for case in comparison.open_regressions]
    text = (f"{count_of(len(fallen), 'case')} of {len(comparison.cases):,} passed every time and "
            f"{'does' if len(fallen) == 1 else 'do'} not any more{_in_brackets(fallen)}")
    if gone:
        text += (f"; {count_of(len(gone), 'case')} that passed every time {'is' if len(gone) == 1 else 'are'} not "
                 f"in the candidate at all{_in_brackets(gone)}")
    doubt = f"{count_of(len(may), 'case')} may have regressed, with trials that were not judged{_in_brackets(may)}"
    return RuleResult("strict", bool(fallen or gone), f"{text}; {doubt}" if may else text, doubt=doubt if may else "")


def _in_brackets(ids: Sequence[str]) -> str:
    return f" ({names_of(ids)})" if ids else ""
