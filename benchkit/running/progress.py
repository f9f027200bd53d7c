"""Signs of life: one rewritten line on a terminal, a plain line every 10 s elsewhere, nothing when quiet.

What does not live here: what a trial is worth (tasks/judging.py, told by a function).
"""
from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TextIO

from benchkit.basics.names import shown_line
from benchkit.basics.values import Failure
from benchkit.running.plan import Assignment
from benchkit.trial_log.lines import TrialLine

Verdict = Callable[[str, str], str]
"""(case id, output) -> "pass", "fail" or "incomplete"."""
PLAIN_EVERY_S, TERMINAL_EVERY_S = 10.0, 0.5
EMPTY_OUTPUTS = 5


class Progress:
    """Counts what is recorded and shows it. A daemon thread ticks, so that a long trial shows life too.

    `planned` and `before` are cells: of the whole plan, and recorded before this session.
    """

    def __init__(
        self, planned: int, before: int, verdict: Verdict, monotonic: Callable[[], float], stream: TextIO | None,
    ) -> None:
        self._planned, self._before, self._verdict = planned, before, verdict
        self._monotonic, self._stream = monotonic, stream
        self._counts: Counter[str] = Counter()
        self._start = monotonic()
        self._current = ""
        self._empty = 0
        self._ended = threading.Event()
        self._is_terminal = stream is not None and stream.isatty()
        self._width = 0

    def __enter__(self) -> Progress:
        if self._stream is not None:
            threading.Thread(target=self._tick, daemon=True, name="progress").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._is_terminal and self._stream is not None and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    @property
    def session_counts(self) -> Counter[str]:
        """Verdicts of the trials recorded in this session."""
        return self._counts

    def starts(self, assignment: Assignment) -> None:
        """A trial is about to start."""
        self._current = f"{assignment.cell.case}, trial {assignment.cell.trial}"

    def recorded(self, line: TrialLine) -> None:
        """Count a trial that is in the log."""
        if isinstance(line.outcome, Failure):
            self._counts["incomplete"] += 1
            return
        self._counts[self._verdict(line.cell.case, line.outcome.output)] += 1
        self._empty += not line.outcome.output
        if self._counts.total() == self._empty == EMPTY_OUTPUTS and self._stream is not None:
            self._write_line("the first five outputs are all empty; look at the prompt and the model's options "
                             "(num_predict, reasoning) before going on")

    def line(self) -> str:
        """Where the run stands, in one line."""
        counts, session = self._counts, self._counts.total()
        elapsed = self._monotonic() - self._start
        done = self._before + session
        text = (f"{done}/{self._planned} trials recorded; this session {counts['pass']} pass, {counts['fail']} fail, "
                f"{counts['incomplete']} incomplete")
        if session and elapsed > 0:
            rate = session / elapsed
            text += f"; {rate:.3g} a second, {_duration((self._planned - done) / rate)} left"
        return text + f"; at {shown_line(self._current, 50)}" if self._current else text

    def _tick(self) -> None:
        every = TERMINAL_EVERY_S if self._is_terminal else PLAIN_EVERY_S
        while not self._ended.wait(every):
            if self._is_terminal:
                self._rewrite(self.line())
            else:
                self._write_line(self.line())

    def _rewrite(self, text: str) -> None:
        if self._stream is not None:
            text = text[:150]
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
            self._width = len(text)

    def _write_line(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(("\r" if self._width else "") + text.ljust(self._width) + "\n")
            self._stream.flush()
            self._width = 0


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
