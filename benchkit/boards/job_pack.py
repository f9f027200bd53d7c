"""From a job to all that its questions need: the pack it names, or its task and cases as one.

What does not live here: what a pack is (pack.py), and finding its module (pack_loading.py).
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Case
from benchkit.boards.batch import Batch, FoundBatch
from benchkit.boards.fingerprints import world_parts
from benchkit.boards.job import FromPack, FromTask, Job
from benchkit.boards.pack import Pack
from benchkit.boards.pack_loading import load_pack
from benchkit.boards.task_pack import pack_of_task
from benchkit.disk.whole_files import shown_path
from benchkit.tasks.cases import in_split, read_cases
from benchkit.tasks.task import load_task


def pack_of_job(job: Job, folders: Sequence[Path]) -> Pack:
    """The pack of a job. Raises Unusable, also where its questions cannot be asked in the job's geometry."""
    asks = job.asks
    if isinstance(asks, FromPack):
        pack = load_pack(asks.pack, folders)
    else:
        pack = pack_of_task(load_task(asks.task, folders), _cases_of(job, asks), asks.gates)
    if job.geometry not in pack.geometries:
        raise Unusable(f"job {job.name}: geometry {job.geometry}: the questions of {pack.module} can be asked in "
                       f"{' and '.join(pack.geometries)} only")
    return pack


def questions_asked_for(job: Job) -> int:
    """How many questions a job asks for, before any gate drops some. Raises Unusable for cases that cannot be read."""
    asks = job.asks
    if isinstance(asks, FromPack):
        return asks.count
    return len(_cases_of(job, asks)[:asks.count])


def _cases_of(job: Job, asks: FromTask) -> tuple[Case, ...]:
    return in_split(read_cases(Path(asks.cases), f"cases = ... in the job {job.name}"), asks.split,
                    f"split in the job {job.name}:")


def pack_of_batch(found: FoundBatch, folders: Sequence[Path]) -> Pack:
    """The pack that a batch was made with. Raises Unusable where it makes another world now."""
    pack = pack_of_job(found.batch.job, folders)
    differences = world_differences(found.batch, found.batch.job, pack)
    if differences:
        raise Unusable(f"{shown_path(found.folder)}: this batch was made in another world ({differences}); put back "
                       "what made it, or begin another batch with python3 board.py run JOB --fresh")
    return pack


def world_differences(batch: Batch, job: Job, pack: Pack) -> str:
    """What differs between the world of a batch and the one that a job asks for now, in words; "" if nothing."""
    return "; ".join(batch.world.differences(world_parts(job, pack)))
