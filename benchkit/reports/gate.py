"""The gate for automation: may the candidate take the place of the base? Rules, and which of them are broken.

A case is fine when every planned trial was judged and passed. A failed trial makes it a failure, whose type is the
state of the case (`flaky`, `stable fail`, ...), whatever the unknown trials would have said; without one, a trial
that could not be judged makes it an error, whose type is that of most such trials.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from benchkit.basics.texts import all_of, as_given, count_of, names_of, verb_for, word_for
from benchkit.recordings.run_record import Totals
from benchkit.reports.comparison import Comparison
from benchkit.reports.figures import distance, points, probability
from benchkit.statistics.permutation import (
    fewest_differing,
    has_uneven_trials,
    mean,
    paired_p,
    smallest_sign_flip_p,
    worst_paired_p,
)


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

    @property
    def is_decided(self) -> bool:
        """Whether the answer is one: a rule is broken, or each could have been."""
        return self.answer is not GateAnswer.NOT_DECIDED


def gate_of(comparison: Comparison, candidate: Totals, rules: GateRules) -> Gate:
    """Hold a comparison, and all trials of the candidate, against the rules."""
    return Gate(rules, (_drop(comparison, rules), _incomplete(candidate, rules), *_strict(comparison, rules)))


def _drop(comparison: Comparison, rules: GateRules) -> RuleResult:
    absent = _absent(comparison)
    if comparison.difference is None:
        nothing = "no case was judged on both sides, so nothing is known of a fall"
        return RuleResult("drop", False, nothing, why_open=_joined(nothing, absent), briefly=nothing)
    p, p_worst = _p_of_fall(comparison, rules.max_drop)
    is_fall = -comparison.difference > rules.max_drop
    is_broken = is_fall and max(p, p_worst) < rules.alpha
    drop = f"more than {as_given(rules.max_drop)} points"
    wanted = f"{drop} with p below {float(rules.alpha):g}"
    briefly, why = _why_open(comparison, rules, p, p_worst) if is_fall and not is_broken else ("", "")
    found = (f"a fall by {wanted}" if is_broken else f"a fall by {drop}, but {why}" if why
             else f"no fall by {wanted} was found")
    text = (f"mean pass^1 changed by {points(comparison.difference, rules.max_drop)} points over "
            f"{count_of(comparison.compared, 'case')}, {_p_text(comparison, rules, p, p_worst)}: {found}")
    why_open = _joined(f"{_fall(comparison, rules)}, and {why}, {_way_out(rules, p)}", absent) if why else ""
    doubt = (f"{_fall(comparison, rules)}, p {probability(max(p, p_worst), rules.alpha)}" if is_fall
             else _possible_fall(comparison, rules))
    return RuleResult("drop", is_broken, text, max(p, p_worst), why_open, briefly, _joined(doubt, absent))


def _p_of_fall(comparison: Comparison, allowed: Fraction) -> tuple[Fraction, Fraction]:
    """p of "the fall is at most what is allowed": over the judged trials, and with the incomplete ones against it."""
    if not allowed:
        return comparison.p, comparison.p_worst
    counts = [case.counts for case in comparison.cases]
    p = paired_p(counts, allowed)
    return p, worst_paired_p(counts, allowed) if any(comparison.incomplete) else p


def _p_text(comparison: Comparison, rules: GateRules, p: Fraction, p_worst: Fraction) -> str:
    is_uneven = (has_uneven_trials(case.counts for case in comparison.cases) if rules.max_drop
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
    smallest, needed = smallest_sign_flip_p(shifted), fewest_differing(rules.alpha)
    if smallest < rules.alpha:
        return "", ""
    differing = count_of(sum(value != 0 for value in shifted), "differing case")
    way = f"{needed:,} would be needed" if needed else f"no p is below {float(rules.alpha):g}"
    return f"{differing}; {way}", f"with {differing} the smallest p is {probability(smallest, rules.alpha)}"


def _way_out(rules: GateRules, p: Fraction) -> str:
    """What that means, and what would decide it."""
    if p < rules.alpha:
        return "and the exit code is 0; judge the incomplete trials first"
    strict = "" if rules.strict else ", or --strict, which refuses by cases"
    return f"so no alpha of {float(rules.alpha):g} could refuse it, and the exit code is 0; use more cases{strict}"


def _possible_fall(comparison: Comparison, rules: GateRules) -> str:
    """A fall by more than is allowed that incomplete trials leave open; empty where they do not."""
    lowest = mean([case.counts.open_difference.low for case in comparison.cases])
    if lowest is None or -lowest <= rules.max_drop or not any(comparison.incomplete):
        return ""
    return f"incomplete trials leave a fall by up to {distance(-lowest, rules.max_drop)} points open"


def _absent(comparison: Comparison) -> str:
    """Cases of the base in which the candidate may have fallen by anything, for it does not have them."""
    absent = len(comparison.only_base)
    if not absent:
        return ""
    return (f"{absent:,} of {count_of(absent + len(comparison.cases), 'case')} of the base "
            f"{'is' if absent == 1 else 'are'} not in the candidate")


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


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


def _fall(comparison: Comparison, rules: GateRules) -> str:
    return f"pass^1 fell by {points(comparison.difference, rules.max_drop).lstrip('-')} points"


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


def _strict(comparison: Comparison, rules: GateRules) -> Iterator[RuleResult]:
    if not rules.strict:
        return
    fallen, gone = [case.id for case in comparison.regressions], comparison.gone
    may = [case.id for case in comparison.open_regressions]
    text = (f"{count_of(len(fallen), 'case')} of {len(comparison.cases):,} passed every time and "
            f"{'does' if len(fallen) == 1 else 'do'} not any more{_in_brackets(fallen)}")
    if gone:
        text += (f"; {count_of(len(gone), 'case')} that passed every time {'is' if len(gone) == 1 else 'are'} not "
                 f"in the candidate at all{_in_brackets(gone)}")
    doubt = f"{count_of(len(may), 'case')} may have regressed, with trials that were not judged{_in_brackets(may)}"
    yield RuleResult("strict", bool(fallen or gone), f"{text}; {doubt}" if may else text, doubt=doubt if may else "")


def _in_brackets(ids: Sequence[str]) -> str:
    return f" ({names_of(ids)})" if ids else ""
