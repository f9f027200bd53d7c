"""Time, and the request to stop, as values that come in by argument.

Durations come from the monotonic clock only; wall time is a label (UTC, milliseconds, "Z").
"""
from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from benchkit.basics.errors import EnvironmentFailure, Interrupted

_FIRST_S, END_S = -62_135_596_800.0, 253_402_300_800.0
"""The beginnings of the years 1 and 10000."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The seam to time: seconds since some start, and seconds since 1970."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def stamp(self) -> str:
        """Now, as `2026-11-30T12:00:00.000Z`."""
        return stamp_of(self.wall())


def stamp_of(seconds: float) -> str:
    """Seconds since 1970 as UTC with milliseconds and Z. Raises EnvironmentFailure for a time that no file can hold."""
    if not _FIRST_S <= seconds < END_S:
        raise EnvironmentFailure(
            "the clock of this machine stands before the year 1 or behind the year 9999, and every line "
            "has a time; set it, and the same command goes on"
        )
    milliseconds = int(seconds * 1000)
    # not strftime, which looks for a change of the time zone each time
    at = time.gmtime(milliseconds // 1000)
    day = f"{at.tm_year:04d}-{at.tm_mon:02d}-{at.tm_mday:02d}"
    return f"{day}T{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}.{milliseconds % 1000:03d}Z"


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a session may start trials: `seconds` from `start` on the monotonic clock; None is no limit."""

    start: float
    seconds: float | None

    def is_over(self, now: float) -> bool:
        """Whether no further trial may start."""
        return self.seconds is not None and now - self.start >= self.seconds


class StopRequest:
    """Whether somebody asked for the end: set by a signal handler, looked at by whoever waits.

    A handler only sets the flag: a KeyboardInterrupt in the middle of "write, then note it" makes duplicates.
    `is_heeded`: who waits for a reply looks at it all the time, so that a request under way is cut at once.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.is_heeded = False

    def raise_if_wished(self) -> None:
        """Raise Interrupted if a signal has come."""
        if self.signal is not None:
            raise Interrupted(self.signal)


@contextmanager
def signals_as_stop_request(
    stop: StopRequest, leave: Callable[[int], Any], acknowledge: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Within this, SIGINT, SIGTERM and SIGHUP set the request; a second one calls `leave` with the exit code.

    `acknowledge` is called at once, where the work may not look at the request for a while.

    SIGHUP is left alone where it was ignored at the start (nohup). Windows has SIGINT (and SIGBREAK) only.
    """
    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.signal is not None:
            leave(Interrupted(number).exit_code)
        stop.signal = number
        if not stop.is_heeded:
            acknowledge()

    with _handling(handle):
        yield


@contextmanager
def signals_as_interrupt(leave: Callable[[int], Any]) -> Iterator[None]:
    """Within this, the first SIGINT, SIGTERM or SIGHUP ends the work wherever it is; a second one calls `leave`.

    For work that may be cut anywhere, since it is written whole or not at all. The work sees a KeyboardInterrupt,
    which nothing catches that catches errors, so that it clears away what it has begun; out comes Interrupted.
    """
    stop = StopRequest()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.signal is not None:
            leave(Interrupted(number).exit_code)
        stop.signal = number
        raise KeyboardInterrupt

    with _handling(handle):
        try:
            yield
        except KeyboardInterrupt:
            stop.raise_if_wished()
            raise


@contextmanager
def _handling(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Within this, the signals that ask for the end are handled so. SIGHUP stays ignored where it was (nohup)."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    taken = [number for number in numbers if before[number] is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
