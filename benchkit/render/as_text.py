"""A document as text for a terminal: at most 100 columns, control characters shown, colour only by a Paint."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, singledispatchmethod
from itertools import islice

from benchkit.basics.texts import shown_line
from benchkit.render import document as doc
from benchkit.render.columns import (
    INDENT,
    NO_PAINT,
    WIDTH,
    Paint,
    TextCell,
    TextColumn,
    beside,
    clipped,
    half_of,
    quoted,
    table,
    width_of,
    wrapped,
)
from benchkit.render.reading import cut_rows, is_shown, made, plain, plain_span, shown_columns, spans_of

LONGEST_COMMAND = 1000
MOST_BESIDE = 12
"""Lines of texts beside each other; the whole of them is in other places."""
_APART = (doc.Table, doc.Figures, doc.Beside, doc.Verbatim, doc.Callout, doc.Fold, doc.Section, doc.Heading, doc.Chart)
"""An empty line stands around these, except where a quiet paragraph stands beside them."""


@dataclass(frozen=True, slots=True)
class TextRenderer:
    """Writes blocks as lines: those of LEAD, or all of them and their whole lists where it `is_full`."""

    paint: Paint = NO_PAINT
    is_full: bool = False

    def document(self, document: doc.Document) -> Iterator[str]:
        """All lines, without line ends; the title is for other formats."""
        lead = list(self.blocks(document.lead, ""))
        yield from lead
        sections = self.blocks(document.sections, "")
        first = next(sections, None)
        if first is not None:
            yield from [""] if lead else []
            yield from [first, *sections]
        if document.footer and self.is_full:
            yield from ["", *wrapped(plain(document.footer))]

    def blocks(self, blocks: doc.Blocks, indent: str) -> Iterator[str]:
        """The lines of several blocks, empty lines between those that need them."""
        before: doc.Block | None = None
        most = doc.ALL if self.is_full else doc.LEAD
        for block in made(blocks):
            if is_shown(block, most):
                lines = self._block(block, indent)
                first = next(lines, None)
                if first is not None:
                    yield from [""] if before and _is_apart(before, block) else []
                    yield first
                    yield from lines
                    before = block

    @singledispatchmethod
    def _block(self, block: doc.Block, indent: str) -> Iterator[str]:
        raise TypeError(type(block).__name__)

    @_block.register
    def _heading(self, block: doc.Heading, indent: str) -> Iterator[str]:
        yield indent + self.paint.strong(self._title(block.title, indent))

    @_block.register
    def _paragraph(self, block: doc.Paragraph, indent: str) -> Iterator[str]:
        return self._wrapped(block.spans, indent, indent)

    @_block.register
    def _facts(self, block: doc.Facts, indent: str) -> Iterator[str]:
        return self._labelled(list(made(block.pairs)), indent)

    @_block.register
    def _figures(self, block: doc.Figures, indent: str) -> Iterator[str]:
        return self._labelled([(one.name, "; ".join(filter(None, (one.value, one.below)))) for one in block.items],
                              indent)

    @_block.register
    def _callout(self, block: doc.Callout, indent: str) -> Iterator[str]:
        yield from (self.paint.toned(line, block.tone) for line in wrapped(plain(block.title), indent))
        yield from self.blocks(block.blocks, indent + INDENT)

    @_block.register
    def _bullets(self, block: doc.Bullets, indent: str) -> Iterator[str]:
        for number, item in enumerate(made(block.items), 1):
            sign = f"{number}. " if block.is_numbered else "- "
            yield from self._wrapped(item, indent + sign, indent + " " * len(sign))

    @_block.register
    def _fold(self, block: doc.Fold, indent: str) -> Iterator[str]:
        title = self._title(block.title, indent)
        painted = "".join(map(self._painted, spans_of(block.title)))
        yield indent + (painted if title == plain(block.title) else title)
        yield from self.blocks(block.blocks, indent + INDENT)

    @_block.register
    def _chart(self, block: doc.Chart, indent: str) -> Iterator[str]:
        lines = list(self.blocks(block.instead, indent))
        yield from lines
        if block.sentence and lines:
            yield from wrapped(plain(block.sentence), indent)

    def _title(self, title: doc.Spans, indent: str) -> str:
        return clipped(plain(title), WIDTH - len(indent))

    @_block.register
    def _section(self, section: doc.Section, indent: str) -> Iterator[str]:
        """Its title and its blocks; nothing where it has none."""
        is_whole = section.is_part and not indent
        lines = self.blocks(section.blocks, indent if is_whole else indent + INDENT)
        first = next(lines, None)
        if first is not None:
            title = self._title(section.title, indent)
            rule = f"== {clipped(title, WIDTH - 7)} "
            yield indent + self.paint.strong(rule + "=" * (WIDTH - width_of(rule)) if is_whole else title)
            yield first
            yield from lines

    def _wrapped(self, spans: doc.Spans, first: str, rest: str) -> Iterator[str]:
        """A paragraph; where it is one line, its marks have their colours."""
        lines = wrapped(plain(spans), first, rest)
        painted = "".join(map(self._painted, spans_of(spans)))
        yield from [first + painted] if self.paint.is_on and lines == [first + plain(spans)] else lines

    def _painted(self, span: doc.Spans) -> str:
        match span:
            case doc.Mark(words, tone, small) if not small:
                return self.paint.toned(clipped(words, WIDTH), tone)
            case doc.Strong():
                return self.paint.strong(clipped(plain(span), WIDTH))
        return clipped(plain(span), WIDTH)

    def _labelled(self, pairs: Sequence[tuple[str, doc.Spans]], indent: str) -> Iterator[str]:
        width = max((width_of(clipped(label, WIDTH // 3)) for label, _ in pairs), default=0)
        for label, spans in pairs:
            name = clipped(label, WIDTH // 3)
            start = indent + name + " " * (width - width_of(name)) + INDENT
            first, *rest = wrapped(plain(spans), start)
            yield first.replace(name, self.paint.strong(name), 1) if not indent else first
            yield from rest

    @_block.register
    def _table(self, block: doc.Table, indent: str) -> Iterator[str]:
        if block.is_titled:
            yield from wrapped(block.caption, indent)
        block = shown_columns(block, doc.LEAD)
        rows, total = cut_rows(block.rows, block.cut)
        few = None if self.is_full else block.cut.few
        columns = [TextColumn(plain(one.title), one.kind is doc.Kind.NUMBER, one.flexible, one.group)
                   for one in block.columns]
        yield from table(columns, (list(map(self._cell, row)) for row in islice(rows, few)), indent)
        if few is not None and total > few:
            yield from wrapped(f"and {block.cut.more(total - few)}", indent)

    def _cell(self, cell: doc.Cell) -> TextCell:
        match spans_of(cell):
            case [doc.Mark(words, tone, False)]:
                return TextCell(words, partial(self.paint.toned, tone=tone))
            case [doc.Strong() as span]:
                return TextCell(plain_span(span), self.paint.strong)
        return TextCell(plain(cell))

    @_block.register
    def _verbatim(self, block: doc.Verbatim, indent: str) -> Iterator[str]:
        kept, told = (block.text, "") if self.is_full else block.beginning
        if block.title:
            yield from wrapped(plain(block.title) + ("" if block.text else " (empty)"), indent)
        yield from quoted(kept, indent + "| ") if kept else ()
        yield from wrapped(told, indent) if told else ()

    @_block.register
    def _command(self, block: doc.CommandLine, indent: str) -> Iterator[str]:
        yield indent + f"{block.before} {shown_line(block.line, LONGEST_COMMAND)}".strip()

    @_block.register
    def _beside(self, block: doc.Beside, indent: str) -> Iterator[str]:
        match list(block.blocks):
            case [doc.Verbatim() as left, doc.Verbatim() as right]:
                half = half_of(indent)
                yield from beside(self._half(left, half), self._half(right, half), indent)
            case blocks:
                yield from self.blocks(blocks, indent)

    def _half(self, block: doc.Verbatim, width: int) -> list[str]:
        lines = quoted(block.beginning[0], "", width)
        is_cut = len(lines) > MOST_BESIDE and not self.is_full
        return [clipped(plain(block.title), width), *([*lines[:MOST_BESIDE - 1], "..."] if is_cut else lines)]


def _is_apart(before: doc.Block, block: doc.Block) -> bool:
    kinds = [one for one in (before, block) if not (isinstance(one, doc.Paragraph) and one.quiet)]
    return len(kinds) == 2 and any(isinstance(one, _APART) for one in kinds)


def as_text(document: doc.Document, paint: Paint = NO_PAINT, is_full: bool = False) -> Iterator[str]:
    """The file or the screen, line by line, each with its end."""
    return (line + "\n" for line in TextRenderer(paint, is_full).document(document))
