"""The board in Markdown: what stands where, and that no text leaves its cell or its fence."""
from __future__ import annotations

import re
import unittest
from dataclasses import replace

from benchkit.boards.board_markdown import board_markdown
from benchkit.boards.board_values import Board
from tests.markdown_tables import Table, tables, without_code
from tests.sample_board import MODEL, QUIET_MODEL, sample_board
from tests.sample_page import HOSTILE

SECTIONS = ["How the questions were made", "Ranking", "Track by track", "Sampled cases", "Tokens", "Latency",
            "Incomplete cells", "Agreement with the baselines", "What answered"]
FENCE = re.compile(r"^(`{3,})text\n.*?\n\1$", re.MULTILINE | re.DOTALL)


def markdown(board: Board) -> str:
    """The file."""
    return "".join(board_markdown(board))


def without_fences(text: str) -> str:
    """The text without what stands in fences."""
    return FENCE.sub("(fence)", text)


def bare(text: str) -> str:
    """What a renderer looks for markup in: no fences, nothing escaped, no code."""
    return without_code(re.sub(r"\\[!-/:-@\[-`{-~]", "", without_fences(text)))


def table_with(text: str, title: str) -> Table:
    """The first table that has a title."""
    return next(table for table in tables(without_fences(text)) if title in table.titles)


class WhatStandsWhere(unittest.TestCase):
    def setUp(self) -> None:
        self.board = sample_board(hostile=False)
        self.text = markdown(self.board)

    def test_the_first_line_is_job_batch_and_status(self) -> None:
        lines = self.text.split("\n")
        self.assertEqual(lines[0], "# `small_gated` batch `20261130T120000Z` is `complete`")
        self.assertIn("`trace self-consistent`", lines[2])
        self.assertTrue(lines[4].startswith("**SYNTHETIC"))

    def test_the_sections_come_in_this_order(self) -> None:
        self.assertEqual(re.findall(r"^## (.*)$", without_fences(self.text), re.MULTILINE), SECTIONS)

    def test_the_gate_stands_before_the_headline_with_a_sign_and_a_word(self) -> None:
        table = table_with(self.text, "hard gates")
        self.assertLess(table.titles.index("gates"), table.titles.index("headline %"))
        self.assertEqual(table.column("gates")[:3], ["**✓ clean**", "**✓ clean**", "**✗ not clean**"])
        self.assertEqual(table.column("hard gates")[2:6:3], ["9 failures of 36", "no failure in 30, 6 incomplete"])
        self.assertIn("over answers; repeats of one question are not independent", self.text)
        warned = self.text.split("## Ranking")[1].split("|")[0]
        self.assertIn("> [!WARNING]\n> - **1 of 6 systems broke a hard gate**\n> - model", warned)

    def test_headlines_have_intervals_ranks_and_what_incomplete_cells_leave_open(self) -> None:
        table = table_with(self.text, "headline %")
        self.assertEqual(table.rows[0][3:6], ["**62.0**", "1-2", "44.9 to 75.2"])
        self.assertEqual(table.rows[0][8:], ["68.2", "36 of 36"])
        self.assertEqual(table.column("headline %")[5], "**10.0 to 26.7**")

    def test_each_track_says_what_it_measures_and_what_not(self) -> None:
        for track in self.board.tracks:
            with self.subTest(track=track.name):
                part = self.text.split(f"### `{track.name}` ")[1]
                self.assertTrue(part.startswith("hard gate" if track.kind == "gate" else "capability"))
                self.assertEqual(len(re.findall(r"^- \*\*(?:Measures|Does not measure)\*\* .", part.split("|")[0],
                                                re.MULTILINE)), 2)

    def test_observations_stand_in_the_order_of_time_with_who_bought_and_cited_them(self) -> None:
        table = table_with(self.text, "cited by")
        minutes = [float(cell) for cell in table.column("minute")]
        self.assertEqual(minutes, sorted(minutes))
        self.assertEqual(table.rows[0], ["-50", "`06:42`", "`o1`", "`deploy`", "`kiosk`",
                                         "`v3.27.1 rolled out to all hosts`", "1, 3", "3"])
        single = replace(self.board, making=replace(self.board.making, market=None))
        self.assertNotIn("bought by", table_with(markdown(single), "cited by").titles)

    def test_scores_lead_to_their_lines_in_eval_jsonl(self) -> None:
        table = table_with(self.text, "line in `eval.jsonl`")
        broken = "**✗ broken**"
        self.assertEqual(table.rows[2], [f"`{MODEL}`", "1", "100.0", "0.0", "100.0", "0.0", "0.0", broken, broken, "3"])
        self.assertEqual(table.rows[5], [f"`{QUIET_MODEL}`", "1", *["n/a"] * 7, "6"])

    def test_the_payload_and_the_truth_stand_in_closed_details(self) -> None:
        self.assertEqual(self.text.count("<details><summary>SYNTHETIC: exactly what was shown to"), 6)
        self.assertEqual(self.text.count("<details><summary>What is true</summary>"), 3)
        self.assertNotIn("<details open", self.text)

    def test_tokens_say_why_there_are_none(self) -> None:
        table = table_with(self.text, "prompt tokens")
        self.assertEqual(table.rows[0][1:5], ["n/a", "0", "`absent:not_reported`", "`absent:not_reported`"])
        self.assertEqual(table.rows[2][1:], ["36", "30", "28,120", "1,911", "41.3", "2"])

    def test_incomplete_cells_stand_by_type(self) -> None:
        self.assertEqual(table_with(self.text, "`NotRun`").rows[5], [f"`{QUIET_MODEL}`", "4", "2"])

    def test_agreement_has_its_denominator(self) -> None:
        table = table_with(self.text, "same word %")
        self.assertEqual(table.rows[1], ["`baselines:silent`", "`baselines:alarmist`", "75.0", "36"])

    def test_a_board_without_anything_is_a_file_still(self) -> None:
        making = replace(self.board.making, dropped=(), reasons={}, checks=(), market=None, answers={})
        text = markdown(replace(self.board, ranking=(), tracks=(), samples=(), facts=(), agreements=(), machines=(),
                                banners=(), making=making))
        for told in ("No answer was judged", "No case has an answer yet", "No latency was recorded"):
            self.assertIn(told, text)


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        self.text = markdown(sample_board())

    def test_every_table_keeps_its_shape(self) -> None:
        self.assertGreater(len(tables(without_fences(self.text))), 15)

    def test_no_markup_of_strangers_stands_outside_of_code(self) -> None:
        left = bare(self.text)
        for text in ("<script", "<img", "<svg", "</title", "](javascript", "\x1b", "\u202e", "onmouseover='"):
            with self.subTest(text=text):
                self.assertFalse(text in left, left[max(0, left.find(text) - 100):][:200])

    def test_every_fence_is_closed_and_holds_the_text_whole(self) -> None:
        self.assertFalse("```" in bare(self.text))
        fences = "\n".join(found.group() for found in FENCE.finditer(self.text))
        for text in HOSTILE[:6]:
            self.assertIn(text, fences)

    def test_details_open_and_close_alike(self) -> None:
        left = bare(self.text)
        for name in ("details", "summary"):
            self.assertEqual(left.count(f"<{name}>"), left.count(f"</{name}>"))
        self.assertEqual(left.count("<details>"), 6 + 3 - 1 + 6)

    def test_a_payload_that_is_left_out_has_its_warning_in_its_place(self) -> None:
        self.assertEqual(self.text.count("which only the truth knows"), 1)

    def test_the_banners_stand_before_the_first_section(self) -> None:
        head = self.text.split("\n## ")[0]
        self.assertEqual(head.count("> [!WARNING]"), 4)
        self.assertIn("`python3 board.py recompute small_gated/20261130T120000Z --apply`", head)


if __name__ == "__main__":
    unittest.main()
