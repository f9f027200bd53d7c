"""Which lines of a log count, and what they amount to: the rule of damage, in one pass.

Damage is: bytes that are no whole line; a gap in `n` of a session, where nothing is left of the lines in it; a
line that repeats an attempt. It is harmless behind the last line that counts, and where a session line names it;
any other is refused.
"""
from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import is_whole
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import Cell, Failure
from benchkit.trial_log import lines
from benchkit.trial_log.cell_table import CellFacts, CellTable, RequestChanges
from benchkit.trial_log.lines import Damage, SessionLine
from benchkit.trial_log.scan import Prescan, ScannedTrial, line_and_place, scan_trial_line, where_in


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session: its first line, what it loaded, how it ended, and what it recorded.

    `loaded` is None if no model was loaded, `stop` if there was no orderly end. `trials` counts its trial lines, which
    are of `systems`; `furthest` is the last position in the order of the plan that it recorded, -1 for none.
    """

    id: str
    line: SessionLine
    loaded: lines.LoadedLine | None
    stop: lines.StopLine | None
    trials: int
    furthest: int
    systems: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Tally:
    """A session while it is counted. `line` is None where it was lost, `n` the number of the last line."""

    id: str
    number: int
    n: int = -1
    line: SessionLine | None = None
    loaded: lines.LoadedLine | None = None
    stop: lines.StopLine | None = None
    trials: int = 0
    furthest: int = -1
    systems: set[str] = field(default_factory=set)


class Accounting:
    """One pass over the lines of a log. `take` every line in order, then read what it amounts to."""

    def __init__(self, path: Path, prescan: Prescan, accept_damage: bool) -> None:
        self._path, self._named, self._accepts = path, prescan.named, accept_damage
        self.table = CellTable(prescan.plan, prescan.shard) if prescan.plan else None
        self.unplanned: dict[Cell, CellFacts] = {}
        self.changes = RequestChanges()
        self.pending: list[Damage] = []
        self._first_pending = ""
        self._tallies: dict[str, _Tally] = {}
        self._current = _Tally("", 0)
        self._number = self._offset = self._length = 0
        self._behind_damage = self._has_damage = False
        # per column of the table, the session that recorded it last: its first trial there is cold
        self._seen_by = array("I", bytes(array("I").itemsize * (self.table.width if self.table else 0)))

    @property
    def sessions(self) -> tuple[SessionSummary, ...]:
        """The sessions whose first line counts, in the order of the log."""
        return tuple(
            SessionSummary(tally.id, tally.line, tally.loaded, tally.stop, tally.trials, tally.furthest,
                           frozenset(tally.systems))
            for tally in self._tallies.values() if tally.line)

    def take(self, offset: int, length: int, data: bytes | None) -> bool:
        """Count a line; whether it counts.

        Raises Unusable for harmful damage, and for a whole line that says what it cannot.
        """
        self._number, self._offset, self._length = self._number + 1, offset, length
        if self._named.all and self._named.covers(offset, length):
            self._behind_damage = self._has_damage = True
            return False
        if data is None or not is_whole(data):
            self._behind_damage = True
            what = f"{count_of(length, 'byte')} {are(length)} no whole line (torn or altered)"
            return self._note(Damage(offset, length), what)
        scanned = scan_trial_line(data)
        if scanned is not None:
            return self._take_trial(scanned)
        line, place = line_and_place(self._where(), data)
        if (place.n == 0) != isinstance(line, SessionLine):
            self._refuse("n must be 0 in a session line, and only there")
        if isinstance(line, lines.TrialLine):
            error_type = line.outcome.error.type if isinstance(line.outcome, Failure) else None
            return self._take_trial(ScannedTrial(
                place.session, place.n, line.cell.system, line.cell.case, line.cell.trial, line.attempt, error_type))
        if isinstance(line, SessionLine) and place.session in self._tallies and self._tallies[place.session].line:
            return self._note(Damage(offset, length), "the first line of a session stands there again")
        tally = self._follow(place.session, place.n)
        if isinstance(line, SessionLine):
            tally.line = line
        elif isinstance(line, lines.PlanLine):
            self.changes.take_plan(line, offset)
        elif isinstance(line, lines.SystemLine):
            self.changes.take_system(line, offset)
        elif isinstance(line, lines.LoadedLine):
            tally.loaded = line
        else:
            tally.stop = line
        return True

    def _take_trial(self, scanned: ScannedTrial) -> bool:
        if scanned.n == 0:
            self._refuse("n must not be 0 in a trial line")
        position = self.table.position(scanned.system, scanned.case, scanned.trial) if self.table else None
        if position is not None and self.table is not None:
            if scanned.attempt <= self.table.attempts(position):
                return self._take_repeated(scanned)
            tally = self._follow(scanned.session, scanned.n)
            column = position % self.table.width
            is_cold = self._seen_by[column] != tally.number
            self._seen_by[column] = tally.number
            tally.trials += 1
            tally.systems.add(scanned.system)
            tally.furthest = max(tally.furthest, position)
            self.table.record(position, CellFacts(self._offset, scanned.attempt, scanned.error_type, is_cold))
            return True
        # a whole log plans before it records; in a damaged one the line that planned this may be lost
        if not self._has_damage:
            self._refuse(f'fields "system", "case", "trial": {_told(scanned)} is in no plan of this log')
        cell = Cell(scanned.system, scanned.case, scanned.trial)
        if cell in self.unplanned and scanned.attempt <= self.unplanned[cell].attempts:
            return self._take_repeated(scanned)
        self._follow(scanned.session, scanned.n)
        self.unplanned[cell] = CellFacts(self._offset, scanned.attempt, scanned.error_type, False)
        return True

    def _take_repeated(self, scanned: ScannedTrial) -> bool:
        if scanned.session == self._current.id and scanned.n == self._current.n + 1:
            self._current.n = scanned.n
        return self._note(
            Damage(self._offset, self._length), f"{_told(scanned)}, attempt {scanned.attempt}, stands there again")

    def _follow(self, session: str, n: int) -> _Tally:
        """The line counts: see that it follows the last one of its session, and that no damage is before it."""
        if session != self._current.id:
            self._current = self._tallies.setdefault(session, _Tally(session, len(self._tallies) + 1))
        tally = self._current
        # what is left of lost lines stands right before this one: then it is that damage, not a gap; but no damage
        # explains a line that stands there again
        is_explained = self._behind_damage and n > tally.n
        if n != tally.n + 1 and not is_explained and not self._named.names_gap(self._offset):
            self._note(Damage(self._offset, 0), f"lines are missing before it (n is {n}, not {tally.n + 1})")
        tally.n, self._behind_damage = n, False
        if self.pending and not self._accepts:
            raise Unusable(
                f"{self._first_pending}, and whole lines follow; put back the file as it was, or go on without "
                f"what is lost: python3 bench.py --log {shell_word(str(self._path))} --accept-damage (a board: python3 "
                "board.py run JOB --accept-damage)")
        return tally

    def _note(self, damage: Damage, what: str) -> bool:
        """Damage was found; a line that is damage does not count."""
        self._has_damage = True
        last = self.pending[-1] if self.pending else None
        if last is None:
            self._first_pending = f"{self._where()}: {what}"
        if last and last.length and damage.length and last.offset + last.length == damage.offset:
            self.pending[-1] = Damage(last.offset, last.length + damage.length)
        else:
            self.pending.append(damage)
        return False

    def _where(self) -> str:
        return where_in(self._path, self._number, self._offset)

    def _refuse(self, what: str) -> NoReturn:
        raise Unusable(f"{self._where()}: {what}")


def _told(scanned: ScannedTrial) -> str:
    return f"trial {scanned.trial} of case {shown_line(scanned.case, 60)} by {shown_line(scanned.system, 60)}"
