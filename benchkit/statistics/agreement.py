"""How far outputs repeat themselves: inside a case, and between two recordings.

Outputs come as digests, or as counts of equal ones; how a digest is made is not known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Generic, TypeVar

Cell = TypeVar("Cell", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Agreement(Generic[Cell]):
    """Cells that both sides have, how many of them are equal, and the first that is not."""

    compared: int
    equal: int
    first_difference: Cell | None

    @property
    def share(self) -> Fraction | None:
        """Share of equal cells; None where nothing could be compared."""
        return Fraction(self.equal, self.compared) if self.compared else None


def agreement(first: Mapping[Cell, str], second: Mapping[Cell, str]) -> Agreement[Cell]:
    """Compare digests cell by cell, in the order of `first`, over the cells that both have."""
    shared = [cell for cell in first if cell in second]
    different = [cell for cell in shared if first[cell] != second[cell]]
    return Agreement(len(shared), len(shared) - len(different), different[0] if different else None)


def equal_pairs_share(outputs: Iterable[Hashable]) -> Fraction | None:
    """Share of equal pairs among the outputs of one case: sum of C(count, 2) / C(n, 2).

    The unbiased estimate of the probability that two fresh outputs are equal; None with fewer than two.
    """
    counts = Counter(outputs)
    pairs = comb(counts.total(), 2)
    return Fraction(sum(comb(count, 2) for count in counts.values()), pairs) if pairs else None


def self_agreement(cases: Iterable[Iterable[Hashable]]) -> Fraction | None:
    """Mean over cases of the share of equal pairs, cases with fewer than two outputs left out."""
    return mean_share(map(equal_pairs_share, cases))


def mean_share(shares: Iterable[Fraction | None]) -> Fraction | None:
    """Mean of the shares that there are; None if there are none."""
    known = [share for share in shares if share is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def parting_index(first: str, second: str) -> int | None:
    """Index of the first character in which two texts differ, or one has ended; None when they are equal."""
    for index, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return index
    return None if len(first) == len(second) else min(len(first), len(second))
