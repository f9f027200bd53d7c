"""Signs of life: one rewritten line on a terminal, a plain line every 10 s elsewhere, nothing when quiet."""
from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from benchkit.basics.texts import fitting, shown_line, width_of
from benchkit.basics.values import Cell, Failure
from benchkit.running.plan import Assignment, RemainingWork
from benchkit.running.workload import RunContext
from benchkit.systems.loading import is_baseline
from benchkit.trial_log.lines import TrialLine

Verdict = Callable[[str, str], str]
"""(case id, output) -> a word, such as "pass", "fail" or "incomplete"."""
PLAIN_EVERY_S, TERMINAL_EVERY_S = 10.0, 0.5
EMPTY_OUTPUTS = 5
ALL_EMPTY = (f"the first {EMPTY_OUTPUTS} outputs are all empty; look at the prompt and at the model's options "
             f"(num_predict, think) before it goes on like this")
USUAL_COLUMNS = 80
SHORTEST_ID, LONGEST_CURRENT = 6, 60
"""Columns: a shorter piece of the id of a case says nothing; the case and trial under way take so many at most."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How an output is judged while it runs, and the words that are counted in the line of progress, in order."""

    of: Verdict
    words: tuple[str, ...] = ("pass", "fail", "incomplete")


class Progress:
    """Counts what is recorded and shows it. A daemon thread ticks, so that a long trial shows life too.

    It also judges, so that no trial waits for that; where nothing is shown, nothing is judged. Models and baselines are
    timed apart: each kind is as fast as its own.
    """

    def __init__(self, remaining: RemainingWork, verdicts: Verdicts, context: RunContext) -> None:
        self._remaining, self._verdicts, self._context = remaining, verdicts, context
        self._screen = None if context.progress is None else Screen(context.progress)
        self._unjudged: deque[TrialLine] = deque()
        self._counts: Counter[str] = Counter()
        self._outputs = self._empty = 0
        self._has_cut_prompts = False
        self._start: float | None = None
        # of models (False) and of baselines (True): trials chosen, those done, and the seconds they took
        self._chosen = {False: remaining.chosen - remaining.baselines, True: remaining.baselines}
        self._done, self._seconds = {False: 0, True: 0}, {False: 0.0, True: 0.0}
        self._since = 0.0
        self._current: Cell | None = None
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
        self._current = assignment.cell
        if self._start is None:
            self._start = self._since = self._context.clock.monotonic()
            if self._screen is not None:
                try:
                    self._ticker.start()
                except (RuntimeError, MemoryError):
                    # no more threads can be started: nothing is shown, and the run goes on
                    self._screen = None

    def recorded(self, line: TrialLine) -> None:
        """Count a trial that is in the log."""
        if self._screen is not None:
            self._unjudged.append(line)
            now, kind = self._context.clock.monotonic(), is_baseline(line.cell.system)
            self._done[kind] += 1
            self._seconds[kind] += now - self._since
            self._since = now
        if isinstance(line.outcome, Failure):
            return
        self._outputs += 1
        self._empty += not line.outcome.output
        if self._outputs == self._empty == EMPTY_OUTPUTS:
            self._say(ALL_EMPTY)
        usage = line.outcome.usage
        if usage.asked_letters is not None and not self._has_cut_prompts:
            self._has_cut_prompts = True
            case = shown_line(line.cell.case, LONGEST_CURRENT)
            self._say(f"{case}: the server counted {usage.prompt_tokens or 0:,} tokens where {usage.asked_letters:,} "
                      f"letters were asked: it has cut the prompt, or does not count all of it; a longer context at "
                      f"the server would keep it whole")

    def _say(self, text: str) -> None:
        if self._screen is not None:
            self._screen.clear()
        self._context.say(text)

    def line(self, columns: int | None = None) -> str:
        """Where the run stands, in one line; in few columns the id of the case gives way, then the rate."""
        text = self._told(has_rate=True)
        if columns is not None and width_of(text + _current(self._current, 0)) > columns:
            text = self._told(has_rate=False)
        return text + _current(self._current, LONGEST_CURRENT if columns is None else columns - width_of(text))

    def _told(self, has_rate: bool) -> str:
        while self._unjudged:
            line = self._unjudged.popleft()
            self._counts["incomplete" if isinstance(line.outcome, Failure) else self._verdicts.of(
                line.cell.case, line.outcome.output)] += 1
        counted = ", ".join(f"{self._counts[word]} {word}" for word in self._verdicts.words)
        text = f"{self._remaining.recorded + self._counts.total()}/{self._remaining.planned} recorded; now {counted}"
        seconds = dict(self._seconds)
        if self._current is not None:
            seconds[is_baseline(self._current.system)] += self._context.clock.monotonic() - self._since
        slower = not self._chosen[False]
        if self._done[slower] and seconds[slower] > 0:
            # of a kind of which none is done yet, as of baselines that come last, nothing is known
            left = duration(sum((self._chosen[kind] - done) * seconds[kind] / done
                                for kind, done in self._done.items() if done))
            text += f"; {self._done[slower] / seconds[slower]:.3g}/s, {left} left" if has_rate else f"; {left} left"
        return text

    def _tick(self) -> None:
        while self._screen is not None and not self._ended.wait(self._screen.every_s):
            self._screen.show(self.line(self._screen.columns()))


class Screen:
    """On a terminal one line, written over and again, never wider than it; elsewhere, as in a file, a line each time.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self.every_s = TERMINAL_EVERY_S if self._is_terminal else PLAIN_EVERY_S
        self._width, self._lock = 0, threading.Lock()

    def columns(self) -> int | None:
        """How wide a text may be now (None: as it likes): one less than a terminal, so that the cursor stays there."""
        return columns_of(self._stream) - 1 if self._is_terminal else None

    def show(self, text: str) -> None:
        """Put the text in place of what is shown, or below it."""
        with self._lock:
            columns = self.columns()
            if columns is None:
                self._write(text + "\n")
                return
            text = fitting(text, columns)
            width = width_of(text)
            # the cursor goes back: a line that somebody else says stands over what is shown, not behind it
            self._write("\r" + text + " " * (self._width - width) + "\r")
            self._width = width

    def clear(self) -> None:
        """Leave the line of a terminal empty, for whatever is printed next."""
        with self._lock:
            if self._width:
                self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        # where the terminal has gone nobody is there to be told; what is recorded counts, so the run goes on
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()


def _current(cell: Cell | None, room: int) -> str:
    """The case and trial under way; in few columns less of the case, and no case where nothing of it can be told."""
    if cell is None:
        return ""
    case, trial = shown_line(cell.case, LONGEST_CURRENT), f"trial {cell.trial}"
    room -= len(f"; , {trial}")
    if width_of(case) > room:
        case = fitting(case, room - 3) + "..."
    return f"; {case}, {trial}" if room >= SHORTEST_ID else f"; {trial}"


def columns_of(stream: TextIO) -> int:
    """How wide the terminal is now; 80 where it does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS


def duration(seconds: float) -> str:
    """Seconds for a person: `under 1 s`, `59 s`, `2 min 05 s`, `1 h 01 min`."""
    whole = int(seconds)
    if 0 < seconds < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
