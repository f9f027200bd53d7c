"""A document as Markdown for a pull request or a job summary: it reads well as it is, and no text leaves its place.

With a limit, such as that of a comment on GitHub, rows are left out first, then the details of runs and pairs, then
what stands last; and that is said.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatchmethod
from itertools import groupby, islice

from benchkit.basics.texts import count_of, shown
from benchkit.pages.html import markdown_block, markdown_cell, markdown_summary
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.render.reading import cut_rows, is_shown, made, plain, plain_span, shown_columns, spans_of

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
    return _REFERENCE.sub(rf"\g<0>{APART}", _MARKUP.sub(_escaped, flat))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[1] else "\\" + found[0]


def markdown_line(inline: str) -> str:
    """A line of finished words that begins a block, so that its beginning is not taken for a list or a heading."""
    found = _START.match(inline := inline.strip())
    if found is None:
        return inline
    return f"{found[0]}\\{inline[found.end():]}" if found[0][0].isdecimal() else "\\" + inline


def markdown_code(text: str, most: int, is_in_table: bool = False) -> str:
    """A text as a code span of at most `most` characters; nothing for no text."""
    span = markdown_cell(text, most)
    return span if is_in_table else span.replace("\\|", "|")


COMMENT = 65_536
"""Characters that a comment on GitHub holds; a job summary holds more."""
MOST_ROWS, FEWEST_ROWS = 100, 3
MOST_PARTS = 64
"""More runs or pairs in full do not fit a comment in any case."""
LONGEST_COMMAND = 1000
FEW_ROWS = 10
"""A table of more rows than this stands in a fold, where it does not say itself how many stand outside."""
CUT = "\nThe rest is left out: the report is longer than a comment may be. The text and the page have everything.\n"


@dataclass(frozen=True, slots=True)
class SpaceLimits:
    """How much there is room for: rows of a list, and parts that are told in more than LEAD."""

    rows: int | None = None
    parts: int | None = None


def as_markdown(document: doc.Document, most_characters: int | None = None, level: int = 2) -> Iterator[str]:
    """The file, part by part; `level` is that of its title."""
    if most_characters is None:
        yield from MarkdownRenderer(SpaceLimits(), level).document(document)
        return
    for limits in _limits():
        parts, is_whole = _fitting(MarkdownRenderer(limits, level).document(document), most_characters)
        if is_whole:
            break
    yield from parts
    if not is_whole:
        yield CUT


def _limits() -> Iterator[SpaceLimits]:
    """From much to little."""
    rows, parts = MOST_ROWS, MOST_PARTS
    while rows > FEWEST_ROWS:
        yield SpaceLimits(rows)
        rows = max(rows // 2, FEWEST_ROWS)
    yield SpaceLimits(rows)
    while parts:
        yield SpaceLimits(rows, parts)
        parts //= 2
    yield SpaceLimits(rows, 0)


def _fitting(parts: Iterable[str], room: int) -> tuple[list[str], bool]:
    """The parts that there is room for, in order, and whether that is all of them."""
    fitting: list[str] = []
    for part in parts:
        room -= len(part)
        if room < len(CUT):
            return fitting, False
        fitting.append(part)
    return fitting, True


def inline(cell: doc.Cell, is_in_table: bool = False) -> str:
    """Spans as one line of markup; small marks beside each other as one piece of code."""
    pieces = []
    for are_marks, spans in groupby(spans_of(cell), lambda span: isinstance(span, doc.Mark) and span.small):
        if are_marks:
            pieces.append(markdown_code("".join(map(plain_span, spans)), 1000, is_in_table))
        else:
            pieces += _pieces(spans, is_in_table)
    return "".join(pieces)


def _pieces(spans: Iterable[doc.Span], is_in_table: bool) -> Iterator[str]:
    # texts are put together first: what is no markup in each of two may be markup in both
    for are_texts, run in groupby(spans, lambda span: isinstance(span, str)):
        if are_texts:
            yield markdown_words("".join(map(plain_span, run)))
        else:
            yield from (_span(span, is_in_table) for span in run)


def _span(span: doc.Span, is_in_table: bool) -> str:
    match span:
        case doc.Code(text, most):
            return markdown_code(text, most, is_in_table)
        case doc.Strong(content):
            return _bold(_span(content, is_in_table))
        case doc.Link(_, content):
            return _span(content, is_in_table)
        case doc.Mark(words, tone):
            return _bold(markdown_words(words)) if tone is Tone.FAIL else markdown_words(words)
        case doc.Tally():
            return markdown_words(plain_span(span))
    return markdown_words(span)


def _bold(markup: str) -> str:
    return f"**{markup.strip()}**" if markup.strip() else ""


class MarkdownRenderer:
    """Writes blocks within limits; one document each, for it counts the parts."""

    def __init__(self, limits: SpaceLimits, level: int = 2) -> None:
        self._limits, self._level = limits, level
        self._parts = self._left_out = 0

    def document(self, document: doc.Document) -> Iterator[str]:
        """All parts of the file."""
        level = self._level
        yield f"{'#' * level} {_title(document.title)}\n\n"
        yield from self.blocks(document.lead, level + 1, doc.MORE)
        for section in document.sections:
            yield from self.blocks([section], level + (not section.is_part), self._most())
        if self._left_out:
            yield (f"Left out, so that the report fits: {count_of(self._left_out, 'detail')}. The text and the "
                   "page have everything.\n\n")
        if document.footer:
            yield f"---\n\n{markdown_line(inline(document.footer))}\n"

    def _most(self) -> doc.Detail:
        return doc.LEAD if self._limits.parts == 0 else doc.MORE

    def blocks(self, blocks: doc.Blocks, level: int, most: doc.Detail) -> Iterator[str]:
        """Several blocks; `level` is that of a title in them."""
        for block in made(blocks):
            if is_shown(block, most):
                yield from self._block(block, level, most)
            elif is_shown(block, doc.MORE):
                self._left_out += 1

    @singledispatchmethod
    def _block(self, block: doc.Block, level: int, most: doc.Detail) -> Iterator[str]:
        raise TypeError(type(block).__name__)

    @_block.register
    def _section(self, block: doc.Section, level: int, most: doc.Detail) -> Iterator[str]:
        self._parts += block.is_part
        is_over = block.is_part and self._limits.parts is not None and self._parts > self._limits.parts
        parts = self.blocks(block.blocks, level + 1, doc.LEAD if is_over else most)
        for first in parts:
            yield f"{'#' * min(level, 6)} {_title(block.title)}\n\n"
            yield first
            yield from parts

    @_block.register
    def _heading(self, block: doc.Heading, level: int, most: doc.Detail) -> Iterator[str]:
        yield f"{'#' * min(level, 6)} {_title(block.title)}\n\n"

    @_block.register
    def _paragraph(self, block: doc.Paragraph, level: int, most: doc.Detail) -> Iterator[str]:
        yield f"{markdown_line(inline(block.spans))}\n\n"

    @_block.register
    def _facts(self, block: doc.Facts, level: int, most: doc.Detail) -> Iterator[str]:
        yield _list(f"{_bold(markdown_words(label + ':'))} {inline(spans)}" for label, spans in made(block.pairs))

    @_block.register
    def _figures(self, block: doc.Figures, level: int, most: doc.Detail) -> Iterator[str]:
        yield _list(inline((doc.Strong(one.value), " ", one.name, f" ({one.below})" if one.below else ""))
                    for one in block.items)

    @_block.register
    def _table(self, block: doc.Table, level: int, most: doc.Detail) -> Iterator[str]:
        block = shown_columns(block, most)
        rows, total = cut_rows(block.rows, block.cut)
        limits = [limit for limit in (block.cut.most, self._limits.rows) if limit is not None]
        shown = min([total, *limits])
        few = min(shown, FEW_ROWS if block.cut.few is None else block.cut.few)
        if block.is_titled:
            yield f"{_bold(markdown_words(block.caption))}\n\n"
        if block.cut.few is None and shown > few:
            yield from _folded(count_of(shown, block.cut.what), [_table(block, islice(rows, shown))])
        else:
            yield _table(block, islice(rows, few))
            if shown > few:
                yield from _folded(block.cut.more(shown - few), [_table(block, islice(rows, shown - few))])
        if total > shown:
            yield f"and {markdown_words(block.cut.more(total - shown)).strip()}\n\n"

    @_block.register
    def _chart(self, block: doc.Chart, level: int, most: doc.Detail) -> Iterator[str]:
        parts = list(self.blocks(block.instead, level, most))
        yield from parts
        if block.sentence and parts:
            yield f"{markdown_line(inline(block.sentence))}\n\n"

    @_block.register
    def _callout(self, block: doc.Callout, level: int, most: doc.Detail) -> Iterator[str]:
        kind = {Tone.PASS: "TIP", Tone.PLAIN: "NOTE", Tone.FAIL: "CAUTION"}.get(block.tone, "WARNING")
        body = "".join([f"{_bold(inline(block.title))}\n\n", *self.blocks(block.blocks, level, most)])
        quoted = "\n".join(f"> {line}" if line else ">" for line in body.rstrip("\n").split("\n"))
        yield f"> [!{kind}]\n{quoted}\n\n"

    @_block.register
    def _bullets(self, block: doc.Bullets, level: int, most: doc.Detail) -> Iterator[str]:
        yield _list(map(inline, made(block.items)), block.is_numbered)

    @_block.register
    def _fold(self, block: doc.Fold, level: int, most: doc.Detail) -> Iterator[str]:
        yield from _folded(plain(block.title), self.blocks(block.blocks, level, most))

    @_block.register
    def _verbatim(self, block: doc.Verbatim, level: int, most: doc.Detail) -> Iterator[str]:
        kept, told = block.beginning
        if block.title:
            yield f"{markdown_line(inline(block.title))}\n\n"
        yield f"{markdown_block(kept)}\n\n" if kept else "(empty)\n\n"
        yield f"{markdown_words(told)}\n\n" if told else ""

    @_block.register
    def _command(self, block: doc.CommandLine, level: int, most: doc.Detail) -> Iterator[str]:
        yield f"{markdown_line(inline((block.before, ' ', doc.Code(block.line, LONGEST_COMMAND))))}\n\n"

    @_block.register
    def _beside(self, block: doc.Beside, level: int, most: doc.Detail) -> Iterator[str]:
        return self.blocks(block.blocks, level, most)


def _title(title: doc.Spans) -> str:
    # the signs at the end of a heading are none of its words
    return re.sub(r"(?=#+$)", r"\\", inline(title).strip(), count=1)


def _list(items: Iterable[str], is_numbered: bool = False) -> str:
    """A list; nothing for no items."""
    lines = [f"{f'{number}.' if is_numbered else '-'} {markdown_line(item)}\n" for number, item in enumerate(items, 1)]
    return "".join([*lines, "\n"]) if lines else ""


def _folded(title: str, body: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{markdown_summary(title)}</summary>\n\n"
    yield from body
    yield "</details>\n\n"


def _table(block: doc.Table, rows: Iterable[Iterable[doc.Cell]]) -> str:
    titles = [inline((f"{one.group} " if one.group else "", one.title), True) for one in block.columns]
    rule = ["---:" if one.kind is doc.Kind.NUMBER else "---" for one in block.columns]
    lines = [titles, rule, *([inline(cell, True).strip() for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
