"""Asking a system now: the story that every door which records tells, with signals and progress at its edges.

What does not live here: the order of a session (session.py), flags and what is printed afterwards (the doors).
"""
from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TextIO

from benchkit.basics.clock import Budget, Clock, StopWish, signals_as_wish
from benchkit.basics.command import Command
from benchkit.basics.errors import BrokenOff, Interrupted, NoModel, NoServer, Surroundings, Unusable
from benchkit.basics.names import word_for
from benchkit.basics.values import JSON, Case
from benchkit.disk.appending import refuse_link
from benchkit.running.order import Ended, Order, Surrounds, prompts_of
from benchkit.running.plan import ALL, Ahead, Selection
from benchkit.running.progress import Around, Progress, Verdicts, columns_of
from benchkit.running.session import record
from benchkit.running.status import status_of
from benchkit.systems.loading import is_baseline, load_system
from benchkit.systems.system import System, SystemOptions
from benchkit.tasks.cases import in_split, read_cases
from benchkit.tasks.checking import refuse_raising
from benchkit.tasks.judging import judge
from benchkit.tasks.task import Task
from benchkit.trial_log.reader import TrialLog, read_log

MOST_AT_ONCE = 1024
MOST_KEPT = 1024
"""Verdicts kept: checks are pure, and most systems repeat themselves, so progress costs next to nothing."""


@dataclass(frozen=True, slots=True)
class Wish:
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
    hosts: tuple[str, ...] = ()
    allow_cloud: bool = False
    selection: Selection = ALL
    rerun_changed: bool = False
    accept_damage: bool = False
    parallel: int = 1
    unchecked: bool = False


@dataclass(frozen=True, slots=True)
class Edges:
    """Where a live run meets the world. `start` is when the process began, on the clock's monotonic time.

    `say` takes a line for the person who waits; `progress` is the stream for progress (None: quiet).
    """

    folders: Sequence[Path]
    start: float
    say: Callable[[str], None]
    progress: TextIO | None
    clock: Clock
    stop: StopWish


def log_at(path: Path, accept_damage: bool = False) -> TrialLog | None:
    """The log to go on with as it is, read without a lock; None where there is none yet, or nothing planned in it.

    Raises Unusable for a link, for what is no log, and for damage.
    """
    refuse_link(path)
    if not path.exists() or path.stat().st_size == 0:
        return None
    log = read_log(path, accept_damage=accept_damage)
    return None if log.plan is None else log


def order_of(wish: Wish, task: Task, edges: Edges, log: TrialLog | None) -> Order:
    """The order that a wish for a task amounts to: cases read, the system made but not opened. Raises Unusable.

    `log` is the log as found (None: there is none yet).
    """
    cases = in_split(read_cases(Path(wish.cases)), wish.split)
    system, lanes = _who_answers(wish, SystemOptions(
        clock=edges.clock, stop=edges.stop, say=edges.say, task=task, cases=cases,
        host=next(iter(wish.hosts), None), allow_cloud=wish.allow_cloud,
        recorded=recorded_settings(log, wish.system, wish.rerun_changed)), edges.folders)
    return Order(
        log=wish.log, systems={wish.system: system}, title=task.title, cases=cases, prompts=prompts_of(task, cases),
        split=wish.split, trials=wish.trials,
        budget=Budget(edges.start, wish.budget_s), timeout_s=wish.timeout_s, command=wish.command,
        hardware=wish.hardware, selection=wish.selection, rerun_changed=wish.rerun_changed,
        accept_damage=wish.accept_damage, parallel=wish.parallel,
        lanes=lanes, without_server=_baseline(wish, task, log),
        probe=(lambda: None) if wish.unchecked else partial(refuse_raising, task, cases, wish.command.beside(
            "harness.py", "check", "--task", task.module, "--cases", wish.cases)))


def recorded_settings(log: TrialLog | None, system: str, rerun_changed: bool) -> Mapping[str, JSON] | None:
    """What a log holds of a system's settings; None where it holds none, or what changed is to be run again."""
    return None if log is None or rerun_changed else log.settings.get(system)


def _who_answers(
    wish: Wish, options: SystemOptions, folders: Sequence[Path],
) -> tuple[System, Callable[[], int] | None]:
    """The system at the host of its options; or at each of several, and how many trials they take. Raises Unusable."""
    # a baseline asks no server, however many are named
    hosts = () if is_baseline(wish.system) else wish.hosts
    if wish.parallel * max(1, len(hosts)) > MOST_AT_ONCE:
        at = f" at {len(hosts)} hosts" if len(hosts) > 1 else ""
        raise Unusable(f"--parallel {wish.parallel}{at}: at most {MOST_AT_ONCE} trials can be under way at once")
    if len(hosts) > 1:
        from benchkit.systems.several_hosts import on_several_hosts
        several = on_several_hosts(wish.system, options, folders, hosts, wish.parallel)
        return several, several.lanes
    return load_system(wish.system, options, folders), None


def _baseline(wish: Wish, task: Task, log: TrialLog | None) -> Command:
    """The command that asks a baseline: one of the task that sees no labels, or else one that fits any task.

    It says what was given of what is asked, and what the log said in its place: a baseline has another log.
    """
    name = next((name for name in task.baselines if name not in task.sees_labels), "most-common")
    command = wish.command.only("--task", "--cases", "--split", "--trials", "--case", "--limit")
    if log is not None:
        command = command.having("--split", wish.split).having("--trials", str(wish.trials))
    return command.having("--system", f"baselines:{name}")


def record_live(order: Order, log: TrialLog | None, edges: Edges, verdicts: Verdicts) -> Ended:
    """Record what is left; what ends it before its end says what is kept, and how to go on."""
    around = Around(edges.progress, edges.say, edges.clock.monotonic)

    def progress(ahead: Ahead) -> Progress:
        return Progress(ahead, verdicts, around)

    with signals_as_wish(edges.stop, os._exit, partial(_acknowledge, edges)):
        try:
            return record(order, log, Surrounds(edges.clock, edges.stop, edges.say, progress))
        except (Interrupted, KeyboardInterrupt) as interrupted:  # the latter from a system of the user
            number = interrupted.number if isinstance(interrupted, Interrupted) else signal.SIGINT
            kept = f"what ended before is in {order.log}" if log_at(order.log, True) else "nothing was recorded yet"
            raise Interrupted(number, f"; {kept}; go on with: {order.command}") from None
        except BrokenOff as error:
            raise Surroundings(f"{error}; {_recorded(order.log)}; go on with: {order.command}") from error
        except NoServer as error:
            offer = f", or run without a model: {order.without_server}" if order.without_server else ""
            raise Surroundings(f"{error}{offer}") from error
        except NoModel as error:
            # a log that is there already is another system's
            command = order.command if log is None else order.command.without("--log").without("--out")
            offer = f"; or: {command.having('--system', error.instead)}" if error.instead else ""
            raise Surroundings(f"{error}{offer}") from error


def _acknowledge(edges: Edges) -> None:
    """Say that a signal came, where a system of somebody's own may not look at the wish to stop."""
    is_shown = edges.progress is not None and edges.progress.isatty()
    width = columns_of(edges.progress) - 1 if is_shown and edges.progress is not None else 0
    with suppress(RuntimeError):  # the signal came while another line was written, which no handler can interrupt
        edges.say("stopping after the request under way; again to leave now".ljust(width))


def _recorded(path: Path) -> str:
    """How many trials a log holds, in words."""
    log = log_at(path, accept_damage=True)
    if log is None:
        return "nothing was recorded yet"
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
