"""Whole files: read within a limit, or line by line; written whole or not at all.

Every error says what is wrong with which file: Unusable for what was given, EnvironmentFailure for the disk around it.
"""
from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchkit.basics import json_text
from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.disk.locking import sync, sync_folder

MOST_BYTES = 1024 * 1024 * 1024
"""How much is read of a file when the caller names no limit."""
STRIDE = 64
MOST_LINE_BYTES = 64 * 1024 * 1024
MOST_LINES = 20_000_001
"""As many as a run can have trials, and a head."""
_CHUNK_BYTES = 256 * 1024
_LINE_END = re.compile(rb"\n")
_GIVEN_WRONG = {
    errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ,
    errno.EEXIST,
}
_HELD_ON_WINDOWS = {5, 32, 33}
_PATIENCE_S = 2.5


def shown_path(path: Path | str) -> str:
    """A path as it may stand in a message: on one line, control characters shown."""
    return shown_line(str(path), 300)


def refusal(path: Path | str, doing: str, error: OSError | ValueError) -> KitError:
    """The one-line error for a failed call on a path: `doing` is "read" or "written".

    A path that cannot be meant is Unusable; a disk that is full, read-only or broken is EnvironmentFailure.
    """
    if isinstance(error, ValueError):
        return Unusable(f"{shown_path(path)} cannot be {doing}: no file can have this name")
    if doing == "read" and error.errno == errno.ENOENT:
        return Unusable(f"{shown_path(path)}: there is no such file")
    kind = Unusable if doing == "read" or error.errno in _GIVEN_WRONG else EnvironmentFailure
    return kind(f"{shown_path(path)} cannot be {doing}: {error.strerror or type(error).__name__}")


def open_to_read(path: Path | str) -> int:
    """A descriptor of a regular file, for reading. Raises Unusable: missing, folder, device, unreadable."""
    try:
        # without O_NONBLOCK a named pipe would wait for a writer for ever
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        raise refusal(path, "read", error) from None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
    os.close(fd)
    raise Unusable(f"{shown_path(path)} is {'a folder' if is_folder else 'no regular file'}; give a file")


def read_whole(path: Path | str, most_bytes: int = MOST_BYTES) -> bytes:
    """The bytes of a file. Raises Unusable: missing, a folder, unreadable, more than `most_bytes`."""
    with os.fdopen(open_to_read(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            # room is made for as much as is asked for, so no more than the file has
            data = b"" if size > most_bytes else file.read(size + 1)
        except OSError as error:
            raise refusal(path, "read", error) from None
    if max(size, len(data)) > most_bytes:
        raise Unusable(f"{shown_path(path)} is larger than {most_bytes:,} bytes, the most that is read")
    return data


def read_json(path: Path | str, most_bytes: int = MOST_BYTES, most_parts: int = json_text.MOST_PARTS) -> JSON:
    """The value of a JSON file, read strictly. Raises Unusable naming the file and the place in it."""
    data = read_whole(path, most_bytes)
    try:
        return json_text.parse(data, most_parts=most_parts)
    except ValueError as error:
        raise Unusable(f"{shown_path(path)}: {error}") from None


def same_bytes(path: Path | str, chunks: Iterable[bytes]) -> bool:
    """Whether the file is there and holds exactly these bytes; reads no further than the first difference."""
    try:
        file = os.fdopen(open_to_read(path), "rb")
    except Unusable:
        return False
    with file:
        return all(file.read(len(chunk)) == chunk for chunk in chunks) and file.read(1) == b""


def refuse_other(path: Path | str, first_key: str) -> None:
    """Raise Unusable where something stands that is neither empty nor a JSON object with this first key."""
    start = re.compile(rb'\s*\{\s*"' + first_key.encode("ascii") + rb'"\s*:')
    refuse_unlike(path, start, first_key.replace("_", " "))


def refuse_unlike(path: Path | str, start: re.Pattern[bytes], kind: str) -> None:
    """Raise Unusable where a file stands that is neither empty nor begins as `start` does, so is no `kind`."""
    try:
        with os.fdopen(open_to_read(path), "rb") as file:
            head = file.read(200)
    except Unusable:
        if os.path.isfile(path):
            raise  # it cannot be read, so nobody knows whose it is
        return  # nothing is there, or no file: writing will say what
    if head and not start.match(head):
        raise Unusable(f"{shown_path(path)} is there and is no {kind}, so it is not written over; give another name")


def make_folder(folder: Path) -> None:
    """Make a folder and the folders above it, durably; nothing if it is there. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def make_new_folder(folder: Path) -> bool:
    """Make a folder that nobody made before, durably; False if it is there. Raises EnvironmentFailure or Unusable."""
    try:
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            sync_folder(folder.parent)
            return True
    except (OSError, ValueError) as error:
        raise refusal(folder, "made", error) from None
    return False


def write_whole(
    path: Path | str, chunks: Iterable[bytes], *,
    sync: Callable[[int], None] = sync, replace: Callable[[Path, Path], None] | None = None,
) -> None:
    """Write a file whole or not at all: to a temporary file beside it, synced, then put in its place.

    Missing folders are made; a link is replaced, and what it leads to stays as it is. What `chunks` raises passes
    through, and leaves nothing behind. Raises EnvironmentFailure (disk full, read-only, ...) or Unusable (a folder).
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise Unusable(f"{shown_path(target)} is a folder; give a file")
        # /dev/stdout is a link that root could replace
        if str(target.absolute().parent) == "/dev" or (target.exists() and not target.is_file()):
            raise EnvironmentFailure(f"{shown_path(target)} is no regular file, so nothing can be kept there")
        make_folder(target.parent)
        # a name near the limit of the file system has no room for more, so only its head is taken
        temporary = target.parent / f"{target.name[:40]}.partial-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        fd = os.open(temporary, flags, 0o666)
    except (OSError, ValueError) as error:
        raise refusal(path, "written", error) from None
    try:
        try:
            for block in _blocks(chunks):
                with _written(path):
                    view = memoryview(block)
                    while view:
                        view = view[os.write(fd, view):]
            with _written(path):
                sync(fd)
        finally:
            os.close(fd)
        _put_in_place(path, temporary, target, replace or replace_with_retries)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _written(path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refusal(path, "written", error) from None


def _put_in_place(path: Path | str, temporary: Path, target: Path, replace: Callable[[Path, Path], None]) -> None:
    with _written(path):
        replace(temporary, target)
        sync_folder(target.parent)


def _blocks(chunks: Iterable[bytes], size: int = 256 * 1024) -> Iterator[bytes]:
    block = bytearray()
    for chunk in chunks:
        block += chunk
        if len(block) >= size:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def write_new(
    path: Path | str, chunks: Iterable[bytes], *, link: Callable[[Path, Path], None] | None = None,
) -> None:
    """Write a file whole, as `write_whole` does, and never in the place of another.

    Raises Unusable where something stands there, also if it came while `chunks` were taken.
    """
    def put(source: Path, target: Path) -> None:
        try:
            if os.name == "nt":
                os.rename(source, target)  # which there replaces nothing
                return
            try:
                (link or os.link)(source, target)
            except FileExistsError:
                raise
            except OSError:
                # a file system without links: what comes in this moment would still be replaced
                if os.path.lexists(target):
                    raise FileExistsError from None
                os.rename(source, target)
            else:
                os.unlink(source)
        except FileExistsError:
            raise is_there from None

    is_there = Unusable(f"{shown_path(path)} is there already; give the name of a new file")
    if os.path.lexists(path):
        raise is_there
    write_whole(path, chunks, replace=put)


def move_whole(source: Path, target: Path) -> None:
    """Put a file that is whole and synced in the place of another in the same folder. Raises EnvironmentFailure."""
    _put_in_place(target, source, target, replace_with_retries)


def replace_with_retries(
    source: Path, target: Path, *, replace: Callable[[Path, Path], None] = os.replace,
    monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep,
) -> None:
    """`os.replace`, tried again for 2.5 s where a virus scanner of Windows holds one of the files."""
    end = monotonic() + _PATIENCE_S
    while True:
        try:
            return replace(source, target)
        except OSError as error:
            if getattr(error, "winerror", None) not in _HELD_ON_WINDOWS or monotonic() >= end:
                raise
        sleep(0.05)


class LineFile:
    r"""An open file of lines, each closed by "\n", that is too large to hold; it stays the same file even if another
    comes to its path. An index keeps where every STRIDE-th line begins: 8 bytes for so many lines.

    size    how many lines there are. `is_torn`: bytes stand behind the last "\n"
    """

    def __init__(self, path: Path) -> None:
        """Open the file and count its lines. Raises Unusable: missing, a folder, unreadable."""
        self.path = path
        self._file = os.fdopen(open_to_read(path), "rb", buffering=_CHUNK_BYTES)
        self._index = array("q", [0])
        self.size, at, last = 0, 0, b"\n"
        try:
            while chunk := self._file.read(_CHUNK_BYTES):
                for found in _LINE_END.finditer(chunk):
                    self.size += 1
                    if self.size % STRIDE == 0:
                        self._index.append(at + found.end())
                at, last = at + len(chunk), chunk[-1:]
                if self.size > MOST_LINES:
                    raise Unusable(f"{shown_path(path)} has more than {MOST_LINES:,} lines, the most that are read")
        except OSError as error:
            raise refusal(path, "read", error) from None
        self.is_torn = last != b"\n"

    def lines(self, start: int, stop: int) -> Iterator[bytes]:
        r"""The lines from number `start` up to, and without, `stop`, counted from 0; each without its "\n".

        Raises Unusable for a line of more than MOST_LINE_BYTES, and where lines are gone that were there.
        """
        at = self._index[start // STRIDE] if start < stop else 0
        for number in range(start - start % STRIDE, stop):
            try:
                self._file.seek(at)  # within the buffer, this moves a pointer
                line = self._file.readline(MOST_LINE_BYTES + 1)
            except OSError as error:
                raise refusal(self.path, "read", error) from None
            if line[-1:] != b"\n":
                is_long = len(line) > MOST_LINE_BYTES
                raise Unusable(f"{shown_path(self.path)}: line {number + 1} " + (
                    f"has more than {MOST_LINE_BYTES:,} bytes, the most that is read of one" if is_long
                    else "was changed while it was read"))
            at += len(line)
            if number >= start:
                yield line[:-1]

    def close(self) -> None:
        """Close the file. It is also closed when nobody holds this any more."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
