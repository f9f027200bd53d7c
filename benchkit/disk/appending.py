"""A file that only grows, has one writer, and says "written" only when the bytes are on the disk.

Bytes once in the file never change and are never cut: after a failure the file is left as it is, and this
writer is finished with it.
"""
from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from benchkit.basics.errors import EnvironmentFailure, Unusable
from benchkit.disk import locking
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import make_folder, refusal, shown_path

_TRIES = 10
_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class DiskCalls:
    """The calls that a disk can fail, as arguments, so that a failing disk can be stood in for."""

    write: Callable[[int, memoryview], int] = os.write
    sync: Callable[[int], None] = locking.sync
    lock: Callable[[int], None] = locking.lock
    sync_folder: Callable[[Path], None] = locking.sync_folder


class AppendFile:
    """An open, locked file; made by `open`. Use as a context manager, or `close` it.

    `size` is how many bytes it has: those found, and those written.
    """

    def __init__(self, path: Path, fd: int, calls: DiskCalls) -> None:
        self._path, self._fd, self._calls = path, fd, calls
        self._identity = os.fstat(fd)
        self.size = self._identity.st_size
        self._failure: EnvironmentFailure | None = None

    @classmethod
    def open(cls, path: Path | str, calls: DiskCalls | None = None) -> AppendFile:
        """Make the file if it is missing, and lock it.

        Raises LockedElsewhere, another EnvironmentFailure (no locks, read-only, a device), or Unusable (folder, link).
        """
        path, calls = Path(path), calls or DiskCalls()
        for _ in range(_TRIES):
            fd = _opened(path, calls)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise EnvironmentFailure(f"{shown_path(path)} is no regular file, so nothing can be kept there")
                try:
                    calls.lock(fd)
                except EnvironmentFailure as error:
                    raise type(error)(f"{shown_path(path)}: {error}") from None
                with suppress(OSError):
                    if os.path.samestat(os.lstat(path), os.fstat(fd)):
                        return cls(path, fd, calls)
            except BaseException:
                os.close(fd)
                raise
            # between opening and locking, another file came to stand at the path: that one is meant
            os.close(fd)
        raise EnvironmentFailure(f"{shown_path(path)} is replaced again and again by another program")

    @property
    def has_failed(self) -> bool:
        """Whether an append failed: then nothing more can be appended by this writer."""
        return self._failure is not None

    def append(self, data: bytes) -> None:
        """Return when all of `data` is at the end of the file and synced.

        Raises EnvironmentFailure when it is not, or may not be; this is final: every later append raises the same,
        since a sync that failed once can succeed the next time without the bytes being on the disk.
        """
        self.write(data)
        self.sync()

    def write(self, data: bytes) -> None:
        """Return when all of `data` is at the end of the file: it survives a kill, and a power cut once synced.

        Raises EnvironmentFailure as `append` does, for good.
        """
        if self._failure is not None:
            raise self._failure
        try:
            found = os.lstat(self._path)
        except OSError:
            found = None
        if found is None or not os.path.samestat(found, self._identity):
            self._fail("was removed or replaced while it was written")
        elif found.st_size != self.size:
            self._fail("was changed by another program while it was written")
        view = memoryview(data)
        try:
            # a full disk takes a part without an error, and says so only the next time
            while view:
                count = self._calls.write(self._fd, view)
                if count <= 0:
                    self._fail("takes no more bytes")
                view = view[count:]
        except OSError as error:
            self._lost(error)
        self.size += len(data)

    def sync(self) -> None:
        """Return when all that was written is on the disk. Raises EnvironmentFailure as `append` does, for good."""
        if self._failure is not None:
            raise self._failure
        try:
            self._calls.sync(self._fd)
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> NoReturn:
        reason = error.strerror or type(error).__name__
        self._fail(f"cannot be written: {reason}; what was recorded before stays, and the same command goes on once "
                   "this is mended")

    def _fail(self, what: str) -> NoReturn:
        """A failure is the last thing this writer does."""
        self._failure = EnvironmentFailure(f"{shown_path(self._path)} {what}")
        raise self._failure

    def close(self) -> None:
        """Release the lock. Closing twice does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._failure = self._failure or EnvironmentFailure(f"{shown_path(self._path)} is closed")

    def __enter__(self) -> AppendFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def alone(path: Path, waits: Callable[[], None], sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Within this no other process is within it for the same `path`, an empty file that is made and removed again.

    Where another is, `waits` is called once, and its end is waited for. Raises as `AppendFile.open` does.
    """
    lock, is_told = None, False
    while lock is None:
        try:
            lock = AppendFile.open(path)
        except LockedElsewhere:
            if not is_told:
                waits()
            is_told = True
            sleep(_WAIT_S)
    try:
        yield
    finally:
        # under the lock, so nobody else's is removed; Windows removes no open file, and keeps an empty one
        if lock.size == 0:
            with suppress(OSError):
                path.unlink()
        lock.close()


def refuse_link(path: Path) -> None:
    """Raise Unusable for a symbolic link: what is added through one lands in a file that nobody named."""
    if path.is_symlink():
        raise Unusable(f"{shown_path(path)} is a link to {shown_path(os.path.realpath(path))}, and nothing is added to "
                       f"a file through a link; give the name of the file itself, or remove the link")


def _opened(path: Path, calls: DiskCalls) -> int:
    refuse_link(path)
    flags = os.O_RDWR | os.O_APPEND
    for name in ("O_BINARY", "O_NONBLOCK", "O_NOFOLLOW"):  # the last for a link that came just now
        flags |= getattr(os, name, 0)
    try:
        make_folder(path.parent)
        fd = os.open(path, flags | os.O_CREAT, 0o666)
        # an empty file may have been made just now, also by somebody whose power went before this
        if os.fstat(fd).st_size == 0:
            try:
                calls.sync_folder(path.parent)
            except OSError:
                os.close(fd)
                raise
        return fd
    except (OSError, ValueError) as error:
        raise refusal(path, "written", error) from None
