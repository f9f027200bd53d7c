"""Several logs of one plan -> the log that one machine would have made.

Each log is read through once, and its lines that count are taken over as they stand, session after session: who ran
what, and when, stays true. A cell belongs to the first log that holds it; another log that holds it, too, must hold
the same output or error, or an error that the first has tried again. In memory are the table of one log, and two bytes
for each planned cell.
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical, request_of
from benchkit.basics.texts import names_of, shown_line
from benchkit.basics.values import JSON, Cell, Reply, Shard
from benchkit.disk.whole_files import same_bytes, shown_path, write_new
from benchkit.trial_log.lines import Damage, Line, LinePosition, PlanLine, SessionLine, SystemLine, TrialLine, bytes_of
from benchkit.trial_log.reader import TrialLog, read_log
from benchkit.trial_log.scan import line_and_place, scan_trial_line

MOST_LOGS = 65_535
"""So that the log of a cell takes two bytes of memory."""


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
    merge = _Merge(accept_damage, joins_systems)
    if not out.exists():
        write_new(out, merge.lines(paths))
    elif not same_bytes(out, merge.lines(paths)):
        _refuse_other(out, paths, _Merge(accept_damage, joins_systems))
    return merge.result()


def _refuse_other(out: Path, paths: Sequence[Path], merge: _Merge) -> NoReturn:
    """Raise Unusable for what stands at `out`; where these logs hold all that it holds, with what to do about it."""
    for _ in merge.lines(paths):
        pass
    held = 0 if any(out.samefile(path) for path in paths) else merge.held_again(out)
    if not held:
        raise Unusable(f"{shown_path(out)} is there already and holds something else; give the name of a new file")
    raise Unusable(f"{shown_path(out)} is there already and holds a merge of {held} of the {merge.result().recorded} "
                   "trials of these logs, and nothing else; delete it and merge again, or give the name of a new file")


class _Merge:
    """One merge under way; its lines can be taken once.

    plan, settings, asks  what all logs have in common, as the first has it; the plan grows where systems are joined
    firsts                by number of shards, the first log of one and the trials that it plans
    owners                for each cell, the number of the log that it is from (from 1; 0: none yet)
    counts                by session, how many lines are written; `taken`: the number of the last line that was read
    """

    def __init__(self, accepts_damage: bool, joins_systems: bool) -> None:
        self._accepts, self._joins_systems = accepts_damage, joins_systems
        self._plan: PlanLine | None = None
        self._settings: dict[str, Mapping[str, JSON]] = {}
        self._asks: dict[str, str] = {}
        self._firsts: dict[int, tuple[Path, int]] = {}
        self._read: list[Path] = []
        self._empty: list[Path] = []
        self._shards: set[Shard] = set()
        self._owners = array("H")
        self._counts: dict[str, int] = {}
        self._taken: dict[str, int] = {}

    def lines(self, paths: Sequence[Path]) -> Iterator[bytes]:
        """The merged log."""
        unfinished = []
        for path in paths:
            if not (yield from self._lines_of(path, only_finished=True)):
                unfinished.append(path)
        # the last session of a log says why cells are left, so what did not end in order comes last
        for path in unfinished:
            yield from self._lines_of(path, only_finished=False)
        if not self._read:
            raise Unusable(f"{shown_path(paths[0])}: nothing recorded yet, nor in any other log given")

    def result(self) -> Merged:
        """What came of it, once all lines are taken."""
        numbers, left = {shard.of for shard in self._shards}, self._owners.count(0)
        of = numbers.pop() if len(numbers) == 1 and left else 0
        every = (Shard(index, of) for index in range(1, of + 1))
        return Merged(len(self._owners), len(self._owners) - left,
                      tuple(shard for shard in every if shard not in self._shards), tuple(self._empty), self._plan)

    def held_again(self, path: Path) -> int:
        """The cells of a further log; 0 if it has a cell or a session that those before it do not have."""
        recorded, sessions = self.result().recorded, len(self._counts)
        with suppress(Unusable):  # whatever it is, it is no log of this plan
            for _ in self._lines_of(path, only_finished=False):
                pass
            if (self.result().recorded, len(self._counts)) == (recorded, sessions):
                return sum(1 for _ in read_log(path, accept_damage=self._accepts).cells())
        return 0

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
        if only_finished and (stop is None or stop.reason not in ("complete", "selection")):
            return False
        before = self._plan or log.plan
        self._plan = now = self._common_plan(log, log.plan)
        self._take_cells(log, log.plan, before, now)
        yield from self._copied(log, now, self._numbers(log.plan, now))
        return True

    def _common_plan(self, log: TrialLog, plan: PlanLine) -> PlanLine:
        """The plan of this log and those before it. Raises Unusable if it is of another plan, or of other settings."""
        common = self._plan
        if common is None:
            common, self._asks = plan, {case.id: case.ask for case in plan.cases}
        here, there = shown_path(log.path), shown_path(self._read[0] if self._read else log.path)
        if self._joins_systems:
            if log.shard is not None:
                # what was merged before may plan fewer
                path, trials = self._firsts.setdefault(log.shard.of, (log.path, plan.trials))
                if trials != plan.trials:
                    raise Unusable(f"{here} and {shown_path(path)} are of different plans: trials {plan.trials}, "
                                   f"not {trials}; run the shard that plans fewer again")
            common = replace(common, systems=tuple(dict.fromkeys((*common.systems, *plan.systems))),
                             trials=max(common.trials, plan.trials))
            plan = replace(plan, trials=common.trials)
        different = self._difference(plan, common)
        if different:
            raise Unusable(f"{here} and {there} are of different plans: {different}; merge logs of one plan")
        for name, settings in log.settings.items():
            before = self._settings.setdefault(name, settings)
            keys = sorted(key for key in {*before, *settings} if _is_other(before.get(key), settings.get(key)))
            if keys:
                raise Unusable(f"{here} and {there} are of different settings: {shown_line(name, 80)} has another "
                               f"{', '.join(keys)}; merge logs of the same settings")
        return common

    def _difference(self, one: PlanLine, other: PlanLine) -> str | None:
        """What two plans differ in, in words; None if they hold the same cells, asked the same."""
        for what, here, there in (
            ("task", f"{one.task.module} {one.task.version}", f"{other.task.module} {other.task.version}"),
            ("split", one.split, other.split), ("trials", str(one.trials), str(other.trials)),
            ("systems", ", ".join(one.systems), ", ".join(other.systems)),
            ("cases", ", ".join(case.id for case in one.cases), ", ".join(case.id for case in other.cases)),
        ):
            if here != there and not (what == "systems" and self._joins_systems):
                return f"{what} {shown_line(here, 100)}, not {shown_line(there, 100)}"
        changed = [here.id for here, there in zip(one.cases, other.cases, strict=True) if here.ask != there.ask]
        return f"another prompt or schema of {names_of(changed)}" if changed else None

    @staticmethod
    def _numbers(plan: PlanLine, common: PlanLine) -> Callable[[int], int]:
        """From the position of a cell in its log to its number among all cells: system by system, trial by trial.

        So a system that is found later changes no number.
        """
        cases, systems = len(plan.cases), tuple(map(common.systems.index, plan.systems))

        def number(position: int) -> int:
            trial, column = divmod(position, cases * len(systems))
            system, case = divmod(column, cases)
            return (systems[system] * common.trials + trial) * cases + case

        return number

    def _take_cells(self, log: TrialLog, plan: PlanLine, before: PlanLine, now: PlanLine) -> None:
        """Let the log own the cells that are nobody's yet. Raises Unusable where another has another outcome."""
        cells, more_cells = len(plan.cases) * before.trials, len(plan.cases) * now.trials
        if more_cells > cells:
            # each system has more cells now, and what is new is nobody's
            owners, self._owners = self._owners, array("H")
            for start in range(0, len(owners), cells):
                self._owners.extend(owners[start:start + cells])
                self._owners.frombytes(bytes(2 * (more_cells - cells)))
        self._owners.frombytes(bytes(2 * (more_cells * len(now.systems) - len(self._owners))))
        self._read.append(log.path)
        if log.shard is not None:
            self._shards.add(log.shard)
        number, others = self._numbers(plan, now), set()
        for position, _ in log.cells():
            owner = self._owners[number(position)]
            if owner:
                others.add(owner)
            else:
                self._owners[number(position)] = len(self._read)
        for owner in sorted(others):
            other = read_log(self._read[owner - 1], accept_damage=self._accepts)
            names = [f"{shown_line(cell.case, 48)} trial {cell.trial}" for position, cell in log.cells()
                     if self._owners[number(position)] == owner and _said(log, cell) != _said(other, cell)
                     and not (log.error_type(cell) and log.attempts(cell) < other.attempts(cell))]
            if names:
                raise Unusable(f"{shown_path(log.path)} and {shown_path(other.path)} have different outcomes of "
                               f"{names_of(names)}; leave one of the two logs out")

    def _copied(self, log: TrialLog, plan: PlanLine, number: Callable[[int], int]) -> Iterator[bytes]:
        """The lines that the merged log takes over, each at its place there."""
        before = dict(self._taken)
        # a line that says what was asked may be lost, or be overruled later: then each trial is looked at
        is_doubtful = bool(log.named or log.harmless)
        for offset, data in log.raw_lines():
            line: Line | None = None
            found = None if is_doubtful else scan_trial_line(data)
            if found is not None:
                place = LinePosition(found.session, found.n)
                position = log.position(Cell(found.system, found.case, found.trial))
            else:
                line, place = line_and_place(f"{shown_path(log.path)}: byte {offset}", data)
                position = log.position(line.cell) if isinstance(line, TrialLine) else None
            self._taken[place.session] = place.n
            if found is not None or isinstance(line, TrialLine):
                is_taken = position is not None and self._owners[number(position)] == len(self._read)
                if is_taken and isinstance(line, TrialLine):
                    # was it asked what its cell asks now? The line that says what its system is may be lost
                    cell, settings = line.cell, self._settings.get(line.cell.system)
                    is_taken = settings is not None and (
                        request_of(self._asks[cell.case], settings, cell.seed) == line.request)
            else:
                # another log may have had this part of the session, too
                is_taken = place.n > before.get(place.session, -1) and self._is_said(line, plan)
                is_doubtful = is_doubtful or not is_taken
            if is_taken:
                yield self._placed(log, plan, data, line, place)

    def _is_said(self, line: Line | None, plan: PlanLine) -> bool:
        """Whether a plan or system line says what all logs say in the end; so does any other line."""
        if isinstance(line, PlanLine):
            return self._difference(line, plan) is None
        return not (isinstance(line, SystemLine) and _is_other(line.settings, self._settings[line.system]))

    def _placed(self, log: TrialLog, plan: PlanLine, data: bytes, line: Line | None, was: LinePosition) -> bytes:
        """The bytes of a line at the place it takes in the merged log; `line` is None for a trial that was scanned."""
        place = LinePosition(was.session, self._counts.get(was.session, 0))
        self._counts[place.session] = place.n + 1
        if isinstance(line, SessionLine):
            # damage is of the files that are left behind; that a trace lost something stays known
            trace_damage = line.trace_damage and (Damage(0, 0),)
            return bytes_of(replace(line, damage=(), trace_damage=trace_damage, shard=None), place)
        if place.n == 0:
            raise Unusable(f"{shown_path(log.path)}: the first line of a session is lost; make a new log without the "
                           f"damage first: bench.py --log {shown_path(log.path)} --export CLEAN")
        if isinstance(line, PlanLine) and line.systems != plan.systems:
            return bytes_of(replace(line, systems=plan.systems), place)
        if place == was:
            return data + b"\n"
        return bytes_of(line or line_and_place(shown_path(log.path), data)[0], place)


def _is_other(one: JSON, other: JSON) -> bool:
    # not ==, for which 1, 1.0 and true are the same
    return canonical(one) != canonical(other)


def _said(log: TrialLog, cell: Cell) -> tuple[bool, str]:
    """What came of a cell, as far as two machines can agree on it: its output, or the type of its error."""
    outcome = log.trial(cell).outcome
    return (True, outcome.output) if isinstance(outcome, Reply) else (False, outcome.error.type)
