#!/usr/bin/env python3
"""Record k trials of every case into a log, and show what the system does reliably, sometimes and never.

    python3 bench.py --system baselines:keywords --budget-s 30     no model needed
    python3 bench.py --budget-s 30                                 a local Ollama
    python3 bench.py --log LOG --status                            what is recorded, and what is left
    python3 bench.py --log LOG --convert RECORDING                 the log as a recording
    python3 bench.py --log LOG --export CLEAN                      a new log without damaged lines
    python3 bench.py --host ada --host bob                         two servers at once, each with its own queue
    python3 bench.py --shard 1/4                                   a quarter of it, into a log of its own
    python3 bench.py --merge LOG ... --log OUT                     the logs of all shards as one

The same command goes on where the log ends. Each trial is kept the moment it ends; whatever stops a run, nothing
recorded is lost and nothing is counted twice.

exit codes: 0 done (also when the budget ended the run), 1 cells are left (--status), 2 bad flags or files: nothing
was changed, 3 the surroundings (no server, another digest, disk full, log in use), 130 and 143 after a signal,
141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("bench.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
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
    sys.stderr.write("bench.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchkit.basics.values import Shard
    from benchkit.running.live import RunConfig
    from benchkit.running.workload import Ended, Workload
    from benchkit.tasks.task import Task
    from benchkit.trial_log.lines import PlanLine
    from benchkit.trial_log.reader import TrialLog


_READING = ("--log", "--accept-damage")
MODES = {"--convert": (*_READING, "--system"), "--status": (*_READING, "--system"), "--export": _READING,
         "--merge": _READING}
"""What is done in place of a run, and the flags that it heeds."""


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("bench.py", __doc__)
    cli.add_run_flags(flags)
    cli.add_task_flags(flags)
    flags.add_argument("--log", metavar="FILE", help="the trial log (default recorded/NAME.jsonl, after the system)")
    flags.add_argument("--budget-s", type=cli.seconds, metavar="S", help="start no trial after this many seconds")
    flags.add_argument("--timeout-s", type=cli.seconds, metavar="S", default=120.0,
                       help="the most that one trial may take, in all (default %(default)g)")
    flags.add_argument("--hardware", metavar="TEXT", help="the machine in your words; kept with every session")
    flags.add_argument("--host", metavar="ADDRESS", action="append", default=[],
                       help="the server (default OLLAMA_HOST or 127.0.0.1:11434; openai:MODEL: OPENAI_BASE_URL); "
                       "given several times, each server has a queue of its own")
    flags.add_argument("--parallel", type=cli.whole_number, metavar="N",
                       help="keep N trials under way at once, at each --host (default 1, or what the log says)")
    flags.add_argument("--limit", type=cli.whole_number, metavar="N", help="run at most N trials in this session")
    flags.add_argument("--case", metavar="ID", help="run only this case in this session")
    flags.add_argument("--shard", metavar="I/N", help="run part I of N only, into a log of its own (auto: the "
                       "part of this task of a Slurm or Kubernetes job array; auto/N: of an array of N, of which some "
                       "tasks are run again)")
    flags.add_argument("--retry-errors", action="store_true", help="run cells again whose last attempt is an error")
    flags.add_argument("--changed", choices=["rerun"], help="run cells again whose prompt or settings have changed")
    flags.add_argument("--accept-damage", action="store_true", help="name damage in the middle of the log, and go on")
    flags.add_argument("--allow-cloud", action="store_true", help="allow models that send the prompts elsewhere")
    flags.add_argument("--unchecked", action="store_true", help="run also where the check raises on ordinary answers")
    flags.add_argument("--dry-run", action="store_true", help="say what would be run; ask nobody, write nothing")
    flags.add_argument("--quiet", action="store_true", help="no progress on stderr")
    modes = flags.add_mutually_exclusive_group()
    modes.add_argument("--convert", metavar="FILE", help="write the recording of --log to FILE")
    modes.add_argument("--status", action="store_true", help="say what --log holds and what is left (exit 1)")
    modes.add_argument("--export", metavar="FILE", help="write --log to a new FILE without damaged lines")
    modes.add_argument("--merge", metavar="LOG", nargs="+", help="write what these logs of one plan hold to --log")
    return flags


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story that they ask for."""
    start = time.monotonic()
    flags = parser()
    options = flags.parse_args(argv)
    if options.log is None and (options.convert or options.status or options.export or options.merge):
        flags.error("--convert, --status, --export and --merge need --log")
    words = (cli.typed("bench.py", argv), *(sys.argv[1:] if argv is None else argv))
    for mode, heeded in MODES.items():
        if mode in flags.flags_in(words[1:]):
            flags.refuse_ignored(words[1:], mode, heeded)
    if options.convert:
        return cli.run("bench.py", lambda: convert(options))
    if options.status:
        return cli.run("bench.py", lambda: status(options))
    if options.export:
        return cli.run("bench.py", lambda: export(options))
    if options.merge:
        return cli.run("bench.py", lambda: merge(options, words[0]))
    return cli.run("bench.py", lambda: record_and_show(options, start, words))


def convert(options: argparse.Namespace) -> int:
    """--convert: the log as a recording, written only where it differs."""
    from pathlib import Path

    from benchkit.basics.texts import count_of
    from benchkit.recordings.recording import recording_of
    from benchkit.recordings.recording import keep_recording
    from benchkit.trial_log.reader import read_log

    log = read_log(Path(options.log), accept_damage=options.accept_damage)
    recording = recording_of(log, options.system)
    is_new = keep_recording(Path(options.convert), recording)
    run = sum(cell.system == recording.system for _, cell in log.cells())
    planned = count_of(len(recording.cases) * recording.trials, "planned trial")
    cli.put(f"{options.convert}: {run:,} of {planned}{'' if is_new else ' (unchanged)'}\n")
    return cli.DONE


def status(options: argparse.Namespace) -> int:
    """--status: what the log holds; exit code 1 if cells are left."""
    from pathlib import Path

    from benchkit.running.summary import status_of, status_text
    from benchkit.trial_log.reader import read_log

    found = status_of(read_log(Path(options.log), accept_damage=options.accept_damage), options.system)
    cli.put(status_text(found) + "\n")
    return cli.NO if found.left else cli.DONE


def export(options: argparse.Namespace) -> int:
    """--export: a new log without damaged lines."""
    from pathlib import Path

    from benchkit.basics.texts import count_of
    from benchkit.trial_log.reader import export_clean
    from benchkit.trial_log.reader import read_log

    log = read_log(Path(options.log), accept_damage=True)
    export_clean(log, Path(options.export))
    damaged = count_of(len(log.harmless) + len(log.named), "damaged place")
    cli.put(f"{options.export}: {options.log} without {damaged}\n")
    return cli.DONE


def merge(options: argparse.Namespace, prog: str) -> int:
    """--merge: the logs of all shards as one, and what no log holds."""
    from pathlib import Path

    from benchkit.basics.command import Command
    from benchkit.running.summary import merged_text
    from benchkit.trial_log.merging import merge_logs

    out = log_path(options)
    merged = merge_logs([Path(name) for name in options.merge], out, options.accept_damage)
    for path in merged.empty:
        cli.say(f"{path}: nothing recorded yet")
    show = Command(prog, ("--log", str(out)))
    for flag, name in strangers_in(merged.plan).items():
        show = show.having(flag, name)
    cli.put(merged_text(merged, out, show))
    return cli.DONE


def strangers_in(plan: "PlanLine | None") -> "dict[str, str]":
    """The flags that name the modules of a plan which are not the kit's own: a person has to type them."""
    named = {} if plan is None else {"--task": plan.task.module, "--system": plan.systems[0]}
    return {flag: name for flag, name in named.items() if name.partition(":")[0] not in SHIPPED_MODULES[flag]}


def record_and_show(options: argparse.Namespace, start: float, words: "Sequence[str]") -> int:
    """The main story: fill in the flags from the log, record what is left, convert, judge, and show."""
    from benchkit.basics.clock import Clock, StopRequest
    from benchkit.disk.whole_files import refuse_other
    from benchkit.basics.errors import EnvironmentFailure
    from benchkit.running.live import RunContext, log_at, workload_of, record_live, verdicts_of
    from benchkit.running.workload import wanted_plan
    from benchkit.running.shards import AUTO, refuse_part_of_array, shard_of, shards_beside
    from benchkit.tasks.task import load_task

    context = RunContext(cli.folders(), start, cli.say, None if options.quiet else sys.stderr, Clock(), StopRequest())
    shard = None if options.shard is None else shard_of(options.shard, os.environ)
    path = log_path(options, shard)
    refuse_other(path.with_suffix(".json"), "recording")
    log = log_at(path, options.accept_damage)
    refuse_strange_modules(options, log, words)
    task = load_task(task_name(options, log), context.folders)
    order = workload_of(config_of(options, path, log, words, shard), task, context, log)
    if options.shard == AUTO and shard is not None and log is None:
        refuse_part_of_array(shard, shards_beside(path, wanted_plan(order, None)))
    if options.dry_run:
        return dry_run(order, log)
    ended = record_live(order, log, context, verdicts_of(task, order.cases))
    del log  # what it says of every cell is read anew below
    if order.selection.shard is None:
        show(order, task, options.cases, ended)
    else:
        show_shard(order, ended)
    if ended.sentence is not None:
        raise EnvironmentFailure(ended.sentence)
    return cli.DONE


def log_path(options: argparse.Namespace, shard: "Shard | None" = None) -> "Path":
    """--log, or recorded/NAME.jsonl after the system; recorded/NAME.shard-I-of-N.jsonl for a shard."""
    from pathlib import Path

    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import file_stem
    from benchkit.running.shards import mark_of
    from benchkit.systems.loading import split_name

    if options.log is None:
        name = file_stem(split_name(options.system or cli.DEFAULT_SYSTEM)[1])
        return Path("recorded", f"{name}{mark_of(shard)}.jsonl")
    if not options.log.endswith(".jsonl"):
        raise Unusable(f"--log {options.log}: the name of a log ends in .jsonl; its recording lies beside it in .json")
    return Path(options.log)


def task_name(options: argparse.Namespace, log: "TrialLog | None") -> str:
    """--task, or that of the log, or the default."""
    planned = None if log is None else log.plan
    return str(options.task or (planned.task.module if planned else cli.DEFAULT_TASK))


def refuse_strange_modules(options: argparse.Namespace, log: "TrialLog | None", words: "Sequence[str]") -> None:
    """A log names its task and system, but a stranger's module is imported only by a name that a person typed."""
    from benchkit.basics.command import Command
    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import shown_line

    if log is None:
        return
    given = {"--task": options.task, "--system": options.system}
    strange = {flag: name for flag, name in strangers_in(log.plan).items() if given[flag] is None}
    command = Command(words[0], tuple(words[1:]))
    for flag, name in strange.items():
        command = command.having(flag, name)
    if strange:
        named = " ".join(f"{flag} {shown_line(name, 80)}" for flag, name in strange.items())
        more = "" if options.cases != cli.DEFAULT_CASES else ", with --cases FILE if they are not in cases.json"
        raise Unusable(f"{log.path}: it was recorded with {named}; a module is never imported because a log names it, "
                       f"so say it yourself{more}: {command}")


SHIPPED_MODULES = {"--task": ("triage_task",), "--system": ("model_triage", "baselines", "ollama", "openai")}
"""What a log may name by itself: the task of the example, and the kit's own kinds of system."""


def config_of(options: argparse.Namespace, path: "Path", log: "TrialLog | None", words: "Sequence[str]",
              shard: "Shard | None") -> "RunConfig":
    """What the flags ask for. Those not given are taken from the log, and else from the defaults.

    `words` is the command: the command as it was typed, and what stood behind it.
    """
    from benchkit.basics.command import Command
    from benchkit.running.live import RunConfig
    from benchkit.running.plan import Selection
    from benchkit.running.workload import parallel_of

    plan = None if log is None else log.plan
    command = Command(words[0], tuple(words[1:]))
    system = options.system or (plan.systems[0] if plan else cli.DEFAULT_SYSTEM)
    return RunConfig(
        system=system,
        cases=options.cases,
        split=options.split or (plan.split if plan else cli.DEFAULT_SPLIT),
        trials=options.trials or (plan.trials if plan else cli.DEFAULT_TRIALS),
        log=path, command=command if shard is None else command.having("--shard", str(shard)),
        budget_s=options.budget_s,
        timeout_s=options.timeout_s, hardware=options.hardware, hosts=tuple(options.host),
        allow_cloud=options.allow_cloud,
        selection=Selection(options.limit, options.case, options.retry_errors,
                            shard=shard or (None if log is None else log.shard)),
        rerun_changed=options.changed == "rerun", accept_damage=options.accept_damage,
        parallel=options.parallel or parallel_of(log, system), unchecked=options.unchecked)


def dry_run(order: "Workload", log: "TrialLog | None") -> int:
    """--dry-run: what would be run, in words."""
    from benchkit.basics.texts import word_for
    from benchkit.running.session import dry_run_of

    remaining = dry_run_of(order, log)
    planned = word_for(remaining.planned, "planned trial is", "planned trials are")
    cli.put(
        f"{order.log}: {remaining.recorded} of {remaining.planned} {planned} recorded; this command would run "
        f"{remaining.chosen}{f', the first of them {remaining.first}' if remaining.first else ''}; nothing was asked "
        "or written\n"
    )
    return cli.DONE


def show(order: "Workload", task: "Task", cases: str, ended: "Ended") -> None:
    """Convert the log, judge the recording, and print the first screen of the report and how to go on."""
    from benchkit.basics.clock import Clock
    from benchkit.recordings.recording import recording_of
    from benchkit.recordings.replay import Circumstances, judge_recording
    from benchkit.recordings.recording import MOST_HELD, keep_recording
    from benchkit.reports.run_report import report_of
    from benchkit.reports.text import first_screen
    from benchkit.running.summary import ending
    from benchkit.running.workload import environment
    from benchkit.running.summary import status_of
    from benchkit.trial_log.reader import read_log

    log = read_log(order.log, accept_damage=order.accept_damage)
    recording, path, found = recording_of(log, None), order.log.with_suffix(".json"), status_of(log)
    # a recording names every planned trial: of a run that has hardly begun it would say a million times "not run"
    is_kept = found.left <= MOST_HELD or path.exists()
    if is_kept:
        keep_recording(path, recording)
    circumstances = Circumstances(Clock().stamp(), environment({}))
    record = judge_recording(recording, task, order.cases, circumstances)
    cli.put(first_screen(report_of(record, order.log.stem)))
    cli.put("\n" + ending(order, cases, ended, found, is_kept))


def show_shard(order: "Workload", ended: "Ended") -> None:
    """What a shard holds of its part of the plan, and the commands to go on; the rest is in other logs."""
    from benchkit.running.summary import shard_text
    from benchkit.running.summary import status_of
    from benchkit.trial_log.reader import read_log

    found = status_of(read_log(order.log, accept_damage=order.accept_damage))
    cli.put(shard_text(found, ended, order))


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
