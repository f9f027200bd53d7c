"""What is kept in memory of the recorded trials: 11 bytes a cell, laid out in the order of the plan.

The trials themselves stay on the disk; their offsets are here. What does not live here: lines and files.
"""
from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.values import Cell
from benchkit.trial_log.lines import PlanLine

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
    """

    def __init__(self, plan: PlanLine) -> None:
        self._plan = plan
        self._cases = {case.id: at for at, case in enumerate(plan.cases)}
        self._systems = {name: at * len(plan.cases) for at, name in enumerate(plan.systems)}
        self._width = len(plan.cases) * len(plan.systems)
        self._offsets, self._attempts, self._facts = array("q"), array("H"), array("B")

    @property
    def width(self) -> int:
        """Cells in a row: systems x cases."""
        return self._width

    def position(self, system: str, case: str, trial: int) -> int | None:
        """The number of a cell in the order of the plan; None if it is not planned."""
        first, column = self._systems.get(system), self._cases.get(case)
        if first is None or column is None or not 1 <= trial <= self._plan.trials:
            return None
        return (trial - 1) * self._width + first + column

    def cell(self, position: int) -> Cell:
        """The cell at a position."""
        trial, column = divmod(position, self._width)
        system, case = divmod(column, len(self._plan.cases))
        return Cell(self._plan.systems[system], self._plan.cases[case].id, trial + 1)

    def attempts(self, position: int) -> int:
        """The number of the last attempt at the cell; 0 if there is none."""
        return self._attempts[position] if position < len(self._attempts) else 0

    def facts(self, position: int) -> CellFacts | None:
        """What is known of the cell at a position; None if no attempt is recorded."""
        if self.attempts(position) == 0:
            return None
        packed = self._facts[position]
        code = packed & ~_COLD
        return CellFacts(
            self._offsets[position], self._attempts[position],
            ERROR_TYPES[code - 1] if code else None, packed & _COLD != 0)

    def record(self, position: int, facts: CellFacts) -> None:
        """Keep an attempt as the last one of its cell."""
        if position >= len(self._attempts):
            self._add_rows(position)
        self._offsets[position], self._attempts[position] = facts.offset, facts.attempts
        code = _CODE_OF[facts.error_type] if facts.error_type else 0
        self._facts[position] = code | (_COLD if facts.is_cold else 0)

    def _add_rows(self, position: int) -> None:
        missing = (position // self._width + 1) * self._width - len(self._attempts)
        for column in (self._offsets, self._attempts, self._facts):
            column.frombytes(bytes(missing * column.itemsize))

    def recorded(self) -> Iterator[tuple[int, Cell]]:
        """All cells with an attempt, in the order of the plan, each behind its position."""
        return ((position, self.cell(position)) for position, attempts in enumerate(self._attempts) if attempts)
