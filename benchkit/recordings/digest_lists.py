"""The lists of a file of digests, left where they stand and read from there, so that a long one takes no memory.

The kit writes such a file with a digest a line, and only in that layout is it read so; any other JSON of the same
content has no outline, and its reader takes it whole.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from benchkit.basics import json_text
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.values import JSON
from benchkit.disk.whole_files import MOST_BYTES, open_to_read, refusal, shown_path

DIGEST = "[0-9a-f]{64}|error:(?:" + "|".join(ERROR_TYPES) + ")"
"""What the digest of a trial looks like."""
_OPENING = re.compile(rb' {6}"(?:[^"\\]|\\.)*": \[\n')
_LINE = re.compile(rb' {7}(?:"(' + DIGEST.encode("ascii") + rb')"|null)(,?)\n')
_CLOSING = re.compile(rb" {6}\](,?\n)")
_MOST_LINE_BYTES = 64 * 1024
_IN_PLACE = b"false"


@dataclass(frozen=True, slots=True)
class Outline:
    """A file of digests: its JSON with false in place of every list that is left in the file, and these, in order."""

    value: JSON
    lists: tuple[Sequence[str | None], ...]


@dataclass(frozen=True, slots=True)
class _Version:
    """A file as it was when it was first read."""

    path: Path
    state: tuple[int, int, int]

    def changed(self) -> Unusable:
        """The error where it is another one by now."""
        return Unusable(f"{shown_path(self.path)}: it was changed while it was read; try again")


def outline_of(path: Path) -> Outline | None:
    """The outline of a file in the layout that the kit writes; None for any other. Raises Unusable: unreadable.

    The lists raise Unusable when they are taken if the file is another one by then.
    """
    with os.fdopen(open_to_read(path), "rb") as file:
        try:
            return _outline_in(file, _Version(path, _state_of(file)))
        except OSError as error:
            raise refusal(path, "read", error) from None
        except ValueError:
            return None  # whoever reads it whole then says what is wrong, and where


def _outline_in(file: BinaryIO, version: _Version) -> Outline | None:
    kept, lists = bytearray(), []
    while line := file.readline(_MOST_LINE_BYTES):
        kept += line
        if line[-1:] != b"\n" or len(kept) > MOST_BYTES:
            return None
        if _OPENING.fullmatch(line):
            offset = file.tell()
            length, closing = _rest_of_list(file)
            if closing is None:
                return None
            lists.append(_list_at(version, offset, length))
            kept[-2:] = _IN_PLACE + closing
    return Outline(json_text.parse(bytes(kept)), tuple(lists))


def _rest_of_list(file: BinaryIO) -> tuple[int, bytes | None]:
    """How many digests stand from here on, and what stands behind the bracket after them; None for another layout."""
    length, has_more = 0, True
    while has_more:
        found = _LINE.fullmatch(file.readline(_MOST_LINE_BYTES))
        if found is None:
            return length, None
        length, has_more = length + 1, bool(found[2])
    closing = _CLOSING.fullmatch(file.readline(_MOST_LINE_BYTES))
    return length, None if closing is None else closing[1]


def _list_at(version: _Version, offset: int, length: int) -> OnDemand[str | None]:
    def read(start: int, stop: int) -> Iterator[str | None]:
        with os.fdopen(open_to_read(version.path), "rb") as file:
            if _state_of(file) != version.state:
                raise version.changed()
            file.seek(offset)
            for line in islice(file, start, stop):
                found = _LINE.fullmatch(line)
                if found is None:
                    raise version.changed()
                yield None if found[1] is None else found[1].decode("ascii")

    return OnDemand(length, read)


def _state_of(file: BinaryIO) -> tuple[int, int, int]:
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_mtime_ns
