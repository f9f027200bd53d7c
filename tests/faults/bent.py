"""bench.py on a machine where one thing is bent: `python3 tests/faults/bent.py BEND[,BEND] [FLAG ...]`.

What the machine does is changed before the kit is imported; the kit itself is not touched. A file named
`bent-NAME` appears in the working folder when the bent thing is met, so that a test knows the moment.
"""
from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

SLOW_S = 1.0
ROOT = Path(__file__).resolve().parents[2]


def no_sync() -> None:
    """A sync says that it has synced, and has not."""
    os.fsync = os.fdatasync = lambda fd: None


def slow_write() -> None:
    """The first trial line is written in two halves, with a wait between."""
    real, met = os.write, [0]

    def write(fd: int, data: bytes | memoryview) -> int:
        if met[0] or b'"kind":"trial"' not in bytes(data):
            return real(fd, data)
        met[0] = real(fd, bytes(data)[:len(data) // 2])
        _tell("slow_write")
        time.sleep(SLOW_S)
        return met[0]
    os.write = write  # type: ignore[assignment]


def small_writes() -> None:
    """A write takes 100 bytes at most, after a short wait."""
    real = os.write

    def write(fd: int, data: bytes | memoryview) -> int:
        time.sleep(0.0005)
        return real(fd, bytes(data)[:100])
    os.write = write  # type: ignore[assignment]


def slow_replace() -> None:
    """A file that is put in its place stands beside it for a while first."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        _tell("slow_replace")
        time.sleep(SLOW_S)
        real(source, target)
    os.replace = replace  # type: ignore[assignment]


def no_locks() -> None:
    """A file system that has no locks, as some on a network."""
    import fcntl

    def flock(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    fcntl.flock = flock  # type: ignore[assignment]


def jumping_clock() -> None:
    """The wall clock jumps an hour ahead and a day back, again and again."""
    real, jumps = time.time, [0]

    def jumped() -> float:
        jumps[0] += 1
        return real() + (3600.0, -86400.0, 0.0)[jumps[0] % 3]
    time.time = jumped


BENDS: dict[str, Callable[[], None]] = {
    bend.__name__: bend for bend in (no_sync, slow_write, small_writes, slow_replace, no_locks, jumping_clock)}


def _tell(name: str) -> None:
    Path(f"bent-{name}").touch()


def main() -> int:
    """Bend, then run bench.py with the flags that are left."""
    for name in sys.argv[1].split(","):
        BENDS[name]()
    sys.argv, sys.path[0] = [str(ROOT / "bench.py"), *sys.argv[2:]], str(ROOT)
    import bench
    return bench.main()


if __name__ == "__main__":
    sys.exit(main())
