"""A suite of cases: pass@k and pass^k for every k, with what incomplete trials leave open.

A suite's value is the unweighted mean of its cases' values; trials are never pooled. Cases with equal counts
are computed once, and pass@k is pass^k of the same suite with passes and fails exchanged, taken from 1. Values are
exact; those whose fraction would have hundreds of digits are kept as a short one near it (estimators.shortened).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchkit.statistics.estimators import Counts, shortened
from benchkit.statistics.intervals import case_wilson

EVERY_K = 1_000
"""With more trials a case than this, a suite is given for every k up to it, and for all trials."""


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


def suite_metrics(cases: Iterable[Counts], ks: Iterable[int] | None = None) -> tuple[SuiteAtK, ...]:
    """Both metrics for some k, ascending and at most the smallest number of planned trials of a case; none without.

    Without `ks` these are all from 1 to that number, or, where it is above EVERY_K, those up to EVERY_K and it.
    """
    passes = Counter(cases)
    if not passes:
        return ()
    fails = Counter({Counts(c.planned, c.failed, c.passed): number for c, number in passes.items()})
    all_pass, all_fail = _Suite.of(passes), _Suite.of(fails)
    choose = _Choose(all_pass.numbers | all_fail.numbers)
    return tuple(SuiteAtK(k, at=_pass_at(all_fail, k, choose), hat=_pass_hat(all_pass, k, choose))
                 for k in (_all_ks(min(case.planned for case in passes)) if ks is None else ks))


def _all_ks(last: int) -> Sequence[int]:
    return range(1, last + 1) if last <= EVERY_K else (*range(1, EVERY_K + 1), last)


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

    @property
    def numbers(self) -> set[int]:
        """All numbers of trials and of passes."""
        tallies = (self.worst, self.completed, self.best)
        return {number for tally in tallies for trials, passed in tally.items() for number in (trials, *passed)}


def _tally(cases: Mapping[Counts, int], reading: Callable[[Counts], tuple[int, int]]) -> Tally:
    tally: dict[int, Counter[int]] = {}
    for case, number in cases.items():
        trials, passed = reading(case)
        tally.setdefault(trials, Counter())[passed] += number
    return tally


class _Binomials:
    """C(n, k) of the numbers n that occur, for one k after another, upwards; each row from the one before it."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._k = 0
        self._row = dict.fromkeys(numbers, 1)

    def row(self, k: int) -> Mapping[int, int]:
        """The numbers from k on, each with its C(n, k)."""
        if k > self._k + 2:
            self._row = {n: math.comb(n, k) for n in self._row if n >= k}
        else:
            for done in range(self._k, k):
                self._row = {n: ways * (n - done) // (done + 1) for n, ways in self._row.items() if n > done}
        self._k = k
        return self._row


class _Choose:
    """C(n, k), and C(n, 2k), of the numbers n that occur, for one k after another, upwards."""

    def __init__(self, numbers: Iterable[int]) -> None:
        ordered = sorted(numbers)
        self._once, self._twice = _Binomials(ordered), _Binomials(ordered)

    def row(self, k: int) -> Mapping[int, int]:
        """C(n, k) of each number from k on."""
        return self._once.row(k)

    def row_of_twice(self, k: int) -> Mapping[int, int]:
        """C(n, 2k) of each number from 2k on."""
        return self._twice.row(2 * k)


def _pass_hat(suite: _Suite, k: int, choose: _Choose) -> SuiteMetric:
    row = choose.row(k)
    worst, best = (_sum(tally, row).mean(suite.cases) for tally in (suite.worst, suite.best))
    enough = {trials: passed for trials, passed in suite.completed.items() if trials >= k}
    completed_cases = sum(sum(passed.values()) for passed in enough.values())
    return SuiteMetric(
        worst=worst,
        completed=_sum(enough, row).mean(completed_cases) if completed_cases else None,
        completed_cases=completed_cases,
        best=best,
        low=case_wilson(worst * suite.cases, suite.cases).low,
        high=case_wilson(best * suite.cases, suite.cases).high,
        se=_rerun_error(enough, k, choose),
    )


def _pass_at(exchanged: _Suite, k: int, choose: _Choose) -> SuiteMetric:
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


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum over cases as a fraction that is not reduced: its numbers are long, and reducing takes the most time."""

    numerator: int
    denominator: int

    def mean(self, cases: int) -> Fraction:
        return shortened(self.numerator, self.denominator * cases)


def _sum(tally: Tally, row: Mapping[int, int]) -> _Sum:
    """Sum of pass^k over the cases of a tally, all of which have at least k trials."""
    common = math.lcm(*(row[trials] for trials in tally))
    return _Sum(sum(common // row[trials] * sum(number * row[n] for n, number in cases.items() if n in row)
                    for trials, cases in tally.items()), common)


def _sum_of_squares(tally: Tally, row: Mapping[int, int]) -> _Sum:
    common = math.lcm(*(row[trials] for trials in tally))
    return _Sum(sum((common // row[trials]) ** 2 * sum(number * row[n] ** 2 for n, number in cases.items() if n in row)
                    for trials, cases in tally.items()), common**2)


def _rerun_error(tally: Tally, k: int, choose: _Choose) -> float | None:
    """sqrt(sum over cases of (U^2 - C(c, 2k) / C(n, 2k))) / number of cases, U being pass^k of a case."""
    if not tally or min(tally) < 2 * k:
        return None
    squares, twice = _sum_of_squares(tally, choose.row(k)), _sum(tally, choose.row_of_twice(k))
    # one division of whole numbers is rounded once, as a fraction is that becomes a float
    variance = ((squares.numerator * twice.denominator - twice.numerator * squares.denominator)
                / (squares.denominator * twice.denominator))
    return math.sqrt(variance) / sum(sum(cases.values()) for cases in tally.values())
