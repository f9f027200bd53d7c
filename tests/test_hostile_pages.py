"""260 texts that break pages, in every place of a report and of a board: formats of text keep their tables.

Pages are seen in Chromium by test_pages_in_chromium, Markdown by a real renderer in .ci/markdown_check.py.
"""
from __future__ import annotations

import csv
import io
import re
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import ClassVar
from unittest import mock

from benchkit.basics.texts import shown
from benchkit.boards.board import Board
from benchkit.boards.board_document import board_document, screen_of
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.render.as_text import as_text
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import case_report, markdown_report, text_report
from benchkit.reports.junit import junit_report
from benchkit.reports.run_report import RunReport, report_of
from benchkit.reports.trials_csv import trials_csv
from tests.corpus import BY_KIND, CORPUS, SCRIPTS, TERMINALS
from tests.hostile_run import hostile_record
from tests.markdown_tables import tables
from tests.page_runs import Outline
from tests.sample_board import sample_board

STRIDE = 26
"""A board has a dozen places for one text each, and a few for all: it is made again, the corpus turned by so many."""
FENCED = re.compile(r"^(`{3,})text\n.*?\n\1$", re.DOTALL | re.MULTILINE)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")


def board_of(texts: Sequence[str]) -> Board:
    """The sample board, hostile with these texts."""
    with mock.patch("tests.sample_board.HOSTILE", texts):
        return sample_board()


class EveryFormat(unittest.TestCase):
    record = hostile_record(CORPUS)
    runs: ClassVar[list[RunReport]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.runs = [report_of(cls.record, CORPUS[0]), report_of(cls.record, CORPUS[31])]

    def test_the_corpus_is_large_and_has_something_against_everything(self) -> None:
        self.assertGreaterEqual(len(CORPUS), 150)
        self.assertTrue(all(len(texts) >= 15 for texts in BY_KIND.values()))

    def test_boards_are_made_of_the_elements_of_friendly_ones_and_markdown_keeps_its_tables(self) -> None:
        usual = [Outline("".join(as_html(board_document(sample_board(hostile=hostile))))) for hostile in (True, False)]
        markdown = ["".join(markdown_report(side_by_side(self.runs[:1])))]
        for by in range(0, len(CORPUS), STRIDE):
            document = board_document(board_of((*CORPUS[by:], *CORPUS[:by])))
            markdown.append("".join(as_markdown(document, level=1)))
            outline = Outline("".join(as_html(document)))
            with self.subTest(by):
                self.assertEqual(set(), set(outline.tags).difference(*(one.tags for one in usual)))
                self.assertEqual(set(), outline.attributes.difference(*(one.attributes for one in usual)))
                self.assertEqual(len(outline.ids), len(set(outline.ids)))
        for text in markdown:
            self.assertTrue(tables(FENCED.sub("", text)))
            self.assertEqual(shown(text), text)

    def test_a_terminal_is_sent_nothing_but_letters_and_line_ends(self) -> None:
        side = side_by_side(self.runs)
        texts = ["".join(text_report(side)), "".join(text_report(side, is_full=True)),
                 *("".join(case_report(self.runs, case.id)) for case in self.record.cases)]
        for text in (*TERMINALS, *SCRIPTS[-6:]):
            texts.append("".join(as_text(screen_of(board_of([text] * 12)))))
        for text in texts:
            self.assertEqual(shown(text), text)

    def test_csv_has_equal_rows_and_nothing_that_a_spreadsheet_runs_and_junit_a_test_for_every_case(self) -> None:
        rows = list(csv.reader(io.StringIO("".join(trials_csv(self.runs)), newline="")))
        self.assertEqual({len(rows[0])}, set(map(len, rows)))
        self.assertEqual(1 + 2 * len(self.record.results), len(rows))
        plain = re.compile(r"-?\d+(\.\d+)?")
        self.assertEqual([], [field for row in rows for field in row
                              if field.startswith(FORMULA) and not plain.fullmatch(field)])
        outputs = {row[rows[0].index("output")].removeprefix("'") for row in rows}
        self.assertEqual([], [text for text in CORPUS if text not in outputs and text.removeprefix("'") not in outputs])
        root = ElementTree.fromstring("".join(junit_report(self.runs)))
        self.assertEqual(2 * len(self.record.cases), len(root.findall(".//testcase")))
