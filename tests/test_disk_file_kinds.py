"""Telling the kit's files apart by how they begin, what is said of one in another's place, and where outputs go."""
from __future__ import annotations

import json
import os
import re
import tempfile
import unittest
from itertools import permutations
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import close_line
from benchkit.disk.file_kinds import FileKind, is_same_file, kind_in, refuse_another_kind, refuse_shared
from benchkit.disk.whole_files import refuse_unlike

TABLE = re.compile(rb"run,system,")
LINE = close_line({"kind": "session", "v": 1})
FILES = {
    FileKind.LOG: LINE + b"\n",
    FileKind.RECORDING: b'{\n "recording": 1, "cases": []}',
    FileKind.RUN_RECORD: b'{"run_record":1}',
    FileKind.REPORT: b'{"report": 1}',
    FileKind.GATE: b'\n { "gate" : 1}',
    FileKind.CASES: b'{"cases": []}',
    FileKind.DIGESTS: b'{"recordings": 1}',
    FileKind.PAGE: b'<!doctype html>\n<html lang="en">',
}


class KindsOfFiles(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def refusal(self, path: Path, wanted: FileKind) -> str:
        with self.assertRaises(Unusable) as caught:
            refuse_another_kind(path, wanted)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_each_is_known_by_its_beginning(self) -> None:
        for kind, data in FILES.items():
            self.assertEqual(kind, kind_in(data))
        for data in (b"", b"{}", b"[1]", b'{"other": 1}', b"text", b'{"recording', b'"recording": 1', b"\x00\xff"):
            with self.subTest(data=data):
                self.assertIsNone(kind_in(data))

    def test_a_line_of_a_log_may_begin_as_another_file_does(self) -> None:
        self.assertEqual(FileKind.LOG, kind_in(close_line({"cases": [], "kind": "plan"}) + b"\n"))
        self.assertEqual(FileKind.LOG, kind_in(b"damaged\n" + LINE + b"\n"))

    def test_each_is_called_what_it_is_where_another_is_wanted(self) -> None:
        for kind, wanted in permutations(FILES, 2):
            if wanted not in (FileKind.REPORT, FileKind.GATE, FileKind.PAGE):
                with self.subTest(kind=kind, wanted=wanted):
                    path = self.write("given", FILES[kind])
                    self.assertIn(f"{path}: this is {kind}, not {wanted}; ", self.refusal(path, wanted))

    def test_what_is_wanted_and_what_nobody_knows_are_left_to_their_reader(self) -> None:
        for kind, data in FILES.items():
            refuse_another_kind(self.write("given", data), kind)
            refuse_another_kind(self.write("given", b"{}"), kind)

    def test_sorted_keys_make_no_file_of_cases_of_a_recording(self) -> None:
        path = self.write("a.json", json.dumps({"cases": [], "kit": "1", "recording": 1}).encode())
        refuse_another_kind(path, FileKind.RECORDING)
        self.assertIn("this is a recording, not a run record", self.refusal(path, FileKind.RUN_RECORD))

    def test_what_to_do_with_it_is_a_command_where_there_is_one(self) -> None:
        for name, data, wanted, words in (
                ("a b.json", FILES[FileKind.RECORDING], FileKind.RUN_RECORD,
                 "judge it first (with --cases FILE if its cases are not in cases.json): python3 harness.py "
                 "run --system 'replay:{}' --out 'runs/a b.json'"),
                ("a.jsonl", LINE, FileKind.RUN_RECORD, "python3 harness.py run --system replay:{} --out runs/a.json"),
                ("a.json", FILES[FileKind.RUN_RECORD], FileKind.RECORDING, "python3 report.py {} shows what it holds"),
                ("a.jsonl", LINE, FileKind.DIGESTS, "python3 outputs_digest.py {} prints its digest"),
                ("a.json", FILES[FileKind.REPORT], FileKind.RUN_RECORD, "give the run records it was made of"),
                ("a.json", FILES[FileKind.RECORDING], FileKind.CASES, "name the file of cases with --cases"),
                ("a.json", FILES[FileKind.RECORDING], FileKind.LOG, "whose name ends in .jsonl")):
            with self.subTest(words=words):
                path = self.write(name, data)
                self.assertIn(words.format(path), self.refusal(path, wanted))


class Outputs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.input = self.folder / "input.json"
        self.input.write_bytes(b"{}")

    def test_a_path_is_the_same_file_through_spellings_and_links_and_not_by_equal_bytes(self) -> None:
        link, twin, equal = self.folder / "link", self.folder / "twin", self.folder / "other.json"
        link.symlink_to(self.input)
        os.link(self.input, twin)
        equal.write_bytes(self.input.read_bytes())
        for one, other, is_same in (
                *((self.input, other, True) for other in (
                    self.input, link, twin, self.folder / "." / "input.json", self.folder / "x" / ".." / "input.json")),
                (self.input, equal, False), ("nowhere/a", "./nowhere/a", True), ("nowhere/a", "nowhere/b", False),
                (self.input, "nowhere/b", False)):
            with self.subTest(one=one, other=other):
                self.assertEqual(is_same, is_same_file(str(one), str(other)))

    def test_an_output_is_no_input_and_no_other_output(self) -> None:
        with self.assertRaisesRegex(Unusable, r"input\.json: this is an input.* give --csv another name"):
            refuse_shared({"--out": "elsewhere", "--csv": str(self.input)}, ["other", str(self.input)])
        with self.assertRaisesRegex(Unusable, "--b and --c name one file"):
            refuse_shared({"--a": "x", "--b": "y", "--c": "./y"}, [])
        refuse_shared({"--a": "x", "--b": "y"}, [str(self.input)])
        refuse_shared({}, [str(self.input)])

    def test_what_begins_otherwise_is_refused_and_a_folder_is_left_to_the_writer(self) -> None:
        for data in (b"{}", b"\n", b"Run,System,", b" run,system,", b"\xff\xfe"):
            with self.subTest(data=data):
                self.input.write_bytes(data)
                with self.assertRaisesRegex(Unusable, r"input\.json is there and is no table"):
                    refuse_unlike(str(self.input), TABLE, "table")
        for data in (b"", b"run,system,task\r\n"):
            self.input.write_bytes(data)
            refuse_unlike(str(self.input), TABLE, "table")
        for path in (self.folder / "nowhere", self.folder):
            refuse_unlike(str(path), TABLE, "table")
