"""A suite of cases: pass@k and pass^k for every k, with what incomplete trials leave open.

A suite's value is the unweighted mean of its cases' values; trials are never pooled. Cases with equal counts
are computed once, and pass@k is pass^k of the same suite with passes and fails exchanged, taken from 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import case_wilson


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a plan has a verdict. `k_max` is the smallest number of completed trials of any case."""

    planned: int
    completed: int
    cases: int
    cases_complete: int
    cases_touched: int
    k_max: int


@dataclass(frozen=True, slots=True)
class SuiteMetric:
    """One metric of a suite at one k.

    worst, best: every incomplete trial taken as a fail, as a pass. completed: mean over the
    `completed_cases` cases with at least k completed trials, None where there is none. low, high: from the
    low end of case-Wilson over the worst values to the high end over the best. se: standard error over
    re-runs of `completed`, None where one of its cases has fewer than 2k completed trials.
    """

    worst: Fraction
    completed: Fraction | None
    completed_cases: int
    best: Fraction
    low: float
    high: float
    se: float | None


@dataclass(frozen=True, slots=True)
class SuiteAtK:
    """pass@k (`at`) and pass^k (`hat`) of a suite."""

    k: int
    at: SuiteMetric
    hat: SuiteMetric


def coverage(cases: Iterable[Counts]) -> Coverage:
    """Count planned and completed trials, and cases with all, with some and with none of theirs."""
    suite = list(cases)
    return Coverage(
        planned=sum(case.planned for case in suite),
        completed=sum(case.completed for case in suite),
        cases=len(suite),
        cases_complete=sum(case.incomplete == 0 for case in suite),
        cases_touched=sum(case.completed > 0 for case in suite),
        k_max=min((case.completed for case in suite), default=0),
    )


def suite_metrics(cases: Iterable[Counts], most_k: int | None = None) -> tuple[SuiteAtK, ...]:
    """Both metrics, for k = 1 up to the smallest number of planned trials of a case; none without a case.

    `most_k` ends it earlier.
    """
    passes = Counter(cases)
    if not passes:
        return ()
    fails = Counter({Counts(c.planned, c.failed, c.passed): number for c, number in passes.items()})
    choose = _Binomials(max(case.planned for case in passes))
    all_pass, all_fail = _Suite.of(passes), _Suite.of(fails)
    last = min(case.planned for case in passes)
    return tuple(
        SuiteAtK(k, at=_pass_at(all_fail, k, choose), hat=_pass_hat(all_pass, k, choose))
        for k in range(1, (last if most_k is None else min(last, most_k)) + 1)
    )


Tally = Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class _Suite:
    """Number of cases by trials and passes, in the three readings of an incomplete trial."""

    worst: Tally
    completed: Tally
    best: Tally
    cases: int

    @classmethod
    def of(cls, cases: Mapping[Counts, int]) -> _Suite:
        return cls(
            worst=_tally(cases, lambda case: (case.planned, case.passed)),
            completed=_tally(cases, lambda case: (case.completed, case.passed)),
            best=_tally(cases, lambda case: (case.planned, case.most_passed)),
            cases=sum(cases.values()),
        )


def _tally(cases: Mapping[Counts, int], reading: Callable[[Counts], tuple[int, int]]) -> Tally:
    tally: dict[int, Counter[int]] = {}
    for case, number in cases.items():
        trials, passed = reading(case)
        tally.setdefault(trials, Counter())[passed] += number
    return tally


class _Binomials:
    """Rows C(0, k) ... C(largest, k), each made once, when it is asked for."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._rows: dict[int, Sequence[int]] = {}

    def row(self, k: int) -> Sequence[int]:
        if k not in self._rows:
            self._rows[k] = [math.comb(n, k) for n in range(self._largest + 1)]
        return self._rows[k]


def _pass_hat(suite: _Suite, k: int, choose: _Binomials) -> SuiteMetric:
    worst = _sum(suite.worst, k, choose)
    best = _sum(suite.best, k, choose)
    enough = {trials: passed for trials, passed in suite.completed.items() if trials >= k}
    completed_cases = sum(sum(passed.values()) for passed in enough.values())
    return SuiteMetric(
        worst=worst / suite.cases,
        completed=_sum(enough, k, choose) / completed_cases if completed_cases else None,
        completed_cases=completed_cases,
        best=best / suite.cases,
        low=case_wilson(worst, suite.cases).low,
        high=case_wilson(best, suite.cases).high,
        se=_rerun_error(enough, k, choose),
    )


def _pass_at(exchanged: _Suite, k: int, choose: _Binomials) -> SuiteMetric:
    """pass@k of a suite, from the one with passes and fails exchanged; its worst is the other's best."""
    all_fail = _pass_hat(exchanged, k, choose)
    worst, best = 1 - all_fail.best, 1 - all_fail.worst
    return SuiteMetric(
        worst=worst,
        completed=None if all_fail.completed is None else 1 - all_fail.completed,
        completed_cases=all_fail.completed_cases,
        best=best,
        low=case_wilson(worst * exchanged.cases, exchanged.cases).low,
        high=case_wilson(best * exchanged.cases, exchanged.cases).high,
        se=all_fail.se,
    )


def _sum(tally: Tally, k: int, choose: _Binomials) -> Fraction:
    """Sum of pass^k over the cases of a tally, all of which have at least k trials."""
    row = choose.row(k)
    return sum(
        (
            Fraction(sum(number * row[passed] for passed, number in cases.items()), row[trials])
            for trials, cases in tally.items()
        ),
        Fraction(0),
    )


def _sum_of_squares(tally: Tally, k: int, choose: _Binomials) -> Fraction:
    row = choose.row(k)
    return sum(
        (
            Fraction(sum(number * row[passed] ** 2 for passed, number in cases.items()), row[trials] ** 2)
            for trials, cases in tally.items()
        ),
        Fraction(0),
    )


def _rerun_error(tally: Tally, k: int, choose: _Binomials) -> float | None:
    """sqrt(sum over cases of (U^2 - C(c, 2k) / C(n, 2k))) / number of cases, U being pass^k of a case."""
    if not tally or min(tally) < 2 * k:
        return None
    variance = _sum_of_squares(tally, k, choose) - _sum(tally, 2 * k, choose)
    return math.sqrt(variance) / sum(sum(cases.values()) for cases in tally.values())
