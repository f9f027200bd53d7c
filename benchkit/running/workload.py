"""What a session is given: from what a person typed to the cells to run, who answers, and the context it runs in."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

from benchkit import VERSION
from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import request_of
from benchkit.basics.texts import file_stem, shown_line
from benchkit.basics.values import JSON, Case, Shard, TaskName, seed_of
from benchkit.disk.appending import refuse_link
from benchkit.recordings.replay import REPLAY, is_replay, recording_from, reference_of
from benchkit.running.engine import Observer
from benchkit.running.plan import ALL, RemainingWork, Selection
from benchkit.running.shards import mark_of
from benchkit.systems.loading import load_system, split_name
from benchkit.systems.system import System, SystemOptions
from benchkit.tasks.judging import refuse_raising
from benchkit.tasks.task import Prompt, Task, in_split, prompt_of, read_cases
from benchkit.trial_log import lines
from benchkit.trial_log.reader import TakeLine, TrialLog, read_log
from benchkit.trial_log.schema import MOST_CELLS

PARALLEL = "parallel"
"""The setting of a run in which each server had several trials at once; where it had one at a time, it is not there."""
MOST_AT_ONCE = 1024


class Sidecar(Protocol):
    """A file that grows beside the log. What belongs to a trial is on the disk before its line is."""

    def begin(self, session: str, log: TrialLog) -> tuple[lines.Damage, ...]:
        """Go on behind what is there, for the session of that id; the damage found, for the session line.

        `log` is the log under the lock: what its sessions name is known. Raises Unusable for harmful damage.
        """

    def before_line(self, line: lines.TrialLine) -> None:
        """Put all that belongs to this trial on the disk. Raises EnvironmentFailure."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a person typed: names and files, nothing opened yet. `command` is how it was asked."""

    system: str
    cases: str
    split: str
    trials: int
    log: Path
    command: Command
    budget_s: float | None = None
    timeout_s: float = 120.0
    hardware: str | None = None
    host: str | None = None
    allow_cloud: bool = False
    selection: Selection = ALL
    rerun_changed: bool = False
    accept_damage: bool = False
    parallel: int = 1
    unchecked: bool = False


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


def log_at(path: Path, accept_damage: bool = False, take: TakeLine | None = None) -> TrialLog | None:
    """The log to go on with as it is, read without a lock; None where there is none yet, or nothing planned in it.

    `take` is given every line that counts. Raises Unusable for a link, for what is no log, and for damage.
    """
    refuse_link(path)
    if not path.exists() or path.stat().st_size == 0:
        return None
    log = read_log(path, accept_damage=accept_damage, take=take)
    return None if log.plan is None else log


def workload_of(config: RunConfig, task: Task, context: RunContext, log: TrialLog | None) -> Workload:
    """The workload that the flags amount to: cases read, the system made but not opened. Raises Unusable.

    `log` is the log as found (None: there is none yet).
    """
    cases = in_split(read_cases(Path(config.cases)), config.split)
    if config.parallel > MOST_AT_ONCE:
        raise Unusable(f"--parallel {config.parallel}: at most {MOST_AT_ONCE} trials can be under way at once")
    system = load_system(config.system, SystemOptions(
        clock=context.clock, stop=context.stop, say=context.say, task=task, cases=cases,
        host=config.host, allow_cloud=config.allow_cloud,
        recorded=recorded_settings(log, config.system, config.rerun_changed)), context.folders)
    # a baseline of the task that sees no labels, or else one that fits any task
    baseline = next((name for name in task.baselines if name not in task.sees_labels), "most-common")
    without_server = config.command.only("--task", "--cases", "--split", "--trials", "--case", "--limit")
    check = config.command.beside("harness.py", "check", "--task", task.module, "--cases", config.cases)
    return Workload(
        log=config.log, systems={config.system: system}, title=task.title, cases=cases,
        prompts={case.id: prompt_of(task, case) for case in cases}, split=config.split, trials=config.trials,
        budget=Budget(context.start, config.budget_s), timeout_s=config.timeout_s, command=config.command,
        hardware=config.hardware, selection=config.selection, rerun_changed=config.rerun_changed,
        accept_damage=config.accept_damage, parallel=config.parallel,
        without_server=with_another_system(without_server, f"baselines:{baseline}", log),
        probe=(lambda: None) if config.unchecked else partial(refuse_raising, task, cases, check))


def with_another_system(
        command: Command, system: str, log: TrialLog | None, shard: Shard | None = None) -> Command:
    """The command that asks another system the same, into a log that is not there yet.

    `log` is the one that was found (None: there is none): what only that says is said, for the other is a new one.
    """
    plan = None if log is None else log.plan
    if plan is not None:
        command = command.without("--log").without("--out")
        for flag, value in (("--task", plan.task.module), ("--split", plan.split), ("--trials", str(plan.trials))):
            command = command if command.says(flag) else command.having(flag, value)
    return _in_new_log(command.having("--system", system), system, shard)


def _in_new_log(command: Command, system: str, shard: Shard | None) -> Command:
    """The command as it is, if it names its log or the usual one is not there yet; else with a name that is free."""
    # `harness.py run` has its log beside its run record
    flag, folder, suffix = ("--out", "runs", ".json") if command.words[:1] == ("run",) else (
        "--log", "recorded", ".jsonl")
    stem, mark = str(Path(folder, file_stem(split_name(system)[1]))), mark_of(shard)
    usual = f"{stem}{mark}"
    names = chain([usual], (f"{stem}-{number}{mark}" for number in count(2)))
    free = next(name for name in names if not any(Path(name + kind).exists() for kind in (".jsonl", ".json")))
    return command if command.says(flag) or free == usual else command.having(flag, free + suffix)


def request_fields(
    system: str, ask: str, task: Task, cases: tuple[Case, ...], context: RunContext,
) -> dict[str, JSON]:
    """System, settings, seed and request of trial 1; the request is null where a setting is still unknown (null).

    A setting that only a server knows is unknown, for none is asked.
    """
    if is_replay(system):
        recording = recording_from(reference_of(system.removeprefix(REPLAY)))
        name, settings = recording.system, recording.settings
    else:
        options = SystemOptions(context.clock, context.stop, context.say, task, cases)
        name, settings = system, load_system(system, options, context.folders).settings()
    request = None if None in settings.values() else request_of(ask, settings, seed_of(1))
    return {"system": name, "settings": settings, "trial": 1, "seed": seed_of(1), "request": request}


def recorded_settings(log: TrialLog | None, system: str, rerun_changed: bool) -> Mapping[str, JSON] | None:
    """What a log holds of a system's settings; None where it holds none, or what changed is to be run again."""
    return None if log is None or rerun_changed else log.settings.get(system)


def wanted_plan(workload: Workload, log: TrialLog | None) -> lines.PlanLine:
    """The plan that a workload asks for; where systems may be added, with those that the log has already.

    Raises Unusable for a plan larger than a log can hold.
    """
    before = log.plan.systems if log is not None and log.plan is not None and workload.adds_systems else ()
    plan = lines.PlanLine(
        kit=VERSION, task=workload.title, split=workload.split,
        cases=tuple(lines.PlannedCase(case.id, workload.prompts[case.id].ask) for case in workload.cases),
        trials=workload.trials, systems=tuple(dict.fromkeys((*before, *workload.systems))))
    cells = len(plan.cases) * len(plan.systems) * plan.trials
    share_out = "share the cases out over several files (--cases), each with a log of its own"
    if cells > MOST_CELLS:
        raise Unusable(f"--trials {plan.trials}: {len(plan.cases):,} cases make {cells:,} planned trials, more than "
                       f"the {MOST_CELLS:,} that a log plans; ask for fewer trials, or {share_out}")
    if len(lines.bytes_of(plan, lines.LinePosition("f" * 16, 10**6))) > lines.MOST_LINE_BYTES:
        raise Unusable(f"split {shown_line(plan.split, 60)}: {len(plan.cases):,} cases are more than a plan line of "
                       f"{lines.MOST_LINE_BYTES:,} bytes names; {share_out}")
    return plan


def settings_of(workload: Workload, system: System) -> Mapping[str, JSON]:
    """All that determines a request: also how many a server has at once, for that changes the text of some."""
    return system.settings() if workload.parallel == 1 else {**system.settings(), PARALLEL: workload.parallel}


def parallel_of(log: TrialLog | None, system: str) -> int:
    """How many trials of a system were under way at once where the log was recorded; 1 where it does not say."""
    said = log.settings.get(system, {}).get(PARALLEL) if log is not None else None
    return said if isinstance(said, int) and said > 1 else 1
