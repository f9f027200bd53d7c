"""Distributions of durations: a histogram for each group on one scale, with its percentiles marked."""
from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge

from benchkit.basics.texts import word_for
from benchkit.pages.html import Html, element, joined, whole
from benchkit.pages.scales import Scale, plain_number, scale_of_durations, ticks
from benchkit.pages.svg import bar, edge_anchor, interval, label, line, picture, upright

BINS = 30
PLOT, LINE, FOOT = 72, 24, 22
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
    told = _told(chart, group)
    return joined(heading, picture(top + PLOT + FOOT, f"{chart.title}, {group.name}", told, drawn,
                                   class_="distribution"))


def _told(chart: DistributionChart, group: Group) -> str:
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
            height = max(2.0, PLOT * count / most)
            told = f"{_with_unit(scale.at(low), chart)} to {_with_unit(scale.at(high), chart)}: {count}"
            yield bar(low, high, top + PLOT - height, height, "bin", told)


def _marks(chart: DistributionChart, group: Group, scale: Scale, top: float) -> Iterator[Html]:
    places = [scale.place(mark.value) for mark in group.percentiles]
    for row, (mark, place) in enumerate(zip(group.percentiles, places, strict=True)):
        for start, end in _stretches(row, places, top + PLOT):
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
    base = top + PLOT
    yield line(0, 1, base, base, "axis")
    for value in ticks(scale):
        place = scale.place(value)
        yield upright(place, base, base + 4, "axis")
        yield label(place, base + 18, _with_unit(value, chart), edge_anchor(place))


def _with_unit(value: float, chart: DistributionChart) -> str:
    return f"{plain_number(value)} {chart.unit}"
