"""Several logs of one plan -> the log that one machine would have made.

Each log is read through once, and its lines that count are taken over as they stand, session after session: who ran
what, and when, stays true. A cell belongs to the first log that holds it; another log that holds it, too, must hold
the same output or error, or an error that the first has tried again. In memory are the table of one log, and two bytes
for each planned cell.
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical, request_of
from benchkit.basics.texts import names_of, shown_line
from benchkit.basics.values import JSON, Cell, Outcome, Reply, Shard
from benchkit.disk.whole_files import same_bytes, shown_path, write_new
from benchkit.trial_log.lines import Damage, Line, LinePosition, PlanLine, SessionLine, SystemLine, TrialLine, bytes_of
from benchkit.trial_log.reader import TrialLog, read_log
from benchkit.trial_log.scan import line_and_place, scan_trial_line


@dataclass(slots=True)
class Common:
    """What all logs have in common, as the first of them has it; `plan` grows where systems are joined.

    firsts  by number of shards, the first log of one and the trials that it plans
    """

    path: Path
    plan: PlanLine
    settings: dict[str, Mapping[str, JSON]]
    asks: Mapping[str, str]
    joins_systems: bool
    firsts: dict[int, tuple[Path, int]] = field(default_factory=dict)

    def take(self, log: TrialLog, plan: PlanLine) -> None:
        """Another log. Raises Unusable if it is of another plan, or of other settings."""
        here, there = shown_path(log.path), shown_path(self.path)
        if self.joins_systems:
            self._check_trials(log, plan)
            self.plan = replace(self.plan, systems=tuple(dict.fromkeys((*self.plan.systems, *plan.systems))),
                                trials=max(self.plan.trials, plan.trials))
            plan = replace(plan, trials=self.plan.trials)
        different = self._difference(plan)
        if different:
            raise Unusable(f"{here} and {there} are of different plans: {different}; merge logs of one plan")
        for name, settings in log.settings.items():
            before = self.settings.setdefault(name, settings)
            keys = sorted(key for key in {*before, *settings} if _is_other(before.get(key), settings.get(key)))
            if keys:
                raise Unusable(f"{here} and {there} are of different settings: {shown_line(name, 80)} has another "
                               f"{', '.join(keys)}; merge logs of the same settings")

    def _check_trials(self, log: TrialLog, plan: PlanLine) -> None:
        """Raise Unusable where shards of one number plan other trials; what was merged before them may plan fewer."""
        if log.shard is None:
            return
        path, trials = self.firsts.setdefault(log.shard.of, (log.path, plan.trials))
        if trials != plan.trials:
            raise Unusable(f"{shown_path(log.path)} and {shown_path(path)} are of different plans: trials "
                           f"{plan.trials}, not {trials}; run the shard that plans fewer again")

    def is_asked(self, line: TrialLine) -> bool:
        """Whether a trial was asked what its cell asks now."""
        ask, settings = self.asks.get(line.cell.case), self.settings.get(line.cell.system)
        return ask is not None and settings is not None and (
            request_of(ask, settings, line.cell.seed) == line.request)

    def is_said(self, line: Line) -> bool:
        """Whether a plan or system line says what all logs say in the end; so does any other line."""
        if isinstance(line, PlanLine):
            return self._difference(line) is None
        return not (isinstance(line, SystemLine) and _is_other(line.settings, self.settings[line.system]))

    def layout(self, plan: PlanLine) -> Layout:
        """Where the cells of a log that was taken stand among those of all."""
        return Layout(len(plan.cases), self.plan.trials, tuple(map(self.plan.systems.index, plan.systems)))

    def _difference(self, plan: PlanLine) -> str | None:
        return _difference(replace(plan, systems=self.plan.systems) if self.joins_systems else plan, self.plan)


@dataclass(frozen=True, slots=True)
class Layout:
    """From the position of a cell in its log to its number among all cells: system by system, trial by trial.

    So a system that is found later changes no number. `systems` are the numbers of the systems of the log.
    """

    cases: int
    trials: int
    systems: tuple[int, ...]

    def number(self, position: int) -> int:
        """The number of the cell at a position."""
        trial, column = divmod(position, self.cases * len(self.systems))
        system, case = divmod(column, self.cases)
        return (self.systems[system] * self.trials + trial) * self.cases + case


def spread(owners: array[int], cells: int, more_cells: int) -> array[int]:
    """The same owners where each system has more cells, for more trials: what is new is nobody's."""
    new = array("H")
    for start in range(0, len(owners), cells):
        new.extend(owners[start:start + cells])
        new.frombytes(bytes(2 * (more_cells - cells)))
    return new


def _difference(one: PlanLine, other: PlanLine) -> str | None:
    """What two plans differ in, in words; None if they hold the same cells, asked the same."""
    for what, here, there in (
        ("task", f"{one.task.module} {one.task.version}", f"{other.task.module} {other.task.version}"),
        ("split", one.split, other.split), ("trials", str(one.trials), str(other.trials)),
        ("systems", ", ".join(one.systems), ", ".join(other.systems)),
        ("cases", ", ".join(case.id for case in one.cases), ", ".join(case.id for case in other.cases)),
    ):
        if here != there:
            return f"{what} {shown_line(here, 100)}, not {shown_line(there, 100)}"
    changed = [here.id for here, there in zip(one.cases, other.cases, strict=True) if here.ask != there.ask]
    return f"another prompt or schema of {names_of(changed)}" if changed else None


def _is_other(one: JSON, other: JSON) -> bool:
    # not ==, for which 1, 1.0 and true are the same
    return canonical(one) != canonical(other)


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
    recorded in any, another file at `out`; EnvironmentFailure if it cannot be written. Then nothing is changed.
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
        place = LinePosition(one.place.session, self._counts.get(one.place.session, 0))
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
    place: LinePosition
    cell: Cell | None
    line: Line | None


def _read_line(log: TrialLog, offset: int, data: bytes, closely: bool) -> _ReadLine:
    found = None if closely else scan_trial_line(data)
    if found is not None:
        return _ReadLine(data, LinePosition(found.session, found.n), Cell(found.system, found.case, found.trial), None)
    line, place = line_and_place(f"{shown_path(log.path)}: byte {offset}", data)
    return _ReadLine(data, place, line.cell if isinstance(line, TrialLine) else None, line)


def _said(log: TrialLog, cell: Cell) -> tuple[bool, str]:
    """What came of a cell, as far as two machines can agree on it: its output, or the type of its error."""
    outcome: Outcome = log.trial(cell).outcome
    return (True, outcome.output) if isinstance(outcome, Reply) else (False, outcome.error.type)
