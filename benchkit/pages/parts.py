"""The parts that pages are put together from: marks, tables with captions, callouts, folds, texts of strangers."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from benchkit.pages.html import Child, Html, breakable, element, joined, stream, whole
from benchkit.pages.svg import bar, percentage, picture


class Tone(StrEnum):
    """What a mark, a badge or a bar says; the value is its class in the style sheet."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    FLAKY = "flaky"
    ABSENT = "absent"
    PLAIN = "plain"

    @property
    def sign(self) -> str:
        """The sign that tells the tone without its colour; none for PLAIN."""
        return _SIGNS.get(self, "")


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a whole: how many are of a tone."""

    tone: Tone
    count: int


_SIGNS = {Tone.PASS: "\u2713", Tone.FAIL: "\u00d7", Tone.INCOMPLETE: "?", Tone.FLAKY: "~", Tone.ABSENT: "\u00b7"}
_WORDS = {Tone.PASS: "pass", Tone.FAIL: "fail", Tone.INCOMPLETE: "incomplete", Tone.FLAKY: "flaky",
          Tone.ABSENT: "not run", Tone.PLAIN: "other"}
_ROOM_FOR_A_SIGN = 0.12


def mark(tone: Tone, words: str, anchor: str = "", sign: str = "") -> Html:
    """A coloured sign with its words as text alternative; a link to a place on the page if there is one."""
    shown = sign or tone.sign
    if anchor:
        return element("a", shown, class_=f"mark {tone}", href=f"#{anchor}", title=words, aria_label=words)
    return element("span", shown, class_=f"mark {tone}", role="img", title=words, aria_label=words)


def badge(tone: Tone, words: str) -> Html:
    """Words with their sign and colour, such as the state of a case."""
    sign = element("span", tone.sign, aria_hidden="true", class_="sign") if tone.sign else None
    return element("span", sign, words, class_=f"badge {tone}")


def legend(tones: Sequence[Tone]) -> Html:
    """What the marks mean."""
    items = [element("li", element("span", tone.sign, class_=f"mark {tone}", aria_hidden="true"), _WORDS[tone])
             for tone in tones]
    return element("ul", *items, class_="legend")


def stacked_bar(title: str, parts: Sequence[BarPart]) -> Html:
    """A small bar cut into parts by their counts, read aloud as `title: 7 pass, 2 fail`; empty for no counts."""
    shown = [part for part in parts if part.count > 0]
    total = sum(part.count for part in shown)
    told = ", ".join(f"{part.count} {_WORDS[part.tone]}" for part in shown) or "nothing"
    drawn, before = [], 0
    for part in shown:
        drawn.append(_stacked_part(part, before / total, (before + part.count) / total))
        before += part.count
    return picture(18, f"{title}: {told}", "", whole(drawn), class_="stacked")


def _stacked_part(part: BarPart, start: float, end: float) -> Html:
    told = f"{part.count} {_WORDS[part.tone]}"
    # incomplete parts are lower as well as grey, so that they are seen to be missing in black and white too
    top = 5 if part.tone in (Tone.INCOMPLETE, Tone.ABSENT) else 1
    drawn = [bar(start, end, top, 18 - 2 * top, f"part {part.tone}", told)]
    if end - start >= _ROOM_FOR_A_SIGN:
        drawn.append(element("text", part.tone.sign, x=percentage((start + end) / 2), y="13.5", text_anchor="middle",
                             class_=f"on-part {part.tone}"))
    return whole(drawn)


_NUMBER_CLASS, _MARK_CLASS = "number", "marks"


@dataclass(frozen=True, slots=True)
class HtmlColumn:
    """A column: its title, the class of its cells (none, `number`, `marks`, `code`), a longer title when pointed at."""

    title: str
    kind: str = ""
    hint: str = ""


def number_column(title: str, hint: str = "") -> HtmlColumn:
    """A column of figures, to the right, digits of one width."""
    return HtmlColumn(title, _NUMBER_CLASS, hint)


def mark_column(title: str, hint: str = "") -> HtmlColumn:
    """A narrow column of marks."""
    return HtmlColumn(title, _MARK_CLASS, hint)


def table(
    caption: str, columns: Sequence[HtmlColumn], rows: Iterable[Sequence[Child]], class_: str = ""
) -> Iterator[Html]:
    """A table, row by row. A row is one child for each column; the first is the header of its row.

    On a narrow screen the table scrolls in its own box, never the page.
    """
    header = element("thead", element("tr", *(_header(column) for column in columns)))
    inner = stream("table", _parts(caption, header, columns, rows), class_=class_ or None)
    yield from stream("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _parts(
    caption: str, header: Html, columns: Sequence[HtmlColumn], rows: Iterable[Sequence[Child]]
) -> Iterator[Html]:
    yield element("caption", caption)
    yield header
    yield from stream("tbody", (_row(columns, row) for row in rows))


def _header(column: HtmlColumn) -> Html:
    return element("th", breakable(column.title), scope="col", class_=column.kind or None, title=column.hint or None)


def _row(columns: Sequence[HtmlColumn], row: Sequence[Child]) -> Html:
    cells = [element("td" if place else "th", child, scope=None if place else "row", class_=column.kind or None)
             for place, (column, child) in enumerate(zip(columns, row, strict=True))]
    return joined(element("tr", *cells), "\n")


SCROLLS_FROM = 2000
"""Texts of more characters than this may need a box of their own to scroll in, which the keyboard must reach."""

LONG_VALUE = 8
"""Headline figures of more characters, such as ranges, are written smaller."""


@dataclass(frozen=True, slots=True)
class HtmlFigure:
    """A headline figure: the number as text, what it is, and the line below it (interval, denominator)."""

    value: str
    name: str
    detail: str = ""
    tone: Tone = Tone.PLAIN


def paragraph(*children: Child, class_: str = "") -> Html:
    """A paragraph."""
    return element("p", *children, class_=class_ or None)


def code(text: str) -> Html:
    """A short text of strangers within a line: an id, a command, a name."""
    return element("code", text)


@lru_cache(1_000)
def name_code(text: str) -> Html:
    """The same for a name, which may need several lines in a narrow column."""
    return element("code", breakable(text))


def together(*children: Child) -> Html:
    """What stays on one line where the line has room for it, such as a range."""
    return element("span", *children, class_="together")


def link(anchor: str, *children: Child) -> Html:
    """A link to a place on the page."""
    return element("a", *children, href=f"#{anchor}")


def bullets(items: Iterable[Child]) -> Html:
    """A list; nothing for no items."""
    lines = [element("li", item) for item in items]
    return element("ul", *lines) if lines else Html()


def callout(tone: Tone, title: str, *body: Child) -> Html:
    """Something that must not be overlooked: a warning, a blocked gate, a verdict."""
    sign = element("span", tone.sign or "!", class_="sign", aria_hidden="true")
    return element("div", element("p", sign, title, class_="callout-title"), *body, class_=f"callout {tone}",
                   role="note", aria_label=title)


def folded_callout(tone: Tone, title: str, *body: Child) -> Html:
    """The same where there is much of it: its title is seen, the rest opens when it is clicked."""
    sign = element("span", tone.sign or "!", class_="sign", aria_hidden="true")
    return element("details", element("summary", sign, title, class_="callout-title"), *body, class_=f"callout {tone}")


def figures(items: Iterable[HtmlFigure]) -> Html:
    """Headline figures side by side."""
    return element("dl", *map(_figure, items), class_="figures")


def _figure(item: HtmlFigure) -> Html:
    detail = element("dd", item.detail, class_="detail") if item.detail else None
    value = element("dd", together(item.value), class_="value long" if len(item.value) > LONG_VALUE else "value")
    return element("div", element("dt", item.name), value, detail, class_=f"figure {item.tone}")


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Names and what they are, one a line."""
    return element("dl", *(joined(element("dt", name), element("dd", value)) for name, value in pairs), class_="facts")


def fold(summary: Child, *body: Child, anchor: str = "", is_open: bool = False) -> Html:
    """A part that opens when its summary is clicked, or when a link leads to its anchor.

    The anchor stands inside the folded part: browsers open what hides the target of a link, and only that.
    """
    inner = element("div", *body, class_="folded", id=anchor or None)
    return element("details", element("summary", summary), inner, open=is_open)


def text_block(text: str, title: str, most_lines: int | None = None, most_characters: int | None = None) -> Html:
    """A text of strangers as it is, under its title; with limits only its beginning, which is said."""
    kept, told = _beginning(text, most_lines, most_characters)
    # a parser drops the first line end behind <pre>, so that a text which begins with one needs another
    first = Html("\n") if kept.startswith("\n") else None
    shown = element("pre", first, kept, tabindex=0 if len(kept) > SCROLLS_FROM else None)
    return element("div", element("p", title, class_="text-title"),
                   shown if text else paragraph("(empty)", class_="quiet"),
                   paragraph(told, class_="quiet") if told else None, class_="text")


def _beginning(text: str, most_lines: int | None, most_characters: int | None) -> tuple[str, str]:
    """What is kept of a text, and the sentence that says so if it is not all."""
    lines = text if most_lines is None else "\n".join(text.split("\n", most_lines)[:most_lines])
    kept = lines[:most_characters]
    if len(kept) == len(text):
        return text, ""
    if len(kept) == len(lines):
        return kept, f"The first {most_lines:,} of {text.count(chr(10)) + 1:,} lines."
    return kept, f"The first {most_characters:,} of {len(text):,} characters."


def side_by_side(*children: Child) -> Html:
    """Two or more parts next to each other where there is room, one below the other where there is none."""
    return element("div", *children, class_="side-by-side")


def article(anchor: str, title: Child, *body: Child) -> Html:
    """A part of a long section, such as one case, with a place to link to."""
    return element("article", element("h3", title), *body, id=anchor)


def key(entries: Sequence[tuple[Html, str]]) -> Html:
    """What the signs of a chart mean."""
    return element("ul", whole(element("li", sign, words) for sign, words in entries), class_="legend")
