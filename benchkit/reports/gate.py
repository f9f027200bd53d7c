"""The gate for automation: may the candidate take the place of the base? Rules, and which of them are broken.

What does not live here: the comparison (comparison.py), and exit codes (the door).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.names import count_of, names_of
from benchkit.recordings.run_record import Totals
from benchkit.reports.comparison import Comparison
from benchkit.reports.figures_as_text import distance, points, probability


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed.

    A regression is a fall of mean pass^1 by more than `max_drop` (a share) with sign-flip p below `alpha`. With
    `strict`, any case that was a stable pass and is not any more, or is not there any more, is one, too.
    """

    alpha: Fraction = Fraction(1, 20)
    max_drop: Fraction = Fraction(0)
    allow_incomplete: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule: its code, whether it is broken, and what was found.

    `is_fall`: pass^1 fell by more than is allowed, whatever p says. `is_open`: it is not broken, but for want of cases
    that differ nothing could have broken it.
    """

    code: str
    is_broken: bool
    text: str
    is_open: bool = False
    is_fall: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of the gate, rule by rule."""

    rules: Rules
    results: tuple[RuleResult, ...]

    @property
    def broken(self) -> tuple[RuleResult, ...]:
        """The rules that are broken: with none, the candidate is accepted."""
        return tuple(result for result in self.results if result.is_broken)

    @property
    def is_unsure(self) -> bool:
        """Whether no rule is broken though the candidate fell by more than is allowed: chance may explain it."""
        return not self.broken and any(result.is_fall for result in self.results)

    @property
    def is_decided(self) -> bool:
        """Whether the answer is one: a rule is broken, or each could have been."""
        return bool(self.broken) or not any(result.is_open for result in self.results)


def gate_of(comparison: Comparison, candidate: Totals, rules: Rules) -> Gate:
    """Hold a comparison, and all trials of the candidate, against the rules."""
    return Gate(rules, (_drop(comparison, rules), _incomplete(candidate, rules), *_strict(comparison, rules)))


def _drop(comparison: Comparison, rules: Rules) -> RuleResult:
    if comparison.difference is None:
        return RuleResult("drop", False, "no case was judged on both sides, so nothing is known of a fall")
    is_fall = -comparison.difference > rules.max_drop
    is_broken = is_fall and comparison.p < rules.alpha
    is_open = is_fall and comparison.smallest_p >= rules.alpha
    drop = f"more than {distance(rules.max_drop)} points"
    wanted = f"{drop} with p below {float(rules.alpha):g}"
    found = f"a fall by {wanted}" if is_broken else f"no fall by {wanted} was found"
    if is_open:
        found = f"a fall by {drop}, but {_smallest(comparison)}"
    return RuleResult("drop", is_broken, (
        f"mean pass^1 changed by {points(comparison.difference)} points over {count_of(comparison.compared, 'case')}, "
        f"sign-flip p {probability(comparison.p)}: {found}"), is_open, is_fall)


def _smallest(comparison: Comparison) -> str:
    return (f"with {count_of(comparison.differing, 'differing case')} the smallest p is "
            f"{probability(comparison.smallest_p)}")


def answer_of(gate: Gate, comparison: Comparison, pair: str) -> str:
    """The answer in a line that does not reassure where the candidate fell; `pair` is `candidate against base`."""
    rules, broken = count_of(len(gate.results), "rule"), len(gate.broken)
    if broken:
        return f"refused ({broken} of {rules} broken): {pair}"
    if not gate.is_decided:
        return f"not decided: {_why_open(comparison, gate.rules)} ({pair})"
    if gate.is_unsure:
        return (f"accepted, but not shown to be as good: {_fall(comparison)}, p {probability(comparison.p)} "
                f"(none of {rules} broken): {pair}")
    return f"accepted (none of {rules} broken): {pair}"


def _why_open(comparison: Comparison, rules: Rules) -> str:
    """Why a gate that is not decided is not, and what would decide it."""
    way_out = "" if rules.strict else ", or --strict, which refuses by cases"
    return (f"{_fall(comparison)}, and {_smallest(comparison)}, so no alpha of {float(rules.alpha):g} could refuse it, "
            f"and the exit code is 0; use more cases{way_out}")


def _fall(comparison: Comparison) -> str:
    return f"pass^1 fell by {points(comparison.difference).lstrip('-')} points"


def _incomplete(candidate: Totals, rules: Rules) -> RuleResult:
    is_broken = candidate.incomplete > 0 and not rules.allow_incomplete
    text = f"{candidate.incomplete:,} of {count_of(candidate.planned, 'trial')} of the candidate are incomplete"
    if not candidate.incomplete:
        text = f"all {count_of(candidate.planned, 'trial')} of the candidate were judged"
    elif rules.allow_incomplete:
        text += ", which --allow-incomplete allows"
    return RuleResult("incomplete", is_broken, text)


def _strict(comparison: Comparison, rules: Rules) -> Iterator[RuleResult]:
    if rules.strict:
        fallen, gone = [case.id for case in comparison.regressions], comparison.gone
        text = (f"{count_of(len(fallen), 'case')} of {len(comparison.cases):,} passed every time and "
                f"{'does' if len(fallen) == 1 else 'do'} not any more{_in_brackets(fallen)}")
        if gone:
            text += (f"; {count_of(len(gone), 'case')} that passed every time {'is' if len(gone) == 1 else 'are'} not "
                     f"in the candidate at all{_in_brackets(gone)}")
        yield RuleResult("strict", bool(fallen or gone), text)


def _in_brackets(ids: Sequence[str]) -> str:
    return f" ({names_of(ids)})" if ids else ""

