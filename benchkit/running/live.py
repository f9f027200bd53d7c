"""Asking a system now: what every command that records does, with its signals and its progress."""
from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from benchkit.basics.clock import Budget, signals_as_stop_request
from benchkit.basics.command import Command
from benchkit.basics.errors import BrokenOff, EnvironmentFailure, Interrupted, NoModel, NoServer, Unusable
from benchkit.basics.json_text import request_of
from benchkit.basics.texts import word_for
from benchkit.basics.values import JSON, Case, seed_of
from benchkit.disk.appending import refuse_link
from benchkit.recordings.replay import REPLAY, is_replay, recording_from, reference_of
from benchkit.running.plan import ALL, Selection
from benchkit.running.progress import Progress, Verdicts, columns_of
from benchkit.running.session import record
from benchkit.running.summary import status_of
from benchkit.running.workload import Ended, RunContext, Workload, prompts_of
from benchkit.systems.loading import load_system
from benchkit.systems.system import SystemOptions
from benchkit.tasks.judging import judge, refuse_raising
from benchkit.tasks.task import Task, in_split, read_cases
from benchkit.trial_log.reader import TakeLine, TrialLog, read_log

MOST_AT_ONCE = 1024
_NOTHING = "nothing was recorded yet"
MOST_KEPT = 1024
"""Verdicts kept: checks are pure, and most systems repeat themselves, so progress costs next to nothing."""


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
    return Workload(
        log=config.log, systems={config.system: system}, title=task.title, cases=cases, prompts=prompts_of(task, cases),
        split=config.split, trials=config.trials,
        budget=Budget(context.start, config.budget_s), timeout_s=config.timeout_s, command=config.command,
        hardware=config.hardware, selection=config.selection, rerun_changed=config.rerun_changed,
        accept_damage=config.accept_damage, parallel=config.parallel,
        without_server=_baseline(config, task, log),
        probe=(lambda: None) if config.unchecked else partial(refuse_raising, task, cases, config.command.beside(
            "harness.py", "check", "--task", task.module, "--cases", config.cases)))


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


def _baseline(config: RunConfig, task: Task, log: TrialLog | None) -> Command:
    """The command that asks a baseline: one of the task that sees no labels, or else one that fits any task.

    It says what was given of what is asked, and what the log said in its place: a baseline has another log.
    """
    name = next((name for name in task.baselines if name not in task.sees_labels), "most-common")
    command = config.command.only("--task", "--cases", "--split", "--trials", "--case", "--limit")
    if log is not None:
        command = command.having("--split", config.split).having("--trials", str(config.trials))
    return command.having("--system", f"baselines:{name}")


def record_live(workload: Workload, log: TrialLog | None, context: RunContext, verdicts: Verdicts) -> Ended:
    """Record what is left; what ends it before its end says what is kept, and how to go on."""
    with signals_as_stop_request(context.stop, os._exit, partial(_acknowledge, context)):
        try:
            return record(workload, log, context, lambda remaining: Progress(remaining, verdicts, context))
        except (Interrupted, KeyboardInterrupt) as interrupted:  # the latter from a system of the user
            number = interrupted.number if isinstance(interrupted, Interrupted) else signal.SIGINT
            kept = f"what ended before is in {workload.log}" if log_at(workload.log, True) else _NOTHING
            raise Interrupted(number, f"; {kept}; go on with: {workload.command}") from None
        except BrokenOff as error:
            raise EnvironmentFailure(f"{error}; {_recorded(workload.log)}; go on with: {workload.command}") from error
        except NoServer as error:
            offer = f", or run without a model: {workload.without_server}" if workload.without_server else ""
            raise EnvironmentFailure(f"{error}{offer}") from error
        except NoModel as error:
            # a log that is there already is another system's
            command = workload.command if log is None else workload.command.without("--log").without("--out")
            offer = f"; or: {command.having('--system', error.instead)}" if error.instead else ""
            raise EnvironmentFailure(f"{error}{offer}") from error


def _acknowledge(context: RunContext) -> None:
    """Say that a signal came, where a system of somebody's own may not look for one."""
    is_shown = context.progress is not None and context.progress.isatty()
    width = columns_of(context.progress) - 1 if is_shown and context.progress is not None else 0
    with suppress(RuntimeError):  # the signal came while another line was written, which no handler can interrupt
        context.say("stopping after the request under way; again to leave now".ljust(width))


def _recorded(path: Path) -> str:
    """How many trials a log holds, in words."""
    log = log_at(path, accept_damage=True)
    if log is None:
        return _NOTHING
    found = status_of(log)
    planned = word_for(found.planned, "planned trial is", "planned trials are")
    return f"{found.planned - found.left} of {found.planned} {planned} recorded in {path}"


def verdicts_of(task: Task, cases: Sequence[Case]) -> Verdicts:
    """The verdicts of a task on outputs over these cases."""
    by_id = {case.id: case for case in cases}

    @lru_cache(maxsize=MOST_KEPT)
    def verdict(case_id: str, output: str) -> str:
        return judge(task, by_id[case_id], output).verdict
    return Verdicts(verdict)
