"""What each command of board.py does, from its flags to the lines that a person reads.

A story says whether its answer is yes; where it is no, the exit code is 1.
"""
from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.command import Command, shell_word
from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.basics.texts import count_of, names_of, word_for
from benchkit.basics.values import Cell, Shard
from benchkit.boards import batch as batches
from benchkit.boards import batch_log, batch_run, console, finalizing
from benchkit.boards.batch import FoundBatch, find_batch
from benchkit.boards.board import Board
from benchkit.boards.board_document import screen_of, verification_blocks
from benchkit.boards.findings import Findings
from benchkit.boards.job import Job, read_job, usual_file
from benchkit.boards.job_pack import pack_of_job, questions_asked_for
from benchkit.boards.solvers import check_systems, chosen_systems, take_env_file
from benchkit.boards.trace_check import Verification, verify
from benchkit.boards.usage import still_to_come
from benchkit.disk.whole_files import shown_path
from benchkit.render.as_text import TextRenderer
from benchkit.render.document import Document
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

    def document(self, document: Document) -> None:
        """A document on stdout."""
        self.lines(TextRenderer().document(document))

    def verification(self, verification: Verification) -> bool:
        """How a trace stands, on stdout; whether it holds."""
        self.document(Document("", list(verification_blocks(verification)), ()))
        return verification.is_consistent

    def job(self) -> Job:
        """The job that was named."""
        return read_job(Path(self.options.job))

    def batch(self) -> FoundBatch:
        """The batch that was named."""
        return find_batch(RUNS, self.options.batch)

    def as_typed(self, text: str) -> str:
        """A sentence of the kit: where it offers a command for the job, that names its file as it was typed.

        Of a batch that was named without its job, it is the usual file. The board itself always names that one, for
        it is the same everywhere.
        """
        offered, job = "JOB", "JOB"
        if "job" in self.options:
            job = shell_word(self.options.job)
            offered += "|" + re.escape(usual_file(os.path.basename(self.options.job).removesuffix(".toml")))
        elif "batch" in self.options:
            with suppress(KitError):  # where it names no batch that can be read
                job = usual_file(self.batch().batch.job.name)
        return re.sub(rf"\b(board\.py (?:run|begin)) (?:{offered})(?![\w./-])", lambda found: f"{found[1]} {job}", text)


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
    job = typed.job()
    systems = chosen_systems(job, options.models, options.offline)
    pack = pack_of_job(job, context.folders)
    take_env_file(job, systems)
    check_systems(systems, pack, job, context)
    found = batch_run.batch_for(batch_run.Wanted(
        RUNS, command, options.fresh, options.batch, options.rebuild, options.regen, options.offline),
        job, pack, context)
    batch_run.refuse_blocked(found)
    if shard is None:
        batch_log.refuse_unmerged(found)
    elif options.shard == AUTO:
        refuse_part_of_array(shard, ((batch_log.log_path(found.folder, one), one)
                                     for one in batch_log.shards_in(found.folder)))
    questions = batch_run.questions_of(found)
    # done now: whoever goes on from here must not do it again
    command = command.minus("--fresh", "--rebuild", "--regen")
    recorded = batch_run.record_batch(found, pack, questions, systems, batch_run.BatchRunConfig(
        command, Selection(options.limit, retry_errors=options.retry_errors, shard=shard), options.budget_s,
        options.rebuild or options.regen, options.accept_damage), context)
    if shard is None:
        findings, board = finalizing.finalize(finalizing.examine(found, pack, questions))
        typed.lines(console.run_lines(findings, recorded, command, systems))
        is_consistent = _show(findings, board, typed)
    else:
        log = read_log(batch_log.log_path(found.folder, shard))
        verification = verify(log, batch_log.trace_path(found.folder, shard),
                              finalizing.asked_in(found, pack, questions))
        typed.lines(console.shard_lines(found, log, recorded, command, systems))
        is_consistent = typed.verification(verification)
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
    is_consistent = typed.verification(findings.verification)
    typed.lines(console.repaired_lines(findings))
    typed.document(screen_of(board))
    markdown, page = (shown_path(findings.found.folder / name) for name in (batches.BOARD_MARKDOWN, batches.BOARD_HTML))
    typed.lines(["", f"board: {markdown} and {page}"])
    return is_consistent


def begin_batch(typed: BoardCommand) -> bool:
    """`begin`: another batch with its questions, for shards to share."""
    job = typed.job()
    wanted = batch_run.Wanted(RUNS, typed.command, fresh=True, offline=typed.options.offline)
    found = batch_run.batch_for(wanted, job, pack_of_job(job, typed.run.folders), typed.run)
    batch_run.refuse_blocked(found)
    typed.lines([shown_path(found.folder)])
    return True


def merge_shards(typed: BoardCommand) -> bool:
    """`merge`: what all shards hold as one batch, judged and drawn."""
    found, *copies = (find_batch(RUNS, name) for name in (typed.options.batch, *typed.options.copies))
    batch_run.refuse_blocked(found)
    batch_run.refuse_published(found)
    pack, questions = batch_run.pack_of_batch(found, typed.run.folders), batch_run.questions_of(found)
    merged = batch_log.merge_batches(found, copies)
    missing = f"; no log of shard {names_of(map(str, merged.missing))}" if merged.missing else ""
    typed.lines([f"{shown_path(found.folder)}: {merged.recorded} of {merged.planned} "
                 f"{word_for(merged.planned, 'planned cell')} merged, {merged.planned - merged.recorded} left{missing}",
                 *(f"{shown_path(path)}: nothing recorded yet" for path in merged.empty)])
    return _show(*finalizing.finalize(finalizing.examine(found, pack, questions)), typed)


def draw_again(typed: BoardCommand) -> bool:
    """`report`: judge what is there, and draw the board."""
    options, context = typed.options, typed.run
    name = typed.job().name
    found = batches.newest(RUNS, name) if options.batch is None else find_batch(RUNS, options.batch, name)
    if found is None:
        raise Unusable(f"job {name} has no batch yet; python3 board.py run {shell_word(options.job)} makes one")
    if options.batch is None:
        batch_run.tell_how_chosen(RUNS, found, context.clock, context.say)
    batch_run.refuse_blocked(found)
    pack = batch_run.pack_of_batch(found, context.folders)
    is_closed, findings = found.batch.status == batches.PUBLISHED, None
    if is_closed and not options.accept_altered:
        reasons, findings = finalizing.verified_again(found, pack)
        if reasons:
            return _refused(found, reasons, "its batch.json says so, and that does not hold; nothing was written",
                            typed)
    findings = findings or finalizing.examine(found, pack, batch_run.questions_of(found, options.accept_altered))
    unmerged = batch_log.unmerged_line(found)
    if unmerged:
        context.say(unmerged)
    return _show(*finalizing.finalize(findings, keeps_board=is_closed), typed)


def tell_estimate(typed: BoardCommand) -> bool:
    """`estimate`: a line for each system: what the cells to go will take, by those done."""
    job = typed.job()
    systems = chosen_systems(job, typed.options.models, offline=False)
    found = batches.newest(RUNS, job.name, is_open=True)
    log = None if found is None else batch_log.log_of(found)
    count = questions_asked_for(job) if found is None else len(found.batch.cases_sha256)
    where = "no batch yet" if found is None else shown_path(found.folder)
    typed.lines([f"{where}: {count_of(count, 'question')} x {count_of(job.trials, 'trial')} for each system"])
    for name in systems:
        is_there = log is not None and name in log.planned().systems
        done = (line.outcome for line in log.trials(name)) if log is not None and is_there else ()
        typed.lines([still_to_come(name, done, count * job.trials)])
    return True


def tell_trial(typed: BoardCommand) -> bool:
    """`trace`: one trial as a story."""
    options = typed.options
    # as it was said: a model may speak of the kit, too
    for line in console.trial_lines(typed.batch(), Cell(options.system, options.case, options.trial)):
        typed.put(line + "\n")
    return True


def judge_again(typed: BoardCommand) -> bool:
    """`recompute`: what the judges of now make of the answers, and whether it was written."""
    options, found = typed.options, typed.batch()
    batch_run.refuse_blocked(found)
    if options.apply:
        batch_run.refuse_published(found)
    findings, differences, changes = finalizing.recompute(
        found, batch_run.pack_of_batch(found, typed.run.folders), batch_run.questions_of(found), full=options.full)
    finalized = finalizing.finalize(findings) if options.apply else None
    typed.lines([*(f"scoring: {difference}" for difference in differences), *map(str, changes)])
    count, cells, rows = len(changes), len({change.cell for change in changes}), len(findings.rows)
    what_now = "; written" if options.apply else "; nothing was written, --apply writes it" \
        if changes or differences else ""
    typed.lines([f"{count} {word_for(count, 'field')} changed in {cells} of {rows} {word_for(rows, 'row')}{what_now}"])
    return finalized is None or _show(*finalized, typed)


def close_batch(typed: BoardCommand) -> bool:
    """`publish`: verify, judge and close; a refusal says why."""
    found = typed.batch()
    finalizing.check_publishable(found)
    pack = pack_of_job(found.batch.job, typed.run.folders)
    reasons, findings = finalizing.verified(found, pack)
    if reasons or findings is None:
        return _refused(found, reasons, "nothing was written", typed)
    for line in finalizing.incomplete_lines(findings):
        typed.run.say(typed.as_typed(line))
    findings = finalizing.publish(found, pack, typed.command, typed.run)
    if not findings.verification.is_consistent:
        return _refused(found, map(str, findings.verification.violations),
                        "the baselines ran again, and the batch stays", typed)
    findings, board = finalizing.finalize(findings)
    typed.lines([f"{findings.found.name} is published"])
    return _show(findings, board, typed)


def _refused(found: FoundBatch, reasons: Iterable[str], what_now: str, typed: BoardCommand) -> bool:
    """A batch is not published: why, line by line."""
    typed.lines([f"{found.name} is not published; {what_now}:", *(f"  {reason}" for reason in reasons)])
    return False


def list_batches(typed: BoardCommand) -> bool:
    """`list`: a line for each batch there is, also for one that cannot be read."""
    found = list(batches.every_batch(RUNS))
    if not found:
        # the example lies beside the kit
        example = os.path.join(os.path.dirname(typed.command.prog), "jobs", "example.toml")
        typed.lines([f"no batches yet; python3 board.py run {shlex.quote(example)} --offline makes one"])
    for name, batch in found:
        typed.lines([f"{name}  unreadable  {batch}" if isinstance(batch, str) else
                     f"{name}  {batch.status}  {batch.job.geometry}, {count_of(len(batch.cases_sha256), 'question')}, "
                     f"{count_of(len(batch.systems), 'system')}"])
    return True


_STORIES: Mapping[str, Callable[[BoardCommand], bool]] = {
    "run": run_job, "begin": begin_batch, "merge": merge_shards, "report": draw_again, "estimate": tell_estimate,
    "trace": tell_trial, "recompute": judge_again, "publish": close_batch, "list": list_batches}
