"""A run into a batch: which one it goes on with, and the session that asks what is left and keeps log and trace."""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.clock import Budget, Clock, signals_as_stop_request
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import cases_named, count_of, shown_line
from benchkit.basics.values import Shard, TaskName
from benchkit.boards import batch as batches
from benchkit.boards import batch_log, solvers
from benchkit.boards.batch import FoundBatch
from benchkit.boards.evaluation import damage_of
from benchkit.boards.game import games_of
from benchkit.boards.job import FromPack, FromTask, Job
from benchkit.boards.job_pack import dataset_parts, pack_of_job
from benchkit.boards.pack import Pack, cache_folder
from benchkit.boards.playing import TracedSystem
from benchkit.boards.questions import KeptQuestions, Questions, Rewording, make_questions, read_questions, rules_of
from benchkit.boards.trace_file import TraceWriter
from benchkit.boards.usage import NOTHING_USED, TokenUse
from benchkit.disk.appending import alone
from benchkit.disk.whole_files import shown_path
from benchkit.running.plan import ALL, Selection
from benchkit.running.progress import Verdicts
from benchkit.running.session import record_live
from benchkit.running.workload import Ended, RunContext, Workload, log_at, recorded_settings
from benchkit.systems.loading import is_baseline, load_system
from benchkit.trial_log.reader import TrialLog

_OF_ONE_BATCH = ("--retry-errors", "--accept-damage", "--rebuild")
"""Flags that speak of a batch that is there already."""
ANSWERED = Verdicts(lambda case, output: "answered", ("answered", "incomplete"))
"""What an answer is worth stands in no single message, so progress only counts them."""
QUESTIONS = "questions"
"""The split of a batch made by a pack."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for of batches: a new one, that one, its questions made anew, rewording asked again."""

    runs: Path
    command: Command
    fresh: bool = False
    batch: str | None = None
    rebuild: bool = False
    regenerate: bool = False
    offline: bool = False


def batch_for(wanted: Wanted, job: Job, pack: Pack, context: RunContext) -> FoundBatch:
    """The batch to go on with, its job as it reads now. Raises Unusable for one that cannot be gone on with."""
    if wanted.regenerate and not (isinstance(job.asks, FromPack) and job.asks.reword):
        raise Unusable(f"--regen: job {job.name} has its questions reworded by nobody (key reword)")

    def begun() -> FoundBatch:
        questions, used = _make(wanted, job, pack, context)
        batch = batches.new_batch(job, pack, questions, context.clock.stamp(), used)
        return batches.put_batch(batches.make_batch_folder(wanted.runs, job.name, batch.made_at), batch, questions)

    if wanted.fresh:
        return begun()
    found = _found(wanted, job, context)
    if found is None:
        # who starts at the same time, be it another shard, goes on with the same batch
        with one_at_a_time(wanted.runs / job.name, context.say):
            found = _found(wanted, job, context)
            if found is None:
                return begun()
    differences = found.batch.dataset.differences(dataset_parts(job, pack))
    if differences:
        raise Unusable(f"{shown_path(found.folder)}: what its questions were made from has changed ({differences}); "
                       f"begin another batch with {another_batch(wanted.command)}")
    if wanted.rebuild or wanted.regenerate:
        found = _rebuilt(found, *_make(wanted, job, pack, context), job, pack)
    return replace(found, batch=replace(found.batch, job=job))


def one_at_a_time(
    folder: Path, say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep,
) -> AbstractContextManager[None]:
    """Within this no other process begins a batch in a job's folder; waits for another. Raises EnvironmentFailure."""
    return alone(folder / "begin.lock", lambda: say(
        f"{shown_path(folder)}: waiting for another run, which makes the questions"), sleep)


def another_batch(command: Command) -> str:
    """The command that begins another batch; of this one are --batch and --shard, which --fresh is not taken with."""
    if any(word.partition("=")[0] == "--shard" for word in command.words):
        return "python3 board.py begin JOB"
    return str(command.without("--batch").minus(*_OF_ONE_BATCH).plus("--fresh"))


def refuse_blocked(found: FoundBatch) -> None:
    """Raise Unusable for a batch that the gate blocked, with its reasons."""
    if found.batch.status == batches.BLOCKED:
        raise Unusable(f"{shown_path(found.folder)}: blocked by the batch gate: "
                       f"{'; '.join(found.batch.figures.blocked)}; change the job or its pack, and begin another "
                       "batch with --fresh")


def refuse_published(found: FoundBatch) -> None:
    """Raise Unusable for a batch that is closed."""
    if found.batch.status == batches.PUBLISHED:
        raise Unusable(f"{shown_path(found.folder)} is published, and stays as it is; begin another batch with --fresh")


def questions_of(found: FoundBatch, accept_altered: bool = False) -> KeptQuestions:
    """The questions of a batch, checked. Raises Unusable naming what was altered."""
    return read_questions(found.folder / batches.CASES, found.batch.cases_sha256,
                          found.batch.dataset.questions_sha256, accept_altered=accept_altered)


def pack_of_batch(found: FoundBatch, folders: Sequence[Path]) -> Pack:
    """The pack that a batch was made with. Raises Unusable where it would make other questions now."""
    pack = pack_of_job(found.batch.job, folders)
    differences = found.batch.dataset.differences(dataset_parts(found.batch.job, pack))
    if differences:
        raise Unusable(f"{shown_path(found.folder)}: what its questions were made from has changed ({differences}); "
                       "put it back, or begin another batch with python3 board.py run JOB --fresh")
    return pack


def tell_how_chosen(runs: Path, found: FoundBatch | None, clock: Clock, say: Callable[[str], None]) -> None:
    """Say what is odd about the batch that is taken for the newest: others are blocked, or its time is to come."""
    if found is None:
        return
    if batches.is_ahead(found, clock.wall()):
        say(f"{shown_path(found.folder)} is taken for the newest, but by the clock of this machine its time is still "
            "to come: the clock is wrong now, or was then; --batch names another one")
    for blocked in batches.passed_over(runs, found):
        say(f"{shown_path(blocked.folder)} is blocked by the batch gate, and passed over for "
            f"{shown_path(found.folder)}")


def _found(wanted: Wanted, job: Job, context: RunContext) -> FoundBatch | None:
    if wanted.batch is not None:
        found = batches.find_batch(wanted.runs, wanted.batch, job.name)
        refuse_published(found)
        return found
    there = batches.newest(wanted.runs, job.name, is_open=True)
    tell_how_chosen(wanted.runs, there, context.clock, context.say)
    flag = next((word for word in wanted.command.words if word in _OF_ONE_BATCH), None)
    closed = batches.newest(wanted.runs, job.name) if there is None and flag is not None else None
    if closed is not None:
        raise Unusable(f"{flag}: {shown_path(closed.folder)} is published, and stays as it is, and there is no newer "
                       f"batch; begin another one with {another_batch(wanted.command)}")
    return there


def _make(wanted: Wanted, job: Job, pack: Pack, context: RunContext) -> tuple[Questions, TokenUse]:
    """The questions of a job as its pack makes them now, and what a model took that reworded them."""
    asks = job.asks
    if not isinstance(asks, FromPack) or asks.reword is None:
        return make_questions(job, pack), NOTHING_USED
    cache = cache_folder(asks.pack, context.folders)
    if wanted.offline:
        kept = Rewording(cache, asks.reword, None, context.clock, job.limits.timeout_s)
        return make_questions(job, pack, kept), NOTHING_USED
    solvers.take_env_file(job, [asks.reword])
    system = load_system(asks.reword, solvers.options_of(context, ()), context.folders, solvers.named_in(job, "reword"))
    reword = Rewording(cache, asks.reword, system, context.clock, job.limits.timeout_s, wanted.regenerate)
    with closing(system), signals_as_stop_request(context.stop, os._exit):
        return make_questions(job, pack, reword), reword.used


def _rebuilt(found: FoundBatch, questions: Questions, used: TokenUse, job: Job, pack: Pack) -> FoundBatch:
    """The batch with its questions made anew; its answers stay, and count where their request is still the same."""
    where, batch = shown_path(found.folder), found.batch
    if batch_log.shards_in(found.folder):
        raise Unusable(f"{where}: shards were asked its questions as they are; begin another batch with --fresh")
    if questions.figures.blocked:
        raise Unusable(f"{where}: its questions made anew would be blocked by the batch gate: "
                       f"{'; '.join(questions.figures.blocked)}; nothing was changed")
    with batch_log.no_writer(found.folder / batches.RESPONSES):
        log = batch_log.log_of(found)
        there = {case.id for case in questions.cases}
        gone = [case.id for case in log.planned().cases if case.id not in there] if log else []
        if gone:
            raise Unusable(f"{where}: {cases_named(gone)} would not be made any more, and there are answers to them; "
                           "begin another batch with --fresh")
        anew = batches.new_batch(job, pack, questions, batch.made_at)
        usage = replace(batch.usage, gen_usage=batch.usage.gen_usage + used)
        return batches.put_batch(
            found.folder, replace(anew, systems=batch.systems, scoring=batch.scoring, usage=usage), questions)


# recording


@dataclass(frozen=True, slots=True)
class BatchRunConfig:
    """How a session is to be run, and how it was asked for.

    `reruns_changed`: what was asked otherwise runs again; `accepts_damage`: and so does what was lost to damage.
    """

    command: Command
    selection: Selection = ALL
    budget_s: float | None = None
    reruns_changed: bool = False
    accepts_damage: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a session added: cells that ran (again), those of them that had failed before, and how it ended."""

    new_cells: int
    ended: Ended
    asked_again: int = 0
    failed_again: int = 0


def record_batch(
    found: FoundBatch, pack: Pack, questions: KeptQuestions, systems: Sequence[str], config: BatchRunConfig,
    context: RunContext,
) -> Recorded:
    """Run what is left of a batch for these systems; of a shard what neither its log nor that of the batch holds.

    Raises Unusable before anything is started; EnvironmentFailure and Interrupted with the log as far as it came.
    """
    shard = config.selection.shard
    log = batch_log.log_of(found, shard, config.accepts_damage)
    planned, trials = 0 if log is None else log.planned().trials, found.batch.job.trials
    if trials < planned:
        raise Unusable(f"{shown_path(found.folder)}: it plans {count_of(planned, 'trial')} of each question, and the "
                       f"job now says trials = {trials}; say {planned} or more, or begin another batch with --fresh")
    if config.accepts_damage:
        config = _accepting(found, log, config)
    if shard is not None:
        _check_shared_out(found, shard, systems, config)
        whole = batch_log.log_of(found)
        config = replace(config, selection=replace(config.selection, answered=whole.is_recorded if whole else None))
    workload = _workload(found, pack, questions, systems, config, context, log)
    ended = record_live(workload, log, context, ANSWERED)
    now = log_at(workload.log) if ended.reason is not None else None
    if now is None:
        return Recorded(0, ended)
    again = [cell for _, cell in log.cells()
             if log.error_type(cell) and now.attempts(cell) > log.attempts(cell)] if log else []
    return Recorded(now.sessions[-1].trials, ended, len(again), sum(now.error_type(cell) is not None for cell in again))


def _accepting(found: FoundBatch, log: TrialLog | None, config: BatchRunConfig) -> BatchRunConfig:
    """The same, with what was lost to damage run again; without any damage there is nothing to accept."""
    shard = config.selection.shard
    trace = batch_log.trace_path(found.folder, shard)
    if log is None or not trace.exists():
        return replace(config, accepts_damage=batch_log.has_bytes(batch_log.log_path(found.folder, shard)))
    is_unnamed, lost = damage_of(log, trace)
    return replace(config, selection=replace(config.selection, lost=lost),
                   accepts_damage=bool(log.harmless or is_unnamed or lost))


def _check_shared_out(found: FoundBatch, shard: Shard, systems: Sequence[str], config: BatchRunConfig) -> None:
    """Raise Unusable where cells were shared out otherwise before, and the batch does not hold the answers yet.

    Who runs a cell follows from the number of shards and from all systems, so two shards would ask the same. Of as many
    shards each looks at its own log only: a thousand that read a thousand logs would wait for the disk.
    """
    for other in batch_log.shards_in(found.folder):
        if other != shard and other.of == shard.of:
            continue
        log = batch_log.log_of(found, other, config.accepts_damage and other == shard)
        if log is None:
            continue
        new = [name for name in systems if name not in log.planned().systems]
        if (new or other.of != shard.of) and batch_log.unmerged_in(log, batch_log.log_of(found)):
            raise Unusable(f"{shown_path(log.path)}: its answers were shared out "
                           f"{f'without {shown_line(new[0], 60)}' if new else f'over {other.of}'}, and are not in the "
                           f"batch yet; first {batch_log.merge_command(found)}")


def _workload(
    found: FoundBatch, pack: Pack, questions: KeptQuestions, systems: Sequence[str], config: BatchRunConfig,
    context: RunContext, log: TrialLog | None,
) -> Workload:
    job, shard = found.batch.job, config.selection.shard
    games = games_of(pack, questions.cases, rules_of(job))
    trace = TraceWriter(batch_log.trace_path(found.folder, shard), context.clock.stamp,
                        accept_damage=config.accepts_damage)
    cases = tuple(game.case for game in games.values())
    who = solvers.solvers_of(systems, pack, cases, job, context,
                             lambda name: recorded_settings(log, name, config.reruns_changed))
    # a shard runs nothing again: the others were asked as before
    again = "put back what was changed" if shard is not None else \
        f"run what changed again with {config.command.plus('--rebuild')}"
    return Workload(
        log=batch_log.log_path(found.folder, shard),
        systems={name: TracedSystem(solver, name, games, trace, context.clock, job.limits.timeout_s)
                 for name, solver in who.items()},
        title=TaskName(pack.module, pack.name, pack.version),
        cases=cases, prompts={name: game.prompt for name, game in games.items()},
        split=job.asks.split if isinstance(job.asks, FromTask) else QUESTIONS,
        trials=job.trials, budget=Budget(context.start, config.budget_s), timeout_s=job.limits.timeout_s,
        command=config.command, selection=config.selection, rerun_changed=config.reruns_changed,
        accept_damage=config.accepts_damage, adds_systems=True, sidecar=trace,
        remedy=f"{again}, or begin another batch with {another_batch(config.command)}",
        without_server=config.command.without("--models").plus("--offline") if any(map(is_baseline, job.systems))
        else None)
