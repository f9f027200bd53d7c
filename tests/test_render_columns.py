"""Columns and wrapping: what fits 100 columns, whatever the texts are."""
from __future__ import annotations

import unittest
from collections.abc import Sequence
from functools import partial

from benchkit.basics.texts import width_of
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.columns import NO_PAINT, WIDTH, Paint, Painted, clipped, folded, quoted, table, wrapped


class Widths(unittest.TestCase):
    def test_a_text_is_as_wide_as_a_terminal_shows_it(self) -> None:
        for text, width in (("", 0), ("abc", 3), ("日本", 4), ("é", 1), ("é", 1), ("‍", 0), ("ｗ", 2)):
            with self.subTest(text=text):
                self.assertEqual(width_of(text), width)

    def test_a_clipped_text_is_one_line_that_fits_and_says_that_it_was_cut(self) -> None:
        for text, most, result in (
                ("short", 10, "short"), ("exactly ten", 11, "exactly ten"), ("much too long", 8, "much ..."),
                ("日本語の件名", 9, "日本語..."), ("two\nlines", 20, "two\\nlines"), ("\x1b[31m", 20, "\\x1b[31m")):
            with self.subTest(text=text):
                self.assertEqual(clipped(text, most), result)
                self.assertLessEqual(width_of(clipped(text, most)), most)

    def test_folding_drops_nothing(self) -> None:
        for text in ("", "a" * 37, "日本" * 11, "a日" * 9, "́" * 30):
            with self.subTest(text=text):
                pieces = folded(text, 10)
                self.assertEqual("".join(pieces), text)
                self.assertLessEqual(max(map(width_of, pieces)), 10)

    def test_a_line_is_folded_behind_a_blank_where_one_is_near(self) -> None:
        for text, pieces in (("one two three", ["one two ", "three"]), ("a bcdefghijklmnop", ["a bcdefghi", "jklmnop"]),
                             ("one two th", ["one two th"]), ("          ", ["          "])):
            with self.subTest(text=text):
                self.assertEqual(folded(text, 10, at_blanks=True), pieces)

    def test_a_character_wider_than_the_room_still_comes_out(self) -> None:
        self.assertEqual(folded("日本", 1), ["日", "本"])


class Wrapping(unittest.TestCase):
    def test_words_stand_on_lines_of_at_most_the_width(self) -> None:
        lines = wrapped("the quick brown fox jumps", "- ", width=12)
        self.assertEqual(lines, ["- the quick", "  brown fox", "  jumps"])

    def test_other_lines_can_begin_otherwise(self) -> None:
        self.assertEqual(wrapped("one two", "  ", "      ", width=9), ["  one two"])
        self.assertEqual(wrapped("one two!", "  ", "      ", width=9), ["  one two", "      !"])

    def test_a_word_too_long_for_a_line_is_folded(self) -> None:
        lines = wrapped("x" * 25 + " end", width=10)
        self.assertEqual(lines, ["x" * 10, "x" * 10, "xxxxx end"])

    def test_nothing_is_one_line(self) -> None:
        self.assertEqual(wrapped("", "  label"), ["  label"])

    def test_a_control_character_is_shown_not_sent(self) -> None:
        self.assertEqual(wrapped("a\x1b[2Jb\u202ec"), ["a\\x1b[2Jb\\u202ec"])

    def test_a_quoted_text_keeps_its_lines_and_loses_no_character(self) -> None:
        lines = quoted("one\n\n" + "y" * 150 + "\n\tz", "| ")
        self.assertEqual(lines[:2], ["| one", "| "])
        self.assertEqual(lines[2], "| " + "y" * 98)
        self.assertEqual(lines[3], "| " + "y" * 52)
        self.assertEqual(lines[4], "|     z")


class Tables(unittest.TestCase):
    def lines(self, columns: Sequence[doc.Column], *rows: Sequence[str]) -> list[str]:
        """A table."""
        return table(columns, [[(cell, str) for cell in row] for row in rows])

    def test_texts_stand_left_and_figures_right_and_wide_characters_keep_them_straight(self) -> None:
        for rows, lines in (((["a", "1"], ["longer", "100"]), ["  case      n", "  a         1", "  longer  100"]),
                            ((["日本", "1"], ["abcd", "2"]), ["  case  n", "  日本  1", "  abcd  2"]),
                            ((), ["  case  n"]), ((["one\ntwo\rthree", ""],), ["  case               n",
                                                                            "  one\\ntwo\\x0dthree"])):
            with self.subTest(rows=rows):
                self.assertEqual(self.lines([doc.Column("case"), doc.number("n")], *rows), lines)

    def test_flexible_columns_give_way_and_others_stay_whole(self) -> None:
        columns = [doc.flexible("id"), doc.flexible("why"), doc.number("figure")]
        lines = self.lines(columns, ["i" * 90, "w" * 70, "12345"])
        self.assertLessEqual(max(map(width_of, lines)), WIDTH)
        self.assertTrue(lines[1].endswith("   12345"))

    def test_where_all_are_wide_they_stand_closer_and_the_widest_give_way_alike(self) -> None:
        lines = self.lines([doc.Column("a"), doc.Column("b"), doc.number("c")], ["x" * 48, "y" * 60, "9" * 20])
        self.assertLessEqual(max(map(width_of, lines)), WIDTH)
        self.assertEqual([len(cell) for cell in lines[1].split()], [38, 38, 20])

    def test_colour_goes_around_the_padded_cell(self) -> None:
        paint = Paint(True)
        rows: list[list[Painted]] = [[(state, partial(paint.toned, tone=tone)), (number, str)] for state, tone,
                                     number in (
            ("flaky", Tone.FLAKY, "1"), ("stable pass", Tone.PASS, "2"))]
        lines = table([doc.Column("state"), doc.number("n")], rows)
        self.assertIn("\x1b[33mflaky      \x1b[0m  1", lines[1])
        self.assertIn("\x1b[32mstable pass\x1b[0m  2", lines[2])


class Painting(unittest.TestCase):
    def test_tones_have_the_colour_of_what_they_mean_and_without_paint_none(self) -> None:
        for tone, code in ((Tone.PASS, "32"), (Tone.FAIL, "31"), (Tone.FLAKY, "33"), (Tone.ABSENT, "33")):
            self.assertEqual(Paint(True).toned("x", tone), f"\x1b[{code}mx\x1b[0m")
            self.assertEqual((NO_PAINT.toned("x", tone), NO_PAINT.strong("x"), Paint(True).toned("", tone)),
                             ("x", "x", ""))
