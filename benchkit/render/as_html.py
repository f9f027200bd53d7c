"""A document as one self-contained page: piece by piece, every detail, charts drawn, long parts folded."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice

from benchkit.pages import page
from benchkit.pages.curve_charts import CurveChart, DistributionChart, curve_chart, distribution_chart
from benchkit.pages.html import Child, Html, breakable, element, joined, stream
from benchkit.pages.parts import SIGNS, badge, mark, stacked_bar
from benchkit.pages.row_charts import DrawnBar, RowTitles, TimelineChart, bar_chart, difference_chart, timeline_chart
from benchkit.render import document as doc
from benchkit.render.reading import counted, made, plain, spans_of

LINE_END = Html("\n")
SCROLLS_FROM = 2000
"""Texts of more characters than this may need a box of their own to scroll in, which the keyboard must reach."""
LONG_VALUE = 8
"""Headline figures of more characters, such as ranges, are written smaller."""


def as_html(document: doc.Document) -> Iterator[str]:
    """The file, in pieces."""
    sections = [page.PageSection(one.anchor, plain(one.title), _body(one, 3)) for one in document.sections]
    lead = joined(*_blocks(document.lead, 2))
    return page.document(plain(document.title), lead, sections, element("p", line(document.footer)))


def _blocks(blocks: doc.Blocks, level: int) -> Iterator[Html]:
    """Several blocks; `level` is that of a title in them."""
    for block in made(blocks):
        yield from block_html(block, level)
        yield LINE_END


def line(cell: doc.Cell) -> Html:
    """Spans, one behind the other."""
    if isinstance(cell, str):
        return joined(cell)
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
    yield from _blocks(inner, level)


def block_html(block: doc.Block, level: int) -> Iterable[Html]:
    """A block as HTML, piece by piece; `level` is that of a title in it."""
    match block:
        case doc.Paragraph():
            return [_paragraph(block)]
        case doc.Facts():
            pairs = (joined(element("dt", label), element("dd", line(spans)))
                     for label, spans in (*block.pairs, *block.more))
            return [element("dl", *pairs, class_="facts")]
        case doc.Figures():
            return [element("dl", *map(_figure, block.items), class_="figures")]
        case doc.Table():
            return _cut(partial(_rows, block), block.rows, block.caption, block.cut, block.detail is doc.ALL)
        case doc.Chart():
            return _chart(block)
        case doc.Callout():
            return [_callout(block, level)]
        case doc.Bullets():
            return _bullets(block)
        case doc.Fold():
            return _folded(line(block.title), _blocks(block.blocks, level), block.anchor, block.is_open)
        case doc.Verbatim():
            return [_verbatim(block)]
        case doc.Beside():
            return [element("div", *(element("div", *block_html(one, level)) for one in block.blocks),
                            class_="side-by-side")]
        case doc.Section():
            return stream("article", _headed(block, level), id=block.anchor)
    raise TypeError(type(block).__name__)


def _headed(block: doc.Section, level: int) -> Iterator[Html]:
    yield element(f"h{min(level, 6)}", line(block.title))
    yield from _body(block, level + 1)


def _paragraph(block: doc.Paragraph) -> Html:
    if block.unbroken:
        return element("p", *(element("code", one.line) if isinstance(one, doc.Code) else _span(one)
                              for one in spans_of(block.spans)))
    return element("p", line(block.spans), class_="quiet" if block.quiet else None)


def _figure(one: doc.Figure) -> Html:
    # a range stays on one line where there is room for it
    value = element("dd", element("span", one.value, class_="together"),
                    class_="value long" if len(one.value) > LONG_VALUE else "value")
    below = element("dd", one.below, class_="detail") if one.below else None
    return element("div", element("dt", one.name), value, below, class_=f"figure {one.tone}")


def _rows(table: doc.Table, caption: str, rows: Iterable[Sequence[doc.Cell]]) -> Iterator[Html]:
    """A table, row by row, in a box of its own: on a narrow screen it scrolls there, never the page."""
    titles = [element("th", breakable(f"{one.group} {plain(one.title)}".strip()), scope="col", class_=one.kind or None,
                      title=one.hint or None) for one in table.columns]
    head = joined(element("caption", caption), element("thead", element("tr", *titles)))
    inner = stream("table", chain([head], stream("tbody", (_row(table.columns, row) for row in rows))),
                   class_=table.look or None)
    return stream("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _row(columns: Sequence[doc.Column], cells: Sequence[doc.Cell]) -> Html:
    shown = [element("td" if place else "th", cell if isinstance(cell, str) else line(cell),
                     scope=None if place else "row", class_=column.kind or None)
             for place, (column, cell) in enumerate(zip(columns, cells, strict=True))]
    return joined(element("tr", *shown), "\n")


def _chart(block: doc.Chart) -> Iterator[Html]:
    match block.data() if callable(block.data) else block.data:
        case doc.Bars() as data:
            yield from _cut(partial(_bars, data), data.rows, data.caption, data.cut)
        case CurveChart() as data:
            yield curve_chart(data)
        case DistributionChart() as data:
            yield distribution_chart(data)
        case TimelineChart() as data:
            yield from timeline_chart(data)
    if block.sentence:
        yield _quiet(line(block.sentence))


def _bars(data: doc.Bars, caption: str, rows: Iterable[doc.Bar]) -> Iterator[Html]:
    titles = RowTitles(caption, data.label, data.axis, data.note)
    bars = (DrawnBar(line(one.label), one.value, one.low, one.high, line(one.note), one.tone, one.least, one.most)
            for one in rows)
    return difference_chart(titles, list(bars)) if data.is_signed else bar_chart(titles, bars)


def _cut(write: Callable[[str, Iterable[doc.Item]], Iterator[Html]], things: doc.Many[doc.Item], caption: str,
         cut: doc.Cut, is_folded: bool = False) -> Iterator[Html]:
    """The first rows of a table or a chart, the others in a fold, and how many are not shown."""
    rows, total = counted(things, cut)
    few, most = (total if limit is None else min(limit, total) for limit in (cut.few, cut.most))
    first = write(caption, islice(rows, few))
    yield from _folded(caption, first) if is_folded else first
    left = total - max(few, most)
    told = [_quiet(f"And {cut.more(left)}, not shown.")] if left else []
    if most > few:
        rest = write(f"{caption}, continued", islice(rows, most - few))
        yield from _folded(cut.more(most - few), chain(rest, told))
    else:
        yield from told


def _callout(block: doc.Callout, level: int) -> Html:
    sign = element("span", SIGNS.get(block.tone, "!"), class_="sign", aria_hidden="true")
    title, body, class_ = plain(block.title), _blocks(block.blocks, level), f"callout {block.tone}"
    name, head, label = ("details", "summary", {}) if block.folded else (
        "div", "p", {"role": "note", "aria_label": title})
    return element(name, element(head, sign, title, class_="callout-title"), *body, class_=class_, **label)


def _bullets(block: doc.Bullets) -> Iterator[Html]:
    items = (element("li", line(item)) for item in made(block.items))
    for first in items:
        yield from stream("ol" if block.is_numbered else "ul", chain([first], items))


def _verbatim(block: doc.Verbatim) -> Html:
    kept, told = block.beginning
    start, end = block.strong
    # a parser drops the first line end behind <pre>, so that a text which begins with one needs another
    first = Html("\n") if kept.startswith("\n") else None
    strong = element("mark", kept[start:end]) if end > start else None
    shown = element("pre", first, kept[:start], strong, kept[max(start, end):],
                    tabindex=0 if len(kept) > SCROLLS_FROM else None)
    return element("div", element("p", line(block.title), class_="text-title") if block.title else None,
                   shown if kept else _quiet("(empty)"), _quiet(told) if told else None, class_="text")


def _folded(title: Child, body: Iterable[Html], anchor: str = "", is_open: bool = False) -> Iterator[Html]:
    """A fold, piece by piece. Its anchor stands inside: browsers open what hides the target of a link."""
    inner = stream("div", body, class_="folded", id=anchor or None)
    yield from stream("details", chain([element("summary", title)], inner), open=is_open)
