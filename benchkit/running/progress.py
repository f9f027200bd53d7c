"""Signs of life: one rewritten line on a terminal, a plain line every 10 s elsewhere, nothing when quiet.

What does not live here: what a trial is worth (tasks/judging.py, told by a function).
"""
from __future__ import annotations

import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from benchkit.basics.names import shown_line
from benchkit.basics.values import Failure
from benchkit.running.plan import Ahead, Assignment
from benchkit.trial_log.lines import TrialLine

Verdict = Callable[[str, str], str]
"""(case id, output) -> a word, such as "pass", "fail" or "incomplete"."""
PLAIN_EVERY_S, TERMINAL_EVERY_S = 10.0, 0.5
EMPTY_OUTPUTS = 5
ALL_EMPTY = (f"the first {EMPTY_OUTPUTS} outputs are all empty; look at the prompt and at the model's options "
             f"(num_predict, think) before it goes on like this")
USUAL_COLUMNS = 80


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How an output is judged while it runs, and the words that are counted in the line of progress, in order."""

    of: Verdict
    words: tuple[str, ...] = ("pass", "fail", "incomplete")


@dataclass(frozen=True, slots=True)
class Around:
    """Where signs of life go: `stream` for progress (None: quiet), `say` for a line that must be seen all the same."""

    stream: TextIO | None
    say: Callable[[str], None]
    monotonic: Callable[[], float]


class Progress:
    """Counts what is recorded and shows it. A daemon thread ticks, so that a long trial shows life too."""

    def __init__(self, ahead: Ahead, verdicts: Verdicts, around: Around) -> None:
        self._ahead, self._verdicts, self._around = ahead, verdicts, around
        self._screen = _screen_of(around.stream)
        self._counts: Counter[str] = Counter()
        self._outputs = self._empty = 0
        self._start: float | None = None
        self._current = ""
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="progress")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._start is not None and self._screen is not None:
            self._ticker.join()
            self._screen.clear()

    def starts(self, assignment: Assignment) -> None:
        """A trial is about to start. Before the first one nothing is shown: the model is loading, and says so."""
        self._current = f"{assignment.cell.case}, trial {assignment.cell.trial}"
        if self._start is None:
            self._start = self._around.monotonic()
            if self._screen is not None:
                self._ticker.start()

    def recorded(self, line: TrialLine) -> None:
        """Count a trial that is in the log."""
        if isinstance(line.outcome, Failure):
            self._counts["incomplete"] += 1
            return
        self._counts[self._verdicts.of(line.cell.case, line.outcome.output)] += 1
        self._outputs += 1
        self._empty += not line.outcome.output
        if self._outputs == self._empty == EMPTY_OUTPUTS:
            if self._screen is not None:
                self._screen.clear()
            self._around.say(ALL_EMPTY)

    def line(self) -> str:
        """Where the run stands, in one line: what counts most comes first, for a narrow terminal cuts it."""
        counts, session = self._counts, self._counts.total()
        counted = ", ".join(f"{counts[word]} {word}" for word in self._verdicts.words)
        text = f"{self._ahead.recorded + session}/{self._ahead.planned} recorded; now {counted}"
        elapsed = 0.0 if self._start is None else self._around.monotonic() - self._start
        if session and elapsed > 0:
            rate = session / elapsed
            text += f"; {rate:.3g}/s, {duration((self._ahead.chosen - session) / rate)} left"
        return text + f"; {shown_line(self._current, 50)}" if self._current else text

    def _tick(self) -> None:
        while self._screen is not None and not self._ended.wait(self._screen.every_s):
            self._screen.show(self.line())


class Terminal:
    """One line, written over again and again, never wider than the terminal."""

    every_s = TERMINAL_EVERY_S

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._width, self._lock = stream, 0, threading.Lock()

    def show(self, text: str) -> None:
        """Put the text in place of what is shown."""
        with self._lock:
            text = fitting(text, columns_of(self._stream) - 1)
            width = width_of(text)
            _write(self._stream, "\r" + text + " " * (self._width - width))
            self._width = width

    def clear(self) -> None:
        """Leave the line empty, for whatever is printed next."""
        with self._lock:
            if self._width:
                _write(self._stream, "\r" + " " * self._width + "\r")
            self._width = 0


class Lines:
    """A line each time, for a file or another program."""

    every_s = PLAIN_EVERY_S

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Add the text."""
        _write(self._stream, text + "\n")

    def clear(self) -> None:
        """Nothing has to be taken away."""


def _screen_of(stream: TextIO | None) -> Terminal | Lines | None:
    if stream is None:
        return None
    return Terminal(stream) if stream.isatty() else Lines(stream)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        # the terminal has gone, and nobody is there to be told; what is recorded counts, so the run goes on
        return


def columns_of(stream: TextIO) -> int:
    """How wide the terminal is now; 80 where it does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS


def width_of(text: str) -> int:
    """How many columns a text takes: wide letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def fitting(text: str, columns: int) -> str:
    """As much of the start of a text as fits."""
    while width_of(text) > columns:
        text = text[:-1]
    return text


def duration(seconds: float) -> str:
    """Seconds for a person: `59 s`, `2 min 05 s`, `1 h 01 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
