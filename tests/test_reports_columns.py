"""Columns, wrapping and figures: what fits 100 columns, whatever the texts are."""
from __future__ import annotations

import unittest
from fractions import Fraction

from benchkit.reports.columns import WIDTH, clipped, folded, left, quoted, right, table, width_of, wrapped
from benchkit.reports.paint import NO_PAINT, Paint

from benchkit.reports.figures import latency, number, of, percent, percent_in_words, seconds, share, spread
from benchkit.statistics.percentiles import Latency


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
    def test_texts_stand_left_and_figures_right(self) -> None:
        lines = table([left("case"), right("n")], [["a", "1"], ["longer", "100"]])
        self.assertEqual(lines, ["  case      n", "  a         1", "  longer  100"])

    def test_no_line_ends_in_a_blank(self) -> None:
        lines = table([left("case"), left("state")], [["a", "b"], ["longer", ""]])
        self.assertEqual([line for line in lines if line != line.rstrip()], [])

    def test_wide_characters_keep_the_columns_straight(self) -> None:
        lines = table([left("case"), right("n")], [["日本", "1"], ["abcd", "2"]])
        self.assertEqual(lines[1:], ["  日本  1", "  abcd  2"])

    def test_the_flexible_columns_give_way_and_the_others_stay_whole(self) -> None:
        lines = table([left("id", flexible=True), left("why", flexible=True), right("figure")],
                      [["i" * 90, "w" * 70, "123456"]])
        self.assertLessEqual(max(map(width_of, lines)), WIDTH)
        self.assertTrue(lines[1].endswith("123456"))

    def test_a_table_without_rows_has_its_titles(self) -> None:
        self.assertEqual(table([left("a"), right("b")], []), ["  a  b"])

    def test_a_cell_with_a_line_break_stays_in_its_line(self) -> None:
        self.assertEqual(len(table([left("a")], [["one\ntwo\rthree"]])), 2)

    def test_colour_goes_around_the_padded_cell(self) -> None:
        lines = table([left("state", paint=Paint(True).state), right("n")], [["flaky", "1"], ["stable pass", "2"]])
        self.assertIn("\x1b[33mflaky      \x1b[0m  1", lines[1])
        self.assertIn("\x1b[32mstable pass\x1b[0m  2", lines[2])


class Painting(unittest.TestCase):
    def test_no_paint_leaves_every_text_as_it_is(self) -> None:
        for brush in (NO_PAINT.good, NO_PAINT.bad, NO_PAINT.unsure, NO_PAINT.strong, NO_PAINT.state):
            self.assertEqual(brush("stable fail"), "stable fail")

    def test_states_have_the_colour_of_what_they_mean(self) -> None:
        for state, code in (("stable pass", "32"), ("stable fail ", "31"), ("flaky", "33"), ("no data", "33")):
            with self.subTest(state=state):
                self.assertEqual(Paint(True).state(state), f"\x1b[{code}m{state}\x1b[0m")


class Figures(unittest.TestCase):
    def test_percent_has_one_digit_and_ties_go_to_even(self) -> None:
        for value, text in (
                (Fraction(1, 3), "33.3"), (Fraction(2, 3), "66.7"), (Fraction(1), "100.0"), (Fraction(0), "0.0"),
                (Fraction(5, 10000), "<0.1"), (Fraction(15, 10000), "0.2"), (Fraction(25, 10000), "0.2"),
                (Fraction(35, 10000), "0.4"), (0.5, "50.0"), (None, "n/a")):
            with self.subTest(value=value):
                self.assertEqual(percent(value), text)

    def test_only_all_reads_100_and_only_none_reads_0_and_what_is_near_them_is_said_to_be_beyond(self) -> None:
        for value, text, words in (
                (Fraction(99999, 10**5), ">99.9", "more than 99.9 %"), (Fraction(1, 10**5), "<0.1", "less than 0.1 %"),
                (Fraction(9, 10) ** 5000, "<0.1", "less than 0.1 %"), (Fraction(6, 10000), "0.1", "0.1 %"),
                (Fraction(0), "0.0", "0.0 %"), (Fraction(1), "100.0", "100.0 %"), (0.9993, "99.9", "99.9 %")):
            with self.subTest(text=text):
                self.assertEqual((text, words), (percent(value), percent_in_words(value)))

    def test_a_count_of_others_has_its_thousands_apart(self) -> None:
        self.assertEqual(("7 of 10", "12 of 30,000", "30,000 of 30,000 (100.0 %)"),
                         (of(7, 10), of(12, 30_000), share(30_000, 30_000)))

    def test_a_share_has_its_denominator(self) -> None:
        self.assertEqual(share(7, 12), "7 of 12 (58.3 %)")
        self.assertEqual(share(0, 0), "0 of 0")

    def test_an_interval_is_in_percent(self) -> None:
        self.assertEqual(spread(0.11, 0.9775), "11.0 to 97.8")
        self.assertEqual(spread(None, None), "n/a")

    def test_seconds_have_the_digits_that_matter(self) -> None:
        for value, text in ((None, "n/a"), (0.0, "0.000"), (0.000012, "0.000012"), (0.0123, "0.012"), (1.0, "1.00"),
                            (99.994, "99.99"), (120.0, "120"), (1234.5, "1234")):
            with self.subTest(value=value):
                self.assertEqual(seconds(value), text)

    def test_a_latency_that_was_cut_off_is_more_than_its_limit(self) -> None:
        self.assertEqual(latency(Latency(120.0, censored=True)), "> 120")
        self.assertEqual(latency(Latency(1.5)), "1.50")
        self.assertEqual(latency(None), "n/a")

    def test_large_counts_have_their_thousands_apart(self) -> None:
        self.assertEqual(number(1234567), "1,234,567")


if __name__ == "__main__":
    unittest.main()
