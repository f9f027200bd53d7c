"""What a person wants to know first, in three lines: what it does, what is unknown, and what to trust.

Each is a label and a sentence, for any renderer. What does not live here: how they are laid out (text.py).
"""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.basics.names import count_of
from benchkit.reports.figures_as_text import percent, spread
from benchkit.reports.run_report import RunReport
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


def _does(run: RunReport) -> str:
    coverage = run.coverage
    if not coverage.completed:
        return f"nothing is known: none of {count_of(coverage.planned, 'planned trial')} could be judged"
    if run.record.trials == 1:
        return (f"{run.totals.passed} of {count_of(coverage.cases, 'case')} passed their one trial, "
                f"{run.totals.failed} failed")
    parts = [f"{_number(run, State.STABLE_PASS)} of {count_of(coverage.cases, 'case')} pass every time",
             f"{_number(run, State.FLAKY)} sometimes", f"{_number(run, State.STABLE_FAIL)} never"]
    undecided = _number(run, State.POSSIBLY_FLAKY, State.NO_DATA)
    return ", ".join(parts + ([f"{undecided} not decided"] if undecided else []))


def _unknown(run: RunReport) -> str:
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    if not missing:
        return f"nothing: all {count_of(coverage.planned, 'planned trial')} were judged"
    most_first = sorted(run.unjudged, key=lambda error: -error.count)
    types = [f"{error.count} {error.type}" for error in most_first]
    shown = ", ".join(types[:2]) + (", ..." if len(types) > 2 else "")
    return (f"{missing} of {count_of(coverage.planned, 'trial')} ({shown}); "
            f"{coverage.cases_complete} of {count_of(coverage.cases, 'case')} complete")


def _trust(run: RunReport) -> str:
    if not run.suite:
        return "nothing: there are no cases"
    first, last = run.suite[0].hat, run.suite[-1].hat
    if first.worst != first.best:
        return (f"one try passes {percent(first.worst)} to {percent(first.best)} %, as the unknown trials go "
                f"(95 %: {spread(first.low, first.high)})")
    if run.record.trials == 1:
        return f"one try passes {_rate(first)}; one trial cannot show what is reliable"
    return f"one try passes {_rate(first)}, all of {run.record.trials} tries {_rate(last, '')}"


def _rate(metric: SuiteMetric, label: str = "95 %: ") -> str:
    return f"{percent(metric.worst)} % ({label}{spread(metric.low, metric.high)})"


def _number(run: RunReport, *states: State) -> int:
    return sum(row.state in states for row in run.cases)
