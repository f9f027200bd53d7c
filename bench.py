#!/usr/bin/env python3
"""Record k trials of every case into a log, and show what the system does reliably, sometimes and never.

    python3 bench.py --system baselines:keywords --budget-s 30     no model needed
    python3 bench.py --budget-s 30                                 a local Ollama
    python3 bench.py --log LOG --status                            what is recorded, and what is left
    python3 bench.py --log LOG --convert RECORDING                 the log as a recording
    python3 bench.py --log LOG --export CLEAN                      a new log without damaged lines
    python3 bench.py --shard 1/4 --host ada                        a quarter of it, into a log of its own
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

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("bench.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchkit.running.workload import Ended, Workload
    from benchkit.tasks.task import Task
    from benchkit.trial_log.lines import PlanLine
    from benchkit.trial_log.reader import TrialLog

_READING = ("--log", "--accept-damage")
MODES = {"--convert": (*_READING, "--system"), "--status": (*_READING, "--system"), "--export": _READING,
         "--merge": (*_READING, "--cases")}
"""What is done in place of a run, and the flags that it heeds."""

ONE_HOST = ("a run asks one server; run a part of it at each (--shard 1/2 --host A, --shard 2/2 --host B) and put the "
            "logs together (--merge), or name a proxy")


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("bench.py", __doc__, twice={"--host": ONE_HOST})
    cli.add_run_flags(flags)
    cli.add_task_flags(flags)
    flags.add_argument("--log", metavar="FILE", help="the trial log (default recorded/NAME.jsonl, after the system)")
    flags.add_argument("--budget-s", type=cli.seconds, metavar="S", help="start no trial after this many seconds")
    flags.add_argument("--timeout-s", type=cli.seconds, metavar="S", default=120.0,
                       help="the most that one trial may take, in all (default %(default)g)")
    flags.add_argument("--hardware", metavar="TEXT", help="the machine in your words; kept with every session")
    flags.add_argument("--host", metavar="ADDRESS",
                       help="the server (default OLLAMA_HOST or 127.0.0.1:11434; openai:MODEL: OPENAI_BASE_URL)")
    flags.add_argument("--parallel", type=cli.whole_number, metavar="N",
                       help="keep N trials under way at once (default 1, or what the log says)")
    flags.add_argument("--limit", type=cli.whole_number, metavar="N", help="run at most N trials in this session")
    flags.add_argument("--case", metavar="ID", help="run only this case in this session")
    flags.add_argument("--shard", metavar="I/N", help=f"run part I of N only, into a log of its own "
                       f"{cli.PART_OF_AN_ARRAY}")
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
    flags = parser()
    options = cli.parsed(flags, argv)
    mode = next((mode for mode in MODES if getattr(options, mode[2:]) not in (None, False)), None)
    if mode is not None and options.log is None:
        flags.error("--convert, --status, --export and --merge need --log")
    if mode is not None:
        flags.refuse_ignored(options.words[1:], mode, MODES[mode])
    story = {"--convert": convert, "--status": status, "--export": export, "--merge": merge, None: record}[mode]
    return cli.run("bench.py", lambda: story(options))


def convert(options: argparse.Namespace) -> int:
    """--convert: the log as a recording, written only where it differs."""
    from benchkit.basics.texts import count_of
    from benchkit.recordings.recording import keep_recording, recording_of
    log = log_of(options)
    recording = recording_of(log, options.system)
    is_new = keep_recording(cli.path(options.convert), recording)
    run = sum(cell.system == recording.system for _, cell in log.cells())
    planned = count_of(len(recording.cases) * recording.trials, "planned trial")
    cli.put(f"{options.convert}: {run:,} of {planned}{'' if is_new else ' (unchanged)'}\n")
    return cli.DONE


def status(options: argparse.Namespace) -> int:
    """--status: what the log holds; exit code 1 if cells are left."""
    from benchkit.running.summary import status_of, status_text
    found = status_of(log_of(options), options.system)
    cli.put(status_text(found) + "\n")
    return cli.NO if found.left else cli.DONE


def export(options: argparse.Namespace) -> int:
    """--export: a new log without damaged lines."""
    from benchkit.basics.texts import count_of
    from benchkit.trial_log.reader import export_clean, read_log
    log = read_log(cli.path(options.log), accept_damage=True)
    export_clean(log, cli.path(options.export))
    damaged = count_of(len(log.harmless) + len(log.named), "damaged place")
    cli.put(f"{options.export}: {options.log} without {damaged}\n")
    return cli.DONE


def merge(options: argparse.Namespace) -> int:
    """--merge: the logs of all shards as one, and what no log holds."""
    from benchkit.basics.command import Command
    from benchkit.running.shards import log_path
    from benchkit.running.summary import merged_text
    from benchkit.systems.loading import strangers_in
    from benchkit.trial_log.merging import merge_logs
    out = log_path(options.log, "", None)
    merged = merge_logs([cli.path(name) for name in options.merge], out, options.accept_damage)
    for path in merged.empty:
        cli.say(f"{path}: nothing recorded yet")
    show = Command(options.words[0], ("--log", str(out)))
    if options.cases != cli.DEFAULT_CASES:
        show = show.having("--cases", options.cases)
    for flag, name in strangers_in(named_by(merged.plan)).items():
        show = show.having(flag, name)
    cli.put(merged_text(merged, out, show))
    return cli.DONE


def named_by(plan: "PlanLine | None") -> "dict[str, str]":
    """The modules of a plan, by the flags that name them."""
    return {} if plan is None else {"--task": plan.task.module, "--system": plan.systems[0]}


def log_of(options: argparse.Namespace) -> "TrialLog":
    """The log that --log names."""
    from benchkit.trial_log.reader import read_log
    return read_log(cli.path(options.log), accept_damage=options.accept_damage)


def record(options: argparse.Namespace) -> int:
    """The main story: fill in the flags from the log, record what is left, convert, judge, and show."""
    from benchkit.basics.errors import EnvironmentFailure
    from benchkit.disk.whole_files import refuse_other
    from benchkit.running.plan import Selection
    from benchkit.running.session import dry_run_of, record_live, verdicts_of
    from benchkit.running.shards import AUTO, log_path, refuse_part_of_array, shard_of, shards_beside
    from benchkit.running.summary import dry_run_text
    from benchkit.running.workload import RunConfig, log_at, parallel_of, wanted_plan, workload_of
    from benchkit.systems.loading import refuse_strangers
    from benchkit.tasks.task import load_task
    context = cli.run_context(options, is_quiet=options.quiet)
    shard = None if options.shard is None else shard_of(options.shard, os.environ)
    path = log_path(options.log, options.system or cli.DEFAULT_SYSTEM, shard)
    refuse_other(path.with_suffix(".json"), "recording")
    log = log_at(path, options.accept_damage)
    plan = None if log is None else log.plan
    given = {"--task": options.task, "--system": options.system}
    names = {flag: name for flag, name in named_by(plan).items() if given[flag] is None}
    refuse_strangers("log", str(path), names, cli.command_of(options), options.cases != cli.DEFAULT_CASES)
    task = load_task(options.task or (plan.task.module if plan else cli.DEFAULT_TASK), context.folders)
    system = options.system or (plan.systems[0] if plan else cli.DEFAULT_SYSTEM)
    # flags that are not given are taken from the log, and else from the defaults
    config = RunConfig(
        system=system, cases=options.cases, split=options.split or (plan.split if plan else cli.DEFAULT_SPLIT),
        trials=options.trials or (plan.trials if plan else cli.DEFAULT_TRIALS), log=path,
        command=cli.command_of(options, shard), budget_s=options.budget_s, timeout_s=options.timeout_s,
        hardware=options.hardware, host=options.host, allow_cloud=options.allow_cloud,
        selection=Selection(options.limit, options.case, options.retry_errors,
                            shard=shard or (None if log is None else log.shard)),
        rerun_changed=options.changed == "rerun", accept_damage=options.accept_damage,
        parallel=options.parallel or parallel_of(log, system), unchecked=options.unchecked)
    workload = workload_of(config, task, context, log)
    if options.shard == AUTO and shard is not None and log is None:
        refuse_part_of_array(shard, shards_beside(path, wanted_plan(workload, None)))
    if options.dry_run:
        cli.put(dry_run_text(path, dry_run_of(workload, log)))
        return cli.DONE
    ended = record_live(workload, log, context, verdicts_of(task, workload.cases))
    del log  # what it says of every cell is read anew below
    show(workload, task, options.cases, ended)
    if ended.sentence is not None:
        raise EnvironmentFailure(ended.sentence)
    return cli.DONE


def show(workload: "Workload", task: "Task", cases: str, ended: "Ended") -> None:
    """Convert the log, judge the recording, and print the first screen of the report and how to go on.

    Of a shard only what it holds of its part of the plan, and how to go on: the rest is in other logs.
    """
    from benchkit.basics.clock import Clock
    from benchkit.recordings.recording import MOST_HELD, keep_recording, recording_of
    from benchkit.recordings.replay import Circumstances, judge_recording
    from benchkit.reports.run_report import report_of
    from benchkit.reports.documents import first_screen
    from benchkit.running.summary import ending, shard_text, status_of
    from benchkit.trial_log.reader import read_log
    log = read_log(workload.log, accept_damage=workload.accept_damage)
    if workload.selection.shard is not None:
        cli.put(shard_text(status_of(log), ended, workload))
        return
    recording, path, found = recording_of(log, None), workload.log.with_suffix(".json"), status_of(log)
    # a recording names every planned trial: of a run that has hardly begun it would say a million times "not run"
    is_kept = found.left <= MOST_HELD or path.exists()
    if is_kept:
        keep_recording(path, recording)
    record = judge_recording(recording, task, workload.cases, Circumstances.here(Clock()))
    cli.put(first_screen(report_of(record, workload.log.stem)))
    cli.put("\n" + ending(workload, cases, ended, found, is_kept))


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
