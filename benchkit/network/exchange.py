"""One request to a server, with one total deadline, carried out by the thread that asks.

That thread waits in slices, so that a signal or the deadline ends the wait whatever the server does, endless headers
and a slow drip included. Nothing goes through a proxy, no redirect is followed, and what a server may send is bounded.
Each request has a connection of its own, which is closed behind it; the server of one that is given up notices that.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from benchkit.basics.clock import Clock, StopRequest
from benchkit.network.calls import Call, Ending, quoted
from benchkit.network.connections import Connection, Connections, NotReached
from benchkit.network.host import Address
from benchkit.network.responses import ResponseReader
from benchkit.network.rest import Rest
from benchkit.network.waiting import DeadlinePassed, Waiting

MOST_STREAM_BYTES = 32 * 2**20  # a token of 4 letters comes in a line of about 130 bytes
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
"""Takes one line of a 200 reply (without its end) and when it came; says whether it is enough. May raise."""
_LINE_END = re.compile(rb"\r\n|\n|\r(?=[^\n])")
"""A carriage return ends a line by itself, but one that came last may be half of an end."""


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one server, for all threads that ask it.

    `rest` is how long that wants to be left alone, `connections` knows the ways there.
    """

    address: Address
    clock: Clock
    stop: StopRequest
    rest: Rest = field(default_factory=Rest)
    connections: Connections = field(default_factory=Connections)

    def __post_init__(self) -> None:
        """Say that the wish to stop is looked at while a request is under way."""
        self.stop.is_heeded = True

    def send(self, call: Call, deadline: float, read_line: LineReader | None = None,
             while_waiting: Callable[[], None] = lambda: None) -> Answer:
        """The answer, at `deadline` (monotonic seconds) at the latest; `while_waiting` is called in slices of 0.1 s.

        Raises Interrupted within a slice of a signal, and whatever `read_line` raises; the connection is closed.
        """
        waiting = Waiting(self.clock, self.stop, deadline, while_waiting)
        try:
            connection = self.connections.open(self.address, waiting)
        except NotReached as error:
            return Answer(error.ending, detail=error.detail, ended_at=self.clock.monotonic())
        except DeadlinePassed:
            return Answer(Ending.TIMEOUT, ended_at=self.clock.monotonic())
        arrivals = _Arrivals(read_line, self.address)
        try:
            self._fill(arrivals, connection, call, waiting)
        finally:
            connection.close()
        return arrivals.answer()

    @property
    def where(self) -> str:
        """The server for a person: its URL, and which address of the name answers where the name has several."""
        first, *others = self.connections.numbers_of(self.address) or ("",)
        answers = f" ({first} answers; the name is {', '.join(others)} as well)" if others else ""
        return self.address.url + answers

    def _fill(self, arrivals: _Arrivals, connection: Connection, call: Call, waiting: Waiting) -> None:
        """Send and read until there is an ending."""
        arrivals.sent_at = self.clock.monotonic()
        try:
            connection.send(_request(self.address, call), waiting)
            while arrivals.ending is None:
                arrivals.take(connection.receive(waiting), self.clock.monotonic())
        except OSError:
            arrivals.end(Ending.CUT, self.clock.monotonic())
        except DeadlinePassed:
            arrivals.end(Ending.TIMEOUT, self.clock.monotonic())


class _Arrivals:
    """What the waiting thread makes of a response: lines for the reader of a 200, else a body."""

    def __init__(self, read_line: LineReader | None, address: Address) -> None:
        self._read_line, self._address = read_line, address
        self.response = ResponseReader()
        self.ending: Ending | None = None
        self.sent_at: float | None = None
        self._ended_at: float | None = None
        self._last_at: float | None = None
        self._read = 0
        self._kept = bytearray()

    def answer(self) -> Answer:
        """All of it, once it has ended."""
        assert self.ending is not None
        head, end = self.response.head, self.response.end
        body = b"" if self._is_read_in_lines else self._address.without_secret(bytes(self._kept))
        detail = ""
        if end is not None and end.ending is self.ending:
            detail = end.detail or quoted(self._address.without_secret(end.said))
        return Answer(self.ending, head.status if head else None, body, detail, self.sent_at, self._ended_at,
                      head.retry_after if head else None)

    def take(self, data: bytes, at: float) -> None:
        """Take what came at `at`; nothing is the end of the connection. Raises what the reader of lines does."""
        body = self.response.take_or_close(data)
        if body:
            self._last_at = at
            self._take_body(body, at)
        end = self.response.end
        if end is not None and self.ending is None:
            self.end(end.ending, at)
            if end.ending in (Ending.WHOLE, Ending.CLOSED) and self._is_read_in_lines and self._kept:
                self._take_lines([bytes(self._kept).rstrip(b"\r")], self._last_at or at)  # a last line may lack its end

    def end(self, ending: Ending, at: float) -> None:
        """That is how it ends."""
        self.ending, self._ended_at = ending, at

    @property
    def _is_read_in_lines(self) -> bool:
        head = self.response.head
        return self._read_line is not None and head is not None and head.status == 200

    def _take_body(self, body: bytes, at: float) -> None:
        self._read += len(body)
        self._kept += body
        if self._is_read_in_lines and (b"\n" in body or b"\r" in body):
            *lines, kept = _LINE_END.split(self._kept)
            self._kept = bytearray(kept)
            self._take_lines(lines, at)
        if self.ending is None and (len(self._kept) > MOST_LINE_BYTES or self._read > MOST_STREAM_BYTES):
            self.end(Ending.TOO_LARGE, at)

    def _take_lines(self, lines: Sequence[bytes], at: float) -> None:
        assert self._read_line is not None
        for line in lines:
            if self._read_line(line, at):
                self.end(Ending.ENOUGH, at)
                return


def _request(address: Address, call: Call) -> bytes:
    """The request as it is sent; the server is to close the connection behind its answer."""
    headers = {"Host": address.host_and_port, "Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "benchkit",
               "Connection": "close"}
    if call.body is not None:
        headers["Content-Type"], headers["Content-Length"] = "application/json", str(len(call.body))
    if address.authorization is not None:
        headers["Authorization"] = address.authorization
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    start = f"{call.method} {address.prefix}{call.path} HTTP/1.1\r\n"
    return f"{start}{head}\r\n".encode("ascii") + (call.body or b"")
