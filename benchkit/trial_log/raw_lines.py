r"""The lines of a log as bytes: one after the other, or the one at an offset; never more than one in memory.

What does not live here: which lines count (accounting.py).
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from benchkit.basics import strict_json
from benchkit.basics.canonical import is_whole
from benchkit.basics.encodings import CRLF, encoding_fault
from benchkit.basics.errors import Unusable
from benchkit.disk.whole_files import open_to_read, refusal, shown_path
from benchkit.trial_log.lines import MOST_LINE_BYTES, Line, Place, line_of, place_of

_BUFFER_BYTES, _PIECE_BYTES = 256 * 1024, 2048
MOST_TORN_BYTES = 64 * 1024
"""No first line of a session or event of a trace that a power cut tears is longer."""
_TORN_BY_POWER = re.compile(rb"\x00[\x00 -~]*")


class LineSource:
    """An open log, for reading; the file stays the same one even if another comes to stand at its path."""

    def __init__(self, path: Path) -> None:
        """Open the log. Raises Unusable: missing, a folder, unreadable, changed by a program on Windows."""
        self.path = path
        self._file = os.fdopen(open_to_read(path), "rb", buffering=_BUFFER_BYTES)
        self._stands_at = -1
        self._opened = _state(os.fstat(self._file.fileno()))
        self._refuse_changed()

    def _refuse_changed(self) -> None:
        """Raise Unusable for a log whose every line was changed: all is there, and none of it would count."""
        try:
            first = self._read_at(0)
        except OSError as error:
            raise refusal(self.path, "read", error) from None
        fault = encoding_fault(first) or (
            CRLF if first.endswith(b"\r\n") and is_whole(first.removesuffix(b"\r\n")) else None)
        if fault:
            raise Unusable(f"{shown_path(self.path)}: {fault}")

    def refuse_foreign(self, start: bytes, kind: str) -> None:
        """Raise Unusable for a file that nothing of ours has begun: bytes are never added to one.

        Ours is an empty file, one that holds a whole line, and one whose lines were torn and begin as the first line of
        ours does (`start`), or that a power cut has filled with NULs up to some place of that line.
        """
        head = self._file_head()
        if head and not _is_begun(head, start) and not any(
                data is not None and is_whole(data) for _, _, data in self.lines()):
            raise Unusable(f"{shown_path(self.path)}: this is no {kind}, for no line of one is in it, so nothing is "
                           f"added to it; give another name, or move this file away")

    def _file_head(self) -> bytes:
        self._stands_at = -1
        try:
            self._file.seek(0)
            return self._file.read(MOST_TORN_BYTES + 1)
        except OSError as error:
            raise refusal(self.path, "read", error) from None

    @property
    def is_unchanged(self) -> bool:
        """Whether the file at the path is this one, with nothing written to it since it was opened."""
        try:
            return _state(os.stat(self.path)) == self._opened
        except OSError:
            return False

    def lines(self, start: int = 0) -> Iterator[tuple[int, int, bytes | None]]:
        r"""Offset, length with its "\n", and bytes without it, of every line from the one that begins at `start`.

        The bytes are None for a line of more than MOST_LINE_BYTES. Ends at the last newline there is: what
        stands behind it is torn, or still being written.
        """
        offset = start
        try:
            while line := self._read_at(offset):
                if line[-1:] == b"\n":
                    length, data = len(line), line[:-1]
                elif (rest := self._rest_of(line)) is not None:
                    length, data = len(line) + rest, None
                else:
                    return
                begin, offset = offset, offset + length
                self._stands_at = offset
                yield begin, length, data
        except OSError as error:
            raise refusal(self.path, "read", error) from None

    def _read_at(self, offset: int) -> bytes:
        # whoever takes the lines one by one may read others in between
        if self._stands_at != offset:
            self._file.seek(offset)
        self._stands_at = -1
        return self._file.readline(MOST_LINE_BYTES + 1)

    def _rest_of(self, piece: bytes) -> int | None:
        """Bytes from the end of a full piece to the newline of its line; None where the file ends before."""
        count = 0
        while len(piece) > MOST_LINE_BYTES:
            piece = self._file.readline(MOST_LINE_BYTES + 1)
            count += len(piece)
            if piece[-1:] == b"\n":
                return count
        return None

    def at(self, offset: int) -> bytes:
        r"""The whole line that begins at an offset, without its "\n". Raises Unusable if there is none."""
        try:
            line = self._piece_at(offset) if hasattr(os, "pread") else self._read_at(offset)
        except OSError as error:
            raise refusal(self.path, "read", error) from None
        if line[-1:] != b"\n" or not is_whole(line[:-1]):
            raise Unusable(f"{shown_path(self.path)}: byte {offset}: the line was changed while it was read")
        return line[:-1]

    def _piece_at(self, offset: int) -> bytes:
        # one line here, one there: to fill the whole buffer for each took half of the time of a conversion
        data, size = b"", _PIECE_BYTES
        while b"\n" not in data and len(data) <= MOST_LINE_BYTES:
            piece = os.pread(self._file.fileno(), size, offset + len(data))
            if not piece:
                break
            data, size = data + piece, size * 2
        return data[:data.find(b"\n") + 1]

    def close(self) -> None:
        """Close the file. It is also closed when nobody holds this any more."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def _is_begun(head: bytes, start: bytes) -> bool:
    """Whether a file begins with the first line of ours, or with what is left of it where it was torn."""
    for line in head.split(b"\n"):
        if line.startswith(start):
            return True
        if not (start.startswith(line) or _TORN_BY_POWER.fullmatch(line)):
            return False
    return head.strip(b"\n") != b"" and len(head) <= MOST_TORN_BYTES


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def line_and_place(where: str, data: bytes) -> tuple[Line, Place]:
    """What a whole line says. Raises Unusable for what no line can say; `where` names file and line."""
    try:
        fields = strict_json.parse(data)
        return line_of(fields), place_of(fields)
    except ValueError as error:
        raise Unusable(f"{where}: {error}") from None


def where_in(path: Path, number: int, offset: int) -> str:
    """A line of a log, as it stands in a message: file, line from 1, byte from 0."""
    return f"{shown_path(path)}: line {number} (byte {offset})"
