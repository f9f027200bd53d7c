"""Logs of any size without asking anyone: the example's cases again and again, answers drawn by a seeded rule.

They measure what is done with a log, nothing else; the system they are of is called `synthetic:draws`, so that nobody
takes one for a recording.
"""
from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchkit.basics.json_text import request_of
from benchkit.basics.values import JSON, Case, Cell, ErrorFacts, Failure, Outcome, Reply, Timings, Usage
from benchkit.tasks.task import Task, in_split, load_task, prompt_of, read_cases
from benchkit.trial_log.lines import (
    Line,
    LinePosition,
    LoadedLine,
    PlanLine,
    PlannedCase,
    SessionLine,
    StopLine,
    SystemLine,
    TrialLine,
    bytes_of,
)
from benchmarks.measuring import ROOT

SYSTEM = "synthetic:draws"
SETTINGS: Mapping[str, JSON] = {"model": "draws", "options": {"temperature": 0.8}}
SPLIT = "development"
SESSION = "0123456789abcdef"
STARTED, ENDED = "2026-11-30T12:00:00.000Z", "2026-11-30T13:00:00.000Z"
ERROR_SHARE = 0.01


def example_task() -> Task:
    """The task of the example."""
    return load_task("triage_task", (ROOT,))


def many_cases(count: int) -> tuple[Case, ...]:
    """The development cases of the example, repeated under new ids until there are `count`."""
    known = in_split(read_cases(ROOT / "cases.json"), SPLIT)
    return tuple(replace(known[number % len(known)], id=f"case-{number + 1:05}") for number in range(count))


def put_cases(path: Path, cases: Sequence[Case]) -> None:
    """Write a file of cases."""
    fields = [{"id": case.id, "split": case.split, "input": case.input, "expected": case.expected,
               "tags": list(case.tags)} for case in cases]
    path.write_text(json.dumps({"cases": fields}, indent=1) + "\n", encoding="ascii")


def put_log(path: Path, cases: Sequence[Case], trials: int, seed: int = 1) -> None:
    """Write the log of one complete session, trial by trial, case by case."""
    with path.open("wb") as file:
        file.writelines(log_bytes(example_task(), cases, trials, random.Random(seed)))


def log_bytes(task: Task, cases: Sequence[Case], trials: int, chance: random.Random) -> Iterator[bytes]:
    """The log, line by line."""
    asks = {case.id: prompt_of(task, case).ask for case in cases}
    answers = {case.id: _answers(task, case) for case in cases}
    planned = tuple(PlannedCase(name, ask) for name, ask in asks.items())
    lines: tuple[Line, ...] = (
        SessionLine(STARTED, None, {"processor": "none"}, 120.0, None, 1),
        PlanLine("1.0.0", task.title, SPLIT, planned, trials, (SYSTEM,)),
        SystemLine(SYSTEM, SETTINGS),
        LoadedLine(0.0),
    )
    number = 0
    for number, line in enumerate(lines):
        yield bytes_of(line, LinePosition(SESSION, number))
    for trial in range(1, trials + 1):
        for case in cases:
            number += 1
            cell = Cell(SYSTEM, case.id, trial)
            request = request_of(asks[case.id], SETTINGS, cell.seed)
            outcome = _drawn(answers[case.id], chance)
            yield bytes_of(TrialLine(cell, 1, request, STARTED, outcome), LinePosition(SESSION, number))
    yield bytes_of(StopLine("complete", ENDED), LinePosition(SESSION, number + 1))


def _answers(task: Task, case: Case) -> tuple[str, ...]:
    """A right answer, what a rule says, and no answer at all."""
    return task.baselines["labels"](case, 1), task.baselines["keywords"](case, 1), "I cannot say."


def _drawn(answers: Sequence[str], chance: random.Random) -> Outcome:
    latency = round(0.2 + chance.expovariate(4.0), 6)
    if chance.random() < ERROR_SHARE:
        return Failure(ErrorFacts("Unfinished", "the reply ended in the middle", answers[0][:20]), latency)
    output = chance.choices(answers, (8, 3, 1))[0]
    timings = Timings(0.001, round(latency / 4, 6), round(latency / 2, 6), round(latency / 3, 6), 0.002)
    return Reply(output, "stop", None, Usage(400, 40, 380), timings, latency)
