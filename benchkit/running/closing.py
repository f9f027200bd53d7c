"""The last words of a session that records: what is left, and the commands to go on.

What does not live here: the report itself (reports/), and what is said while it runs (progress.py).
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchkit.basics.command import Command, shell_word
from benchkit.basics.names import count_of, names_of, word_for
from benchkit.basics.values import Shard
from benchkit.recordings.recording import MOST_HELD
from benchkit.recordings.run_record_writing import LINES
from benchkit.running.order import Ended, Order
from benchkit.running.plan import can_be_retried
from benchkit.running.shards import better_number, mark_of
from benchkit.running.status import Status
from benchkit.trial_log.merging import Merged


def ending(order: Order, cases: str, ended: Ended, found: Status, is_kept: bool = True) -> str:
    """What is left of a whole plan. `cases` is the file they are from, `ended` how the session ended.

    `is_kept`: the recording is there; else the command that makes it is offered.
    """
    left = found.left
    said = f"{_ended(ended.reason, left)}; {count_of(left, 'trial is', 'trials are')} left" if left \
        else f"{_ended(ended.reason, left)}: every planned trial ran"
    can_retry = any(can_be_retried(name) for name, _ in found.errors)
    commands = _to_go_on(order, left, can_retry)
    if not is_kept:
        commands["recording"] = order.command.beside("bench.py", "--log", str(order.log), "--convert",
                                                     str(order.log.with_suffix(".json")))
    return _text(said + _asked_again(ended), commands | _to_judge(order, cases, found))


def shard_text(found: Status, ended: Ended, order: Order) -> str:
    """What the log of a shard holds of its part of the plan, and how all parts become one log."""
    errors = ", ".join(f"{count} {name}" for name, count in found.errors)
    reason = ended.reason if found.left or ended.reason is None else "complete"
    said = (f"{_ended(reason, found.left)}; shard {found.shard}: "
            f"{found.planned - found.left} of its {found.planned} {word_for(found.planned, 'trial is', 'trials are')} "
            f"recorded in {order.log}{f' ({errors})' if errors else ''}, {found.left} left{_asked_again(ended)}")
    can_retry = any(can_be_retried(name) for name, _ in found.errors)
    commands = _to_go_on(order, found.left, can_retry) | {"merge all shards": _to_merge(found, order)}
    return _text(said, commands | _note_on_cases(found.shard, len(order.cases) * len(found.systems)))


def _note_on_cases(shard: Shard | None, columns: int) -> dict[str, str]:
    """Where a shard that is lost or late would leave cases without any trial (docs/scale.md)."""
    better = None if shard is None else better_number(shard, columns)
    if shard is None or better is None:
        return {}
    return {"note": f"{shard.of} divides the {columns} cells of a trial, so all trials of a case are in one shard, and "
                    f"one that is late leaves its cases empty; {better} shards would not"}


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


def _to_go_on(order: Order, left: int, can_retry: bool) -> dict[str, Command | str]:
    commands: dict[str, Command | str] = {}
    if left:
        commands["go on"] = order.command.without("--case").minus("--retry-errors")
    if can_retry:
        commands["try errors again"] = order.command.plus("--retry-errors")
    return commands


def _to_judge(order: Order, cases: str, found: Status) -> dict[str, Command | str]:
    """The commands for the record and the report; of a run with trials left for its complete rounds, if it has any.

    A rate over trials of which most never ran is 0 to 100 %; the first round is offered where none is complete.
    """
    what, trials = "judge again", order.trials
    if found.left:
        trials = max(1, found.rounds)
        what = f"judge {count_of(found.rounds, 'complete round')}" if found.rounds else "judge the first round"
    # a large run is judged from its log line by line, into lines; a recording and a record of one value are held whole
    source = order.log if found.planned > MOST_HELD else order.log.with_suffix(".json")
    suffix = LINES if found.planned // order.trials * trials > MOST_HELD else ".json"
    judged, report = Path("runs", f"{order.log.stem}{suffix}"), Path("runs", f"{order.log.stem}-report.json")
    return {
        what: order.command.beside(
            "harness.py", "run", "--task", order.title.module, "--cases", cases,
            "--system", f"replay:{source}", "--split", order.split,
            "--trials", str(trials), "--out", str(judged)),
        "report": order.command.beside("report.py", str(judged), "--out", str(report))}


def _to_merge(found: Status, order: Order) -> str:
    """The command that merges the logs of all shards; it spells out a pattern where the log has its usual name."""
    name = str(order.log).removesuffix(f"{mark_of(found.shard)}.jsonl")
    logs, out = "LOG ...", "OUT"
    if found.shard is not None and name != str(order.log):
        logs, out = f"{shell_word(name)}.shard-*-of-{found.shard.of}.jsonl", shell_word(f"{name}.jsonl")
    return f"{order.command.beside('bench.py')} --merge {logs} --log {out}"
