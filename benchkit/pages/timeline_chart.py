"""A timeline: events at times in lanes, each kind with a shape of its own, and a mark at the moment that matters."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of
from benchkit.pages.html import Html, element, whole
from benchkit.pages.parts import key
from benchkit.pages.row_chart import HEIGHT, ChartRow, RowTitles, row_chart
from benchkit.pages.scales import Scale, percent, plain_number, range_of, ticks
from benchkit.pages.svg import bar, label, line, picture, series_sign, shape, upright

_MIDDLE = HEIGHT / 2
_BEYOND = 400
"""Pixels by which the moment is drawn above and below its row, so that it has no gaps where a name takes two lines; the
cell cuts off what is too much."""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something at a time. `kind` is the number (from 0) of its kind.

    One that stands out, such as evidence that was cited, is strong: it has a ring.
    """

    at: float
    kind: int
    words: str
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of one thing, such as a service."""

    name: str
    events: Sequence[TimelineEvent]


@dataclass(frozen=True, slots=True)
class Moment:
    """The time that matters, and its name on the axis; what lies behind it is shaded."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class TimelineChart:
    """Lanes on one axis of time. `kinds` are the names of the kinds of events; `unit` is that of every time.

    `strong` is what a ring around an event means.
    """

    title: str
    lane_title: str
    lanes: Sequence[Lane]
    kinds: Sequence[str]
    unit: str
    moment: Moment | None = None
    strong: str = "strong"


def timeline_chart(chart: TimelineChart) -> Iterator[Html]:
    """The lanes, row by row, and the key of the kinds."""
    scale = _scale(chart)
    titles = RowTitles(chart.title, chart.lane_title, f"time in {chart.unit}", "events")
    yield from row_chart(titles, _axis(chart, scale), (_row(chart, lane, scale) for lane in chart.lanes), "timeline")
    signs = [(series_sign(number, is_line=False), name) for number, name in enumerate(chart.kinds, 1)]
    ring = [(_ring(), chart.strong)] if any(event.is_strong for lane in chart.lanes for event in lane.events) else []
    yield key([*signs, *ring])


def _scale(chart: TimelineChart) -> Scale:
    times = [event.at for lane in chart.lanes for event in lane.events]
    low, high = range_of([*times, chart.moment.at if chart.moment else None]) or (0.0, 1.0)
    # events at the very edge keep their whole shape
    margin = (high - low) * 0.03
    return Scale(low - margin, high + margin)


def _axis(chart: TimelineChart, scale: Scale) -> Html:
    height = 40 if chart.moment else 22
    places = [(scale.place(value), value) for value in ticks(scale, 4)]
    drawn = [label(place, height - 8, plain_number(value)) for place, value in places]
    drawn += [upright(place, height - 4, height, "axis") for place, _ in places]
    if chart.moment:
        place = scale.place(chart.moment.at)
        anchor = "start" if place < 0.3 else "end" if place > 0.7 else "middle"
        drawn.append(label(place, 13, chart.moment.name, anchor, class_="moment-name"))
        drawn.append(upright(place, 18, height, "moment"))
    return picture(height, f"time in {chart.unit}", "", *drawn, class_="axis-picture")


def _row(chart: TimelineChart, lane: Lane, scale: Scale) -> ChartRow:
    drawn = whole((*_moment(chart, scale), line(0, 1, _MIDDLE, _MIDDLE, "grid"), *_events(chart, lane, scale)))
    return ChartRow(lane.name, picture(HEIGHT, _told(chart, lane), "", drawn), len(lane.events))


def _moment(chart: TimelineChart, scale: Scale) -> Iterator[Html]:
    if chart.moment:
        place = scale.place(chart.moment.at)
        yield bar(place, 1, -_BEYOND, HEIGHT + 2 * _BEYOND, "after")
        yield upright(place, -_BEYOND, HEIGHT + _BEYOND, "moment")


def _events(chart: TimelineChart, lane: Lane, scale: Scale) -> Iterator[Html]:
    for event in lane.events:
        told = f"{plain_number(event.at)} {chart.unit}: {event.words}"
        place = scale.place(event.at)
        if event.is_strong:
            yield element("circle", cx=percent(place), cy=_MIDDLE, r=9, class_="strong-ring")
        yield shape(event.kind + 1, place, _MIDDLE, told)


def _told(chart: TimelineChart, lane: Lane) -> str:
    times = range_of(event.at for event in lane.events)
    if times is None:
        return f"{lane.name}: no events"
    first, last = (plain_number(time) for time in times)
    return f"{lane.name}: {count_of(len(lane.events), 'event')} from {first} to {last} {chart.unit}"


def _ring() -> Html:
    ring = element("circle", cx=8, cy=8, r=6.5, class_="strong-ring")
    return element("svg", ring, class_="swatch", width=16, height=16, aria_hidden="true")
