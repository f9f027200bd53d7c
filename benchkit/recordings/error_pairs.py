"""Trials of two recordings that ended in an error on a side: counted by name, apart from outputs that are compared."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchkit.basics.texts import count_of


@dataclass(frozen=True, slots=True)
class ErrorPairs:
    """How many trials ended in an error on both sides, with one type there, and where the other gave an output."""

    both: int
    same_type: int
    only_first: int
    only_second: int

    @property
    def counted(self) -> int:
        """Trials with an error on a side."""
        return self.both + self.only_first + self.only_second

    @property
    def different(self) -> int:
        """Those that are not the same on both sides."""
        return self.counted - self.same_type

    def texts(self, first: str, second: str) -> Iterator[str]:
        """What there is, in a sentence each, without a full stop; the sides by name."""
        if self.both:
            yield (f"{count_of(self.both, 'trial')} ended in an error on both sides, {self.same_type:,} with the same "
                   "type")
        for count, side in ((self.only_first, first), (self.only_second, second)):
            if count:
                yield f"{count_of(count, 'trial')} ended in an error in {side} only"


def error_pairs(types: Mapping[tuple[str | None, str | None], int]) -> ErrorPairs:
    """The counts of trials by the types of their errors; None where a side gave an output, on one side at most."""
    both = {pair: count for pair, count in types.items() if None not in pair}
    return ErrorPairs(
        sum(both.values()), sum(count for (one, other), count in both.items() if one == other),
        sum(count for (_, other), count in types.items() if other is None),
        sum(count for (one, _), count in types.items() if one is None))
