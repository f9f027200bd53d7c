"""A document as one self-contained page: piece by piece, every detail, charts drawn, long parts folded."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, singledispatch
from itertools import chain, islice

from benchkit.basics.texts import shown_line
from benchkit.pages import page
from benchkit.pages.curve_charts import CurveChart, DistributionChart, curve_chart, distribution_chart
from benchkit.pages.html import Child, Html, breakable, element, joined, stream, whole
from benchkit.pages.parts import SIGNS, badge, mark, stacked_bar
from benchkit.pages.row_charts import DrawnBar, RowTitles, TimelineChart, bar_chart, difference_chart, timeline_chart
from benchkit.render import document as doc
from benchkit.render.reading import cut_rows, made, plain, spans_of

LONGEST_COMMAND = 1000
SCROLLS_FROM = 2000
"""Texts of more characters than this may need a box of their own to scroll in, which the keyboard must reach."""
LONG_VALUE = 8
"""Headline figures of more characters, such as ranges, are written smaller."""
_CLASSES = {doc.Kind.WORD: "short", doc.Kind.NUMBER: "number"}


def as_html(document: doc.Document) -> Iterator[str]:
    """The file, in pieces."""
    sections = [page.PageSection(one.anchor, plain(one.title), _body(one, 3)) for one in document.sections]
    lead = joined(*blocks_html(document.lead, 2))
    return page.document(plain(document.title), lead, sections, element("p", line(document.footer)))


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
            return _name(span.line)
        case doc.Strong(content):
            return element("strong", _span(content))
        case doc.Link(to, content):
            return element("a", _span(content), href=f"#{to}") if to else _span(content)
        case doc.Mark(words, tone, small, to):
            shown = mark(tone, words, to) if small else badge(tone, words)
            return element("a", shown, href=f"#{to}") if to and not small else shown
        case doc.Tally(title, counts):
            return stacked_bar(title, counts)
    return span


@lru_cache(1_000)
def _name(text: str) -> Html:
    """A name, which may need several lines in a narrow column."""
    return element("code", breakable(text))


def _quiet(text: Child) -> Html:
    return element("p", text, class_="quiet")


def _body(section: doc.Section, level: int) -> Iterator[Html]:
    """What stands in a section; one of a whole run has contents of its own."""
    inner = section.blocks
    named = [] if callable(inner) else [one for one in inner if isinstance(one, doc.Section)]
    if len(named) > 1:
        links = [element("li", element("a", plain(one.title), href=f"#{one.anchor}")) for one in named]
        yield element("nav", element("ul", *links), aria_label=f"Contents of {plain(section.title)}")
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
    yield element("p", line(block.spans), class_="quiet" if block.quiet else None)


@block_html.register
def _facts(block: doc.Facts, level: int) -> Iterator[Html]:
    pairs = (joined(element("dt", label), element("dd", line(spans))) for label, spans in made(block.pairs))
    yield element("dl", *pairs, class_="facts")


@block_html.register
def _figures(block: doc.Figures, level: int) -> Iterator[Html]:
    figures = []
    for one in block.items:
        # a range stays on one line where there is room for it
        value = element("dd", element("span", one.value, class_="together"),
                        class_="value long" if len(one.value) > LONG_VALUE else "value")
        below = element("dd", one.below, class_="detail") if one.below else None
        figures.append(element("div", element("dt", one.name), value, below, class_=f"figure {one.tone}"))
    yield element("dl", *figures, class_="figures")


@block_html.register
def _table(block: doc.Table, level: int) -> Iterator[Html]:
    rows, total = cut_rows(block.rows, block.cut)
    few = total if block.cut.few is None else block.cut.few
    first = _rows(block, block.caption, islice(rows, few))
    yield from _folded(block.caption, first) if block.detail is doc.ALL else first
    if total > few:
        more = block.cut.folded(total)
        rest = _rows(block, f"{block.caption}, continued", islice(rows, more))
        yield from _continued(block.cut, rest, more, total - few - more)


def _rows(table: doc.Table, caption: str, rows: Iterable[Sequence[doc.Cell]]) -> Iterator[Html]:
    """A table, row by row, in a box of its own: on a narrow screen it scrolls there, never the page."""
    classes = [_CLASSES.get(column.kind) for column in table.columns]
    titles = [element("th", breakable(f"{column.group} {plain(column.title)}".strip()), scope="col", class_=class_,
                      title=column.hint or None) for column, class_ in zip(table.columns, classes, strict=True)]
    head = joined(element("caption", caption), element("thead", element("tr", *titles)))
    inner = stream("table", chain([head], stream("tbody", (_row(classes, row) for row in rows))),
                   class_=table.look or None)
    return stream("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _row(classes: Sequence[str | None], cells: Sequence[doc.Cell]) -> Html:
    shown = [cell if isinstance(cell, str) else line(cell) for cell in cells]
    first, *others = [element("td" if place else "th", cell, scope=None if place else "row", class_=class_)
                      for place, (class_, cell) in enumerate(zip(classes, shown, strict=True))]
    return joined(element("tr", first, *others), "\n")


@block_html.register
def _chart(block: doc.Chart, level: int) -> Iterator[Html]:
    yield from _drawn(block.data)
    if block.sentence:
        yield _quiet(line(block.sentence))


@block_html.register
def _callout(block: doc.Callout, level: int) -> Iterator[Html]:
    sign = element("span", SIGNS.get(block.tone, "!"), class_="sign", aria_hidden="true")
    title, body, class_ = plain(block.title), blocks_html(block.blocks, level), f"callout {block.tone}"
    if block.folded:
        yield element("details", element("summary", sign, title, class_="callout-title"), *body, class_=class_)
    else:
        yield element("div", element("p", sign, title, class_="callout-title"), *body, class_=class_, role="note",
                      aria_label=title)


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
                    tabindex=0 if len(kept) > SCROLLS_FROM else None)
    yield element("div", element("p", line(block.title), class_="text-title") if block.title else None,
                  shown if kept else _quiet("(empty)"), _quiet(told) if told else None, class_="text")


@block_html.register
def _command(block: doc.CommandLine, level: int) -> Iterator[Html]:
    yield element("p", f"{block.before} ", element("code", shown_line(block.line, LONGEST_COMMAND)))


@block_html.register
def _beside(block: doc.Beside, level: int) -> Iterator[Html]:
    yield from stream("div", (element("div", *block_html(one, level)) for one in block.blocks),
                      class_="side-by-side")


def _folded(title: Child, body: Iterable[Html], anchor: str = "", is_open: bool = False) -> Iterator[Html]:
    """A fold, piece by piece. Its anchor stands inside: browsers open what hides the target of a link."""
    inner = stream("div", body, class_="folded", id=anchor or None)
    yield from stream("details", chain([element("summary", title)], inner), open=is_open)


def _continued(cut: doc.Cut, rest: Iterable[Html], more: int, left: int) -> Iterator[Html]:
    told = _quiet(f"And {cut.more(left)}, not shown.") if left else Html()
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
    bars = (DrawnBar(line(one.label), one.value, one.low, one.high, line(one.note), one.tone, one.least, one.most)
            for one in rows)
    return difference_chart(titles, list(bars)) if data.is_signed else bar_chart(titles, bars)
