"""A batch as a value, and batch.json, which keeps it: what was asked, with what, and how far it is.

What does not live here: folders of batches (batch_folders.py), questions (questions.py), answers (the trial log).
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import benchkit
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.indented import indented
from benchkit.basics.names import file_stem
from benchkit.basics.values import JSON
from benchkit.boards.fingerprints import (
    Scoring,
    World,
    folder_sha256,
    scoring_in,
    scoring_of,
    world_of,
    world_parts,
)
from benchkit.boards.job import Job, job_of, job_to_wire
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import GateFigures, figures_of, figures_to_wire
from benchkit.boards.questions import Questions
from benchkit.boards.usage import NOTHING_USED, Tokens, tokens_in
from benchkit.disk.whole_files import read_json, shown_path, write_whole

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

    eval_usage: Mapping[str, Tokens] = field(default_factory=dict)
    gen_usage: Tokens = NOTHING_USED


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
    world: World
    scoring: Scoring
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


def new_batch(job: Job, pack: Pack, questions: Questions, made_at: str, gen_usage: Tokens = NOTHING_USED) -> Batch:
    """The batch that begins with these questions: open, or blocked by the gate."""
    return Batch(
        job, made_at, BLOCKED if questions.figures.blocked else OPEN, questions.figures, kit_of(pack),
        World(world_parts(job, pack), questions.sha256), scoring_of(pack), questions.cases_sha256,
        usage=BatchUsage(gen_usage=gen_usage))


def kit_of(pack: Pack) -> Kit:
    """The texts of now."""
    return Kit(benchkit.VERSION, folder_sha256(Path(benchkit.__file__).parent), pack.sources.pack_sha256)


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
    """Write batch.json whole. Raises Surroundings."""
    write_whole(found.folder / BATCH, [(indented(batch_to_wire(found.batch)) + "\n").encode("ascii")])


# ------------------------------------------------------------------------------------------------- wire

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
        "world": batch.world.to_wire(), "scoring": batch.scoring.to_wire(),
        "cases_sha256": [[case, sha256] for case, sha256 in batch.cases_sha256.items()]}


def batch_of(value: JSON) -> Batch:
    """The batch with these fields. Raises ValueError naming the field."""
    fields = Fields(value)
    if fields.integer("batch") != VERSION:
        raise fields.wrong("batch", f"{VERSION} (a batch of another version needs another kit)")
    fields.has_exactly(_FIELDS)
    systems, kit = fields.inner("systems"), fields.inner("kit")
    name = fields.text("job_name")
    if file_stem(name) != name:  # it stands in paths, and in commands that are offered
        raise fields.wrong("job_name", "the name of a job's file")
    job = job_of(name, fields.json("job"), "job")
    if fields.text("geometry") != job.geometry:
        raise fields.wrong("geometry", job.geometry)
    return Batch(
        job, fields.text("made_at"), fields.one_of("status", STATUSES), figures_of(fields.inner("questions")),
        Kit(kit.text("version"), kit.text("benchkit_sha256"), kit.text("pack_sha256")),
        world_of(fields.inner("world")), scoring_in(fields.inner("scoring")), _cases_sha256(fields),
        {name: systems.inner(name).mapping("settings") for name in systems.values}, _usage(fields.inner("usage")))


def _usage(fields: Fields) -> BatchUsage:
    by_system = fields.inner("eval_usage")
    return BatchUsage({name: tokens_in(by_system, name) for name in by_system.values}, tokens_in(fields, "gen_usage"))


def _cases_sha256(fields: Fields) -> Mapping[str, str]:
    pairs: Sequence[JSON] = fields.sequence("cases_sha256")
    found: dict[str, str] = {}
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
                and isinstance(pair[1], str) and _SHA256.fullmatch(pair[1]) and pair[0] not in found):
            raise fields.wrong("cases_sha256", "a list of [case, 64 hex digits], no case twice")
        found[pair[0]] = pair[1]
    return found
