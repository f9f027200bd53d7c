"""From a job to all that its questions need: the pack it names, or its task and cases as one.

Each check of the task is a track of 0 or 1, or a hard gate where the job says so. Asked in `single` only; the payload
is the prompt.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from benchkit.basics import json_text
from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.batch import Batch, FoundBatch
from benchkit.boards.fingerprints import dataset_parts
from benchkit.boards.job import FromPack, FromTask, Job
from benchkit.boards.pack import Handed, Pack, PackBaseline, Sources, Step, Track
from benchkit.boards.pack_loading import load_pack
from benchkit.disk.whole_files import shown_path
from benchkit.systems.baselines import GENERIC, right_answer, source_sha256
from benchkit.tasks.judging import judge
from benchkit.tasks.task import Task, in_split, load_task, prompt_of, read_cases, without_labels

SEES_TRUTH_BY_CHANCE = ("coin",)
"""Generic baselines that look the truth of the case up."""


def pack_of_task(task: Task, cases: Sequence[Case], gates: Sequence[str] = ()) -> Pack:
    """The pack that a task over these cases amounts to; `gates` are the checks that are hard gates.

    Raises Unusable for a gate that is no check, and where every check is a gate.
    """
    checks = _check_names(task, cases[0])
    strangers = [name for name in gates if name not in checks]
    if strangers or set(gates) == set(checks):
        wrong = f"names {shown_line(strangers[0], 60)}" if strangers else "names every check"
        raise Unusable(f"gates {wrong}; the checks of task {task.module} are {', '.join(checks)}, and one at least "
                       "must be left to score")
    return Pack(
        module=task.module, name=task.name, version=task.version, judge_version=task.version, synthetic=None,
        sources=Sources(task.source_sha256, task.source_sha256),
        build=lambda seed, count, llm: cases[:count],
        truth_terms=lambda case: (), problems=task.problems or (lambda case: ()),
        answer_key=lambda case: _word_of(case.expected), said_key=_said_key,
        payload=lambda case, geometry: _payload(task, case), messages=_messages,
        schema=lambda view: task.schema(), market=None,
        tracks=tuple(_track(task, name, name in gates) for name in checks), baselines=_baselines(task, cases),
        is_timed=False)


def _check_names(task: Task, case: Case) -> tuple[str, ...]:
    judgement = judge(task, case, "")
    if judgement.checks is None:
        raise Unusable(f"task {task.module}, case {shown_line(case.id, 80)}: an empty output cannot be judged: "
                       f"{judgement.error.message if judgement.error else 'no checks'}")
    return tuple(judgement.checks)


def _payload(task: Task, case: Case) -> JSON:
    return {"messages": [dict(message) for message in prompt_of(task, case).messages]}


def _messages(view: JSON, budget: float | None, steps: int | None) -> Sequence[Message]:
    return cast("Mapping[str, Sequence[Message]]", view)["messages"]


def _track(task: Task, name: str, is_gate: bool) -> Track:
    def holds(case: Case, answer: str, steps: Sequence[Step]) -> bool:
        judgement = judge(task, case, answer)
        if judgement.checks is None:
            raise ValueError(judgement.error.message if judgement.error else "no checks")
        return judgement.checks[name]

    def score(case: Case, answer: str, steps: Sequence[Step]) -> float:
        return float(holds(case, answer, steps))

    return Track(name, "gate" if is_gate else "capability", f"whether the check {name} of the task holds",
                 "anything that the other checks ask", holds if is_gate else score, task.source_sha256)


def _baselines(task: Task, cases: Sequence[Case]) -> Mapping[str, PackBaseline]:
    right = right_answer(task)
    found = {name: _baseline(name, make(tuple(cases), right), name in SEES_TRUTH_BY_CHANCE, make)
             for name, make in GENERIC.items()}
    own = {name: _baseline(name, function, name in task.sees_labels, function)
           for name, function in task.baselines.items()}
    return {**found, **own}


def _baseline(
    name: str, function: Callable[[Case, int], str], sees_truth: bool, source: Callable[..., object],
) -> PackBaseline:
    def answer(view: Handed, seed: int, messages: Sequence[Message]) -> str:
        return function(cast("Case", view), seed)
    return PackBaseline(name, answer, sees_truth, source_sha256(source), _whole_case if sees_truth else _unlabelled)


def _whole_case(case: Case, geometry: str) -> Case:
    return case


def _unlabelled(case: Case, geometry: str) -> Case:
    return without_labels(case)


def _word_of(value: JSON) -> str:
    return shown_line(value if isinstance(value, str) else canonical(value))


def _said_key(answer: str) -> str:
    try:
        return _word_of(json_text.parse(answer.encode("utf-8")))
    except (ValueError, RecursionError):
        return _word_of(answer.strip())


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
    differences = dataset_differences(found.batch, found.batch.job, pack)
    if differences:
        raise Unusable(f"{shown_path(found.folder)}: this batch was made in another world ({differences}); put back "
                       "what made it, or begin another batch with python3 board.py run JOB --fresh")
    return pack


def dataset_differences(batch: Batch, job: Job, pack: Pack) -> str:
    """What differs between the world of a batch and the one that a job asks for now, in words; "" if nothing."""
    return "; ".join(batch.dataset.differences(dataset_parts(job, pack)))
