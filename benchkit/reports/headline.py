"""What a person wants to know first, in three lines: what it does, what is unknown, and what to trust.

Each is a label and a sentence, for any renderer; below its rates each of them also says what a run of this length
may have missed. What does not live here: how they are laid out (text.py).
"""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.basics.names import all_of, count_of, word_for
from benchkit.reports.case_rows import in_state
from benchkit.reports.figures_as_text import number, percent_in_words, rate, spread
from benchkit.reports.run_report import FLAKE, RunReport
from benchkit.statistics.estimators import State
from benchkit.statistics.suites import SuiteMetric


@dataclass(frozen=True, slots=True)
class Headline:
    """Three sentences, without the name of the system."""

    does: str
    unknown: str
    trust: str


def headline_of(run: RunReport) -> Headline:
    """The first three lines of a run."""
    return Headline(_does(run), _unknown(run), _trust(run))


def flake_unseen(run: RunReport) -> str:
    """What a run of this length may well have missed, in a sentence without a full stop."""
    if run.record.trials == 1:
        return (f"one trial a case cannot show a flaky case: one that fails 1 time in {FLAKE.denominator} looks like "
                "any other")
    return (f"a case that fails 1 time in {FLAKE.denominator} looks stable in {percent_in_words(run.flake_unseen)} of "
            f"runs of {count_of(run.record.trials, 'trial')}")


def _does(run: RunReport) -> str:
    coverage = run.coverage
    if not coverage.completed:
        return f"nothing is known: none of {count_of(coverage.planned, 'planned trial')} could be judged"
    if run.record.trials == 1:
        return (f"{run.totals.passed:,} of {count_of(coverage.cases, 'case')} passed "
                f"{word_for(coverage.cases, 'its', 'their')} one trial, "
                f"{number(run.totals.failed)} failed")
    parts = [f"{_number(run, State.STABLE_PASS)} of {count_of(coverage.cases, 'case')} "
             f"{word_for(coverage.cases, 'passes', 'pass')} every time",
             f"{_number(run, State.FLAKY)} sometimes", f"{_number(run, State.STABLE_FAIL)} never"]
    open_states = (State.POSSIBLY_FLAKY, State.NO_DATA)
    return ", ".join(parts + [f"{_number(run, state)} {state}" for state in open_states if in_state(run.cases, state)])


def _unknown(run: RunReport) -> str:
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    if not missing:
        were = word_for(coverage.planned, "was", "were")
        return f"nothing: {all_of(coverage.planned, 'planned trial')} {were} judged"
    most_first = sorted(run.unjudged, key=lambda error: -error.count)
    types = [f"{error.count:,} {error.type}" for error in most_first]
    shown = ", ".join(types[:2]) + (", ..." if len(types) > 2 else "")
    return (f"{missing:,} of {count_of(coverage.planned, 'trial')} ({shown}); "
            f"{coverage.cases_complete:,} of {count_of(coverage.cases, 'case')} complete")


def _trust(run: RunReport) -> str:
    if not run.suite:
        return "nothing: there are no cases"
    first, last = run.suite[0].hat, run.suite[-1].hat
    trials = run.record.trials
    one = f"{'as the unknown trials go, ' if run.totals.incomplete else ''}one try passes {_rate(first)}"
    if trials == 1:
        return f"{one}; one trial cannot show what is reliable"
    return f"{one}, all of {trials:,} tries {_rate(last, '')}"


def _rate(metric: SuiteMetric, label: str = "95 %: ") -> str:
    return f"{rate(metric)} % ({label}{spread(metric.low, metric.high)})"


def _number(run: RunReport, state: State) -> str:
    return number(len(in_state(run.cases, state)))
