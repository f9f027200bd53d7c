"""What board.py says of batches and of what is to come: lines of text for a terminal."""
from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import cases_named, count_of, names_of, shown_line, word_for
from benchkit.basics.values import Cell, Failure
from benchkit.boards.batch import BATCH, EVAL, TRACE, BrokenBatch, FoundBatch
from benchkit.boards.batch_log import log_of, merge_command, refuse_unmerged
from benchkit.boards.estimate import cost_of, estimate, in_words
from benchkit.boards.evaluation import counting_keys
from benchkit.boards.finalizing import Recomputed
from benchkit.boards.findings import Findings
from benchkit.boards.job import Job
from benchkit.boards.job_pack import questions_asked_for
from benchkit.boards.recording_batch import Recorded
from benchkit.boards.trace_file import Segment, TraceReader, trace_damage_named_by
from benchkit.boards.trace_story import story_of
from benchkit.disk.whole_files import shown_path
from benchkit.running.plan import can_be_retried, cells_of
from benchkit.trial_log.merging import Merged
from benchkit.trial_log.reader import TrialLog

_ENDS = {"budget": "the budget ended the run", "selection": "only what was chosen ran",
         "error": "the run stopped by itself"}


def run_lines(findings: Findings, recorded: Recorded, command: Command) -> Iterator[str]:
    """What a run did, what is left, and how to go on."""
    planned = len(findings.rows)
    end = _ENDS.get(recorded.ended.reason or "")
    yield (f"{shown_path(findings.found.folder)}: {_ran(recorded)}{findings.left} of {planned} "
           f"{word_for(planned, 'planned cell')} left{f'; {end}' if end else ''}")
    again = command.minus("--accept-damage", "--retry-errors").without("--limit")
    log, asked = findings.log, (row.cell for row in findings.rows)
    if findings.left:
        yield f"  go on  {again}"
    if any(can_be_retried(log.error_type(cell)) for cell in asked):
        yield f"  try errors again  {again.plus('--retry-errors')}"


def _ran(recorded: Recorded) -> str:
    """How many cells a session ran, before what is left; those apart that had failed, with what came of them."""
    again, failed = recorded.asked_again, recorded.failed_again
    told = f"{count_of(recorded.new_cells - again, 'new cell')}, " if recorded.new_cells > again or not again else ""
    if not again:
        return told
    return f"{told}{count_of(again, 'failed cell')} asked again: {again - failed} answered, {failed} failed again; "


def failed_lines(errors: Sequence[tuple[str, str]], planned: int) -> Iterator[str]:
    """How many cells failed, by type of error, and with which message most often; nothing where none did."""
    if not errors:
        return
    by_type = Counter(kind for kind, _message in errors)
    told = [f"{count} {kind} ({shown_line(_most_often(message for one, message in errors if one == kind), 160)})"
            for kind, count in by_type.most_common()]
    yield f"  {len(errors)} of {count_of(planned, 'planned cell')} failed: {'; '.join(told)}"


def _most_often(messages: Iterable[str]) -> str:
    return Counter(messages).most_common(1)[0][0]


def shard_lines(found: FoundBatch, log: TrialLog, recorded: Recorded, command: Command) -> Iterator[str]:
    """What a shard did, what is left of its part, and how to go on. `log` is that of the shard."""
    whole = log_of(found)
    cells = list(cells_of(log.planned(), log.shard))
    left = sum(not log.is_recorded(cell) and not (whole and whole.is_recorded(cell)) for cell in cells)
    failed = [cell for cell in cells if log.is_recorded(cell) and log.error_type(cell)]
    outcomes = (log.trial(cell).outcome for cell in failed)
    errors = [(one.error.type, one.error.message) for one in outcomes if isinstance(one, Failure)]
    end = _ENDS.get(recorded.ended.reason or "") if left else None
    yield (f"{shown_path(found.folder)}: shard {log.shard}: {_ran(recorded)}{left} of its "
           f"{len(cells)} {word_for(len(cells), 'planned cell')} left{f'; {end}' if end else ''}")
    yield from failed_lines(errors, len(cells))
    again = command.minus("--accept-damage", "--retry-errors").without("--limit")
    if left:
        yield f"  go on             {again}"
    if any(can_be_retried(kind) for kind, _message in errors):
        yield f"  try errors again  {again.plus('--retry-errors')}"
    yield f"  merge all shards  {merge_command(found)}"


def merged_lines(found: FoundBatch, merged: Merged) -> Iterator[str]:
    """What a merge gave, what is missing, and how to go on."""
    left = merged.planned - merged.recorded
    missing = f"; no log of shard {names_of(map(str, merged.missing))}" if merged.missing else ""
    yield (f"{shown_path(found.folder)}: {merged.recorded} of {merged.planned} "
           f"{word_for(merged.planned, 'planned cell')} merged, {left} left{missing}")
    for path in merged.empty:
        yield f"{shown_path(path)}: nothing recorded yet"


def estimate_lines(job: Job, found: FoundBatch | None, systems: Sequence[str]) -> Iterator[str]:
    """A line for each system: what the cells to go will take, by those done."""
    log = None if found is None else log_of(found)
    count = questions_asked_for(job) if found is None else len(found.batch.cases_sha256)
    where = "no batch yet" if found is None else shown_path(found.folder)
    yield f"{where}: {count_of(count, 'question')} x {count_of(job.trials, 'trial')} for each system"
    for name in systems:
        is_there = log is not None and name in log.planned().systems
        done = [cost_of(line.outcome) for line in log.trials(name)] if log is not None and is_there else []
        yield in_words(estimate(name, done, count * job.trials - len(done)))


def list_lines(batches: Sequence[FoundBatch | BrokenBatch], example: str) -> Iterator[str]:
    """A line for each batch, also for one that cannot be read; `example` is a job to begin with where there is none."""
    if not batches:
        yield f"no batches yet; python3 board.py run {shlex.quote(example)} --offline makes one"
    for found in batches:
        if isinstance(found, BrokenBatch):
            yield f"{found.name}  unreadable  {found.why}"
            continue
        batch = found.batch
        yield (f"{found.name}  {batch.status}  {batch.job.geometry}, "
               f"{count_of(len(batch.cases_sha256), 'question')}, {count_of(len(batch.systems), 'system')}")


def recompute_lines(recomputed: Recomputed, applied: bool) -> Iterator[str]:
    """Every field that changed, and whether it was written."""
    for difference in recomputed.differences:
        yield f"scoring: {difference}"
    for change in recomputed.changes:
        yield str(change)
    count, cells = len(recomputed.changes), len({change.cell for change in recomputed.changes})
    rows = len(recomputed.findings.rows)
    told = f"{count} {word_for(count, 'field')} changed in {cells} of {rows} {word_for(rows, 'row')}"
    pending = bool(count or recomputed.differences)
    yield told + ("; written" if applied else "; nothing was written, --apply writes it" if pending else "")


def story_lines(found: FoundBatch, cell: Cell) -> Iterator[str]:
    """One trial as a story. Raises Unusable for a case, a system or a trial that the batch does not have."""
    log = log_of(found)
    if log is None:
        refuse_unmerged(found)
        raise Unusable(f"{shown_path(found.folder)}: nothing is recorded yet; python3 board.py run JOB records")
    plan = log.planned()
    if cell.case not in {case.id for case in plan.cases}:
        raise Unusable(f"--case {shown_line(cell.case, 80)}: the batch asks "
                       f"{cases_named([case.id for case in plan.cases])}")
    if cell.system not in plan.systems:
        raise Unusable(f"--system {shown_line(cell.system, 80)}: the batch has {', '.join(plan.systems)}")
    if cell.trial > plan.trials:
        raise Unusable(f"--trial {cell.trial}: the batch has {count_of(plan.trials, 'trial')} of each question")
    reader = TraceReader(found.folder / TRACE, trace_damage_named_by(log))
    try:
        segments = list(reader.segments_of(cell))
    finally:
        reader.close()
    key = counting_keys(log).get(cell)
    chosen: Segment | None = next((one for one in segments if one.key == key), segments[-1] if segments else None)
    if chosen is None:
        raise Unusable(f"{shown_path(found.folder)}: this trial has not run yet")
    yield from story_of(chosen)
    if len(segments) > 1:
        others = len(segments) - 1
        yield f"(also in the trace: {others} other attempt{'' if others == 1 else 's'} at this cell)"


def repaired_lines(findings: Findings) -> Iterator[str]:
    """What on the disk was not what follows from the rest, and whether it was written anew."""
    if findings.repaired:
        differed = "row" if findings.repaired == 1 else "rows"
        yield f"{findings.repaired} {differed} of {EVAL} differed from what their judges say; written anew"
    if findings.misstated:
        yield (f"{BATCH} differed from what its questions and gates say ({shown_line('; '.join(findings.misstated))}); "
               "written anew")
    for name in findings.stale:
        yield f"{name} stays as it was published, and would be drawn otherwise now; delete it, and report draws it anew"


def places(folder: Path, names: Sequence[str]) -> str:
    """Where the board is."""
    return "board: " + " and ".join(shown_path(folder / name) for name in names)
