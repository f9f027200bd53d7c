"""Whole files, read within a limit and written whole or not at all; and any stretch of a file of lines."""
from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.disk import whole_files
from benchkit.disk.whole_files import STRIDE, LineFile

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "data.json"

    def refused(self, kind: type[KitError], call: Callable[[], object]) -> str:
        with self.assertRaises(kind) as raised:
            call()
        text = str(raised.exception)
        self.assertNotIn("\n", text)
        return text


class Reading(InAFolder):
    def test_a_file_is_read_up_to_the_limit_and_refused_above_it(self) -> None:
        self.path.write_bytes(b"12345")
        self.assertEqual(whole_files.read_whole(self.path, 5), b"12345")
        text = self.refused(Unusable, lambda: whole_files.read_whole(self.path, 4))
        self.assertIn("larger than 4 bytes", text)

    def test_reading_a_small_file_takes_no_room_for_the_largest(self) -> None:
        self.path.write_bytes(b"12345")
        tracemalloc.start()
        whole_files.read_whole(self.path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, 1_000_000)

    def test_what_cannot_be_read_is_named(self) -> None:
        loop = self.folder / "loop"
        table = [(self.folder / "missing", "no such file"), (self.folder, "is a folder"),
                 (self.folder / "a\0b", "no file can have this name"), (self.folder / ("x" * 300), "cannot be read")]
        if hasattr(os, "mkfifo"):
            loop.symlink_to(loop)
            os.mkfifo(self.folder / "pipe")
            table += [(self.folder / "pipe", "no regular file"), (loop, "cannot be read"),
                      (Path("/dev/zero"), "no regular file")]
        for path, words in table:
            with self.subTest(path.name[:20]):
                text = self.refused(Unusable, lambda path=path: whole_files.read_whole(path))  # type: ignore[misc]
                self.assertIn(words, text)

    def test_a_name_that_would_move_the_cursor_is_shown_escaped(self) -> None:
        text = self.refused(Unusable, lambda: whole_files.read_whole(self.folder / "a\x1b[2Jb"))
        self.assertIn("a\\x1b[2Jb", text)

    def test_json_is_read_strictly_and_its_error_names_the_file(self) -> None:
        self.path.write_text('{"a": [1, 2]}', encoding="utf-8")
        self.assertEqual(whole_files.read_json(self.path), {"a": [1, 2]})
        for text in ('{"a": 1, "a": 2}', "[NaN]", "{", "", "[" * 100_000):
            self.path.write_text(text, encoding="utf-8")
            with self.subTest(text[:20]):
                self.assertIn("data.json: ", self.refused(Unusable, lambda: whole_files.read_json(self.path)))

    def test_equal_bytes_are_told_from_any_other(self) -> None:
        self.path.write_bytes(b"one two")
        table = [([b"one ", b"two"], True), ([b"one two"], True), ([b"one"], False), ([b"one two", b"!"], False),
                 ([b"one twa"], False), ([], False)]
        for chunks, equal in table:
            with self.subTest(chunks):
                self.assertEqual(whole_files.same_bytes(self.path, chunks), equal)
        self.assertFalse(whole_files.same_bytes(self.folder / "missing", []))
        self.assertFalse(whole_files.same_bytes(self.folder, []))


class Writing(InAFolder):
    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_file_is_written_whole_and_nothing_else_is_left(self) -> None:
        for chunks in ([b"a", b"b\n"], [], [bytes(3 * 1024 * 1024)]):
            whole_files.write_whole(self.path, chunks)
            self.assertEqual(self.path.read_bytes(), b"".join(chunks))
            self.assertEqual(self.names(), ["data.json"])

    def test_missing_folders_are_made(self) -> None:
        whole_files.write_whole(self.folder / "a" / "b" / "c.json", [b"x"])
        self.assertEqual((self.folder / "a" / "b" / "c.json").read_bytes(), b"x")

    def test_the_umask_decides_who_may_read(self) -> None:
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        whole_files.write_whole(self.path, [b"x"])
        if os.name == "posix":
            self.assertEqual(self.path.stat().st_mode & 0o777, 0o640)

    def test_a_failure_in_the_middle_leaves_the_old_file_and_no_other(self) -> None:
        def torn() -> Iterator[bytes]:
            yield bytes(2 * 1024 * 1024)
            raise Unusable("the log is damaged")

        def full(_fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def held(_source: Path, _target: Path) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        self.path.write_bytes(b"old")
        table: list[tuple[type[KitError], str, Callable[[], None]]] = [
            (Unusable, "the log is damaged", lambda: whole_files.write_whole(self.path, torn())),
            (EnvironmentFailure, "No space left", lambda: whole_files.write_whole(self.path, [b"new"], sync=full)),
            (EnvironmentFailure, "Read-only", lambda: whole_files.write_whole(self.path, [b"new"], replace=held)),
        ]
        for kind, words, call in table:
            with self.subTest(words):
                self.assertIn(words, self.refused(kind, call))
                self.assertEqual((self.names(), self.path.read_bytes()), (["data.json"], b"old"))

    def test_the_bytes_are_synced_before_they_take_the_place(self) -> None:
        order: list[str] = []

        def synced(_fd: int) -> None:
            order.append("synced " + self.path.read_text(encoding="utf-8"))

        self.path.write_bytes(b"old")
        whole_files.write_whole(self.path, [b"new"], sync=synced)
        self.assertEqual([*order, self.path.read_text(encoding="utf-8")], ["synced old", "new"])

    def test_a_disk_that_takes_only_a_part_is_no_success(self) -> None:
        if os.name != "posix":
            self.skipTest("no RLIMIT_FSIZE here")
        script = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
            "from benchkit.basics.errors import EnvironmentFailure\n"
            "from benchkit.disk.whole_files import write_whole\n"
            "try: write_whole(sys.argv[1], [bytes(9000)])\n"
            "except EnvironmentFailure as error: print(error)\n")
        self.path.write_bytes(b"old")
        command = [sys.executable, "-c", script, str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertIn("File too large", done.stdout)
        self.assertEqual((self.names(), self.path.read_bytes()), (["data.json"], b"old"))

    def test_a_new_file_never_takes_the_place_of_another_not_even_of_one_that_came_meanwhile(self) -> None:
        def no_links(_source: Path, _target: Path) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        def meanwhile() -> Iterator[bytes]:
            yield b"new"
            self.path.write_bytes(b"old")

        def refused(chunks: Iterator[bytes], link: Callable[[Path, Path], None] | None) -> str:
            return self.refused(Unusable, lambda: whole_files.write_new(self.path, chunks, link=link))

        for link in (None, no_links):
            for chunks in (meanwhile(), iter([b"new"])):
                words = refused(chunks, link)
                self.assertIn("data.json is there already; give the name of a new file", words)
                self.assertEqual((self.names(), self.path.read_bytes()), (["data.json"], b"old"))
            self.path.unlink()
            whole_files.write_new(self.path, [b"new"], link=link)
            self.assertEqual((self.names(), self.path.read_bytes()), (["data.json"], b"new"))
            self.path.unlink()

    def test_a_link_is_replaced_and_its_target_stays(self) -> None:
        target = self.folder / "target"
        target.write_bytes(b"old")
        self.path.symlink_to(target)
        whole_files.write_whole(self.path, [b"new"])
        self.assertFalse(self.path.is_symlink())
        self.assertEqual((target.read_bytes(), self.path.read_bytes()), (b"old", b"new"))

    def test_a_folder_and_a_device_are_refused_and_stay(self) -> None:
        self.refused(Unusable, lambda: whole_files.write_whole(self.folder, [b"x"]))
        if os.name == "posix":
            self.refused(EnvironmentFailure, lambda: whole_files.write_whole("/dev/null", [b"x"]))
            self.assertFalse(Path("/dev/null").is_file())
            # a link there, as /dev/stdout is one, is never replaced
            self.refused(EnvironmentFailure, lambda: whole_files.write_whole("/dev/benchkit-none", [b"x"]))
            self.assertFalse(Path("/dev/benchkit-none").exists())
        self.path.write_bytes(b"a file")
        self.refused(Unusable, lambda: whole_files.write_whole(self.path / "below", [b"x"]))
        self.refused(Unusable, lambda: whole_files.write_whole(self.folder / "a\0b", [b"x"]))

    @unittest.skipIf(AS_ROOT or os.name != "posix", "the superuser may write everywhere")
    def test_a_read_only_folder_is_told(self) -> None:
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.assertIn("denied", self.refused(EnvironmentFailure, lambda: whole_files.write_whole(self.path, [b"x"])))

    def test_a_long_name_has_room_for_its_temporary_file(self) -> None:
        path = self.folder / ("x" * 250)
        whole_files.write_whole(path, [b"x"])
        self.assertEqual(path.read_bytes(), b"x")


class PatienceOnWindows(unittest.TestCase):
    def replaced(self, failures: list[int]) -> float:
        """Try with these WinErrors in a row; the seconds waited."""
        now = [0.0]

        def replace(_source: Path, _target: Path) -> None:
            if failures:
                error = OSError(errno.EACCES, "held")
                error.winerror = failures.pop(0)  # type: ignore[attr-defined]
                raise error

        def sleep(seconds: float) -> None:
            now[0] += seconds

        whole_files.replace_with_retries(
            Path("a"), Path("b"), replace=replace, monotonic=lambda: now[0], sleep=sleep)
        return now[0]

    def test_a_file_held_by_a_scanner_is_tried_again(self) -> None:
        self.assertGreater(self.replaced([5, 32, 33]), 0)
        self.assertEqual(self.replaced([]), 0)

    def test_patience_ends_after_two_and_a_half_seconds(self) -> None:
        failures = [32] * 1000
        with self.assertRaises(OSError):
            self.replaced(failures)
        self.assertLess(1000 - len(failures), 60)

    def test_another_error_is_not_tried_again(self) -> None:
        failures = [112, 112]
        with self.assertRaises(OSError):
            self.replaced(failures)
        self.assertEqual(failures, [112])


class Lines(InAFolder):
    def put(self, *lines: bytes, tail: bytes = b"") -> LineFile:
        self.path.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
        file = LineFile(self.path)
        self.addCleanup(file.close)
        return file

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
