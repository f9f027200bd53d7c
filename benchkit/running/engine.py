"""Running cells, one after the other or several at once: ask, wait, record, and only then go on.

A trial is recorded before anything shows it. The engine knows no server and no task; it decides only when to stop.
"""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

from benchkit.basics import values
from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import requests_with
from benchkit.basics.texts import count_of
from benchkit.running.plan import Assignment
from benchkit.systems.guarding import answered
from benchkit.systems.system import System
from benchkit.tasks.task import Prompt
from benchkit.trial_log.lines import TrialLine

MOST_REFUSALS = 3
"""So many trials in a row may be refused by a server that wants to be left alone for longer than they last."""
SLEPT_S = 5.0
"""A wall clock that ran further ahead than this during a trial is kept: the machine slept."""
SLICE_S = 0.1
"""So often a wait looks up, for a signal handler runs only between waits on some systems."""


class Observer(Protocol):
    """Who watches a run: told after a trial is recorded, never before."""

    def starts(self, assignment: Assignment) -> None:
        """A trial is about to start; told by whichever thread starts it, one at a time."""

    def recorded(self, line: TrialLine) -> None:
        """A trial is in the log, synced; told by the thread that runs the session."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A system that is open, with what binds its replies: its settings, and the prompts by case.

    `request` makes of an ask and a seed what binds a reply to its cell.
    """

    system: System
    settings: Mapping[str, values.JSON]
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
        line, sentence = _tried(assignment, answering[assignment.cell.system], limits)
        callbacks.record(line)
        callbacks.observer.recorded(line)
        if sentence is not None:
            return Stopped("error", sentence)
    limits.stop.raise_if_wished()
    return Stopped("done")


def run_at_once(
    assignments: Iterable[Assignment], answering: Mapping[str, Answering], callbacks: Callbacks, limits: RunLimits,
    most: int, say: Callable[[str], None],
) -> Stopped:
    """The same with up to `most` cells under way; those that are when it stops are finished.

    Trials start in the order of the plan and end in any. A system is prepared when nothing else is under way. Where no
    more threads can be started there are fewer at once, which is told by `say`; without any, this thread asks. An error
    of the run is raised after what ended is recorded.
    """
    return _AtOnce(assignments, answering, callbacks, limits, most, say).run()


def _tried(assignment: Assignment, answering: Answering, limits: RunLimits) -> tuple[TrialLine, str | None]:
    """One trial, ended: its line, and the sentence that stops the run (None: go on)."""
    cell, prompt, clock = assignment.cell, answering.prompts[assignment.cell.case], limits.clock
    started_at, wall, start = clock.stamp(), clock.wall(), clock.monotonic()
    outcome: values.Outcome
    sentence = None
    try:
        reply = answered(answering.system, values.Request(
            case=cell.case, trial=cell.trial, attempt=assignment.attempt, seed=cell.seed, messages=prompt.messages,
            schema=prompt.schema, deadline=start + limits.timeout_s))
    except TrialError as error:
        in_a_row = limits.refusals.add(error.stops_in_a_row)
        limits.stop.raise_if_wished()  # what a signal broke off is no error of the system, and runs again
        facts = values.ErrorFacts(error.type, error.message, error.partial)
        outcome = values.Failure(facts, error.latency_s, error.retries, error.waited_s)
        sentence = error.stops or in_a_row
    else:
        limits.refusals.add(None)
        # a system that does not time its own requests is timed from outside
        outcome = reply if reply.latency_s is not None else replace(reply, latency_s=clock.monotonic() - start)
    slept = (clock.wall() - wall) - (clock.monotonic() - start)
    return TrialLine(
        cell=cell, attempt=assignment.attempt, request=answering.request(prompt.ask, cell.seed),
        started_at=started_at, outcome=outcome, slept_s=slept if slept > SLEPT_S else None), sentence


class _AtOnce:
    """One run of several at once: as many threads ask, and the one that called records and tells.

    A thread whose trial has ended takes the next one itself, so that the server is not left waiting for the disk; what
    has ended by the time the log is written is written together, with one sync, and told only then. There are never
    more trials than twice the number at once that a kill could cost.

    What the threads share is read and changed under the lock only.
    """

    def __init__(
        self, assignments: Iterable[Assignment], answering: Mapping[str, Answering], callbacks: Callbacks,
        limits: RunLimits, most: int, say: Callable[[str], None],
    ) -> None:
        self._assignments, self._answering, self._callbacks = iter(assignments), answering, callbacks
        self._limits, self._most, self._say = limits, most, say
        self._ended: queue.SimpleQueue[TrialLine | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._next = next(self._assignments, None)
        self._under_way = self._unrecorded = 0
        self._system: str | None = None
        self._stopped: Stopped | None = None
        self._error: BaseException | None = None

    def run(self) -> Stopped:
        """Start what may start, record what has ended, wait for more to end, and so on."""
        try:
            while self._start():
                self._record()
        finally:
            with self._lock:
                self._stopped = self._stopped or Stopped("done")  # also for threads that are still asking
        if self._error is not None:
            raise self._error
        self._limits.stop.raise_if_wished()
        return self._stopped

    def _start(self) -> bool:
        """Start a thread for each trial that may start now; whether any is under way or unrecorded."""
        while True:
            with self._lock:
                assignment = self._taken(may_prepare=True)
                if assignment is None:
                    return self._under_way + self._unrecorded > 0
            try:
                # daemons: a run that is left at once waits for none of them
                threading.Thread(target=self._work, args=(assignment,), daemon=True, name="trials").start()
            except (RuntimeError, MemoryError):
                self._go_on_with_fewer(assignment)

    def _go_on_with_fewer(self, assignment: Assignment) -> None:
        """No thread could be started for this trial: it is put back for those there are, or else tried here."""
        with self._lock:
            most_before, others = self._most, self._under_way - 1
            self._most = max(1, others)
            if others:
                self._under_way, self._next, following = others, assignment, self._next
                self._assignments = chain([] if following is None else [following], self._assignments)
        if self._most != most_before:
            self._say(f"no more threads can be started here (too little memory, or ulimit -u): from now on "
                      f"{count_of(self._most, 'trial')} at once")
        if not others:
            self._work(assignment)

    def _work(self, assignment: Assignment | None) -> None:
        """Try a cell, and then the next for as long as there is one that may start."""
        while assignment is not None:
            line, sentence, failed = None, None, None
            try:
                line, sentence = _tried(assignment, self._answering[assignment.cell.system], self._limits)
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - `run` raises it again, in its own thread
                failed = error
            with self._lock:
                self._under_way -= 1
                self._unrecorded += line is not None
                self._error = self._error or failed
                if sentence is not None and (self._stopped is None or self._stopped.sentence is None):
                    self._stopped = Stopped("error", sentence)
                assignment = self._taken(may_prepare=False)
            self._ended.put(line)

    def _taken(self, *, may_prepare: bool) -> Assignment | None:
        """The next trial, started as far as the run goes; None if none may start now."""
        taken, limits = self._next, self._limits
        if taken is None or not self._may_start(taken.cell.system):
            return None
        try:
            if taken.cell.system != self._system:
                if not may_prepare:
                    return None
                self._callbacks.prepare(taken.cell.system)
                self._system = taken.cell.system
                if limits.stop.signal is not None:
                    return None  # it came while the model was loaded
            following = next(self._assignments, None)
            self._callbacks.observer.starts(taken)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - `run` raises it again, in its own thread
            self._error = self._error or error
            return None
        self._under_way, self._next = self._under_way + 1, following
        return taken

    def _may_start(self, system: str) -> bool:
        """Whether a trial of that system may start now; the budget that ends here ends the run."""
        if self._stopped or self._error or self._limits.stop.signal is not None:
            return False
        not_recorded = self._under_way + self._unrecorded
        if self._under_way >= self._most or not_recorded >= 2 * self._most or (
                system != self._system and not_recorded):
            return False
        if self._system is not None and self._limits.budget.is_over(self._limits.clock.monotonic()):
            self._stopped = Stopped("budget")
        return self._stopped is None

    def _record(self) -> None:
        """Wait until a trial has ended, and record all that have."""
        ended: list[TrialLine | None] = []
        while not ended or not self._ended.empty():
            with suppress(queue.Empty):
                ended.append(self._ended.get(timeout=SLICE_S))
        lines = [line for line in ended if line is not None]
        with self._callbacks.together():
            for line in lines:
                self._callbacks.record(line)
        with self._lock:
            self._unrecorded -= len(lines)
        for line in lines:
            self._callbacks.observer.recorded(line)
