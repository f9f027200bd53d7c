"""From a job to its pack (the one it names, or its task and cases as one), and what a batch of it must agree with.

Changed questions make cells that do not compare. A changed scoring judges the same answers otherwise: `recompute`
mends it without a model.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import canonical, digest, parse
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.job import FromPack, FromTask, Job
from benchkit.boards.pack import Handed, Pack, PackBaseline, Step, Track, load_pack, whole_case
from benchkit.running.plan import settings_differences
from benchkit.systems.baselines import GENERIC, right_answer, source_sha256
from benchkit.tasks.judging import judge
from benchkit.tasks.task import Task, in_split, load_task, prompt_of, read_cases, without_labels

SEES_TRUTH_BY_CHANCE = ("coin",)
"""Generic baselines that look the truth of the case up."""


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
    return asks.count if isinstance(asks, FromPack) else len(_cases_of(job, asks)[:asks.count])


def _cases_of(job: Job, asks: FromTask) -> tuple[Case, ...]:
    return in_split(read_cases(Path(asks.cases), f"cases = ... in the job {job.name}"), asks.split,
                    f"split in the job {job.name}:")


def pack_of_task(task: Task, cases: Sequence[Case], gates: Sequence[str] = ()) -> Pack:
    """The pack that a task over these cases amounts to, for `single` only: the payload is the prompt, and each check a
    track of 0 or 1, or a hard gate where it is one of `gates`.

    Raises Unusable for a gate that is no check, and where every check is a gate.
    """
    probe = judge(task, cases[0], "")
    if probe.checks is None:
        raise Unusable(f"task {task.module}, case {shown_line(cases[0].id, 80)}: an empty output cannot be judged: "
                       f"{probe.error.message if probe.error else 'no checks'}")
    strangers = [name for name in gates if name not in probe.checks]
    if strangers or set(gates) == set(probe.checks):
        wrong = f"names {shown_line(strangers[0], 60)}" if strangers else "names every check"
        raise Unusable(f"gates {wrong}; the checks of task {task.module} are {', '.join(probe.checks)}, and one at "
                       "least must be left to score")
    right = right_answer(task)
    baselines = {name: _baseline(name, make(tuple(cases), right), name in SEES_TRUTH_BY_CHANCE, make)
                 for name, make in GENERIC.items()}
    baselines |= {name: _baseline(name, function, name in task.sees_labels, function)
                  for name, function in task.baselines.items()}
    return Pack(
        module=task.module, name=task.name, version=task.version, judge_version=task.version, synthetic=None,
        pack_sha256=task.source_sha256, judge_sha256=task.source_sha256,
        build=lambda seed, count, llm: cases[:count],
        truth_terms=lambda case: (), problems=task.problems or (lambda case: ()),
        answer_key=lambda case: _word_of(case.expected), said_key=_said_key,
        payload=lambda case, geometry: {"messages": [dict(one) for one in prompt_of(task, case).messages]},
        messages=lambda view, budget, steps: cast("Mapping[str, Sequence[Message]]", view)["messages"],
        schema=lambda view: task.schema(), market=None,
        tracks=tuple(_track(task, name, name in gates) for name in probe.checks), baselines=baselines, is_timed=False)


def _track(task: Task, name: str, is_gate: bool) -> Track:
    def verdict(case: Case, answer: str, steps: Sequence[Step]) -> float | bool:
        judgement = judge(task, case, answer)
        if judgement.checks is None:
            raise ValueError(judgement.error.message if judgement.error else "no checks")
        return judgement.checks[name] if is_gate else float(judgement.checks[name])

    return Track(name, "gate" if is_gate else "capability", f"whether the check {name} of the task holds",
                 "anything that the other checks ask", verdict, task.source_sha256)


def _baseline(
    name: str, function: Callable[[Case, int], str], sees_truth: bool, source: Callable[..., object],
) -> PackBaseline:
    def answer(view: Handed, seed: int, messages: Sequence[Message]) -> str:
        return function(cast("Case", view), seed)

    return PackBaseline(name, answer, sees_truth, source_sha256(source),
                        whole_case if sees_truth else lambda case, geometry: without_labels(case))


def _word_of(value: JSON) -> str:
    return shown_line(value if isinstance(value, str) else canonical(value))


def _said_key(answer: str) -> str:
    try:
        return _word_of(parse(answer.encode("utf-8")))
    except (ValueError, RecursionError):
        return _word_of(answer.strip())


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
        return digest(asdict(self))

    def differences(self, parts: Mapping[str, JSON]) -> str:
        """What differs in the parts of another, in words: `seed: 1 -> 2`; empty: nothing."""
        return "; ".join(settings_differences(self.parts, parts))

    def to_wire(self) -> dict[str, JSON]:
        """As it stands in batch.json."""
        return {"fingerprint": self.fingerprint, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Scoring:
    """How answers are judged: the judges' version and text, and a digest for each track."""

    judge_version: str
    judge_sha256: str
    tracks: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """64 hex over all of it."""
        return digest(asdict(self))

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
        return {"fingerprint": self.fingerprint, **asdict(self)}


def dataset_parts(job: Job, pack: Pack) -> dict[str, JSON]:
    """What makes the questions that a job and its pack ask for now; systems, trials and timeouts do not."""
    parts: dict[str, JSON] = {
        "name": pack.name, "version": pack.version, "geometry": job.geometry,
        "batch_gate": asdict(job.batch_gate), "count": job.asks.count, **asdict(job.asks)}
    if job.geometry == "gated" and pack.market is not None:
        parts["prices"] = asdict(pack.market.prices.limited(job.limits.budget, job.limits.steps))
    return parts


def scoring_of(pack: Pack) -> Scoring:
    """How a pack scores now."""
    return Scoring(pack.judge_version, pack.judge_sha256,
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
