"""HTML tables that a screen reader can walk: a caption, headers with a scope, and a box of their own to scroll in."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.pages.html import Child, Html, breakable, element, joined, stream

_NUMBER_CLASS, _MARK_CLASS = "number", "marks"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, the class of its cells (none, `number`, `marks`, `code`), a longer title when pointed at."""

    title: str
    kind: str = ""
    hint: str = ""


def number_column(title: str, hint: str = "") -> Column:
    """A column of figures, to the right, digits of one width."""
    return Column(title, _NUMBER_CLASS, hint)


def mark_column(title: str, hint: str = "") -> Column:
    """A narrow column of marks."""
    return Column(title, _MARK_CLASS, hint)


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], class_: str = "") -> Iterator[Html]:
    """A table, row by row. A row is one child for each column; the first is the header of its row.

    On a narrow screen the table scrolls in its own box, never the page.
    """
    header = element("thead", element("tr", *(_header(column) for column in columns)))
    inner = stream("table", _parts(caption, header, columns, rows), class_=class_ or None)
    yield from stream("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _parts(caption: str, header: Html, columns: Sequence[Column], rows: Iterable[Sequence[Child]]) -> Iterator[Html]:
    yield element("caption", caption)
    yield header
    yield from stream("tbody", (_row(columns, row) for row in rows))


def _header(column: Column) -> Html:
    return element("th", breakable(column.title), scope="col", class_=column.kind or None, title=column.hint or None)


def _row(columns: Sequence[Column], row: Sequence[Child]) -> Html:
    cells = [element("td" if place else "th", child, scope=None if place else "row", class_=column.kind or None)
             for place, (column, child) in enumerate(zip(columns, row, strict=True))]
    return joined(element("tr", *cells), "\n")
