"""Reading JSON from strangers: one right reading, or a line that says what is wrong."""
from __future__ import annotations

import json
import unittest

from benchkit.basics.json_text import MOST_DEPTH, MOST_INTEGER, mended, parse


class WhatIsRead(unittest.TestCase):
    def test_json_is_read_as_json_reads_it(self) -> None:
        for text in ('{"a": [1, -2.5, true, null, "x"]}', '"\\ud83d\\ude00"', "[]", "0", ' {"a":{}}\n',
                     '"[[[[\\"{{{"', '"\\\\\\\\"', f"[{MOST_INTEGER}, {-MOST_INTEGER}]", "1e300"):
            with self.subTest(text=text):
                self.assertEqual(json.loads(text), parse(text.encode()))

    def test_brackets_inside_texts_are_no_nesting(self) -> None:
        for inner in ("[" * 200, "{" * 200, '\\"' + "[" * 100, "\\\\"):
            with self.subTest(inner=inner[:10]):
                text = '["' + inner + '", "", "' + inner + '"]'
                self.assertEqual(json.loads(text), parse(text.encode()))

    def test_the_depth_that_is_read_is_64(self) -> None:
        self.assertIsInstance(parse(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH), list)

    def test_lone_surrogates_are_mended_where_that_is_asked_for(self) -> None:
        self.assertEqual({"\ufffd": ["a\ufffdb", "\U0001f600"]},
                         mended(parse(b'{"\\ud800": ["a\\uDfffb", "\\ud83d\\ude00"]}', keep_surrogates=True)))
        for text, wanted in (("a\ud83d", "a\ufffd"), ("\ude00\ud83d", "\ufffd" * 2), ("\ud83d" "\ude00", "\U0001f600"),
                             ("\ufeffa\ud83db", "\ufeffa\ufffdb"), ("\ud83d\ud83d" "\ude00", "\ufffd\U0001f600")):
            self.assertEqual(wanted, mended(text))


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
                parse(data)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertLess(len(str(caught.exception)), 200)


if __name__ == "__main__":
    unittest.main()
