"""Text in columns: what fits a terminal of 100 columns, whatever the texts are.

Widths are those a terminal shows (wide characters take two columns, combining ones none), control characters are
shown as escapes, and one column of a table gives way where the others need the room.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import shown, shown_line

WIDTH = 100
INDENT = "  "
GAP = "  "
LEAST_FLEXIBLE = 8


def plain(text: str) -> str:
    """The paint of most text: none."""
    return text


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether its cells stand to the right, and whether it may be cut where room is short.

    `paint` is given each padded cell, and may put colour around it.
    """

    title: str
    right: bool = True
    flexible: bool = False
    paint: Callable[[str], str] = plain


def left(title: str, *, flexible: bool = False, paint: Callable[[str], str] = plain) -> Column:
    """A column of texts."""
    return Column(title, False, flexible, paint)


def right(title: str) -> Column:
    """A column of figures."""
    return Column(title)


def width_of(text: str) -> int:
    """How many columns a terminal gives a text."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, most: int) -> str:
    """One line of at most `most` columns, control characters shown, its end dropped for `...` where it is too long."""
    line = shown_line(text, max(most, 3) * 4)
    if width_of(line) <= most:
        return line
    return _head(line, most - 3) + "..."


def _head(line: str, most: int) -> str:
    """As many characters from the start as fit; at least one, so that a loop over the rest comes to its end."""
    if line.isascii():
        return line[:max(most, 1)]
    used = 0
    for place, character in enumerate(line):
        used += _width(character)
        if used > most:
            return line[:max(place, 1)]
    return line


def wrapped(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> list[str]:
    """The words of a text on lines of at most `width` columns, `first` before the first line, `rest` before others."""
    rest = " " * width_of(first) if rest is None else rest
    lines, line, is_bare = [], first, True
    for word in shown(text).split():
        for piece in folded(word, width - width_of(rest)):
            if not is_bare and width_of(line) + 1 + width_of(piece) > width:
                lines.append(line)
                line, is_bare = rest, True
            line += piece if is_bare else " " + piece
            is_bare = False
    return [*lines, line.rstrip()]


def folded(text: str, width: int, at_blanks: bool = False) -> list[str]:
    """A line cut into pieces of at most `width` columns, nothing dropped; behind a blank if there is one near."""
    pieces, start = [], 0
    while len(text) - start > width or (start < len(text) and width_of(text[start:]) > width):
        head = _head(text[start:start + width], width)
        blank = head.rfind(" ") + 1 if at_blanks else 0
        pieces.append(head[:blank] if blank > len(head) // 2 else head)
        start += len(pieces[-1])
    return [*pieces, text[start:]] if start < len(text) or not pieces else pieces


def quoted(text: str, indent: str, width: int = WIDTH) -> list[str]:
    """A text of strangers whole, line by line, folded to the width, control characters shown."""
    lines = shown(text).replace("\t", "    ").split("\n")
    return [indent + piece for line in lines for piece in folded(line, width - width_of(indent), at_blanks=True)]


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: str = INDENT, gap: str = GAP) -> list[str]:
    """Aligned lines, titles first; at most WIDTH columns wide if the columns that do not give way fit it.

    A row is one text for each column, `gap` what stands between two columns.
    """
    cells = [[clipped(cell, WIDTH) for cell in row] for row in rows]
    widths = [max([width_of(column.title), *(width_of(row[place]) for row in cells)])
              for place, column in enumerate(columns)]
    _give_way(columns, widths, WIDTH - len(indent) - len(gap) * (len(widths) - 1))
    titles = _padded([column.title for column in columns], columns, widths)
    lines = [_painted(_padded(row, columns, widths), columns) for row in cells]
    return [(indent + gap.join(line)).rstrip() for line in [titles, *lines]]


def _give_way(columns: Sequence[Column], widths: list[int], room: int) -> None:
    surplus = sum(widths) - room
    flexible = [place for place, column in enumerate(columns) if column.flexible]
    for place in sorted(flexible, key=lambda place: -widths[place]):
        cut = max(0, min(surplus, widths[place] - LEAST_FLEXIBLE))
        widths[place] -= cut
        surplus -= cut


def _padded(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        text = clipped(cell, width)
        space = " " * (width - width_of(text))
        padded.append(space + text if column.right else text + space)
    return padded


def _painted(cells: Sequence[str], columns: Sequence[Column]) -> list[str]:
    return [column.paint(cell) for cell, column in zip(cells, columns, strict=True)]
