"""The shards of a batch -> the batch that one machine would have made: its log and its trace, and nothing else.

Each trace is read through once, in the order in which the merged log took the logs over, so that trials stand in the
trace as they stand in the log. A trial that the merged log took from another log is left out, and so is one that damage
took a line of, in the trace or in the log. What no log has a line of goes along as it stands else: a trial that was cut
off stays abandoned, and one whose line was taken out of its log stays a violation.

Shards can stand in the folder of the batch, or in copies of it that other machines made. What was merged before is
merged again with them, so that a shard that comes late is added by the same command. Log and trace are whole before
either takes its place; a merge that is cut off between the two is finished by the next.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.texts import shown_line
from benchkit.boards.batch import RESPONSES, FoundBatch
from benchkit.boards.batch_log import BatchFiles, batch_files_of, log_of, merged_batch_files, shards_in
from benchkit.boards.choosing_batch import no_writer
from benchkit.boards.trace_events import SegmentKey, event_bytes
from benchkit.boards.trace_file import Segment, TraceReader, trace_damage_named_by, trace_size, trial_keys
from benchkit.disk.whole_files import move_whole, shown_path, write_whole
from benchkit.trial_log.lines import Damage
from benchkit.trial_log.merging import Merged, merge_logs
from benchkit.trial_log.reader import TrialLog, read_log


@dataclass(frozen=True, slots=True)
class TracePart:
    """One trace up to a size, the trials that the log beside it has lines of, and the damage that its sessions name.

    `whole` are the sessions of a damaged log that lost no line; None where the log is not damaged.
    """

    trace: Path
    size: int
    keys: frozenset[SegmentKey]
    named: tuple[Damage, ...]
    whole: frozenset[str] | None

    def explains(self, segment: Segment) -> bool:
        """Whether damage took a line of this trial, in the trace, or in the log its own."""
        return segment.is_cut or (
            self.whole is not None and segment.key not in self.keys and segment.key.session not in self.whole)


def part_of(log: TrialLog, trace: Path, size: int) -> TracePart:
    """The trace beside a log, as the log knows it; `size` was taken before the log was read, for both may grow."""
    whole = _whole_sessions(log) if log.named else None
    return TracePart(trace, size, frozenset(trial_keys(log)), trace_damage_named_by(log), whole)


def _whole_sessions(log: TrialLog) -> frozenset[str]:
    found, last = Counter[str](), dict[str, int]()
    for _line, place in log.lines_that_count():
        found[place.session] += 1
        last[place.session] = place.n
    return frozenset(session for session in found if found[session] == last[session] + 1)


def joined_traces(parts: Sequence[TracePart], merged: TrialLog) -> Iterator[bytes]:
    """The lines of the trace beside the merged log. Raises Unusable for a trace that is not there, or is damaged."""
    places = {key: place for place, key in enumerate(trial_keys(merged))}
    owners: dict[SegmentKey, TracePart] = {}
    for part in sorted(parts, key=lambda part: min((places[key] for key in part.keys & places.keys()), default=0)):
        yield from _lines_of(part, parts, places.keys(), owners)


def _lines_of(
    part: TracePart, parts: Sequence[TracePart], kept: Set[SegmentKey], owners: dict[SegmentKey, TracePart],
) -> Iterator[bytes]:
    reader = TraceReader(part.trace, part.named)
    try:
        for segment in reader.segments(end=part.size):
            key = segment.key
            is_kept = key in part.keys if key in kept else not any(key in one.keys for one in parts)
            if is_kept and not part.explains(segment) and owners.setdefault(key, part) is part:
                yield from map(event_bytes, segment.events)
    finally:
        reader.close()


def merge_batches(found: FoundBatch, copies: Sequence[FoundBatch] = ()) -> Merged:
    """Put all that the shards of a batch and of its copies hold into its responses.jsonl and its trace.jsonl.

    Raises Unusable, and nothing is changed: a copy of another batch, a log or trace that cannot be read, logs of
    different plans or settings, a cell with two outcomes, nothing to merge. EnvironmentFailure where it is in use, or
    cannot be written; then the same command goes on.
    """
    for copy in copies:
        _check_copy(copy, found)
    with no_writer(found.folder / RESPONSES):
        was_cut_off = _put_in_place(found)
        sources = [(one, batch_files) for one in (found, *copies) for batch_files in _batch_files_in(one)]
        if not was_cut_off and all(one is found and batch_files.shard is None for one, batch_files in sources):
            raise Unusable(f"{shown_path(found.folder)}: no shard has recorded anything here; python3 board.py run JOB "
                           "--shard I/N records one")
        return _merged(found, sources)


def _merged(found: FoundBatch, sources: Sequence[tuple[FoundBatch, BatchFiles]]) -> Merged:
    made, new = merged_batch_files(found.folder), found.folder / "responses.merging.jsonl"
    # a kill may have left these, and they are as large as the batch; under the lock they are nobody's
    for left in (new, *new.parent.glob(f"{new.name}.partial-*"), *new.parent.glob(f"{made.trace.name}.partial-*")):
        left.unlink(missing_ok=True)
    try:
        merged = merge_logs([batch_files.log for _, batch_files in sources], new, joins_systems=True)
        # after the logs: a shard may record meanwhile, and what it recorded since must be known as its own
        parts = [part for one, batch_files in sources for part in _parts_of(one, batch_files)]
        write_whole(made.trace, joined_traces(parts, read_log(new)))
        move_whole(new, made.log)
    finally:
        new.unlink(missing_ok=True)
    _put_in_place(found)
    return merged


def _put_in_place(found: FoundBatch) -> bool:
    """Let a merge that is whole take its place; whether there is one. After a kill within, this goes on."""
    made, whole = merged_batch_files(found.folder), batch_files_of(found.folder)
    if not made.log.exists():
        return False
    if made.trace.exists():
        move_whole(made.trace, whole.trace)
    move_whole(made.log, whole.log)
    return True


def _batch_files_in(found: FoundBatch) -> Iterator[BatchFiles]:
    """The logs of a batch: its own, if there is one, and those of its shards."""
    whole = batch_files_of(found.folder)
    if whole.log.exists() and whole.log.stat().st_size:
        yield whole
    yield from (batch_files_of(found.folder, shard) for shard in shards_in(found.folder))


def _parts_of(found: FoundBatch, batch_files: BatchFiles) -> Iterator[TracePart]:
    """The trace beside a log; none where nothing is recorded yet. Raises Unusable for a log that lost its answers."""
    size = trace_size(batch_files.trace)
    log = log_of(found, batch_files.shard)
    if log is not None:
        yield part_of(log, batch_files.trace, size)


def _check_copy(copy: FoundBatch, found: FoundBatch) -> None:
    """Raise Unusable for a batch whose answers are no answers to the questions of this one, naming what differs."""
    here, there = shown_path(copy.folder), shown_path(found.folder)
    one, other = copy.batch, found.batch
    if copy.folder.resolve() == found.folder.resolve():
        raise Unusable(f"{here} is given twice")
    if one.job.name != other.job.name:
        raise Unusable(f"{here} is of the job {shown_line(one.job.name, 60)}, and {there} of "
                       f"{shown_line(other.job.name, 60)}; merge batches of one job")
    differences = one.dataset.differences(other.dataset.parts)
    if not differences and one.dataset.fingerprint != other.dataset.fingerprint:
        differences = ("cases.jsonl",)
    if differences:
        raise Unusable(f"{here} and {there} are of different worlds ({'; '.join(differences)}); merge copies of one "
                       "batch")
