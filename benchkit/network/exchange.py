"""The one seam to sockets: one request, on a connection of its own, with one total deadline.

A daemon thread carries the bytes; the thread that asked waits in slices, so that a signal or the deadline ends
the wait whatever the server does: a socket timeout bounds neither endless headers nor a slow drip. Nothing goes
through a proxy, no redirect is followed, and what a server may send is bounded.
What does not live here: what the bytes mean (ollama_replies.py), retries (asking.py).
"""
from __future__ import annotations

import base64
import http.client
import queue
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from benchkit.basics.clock import Clock, StopWish
from benchkit.basics.names import shown_line
from benchkit.network.host import Address

SLICE_S = 0.1
MOST_LINE_BYTES = 4 * 2**20   # of a line or a whole body; parsing JSON takes up to 16 times its size
MOST_STREAM_BYTES = 32 * 2**20  # a token of 4 letters comes in a line of about 130 bytes
QUOTED_BYTES = 200


class Ending(Enum):
    """How a request ended."""

    WHOLE = "the body came to its announced end"
    ENOUGH = "the reader had all it wanted"
    CLOSED = "the connection was closed at no announced end"
    CUT = "the connection ended in the middle"
    REFUSED = "nothing listens there"
    UNREACHABLE = "no connection could be made"
    FOREIGN = "what came is not HTTP"
    TOO_LARGE = "more came than a reply may have"
    TIMEOUT = "the deadline came first"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: `path` is behind the address's prefix, `body` is JSON."""

    method: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came. `body` is empty where the lines were handed to a reader. Times are on the monotonic clock.

    `latency_s` runs from the first byte sent to the last byte read (at a timeout: to the deadline); None if
    nothing was sent. `detail` says more of how it ended, in the kit's words, or "".
    """

    ending: Ending
    status: int | None = None
    body: bytes = b""
    detail: str = ""
    sent_at: float | None = None
    ended_at: float | None = None

    @property
    def latency_s(self) -> float | None:
        """Seconds from the first byte sent to the last byte read."""
        return None if self.sent_at is None or self.ended_at is None else self.ended_at - self.sent_at


LineReader: TypeAlias = Callable[[bytes, float], bool]
r"""Takes one line of a 200 reply (without "\n") and when it came; says whether it is enough. May raise."""


def quoted(data: bytes) -> str:
    """What a foreign program said, for a message: its first 200 bytes on one line, control characters shown."""
    return shown_line(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace").strip(), 4 * QUOTED_BYTES)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one server, one at a time."""

    address: Address
    clock: Clock
    stop: StopWish

    def send(self, call: Call, deadline: float, read_line: LineReader | None = None,
             while_waiting: Callable[[], None] = lambda: None) -> Answer:
        """The answer, at `deadline` (monotonic seconds) at the latest; `while_waiting` is called in slices of 0.1 s.

        Raises Interrupted within a slice of a signal, and whatever `read_line` raises; the connection is shut.
        """
        carrier = _Carrier(self.address, call, self.clock, deadline)
        threading.Thread(target=carrier.run, daemon=True).start()
        arrivals = _Arrivals(read_line)
        try:
            while not arrivals.is_over:
                self.stop.raise_if_wished()
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    return arrivals.answer(_End(Ending.TIMEOUT, self.clock.monotonic()))
                try:
                    arrivals.take(carrier.events.get(timeout=min(SLICE_S, left)))
                except queue.Empty:
                    while_waiting()
            return arrivals.answer()
        finally:
            carrier.shut()


@dataclass(frozen=True, slots=True)
class _Sent:
    at: float


@dataclass(frozen=True, slots=True)
class _Head:
    status: int


@dataclass(frozen=True, slots=True)
class _Data:
    data: bytes
    at: float


@dataclass(frozen=True, slots=True)
class _End:
    ending: Ending
    at: float
    detail: str = ""


_Event: TypeAlias = _Sent | _Head | _Data | _End


class _Arrivals:
    """What the waiting thread makes of the events: lines for the reader of a 200, else a body."""

    def __init__(self, read_line: LineReader | None) -> None:
        self.read_line = read_line
        self.sent_at: float | None = None
        self.last_at: float | None = None
        self.status: int | None = None
        self.kept = bytearray()
        self.end: _End | None = None

    @property
    def is_over(self) -> bool:
        return self.end is not None

    def answer(self, end: _End | None = None) -> Answer:
        end = end or self.end
        assert end is not None
        body = b"" if self._is_read_in_lines else bytes(self.kept)
        return Answer(end.ending, self.status, body, end.detail, self.sent_at, end.at)

    def take(self, event: _Event) -> None:
        match event:
            case _Sent(at):
                self.sent_at = at
            case _Head(status):
                self.status = status
            case _Data(data, at):
                self.last_at = at
                self._take_data(data, at)
            case _End():
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
            self.end = _End(Ending.TOO_LARGE, at)

    def _take_lines(self, lines: list[bytearray], at: float) -> None:
        assert self.read_line is not None
        for line in lines:
            if line.strip() and self.read_line(bytes(line), at):
                self.end = _End(Ending.ENOUGH, at)
                return

    def _take_end(self, end: _End) -> None:
        self.end = end
        if end.ending in (Ending.WHOLE, Ending.CLOSED) and self._is_read_in_lines:
            self._take_lines([self.kept], self.last_at or end.at)  # a last line may lack its newline


class _Carrier:
    """One request on its own connection. `run` belongs to the daemon thread, `shut` to the one that waits."""

    def __init__(self, address: Address, call: Call, clock: Clock, deadline: float) -> None:
        self.address, self.call, self.clock, self.deadline = address, call, clock, deadline
        self.events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self.socket: socket.socket | None = None
        self.is_shut = False

    def shut(self) -> None:
        """End the request: a thread that reads wakes up and ends."""
        self.is_shut = True
        if self.socket is not None:
            _shut_down(self.socket)

    def run(self) -> None:
        """Carry the request out; whatever happens, an end is the last event."""
        try:
            ending, detail = self._carry()
        except http.client.RemoteDisconnected:
            ending, detail = Ending.CUT, "before any answer"
        except http.client.IncompleteRead:
            ending, detail = Ending.CUT, ""
        except http.client.BadStatusLine as error:
            ending, detail = Ending.FOREIGN, quoted(str(error).encode("latin-1", "replace"))
        except (http.client.HTTPException, ValueError):
            ending, detail = Ending.FOREIGN, ""
        except OSError:
            ending, detail = Ending.CUT, ""
        finally:
            if self.socket is not None:
                self.socket.close()
        self.events.put(_End(ending, self.clock.monotonic(), detail))

    def _carry(self) -> tuple[Ending, str]:
        try:
            self.socket = self._connect()
        except ConnectionRefusedError:
            return Ending.REFUSED, "connection refused"
        except socket.gaierror:
            return Ending.UNREACHABLE, "the host name is unknown"
        except OSError as error:
            return Ending.UNREACHABLE, _why_unreachable(error)
        if self.is_shut:
            return Ending.CUT, ""
        connection = http.client.HTTPConnection(self.address.host, self.address.port)
        connection.sock = self.socket
        self.events.put(_Sent(self.clock.monotonic()))
        connection.request(self.call.method, self.address.prefix + self.call.path, self.call.body, self._headers())
        response = connection.getresponse()
        self.events.put(_Head(response.status))
        return self._read(response), ""

    def _connect(self) -> socket.socket:
        patience = max(0.1, self.deadline - self.clock.monotonic() + 1.0)
        made = _first_connection(self.address, patience)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.address.scheme == "http":
            return made
        import ssl
        return ssl.create_default_context().wrap_socket(made, server_hostname=self.address.host)

    def _headers(self) -> dict[str, str]:
        headers = {"Host": self.address.host_and_port, "Accept": "*/*", "User-Agent": "benchkit",
                   "Connection": "close"}
        if self.call.body is not None:
            headers["Content-Type"] = "application/json"
        if self.address.userinfo is not None:
            secret = base64.b64encode(self.address.userinfo.encode("utf-8")).decode("ascii")
            headers["Authorization"] = f"Basic {secret}"
        return headers

    def _read(self, response: http.client.HTTPResponse) -> Ending:
        announced = response.length  # None: in chunks, or until the connection closes
        read = 0
        while announced is None or read < announced:
            data = response.read1(65536)  # raises IncompleteRead where a chunk is missing
            if not data:
                break
            read += len(data)
            self.events.put(_Data(data, self.clock.monotonic()))
            if read > MOST_STREAM_BYTES:
                return Ending.TOO_LARGE
        if announced is None:
            return Ending.WHOLE if response.chunked else Ending.CLOSED
        return Ending.WHOLE if read >= announced else Ending.CUT


def _first_connection(address: Address, patience: float) -> socket.socket:
    """A connection to the first candidate that takes one; the first one's error if none does."""
    errors: list[OSError] = []
    for host in address.candidates:
        try:
            return socket.create_connection((host, address.port), patience)
        except OSError as error:
            errors.append(error)
    raise errors[0]


def _why_unreachable(error: OSError) -> str:
    import errno
    import ssl
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate could not be verified"
    if isinstance(error, ssl.SSLError):
        return "it does not speak https"
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL):
        return "there is no way to that address"
    return "the connection could not be made"


def _shut_down(made: socket.socket) -> None:
    try:
        # the plain socket's way also for TLS: SSLSocket.shutdown pulls the session from under the reading thread
        socket.socket.shutdown(made, socket.SHUT_RDWR)
    except OSError:
        return  # it was closed already
