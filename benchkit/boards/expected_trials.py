"""What the trial lines of a log say that its trace must agree with: some 60 bytes a line, kept as it is read."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import repeat

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.values import JSON, Cell
from benchkit.boards.trace_events import SegmentKey
from benchkit.boards.trace_invariants import ExpectedTrial, expected_of
from benchkit.trial_log.lines import Line, LinePosition, SystemLine, TrialLine
from benchkit.trial_log.reader import TrialLog

_ERRORS: Sequence[str | None] = (None, *ERROR_TYPES)
_CODE_OF = {name: code for code, name in enumerate(_ERRORS)}
_NO_LINE = 0xFFFFFFFF


class TrialLines:
    """What a log says of each trial, in columns, and how many lines each session has: `take` its lines in order."""

    def __init__(self) -> None:
        self.lines_of: dict[str, int] = {}
        self.last_of: dict[str, int] = {}
        self.names: dict[str, int] = {}
        # none where the line that had them first is lost
        self.settings: list[Mapping[str, JSON] | None] = [None]
        self.settings_now: dict[str, int] = {}
        self.sessions, self.systems, self.cases, self.trials = (array("I") for _ in range(4))
        self.attempts, self.errors, self.settings_of = array("H"), array("B"), array("H")
        self.requests, self.texts, self.bills, self.messages = (array("Q") for _ in range(4))

    def take(self, line: Line, place: LinePosition) -> None:
        """The next line of the log."""
        self.lines_of[place.session] = self.lines_of.get(place.session, 0) + 1
        self.last_of[place.session] = place.n
        if isinstance(line, SystemLine):
            self.settings_now[line.system] = len(self.settings)
            self.settings.append(line.settings)
        elif isinstance(line, TrialLine):
            expected = expected_of(line, {})
            for names, name in ((self.sessions, place.session), (self.systems, line.cell.system),
                                (self.cases, line.cell.case)):
                names.append(self.names.setdefault(name, len(self.names)))
            self.trials.append(line.cell.trial)
            self.attempts.append(line.attempt)
            self.errors.append(_CODE_OF[expected.error])
            self.settings_of.append(self.settings_now.get(line.cell.system, 0))
            for digests, digest in ((self.requests, expected.request), (self.texts, expected.text),
                                    (self.bills, expected.bill), (self.messages, expected.message)):
                digests.append(int(digest, 16))


class ExpectedTrials:
    """Every trial line of a log, by its number among them, from 0. The lines that are handed over are used up."""

    def __init__(self, log: TrialLog, lines: TrialLines) -> None:
        self._log, self._lines = log, lines
        self._names = list(lines.names)
        self._unplanned: dict[int, Cell] = {}
        self._last_of_unplanned: dict[Cell, int] = {}
        # by position in the plan, the last line of that cell
        self._last_in_cell = array("I")
        # they say of each line the position of its cell, and the line of the attempt before, in place of two names
        self._positions, self._before = lines.cases, lines.systems
        for number in range(len(self)):
            cell = Cell(self._names[lines.systems[number]], self._names[lines.cases[number]], lines.trials[number])
            before, position = self._last(cell), log.position(cell)
            self._before[number] = _NO_LINE if before is None else before
            self._positions[number] = _NO_LINE if position is None else position
            if position is None:
                self._unplanned[number], self._last_of_unplanned[cell] = cell, number
            else:
                self._last_in_cell.extend(repeat(_NO_LINE, position + 1 - len(self._last_in_cell)))
                self._last_in_cell[position] = number
        del lines.trials[:]

    def __len__(self) -> int:
        return len(self._positions)

    def _last(self, cell: Cell) -> int | None:
        position = self._log.position(cell)
        if position is None:
            return self._last_of_unplanned.get(cell)
        return _line_in(self._last_in_cell, position) if position < len(self._last_in_cell) else None

    @property
    def lost_in(self) -> Mapping[str, int]:
        """How many lines of each session are lost."""
        return {name: self._lines.last_of[name] + 1 - count for name, count in self._lines.lines_of.items()}

    def key(self, number: int) -> SegmentKey:
        """Which attempt a line is of."""
        position, lines = self._positions[number], self._lines
        cell = self._unplanned[number] if position == _NO_LINE else self._log.cell(position)
        return SegmentKey(self._names[lines.sessions[number]], cell, lines.attempts[number])

    def number(self, key: SegmentKey) -> int | None:
        """The line of an attempt; None if there is none."""
        number = self._last(key.cell)
        while number is not None and self.key(number) != key:
            number = _line_in(self._before, number)
        return number

    def is_last(self, number: int) -> bool:
        """Whether it is the last attempt at its cell."""
        return self._last(self.key(number).cell) == number

    def counts(self, number: int) -> bool:
        """Whether it is the attempt that counts."""
        return self.is_last(number) and self._log.is_recorded(self.key(number).cell)

    def expected(self, number: int) -> ExpectedTrial:
        """What a line says, and the settings that its system had then (where they are lost, those of the end)."""
        lines, system = self._lines, self.key(number).cell.system
        settings = lines.settings[lines.settings_of[number]]
        request, text, bill, message = (
            f"{column[number]:016x}" for column in (lines.requests, lines.texts, lines.bills, lines.messages))
        return ExpectedTrial(request, text, bill, message, _ERRORS[lines.errors[number]],
                             self._log.settings.get(system, {}) if settings is None else settings)


def _line_in(column: array[int], place: int) -> int | None:
    found = column[place]
    return None if found == _NO_LINE else found


def expected_in(log: TrialLog) -> ExpectedTrials:
    """The same of a log that was read before, in one more pass."""
    lines = TrialLines()
    for line, place in log.lines_that_count():
        lines.take(line, place)
    return ExpectedTrials(log, lines)
