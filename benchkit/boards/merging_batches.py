"""The shards of a batch -> the batch that one machine would have made: its log and its trace, and nothing else.

Shards can stand in the folder of the batch, or in copies of it that other machines made. What was merged before is
merged again with them, so that a shard that comes late is added by the same command. Log and trace are whole before
either takes its place; a merge that is cut off between the two is finished by the next.
What does not live here: merging logs (trial_log/merging.py) and traces (trace_joining.py), and what follows from the
answers (settling.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.boards.batch import RESPONSES, FoundBatch
from benchkit.boards.batch_log import log_of
from benchkit.boards.batch_shards import Papers, merged_papers, papers_of, shards_in
from benchkit.boards.choosing_batch import no_writer
from benchkit.boards.trace_joining import Part, joined_traces, part_of
from benchkit.boards.trace_reading import trace_size
from benchkit.disk.whole_files import move_whole, shown_path, write_whole
from benchkit.trial_log.merging import Merged, merge_logs
from benchkit.trial_log.reader import read_log


def merge_batches(found: FoundBatch, copies: Sequence[FoundBatch] = ()) -> Merged:
    """Put all that the shards of a batch and of its copies hold into its responses.jsonl and its trace.jsonl.

    Raises Unusable, and nothing is changed: a copy of another batch, a log or trace that cannot be read, logs of
    different plans or settings, a cell with two outcomes, nothing to merge. Surroundings where it is in use, or cannot
    be written; then the same command goes on.
    """
    for copy in copies:
        _check_copy(copy, found)
    with no_writer(found.folder / RESPONSES):
        was_cut_off = _put_in_place(found)
        sources = [(one, papers) for one in (found, *copies) for papers in _papers_in(one)]
        if not was_cut_off and all(one is found and papers.shard is None for one, papers in sources):
            raise Unusable(f"{shown_path(found.folder)}: no shard has recorded anything here; python3 board.py run JOB "
                           "--shard I/N records one")
        return _merged(found, sources)


def _merged(found: FoundBatch, sources: Sequence[tuple[FoundBatch, Papers]]) -> Merged:
    made, new = merged_papers(found.folder), found.folder / "responses.merging.jsonl"
    # a kill may have left these, and they are as large as the batch; under the lock they are nobody's
    for left in (new, *new.parent.glob(f"{new.name}.partial-*"), *new.parent.glob(f"{made.trace.name}.partial-*")):
        left.unlink(missing_ok=True)
    try:
        merged = merge_logs([papers.log for _, papers in sources], new, joins_systems=True)
        # after the logs: a shard may record meanwhile, and what it recorded since must be known as its own
        parts = [part for one, papers in sources for part in _parts_of(one, papers)]
        write_whole(made.trace, joined_traces(parts, read_log(new)))
        move_whole(new, made.log)
    finally:
        new.unlink(missing_ok=True)
    _put_in_place(found)
    return merged


def _put_in_place(found: FoundBatch) -> bool:
    """Let a merge that is whole take its place; whether there is one. After a kill within, this goes on."""
    made, whole = merged_papers(found.folder), papers_of(found.folder)
    if not made.log.exists():
        return False
    if made.trace.exists():
        move_whole(made.trace, whole.trace)
    move_whole(made.log, whole.log)
    return True


def _papers_in(found: FoundBatch) -> Iterator[Papers]:
    """The logs of a batch: its own, if there is one, and those of its shards."""
    whole = papers_of(found.folder)
    if whole.log.exists() and whole.log.stat().st_size:
        yield whole
    yield from (papers_of(found.folder, shard) for shard in shards_in(found.folder))


def _parts_of(found: FoundBatch, papers: Papers) -> Iterator[Part]:
    """The trace beside a log; none where nothing is recorded yet. Raises Unusable for a log that lost its answers."""
    size = trace_size(papers.trace)
    log = log_of(found, papers.shard)
    if log is not None:
        yield part_of(log, papers.trace, size)


def _check_copy(copy: FoundBatch, found: FoundBatch) -> None:
    """Raise Unusable for a batch whose answers are no answers to the questions of this one, naming what differs."""
    here, there = shown_path(copy.folder), shown_path(found.folder)
    one, other = copy.batch, found.batch
    if copy.folder.resolve() == found.folder.resolve():
        raise Unusable(f"{here} is given twice")
    if one.job.name != other.job.name:
        raise Unusable(f"{here} is of the job {shown_line(one.job.name, 60)}, and {there} of "
                       f"{shown_line(other.job.name, 60)}; merge batches of one job")
    differences = one.world.differences(other.world.parts)
    if not differences and one.world.fingerprint != other.world.fingerprint:
        differences = ("cases.jsonl",)
    if differences:
        raise Unusable(f"{here} and {there} are of different worlds ({'; '.join(differences)}); merge copies of one "
                       "batch")
