"""The report of one run: every figure that a renderer shows, as one tree of frozen values, exact or as computed.

A report follows from its run record alone, in the same words on every machine.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from benchkit.recordings.run_record import RunRecord, Totals
from benchkit.reports.failures import Confusion, Failures, Unjudged
from benchkit.reports.speed import Speed
from benchkit.reports.tally import CaseRow, tally_of
from benchkit.reports.warnings import ReportWarning, warnings_of
from benchkit.statistics.estimators import Counts, looks_stable_share
from benchkit.statistics.suites import Coverage, SuiteAtK, SuiteMetric, coverage, suite_metrics

FLAKE = Fraction(1, 10)
"""The rate of failure at which a report says what a run of its length would have seen."""


@dataclass(frozen=True, slots=True)
class TagRow:
    """The cases that carry a tag: how many, their trials, and pass^1 over them."""

    tag: str
    cases: int
    trials: Counts
    rate: SuiteMetric


def tag_rows(cases: Iterable[CaseRow]) -> tuple[TagRow, ...]:
    """A row for each tag, in alphabetical order; a case counts once for each of its tags."""
    tagged: dict[str, list[Counts]] = {}
    for case in cases:
        for tag in dict.fromkeys(case.case.tags):
            tagged.setdefault(tag, []).append(case.counts)
    rows = []
    for tag, counts in sorted(tagged.items()):
        trials = Counts(sum(case.planned for case in counts), sum(case.passed for case in counts),
                        sum(case.failed for case in counts))
        rows.append(TagRow(tag, len(counts), trials, suite_metrics(counts, ks=(1,))[0].hat))
    return tuple(rows)


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
    passed = sum(one.passed for one in counts)
    return RunReport(
        name=name, record=record, coverage=covered,
        totals=Totals(covered.planned, passed, covered.completed - passed, covered.planned - covered.completed),
        suite=suite_metrics(counts), failures=tally.failures, confusions=tally.confusions, unjudged=tally.unjudged,
        tags=tag_rows(tally.cases), cases=tally.cases, speed=tally.speed, warnings=warnings_of(record, tally, covered),
        flake_unseen=looks_stable_share(record.trials, FLAKE))


def suite_at(run: RunReport, k: int) -> SuiteAtK | None:
    """The suite at one k, at most the planned trials, whether it is listed or not. None without a case."""
    listed = next((one for one in run.suite if one.k == k), None)
    return listed or next(iter(suite_metrics([row.counts for row in run.cases], ks=(k,))), None)
