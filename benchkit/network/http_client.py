"""One HTTP request to a server, with one total deadline, carried out by the thread that asks. `http.client` reads it.

Nothing goes through a proxy, no redirect is followed, and what a server may send is bounded. Each request has a
connection of its own, which is closed behind it; the server of one that is given up notices that.
"""
from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.texts import shown_line
from benchkit.network.address import Address
from benchkit.network.connection import Connection, Connections, Deadline, DeadlinePassed, NotReached

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


LineReader: TypeAlias = Callable[[bytes, float], bool]
"""Takes one line of a 200 reply (without its end) and when it came; says whether it is enough. May raise."""


class Backoff:
    """Until when nothing is sent to a server: one moment, on the monotonic clock, for all that ask it at once."""

    def __init__(self) -> None:
        self._until: float | None = None

    def extend(self, until: float) -> None:
        """Nothing before that moment; a later one that is known already stays."""
        self._until = until if self._until is None else max(self._until, until)

    def left_s(self, now: float) -> float:
        """Seconds until something may be sent; 0 if now."""
        return 0.0 if self._until is None else max(0.0, self._until - now)


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

    def send(self, call: Call, deadline: float, read_line: LineReader | None = None,
             while_waiting: Callable[[], None] = lambda: None) -> Response:
        """The response, at `deadline` (monotonic seconds) at the latest; `while_waiting` is called in slices of 0.1 s.

        Raises Interrupted within a slice of a signal, and whatever `read_line` raises; the connection is closed.
        """
        try:
            connection = self.connections.open(self.address, Deadline(self.clock, self.stop, deadline, while_waiting))
        except NotReached as error:
            ending = Ending.REFUSED if error.is_refused else Ending.UNREACHABLE
            return Response(ending, detail=error.detail, ended_at=self.clock.monotonic())
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
        self._ending: Ending | None = None
        self._detail = ""
        self._ended_at: float | None = None
        self._last_at: float | None = None
        self._size = 0
        self._kept = bytearray()

    def run(self, call: Call) -> Response:
        """Send the request, and read until there is an ending."""
        sent_at = self._clock.monotonic()
        try:
            self._connection.send(_request(self._address, call))
            self._receive()
        except OSError:
            self._end(Ending.CUT)
        except DeadlinePassed:
            self._end(Ending.TIMEOUT)
        assert self._ending is not None
        body = b"" if self._is_read_in_lines else self._address.without_secret(bytes(self._kept))
        return Response(self._ending, self._status, body, self._detail, sent_at, self._ended_at, self._retry_after)

    @property
    def _is_read_in_lines(self) -> bool:
        return self._read_line is not None and self._status == 200

    def _end(self, ending: Ending, detail: str = "", at: float | None = None) -> None:
        """That is how it ends, `at` that moment or now."""
        self._ending, self._detail = ending, detail
        self._ended_at = self._clock.monotonic() if at is None else at

    def _receive(self) -> None:
        from http import client
        lines = _Lines(self._connection, _PIECE_BYTES)
        with client.HTTPResponse(lines) as response:  # type: ignore[arg-type]
            try:
                if self._read_head(response, lines):
                    self._read_body(response)
                else:
                    self._end(Ending.CUT)
            except client.RemoteDisconnected:
                self._end(Ending.CUT, "before any answer")
            except (client.BadStatusLine, client.UnknownProtocol):
                self._end_without_status(lines.last)
            except client.IncompleteRead:
                self._end(Ending.CUT)
            except client.HTTPException as error:  # a line that is too long, or too many of them
                # newer Pythons leave a server that sends only interim responses or trailers, older ones never do
                if not isinstance(error, client.LineTooLong) and "headers" not in str(error):
                    while self._connection.read(_PIECE_BYTES):
                        continue
                self._end(Ending.NOT_HTTP)

    def _read_head(self, response: HTTPResponse, lines: _Lines) -> bool:
        """Read up to the body, past interim responses; whether the head is whole. Raises HTTPException."""
        response.begin()
        while response.status in _INTERIM:
            response.headers = None  # type: ignore[assignment]  # else it would not begin again
            response.begin()
        lines.is_head = False
        if not lines.last:  # `http.client` takes the end of a connection for the end of the headers
            return False
        self._status, self._retry_after = response.status, response.headers.get("retry-after")
        return True

    def _end_without_status(self, line: bytes) -> None:
        """What came in place of a status line is none, or only the beginning of one."""
        if b"HTTP/1.".startswith(line[:7]) and not line.endswith(b"\n"):
            self._end(Ending.CUT)
        else:
            self._end(Ending.NOT_HTTP, quoted(self._address.without_secret(line)))

    def _read_body(self, response: HTTPResponse) -> None:
        """Read to the end of the body, or until it is enough. Raises HTTPException, and as the reader of lines does."""
        while self._ending is None and response.length != 0 and (piece := response.read1(_PIECE_BYTES)):
            if response.chunked and (response.chunk_left or 0) < 0:  # `http.client` takes -5 for a size
                self._end(Ending.CUT)
            else:
                self._take(piece, self._clock.monotonic())
        if self._ending is not None:
            return
        if response.length:  # so many bytes were announced, and did not come
            self._end(Ending.CUT)
            return
        self._end(Ending.WHOLE if response.chunked or response.length == 0 else Ending.CLOSED)
        if self._is_read_in_lines and self._kept:  # a last line may lack its end
            self._take_lines([bytes(self._kept).rstrip(b"\r")])

    def _take(self, piece: bytes, at: float) -> None:
        """Take a piece of the body, which came at `at`. Raises what the reader of lines does."""
        self._last_at = at
        self._size += len(piece)
        self._kept += piece
        if self._is_read_in_lines and (b"\n" in piece or b"\r" in piece):
            *lines, kept = _LINE_END.split(self._kept)
            self._kept = bytearray(kept)
            self._take_lines(lines)
        if self._ending is None and (len(self._kept) > MOST_LINE_BYTES or self._size > MOST_STREAM_BYTES):
            self._end(Ending.TOO_LARGE, at=at)

    def _take_lines(self, lines: Sequence[bytes]) -> None:
        assert self._read_line is not None
        assert self._last_at is not None
        for line in lines:
            if self._read_line(line, self._last_at):
                self._end(Ending.ENOUGH, at=self._last_at)
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


def quoted(data: bytes) -> str:
    """What a foreign program said, for a message: its first 200 bytes on one line, control characters shown."""
    return shown_line(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace").strip(), 4 * QUOTED_BYTES)
