"""All that a report counts over the trials of a run, in one pass over them.

The results of a large run are made when they are read, one at a time, and nothing here keeps one: a trial leaves its
mark, 8 bytes for its latency, and its share in counts.
What does not live here: what each count is (case_tally.py, failures.py, confusion.py, speed.py, oddities.py), and
what is worked out from them (run_report.py).
"""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.recordings.run_record import RunRecord, Totals
from benchkit.reports.case_tally import CaseCount, CaseTally
from benchkit.reports.confusion import Confusion, ConfusionCount
from benchkit.reports.failures import FailureCount, Failures, Unjudged, UnjudgedCount
from benchkit.reports.oddities import Oddities, OddityCount
from benchkit.reports.speed import Speed, SpeedCount


@dataclass(frozen=True, slots=True)
class RunTally:
    """What was counted; `cases` are in the order of the plan."""

    cases: tuple[CaseTally, ...]
    failures: Failures
    confusions: tuple[Confusion, ...]
    unjudged: tuple[Unjudged, ...]
    speed: Speed
    oddities: Oddities

    @property
    def totals(self) -> Totals:
        """The verdicts, counted."""
        counts = [case.counts for case in self.cases]
        return Totals(sum(one.planned for one in counts), sum(one.passed for one in counts),
                      sum(one.failed for one in counts), sum(one.incomplete for one in counts))


def tally_of(record: RunRecord) -> RunTally:
    """Count over all trials of a run, reading each once."""
    cases, failures, confusion, unjudged = [], FailureCount(), ConfusionCount(), UnjudgedCount()
    speed, oddities = SpeedCount(record.sessions), OddityCount(record.trials)
    for place, case in enumerate(record.cases):
        counted = CaseCount()
        oddities.begin()
        takers = (counted.take, confusion.take, unjudged.take, speed.take, oddities.take)
        begun = record.trials if record.begun is None else record.begun[place]
        for result in record.results_of(place)[:begun]:
            for take in takers:
                take(result)
        if begun < record.trials:
            alike, count = record.results_of(place)[begun], record.trials - begun
            for take_alike in (counted.take_not_run, unjudged.take, oddities.take_not_run):
                take_alike(alike, count)
        confusion.end(case)
        failures.add(counted.failures)
        cases.append(counted.tally(case))
    return RunTally(tuple(cases), failures.failures(), confusion.confusions(), unjudged.unjudged(), speed.speed(),
                    oddities.oddities())
