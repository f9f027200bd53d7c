"""A document as one self-contained page: piece by piece, every detail, charts drawn, long parts folded."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from itertools import chain, islice

from benchkit.basics.texts import shown_line
from benchkit.pages import page, parts
from benchkit.pages.curve_charts import CurveChart, DistributionChart, curve_chart, distribution_chart
from benchkit.pages.html import Child, Html, element, joined, stream, whole
from benchkit.pages.parts import BarPart, badge, mark, stacked_bar
from benchkit.pages.row_charts import (
    DifferenceRow,
    RowTitles,
    TimelineChart,
    bar_chart,
    difference_chart,
    timeline_chart,
)
from benchkit.pages.row_charts import DrawnBar as DrawnBar
from benchkit.render import document as doc
from benchkit.render.reading import cut_rows, made, plain, spans_of

LONGEST_COMMAND = 1000
_CLASSES = {doc.Kind.TEXT: "", doc.Kind.WORD: "short", doc.Kind.NUMBER: "number", doc.Kind.MARKS: ""}


def as_html(document: doc.Document) -> Iterator[str]:
    """The file, in pieces."""
    sections = [page.PageSection(one.anchor, plain(one.title), _Body(one)) for one in document.sections]
    lead = joined(*blocks_html(document.lead, 2))
    return page.document(page.Page(plain(document.title), lead, sections, parts.paragraph(line(document.footer))))


class _Body(Iterable[Html]):
    """The blocks of a section of the page, made when they are written."""

    def __init__(self, section: doc.Section) -> None:
        self._section = section

    def __iter__(self) -> Iterator[Html]:
        return _body(self._section, 3)


def blocks_html(blocks: doc.Blocks, level: int) -> Iterator[Html]:
    """Several blocks; `level` is that of a title in them."""
    for block in made(blocks):
        yield from block_html(block, level)
        yield Html("\n")


def line(cell: doc.Cell) -> Html:
    """Spans, one behind the other."""
    spans = spans_of(cell)
    shown = [span if isinstance(span, str) else _span(span) for span in spans]
    if len(spans) > 1 and all(isinstance(span, doc.Mark) and span.small for span in spans):
        return joined(*(piece for one in shown for piece in (one, " ")))
    return joined(*shown)


def _span(span: doc.Span) -> Child:
    match span:
        case doc.Code():
            return parts.name_code(span.line)
        case doc.Strong(content):
            return element("strong", _span(content))
        case doc.Link(to, content):
            return parts.link(to, _span(content)) if to else _span(content)
        case doc.Mark(words, tone, small, to):
            shown = mark(tone, words, to) if small else badge(tone, words)
            return parts.link(to, shown) if to and not small else shown
        case doc.Tally(title, counts):
            return stacked_bar(title, [BarPart(tone, count) for tone, count in counts])
    return span


def _body(section: doc.Section, level: int) -> Iterator[Html]:
    """What stands in a section; one of a whole run has contents of its own."""
    inner = section.blocks
    named = [] if callable(inner) else [one for one in inner if isinstance(one, doc.Section)]
    if len(named) > 1:
        links = parts.bullets(parts.link(one.anchor, plain(one.title)) for one in named)
        yield element("nav", links, aria_label=f"Contents of {plain(section.title)}")
    yield from blocks_html(inner, level)


@singledispatch
def block_html(block: doc.Block, level: int) -> Iterator[Html]:
    """A block as HTML, piece by piece; `level` is that of a title in it."""
    raise TypeError(type(block).__name__)


@block_html.register
def _section(block: doc.Section, level: int) -> Iterator[Html]:
    yield from stream("article", _headed(block, level), id=block.anchor)


def _headed(block: doc.Section, level: int) -> Iterator[Html]:
    yield element(f"h{min(level, 6)}", line(block.title))
    yield from _body(block, level + 1)


@block_html.register
def _heading(block: doc.Heading, level: int) -> Iterator[Html]:
    yield element(f"h{min(level, 6)}", line(block.title))


@block_html.register
def _paragraph(block: doc.Paragraph, level: int) -> Iterator[Html]:
    yield parts.paragraph(line(block.spans), class_="quiet" if block.quiet else "")


@block_html.register
def _facts(block: doc.Facts, level: int) -> Iterator[Html]:
    yield parts.facts((label, line(spans)) for label, spans in made(block.pairs))


@block_html.register
def _figures(block: doc.Figures, level: int) -> Iterator[Html]:
    yield parts.figures(parts.HtmlFigure(one.value, one.name, one.below, one.tone) for one in block.items)


@block_html.register
def _table(block: doc.Table, level: int) -> Iterator[Html]:
    rows, total = cut_rows(block.rows, block.cut)
    cells = (list(map(_cell, row)) for row in rows)
    columns = [_column(one) for one in block.columns]
    few = total if block.cut.few is None else block.cut.few
    first = parts.table(block.caption, columns, islice(cells, few), block.look)
    yield from _folded(block.caption, first) if block.detail is doc.ALL else first
    if total > few:
        more = block.cut.folded(total)
        rest = parts.table(f"{block.caption}, continued", columns, islice(cells, more), block.look)
        yield from _continued(block.cut, rest, more, total - few - more)


@block_html.register
def _chart(block: doc.Chart, level: int) -> Iterator[Html]:
    yield from _drawn(block.data)
    if block.sentence:
        yield parts.paragraph(line(block.sentence), class_="quiet")


@block_html.register
def _callout(block: doc.Callout, level: int) -> Iterator[Html]:
    make = parts.folded_callout if block.folded else parts.callout
    yield make(block.tone, plain(block.title), *blocks_html(block.blocks, level))


@block_html.register
def _bullets(block: doc.Bullets, level: int) -> Iterator[Html]:
    items = (element("li", line(item)) for item in made(block.items))
    for first in items:
        yield from stream("ol" if block.is_numbered else "ul", chain([first], items))


@block_html.register
def _fold(block: doc.Fold, level: int) -> Iterator[Html]:
    pieces = _folded(line(block.title), blocks_html(block.blocks, level), block.anchor, block.is_open)
    # blocks that are held anyway make one piece: many pieces cost more, since all that they stand in hands them on
    yield from pieces if callable(block.blocks) else [whole(pieces)]


@block_html.register
def _verbatim(block: doc.Verbatim, level: int) -> Iterator[Html]:
    kept, told = block.beginning
    start, end = block.strong
    # a parser drops the first line end behind <pre>, so that a text which begins with one needs another
    first = Html("\n") if kept.startswith("\n") else None
    strong = element("mark", kept[start:end]) if end > start else None
    shown = element("pre", first, kept[:start], strong, kept[max(start, end):],
                    tabindex=0 if len(kept) > parts.SCROLLS_FROM else None)
    yield element("div", element("p", line(block.title), class_="text-title") if block.title else None,
                  shown if kept else parts.paragraph("(empty)", class_="quiet"),
                  parts.paragraph(told, class_="quiet") if told else None, class_="text")


@block_html.register
def _command(block: doc.CommandLine, level: int) -> Iterator[Html]:
    yield parts.paragraph(f"{block.before} ", parts.code(shown_line(block.line, LONGEST_COMMAND)))


@block_html.register
def _beside(block: doc.Beside, level: int) -> Iterator[Html]:
    yield from stream("div", (element("div", *block_html(one, level)) for one in block.blocks),
                      class_="side-by-side")


def _column(column: doc.Column) -> parts.HtmlColumn:
    title = f"{column.group} {plain(column.title)}".strip()
    return parts.HtmlColumn(title, _CLASSES[column.kind], column.hint)


def _cell(cell: doc.Cell) -> Child:
    return cell if isinstance(cell, str) else line(cell)


def _folded(title: Child, body: Iterable[Html], anchor: str = "", is_open: bool = False) -> Iterator[Html]:
    """A fold, piece by piece. Its anchor stands inside: browsers open what hides the target of a link."""
    inner = stream("div", body, class_="folded", id=anchor or None)
    yield from stream("details", chain([element("summary", title)], inner), open=is_open)


def _continued(cut: doc.Cut, rest: Iterable[Html], more: int, left: int) -> Iterator[Html]:
    told = parts.paragraph(f"And {cut.more(left)}, not shown.", class_="quiet") if left else Html()
    if more:
        yield from _folded(cut.more(more), chain(rest, [told]))
    elif left:
        yield told


def _drawn(data: doc.Bars | CurveChart | DistributionChart | TimelineChart) -> Iterator[Html]:
    match data:
        case doc.Bars():
            yield from _bars(data)
        case CurveChart():
            yield curve_chart(data)
        case DistributionChart():
            yield distribution_chart(data)
        case TimelineChart():
            yield from timeline_chart(data)


def _bars(data: doc.Bars) -> Iterator[Html]:
    rows, total = cut_rows(data.rows, data.cut)
    few = total if data.cut.few is None else data.cut.few
    yield from _row_chart(data, data.caption, islice(rows, few))
    if total > few:
        more = data.cut.folded(total)
        rest = _row_chart(data, f"{data.caption}, continued", islice(rows, more))
        yield from _continued(data.cut, rest, more, total - few - more)


def _row_chart(data: doc.Bars, caption: str, rows: Iterable[doc.Bar]) -> Iterator[Html]:
    titles = RowTitles(caption, data.label, data.axis, data.note)
    if data.is_signed:
        return difference_chart(titles, [DifferenceRow(line(one.label), one.value, one.low, one.high, line(one.note),
                                                       one.tone) for one in rows])
    return bar_chart(titles, (DrawnBar(line(one.label), one.value, one.low, one.high, line(one.note), one.tone,
                                       one.least, one.most) for one in rows))
