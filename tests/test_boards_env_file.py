"""env_file: KEY=VALUE lines, and no way for a value to be seen."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure, Unusable
from benchkit.boards.solvers import not_set_in, read_env_file


class EnvFile(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "keys.env"

    def read(self, text: str | bytes) -> dict[str, str]:
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        secrets = read_env_file(self.path)
        self.assertEqual("Secrets()", repr(secrets))
        return dict(secrets.values)

    def test_lines_are_read_as_they_are_meant(self) -> None:
        lines: tuple[tuple[str | bytes, dict[str, str]], ...] = (
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
            (b"\xef\xbb\xbfKEY=1\n", {"KEY": "1"}),
        )
        for text, values in lines:
            with self.subTest(text=text):
                self.assertEqual(values, self.read(text))

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
            ({"A": "1", "B": "2"}, {"A": "mine"}, {"B": "2"}),
        ):
            with self.subTest(values=values, environment=environment):
                self.assertEqual(taken, not_set_in(environment, values))

    def test_a_wrong_line_is_named_by_file_and_number_and_never_shown(self) -> None:
        table: tuple[tuple[str | bytes, str], ...] = (
            ("A=1\nhunter2", "line 2: it is not KEY=VALUE"),
            ("2A=hunter2", "line 1: it is not KEY=VALUE"),
            ("A B=hunter2", "line 1: it is not KEY=VALUE"),
            ("=hunter2", "line 1: it is not KEY=VALUE"),
            ("\n\nKEY='hunter2", "line 3: the value of KEY begins with a quote and does not end with it"),
            ("KEY='hunter2'hunter2", "line 1: the value of KEY begins with a quote"),
            ("KEY=hunter2\u201d", "line 1: the value of KEY holds something else than printable ASCII"),
            ("KEY=hunter2\x07", "line 1: the value of KEY holds something else than printable ASCII"),
            ("KEY='hunter2\t'", "line 1: the value of KEY holds something else than printable ASCII"),
            (b"A=1\nB=\xff\n", "keys.env, line 2: it is not UTF-8"),
            (b"#" * 70000, "larger than"),
        )
        for text, words in table:
            with self.subTest(text=text[:40]), self.assertRaises(Unusable) as caught:
                self.read(text)
            self.assertIn(words, str(caught.exception))
            self.assertIn("keys.env", str(caught.exception))
            self.assertNotIn("hunter2", str(caught.exception))

    def test_a_missing_file_is_a_matter_of_the_surroundings(self) -> None:
        with self.assertRaisesRegex(EnvironmentFailure, "keys.env") as caught:
            read_env_file(self.path)
        self.assertEqual(3, caught.exception.exit_code)
