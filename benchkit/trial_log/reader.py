"""Reading a trial log: one value that keeps the trials on the disk; and a new log without the damaged lines.

Readers take no lock: a growing log is read up to its last newline.

Lines that count are written anew, since offsets and numbers of lines change: sessions name no damage any more,
and `n` has no gaps. What a trial line says stays the same.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import requests_with
from benchkit.basics.values import JSON, Cell, Shard
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import shown_path, write_new
from benchkit.trial_log import lines as log_lines
from benchkit.trial_log.accounting import Accounting, CellFacts, CellTable, RequestChanges, SessionSummary
from benchkit.trial_log.lines import Damage, LinePosition, SessionLine, TrialLine
from benchkit.trial_log.scan import LineSource, NamedDamage, line_and_place, parsed, prescan_of

__all__ = ["SessionSummary", "TakeLine", "TrialLog", "read_log"]

TakeLine = Callable[[log_lines.Line, LinePosition], None]
"""What is given the lines of a log, one after the other."""


@dataclass(frozen=True, slots=True)
class TrialLog:
    """A log as it was when it was read.

    size       bytes up to the last newline; what stands behind it is torn, or still being written
    lines      how many lines that is, damaged ones included
    sessions   those whose first line counts, in order
    plan       the last one; None if nothing is planned yet. Every cell asked about is one of its cells
    settings   of each system, as last written
    harmless   damage that was found and is not named yet (with `accept_damage`: all that is not named)
    named      damage that a session line names
    """

    path: Path
    size: int
    lines: int
    sessions: tuple[SessionSummary, ...]
    plan: log_lines.PlanLine | None
    settings: Mapping[str, Mapping[str, JSON]]
    harmless: tuple[Damage, ...]
    named: tuple[Damage, ...]
    _table: CellTable | None
    _unplanned: Mapping[Cell, CellFacts]
    _changes: RequestChanges
    _requests: Mapping[str, Callable[[str, int], str]]
    _source: LineSource

    @property
    def is_empty(self) -> bool:
        """Whether there is no whole session line: the next session begins behind whatever the log holds."""
        return not self.sessions

    @property
    def is_current(self) -> bool:
        """Whether reading the log again would give the same: nothing was written to it since it was read."""
        return self._source.is_unchanged

    def planned(self) -> log_lines.PlanLine:
        """The plan. Raises Unusable if there is none: nothing is recorded yet."""
        if self.plan is not None:
            return self.plan
        damaged = sum(damage.length for damage in self.harmless)
        told = f" ({damaged:,} bytes of it are damaged)" if damaged else ""
        raise Unusable(f"{shown_path(self.path)}: nothing recorded yet{told}; record with bench.py --log")

    def begun(self) -> tuple[SessionSummary, ...]:
        """The sessions, one at least. Raises Unusable where trials are whole and the first line of no session is."""
        if not self.sessions:
            raise Unusable(f"{shown_path(self.path)}: the first line of its only session is lost; its trials count "
                           f"again behind that of another: python3 bench.py --log {shell_word(str(self.path))} "
                           "--accept-damage")
        return self.sessions

    @property
    def shard(self) -> Shard | None:
        """The part of the plan that this log is recorded for, as its last session says; None: all of it."""
        return self.sessions[-1].line.shard if self.sessions else None

    @property
    def has_unplanned(self) -> bool:
        """Whether trials are there that no plan holds, as can be in a damaged log that lost its plan line.

        They count as recorded when a plan line that holds them is written and the log is read again.
        """
        return bool(self._unplanned)

    def facts(self, cell: Cell) -> CellFacts | None:
        """The last attempt at a cell; None if there is none."""
        position = self.position(cell)
        if self._table is None or position is None:
            return self._unplanned.get(cell)
        return self._table.facts(position)

    def position(self, cell: Cell) -> int | None:
        """The number of a cell in the order of the plan, from 0; None if it is not planned."""
        return self._table.position(cell.system, cell.case, cell.trial) if self._table else None

    def cell(self, position: int) -> Cell:
        """The cell at a position in the order of the plan. Raises LookupError without a plan."""
        if self._table is None:
            raise LookupError("nothing is planned")
        return self._table.cell(position)

    def attempts(self, cell: Cell) -> int:
        """The number of the last attempt at a cell; 0 if there is none."""
        facts = self.facts(cell)
        return facts.attempts if facts else 0

    def is_recorded(self, cell: Cell) -> bool:
        """Whether a cell has an attempt that counts: one that was asked what the cell asks now."""
        facts = self.facts(cell)
        return facts is not None and not self._is_other_request(cell, facts)

    def is_stale(self, cell: Cell) -> bool:
        """Whether the last attempt at a cell was asked something else than the cell asks now."""
        facts = self.facts(cell)
        return facts is not None and self._is_other_request(cell, facts)

    def is_cold(self, cell: Cell) -> bool:
        """Whether the last attempt at a cell was the first of its system and case in its session."""
        facts = self.facts(cell)
        return facts is not None and facts.is_cold

    def error_type(self, cell: Cell) -> str | None:
        """Why the last attempt at a cell is incomplete; None if it is not, or if there is none."""
        facts = self.facts(cell)
        return facts.error_type if facts else None

    def trial(self, cell: Cell) -> TrialLine:
        """The last attempt at a cell, read from the disk. Raises LookupError if there is none."""
        facts = self.facts(cell)
        if facts is None:
            raise LookupError(f"no attempt at {cell} is recorded")
        return self._trial_at(facts.offset)

    def recorded(self, cell: Cell) -> tuple[TrialLine, CellFacts] | None:
        """The attempt at a cell that counts, read from the disk, and what is known of it; None if there is none."""
        facts = self.facts(cell)
        if facts is None or self._is_other_request(cell, facts):
            return None
        return self._trial_at(facts.offset), facts

    def attempted(self) -> Iterator[tuple[int, Cell]]:
        """All planned cells that have an attempt, in the order of the plan, each behind its position."""
        return iter(()) if self._table is None else self._table.recorded()

    def cells(self) -> Iterator[tuple[int, Cell]]:
        """All cells that have an attempt that counts, in the order of the plan, each behind its position."""
        return (found for found in self.attempted() if self.is_recorded(found[1]))

    def trials(self, system: str) -> Iterator[TrialLine]:
        """The last attempts at all recorded cells of a system, in the order of the plan, read one by one."""
        return (self.trial(cell) for _, cell in self.cells() if cell.system == system)

    def lines_that_count(self) -> Iterator[tuple[log_lines.Line, LinePosition]]:
        """Every line that is not damage, in the order of the log, read one by one."""
        return (line_and_place(f"{shown_path(self.path)}: byte {offset}", data) for offset, data in self.raw_lines())

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        r"""The same as they stand in the file: where each begins, and its bytes without "\n"."""
        damage = NamedDamage((*self.harmless, *self.named))
        for offset, length, data in _lines_to(self.size, self._source):
            if data is not None and not damage.covers(offset, length):
                yield offset, data

    def _trial_at(self, offset: int) -> TrialLine:
        try:
            line = log_lines.line_of(parsed(self._source.at(offset)))
        except ValueError as error:
            raise Unusable(f"{shown_path(self.path)}: byte {offset}: {error}") from None
        if not isinstance(line, TrialLine):
            raise Unusable(f"{shown_path(self.path)}: byte {offset}: the line was changed while it was read")
        return line

    def _is_other_request(self, cell: Cell, facts: CellFacts) -> bool:
        if facts.offset < self._changes.changed_at(cell) or cell in self._unplanned:
            return True
        if facts.offset > self._changes.known_at(cell):
            return False
        position, request = self.position(cell), self._requests.get(cell.system)
        asked = None
        if self._table is not None and position is not None and request is not None:
            asked = request(self._table.ask(position), cell.seed)
        return self._trial_at(facts.offset).request != asked


def read_log(path: Path | str, *, accept_damage: bool = False, take: TakeLine | None = None) -> TrialLog:
    """Read a log. Raises Unusable: no such file, no log, harmful damage (with file, line, byte), impossible content.

    With `accept_damage` no damage is harmful: all that no session line names is in `harmless`. `take` is given every
    line that counts, as `lines_that_count` gives them, while the log is read.
    """
    source = LineSource(Path(path))
    refuse_another_kind(source.path, FileKind.LOG)
    prescan = prescan_of(source)
    if not prescan.has_session:
        source.refuse_foreign(log_lines.SESSION_START, "trial log")
    accounting = Accounting(source.path, prescan, accept_damage)
    for offset, length, data in _lines_to(prescan.size, source):
        if accounting.take(offset, length, data) and take is not None and data is not None:
            take(*line_and_place(f"{shown_path(source.path)}: byte {offset}", data))
    systems = accounting.changes.system_lines
    return TrialLog(
        path=source.path, size=prescan.size, lines=prescan.lines, sessions=accounting.sessions, plan=prescan.plan,
        settings={name: line.settings for name, line in systems.items()},
        harmless=tuple(accounting.pending), named=prescan.named.all, _table=accounting.table,
        _unplanned=accounting.unplanned, _changes=accounting.changes,
        _requests={name: requests_with(line.settings) for name, line in systems.items()}, _source=source)


def _lines_to(size: int, source: LineSource) -> Iterator[tuple[int, int, bytes | None]]:
    # the log may have grown since its size was taken
    return takewhile(lambda line: line[0] < size, source.lines())


def export_clean(log: TrialLog, path: Path | str) -> None:
    """Write the lines of `log` that count to a new log at `path`.

    A session whose first line is lost goes on in the one before it. Raises Unusable if something stands at the
    path already, or nothing is recorded; EnvironmentFailure if it cannot be written.
    """
    log.planned()
    log.begun()
    write_new(path, _clean_lines(log))


def _clean_lines(log: TrialLog) -> Iterator[bytes]:
    """The lines that count, closed again, beginning with the first session."""
    first, counts = log.sessions[0], {session.id: 0 for session in log.sessions}
    head = first.line, LinePosition(first.id, 0)
    current = first.id
    for line, place in chain([head], (one for one in log.lines_that_count() if one[1] != head[1])):
        # the plan that held a trial may be lost, and a log may not hold what it does not plan
        if isinstance(line, TrialLine) and log.position(line.cell) is None:
            continue
        current = place.session if place.session in counts else current
        clean = replace(line, damage=()) if isinstance(line, SessionLine) else line
        yield log_lines.bytes_of(clean, LinePosition(current, counts[current]))
        counts[current] += 1
