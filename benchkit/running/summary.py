"""What is said of a log and a session: what is left of the plan, and the commands to go on."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from benchkit.basics.command import Command, shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import count_of, names_of, shown_line, word_for
from benchkit.basics.values import Shard
from benchkit.recordings.recording import MOST_HELD
from benchkit.recordings.run_record import LINES, RunRecord, VerdictTally
from benchkit.running.plan import RemainingWork, can_be_retried, cells_of, size_of
from benchkit.running.shards import better_number, mark_of
from benchkit.running.workload import Ended, Workload
from benchkit.trial_log.merging import Merged
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of cells, each once, by their last attempt. `left` = planned - outputs - errors.

    `rounds`: how many trials, from the first one on, every case has been through.
    The log of a shard counts the cells of its own part of the plan.
    """

    name: str
    systems: tuple[str, ...]
    planned: int
    outputs: int
    errors: tuple[tuple[str, int], ...]
    stale: int
    left: int
    several_attempts: int
    sessions: int
    last_session: str
    last_stop: str | None
    damage: int
    shard: Shard | None = None
    rounds: int = 0


def status_of(log: TrialLog, system: str | None = None) -> Status:
    """Count the cells of one system, or of all. Raises Unusable for a log without a plan or such a system."""
    plan = log.planned()
    if system is not None and system not in plan.systems:
        raise Unusable(f"{log.path}: it holds no system {shown_line(system)}; it holds {', '.join(plan.systems)}")
    systems = plan.systems if system is None else (system,)
    stale = several = 0
    errors: Counter[str] = Counter()
    of_trial: Counter[int] = Counter()
    for position, cell in log.attempted():
        if cell.system in systems and (log.shard is None or log.shard.holds(position)):
            stale += log.is_stale(cell)
            if log.is_recorded(cell):
                of_trial[cell.trial] += 1
                several += log.attempts(cell) > 1
                errors[log.error_type(cell) or ""] += 1
    # the cells of all systems are not gone through, for there may be millions
    planned = size_of(plan, log.shard) if len(systems) == len(plan.systems) else sum(
        cell.system in systems for cell in cells_of(plan, log.shard))
    outputs, last = errors.pop("", 0), log.begun()[-1]
    return Status(
        name=log.path.name, systems=systems, planned=planned, outputs=outputs, errors=tuple(sorted(errors.items())),
        stale=stale, left=planned - of_trial.total(), several_attempts=several, sessions=len(log.sessions),
        last_session=last.line.started_at, last_stop=None if last.stop is None else last.stop.reason,
        damage=len(log.harmless) + len(log.named), shard=log.shard, rounds=sum(1 for _ in takewhile(
            lambda trial: of_trial[trial] == len(plan.cases) * len(systems), range(1, plan.trials + 1))))


def status_text(status: Status) -> str:
    """The status in words, one fact a line."""
    recorded = status.planned - status.left
    errors = ", ".join(f"{count} {name}" for name, count in status.errors) or "none"
    end = status.last_stop or "none yet: it runs, or it was killed"
    lines = [
        f"{status.name}: {recorded} of {status.planned} {word_for(status.planned, 'planned trial')}"
        f"{f' of shard {status.shard}' if status.shard else ''} recorded, {status.left} left",
        f"  systems    {', '.join(shown_line(name) for name in status.systems)}",
        f"  outputs    {status.outputs} of {recorded}",
        f"  errors     {errors} (of {recorded})",
        f"  sessions   {status.sessions}, the last begun {status.last_session}; its end: {end}",
    ]
    if status.stale:
        lines.append(f"  changed    {status.stale}: recorded, but their request has changed, so they run again")
    if status.several_attempts:
        lines.append(f"  attempts   more than one at {status.several_attempts}")
    if status.damage:
        lines.append(f"  damage     {status.damage}: set aside; the trials that stood there run again")
    return "\n".join(lines)


def dry_run_text(log: Path, remaining: RemainingWork) -> str:
    """What would be run, in words."""
    planned = word_for(remaining.planned, "planned trial is", "planned trials are")
    first = f", the first of them {remaining.first}" if remaining.first else ""
    return (f"{log}: {remaining.recorded} of {remaining.planned} {planned} recorded; this command would run "
            f"{remaining.chosen}{first}; nothing was asked or written\n")


def run_text(record: RunRecord, tally: VerdictTally, out: Path, report: Command) -> str:
    """What became of the trials of a run record, where it is written, and the command to go on."""
    totals, errors = tally.totals, tally.errors
    reasons = f" ({', '.join(f'{name} {count}' for name, count in sorted(errors.items()))})" if errors else ""
    not_judged = () if tally.check_error is None else (f"  not judged: {shown_line(tally.check_error, 400)}",)
    return "\n".join((
        f"{shown_line(record.system)} on {count_of(len(record.cases), 'case')} ({shown_line(record.split)}) x "
        f"{count_of(record.trials, 'trial')}, judged by {record.judge.name} {record.judge.version}",
        f"  pass {totals.passed} of {totals.planned}, fail {totals.failed} of {totals.planned}, "
        f"incomplete {totals.incomplete} of {totals.planned}{reasons}",
        *not_judged,
        f"  written to {out}",
        f"  report     {report}"))


def ending(workload: Workload, cases: str, ended: Ended, found: Status, is_kept: bool = True) -> str:
    """What is left of a whole plan. `cases` is the file they are from, `ended` how the session ended.

    `is_kept`: the recording is there; else the command that makes it is offered.
    """
    said = _ended(ended.reason, found.left)
    said += f"; {count_of(found.left, 'trial is', 'trials are')} left" if found.left else ": every planned trial ran"
    commands = _to_go_on(workload, found)
    if not is_kept:
        commands["recording"] = workload.command.beside("bench.py", "--log", str(workload.log), "--convert",
                                                        str(workload.log.with_suffix(".json")))
    # a rate over trials of which most never ran is 0 to 100 %, so only complete rounds are judged, or the first one
    what, trials = "judge again", workload.trials
    if found.left:
        trials = max(1, found.rounds)
        what = f"judge {count_of(found.rounds, 'complete round')}" if found.rounds else "judge the first round"
    # a large run is judged from its log line by line, into lines; a recording and a record of one value are held whole
    source = workload.log if found.planned > MOST_HELD else workload.log.with_suffix(".json")
    suffix = LINES if found.planned // workload.trials * trials > MOST_HELD else ".json"
    judged, report = Path("runs", f"{workload.log.stem}{suffix}"), Path("runs", f"{workload.log.stem}-report.json")
    commands[what] = workload.command.beside(
        "harness.py", "run", "--task", workload.title.module, "--cases", cases, "--system", f"replay:{source}",
        "--split", workload.split, "--trials", str(trials), "--out", str(judged))
    commands["report"] = workload.command.beside("report.py", str(judged), "--out", str(report))
    return _text(said + _asked_again(ended), commands)


def shard_text(found: Status, ended: Ended, workload: Workload) -> str:
    """What the log of a shard holds of its part of the plan, and how all parts become one log."""
    errors = ", ".join(f"{count} {name}" for name, count in found.errors)
    reason = ended.reason if found.left or ended.reason is None else "complete"
    said = (f"{_ended(reason, found.left)}; shard {found.shard}: "
            f"{found.planned - found.left} of its {found.planned} {word_for(found.planned, 'trial is', 'trials are')} "
            f"recorded in {workload.log}{f' ({errors})' if errors else ''}, {found.left} left{_asked_again(ended)}")
    commands = _to_go_on(workload, found)
    # the command spells out a pattern where the log has its usual name
    name, logs, out = str(workload.log).removesuffix(f"{mark_of(found.shard)}.jsonl"), "LOG ...", "OUT"
    if found.shard is not None and name != str(workload.log):
        logs, out = f"{shell_word(name)}.shard-*-of-{found.shard.of}.jsonl", shell_word(f"{name}.jsonl")
    merge = workload.command.beside("bench.py", *workload.command.only("--cases").words)
    if not found.left:  # a merge of fewer trials would stand in the way of the one of all
        commands["merge all shards"] = f"{merge} --merge {logs} --log {out}"
    columns = len(workload.cases) * len(found.systems)
    better = None if found.shard is None else better_number(found.shard, columns)
    if found.shard is not None and better is not None:
        # a shard that is lost or late would leave cases without any trial (docs/scale.md)
        commands["note"] = (f"{found.shard.of} divides the {columns} cells of a trial, so all trials of a case are in "
                            f"one shard, and one that is late leaves its cases empty; {better} shards would not")
    return _text(said, commands)


def merged_text(merged: Merged, out: Path, show: Command) -> str:
    """What a merge gave and what is missing; `show` is the command that runs what is left, and shows the report."""
    left = merged.planned - merged.recorded
    said = f"{out}: {merged.recorded} of {merged.planned} {word_for(merged.planned, 'planned trial')}, {left} left"
    if merged.missing:
        said += f"; none of these logs is of shard {names_of(map(str, merged.missing))}"
    if not left:
        return _text(said, {"show": show})
    recording = Command(show.prog, ("--log", str(out), "--convert", str(out.with_suffix(".json"))))
    return _text(said, {"run what is left": show, "recording": recording})


def _text(said: str, commands: Mapping[str, Command | str]) -> str:
    width = max(map(len, commands))
    return "\n".join([said, *(f"  {what.ljust(width)}  {command}" for what, command in commands.items())]) + "\n"


def _ended(reason: str | None, left: int) -> str:
    """How the session ended, in words."""
    if reason is None:
        return "Nothing that was chosen was left to run" if left else "Nothing was left to run"
    return {"complete": "Done", "budget": "The budget ended the run", "selection": "Only what was chosen ran",
            "error": "The run stopped by itself"}[reason]


def _asked_again(ended: Ended) -> str:
    """What became of the errors that were asked again; nothing where none was."""
    answered, failed = ended.again
    if not answered + failed:
        return ""
    return (f"; {count_of(answered + failed, 'error trial')} asked again: {answered} answered, {failed} ended in an "
            "error again")


def _to_go_on(workload: Workload, found: Status) -> dict[str, Command | str]:
    commands: dict[str, Command | str] = {}
    if found.left:
        commands["go on"] = workload.command.without("--case").minus("--retry-errors")
    if any(can_be_retried(name) for name, _ in found.errors):
        commands["try errors again"] = workload.command.plus("--retry-errors")
    return commands
