"""JSON: read from strangers in one right way or refused in a line; canonical text, its digests, and closed lines."""
from __future__ import annotations

import hashlib
import json
import unittest
from collections.abc import Iterator, Mapping

from benchkit.basics import json_text
from benchkit.basics.values import JSON


class WhatIsRead(unittest.TestCase):
    def test_json_is_read_as_json_reads_it(self) -> None:
        for text in ('{"a": [1, -2.5, true, null, "x"]}', '"\\ud83d\\ude00"', "[]", "0", ' {"a":{}}\n',
                     '"[[[[\\"{{{"', '"\\\\\\\\"', f"[{json_text.MOST_INTEGER}, {-json_text.MOST_INTEGER}]", "1e300"):
            with self.subTest(text=text):
                self.assertEqual(json.loads(text), json_text.parse(text.encode()))

    def test_brackets_inside_texts_are_no_nesting(self) -> None:
        for inner in ("[" * 200, "{" * 200, '\\"' + "[" * 100, "\\\\"):
            with self.subTest(inner=inner[:10]):
                text = '["' + inner + '", "", "' + inner + '"]'
                self.assertEqual(json.loads(text), json_text.parse(text.encode()))

    def test_the_depth_that_is_read_is_64(self) -> None:
        self.assertIsInstance(json_text.parse(b"[" * json_text.MOST_DEPTH + b"]" * json_text.MOST_DEPTH), list)

    def test_lone_surrogates_are_mended_where_that_is_asked_for(self) -> None:
        found = json_text.parse(b'{"\\ud800": ["a\\uDfffb", "\\ud83d\\ude00"]}', keep_surrogates=True)
        self.assertEqual({"\ufffd": ["a\ufffdb", "\U0001f600"]}, json_text.mended(found))
        for text, wanted in (("a\ud83d", "a\ufffd"), ("\ude00\ud83d", "\ufffd" * 2), ("\ud83d" "\ude00", "\U0001f600"),
                             ("\ufeffa\ud83db", "\ufeffa\ufffdb"), ("\ud83d\ud83d" "\ude00", "\ufffd\U0001f600")):
            self.assertEqual(wanted, json_text.mended(text))


class WhatIsRefused(unittest.TestCase):
    def test_each_refusal_is_one_line_that_says_what_is_wrong(self) -> None:
        for data, words in (
            (b"\xef\xbb\xbf{}", "byte order mark"),
            (b"\xff\xfe{\x00}\x00", "it is UTF-16; save it as UTF-8"),
            (b'{\x00"\x00', "it is UTF-16"), (b'\x00{\x00"', "it is UTF-16"), (b"\xfe\xff\x00{", "it is UTF-16"),
            (b"\xff{}", "not UTF-8 at byte 0"),
            (b'{"a": "\xc3"}', "not UTF-8 at byte 7"),
            (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
            (b"", "not JSON"),
            (b"{", "line 1, column 2"),
            (b'{"a": 1,\n "b" 2}', "line 2, column 6"),
            (b"[1] 2", "not JSON"),
            (b'{"a": 1, "a": 1}', 'the key "a" stands twice'),
            (b'{"x": [{"k\\n": 1, "k\\n": 2}]}', 'the key "k\\n" stands twice'),
            (b"[NaN]", "NaN is not a JSON number"),
            (b"[-Infinity]", "-Infinity is not a JSON number"),
            (b"[1e999]", "too large"),
            (b"[9007199254740992]", "beyond 2^53 - 1"),
            (b"[-9007199254740992]", "beyond 2^53 - 1"),
            (b"[" + b"9" * 5000 + b"]", "beyond 2^53 - 1"),
            (b'"\\ud800"', "lone surrogate"),
            (b'{"\\udfff": 1}', "lone surrogate"),
            (b"[" * 65 + b"]" * 65, "nested more than 64 deep"),
            (b"[" * 1_000_000, "nested more than 64 deep"),
            (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested more than 64 deep"),
            (b'["a\tb"]', "not JSON"),
        ):
            with self.subTest(data=data[:40]), self.assertRaises(ValueError) as caught:
                json_text.parse(data)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertLess(len(str(caught.exception)), 200)


class KeysThatStandTwice(unittest.TestCase):
    """In a file with many objects the keys are counted; the answer is that of looking at each object."""

    FILLING = '{"x": [' + ", ".join(['{"a": "{[:", "b\\\\\\":": ""}'] * 40) + "]"

    def test_they_are_refused_by_name_wherever_they_stand(self) -> None:
        for tail in (', "x": 1}', ', "y": {"k:k": 1, "k:k": 2}}', ', "y": [[{"": 1, "": 1}]]}',
                     ', "y": {"\\u0061": 1, "a": 2}}'):
            with self.subTest(tail=tail), self.assertRaisesRegex(ValueError, "stands twice"):
                json_text.parse((self.FILLING + tail).encode())

    def test_colons_in_texts_and_keys_count_for_nothing(self) -> None:
        for tail in ("}", ', "y": ":"}', ', "y:": {":": "\\":"}}', ', "y": ["\\\\", ":", "", {"": ""}]}'):
            with self.subTest(tail=tail):
                text = self.FILLING + tail
                self.assertEqual(json.loads(text), json_text.parse(text.encode()))

    def test_what_is_no_json_keeps_its_line_and_column(self) -> None:
        with self.assertRaisesRegex(ValueError, "it is not JSON: .* at line 1, column"):
            json_text.parse((self.FILLING + ', "y": :}').encode())


class WrittenForPeople(unittest.TestCase):
    def test_a_file_has_a_line_for_each_member_and_each_element_of_a_list(self) -> None:
        pieces = json_text.lines_of_list(iter(["1", "[2]"]), 1)
        files: list[tuple[list[tuple[str, JSON | Iterator[str]]], str]] = [
            ([("a", 1)], '{\n "a": 1\n}\n'),
            ([("a", {"b": [1, "\u2028"]}), ("c", [{"d": None}, [2]]), ("e", [])],
             '{\n "a": {"b": [1, "\\u2028"]},\n "c": [\n  {"d": null},\n  [2]\n ],\n "e": []\n}\n'),
            ([("a", pieces), ("b", iter("57"))], '{\n "a": [\n  1,\n  [2]\n ],\n "b": 57\n}\n'),
        ]
        for value, text in files:
            with self.subTest(text=text):
                self.assertEqual(text, b"".join(json_text.pieces_of_file(value)).decode("ascii"))
                self.assertEqual(["{", "}"], [text[0], text[-2]])

    def test_pieces_of_an_object_or_a_list_are_indented_by_one_at_any_level(self) -> None:
        values: list[dict[str, list[JSON]]] = [
            {}, {"a": []}, {"a": [1]}, {"a \"%s\u2028": ["x", None], "b": [], "c": [2]}]
        for value in values:
            for level in (0, 3):
                with self.subTest(value=value, level=level):
                    lists = ((key, json_text.pieces_of_list(([json_text.indented(one)] for one in members), level + 1))
                             for key, members in value.items())
                    self.assertEqual(json.dumps(value, indent=1).replace("\n", "\n" + " " * level),
                                     "".join(json_text.pieces_of_object(lists, level)))

    def test_what_json_cannot_say_is_refused(self) -> None:
        for value in (float("nan"), float("inf")):
            for write in (json_text.indented, json_text.on_one_line):
                with self.subTest(value=value, write=write.__name__), self.assertRaises(ValueError):
                    write([value])


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
