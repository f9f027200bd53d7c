"""Recording into a batch: the order that a job amounts to, and the session that runs what is left of it.

Answers go into responses.jsonl, a trial log like any other, or into that of a shard; the trace grows beside it. What
does not live here: the session itself (running/), which batch it is (choosing_batch.py), and what follows from the
answers (settling.py).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.clock import Budget
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.names import count_of, shown_line
from benchkit.basics.values import Shard, TaskName
from benchkit.boards.batch import FoundBatch
from benchkit.boards.batch_log import has_bytes, log_of, merge_command, unmerged_in
from benchkit.boards.batch_shards import Papers, papers_of, shards_in
from benchkit.boards.choosing_batch import another_batch
from benchkit.boards.game import Game, games_of, prompts_of
from benchkit.boards.job import FromTask, Job
from benchkit.boards.pack import Pack
from benchkit.boards.playing import Timing
from benchkit.boards.questions import KeptQuestions, rules_of
from benchkit.boards.solvers import players_of, solvers_of
from benchkit.boards.trace_damage import damage_of
from benchkit.boards.trace_file import TraceWriter
from benchkit.disk.whole_files import shown_path
from benchkit.running.live import Edges, log_at, record_live, recorded_settings
from benchkit.running.order import Ended, Order
from benchkit.running.plan import ALL, Selection
from benchkit.running.progress import Verdicts
from benchkit.systems.loading import is_baseline
from benchkit.trial_log.reader import TrialLog

ANSWERED = Verdicts(lambda case, output: "answered", ("answered", "incomplete"))
"""What an answer is worth stands in no single message, so progress only counts them."""
QUESTIONS = "questions"
"""The split of a batch made by a pack."""


@dataclass(frozen=True, slots=True)
class Wished:
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
    found: FoundBatch, pack: Pack, questions: KeptQuestions, systems: Sequence[str], wished: Wished, edges: Edges,
) -> Recorded:
    """Run what is left of a batch for these systems; of a shard what neither its log nor that of the batch holds.

    Raises Unusable before anything is started; Surroundings and Interrupted with the log as far as it came.
    """
    games = games_of(pack, questions.cases, rules_of(found.batch.job))
    shard = wished.selection.shard
    log = log_of(found, shard, wished.accepts_damage)
    _check_trials(found, log)
    if wished.accepts_damage:
        wished = _accepting(log, papers_of(found.folder, shard), wished)
    if shard is not None:
        _check_shared_out(found, shard, systems, wished)
        whole = log_of(found)
        wished = replace(wished, selection=replace(wished.selection, answered=whole.is_recorded if whole else None))
    order = _order(found, pack, games, systems, wished, edges, log)
    ended = record_live(order, log, edges, ANSWERED)
    now = log_at(order.log) if ended.reason is not None else None
    if now is None:
        return Recorded(0, ended)
    again = [cell for _, cell in log.cells()
             if log.error_type(cell) and now.attempts(cell) > log.attempts(cell)] if log else []
    return Recorded(now.sessions[-1].trials, ended, len(again), sum(now.error_type(cell) is not None for cell in again))


def _accepting(log: TrialLog | None, papers: Papers, wished: Wished) -> Wished:
    """The same wish, with what was lost to damage run again; without any damage there is nothing to accept."""
    if log is None or not papers.trace.exists():
        return replace(wished, accepts_damage=has_bytes(papers.log))
    damage = damage_of(log, papers.trace)
    return replace(wished, selection=replace(wished.selection, lost=damage.lost),
                   accepts_damage=bool(log.harmless or damage.is_unnamed or damage.lost))


def _order(
    found: FoundBatch, pack: Pack, games: Mapping[str, Game], systems: Sequence[str], wished: Wished, edges: Edges,
    log: TrialLog | None,
) -> Order:
    job = found.batch.job
    papers = papers_of(found.folder, wished.selection.shard)
    trace = TraceWriter(papers.trace, edges.clock.stamp, accept_damage=wished.accepts_damage)
    solvers = solvers_of(systems, pack, games, job, edges,
                         lambda name: recorded_settings(log, name, wished.reruns_changed))
    players = players_of(solvers, games, trace, Timing(edges.clock, job.limits.timeout_s))
    return Order(
        log=papers.log, systems=players, title=TaskName(pack.module, pack.name, pack.version),
        cases=tuple(game.case for game in games.values()), prompts=prompts_of(games), split=_split(job),
        trials=job.trials, budget=Budget(edges.start, wished.budget_s), timeout_s=job.limits.timeout_s,
        command=wished.command, selection=wished.selection, rerun_changed=wished.reruns_changed,
        accept_damage=wished.accepts_damage, adds_systems=True, companion=trace, mend=_mend(wished),
        without_server=wished.command.without("--models").plus("--offline") if any(map(is_baseline, job.systems))
        else None)


def _mend(wished: Wished) -> str:
    """What to do where requests have changed. A shard runs nothing again: the others were asked as before."""
    again = f"run what changed again with {wished.command.plus('--rebuild')}" if wished.selection.shard is None \
        else "put back what was changed"
    return f"{again}, or begin another batch with {another_batch(wished.command)}"


def _split(job: Job) -> str:
    return job.asks.split if isinstance(job.asks, FromTask) else QUESTIONS


def _check_trials(found: FoundBatch, log: TrialLog | None) -> None:
    planned = 0 if log is None else log.planned().trials
    if found.batch.job.trials < planned:
        raise Unusable(f"{shown_path(found.folder)}: it plans {count_of(planned, 'trial')} of each question, and the "
                       f"job now says trials = {found.batch.job.trials}; say {planned} or more, or begin "
                       "another batch with --fresh")


def _check_shared_out(found: FoundBatch, shard: Shard, systems: Sequence[str], wished: Wished) -> None:
    """Raise Unusable where cells were shared out otherwise before, and the batch does not hold the answers yet.

    Who runs a cell follows from the number of shards and from all systems, so two shards would ask the same. Of as many
    shards each looks at its own log only: a thousand that read a thousand logs would wait for the disk.
    """
    for other in shards_in(found.folder):
        is_own = other == shard
        log = log_of(found, other, wished.accepts_damage and is_own) if is_own or other.of != shard.of else None
        if log is None:
            continue
        new = [name for name in systems if name not in log.planned().systems]
        if (new or other.of != shard.of) and unmerged_in(log, log_of(found)):
            raise Unusable(f"{shown_path(log.path)}: its answers were shared out "
                           f"{f'without {shown_line(new[0], 60)}' if new else f'over {other.of}'}, and are not in the "
                           f"batch yet; first {merge_command(found)}")
