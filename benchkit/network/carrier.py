"""The thread's side of a request: it connects, sends, reads, and tells what comes as a queue of events.

Only this module opens sockets. What does not live here: waiting, deadlines and signals (exchange.py).
"""
from __future__ import annotations

import http.client
import io
import queue
import socket
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from benchkit.basics.clock import Clock
from benchkit.basics.names import shown_line
from benchkit.network.host import Address

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
class Sent:
    """The first byte is about to go out."""

    at: float


@dataclass(frozen=True, slots=True)
class Head:
    """The status has come, and when the server wants to be asked again, if it says so."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """Some bytes of the body have come."""

    data: bytes
    at: float


@dataclass(frozen=True, slots=True)
class End:
    """Nothing more will come; `detail` says more of why, in the kit's words, or ""."""

    ending: Ending
    at: float
    detail: str = ""


Event: TypeAlias = Sent | Head | Data | End


def quoted(data: bytes) -> str:
    """What a foreign program said, for a message: its first 200 bytes on one line, control characters shown."""
    return shown_line(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace").strip(), 4 * QUOTED_BYTES)


class Carrier:
    """One request on its own connection. `run` belongs to the daemon thread, `shut` to the one that waits."""

    def __init__(self, address: Address, call: Call, clock: Clock, deadline: float) -> None:
        self.address, self.call, self.clock, self.deadline = address, call, clock, deadline
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
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
            ending, detail = Ending.FOREIGN, self._quoted(str(error))
        except (http.client.HTTPException, ValueError):
            ending, detail = Ending.FOREIGN, ""
        except OSError:
            ending, detail = Ending.CUT, ""
        finally:
            if self.socket is not None:
                self.socket.close()
        self.events.put(End(ending, self.clock.monotonic(), detail))

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
        connection.sock = _Watched(self, self.socket)
        self.events.put(Sent(self.clock.monotonic()))
        connection.request(self.call.method, self.address.prefix + self.call.path, self.call.body, self._headers())
        response = connection.getresponse()
        self.events.put(Head(response.status, response.getheader("Retry-After")))
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
        if self.address.authorization is not None:
            headers["Authorization"] = self.address.authorization
        return headers

    def _quoted(self, said: str) -> str:
        return quoted(self.address.without_secret(said.encode("latin-1", "replace")))

    def _read(self, response: http.client.HTTPResponse) -> Ending:
        announced = response.length  # None: in chunks, or until the connection closes
        read = 0
        while announced is None or read < announced:
            data = response.read1(65536)  # raises IncompleteRead where a chunk is missing
            if not data:
                break
            read += len(data)
            self.events.put(Data(data, self.clock.monotonic()))
            if read > MOST_STREAM_BYTES:
                return Ending.TOO_LARGE
        if announced is None:
            return Ending.WHOLE if response.chunked else Ending.CLOSED
        return Ending.WHOLE if read >= announced else Ending.CUT


class _Watched:
    """The socket as http.client needs it: at its end once the request is given up, whatever still comes.

    After a shutdown Linux hands out what the other side goes on to send: a flood of headers, interim responses or
    trailers, which http.client reads by itself, would keep the thread and the server busy for ever.
    """

    def __init__(self, carrier: Carrier, made: socket.socket) -> None:
        self._carrier, self._socket = carrier, made

    def sendall(self, data: bytes) -> None:
        """Send all of it."""
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """What is read from."""
        return io.BufferedReader(_WatchedReader(self._carrier, self._socket))

    def close(self) -> None:
        """The carrier closes it."""


class _WatchedReader(io.RawIOBase):
    def __init__(self, carrier: Carrier, made: socket.socket) -> None:
        super().__init__()
        self._carrier, self._socket = carrier, made

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return 0 if self._carrier.is_shut else self._socket.recv_into(buffer)


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
