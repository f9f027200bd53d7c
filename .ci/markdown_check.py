#!/usr/bin/env python3
"""Whether hostile texts stay texts in Markdown, by the renderer that GitHub's is made of (package cmarkgfm).

    python3 -m venv DIR && DIR/bin/pip install cmarkgfm==2025.10.22 && DIR/bin/python .ci/markdown_check.py

Reports, boards and a document of every block, full of the corpus, are rendered with raw HTML let through, and what
comes out must be made of the elements that the kit writes, with tables whose rows are all as long as their head; the
document must be made of the same elements with every text that is not blank. The exit code is 1 if anything is not.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import cmarkgfm  # type: ignore[import-not-found]
from cmarkgfm.cmark import Options  # type: ignore[import-not-found]

from benchkit.boards.board_document import board_document
from benchkit.render.as_markdown import as_markdown
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import markdown_report
from benchkit.reports.run_report import report_of
from tests.corpus import CORPUS
from tests.hostile_run import hostile_record
from tests.render_samples import every_block
from tests.sample_board import sample_board

ELEMENTS = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td",
            "code", "pre", "em", "strong", "blockquote", "details", "summary", "br", "hr"}
BAD = "<table><tr><th>1</th><th>2</th></tr><tr><td>1</td></tr></table><img src=x></details><!-- x --><?x?>"
"""A page with five faults: a look that does not find them proves nothing."""
STEP = 13
"""A board has a dozen places for one text each: each text stands in each once."""
ATTRIBUTES = {"align", "lang", "open", "class", "start"}


class Look(HTMLParser):
    """What is wrong with a rendered page, in `faults`."""

    def __init__(self, name: str, page: str) -> None:
        super().__init__()
        self.name, self.faults = name, list[str]()
        self.elements = list[str]()
        self._cells, self._width, self._open = 0, 0, list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Elements, attributes and cells."""
        self.elements.append(tag)
        if tag not in ELEMENTS or {name for name, _ in attrs} - ATTRIBUTES:
            self.faults.append(f"{self.name}: {self.get_starttag_text()} at {self.getpos()}")
        if tag == "table":
            self._width = 0
        self._cells = 0 if tag == "tr" else self._cells + (tag in ("td", "th"))
        if tag == "details":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Rows and folds."""
        if tag == "tr":
            self._width = self._width or self._cells
            if self._cells != self._width:
                self.faults.append(f"{self.name}: a row of {self._cells} cells under {self._width} at {self.getpos()}")
        if tag == "details":
            if not self._open:
                self.faults.append(f"{self.name}: a fold that nothing opened ends at {self.getpos()}")
            self._open[-1:] = []

    def handle_decl(self, decl: str) -> None:
        """None is right."""
        self.faults.append(f"{self.name}: <!{decl[:60]} at {self.getpos()}")

    def handle_pi(self, data: str) -> None:
        """None is right."""
        self.faults.append(f"{self.name}: <?{data[:60]} at {self.getpos()}")

    def handle_comment(self, data: str) -> None:
        """Only the empty one, which keeps mentions apart, is right."""
        if data.strip():
            self.faults.append(f"{self.name}: a comment {data[:60]!r} at {self.getpos()}")


def texts() -> Iterator[tuple[str, str]]:
    """Name and Markdown of everything that is checked."""
    run = report_of(hostile_record(CORPUS), CORPUS[0])
    yield "a report", "".join(markdown_report(side_by_side([run])))
    yield "a comparison", "".join(markdown_report(side_by_side([run, run])))
    for by in range(0, len(CORPUS), STEP):
        with mock.patch("tests.sample_board.HOSTILE", (*CORPUS[by:], *CORPUS[:by])):
            yield f"a board, turned by {by}", "".join(as_markdown(board_document(sample_board()), level=1))


def look_at(name: str, text: str) -> Look:
    """A Markdown text as it is rendered."""
    return Look(name, cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))


def look_at_every_block(text: str) -> Look:
    """A text wherever a text may stand."""
    return look_at(f"every block with {text[:60]!r}", "".join(as_markdown(every_block(text))))


def looks() -> Iterator[Look]:
    """Everything that is checked."""
    usual = look_at_every_block("word")
    for text in CORPUS:
        look = look_at_every_block(text)
        if text.strip() and look.elements != usual.elements:
            look.faults.append(f"{look.name}: other elements than with a word")
        yield look
    yield from (look_at(name, text) for name, text in texts())


def main() -> int:
    """Render and look."""
    if len(Look("a bad page", BAD).faults) != 5:
        print("the look finds no faults on a bad page")
        return 1
    faults, tables, pages = list[str](), 0, 0
    for look in looks():
        faults += look.faults
        tables += look.elements.count("table")
        pages += 1
    for fault in faults[:20]:
        print(fault)
    print(f"{pages} pages with {tables} tables and {len(CORPUS)} hostile texts: {len(faults)} faults")
    return 1 if faults or not tables else 0


if __name__ == "__main__":
    sys.exit(main())
