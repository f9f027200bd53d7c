"""The report of one run: every figure that a renderer shows, as one tree of frozen values, and its first lines.

Figures are exact (fractions) or floats as they were computed; rounding belongs to the renderers. A report follows
from its run record alone, in the same words on every machine.

Each is a label and a sentence, for any renderer; below its rates each of them also says what a run of this length
may have missed.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.texts import all_of, count_of, word_for
from benchkit.recordings.run_record import RunRecord, Totals
from benchkit.reports.failures import Confusion, Failures, Unjudged
from benchkit.reports.figures import number, percent_in_words, rate, spread
from benchkit.reports.speed import Speed
from benchkit.reports.tally import CaseRow, TagRow, case_rows, in_state, tag_rows, tally_of
from benchkit.reports.warnings import ReportWarning, Run, warnings_of
from benchkit.statistics.estimators import State, looks_stable_share
from benchkit.statistics.suites import Coverage, SuiteAtK, SuiteMetric, coverage, suite_metrics

FLAKE = Fraction(1, 10)
"""The rate of failure at which a report says what a run of its length would have seen."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run.

    `name` is its file's name without folder and suffix; `record` is what all else follows from. `suite` has an
    entry for each k from 1 to the planned trials, but not for all of very many (none without a case).
    `flake_unseen` is the share of runs of this length in which a case that fails at rate FLAKE looks stable.
    """

    name: str
    record: RunRecord
    coverage: Coverage
    totals: Totals
    suite: tuple[SuiteAtK, ...]
    failures: Failures
    confusions: tuple[Confusion, ...]
    unjudged: tuple[Unjudged, ...]
    tags: tuple[TagRow, ...]
    cases: tuple[CaseRow, ...]
    speed: Speed
    warnings: tuple[ReportWarning, ...]
    flake_unseen: Fraction


def report_of(record: RunRecord, name: str) -> RunReport:
    """The report of a run record, under the name of its file; the results are read once."""
    tally = tally_of(record)
    counts = [case.counts for case in tally.cases]
    covered = coverage(counts)
    return RunReport(
        name=name, record=record, coverage=covered, totals=tally.totals, suite=suite_metrics(counts),
        failures=tally.failures, confusions=tally.confusions, unjudged=tally.unjudged, tags=tag_rows(tally.cases),
        cases=case_rows(tally.cases), speed=tally.speed, warnings=warnings_of(Run(record, tally, covered)),
        flake_unseen=looks_stable_share(record.trials, FLAKE))


def suite_at(run: RunReport, k: int) -> SuiteAtK | None:
    """The suite at one k, which is at most the planned trials, whether it is among those listed or not.

    None without a case.
    """
    listed = next((one for one in run.suite if one.k == k), None)
    return listed or next(iter(suite_metrics([row.counts for row in run.cases], ks=(k,))), None)


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
