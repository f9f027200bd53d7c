"""Charts of one row for each thing: bars with intervals, and differences around zero with theirs.

A row is a row of a table: its label and its figures are text, the picture stands between them, and the axis above.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import percent, points
from benchkit.pages.html import Child, Html, element, joined, stream
from benchkit.pages.marks import Tone
from benchkit.pages.scales import Scale, plain_number, range_of, round_reach
from benchkit.pages.svg import bar, dot, edge_anchor, interval, label, picture

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
class Bar:
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


def bar_chart(titles: RowTitles, bars: Iterable[Bar]) -> Iterator[Html]:
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


def _bar_row(item: Bar) -> ChartRow:
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


def _between(item: Bar, least: float, most: float, scale: Scale) -> Html:
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
