"""The platform's ways to lock and to sync, with stand-ins for the platforms that are not here."""
from __future__ import annotations

import errno
import os
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from benchkit.basics.errors import EnvironmentFailure
from benchkit.disk import locking


def failing(number: int) -> Callable[..., None]:
    def call(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))
    return call


class Windows:
    """A stand-in for msvcrt: byte locks from the place of the file pointer on."""

    LK_NBLCK = 2

    def __init__(self, error: int | None = None) -> None:
        self.error, self.locked = error, [0]

    def locking(self, fd: int, mode: int, count: int) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))
        self.locked = [mode, os.lseek(fd, 0, os.SEEK_CUR), count]


class Unix:
    """A stand-in for fcntl."""

    LOCK_EX, LOCK_NB, F_FULLFSYNC = 2, 4, 51

    def __init__(self, call: Callable[..., None]) -> None:
        self.flock = self.fcntl = call


class WithAFile(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "file"
        self.path.write_bytes(b"data")

    def opened(self) -> int:
        fd = os.open(self.path, os.O_RDWR)
        self.addCleanup(os.close, fd)
        return fd


class Locking(WithAFile):
    def test_a_second_lock_on_the_same_file_is_refused_and_the_first_holds(self) -> None:
        first = self.opened()
        locking.lock(first)
        for _ in range(2):
            with self.assertRaises(locking.LockedElsewhere):
                locking.lock(self.opened())

    def test_a_lock_ends_with_its_file(self) -> None:
        first = os.open(self.path, os.O_RDWR)
        locking.lock(first)
        os.close(first)
        locking.lock(self.opened())

    def test_a_file_system_without_locks_is_refused(self) -> None:
        for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO):
            with self.subTest(number), self.assertRaises(EnvironmentFailure) as raised:
                locking.lock_file(self.opened(), Unix(failing(number)))
            self.assertNotIsInstance(raised.exception, locking.LockedElsewhere)
            self.assertIn("cannot be locked", str(raised.exception))

    def test_windows_locks_one_byte_far_behind_the_data(self) -> None:
        windows = Windows()
        locking.lock_byte(self.opened(), windows)
        self.assertEqual(windows.locked, [windows.LK_NBLCK, 2**30, 1])

    def test_windows_tells_a_lock_held_elsewhere_from_no_locks_at_all(self) -> None:
        table = {errno.EACCES: True, errno.EDEADLK: True, errno.ENOSYS: False}
        for number, elsewhere in table.items():
            with self.subTest(number), self.assertRaises(EnvironmentFailure) as raised:
                locking.lock_byte(self.opened(), Windows(number))
            self.assertEqual(isinstance(raised.exception, locking.LockedElsewhere), elsewhere)


class Syncing(WithAFile):
    def test_a_sync_reaches_the_file(self) -> None:
        locking.sync(self.opened())
        with self.assertRaises(OSError):
            locking.sync(10**6)

    def test_macos_syncs_past_the_cache_of_the_drive(self) -> None:
        calls: list[object] = []
        locking.sync_fully(7, Unix(lambda *given: calls.append(given)), calls.append)
        self.assertEqual(calls, [(7, Unix.F_FULLFSYNC)])

    def test_macos_falls_back_to_fsync_only_where_the_full_sync_is_not_supported(self) -> None:
        synced: list[int] = []
        locking.sync_fully(7, Unix(failing(errno.ENOTSUP)), synced.append)
        self.assertEqual(synced, [7])
        with self.assertRaises(OSError):
            locking.sync_fully(8, Unix(failing(errno.EIO)), synced.append)
        self.assertEqual(synced, [7])

    def test_a_folder_is_synced_and_its_failure_is_heard(self) -> None:
        locking.sync_folder(self.path.parent)
        with mock.patch.object(os, "fsync", failing(errno.EIO)), self.assertRaises(OSError):
            locking.sync_folder(self.path.parent)

    def test_a_file_system_that_cannot_sync_folders_is_let_be(self) -> None:
        with mock.patch.object(os, "fsync", failing(errno.EINVAL)):
            locking.sync_folder(self.path.parent)

    def test_windows_syncs_files_by_fsync_and_folders_not_at_all(self) -> None:
        synced: list[int] = []
        with mock.patch.object(os, "name", "nt"), mock.patch.object(os, "fsync", synced.append):
            locking.sync(7)
            locking.sync_folder(self.path.parent)
        self.assertEqual(synced, [7])
