"""Writing a trace beside the log, event by event, and reading it: one pass, one trial in memory at a time.

An event is in the file before the call that emits it returns, so that a kill loses none; all events of a trial are on
the disk before its trial line is written. Bytes once in the file never change and are never cut: a torn tail is
closed with a newline and named in the session line of the log.

Damage is bytes that are no whole line. It is harmless behind the last whole line (a kill tore it), and where a session
line of the log names it; any other is harmful. A whole line that says what no event can is refused.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics import json_text
from benchkit.basics.errors import EnvironmentFailure, Unusable
from benchkit.basics.json_text import SUM_BYTES, is_whole
from benchkit.basics.texts import are, count_of
from benchkit.basics.values import JSON, Cell
from benchkit.boards.trace_events import (
    END,
    EVENT_START,
    KNOWN_EVENT_TYPES,
    SegmentKey,
    TraceEvent,
    event_bytes,
    event_of,
)
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import shown_path
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, TrialLine
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.scan import LineSource, NamedDamage, where_in


class TraceWriter:
    """The one writer of a trace: the companion of a session, and where its players put their events.

    `stamp` gives the time of an event, in UTC; where a clock was put back, an event has the time of the one before it.
    """

    def __init__(
        self, path: Path, stamp: Callable[[], str], calls: DiskCalls | None = None, accept_damage: bool = False,
    ) -> None:
        """Touch nothing yet: a session that never begins makes no trace. With `accept_damage` no damage is harmful."""
        self._accepts = accept_damage
        self._path, self._stamp, self._calls = path, stamp, calls
        self._file: AppendFile | None = None
        self._session = ""
        self._key: SegmentKey | None = None
        self._geometry, self._next_seq, self._is_closed = "", 0, True
        self._last_at = ""

    def begin(self, session: str, log: TrialLog) -> tuple[Damage, ...]:
        """Go on behind what is there; the damage that the session line has to name.

        Raises Unusable for harmful damage and for what no trace can hold, EnvironmentFailure where writing fails.
        """
        try:
            self._file = AppendFile.open(self._path, self._calls)
        except LockedElsewhere:
            raise EnvironmentFailure(f"{shown_path(self._path)} is in use by another run; wait for its end") from None
        self._session = session
        return self._damage(self._file, trace_damage_named_by(log))

    def _damage(self, file: AppendFile, named: tuple[Damage, ...]) -> tuple[Damage, ...]:
        reader = TraceReader(self._path, named)
        accepted: list[FoundDamage] = []
        on_damage = accepted.append if self._accepts else refuse
        try:
            damage, size = reader.look_over(on_damage)
            if file.size > size:
                file.append(b"\n")
                accepted.clear()
                # a line that had lost only its newline is whole again
                damage, _size = reader.look_over(on_damage)
            return (*(found.damage for found in accepted), *damage)
        finally:
            reader.close()

    def start(self, cell: Cell, attempt: int, geometry: str) -> None:
        """A trial begins: the events that follow are its."""
        self._key = SegmentKey(self._session, cell, attempt)
        self._geometry, self._next_seq, self._is_closed = geometry, 0, False

    def emit(self, step: int, kind: str, data: Mapping[str, JSON]) -> None:
        """Put an event into the file. Raises EnvironmentFailure where that fails, Unusable for what no reader takes."""
        if self._file is None or self._key is None or self._is_closed:
            raise RuntimeError("an event stands between the start of a trial and its end")
        self._last_at = max(self._last_at, self._stamp())
        event = TraceEvent(self._key, self._next_seq, self._last_at, self._geometry, step, kind, data)
        self._file.write(self._readable(event))
        self._next_seq += 1
        self._is_closed = kind == END

    def before_line(self, line: TrialLine) -> None:
        """Put the trial of this line on the disk. Raises EnvironmentFailure."""
        if self._file is None or self._key != SegmentKey(self._session, line.cell, line.attempt) or not self._is_closed:
            raise RuntimeError("a trial line follows the end of its own trial in the trace")
        self._file.sync()

    def close(self) -> None:
        """Release the file. Closing twice does nothing."""
        if self._file is not None:
            self._file.close()

    def _readable(self, event: TraceEvent) -> bytes:
        # what is in the trace stays there: a line that makes it unreadable must not get in
        try:
            data = event_bytes(event)
            event_of(json_text.parse(data[:-1]))
        except (ValueError, TypeError) as error:
            raise Unusable(f"{shown_path(self._path)}: {event.type} of case {event.key.cell.case} cannot be kept: "
                           f"{error}") from None
        if len(data) > MOST_LINE_BYTES:
            raise Unusable(f"{shown_path(self._path)}: an event of {len(data):,} bytes is more than a trace takes")
        return data


MEND = "put back the file as it was, or begin another batch: python3 board.py run JOB --fresh"
MEND_DAMAGE = "put back the file as it was, or ask again what is damaged: python3 board.py run JOB --accept-damage"
# keys are sorted, so the type stands at the end of a line and is found without parsing it
_TYPE = re.compile(rb'"type":"([^"\\]{1,60})","v":1$')


@dataclass(frozen=True, slots=True)
class Segment:
    """The events of one trial, in order.

    `is_beside_damage`: right before it, within it or right behind it are bytes that are no whole line.
    """

    events: tuple[TraceEvent, ...]
    is_beside_damage: bool = False

    @property
    def key(self) -> SegmentKey:
        """Which trial this is."""
        return self.events[0].key

    @property
    def is_closed(self) -> bool:
        """Whether its last event is the end of the trial."""
        return self.events[-1].type == END

    @property
    def is_cut(self) -> bool:
        """Whether damage took a line of it away."""
        numbers = [event.seq for event in self.events]
        return self.is_beside_damage and not (self.is_closed and numbers == list(range(len(numbers))))


@dataclass(frozen=True, slots=True)
class FoundDamage:
    """Bytes that are no whole line, and where they are in words: file, line, byte."""

    damage: Damage
    where: str


def trace_damage_named_by(log: TrialLog) -> tuple[Damage, ...]:
    """The damage of the trace that the sessions of its log name."""
    return tuple(damage for session in log.sessions for damage in session.line.trace_damage or ())


def trial_keys(log: TrialLog) -> Iterator[SegmentKey]:
    """Which trials a log has lines of, in its order."""
    same: dict[str, str] = {}  # each name once in memory, however many lines repeat it
    for line, place in log.lines_that_count():
        if isinstance(line, TrialLine):
            session, system, case = (
                same.setdefault(name, name) for name in (place.session, line.cell.system, line.cell.case))
            yield SegmentKey(session, Cell(system, case, line.cell.trial), line.attempt)


def trace_size(path: Path) -> int:
    """The bytes of a trace as it stands now; 0 if there is none. It may grow at any time, as its log may."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def refuse(found: FoundDamage) -> None:
    """Raise Unusable for harmful damage."""
    length = found.damage.length
    raise Unusable(f"{found.where}: {count_of(length, 'byte')} {are(length)} no whole line (torn or altered), and "
                   f"whole lines follow; {MEND_DAMAGE}")


@dataclass(frozen=True, slots=True)
class _Line:
    """A whole line. `is_behind_damage`: right behind it."""

    number: int
    offset: int
    data: bytes
    is_behind_damage: bool


class TraceReader:
    """A trace, for reading. `named` is the damage that the sessions of the log name."""

    def __init__(self, path: Path, named: Iterable[Damage] = ()) -> None:
        """Open the trace. Raises Unusable: missing, a folder, unreadable."""
        self._source, self._named = LineSource(path), NamedDamage(named)
        self._tail: list[FoundDamage] = []
        self._size = 0
        self._ends_in_damage = False

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def segments(
        self, on_damage: Callable[[FoundDamage], None] = refuse, end: int | None = None,
    ) -> Iterator[Segment]:
        """Every segment whose lines begin before `end`, in order.

        One is in memory at a time; the events of one trial stand together. `on_damage` is told of harmful damage.
        Raises Unusable for a whole line that is no event.
        """
        events: list[TraceEvent] = []
        is_beside = False
        for line in self._whole_lines(on_damage):
            if end is not None and line.offset >= end:
                break
            event = self._event_in(line)
            is_beside = is_beside or line.is_behind_damage
            if events and event.key != events[0].key:
                yield Segment(tuple(events), is_beside)
                events, is_beside = [], line.is_behind_damage
            events.append(event)
        if events:
            yield Segment(tuple(events), is_beside or self._ends_in_damage)

    def segments_of(self, cell: Cell) -> Iterator[Segment]:
        """The segments of all attempts at one cell. Raises Unusable for harmful damage."""
        return (segment for segment in self.segments() if segment.key.cell == cell)

    def look_over(self, on_damage: Callable[[FoundDamage], None] = refuse) -> tuple[tuple[Damage, ...], int]:
        """The harmless damage that is not named yet, and the bytes up to the last newline; nothing is parsed.

        `on_damage` is told of harmful damage. Raises Unusable for an event of a type that nobody knows, and a file that
        is no trace.
        """
        self._source.refuse_foreign(EVENT_START, "trace")
        for line in self._whole_lines(on_damage):
            found = _TYPE.search(line.data, 0, len(line.data) - SUM_BYTES)
            if found is None or found[1].decode("ascii", "replace") not in KNOWN_EVENT_TYPES:
                self._event_in(line)
        return tuple(found.damage for found in self._tail), self._size

    def _whole_lines(self, on_damage: Callable[[FoundDamage], None]) -> Iterator[_Line]:
        """The whole lines; the damage behind the last of them is then in `_tail`."""
        self._tail, self._ends_in_damage = [], False
        for number, (offset, length, data) in enumerate(self._source.lines(), 1):
            self._size = offset + length
            is_named = self._named.covers(offset, length)
            if is_named or data is None or not is_whole(data):
                self._ends_in_damage = True
                if not is_named:
                    self._note(Damage(offset, length), number)
                continue
            for found in self._tail:
                on_damage(found)
            self._tail.clear()
            is_behind, self._ends_in_damage = self._ends_in_damage, False
            yield _Line(number, offset, data, is_behind)

    def _note(self, damage: Damage, number: int) -> None:
        """Damaged lines that follow each other are one damage: a file of line ends has millions."""
        last = self._tail[-1] if self._tail else None
        if last is not None and last.damage.offset + last.damage.length == damage.offset:
            self._tail[-1] = FoundDamage(Damage(last.damage.offset, last.damage.length + damage.length), last.where)
        else:
            self._tail.append(FoundDamage(damage, self._where(number, damage.offset)))

    def _event_in(self, line: _Line) -> TraceEvent:
        try:
            return event_of(json_text.parse(line.data))
        except ValueError as error:
            raise Unusable(f"{self._where(line.number, line.offset)}: {error}; {MEND}") from None

    def _where(self, number: int, offset: int) -> str:
        return where_in(self._source.path, number, offset)
