"""What all parts of the Markdown report share: figures as markup, lists that end, columns of figures."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of
from benchkit.pages.markdown import Markdown, MarkdownColumn, folded, paragraph, table

LONGEST_NAME = 60
"""Of ids, names and tags, so many characters stand in a cell."""
LONGEST_TEXT = 120
FEW_ROWS = 10
"""A table of more rows is folded."""
MOST_ROWS = 100
"""Rows of one list, in all runs of a report together."""
MOST_CHARACTERS = 65_536
"""What a comment on GitHub holds; a job summary holds more."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a report there is room for.

    `rows` of one list, and of one list of a pair; `told`: so many runs, and so many pairs, are told in full, and so
    many are `named` at all.
    """

    rows: int
    pair_rows: int
    told: int
    named: int


def own(text: str) -> Markdown:
    """Figures and the kit's own words, which need no escaping; nothing of strangers may stand in them."""
    return Markdown(text)


def own_sentence(text: str) -> Iterator[Markdown]:
    """The kit's own words as a paragraph, with a capital and a full stop; nothing for none."""
    if text:
        yield paragraph(own(f"{text[0].upper()}{text[1:]}."))


def left(title: str) -> MarkdownColumn:
    """A column of texts."""
    return MarkdownColumn(own(title))


def right(title: str) -> MarkdownColumn:
    """A column of figures."""
    return MarkdownColumn(own(title), right=True)


def cut_table(what: str, columns: Sequence[MarkdownColumn], rows: Sequence[Sequence[str]], most: int) -> Markdown:
    """A table of at most `most` rows that says how many more `what` (the name of one) there are."""
    shown = table(columns, rows[:most])
    more = len(rows) - most
    return Markdown(shown + paragraph(own(f"and {count_of(more, f'more {what}')}"))) if more > 0 else shown


def left_out(count: int, what: str) -> Iterator[Markdown]:
    """How many `what` (the name of one) there was no room for, as a paragraph; nothing where there was."""
    if count > 0:
        yield paragraph(own(f"Left out, so that the report fits {MOST_CHARACTERS:,} characters: "
                            f"{count_of(count, what)}. The text and the page have everything."))


def listed(what: str, columns: Sequence[MarkdownColumn], rows: Iterable[Sequence[str]], most: int) -> Markdown:
    """A cut table, folded if it is long."""
    everything = list(rows)
    shown = cut_table(what, columns, everything, most)
    return shown if len(everything) <= FEW_ROWS else folded(own(count_of(len(everything), what)), shown)
