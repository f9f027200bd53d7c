"""From values to places on a picture: scales, round numbers for their ticks, and coordinates of a few digits.

Horizontal places are percentages of the width of the picture, so that it fits any screen while its text stays at its
size; vertical places are pixels.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONG_TAIL = 20
"""From this ratio of the largest value to the middle one on, a distribution is drawn on a logarithmic scale."""
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUND_TWICE = (1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values between `low` and `high` as places from 0 to 1. A range of nothing puts everything in the middle."""

    low: float
    high: float
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a value stands, from 0 to 1; values outside stand at the edge."""
        low, high, value = (self._inner(number) for number in (self.low, self.high, value))
        if not high > low:
            return 0.5
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def at(self, place: float) -> float:
        """The value at a place."""
        low, high = self._inner(self.low), self._inner(self.high)
        inner = low + (high - low) * place
        return 10.0 ** inner if self.is_logarithmic else inner

    def _inner(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.is_logarithmic else value


def number(value: float) -> str:
    """A coordinate: at most two digits behind the point, none that say nothing, never a minus before zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(place: float) -> str:
    """A place from 0 to 1 as a percentage of the width."""
    return number(place * 100) + "%"


def round_step(span: float, most: int) -> float:
    """The smallest round step (1, 2, 2.5, 5 times a power of ten) that cuts a span into at most `most` parts."""
    if not span > 0:
        return 1.0
    return _round_up(span / most, _ROUND)


def round_reach(value: float) -> float:
    """The smallest round number that is not below a value, and round when it is halved, too; 0.1 for nothing."""
    return _round_up(value, _ROUND_TWICE) if value > 0 else 0.1


def _round_up(value: float, steps: Sequence[float]) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


def ticks(scale: Scale, most: int = 5) -> tuple[float, ...]:
    """Round values within a scale; on a logarithmic one 1, 2 and 5 of each power of ten, or the powers alone."""
    if scale.is_logarithmic:
        return _logarithmic_ticks(scale, most)
    if not scale.high > scale.low:
        return (scale.low,)
    step = round_step(scale.high - scale.low, most)
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def _logarithmic_ticks(scale: Scale, most: int) -> tuple[float, ...]:
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    found: tuple[float, ...] = ()
    for steps in ((1, 2, 5), (1,)):
        values = [float(f"{step}e{power}") for power in powers for step in steps]
        found = tuple(value for value in values if scale.low * 0.999999 <= value <= scale.high * 1.000001)
        if len(found) <= most + 1:
            break
    return found[::math.ceil(len(found) / (most + 1))] if found else ()


def range_of(values: Iterable[float | None]) -> tuple[float, float] | None:
    """The smallest and the largest known and finite value."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return (min(known), max(known)) if known else None


def scale_of_durations(values: Sequence[float]) -> Scale:
    """From zero to a round end above the largest of these ascending values, or logarithmic where the tail is long."""
    if not values:
        return Scale(0.0, 1.0)
    low, middle, high = values[0], values[len(values) // 2], values[-1]
    if low > 0 and high >= LONG_TAIL * middle:
        return Scale(10.0 ** math.floor(math.log10(low)), high * 1.05, True)
    step = round_step(high, 5) if high > 0 else 1.0
    return Scale(0.0, math.ceil(high / step - 1e-9) * step if high > 0 else 1.0)


def plain_number(value: float) -> str:
    """A tick's text: at most three digits that count, no exponent."""
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text.replace("e-0", "e-")
