"""One session: from a wanted plan to a log that holds more than before, in the order that loses nothing.

    open, settings -> lock the log, read and compare -> session line -> plan -> system -> warm -> loaded line
    -> trials -> stop line
"""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from benchkit.basics.clock import StopRequest
from benchkit.basics.errors import BrokenOff, Interrupted, KitError, Unusable
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Failure
from benchkit.running.at_once import run_at_once
from benchkit.running.engine import Answering, Callbacks, Limits, Stopped, run_trials
from benchkit.running.plan import (
    AllowedChanges,
    NothingRecorded,
    RemainingWork,
    Selection,
    can_be_retried,
    changed_asks,
    check_fits,
    check_selection,
    check_shard,
    refuse_changes,
    remaining_work,
    settings_differences,
    usual_mend,
    work_left,
)
from benchkit.running.workload import Ended, SessionContext, Workload, environment, settings_of, wanted_plan
from benchkit.systems.guarding import kept_of
from benchkit.systems.loading import is_baseline
from benchkit.systems.system import Loaded
from benchkit.trial_log.lines import (
    LoadedLine,
    PlanLine,
    SessionLine,
    StopLine,
    SystemLine,
    TrialLine,
)
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.writer import LogWriter

Kept = TypeVar("Kept", SystemLine, TrialLine)


def dry_run_of(workload: Workload, log: TrialLog | None) -> RemainingWork:
    """What `record` would run, as far as the log and the cases tell; nobody is asked. Raises Unusable."""
    plan = wanted_plan(workload, log)
    check_selection(plan, workload.selection)
    changes = AllowedChanges() if log is None else _compare(log, plan, _dry_run_differences(workload, log), workload)
    return remaining_work(log or NothingRecorded(), plan, changes, _chosen(workload))


def record(workload: Workload, log: TrialLog | None, context: SessionContext) -> Ended:
    """Run what is left of the order. `log` is the log as found (None: there is none yet).

    Raises Unusable before anything is started; EnvironmentFailure and Interrupted with the log as far as it came.
    """
    plan = wanted_plan(workload, log)
    check_selection(plan, workload.selection)
    if log is not None:
        changes = _compare(log, plan, _dry_run_differences(workload, log), workload)
        # a log with a companion is read again by others, so its damage is named also where nothing is left to run
        is_to_name_damage = workload.accept_damage and workload.sidecar is not None
        is_left = any(True for _ in work_left(log, plan, changes, _chosen(workload)))
        if not is_left and not is_to_name_damage and _covers(log, plan) and log.sessions:
            return Ended(None)
    workload.probe()
    with closing_all(workload):
        return _record_open(workload, log, context)


def _record_open(workload: Workload, found: TrialLog | None, context: SessionContext) -> Ended:
    with ended_by_stop_request(context.stop):
        environments = [system.open() for system in workload.systems.values()]
    answering = {name: Answering(system, settings_of(workload, system), workload.prompts)
                 for name, system in workload.systems.items()}
    with LogWriter.open(workload.log, accept_damage=workload.accept_damage) as writer:
        log = writer.read(found)
        plan = wanted_plan(workload, log)
        changes = _compare(log, plan, _differences(answering, log), workload)
        session = SessionLine(
            started_at=context.clock.stamp(), hardware=workload.hardware, environment=_environment(environments),
            timeout_s=workload.timeout_s, budget_s=workload.budget.seconds, pid=os.getpid(),
            trace_damage=workload.sidecar.begin(writer.session, log) if workload.sidecar else None,
            shard=workload.selection.shard)
        _say_what_differs(log, session, frozenset(workload.systems), context.say)
        log = writer.begin(session, log)
        with _stop_line(writer, context) as ending:
            ended = _run_session(workload, _Ground(plan, answering, log, changes), writer, context)
            ending.reason = str(ended.reason)
    return ended


@contextmanager
def ended_by_stop_request(stop: StopRequest, holds: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """What fails within after a signal came was broken off by it: a program that a system started had it, too.

    Raises Interrupted in place of that error, unless `holds` says that it is another matter.
    """
    try:
        yield
    except KitError:
        if holds():
            stop.raise_if_wished()
        raise


@contextmanager
def closing_all(workload: Workload) -> Iterator[None]:
    """Whatever happens, let go of the systems and of the companion."""
    try:
        yield
    finally:
        for system in workload.systems.values():
            system.close()
        if workload.sidecar is not None:
            workload.sidecar.close()


def _environment(servers: Sequence[Mapping[str, JSON]]) -> Mapping[str, JSON]:
    """This machine, and the first server there is: baselines have none."""
    return environment(next((one for one in servers if one.get("server") is not None), servers[0]))


def _chosen(workload: Workload) -> Selection:
    """Which cells this session may run: of the systems that are opened only."""
    return replace(workload.selection, systems=tuple(workload.systems))


def _differences(answering: Mapping[str, Answering], log: TrialLog) -> dict[str, tuple[str, ...]]:
    """By system, what its settings are now and were in the log."""
    return {name: settings_differences(log.settings[name], one.settings)
            for name, one in answering.items() if name in log.settings}


def _dry_run_differences(workload: Workload, log: TrialLog) -> dict[str, tuple[str, ...]]:
    """The same before a server is asked: a setting that is None comes from there, and is not compared yet."""
    found = {}
    for name, system in workload.systems.items():
        now = {key: value for key, value in settings_of(workload, system).items() if value is not None}
        before = log.settings.get(name, now)
        found[name] = settings_differences({key: before[key] for key in now if key in before}, now)
    return found


def _covers(log: TrialLog, plan: PlanLine) -> bool:
    """Whether the log plans all this already, in whatever order."""
    return log.plan is not None and (set(log.plan.cases), log.plan.trials, log.plan.systems) == (
        set(plan.cases), plan.trials, plan.systems)


def _holds(log: TrialLog, plan: PlanLine) -> bool:
    """Whether the log's own plan is the wanted one already, so that nothing has to be added."""
    return log.plan is not None and (log.plan.cases, log.plan.trials, log.plan.systems) == (
        plan.cases, plan.trials, plan.systems)


def _compare(
    log: TrialLog, plan: PlanLine, differences: Mapping[str, tuple[str, ...]], workload: Workload,
) -> AllowedChanges:
    """What changed since the log was recorded; raises Unusable unless it is to be run again."""
    check_fits(log, plan, workload.command, workload.adds_systems)
    check_shard(log, workload.selection.shard, workload.command)
    changes = AllowedChanges(changed_asks(log, plan), {name: texts for name, texts in differences.items() if texts})
    if not workload.rerun_changed:
        refuse_changes(log, changes, workload.mend or usual_mend(workload.command))
    return changes


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a session starts from, under the lock: the wanted plan, who answers, the log, and what changed."""

    plan: PlanLine
    answering: Mapping[str, Answering]
    log: TrialLog
    changes: AllowedChanges


def _run_session(workload: Workload, ground: _Ground, writer: LogWriter, context: SessionContext) -> Ended:
    """Everything behind the session line, up to the stop line."""
    ground = _write_plan(ground, writer)
    _write_systems(ground, writer)
    cells = (ground.log, ground.plan, ground.changes, _chosen(workload))
    remaining = remaining_work(*cells)
    limits = Limits(workload.budget, workload.timeout_s, context.stop)
    again: Counter[bool] = Counter()

    def write(line: TrialLine) -> None:
        if workload.sidecar is not None:
            workload.sidecar.before_line(line)
        _keep(writer.write, line, f"the answer of {line.cell.system} to {line.cell.case}, trial {line.cell.trial}")
        if workload.selection.retry_errors and can_be_retried(ground.log.error_type(line.cell)):
            again[isinstance(line.outcome, Failure)] += 1

    with context.observer(remaining) as observer:
        callbacks = Callbacks(_warmer(ground, writer, context), write, observer, writer.together)
        lanes = workload.lanes or (lambda: workload.parallel)
        run = run_trials if lanes() == 1 else partial(run_at_once, lanes=lanes, say=context.say)
        stopped = run(work_left(*cells), ground.answering, callbacks, limits, context.clock)
    is_part = remaining.recorded + remaining.chosen < remaining.planned
    return Ended(_reason(stopped, workload.selection, is_part), stopped.sentence, (again[False], again[True]))


def _write_plan(ground: _Ground, writer: LogWriter) -> _Ground:
    if _holds(ground.log, ground.plan) and not ground.changes.asks:
        return ground
    writer.write(ground.plan)
    # trials whose plan line was lost count again once a plan holds them
    return replace(ground, log=writer.read()) if ground.log.has_unplanned else ground


def _write_systems(ground: _Ground, writer: LogWriter) -> None:
    for name, one in ground.answering.items():
        if name not in ground.log.settings or name in (ground.changes.settings or {}):
            _keep(writer.write, SystemLine(name, one.settings), f"the settings of {name}")


def _keep(write: Callable[[Kept], None], line: Kept, what: str) -> None:
    """Write a line made of what a system gave. Raises Unusable where no log can hold it, as a lone surrogate."""
    try:
        write(line)
    except ValueError as error:
        raise Unusable(f"{shown_line(what)} cannot be kept: {shown_line(str(error))}") from None


def _reason(stopped: Stopped, selection: Selection, is_part: bool) -> str:
    if stopped.reason != "done":
        return stopped.reason
    is_chosen = selection.limit is not None or selection.case is not None
    is_part_of_all = selection.shard is not None and selection.shard.of > 1
    return "selection" if is_part_of_all or (is_chosen and is_part) else "complete"


def _warmer(ground: _Ground, writer: LogWriter, context: SessionContext) -> Callable[[str], None]:
    """A function that loads a system's model before its first trial, and writes what loading took."""
    warm: set[str] = set()

    def prepare(name: str) -> None:
        if name not in warm:
            loaded = kept_of(ground.answering[name].system.warm())
            _say_other_context(ground, loaded, context.say)
            writer.write(LoadedLine(loaded.load_s, loaded.context_length, loaded.details or {}))
            warm.add(name)
    return prepare


def _say_other_context(ground: _Ground, loaded: Loaded, say: Callable[[str], None]) -> None:
    before = next((one.loaded for one in reversed(ground.log.sessions) if one.loaded is not None), None)
    # a log of several systems does not say which of them was loaded
    if before is not None and len(ground.plan.systems) == 1 and before.context_length != loaded.context_length:
        say(f"the context length was {before.context_length} in an earlier session and is "
            f"{loaded.context_length} now; texts may differ, and the report says so")


def _say_what_differs(log: TrialLog, now: SessionLine, systems: frozenset[str], say: Callable[[str], None]) -> None:
    """A warning where this session's circumstances differ from those of the last one that the same systems answered in.

    Baselines have no server, so they make no difference between sessions, and alone none between servers.
    """
    models = {name for name in systems if not is_baseline(name)}
    before = next((one.line for one in reversed(log.sessions) if one.trials and models == {
        name for name in one.systems if not is_baseline(name)}), None)
    if before is None:
        return
    pairs: list[tuple[str, JSON, JSON]] = [("hardware", before.hardware, now.hardware)]
    pairs += [(key.replace("_", " "), before.environment.get(key), now.environment.get(key))
              for key in ("server", "server_version") if models]
    for what, was, is_now in pairs:
        if was != is_now:
            say(f"the {what} was {_told(was)} in an earlier session and is {_told(is_now)} now; latencies and texts "
                f"may differ, and the report says so")


def _told(value: JSON) -> str:
    return "not given" if value is None else shown_line(str(value), 80)


@dataclass(slots=True)
class _Ending:
    reason: str = "error"


@contextmanager
def _stop_line(writer: LogWriter, context: SessionContext) -> Iterator[_Ending]:
    """Write one stop line at every orderly end: `interrupted` after a signal, `error` after any other error."""
    ending = _Ending()
    try:
        with ended_by_stop_request(context.stop, lambda: not writer.has_failed):
            yield ending
    except (Interrupted, KeyboardInterrupt):  # the latter from a system of the user: no handler here raises it
        ending.reason = "interrupted"
        raise
    except Unusable as error:
        # the log is begun, so exit code 2 would not be true
        raise BrokenOff(str(error)) from error
    finally:
        if not writer.has_failed:
            # where the log itself failed, the error under way says so, and a missing stop line says the rest
            writer.write(StopLine(ending.reason, context.clock.stamp()))
