"""Telling the kit's files apart by how they begin, and what is said of one that stands in another's place."""
from __future__ import annotations

import json
import tempfile
import unittest
from itertools import permutations
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import close_line
from benchkit.disk.file_kinds import FileKind, kind_in, refuse_another_kind

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


if __name__ == "__main__":
    unittest.main()
