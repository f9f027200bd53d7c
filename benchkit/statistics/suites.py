"""A suite of cases: pass@k and pass^k for every k, with what incomplete trials leave open.

A suite's value is the unweighted mean of its cases' values; trials are never pooled. Values are exact; those whose
fraction would have hundreds of digits are kept as a short one near it (estimators.shortened).
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
    """pass@k (`at`) and pass^k (`hat`) of a suite, from n completed trials of a case of which c passed.

    pass^k is C(c, k) / C(n, k), the probability that k trials drawn from them all pass (Yao et al. 2024, tau-bench),
    pass@k is 1 - C(n - c, k) / C(n, k), that at least one does (Chen et al. 2021, human-eval); undefined for k > n.
    """

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
    if ks is None:
        last = min(case.planned for case in passes)
        ks = range(1, last + 1) if last <= EVERY_K else (*range(1, EVERY_K + 1), last)
    numbers = sorted(all_pass.numbers | all_fail.numbers)
    once, twice = _Binomials(numbers), _Binomials(numbers)
    found = []
    for k in ks:
        # pass@k is 1 minus pass^k of the fails, so its worst is the other's best
        fail = _pass_hat(all_fail, k, once, twice)
        worst, best = 1 - fail.best, 1 - fail.worst
        at = SuiteMetric(worst, None if fail.completed is None else 1 - fail.completed, fail.completed_cases, best,
                         *_ends(worst, best, all_fail.cases), fail.se)
        found.append(SuiteAtK(k, at, _pass_hat(all_pass, k, once, twice)))
    return tuple(found)


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
        return cls(_tally(cases, lambda case: (case.planned, case.passed)),
                   _tally(cases, lambda case: (case.completed, case.passed)),
                   _tally(cases, lambda case: (case.planned, case.most_passed)), sum(cases.values()))

    @property
    def numbers(self) -> set[int]:
        """All numbers of trials and of passes."""
        return {number for tally in (self.worst, self.completed, self.best)
                for trials, passed in tally.items() for number in (trials, *passed)}


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


def _pass_hat(suite: _Suite, k: int, once: _Binomials, twice: _Binomials) -> SuiteMetric:
    row = once.row(k)
    (worst, all_worst), (best, all_best) = _sum(suite.worst, row), _sum(suite.best, row)
    low, high = shortened(worst, all_worst * suite.cases), shortened(best, all_best * suite.cases)
    enough = {trials: passed for trials, passed in suite.completed.items() if trials >= k}
    cases, completed = sum(sum(passed.values()) for passed in enough.values()), None
    if cases:
        known, of = _sum(enough, row)
        completed = shortened(known, of * cases)
    return SuiteMetric(low, completed, cases, high, *_ends(low, high, suite.cases),
                       _rerun_error(enough, k, once, twice))


def _ends(worst: Fraction, best: Fraction, cases: int) -> tuple[float, float]:
    return case_wilson(worst * cases, cases).low, case_wilson(best * cases, cases).high


def _sum(tally: Tally, row: Mapping[int, int], power: int = 1) -> tuple[int, int]:
    """Sum of a power of pass^k over the cases of a tally, all of which have at least k trials.

    Numerator and denominator are not reduced: they are long, and reducing takes the most time.
    """
    common = math.lcm(*(row[trials] for trials in tally))
    return sum((common // row[trials]) ** power * sum(number * row[n]**power for n, number in cases.items() if n in row)
               for trials, cases in tally.items()), common**power


def _rerun_error(tally: Tally, k: int, once: _Binomials, twice: _Binomials) -> float | None:
    """sqrt(sum over cases of (U^2 - C(c, 2k) / C(n, 2k))) / number of cases, U being pass^k of a case."""
    if not tally or min(tally) < 2 * k:
        return None
    (squares, common), (double, other) = _sum(tally, once.row(k), 2), _sum(tally, twice.row(2 * k))
    # one division of whole numbers is rounded once, as a fraction is that becomes a float
    variance = (squares * other - double * common) / (common * other)
    return math.sqrt(variance) / sum(sum(cases.values()) for cases in tally.values())
