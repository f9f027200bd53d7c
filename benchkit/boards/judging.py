"""What the judges of a pack say of one answer.

What does not live here: the judges (the pack), and what scores amount to over many answers (the standings).
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.values import Case
from benchkit.boards.pack import Step, Track
from benchkit.tasks.modules import told


class UnjudgedError(ValueError):
    """A judge raised, or gave something else than its kind of track may."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One answer under every track: numbers from 0 to 1 of the capabilities, whether each hard gate held."""

    capabilities: Mapping[str, float]
    gates: Mapping[str, bool]

    @property
    def capability(self) -> Fraction:
        """The mean of the capability tracks, exact."""
        return sum((Fraction(value) for value in self.capabilities.values()), Fraction(0)) / len(self.capabilities)

    @property
    def held(self) -> bool:
        """Whether every hard gate held."""
        return all(self.gates.values())


def scores_of(tracks: Sequence[Track], case: Case, answer: str, steps: Sequence[Step]) -> Scores:
    """The scores of one answer. Raises UnjudgedError that names the track."""
    found = {track.name: value_of(track, case, answer, steps) for track in tracks}
    return Scores({track.name: float(found[track.name]) for track in tracks if track.kind == "capability"},
                  {track.name: bool(found[track.name]) for track in tracks if track.kind == "gate"})


def value_of(track: Track, case: Case, answer: str, steps: Sequence[Step]) -> float | bool:
    """What one judge says: a float from 0 to 1, or whether the gate held. Raises UnjudgedError."""
    try:
        value: object = track.judge(case, answer, tuple(steps))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UnjudgedError(f"track {track.name} {told(error, track.judge)}") from error
    if track.kind == "gate":
        if type(value) is not bool:
            raise UnjudgedError(f"track {track.name} gave {type(value).__name__}, not whether it held")
        return value
    if type(value) not in (int, float) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UnjudgedError(f"track {track.name} gave {_shown(value)}, not a number from 0 to 1")
    return float(value)


def _shown(value: object) -> str:
    is_number = isinstance(value, float) and math.isfinite(value)
    return f"{value:g}" if is_number else type(value).__name__
