"""The log of a batch and those of its shards, held against what else the batch says, and merging them.

A log can lose its end without a sign in itself. batch.json and the trace then know more than it does, and going on
would ask again what was answered.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import Shard
from benchkit.boards import trace_file
from benchkit.boards.batch import RESPONSES, TRACE, FoundBatch
from benchkit.boards.trace_events import SegmentKey, event_bytes
from benchkit.disk.whole_files import move_whole, shown_path, write_whole
from benchkit.running.shards import mark_of
from benchkit.running.workload import log_at
from benchkit.trial_log.lines import Damage
from benchkit.trial_log.merging import Merged, merge_logs
from benchkit.trial_log.reader import TakeLine, TrialLog, read_log
from benchkit.trial_log.writer import LogWriter

_LOG = re.compile(r"responses\.shard-([1-9]\d{0,4})-of-([1-9]\d{0,4})\.jsonl")
_MEND = "put the file back, or begin another batch: python3 board.py run JOB --fresh"
_MERGED_LOG, _MERGED_TRACE = "responses.merged.jsonl", "trace.merged.jsonl"
"""Where a merge puts log and trace before both take their place; if its log is there, both are whole."""


def log_path(folder: Path, shard: Shard | None = None) -> Path:
    """Where a batch keeps its answers, or those of one of its shards: responses.shard-2-of-3.jsonl."""
    return folder / (Path(RESPONSES).stem + mark_of(shard) + ".jsonl")


def trace_path(folder: Path, shard: Shard | None = None) -> Path:
    """The trace beside it."""
    return folder / (Path(TRACE).stem + mark_of(shard) + ".jsonl")


def shards_in(folder: Path) -> tuple[Shard, ...]:
    """The shards that have begun in the folder of a batch, in order."""
    found = [Shard(int(match[1]), int(match[2])) for path in folder.iterdir() if (match := _LOG.fullmatch(path.name))]
    return tuple(sorted(found, key=lambda shard: (shard.of, shard.index)))


@contextmanager
def no_writer(log: Path) -> Iterator[None]:
    """Within this nobody records into the log; none there is made, and taken away again. Raises EnvironmentFailure."""
    with LogWriter.open(log):
        try:
            yield
        finally:
            if log.stat().st_size == 0:
                log.unlink()


def has_bytes(path: Path) -> bool:
    """Whether a file is there and not empty."""
    return trace_file.trace_size(path) > 0


def log_of(
    found: FoundBatch, shard: Shard | None = None, accept_damage: bool = False, take: TakeLine | None = None,
) -> TrialLog | None:
    """The log of a batch, or of one of its shards; None where nothing is recorded yet.

    `take` is given every line that counts. Raises Unusable for one that cannot be read, is gone, does not hold a system
    that has answered, or is half merged. With `accept_damage` no damage is a reason; None where it took the plan.
    """
    path, trace = log_path(found.folder, shard), trace_path(found.folder, shard)
    if shard is None and (found.folder / _MERGED_LOG).exists():
        raise Unusable(f"{shown_path(found.folder)}: a merge was cut off before its end; finish it: "
                       f"{merge_command(found)}")
    # who has answered in batch.json has answered in its log; a shard may not have come that far
    answered = found.batch.systems if shard is None else {}
    log = log_at(path, accept_damage, take)
    if log is None:
        if (answered or has_bytes(trace)) and not (accept_damage and has_bytes(path)):
            raise Unusable(f"{shown_path(path)}: the answers are gone, and {trace.name} or batch.json knows of some; "
                           f"{_MEND}")
        return None
    gone = [name for name in answered if name not in log.planned().systems]
    if gone:
        raise Unusable(f"{shown_path(path)}: batch.json says that {shown_line(gone[0], 60)} has answered, and here "
                       f"nothing is planned for it; {_MEND}")
    return log


def recorded_log(found: FoundBatch, take: TakeLine | None = None) -> TrialLog:
    """The log of a batch in which something is recorded. Raises Unusable where nothing is, and as `log_of` does."""
    log = log_of(found, take=take)
    if log is None:
        refuse_unmerged(found)
        raise Unusable(f"{shown_path(found.folder)}: nothing is recorded yet; python3 board.py run JOB records")
    planned, trials = log.planned().trials, found.batch.job.trials
    if planned < trials:
        raise Unusable(f"{shown_path(found.folder)}: batch.json says trials = {trials}, and {RESPONSES} plans "
                       f"{planned}; put the files back, or ask what is missing: python3 board.py run JOB")
    return log


def unmerged_in(log: TrialLog, whole: TrialLog | None) -> int:
    """How many cells of the log of a shard that of the whole batch does not hold."""
    return sum(whole is None or not whole.attempts(cell) for _, cell in log.cells())


def unmerged_line(found: FoundBatch) -> str:
    """That shards hold answers that the batch does not hold yet, and what to do; "" where they do not.

    Raises as `log_of` does.
    """
    shards = shards_in(found.folder)
    whole = log_of(found) if shards else None
    count = sum(unmerged_in(log, whole) for log in (log_of(found, shard) for shard in shards) if log is not None)
    return "" if not count else (
        f"{shown_path(found.folder)}: {count_of(count, 'answer')} of its shards {are(count)} not in {RESPONSES} yet; "
        f"first {merge_command(found)}")


def refuse_unmerged(found: FoundBatch) -> None:
    """Raise Unusable where shards hold answers that the batch does not hold yet."""
    line = unmerged_line(found)
    if line:
        raise Unusable(line)


def merge_command(found: FoundBatch) -> str:
    """What puts the shards of a batch together."""
    return f"python3 board.py merge {shell_word(str(found.folder))}"


# merging


def merge_batches(found: FoundBatch, copies: Sequence[FoundBatch] = ()) -> Merged:
    """Put all that the shards of a batch and of its copies hold into its responses.jsonl and its trace.jsonl.

    What was merged before is merged again with them. Log and trace are whole, under names of their own, before either
    takes its place; a merge that is cut off between the two is finished by the next. Raises Unusable, and nothing is
    changed: a copy of another batch, a log or trace that cannot be read, logs of different plans or settings, a cell
    with two outcomes, nothing to merge. EnvironmentFailure where it is in use, or cannot be written.
    """
    for copy in copies:
        _check_copy(copy, found)
    with no_writer(found.folder / RESPONSES):
        was_cut_off = _put_in_place(found.folder)
        sources = [(one, shard) for one in (found, *copies) for shard in (None, *shards_in(one.folder))
                   if shard is not None or has_bytes(log_path(one.folder))]
        if not was_cut_off and all(one is found and shard is None for one, shard in sources):
            raise Unusable(f"{shown_path(found.folder)}: no shard has recorded anything here; python3 board.py run JOB "
                           "--shard I/N records one")
        new, trace = found.folder / "responses.merging.jsonl", found.folder / _MERGED_TRACE
        # a kill may have left these, and they are as large as the batch; under the lock they are nobody's
        for left in (new, *(path for one in (new, trace) for path in one.parent.glob(f"{one.name}.partial-*"))):
            left.unlink(missing_ok=True)
        try:
            merged = merge_logs([log_path(one.folder, shard) for one, shard in sources], new, joins_systems=True)
            # after the logs: a shard may record meanwhile, and what it recorded since must be known as its own
            parts = [part for one, shard in sources if (part := _part_of(one, shard)) is not None]
            write_whole(trace, _joined_traces(parts, read_log(new)))
            move_whole(new, found.folder / _MERGED_LOG)
        finally:
            new.unlink(missing_ok=True)
        _put_in_place(found.folder)
        return merged


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
        differences = "cases.jsonl"
    if differences:
        raise Unusable(f"the questions of {here} and {there} were made from different things "
                       f"({differences}); merge copies of one batch")


def _put_in_place(folder: Path) -> bool:
    """Let a merge that is whole take its place; whether there is one. After a kill within, this goes on."""
    if not (folder / _MERGED_LOG).exists():
        return False
    if (folder / _MERGED_TRACE).exists():
        move_whole(folder / _MERGED_TRACE, trace_path(folder))
    move_whole(folder / _MERGED_LOG, log_path(folder))
    return True


@dataclass(frozen=True, slots=True)
class _TracePart:
    """One trace up to a size, the trials that the log beside it has lines of, and the damage that its sessions name.

    `whole` are the sessions of a damaged log that lost no line; None where the log is not damaged.
    """

    trace: Path
    size: int
    keys: frozenset[SegmentKey]
    named: tuple[Damage, ...]
    whole: frozenset[str] | None

    def lost_a_line_of(self, segment: trace_file.Segment) -> bool:
        """Whether damage took a line of this trial, in the trace, or in the log its own."""
        return segment.is_cut or (
            self.whole is not None and segment.key not in self.keys and segment.key.session not in self.whole)


def _part_of(found: FoundBatch, shard: Shard | None) -> _TracePart | None:
    """The trace beside a log; None where nothing is recorded yet. Raises Unusable for a log that lost its answers."""
    trace = trace_path(found.folder, shard)
    # before the log is read, for both may grow
    size = trace_file.trace_size(trace)
    log = log_of(found, shard)
    if log is None:
        return None
    whole = None
    if log.named:
        count, last = Counter[str](), dict[str, int]()
        for _line, place in log.lines_that_count():
            count[place.session] += 1
            last[place.session] = place.n
        whole = frozenset(session for session in count if count[session] == last[session] + 1)
    return _TracePart(trace, size, frozenset(trace_file.trial_keys(log)), trace_file.trace_damage_named_by(log), whole)


def _joined_traces(parts: Sequence[_TracePart], merged: TrialLog) -> Iterator[bytes]:
    """The lines of the trace beside the merged log. Raises Unusable for a trace that is not there, or is damaged.

    Trials stand in the trace as in the log, but for those that it took from another log, and those that damage took a
    line of. What no log has a line of goes along: a trial that was cut off stays abandoned, and one whose line was
    taken out of its log stays a violation.
    """
    places = {key: place for place, key in enumerate(trace_file.trial_keys(merged))}
    kept: Set[SegmentKey] = places.keys()
    owners: dict[SegmentKey, _TracePart] = {}
    for part in sorted(parts, key=lambda part: min((places[key] for key in part.keys & kept), default=0)):
        for segment in trace_file.segments_in(part.trace, part.named, end=part.size):
            key = segment.key
            is_kept = key in part.keys if key in kept else not any(key in one.keys for one in parts)
            if is_kept and not part.lost_a_line_of(segment) and owners.setdefault(key, part) is part:
                yield from map(event_bytes, segment.events)
