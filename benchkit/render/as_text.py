"""A document as text for a terminal: at most 100 columns, control characters shown, colour only by a Paint."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest

from benchkit.basics.texts import width_of
from benchkit.render import document as doc
from benchkit.render.columns import INDENT, NO_PAINT, WIDTH, Paint, Painted, clipped, quoted, table, wrapped
from benchkit.render.reading import made, plain, shown_part, spans_of

MOST_BESIDE = 12
"""Lines of texts beside each other; the whole of them is in other places."""
BETWEEN = " | "
_APART = (doc.Table, doc.Figures, doc.Beside, doc.Verbatim, doc.Callout, doc.Fold, doc.Section, doc.Chart)
"""An empty line stands around these, except where a quiet paragraph stands beside them."""


@dataclass(frozen=True, slots=True)
class TextRenderer:
    """Writes blocks as lines: those of LEAD, or all of them and their whole lists where it `is_full`."""

    paint: Paint = NO_PAINT
    is_full: bool = False

    def document(self, document: doc.Document) -> Iterator[str]:
        """All lines, without line ends; the title is for other formats."""
        is_bare = True
        for part in (document.lead, document.sections):
            for number, line in enumerate(self._blocks(part, "")):
                yield from [""] if number == 0 and not is_bare else []
                yield line.rstrip()
                is_bare = False
        if document.footer and self.is_full:
            yield from ["", *wrapped(plain(document.footer))]

    def _blocks(self, blocks: doc.Blocks, indent: str) -> Iterator[str]:
        """The lines of several blocks, empty lines between those that need them."""
        before: doc.Block | None = None
        most = doc.ALL if self.is_full else doc.LEAD
        for block in made(blocks):
            lines = self._block(block, indent) if block.detail <= most else iter(())
            for first in lines:
                yield from [""] if before and _are_apart(before, block) else []
                yield first
                yield from lines
                before = block

    def _block(self, block: doc.Block, indent: str) -> Iterator[str]:
        match block:
            case doc.Paragraph():
                return self._paragraph(block, indent)
            case doc.Facts():
                return self._labelled([*block.pairs, *(block.more if self.is_full else ())], indent)
            case doc.Figures():
                return self._labelled([(one.name, "; ".join(filter(None, (one.value, one.below))))
                                       for one in block.items], indent)
            case doc.Table():
                return self._table(block, indent)
            case doc.Chart():
                return self._chart(block, indent)
            case doc.Callout():
                title = (self.paint.toned(line, block.tone) for line in wrapped(plain(block.title), indent))
                return chain(title, self._blocks(block.blocks, indent + INDENT))
            case doc.Bullets():
                return self._bullets(block, indent)
            case doc.Fold():
                return chain([self._title(block.title, indent)], self._blocks(block.blocks, indent + INDENT))
            case doc.Verbatim():
                return self._verbatim(block, indent)
            case doc.Beside():
                return self._beside(block, indent)
            case doc.Section():
                return self._section(block, indent)
        raise TypeError(type(block).__name__)

    def _paragraph(self, block: doc.Paragraph, indent: str) -> Iterator[str]:
        if block.unbroken:
            return iter([indent + plain(block.spans).strip()])
        return self._wrapped(block.spans, indent, indent)

    def _labelled(self, pairs: Sequence[tuple[str, doc.Spans]], indent: str) -> Iterator[str]:
        width = max((width_of(clipped(label, WIDTH // 3)) for label, _ in pairs), default=0)
        for label, spans in pairs:
            name = clipped(label, WIDTH // 3)
            first, *rest = wrapped(plain(spans), indent + name + " " * (width - width_of(name)) + INDENT)
            yield first.replace(name, self.paint.strong(name), 1) if not indent else first
            yield from rest

    def _table(self, block: doc.Table, indent: str) -> Iterator[str]:
        if block.is_titled:
            yield from wrapped(block.caption, indent)
        columns, rows, total = shown_part(block, doc.LEAD)
        few = None if self.is_full else block.cut.few
        yield from table(columns, (list(map(self._cell, row)) for row in islice(rows, few)), indent)
        if few is not None and total > few:
            yield from wrapped(f"and {block.cut.more(total - few)}", indent)

    def _cell(self, cell: doc.Cell) -> Painted:
        match spans_of(cell):
            case [doc.Mark(_, tone, False)]:
                return plain(cell), partial(self.paint.toned, tone=tone)
            case [doc.Strong()]:
                return plain(cell), self.paint.strong
        return plain(cell), str

    def _chart(self, block: doc.Chart, indent: str) -> Iterator[str]:
        lines = list(self._blocks(block.instead, indent))
        return iter([*lines, *(wrapped(plain(block.sentence), indent) if block.sentence and lines else ())])

    def _bullets(self, block: doc.Bullets, indent: str) -> Iterator[str]:
        for number, item in enumerate(made(block.items), 1):
            sign = f"{number}. " if block.is_numbered else "- "
            yield from self._wrapped(item, indent + sign, indent + " " * len(sign))

    def _title(self, title: doc.Spans, indent: str) -> str:
        shown = clipped(plain(title), WIDTH - len(indent))
        return indent + (self._painted(title) if shown == plain(title) else shown)

    def _section(self, block: doc.Section, indent: str) -> Iterator[str]:
        """Its title and its blocks; nothing where it has none."""
        is_whole = block.is_part and not indent
        lines = self._blocks(block.blocks, indent if is_whole else indent + INDENT)
        for first in lines:
            title = clipped(plain(block.title), WIDTH - len(indent))
            rule = f"== {clipped(title, WIDTH - 7)} "
            yield indent + self.paint.strong(rule + "=" * (WIDTH - width_of(rule)) if is_whole else title)
            yield first
            yield from lines

    def _verbatim(self, block: doc.Verbatim, indent: str) -> Iterator[str]:
        kept, told = (block.text, "") if self.is_full else block.beginning
        if block.title:
            yield from wrapped(plain(block.title) + ("" if block.text else " (empty)"), indent)
        yield from quoted(kept, indent + "| ") if kept else ()
        yield from wrapped(told, indent) if told else ()

    def _beside(self, block: doc.Beside, indent: str) -> Iterator[str]:
        texts = [one for one in block.blocks if isinstance(one, doc.Verbatim)]
        if not len(texts) == len(block.blocks) == 2:
            return self._blocks(block.blocks, indent)
        width = (WIDTH - len(indent) - len(BETWEEN)) // 2
        return ((indent + one + " " * (width - width_of(one)) + BETWEEN + other).rstrip()
                for one, other in zip_longest(*(self._half(text, width) for text in texts), fillvalue=""))

    def _half(self, block: doc.Verbatim, width: int) -> list[str]:
        lines = quoted(block.beginning[0], "", width)
        is_cut = len(lines) > MOST_BESIDE and not self.is_full
        return [clipped(plain(block.title), width), *([*lines[:MOST_BESIDE - 1], "..."] if is_cut else lines)]

    def _wrapped(self, spans: doc.Spans, first: str, rest: str) -> Iterator[str]:
        """A paragraph; where it is one line, its marks have their colours."""
        lines = wrapped(plain(spans), first, rest)
        return iter([first + self._painted(spans)] if lines == [first + plain(spans)] else lines)

    def _painted(self, spans: doc.Spans) -> str:
        return "".join(paint(clipped(text, WIDTH)) for text, paint in map(self._cell, spans_of(spans)))


def _are_apart(before: doc.Block, block: doc.Block) -> bool:
    kinds = [one for one in (before, block) if not (isinstance(one, doc.Paragraph) and one.quiet)]
    return len(kinds) == 2 and any(isinstance(one, _APART) for one in kinds)


def as_text(document: doc.Document, paint: Paint = NO_PAINT, is_full: bool = False) -> Iterator[str]:
    """The file or the screen, line by line, each with its end."""
    return (line + "\n" for line in TextRenderer(paint, is_full).document(document))
