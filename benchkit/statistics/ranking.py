"""Several systems over the same cases: Holm's correction, and the ranks that the data leave possible."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from benchkit.statistics.permutation import About, OpenValue, mean, sign_flip_p, worst_sign_flip_p


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two systems by name: mean difference (first minus second), its p, and p corrected for all pairs.

    `difference` is over what both judged; it is None, and p is 1, where that is no case. p is the larger of the one of
    the judged values and the one that is left when all that is incomplete goes against the side ahead.
    """

    first: str
    second: str
    difference: Fraction | None
    p: Fraction
    adjusted: Fraction


@dataclass(frozen=True, slots=True)
class RankSet:
    """The ranks a system may hold, 1 being the best: shown as "2-3", or "2" where both are equal."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}-{self.worst}"


def holm(p_values: Sequence[Fraction]) -> list[Fraction]:
    """Holm's adjusted p-values, in the order given: they hold together, under any dependence. `About` stays so."""
    adjusted = [Fraction(1)] * len(p_values)
    so_far = Fraction(0)
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        p = p_values[index]
        kind = type(p)  # what is made of an approximated p was approximated, too
        so_far = max(so_far, kind(min(Fraction(1), p * (len(p_values) - place))))
        adjusted[index] = kind(so_far) if kind is About else so_far
    return adjusted


def open_pair_tests(systems: Mapping[str, Mapping[str, OpenValue]]) -> list[PairTest]:
    """Sign-flip tests of all pairs of systems over the cases both have, Holm-adjusted; each one's values by case id."""
    pairs = list(combinations(systems, 2))
    by_pair = [[value - systems[second][case] for case, value in systems[first].items() if case in systems[second]]
               for first, second in pairs]
    judged = [[one.judged for one in differences if one.judged is not None] for differences in by_pair]
    p_values = [max(sign_flip_p(known), worst_sign_flip_p(differences))
                for known, differences in zip(judged, by_pair, strict=True)]
    return [PairTest(first, second, mean(known), p, adjusted)
            for (first, second), known, p, adjusted in zip(pairs, judged, p_values, holm(p_values), strict=True)]


def wins(tests: Sequence[PairTest], alpha: float = 0.05) -> list[tuple[str, str]]:
    """(winner, loser) of each pair that differs significantly."""
    return [(test.first, test.second) if test.difference > 0 else (test.second, test.first)
            for test in tests if test.difference and test.adjusted < alpha]


def rank_sets(names: Sequence[str], tests: Sequence[PairTest], alpha: float = 0.05) -> dict[str, RankSet]:
    """For each system: best = 1 + number significantly better, worst = K - number significantly worse."""
    won = wins(tests, alpha)
    return {name: RankSet(best=1 + sum(loser == name for _, loser in won),
                          worst=len(names) - sum(winner == name for winner, _ in won)) for name in names}
