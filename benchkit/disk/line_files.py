r"""A file of lines that is too large to hold: how many lines it has, and any stretch of them, read one by one.

An index keeps where every STRIDE-th line begins: 8 bytes for so many lines.
"""
from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.disk.whole_files import open_to_read, refusal, shown_path

STRIDE = 64
MOST_LINE_BYTES = 64 * 1024 * 1024
MOST_LINES = 20_000_001
"""As many as a run can have trials, and a head."""
_CHUNK_BYTES = 256 * 1024
_LINE_END = re.compile(rb"\n")


class LineFile:
    r"""An open file of lines, each closed by "\n"; it stays the same file even if another comes to its path.

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
