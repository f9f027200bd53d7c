"""Responses as they come over a connection: each kind, in one piece, byte by byte and in pieces of every size."""
from __future__ import annotations

import random
import socket
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import cast
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.network.address import Address, address_of
from benchkit.network.connection import Connection, Connections, Deadline
from benchkit.network.http_client import Call, Client, Ending, Response

MOST_LINE_BYTES, MOST_HEADERS = 65536, 100
"""As `http.client` reads: with the end of the line, and before Python 3.15 with the empty line."""
LIMIT_S = 60.0
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was made of a response; it waits for more to the deadline where the ending is TIMEOUT."""

    ending: Ending = Ending.TIMEOUT
    status: int | None = None
    body: bytes = b""


def whole(status: int, body: bytes = b"") -> Seen:
    return Seen(Ending.WHOLE, status, body)


def waits(status: int, body: bytes = b"") -> Seen:
    return Seen(Ending.TIMEOUT, status, body)


OPEN: tuple[tuple[str, bytes, Seen], ...] = (
    ("nothing", b"", Seen()),
    ("half a status", b"HTTP/1.1 2", Seen()),
    ("half of the headers", OK + b"A: b\r\n", Seen()),
    ("a length", OK + b"Content-Length: 3\r\n\r\nabc", whole(200, b"abc")),
    ("a length of 0", OK + b"Content-Length: 0\r\n\r\n", whole(200)),
    ("a length that is not reached", OK + b"Content-Length: 5\r\n\r\nabc", waits(200, b"abc")),
    ("a length, and more behind it", OK + b"content-LENGTH:3\r\n\r\nabcd", whole(200, b"abc")),
    ("two lengths", OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", whole(200, b"ab")),
    ("a length below zero", OK + b"Content-Length: -1\r\n\r\nabc", waits(200, b"abc")),
    ("a length in words", OK + b"Content-Length: ten\r\n\r\nabc", waits(200, b"abc")),
    ("no length", OK + b"\r\nabc", waits(200, b"abc")),
    ("chunks", CHUNKED + b"3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\n\r\n", whole(200, b"abcde")),
    ("a chunk's size in capitals, with zeros and spaces", CHUNKED + b" 00A \r\n0123456789\r\n0\r\n\r\n",
     whole(200, b"0123456789")),
    ("trailers", CHUNKED + b"1\r\na\r\n0\r\nX: y\r\nZ: z\r\n\r\n", whole(200, b"a")),
    ("trailers without an end", CHUNKED + b"1\r\na\r\n0\r\nX: y\r\n", waits(200, b"a")),
    ("chunks without an end", CHUNKED + b"1\r\na\r\n", waits(200, b"a")),
    ("a size that is no number", CHUNKED + b"1\r\na\r\nzz\r\n", Seen(Ending.CUT, 200, b"a")),
    ("a size below zero", CHUNKED + b"-5\r\nabc", Seen(Ending.CUT, 200)),
    ("a chunk longer than announced", CHUNKED + b"1\r\nabc\r\n", Seen(Ending.CUT, 200, b"a")),
    ("chunks and a length", OK + b"Content-Length: 9\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
     whole(200, b"a")),
    ("another encoding", OK + b"Transfer-Encoding: gzip\r\n\r\nabc", waits(200, b"abc")),
    ("HTTP/1.0", b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", whole(200, b"a")),
    ("a refusal", b"HTTP/1.1 400\r\nContent-Length: 1\r\n\r\na", whole(400, b"a")),
    ("no content", b"HTTP/1.1 204 No Content\r\n\r\n", whole(204)),
    ("not modified", b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", whole(304)),
    ("another protocol", b"HTTP/1.1 101 X\r\n\r\n\x81\x05Hello", whole(101)),
    *((f"interim responses {status}",
       b"HTTP/1.1 %d X\r\nA: b\r\n\r\n" % status * 2 + OK + b"Content-Length: 1\r\n\r\na", whole(200, b"a"))
      for status in (100, 102, 103, 110, 199)),
    ("lines that end in a newline only", b"HTTP/1.1 200 OK\nContent-Length: 1\n\na", whole(200, b"a")),
    ("odd headers", OK + b" folded\r\nA: \xff\xfe\x00: \x1b\r\n: :\r\n folded\r\nContent-Length: 0\r\n\r\n",
     whole(200)),
    ("a line that is no header ends them", OK + b"none\r\nContent-Length: 0\r\n\r\n", waits(200)),
    ("no HTTP", b"SSH-2.0-x\r\n", Seen(Ending.NOT_HTTP)),
    ("another version", b"HTTP/9.9 200 OK\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("a status below 100", b"HTTP/1.1 099 X\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("a status below zero", b"HTTP/1.1 -10 X\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("a status in words", b"HTTP/1.1 fine\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("as many headers as there may be", OK + b"A: a\r\n" * (MOST_HEADERS - 1) + b"\r\n", waits(200)),
    ("more", OK + b"A: a\r\n" * (MOST_HEADERS + 1) + b"\r\n", Seen(Ending.NOT_HTTP)),
    ("more in an interim response", b"HTTP/1.1 100 X\r\n" + b"A: a\r\n" * (MOST_HEADERS + 1),
     Seen(Ending.NOT_HTTP)),
)
"""(what, bytes, what is made of them while the connection is open)."""
LONG: tuple[tuple[str, bytes, Seen], ...] = (
    ("a status without an end", b"HTTP/1.1 200 " + b"a" * MOST_LINE_BYTES, Seen(Ending.NOT_HTTP)),
    ("a header as long as it may be", OK + b"A: " + b"a" * (MOST_LINE_BYTES - 5) + b"\r\n\r\n", waits(200)),
    ("one that is longer", OK + b"A: " + b"a" * (MOST_LINE_BYTES - 4) + b"\r\n\r\n", Seen(Ending.NOT_HTTP)),
    ("a header without an end", OK + b"A: " + b"a" * MOST_LINE_BYTES, Seen(Ending.NOT_HTTP)),
    ("long headers", OK + (b"A: " + b"\r" * 60_000 + b"\r\n") * 4 + b"\r\n", waits(200)),
    ("more of them than a head may have", OK + (b"A: " + b"\r" * 60_000 + b"\r\n") * 5, Seen(Ending.NOT_HTTP)),
    ("the same behind an interim response", b"HTTP/1.1 103 X\r\n\r\n" + OK + (b"A: " + b"\r" * 60_000 + b"\r\n") * 5,
     Seen(Ending.NOT_HTTP)),
    ("a size without an end", CHUNKED + b"0" * (MOST_LINE_BYTES + 1), Seen(Ending.NOT_HTTP, 200)),
    ("an extension without an end", CHUNKED + b"5;" + b"x" * MOST_LINE_BYTES, Seen(Ending.NOT_HTTP, 200)),
    ("a trailer without an end", CHUNKED + b"0\r\n" + b"x" * (MOST_LINE_BYTES + 1), Seen(Ending.NOT_HTTP, 200)),
    ("a length beyond all measure", OK + b"Content-Length: " + b"9" * 400 + b"\r\n\r\nab", waits(200, b"ab")),
    ("a length beyond all numbers", OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nab", waits(200, b"ab")),
    ("a chunk beyond all measure", CHUNKED + b"f" * 60 + b"\r\nab", waits(200, b"ab")),
)
CLOSED: tuple[tuple[str, bytes, Seen], ...] = (
    ("nothing", b"", Seen(Ending.CUT)),
    ("half a status", b"HTTP/1.1 20", Seen(Ending.CUT)),
    ("half of what is no status", b'{"done":true}', Seen(Ending.NOT_HTTP)),
    ("an interim response", b"HTTP/1.1 100 Continue\r\n\r\n", Seen(Ending.CUT)),
    ("half of the headers", OK + b"Content-Length: 3\r\n", Seen(Ending.CUT)),
    ("no length", OK + b"\r\nabc", Seen(Ending.CLOSED, 200, b"abc")),
    ("no length and no body", OK + b"\r\n", Seen(Ending.CLOSED, 200)),
    ("a length that is not reached", OK + b"Content-Length: 5\r\n\r\nabc", Seen(Ending.CUT, 200, b"abc")),
    ("half a chunk", CHUNKED + b"5\r\nab", Seen(Ending.CUT, 200, b"ab")),
    ("a chunk without its end", CHUNKED + b"2\r\nab\r", Seen(Ending.CUT, 200, b"ab")),
    ("no last chunk", CHUNKED + b"2\r\nab\r\n", Seen(Ending.CUT, 200, b"ab")),
    ("half a size", CHUNKED + b"2", Seen(Ending.CUT, 200)),
    ("a last chunk without trailers", CHUNKED + b"2\r\nab\r\n0\r\n", Seen(Ending.WHOLE, 200, b"ab")),
    ("half a trailer", CHUNKED + b"2\r\nab\r\n0\r\nX: ", Seen(Ending.WHOLE, 200, b"ab")),
    ("a line that is no header ends them", OK + b"none\r\nContent-Length: 9\r\n\r\na", Seen(Ending.CLOSED, 200, b"a")),
    ("a whole response", OK + b"Content-Length: 3\r\n\r\nabc", Seen(Ending.WHOLE, 200, b"abc")),
)
"""The same once the connection has been closed behind them."""


class PlayedSocket:
    """Gives these pieces, and then its end, or nothing until the time is over."""

    def __init__(self, pieces: Iterable[bytes], *, closes: bool, wait: Callable[[], None]) -> None:
        self.pieces, self.closes, self.wait = [*filter(None, pieces)], closes, wait

    def recv_into(self, buffer: memoryview) -> int:
        if not self.pieces and not self.closes:
            self.wait()
            raise TimeoutError
        piece = self.pieces.pop(0) if self.pieces else b""
        if len(piece) > len(buffer):
            self.pieces.insert(0, piece[len(buffer):])
        taken = piece[:len(buffer)]
        buffer[:len(taken)] = taken
        return len(taken)

    def send(self, data: bytes) -> int:
        return len(data)

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def setsockopt(self, *_option: int) -> None:
        """There is none."""

    def close(self) -> None:
        self.pieces.clear()


class Played(Connections):
    """The one connection there is."""

    def __init__(self, played: PlayedSocket) -> None:
        super().__init__()
        self.played = played

    def open(self, address: Address, deadline: Deadline) -> Connection:
        return Connection(cast(socket.socket, self.played), deadline)


def response_to(pieces: Iterable[bytes], *, closes: bool) -> Response:
    """What a client makes of a response in these pieces."""
    now = [0.0]
    played = PlayedSocket(pieces, closes=closes, wait=lambda: now.append(LIMIT_S))
    client = Client(
        address_of("", "--host"), Clock(monotonic=lambda: now[-1]), StopRequest(), connections=Played(played)
    )
    return client.send(Call("GET", "/"), LIMIT_S)


def made_of(pieces: Iterable[bytes], *, closes: bool) -> Seen:
    response = response_to(pieces, closes=closes)
    return Seen(response.ending, response.status, response.body)


def in_pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    while data:
        size = chance.choice((1, 2, 3, 7, 50, 1000, 70_000))
        yield data[:size]
        data = data[size:]


class Responses(unittest.TestCase):
    def test_each_is_what_it_is_in_one_piece_and_byte_by_byte(self) -> None:
        for closes, kinds in ((False, OPEN), (True, CLOSED)):
            for name, data, expected in kinds:
                with self.subTest(name, closes=closes):
                    self.assertEqual(expected, made_of([data], closes=closes))
                    self.assertEqual(expected, made_of([data[at:at + 1] for at in range(len(data))], closes=closes))

    def test_what_is_long_is_bounded_in_pieces_of_every_size(self) -> None:
        chance = random.Random(1)
        for name, data, expected in LONG:
            with self.subTest(name):
                for pieces in ([data], in_pieces(data, chance), in_pieces(data, chance)):
                    self.assertEqual(expected, made_of(pieces, closes=False))

    def test_where_a_response_is_cut_makes_no_difference_to_the_pieces_before(self) -> None:
        chance = random.Random(2)
        for _, data, _ in (*OPEN, *CLOSED):
            cut = data[:chance.randrange(len(data) + 1)]
            self.assertEqual(made_of([cut], closes=True), made_of(in_pieces(cut, chance), closes=True), cut)

    def test_what_ends_a_response_is_said_of_it(self) -> None:
        for data, ending, detail in (
                (b"", Ending.CUT, "before any answer"), (b"SSH \x1b[31m\r\n", Ending.NOT_HTTP, r"SSH \x1b[31m"),
                (b"SSH", Ending.NOT_HTTP, "SSH"), (b"HTTP/9.9 200\r\n", Ending.NOT_HTTP, "HTTP/9.9 200"),
                (b"HTT", Ending.CUT, "")):
            response = response_to([data], closes=True)
            self.assertEqual((ending, detail), (response.ending, response.detail))

    def test_when_to_ask_again_is_taken_from_the_head_as_it_stands(self) -> None:
        data = b"HTTP/1.1 503 X\r\nRETRY-AFTER: \t 12 \r\nRetry-After: 13\r\n\r\n"
        self.assertEqual("12", (response_to([data], closes=True).retry_after or "").strip())

    def test_whatever_is_well_formed_is_read_whole(self) -> None:
        chance = random.Random(3)
        for number in range(300):
            data, status, body = well_formed(chance)
            found = made_of(in_pieces(data, chance), closes=True)
            self.assertEqual((status, body), (found.status, found.body), number)

    def test_of_interim_responses_or_trailers_without_end_only_the_deadline_is_the_end_on_every_python(self) -> None:
        for method in ("begin", "read1"):
            gives_up = HTTPException("got more than 100 of them")
            with self.subTest(method), mock.patch.object(HTTPResponse, method, side_effect=gives_up):
                self.assertIs(Ending.TIMEOUT, made_of([OK + b"\r\n", b"more"], closes=False).ending)
                self.assertIs(Ending.NOT_HTTP, made_of([OK + b"\r\n", b"more"], closes=True).ending)


def well_formed(chance: random.Random) -> tuple[bytes, int, bytes]:
    """A response as it should be, with its status and its body."""
    body = chance.randbytes(chance.choice((0, 1, 10, 1000, 100_000)))
    status = chance.choice((200, 201, 404, 500))
    head = b"HTTP/1.%d %d X\r\nA: b\r\n" % (chance.randrange(2), status)
    match chance.randrange(3):
        case 0:
            return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, status, body
        case 1:
            return head + b"\r\n" + body, status, body
    pieces = list(in_pieces(body, chance))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", status, body
