"""What a session is given: the wanted plan, its prompts and settings, and the environment it runs in."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

from benchkit import VERSION
from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, TaskName
from benchkit.running.engine import Observer
from benchkit.running.plan import ALL, RemainingWork, Selection
from benchkit.systems.system import System
from benchkit.tasks.task import Prompt, Task, prompt_of
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, LinePosition, PlanLine, PlannedCase, TrialLine, bytes_of
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.schema import MOST_CELLS

PARALLEL = "parallel"
"""The setting of a run in which each server had several trials at once; where it had one at a time, it is not there."""

_ANY_PLACE = LinePosition("f" * 16, 10**6)


class Sidecar(Protocol):
    """A file that grows beside the log. What belongs to a trial is on the disk before its line is."""

    def begin(self, session: str, log: TrialLog) -> tuple[Damage, ...]:
        """Go on behind what is there, for the session of that id; the damage found, for the session line.

        `log` is the log under the lock: what its sessions name is known. Raises Unusable for harmful damage.
        """

    def before_line(self, line: TrialLine) -> None:
        """Put all that belongs to this trial on the disk. Raises EnvironmentFailure."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be run: which cells, into which log, within which limits.

    prompts         of every case, by its id
    command         how it was asked, so that errors can offer the command that would be right
    adds_systems    whether a log of other systems is gone on with; else it is refused
    sidecar         a file that grows beside the log, if there is one
    remedy          what to do where requests have changed, in words; None: what bench.py can do
    parallel        how many trials are under way at once
    without_server  the command to offer where a system's server does not answer, if there is one
    probe           called once where something is left to run, before anybody is asked; raises Unusable if it must not
    """

    log: Path
    systems: Mapping[str, System]
    title: TaskName
    cases: tuple[Case, ...]
    prompts: Mapping[str, Prompt]
    split: str
    trials: int
    budget: Budget
    timeout_s: float
    command: Command
    hardware: str | None = None
    selection: Selection = ALL
    rerun_changed: bool = False
    accept_damage: bool = False
    adds_systems: bool = False
    sidecar: Sidecar | None = None
    remedy: str | None = None
    parallel: int = 1
    without_server: Command | None = None
    probe: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class RunContext:
    """What surrounds a run: folders of modules, time, signals, and the person who waits.

    `start` is when the process began, on the clock's monotonic time. `say` takes a line for the person; `progress` is
    the stream for progress (None: quiet).
    """

    folders: Sequence[Path]
    start: float
    say: Callable[[str], None]
    progress: TextIO | None
    clock: Clock
    stop: StopRequest


Observe: TypeAlias = Callable[[RemainingWork], AbstractContextManager[Observer]]
"""Makes who watches a session, once it is known what is to be done."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended: the stop line's reason (None: nothing was to be done), and why, where it is an error.

    `again` counts the error trials that were asked again: those that have an answer now, and those in error again.
    """

    reason: str | None
    sentence: str | None = None
    again: tuple[int, int] = (0, 0)


def wanted_plan(workload: Workload, log: TrialLog | None) -> PlanLine:
    """The plan that a workload asks for; where systems may be added, with those that the log has already.

    Raises Unusable for a plan larger than a log can hold.
    """
    before = log.plan.systems if log is not None and log.plan is not None and workload.adds_systems else ()
    plan = PlanLine(
        kit=VERSION, task=workload.title, split=workload.split,
        cases=tuple(PlannedCase(case.id, workload.prompts[case.id].ask) for case in workload.cases),
        trials=workload.trials, systems=tuple(dict.fromkeys((*before, *workload.systems))))
    _check_size(plan)
    return plan


def _check_size(plan: PlanLine) -> None:
    cells = len(plan.cases) * len(plan.systems) * plan.trials
    share_out = "share the cases out over several files (--cases), each with a log of its own"
    if cells > MOST_CELLS:
        raise Unusable(f"--trials {plan.trials}: {len(plan.cases):,} cases make {cells:,} planned trials, more than "
                       f"the {MOST_CELLS:,} that a log plans; ask for fewer trials, or {share_out}")
    if len(bytes_of(plan, _ANY_PLACE)) > MOST_LINE_BYTES:
        raise Unusable(f"split {shown_line(plan.split, 60)}: {len(plan.cases):,} cases are more than a plan line of "
                       f"{MOST_LINE_BYTES:,} bytes names; {share_out}")


def prompts_of(task: Task, cases: tuple[Case, ...]) -> dict[str, Prompt]:
    """The prompts by case id. Raises Unusable where the task makes none."""
    return {case.id: prompt_of(task, case) for case in cases}


def settings_of(workload: Workload, system: System) -> Mapping[str, JSON]:
    """All that determines a request: also how many a server has at once, for that changes the text of some."""
    return system.settings() if workload.parallel == 1 else {**system.settings(), PARALLEL: workload.parallel}


def parallel_of(log: TrialLog | None, system: str) -> int:
    """How many trials of a system were under way at once where the log was recorded; 1 where it does not say."""
    said = log.settings.get(system, {}).get(PARALLEL) if log is not None else None
    return said if isinstance(said, int) and said > 1 else 1
