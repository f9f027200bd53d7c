"""Canonical JSON, the digests made of it, and the closing of a line."""
from __future__ import annotations

import hashlib
import unittest
from collections.abc import Mapping

from benchkit.basics import json_text
from benchkit.basics.values import JSON

MESSAGES = [{"role": "user", "content": "Grüße"}]


class OneText(unittest.TestCase):
    def test_a_value_has_one_text(self) -> None:
        table: tuple[tuple[JSON, str], ...] = (
            ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
            ({"a": [True, None], "b": 1}, '{"a":[true,null],"b":1}'),
            ("ü\n\x1b\U0001f600", '"\\u00fc\\n\\u001b\\ud83d\\ude00"'),
            ("\ud800", '"\\ud800"'),
            (1.0, "1.0"), (1, "1"), (1e22, "1e+22"), (0.1, "0.1"), ({}, "{}"), ("", '""'),
        )
        for value, text in table:
            with self.subTest(value=value):
                self.assertEqual(text, json_text.canonical(value))

    def test_no_text_for_what_json_cannot_say(self) -> None:
        for value in (float("nan"), float("inf"), {"a": [-float("inf")]}):
            with self.subTest(value=value), self.assertRaises(ValueError):
                json_text.canonical(value)

    def test_digests_are_sha256_of_that_text(self) -> None:
        self.assertEqual(hashlib.sha256(b'{"a":1}').hexdigest(), json_text.digest({"a": 1}))
        self.assertEqual(json_text.digest({"a": 1})[:16], json_text.short_digest({"a": 1}))
        self.assertEqual(hashlib.sha256("ü".encode()).hexdigest(), json_text.text_digest("ü"))


class WhatBinds(unittest.TestCase):
    def test_an_ask_is_over_messages_and_schema_whoever_answers(self) -> None:
        digest = json_text.short_digest({"messages": MESSAGES, "schema": None})
        self.assertEqual(digest, json_text.ask_of(MESSAGES, None))
        self.assertNotEqual(json_text.ask_of(MESSAGES, None), json_text.ask_of(MESSAGES, {}))

    def test_a_request_is_over_ask_settings_and_seed(self) -> None:
        self.assertEqual(json_text.short_digest({"ask": "a" * 16, "settings": {"t": 1.0}, "seed": 1001}),
                         json_text.request_of("a" * 16, {"t": 1.0}, 1001))
        others = {json_text.request_of("b" * 16, {"t": 1.0}, 1001), json_text.request_of("a" * 16, {"t": 1}, 1001),
                  json_text.request_of("a" * 16, {"t": 1.0}, 1002), json_text.request_of("a" * 16, {"t": 1.0}, 1001)}
        self.assertEqual(4, len(others))

    def test_many_requests_with_the_same_settings_are_bound_as_each_by_itself(self) -> None:
        many: Mapping[str, JSON] = {"z": 1, "a": [1.5, None, {"b": "é\u2028\"\\"}]}
        for settings in ({}, many):
            one = json_text.requests_with(settings)
            for ask, seed in (("a" * 16, 1001), ("0123456789abcdef", 1002)):
                self.assertEqual(json_text.request_of(ask, settings, seed), one(ask, seed))


class ClosedLines(unittest.TestCase):
    LINE = json_text.close_line({"z": 1, "sum_of": "ü", "a": None})

    def test_the_sum_stands_behind_the_other_keys_and_is_over_all_bytes_before_it(self) -> None:
        body = b'{"a":null,"sum_of":"\\u00fc","z":1'
        self.assertEqual(body + b',"sum":"' + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n', self.LINE)
        self.assertEqual(json_text.SUM_BYTES, len(self.LINE) - 1 - len(body))

    def test_a_line_of_which_any_byte_differs_is_not_whole(self) -> None:
        line = self.LINE[:-1]
        self.assertTrue(json_text.is_whole(line))
        for place in range(len(line)):
            changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1:]
            self.assertFalse(json_text.is_whole(changed), place)

    def test_a_line_cut_anywhere_is_not_whole(self) -> None:
        line = self.LINE[:-1]
        for length in range(len(line)):
            self.assertFalse(json_text.is_whole(line[:length]), length)
        self.assertFalse(json_text.is_whole(line + b"\r"))

    def test_a_closing_alone_is_no_line(self) -> None:
        closing = b',"sum":"' + hashlib.sha256(b"").hexdigest()[:16].encode() + b'"}'
        self.assertFalse(json_text.is_whole(closing))


if __name__ == "__main__":
    unittest.main()
