"""What is kept in memory of a log: 11 bytes a cell, and from where on requests are what they are now.

The log of a shard has space for the cells of that shard; another cell in it (a plan that grew deals its cells anew) is
kept apart. The trials themselves stay on the disk; their offsets are here.
"""
from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.json_text import canonical
from benchkit.basics.values import Cell, Shard
from benchkit.trial_log.lines import PlanLine, SystemLine


class RequestChanges:
    """Kept for what changed or came late only, so that a long plan takes no memory here.

    A trial line before `changed_at` was asked something else. One before `known_at` was asked we know not what:
    the line that said so is lost, as can be in a damaged log.
    """

    def __init__(self) -> None:
        self.system_lines: dict[str, SystemLine] = {}
        self._plan: PlanLine | None = None
        self._first_plan = 0
        self._known: dict[tuple[str, str], int] = {}
        self._changed: dict[tuple[str, str], int] = {}

    def take_plan(self, line: PlanLine, offset: int) -> None:
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

    def take_system(self, line: SystemLine, offset: int) -> None:
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
        """From where on it is known what a cell is asked."""
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

    def __init__(self, plan: PlanLine, shard: Shard | None = None) -> None:
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
