"""A report or a board as blocks: what it says, without any format.

Each string is a text: renderers escape all of them, so a section never does. What strangers wrote (names, ids,
messages, outputs) is `Code` or `Verbatim`, so that it is seen to be theirs.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from benchkit.basics.texts import count_of, shown_line
from benchkit.pages.tones import Tone

if TYPE_CHECKING:
    # what only a page draws is imported only where one is made
    from benchkit.pages.curve_charts import CurveChart, DistributionChart
    from benchkit.pages.row_charts import TimelineChart

Item = TypeVar("Item")
Many: TypeAlias = Sequence[Item] | Callable[[], Iterable[Item]]
"""Several things, or the function that makes them one after the other, anew for each reading."""


class Detail(IntEnum):
    """Who is shown it: text shows LEAD, or all when asked; Markdown also MORE; HTML all, tables of ALL folded."""

    LEAD = 0
    MORE = 1
    ALL = 2


LEAD, MORE, ALL = Detail


# spans: what a line is made of


class Code(NamedTuple):
    """A name or a short text of strangers, on one line, its end left out where it has more than `most` characters."""

    text: str
    most: int = 80

    @property
    def line(self) -> str:
        """The text as it is shown, control characters made visible."""
        return shown_line(self.text, self.most)


class Strong(NamedTuple):
    """Words that stand out."""

    content: str | Code


class Mark(NamedTuple):
    """A verdict or a state in words, with its tone. A `small` one is a sign, and the words are told when pointed at.

    It leads to the part of the document whose anchor is `to`, where a format has links.
    """

    words: str
    tone: Tone
    small: bool = False
    to: str = ""


class Link(NamedTuple):
    """A span that leads to the part of the document with this anchor; an empty anchor leads nowhere."""

    to: str
    content: str | Code | Strong


# no tuple: a type checker would not tell its parts from spans
@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How many are of each tone: `7 pass, 2 fail`, or a small bar. `title` is of what."""

    title: str
    counts: Sequence[tuple[Tone, int]]


Span: TypeAlias = str | Code | Strong | Mark | Link | Tally
Spans: TypeAlias = Span | Sequence[Span]
"""A line: one span, or several, put together as they are."""
Cell: TypeAlias = Spans | int | None
"""Of a table: a line; a whole number, written with its thousands apart; nothing."""


# blocks: what a document is made of


Blocks: TypeAlias = "Many[Block]"


class Paragraph(NamedTuple):
    """A sentence or several. A `quiet` one explains what stands beside it; an `unbroken` one stays on its line."""

    spans: Spans
    quiet: bool = False
    unbroken: bool = False
    detail: Detail = LEAD


class Facts(NamedTuple):
    """Labels, and what is said of each; `more` of them beneath, for readers of that detail."""

    pairs: Sequence[tuple[str, Spans]]
    more: Sequence[tuple[str, Spans]] = ()
    detail: Detail = LEAD


class Figure(NamedTuple):
    """A headline figure: the number as text, what it is, and a line below it (interval, denominator)."""

    value: str
    name: str
    below: str = ""
    tone: Tone = Tone.PLAIN


class Figures(NamedTuple):
    """Headline figures beside each other."""

    items: Sequence[Figure]
    detail: Detail = LEAD


class Kind(StrEnum):
    """What the cells of a column are: texts, words that are not folded, figures; the value is their class on pages."""

    TEXT = ""
    WORD = "short"
    NUMBER = "number"


class Column(NamedTuple):
    """A column of a table.

    A `flexible` one is cut where the line has no room. Neighbours of the same `group` have its words above their
    titles. `hint` is a longer title. Text, where lines are short, leaves out all that are not LEAD.
    """

    title: str | Code
    kind: Kind = Kind.TEXT
    flexible: bool = False
    group: str = ""
    hint: str = ""
    detail: Detail = LEAD


class Cut(NamedTuple):
    """How much of a long list is shown: `few` at first, the others in a fold; at most `most` at all; None is all.

    `what` is the name of one; `total` is how many there are, where the list is made by a function.
    """

    few: int | None = None
    most: int | None = None
    what: str = "row"
    total: int | None = None

    def more(self, count: int) -> str:
        """`12 more cases`."""
        return count_of(count, f"more {self.what}")


class Table(NamedTuple):
    """Rows of one cell for each column, in the order they are to be shown; the first cell names its row.

    Formats of plain text leave the caption out unless it `is_titled`. `look` is a name in the style sheet of pages.
    """

    caption: str
    columns: Sequence[Column]
    rows: Many[Sequence[Cell]]
    cut: Cut = Cut()
    is_titled: bool = False
    look: str = ""
    detail: Detail = LEAD


class Bar(NamedTuple):
    """A share from 0 to 1, or a difference from -1 to 1, and its interval; None where it is not known.

    `note` is its text. `least` and `most` stand in place of a value of which only these ends are known.
    """

    label: Spans
    value: float | None
    low: float | None
    high: float | None
    note: Spans
    tone: Tone = Tone.PLAIN
    least: float | None = None
    most: float | None = None


class Bars(NamedTuple):
    """Shares with intervals, a row each; differences around zero where `is_signed`."""

    caption: str
    label: str
    axis: str
    note: str
    rows: Many[Bar]
    cut: Cut = Cut()
    is_signed: bool = False


Picture: TypeAlias = "Bars | CurveChart | DistributionChart | TimelineChart"


class Chart(NamedTuple):
    """A picture, the sentence below it, and the blocks that stand in its place where a format draws none.

    What needs to be computed is given as the function that does, called only where it is drawn.
    """

    data: Picture | Callable[[], Picture]
    sentence: Spans = ""
    instead: Blocks = ()
    detail: Detail = LEAD


class Callout(NamedTuple):
    """What must not be overlooked, such as a warning or a verdict; a `folded` one shows its title first."""

    tone: Tone
    title: Spans
    blocks: Blocks = ()
    folded: bool = False
    detail: Detail = LEAD


class Bullets(NamedTuple):
    """A list."""

    items: Many[Spans]
    is_numbered: bool = False
    detail: Detail = LEAD


class Fold(NamedTuple):
    """A part that opens when its title is clicked, or a link to its anchor followed."""

    title: Spans
    blocks: Blocks
    anchor: str = ""
    is_open: bool = False
    detail: Detail = LEAD


class Verbatim(NamedTuple):
    """A text of strangers as it is, under its title; of a long one the beginning, which is said.

    The characters from `strong[0]` up to `strong[1]` stand out where a format can show it.
    """

    text: str
    title: Spans = ""
    most_characters: int | None = None
    most_lines: int | None = None
    strong: tuple[int, int] = (0, 0)
    detail: Detail = LEAD

    @property
    def beginning(self) -> tuple[str, str]:
        """What is shown of the text, and the sentence that says so if it is not all."""
        lines = "\n".join(self.text.split("\n")[:self.most_lines])
        kept = lines[:self.most_characters]
        if len(kept) == len(self.text):
            return kept, ""
        if len(kept) == len(lines):
            return kept, f"The first {self.most_lines:,} of {self.text.count(chr(10)) + 1:,} lines."
        return kept, f"The first {self.most_characters:,} of {len(self.text):,} characters."


class Beside(NamedTuple):
    """Blocks next to each other where there is room."""

    blocks: Sequence[Block]
    detail: Detail = LEAD


class Section(NamedTuple):
    """A part with a title, which links lead to by its anchor (letters, digits, hyphens); nothing for an empty one.

    `is_part`: one of several alike, such as runs: where space is short, later ones are told with LEAD alone.
    """

    anchor: str
    title: Spans
    blocks: Blocks
    is_part: bool = False
    detail: Detail = LEAD


Block: TypeAlias = (Paragraph | Facts | Figures | Table | Chart | Callout | Bullets | Fold | Verbatim | Beside
                    | Section)
"""Any part of a document; `detail` is who is shown it."""


class Document(NamedTuple):
    """A whole report or board: its title, what comes first, its sections, and how it was made."""

    title: Spans
    lead: Blocks
    sections: Sequence[Section]
    footer: Spans = ""


# what writes sections shorter


def number(title: str | Code, group: str = "", hint: str = "", detail: Detail = LEAD) -> Column:
    """A column of figures."""
    return Column(title, Kind.NUMBER, group=group, hint=hint, detail=detail)


def flexible(title: str | Code, detail: Detail = LEAD) -> Column:
    """A column of texts that gives way where the line is short."""
    return Column(title, flexible=True, detail=detail)


def words(*spans: Span, detail: Detail = LEAD) -> Paragraph:
    """A paragraph."""
    return Paragraph(spans, detail=detail)


def quiet(*spans: Span, detail: Detail = LEAD) -> Paragraph:
    """A remark."""
    return Paragraph(spans, True, detail=detail)


def command(line: str, before: str = "Run ") -> Paragraph:
    """What to type, behind a word or two, so that it can be copied."""
    return Paragraph((before, Code(line, 1000)), unbroken=True)


def listed(spans: Iterable[Span], between: str = ", ") -> tuple[Span, ...]:
    """Spans with a separator between them."""
    return tuple(one for number, span in enumerate(spans) for one in ((between, span) if number else (span,)))
