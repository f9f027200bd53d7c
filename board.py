#!/usr/bin/env python3
"""Put several systems to the questions of a pack, and show who can be told apart, and by what.

    python3 board.py run jobs/example.toml --offline            no model needed
    python3 board.py run jobs/example.toml --models model_triage:gemma
    python3 board.py run jobs/example.toml --shard 1/3          part 1 of 3, on this machine
    python3 board.py merge BATCH [COPY ...]                     the shards of a batch as one, and its board
    python3 board.py begin jobs/example.toml                    another batch; nobody is asked yet
    python3 board.py report jobs/example.toml                   judge and draw again, ask nobody
    python3 board.py estimate jobs/example.toml                 what is still to come
    python3 board.py trace BATCH --case ID --system SYSTEM      one trial as a story
    python3 board.py recompute BATCH [--full] [--apply]         judge again after a judge has changed
    python3 board.py publish BATCH                              verify all, judge all, close the batch
    python3 board.py list                                       the batches there are

A batch is a folder, runs/JOB/STAMP; it is named by its path, by JOB/STAMP or by STAMP. The same command goes on with
the newest batch that is not published: each answer is kept the moment it is there, and none is asked for twice.

exit codes: 0 done (also when the budget ended the run), 1 the trace does not hold, or the batch must not be
published, 2 bad flags or files: nothing was changed, 3 the surroundings (no server, disk full, missing env_file),
130 and 143 after a signal, 141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("board.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

try:
    import argparse
    import os
    import time

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("board.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchkit.basics.command import Command
    from benchkit.basics.values import Shard
    from benchkit.boards.batch import FoundBatch
    from benchkit.boards.board_making import Findings
    from benchkit.boards.board_values import Board
    from benchkit.boards.choosing_batch import Wanted
    from benchkit.boards.job import Job
    from benchkit.boards.recording_batch import Recorded, BatchRunConfig
    from benchkit.boards.trace_invariants import Asked
    from benchkit.running.workload import RunContext


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("board.py", __doc__)
    commands = flags.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_run_flags(commands.add_parser(
        "run", prog="board.py run", help="ask what is left of a job, judge it, and draw the board"))
    begin = commands.add_parser("begin", prog="board.py begin", help="begin another batch; nobody is asked")
    add_job(begin)
    begin.add_argument("--offline", action="store_true", help="take rewordings from the cache only: no network")
    begin.set_defaults(story=begin_batch)
    merge = commands.add_parser("merge", prog="board.py merge", help="the shards of a batch as one, and its board")
    add_batch(merge)
    # without a default argparse calls what may be left out required, too
    merge.add_argument("copies", metavar="COPY", nargs="*", default=[],
                       help="the same batch as it stands on another disk")
    merge.set_defaults(story=merge_shards)
    report = commands.add_parser("report", prog="board.py report", help="judge and draw again; nobody is asked")
    add_job(report)
    report.add_argument("--batch", metavar="STAMP", help="this batch (default: the newest)")
    report.add_argument("--accept-altered", action="store_true", help="report on altered questions; the board says so")
    report.set_defaults(story=draw_again)
    estimate = commands.add_parser("estimate", prog="board.py estimate", help="tokens and seconds still to come")
    add_job(estimate)
    add_models(estimate)
    estimate.set_defaults(story=tell_estimate)
    trace = commands.add_parser("trace", prog="board.py trace", help="one trial as a story, in the order of time")
    add_batch(trace)
    trace.add_argument("--case", metavar="ID", required=True, help="which question")
    trace.add_argument("--system", metavar="S", required=True, help="whose answer")
    trace.add_argument("--trial", type=cli.whole_number, metavar="N", default=1, help="which (default %(default)s)")
    trace.set_defaults(story=tell_trial)
    again = commands.add_parser("recompute", prog="board.py recompute", help="judge again, and list what changes")
    add_batch(again)
    again.add_argument("--full", action="store_true", help="all tracks, not only those whose judge changed")
    again.add_argument("--apply", action="store_true", help="write the changes, and draw the board")
    again.set_defaults(story=judge_again)
    close = commands.add_parser("publish", prog="board.py publish", help="verify and judge all, and close the batch")
    add_batch(close)
    close.set_defaults(story=close_batch)
    commands.add_parser("list", prog="board.py list", help="the batches there are").set_defaults(story=list_batches)
    return flags


def add_run_flags(run: argparse.ArgumentParser) -> None:
    """What `run` takes."""
    add_job(run)
    add_models(run)
    run.add_argument("--offline", action="store_true", help="baselines only: no key, no server, no network")
    run.add_argument("--limit", type=cli.whole_number, metavar="N", help="run at most N cells in this session")
    run.add_argument("--shard", metavar="I/N", help=f"run part I of N only, into files of its own in the batch "
                     f"{cli.PART_OF_AN_ARRAY}")
    which = run.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="begin another batch")
    which.add_argument("--batch", metavar="STAMP", help="go on with this batch (default: the newest not published)")
    run.add_argument("--rebuild", action="store_true", help="make the questions of the batch anew")
    run.add_argument("--regen", action="store_true", help="ask the rewording model again, and make the questions anew")
    run.add_argument("--retry-errors", action="store_true", help="run cells again whose last attempt is an error")
    run.add_argument("--accept-damage", action="store_true",
                     help="go on with damaged answers or a damaged trace, and run again what is lost")
    run.add_argument("--budget-s", type=cli.seconds, metavar="S", help="start no cell after this many seconds")
    run.set_defaults(story=run_job)


def add_job(flags: argparse.ArgumentParser) -> None:
    """Which job."""
    flags.add_argument("job", metavar="JOB", help="the job, such as jobs/example.toml")


def add_batch(flags: argparse.ArgumentParser) -> None:
    """Which batch."""
    flags.add_argument("batch", metavar="BATCH", help="the batch: its path, JOB/STAMP or STAMP")


def add_models(flags: argparse.ArgumentParser) -> None:
    """Which systems."""
    flags.add_argument("--models", metavar="A,B", help="these systems (default: those of the job)")


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story that they ask for."""
    start = time.monotonic()
    options = parser().parse_args(argv)
    options.start = start
    options.words = (cli.typed("board.py", argv), *(sys.argv[1:] if argv is None else argv))
    return cli.run("board.py", lambda: tell(options))


def tell(options: argparse.Namespace) -> int:
    """Tell the story that the flags ask for; a command that an error of it offers names the job as it was typed."""
    from benchkit.basics.errors import KitError
    try:
        code: int = options.story(options)
        return code
    except KitError as error:
        error.args = (as_typed(str(error), options),)
        raise


def as_typed(text: str, options: argparse.Namespace) -> str:
    """A sentence of the kit: where it offers a command for the job, that names its file as it was typed.

    Of a batch that was named without its job, it is the usual file. The board itself always names that one, for it is
    the same everywhere.
    """
    import re

    from benchkit.basics.command import shell_word
    from benchkit.boards.job import usual_file

    offered = "JOB"
    if "job" in options:
        job = shell_word(options.job)
        offered += "|" + re.escape(usual_file(os.path.basename(options.job).removesuffix(".toml")))
    else:
        job = usual_job(options)
    return re.sub(rf"\b(board\.py (?:run|begin)) (?:{offered})(?![\w./-])", lambda found: f"{found[1]} {job}", text)


def usual_job(options: argparse.Namespace) -> str:
    """Where the job of the batch that the flags name usually lies; JOB where they name none that can be read."""
    from benchkit.basics.errors import KitError
    from benchkit.boards.batch import find_batch
    from benchkit.boards.job import usual_file
    try:
        return usual_file(find_batch(runs(), options.batch).batch.job.name) if "batch" in options else "JOB"
    except KitError:
        return "JOB"


# --------------------------------------------------------------------------------------------------- run

def run_job(options: argparse.Namespace) -> int:
    """`run`: record what is left, settle the batch, and show its ranking; of a shard, what it holds."""
    from benchkit.basics.errors import EnvironmentFailure
    from benchkit.boards.batch_log import refuse_unmerged
    from benchkit.boards.batch_log import batch_files_of, shards_in
    from benchkit.boards.choosing_batch import batch_for, questions_of, refuse_blocked
    from benchkit.boards.job_pack import pack_of_job
    from benchkit.boards.recording_batch import record_batch
    from benchkit.boards.finalizing import asked_in, examine, finalize
    from benchkit.boards.solvers import check_systems, chosen_systems, take_env_file
    from benchkit.boards.console import run_lines
    from benchkit.running.shards import AUTO, refuse_part_of_array

    shard = shard_wanted(options)
    job, context, command = job_at(options.job), edges_of(options), command_of(options, shard)
    systems = chosen_systems(job, options.models, options.offline)
    pack = pack_of_job(job, context.folders)
    take_env_file(job, systems)
    check_systems(systems, pack, job, context)
    found = batch_for(wanted_of(options, command), job, pack, context)
    refuse_blocked(found)
    if shard is None:
        refuse_unmerged(found)
    elif options.shard == AUTO:
        refuse_part_of_array(shard, ((batch_files_of(found.folder, one).log, one) for one in shards_in(found.folder)))
    questions = questions_of(found)
    # done now: whoever goes on from here must not do it again
    command = command.minus("--fresh", "--rebuild", "--regen")
    recorded = record_batch(found, pack, questions, systems, batch_config_of(options, command, shard), context)
    if shard is not None:
        code = show_shard(found, shard, recorded, command, asked_in(found, pack, questions), options)
    else:
        findings, board = finalize(examine(found, pack, questions))
        put_lines(run_lines(findings, recorded, command), options)
        code = show(findings, board, options)
    if recorded.ended.sentence is not None:
        raise EnvironmentFailure(recorded.ended.sentence)
    return code


def job_at(path: str) -> "Job":
    """The job in a file."""
    from pathlib import Path

    from benchkit.boards.job import read_job
    return read_job(Path(path))


def edges_of(options: argparse.Namespace) -> "RunContext":
    """Where a run meets the world."""
    from benchkit.basics.clock import Clock, StopRequest
    from benchkit.running.workload import RunContext
    return RunContext(cli.folders(), options.start, cli.say, sys.stderr, Clock(), StopRequest())


def command_of(options: argparse.Namespace, shard: "Shard | None" = None) -> "Command":
    """The command as it was typed; outside of its job array, `--shard auto` would say nothing any more."""
    from benchkit.basics.command import Command
    command = Command(options.words[0], options.words[1:])
    return command if shard is None else command.having("--shard", str(shard))


def shard_wanted(options: argparse.Namespace) -> "Shard | None":
    """The part of the batch that --shard means. Raises Unusable, also beside a flag that parts the shards."""
    from benchkit.basics.command import shell_word
    from benchkit.basics.errors import Unusable
    from benchkit.running.shards import shard_of

    if options.shard is None:
        return None
    for flag in ("fresh", "rebuild", "regen"):
        if getattr(options, flag):
            raise Unusable(f"--{flag} --shard: each shard would have other questions; begin a batch once with "
                           f"python3 board.py begin {shell_word(options.job)}, then run its shards without --{flag}")
    return shard_of(options.shard, os.environ)


def runs() -> "Path":
    """Where batches are kept."""
    from pathlib import Path
    return Path("runs")


def wanted_of(options: argparse.Namespace, command: "Command") -> "Wanted":
    """Which batch the flags ask for."""
    from benchkit.boards.choosing_batch import Wanted
    return Wanted(runs(), command, options.fresh, options.batch, options.rebuild, options.regen, options.offline)


def batch_config_of(options: argparse.Namespace, command: "Command", shard: "Shard | None") -> "BatchRunConfig":
    """How the flags ask for it to be recorded."""
    from benchkit.boards.recording_batch import BatchRunConfig
    from benchkit.running.plan import Selection

    return BatchRunConfig(
        command,
        Selection(options.limit, retry_errors=options.retry_errors, shard=shard),
        options.budget_s,
        options.rebuild or options.regen,
        options.accept_damage,
    )


def put_lines(lines: "Iterable[str]", options: argparse.Namespace) -> None:
    """Lines of the kit on stdout; a command that they offer names kit and job as a person would type it here."""
    for line in lines:
        cli.put(cli.placed(as_typed(line, options)) + "\n")


def show(findings: "Findings", board: "Board", options: argparse.Namespace) -> int:
    """How the trace stands, the ranking in short, and where the board is; exit code 1 if the trace does not hold."""
    from benchkit.boards.batch import BOARD_HTML, BOARD_MARKDOWN
    from benchkit.boards.board_text import ranking_lines, verification_lines
    from benchkit.boards.console import batch_failed_lines, places, repaired_lines

    lines = [*verification_lines(findings.verification), *repaired_lines(findings), *batch_failed_lines(findings), "",
             *ranking_lines(board), "", places(findings.found.folder, (BOARD_MARKDOWN, BOARD_HTML))]
    put_lines(lines, options)
    return cli.DONE if findings.verification.is_consistent else cli.NO


# --------------------------------------------------------------------------------------------------- many machines

def show_shard(
    found: "FoundBatch", shard: "Shard", recorded: "Recorded", command: "Command", asked: "Asked",
    options: argparse.Namespace,
) -> int:
    """What a shard holds, how its trace stands, and how to go on; exit code 1 if the trace does not hold."""
    from benchkit.boards.batch_log import batch_files_of
    from benchkit.boards.board_text import verification_lines
    from benchkit.boards.console import shard_lines
    from benchkit.boards.trace_check import verify
    from benchkit.trial_log.reader import read_log

    batch_files = batch_files_of(found.folder, shard)
    log = read_log(batch_files.log)
    verification = verify(log, batch_files.trace, asked)
    put_lines((*shard_lines(found, log, recorded, command), *verification_lines(verification)), options)
    return cli.DONE if verification.is_consistent else cli.NO


def begin_batch(options: argparse.Namespace) -> int:
    """`begin`: another batch with its questions, for shards to share."""
    from benchkit.boards.choosing_batch import Wanted, batch_for, refuse_blocked
    from benchkit.boards.job_pack import pack_of_job
    from benchkit.disk.whole_files import shown_path

    job, context = job_at(options.job), edges_of(options)
    wanted = Wanted(runs(), command_of(options), fresh=True, offline=options.offline)
    found = batch_for(wanted, job, pack_of_job(job, context.folders), context)
    refuse_blocked(found)
    put_lines([shown_path(found.folder)], options)
    return cli.DONE


def merge_shards(options: argparse.Namespace) -> int:
    """`merge`: what all shards hold as one batch, judged and drawn."""
    from benchkit.boards.batch import find_batch
    from benchkit.boards.choosing_batch import questions_of, refuse_blocked, refuse_published
    from benchkit.boards.job_pack import pack_of_batch
    from benchkit.boards.merging import merge_batches
    from benchkit.boards.finalizing import examine, finalize
    from benchkit.boards.console import merged_lines

    found, *copies = (find_batch(runs(), name) for name in (options.batch, *options.copies))
    refuse_blocked(found)
    refuse_published(found)
    pack, questions = pack_of_batch(found, cli.folders()), questions_of(found)
    merged = merge_batches(found, copies)
    put_lines(merged_lines(found, merged), options)
    return show(*finalize(examine(found, pack, questions)), options)


# --------------------------------------------------------------------------------------------------- the others

def draw_again(options: argparse.Namespace) -> int:
    """`report`: judge what is there, and draw the board."""
    from benchkit.basics.clock import Clock
    from benchkit.basics.command import shell_word
    from benchkit.basics.errors import Unusable
    from benchkit.boards.batch import PUBLISHED
    from benchkit.boards.batch import find_batch, newest
    from benchkit.boards.batch_log import unmerged_line
    from benchkit.boards.choosing_batch import questions_of, refuse_blocked, tell_how_chosen
    from benchkit.boards.job_pack import pack_of_batch
    from benchkit.boards.publish import reasons_not_published
    from benchkit.boards.finalizing import examine, finalize

    name = job_at(options.job).name
    found = newest(runs(), name) if options.batch is None else find_batch(runs(), options.batch, name)
    if found is None:
        raise Unusable(f"job {name} has no batch yet; python3 board.py run {shell_word(options.job)} makes one")
    if options.batch is None:
        tell_how_chosen(runs(), found, Clock(), cli.say)
    refuse_blocked(found)
    pack = pack_of_batch(found, cli.folders())
    if found.batch.status == PUBLISHED and not options.accept_altered:
        reasons = reasons_not_published(found, pack)
        if reasons:
            return refuse(found, reasons, "its batch.json says so, and that does not hold; nothing was written",
                          options)
    findings = examine(found, pack, questions_of(found, options.accept_altered))
    unmerged = unmerged_line(found)
    if unmerged:
        cli.say(unmerged)
    return show(*finalize(findings, keeps_board=found.batch.status == PUBLISHED), options)


def tell_estimate(options: argparse.Namespace) -> int:
    """`estimate`: what is still to come."""
    from benchkit.boards.batch import newest_open
    from benchkit.boards.solvers import chosen_systems
    from benchkit.boards.console import estimate_lines

    job = job_at(options.job)
    put_lines(estimate_lines(job, newest_open(runs(), job.name), chosen_systems(job, options.models, offline=False)),
              options)
    return cli.DONE


def tell_trial(options: argparse.Namespace) -> int:
    """`trace`: one trial as a story."""
    from benchkit.basics.values import Cell
    from benchkit.boards.batch import find_batch
    from benchkit.boards.console import story_lines

    # as it was said: a model may speak of the kit, too
    for line in story_lines(find_batch(runs(), options.batch), Cell(options.system, options.case, options.trial)):
        cli.put(line + "\n")
    return cli.DONE


def judge_again(options: argparse.Namespace) -> int:
    """`recompute`: what the judges of now make of the answers."""
    from benchkit.boards.batch import find_batch
    from benchkit.boards.choosing_batch import questions_of, refuse_blocked, refuse_published
    from benchkit.boards.job_pack import pack_of_batch
    from benchkit.boards.finalizing import recompute
    from benchkit.boards.finalizing import finalize
    from benchkit.boards.console import recompute_lines

    found = find_batch(runs(), options.batch)
    refuse_blocked(found)
    if options.apply:
        refuse_published(found)
    again = recompute(found, pack_of_batch(found, cli.folders()), questions_of(found), full=options.full)
    finalized = finalize(again.findings) if options.apply else None
    put_lines(recompute_lines(again, options.apply), options)
    return show(*finalized, options) if finalized else cli.DONE


def close_batch(options: argparse.Namespace) -> int:
    """`publish`: verify, judge and close; a refusal is exit code 1 and says why."""
    from benchkit.boards.batch import find_batch
    from benchkit.boards.job_pack import pack_of_job
    from benchkit.boards.publish import check_publishable, errors_kept, publish, reasons_not_to_publish
    from benchkit.boards.recording_batch import BatchRunConfig
    from benchkit.boards.finalizing import finalize

    found, context = find_batch(runs(), options.batch), edges_of(options)
    check_publishable(found)
    pack = pack_of_job(found.batch.job, context.folders)
    reasons = reasons_not_to_publish(found, pack)
    if reasons:
        return refuse(found, reasons, "nothing was written", options)
    findings = publish(found, pack, BatchRunConfig(command_of(options)), context)
    if not findings.verification.is_consistent:
        return refuse(found, map(str, findings.verification.violations), "the baselines ran again, and the batch stays",
                      options)
    findings, board = finalize(findings)
    for line in errors_kept(findings.found):
        cli.say(line)
    put_lines([f"{findings.found.name} is published"], options)
    return show(findings, board, options)


def refuse(found: "FoundBatch", reasons: "Iterable[str]", what_now: str, options: argparse.Namespace) -> int:
    """A batch is not published: why, line by line."""
    put_lines([f"{found.name} is not published; {what_now}:", *(f"  {reason}" for reason in reasons)], options)
    return cli.NO


def list_batches(options: argparse.Namespace) -> int:
    """`list`: the batches there are."""
    from benchkit.boards.batch import every_batch
    from benchkit.boards.console import list_lines

    # the example lies beside the kit
    put_lines(list_lines(every_batch(runs()), os.path.join(os.path.dirname(options.words[0]), "jobs", "example.toml")),
              options)
    return cli.DONE


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
