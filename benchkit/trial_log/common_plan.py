"""What several logs of one plan have in common: the plan, the settings, and where the cells of each stand among all.

What does not live here: reading the logs, and taking their lines over (merging.py).
"""
from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.canonical import canonical, request_of
from benchkit.basics.errors import Unusable
from benchkit.basics.names import names_of, shown_line
from benchkit.basics.values import JSON
from benchkit.disk.whole_files import shown_path
from benchkit.trial_log.lines import Line, PlanLine, SystemLine, TrialLine
from benchkit.trial_log.reader import TrialLog


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
