"""How often the cases of each tag pass.

What does not live here: the formulas (statistics/suites.py); a tag is a suite of its own.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.reports.case_tally import CaseTally
from benchkit.statistics.estimators import Counts
from benchkit.statistics.suites import SuiteMetric, suite_metrics


@dataclass(frozen=True, slots=True)
class TagRow:
    """The cases that carry a tag: how many, their trials, and pass^1 over them."""

    tag: str
    cases: int
    planned: int
    passed: int
    failed: int
    rate: SuiteMetric

    @property
    def judged(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def unknown(self) -> int:
        """Trials that could not be judged."""
        return self.planned - self.judged


def tag_rows(cases: Iterable[CaseTally]) -> tuple[TagRow, ...]:
    """A row for each tag, in alphabetical order; a case counts once for each of its tags."""
    tagged: dict[str, list[Counts]] = {}
    for case in cases:
        for tag in dict.fromkeys(case.case.tags):
            tagged.setdefault(tag, []).append(case.counts)
    return tuple(_row(tag, tagged[tag]) for tag in sorted(tagged))


def _row(tag: str, counts: list[Counts]) -> TagRow:
    return TagRow(
        tag, len(counts), sum(case.planned for case in counts), sum(case.passed for case in counts),
        sum(case.failed for case in counts), suite_metrics(counts, ks=(1,))[0].hat)
