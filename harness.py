#!/usr/bin/env python3
"""Judge what was recorded, compare two run records, check a task and its cases, show an exact request.

    python3 harness.py run --system replay:recorded/keywords.json --out runs/keywords.json
    python3 harness.py compare runs/base.json runs/candidate.json --max-drop .02
    python3 harness.py check --task triage_task --cases cases.json
    python3 harness.py show --case ID [--system model_triage:gemma]

A replay asks no model: it judges the recorded outputs over the cases as they are now. Correct a label or a check,
and only verdicts change; change a prompt, and the cases it changes are named and refused. A run of any other system
is recorded first, by the same engine as bench.py, into a log beside --out.

`compare` is a gate for automation. The candidate is refused (exit code 1) if its mean pass^1 is lower by more than
--max-drop with a p of "it fell by at most that" below --alpha, however incomplete trials go, or if some of its trials
are incomplete (unless --allow-incomplete); with --strict, also if any case that passed every time failed a trial, or is
not there any more. Lost cases are always listed. A fall whose p is not below --alpha, or that incomplete trials leave
open, is "accepted, but not shown to be as good", and so is a candidate that lacks cases of the base; where too few
cases differ for any such p, or incomplete trials could undo the fall, it is "not decided". Both are exit code 0: where
few cases differ, use --strict. The first line is the verdict, the last ones are the reason of the exit code.

exit codes: 0 done, 1 the candidate is refused, 2 bad flags or files, a task that cannot be used, or runs that cannot
be compared, 3 the surroundings (no server, another digest, disk full, log in use), 130 and 143 after a signal,
141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("harness.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

try:
    import argparse
    import os

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("harness.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from benchkit.basics.values import JSON
    from benchkit.recordings.run_record import RunRecord
    from benchkit.tasks.task import Task

MOST_PROBLEMS = 100


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("harness.py", __doc__)
    commands = flags.add_subparsers(dest="command", metavar="COMMAND", required=True)
    run = commands.add_parser("run", prog="harness.py run", help="judge a recording into a run record")
    cli.add_task_flags(run)
    cli.add_run_flags(run)
    run.add_argument("--out", metavar="FILE", help="the run record (default runs/NAME.json, after the system; "
                     "FILE.jsonl: a result a line, for a large run)")
    run.set_defaults(story=judge_run)
    compare = commands.add_parser(
        "compare", prog="harness.py compare", help="refuse a candidate that is worse than its base (exit code 1)")
    compare.add_argument("base", metavar="BASE", help="the run record that is good enough")
    compare.add_argument("candidate", metavar="CANDIDATE", help="the one that may take its place")
    compare.add_argument("--alpha", type=cli.fraction, default=0.05, metavar="P",
                         help="a fall counts with a sign-flip p below this (default %(default)s)")
    compare.add_argument("--max-drop", type=cli.fraction, default=0.0, metavar="SHARE",
                         help="allowed fall of mean pass^1 (.02: 2 points; default %(default)s)")
    compare.add_argument("--allow-incomplete", action="store_true", help="incomplete trials do not refuse it")
    compare.add_argument("--strict", action="store_true",
                         help="refuse any case that passed every time and does not any more, or is not there any more")
    compare.add_argument("--out", metavar="FILE", help="write the answer and the comparison as JSON")
    compare.set_defaults(story=compare_runs)
    check = commands.add_parser("check", prog="harness.py check", help="say what is wrong with a task or its cases")
    cli.add_task_flags(check)
    check.set_defaults(story=check_task)
    show = commands.add_parser("show", prog="harness.py show", help="print the exact request of one case")
    cli.add_task_flags(show)
    show.add_argument("--case", metavar="ID", required=True, help="which case")
    show.add_argument("--system", metavar="MODULE:NAME", help="show its settings too, and the request of trial 1")
    show.set_defaults(story=show_request)
    return flags


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story that they ask for."""
    options = cli.parsed(parser(), argv)
    return cli.run("harness.py", lambda: options.story(options))


def judge_run(options: argparse.Namespace) -> int:
    """`run`: a replay is judged, any other system recorded first."""
    from benchkit.disk.file_kinds import refuse_misnamed
    from benchkit.recordings.replay import is_replay
    from benchkit.recordings.run_record import keep_run_record
    from benchkit.running.summary import run_text
    if options.out is not None:
        refuse_misnamed("--out", options.out)
    options.system = options.system or cli.DEFAULT_SYSTEM
    record, out = replayed(options) if is_replay(options.system) else recorded(options)
    tally = keep_run_record(out, record)
    report = str(out.with_name(out.stem + "-report.json"))
    command = cli.command_of(options).beside("report.py", str(out), "--out", report)
    cli.put(run_text(record, tally, out, command) + "\n")
    return cli.DONE


def replayed(options: argparse.Namespace) -> "tuple[RunRecord, Path]":
    """The run record of `replay:FILE`, and where it belongs."""
    from benchkit.basics.clock import Clock
    from benchkit.basics.command import shell_word
    from benchkit.recordings.replay import REPLAY, Circumstances, fitted, judge_recording, recording_from, reference_of
    from benchkit.systems.loading import refuse_strangers
    from benchkit.tasks.task import in_split, read_cases
    reference, has_cases = reference_of(options.system.removeprefix(REPLAY)), options.cases != cli.DEFAULT_CASES
    recording = recording_from(reference)
    if options.task is None:
        # the example's task is meant; a recording of another one is not judged by it
        refuse_strangers("file", f"--system {options.system}", {"--task": recording.task.module},
                         cli.command_of(options), has_cases)
    task = task_of(options)
    cases = in_split(read_cases(cli.path(options.cases)), options.split or recording.split)
    given = f" --cases {shell_word(options.cases)}" if has_cases else ""
    recording = fitted(recording, str(reference.path), task, cases, options.trials, cli.command_of(options), given)
    return judge_recording(recording, task, cases, Circumstances.here(Clock())), out_of(options, recording.system)


def recorded(options: argparse.Namespace) -> "tuple[RunRecord, Path]":
    """The run record of a system that was asked just now (or before, where its log has the answers)."""
    from benchkit.basics.errors import EnvironmentFailure, Unusable
    from benchkit.recordings.recording import recording_of
    from benchkit.recordings.replay import Circumstances, judge_recording, with_measured_latency
    from benchkit.running.session import record_live, verdicts_of
    from benchkit.running.workload import RunConfig, log_at, workload_of
    from benchkit.trial_log.reader import read_log
    out = out_of(options, options.system)
    if out.suffix == ".jsonl":
        raise Unusable(f"--out {out}: the log goes beside it under this name; give one that ends in .json")
    path, command = out.with_suffix(".jsonl"), cli.command_of(options)
    context, task = cli.run_context(options), task_of(options)
    log = log_at(path)
    workload = workload_of(RunConfig(
        system=options.system, cases=options.cases, split=options.split or cli.DEFAULT_SPLIT,
        trials=options.trials or cli.DEFAULT_TRIALS, log=path, command=command), task, context, log)
    ended = record_live(workload, log, context, verdicts_of(task, workload.cases))
    if ended.sentence is not None:
        raise EnvironmentFailure(f"{ended.sentence}; what was recorded is in {path}; go on with: {command}")
    recording = recording_of(read_log(path), options.system)
    record = judge_recording(recording, task, workload.cases, Circumstances.here(context.clock))
    return with_measured_latency(record), out


def compare_runs(options: argparse.Namespace) -> int:
    """`compare`: the verdict in the first line, the rules, the whole comparison, and why this exit code."""
    from fractions import Fraction

    from benchkit.basics.errors import Unusable
    from benchkit.recordings.run_record import read_run_record
    from benchkit.render.as_text import as_text
    from benchkit.reports.comparison import side_by_side
    from benchkit.reports.verdicts import GateRules, gate_of
    from benchkit.reports.run_report import report_of
    from benchkit.reports.sections.pairs import gate_document
    paths = [cli.path(options.base), cli.path(options.candidate)]
    if options.out is not None and cli.path(options.out).resolve() in [path.resolve() for path in paths]:
        raise Unusable(f"--out {options.out}: this is one of the two run records; give another name")
    side = side_by_side([report_of(read_run_record(path), path.stem) for path in paths])
    pair = side.pairs[0]
    # the numbers as they were typed, not the floats nearest to them
    rules = GateRules(Fraction(repr(options.alpha)), Fraction(repr(options.max_drop)), options.allow_incomplete,
                      options.strict)
    gate = None if pair.comparison is None else gate_of(pair.comparison, side.runs[1].totals, rules)
    if pair.comparison is None or gate is None or not (gate.broken or pair.comparison.compared):
        why = "; ".join(one.text for one in pair.incompatibilities) if pair.comparison is None else (
            "in no case that both have did both judge a trial")
        raise Unusable(f"{options.base} and {options.candidate} cannot be compared: {why}")
    if options.out is not None:
        from benchkit.disk.file_kinds import refuse_misnamed
        from benchkit.disk.whole_files import refuse_other, write_whole
        from benchkit.reports.report_json import file_bytes, gate_fields
        refuse_other(options.out, "gate")
        refuse_misnamed("--out", options.out)
        write_whole(cli.path(options.out), [file_bytes(gate_fields(side, pair, gate))])
    cli.put("".join(as_text(gate_document(side, pair, gate), is_full=True)))
    return cli.NO if gate.broken else cli.DONE


def check_task(options: argparse.Namespace) -> int:
    """`check`: every problem on stderr (exit code 2), or a summary of what there is."""
    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import count_of
    from benchkit.systems.baselines import GENERIC
    from benchkit.tasks.judging import problems_of, summary_text
    from benchkit.tasks.task import read_cases
    cases, task = read_cases(cli.path(options.cases)), task_of(options)
    problems = list(problems_of(task, cases))
    for problem in problems[:MOST_PROBLEMS]:
        cli.say(f"{options.cases}: {problem}")
    if problems:
        more = f", of which {MOST_PROBLEMS} are shown" if len(problems) > MOST_PROBLEMS else ""
        raise Unusable(f"{count_of(len(problems), 'problem')} in {options.cases} and {task.module}{more}; nothing was "
                       "changed")
    cli.put(summary_text(task, cases, options.cases, tuple(GENERIC)) + "\n")
    return cli.DONE


def show_request(options: argparse.Namespace) -> int:
    """`show`: what is asked for one case, as JSON; with --system also its settings, and the request of trial 1."""
    from benchkit.basics.errors import Unusable
    from benchkit.basics.json_text import indented
    from benchkit.basics.texts import shown_line
    from benchkit.tasks.task import prompt_of, read_cases
    task, cases = task_of(options), read_cases(cli.path(options.cases))
    case = next((case for case in cases if case.id == options.case), None)
    if case is None:
        raise Unusable(f"--case {shown_line(options.case, 80)}: {options.cases} has no such case; the first ones are "
                       f"{', '.join(case.id for case in cases[:5])}")
    prompt = prompt_of(task, case)
    request: "dict[str, JSON]" = {
        "task": task.module, "case": case.id, "split": case.split, "ask": prompt.ask,
        "messages": prompt.messages, "schema": prompt.schema}
    if options.system is not None:
        from benchkit.running.workload import request_fields
        same_split = tuple(other for other in cases if other.split == case.split)
        request.update(request_fields(options.system, prompt.ask, task, same_split, cli.run_context(options)))
    cli.put(indented(request) + "\n")
    return cli.DONE


def task_of(options: argparse.Namespace) -> "Task":
    """The task that the flags name."""
    from benchkit.tasks.task import load_task
    return load_task(options.task or cli.DEFAULT_TASK, cli.folders())


def out_of(options: argparse.Namespace, system: str) -> "Path":
    """--out, or runs/NAME.json after the part of the system's name behind the first colon."""
    from benchkit.basics.texts import file_stem
    return cli.path(options.out or os.path.join("runs", file_stem(system.partition(":")[2]) + ".json"))


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
