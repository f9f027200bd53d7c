"""Reading fields of strangers, and the depth of JSON without parsing it."""
from __future__ import annotations

import json
import random
import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

from benchkit.basics import fields as types
from benchkit.basics import json_text
from benchkit.basics.fields import Fields, differences
from benchkit.basics.values import JSON
from benchkit.running.plan import settings_differences


class ReadingFields(unittest.TestCase):
    values = Fields({"text": "a", "null": None, "one": 1, "minus": -1, "half": 0.5, "yes": True, "list": ["a"],
                     "mixed": ["a", 1], "empty": "", "hash": "0a", "at": "2026-11-30T12:00:00.000Z",
                     "object": {"inner": [{"x": 5}]}}, "top")

    def test_what_is_right_is_given(self) -> None:
        fields = self.values
        self.assertEqual(("a", None, "a", 1, None, 0.5, 1, None, True, ("a",)), (
            fields.text("text"), fields.text_or_none("null"), fields.text_or_none("text"), fields.integer("one"),
            fields.integer_or_none("null"), fields.take("half", types.SECONDS_OR_NULL),
            fields.take("one", types.SECONDS_OR_NULL), fields.take("null", types.SECONDS_OR_NULL),
            fields.boolean("yes"), fields.texts("list")))
        self.assertEqual("a", fields.one_of("text", ("a", "b")))
        self.assertEqual(("a", "0a", 0.5, fields.values["at"]), (
            fields.name("text"), fields.hex_digits("hash", 2), fields.take("half", types.SECONDS), fields.stamp("at")))
        self.assertTrue("null" in fields and "nowhere" not in fields)
        self.assertEqual(5, next(fields.inner("object").objects("inner")).integer("x"))

    def test_what_is_wrong_is_named_with_its_place(self) -> None:
        fields = self.values
        inner = fields.inner("object")
        questions: list[tuple[Callable[[], object], str]] = [
            (lambda: fields.text("one"), "top.one is 1, not a text"),
            (lambda: fields.text("nowhere"), "top.nowhere is missing"),
            (lambda: fields.text_or_none("nowhere"), "top.nowhere is missing"),
            (lambda: fields.text_or_none("yes"), "top.yes is true, not a text or null"),
            (lambda: fields.one_of("text", ("b", "c")), 'top.text is "a", not one of b, c'),
            (lambda: fields.one_of("list", ("b",)), "top.list is a list"),
            (lambda: fields.integer("yes"), "top.yes is true, not a whole number"),
            (lambda: fields.integer("half"), "top.half is 0.5, not a whole number"),
            (lambda: fields.integer("minus"), "top.minus is -1"),
            (lambda: fields.integer("one", least=2), "at least 2"),
            (lambda: fields.integer_or_none("nowhere"), "top.nowhere is missing"),
            (lambda: fields.take("yes", types.SECONDS_OR_NULL), "top.yes is true, not seconds"),
            (lambda: fields.take("minus", types.SECONDS_OR_NULL), "top.minus is -1"),
            (lambda: fields.take("text", types.SECONDS_OR_NULL), 'top.text is "a", not seconds'),
            (lambda: fields.integer("one", most=0), "top.one is 1, not a whole number of at most 0"),
            (lambda: fields.take("null", types.SECONDS), "top.null is null, not seconds of at least 0"),
            (lambda: fields.take("minus", types.SECONDS), "top.minus is -1, not seconds"),
            (lambda: fields.name("empty"), 'top.empty is "", not a text that is not empty'),
            (lambda: fields.name("nowhere"), "top.nowhere is missing"),
            (lambda: fields.hex_digits("hash", 16), 'top.hash is "0a", not 16 hex digits'),
            (lambda: fields.hex_digits("text", 2), 'top.text is "a", not 2 hex digits'),
            (lambda: fields.hex_digits("list", 1), "top.list is a list, not 1 hex digits"),
            (lambda: fields.stamp("text"), 'top.text is "a", not a time like 2026-11-30T12:00:00.000Z'),
            (lambda: fields.version("yes", 1), "top.yes is true, not 1, the version this kit reads"),
            (lambda: fields.version("half", 1), "top.half is 0.5, not 1, the version"),
            (lambda: fields.version("nowhere", 1), "top.nowhere is missing"),
            (lambda: fields.version("half", 1, 2), "top.half is 0.5, not 1 or 2, the versions this kit reads"),
            (lambda: fields.boolean("one"), "top.one is 1, not true or false"),
            (lambda: fields.mapping("list"), "top.list is a list, not an object"),
            (lambda: fields.sequence("object"), "top.object is an object, not a list"),
            (lambda: fields.texts("mixed"), "top.mixed is a list, not a list of texts"),
            (lambda: fields.json("nowhere"), "top.nowhere is missing"),
            (lambda: next(inner.objects("inner")).text("x"), "top.object.inner[0].x is 5"),
            (lambda: list(fields.objects("mixed")), 'top.mixed[0] is "a", not an object'),
            (lambda: Fields([]), "it is a list, not an object"),
            (lambda: fields.has_exactly(("text",)), "top.null is no field that is known"),
            (lambda: inner.has_exactly(("inner", "outer")), "top.object.outer is missing"),
        ]
        for ask, words in questions:
            with self.subTest(words=words):
                with self.assertRaises(ValueError) as caught:
                    ask()
                self.assertIn(words, str(caught.exception))

    def test_numbers_that_cannot_be_added_up_are_refused(self) -> None:
        for number in (float("nan"), float("inf"), 1e300, 2**53):
            for ask in (partial(Fields.take, wanted=types.SECONDS), partial(Fields.take, wanted=types.SECONDS_OR_NULL),
                        Fields.integer, Fields.integer_or_none):
                with self.subTest(number=number, ask=str(ask)), self.assertRaises(ValueError):
                    ask(Fields({"x": number}), "x")

    def test_a_value_in_an_error_is_shown_never_sent(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Fields({"x": "\x1b[2J\n" * 99}).integer("x")
        self.assertNotRegex(str(caught.exception), "[\x00-\x1f]")
        self.assertLess(len(str(caught.exception)), 150)


class MeasuringDepth(unittest.TestCase):
    def test_brackets_within_texts_do_not_count(self) -> None:
        for value in ("[" * 500, '"[' * 500, '\\"[' * 500, '\\\\[' * 500, ['"', "[" * 99], {"]": '["' * 99, "": ""}):
            with self.subTest(value=value):
                self.assertEqual(value, json_text.parse(json.dumps(value).encode()))

    def test_64_deep_is_read_and_65_is_refused_whatever_texts_are_around(self) -> None:
        rng = random.Random(1)
        for _ in range(200):
            texts = ["".join(rng.choice('"\\[]{}a') for _ in range(rng.randrange(9))) for _ in range(64)]
            value: Any = []
            for text in texts[:63]:
                value = [text, value] if rng.random() < 0.5 else {text: value}
            self.assertEqual(value, json_text.parse(json.dumps(value).encode()))
            with self.assertRaisesRegex(ValueError, "nested more than 64 deep"):
                json_text.parse(json.dumps([value]).encode())


class Differences(unittest.TestCase):
    def test_each_leaf_that_differs_is_told_with_its_place(self) -> None:
        table: tuple[tuple[JSON, JSON, str], ...] = (
            ({"a": 1}, {"a": 1}, ""),
            ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, "a.c: 2 -> 3"),
            ({"a": 1}, {"a": 1.0}, "a: 1 -> 1.0"),
            ({"a": True}, {"a": 1}, "a: true -> 1"),
            ({"a": 1, "z": [1]}, {"b": 2, "z": [2]}, "a: 1 -> null; b: null -> 2; z: [1] -> [2]"),
            ({"a": {"b": 1}}, {"a": None}, 'a: {"b":1} -> null'),
            ({"a": "\x1b"}, {}, 'a: "\\u001b" -> null'),
            ({"a": "x" * 200}, {"a": "y"}, 'a: "' + "x" * 76 + '... -> "y"'),
            (1, 2, ": 1 -> 2"),
        )
        for one, other, expected in table:
            with self.subTest(one=one, other=other):
                self.assertEqual(expected, "; ".join(
                    f"{found.place}: {found.one} -> {found.other}" for found in differences(one, other)))
                self.assertEqual(expected, "; ".join(settings_differences(one, other)))
