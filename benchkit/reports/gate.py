"""The gate for automation: may the candidate take the place of the base? Rules, and which of them are broken.

What does not live here: the comparison (comparison.py), and exit codes (the door).
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.names import count_of
from benchkit.recordings.run_record import Totals
from benchkit.reports.comparison import Comparison
from benchkit.reports.figures_as_text import percent, points, probability


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed.

    A regression is a fall of mean pass^1 by more than `max_drop` (a share) with sign-flip p below `alpha`. With
    `strict`, any case that was a stable pass and is not any more is one, too.
    """

    alpha: Fraction = Fraction(1, 20)
    max_drop: Fraction = Fraction(0)
    allow_incomplete: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule: its code, whether it is broken, and what was found."""

    code: str
    is_broken: bool
    text: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of the gate, rule by rule."""

    rules: Rules
    results: tuple[RuleResult, ...]

    @property
    def broken(self) -> tuple[RuleResult, ...]:
        """The rules that are broken: with none, the candidate is accepted."""
        return tuple(result for result in self.results if result.is_broken)


def gate_of(comparison: Comparison, candidate: Totals, rules: Rules) -> Gate:
    """Hold a comparison, and all trials of the candidate, against the rules."""
    return Gate(rules, (_drop(comparison, rules), _incomplete(candidate, rules), *_strict(comparison, rules)))


def _drop(comparison: Comparison, rules: Rules) -> RuleResult:
    if comparison.difference is None:
        return RuleResult("drop", False, "no case was judged on both sides, so nothing is known of a fall")
    is_broken = -comparison.difference > rules.max_drop and comparison.p < rules.alpha
    wanted = f"more than {percent(rules.max_drop)} points with p below {float(rules.alpha):g}"
    return RuleResult("drop", is_broken, (
        f"mean pass^1 changed by {points(comparison.difference)} points over {count_of(comparison.compared, 'case')}, "
        f"sign-flip p {probability(comparison.p)}: "
        + (f"a fall by {wanted}" if is_broken else f"no fall by {wanted} was found")))


def _incomplete(candidate: Totals, rules: Rules) -> RuleResult:
    is_broken = candidate.incomplete > 0 and not rules.allow_incomplete
    text = f"{candidate.incomplete} of {count_of(candidate.planned, 'trial')} of the candidate are incomplete"
    if not candidate.incomplete:
        text = f"all {count_of(candidate.planned, 'trial')} of the candidate were judged"
    elif rules.allow_incomplete:
        text += ", which --allow-incomplete allows"
    return RuleResult("incomplete", is_broken, text)


def _strict(comparison: Comparison, rules: Rules) -> Iterator[RuleResult]:
    if rules.strict:
        ids = comparison.regressions
        yield RuleResult("strict", bool(ids), (
            f"{count_of(len(ids), 'case')} of {len(comparison.cases)} passed every time and "
            f"{'does' if len(ids) == 1 else 'do'} not any more"))
