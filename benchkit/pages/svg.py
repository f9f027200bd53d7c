"""The strokes that charts are drawn with, and from values to places: pictures, scales, ticks, coordinates."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchkit.pages.html import Html, element

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


def scale_of_durations(values: Sequence[float]) -> Scale:
    """From zero to a round end above the largest of these ascending values, or logarithmic where the tail is long."""
    if not values or not values[-1] > 0:
        return Scale(0.0, 1.0)
    low, middle, high = values[0], values[len(values) // 2], values[-1]
    if low > 0 and high >= LONG_TAIL * middle:
        return Scale(10.0 ** math.floor(math.log10(low)), high * 1.05, True)
    step = round_step(high, 5)
    return Scale(0.0, math.ceil(high / step - 1e-9) * step)


def range_of(values: Iterable[float | None]) -> tuple[float, float] | None:
    """The smallest and the largest known and finite value."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return (min(known), max(known)) if known else None


def round_step(span: float, most: int) -> float:
    """The smallest round step (1, 2, 2.5, 5 times a power of ten) that cuts a span into at most `most` parts."""
    return _round_up(span / most, _ROUND) if span > 0 else 1.0


def round_reach(value: float) -> float:
    """The smallest round number that is not below a value, and round when it is halved, too; 0.1 for nothing."""
    return _round_up(value, _ROUND_TWICE) if value > 0 else 0.1


def _round_up(value: float, steps: Sequence[float]) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


def ticks(scale: Scale, most: int = 5) -> tuple[float, ...]:
    """Round values within a scale; on a logarithmic one 1, 2 and 5 of each power of ten, or the powers alone."""
    if not scale.high > scale.low:
        return (scale.low,)
    if not scale.is_logarithmic:
        step = round_step(scale.high - scale.low, most)
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        values = [float(f"{step}e{power}") for power in powers for step in steps]
        found = tuple(value for value in values if scale.low * 0.999999 <= value <= scale.high * 1.000001)
        if len(found) <= most + 1:
            return found
    return found[::math.ceil(len(found) / (most + 1))]


def number(value: float) -> str:
    """A coordinate: at most two digits behind the point, none that say nothing, never a minus before zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percentage(place: float) -> str:
    """A place from 0 to 1 as a percentage of the width."""
    return number(place * 100) + "%"


def plain_number(value: float) -> str:
    """A tick's text: at most three digits that count, no exponent."""
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text.replace("e-0", "e-")


SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring", "down", "plus", "bow")
"""So that no series is told by its colour alone; with the colours, 18 series are told apart."""
COLOURS = 6
"""Series colours of the style sheet."""
_PATHS = {
    "square": "M-4-4H4V4H-4Z",
    "triangle": "M0-5L5 4H-5Z",
    "diamond": "M0-5.5L5.5 0L0 5.5L-5.5 0Z",
    "cross": "M-4-4L4 4M-4 4L4-4",
    "down": "M0 5L5-4H-5Z",
    "plus": "M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
    "bow": "M-5-4.5L5 4.5V-4.5L-5 4.5Z",
}
STRETCH = 1000
"""The width of the inner coordinates of stretched drawings."""


def picture(height: float, title: str, *drawn: Html, description: str = "", class_: str = "") -> Html:
    """An inline SVG of a height in pixels, read aloud as its title and description."""
    return element("svg", element("title", title), element("desc", description) if description else None, *drawn,
                   class_=f"chart {class_}".strip(), role="img",
                   aria_label=f"{title}. {description}" if description else title, width="100%", height=number(height))


def line(start: float, end: float, top: float, bottom: float, class_: str) -> Html:
    """A straight line between two places."""
    return element("line", x1=percentage(start), x2=percentage(end), y1=number(top), y2=number(bottom), class_=class_)


def upright(place: float, top: float, bottom: float, class_: str) -> Html:
    """A vertical line."""
    return line(place, place, top, bottom, class_)


def interval(low: float, high: float, top: float, class_: str = "interval", reach: float = 4) -> Html:
    """A horizontal line with an end mark at both ends, `reach` pixels up and down."""
    return Html("".join((line(low, high, top, top, class_), upright(low, top - reach, top + reach, class_),
                         upright(high, top - reach, top + reach, class_))))


def bar(start: float, end: float, top: float, height: float, class_: str, title: str = "") -> Html:
    """A rectangle between two places; its title is shown when it is pointed at."""
    return element("rect", element("title", title) if title else None, x=percentage(start),
                   width=percentage(max(0.0, end - start)), y=number(top), height=number(height), class_=class_)


def label(place: float, top: float, text: str, anchor: str = "middle", shift: float = 0, class_: str = "") -> Html:
    """A text; `shift` moves it by pixels to the right, `top` is its base line."""
    return element("text", text, x=percentage(place), y=number(top), dx=number(shift) if shift else None,
                   text_anchor=anchor, class_=class_ or None)


def edge_anchor(place: float, edge: float = 0.06) -> str:
    """How a text is anchored at a place, so that it does not leave the picture at either edge."""
    if place < edge:
        return "start"
    return "end" if place > 1 - edge else "middle"


def series_class(series: int) -> str:
    """The class that gives a series (from 1) its colour and its dashes."""
    return f"series-{(series - 1) % COLOURS + 1}"


def shape(series: int, place: float, top: float, title: str = "") -> Html:
    """The mark of a series (from 1), centred on a place."""
    name = SHAPES[(series - 1) % len(SHAPES)]
    class_ = f"shape {series_class(series)} {name}"
    told = element("title", title) if title else None
    if name in ("circle", "ring"):
        return element("circle", told, cx=percentage(place), cy=number(top), r="4.5", class_=class_)
    return element("svg", element("path", told, d=_PATHS[name], class_=class_), x=percentage(place), y=number(top),
                   class_="at")


def series_sign(series: int, is_line: bool = True) -> Html:
    """The small picture of a series in a key: its shape, and its line if it is drawn as one."""
    drawn = element("line", x1=1, x2=27, y1=8, y2=8, class_=f"curve {series_class(series)}") if is_line else None
    return element("svg", drawn, shape(series, 0.5, 8), class_="swatch", width=28 if is_line else 16, height=16,
                   aria_hidden="true")


def path(points: Sequence[tuple[float, float]], class_: str, is_closed: bool = False) -> Html:
    """A path through (place, pixels) points, in the coordinates of stretched()."""
    steps = "L".join(f"{number(place * STRETCH)} {number(top)}" for place, top in points)
    return element("path", d=f"M{steps}{'Z' if is_closed else ''}", class_=class_)


def stretched(height: float, *drawn: Html) -> Html:
    """A drawing whose width follows the page; only for paths, since everything in it is stretched but the strokes."""
    return element("svg", *drawn, viewBox=f"0 0 {STRETCH} {number(height)}", preserveAspectRatio="none",
                   width="100%", height=number(height), class_="stretched")
