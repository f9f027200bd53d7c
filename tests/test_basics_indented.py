"""JSON indented by 1: the same text as json.dumps, made in pieces."""
from __future__ import annotations

import json
import unittest

from benchkit.basics.json_text import (
    HOLE,
    form_of,
    indented,
    number_of,
    pieces_of_list,
    pieces_of_object,
    text_of,
    truth_of,
)
from benchkit.basics.values import JSON


class Indented(unittest.TestCase):
    def test_a_form_that_is_filled_is_what_json_dumps_would_have_written(self) -> None:
        shape: JSON = {"name": HOLE, "share %": {"of": HOLE, "is": HOLE}, "inner": HOLE, "fixed": [1, "50 %"]}
        text, inner = "a \"b\" % %s\n\u2028", dict[str, JSON](x=[1, {"y": None}])
        filled = form_of(shape, 0) % (text_of(text), number_of(0.25), truth_of(True), indented(inner, 1))
        expected = {"name": text, "share %": {"of": 0.25, "is": True}, "inner": inner, "fixed": [1, "50 %"]}
        self.assertEqual(json.dumps(expected, indent=1), filled)

    def test_a_form_deeper_in_a_file_is_indented_as_deep(self) -> None:
        self.assertEqual('{\n   "a": 1\n  }', form_of({"a": HOLE}, 2) % number_of(1))

    def test_pieces_of_an_object_or_a_list_are_the_same_text_at_any_level(self) -> None:
        values: list[dict[str, list[JSON]]] = [
            {}, {"a": []}, {"a": [1]}, {"a \"%s\u2028": ["x", None], "b": [], "c": [2]}]
        for value in values:
            for level in (0, 3):
                with self.subTest(value=value, level=level):
                    lists = ((key, pieces_of_list(([indented(one)] for one in members), level + 1))
                             for key, members in value.items())
                    self.assertEqual(indented(dict(value), level), "".join(pieces_of_object(lists, level)))

    def test_unknown_is_null_and_what_json_cannot_say_is_refused(self) -> None:
        self.assertEqual(("null", "null", "false"), (text_of(None), number_of(None), truth_of(False)))
        for value in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                number_of(value)
            with self.assertRaises(ValueError):
                indented(value)


if __name__ == "__main__":
    unittest.main()
