"""From which byte of a log on the requests of a case, or of a system, are what they are now.

What does not live here: the lines themselves, and comparing with what a task would ask today.
"""
from __future__ import annotations

from benchkit.basics.canonical import canonical
from benchkit.basics.values import Cell
from benchkit.trial_log.lines import PlanLine, SystemLine


class Changes:
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
