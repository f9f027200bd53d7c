"""260 texts that break pages, in every place of a report and of a board: nothing runs, nothing is asked for, and
every table keeps its cells.

HTML is seen in real Chromium; Markdown by a reader of our own here, and by a real renderer in .ci/markdown_check.py.
"""
from __future__ import annotations

import csv
import io
import re
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from unittest import mock

from benchkit.basics.texts import shown
from benchkit.boards.board_document import board_document, screen_of
from benchkit.recordings.run_record import RunRecord
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.render.as_text import as_text
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import case_report, markdown_report, page_report, text_report
from benchkit.reports.junit import junit_report
from benchkit.reports.run_report import RunReport, report_of
from benchkit.reports.trials_csv import trials_csv
from tests.chromium import MISSING, Chromium, OpenedPage
from tests.corpus import BY_KIND, CORPUS, SCRIPTS, TERMINALS
from tests.hostile_run import hostile_record
from tests.markdown_tables import tables
from tests.page_runs import Outline
from tests.sample_board import sample_board

STRIDE = 26
"""A board has a dozen places for one text each, and a few for all: it is made again, the corpus turned by so many."""
ACTIVE = """script, img, iframe, object, embed, form, input, button, video, audio, link:not([href="data:,"]), base,
  svg a, foreignObject, [src], [srcset], [onload], [onerror], [onclick], [onfocus], [onmouseover], [ontoggle],
  [popover]"""
UNEVEN = """[...document.querySelectorAll('table')].filter(table => {
  const widths = [...table.rows].map(row => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0));
  const strangers = [...table.querySelectorAll('td, th')].filter(cell => cell.closest('table') !== table);
  return new Set(widths).size > 1 || strangers.length;
}).map(table => table.outerHTML.slice(0, 300))"""
FENCED = re.compile(r"^(`{3,})text\n.*?\n\1$", re.DOTALL | re.MULTILINE)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")


def turned(by: int) -> tuple[str, ...]:
    """The corpus, beginning with another text."""
    return (*CORPUS[by:], *CORPUS[:by])


def hostile_boards(every: int) -> Mapping[str, str]:
    """Pages of boards, the corpus turned by `every` from one to the next."""
    pages = {}
    for by in range(0, len(CORPUS), every):
        with mock.patch("tests.sample_board.HOSTILE", turned(by)):
            pages[f"board-{by}"] = "".join(as_html(board_document(sample_board())))
    return pages


def visible(text: str) -> str:
    """A text as a page shows it."""
    return re.sub("[\ufffe\uffff]", lambda one: f"\\u{ord(one.group()):04x}", shown(text))


def hostile_runs() -> list[RunReport]:
    """Two runs of hostile texts, under hostile names."""
    record = hostile_record(CORPUS)
    return [report_of(record, CORPUS[0]), report_of(record, CORPUS[31])]


class TheCorpus(unittest.TestCase):
    def test_it_is_large_and_has_something_against_everything(self) -> None:
        self.assertGreaterEqual(len(CORPUS), 150)
        self.assertTrue(all(len(texts) >= 15 for texts in BY_KIND.values()))


@unittest.skipIf(MISSING, MISSING or "")
class InChromium(unittest.TestCase):
    browser: ClassVar[Chromium]
    folder: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.browser = cls.enterClassContext(Chromium())

    def opened(self, text: str) -> OpenedPage:
        path = self.folder / "page.html"
        path.write_text(text, encoding="utf-8")
        page = self.browser.open(path, 1280)
        self.addCleanup(page.close)
        return page

    def assert_harmless(self, page: OpenedPage) -> None:
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        self.assertEqual(([], []), (page.problems(), page.requests()))
        self.assertEqual([], page.evaluate(f"[...document.querySelectorAll(`{ACTIVE}`)].map(e => e.outerHTML)"))
        self.assertIsNone(page.evaluate("window.ran"))
        self.assertEqual([], page.evaluate(UNEVEN))
        self.assertEqual([], page.broken_anchors())
        self.assertEqual(1, page.evaluate("document.querySelectorAll('main').length"))

    def test_the_report_runs_nothing_asks_for_nothing_and_keeps_its_tables(self) -> None:
        runs = hostile_runs()
        page = self.opened("".join(page_report(side_by_side(runs[:1]))))
        self.assert_harmless(page)
        texts = set(page.evaluate("[...document.querySelectorAll('pre')].map(box => box.textContent)"))
        self.assertEqual([], [text for text in map(visible, filter(None, CORPUS)) if text not in texts])

    def test_a_board_runs_nothing_asks_for_nothing_and_keeps_its_tables(self) -> None:
        for name, text in hostile_boards(len(CORPUS) // 3).items():
            with self.subTest(name):
                page = self.opened(text)
                self.assert_harmless(page)
                shown_texts = page.evaluate("document.body.innerText + document.body.textContent")
                self.assertIn(visible(CORPUS[0]), shown_texts)

    def test_the_checks_find_what_they_look_for(self) -> None:
        page = self.opened("<!doctype html><main><table><tr><td>1<td>2<tr><td>1</table><img src=x onerror='ran=1'>")
        self.assertEqual(1, len(page.evaluate(UNEVEN)))
        self.assertEqual(1, page.evaluate(f"document.querySelectorAll(`{ACTIVE}`).length"))
        self.assertEqual(1, page.evaluate("new Promise(done => setTimeout(() => done(window.ran), 200))"))


class AsText(unittest.TestCase):
    record: ClassVar[RunRecord]
    runs: ClassVar[list[RunReport]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.record, cls.runs = hostile_record(CORPUS), hostile_runs()

    def test_no_board_has_another_element_than_that_of_a_friendly_one(self) -> None:
        friendly = Outline("".join(as_html(board_document(sample_board(hostile=False)))))
        usual = Outline("".join(as_html(board_document(sample_board()))))
        for name, text in hostile_boards(STRIDE).items():
            with self.subTest(name):
                outline = Outline(text)
                self.assertEqual(set(), set(outline.tags) - set(friendly.tags) - set(usual.tags))
                self.assertEqual(set(), outline.attributes - friendly.attributes - usual.attributes)
                self.assertEqual(len(outline.ids), len(set(outline.ids)))

    def test_csv_has_equal_rows_and_nothing_that_a_spreadsheet_runs(self) -> None:
        text = "".join(trials_csv(self.runs))
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self.assertEqual({len(rows[0])}, set(map(len, rows)))
        self.assertEqual(1 + 2 * len(self.record.results), len(rows))
        plain = re.compile(r"-?\d+(\.\d+)?")
        self.assertEqual([], [field for row in rows for field in row
                              if field.startswith(FORMULA) and not plain.fullmatch(field)])
        outputs = {row[rows[0].index("output")].removeprefix("'") for row in rows}
        self.assertEqual([], [text for text in CORPUS if text not in outputs and text.removeprefix("'") not in outputs])

    def test_a_terminal_is_sent_nothing_but_letters_and_line_ends(self) -> None:
        side = side_by_side(self.runs)
        texts = ["".join(text_report(side)), "".join(text_report(side, is_full=True)),
                 *("".join(case_report(self.runs, case.id)) for case in self.record.cases)]
        for text in (*TERMINALS, *SCRIPTS[-6:]):
            with mock.patch("tests.sample_board.HOSTILE", (text,) * 12):
                texts.append("".join(as_text(screen_of(sample_board()))))
        for text in texts:
            self.assertEqual(shown(text), text)

    def test_markdown_keeps_its_tables(self) -> None:
        for text in ("".join(markdown_report(side_by_side(self.runs[:1]))), *self.markdown_boards()):
            self.assertTrue(tables(FENCED.sub("", text)))
            self.assertEqual(shown(text), text)

    def markdown_boards(self) -> list[str]:
        found = []
        for by in range(0, len(CORPUS), STRIDE):
            with mock.patch("tests.sample_board.HOSTILE", turned(by)):
                found.append("".join(as_markdown(board_document(sample_board()), level=1)))
        return found

    def test_junit_is_xml_with_a_test_for_every_case(self) -> None:
        root = ElementTree.fromstring("".join(junit_report(self.runs)))
        self.assertEqual(2 * len(self.record.cases), len(root.findall(".//testcase")))


if __name__ == "__main__":
    unittest.main()
