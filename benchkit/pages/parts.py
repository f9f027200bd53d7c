"""The parts that pages are put together from: callouts, facts, headline figures, folded parts, texts of strangers."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchkit.pages.html import Child, Html, breakable, element, joined, whole
from benchkit.pages.marks import Tone

SCROLLS_FROM = 2000
"""Texts of more characters than this may need a box of their own to scroll in, which the keyboard must reach."""

LONG_VALUE = 8
"""Headline figures of more characters, such as ranges, are written smaller."""


@dataclass(frozen=True, slots=True)
class Figure:
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


def figures(items: Iterable[Figure]) -> Html:
    """Headline figures side by side."""
    return element("dl", *map(_figure, items), class_="figures")


def _figure(item: Figure) -> Html:
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
