"""A task and its cases in the place of a pack: one engine, two doors.

Each check of the task is a track of 0 or 1, or a hard gate where the job says so. Asked in `single` only; the payload
is the prompt. What does not live here: the task itself (tasks/task.py) and judging (tasks/judging.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from benchkit.basics import strict_json
from benchkit.basics.canonical import canonical
from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.pack import Baseline, Handed, Pack, Sources, Step, Track
from benchkit.systems.baselines import GENERIC, right_answer, source_sha256
from benchkit.tasks.judging import judge
from benchkit.tasks.task import Task, prompt_of, without_labels

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


def _baselines(task: Task, cases: Sequence[Case]) -> Mapping[str, Baseline]:
    right = right_answer(task)
    found = {name: _baseline(name, make(tuple(cases), right), name in SEES_TRUTH_BY_CHANCE, make)
             for name, make in GENERIC.items()}
    own = {name: _baseline(name, function, name in task.sees_labels, function)
           for name, function in task.baselines.items()}
    return {**found, **own}


def _baseline(
    name: str, function: Callable[[Case, int], str], sees_truth: bool, source: Callable[..., object],
) -> Baseline:
    def answer(view: Handed, seed: int, messages: Sequence[Message]) -> str:
        return function(cast("Case", view), seed)
    return Baseline(name, answer, sees_truth, source_sha256(source), _whole_case if sees_truth else _unlabelled)


def _whole_case(case: Case, geometry: str) -> Case:
    return case


def _unlabelled(case: Case, geometry: str) -> Case:
    return without_labels(case)


def _word_of(value: JSON) -> str:
    return shown_line(value if isinstance(value, str) else canonical(value))


def _said_key(answer: str) -> str:
    try:
        return _word_of(strict_json.parse(answer.encode("utf-8")))
    except (ValueError, RecursionError):
        return _word_of(answer.strip())
