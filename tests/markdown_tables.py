"""A small reader of GitHub's Markdown, for tests: tables with their cells, and all that stands outside of them."""
from __future__ import annotations

import re
from dataclasses import dataclass

_RULE = re.compile(r"\|( -+:? \|)+")
_BAR = re.compile(r"(?<!\\)\|")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Table:
    """Titles, and the cells of each row, markup and all."""

    titles: list[str]
    rows: list[list[str]]

    def column(self, title: str) -> list[str]:
        """The cells under a title."""
        return [row[self.titles.index(title)] for row in self.rows]


def cells(line: str) -> list[str]:
    """The cells of a row: a bar parts them unless a backslash stands before it, in code too."""
    first, *parts, last = _BAR.split(line)
    if first or last:
        raise AssertionError(f"no row of a table: {line!r}")
    return [part.strip() for part in parts]


def tables(text: str) -> list[Table]:
    """All tables. Raises AssertionError for a row that belongs to none, or has another number of cells."""
    found: list[Table] = []
    for part in text.split("\n\n"):
        lines = part.strip("\n").split("\n")
        if not any(line.startswith("|") for line in lines):
            continue
        if not all(line.startswith("|") for line in lines) or not _RULE.fullmatch(lines[1]):
            raise AssertionError(f"no table: {part!r}")
        head, rule, *rows = map(cells, lines)
        for row in (rule, *rows):
            if len(row) != len(head):
                raise AssertionError(f"{len(row)} cells under {len(head)} titles: {row!r}")
        found.append(Table(head, rows))
    return found


def without_code(text: str) -> str:
    """The text without its code spans: what a renderer looks for markup in."""
    return "\n".join(_SPAN.sub("", line) for line in text.split("\n"))
