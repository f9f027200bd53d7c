"""What is to be run: the plan wanted now, held against the log so far. Pure: values in, values out.

The order is trial-major: all cases of trial 1, then all of trial 2, ... so that a run stopped anywhere leaves
every case with t or t+1 trials.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import differences
from benchkit.basics.texts import cases_named, count_of, shown_line
from benchkit.basics.values import JSON, Cell, Shard
from benchkit.systems.loading import is_baseline
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import TrialLog

NEVER_RETRIED = ("PromptTooLong",)
"""Errors that the same request meets again for certain."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the cells left this session runs. None and False: all of them, errors not again.

    With `again` the cells that are recorded are run, too, as their next attempt. `shard` is the part of the plan
    that this log is for: cells of other parts are neither run nor counted. `answered` says which cells another log
    holds: they are not run here. What was `lost` is run again though it is recorded.
    """

    limit: int | None = None
    case: str | None = None
    retry_errors: bool = False
    systems: tuple[str, ...] | None = None
    again: bool = False
    shard: Shard | None = None
    answered: Callable[[Cell], bool] | None = None
    lost: frozenset[Cell] = frozenset()

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is of the chosen case and systems, and no other log holds it."""
        return self.case in (None, cell.case) and (self.systems is None or cell.system in self.systems) and not (
            self.answered is not None and self.answered(cell))


ALL = Selection()


@dataclass(frozen=True, slots=True)
class AllowedChanges:
    """What differs between the log and what would be asked now: case ids, and settings as `options.seed: 1 -> 2`."""

    asks: tuple[str, ...] = ()
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A cell to run, and which attempt it is."""

    cell: Cell
    attempt: int


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """What a session is to do: cells planned, those of them it leaves as they are recorded, and those it runs.

    Cells that are tried again are not among `recorded`. `first` is the first one it runs, in words. `baselines` counts
    those of the chosen that a baseline answers, which takes no time to speak of.
    """

    planned: int
    recorded: int
    chosen: int
    first: str | None
    baselines: int = 0


def size_of(plan: PlanLine, shard: Shard | None = None) -> int:
    """How many cells are planned; in all, or for a shard."""
    planned = plan.trials * len(plan.systems) * len(plan.cases)
    return planned if shard is None else len(range(shard.index - 1, planned, shard.of))


def cells_of(plan: PlanLine, shard: Shard | None = None) -> Iterator[Cell]:
    """Planned cells in the order of running: for each trial, for each system, for each case; all, or a shard's."""
    if shard is None:
        yield from (Cell(system, case.id, trial) for trial in range(1, plan.trials + 1) for system in plan.systems
                    for case in plan.cases)
        return
    # counted, not skipped: a shard of a large plan holds a thousandth of its cells
    for number in range(shard.index - 1, size_of(plan), shard.of):
        trial, column = divmod(number, len(plan.systems) * len(plan.cases))
        system, case = divmod(column, len(plan.cases))
        yield Cell(plan.systems[system], plan.cases[case].id, trial + 1)


def check_fits(log: TrialLog, wanted: PlanLine, command: Command, adds_systems: bool = False) -> None:
    """Raise Unusable where the wanted plan contradicts the log, with the command that would be right."""
    planned = log.plan
    if planned is None:
        return
    for flag, given, recorded in (
        ("--system", " ".join(wanted.systems), " ".join(wanted.systems if adds_systems else planned.systems)),
        ("--task", wanted.task.module, planned.task.module),
        ("--split", wanted.split, planned.split),
    ):
        if given != recorded:
            raise Unusable(
                f"{log.path}: it was recorded with {flag} {shown_line(recorded)}, not {shown_line(given)}; go on with "
                f"{command.having(flag, recorded)}, or choose another --log")
    if wanted.trials < planned.trials:
        raise Unusable(f"{log.path}: it plans {count_of(planned.trials, 'trial')}, and {wanted.trials} is fewer; go on "
                       f"with {command.having('--trials', str(planned.trials))} (or more), or choose another --log")
    there = {case.id for case in wanted.cases}
    gone = [case.id for case in planned.cases if case.id not in there]
    if gone:
        raise Unusable(f"{log.path}: {cases_named(gone)} of its plan {'is' if len(gone) == 1 else 'are'} not in the "
                       f"cases any more; put back what is gone, or choose another --log")


def check_shard(log: TrialLog, shard: Shard | None, command: Command) -> None:
    """Raise Unusable where the log is recorded for another part of the plan than the one wanted."""
    if log.sessions and log.shard is None and shard is not None and shard.of > 1:
        raise Unusable(f"{log.path}: it was recorded for the whole plan, and with --shard {shard} its other trials "
                       f"would never run; go on with {command.without('--shard')}, or choose another --log")
    if log.shard not in (None, shard):
        raise Unusable(f"{log.path}: it was recorded with --shard {log.shard}, not {shard or 'for the whole plan'}; "
                       f"go on with {command.having('--shard', str(log.shard))}, or choose another --log")


def changed_asks(log: TrialLog, wanted: PlanLine) -> tuple[str, ...]:
    """Ids of planned cases whose messages or schema differ from those the log was recorded with."""
    if log.plan is None:
        return ()
    asks = {case.id: case.ask for case in log.plan.cases}
    return tuple(case.id for case in wanted.cases if asks.get(case.id, case.ask) != case.ask)


def settings_differences(before: JSON, now: JSON) -> tuple[str, ...]:
    """What differs between two settings, one text a leaf: `options.temperature: 1 -> 0.7`."""
    return tuple(f"{found.place}: {found.one} -> {found.other}" for found in differences(before, now))


def refuse_changes(log: TrialLog, changes: AllowedChanges, remedy: str) -> None:
    """Raise Unusable that names what differs; `remedy` is what to do about it."""
    parts = []
    if changes.asks:
        parts.append(f"the prompt or schema of {cases_named(changes.asks)} changed")
    for system, texts in changes.settings.items():
        parts.append(f"the settings of {shown_line(system)} changed ({'; '.join(texts)})")
    if parts:
        raise Unusable(f"{log.path}: {', and '.join(parts)} since it was recorded; {remedy}")


def is_left(log: TrialLog | None, cell: Cell, changes: AllowedChanges, selection: Selection) -> bool:
    """Whether a cell is still to be run; `log` is None where there is none yet, as in all that follows."""
    is_changed = cell.case in changes.asks or cell.system in changes.settings
    if log is None or not log.is_recorded(cell) or is_changed or selection.again or cell in selection.lost:
        return True
    return selection.retry_errors and can_be_retried(log.error_type(cell))


def can_be_retried(error_type: str | None) -> bool:
    """Whether a recorded trial ended in an error that need not come again."""
    return error_type is not None and error_type not in NEVER_RETRIED


def work_left(
    log: TrialLog | None, plan: PlanLine, changes: AllowedChanges, selection: Selection,
) -> Iterator[Assignment]:
    """The cells to run in this session, in order, each with the number of its next attempt."""
    count = 0
    for cell in cells_of(plan, selection.shard):
        if selection.limit is not None and count >= selection.limit:
            return
        if selection.holds(cell) and is_left(log, cell, changes, selection):
            count += 1
            yield Assignment(cell, 1 if log is None else log.attempts(cell) + 1)


def remaining_work(
    log: TrialLog | None, plan: PlanLine, changes: AllowedChanges, selection: Selection,
) -> RemainingWork:
    """Count what a session is to do. Cells that nobody has tried are not gone through: there may be millions."""
    planned, recorded = size_of(plan, selection.shard), 0
    columns = {name: column for column, name in enumerate(product(plan.systems, (case.id for case in plan.cases)))}
    for _position, cell in () if log is None else log.attempted():
        column = columns.get((cell.system, cell.case))
        if column is not None and cell.trial <= plan.trials:
            number = (cell.trial - 1) * len(columns) + column
            if selection.shard is None or selection.shard.holds(number):
                recorded += not is_left(log, cell, changes, selection)
    work = work_left(log, plan, changes, selection)
    first = next(work, None)
    of_baselines = {is_baseline(name) for name in plan.systems}
    if selection.case is None and selection.answered is None and len(of_baselines) == 1 and set(plan.systems) <= set(
            selection.systems or plan.systems):
        chosen = planned - recorded if selection.limit is None else min(planned - recorded, selection.limit)
        baselines = chosen if True in of_baselines else 0
    else:
        cells = [] if first is None else [first.cell, *(one.cell for one in work)]
        chosen, baselines = len(cells), sum(is_baseline(cell.system) for cell in cells)
    return RemainingWork(planned, recorded, chosen, baselines=baselines, first=(
        None if first is None else f"{shown_line(first.cell.case)}, trial {first.cell.trial}"))


def check_selection(plan: PlanLine, selection: Selection) -> None:
    """Raise Unusable for a case that the plan does not hold."""
    if selection.case is not None and selection.case not in {case.id for case in plan.cases}:
        raise Unusable(f"--case {shown_line(selection.case)}: the split {shown_line(plan.split)} has no such case; "
                       f"it has {cases_named([case.id for case in plan.cases])}")
