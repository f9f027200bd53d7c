"""One request to a server, on a connection of its own, with one total deadline.

A daemon thread carries the bytes (carrier.py); the thread that asked waits in slices, so that a signal or the
deadline ends the wait whatever the server does: a socket timeout bounds neither endless headers nor a slow drip.
Nothing goes through a proxy, no redirect is followed, and what a server may send is bounded.
What does not live here: what the bytes mean (ollama_replies.py), retries (asking.py).
"""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from benchkit.basics.clock import Clock, StopWish
from benchkit.network.carrier import Call, Carrier, Data, End, Ending, Event, Head, Sent
from benchkit.network.host import Address
from benchkit.network.rest import Rest

SLICE_S = 0.1
MOST_LINE_BYTES = 13 * 2**18
"""Of a line or a whole body: a text of 512 KiB with every letter escaped fits; parsing takes up to 28 times as much."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came. `body` is empty where the lines were handed to a reader. Times are on the monotonic clock.

    No secret of the address is in `body` and `detail`. `retry_after` is that header, as it stands.

    `latency_s` runs from the first byte sent to the last byte read (at a timeout: to the deadline); None if
    nothing was sent. `detail` says more of how it ended, in the kit's words, or "".
    """

    ending: Ending
    status: int | None = None
    body: bytes = b""
    detail: str = ""
    sent_at: float | None = None
    ended_at: float | None = None
    retry_after: str | None = None

    @property
    def latency_s(self) -> float | None:
        """Seconds from the first byte sent to the last byte read."""
        return None if self.sent_at is None or self.ended_at is None else self.ended_at - self.sent_at


LineReader: TypeAlias = Callable[[bytes, float], bool]
r"""Takes one line of a 200 reply (without "\n") and when it came; says whether it is enough. May raise."""


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one server. `rest` is how long that wants to be left alone, for all that ask it."""

    address: Address
    clock: Clock
    stop: StopWish
    rest: Rest = field(default_factory=Rest)

    def send(self, call: Call, deadline: float, read_line: LineReader | None = None,
             while_waiting: Callable[[], None] = lambda: None) -> Answer:
        """The answer, at `deadline` (monotonic seconds) at the latest; `while_waiting` is called in slices of 0.1 s.

        Raises Interrupted within a slice of a signal, and whatever `read_line` raises; the connection is shut.
        """
        carrier = Carrier(self.address, call, self.clock, deadline)
        threading.Thread(target=carrier.run, daemon=True).start()
        arrivals = _Arrivals(read_line, self.address)
        try:
            while not arrivals.is_over:
                self.stop.raise_if_wished()
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    return arrivals.answer(End(Ending.TIMEOUT, self.clock.monotonic()))
                try:
                    arrivals.take(carrier.events.get(timeout=min(SLICE_S, left)))
                except queue.Empty:
                    while_waiting()
            return arrivals.answer()
        finally:
            carrier.shut()


class _Arrivals:
    """What the waiting thread makes of the events: lines for the reader of a 200, else a body."""

    def __init__(self, read_line: LineReader | None, address: Address) -> None:
        self.read_line, self.address = read_line, address
        self.sent_at: float | None = None
        self.last_at: float | None = None
        self.status: int | None = None
        self.retry_after: str | None = None
        self.kept = bytearray()
        self.end: End | None = None

    @property
    def is_over(self) -> bool:
        return self.end is not None

    def answer(self, end: End | None = None) -> Answer:
        end = end or self.end
        assert end is not None
        body = b"" if self._is_read_in_lines else self.address.without_secret(bytes(self.kept))
        return Answer(end.ending, self.status, body, end.detail, self.sent_at, end.at, self.retry_after)

    def take(self, event: Event) -> None:
        match event:
            case Sent(at):
                self.sent_at = at
            case Head(status, retry_after):
                self.status, self.retry_after = status, retry_after
            case Data(data, at):
                self.last_at = at
                self._take_data(data, at)
            case End():
                self._take_end(event)

    @property
    def _is_read_in_lines(self) -> bool:
        return self.read_line is not None and self.status == 200

    def _take_data(self, data: bytes, at: float) -> None:
        self.kept += data
        if self._is_read_in_lines and b"\n" in data:
            *lines, self.kept = self.kept.split(b"\n")
            self._take_lines(lines, at)
        if len(self.kept) > MOST_LINE_BYTES:
            self.end = End(Ending.TOO_LARGE, at)

    def _take_lines(self, lines: list[bytearray], at: float) -> None:
        assert self.read_line is not None
        for line in lines:
            if line.strip() and self.read_line(bytes(line), at):
                self.end = End(Ending.ENOUGH, at)
                return

    def _take_end(self, end: End) -> None:
        self.end = end
        if end.ending in (Ending.WHOLE, Ending.CLOSED) and self._is_read_in_lines:
            self._take_lines([self.kept], self.last_at or end.at)  # a last line may lack its newline
