"""The shards of a batch: where each keeps its answers, and how several machines begin a batch without beginning two.

A shard has a log and a trace of its own beside those of the whole batch:

    responses.jsonl   responses.shard-2-of-3.jsonl
    trace.jsonl       trace.shard-2-of-3.jsonl

A merge that is about to take the place of the whole has `merged` in the place of the shard.
What does not live here: which cells a shard runs (running/plan.py), and putting shards together (merging_batches.py).
"""
from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.values import Shard
from benchkit.boards.batch import RESPONSES, TRACE
from benchkit.disk.appending import alone
from benchkit.disk.whole_files import shown_path
from benchkit.running.shards import mark_of

BEGIN_LOCK = "begin.lock"
_LOG = re.compile(r"responses\.shard-([1-9]\d{0,4})-of-([1-9]\d{0,4})\.jsonl")


@dataclass(frozen=True, slots=True)
class Papers:
    """A log and the trace beside it; `shard` is the part of the plan that they are for, None: all of it."""

    log: Path
    trace: Path
    shard: Shard | None


def papers_of(folder: Path, shard: Shard | None = None) -> Papers:
    """Where a batch keeps its answers, or those of one of its shards."""
    log, trace = (Path(name).stem + mark_of(shard) + ".jsonl" for name in (RESPONSES, TRACE))
    return Papers(folder / log, folder / trace, shard)


def merged_papers(folder: Path) -> Papers:
    """Where a merge puts log and trace before both take their place; if its log is there, both are whole."""
    return Papers(folder / "responses.merged.jsonl", folder / "trace.merged.jsonl", None)


def shards_in(folder: Path) -> tuple[Shard, ...]:
    """The shards that have begun in the folder of a batch, in order."""
    found = [Shard(int(match[1]), int(match[2])) for path in folder.iterdir() if (match := _LOG.fullmatch(path.name))]
    return tuple(sorted(found, key=lambda shard: (shard.of, shard.index)))


@contextmanager
def one_at_a_time(
    folder: Path, say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Within this no other process begins a batch in a job's folder; waits for one that does. Raises Surroundings."""
    def waits() -> None:
        say(f"{shown_path(folder)}: waiting for another run, which makes the questions")

    with alone(folder / BEGIN_LOCK, waits, sleep):
        yield
