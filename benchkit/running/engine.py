"""Running cells, one after the other: ask, wait, record, and only then go on.

A trial is recorded before anything shows it and before the next request is sent. The engine knows no server and
no task; it decides only when to stop.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import requests_with
from benchkit.basics.values import JSON, ErrorFacts, Failure, Outcome, Request
from benchkit.running.plan import Assignment
from benchkit.systems.guarding import answered
from benchkit.systems.system import System
from benchkit.tasks.task import Prompt
from benchkit.trial_log.lines import TrialLine

MOST_REFUSALS = 3
"""So many trials in a row may be refused by a server that wants to be left alone for longer than they last."""
SLEPT_S = 5.0
"""A wall clock that ran further ahead than this during a trial is kept: the machine slept."""


class Observer(Protocol):
    """Who watches a run: told after a trial is recorded, never before."""

    def starts(self, assignment: Assignment) -> None:
        """A trial is about to start."""

    def recorded(self, line: TrialLine) -> None:
        """A trial is in the log, synced."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A system that is open, with what binds its replies: its settings, and the prompts by case.

    `request` makes of an ask and a seed what binds a reply to its cell.
    """

    system: System
    settings: Mapping[str, JSON]
    prompts: Mapping[str, Prompt]
    request: Callable[[str, int], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the text of the settings once, not for every trial."""
        object.__setattr__(self, "request", requests_with(self.settings))


class Refusals:
    """Trials in a row that ended in the same refusal, counted over all that are under way at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sentences: list[str] = []

    def add(self, sentence: str | None) -> str | None:
        """A trial ended, with what would stop the run in a row (None: with anything else); what stops it, if it does.

        The words are those of the first of the row: the server itself said them.
        """
        with self._lock:
            self._sentences = [] if sentence is None else [*self._sentences, sentence]
            is_enough = len(self._sentences) >= MOST_REFUSALS
            return f"{MOST_REFUSALS} trials in a row ended so: {self._sentences[0]}" if is_enough else None


@dataclass(frozen=True, slots=True)
class RunLimits:
    """When to stop: the budget of the session, the seconds of one trial, a request to stop, refusals in a row."""

    budget: Budget
    timeout_s: float
    stop: StopRequest
    clock: Clock
    refusals: Refusals = field(default_factory=Refusals)


@dataclass(frozen=True, slots=True)
class Stopped:
    """How the trials ended: `done`, `budget`, or `error` with the sentence that says why."""

    reason: str
    sentence: str | None = None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What is done around a trial: `prepare` its system before the first, `record` its line, tell the `observer`.

    Lines that are recorded within `together` are on the disk only when it ends.
    """

    prepare: Callable[[str], None]
    record: Callable[[TrialLine], None]
    observer: Observer
    together: Callable[[], AbstractContextManager[None]] = nullcontext


def run_trials(
    assignments: Iterable[Assignment], answering: Mapping[str, Answering], callbacks: Callbacks, limits: RunLimits,
) -> Stopped:
    """Run cells in order until they are done, the budget is over, or no further trial can succeed.

    The first trial always starts: a budget shorter than a trial must still move forward. Raises Interrupted when a
    signal came (the trial under way is dropped), and EnvironmentFailure when the log cannot be written.
    """
    is_first = True
    for assignment in assignments:
        limits.stop.raise_if_wished()
        if not is_first and limits.budget.is_over(limits.clock.monotonic()):
            return Stopped("budget")
        is_first = False
        callbacks.prepare(assignment.cell.system)
        limits.stop.raise_if_wished()  # a signal may have come while the model was loaded
        callbacks.observer.starts(assignment)
        line, sentence = try_cell(assignment, answering[assignment.cell.system], limits)
        callbacks.record(line)
        callbacks.observer.recorded(line)
        if sentence is not None:
            return Stopped("error", sentence)
    limits.stop.raise_if_wished()
    return Stopped("done")


def try_cell(assignment: Assignment, answering: Answering, limits: RunLimits) -> tuple[TrialLine, str | None]:
    """One trial, ended: its line, and the sentence that stops the run (None: go on)."""
    cell, prompt, clock = assignment.cell, answering.prompts[assignment.cell.case], limits.clock
    wall, monotonic = clock.wall(), clock.monotonic()
    started_at = clock.stamp()
    request = Request(
        case=cell.case, trial=cell.trial, attempt=assignment.attempt, seed=cell.seed, messages=prompt.messages,
        schema=prompt.schema, deadline=monotonic + limits.timeout_s)
    outcome, sentence = _outcome(answering.system, request, limits)
    if isinstance(outcome, Failure):
        limits.stop.raise_if_wished()  # what a signal broke off is no error of the system, and runs again
    slept = (clock.wall() - wall) - (clock.monotonic() - monotonic)
    return TrialLine(
        cell=cell, attempt=assignment.attempt, request=answering.request(prompt.ask, cell.seed),
        started_at=started_at, outcome=outcome, slept_s=slept if slept > SLEPT_S else None), sentence


def _outcome(system: System, request: Request, limits: RunLimits) -> tuple[Outcome, str | None]:
    start = limits.clock.monotonic()
    try:
        reply = answered(system, request)
    except TrialError as error:
        facts = ErrorFacts(error.type, error.message, error.partial)
        in_a_row = limits.refusals.add(error.stops_in_a_row)
        return Failure(facts, error.latency_s, error.retries, error.waited_s), error.stops or in_a_row
    limits.refusals.add(None)
    if reply.latency_s is None:
        # a system that does not time its own requests is timed from outside
        reply = replace(reply, latency_s=limits.clock.monotonic() - start)
    return reply, None
