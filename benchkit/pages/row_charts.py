"""Charts of rows: bars with intervals, differences around zero, and events at times in lanes."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of, percent, points
from benchkit.pages.html import Child, Html, element, joined, stream, whole
from benchkit.pages.parts import Tone, key
from benchkit.pages.svg import (
    Scale,
    bar,
    dot,
    edge_anchor,
    interval,
    label,
    line,
    percentage,
    picture,
    plain_number,
    range_of,
    round_reach,
    series_sign,
    shape,
    ticks,
    upright,
)

HEIGHT = 26
_MIDDLE = HEIGHT / 2
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where the style sheet draws the lines behind the rows."""


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A row of a chart: what it is about, the picture, and the figures in words."""

    label: Child
    picture: Html
    note: Child


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A share from 0 to 1 with its interval; None where it is not known. `note` is its text, such as `7/10`.

    `least` and `most` stand in place of a value of which only these ends are known.
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
class DifferenceRow:
    """A difference of two shares (-1 to 1) with its interval; None where it is not known. `note` is its text."""

    label: Child
    value: float | None
    low: float | None
    high: float | None
    note: Child
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class RowTitles:
    """The words around the rows: the caption of the table and the titles of its three columns."""

    caption: str
    label: str
    axis: str
    note: str


def bar_chart(titles: RowTitles, bars: Iterable[DrawnBar]) -> Iterator[Html]:
    """Shares from 0 to 100 %, row by row."""
    yield from row_chart(titles, axis(Scale(0.0, 1.0), titles.axis), (_bar_row(item) for item in bars))


def difference_chart(titles: RowTitles, differences: Sequence[DifferenceRow]) -> Iterator[Html]:
    """Differences as dots with intervals around a line at zero, on one scale that is as long on both sides."""
    scale = _around_zero(differences)
    rows = (_difference_row(item, scale) for item in differences)
    yield from row_chart(titles, axis(scale, titles.axis, is_signed=True), rows, "around-zero")


def row_chart(titles: RowTitles, axis_picture: Html, rows: Iterable[ChartRow], class_: str = "") -> Iterator[Html]:
    """The table of rows that both charts are; the timeline is one too."""
    columns = element("colgroup", element("col", class_="label"), element("col"), element("col", class_="note"))
    head = element("thead", element("tr", element("th", titles.label, scope="col"),
                                    element("th", axis_picture, scope="col", class_="track"),
                                    element("th", titles.note, scope="col", class_="number")))
    yield from stream("table", _parts(titles, joined(columns, head), rows), class_=f"rows {class_}".strip())


def _parts(titles: RowTitles, head: Html, rows: Iterable[ChartRow]) -> Iterator[Html]:
    yield element("caption", titles.caption)
    yield head
    yield from stream("tbody", map(_row, rows))


def _row(row: ChartRow) -> Html:
    cells = (element("th", row.label, scope="row"), element("td", row.picture, class_="track"),
             element("td", row.note, class_="number"))
    return joined(element("tr", *cells), "\n")


def axis(scale: Scale, title: str, is_signed: bool = False) -> Html:
    """The axis above the rows, in percent or in points: a tick at each quarter."""
    drawn = [label(place, 14, _tick(scale.at(place), is_signed), edge_anchor(place),
                   class_="quarter" if place in (0.25, 0.75) else "") for place in _QUARTERS]
    ends = f"{title}, from {_tick(scale.low, is_signed)} to {_tick(scale.high, is_signed)}"
    ends += " points" if is_signed else ""
    return picture(20, ends, "", *drawn, class_="axis-picture")


def _bar_row(item: DrawnBar) -> ChartRow:
    scale = Scale(0.0, 1.0)
    if item.least is not None and item.most is not None:
        return ChartRow(item.label, _between(item, item.least, item.most, scale), item.note)
    if item.value is None:
        return ChartRow(item.label, _unknown(item.low, item.high, scale), item.note)
    place = scale.place(item.value)
    drawn = joined(bar(0, place, 6, HEIGHT - 12, f"bar {item.tone}"), _interval(item.low, item.high, scale),
                   dot(place, _MIDDLE, 4, f"dot {item.tone}"))
    return ChartRow(item.label, picture(HEIGHT, _told(item.value, item.low, item.high), "", drawn), item.note)


def _difference_row(item: DifferenceRow, scale: Scale) -> ChartRow:
    if item.value is None:
        return ChartRow(item.label, _unknown(item.low, item.high, scale), item.note)
    drawn = joined(_interval(item.low, item.high, scale),
                   dot(scale.place(item.value), _MIDDLE, 5, f"dot {item.tone}"))
    return ChartRow(item.label, picture(HEIGHT, _told(item.value, item.low, item.high, True), "", drawn), item.note)


def _between(item: DrawnBar, least: float, most: float, scale: Scale) -> Html:
    drawn = joined(bar(scale.place(least), scale.place(most), 6, HEIGHT - 12, f"bar {item.tone}"),
                   _interval(item.low, item.high, scale))
    told = f"{_share(least)} to {_told(most, item.low, item.high)}"
    return picture(HEIGHT, told, "", drawn)


def _unknown(low: float | None, high: float | None, scale: Scale) -> Html:
    return picture(HEIGHT, "not known", "", _interval(low, high, scale))


def _interval(low: float | None, high: float | None, scale: Scale) -> Html:
    if low is None or high is None:
        return Html()
    return interval(scale.place(low), scale.place(high), _MIDDLE)


def _around_zero(differences: Sequence[DifferenceRow]) -> Scale:
    ends = range_of(value for item in differences for value in (item.value, item.low, item.high)) or (0.0, 0.0)
    reach = round_reach(max(abs(ends[0]), abs(ends[1])))
    return Scale(-reach, reach)


def _told(value: float, low: float | None, high: float | None, is_signed: bool = False) -> str:
    told = _share(value, is_signed)
    if low is None or high is None:
        return told
    return f"{told}, interval {_share(low, is_signed)} to {_share(high, is_signed)}"


def _share(value: float, is_signed: bool = False) -> str:
    return f"{points(value)} points".replace("-", "\u2212") if is_signed else f"{percent(value)} %"


def _tick(value: float, is_signed: bool) -> str:
    """A round value: `50 %`; of differences `+20`, and the unit where they are none."""
    share = plain_number(value * 100)
    if not is_signed:
        return f"{share} %"
    return f"{'+' if value > 0 else ''}{share}".replace("-", "\u2212") if value else "0 points"



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
    yield from row_chart(
        titles, _axis(chart, scale), (_row_of_timeline_chart(chart, lane, scale) for lane in chart.lanes), "timeline"
    )
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


def _row_of_timeline_chart(chart: TimelineChart, lane: Lane, scale: Scale) -> ChartRow:
    drawn = whole((*_moment(chart, scale), line(0, 1, _MIDDLE, _MIDDLE, "grid"), *_events(chart, lane, scale)))
    return ChartRow(lane.name, picture(HEIGHT, _told_of_timeline_chart(chart, lane), "", drawn), len(lane.events))


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
            yield element("circle", cx=percentage(place), cy=_MIDDLE, r=9, class_="strong-ring")
        yield shape(event.kind + 1, place, _MIDDLE, told)


def _told_of_timeline_chart(chart: TimelineChart, lane: Lane) -> str:
    times = range_of(event.at for event in lane.events)
    if times is None:
        return f"{lane.name}: no events"
    first, last = (plain_number(time) for time in times)
    return f"{lane.name}: {count_of(len(lane.events), 'event')} from {first} to {last} {chart.unit}"


def _ring() -> Html:
    ring = element("circle", cx=8, cy=8, r=6.5, class_="strong-ring")
    return element("svg", ring, class_="swatch", width=16, height=16, aria_hidden="true")
