"""What differs between two values, leaf by leaf."""
from __future__ import annotations

import unittest

from benchkit.basics.fields import LeafDifference, differences
from benchkit.basics.values import JSON


class Differences(unittest.TestCase):
    def test_each_leaf_that_differs_is_told_with_its_place(self) -> None:
        table: tuple[tuple[JSON, JSON, list[LeafDifference]], ...] = (
            ({"a": 1}, {"a": 1}, []),
            ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [LeafDifference("a.c", "2", "3")]),
            ({"a": 1}, {"a": 1.0}, [LeafDifference("a", "1", "1.0")]),
            ({"a": 1, "z": [1]}, {"b": 2, "z": [2]}, [
                LeafDifference("a", "1", "null"), LeafDifference("b", "null", "2"), LeafDifference("z", "[1]", "[2]")]),
            ({"a": {"b": 1}}, {"a": None}, [LeafDifference("a", '{"b":1}', "null")]),
            (1, 2, [LeafDifference("", "1", "2")]),
        )
        for one, other, expected in table:
            with self.subTest(one=one, other=other):
                self.assertEqual(expected, list(differences(one, other)))

    def test_control_characters_are_shown_and_long_values_cut(self) -> None:
        (found,) = differences({"a": "\x1b"}, {"a": "x" * 200})
        self.assertEqual(('"\\u001b"', 80), (found.one, len(found.other)))


if __name__ == "__main__":
    unittest.main()
