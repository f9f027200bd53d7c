"""The platform's ways to lock and to sync, each in one small function.

Windows and macOS differ from Linux here and nowhere else in the disk layer. What comes from the platform
(`fcntl`, `msvcrt`, `os.fsync`) is an argument of the function that uses it, so that a stand-in can take its place.
"""
from __future__ import annotations

import errno
import importlib
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchkit.basics.errors import EnvironmentFailure

LOCKED_BYTE = 2**30
"""Windows locks bytes, and against readers too: so one byte far behind the data."""
MOST_LOCKING_S = 2.0
"""A lock is had or refused at once; a file system that does neither has none."""
_NOT_HERE = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.ENOSYS}


class LockedElsewhere(EnvironmentFailure):
    """Another process holds the lock."""


def lock(fd: int) -> None:
    """Take the one lock on an open file, or raise at once; it is released when the file is closed.

    Raises LockedElsewhere, or EnvironmentFailure where the file system has no locks.
    """
    if os.name == "nt":
        lock_byte(fd, importlib.import_module("msvcrt"))
    else:
        lock_file(fd, importlib.import_module("fcntl"))


def lock_file(fd: int, fcntl: Any, most_s: float = MOST_LOCKING_S) -> None:
    """Lock by flock: by open file, unlike lockf, which is lost when any descriptor of the file is closed."""
    # only the main thread can be told, and only where it has alarms
    is_timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def ring(_number: int, _frame: object) -> None:
        # Python makes a call again that a signal interrupted, unless this raises
        raise TimeoutError(errno.ETIMEDOUT, f"neither had nor refused within {most_s:g} s")

    before = signal.signal(signal.SIGALRM, ring) if is_timed else None
    try:
        if is_timed:
            signal.setitimer(signal.ITIMER_REAL, most_s)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockedElsewhere("it is locked by another process") from None
    except OSError as error:
        raise _no_locks(error) from None
    finally:
        if is_timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def lock_byte(fd: int, msvcrt: Any) -> None:
    """Lock by one byte (Windows). Not tried on a real Windows."""
    try:
        os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK, errno.EAGAIN):
            raise LockedElsewhere("it is locked by another process") from None
        raise _no_locks(error) from None


def _no_locks(error: OSError) -> EnvironmentFailure:
    reason = error.strerror or "no reason given"
    return EnvironmentFailure(f"it cannot be locked ({reason}); put it on a disk of this machine")


def sync(fd: int) -> None:
    """Return when the bytes of an open file are on the disk. Raises OSError; such a failure is final."""
    if os.name == "nt":
        os.fsync(fd)
        return
    import fcntl  # once a trial: import_module would take longer than the rest of this function
    if hasattr(fcntl, "F_FULLFSYNC"):
        sync_fully(fd, fcntl, os.fsync)
    else:
        getattr(os, "fdatasync", os.fsync)(fd)


def sync_fully(fd: int, fcntl: Any, fsync: Callable[[int], None]) -> None:
    """Sync past the cache of the drive (macOS, where fsync does not); fsync only where that is not supported."""
    try:
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        fsync(fd)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable. Without it 14 of 65 simulated power cuts lost a replaced file.

    Windows cannot open a folder, and some file systems cannot sync one: there it does nothing.
    """
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    finally:
        os.close(fd)
