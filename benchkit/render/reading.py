"""What every renderer reads a document with: things made when they are written, who is shown what, plain words."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from benchkit.pages.tones import Tone
from benchkit.render import document as doc

SIGNS = {Tone.PASS: "+", Tone.FAIL: "-", Tone.INCOMPLETE: "?", Tone.FLAKY: "~", Tone.ABSENT: ".", Tone.PLAIN: "*"}
"""Small marks in formats of plain text."""


def made(many: doc.Many[doc.Item]) -> Iterable[doc.Item]:
    """The things themselves."""
    return many() if callable(many) else many


def counted(many: doc.Many[doc.Item], cut: doc.Cut) -> tuple[Iterator[doc.Item], int]:
    """The things one after the other, and how many there are; they are held only where nothing says how many."""
    if not callable(many):
        return iter(many), len(many)
    if cut.total is not None:
        return iter(many()), cut.total
    kept = list(many())
    return iter(kept), len(kept)


def shown_part(table: doc.Table, most: doc.Detail) -> tuple[Sequence[doc.Column], Iterator[Sequence[doc.Cell]], int]:
    """The columns that a reader of that much detail sees, the rows with only these cells, and how many rows there are.
    """
    rows, total = counted(table.rows, table.cut)
    kept = [one.detail <= most for one in table.columns]
    return list(compress(table.columns, kept)), (list(compress(row, kept)) for row in rows), total


def spans_of(cell: doc.Cell) -> Sequence[doc.Span]:
    """The spans of a line or of a cell."""
    if cell is None:
        return ()
    if isinstance(cell, int):
        return (f"{cell:,}",)
    return (cell,) if isinstance(cell, doc.Span) else cell


def plain(cell: doc.Cell) -> str:
    """A line without any markup, such as a title; a small mark is its sign."""
    return "".join(map(_plain, spans_of(cell)))


def _plain(span: doc.Span) -> str:
    match span:
        case str():
            return span
        case doc.Code():
            return span.line
        case doc.Strong(content) | doc.Link(_, content):
            return _plain(content)
        case doc.Mark(words, tone, small):
            return SIGNS[tone] if small else words
        case doc.Tally(_, counts):
            return ", ".join(f"{count:,} {tone}" for tone, count in counts if count) or "nothing"
