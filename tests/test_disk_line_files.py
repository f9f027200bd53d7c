"""Files of lines: how many there are, any stretch of them, and what is said where lines are not what they were."""
from __future__ import annotations

import random
import tempfile
import tracemalloc
import unittest
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.errors import Unusable
from benchkit.disk import whole_files
from benchkit.disk.whole_files import STRIDE, LineFile


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "lines.jsonl"

    def put(self, *lines: bytes, tail: bytes = b"") -> LineFile:
        self.path.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
        file = LineFile(self.path)
        self.addCleanup(file.close)
        return file


class Stretches(InAFolder):
    def test_any_stretch_is_that_of_the_list(self) -> None:
        chance = random.Random(7)
        lines = [bytes([chance.randrange(32, 127)]) * chance.randrange(200) for _ in range(5 * STRIDE + 3)]
        file = self.put(*lines)
        self.assertEqual((file.size, file.is_torn), (len(lines), False))
        for start, stop in ((0, 1), (0, len(lines)), (STRIDE - 1, STRIDE + 1), (STRIDE, STRIDE), (17, 300), (322, 323)):
            with self.subTest(start=start, stop=stop):
                self.assertEqual(list(file.lines(start, stop)), lines[start:stop])

    def test_two_readings_at_once_do_not_disturb_each_other(self) -> None:
        file = self.put(*(str(number).encode() for number in range(300)))
        pairs = list(zip(file.lines(0, 200), file.lines(100, 300), strict=True))
        self.assertEqual(pairs, [(str(number).encode(), str(number + 100).encode()) for number in range(200)])

    def test_chunks_do_not_matter(self) -> None:
        lines = [b"x" * length for length in range(50)]
        for size in (2, 7, 1024):
            with self.subTest(size), patch.object(whole_files, "_CHUNK_BYTES", size):
                file = self.put(*lines)
                self.assertEqual(list(file.lines(0, file.size)), lines)

    def test_an_empty_file_has_no_lines(self) -> None:
        file = self.put()
        self.assertEqual((file.size, file.is_torn, list(file.lines(0, 0))), (0, False, []))

    def test_what_stands_behind_the_last_line_end_is_torn_and_no_line(self) -> None:
        file = self.put(b"one", b"two", tail=b"thr")
        self.assertEqual((file.size, file.is_torn, list(file.lines(0, 2))), (2, True, [b"one", b"two"]))

    def test_the_index_takes_less_than_a_byte_a_line(self) -> None:
        self.path.write_bytes(b"{}\n" * 200_000)
        tracemalloc.start()
        file = LineFile(self.path)
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        self.addCleanup(file.close)
        self.assertLess(kept - whole_files._CHUNK_BYTES, 200_000)


class Faults(InAFolder):
    def test_a_line_that_is_too_long_is_refused_by_its_number(self) -> None:
        with patch.object(whole_files, "MOST_LINE_BYTES", 10):
            file = self.put(b"short", b"x" * 11)
            self.assertEqual(list(file.lines(0, 1)), [b"short"])
            with self.assertRaisesRegex(Unusable, "line 2 has more than 10 bytes, the most that is read of one"):
                list(file.lines(0, 2))

    def test_lines_that_are_gone_are_a_change_and_not_an_end(self) -> None:
        file = self.put(*[b"x" * 1000] * 1000)
        with self.path.open("r+b") as other:
            other.truncate(500_500)
        with self.assertRaisesRegex(Unusable, "line 501 was changed while it was read"):
            list(file.lines(500, 1000))

    def test_another_file_at_the_path_is_not_read(self) -> None:
        file = self.put(b"old")
        other = self.path.with_name("other")
        other.write_bytes(b"new\n")
        other.replace(self.path)
        self.assertEqual(list(file.lines(0, 1)), [b"old"])

    def test_a_missing_file_is_one_line(self) -> None:
        with self.assertRaisesRegex(Unusable, "there is no such file"):
            LineFile(self.path)
