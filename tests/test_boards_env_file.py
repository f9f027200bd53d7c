"""env_file: KEY=VALUE lines, and no way for a value to be seen."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure, Unusable
from benchkit.boards.solvers import Secrets, parse_env, read_env_file


class ParsingLines(unittest.TestCase):
    def test_lines_are_read_as_they_are_meant(self) -> None:
        for text, values in (
            ("KEY=value", {"KEY": "value"}),
            ("KEY = value  ", {"KEY": "value"}),
            ("export KEY=value", {"KEY": "value"}),
            ("# a remark\n\n  # another\nKEY=value\r\n", {"KEY": "value"}),
            ("KEY=value # a remark", {"KEY": "value"}),
            ("KEY=va#lue", {"KEY": "va#lue"}),
            ("KEY='va # lue'", {"KEY": "va # lue"}),
            ('KEY="va lue" # a remark', {"KEY": "va lue"}),
            ("KEY=$HOME/${X}`id`\\n", {"KEY": "$HOME/${X}`id`\\n"}),
            ('KEY="$HOME"', {"KEY": "$HOME"}),
            ("KEY=a=b", {"KEY": "a=b"}),
            ("KEY=", {"KEY": ""}),
            ("KEY=1\nKEY=2", {"KEY": "2"}),
            ("", {}),
        ):
            with self.subTest(text=text):
                self.assertEqual(values, parse_env(text).values)

    def test_an_address_and_its_key_stay_together(self) -> None:
        url, key = "OPENAI_BASE_URL", "OPENAI_API_KEY"
        both = {url: "https://a.example/v1", key: "a"}
        for values, environment, taken in (
            (both, {}, both),
            (both, {key: "ambient"}, both),
            (both, {url: "https://b.example/v1"}, {}),
            (both, {url: "https://b.example/v1", key: "b"}, {}),
            (both, {url: both[url]}, {key: "a"}),
            (both, {url: both[url], key: "own"}, {}),
            ({key: "a"}, {url: "https://b.example/v1"}, {key: "a"}),
            ({key: "a"}, {key: "own"}, {}),
        ):
            with self.subTest(values=values, environment=environment):
                self.assertEqual(taken, Secrets(values).beside(environment))

    def test_a_wrong_line_is_named_by_its_number_and_never_shown(self) -> None:
        for text, words in (
            ("A=1\nhunter2", "line 2: it is not KEY=VALUE"),
            ("2A=hunter2", "line 1: it is not KEY=VALUE"),
            ("A B=hunter2", "line 1: it is not KEY=VALUE"),
            ("=hunter2", "line 1: it is not KEY=VALUE"),
            ("\n\nKEY='hunter2", "line 3: the value of KEY begins with a quote and does not end with it"),
            ("KEY='hunter2'hunter2", "line 1: the value of KEY begins with a quote"),
            ("KEY=hunter2\u201d", "line 1: the value of KEY holds something else than printable ASCII"),
            ("KEY=hunter2\x07", "line 1: the value of KEY holds something else than printable ASCII"),
            ("KEY='hunter2\t'", "line 1: the value of KEY holds something else than printable ASCII"),
        ):
            with self.subTest(text=text), self.assertRaises(ValueError) as caught:
                parse_env(text)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("hunter2", str(caught.exception))

    def test_what_the_environment_has_already_holds(self) -> None:
        self.assertEqual({"B": "2"}, parse_env("A=1\nB=2").beside({"A": "mine"}))

    def test_values_do_not_show_when_printed(self) -> None:
        self.assertNotIn("hunter2", repr(Secrets({"KEY": "hunter2"})))


class ReadingTheFile(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "keys.env"

    def test_a_missing_file_is_a_matter_of_the_surroundings(self) -> None:
        with self.assertRaises(EnvironmentFailure) as caught:
            read_env_file(self.path)
        self.assertEqual(3, caught.exception.exit_code)
        self.assertIn("keys.env", str(caught.exception))

    def test_a_byte_order_mark_is_no_part_of_the_first_name(self) -> None:
        self.path.write_bytes(b"\xef\xbb\xbfKEY=1\n")
        self.assertEqual({"KEY": "1"}, read_env_file(self.path).values)

    def test_a_wrong_file_is_named_with_its_line(self) -> None:
        for data, words in ((b"A=1\nhunter2\n", "keys.env, line 2"), (b"A=1\nB=\xff\n", "keys.env, line 2"),
                            (b"#" * 70000, "larger than")):
            with self.subTest(words=words), self.assertRaises(Unusable) as caught:
                self.path.write_bytes(data)
                read_env_file(self.path)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("hunter2", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
