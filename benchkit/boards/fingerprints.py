"""What a batch must agree with, to be gone on with: the world it asks about, and how it is scored.

A changed world makes other questions: cells of both would not compare. A changed scoring judges the same answers
otherwise: `recompute` mends it without a model.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchkit.basics.fields import Fields
from benchkit.basics.json_text import digest, sha256_hex
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.boards.job import FromPack, Job, job_to_wire
from benchkit.boards.pack import Pack
from benchkit.disk.whole_files import read_whole
from benchkit.running.plan import settings_differences

MOST_SOURCE_BYTES = 4 * 1024 * 1024
_SOURCES = ("*.py", "*.toml")


@dataclass(frozen=True, slots=True)
class Dataset:
    """What questions are about: `parts` as a job and its pack say it now, and the digest of cases.jsonl.

    The parts are pack, version, geometry, prices, seed, count, gates; of a task its module, version, cases, split.
    """

    parts: Mapping[str, JSON]
    questions_sha256: str

    @property
    def fingerprint(self) -> str:
        """64 hex over all of it."""
        return digest({"parts": self.parts, "questions_sha256": self.questions_sha256})

    def differences(self, parts: Mapping[str, JSON]) -> tuple[str, ...]:
        """What differs in the parts wanted now, a text each: `seed: 1 -> 2`. Empty: the world is the same."""
        return settings_differences(self.parts, parts)

    def to_wire(self) -> dict[str, JSON]:
        """As it stands in batch.json."""
        return {"fingerprint": self.fingerprint, "parts": self.parts, "questions_sha256": self.questions_sha256}


@dataclass(frozen=True, slots=True)
class Scoring:
    """How answers are judged: the judges' version and text, and a digest for each track."""

    judge_version: str
    judge_sha256: str
    tracks: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """64 hex over all of it."""
        return digest({"judge_version": self.judge_version, "judge_sha256": self.judge_sha256,
                       "tracks": self.tracks})

    @property
    def is_of_one_file(self) -> bool:
        """Whether the judges are known by the file they stand in, as the checks of a task are."""
        return all(fingerprint == self.judge_sha256 for fingerprint in self.tracks.values())

    def differences(self, now: Scoring, module: str) -> tuple[str, ...]:
        """What differs in the scoring of now, a text each; empty if nothing does. `module` is where the judges are."""
        found = []
        if self.is_of_one_file and now.is_of_one_file and self.judge_sha256 != now.judge_sha256:
            found.append(f"the file of the judges changed ({shown_line(module, 80).replace('.', '/')}.py), be it in "
                         "what judges or elsewhere")
        if self.judge_version != now.judge_version:
            found.append(f"judge version: {self.judge_version} -> {now.judge_version}")
        for name in dict.fromkeys((*self.tracks, *now.tracks)):
            if name not in now.tracks:
                found.append(f"track {name} is gone")
            elif name not in self.tracks:
                found.append(f"track {name} is new")
            elif self.tracks[name] != now.tracks[name] and not (self.is_of_one_file and now.is_of_one_file):
                found.append(f"track {name}: its judge changed")
        if not found and self.judge_sha256 != now.judge_sha256:
            found.append("the text of the judges' module changed")
        return tuple(found)

    def to_wire(self) -> dict[str, JSON]:
        """As it stands in batch.json."""
        return {"fingerprint": self.fingerprint, "judge_version": self.judge_version,
                "judge_sha256": self.judge_sha256, "tracks": self.tracks}


def dataset_parts(job: Job, pack: Pack) -> dict[str, JSON]:
    """The parts of the world that a job and its pack ask for now; systems, trials and timeouts are none."""
    keys = job_to_wire(job)
    parts: dict[str, JSON] = {
        "name": pack.name, "version": pack.version, "geometry": job.geometry, "batch_gate": keys["batch_gate"],
        "count": keys.get("count")}
    if isinstance(job.asks, FromPack):
        parts |= {"pack": job.asks.pack, "seed": job.asks.seed, "reword": job.asks.reword}
    else:
        parts |= {"task": job.asks.task, "cases": job.asks.cases, "split": job.asks.split,
                  "gates": list(job.asks.gates)}
    if job.geometry == "gated" and pack.market is not None:
        prices = pack.market.prices
        parts["prices"] = prices.to_wire() | {
            "budget": prices.budget if job.limits.budget is None else job.limits.budget,
            "steps": prices.steps if job.limits.steps is None else job.limits.steps}
    return parts


def scoring_of(pack: Pack) -> Scoring:
    """How a pack scores now."""
    return Scoring(pack.judge_version, pack.sources.judge_sha256,
                   {track.name: track.fingerprint for track in pack.tracks})


def dataset_of(fields: Fields) -> Dataset:
    """The world in batch.json. Raises ValueError naming the field, and where its fingerprint is not its own."""
    fields.has_exactly(("fingerprint", "parts", "questions_sha256"))
    dataset = Dataset(fields.mapping("parts"), fields.text("questions_sha256"))
    _check_fingerprint(fields, dataset.fingerprint)
    return dataset


def scoring_in(fields: Fields) -> Scoring:
    """The scoring in batch.json. Raises ValueError naming the field, and where its fingerprint is not its own."""
    fields.has_exactly(("fingerprint", "judge_version", "judge_sha256", "tracks"))
    tracks = fields.inner("tracks")
    scoring = Scoring(fields.text("judge_version"), fields.text("judge_sha256"),
                      {name: tracks.text(name) for name in tracks.values})
    _check_fingerprint(fields, scoring.fingerprint)
    return scoring


def _check_fingerprint(fields: Fields, right: str) -> None:
    if fields.text("fingerprint") != right:
        raise ValueError(f"{fields.at('fingerprint')} is not that of what stands beside it: it was altered")


def folder_sha256(folder: Path, sources: Sequence[str] = _SOURCES) -> str:
    r"""64 hex over the texts of a folder of source, line ends as "\n"; caches and what was made have no part in it."""
    paths = sorted(path for pattern in sources for path in folder.rglob(pattern)
                   if not any(part.startswith(("_llm_cache", "__pycache__", ".")) for part in
                              path.relative_to(folder).parts))
    return digest([[path.relative_to(folder).as_posix(), _text_sha256(path)] for path in paths])


def _text_sha256(path: Path) -> str:
    return sha256_hex(read_whole(path, MOST_SOURCE_BYTES).replace(b"\r\n", b"\n"))
