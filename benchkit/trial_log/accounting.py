"""Which lines of a log count, and what is kept of them: the rule of damage, in one pass, and 11 bytes a cell.

Damage is: bytes that are no whole line; a gap in `n` of a session, where nothing is left of the lines in it; a
line that repeats an attempt. It is harmless behind the last line that counts, and where a session line names it;
any other is refused.

The trials themselves stay on the disk; their offsets are here. The log of a shard has space for the cells of that
shard; another cell in it (a plan that grew deals its cells anew) is kept apart.
"""
from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from benchkit.basics.command import shell_word
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.json_text import canonical, is_whole
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import Cell, Failure, Shard
from benchkit.trial_log import lines
from benchkit.trial_log.lines import Damage, SessionLine
from benchkit.trial_log.scan import Prescan, ScannedTrial, line_and_place, scan_trial_line, where_in


class RequestChanges:
    """Kept for what changed or came late only, so that a long plan takes no memory here.

    A trial line before `changed_at` answers another request than the one of now. Of one before `known_at` the log does
    not say which request it answers: the line that said so is lost, as can be in a damaged log.
    """

    def __init__(self) -> None:
        self.system_lines: dict[str, lines.SystemLine] = {}
        self._plan: lines.PlanLine | None = None
        self._first_plan = 0
        self._known: dict[tuple[str, str], int] = {}
        self._changed: dict[tuple[str, str], int] = {}

    def take_plan(self, line: lines.PlanLine, offset: int) -> None:
        """A plan line begins at `offset`."""
        if self._plan is None:
            self._first_plan = offset
        else:
            before = {case.id: case.ask for case in self._plan.cases}
            for case in line.cases:
                if case.id not in before:
                    self._known["case", case.id] = offset
                elif case.ask != before[case.id]:
                    self._changed["case", case.id] = offset
        self._plan = line

    def take_system(self, line: lines.SystemLine, offset: int) -> None:
        """A system line begins at `offset`."""
        before = self.system_lines.get(line.system)
        if before is None:
            self._known["system", line.system] = offset
        # not ==, for which 1, 1.0 and true are the same
        elif canonical(before.settings) != canonical(line.settings):
            self._changed["system", line.system] = offset
        self.system_lines[line.system] = line

    def changed_at(self, cell: Cell) -> int:
        """Where the request of a cell last changed; 0 if it never did."""
        return max(self._changed.get(("case", cell.case), 0), self._changed.get(("system", cell.system), 0))

    def known_at(self, cell: Cell) -> int:
        """The byte offset of the first line that says what a cell is asked; 0 if the whole log is behind it."""
        return max(
            self._known.get(("case", cell.case), self._first_plan), self._known.get(("system", cell.system), 0))


_COLD = 0x80
_CODE_OF = {name: code for code, name in enumerate(ERROR_TYPES, start=1)}


@dataclass(frozen=True, slots=True)
class CellFacts:
    """The last attempt of a cell: where its line begins, and what is asked about it most often."""

    offset: int
    attempts: int
    error_type: str | None
    is_cold: bool


class CellTable:
    """The cells of a plan, by position: for each trial, for each system, for each case.

    Rows (trials) are added when the first cell in them is recorded, so a plan takes no memory before it is run.
    With `shard` there are slots for its cells only: slot 0, 1, 2, ... for the positions first, first + of, ...
    `width` is how many cells a row has: systems x cases.
    """

    def __init__(self, plan: lines.PlanLine, shard: Shard | None = None) -> None:
        self._plan = plan
        self._cases = {case.id: at for at, case in enumerate(plan.cases)}
        self._systems = {name: at * len(plan.cases) for at, name in enumerate(plan.systems)}
        self.width = len(plan.cases) * len(plan.systems)
        self._first, self._of = (shard.index - 1, shard.of) if shard else (0, 1)
        self._slots_of_a_row = -(-self.width // self._of)
        self._offsets, self._attempts, self._facts = array("q"), array("H"), array("B")
        self._others: dict[int, CellFacts] = {}

    def position(self, system: str, case: str, trial: int) -> int | None:
        """The number of a cell in the order of the plan; None if it is not planned."""
        first, column = self._systems.get(system), self._cases.get(case)
        if first is None or column is None or not 1 <= trial <= self._plan.trials:
            return None
        return (trial - 1) * self.width + first + column

    def cell(self, position: int) -> Cell:
        """The cell at a position."""
        trial, column = divmod(position, self.width)
        system, case = divmod(column, len(self._plan.cases))
        return Cell(self._plan.systems[system], self._plan.cases[case].id, trial + 1)

    def ask(self, position: int) -> str:
        """What is asked about the cell at a position, 16 hex digits."""
        return self._plan.cases[position % len(self._plan.cases)].ask

    def attempts(self, position: int) -> int:
        """The number of the last attempt at the cell; 0 if there is none."""
        slot, rest = divmod(position - self._first, self._of)
        if rest:
            return self._others[position].attempts if position in self._others else 0
        return self._attempts[slot] if slot < len(self._attempts) else 0

    def facts(self, position: int) -> CellFacts | None:
        """What is known of the cell at a position; None if no attempt is recorded."""
        slot, rest = divmod(position - self._first, self._of)
        if rest:
            return self._others.get(position)
        if slot >= len(self._attempts) or not self._attempts[slot]:
            return None
        packed = self._facts[slot]
        code = packed & ~_COLD
        return CellFacts(self._offsets[slot], self._attempts[slot], ERROR_TYPES[code - 1] if code else None,
                         packed & _COLD != 0)

    def record(self, position: int, facts: CellFacts) -> None:
        """Keep an attempt as the last one of its cell."""
        slot, rest = divmod(position - self._first, self._of)
        if rest:
            self._others[position] = facts
            return
        if slot >= len(self._attempts):
            missing = (slot // self._slots_of_a_row + 1) * self._slots_of_a_row - len(self._attempts)
            for column in (self._offsets, self._attempts, self._facts):
                column.frombytes(bytes(missing * column.itemsize))
        self._offsets[slot], self._attempts[slot] = facts.offset, facts.attempts
        code = _CODE_OF[facts.error_type] if facts.error_type else 0
        self._facts[slot] = code | (_COLD if facts.is_cold else 0)

    def recorded(self) -> Iterator[tuple[int, Cell]]:
        """All cells with an attempt, in the order of the plan, each behind its position."""
        own = (self._first + slot * self._of for slot, attempts in enumerate(self._attempts) if attempts)
        return ((position, self.cell(position)) for position in heapq.merge(own, sorted(self._others)))


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
        if n != tally.n + 1 and not is_explained and self._offset not in self._named.gaps:
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
