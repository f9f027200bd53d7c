"""Several logs of one plan -> the log that one machine would have made.

Each log is read through once, and its lines that count are taken over as they stand, session after session: who ran
what, and when, stays true. A cell belongs to the first log that holds it; another log that holds it, too, must hold
the same output or error, or an error that the first has tried again. In memory are the table of one log, and two bytes
for each planned cell.
What does not live here: what the logs must have in common (common_plan.py), how the cells came to be shared out
(running/shards.py), and the traces of boards (boards/trace_joining.py).
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.names import names_of, shown_line
from benchkit.basics.values import Cell, Outcome, Reply, Shard
from benchkit.disk.whole_files import same_bytes, shown_path, write_new
from benchkit.trial_log.common_plan import Common, spread
from benchkit.trial_log.glance import glance
from benchkit.trial_log.lines import Damage, Line, Place, PlanLine, SessionLine, TrialLine, bytes_of
from benchkit.trial_log.raw_lines import line_and_place
from benchkit.trial_log.reader import TrialLog, read_log

MOST_LOGS = 65_535
"""So that the log of a cell takes two bytes of memory."""
_ENDS_IN_ORDER = ("complete", "selection")


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge gave: cells planned and recorded, and the logs that held nothing.

    missing  where cells are left, the shards that no log is of
    plan     what all of them plan
    """

    planned: int
    recorded: int
    missing: tuple[Shard, ...]
    empty: tuple[Path, ...]
    plan: PlanLine | None = field(default=None, compare=False)


def merge_logs(
    paths: Sequence[Path], out: Path, accept_damage: bool = False, joins_systems: bool = False,
) -> Merged:
    """Write the log that holds all that these logs hold.

    With `joins_systems` each may plan systems of its own, and of trials only logs of as many shards must plan the same.

    Raises Unusable: another plan or other settings, a cell with two outcomes, harmful damage (each by name), nothing
    recorded in any, another file at `out`; Surroundings if it cannot be written. Then nothing is changed.
    """
    if len(paths) > MOST_LOGS:
        raise Unusable(f"{len(paths):,} logs are more than one merge takes ({MOST_LOGS:,}); merge some of them first")
    merge = _Merge(paths, accept_damage, joins_systems)
    if not out.exists():
        write_new(out, merge.lines())
    elif not same_bytes(out, merge.lines()):
        raise Unusable(f"{shown_path(out)} is there already and holds something else; give the name of a new file")
    return merge.result()


class _Merge:
    """One merge under way; its lines can be taken once.

    `_owners` holds for each cell, by its number in `Layout`, the number of the log that it is from (from 1; 0: none
    yet); `_counts` by session how many lines are written, and `_taken` the number of the last line that was read.
    """

    def __init__(self, paths: Sequence[Path], accept_damage: bool, joins_systems: bool) -> None:
        self._paths, self._accepts, self._joins_systems = paths, accept_damage, joins_systems
        self._common: Common | None = None
        self._read: list[Path] = []
        self._empty: list[Path] = []
        self._shards: set[Shard] = set()
        self._owners = array("H")
        self._counts: dict[str, int] = {}
        self._taken: dict[str, int] = {}

    def lines(self) -> Iterator[bytes]:
        """The merged log."""
        unfinished = []
        for path in self._paths:
            if not (yield from self._lines_of(path, only_finished=True)):
                unfinished.append(path)
        # the last session of a log says why cells are left, so what did not end in order comes last
        for path in unfinished:
            yield from self._lines_of(path, only_finished=False)
        if not self._read:
            raise Unusable(f"{shown_path(self._paths[0])}: nothing recorded yet, nor in any other log given")

    def result(self) -> Merged:
        """What came of it, once all lines are taken."""
        numbers, left = {shard.of for shard in self._shards}, self._owners.count(0)
        of = numbers.pop() if len(numbers) == 1 and left else 0
        every = (Shard(index, of) for index in range(1, of + 1))
        return Merged(len(self._owners), len(self._owners) - left,
                      tuple(shard for shard in every if shard not in self._shards), tuple(self._empty),
                      self._common.plan if self._common else None)

    def _lines_of(self, path: Path, only_finished: bool) -> Generator[bytes, None, bool]:
        """The lines that come from one log; False if it is left for later."""
        log = read_log(path, accept_damage=self._accepts)
        if log.plan is not None:
            log.begun()
        elif log.is_empty and log.size:
            raise Unusable(f"{shown_path(path)}: this is no trial log: it holds no whole session line")
        if log.plan is None:
            self._empty.append(path)
            return True
        stop = log.sessions[-1].stop
        if only_finished and (stop is None or stop.reason not in _ENDS_IN_ORDER):
            return False
        self._take(log, log.plan)
        yield from self._copied(log)
        return True

    def _take(self, log: TrialLog, plan: PlanLine) -> None:
        """Let the log own the cells that are nobody's yet. Raises Unusable where it does not fit the others."""
        if self._common is None:
            self._common = Common(log.path, plan, {}, {case.id: case.ask for case in plan.cases}, self._joins_systems)
        before = self._common.plan
        self._common.take(log, plan)
        now = self._common.plan
        if now.trials > before.trials:
            self._owners = spread(self._owners, len(plan.cases) * before.trials, len(plan.cases) * now.trials)
        planned = len(plan.cases) * len(now.systems) * now.trials
        self._owners.frombytes(bytes(2 * (planned - len(self._owners))))
        self._read.append(log.path)
        if log.shard is not None:
            self._shards.add(log.shard)
        number, others = self._common.layout(plan).number, set()
        for position, _ in log.cells():
            owner = self._owners[number(position)]
            if owner:
                others.add(owner)
            else:
                self._owners[number(position)] = len(self._read)
        for owner in sorted(others):
            self._compare(log, owner, number)

    def _compare(self, log: TrialLog, owner: int, number: Callable[[int], int]) -> None:
        other = read_log(self._read[owner - 1], accept_damage=self._accepts)
        names = [f"{shown_line(cell.case, 48)} trial {cell.trial}" for position, cell in log.cells()
                 if self._owners[number(position)] == owner and _said(log, cell) != _said(other, cell)
                 and not (log.error_type(cell) and log.attempts(cell) < other.attempts(cell))]
        if names:
            raise Unusable(f"{shown_path(log.path)} and {shown_path(other.path)} have different outcomes of "
                           f"{names_of(names)}; leave one of the two logs out")

    def _copied(self, log: TrialLog) -> Iterator[bytes]:
        """The lines that the merged log takes over."""
        assert self._common is not None
        before, number = dict(self._taken), self._common.layout(log.planned()).number
        # a line that says what was asked may be lost, or be overruled later: then each trial is looked at
        is_doubtful = bool(log.named or log.harmless)
        for offset, data in log.raw_lines():
            one = _read_line(log, offset, data, is_doubtful)
            self._taken[one.place.session] = one.place.n
            if self._is_taken(log, one, before.get(one.place.session, -1), number):
                yield self._placed(log, one)
            elif one.cell is None:
                is_doubtful = True

    def _is_taken(self, log: TrialLog, one: _ReadLine, before: int, number: Callable[[int], int]) -> bool:
        """Whether a line is taken over; `before` is the last line of its session that another log had, too."""
        assert self._common is not None
        if one.cell is None:
            return one.place.n > before and one.line is not None and self._common.is_said(one.line)
        position = log.position(one.cell)
        return position is not None and self._owners[number(position)] == len(self._read) and (
            not isinstance(one.line, TrialLine) or self._common.is_asked(one.line))

    def _placed(self, log: TrialLog, one: _ReadLine) -> bytes:
        """The bytes of a line at the place it takes in the merged log."""
        place = Place(one.place.session, self._counts.get(one.place.session, 0))
        self._counts[place.session] = place.n + 1
        if isinstance(one.line, SessionLine):
            # damage is of the files that are left behind; that a trace lost something stays known
            trace_damage = one.line.trace_damage and (Damage(0, 0),)
            return bytes_of(replace(one.line, damage=(), trace_damage=trace_damage, shard=None), place)
        if place.n == 0:
            raise Unusable(f"{shown_path(log.path)}: the first line of a session is lost; make a new log without the "
                           f"damage first: bench.py --log {shown_path(log.path)} --export CLEAN")
        systems = self._common.plan.systems if self._common else ()
        if isinstance(one.line, PlanLine) and one.line.systems != systems:
            return bytes_of(replace(one.line, systems=systems), place)
        if place == one.place:
            return one.data + b"\n"
        return bytes_of(one.line or line_and_place(shown_path(log.path), one.data)[0], place)


@dataclass(frozen=True, slots=True)
class _ReadLine:
    """A line of a log: `cell` of a trial, else None; `line` is None for a trial that was not looked at closely."""

    data: bytes
    place: Place
    cell: Cell | None
    line: Line | None


def _read_line(log: TrialLog, offset: int, data: bytes, closely: bool) -> _ReadLine:
    found = None if closely else glance(data)
    if found is not None:
        return _ReadLine(data, Place(found.session, found.n), Cell(found.system, found.case, found.trial), None)
    line, place = line_and_place(f"{shown_path(log.path)}: byte {offset}", data)
    return _ReadLine(data, place, line.cell if isinstance(line, TrialLine) else None, line)


def _said(log: TrialLog, cell: Cell) -> tuple[bool, str]:
    """What came of a cell, as far as two machines can agree on it: its output, or the type of its error."""
    outcome: Outcome = log.trial(cell).outcome
    return (True, outcome.output) if isinstance(outcome, Reply) else (False, outcome.error.type)
