"""Recording into a batch: the workload that a job amounts to, and the session that runs what is left of it.

Answers go into responses.jsonl, a trial log like any other, or into that of a shard; the trace grows beside it.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.clock import Budget
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import Shard, TaskName
from benchkit.boards.batch import FoundBatch
from benchkit.boards.batch_log import (
    BatchFiles,
    batch_files_of,
    has_bytes,
    log_of,
    merge_command,
    shards_in,
    unmerged_in,
)
from benchkit.boards.choosing_batch import another_batch
from benchkit.boards.evaluation import damage_of
from benchkit.boards.game import Game, games_of, prompts_of
from benchkit.boards.job import FromTask, Job
from benchkit.boards.pack import Pack
from benchkit.boards.playing import Timing
from benchkit.boards.questions import KeptQuestions, rules_of
from benchkit.boards.solvers import solvers_of, traced_systems_of
from benchkit.boards.trace_file import TraceWriter
from benchkit.disk.whole_files import shown_path
from benchkit.running.live import log_at, record_live, recorded_settings
from benchkit.running.plan import ALL, Selection
from benchkit.running.progress import Verdicts
from benchkit.running.workload import Ended, RunContext, Workload
from benchkit.systems.loading import is_baseline
from benchkit.trial_log.reader import TrialLog

ANSWERED = Verdicts(lambda case, output: "answered", ("answered", "incomplete"))
"""What an answer is worth stands in no single message, so progress only counts them."""
QUESTIONS = "questions"
"""The split of a batch made by a pack."""


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
    found: FoundBatch,
    pack: Pack,
    questions: KeptQuestions,
    systems: Sequence[str],
    config: BatchRunConfig,
    context: RunContext,
) -> Recorded:
    """Run what is left of a batch for these systems; of a shard what neither its log nor that of the batch holds.

    Raises Unusable before anything is started; EnvironmentFailure and Interrupted with the log as far as it came.
    """
    games = games_of(pack, questions.cases, rules_of(found.batch.job))
    shard = config.selection.shard
    log = log_of(found, shard, config.accepts_damage)
    _check_trials(found, log)
    if config.accepts_damage:
        config = _accepting(log, batch_files_of(found.folder, shard), config)
    if shard is not None:
        _check_shared_out(found, shard, systems, config)
        whole = log_of(found)
        config = replace(config, selection=replace(config.selection, answered=whole.is_recorded if whole else None))
    workload = _workload(found, pack, games, systems, config, context, log)
    ended = record_live(workload, log, context, ANSWERED)
    now = log_at(workload.log) if ended.reason is not None else None
    if now is None:
        return Recorded(0, ended)
    again = [cell for _, cell in log.cells()
             if log.error_type(cell) and now.attempts(cell) > log.attempts(cell)] if log else []
    return Recorded(now.sessions[-1].trials, ended, len(again), sum(now.error_type(cell) is not None for cell in again))


def _accepting(log: TrialLog | None, batch_files: BatchFiles, config: BatchRunConfig) -> BatchRunConfig:
    """The same, with what was lost to damage run again; without any damage there is nothing to accept."""
    if log is None or not batch_files.trace.exists():
        return replace(config, accepts_damage=has_bytes(batch_files.log))
    damage = damage_of(log, batch_files.trace)
    return replace(
        config,
        selection=replace(config.selection, lost=damage.lost),
        accepts_damage=bool(log.harmless or damage.is_unnamed or damage.lost),
    )


def _workload(
    found: FoundBatch,
    pack: Pack,
    games: Mapping[str, Game],
    systems: Sequence[str],
    config: BatchRunConfig,
    context: RunContext,
    log: TrialLog | None,
) -> Workload:
    job = found.batch.job
    batch_files = batch_files_of(found.folder, config.selection.shard)
    trace = TraceWriter(batch_files.trace, context.clock.stamp, accept_damage=config.accepts_damage)
    solvers = solvers_of(systems, pack, games, job, context,
                         lambda name: recorded_settings(log, name, config.reruns_changed))
    traced = traced_systems_of(solvers, games, trace, Timing(context.clock, job.limits.timeout_s))
    return Workload(
        log=batch_files.log, systems=traced, title=TaskName(pack.module, pack.name, pack.version),
        cases=tuple(game.case for game in games.values()), prompts=prompts_of(games), split=_split(job),
        trials=job.trials, budget=Budget(context.start, config.budget_s), timeout_s=job.limits.timeout_s,
        command=config.command, selection=config.selection, rerun_changed=config.reruns_changed,
        accept_damage=config.accepts_damage, adds_systems=True, sidecar=trace, remedy=_remedy(config),
        without_server=config.command.without("--models").plus("--offline") if any(map(is_baseline, job.systems))
        else None)


def _remedy(config: BatchRunConfig) -> str:
    """What to do where requests have changed. A shard runs nothing again: the others were asked as before."""
    again = f"run what changed again with {config.command.plus('--rebuild')}" if config.selection.shard is None \
        else "put back what was changed"
    return f"{again}, or begin another batch with {another_batch(config.command)}"


def _split(job: Job) -> str:
    return job.asks.split if isinstance(job.asks, FromTask) else QUESTIONS


def _check_trials(found: FoundBatch, log: TrialLog | None) -> None:
    planned = 0 if log is None else log.planned().trials
    if found.batch.job.trials < planned:
        raise Unusable(f"{shown_path(found.folder)}: it plans {count_of(planned, 'trial')} of each question, and the "
                       f"job now says trials = {found.batch.job.trials}; say {planned} or more, or begin "
                       "another batch with --fresh")


def _check_shared_out(found: FoundBatch, shard: Shard, systems: Sequence[str], config: BatchRunConfig) -> None:
    """Raise Unusable where cells were shared out otherwise before, and the batch does not hold the answers yet.

    Who runs a cell follows from the number of shards and from all systems, so two shards would ask the same. Of as many
    shards each looks at its own log only: a thousand that read a thousand logs would wait for the disk.
    """
    for other in shards_in(found.folder):
        is_own = other == shard
        log = log_of(found, other, config.accepts_damage and is_own) if is_own or other.of != shard.of else None
        if log is None:
            continue
        new = [name for name in systems if name not in log.planned().systems]
        if (new or other.of != shard.of) and unmerged_in(log, log_of(found)):
            raise Unusable(f"{shown_path(log.path)}: its answers were shared out "
                           f"{f'without {shown_line(new[0], 60)}' if new else f'over {other.of}'}, and are not in the "
                           f"batch yet; first {merge_command(found)}")
