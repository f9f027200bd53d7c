"""Charts of rows: bars with intervals, differences around zero, and events at times in lanes."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of, percent, points
from benchkit.pages import svg
from benchkit.pages.html import Child, Html, element, joined, stream
from benchkit.pages.parts import key
from benchkit.pages.svg import Scale, plain_number
from benchkit.pages.tones import Tone

HEIGHT = 26
_MIDDLE = HEIGHT / 2
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where the style sheet draws the lines behind the rows."""
_BEYOND = 400
"""Pixels by which the moment is drawn above and below its row, so that it has no gaps where a name takes two lines; the
cell cuts off what is too much."""


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A share from 0 to 1, or a difference from -1 to 1, with its interval; None where it is not known.

    `note` is its text, such as `7/10`. `least` and `most` stand in place of a value of which only these ends are known.
    """

    label: Child
    value: float | None
    low: float | None
    high: float | None
    note: Child
    tone: Tone = Tone.PLAIN
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class RowTitles:
    """The words around the rows: the caption of the table and the titles of its three columns."""

    caption: str
    label: str
    axis: str
    note: str


def bar_chart(titles: RowTitles, bars: Iterable[DrawnBar]) -> Iterator[Html]:
    """Shares from 0 to 100 %, row by row."""
    return _share_chart(titles, bars, Scale(0.0, 1.0), is_signed=False)


def difference_chart(titles: RowTitles, bars: Sequence[DrawnBar]) -> Iterator[Html]:
    """Differences as dots with intervals around a line at zero, on one scale that is as long on both sides."""
    low, high = svg.range_of(value for one in bars for value in (one.value, one.low, one.high)) or (0.0, 0.0)
    reach = svg.round_reach(max(abs(low), abs(high)))
    return _share_chart(titles, bars, Scale(-reach, reach), is_signed=True)


def _share_chart(titles: RowTitles, bars: Iterable[DrawnBar], scale: Scale, is_signed: bool) -> Iterator[Html]:
    """With an axis in percent, or in points where it is signed, and a tick at each quarter."""
    marks = [_tick(scale.at(place), is_signed) for place in _QUARTERS]
    axis = svg.picture(20, f"{titles.axis}, from {marks[0]} to {marks[-1]}{' points' if is_signed else ''}", *(
        svg.label(place, 14, mark, svg.edge_anchor(place), class_="quarter" if place in (0.25, 0.75) else "")
        for place, mark in zip(_QUARTERS, marks, strict=True)), class_="axis-picture")
    rows = ((one.label, _drawn(one, scale, is_signed), one.note) for one in bars)
    return _row_chart(titles, axis, rows, "rows around-zero" if is_signed else "rows")


def _tick(value: float, is_signed: bool) -> str:
    """A round value: `50 %`; of differences `+20`, and the unit where they are none."""
    share = plain_number(value * 100)
    if not is_signed:
        return f"{share} %"
    return f"{'+' if value > 0 else ''}{share}".replace("-", "\u2212") if value else "0 points"


def _drawn(one: DrawnBar, scale: Scale, is_signed: bool) -> Html:
    """A dot with its interval, of a share upon its bar; a bar between the ends of what is known no better."""
    def share(value: float) -> str:
        return f"{points(value)} points".replace("-", "\u2212") if is_signed else f"{percent(value)} %"

    def bar(start: float, end: float) -> Html:
        return svg.bar(scale.place(start), scale.place(end), 6, HEIGHT - 12, f"bar {one.tone}")

    across, told = Html(), ""
    if one.low is not None and one.high is not None:
        across = svg.interval(scale.place(one.low), scale.place(one.high), _MIDDLE)
        told = f", interval {share(one.low)} to {share(one.high)}"
    if one.least is not None and one.most is not None:
        return svg.picture(HEIGHT, f"{share(one.least)} to {share(one.most)}{told}", bar(one.least, one.most), across)
    if one.value is None:
        return svg.picture(HEIGHT, "not known", across)
    dot = element("circle", cx=svg.percentage(scale.place(one.value)), cy=svg.number(_MIDDLE), r=5 if is_signed else 4,
                  class_=f"dot {one.tone}")
    return svg.picture(HEIGHT, share(one.value) + told, *(() if is_signed else (bar(0, one.value),)), across, dot)


def _row_chart(titles: RowTitles, axis: Html, rows: Iterable[tuple[Child, Html, Child]], class_: str) -> Iterator[Html]:
    """The table of rows that every chart here is: what a row is about, its picture, and the figures in words."""
    columns = element("colgroup", element("col", class_="label"), element("col"), element("col", class_="note"))
    head = element("thead", element("tr", element("th", titles.label, scope="col"),
                                    element("th", axis, scope="col", class_="track"),
                                    element("th", titles.note, scope="col", class_="number")))
    body = (joined(element("tr", element("th", label, scope="row"), element("td", picture, class_="track"),
                           element("td", note, class_="number")), "\n") for label, picture, note in rows)

    def parts() -> Iterator[Html]:
        yield joined(element("caption", titles.caption), columns, head)
        yield from stream("tbody", body)

    return stream("table", parts(), class_=class_)


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
    times = [event.at for lane in chart.lanes for event in lane.events]
    low, high = svg.range_of([*times, chart.moment.at if chart.moment else None]) or (0.0, 1.0)
    # events at the very edge keep their whole shape
    margin = (high - low) * 0.03
    scale = Scale(low - margin, high + margin)
    rows = ((lane.name, _lane(chart, lane, scale), len(lane.events)) for lane in chart.lanes)
    titles = RowTitles(chart.title, chart.lane_title, f"time in {chart.unit}", "events")
    yield from _row_chart(titles, _time_axis(chart, scale), rows, "rows timeline")
    signs = [(svg.series_sign(number, is_line=False), name) for number, name in enumerate(chart.kinds, 1)]
    if any(event.is_strong for lane in chart.lanes for event in lane.events):
        ring = element("circle", cx=8, cy=8, r=6.5, class_="strong-ring")
        signs.append((element("svg", ring, class_="swatch", width=16, height=16, aria_hidden="true"), chart.strong))
    yield key(signs)


def _time_axis(chart: TimelineChart, scale: Scale) -> Html:
    height = 40 if chart.moment else 22
    places = [(scale.place(value), value) for value in svg.ticks(scale, 4)]
    drawn = [svg.label(place, height - 8, plain_number(value)) for place, value in places]
    drawn += [svg.upright(place, height - 4, height, "axis") for place, _ in places]
    if chart.moment:
        place = scale.place(chart.moment.at)
        drawn.append(svg.label(place, 13, chart.moment.name, svg.edge_anchor(place, 0.3), class_="moment-name"))
        drawn.append(svg.upright(place, 18, height, "moment"))
    return svg.picture(height, f"time in {chart.unit}", *drawn, class_="axis-picture")


def _lane(chart: TimelineChart, lane: Lane, scale: Scale) -> Html:
    drawn = []
    if chart.moment:
        place = scale.place(chart.moment.at)
        drawn = [svg.bar(place, 1, -_BEYOND, HEIGHT + 2 * _BEYOND, "after"),
                 svg.upright(place, -_BEYOND, HEIGHT + _BEYOND, "moment")]
    drawn.append(svg.line(0, 1, _MIDDLE, _MIDDLE, "grid"))
    for event in lane.events:
        place = scale.place(event.at)
        if event.is_strong:
            drawn.append(element("circle", cx=svg.percentage(place), cy=_MIDDLE, r=9, class_="strong-ring"))
        words = f"{plain_number(event.at)} {chart.unit}: {event.words}"
        drawn.append(svg.shape(event.kind + 1, place, _MIDDLE, words))
    times = svg.range_of(event.at for event in lane.events)
    told = "no events" if times is None else (f"{count_of(len(lane.events), 'event')} from {plain_number(times[0])} to "
                                              f"{plain_number(times[1])} {chart.unit}")
    return svg.picture(HEIGHT, f"{lane.name}: {told}", *drawn)
