"""Curves over a whole number, such as pass@k over k, with their bands; and distributions of durations."""
from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TypeVar

from benchkit.basics.texts import percent, word_for
from benchkit.pages.html import Html, element, joined, whole
from benchkit.pages.parts import key
from benchkit.pages.svg import (
    Scale,
    bar,
    edge_anchor,
    interval,
    label,
    line,
    path,
    picture,
    plain_number,
    range_of,
    scale_of_durations,
    series_class,
    series_sign,
    shape,
    stretched,
    ticks,
    upright,
)

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


@dataclass(frozen=True, slots=True)
class _Axes:
    x: Scale
    y: Scale

    def spot(self, x: int, y: float) -> tuple[float, float]:
        return self.x.place(x), PLOT * (1 - self.y.place(y))


def curve_chart(chart: CurveChart) -> Html:
    """The picture, its title above it and its key below it."""
    axes = _axes(chart.curves)
    drawn = whole((*_grid(chart, axes), *_curves(chart.curves, axes)))
    plot = element("svg", drawn, y=TOP, width="100%", height=PLOT + FOOT, class_="open")
    above = label(0, 12, chart.y_title, "start", -52, "axis-title")
    shown = picture(TOP + PLOT + FOOT, chart.title, chart.description, above, plot, class_="curves")
    return element("figure", element("figcaption", chart.title), shown, _key(chart.curves))


def _axes(curves: Sequence[Curve]) -> _Axes:
    across = range_of(point.x for curve in curves for point in curve.points) or (0, 1)
    values = [value for curve in curves for point in curve.points for value in (point.y, point.low, point.high)]
    low, high = range_of(values) or (0.0, 1.0)
    return _Axes(Scale(*across), Scale(min(0.0, low), max(1.0, high)))


def _grid(chart: CurveChart, axes: _Axes) -> Iterator[Html]:
    for value in ticks(axes.y, 4):
        _, top = axes.spot(0, value)
        yield line(0, 1, top, top, "grid")
        yield label(0, top + 4, f"{plain_number(value * 100)} %", "end", -8)
    for value in _whole_ticks(axes.x):
        place = axes.x.place(value)
        yield upright(place, PLOT, PLOT + 4, "axis")
        yield label(place, PLOT + 18, plain_number(value))
    yield line(0, 1, PLOT, PLOT, "axis")
    yield label(0.5, PLOT + 36, chart.x_title, class_="axis-title")


def _share(value: float) -> str:
    return f"{percent(value)} %"


def _whole_ticks(scale: Scale) -> tuple[float, ...]:
    low, high = round(scale.low), round(scale.high)
    if high - low < MOST_WHOLE_TICKS:
        return tuple(float(value) for value in range(low, high + 1))
    inner = [value for value in ticks(scale, 6) if value == round(value) and value - low > (high - low) / 20]
    return (float(low), *inner)


def _curves(curves: Sequence[Curve], axes: _Axes) -> Iterator[Html]:
    paths = [_band(series, [(point.x, point.low, point.high) for point in curve.points], axes)
             for series, curve in enumerate(curves, 1)]
    paths += [_band(series, [(point.x, point.least, point.most) for point in curve.points], axes)
              for series, curve in enumerate(curves, 1)]
    paths += [_line(series, curve, axes) for series, curve in enumerate(curves, 1)]
    yield stretched(PLOT, *paths)
    for series, curve in enumerate(curves, 1):
        known = [point for point in curve.points if point.y is not None]
        runs = _runs(curve.points, lambda point: point.y is not None)
        lonely = known if len(known) <= MOST_SHAPES else [run[0] for run in runs if len(run) == 1]
        for point in lonely:
            assert point.y is not None
            yield shape(series, *axes.spot(point.x, point.y), title=_told(curve, point))


def _told(curve: Curve, point: Point) -> str:
    band = "" if point.low is None or point.high is None else f" ({_share(point.low)} to {_share(point.high)})"
    return f"{curve.name}, {point.x}: {_share(point.y or 0.0)}{band}"


def _band(series: int, ends: Sequence[tuple[int, float | None, float | None]], axes: _Axes) -> Html:
    """The area between two ends (x, low, high), in each stretch where both are known."""
    drawn = []
    for run in _runs(ends, lambda end: end[1] is not None and end[2] is not None):
        upper = [axes.spot(x, high or 0.0) for x, _, high in run]
        lower = [axes.spot(x, low or 0.0) for x, low, _ in reversed(run)]
        is_single = len(run) == 1
        drawn.append(path([*upper, *lower], f"{'single' if is_single else 'band'} {series_class(series)}",
                          not is_single))
    return whole(drawn)


def _line(series: int, curve: Curve, axes: _Axes) -> Html:
    runs = _runs(curve.points, lambda point: point.y is not None)
    return whole(path([axes.spot(point.x, point.y or 0.0) for point in run], f"curve {series_class(series)}")
                 for run in runs if len(run) > 1)


def _runs(points: Sequence[Place], is_known: Callable[[Place], bool]) -> list[list[Place]]:
    """The stretches of points between gaps."""
    runs: list[list[Place]] = [[]]
    for point in points:
        if is_known(point):
            runs[-1].append(point)
        else:
            runs.append([])
    return [run for run in runs if run]


def _key(curves: Sequence[Curve]) -> Html:
    return key([(series_sign(series), curve.name) for series, curve in enumerate(curves, 1)])


BINS = 30
PLOT_OF_DISTRIBUTION_CHART, LINE, FOOT_OF_DISTRIBUTION_CHART = 72, 24, 22
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
    scale = scale_of_durations(array("d", merge(*(group.values for group in chart.groups))))
    groups = [_group(chart, group, scale) for group in chart.groups]
    told = element("p", "The scale is logarithmic.", class_="quiet") if scale.is_logarithmic else None
    return element("figure", element("figcaption", chart.title), *groups, told)


def counts_in_bins(values: Sequence[float], scale: Scale, bins: int = BINS) -> list[int]:
    """How many of these ascending values stand in each of the equal parts of a scale; its end is in the last part."""
    ends = [bisect_right(values, number, key=lambda value: min(bins - 1, int(scale.place(value) * bins)))
            for number in range(bins)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _group(chart: DistributionChart, group: Group, scale: Scale) -> Html:
    about = f"{len(group.values)} {word_for(len(group.values), *chart.things)}"
    about += f", {group.note}" if group.note else ""
    heading = element("p", element("strong", group.name), " ", element("span", about, class_="quiet"), class_="group")
    if not group.values:
        return joined(heading, element("p", "Nothing to draw.", class_="quiet"))
    top = LINE * len(group.percentiles)
    drawn = whole((*_bars(chart, group, scale, top), *_marks(chart, group, scale, top), *_axis(chart, scale, top)))
    told = _told_of_distribution_chart(chart, group)
    return joined(
        heading,
        picture(
            top + PLOT_OF_DISTRIBUTION_CHART + FOOT_OF_DISTRIBUTION_CHART,
            f"{chart.title}, {group.name}",
            told,
            drawn,
            class_="distribution",
        ),
    )


def _told_of_distribution_chart(chart: DistributionChart, group: Group) -> str:
    ends = f"{_with_unit(group.values[0], chart)} to {_with_unit(group.values[-1], chart)}"
    marks = [f"{mark.name} {_with_unit(mark.value, chart)}" for mark in group.percentiles]
    return "; ".join([f"{len(group.values)} {word_for(len(group.values), *chart.things)} from {ends}", *marks])


def _bars(chart: DistributionChart, group: Group, scale: Scale, top: float) -> Iterator[Html]:
    counts = counts_in_bins(group.values, scale)
    most = max([*counts, 1])
    for place, count in enumerate(counts):
        if count:
            low, high = place / BINS, (place + 1) / BINS
            # one value among thousands must not vanish
            height = max(2.0, PLOT_OF_DISTRIBUTION_CHART * count / most)
            told = f"{_with_unit(scale.at(low), chart)} to {_with_unit(scale.at(high), chart)}: {count}"
            yield bar(low, high, top + PLOT_OF_DISTRIBUTION_CHART - height, height, "bin", told)


def _marks(chart: DistributionChart, group: Group, scale: Scale, top: float) -> Iterator[Html]:
    places = [scale.place(mark.value) for mark in group.percentiles]
    for row, (mark, place) in enumerate(zip(group.percentiles, places, strict=True)):
        for start, end in _stretches(row, places, top + PLOT_OF_DISTRIBUTION_CHART):
            yield upright(place, start, end, "percentile")
        if mark.low is not None and mark.high is not None:
            yield interval(scale.place(mark.low), scale.place(mark.high), row * LINE + _INTERVAL, "interval thin", 2.5)
        is_left = _is_left(place)
        yield label(place, row * LINE + _BASE, f"{mark.name} {_with_unit(mark.value, chart)}",
                    "end" if is_left else "start", -_BESIDE if is_left else _BESIDE)


def _is_left(place: float) -> bool:
    return place > 1 - _LABEL


def _stretches(row: int, places: Sequence[float], bottom: float) -> Iterator[tuple[float, float]]:
    """The line of a percentile downwards, without the lines of text on its way that stand where it would pass."""
    start = float(row * LINE + 2)
    for below in range(row + 1, len(places)):
        if _is_left(places[below]) and places[below] - _LABEL < places[row] < places[below]:
            yield start, float(below * LINE)
            start = float(below * LINE + _BASE + 4)
    yield start, bottom


def _axis(chart: DistributionChart, scale: Scale, top: float) -> Iterator[Html]:
    base = top + PLOT_OF_DISTRIBUTION_CHART
    yield line(0, 1, base, base, "axis")
    for value in ticks(scale):
        place = scale.place(value)
        yield upright(place, base, base + 4, "axis")
        yield label(place, base + 18, _with_unit(value, chart), edge_anchor(place))


def _with_unit(value: float, chart: DistributionChart) -> str:
    return f"{plain_number(value)} {chart.unit}"
