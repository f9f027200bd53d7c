"""Text in columns of at most 100 characters, whatever the texts are, and colour for a terminal."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchkit.basics.texts import fitting, shown, shown_line, width_of
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.reading import plain

_CODES = {Tone.PASS: "32", Tone.FAIL: "31", Tone.INCOMPLETE: "33", Tone.FLAKY: "33", Tone.ABSENT: "33"}


@dataclass(frozen=True, slots=True)
class Paint:
    """Puts colour around a text; with `is_on` false it leaves everything as it is."""

    is_on: bool = False

    def toned(self, text: str, tone: Tone) -> str:
        """A verdict or a state."""
        return self._around(text, _CODES.get(tone, ""))

    def strong(self, text: str) -> str:
        """A title."""
        return self._around(text, "1")

    def _around(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and code and text else text


NO_PAINT = Paint()
Painted: TypeAlias = tuple[str, Callable[[str], str]]
"""A text, and what puts colour around it once it is padded."""
WIDTH = 100
INDENT = "  "
GAP = "  "
LEAST_FLEXIBLE, LEAST = 8, 4


def clipped(text: str, most: int) -> str:
    """One line of at most `most` columns, control characters shown, its end dropped for `...` where it is too long."""
    line = shown_line(text, max(most, 3) * 4)
    if width_of(line) <= most:
        return line
    return fitting(line, most - 3) + "..."


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
        head = fitting(text[start:start + width], width)
        blank = head.rfind(" ") + 1 if at_blanks else 0
        pieces.append(head[:blank] if blank > len(head) // 2 else head)
        start += len(pieces[-1])
    return [*pieces, text[start:]] if start < len(text) or not pieces else pieces


def quoted(text: str, indent: str, width: int = WIDTH) -> list[str]:
    """A text of strangers whole, line by line, folded to the width, control characters shown."""
    lines = shown(text).replace("\t", "    ").split("\n")
    return [indent + piece for line in lines for piece in folded(line, width - width_of(indent), at_blanks=True)]


def table(columns: Sequence[doc.Column], rows: Iterable[Sequence[Painted]], indent: str = INDENT) -> list[str]:
    """Aligned lines, titles first; at most WIDTH columns wide if the columns that do not give way fit it.

    Where they do not, columns stand one blank apart rather than two.
    """
    titles: list[Painted] = [(plain(one.title), str) for one in columns]
    cells = [[(clipped(text, WIDTH), paint) for text, paint in row] for row in rows]
    widths = [max(width_of(text) for text, _ in column) for column in zip(titles, *cells, strict=True)]
    gap = _give_way(columns, widths, WIDTH - len(indent))
    lines = [gap.join(_padded(row, columns, widths)) for row in (titles, *cells)]
    return [(indent + line).rstrip() for line in (*_groups(columns, widths, gap, WIDTH - len(indent)), *lines)]


def _groups(columns: Sequence[doc.Column], widths: Sequence[int], gap: str, room: int) -> list[str]:
    """The line above the titles: the words of each group where its first column begins; none without groups."""
    line, before, at = "", "", 0
    for column, width in zip(columns, widths, strict=True):
        if column.group and column.group != before:
            # to the right stands a title, not its column
            start = at + (width - width_of(plain(column.title)) if column.kind is doc.Kind.NUMBER else 0)
            line = line.ljust(start) + column.group
        before, at = column.group, at + width + len(gap)
    return [clipped(line, room)] if line else []


def _give_way(columns: Sequence[doc.Column], widths: list[int], room: int) -> str:
    """Makes columns narrower until they fit, those that are flexible first; what stands between two of them then."""
    gaps, flexible = len(columns) - 1, [place for place, column in enumerate(columns) if column.flexible]
    _narrow(widths, flexible, LEAST_FLEXIBLE, room - gaps * len(GAP))
    if sum(widths) + gaps * len(GAP) <= room:
        return GAP
    _narrow(widths, flexible, LEAST, room - gaps)
    _narrow(widths, range(len(columns)), LEAST, room - gaps)
    return " "


def _narrow(widths: list[int], places: Collection[int], least: int, room: int) -> None:
    """The widest gives way first, so that several wide ones end alike."""
    for _ in range(sum(widths) - room):
        widest = max(places, key=lambda place: widths[place], default=None)
        if widest is None or widths[widest] <= least:
            return
        widths[widest] -= 1


def _padded(cells: Sequence[Painted], columns: Sequence[doc.Column], widths: Sequence[int]) -> Iterator[str]:
    for (text, paint), column, width in zip(cells, columns, widths, strict=True):
        shown = clipped(text, width)
        space = " " * (width - width_of(shown))
        yield paint(space + shown if column.kind is doc.Kind.NUMBER else shown + space)
