"""What board.py says of a run, of what was written anew, and of one trial in the order of time."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import cases_named, count_of, shown, shown_line, word_for
from benchkit.basics.values import Cell, Failure
from benchkit.boards import batch_log
from benchkit.boards import trace_events as trace
from benchkit.boards.batch import BATCH, EVAL, FoundBatch
from benchkit.boards.batch_run import Recorded
from benchkit.boards.board import asking
from benchkit.boards.evaluation import counting_keys
from benchkit.boards.findings import Findings
from benchkit.boards.trace_file import Segment, segments_in, trace_damage_named_by
from benchkit.disk.whole_files import shown_path
from benchkit.reports.figures import seconds
from benchkit.running.plan import can_be_retried, cells_of
from benchkit.trial_log.reader import TrialLog

_ENDS = {"budget": "the budget ended the run", "selection": "only what was chosen ran",
         "error": "the run stopped by itself"}


def run_lines(
    findings: Findings, recorded: Recorded, command: Command, systems: Sequence[str],
) -> Iterator[str]:
    """What a run of these systems did, what is left, and how to go on."""
    left, failed, log = findings.left, findings.to_retry, findings.log
    where, planned = shown_path(findings.found.folder), word_for(len(findings.rows), "planned cell")
    yield (f"{where}: {_ran(recorded)}{left.total()} of {len(findings.rows)} {planned} left"
           f"{_ended(recorded)}")
    again = command.minus("--accept-damage", "--retry-errors").without("--limit")
    if left:
        yield f"  go on  {asking(left, again, systems, log)}"
    if failed:
        yield f"  try errors again  {asking(failed, again, systems, log).plus('--retry-errors')}"


def _ran(recorded: Recorded) -> str:
    """How many cells a session ran, before what is left; those apart that had failed, with what came of them."""
    again, failed = recorded.asked_again, recorded.failed_again
    told = f"{count_of(recorded.new_cells - again, 'new cell')}, " if recorded.new_cells > again or not again else ""
    if not again:
        return told
    return f"{told}{count_of(again, 'failed cell')} asked again: {again - failed} answered, {failed} failed again; "


def _ended(recorded: Recorded) -> str:
    end = _ENDS.get(recorded.ended.reason or "")
    return f"; {end}" if end else ""


def shard_lines(
    found: FoundBatch, log: TrialLog, recorded: Recorded, command: Command, systems: Sequence[str],
) -> Iterator[str]:
    """What a shard did for these systems, what is left of its part, which cells failed and why, and how to go on."""
    whole = batch_log.log_of(found)
    cells = list(cells_of(log.planned(), log.shard))
    left = Counter(cell.system for cell in cells
                   if not log.is_recorded(cell) and not (whole and whole.is_recorded(cell)))
    failed = Counter(cell.system for cell in cells if log.is_recorded(cell) and can_be_retried(log.error_type(cell)))
    outcomes = [log.trial(cell).outcome for cell in cells if log.is_recorded(cell) and log.error_type(cell)]
    messages: dict[str, Counter[str]] = {}
    for one in outcomes:
        if isinstance(one, Failure):
            messages.setdefault(one.error.type, Counter())[one.error.message] += 1
    yield (f"{shown_path(found.folder)}: shard {log.shard}: {_ran(recorded)}{left.total()} of its {len(cells)} "
           f"{word_for(len(cells), 'planned cell')} left{_ended(recorded) if left else ''}")
    if messages:
        told = "; ".join(f"{count.total()} {kind} ({shown_line(count.most_common(1)[0][0], 160)})" for kind, count in
                         sorted(messages.items(), key=lambda one: -one[1].total()))
        yield f"  {len(outcomes)} of {count_of(len(cells), 'planned cell')} failed: {told}"
    again = command.minus("--accept-damage", "--retry-errors").without("--limit")
    if left:
        yield f"  go on             {asking(left, again, systems, log)}"
    if failed:
        yield f"  try errors again  {asking(failed, again, systems, log).plus('--retry-errors')}"
    yield f"  merge all shards  {batch_log.merge_command(found)}"


def repaired_lines(findings: Findings) -> Iterator[str]:
    """What on the disk was not what follows from the rest, and whether it was written anew."""
    if findings.repaired:
        yield (f"{findings.repaired} {word_for(findings.repaired, 'row')} of {EVAL} differed from what their judges "
               "say; written anew")
    if findings.misstated:
        yield (f"{BATCH} differed from what its questions and gates say ({shown_line('; '.join(findings.misstated))}); "
               "written anew")
    for name in findings.stale:
        yield f"{name} stays as it was published, and would be drawn otherwise now; delete it, and report draws it anew"


def trial_lines(found: FoundBatch, cell: Cell) -> Iterator[str]:
    """One trial as a story. Raises Unusable for a case, a system or a trial that the batch does not have."""
    log = batch_log.log_of(found)
    if log is None:
        batch_log.refuse_unmerged(found)
        raise Unusable(f"{shown_path(found.folder)}: nothing is recorded yet; python3 board.py run JOB records")
    plan = log.planned()
    cases = [case.id for case in plan.cases]
    if cell.case not in cases:
        raise Unusable(f"--case {shown_line(cell.case, 80)}: the batch asks {cases_named(cases)}")
    if cell.system not in plan.systems:
        raise Unusable(f"--system {shown_line(cell.system, 80)}: the batch has {', '.join(plan.systems)}")
    if cell.trial > plan.trials:
        raise Unusable(f"--trial {cell.trial}: the batch has {count_of(plan.trials, 'trial')} of each question")
    segments = [one for one in segments_in(batch_log.trace_path(found.folder), trace_damage_named_by(log))
                if one.key.cell == cell]
    if not segments:
        raise Unusable(f"{shown_path(found.folder)}: this trial has not run yet")
    key = counting_keys(log).get(cell)
    yield from story_of(next((one for one in segments if one.key == key), segments[-1]))
    if len(segments) > 1:
        yield f"(also in the trace: {count_of(len(segments) - 1, 'other attempt')} at this cell)"


def story_of(segment: Segment) -> Iterator[str]:
    """What the solver was shown, what it said, what that brought, safe for a terminal; whether the segment is open."""
    key, cell = segment.key, segment.key.cell
    yield (f"case {shown_line(cell.case)}, {shown_line(cell.system)}, trial {cell.trial}, attempt {key.attempt}, "
           f"session {key.session}, {segment.events[0].geometry}")
    for event in segment.events:
        for number, line in enumerate(_told(event.type, event.data)):
            yield f"{event.at[11:23]}  {line}" if number == 0 else f"    {line}"
    if not segment.is_closed:
        yield "the trace of this trial is open: it was cut off here, and counts for nothing"


def _told(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    match kind:
        case trace.START:
            yield f"the trial begins, with seed {data['seed']}"
            if data["prices"]:
                yield "for sale: " + shown_line(canonical(data["prices"]))
        case trace.SYSTEM | trace.USER:
            yield f"it is shown, as {kind.removeprefix('context/')}:"
            yield from _quoted(data["text"])
        case trace.MESSAGE:
            yield from _said(data)
        case trace.ATTEMPT:
            yield f"no whole reply: {data['error']}: {shown_line(data['message'])} (request {data['request']})"
            if data["text"] is not None:
                yield "what had come, which counts for nothing:"
                yield from _quoted(data["text"])
        case trace.CALL:
            yield f"that is call {shown_line(data['call_id'], 20)}"
        case trace.RESULT:
            yield from _brought(data)
        case trace.ERROR:
            yield f"the trial is incomplete: {data['type']}: {shown_line(data['message'])}"
        case trace.END:
            how = {"answer": "an answer", "last message": "the last message it had", "error": "an error"}
            yield (f"the trial ends with {how[data['ended']]}; {count_of(data['messages'], 'message')}, "
                   f"{data['cost']:g} spent")


def _said(data: Mapping[str, Any]) -> Iterator[str]:
    if data["request"] is None:
        yield "it is shown, as an example of what it says:"
    else:
        tokens = data["usage"].get("output_tokens")
        told = f", {count_of(tokens, 'token')}" if tokens is not None else ""
        after = "" if data["latency_s"] is None else f" after {seconds(data['latency_s'])} s"
        yield f"it says,{after}{told} (request {data['request']}):"
    yield from _quoted(data["text"])
    if data["reasoning"]:
        yield "its reasoning, which no judge reads:"
        yield from _quoted(data["reasoning"])


def _brought(data: Mapping[str, Any]) -> Iterator[str]:
    if data["error"] is not None:
        yield f"it brings nothing, for {data['cost']:g}: {shown_line(data['error'])}"
        return
    tool = shown_line(data["tool"], 40) if data["tool"] is not None else "nothing"
    grounded = "" if data["grounded"] else ", asked for without having seen why"
    yield f"it buys {tool} for {data['cost']:g}{grounded}: {count_of(len(data['observation']), 'observation')}"
    for one in data["observation"]:
        yield "| " + shown_line(canonical(one))


def _quoted(text: str) -> Iterator[str]:
    return ("| " + shown(line) for line in text.split("\n")) if text else iter(["| (an empty text)"])
