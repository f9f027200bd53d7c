"""The folders of batches: making one, and finding the one that is meant.

runs/<job>/<UTC stamp>/ is made by an exclusive mkdir; batch.json is written last, so a folder without one is the
beginning of a start that was cut off, and no batch. Where answers are in it, it was a batch, and lost its batch.json.
What does not live here: what batch.json says (batch.py).
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.clock import END_S, stamp_of
from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.boards.batch import BATCH, BLOCKED, CASES, PUBLISHED, Batch, FoundBatch, read_batch, write_batch
from benchkit.boards.questions import Questions, write_questions
from benchkit.disk.whole_files import make_new_folder, shown_path

_DAY_S = 86400.0
_STAMP = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class BrokenBatch:
    """A batch whose batch.json cannot be read: `job/stamp`, and why."""

    name: str
    why: str


def start_batch(runs: Path, batch: Batch, questions: Questions) -> FoundBatch:
    """A new batch on the disk, its questions before its batch.json. Raises Surroundings."""
    return rebuild_batch(make_batch_folder(runs, batch.job.name, batch.made_at), batch, questions)


def rebuild_batch(folder: Path, batch: Batch, questions: Questions) -> FoundBatch:
    """The same folder with questions made anew. Cut off in between, the questions are refused until made again."""
    found = FoundBatch(folder, batch)
    write_questions(folder / CASES, questions)
    write_batch(found)
    return found


def make_batch_folder(runs: Path, job: str, stamp: str) -> Path:
    """A new folder for a batch that starts at `stamp` (`2026-11-30T12:00:00.000Z`); `-2` behind it for a second one.

    Raises Surroundings or Unusable where none can be made.
    """
    name = _folder_stamp(stamp)
    number = 1
    while True:
        folder = runs / job / (name if number == 1 else f"{name}-{number}")
        if make_new_folder(folder):
            return folder
        number += 1


def batches_of(runs: Path, job: str) -> tuple[FoundBatch | BrokenBatch, ...]:
    """The batches of a job, oldest first."""
    return tuple(map(_read_or_broken, _folders(runs / job)))


def every_batch(runs: Path) -> tuple[FoundBatch | BrokenBatch, ...]:
    """All batches, by job and then by age."""
    jobs = sorted(path.name for path in runs.iterdir() if path.is_dir()) if runs.is_dir() else []
    return tuple(found for job in jobs for found in batches_of(runs, job))


def newest_open(runs: Path, job: str) -> FoundBatch | None:
    """The newest batch of a job that is neither published nor blocked; the newest blocked one if there is no such.

    None if there is neither. Raises Unusable for one that cannot be read.
    """
    return _newest(runs, job, (PUBLISHED,))


def newest(runs: Path, job: str) -> FoundBatch | None:
    """The same, published or not."""
    return _newest(runs, job, ())


def passed_over(runs: Path, found: FoundBatch) -> tuple[FoundBatch, ...]:
    """The batches of the same job that are newer and blocked, the newest first."""
    folders = _folders(runs / found.batch.job.name)
    newer = folders[folders.index(found.folder) + 1:] if found.folder in folders else []
    return tuple(one for one in map(read_batch, reversed(newer)) if one.batch.status == BLOCKED)


def is_ahead(found: FoundBatch, wall: float) -> bool:
    """Whether a batch was begun over a day behind now (`wall`, seconds since 1970): one of the two clocks was wrong."""
    return found.folder.name > _folder_stamp(stamp_of(min(wall + _DAY_S, END_S - 1)))


def _folder_stamp(stamp: str) -> str:
    return re.sub(r"[-:]|\.\d+", "", stamp)


def _newest(runs: Path, job: str, without: tuple[str, ...]) -> FoundBatch | None:
    blocked = None
    for folder in reversed(_folders(runs / job)):
        found = read_batch(folder)
        if found.batch.status == BLOCKED:
            blocked = blocked or found
        elif found.batch.status not in without:
            return found
    return blocked


def _read_or_broken(folder: Path) -> FoundBatch | BrokenBatch:
    try:
        return read_batch(folder)
    except Unusable as error:
        return BrokenBatch(f"{folder.parent.name}/{folder.name}", str(error))


def find_batch(runs: Path, text: str, job: str | None = None) -> FoundBatch:
    """The batch meant by a path, by `job/stamp`, or by a stamp (of the job, or of the only one that has it).

    Raises Unusable with the batches there are.
    """
    jobs = [job] if job is not None else sorted(path.name for path in runs.glob("*")) if runs.is_dir() else []
    by_stamp = [runs / one / text for one in jobs if _STAMP.fullmatch(text)]
    folders = [folder for folder in (*by_stamp, runs / text, Path(text)) if _is_batch(folder)]
    different = list(dict.fromkeys(folder.resolve() for folder in folders))
    if len(different) == 1:
        return _of_job(read_batch(folders[0]), job)
    if different:
        raise Unusable(f"batch {shown_line(text, 100)}: {len(different)} jobs have one; give its path: "
                       f"{', '.join(shown_path(folder) for folder in folders[:5])}")
    known = [f"{folder.parent.name}/{folder.name}" for one in jobs for folder in _folders(runs / one)]
    listed = ", ".join(known[-5:]) if known else "none"
    raise Unusable(f"batch {shown_line(text, 100)}: there is none (no {BATCH} in it); the newest there are: {listed}")


def _of_job(found: FoundBatch, job: str | None) -> FoundBatch:
    if job is not None and found.batch.job.name != job:
        raise Unusable(f"batch {shown_path(found.folder)} is one of the job {found.batch.job.name}, not of {job}")
    return found


def _folders(home: Path) -> list[Path]:
    """The batches below a job's folder, oldest first."""
    if not home.is_dir():
        return []
    found = [(match[1], int(match[2] or 1), path) for path in home.iterdir()
             if (match := _STAMP.fullmatch(path.name)) and _is_batch(path)]
    return [path for _, _, path in sorted(found)]


def _is_batch(folder: Path) -> bool:
    try:
        return (folder / BATCH).is_file() or any(
            path.is_file() and path.stat().st_size for path in folder.glob("responses*.jsonl"))
    except (OSError, ValueError):
        return False
