"""A batch as a value, batch.json which keeps it, and the folders of batches: making one, finding the one meant.

runs/<job>/<UTC stamp>/ is made by an exclusive mkdir; batch.json is written last, so a folder without one is the
beginning of a start that was cut off, and no batch. Where answers are in it, it was a batch, and lost its batch.json.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import benchkit
from benchkit.basics.clock import END_S, stamp_of
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import indented
from benchkit.basics.texts import file_stem, shown_line
from benchkit.basics.values import JSON
from benchkit.boards import job_pack
from benchkit.boards.job import Job, job_of, job_to_wire
from benchkit.boards.pack import Pack, folder_sha256
from benchkit.boards.question_gates import GateFigures, figures_of, figures_to_wire
from benchkit.boards.questions import Questions
from benchkit.boards.usage import NOTHING_USED, TokenUse, tokens_in
from benchkit.disk.whole_files import make_new_folder, read_json, shown_path, write_whole

VERSION = 1
OPEN, COMPLETE, BLOCKED, PUBLISHED = "open", "complete", "blocked_by_batch_gate", "published"
STATUSES = (OPEN, COMPLETE, BLOCKED, PUBLISHED)
BATCH, CASES, RESPONSES, TRACE, EVAL = "batch.json", "cases.jsonl", "responses.jsonl", "trace.jsonl", "eval.jsonl"
BOARD_MARKDOWN, BOARD_HTML = "board.md", "board.html"
MOST_BYTES = 64 * 1024 * 1024
_FIELDS = ("batch", "job_name", "job", "made_at", "status", "geometry", "systems", "questions", "usage", "kit", "world",
           "scoring", "cases_sha256")
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Kit:
    """With which texts a batch was made. Information: what must agree stands in world and scoring."""

    version: str
    benchkit_sha256: str
    pack_sha256: str


@dataclass(frozen=True, slots=True)
class BatchUsage:
    """Tokens of each system's answers, and of making the questions, once."""

    eval_usage: Mapping[str, TokenUse] = field(default_factory=dict)
    gen_usage: TokenUse = NOTHING_USED


@dataclass(frozen=True, slots=True)
class Batch:
    """What batch.json says. `systems` holds the settings as served, of each system that has run.

    `cases_sha256` is by case id, in the order of the questions; the digest of the file is world.questions_sha256.
    """

    job: Job
    made_at: str
    status: str
    figures: GateFigures
    kit: Kit
    dataset: job_pack.Dataset
    scoring: job_pack.Scoring
    cases_sha256: Mapping[str, str]
    systems: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    usage: BatchUsage = field(default_factory=BatchUsage)


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A batch and the folder it stands in."""

    folder: Path
    batch: Batch

    @property
    def name(self) -> str:
        """`job/stamp`."""
        return f"{self.folder.parent.name}/{self.folder.name}"


def new_batch(job: Job, pack: Pack, questions: Questions, made_at: str, gen_usage: TokenUse = NOTHING_USED) -> Batch:
    """The batch that begins with these questions, made with the texts of now: open, or blocked by the gate."""
    kit = Kit(benchkit.VERSION, folder_sha256(Path(benchkit.__file__).parent), pack.pack_sha256)
    dataset = job_pack.Dataset(job_pack.dataset_parts(job, pack), questions.sha256)
    return Batch(
        job, made_at, BLOCKED if questions.figures.blocked else OPEN, questions.figures, kit, dataset,
        job_pack.scoring_of(pack), questions.cases_sha256, usage=BatchUsage(gen_usage=gen_usage))


def read_batch(folder: Path) -> FoundBatch:
    """The batch in a folder. Raises Unusable with file and field, also where it is gone and answers are there."""
    path = folder / BATCH
    if not path.exists():
        raise Unusable(f"{shown_path(path)} is gone, and answers are there; put it back, or begin another batch: "
                       "python3 board.py run JOB --fresh")
    try:
        return FoundBatch(folder, batch_of(read_json(path, MOST_BYTES)))
    except ValueError as error:
        raise Unusable(f"{shown_path(path)}: {error}") from None


def write_batch(found: FoundBatch) -> None:
    """Write batch.json whole. Raises EnvironmentFailure."""
    write_whole(found.folder / BATCH, [(indented(batch_to_wire(found.batch)) + "\n").encode("ascii")])


def batch_to_wire(batch: Batch) -> dict[str, JSON]:
    """The fields of batch.json."""
    return {
        "batch": VERSION, "job_name": batch.job.name, "job": job_to_wire(batch.job), "made_at": batch.made_at,
        "status": batch.status, "geometry": batch.job.geometry,
        "systems": {name: {"settings": settings} for name, settings in batch.systems.items()},
        "questions": figures_to_wire(batch.figures),
        "usage": {"eval_usage": {name: tokens.to_wire() for name, tokens in batch.usage.eval_usage.items()},
                  "gen_usage": batch.usage.gen_usage.to_wire()},
        "kit": {"version": batch.kit.version, "benchkit_sha256": batch.kit.benchkit_sha256,
                "pack_sha256": batch.kit.pack_sha256},
        "world": batch.dataset.to_wire(), "scoring": batch.scoring.to_wire(),
        "cases_sha256": [[case, sha256] for case, sha256 in batch.cases_sha256.items()]}


def batch_of(value: JSON) -> Batch:
    """The batch with these fields. Raises ValueError naming the field."""
    fields = Fields(value)
    if fields.integer("batch") != VERSION:
        raise fields.wrong("batch", f"{VERSION} (a batch of another version needs another kit)")
    fields.has_exactly(_FIELDS)
    systems, kit, usage = fields.inner("systems"), fields.inner("kit"), fields.inner("usage")
    name = fields.text("job_name")
    if file_stem(name) != name:  # it stands in paths, and in commands that are offered
        raise fields.wrong("job_name", "the name of a job's file")
    job = job_of(name, fields.json("job"), "job")
    if fields.text("geometry") != job.geometry:
        raise fields.wrong("geometry", job.geometry)
    cases_sha256: dict[str, str] = {}
    for pair in fields.sequence("cases_sha256"):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
                and isinstance(pair[1], str) and _SHA256.fullmatch(pair[1]) and pair[0] not in cases_sha256):
            raise fields.wrong("cases_sha256", "a list of [case, 64 hex digits], no case twice")
        cases_sha256[pair[0]] = pair[1]
    by_system = usage.inner("eval_usage")
    return Batch(
        job, fields.text("made_at"), fields.one_of("status", STATUSES), figures_of(fields.inner("questions")),
        Kit(kit.text("version"), kit.text("benchkit_sha256"), kit.text("pack_sha256")),
        job_pack.dataset_of(fields.inner("world")), job_pack.scoring_in(fields.inner("scoring")), cases_sha256,
        {name: systems.inner(name).mapping("settings") for name in systems.values},
        BatchUsage({name: tokens_in(by_system, name) for name in by_system.values}, tokens_in(usage, "gen_usage")))


_DAY_S = 86400.0
_STAMP = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d{1,6}))?")


def put_batch(folder: Path, batch: Batch, questions: Questions) -> FoundBatch:
    """A batch on the disk, its questions before its batch.json, be it in the place of others.

    Cut off in between, the questions are refused until they are made again. Raises EnvironmentFailure.
    """
    found = FoundBatch(folder, batch)
    write_whole(folder / CASES, questions.lines)
    write_batch(found)
    return found


def make_batch_folder(runs: Path, job: str, stamp: str) -> Path:
    """A new folder for a batch that starts at `stamp` (`2026-11-30T12:00:00.000Z`); `-2` behind it for a second one.

    Raises EnvironmentFailure or Unusable where none can be made.
    """
    number = 1
    while not make_new_folder(folder := runs / job / (_folder_stamp(stamp) + (f"-{number}" if number > 1 else ""))):
        number += 1
    return folder


def every_batch(runs: Path) -> Iterator[tuple[str, Batch | str]]:
    """All batches, by job and then by age: `job/stamp` and the batch, or why its batch.json cannot be read."""
    for job in sorted(runs.iterdir()) if runs.is_dir() else ():
        for folder in _folders(job):
            try:
                yield f"{job.name}/{folder.name}", read_batch(folder).batch
            except Unusable as error:
                yield f"{job.name}/{folder.name}", str(error)


def newest(runs: Path, job: str, *, is_open: bool = False) -> FoundBatch | None:
    """The newest batch of a job that is not blocked, nor published if it has to be open; else the newest blocked one.

    None if there is neither. Raises Unusable for one that cannot be read.
    """
    blocked = None
    for found in map(read_batch, reversed(_folders(runs / job))):
        if found.batch.status == BLOCKED:
            blocked = blocked or found
        elif not is_open or found.batch.status != PUBLISHED:
            return found
    return blocked


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


def find_batch(runs: Path, text: str, job: str | None = None) -> FoundBatch:
    """The batch meant by a path, by `job/stamp`, or by a stamp (of the job, or of the only one that has it).

    Raises Unusable with the batches there are.
    """
    jobs = [job] if job is not None else sorted(path.name for path in runs.glob("*")) if runs.is_dir() else []
    by_stamp = [runs / one / text for one in jobs if _STAMP.fullmatch(text)]
    folders = [folder for folder in (*by_stamp, runs / text, Path(text)) if _is_batch(folder)]
    different = list(dict.fromkeys(folder.resolve() for folder in folders))
    if len(different) == 1:
        found = read_batch(folders[0])
        if job is not None and found.batch.job.name != job:
            raise Unusable(f"batch {shown_path(found.folder)} is one of the job {found.batch.job.name}, not of {job}")
        return found
    if different:
        raise Unusable(f"batch {shown_line(text, 100)}: {len(different)} jobs have one; give its path: "
                       f"{', '.join(shown_path(folder) for folder in folders[:5])}")
    known = [f"{folder.parent.name}/{folder.name}" for one in jobs for folder in _folders(runs / one)]
    listed = ", ".join(known[-5:]) if known else "none"
    raise Unusable(f"batch {shown_line(text, 100)}: there is none (no {BATCH} in it); the newest there are: {listed}")


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
