"""A toy task, its cases and a small recording made by hand, for the tests of tasks, recordings and their commands."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchkit.basics.json_text import request_of
from benchkit.basics.values import JSON, Case, ErrorFacts, Failure, Outcome, Reply, TaskName, Timings, Usage
from benchkit.recordings.recording import RecordedCase, RecordedTrial, Recording, SessionFacts, not_run
from benchkit.tasks.task import Task, load_task, prompt_of, read_cases

TASK_SOURCE = '''\
"""Is a number even?"""
NAME, VERSION = "Parity", "1"


def messages(case):
    return [{"role": "user", "content": f"Is {case.input} even? yes or no"}]


def schema():
    return None


def check(case, output):
    return {"short": len(output) < 5, "right": output == case.expected}


def explain(case, output):
    return {"short": f"{len(output)} letters", "right": f"expected {case.expected}, got {output[:20]}"}


def baselines():
    return {"always": lambda case, seed: "yes", "label": lambda case, seed: case.expected}


SEES_LABELS = ("label",)
'''

CASES: list[dict[str, JSON]] = [
    {"id": "two", "split": "development", "input": 2, "expected": "yes", "tags": ["small"]},
    {"id": "three", "split": "development", "input": 3, "expected": "no", "tags": []},
    {"id": "nine", "split": "test", "input": 9, "expected": "no", "tags": ["small"]},
]

SETTINGS: Mapping[str, JSON] = {"model": "toy", "temperature": 1.0}
SESSION = SessionFacts(
    "2026-11-30T12:00:00.000Z", None, {"processor": "a chip", "platform": "an OS", "server": "toy", "python": "3"},
    120.0, None, 1.5, "complete")


def put_task(folder: Path, source: str = TASK_SOURCE, name: str = "parity_task") -> Path:
    """The toy task as a module in a folder."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8", newline="\n")
    return path


def put_cases(folder: Path, cases: object = CASES) -> Path:
    """The toy cases as a file in a folder."""
    path = folder / "cases.json"
    path.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    return path


def toy(folder: Path, source: str = TASK_SOURCE) -> tuple[Task, tuple[Case, ...]]:
    """The toy task and its development cases."""
    put_task(folder, source)
    cases = read_cases(put_cases(folder))
    return load_task("parity_task", [folder]), tuple(case for case in cases if case.split == "development")


def reply(output: str, reasoning: str | None = None) -> Reply:
    """A whole answer, every field filled."""
    return Reply(output, "stop", reasoning, Usage(20, 2, 5), Timings(0.001, 0.02, 0.3, 0.05, 0.0), 0.4, 1, 0.25)


def failure(type_name: str = "Timeout", partial: str | None = "ye") -> Failure:
    """No whole answer."""
    return Failure(ErrorFacts(type_name, "no reply in 120 s", partial), 120.0, 0, 0.0)


def recorded(ask: str, trial: int, outcome: Outcome, slept_s: float | None = None) -> RecordedTrial:
    """A trial that ran, cold if it is the first."""
    return RecordedTrial(
        trial, 1000 + trial, request_of(ask, SETTINGS, 1000 + trial), outcome, 1, trial == 1, slept_s)


def recording(task: Task, cases: tuple[Case, ...], outcomes: Mapping[str, list[Outcome | None]]) -> Recording:
    """What came of every trial by case; None did not run."""
    made = []
    for case in cases:
        ask = prompt_of(task, case).ask
        made.append(RecordedCase(case.id, ask, tuple(
            not_run(number, 1000 + number, "not run: the budget ended first") if outcome is None
            else recorded(ask, number, outcome) for number, outcome in enumerate(outcomes[case.id], 1))))
    return Recording("1.0.0", TaskName("parity_task", "Parity", "1"), "development", "toys:robot", SETTINGS,
                     len(next(iter(outcomes.values()))), (SESSION,), tuple(made))


def mixed_outcomes() -> dict[str, list[Outcome | None]]:
    """One of everything: right, wrong, empty, hostile, an error, not run."""
    return {"two": [reply("yes", "thinking"), failure(), reply("</script>\x1b[31m\u2028\U0001f600 %s"), None],
            "three": [reply("no"), reply(""), failure("BrokenReply", None), None]}
