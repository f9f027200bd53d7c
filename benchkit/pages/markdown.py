"""Markdown made for pull requests and job summaries: tables, headings and folded parts that no text can break.

Cells are `Markdown` (markup made here) or texts, which are escaped as plain words; what models wrote is made a cell
with code().
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchkit.pages.escaping import markdown_block, markdown_cell, markdown_plain, markdown_summary


class Markdown(str):
    """Markup that is safe to write as it is. Any change to it (adding, slicing, formatting) makes it a text again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MarkdownColumn:
    """A column of a table: its title, and whether its cells stand to the right."""

    title: str
    right: bool = False


def code(text: str, most: int = 200) -> Markdown:
    """A text of strangers as one line of code of at most `most` characters."""
    return Markdown(markdown_cell(text, most))


def block(text: str) -> Markdown:
    """A text of strangers whole, as a fenced block."""
    return Markdown(markdown_block(text) + "\n")


def words(*parts: str) -> Markdown:
    """Texts and markup in one line, texts escaped."""
    return Markdown(" ".join(map(_inline, parts)))


def strong(text: str) -> Markdown:
    """A text in bold; nothing for no text."""
    inner = _inline(text)
    return Markdown(f"**{inner}**" if inner else "")


def heading(level: int, *parts: str) -> Markdown:
    """A heading of level 1 to 6, with the empty line behind it."""
    return Markdown(f"{'#' * level} {words(*parts)}\n\n")


def paragraph(*parts: str) -> Markdown:
    """A paragraph, with the empty line behind it."""
    return Markdown(words(*parts) + "\n\n")


def bullets(items: Iterable[str]) -> Markdown:
    """A list, with the empty line behind it; nothing for no items."""
    lines = [f"- {_inline(item)}\n" for item in items]
    return Markdown("".join([*lines, "\n"]) if lines else "")


def warning(items: Iterable[str]) -> Markdown:
    """A list in the box that GitHub makes of such a quotation, with the empty line behind it; nothing for no items."""
    lines = [f"> - {_inline(item)}\n" for item in items]
    return Markdown("".join(["> [!WARNING]\n", *lines, "\n"]) if lines else "")


def table(columns: Sequence[MarkdownColumn], rows: Iterable[Sequence[str]]) -> Markdown:
    """A table, with the empty line behind it. A row is one text or markup for each column."""
    head = _row([column.title for column in columns])
    rule = "| " + " | ".join("---:" if column.right else "---" for column in columns) + " |\n"
    return Markdown("".join([head, rule, *map(_row, rows), "\n"]))


def folded(summary: str, *body: Markdown) -> Markdown:
    """A part that opens when its summary, a text on one line, is clicked."""
    return Markdown(f"<details><summary>{markdown_summary(summary)}</summary>\n\n{''.join(body)}\n</details>\n\n")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_inline, cells)) + " |\n"


def _inline(part: str) -> str:
    return part if isinstance(part, Markdown) else markdown_plain(part)
