"""A file that only grows: what "written" means when the disk is full, slow to sync, or not the same any more."""
from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.disk.locking import LockedElsewhere, lock

HOLD = ("import sys; from benchkit.disk.appending import AppendFile\n"
        "file = AppendFile.open(sys.argv[1]); print('held', flush=True); sys.stdin.readline()\n")


class CrashingDisk:
    """A disk that keeps only what was synced: what a power cut would leave is `kept`."""

    def __init__(self, path: Path) -> None:
        self.path, self.kept = path, b""
        self.sync_fails = self.write_takes = 0
        self.full_after: int | None = None

    def write(self, fd: int, data: memoryview) -> int:
        if self.full_after is not None:
            if self.full_after == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            data = data[: self.full_after]
            self.full_after -= len(data)
        return os.write(fd, data[: self.write_takes] if self.write_takes else data)

    def sync(self, _fd: int) -> None:
        if self.sync_fails:
            self.sync_fails -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.kept = self.path.read_bytes()

    def calls(self) -> DiskCalls:
        return DiskCalls(write=self.write, sync=self.sync)


class Appending(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "log"
        self.disk = CrashingDisk(self.path)

    def opened(self, calls: DiskCalls | None = None) -> AppendFile:
        file = AppendFile.open(self.path, calls or self.disk.calls())
        self.addCleanup(file.close)
        return file

    def refused(self, kind: type[KitError], file: AppendFile, data: bytes = b"more") -> str:
        with self.assertRaises(kind) as raised:
            file.append(data)
        return str(raised.exception)

    def test_what_append_returned_from_outlives_a_power_cut(self) -> None:
        file, told = self.opened(), b""
        for data in (b"one\n", b"two\n", b"three\n"):
            file.append(data)
            told += data
            self.assertEqual(self.disk.kept, told)
        self.assertEqual(file.size, len(told))

    def test_a_short_write_is_gone_on_with_until_all_is_out(self) -> None:
        self.disk.write_takes = 3
        file = self.opened()
        file.append(b"a line that is longer than three bytes\n")
        self.assertEqual(self.disk.kept, b"a line that is longer than three bytes\n")

    def test_a_disk_that_fills_up_in_the_middle_of_a_line_is_told_and_final(self) -> None:
        file = self.opened()
        file.append(b"first\n")
        self.disk.full_after = 4
        self.assertIn("No space left", self.refused(EnvironmentFailure, file, b"second\n"))
        self.disk.full_after = None
        self.assertTrue(file.has_failed)
        self.assertIn("No space left", self.refused(EnvironmentFailure, file, b"third\n"))
        self.assertEqual(self.path.read_bytes(), b"first\nseco")
        self.assertEqual(file.size, len(b"first\n"))

    def test_a_disk_that_takes_nothing_and_says_nothing_is_no_endless_loop(self) -> None:
        file = self.opened(DiskCalls(write=lambda fd, data: 0))
        self.assertIn("takes no more bytes", self.refused(EnvironmentFailure, file))

    def test_a_failed_sync_is_told_and_never_tried_again(self) -> None:
        file = self.opened()
        file.append(b"first\n")
        self.disk.sync_fails = 1
        self.assertIn("Input/output error", self.refused(EnvironmentFailure, file, b"second\n"))
        self.refused(EnvironmentFailure, file, b"third\n")
        self.assertEqual(self.disk.kept, b"first\n")
        self.assertNotIn(b"third", self.path.read_bytes())

    def test_a_file_that_is_not_the_same_any_more_is_left_alone(self) -> None:
        other = self.path.with_name("other")

        def removed() -> None:
            self.path.unlink()

        def replaced() -> None:
            other.write_bytes(b"first\n")
            os.replace(other, self.path)

        def cut() -> None:
            os.truncate(self.path, 3)

        def grown() -> None:
            with self.path.open("ab") as file:
                file.write(b"foreign\n")

        for change, words in ((removed, "removed or replaced"), (replaced, "removed or replaced"),
                              (cut, "changed by another"), (grown, "changed by another")):
            with self.subTest(change.__name__):
                self.path.unlink(missing_ok=True)
                file = self.opened()
                file.append(b"first\n")
                change()
                before = self.path.read_bytes() if self.path.exists() else None
                self.assertIn(words, self.refused(EnvironmentFailure, file))
                self.assertEqual(self.path.read_bytes() if self.path.exists() else None, before)
                file.close()

    def test_one_writer_only_in_one_process_and_in_two(self) -> None:
        first = self.opened()
        with self.assertRaises(LockedElsewhere):
            AppendFile.open(self.path)
        first.append(b"unhurt\n")
        first.close()
        with subprocess.Popen(
                [sys.executable, "-c", HOLD, str(self.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            self.assertEqual(holder.stdout.readline().strip(), b"held")
            with self.assertRaises(LockedElsewhere):
                AppendFile.open(self.path)
            holder.kill()
        self.opened().append(b"after a kill\n")
        self.assertEqual(self.path.read_bytes(), b"unhurt\nafter a kill\n")

    def test_a_file_put_in_place_between_opening_and_locking_is_the_one_that_is_written(self) -> None:
        other = self.path.with_name("other")
        other.write_bytes(b"other\n")

        def replaced_meanwhile(fd: int) -> None:
            if other.exists():
                os.replace(other, self.path)
            lock(fd)

        file = self.opened(DiskCalls(lock=replaced_meanwhile))
        file.append(b"more\n")
        self.assertEqual(self.path.read_bytes(), b"other\nmore\n")

    def test_a_file_that_is_replaced_each_time_is_given_up(self) -> None:
        def replaced(fd: int) -> None:
            other = self.path.with_name("other")
            other.write_bytes(b"")
            os.replace(other, self.path)

        with self.assertRaises(EnvironmentFailure):
            AppendFile.open(self.path, DiskCalls(lock=replaced))

    def test_where_there_are_no_locks_nothing_is_written(self) -> None:
        def none(_fd: int) -> None:
            raise EnvironmentFailure("it cannot be locked (No locks available)")

        with self.assertRaises(EnvironmentFailure) as raised:
            AppendFile.open(self.path, DiskCalls(lock=none))
        self.assertIn(f"{self.path}: it cannot be locked", str(raised.exception))

    def test_a_new_file_is_made_durable_in_its_folder(self) -> None:
        synced: list[Path] = []
        self.path = self.path.parent / "new" / "log"
        AppendFile.open(self.path, DiskCalls(sync_folder=synced.append)).close()
        self.assertEqual(synced, [Path(os.path.realpath(self.path)).parent])

    def test_a_folder_or_a_device_is_no_log(self) -> None:
        with self.assertRaises(Unusable):
            AppendFile.open(self.path.parent)
        if os.name == "posix":
            with self.assertRaises(EnvironmentFailure):
                AppendFile.open("/dev/full")

    def test_a_closed_file_takes_nothing(self) -> None:
        with self.opened() as file:
            file.append(b"x")
        file.close()
        self.refused(EnvironmentFailure, file)
