"""The log of a batch and those of its shards, held against what else the batch says.

A shard has a log and a trace of its own beside those of the whole batch:

    responses.jsonl   responses.shard-2-of-3.jsonl
    trace.jsonl       trace.shard-2-of-3.jsonl

A merge that is about to take the place of the whole has `merged` in the place of the shard.

A log can lose its end without a sign in itself. batch.json and the trace then know more than it does, and going on
would ask again what was answered.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import Shard
from benchkit.boards.batch import RESPONSES, TRACE, FoundBatch
from benchkit.disk.appending import alone
from benchkit.disk.whole_files import shown_path
from benchkit.running.live import log_at
from benchkit.running.shards import mark_of
from benchkit.trial_log.reader import TakeLine, TrialLog

BEGIN_LOCK = "begin.lock"
_LOG = re.compile(r"responses\.shard-([1-9]\d{0,4})-of-([1-9]\d{0,4})\.jsonl")


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """A log and the trace beside it; `shard` is the part of the plan that they are for, None: all of it."""

    log: Path
    trace: Path
    shard: Shard | None


def batch_files_of(folder: Path, shard: Shard | None = None) -> BatchFiles:
    """Where a batch keeps its answers, or those of one of its shards."""
    log, trace = (Path(name).stem + mark_of(shard) + ".jsonl" for name in (RESPONSES, TRACE))
    return BatchFiles(folder / log, folder / trace, shard)


def merged_batch_files(folder: Path) -> BatchFiles:
    """Where a merge puts log and trace before both take their place; if its log is there, both are whole."""
    return BatchFiles(folder / "responses.merged.jsonl", folder / "trace.merged.jsonl", None)


def shards_in(folder: Path) -> tuple[Shard, ...]:
    """The shards that have begun in the folder of a batch, in order."""
    found = [Shard(int(match[1]), int(match[2])) for path in folder.iterdir() if (match := _LOG.fullmatch(path.name))]
    return tuple(sorted(found, key=lambda shard: (shard.of, shard.index)))


@contextmanager
def one_at_a_time(
    folder: Path,
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Within this no other process begins a batch in a job's folder; waits for another. Raises EnvironmentFailure."""

    def waits() -> None:
        say(f"{shown_path(folder)}: waiting for another run, which makes the questions")

    with alone(folder / BEGIN_LOCK, waits, sleep):
        yield


_MEND = "put the file back, or begin another batch: python3 board.py run JOB --fresh"


def log_of(
    found: FoundBatch, shard: Shard | None = None, accept_damage: bool = False, take: TakeLine | None = None,
) -> TrialLog | None:
    """The log of a batch, or of one of its shards; None where nothing is recorded yet.

    `take` is given every line that counts.

    Raises Unusable for one that cannot be read, is gone, does not hold a system that has answered, or is half merged.
    With `accept_damage` no damage is a reason; None where it took the plan.
    """
    batch_files = batch_files_of(found.folder, shard)
    path, trace = batch_files.log, batch_files.trace
    if shard is None and merged_batch_files(found.folder).log.exists():
        raise Unusable(f"{shown_path(found.folder)}: a merge was cut off before its end; finish it: "
                       f"{merge_command(found)}")
    # who has answered in batch.json has answered in its log; a shard may not have come that far
    answered = found.batch.systems if shard is None else {}
    log = log_at(path, accept_damage, take)
    if log is None and accept_damage and has_bytes(path):
        return None
    if log is None:
        if answered or has_bytes(trace):
            raise Unusable(f"{shown_path(path)}: the answers are gone, and {trace.name} or batch.json knows of some; "
                           f"{_MEND}")
        return None
    gone = [name for name in answered if name not in log.planned().systems]
    if gone:
        raise Unusable(f"{shown_path(path)}: batch.json says that {shown_line(gone[0], 60)} has answered, and here "
                       f"nothing is planned for it; {_MEND}")
    return log


def has_bytes(path: Path) -> bool:
    """Whether a file is there and not empty."""
    return path.exists() and path.stat().st_size > 0


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


def unmerged(found: FoundBatch) -> int:
    """How many cells the shards of a batch have answered that its own log does not hold. Raises as `log_of` does."""
    shards = shards_in(found.folder)
    whole = log_of(found) if shards else None
    return sum(unmerged_in(log, whole) for log in (log_of(found, shard) for shard in shards) if log is not None)


def unmerged_in(log: TrialLog, whole: TrialLog | None) -> int:
    """How many cells of the log of a shard that of the whole batch does not hold."""
    return sum(whole is None or not whole.attempts(cell) for _, cell in log.cells())


def unmerged_line(found: FoundBatch) -> str:
    """That shards hold answers that the batch does not hold yet, and what to do; "" where they do not."""
    count = unmerged(found)
    return "" if not count else (
        f"{shown_path(found.folder)}: {count_of(count, 'answer')} of its shards {'is' if count == 1 else 'are'} not in "
        f"{RESPONSES} yet; first {merge_command(found)}")


def refuse_unmerged(found: FoundBatch) -> None:
    """Raise Unusable where shards hold answers that the batch does not hold yet."""
    line = unmerged_line(found)
    if line:
        raise Unusable(line)


def merge_command(found: FoundBatch) -> str:
    """What puts the shards of a batch together."""
    return f"python3 board.py merge {shell_word(str(found.folder))}"
