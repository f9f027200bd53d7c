"""Names that are safe to show, and safe as file names; how many there are, in words."""
from __future__ import annotations

import re
import unittest

from benchkit.basics.texts import cases_named, count_of, file_stem, names_of, shown, shown_line


class Showing(unittest.TestCase):
    def test_control_characters_are_shown_not_sent(self) -> None:
        for text, expected in (
            ("plain", "plain"), ("\x1b[31m", "\\x1b[31m"), ("a\rb", "a\\x0db"), ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
            ("\u202egpj.exe", "\\u202egpj.exe"), ("\u2028", "\\u2028"), ("\ud800", "\\ud800"),
            ("ü 漢 \U0001f600", "ü 漢 \U0001f600"), ("two\nlines\tand", "two\nlines\tand"),
        ):
            with self.subTest(text=text):
                self.assertEqual(expected, shown(text))

    def test_a_line_is_one_line_and_no_longer_than_asked(self) -> None:
        self.assertEqual("a\\nb\\tc", shown_line("a\nb\tc"))
        self.assertEqual("x" * 7 + "...", shown_line("x" * 11, most=10))
        self.assertEqual("x" * 10, shown_line("x" * 10, most=10))


class FileNames(unittest.TestCase):
    def test_a_plain_name_is_itself(self) -> None:
        for name in ("keywords", "gemma", "a-b_c.d", "smollm2", "0", "console", "com10"):
            with self.subTest(name=name):
                self.assertEqual(name, file_stem(name))

    def test_any_other_name_becomes_a_slug_and_a_digest(self) -> None:
        for name, slug in (
            ("smollm2:135m", "x-smollm2-135m-"), ("Gemma", "x-gemma-"), ("../../etc/passwd", "x-etc-passwd-"),
            ("..", "x--"), (".hidden", "x-hidden-"), ("dot.", "x-dot-"), ("con", "x-con-"), ("nul.txt", "x-nul-txt-"),
            ("com1", "x-com1-"), ("", "x--"), ("ü" * 50, "x--"), ("a/b" * 40, "x-" + ("a-b" * 40)[:40] + "-"),
            ("\x00", "x--"), ("\ud800", "x--"),
        ):
            with self.subTest(name=name):
                stem = file_stem(name)
                self.assertRegex(stem, r"\A[a-z0-9-]{1,60}\Z")
                self.assertTrue(stem.startswith(slug), stem)
                self.assertRegex(stem[-13:], re.compile(r"-[0-9a-f]{12}"))

    def test_two_names_never_share_a_file(self) -> None:
        names = ["smollm2:135m", "smollm2/135m", "smollm2-135m", "SMOLLM2:135m", "smollm2:135m ", "a" * 101]
        names += [file_stem("SMOLLM2:135m"), file_stem(file_stem("SMOLLM2:135m"))]  # chosen to look like another's file
        self.assertEqual(len(names), len({file_stem(name) for name in names}))


class InWords(unittest.TestCase):
    def test_one_is_not_many(self) -> None:
        self.assertEqual((count_of(1, "case"), count_of(0, "case"), count_of(2, "entry", "entries")),
                         ("1 case", "0 cases", "2 entries"))

    def test_a_few_names_are_told_and_the_rest_is_counted(self) -> None:
        self.assertEqual(names_of("abcde"), "a, b, c, d, e")
        self.assertEqual(names_of("abcdefg"), "a, b, c, d, e and 2 more")
        self.assertEqual((cases_named("a"), cases_named("abcdef")), ("case a", "cases a, b, c, d, e and 1 more"))

    def test_hostile_names_stay_on_their_line(self) -> None:
        self.assertEqual(names_of(["a\nb", "\x1b[2J"]), "a\\nb, \\x1b[2J")


if __name__ == "__main__":
    unittest.main()
