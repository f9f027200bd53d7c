"""The fast scan of a log: its lines as bytes, a trial line without parsing it, and what must be known beforehand.

The prescan finds the end of the log, its last plan and the damage it names; only then can its lines be counted.
Never more than one line is in memory.

Parsing strictly takes four times as long as `json.loads`; a log of a million trials is read at every start. The
shape accepts a part of what `lines.line_of` accepts, and nothing else (a test holds that): a trial line as the
kit writes it, whole, in canonical order. Whatever else there is takes the long way.

A session line names damage that stands before it, and a plan may grow after the trials it holds: so a log is
looked over once for these, and then counted (accounting.py).
"""
from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics import fields as types
from benchkit.basics import json_text
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import is_whole
from benchkit.basics.texts import CRLF, encoding_fault
from benchkit.basics.values import Shard
from benchkit.disk.whole_files import open_to_read, refusal, shown_path
from benchkit.trial_log.lines import (
    MOST_LINE_BYTES,
    Damage,
    Line,
    LinePosition,
    PlanLine,
    SessionLine,
    line_of,
    place_of,
)
from benchkit.trial_log.schema import ERROR_FIELDS, LOG_FAILURE, LOG_REPLY, MOST_ATTEMPTS, MOST_CELLS, Field, pattern_of

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


def line_and_place(where: str, data: bytes) -> tuple[Line, LinePosition]:
    """What a whole line says. Raises Unusable for what no line can say; `where` names file and line."""
    try:
        fields = json_text.parse(data)
        return line_of(fields), place_of(fields)
    except ValueError as error:
        raise Unusable(f"{where}: {error}") from None


def where_in(path: Path, number: int, offset: int) -> str:
    """A line of a log, as it stands in a message: file, line from 1, byte from 0."""
    return f"{shown_path(path)}: line {number} (byte {offset})"


_KIND = Field("kind", types.one_of(["trial"]), "")
_ANY_LINE = (_KIND, Field("n", types.COUNT, ""), Field("session", types.HEX_16, ""))
_SCANNED = ("attempt", "case", "n", "seed", "session", "system", "trial")
_ERROR = replace(types.TEXT, pattern=pattern_of(ERROR_FIELDS, "type"))


def _line_pattern(listed: Iterable[Field]) -> re.Pattern[bytes]:
    body = pattern_of((*_ANY_LINE, *listed), *_SCANNED)
    return re.compile((body.removesuffix(r"\}") + r',"sum":"[0-9a-f]{16}"\}').encode("ascii"))


_REPLY = _line_pattern(LOG_REPLY)
_FAILURE = _line_pattern(replace(one, type=_ERROR) if one.name == "error" else one for one in LOG_FAILURE)


@dataclass(slots=True)
class ScannedTrial:
    """A trial line as one pass needs it. Not frozen: making a frozen one takes twice as long."""

    session: str
    n: int
    system: str
    case: str
    trial: int
    attempt: int
    error_type: str | None


def scan_trial_line(line: bytes) -> ScannedTrial | None:
    """What a whole trial line says, or None if it takes the long way (which says what is wrong, if anything)."""
    found = _REPLY.fullmatch(line)
    if found:
        attempt, case, n, seed, session, system, trial = found.groups()
        error_type = None
    else:
        found = _FAILURE.fullmatch(line)
        if not found:
            return None
        attempt, case, error_type, n, seed, session, system, trial = found.groups()
    scanned = ScannedTrial(
        _text_of(session), int(n), _text_of(system), _text_of(case), int(trial), int(attempt),
        None if error_type is None else _text_of(error_type))
    return scanned if _is_possible(scanned, int(seed)) else None


def _is_possible(scanned: ScannedTrial, seed: int) -> bool:
    return (
        1 <= scanned.trial <= MOST_CELLS and seed == 1000 + scanned.trial
        and 1 <= scanned.attempt <= MOST_ATTEMPTS and scanned.system != "" and scanned.case != "")


def _text_of(quoted: bytes) -> str:
    if b"\\" in quoted:
        text: str = json.loads(quoted)
        return text
    return quoted[1:-1].decode("ascii")


# a text inside a line has its quotes escaped, so these never stand in one; inside settings they may
_SESSION, _PLAN = b'"kind":"session"', b'"kind":"plan"'


class NamedDamage:
    """Damage that a session line names: it counts for nothing, and is no reason to refuse the log."""

    def __init__(self, damage: Iterable[Damage]) -> None:
        self.all = tuple(sorted(set(damage)))
        self._gaps = {found.offset for found in self.all if found.length == 0}
        regions = [found for found in self.all if found.length > 0]
        self._starts = [found.offset for found in regions]
        self._ends: list[int] = []
        for found in regions:
            end = found.offset + found.length
            self._ends.append(max(end, self._ends[-1]) if self._ends else end)

    def covers(self, offset: int, length: int) -> bool:
        """Whether the bytes of a line lie wholly in named damage."""
        at = bisect_right(self._starts, offset)
        return at > 0 and offset + length <= self._ends[at - 1]

    def names_gap(self, offset: int) -> bool:
        """Whether a gap before the line at this offset is named."""
        return offset in self._gaps


@dataclass(frozen=True, slots=True)
class Prescan:
    """`size`: bytes up to the last newline. `plan`: the last one that counts, None if there is none.

    `shard`: the one that all sessions were given; None where they were not given one, or not the same.
    """

    size: int
    lines: int
    has_session: bool
    plan: PlanLine | None
    named: NamedDamage
    shard: Shard | None


def prescan_of(source: LineSource) -> Prescan:
    """Look a log over. Raises Unusable for a session line, or a last plan line, that says what it cannot."""
    size = number = 0
    shards: list[Shard | None] = []
    damage: list[Damage] = []
    plans: list[tuple[int, int, int]] = []
    for offset, length, data in source.lines():
        size, number = offset + length, number + 1
        if data is None or not (_SESSION in data or _PLAN in data) or not is_whole(data):
            continue
        if _PLAN in data:
            plans.append((number, offset, length))
        if _SESSION in data:
            where = where_in(source.path, number, offset)
            line, _place = line_and_place(where, data)
            if isinstance(line, SessionLine):
                shards.append(line.shard)
                damage.extend(_named_before(line, where, offset))
    named = NamedDamage(damage)
    shard = shards[0] if len(set(shards)) == 1 else None
    return Prescan(size, number, bool(shards), _last_plan(source, plans, named), named, shard)


def _named_before(line: SessionLine, where: str, offset: int) -> tuple[Damage, ...]:
    for damage in line.damage:
        if damage.offset + damage.length > offset:
            raise Unusable(f"{where}: damage names bytes that do not stand before it")
    return line.damage


def _last_plan(source: LineSource, plans: list[tuple[int, int, int]], named: NamedDamage) -> PlanLine | None:
    for number, offset, length in reversed(plans):
        if not named.covers(offset, length):
            line, _place = line_and_place(where_in(source.path, number, offset), source.at(offset))
            if isinstance(line, PlanLine):
                return line
    return None
