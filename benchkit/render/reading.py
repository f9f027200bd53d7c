"""What every renderer reads a document with: what is made when it is written, who is shown what, plain words."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress

from benchkit.pages.parts import Tone
from benchkit.render import document as doc


def made(many: doc.Many[doc.Item]) -> Iterable[doc.Item]:
    """The things themselves."""
    return many() if callable(many) else many


def spans_of(cell: doc.Cell) -> Sequence[doc.Span]:
    """The spans of a line or of a cell."""
    if cell is None:
        return ()
    if isinstance(cell, int):
        return (f"{cell:,}",)
    return (cell,) if isinstance(cell, doc.Span) else cell


def plain(spans: doc.Cell) -> str:
    """A line without any markup, for a title."""
    return "".join(map(plain_span, spans_of(spans)))


def plain_span(span: doc.Span) -> str:
    """A span without any markup; a small mark is its sign."""
    match span:
        case str():
            return span
        case doc.Code():
            return span.line
        case doc.Strong(content) | doc.Link(_, content):
            return plain_span(content)
        case doc.Mark(words, tone, small):
            return SIGNS[tone] if small else words
        case doc.Tally(_, counts):
            return ", ".join(f"{count:,} {tone}" for tone, count in counts if count) or "nothing"


SIGNS = {Tone.PASS: "+", Tone.FAIL: "-", Tone.INCOMPLETE: "?", Tone.FLAKY: "~", Tone.ABSENT: ".", Tone.PLAIN: "*"}
"""Small marks in formats of plain text."""


def is_shown(one: doc.Block | doc.Column, most: doc.Detail) -> bool:
    """Whether a reader of that much detail sees a block or a column."""
    return one.detail <= most


def shown_columns(table: doc.Table, most: doc.Detail) -> doc.Table:
    """The table with the columns that such a reader sees."""
    if all(is_shown(one, most) for one in table.columns):
        return table
    kept = [is_shown(one, most) for one in table.columns]
    return replace(table, columns=list(compress(table.columns, kept)), cut=replace(table.cut, total=total_of(table)),
                   rows=lambda: (list(compress(row, kept)) for row in made(table.rows)))


def total_of(table: doc.Table) -> int | None:
    """How many rows it has; None where only making them tells."""
    return table.cut.total if callable(table.rows) else len(table.rows)


def cut_rows(rows: doc.Many[doc.Item], cut: doc.Cut) -> tuple[Iterator[doc.Item], int]:
    """The rows one after the other, and how many there are."""
    total = cut.total if callable(rows) else len(rows)
    if total is None:
        kept = list(made(rows))
        return iter(kept), len(kept)
    return iter(made(rows)), total
