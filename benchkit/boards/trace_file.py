"""Writing a trace beside the log, event by event, and reading it: one pass, one trial in memory at a time.

An event is in the file before the call that emits it returns, and all of a trial are on the disk before its trial line
is written. Bytes once in the file never change: a torn tail is closed with a newline and named in the session line.
Damage is bytes that are no whole line. It is harmless behind the last whole line (a kill tore it), and where a session
line of the log names it; any other is harmful. A whole line that says what no event can is refused.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics import json_text
from benchkit.basics.errors import EnvironmentFailure, Unusable
from benchkit.basics.texts import are, count_of
from benchkit.basics.values import JSON, Cell
from benchkit.boards import trace_events
from benchkit.boards.trace_events import SegmentKey, TraceEvent
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import shown_path
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, TrialLine
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.scan import LineSource, NamedDamage, where_in

MEND = "put back the file as it was, or begin another batch: python3 board.py run JOB --fresh"
MEND_DAMAGE = "put back the file as it was, or ask again what is damaged: python3 board.py run JOB --accept-damage"


class TraceWriter:
    """The one writer of a trace: the sidecar of a session, and where its players put their events.

    `stamp` gives the time of an event, in UTC; where a clock was put back, an event has the time of the one before it.
    """

    def __init__(
        self, path: Path, stamp: Callable[[], str], calls: DiskCalls | None = None, accept_damage: bool = False,
    ) -> None:
        """Touch nothing yet: a session that never begins makes no trace. With `accept_damage` no damage is harmful."""
        self._path, self._stamp, self._calls, self._accepts = path, stamp, calls, accept_damage
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
        named, accepted = trace_damage_named_by(log), list[FoundDamage]()
        on_damage = accepted.append if self._accepts else refuse
        damage, size = look_over(self._path, named, on_damage)
        if self._file.size > size:
            self._file.append(b"\n")
            accepted.clear()
            # a line that had lost only its newline is whole again
            damage, _size = look_over(self._path, named, on_damage)
        return (*(found.damage for found in accepted), *damage)

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
        # what is in the trace stays there: a line that makes it unreadable must not get in
        try:
            line = trace_events.event_bytes(event)
            trace_events.event_of(json_text.parse(line[:-1]))
        except (ValueError, TypeError) as error:
            raise Unusable(f"{shown_path(self._path)}: {kind} of case {self._key.cell.case} cannot be kept: "
                           f"{error}") from None
        if len(line) > MOST_LINE_BYTES:
            raise Unusable(f"{shown_path(self._path)}: an event of {len(line):,} bytes is more than a trace takes")
        self._file.write(line)
        self._next_seq += 1
        self._is_closed = kind == trace_events.END

    def before_line(self, line: TrialLine) -> None:
        """Put the trial of this line on the disk. Raises EnvironmentFailure."""
        if self._file is None or self._key != SegmentKey(self._session, line.cell, line.attempt) or not self._is_closed:
            raise RuntimeError("a trial line follows the end of its own trial in the trace")
        self._file.sync()

    def close(self) -> None:
        """Release the file. Closing twice does nothing."""
        if self._file is not None:
            self._file.close()


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
        return self.events[-1].type == trace_events.END

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

    def __str__(self) -> str:
        return f"{count_of(self.damage.length, 'byte')} {are(self.damage.length)} no whole line"


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
    raise Unusable(f"{found.where}: {found} (torn or altered), and whole lines follow; {MEND_DAMAGE}")


OnDamage = Callable[[FoundDamage], None]
"""What is told of harmful damage."""


def segments_in(
    path: Path, named: Iterable[Damage] = (), on_damage: OnDamage = refuse, end: int | None = None,
) -> Iterator[Segment]:
    """Every segment of a trace whose lines begin before `end`, in order; `named` is what the sessions of its log name.

    One is in memory at a time; the events of one trial stand together. Raises Unusable for a trace that cannot be
    read, and for a whole line that is no event.
    """
    events: list[TraceEvent] = []
    is_beside = False
    with closing(LineSource(path)) as source:
        scan = _Scan(source, named, on_damage)
        for number, offset, data, is_behind_damage in scan.whole_lines():
            if end is not None and offset >= end:
                break
            event = scan.event_in(number, offset, data)
            is_beside = is_beside or is_behind_damage
            if events and event.key != events[0].key:
                yield Segment(tuple(events), is_beside)
                events, is_beside = [], is_behind_damage
            events.append(event)
        if events:
            yield Segment(tuple(events), is_beside or scan.ends_in_damage)


# keys are sorted, so the type stands at the end of a line and is found without parsing it
_TYPE = re.compile(rb'"type":"([^"\\]{1,60})","v":1$')


def look_over(
    path: Path, named: Iterable[Damage] = (), on_damage: OnDamage = refuse,
) -> tuple[tuple[Damage, ...], int]:
    """The harmless damage of a trace that is not named yet, and the bytes up to the last newline; nothing is parsed.

    Raises Unusable for an event of a type that nobody knows, and a file that is no trace.
    """
    with closing(LineSource(path)) as source:
        source.refuse_foreign(trace_events.EVENT_START, "trace")
        scan = _Scan(source, named, on_damage)
        for number, offset, data, _ in scan.whole_lines():
            found = _TYPE.search(data, 0, len(data) - json_text.SUM_BYTES)
            if found is None or found[1].decode("ascii", "replace") not in trace_events.KNOWN_EVENT_TYPES:
                scan.event_in(number, offset, data)
        return tuple(found.damage for found in scan.tail), scan.size


class _Scan:
    """One pass over a trace. Behind it, `tail` is the damage behind the last whole line, `size` the bytes of lines."""

    def __init__(self, source: LineSource, named: Iterable[Damage], on_damage: OnDamage) -> None:
        self._source, self._named, self._on_damage = source, NamedDamage(named), on_damage
        self.tail: list[FoundDamage] = []
        self.size = 0
        self.ends_in_damage = False

    def whole_lines(self) -> Iterator[tuple[int, int, bytes, bool]]:
        """The whole lines: number, offset, bytes, and whether damage is right before it."""
        for number, (offset, length, data) in enumerate(self._source.lines(), 1):
            self.size = offset + length
            is_named = self._named.covers(offset, length)
            if is_named or data is None or not json_text.is_whole(data):
                self.ends_in_damage = True
                if not is_named:
                    self._note(Damage(offset, length), number)
                continue
            for found in self.tail:
                self._on_damage(found)
            self.tail.clear()
            is_behind, self.ends_in_damage = self.ends_in_damage, False
            yield number, offset, data, is_behind

    def _note(self, damage: Damage, number: int) -> None:
        """Damaged lines that follow each other are one damage: a file of line ends has millions."""
        last = self.tail[-1] if self.tail else None
        if last is not None and last.damage.offset + last.damage.length == damage.offset:
            self.tail[-1] = FoundDamage(Damage(last.damage.offset, last.damage.length + damage.length), last.where)
        else:
            self.tail.append(FoundDamage(damage, where_in(self._source.path, number, damage.offset)))

    def event_in(self, number: int, offset: int, data: bytes) -> TraceEvent:
        """The event in a line. Raises Unusable, naming the line."""
        try:
            return trace_events.event_of(json_text.parse(data))
        except ValueError as error:
            raise Unusable(f"{where_in(self._source.path, number, offset)}: {error}; {MEND}") from None
