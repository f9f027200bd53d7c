"""The strokes that charts are drawn with: pictures with a text alternative, lines, bars, labels, marks of a shape.

A picture is as wide as its place on the page: horizontal places are given from 0 to 1 and written as percentages,
vertical ones are pixels, and text keeps its size. Colours come from classes, so that they follow light and dark.
"""
from __future__ import annotations

from collections.abc import Sequence

from benchkit.pages.html import Html, element
from benchkit.pages.scales import number, percent

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


def picture(height: float, title: str, description: str, *drawn: Html, class_: str = "") -> Html:
    """An inline SVG of a height in pixels, read aloud as its title and description."""
    spoken = f"{title}. {description}" if description else title
    return element("svg", element("title", title), element("desc", description) if description else None, *drawn,
                   class_=f"chart {class_}".strip(), role="img", aria_label=spoken, width="100%",
                   height=number(height))


def line(start: float, end: float, top: float, bottom: float, class_: str) -> Html:
    """A straight line between two places."""
    return element("line", x1=percent(start), x2=percent(end), y1=number(top), y2=number(bottom), class_=class_)


def upright(place: float, top: float, bottom: float, class_: str) -> Html:
    """A vertical line."""
    return line(place, place, top, bottom, class_)


def bar(start: float, end: float, top: float, height: float, class_: str, title: str = "") -> Html:
    """A rectangle between two places; its title is shown when it is pointed at."""
    return element("rect", element("title", title) if title else None, x=percent(start),
                   width=percent(max(0.0, end - start)), y=number(top), height=number(height), class_=class_)


def dot(place: float, top: float, radius: float, class_: str) -> Html:
    """A circle around a place."""
    return element("circle", cx=percent(place), cy=number(top), r=number(radius), class_=class_)


def label(place: float, top: float, text: str, anchor: str = "middle", shift: float = 0, class_: str = "") -> Html:
    """A text; `shift` moves it by pixels to the right, `top` is its base line."""
    return element("text", text, x=percent(place), y=number(top), dx=number(shift) if shift else None,
                   text_anchor=anchor, class_=class_ or None)


def shape(series: int, place: float, top: float, title: str = "", class_: str = "") -> Html:
    """The mark of a series (from 1), centred on a place."""
    name = SHAPES[(series - 1) % len(SHAPES)]
    classes = f"shape {series_class(series)} {class_}".strip()
    told = element("title", title) if title else None
    if name in ("circle", "ring"):
        return element("circle", told, cx=percent(place), cy=number(top), r="4.5", class_=f"{classes} {name}")
    inner = element("path", told, d=_PATHS[name], class_=f"{classes} {name}")
    return element("svg", inner, x=percent(place), y=number(top), class_="at")


def series_class(series: int) -> str:
    """The class that gives a series (from 1) its colour and its dashes."""
    return f"series-{(series - 1) % COLOURS + 1}"


def interval(low: float, high: float, top: float, class_: str = "interval", reach: float = 4) -> Html:
    """A horizontal line with an end mark at both ends, `reach` pixels up and down."""
    return Html("".join((line(low, high, top, top, class_), upright(low, top - reach, top + reach, class_),
                         upright(high, top - reach, top + reach, class_))))


def path(points: Sequence[tuple[float, float]], class_: str, is_closed: bool = False) -> Html:
    """A path through (place, pixels) points, in the coordinates of stretched()."""
    steps = "L".join(f"{number(place * STRETCH)} {number(top)}" for place, top in points)
    return element("path", d=f"M{steps}{'Z' if is_closed else ''}", class_=class_)


def stretched(height: float, *drawn: Html) -> Html:
    """A drawing whose width follows the page; only for paths, since everything in it is stretched but the strokes."""
    return element("svg", *drawn, viewBox=f"0 0 {STRETCH} {number(height)}", preserveAspectRatio="none",
                   width="100%", height=number(height), class_="stretched")


def edge_anchor(place: float) -> str:
    """How a text is anchored at a place, so that it does not leave the picture at either edge."""
    if place < 0.06:
        return "start"
    return "end" if place > 0.94 else "middle"


def series_sign(series: int, is_line: bool = True) -> Html:
    """The small picture of a series in a key: its shape, and its line if it is drawn as one."""
    drawn = element("line", x1=1, x2=27, y1=8, y2=8, class_=f"curve {series_class(series)}") if is_line else None
    width = 28 if is_line else 16
    return element("svg", drawn, shape(series, 0.5, 8), class_="swatch", width=width, height=16, aria_hidden="true")
