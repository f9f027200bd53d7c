"""One HTTP request to a server, with one total deadline, carried out by the thread that asks. `http.client` reads it.

Nothing goes through a proxy, no redirect is followed, and what a server may send is bounded. Each request has a
connection of its own, which is closed behind it; the server of one that is given up notices that.
"""
from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.json_text import mended, parse
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.network.address import Address
from benchkit.network.connection import Connection, Connections, Deadline, DeadlinePassed, NotReached, Refused

if TYPE_CHECKING:
    from http.client import HTTPResponse

MOST_STREAM_BYTES = 32 * 2**20  # a token of 4 letters comes in a line of about 130 bytes
MOST_LINE_BYTES = 13 * 2**18
"""Of a line or a whole body: a text of 512 KiB with every letter escaped fits; parsing takes up to 28 times as much."""
MOST_HEAD_BYTES = 2**18
"""Of a status and its headers: `http.client` alone takes 6 MB, and 1.6 s where they are carriage returns."""
QUOTED_BYTES = 200
_PIECE_BYTES = 65536
_LINE_END = re.compile(rb"\r\n|\n|\r(?=[^\n])")
"""A carriage return ends a line by itself, but one that came last may be half of an end."""
_INTERIM = frozenset((100, *range(102, 200)))
"""Another response follows. Behind 101 another protocol begins."""


class NoAnswer(Exception):
    """The server did not say what it was asked, in the kit's words. `is_refused`: nothing listens there."""

    def __init__(self, why: str, *, is_refused: bool = False) -> None:
        super().__init__(why)
        self.is_refused = is_refused


class Ending(Enum):
    """How a request ended."""

    WHOLE = "the body came to its announced end"
    ENOUGH = "the reader had all it wanted"
    CLOSED = "the connection was closed at no announced end"
    CUT = "the connection ended in the middle"
    REFUSED = "nothing listens there"
    UNREACHABLE = "no connection could be made"
    NOT_HTTP = "what came is not HTTP"
    TOO_LARGE = "more came than a reply may have"
    TIMEOUT = "the deadline came first"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: `path` is behind the address's prefix, `body` is JSON."""

    method: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What came. `body` is empty where the lines were handed to a reader. Times are on the monotonic clock.

    No secret of the address is in `body` and `detail`, which says more of how it ended, in the kit's words, or "".
    `retry_after` is that header, as it stands. `sent_at` is None if nothing was sent.
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
        """Seconds from the first byte sent to the last byte read (at a timeout: to the deadline); None if none was."""
        return None if self.sent_at is None or self.ended_at is None else self.ended_at - self.sent_at

    @property
    def fields(self) -> Mapping[str, JSON]:
        """The JSON object of a 200; empty where there is none."""
        if self.status != 200 or self.ending not in (Ending.WHOLE, Ending.CLOSED):
            return {}
        try:
            value = mended(parse(self.body, keep_surrogates=True))
        except ValueError:
            return {}
        return value if isinstance(value, Mapping) else {}

    def objects(self, name: str, path: str) -> Sequence[Mapping[str, JSON]]:
        """The objects in a list of that JSON object, for which `path` was asked. Raises NoAnswer where it has none."""
        found = self.fields.get(name)
        if not isinstance(found, list) or not all(isinstance(entry, Mapping) for entry in found):
            raise NoAnswer(f"GET {path}: {self}", is_refused=self.ending is Ending.REFUSED)
        return found

    def __str__(self) -> str:
        """What a server sent, or how it did not, for a message."""
        if self.status is not None and self.ending in (Ending.WHOLE, Ending.CLOSED):
            return f"HTTP {self.status}, {quoted(self.body) or 'an empty body'}"
        return "no answer in time" if self.ending is Ending.TIMEOUT else self.detail or self.ending.value


LineReader: TypeAlias = Callable[[bytes, float], bool]
"""Takes one line of a 200 reply (without its end) and when it came; says whether it is enough. May raise."""


class Backoff:
    """Until when nothing is sent to a server: one moment, on the monotonic clock, for all that ask it at once."""

    def __init__(self) -> None:
        self._until = 0.0

    def extend(self, until: float) -> None:
        """Nothing before that moment; a later one that is known already stays."""
        self._until = max(self._until, until)

    def left_s(self, now: float) -> float:
        """Seconds until something may be sent; 0 if now."""
        return max(0.0, self._until - now)


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one server, for all threads that ask it."""

    address: Address
    clock: Clock
    stop: StopRequest
    backoff: Backoff = field(default_factory=Backoff)
    connections: Connections = field(default_factory=Connections)

    def __post_init__(self) -> None:
        """Say that the request to stop is looked at while a request is under way."""
        self.stop.is_heeded = True

    def send(self, call: Call, deadline: float, read_line: LineReader | None = None) -> Response:
        """The response, at `deadline` (monotonic seconds) at the latest.

        Raises Interrupted within a slice of a signal, and whatever `read_line` raises; the connection is closed.
        """
        try:
            connection = self.connections.open(self.address, Deadline(self.clock, self.stop, deadline))
        except NotReached as error:
            ending = Ending.REFUSED if isinstance(error, Refused) else Ending.UNREACHABLE
            return Response(ending, detail=str(error), ended_at=self.clock.monotonic())
        except DeadlinePassed:
            return Response(Ending.TIMEOUT, ended_at=self.clock.monotonic())
        try:
            return _Exchange(self.address, self.clock, connection, read_line).run(call)
        finally:
            connection.close()

    @property
    def where(self) -> str:
        """The server for a person: its URL, and which address of the name answers where the name has several."""
        first, *others = self.connections.numeric_addresses(self.address) or ("",)
        answers = f" ({first} answers; the name is {', '.join(others)} as well)" if others else ""
        return self.address.url + answers


class _Lines(io.BufferedReader):
    """What `http.client` reads from. `last` is the last line: empty where the connection ended before it.

    `is_head`: what is read is still status and headers, and bounded.
    """

    last, is_head, _size = b"", True, 0

    def makefile(self, _mode: str) -> _Lines:
        """What `http.client` asks a socket for."""
        return self

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line, with its end. Raises LineTooLong where a head is too long as a whole."""
        self.last = line = super().readline(size)
        self._size = 0 if line in (b"\r\n", b"\n") else self._size + len(line)
        if self.is_head and self._size > MOST_HEAD_BYTES:
            from http.client import LineTooLong
            raise LineTooLong("head")
        return line


class _Exchange:
    """A request under way, and what has come of its response: lines for the reader of a 200, else a body."""

    def __init__(self, address: Address, clock: Clock, connection: Connection, read_line: LineReader | None) -> None:
        self._address, self._clock, self._connection, self._read_line = address, clock, connection, read_line
        self._status: int | None = None
        self._retry_after: str | None = None
        self._last_at = 0.0
        self._kept = bytearray()

    def run(self, call: Call) -> Response:
        """Send the request, and read until there is an ending."""
        sent_at, detail = self._clock.monotonic(), ""
        try:
            self._connection.send(_request(self._address, call))
            ending, detail = self._receive()
        except OSError:
            ending = Ending.CUT
        except DeadlinePassed:
            ending = Ending.TIMEOUT
        ended_at = self._last_at if ending in (Ending.ENOUGH, Ending.TOO_LARGE) else self._clock.monotonic()
        body = b"" if self._line_reader else self._address.redactor.data(bytes(self._kept))
        return Response(ending, self._status, body, detail, sent_at, ended_at, self._retry_after)

    @property
    def _line_reader(self) -> LineReader | None:
        return self._read_line if self._status == 200 else None

    def _receive(self) -> tuple[Ending, str]:
        """How it ends, and more about that."""
        from http import client
        lines = _Lines(self._connection, _PIECE_BYTES)
        with client.HTTPResponse(lines) as response:  # type: ignore[arg-type]
            try:
                response.begin()
                while response.status in _INTERIM:
                    response.headers = None  # type: ignore[assignment]  # else it would not begin again
                    response.begin()
                lines.is_head = False
                if not lines.last:  # `http.client` takes the end of a connection for the end of the headers
                    return Ending.CUT, ""
                self._status, self._retry_after = response.status, response.headers.get("retry-after")
                return self._read_body(response), ""
            except client.RemoteDisconnected:
                return Ending.CUT, "before any answer"
            except (client.BadStatusLine, client.UnknownProtocol):
                line = lines.last
                if b"HTTP/1.".startswith(line[:7]) and not line.endswith(b"\n"):  # only the beginning of a status
                    return Ending.CUT, ""
                return Ending.NOT_HTTP, quoted(self._address.redactor.data(line))
            except client.IncompleteRead:
                return Ending.CUT, ""
            except client.HTTPException as error:  # a line that is too long, or too many of them
                # newer Pythons leave a server that sends only interim responses or trailers, older ones never do
                if not isinstance(error, client.LineTooLong) and "headers" not in str(error):
                    while self._connection.read(_PIECE_BYTES):
                        continue
                return Ending.NOT_HTTP, ""

    def _read_body(self, response: HTTPResponse) -> Ending:
        """Read to the end of the body, or until it is enough. Raises HTTPException, and as the reader of lines does."""
        size, take = 0, self._line_reader
        while response.length != 0 and (piece := response.read1(_PIECE_BYTES)):
            if response.chunked and (response.chunk_left or 0) < 0:  # `http.client` takes -5 for a size
                return Ending.CUT
            self._last_at = self._clock.monotonic()
            size += len(piece)
            self._kept += piece
            if take and (b"\n" in piece or b"\r" in piece):
                *lines, kept = _LINE_END.split(self._kept)
                self._kept = bytearray(kept)
                if any(take(line, self._last_at) for line in lines):
                    return Ending.ENOUGH
            if len(self._kept) > MOST_LINE_BYTES or size > MOST_STREAM_BYTES:
                return Ending.TOO_LARGE
        if response.length:  # so many bytes were announced, and did not come
            return Ending.CUT
        ending = Ending.WHOLE if response.chunked or response.length == 0 else Ending.CLOSED
        if take and self._kept and take(bytes(self._kept).rstrip(b"\r"), self._last_at):  # it may lack its end
            return Ending.ENOUGH
        return ending


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


def quoted(data: bytes) -> str:
    """What a foreign program said, for a message: its first 200 bytes on one line, control characters shown."""
    return shown_line(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace").strip(), 4 * QUOTED_BYTES)
