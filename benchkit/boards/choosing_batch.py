"""Which batch a run goes on with: the newest that is not published, the one that was named, or a new one."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.clock import Clock, signals_as_stop_request
from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import cases_named
from benchkit.boards.batch import (
    BLOCKED,
    CASES,
    PUBLISHED,
    RESPONSES,
    FoundBatch,
    find_batch,
    is_ahead,
    new_batch,
    newest,
    newest_open,
    passed_over,
    rebuild_batch,
    start_batch,
)
from benchkit.boards.batch_log import log_of, one_at_a_time, shards_in
from benchkit.boards.job import FromPack, Job
from benchkit.boards.job_pack import dataset_differences
from benchkit.boards.pack import Pack
from benchkit.boards.pack_loading import cache_folder
from benchkit.boards.questions import (
    CachedRewording,
    KeptQuestions,
    Questions,
    Rewording,
    make_questions,
    read_questions,
)
from benchkit.boards.solvers import named_in, options_of, take_env_file
from benchkit.boards.usage import NOTHING_USED, TokenUse
from benchkit.disk.whole_files import shown_path
from benchkit.running.workload import RunContext
from benchkit.systems.loading import load_system
from benchkit.trial_log.writer import LogWriter

_OF_ONE_BATCH = ("--retry-errors", "--accept-damage", "--rebuild")
"""Flags that speak of a batch that is there already."""


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


@dataclass(frozen=True, slots=True)
class _Made:
    questions: Questions
    used: TokenUse


def batch_for(wanted: Wanted, job: Job, pack: Pack, context: RunContext) -> FoundBatch:
    """The batch to go on with, its job as it reads now. Raises Unusable for one that cannot be gone on with."""
    if wanted.regenerate and not (isinstance(job.asks, FromPack) and job.asks.reword):
        raise Unusable(f"--regen: job {job.name} has its questions reworded by nobody (key reword)")
    if wanted.fresh:
        return _begun(wanted, job, pack, context)
    found = _found(wanted, job, context)
    if found is None:
        # who starts at the same time, be it another shard, goes on with the same batch
        with one_at_a_time(wanted.runs / job.name, context.say):
            found = _found(wanted, job, context)
            if found is None:
                return _begun(wanted, job, pack, context)
    refuse_other_dataset(found, job, pack, wanted.command)
    if wanted.rebuild or wanted.regenerate:
        found = _rebuilt(found, _make(wanted, job, pack, context), job, pack)
    return replace(found, batch=replace(found.batch, job=job))


def _begun(wanted: Wanted, job: Job, pack: Pack, context: RunContext) -> FoundBatch:
    made = _make(wanted, job, pack, context)
    batch = new_batch(job, pack, made.questions, context.clock.stamp(), made.used)
    return start_batch(wanted.runs, batch, made.questions)


def refuse_blocked(found: FoundBatch) -> None:
    """Raise Unusable for a batch that the gate blocked, with its reasons."""
    if found.batch.status == BLOCKED:
        raise Unusable(f"{shown_path(found.folder)}: blocked by the batch gate: "
                       f"{'; '.join(found.batch.figures.blocked)}; change the job or its pack, and begin another "
                       "batch with --fresh")


def refuse_other_dataset(found: FoundBatch, job: Job, pack: Pack, command: Command) -> None:
    """Raise Unusable where the job and its pack ask about another world than the batch, naming the difference."""
    differences = dataset_differences(found.batch, job, pack)
    if differences:
        raise Unusable(f"{shown_path(found.folder)}: this batch was made in another world ({differences}); begin "
                       f"another one with {another_batch(command)}")


def another_batch(command: Command) -> str:
    """The command that begins another batch; of this one are --batch and --shard, which --fresh is not taken with."""
    if any(word.partition("=")[0] == "--shard" for word in command.words):
        return "python3 board.py begin JOB"
    return str(command.without("--batch").minus(*_OF_ONE_BATCH).plus("--fresh"))


def questions_of(found: FoundBatch, accept_altered: bool = False) -> KeptQuestions:
    """The questions of a batch, checked. Raises Unusable naming what was altered."""
    batch = found.batch
    return read_questions(found.folder / CASES, batch.cases_sha256, batch.dataset.questions_sha256,
                          accept_altered=accept_altered)


def refuse_published(found: FoundBatch) -> None:
    """Raise Unusable for a batch that is closed."""
    if found.batch.status == PUBLISHED:
        raise Unusable(f"{shown_path(found.folder)} is published, and stays as it is; begin another batch with --fresh")


def tell_how_chosen(runs: Path, found: FoundBatch | None, clock: Clock, say: Callable[[str], None]) -> None:
    """Say what is odd about the batch that is taken for the newest: others are blocked, or its time is to come."""
    if found is None:
        return
    if is_ahead(found, clock.wall()):
        say(f"{shown_path(found.folder)} is taken for the newest, but by the clock of this machine its time is still "
            "to come: the clock is wrong now, or was then; --batch names another one")
    for blocked in passed_over(runs, found):
        say(f"{shown_path(blocked.folder)} is blocked by the batch gate, and passed over for "
            f"{shown_path(found.folder)}")


def _found(wanted: Wanted, job: Job, context: RunContext) -> FoundBatch | None:
    if wanted.batch is None:
        there = newest_open(wanted.runs, job.name)
        tell_how_chosen(wanted.runs, there, context.clock, context.say)
        if there is None:
            _refuse_only_published(wanted, job)
        return there
    found = find_batch(wanted.runs, wanted.batch, job.name)
    refuse_published(found)
    return found


def _refuse_only_published(wanted: Wanted, job: Job) -> None:
    """Raise Unusable where a flag speaks of a batch that is there, and all there are were published."""
    closed = newest(wanted.runs, job.name)
    flag = next((word for word in wanted.command.words if word in _OF_ONE_BATCH), None)
    if closed is not None and flag is not None:
        raise Unusable(f"{flag}: {shown_path(closed.folder)} is published, and stays as it is, and there is no newer "
                       f"batch; begin another one with {another_batch(wanted.command)}")


def _rebuilt(found: FoundBatch, made: _Made, job: Job, pack: Pack) -> FoundBatch:
    """The batch with its questions made anew; its answers stay, and count where their request is still the same."""
    if shards_in(found.folder):
        raise Unusable(f"{shown_path(found.folder)}: shards were asked its questions as they are; begin another batch "
                       "with --fresh")
    if made.questions.figures.blocked:
        raise Unusable(f"{shown_path(found.folder)}: its questions made anew would be blocked by the batch gate: "
                       f"{'; '.join(made.questions.figures.blocked)}; nothing was changed")
    with no_writer(found.folder / RESPONSES):
        log = log_of(found)
        planned = () if log is None else log.planned().cases
        there = {case.id for case in made.questions.cases}
        gone = [case.id for case in planned if case.id not in there]
        if gone:
            raise Unusable(f"{shown_path(found.folder)}: {cases_named(gone)} would not be made any more, and there are "
                           "answers to them; begin another batch with --fresh")
        anew = new_batch(job, pack, made.questions, found.batch.made_at, found.batch.usage.gen_usage + made.used)
        anew = replace(anew, systems=found.batch.systems, scoring=found.batch.scoring, usage=replace(
            found.batch.usage, gen_usage=anew.usage.gen_usage))
        return rebuild_batch(found.folder, anew, made.questions)


@contextmanager
def no_writer(log: Path) -> Iterator[None]:
    """Within this nobody records into the log; none there is made, and taken away again. Raises EnvironmentFailure."""
    with LogWriter.open(log):
        try:
            yield
        finally:
            if log.stat().st_size == 0:
                log.unlink()


def _make(wanted: Wanted, job: Job, pack: Pack, context: RunContext) -> _Made:
    asks = job.asks
    if not isinstance(asks, FromPack) or asks.reword is None:
        return _Made(make_questions(job, pack), NOTHING_USED)
    cache = cache_folder(asks.pack, context.folders)
    if wanted.offline:
        reword = CachedRewording(cache, asks.reword, None)
        return _Made(make_questions(job, pack, reword), reword.used)
    take_env_file(job, [asks.reword])
    system = load_system(asks.reword, options_of(context, ()), context.folders, named_in(job, "reword"))
    lender = Rewording(asks.reword, system, context.clock, job.limits.timeout_s)
    reword = CachedRewording(cache, asks.reword, lender, regenerate=wanted.regenerate)
    with signals_as_stop_request(context.stop, os._exit):
        try:
            return _Made(make_questions(job, pack, reword), reword.used)
        finally:
            lender.close()
