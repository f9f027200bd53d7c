"""Running cells, several at once: as many threads ask, and the one that called starts, records and tells.

Trials start in the order of the plan and end in any. What has ended by the time the log is written is written
together, with one sync, and told only then; meanwhile the freed threads are asking again. So there are never more
trials than twice the number at once that a kill could cost. What does not live here: one trial (engine.py).
"""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchkit.basics.clock import Clock
from benchkit.running.engine import Answering, Limits, Stopped, Ways, try_cell
from benchkit.running.plan import Assignment
from benchkit.trial_log.lines import TrialLine

SLICE_S = 0.1
"""So often a wait looks up, for a signal handler runs only between waits on some systems."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a trial came to: its line with the sentence that stops the run (None: go on), or an error of the run."""

    line: TrialLine | None = None
    sentence: str | None = None
    error: Exception | None = None


def run_at_once(
    assignments: Iterable[Assignment], answering: Mapping[str, Answering], ways: Ways, limits: Limits, clock: Clock,
    lanes: Callable[[], int],
) -> Stopped:
    """Run cells with up to `lanes` of them under way, until `run_trials` would stop; those under way are finished.

    How many may be under way is asked before each start, for a server may go while others stay.

    A system is prepared when nothing else is under way. Raises as `run_trials`, after what ended is recorded.
    """
    def try_one(assignment: Assignment) -> tuple[TrialLine, str | None]:
        return try_cell(assignment, answering[assignment.cell.system], limits, clock)

    workers = _Workers(try_one, lanes)
    try:
        return _Run(iter(assignments), workers, ways, limits, clock).until_it_stops()
    finally:
        workers.dismiss()


class _Workers:
    """Threads that try cells. They are daemons: a run that is left at once waits for none of them."""

    def __init__(self, try_one: Callable[[Assignment], tuple[TrialLine, str | None]], most: Callable[[], int]) -> None:
        self._try, self._most = try_one, most
        self._given: queue.SimpleQueue[Assignment | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._threads = 0
        self.under_way = 0

    @property
    def are_busy(self) -> bool:
        """Whether none of them is free."""
        return self.under_way >= self._most()

    def give(self, assignment: Assignment) -> None:
        """Start a trial."""
        self.under_way += 1
        if self._threads < self.under_way:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True, name=f"trials {self._threads}").start()
        self._given.put(assignment)

    def take(self) -> list[_Ended]:
        """Wait until a trial has ended; all that have."""
        ended: list[_Ended] = []
        while not ended:
            try:
                ended.append(self._ended.get(timeout=SLICE_S))
            except queue.Empty:
                continue
        while not self._ended.empty():
            ended.append(self._ended.get())
        self.under_way -= len(ended)
        return ended

    def dismiss(self) -> None:
        """Let the threads end, each once its trial has."""
        for _ in range(self._threads):
            self._given.put(None)

    def _work(self) -> None:
        while (assignment := self._given.get()) is not None:
            try:
                line, sentence = self._try(assignment)
                self._ended.put(_Ended(line, sentence))
            except Exception as error:  # noqa: BLE001 - the thread that waits raises it again
                self._ended.put(_Ended(error=error))


class _Run:
    """One run, told from the thread that started it."""

    def __init__(
        self, assignments: Iterator[Assignment], workers: _Workers, ways: Ways, limits: Limits, clock: Clock,
    ) -> None:
        self._assignments, self._workers, self._ways = assignments, workers, ways
        self._limits, self._clock = limits, clock
        self._next = next(assignments, None)
        self._ended: list[TrialLine] = []
        self._system: str | None = None
        self._stopped: Stopped | None = None
        self._error: Exception | None = None

    def until_it_stops(self) -> Stopped:
        """Start what may start, record what has ended meanwhile, wait for more to end, and so on."""
        while True:
            while self._may_start():
                self._start()
            self._record()
            if self._workers.under_way:
                self._heed(self._workers.take())
            elif not self._may_start():
                break
        if self._error is not None:
            raise self._error
        self._limits.stop.raise_if_wished()
        return self._stopped or Stopped("done")

    def _may_start(self) -> bool:
        """Whether the next trial may start now; the budget that ends here ends the run."""
        if self._next is None or self._stopped or self._error or self._limits.stop.signal is not None:
            return False
        is_first, is_other = self._system is None, self._next.cell.system != self._system
        if self._workers.are_busy or (is_other and (self._workers.under_way or self._ended)):
            return False
        if not is_first and self._limits.budget.is_over(self._clock.monotonic()):
            self._stopped = Stopped("budget")
        return self._stopped is None

    def _start(self) -> None:
        assert self._next is not None
        self._system = self._next.cell.system
        self._ways.prepare(self._system)
        self._ways.witness.starts(self._next)
        self._workers.give(self._next)
        self._next = next(self._assignments, None)

    def _record(self) -> None:
        lines, self._ended = self._ended, []
        with self._ways.together():
            for line in lines:
                self._ways.record(line)
        for line in lines:
            self._ways.witness.recorded(line)

    def _heed(self, ended: Iterable[_Ended]) -> None:
        for one in ended:
            self._error = self._error or one.error
            if one.line is not None:
                self._ended.append(one.line)
            if one.sentence is not None and (self._stopped is None or self._stopped.sentence is None):
                self._stopped = Stopped("error", one.sentence)
