"""One session: from a wanted plan to a log that holds more than before, in the order that loses nothing.

    open, settings -> lock the log, read and compare -> session line -> plan -> system -> warm -> loaded line
    -> trials -> stop line
"""
from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from benchkit.basics.clock import StopRequest, signals_as_stop_request
from benchkit.basics.errors import BrokenOff, EnvironmentFailure, Interrupted, KitError, NoModel, NoServer, Unusable
from benchkit.basics.texts import shown_line, word_for
from benchkit.basics.values import JSON, Case, Failure
from benchkit.disk.machine import environment
from benchkit.running import plan as planning
from benchkit.running.engine import Answering, Callbacks, RunLimits, run_at_once, run_trials
from benchkit.running.plan import AllowedChanges, RemainingWork, Selection
from benchkit.running.progress import Progress, Verdicts, columns_of
from benchkit.running.summary import status_of
from benchkit.running.workload import (
    Ended,
    Observe,
    RunContext,
    Workload,
    log_at,
    settings_of,
    wanted_plan,
    with_another_system,
)
from benchkit.systems.guarding import kept_of
from benchkit.systems.loading import is_baseline
from benchkit.tasks.judging import judge
from benchkit.tasks.task import Task
from benchkit.trial_log.lines import LoadedLine, PlanLine, SessionLine, StopLine, SystemLine, TrialLine
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.writer import LogWriter

NOTHING = "nothing was recorded yet"
MOST_KEPT = 1024
"""Verdicts kept: checks are pure, and most systems repeat themselves, so progress costs next to nothing."""


def dry_run_of(workload: Workload, log: TrialLog | None) -> RemainingWork:
    """What `record` would run, as far as the log and the cases tell; nobody is asked. Raises Unusable."""
    plan = wanted_plan(workload, log)
    planning.check_selection(plan, workload.selection)
    changes = AllowedChanges() if log is None else _compare(workload, log, plan)
    return planning.remaining_work(log, plan, changes, _chosen(workload))


def verdicts_of(task: Task, cases: Sequence[Case]) -> Verdicts:
    """The verdicts of a task on outputs over these cases."""
    by_id = {case.id: case for case in cases}

    @lru_cache(maxsize=MOST_KEPT)
    def verdict(case_id: str, output: str) -> str:
        return judge(task, by_id[case_id], output).verdict
    return Verdicts(verdict)


def record_live(workload: Workload, log: TrialLog | None, context: RunContext, verdicts: Verdicts) -> Ended:
    """Record what is left, with progress; what ends it before its end says what is kept, and how to go on."""
    def acknowledge() -> None:
        """Say that a signal came, where a system of somebody's own may not look for one."""
        is_shown = context.progress is not None and context.progress.isatty()
        width = columns_of(context.progress) - 1 if is_shown and context.progress is not None else 0
        with suppress(RuntimeError):  # it came while another line was written, which no handler can interrupt
            context.say("stopping after the request under way; again to leave now".ljust(width))

    command = workload.command
    with signals_as_stop_request(context.stop, os._exit, acknowledge):
        try:
            return record(workload, log, context, lambda remaining: Progress(remaining, verdicts, context))
        except (Interrupted, KeyboardInterrupt) as interrupted:  # the latter from a system of the user
            number = interrupted.number if isinstance(interrupted, Interrupted) else signal.SIGINT
            kept = f"what ended before is in {workload.log}" if log_at(workload.log, True) else NOTHING
            raise Interrupted(number, f"; {kept}; go on with: {command}") from None
        except BrokenOff as error:
            now, kept = log_at(workload.log, accept_damage=True), NOTHING
            if now is not None:
                found = status_of(now)
                planned = word_for(found.planned, "planned trial is", "planned trials are")
                kept = f"{found.planned - found.left} of {found.planned} {planned} recorded in {workload.log}"
            raise EnvironmentFailure(f"{error}; {kept}; go on with: {command}") from error
        except NoServer as error:
            offer = f", or run without a model: {workload.without_server}" if workload.without_server else ""
            raise EnvironmentFailure(f"{error}{offer}") from error
        except NoModel as error:
            shard = workload.selection.shard if command.says("--shard") else None
            offer = f"; or: {with_another_system(command, error.instead, log, shard)}" if error.instead else ""
            raise EnvironmentFailure(f"{error}{offer}") from error


def record(workload: Workload, log: TrialLog | None, context: RunContext, observe: Observe) -> Ended:
    """Run what is left of a workload. `log` is the log as found (None: there is none yet).

    Raises Unusable before anything is started; EnvironmentFailure and Interrupted with the log as far as it came.
    """
    plan = wanted_plan(workload, log)
    planning.check_selection(plan, workload.selection)
    if log is not None:
        changes = _compare(workload, log, plan)
        # a log with a sidecar is read again by others, so its damage is named also where nothing is left to run
        is_to_name_damage = workload.accept_damage and workload.sidecar is not None
        is_left = any(True for _ in planning.work_left(log, plan, changes, _chosen(workload)))
        if not is_left and not is_to_name_damage and _covers(log, plan) and log.sessions:
            return Ended(None)
    workload.probe()
    try:
        return _record_open(workload, log, context, observe)
    finally:
        for system in workload.systems.values():
            system.close()
        if workload.sidecar is not None:
            workload.sidecar.close()


def _record_open(workload: Workload, found: TrialLog | None, context: RunContext, observe: Observe) -> Ended:
    with _ended_by_stop_request(context.stop):
        servers = [system.open() for system in workload.systems.values()]
    answering = {name: Answering(system, settings_of(workload, system), workload.prompts)
                 for name, system in workload.systems.items()}
    with LogWriter.open(workload.log, accept_damage=workload.accept_damage) as writer:
        log = writer.read(found)
        plan = wanted_plan(workload, log)
        changes = _compare(workload, log, plan, answering)
        line = SessionLine(
            started_at=context.clock.stamp(), hardware=workload.hardware,
            # this machine, and the first server there is: baselines have none
            environment=environment(next((one for one in servers if one.get("server") is not None), servers[0])),
            timeout_s=workload.timeout_s, budget_s=workload.budget.seconds, pid=os.getpid(),
            trace_damage=workload.sidecar.begin(writer.session, log) if workload.sidecar else None,
            shard=workload.selection.shard)
        _say_what_differs(log, line, frozenset(workload.systems), context.say)
        log = writer.begin(line, log)
        return _Session(workload, context, writer, plan, answering, log, changes).run(observe)


@contextmanager
def _ended_by_stop_request(stop: StopRequest, holds: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """What fails within after a signal came was broken off by it: a program that a system started had it, too.

    Raises Interrupted in place of that error, unless `holds` says that it is another matter.
    """
    try:
        yield
    except KitError:
        if holds():
            stop.raise_if_wished()
        raise


def _chosen(workload: Workload) -> Selection:
    """Which cells this session may run: of the systems that are opened only."""
    return replace(workload.selection, systems=tuple(workload.systems))


def _covers(log: TrialLog, plan: PlanLine) -> bool:
    """Whether the log plans all this already, in whatever order."""
    return log.plan is not None and (set(log.plan.cases), log.plan.trials, log.plan.systems) == (
        set(plan.cases), plan.trials, plan.systems)


def _holds(log: TrialLog, plan: PlanLine) -> bool:
    """Whether the log's own plan is the wanted one already, so that nothing has to be added."""
    return log.plan is not None and (log.plan.cases, log.plan.trials, log.plan.systems) == (
        plan.cases, plan.trials, plan.systems)


def _compare(
    workload: Workload, log: TrialLog, plan: PlanLine, opened: Mapping[str, Answering] | None = None,
) -> AllowedChanges:
    """What changed since the log was recorded; raises Unusable unless it is to be run again.

    Before the systems are open, a setting that is None comes from a server, and is not compared yet.
    """
    settings = {}
    for name in filter(log.settings.__contains__, workload.systems):
        before = log.settings[name]
        if opened is not None:
            now = opened[name].settings
        else:
            known = settings_of(workload, workload.systems[name])
            now = {key: value for key, value in known.items() if value is not None}
            before = {key: value for key, value in before.items() if key in now}
        settings[name] = planning.settings_differences(before, now)
    planning.check_fits(log, plan, workload.command, workload.adds_systems)
    planning.check_shard(log, workload.selection.shard, workload.command)
    changes = AllowedChanges(
        planning.changed_asks(log, plan), {name: texts for name, texts in settings.items() if texts})
    if not workload.rerun_changed:
        again = f"run what changed again with {workload.command.having('--changed', 'rerun')}, or choose another --log"
        planning.refuse_changes(log, changes, workload.remedy or again)
    return changes


@dataclass(slots=True)
class _Session:
    """A session under the lock, its session line written: the wanted plan, who answers, the log, and what changed.

    `warm` are the systems whose model is loaded. `again` counts the error trials asked again, by whether they failed.
    """

    workload: Workload
    context: RunContext
    writer: LogWriter
    plan: PlanLine
    answering: Mapping[str, Answering]
    log: TrialLog
    changes: AllowedChanges
    warm: set[str] = field(default_factory=set)
    again: Counter[bool] = field(default_factory=Counter)

    def run(self, observe: Observe) -> Ended:
        """Run, and write one stop line at every orderly end: `interrupted` after a signal, `error` after an error."""
        reason: str | None = "error"
        try:
            with _ended_by_stop_request(self.context.stop, lambda: not self.writer.has_failed):
                ended = self._run(observe)
            reason = ended.reason
            return ended
        except (Interrupted, KeyboardInterrupt):  # the latter from a system of the user: no handler here raises it
            reason = "interrupted"
            raise
        except Unusable as error:
            # the log is begun, so exit code 2 would not be true
            raise BrokenOff(str(error)) from error
        finally:
            if not self.writer.has_failed:
                # where the log itself failed, the error under way says so, and a missing stop line says the rest
                self.writer.write(StopLine(str(reason), self.context.clock.stamp()))

    def _run(self, observe: Observe) -> Ended:
        """Everything behind the session line, up to the stop line."""
        self._write_plan_and_systems()
        workload, selection = self.workload, self.workload.selection
        cells = (self.log, self.plan, self.changes, _chosen(workload))
        remaining = planning.remaining_work(*cells)
        limits = RunLimits(workload.budget, workload.timeout_s, self.context.stop, self.context.clock)
        with observe(remaining) as observer:
            callbacks = Callbacks(self._prepare, self._record, observer, self.writer.together)
            at_once = partial(run_at_once, most=workload.parallel, say=self.context.say)
            run = run_trials if workload.parallel == 1 else at_once
            stopped = run(planning.work_left(*cells), self.answering, callbacks, limits)
        reason = stopped.reason
        if reason == "done":
            is_chosen = selection.limit is not None or selection.case is not None
            is_part = remaining.recorded + remaining.chosen < remaining.planned
            is_part_of_all = selection.shard is not None and selection.shard.of > 1
            reason = "selection" if is_part_of_all or (is_chosen and is_part) else "complete"
        return Ended(reason, stopped.sentence, (self.again[False], self.again[True]))

    def _write_plan_and_systems(self) -> None:
        if not _holds(self.log, self.plan) or self.changes.asks:
            self.writer.write(self.plan)
            if self.log.has_unplanned:
                # trials whose plan line was lost count again once a plan holds them
                self.log = self.writer.read()
        for name, one in self.answering.items():
            if name not in self.log.settings or name in self.changes.settings:
                try:
                    self.writer.write(SystemLine(name, one.settings))
                except ValueError as error:
                    raise _unkeepable(f"the settings of {name}", error) from None

    def _prepare(self, name: str) -> None:
        """Load a system's model before its first trial, and write what loading took."""
        if name in self.warm:
            return
        loaded = kept_of(self.answering[name].system.warm())
        before = next((one.loaded for one in reversed(self.log.sessions) if one.loaded is not None), None)
        # a log of several systems does not say which of them was loaded
        if before is not None and len(self.plan.systems) == 1 and before.context_length != loaded.context_length:
            self.context.say(f"the context length was {before.context_length} in an earlier session and is "
                             f"{loaded.context_length} now; texts may differ, and the report says so")
        self.writer.write(LoadedLine(loaded.load_s, loaded.context_length, loaded.details or {}))
        self.warm.add(name)

    def _record(self, line: TrialLine) -> None:
        if self.workload.sidecar is not None:
            self.workload.sidecar.before_line(line)
        try:
            self.writer.write(line)
        except ValueError as error:
            cell = line.cell
            raise _unkeepable(f"the answer of {cell.system} to {cell.case}, trial {cell.trial}", error) from None
        if self.workload.selection.retry_errors and planning.can_be_retried(self.log.error_type(line.cell)):
            self.again[isinstance(line.outcome, Failure)] += 1


def _unkeepable(what: str, error: ValueError) -> Unusable:
    """What a system gave, and no log can hold, as a lone surrogate."""
    return Unusable(f"{shown_line(what)} cannot be kept: {shown_line(str(error))}")


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
    for what, *values in pairs:
        if values[0] != values[1]:
            was, is_now = ("not given" if one is None else shown_line(str(one), 80) for one in values)
            say(f"the {what} was {was} in an earlier session and is {is_now} now; latencies and texts may differ, and "
                f"the report says so")
