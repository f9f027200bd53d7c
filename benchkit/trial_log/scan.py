"""The fast scan of a log: its lines as bytes, a trial line without parsing it, and what must be known beforehand.

Parsing strictly takes four times as long as `json.loads`; a log of a million trials is read at every start. The
shape accepts a part of what `lines.line_of` accepts, and nothing else (a test holds that): a trial line as the
kit writes it, whole, in canonical order. Whatever else there is takes the long way.

A session line names damage that stands before it, and a plan may grow after the trials it holds: so a log is
looked over once for these, and then counted (accounting.py). Never more than one line is in memory.
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
from benchkit.basics.values import JSON, Shard, seed_of
from benchkit.disk.whole_files import open_to_read, refusal, shown_path
from benchkit.trial_log import lines, schema
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, PlanLine, SessionLine
from benchkit.trial_log.schema import Field, pattern_of

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
        try:
            first = self._read_at(0)
        except OSError as error:
            raise refusal(path, "read", error) from None
        # a program has changed every line: all is there, and none of it would count
        fault = encoding_fault(first) or (
            CRLF if first.endswith(b"\r\n") and is_whole(first.removesuffix(b"\r\n")) else None)
        if fault:
            raise Unusable(f"{shown_path(path)}: {fault}")

    def refuse_foreign(self, start: bytes, kind: str) -> None:
        """Raise Unusable for a file that nothing of ours has begun: bytes are never added to one.

        Ours is an empty file, one that holds a whole line, and one whose lines were torn and begin as the first line of
        ours does (`start`), or that a power cut has filled with NULs up to some place of that line.
        """
        self._stands_at = -1
        try:
            self._file.seek(0)
            head = self._file.read(MOST_TORN_BYTES + 1)
        except OSError as error:
            raise refusal(self.path, "read", error) from None
        if head and not _is_begun(head, start) and not any(
                data is not None and is_whole(data) for _, _, data in self.lines()):
            raise Unusable(f"{shown_path(self.path)}: this is no {kind}, for no line of one is in it, so nothing is "
                           f"added to it; give another name, or move this file away")

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
                length, is_long = len(line), line[-1:] != b"\n"
                while line[-1:] != b"\n" and len(line) > MOST_LINE_BYTES:
                    line = self._file.readline(MOST_LINE_BYTES + 1)
                    length += len(line)
                if line[-1:] != b"\n":
                    return
                begin, offset = offset, offset + length
                self._stands_at = offset
                yield begin, length, None if is_long else line[:-1]
        except OSError as error:
            raise refusal(self.path, "read", error) from None

    def _read_at(self, offset: int) -> bytes:
        # whoever takes the lines one by one may read others in between
        if self._stands_at != offset:
            self._file.seek(offset)
        self._stands_at = -1
        return self._file.readline(MOST_LINE_BYTES + 1)

    def at(self, offset: int) -> bytes:
        r"""The whole line that begins at an offset, without its "\n". Raises Unusable if there is none."""
        try:
            if hasattr(os, "pread"):
                # one line here, one there: to fill the whole buffer for each took half of the time of a conversion
                line, size = b"", _PIECE_BYTES
                while b"\n" not in line and len(line) <= MOST_LINE_BYTES and (
                        piece := os.pread(self._file.fileno(), size, offset + len(line))):
                    line, size = line + piece, size * 2
                line = line[:line.find(b"\n") + 1]
            else:
                line = self._read_at(offset)
        except OSError as error:
            raise refusal(self.path, "read", error) from None
        if line[-1:] != b"\n" or not is_whole(line[:-1]):
            raise Unusable(f"{shown_path(self.path)}: byte {offset}: the line was changed while it was read")
        return line[:-1]

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


def parsed(data: bytes) -> JSON:
    """The object of a whole line. Raises ValueError for what is no strict JSON."""
    # of a line of this shape, any reading is the strict one
    return json.loads(data) if _REPLY.fullmatch(data) or _FAILURE.fullmatch(data) else json_text.parse(data)


def line_and_place(where: str, data: bytes) -> tuple[lines.Line, lines.LinePosition]:
    """What a whole line says. Raises Unusable for what no line can say; `where` names file and line."""
    try:
        fields = parsed(data)
        return lines.line_of(fields), lines.place_of(fields)
    except ValueError as error:
        raise Unusable(f"{where}: {error}") from None


def where_in(path: Path, number: int, offset: int) -> str:
    """A line of a log, as it stands in a message: file, line from 1, byte from 0."""
    return f"{shown_path(path)}: line {number} (byte {offset})"


_KIND = Field("kind", types.one_of(["trial"]), "")
_ANY_LINE = (_KIND, Field("n", types.COUNT, ""), Field("session", types.HEX_16, ""))
_SCANNED = ("attempt", "case", "n", "seed", "session", "system", "trial")
_ERROR = replace(types.TEXT, pattern=pattern_of(schema.ERROR_FIELDS, "type"))


def _line_pattern(listed: Iterable[Field]) -> re.Pattern[bytes]:
    body = pattern_of((*_ANY_LINE, *listed), *_SCANNED)
    return re.compile((body.removesuffix(r"\}") + r',"sum":"[0-9a-f]{16}"\}').encode("ascii"))


_REPLY = _line_pattern(schema.LOG_REPLY)
_FAILURE = _line_pattern(replace(one, type=_ERROR) if one.name == "error" else one for one in schema.LOG_FAILURE)


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
    error_type = None
    found = _REPLY.fullmatch(line)
    if found:
        attempt, case, n, seed, session, system, trial = found.groups()
    else:
        found = _FAILURE.fullmatch(line)
        if not found:
            return None
        attempt, case, quoted_type, n, seed, session, system, trial = found.groups()
        error_type = _text_of(quoted_type)
    scanned = ScannedTrial(
        _text_of(session), int(n), _text_of(system), _text_of(case), int(trial), int(attempt), error_type)
    is_possible = (
        1 <= scanned.trial <= schema.MOST_CELLS and int(seed) == seed_of(scanned.trial)
        and 1 <= scanned.attempt <= schema.MOST_ATTEMPTS and scanned.system != "" and scanned.case != "")
    return scanned if is_possible else None


def _text_of(quoted: bytes) -> str:
    if b"\\" in quoted:
        text: str = json.loads(quoted)
        return text
    return quoted[1:-1].decode("ascii")


# a text inside a line has its quotes escaped, so these never stand in one; inside settings they may
_SESSION, _PLAN = b'"kind":"session"', b'"kind":"plan"'


class NamedDamage:
    """Damage that a session line names: it counts for nothing, and is no reason to refuse the log.

    `gaps` are the offsets of the lines before which others are missing.
    """

    def __init__(self, damage: Iterable[Damage]) -> None:
        self.all = tuple(sorted(set(damage)))
        self.gaps = {found.offset for found in self.all if found.length == 0}
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
                if any(found.offset + found.length > offset for found in line.damage):
                    raise Unusable(f"{where}: damage names bytes that do not stand before it")
                shards.append(line.shard)
                damage.extend(line.damage)
    named, plan = NamedDamage(damage), None
    while plan is None and plans:
        at, offset, length = plans.pop()
        if not named.covers(offset, length):
            line, _place = line_and_place(where_in(source.path, at, offset), source.at(offset))
            plan = line if isinstance(line, PlanLine) else None
    shard = shards[0] if len(set(shards)) == 1 else None
    return Prescan(size, number, bool(shards), plan, named, shard)
