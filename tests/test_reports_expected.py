"""What was expected, on one line."""
from __future__ import annotations

import unittest

from benchkit.basics.values import JSON
from benchkit.reports.outputs import expected_line


class OneLine(unittest.TestCase):
    def test_fields_stand_by_name_other_values_as_they_are_and_nothing_is_nothing(self) -> None:
        table: tuple[tuple[JSON, str], ...] = (
            ({"label": "bug", "urgent": True, "level": None}, "label: bug, urgent: true, level: null"),
            ("outage", "outage"), (["a", 1], '["a", 1]'), ({"a": {"b": "ü"}}, '{"a": {"b": "ü"}}'), (0, "0"),
            ({}, ""), (None, ""))
        for expected, line in table:
            with self.subTest(expected=expected):
                self.assertEqual(line, expected_line(expected))

    def test_a_long_or_hostile_one_is_cut_and_stays_a_line(self) -> None:
        self.assertEqual("text: one\\ntwo\\x1b...", expected_line({"text": "one\ntwo\x1b[2J" + "x" * 300}, 21))
        self.assertEqual(200, len(expected_line("x" * 300)))


if __name__ == "__main__":
    unittest.main()
