"""How far the approximated p of a large comparison is from the exact one, which takes too long for a report.

    python3 -m benchmarks.approximate_p                  four minutes; with --draws 2 half a minute

Pairs of runs of the same system, and of two that differ a little, are drawn at random; each p is made twice, by
enumeration however long that takes, and by the approximation that stands for it beyond the work limit. Rows of which
the work is below the limit show the trend: reports are exact there. "near .05": the worst error of an exact p between
.01 and .1, where it decides.
"""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from benchkit.statistics.estimators import Counts
from benchkit.statistics.permutation import PairedCounts, label_permutation_p, pass_rate_differences, sign_flip_p
from benchmarks.measuring import machine_line, table

Test = Callable[[Sequence[PairedCounts], int], Fraction]
EXACT, APPROXIMATE = 10**15, -1
"""The most work for a p: any, and none."""


@dataclass(frozen=True, slots=True)
class Kind:
    """So many cases, fewest and most trials on either side, the pass rate of the first and how far the second is."""

    name: str
    test: Test
    cases: int
    first: tuple[int, int]
    second: tuple[int, int]
    rate: float
    apart: float = 0.0

    def draw(self, rng: Random) -> list[PairedCounts]:
        """The trials of both, all judged."""
        return [PairedCounts(_counts(rng.randint(*self.first), self.rate, rng),
                             _counts(rng.randint(*self.second), self.rate - self.apart, rng))
                for _ in range(self.cases)]


def _counts(trials: int, rate: float, rng: Random) -> Counts:
    passed = sum(rng.random() < rate for _ in range(trials))
    return Counts(trials, passed, trials - passed)


def _sign_flip(pairs: Sequence[PairedCounts], most_work: int) -> Fraction:
    return sign_flip_p(pass_rate_differences(pairs), most_work)


def _larger(pairs: Sequence[PairedCounts], most_work: int) -> Fraction:
    """What a comparison with unequal numbers of trials rests on."""
    return max(_sign_flip(pairs, most_work), label_permutation_p(pairs, most_work))


KINDS = (
    Kind("sign-flip, 100 cases x 10", _sign_flip, 100, (10, 10), (10, 10), .8, .04),
    Kind("sign-flip, 1,000 cases x 10", _sign_flip, 1000, (10, 10), (10, 10), .8, .012),
    Kind("sign-flip, 3,000 cases x 10", _sign_flip, 3000, (10, 10), (10, 10), .8, .007),
    Kind("sign-flip, 120 cases, 8 to 10 against 8 to 10", _sign_flip, 120, (8, 10), (8, 10), .8, .035),
    Kind("sign-flip, 150 cases, 1 against 70 to 80", _sign_flip, 150, (1, 1), (70, 80), .95),
    Kind("sign-flip, 150 cases, 1 against 70 to 80, .99", _sign_flip, 150, (1, 1), (70, 80), .99),
    Kind("labels, 100 cases x 10", label_permutation_p, 100, (10, 10), (10, 10), .8, .04),
    Kind("labels, 1,000 cases x 10", label_permutation_p, 1000, (10, 10), (10, 10), .8, .012),
    Kind("labels, 60 cases, 8 to 10 against 8 to 10", label_permutation_p, 60, (8, 10), (8, 10), .8, .05),
    Kind("labels, 60 cases, 1 against 70 to 80, .95", label_permutation_p, 60, (1, 1), (70, 80), .95),
    Kind("the larger of both, 60 cases, 1 against 70 to 80, .95", _larger, 60, (1, 1), (70, 80), .95),
    Kind("the larger of both, 60 cases, 1 against 70 to 80, .99", _larger, 60, (1, 1), (70, 80), .99),
)


def row_of(kind: Kind, draws: int, rng: Random) -> list[str]:
    """The worst error of so many draws, the worst near .05, and seconds for each p of either way."""
    errors, near, took = [0.0], [0.0], [0.0, 0.0]
    for _ in range(draws):
        pairs, started = kind.draw(rng), time.process_time()
        exact, between = kind.test(pairs, EXACT), time.process_time()
        error = abs(float(exact - kind.test(pairs, APPROXIMATE)))
        took = [took[0] + between - started, took[1] + time.process_time() - between]
        errors.append(error)
        near += [error] if Fraction(1, 100) < exact < Fraction(1, 10) else []
    return [kind.name, f"{max(errors):.5f}", f"{max(near):.5f}" if len(near) > 1 else "",
            *(f"{seconds / draws:.2f}" for seconds in took)]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.approximate_p", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--draws", type=int, default=20, help="pairs of runs a row")
    flags.add_argument("--seed", type=int, default=1, help="the same seed draws the same runs")
    options = flags.parse_args(argv)
    rows = [row_of(kind, options.draws, Random(options.seed)) for kind in KINDS]
    print(table(["what is drawn", "worst error", "near .05", "s exact", "s about"], rows))
    print(f"{machine_line()}\nagain: python3 -m benchmarks.approximate_p --draws {options.draws} --seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
