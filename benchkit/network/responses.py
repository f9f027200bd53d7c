"""An HTTP/1.1 response read as it comes: bytes in, body out, whatever the pieces they come in. RFC 9112.

Everything a server can make long is bounded: a line, the number of headers. What it sends wrong ends the response by
name. Interim responses (every 1xx but 101) and trailers are passed over.
"""
from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from benchkit.network.calls import Ending

MOST_LINE_BYTES = 65536
"""Of the status, a header, a chunk's size or a trailer."""
MOST_HEADERS = 100
_STATUS = re.compile(rb"HTTP/1\.[0-9]{1,3}[ \t]+([1-9][0-9][0-9])(?:[ \t].*)?", re.DOTALL)
_LENGTH = re.compile(r"[0-9]{1,4000}")
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]+)[ \t]*(?:;.*)?", re.DOTALL)
_SWITCHING = 101
"""Another protocol follows: the last response of this one."""
_INTERIM, _BODILESS = range(100, 200), (_SWITCHING, 204, 304)

Made = TypeVar("Made")
Steps: TypeAlias = Generator[None, None, Made]
"""Reading that goes on with each piece: it yields where it needs more."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status, and when the server wants to be asked again, if it says so."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How the response ended: `detail` in the kit's words, or ""; `said` is what stood in place of a status line."""

    ending: Ending
    detail: str = ""
    said: bytes = b""


class _Broken(Exception):
    """What comes is no response, or no whole one."""

    def __init__(self, end: End) -> None:
        super().__init__(end)
        self.end = end


class ResponseReader:
    """One response. `head` and `end` are None until they have come."""

    def __init__(self) -> None:
        self.head: Head | None = None
        self.end: End | None = None
        self._buffer = bytearray()
        self._body: list[bytes] = []
        self._is_closed = False
        self._steps = self._response()

    def take(self, data: bytes) -> bytes:
        """Take some bytes; the bytes of the body that came with them."""
        self._buffer += data
        return self._go_on()

    def close(self) -> bytes:
        """The connection has ended; what is left of the body. `end` is set."""
        self._is_closed = True
        return self._go_on()

    def take_or_close(self, data: bytes) -> bytes:
        """What a socket gave: some bytes, or none at its end."""
        return self.take(data) if data else self.close()

    def _go_on(self) -> bytes:
        if self.end is None:
            try:
                next(self._steps)
            except StopIteration as over:
                self.end = over.value
            except _Broken as broken:
                self.end = broken.end
        body, self._body = b"".join(self._body), []
        return body

    def _response(self) -> Steps[End]:
        status = yield from self._status()
        while status in _INTERIM and status != _SWITCHING:
            yield from self._headers()
            status = yield from self._status()
        headers = yield from self._headers()
        self.head = Head(status, headers.get("retry-after"))
        if status in _BODILESS:
            return End(Ending.WHOLE)
        is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        length = None if is_chunked else _length_of(headers)
        if is_chunked:
            return (yield from self._chunks())
        if length is None:
            return (yield from self._until_closed())
        yield from self._bytes(length)
        return End(Ending.WHOLE)

    def _status(self) -> Steps[int]:
        line = yield from self._line(is_first=True)
        found = _STATUS.fullmatch(line)
        if found is None:
            raise _Broken(End(Ending.FOREIGN, said=line))
        return int(found[1])

    def _headers(self) -> Steps[dict[str, str]]:
        """By name in lower case, the first of each. What is no header is passed over."""
        headers: dict[str, str] = {}
        for _ in range(MOST_HEADERS):
            line = yield from self._line()
            if not line:
                return headers
            name, colon, value = line.decode("latin-1").partition(":")
            if colon:
                headers.setdefault(name.lower(), value.strip(" \t"))
        raise _Broken(End(Ending.FOREIGN))

    def _chunks(self) -> Steps[End]:
        while size := _size_of((yield from self._line())):
            yield from self._bytes(size)
            yield from self._end_of_chunk()
        # a connection that ends among the trailers has brought the whole body
        while (self._buffer or not self._is_closed) and (yield from self._line(may_end=True)):
            continue
        return End(Ending.WHOLE)

    def _until_closed(self) -> Steps[End]:
        while not self._is_closed:
            self._body.append(bytes(self._buffer))
            self._buffer.clear()
            yield
        return End(Ending.CLOSED)

    def _bytes(self, count: int) -> Steps[None]:
        """So many bytes of the body."""
        buffer = self._buffer
        while count:
            if buffer:
                piece = bytes(buffer[:count])
                del buffer[:count]
                self._body.append(piece)
                count -= len(piece)
            elif self._is_closed:
                raise _Broken(End(Ending.CUT))
            else:
                yield

    def _end_of_chunk(self) -> Steps[None]:
        while len(self._buffer) < 2 and not self._is_closed:
            yield
        if self._buffer[:2] != b"\r\n":
            raise _Broken(End(Ending.CUT))
        del self._buffer[:2]

    def _line(self, *, is_first: bool = False, may_end: bool = False) -> Steps[bytes]:
        """The next line, without its end. The connection may end before the first, and within one if `may_end`."""
        buffer, searched = self._buffer, 0
        while (at := buffer.find(b"\n", searched)) < 0 and not self._is_closed:
            searched = len(buffer)
            if searched > MOST_LINE_BYTES:
                break
            yield
        if at > MOST_LINE_BYTES or (at < 0 and len(buffer) > MOST_LINE_BYTES):
            raise _Broken(End(Ending.FOREIGN))
        if at < 0 and not may_end:
            raise _Broken(self._ended_in_line(is_first))
        line = bytes(buffer[:at] if at >= 0 else buffer)
        del buffer[:at + 1 if at >= 0 else len(buffer)]
        return line.removesuffix(b"\r")

    def _ended_in_line(self, is_first: bool) -> End:
        if is_first and not self._buffer:
            return End(Ending.CUT, "before any answer")
        if is_first and not b"HTTP/1.".startswith(self._buffer[:7]):
            return End(Ending.FOREIGN, said=bytes(self._buffer))
        return End(Ending.CUT)


def _length_of(headers: Mapping[str, str]) -> int | None:
    """The announced length; None where there is none, or no number."""
    text = headers.get("content-length", "")
    return int(text) if _LENGTH.fullmatch(text) else None


def _size_of(line: bytes) -> int:
    found = _SIZE.fullmatch(line)
    if found is None:
        raise _Broken(End(Ending.CUT))
    return int(found[1], 16)
