"""A robot that answers, and orders to record it, for the tests of sessions."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.json_text import short_digest
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.running.engine import Observer
from benchkit.running.plan import Assignment, RemainingWork
from benchkit.running.workload import RunContext, Workload
from benchkit.systems.system import Loaded
from benchkit.tasks.task import Prompt, Task
from benchkit.trial_log.lines import TrialLine

ROBOT = "toys:robot"
TASK = Task(
    "toy_task", "Toy", "1", "0" * 64, lambda case: [], lambda: None, lambda case, output: {"right": output == "yes"},
    None, {}, ())


@dataclass
class Robot:
    """A system that notes what it is asked in `calls`. `now` are its settings once it is open."""

    calls: list[str] = field(default_factory=list)
    now: dict[str, JSON] = field(default_factory=lambda: {"model": "toy", "digest": "d1", "heat": 1.0})
    unknown: tuple[str, ...] = ("digest",)
    server: dict[str, JSON] = field(default_factory=lambda: {"server": "toy", "server_version": "1"})
    answers: Callable[[Request], Reply] = lambda request: Reply(f"{request.case} {request.trial}", latency_s=0.5)
    loaded: Loaded = field(default_factory=lambda: Loaded(1.5, 4096, {"family": "toys"}))
    fails: Mapping[str, BaseException] = field(default_factory=dict)
    is_open: bool = False

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if what in self.fails:
            raise self.fails[what]

    def open(self) -> Mapping[str, JSON]:
        self._called("open")
        self.is_open = True
        return self.server

    def settings(self) -> Mapping[str, JSON]:
        return self.now if self.is_open else {**self.now, **dict.fromkeys(self.unknown)}

    def warm(self) -> Loaded:
        self._called("warm")
        return self.loaded

    def answer(self, request: Request) -> Reply:
        self._called(f"{request.case} {request.trial}" + (f" again {request.attempt}" if request.attempt > 1 else ""))
        return self.answers(request)

    def close(self) -> None:
        self.calls.append("close")


class Silent:
    """Nobody watches."""

    def starts(self, assignment: Assignment) -> None:
        """Nothing."""

    def recorded(self, line: TrialLine) -> None:
        """Nothing."""


def silent(remaining: RemainingWork) -> AbstractContextManager[Observer]:
    """An observer that sees nothing."""
    return nullcontext(Silent())


def context(said: list[str] | None = None, stop: StopRequest | None = None) -> RunContext:
    """The real clock; what is said goes into `said`."""
    return RunContext((), 0.0, ([] if said is None else said).append, None, Clock(), stop or StopRequest())


def order(
    log: Path, *robots: Robot, cases: Sequence[str] = ("a", "b"), asked: Mapping[str, str] | None = None,
    trials: int = 2, **more: Any,
) -> Workload:
    """Record robots over cases; `asked` gives cases another prompt."""
    asks = {case: (asked or {}).get(case, case) for case in cases}
    prompts = {case: Prompt(({"role": "user", "content": text},), None, short_digest(text))
               for case, text in asks.items()}
    names = [ROBOT, "toys:doll"]
    made = Workload(
        log=log, systems=dict(zip(names, robots, strict=False)), title=TASK.title,
        cases=tuple(Case(case, "development", case, "yes") for case in cases), prompts=prompts, split="development",
        trials=trials, budget=Budget(0.0, None), timeout_s=5.0, command=Command("bench.py", ("--quiet",)))
    return replace(made, **more)


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The lines of a log as they stand in the file."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def kinds(log: Path) -> str:
    """The kinds of a log's lines, in order; a trial by its cell."""
    return " ".join(f"{line['case']}{line['trial']}" if line["kind"] == "trial" else line["kind"]
                    for line in lines_of(log))
