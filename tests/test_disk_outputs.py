"""Where an output may go: not onto an input, not onto another output, not onto a file of another kind."""
from __future__ import annotations

import os
import re
import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.disk.file_kinds import is_same_file, refuse_shared
from benchkit.disk.whole_files import refuse_unlike

TABLE = re.compile(rb"run,system,")


class OutputsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.input = self.folder / "input.json"
        self.input.write_bytes(b"{}")


class OneFile(OutputsTest):
    def test_a_path_is_the_same_file_through_spellings_and_links(self) -> None:
        link, twin = self.folder / "link", self.folder / "twin"
        link.symlink_to(self.input)
        os.link(self.input, twin)
        spelled = (self.folder / "." / "input.json", self.folder / "x" / ".." / "input.json")
        for other in (self.input, link, twin, *spelled):
            with self.subTest(other=other.name):
                self.assertTrue(is_same_file(str(self.input), str(other)))

    def test_files_that_are_not_there_are_told_by_their_paths(self) -> None:
        self.assertTrue(is_same_file("nowhere/a", "./nowhere/a"))
        self.assertFalse(is_same_file("nowhere/a", "nowhere/b"))
        self.assertFalse(is_same_file(str(self.input), "nowhere/b"))

    def test_equal_bytes_do_not_make_one_file(self) -> None:
        other = self.folder / "other.json"
        other.write_bytes(self.input.read_bytes())
        self.assertFalse(is_same_file(str(self.input), str(other)))

    def test_an_input_is_refused_with_its_flag(self) -> None:
        with self.assertRaisesRegex(Unusable, r"input\.json: this is an input.* give --csv another name"):
            refuse_shared({"--out": "elsewhere", "--csv": str(self.input)}, ["other", str(self.input)])

    def test_every_two_outputs_are_held_against_each_other(self) -> None:
        with self.assertRaisesRegex(Unusable, "--b and --c name one file"):
            refuse_shared({"--a": "x", "--b": "y", "--c": "./y"}, [])

    def test_outputs_of_their_own_are_let_through(self) -> None:
        refuse_shared({"--a": "x", "--b": "y"}, [str(self.input)])
        refuse_shared({}, [str(self.input)])


class AnotherKind(OutputsTest):
    def test_what_begins_otherwise_is_refused(self) -> None:
        for data in (b"{}", b"\n", b"Run,System,", b" run,system,", b"\xff\xfe"):
            with self.subTest(data=data):
                self.input.write_bytes(data)
                with self.assertRaisesRegex(Unusable, r"input\.json is there and is no table"):
                    refuse_unlike(str(self.input), TABLE, "table")

    def test_nothing_an_empty_file_and_one_of_the_kind_are_let_through(self) -> None:
        refuse_unlike(str(self.folder / "nowhere"), TABLE, "table")
        for data in (b"", b"run,system,task\r\n"):
            self.input.write_bytes(data)
            refuse_unlike(str(self.input), TABLE, "table")

    def test_a_folder_is_left_to_the_writer(self) -> None:
        refuse_unlike(str(self.folder), TABLE, "table")


if __name__ == "__main__":
    unittest.main()
