"""Writing a trace: beside the log, event by event as it happens.

An event is in the file before the call that emits it returns, so that a kill loses none; all events of a trial are on
the disk before its trial line is written. Bytes once in the file never change and are never cut: a torn tail is
closed with a newline and named in the session line of the log. What does not live here: reading (trace_reading.py),
and what happens in a trial (playing.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from benchkit.basics import strict_json
from benchkit.basics.errors import Surroundings, Unusable
from benchkit.basics.values import JSON, Cell
from benchkit.boards.trace_events import END, Event, SegmentKey, event_bytes, event_of
from benchkit.boards.trace_reading import FoundDamage, TraceReader, refuse, trace_damage_named_by
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import shown_path
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, TrialLine
from benchkit.trial_log.reader import TrialLog


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

        Raises Unusable for harmful damage and for what no trace can hold; Surroundings where it cannot be written.
        """
        try:
            self._file = AppendFile.open(self._path, self._calls)
        except LockedElsewhere:
            raise Surroundings(f"{shown_path(self._path)} is in use by another run; wait for its end") from None
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
        """Put an event into the file. Raises Surroundings where that fails, Unusable for what no reader would take."""
        if self._file is None or self._key is None or self._is_closed:
            raise RuntimeError("an event stands between the start of a trial and its end")
        self._last_at = max(self._last_at, self._stamp())
        event = Event(self._key, self._next_seq, self._last_at, self._geometry, step, kind, data)
        self._file.write(self._readable(event))
        self._next_seq += 1
        self._is_closed = kind == END

    def before_line(self, line: TrialLine) -> None:
        """Put the trial of this line on the disk. Raises Surroundings."""
        if self._file is None or self._key != SegmentKey(self._session, line.cell, line.attempt) or not self._is_closed:
            raise RuntimeError("a trial line follows the end of its own trial in the trace")
        self._file.sync()

    def close(self) -> None:
        """Release the file. Closing twice does nothing."""
        if self._file is not None:
            self._file.close()

    def _readable(self, event: Event) -> bytes:
        # what is in the trace stays there: a line that makes it unreadable must not get in
        try:
            data = event_bytes(event)
            event_of(strict_json.parse(data[:-1]))
        except (ValueError, TypeError) as error:
            raise Unusable(f"{shown_path(self._path)}: {event.type} of case {event.key.cell.case} cannot be kept: "
                           f"{error}") from None
        if len(data) > MOST_LINE_BYTES:
            raise Unusable(f"{shown_path(self._path)}: an event of {len(data):,} bytes is more than a trace takes")
        return data
