"""Running cells, several at once: as many threads ask, and the one that called records and tells.

Trials start in the order of the plan and end in any. A thread whose trial has ended takes the next one itself, so that
the server is not left waiting for the disk; what has ended by the time the log is written is written together, with
one sync, and told only then. There are never more trials than twice the number at once that a kill could cost.
"""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from benchkit.basics.texts import count_of
from benchkit.running.engine import Answering, Callbacks, RunLimits, Stopped, try_cell
from benchkit.running.plan import Assignment
from benchkit.trial_log.lines import TrialLine

SLICE_S = 0.1
"""So often a wait looks up, for a signal handler runs only between waits on some systems."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a trial came to: its line with the sentence that stops the run (None: go on), or an error of the run."""

    line: TrialLine | None = None
    sentence: str | None = None
    error: Exception | KeyboardInterrupt | None = None


def run_at_once(
    assignments: Iterable[Assignment], answering: Mapping[str, Answering], callbacks: Callbacks, limits: RunLimits,
    most: int, say: Callable[[str], None],
) -> Stopped:
    """Run cells with up to `most` of them under way, until `run_trials` would stop; those under way are finished.

    The observer is told of a start by whichever thread starts, one at a time, and of what is recorded by the thread
    that called.

    Where no more threads can be started there are fewer at once, which is told by `say`; without any, the calling
    thread asks.

    A system is prepared when nothing else is under way. Raises as `run_trials`, after what ended is recorded.
    """
    return _Run(iter(assignments), answering, callbacks, limits, most, say).until_it_stops()


class _Run:
    """One run. What its threads share is read and changed under the lock only."""

    def __init__(
        self, assignments: Iterator[Assignment], answering: Mapping[str, Answering], callbacks: Callbacks,
        limits: RunLimits, most: int, say: Callable[[str], None],
    ) -> None:
        self._assignments, self._answering, self._callbacks = assignments, answering, callbacks
        self._limits, self._most, self._say = limits, most, say
        self._ended: queue.SimpleQueue[TrialLine | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._next = next(assignments, None)
        self._under_way = self._unrecorded = 0
        self._system: str | None = None
        self._stopped: Stopped | None = None
        self._error: Exception | KeyboardInterrupt | None = None

    def until_it_stops(self) -> Stopped:
        """Start what may start, record what has ended, wait for more to end, and so on."""
        try:
            while self._start():
                self._record(self._take())
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
                assignment = self._taken_or_error(may_prepare=True)
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
            tried = self._tried(assignment)
            with self._lock:
                self._note(tried)
                assignment = self._taken_or_error(may_prepare=False)
            self._ended.put(tried.line)

    def _tried(self, assignment: Assignment) -> _Tried:
        try:
            return _Tried(*try_cell(assignment, self._answering[assignment.cell.system], self._limits))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the thread that called raises it again
            return _Tried(error=error)

    def _taken_or_error(self, *, may_prepare: bool) -> Assignment | None:
        try:
            return self._taken(may_prepare=may_prepare)
        except Exception as error:  # noqa: BLE001 - the thread that called raises it again
            self._error = self._error or error
            return None

    def _taken(self, *, may_prepare: bool) -> Assignment | None:
        """The next trial, started as far as the run goes; None if none may start now."""
        taken = self._next
        if taken is None or not self._may_start(taken.cell.system):
            return None
        if taken.cell.system != self._system:
            if not may_prepare:
                return None
            self._callbacks.prepare(taken.cell.system)
            self._system = taken.cell.system
            if self._limits.stop.signal is not None:
                return None  # it came while the model was loaded
        following = next(self._assignments, None)
        self._callbacks.observer.starts(taken)
        self._under_way, self._next = self._under_way + 1, following
        return taken

    def _may_start(self, system: str) -> bool:
        """Whether a trial of that system may start now; the budget that ends here ends the run."""
        if self._stopped or self._error or self._limits.stop.signal is not None:
            return False
        most, not_recorded = self._most, self._under_way + self._unrecorded
        is_first, is_other = self._system is None, system != self._system
        if self._under_way >= most or not_recorded >= 2 * most or (is_other and not_recorded):
            return False
        if not is_first and self._limits.budget.is_over(self._limits.clock.monotonic()):
            self._stopped = Stopped("budget")
        return self._stopped is None

    def _note(self, tried: _Tried) -> None:
        self._under_way -= 1
        self._unrecorded += tried.line is not None
        self._error = self._error or tried.error
        if tried.sentence is not None and (self._stopped is None or self._stopped.sentence is None):
            self._stopped = Stopped("error", tried.sentence)

    def _take(self) -> list[TrialLine]:
        """Wait until a trial has ended; the lines of all that have."""
        ended: list[TrialLine | None] = []
        while not ended:
            try:
                ended.append(self._ended.get(timeout=SLICE_S))
            except queue.Empty:
                continue
        while not self._ended.empty():
            ended.append(self._ended.get())
        return [line for line in ended if line is not None]

    def _record(self, lines: Sequence[TrialLine]) -> None:
        with self._callbacks.together():
            for line in lines:
                self._callbacks.record(line)
        with self._lock:
            self._unrecorded -= len(lines)
        for line in lines:
            self._callbacks.observer.recorded(line)
