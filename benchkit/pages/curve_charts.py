"""Curves over a whole number, such as pass@k over k, with their bands; and distributions of durations."""
from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import TypeVar

from benchkit.basics.texts import percent, word_for
from benchkit.pages import svg
from benchkit.pages.html import Html, element, joined, whole
from benchkit.pages.parts import key
from benchkit.pages.svg import Scale, plain_number

PLOT, TOP, FOOT = 220, 22, 40
"""Pixels: the height of the plot, of what stands above it, of the axis below it."""
MOST_SHAPES = 40
"""Curves of more points than this are drawn without a shape at each point."""
MOST_WHOLE_TICKS = 12
Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve; an unknown `y` is a gap, an unknown `low` or `high` a gap of the band.

    `least` and `most`, where they are known, are the ends of a darker band inside it.
    """

    x: int
    y: float | None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve and its band, points in the order of x."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Curves on the same axes. `description` says in a sentence what the picture shows; y from 0 to 1 is in percent."""

    title: str
    description: str
    x_title: str
    y_title: str
    curves: Sequence[Curve]


def curve_chart(chart: CurveChart) -> Html:
    """The picture, its title above it and its key below it."""
    points = [point for curve in chart.curves for point in curve.points]
    low, high = svg.range_of(value for one in points for value in (one.y, one.low, one.high)) or (0.0, 1.0)
    across = Scale(*(svg.range_of(point.x for point in points) or (0, 1)))
    up = Scale(min(0.0, low), max(1.0, high))
    drawn = whole((*_grid(chart, across, up), *_curves(chart.curves, across, up)))
    plot = element("svg", drawn, y=TOP, width="100%", height=PLOT + FOOT, class_="open")
    above = svg.label(0, 12, chart.y_title, "start", -52, "axis-title")
    shown = svg.picture(TOP + PLOT + FOOT, chart.title, above, plot, description=chart.description, class_="curves")
    return element("figure", element("figcaption", chart.title), shown,
                   key([(svg.series_sign(series), curve.name) for series, curve in enumerate(chart.curves, 1)]))


def _top(up: Scale, value: float) -> float:
    return PLOT * (1 - up.place(value))


def _grid(chart: CurveChart, across: Scale, up: Scale) -> Iterator[Html]:
    for value in svg.ticks(up, 4):
        top = _top(up, value)
        yield svg.line(0, 1, top, top, "grid")
        yield svg.label(0, top + 4, f"{plain_number(value * 100)} %", "end", -8)
    for value in _whole_ticks(across):
        place = across.place(value)
        yield svg.upright(place, PLOT, PLOT + 4, "axis")
        yield svg.label(place, PLOT + 18, plain_number(value))
    yield svg.line(0, 1, PLOT, PLOT, "axis")
    yield svg.label(0.5, PLOT + 36, chart.x_title, class_="axis-title")


def _whole_ticks(scale: Scale) -> tuple[float, ...]:
    low, high = round(scale.low), round(scale.high)
    if high - low < MOST_WHOLE_TICKS:
        return tuple(float(value) for value in range(low, high + 1))
    inner = [value for value in svg.ticks(scale, 6) if value == round(value) and value - low > (high - low) / 20]
    return (float(low), *inner)


def _curves(curves: Sequence[Curve], across: Scale, up: Scale) -> Iterator[Html]:
    """Bands below, curves above them, and shapes at the points on top."""
    numbered = list(enumerate(curves, 1))
    bands = [(series, [(point.x, point.low, point.high) for point in curve.points]) for series, curve in numbered]
    bands += [(series, [(point.x, point.least, point.most) for point in curve.points]) for series, curve in numbered]
    paths = []
    for series, ends in bands:
        for known in _runs(ends, lambda end: end[1] is not None and end[2] is not None):
            upper = [(across.place(x), _top(up, high or 0.0)) for x, _, high in known]
            lower = [(across.place(x), _top(up, low or 0.0)) for x, low, _ in reversed(known)]
            name = "band" if len(known) > 1 else "single"
            paths.append(svg.path([*upper, *lower], f"{name} {svg.series_class(series)}", len(known) > 1))
    shapes = []
    for series, curve in numbered:
        runs = _runs(curve.points, lambda point: point.y is not None)
        spots = [[(across.place(point.x), _top(up, point.y or 0.0)) for point in run] for run in runs]
        paths += [svg.path(spot, f"curve {svg.series_class(series)}") for spot in spots if len(spot) > 1]
        is_crowded = sum(map(len, runs)) > MOST_SHAPES
        shapes += [svg.shape(series, *spot, title=_told(curve, point))
                   for run, places in zip(runs, spots, strict=True) if len(run) == 1 or not is_crowded
                   for point, spot in zip(run, places, strict=True)]
    yield svg.stretched(PLOT, *paths)
    yield from shapes


def _told(curve: Curve, point: Point) -> str:
    band = "" if point.low is None or point.high is None else f" ({percent(point.low)} % to {percent(point.high)} %)"
    return f"{curve.name}, {point.x}: {percent(point.y)} %{band}"


def _runs(points: Sequence[Place], is_known: Callable[[Place], bool]) -> list[list[Place]]:
    """The stretches of points between gaps."""
    return [list(run) for known, run in groupby(points, is_known) if known]


BINS = 30
BARS, LINE, AXIS = 72, 24, 22
"""Pixels: the height of the bars, of a line of a percentile above them, of the axis below them."""
_BASE, _INTERVAL, _BESIDE = 12, 19.5, 8
"""Pixels within the line of a percentile: where its name stands and its interval, and how far from its mark."""
_LABEL = 0.3
"""The part of the narrowest picture that a name and its value may need."""


@dataclass(frozen=True, slots=True)
class PercentileMark:
    """A mark on a distribution: its name, its value, and its interval where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Durations of one kind, ascending.

    `note` says what is not in the picture, such as trials without a reply.
    """

    name: str
    values: Sequence[float]
    percentiles: Sequence[PercentileMark] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class DistributionChart:
    """Groups of durations in one unit; `things` is what one value is, and what several are."""

    title: str
    groups: Sequence[Group]
    unit: str = "s"
    things: tuple[str, str] = ("reply", "replies")


def distribution_chart(chart: DistributionChart) -> Html:
    """A histogram for each group, one below the other on one scale."""
    scale = svg.scale_of_durations(array("d", merge(*(group.values for group in chart.groups))))
    groups = [_group(chart, group, scale) for group in chart.groups]
    told = element("p", "The scale is logarithmic.", class_="quiet") if scale.is_logarithmic else None
    return element("figure", element("figcaption", chart.title), *groups, told)


def counts_in_bins(values: Sequence[float], scale: Scale, bins: int = BINS) -> list[int]:
    """How many of these ascending values stand in each of the equal parts of a scale; its end is in the last part."""
    ends = [bisect_right(values, number, key=lambda value: min(bins - 1, int(scale.place(value) * bins)))
            for number in range(bins)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _group(chart: DistributionChart, group: Group, scale: Scale) -> Html:
    count, values = f"{len(group.values)} {word_for(len(group.values), *chart.things)}", group.values
    about = f"{count}, {group.note}" if group.note else count
    heading = element("p", element("strong", group.name), " ", element("span", about, class_="quiet"), class_="group")
    if not values:
        return joined(heading, element("p", "Nothing to draw.", class_="quiet"))
    told = [f"{count} from {_with_unit(values[0], chart)} to {_with_unit(values[-1], chart)}",
            *(f"{mark.name} {_with_unit(mark.value, chart)}" for mark in group.percentiles)]
    base = LINE * len(group.percentiles) + BARS
    drawn = (*_bars(chart, group, scale, base), *_marks(chart, group, scale, base), *_axis(chart, scale, base))
    return joined(heading, svg.picture(base + AXIS, f"{chart.title}, {group.name}", *drawn,
                                       description="; ".join(told), class_="distribution"))


def _bars(chart: DistributionChart, group: Group, scale: Scale, base: float) -> Iterator[Html]:
    counts = counts_in_bins(group.values, scale)
    for place, count in enumerate(counts):
        if count:
            low, high = place / BINS, (place + 1) / BINS
            # one value among thousands must not vanish
            height = max(2.0, BARS * count / max(counts))
            told = f"{_with_unit(scale.at(low), chart)} to {_with_unit(scale.at(high), chart)}: {count}"
            yield svg.bar(low, high, base - height, height, "bin", told)


def _marks(chart: DistributionChart, group: Group, scale: Scale, base: float) -> Iterator[Html]:
    """Each percentile on a line of its own: its mark down to the axis, its interval, its name beside it."""
    places = [scale.place(mark.value) for mark in group.percentiles]
    for row, (mark, place) in enumerate(zip(group.percentiles, places, strict=True)):
        start = float(row * LINE + 2)
        # the mark leaves out the names below that stand to the left of theirs, where it would pass
        for below in range(row + 1, len(places)):
            if places[below] > 1 - _LABEL and places[below] - _LABEL < place < places[below]:
                yield svg.upright(place, start, float(below * LINE), "percentile")
                start = float(below * LINE + _BASE + 4)
        yield svg.upright(place, start, base, "percentile")
        if mark.low is not None and mark.high is not None:
            low, high = scale.place(mark.low), scale.place(mark.high)
            yield svg.interval(low, high, row * LINE + _INTERVAL, "interval thin", 2.5)
        anchor, shift = ("end", -_BESIDE) if place > 1 - _LABEL else ("start", _BESIDE)
        yield svg.label(place, row * LINE + _BASE, f"{mark.name} {_with_unit(mark.value, chart)}", anchor, shift)


def _axis(chart: DistributionChart, scale: Scale, base: float) -> Iterator[Html]:
    yield svg.line(0, 1, base, base, "axis")
    for value in svg.ticks(scale):
        place = scale.place(value)
        yield svg.upright(place, base, base + 4, "axis")
        yield svg.label(place, base + 18, _with_unit(value, chart), svg.edge_anchor(place))


def _with_unit(value: float, chart: DistributionChart) -> str:
    return f"{plain_number(value)} {chart.unit}"
