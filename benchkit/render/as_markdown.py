"""A document as Markdown for a pull request or a job summary: it reads well as it is, and no text leaves its place.

With a limit, such as that of a comment on GitHub, rows are left out first, then the details of runs and pairs, then
what stands last; and that is said.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from benchkit.basics.texts import count_of, shown
from benchkit.pages.html import markdown_block, markdown_cell, markdown_summary
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.reading import made, plain, shown_part, spans_of

APART = "<!-- -->"
_MARKUP = re.compile(
    # an underscore within a word is none
    r"(?<=[A-Za-z0-9])(_+)(?=[A-Za-z0-9])"
    r"|[\\`*\[|~$_]"
    r"|<(?=[A-Za-z/!?]|$)"
    r"|&(?=#?\w+;|$)"
    # bare addresses
    r"|(?<=[a-z]):(?=/)|(?<=mailto):|(?<=xmpp):|(?<=www)\.", re.IGNORECASE)
# mentions, mail, issues, advisories, commits, emoji: made of the finished text
_REFERENCE = re.compile(
    r"(?<![A-Za-z0-9_])@(?=\w)|@(?=[\w-]+\.\w)|#(?=[0-9])|\bGH(?:SA)?-(?=\w)|\b[0-9a-f]{6}(?=[0-9a-f]+\b)"
    r"|:(?=[a-z0-9+_-]*[a-z+][a-z0-9+_-]*:)|:(?=-1:)", re.IGNORECASE)
# what begins a heading, quotation, list, line or underlined title
_START = re.compile(r"^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=](?=[-= ]*$)|\d{1,9}(?=[.)](?:\s|$)))")


def markdown_words(text: str) -> str:
    """A text within a line."""
    flat = shown(text).replace("\n", " ").replace("\t", " ")
    escaped = _MARKUP.sub(lambda found: found[0] if found[1] else "\\" + found[0], flat)
    return _REFERENCE.sub(rf"\g<0>{APART}", escaped)


def markdown_line(inline: str) -> str:
    """A line of finished words that begins a block, so that its beginning is not taken for a list or a heading."""
    found = _START.match(inline := inline.strip())
    if found is None:
        return inline
    return f"{found[0]}\\{inline[found.end():]}" if found[0][0].isdecimal() else "\\" + inline


COMMENT = 65_536
"""Characters that a comment on GitHub holds; a job summary holds more."""
MOST_ROWS, FEWEST_ROWS = 100, 3
MOST_PARTS = 64
"""More runs or pairs in full do not fit a comment in any case."""
FEW_ROWS = 10
"""A table of more rows than this stands in a fold, where it does not say itself how many stand outside."""
CUT = "\nThe rest is left out: the report is longer than a comment may be. The text and the page have everything.\n"


def as_markdown(document: doc.Document, most_characters: int | None = None, level: int = 2) -> Iterator[str]:
    """The file, part by part; `level` is that of its title."""
    if most_characters is None:
        yield from MarkdownRenderer().document(document, level)
        return
    for rows, parts in _limits():
        fitting, room = list[str](), most_characters
        for part in MarkdownRenderer(rows, parts).document(document, level):
            room -= len(part)
            if room < len(CUT):
                break
            fitting.append(part)
        else:
            yield from fitting
            return
    yield from (*fitting, CUT)


def _limits() -> Iterator[tuple[int, int | None]]:
    """Rows of a list, and parts that are told in more than LEAD, from many to few."""
    rows, parts = MOST_ROWS, MOST_PARTS
    while rows > FEWEST_ROWS:
        yield rows, None
        rows = max(rows // 2, FEWEST_ROWS)
    yield rows, None
    while parts:
        yield rows, parts
        parts //= 2
    yield rows, 0


def inline(cell: doc.Cell, is_in_table: bool = False) -> str:
    """Spans as one line of markup; small marks beside each other as one piece of code."""
    pieces = []
    # texts are put together first: what is no markup in each of two may be markup in both
    for kind, spans in groupby(spans_of(cell), _kind_of):
        match kind:
            case "sign":
                pieces.append(_code("".join(map(plain, spans)), 1000, is_in_table))
            case "text":
                pieces.append(markdown_words("".join(map(plain, spans))))
            case _:
                pieces += [_span(span, is_in_table) for span in spans]
    return "".join(pieces)


def _kind_of(span: doc.Span) -> str:
    is_sign = isinstance(span, doc.Mark) and span.small
    return "text" if isinstance(span, str) else "sign" if is_sign else "other"


def _span(span: doc.Span, is_in_table: bool) -> str:
    match span:
        case doc.Code(text, most):
            return _code(text, most, is_in_table)
        case doc.Strong(content):
            return _bold(_span(content, is_in_table))
        case doc.Link(_, content):
            return _span(content, is_in_table)
        case doc.Mark(words, Tone.FAIL):
            return _bold(markdown_words(words))
    return markdown_words(plain(span))


def _code(text: str, most: int, is_in_table: bool) -> str:
    span = markdown_cell(text, most)
    return span if is_in_table else span.replace("\\|", "|")


def _bold(markup: str) -> str:
    return f"**{markup.strip()}**" if markup.strip() else ""


class MarkdownRenderer:
    """Writes blocks: so many rows of a list, so many parts in more than LEAD. One document each: it counts the parts.
    """

    def __init__(self, most_rows: int | None = None, most_parts: int | None = None) -> None:
        self._most_rows, self._most_parts = most_rows, most_parts
        self._parts = self._left_out = 0

    def document(self, document: doc.Document, level: int) -> Iterator[str]:
        """All parts of the file."""
        yield _title(document.title, level)
        yield from self._blocks(document.lead, level + 1, doc.MORE)
        most = doc.LEAD if self._most_parts == 0 else doc.MORE
        for section in document.sections:
            yield from self._blocks([section], level + (not section.is_part), most)
        if self._left_out:
            yield (f"Left out, so that the report fits: {count_of(self._left_out, 'detail')}. The text and the "
                   "page have everything.\n\n")
        if document.footer:
            yield f"---\n\n{markdown_line(inline(document.footer))}\n"

    def _blocks(self, blocks: doc.Blocks, level: int, most: doc.Detail) -> Iterator[str]:
        """Several blocks; `level` is that of a title in them."""
        for block in made(blocks):
            if block.detail <= most:
                yield from self._block(block, level, most)
            else:
                self._left_out += block.detail <= doc.MORE

    def _block(self, block: doc.Block, level: int, most: doc.Detail) -> Iterator[str]:
        match block:
            case doc.Paragraph():
                return iter([_paragraph(block.spans)])
            case doc.Facts():
                return self._facts(block, most)
            case doc.Figures():
                figures = ((doc.Strong(one.value), " ", one.name, f" ({one.below})" if one.below else "")
                           for one in block.items)
                return iter([_list(map(inline, figures))])
            case doc.Table():
                return self._table(block, most)
            case doc.Chart():
                return self._chart(block, level, most)
            case doc.Callout():
                return self._callout(block, level, most)
            case doc.Bullets():
                return iter([_list(map(inline, made(block.items)), block.is_numbered)])
            case doc.Fold():
                return _folded(plain(block.title), self._blocks(block.blocks, level, most))
            case doc.Verbatim():
                return _verbatim(block)
            case doc.Beside():
                return self._blocks(block.blocks, level, most)
            case doc.Section():
                return self._section(block, level, most)
        raise TypeError(type(block).__name__)

    def _section(self, block: doc.Section, level: int, most: doc.Detail) -> Iterator[str]:
        self._parts += block.is_part
        is_over = block.is_part and self._most_parts is not None and self._parts > self._most_parts
        parts = self._blocks(block.blocks, level + 1, doc.LEAD if is_over else most)
        for first in parts:
            yield _title(block.title, level)
            yield first
            yield from parts

    def _facts(self, block: doc.Facts, most: doc.Detail) -> Iterator[str]:
        pairs = [*block.pairs, *(block.more if most >= doc.MORE else ())]
        self._left_out += len(pairs) < len(block.pairs) + len(block.more)
        yield _list(f"{_bold(markdown_words(label + ':'))} {inline(spans)}" for label, spans in pairs)

    def _table(self, block: doc.Table, most: doc.Detail) -> Iterator[str]:
        columns, rows, total = shown_part(block, most)
        shown = min(limit for limit in (total, block.cut.most, self._most_rows) if limit is not None)
        few = min(shown, FEW_ROWS if block.cut.few is None else block.cut.few)
        if block.is_titled:
            yield f"{_bold(markdown_words(block.caption))}\n\n"
        if block.cut.few is None and shown > few:
            yield from _folded(count_of(shown, block.cut.what), [_table(columns, islice(rows, shown))])
        else:
            yield _table(columns, islice(rows, few))
            if shown > few:
                yield from _folded(block.cut.more(shown - few), [_table(columns, islice(rows, shown - few))])
        if total > shown:
            yield f"and {markdown_words(block.cut.more(total - shown)).strip()}\n\n"

    def _chart(self, block: doc.Chart, level: int, most: doc.Detail) -> Iterator[str]:
        parts = list(self._blocks(block.instead, level, most))
        return iter([*parts, _paragraph(block.sentence)] if block.sentence and parts else parts)

    def _callout(self, block: doc.Callout, level: int, most: doc.Detail) -> Iterator[str]:
        kind = {Tone.PASS: "TIP", Tone.PLAIN: "NOTE", Tone.FAIL: "CAUTION"}.get(block.tone, "WARNING")
        body = "".join([f"{_bold(inline(block.title))}\n\n", *self._blocks(block.blocks, level, most)])
        quoted = "\n".join(f"> {line}" if line else ">" for line in body.rstrip("\n").split("\n"))
        yield f"> [!{kind}]\n{quoted}\n\n"


def _title(title: doc.Spans, level: int) -> str:
    # the signs at the end of a heading are none of its words
    return f"{'#' * min(level, 6)} " + re.sub(r"(?=#+$)", r"\\", inline(title).strip(), count=1) + "\n\n"


def _paragraph(spans: doc.Spans) -> str:
    return f"{markdown_line(inline(spans))}\n\n"


def _verbatim(block: doc.Verbatim) -> Iterator[str]:
    kept, told = block.beginning
    yield _paragraph(block.title) if block.title else ""
    yield f"{markdown_block(kept)}\n\n" if kept else "(empty)\n\n"
    yield f"{markdown_words(told)}\n\n" if told else ""


def _list(items: Iterable[str], is_numbered: bool = False) -> str:
    """A list; nothing for no items."""
    lines = [f"{f'{number}.' if is_numbered else '-'} {markdown_line(item)}\n" for number, item in enumerate(items, 1)]
    return "".join([*lines, "\n"]) if lines else ""


def _folded(title: str, body: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{markdown_summary(title)}</summary>\n\n"
    yield from body
    yield "</details>\n\n"


def _table(columns: Iterable[doc.Column], rows: Iterable[Iterable[doc.Cell]]) -> str:
    titles = [inline((f"{one.group} " if one.group else "", one.title), True) for one in columns]
    rule = ["---:" if one.kind is doc.Kind.NUMBER else "---" for one in columns]
    lines = [titles, rule, *([inline(cell, True).strip() for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
