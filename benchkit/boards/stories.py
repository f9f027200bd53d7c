"""What each command of board.py does, from its flags to the lines that a person reads.

A story says whether its answer is yes; where it is no, the exit code is 1.
"""
from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.command import Command, shell_word
from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.basics.values import Cell, Shard
from benchkit.boards.batch import (
    BOARD_HTML,
    BOARD_MARKDOWN,
    PUBLISHED,
    FoundBatch,
    every_batch,
    find_batch,
    newest,
    newest_open,
)
from benchkit.boards.batch_log import batch_files_of, refuse_unmerged, shards_in, unmerged_line
from benchkit.boards.board import Board
from benchkit.boards.board_document import screen_of, verification_blocks
from benchkit.boards.choosing_batch import (
    Wanted,
    batch_for,
    questions_of,
    refuse_blocked,
    refuse_published,
    tell_how_chosen,
)
from benchkit.boards.console import (
    estimate_lines,
    list_lines,
    merged_lines,
    places,
    recompute_lines,
    repaired_lines,
    run_lines,
    shard_lines,
    story_lines,
)
from benchkit.boards.finalizing import asked_in, examine, finalize, recompute, rows_that_stand
from benchkit.boards.findings import Findings
from benchkit.boards.job import read_job, usual_file
from benchkit.boards.job_pack import pack_of_batch, pack_of_job
from benchkit.boards.merging import merge_batches
from benchkit.boards.publish import (
    check_publishable,
    errors_kept,
    publish,
    verified,
    verified_again,
)
from benchkit.boards.recording_batch import BatchRunConfig, Recorded, record_batch
from benchkit.boards.solvers import check_systems, chosen_systems, take_env_file
from benchkit.boards.trace_check import verify
from benchkit.boards.trace_invariants import Asked
from benchkit.disk.whole_files import shown_path
from benchkit.render import document as doc
from benchkit.render.as_text import TextRenderer
from benchkit.running.plan import Selection
from benchkit.running.shards import AUTO, refuse_part_of_array, shard_of
from benchkit.running.workload import RunContext
from benchkit.trial_log.reader import read_log

RUNS = Path("runs")
"""Where batches are kept."""


@dataclass(frozen=True, slots=True)
class BoardCommand:
    """What was typed, and where a story meets the person: `put` takes a text for stdout.

    `placed` names the commands in a sentence as a person would type them here.
    """

    options: Namespace
    run: RunContext
    command: Command
    environ: Mapping[str, str]
    put: Callable[[str], None]
    placed: Callable[[str], str]

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of the kit on stdout; a command that they offer names kit and job as a person would type it here."""
        for line in lines:
            self.put(self.placed(self.as_typed(line)) + "\n")

    def document(self, document: doc.Document) -> None:
        """A document on stdout."""
        self.lines(TextRenderer().document(document))

    def as_typed(self, text: str) -> str:
        """A sentence of the kit: where it offers a command for the job, that names its file as it was typed.

        Of a batch that was named without its job, it is the usual file. The board itself always names that one, for
        it is the same everywhere.
        """
        offered, options = "JOB", self.options
        if "job" in options:
            job = shell_word(options.job)
            offered += "|" + re.escape(usual_file(os.path.basename(options.job).removesuffix(".toml")))
        else:
            job = self._usual_job()
        return re.sub(rf"\b(board\.py (?:run|begin)) (?:{offered})(?![\w./-])", lambda found: f"{found[1]} {job}", text)

    def _usual_job(self) -> str:
        """Where the job of the batch that the flags name usually lies; JOB where they name none that can be read."""
        try:
            batch = find_batch(RUNS, self.options.batch).batch if "batch" in self.options else None
        except KitError:
            batch = None
        return "JOB" if batch is None else usual_file(batch.job.name)


def tell_story(typed: BoardCommand) -> bool:
    """Tell the story that the flags ask for; a command that an error of it offers names the job as it was typed."""
    try:
        return _STORIES[typed.options.command](typed)
    except KitError as error:
        error.args = (typed.as_typed(str(error)),)
        raise


def run_job(typed: BoardCommand) -> bool:
    """`run`: record what is left, settle the batch, and show its ranking; of a shard, what it holds."""
    options, context = typed.options, typed.run
    shard = _shard_wanted(typed)
    command = typed.command if shard is None else typed.command.having("--shard", str(shard))
    job = read_job(Path(options.job))
    systems = chosen_systems(job, options.models, options.offline)
    pack = pack_of_job(job, context.folders)
    take_env_file(job, systems)
    check_systems(systems, pack, job, context)
    found = batch_for(Wanted(RUNS, command, options.fresh, options.batch, options.rebuild, options.regen,
                             options.offline), job, pack, context)
    refuse_blocked(found)
    if shard is None:
        refuse_unmerged(found)
    elif options.shard == AUTO:
        refuse_part_of_array(shard, ((batch_files_of(found.folder, one).log, one) for one in shards_in(found.folder)))
    questions = questions_of(found)
    # done now: whoever goes on from here must not do it again
    command = command.minus("--fresh", "--rebuild", "--regen")
    config = BatchRunConfig(
        command, Selection(options.limit, retry_errors=options.retry_errors, shard=shard), options.budget_s,
        options.rebuild or options.regen, options.accept_damage)
    recorded = record_batch(found, pack, questions, systems, config, context)
    if shard is not None:
        is_consistent = _show_shard(found, shard, recorded, command, asked_in(found, pack, questions), typed)
    else:
        findings, board = finalize(examine(found, pack, questions))
        typed.lines(run_lines(findings, recorded, command))
        is_consistent = _show(findings, board, typed)
    if recorded.ended.sentence is not None:
        raise EnvironmentFailure(recorded.ended.sentence)
    return is_consistent


def _shard_wanted(typed: BoardCommand) -> Shard | None:
    """The part of the batch that --shard means. Raises Unusable, also beside a flag that parts the shards."""
    options = typed.options
    if options.shard is None:
        return None
    for flag in ("fresh", "rebuild", "regen"):
        if getattr(options, flag):
            raise Unusable(f"--{flag} --shard: each shard would have other questions; begin a batch once with "
                           f"python3 board.py begin {shell_word(options.job)}, then run its shards without --{flag}")
    return shard_of(options.shard, typed.environ)


def _show(findings: Findings, board: Board, typed: BoardCommand) -> bool:
    """How the trace stands, the ranking in short, and where the board is; whether the trace holds."""
    typed.document(doc.Document("", list(verification_blocks(findings.verification)), ()))
    typed.lines(repaired_lines(findings))
    typed.document(screen_of(board))
    typed.lines(["", places(findings.found.folder, (BOARD_MARKDOWN, BOARD_HTML))])
    return findings.verification.is_consistent


def _show_shard(
    found: FoundBatch, shard: Shard, recorded: Recorded, command: Command, asked: Asked, typed: BoardCommand,
) -> bool:
    """What a shard holds, how its trace stands, and how to go on; whether the trace holds."""
    batch_files = batch_files_of(found.folder, shard)
    log = read_log(batch_files.log)
    verification = verify(log, batch_files.trace, asked)
    typed.lines(shard_lines(found, log, recorded, command))
    typed.document(doc.Document("", list(verification_blocks(verification)), ()))
    return verification.is_consistent


def begin_batch(typed: BoardCommand) -> bool:
    """`begin`: another batch with its questions, for shards to share."""
    job = read_job(Path(typed.options.job))
    wanted = Wanted(RUNS, typed.command, fresh=True, offline=typed.options.offline)
    found = batch_for(wanted, job, pack_of_job(job, typed.run.folders), typed.run)
    refuse_blocked(found)
    typed.lines([shown_path(found.folder)])
    return True


def merge_shards(typed: BoardCommand) -> bool:
    """`merge`: what all shards hold as one batch, judged and drawn."""
    found, *copies = (find_batch(RUNS, name) for name in (typed.options.batch, *typed.options.copies))
    refuse_blocked(found)
    refuse_published(found)
    pack, questions = pack_of_batch(found, typed.run.folders), questions_of(found)
    typed.lines(merged_lines(found, merge_batches(found, copies)))
    return _show(*finalize(examine(found, pack, questions)), typed)


def draw_again(typed: BoardCommand) -> bool:
    """`report`: judge what is there, and draw the board."""
    options, context = typed.options, typed.run
    name = read_job(Path(options.job)).name
    found = newest(RUNS, name) if options.batch is None else find_batch(RUNS, options.batch, name)
    if found is None:
        raise Unusable(f"job {name} has no batch yet; python3 board.py run {shell_word(options.job)} makes one")
    if options.batch is None:
        tell_how_chosen(RUNS, found, context.clock, context.say)
    refuse_blocked(found)
    pack = pack_of_batch(found, context.folders)
    is_closed, findings = found.batch.status == PUBLISHED, None
    if is_closed and not options.accept_altered:
        done = verified_again(found, pack, rows_that_stand(found, pack))
        findings = done.findings
        if done.reasons:
            return _refused(found, done.reasons, "its batch.json says so, and that does not hold; nothing was written",
                            typed)
    findings = findings or examine(found, pack, questions_of(found, options.accept_altered))
    unmerged = unmerged_line(found)
    if unmerged:
        context.say(unmerged)
    return _show(*finalize(findings, keeps_board=is_closed), typed)


def tell_estimate(typed: BoardCommand) -> bool:
    """`estimate`: what is still to come."""
    job = read_job(Path(typed.options.job))
    systems = chosen_systems(job, typed.options.models, offline=False)
    typed.lines(estimate_lines(job, newest_open(RUNS, job.name), systems))
    return True


def tell_trial(typed: BoardCommand) -> bool:
    """`trace`: one trial as a story."""
    options = typed.options
    # as it was said: a model may speak of the kit, too
    for line in story_lines(find_batch(RUNS, options.batch), Cell(options.system, options.case, options.trial)):
        typed.put(line + "\n")
    return True


def judge_again(typed: BoardCommand) -> bool:
    """`recompute`: what the judges of now make of the answers."""
    options, found = typed.options, find_batch(RUNS, typed.options.batch)
    refuse_blocked(found)
    if options.apply:
        refuse_published(found)
    again = recompute(found, pack_of_batch(found, typed.run.folders), questions_of(found), full=options.full)
    finalized = finalize(again.findings) if options.apply else None
    typed.lines(recompute_lines(again, options.apply))
    return finalized is None or _show(*finalized, typed)


def close_batch(typed: BoardCommand) -> bool:
    """`publish`: verify, judge and close; a refusal says why."""
    found = find_batch(RUNS, typed.options.batch)
    check_publishable(found)
    pack = pack_of_job(found.batch.job, typed.run.folders)
    reasons = verified(found, pack).reasons
    if reasons:
        return _refused(found, reasons, "nothing was written", typed)
    findings = publish(found, pack, BatchRunConfig(typed.command), typed.run)
    if not findings.verification.is_consistent:
        return _refused(found, map(str, findings.verification.violations),
                        "the baselines ran again, and the batch stays", typed)
    findings, board = finalize(findings)
    for line in errors_kept(findings.found):
        typed.run.say(line)
    typed.lines([f"{findings.found.name} is published"])
    return _show(findings, board, typed)


def _refused(found: FoundBatch, reasons: Iterable[str], what_now: str, typed: BoardCommand) -> bool:
    """A batch is not published: why, line by line."""
    typed.lines([f"{found.name} is not published; {what_now}:", *(f"  {reason}" for reason in reasons)])
    return False


def list_batches(typed: BoardCommand) -> bool:
    """`list`: the batches there are."""
    # the example lies beside the kit
    example = os.path.join(os.path.dirname(typed.command.prog), "jobs", "example.toml")
    typed.lines(list_lines(every_batch(RUNS), example))
    return True


_STORIES: Mapping[str, Callable[[BoardCommand], bool]] = {
    "run": run_job, "begin": begin_batch, "merge": merge_shards, "report": draw_again, "estimate": tell_estimate,
    "trace": tell_trial, "recompute": judge_again, "publish": close_batch, "list": list_batches}
