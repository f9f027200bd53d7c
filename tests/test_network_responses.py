"""Responses read as they come: each kind, in one piece, byte by byte and in pieces of every size."""
from __future__ import annotations

import http.client
import io
import random
import unittest
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchkit.network.calls import Ending
from benchkit.network.responses import MOST_HEADERS, MOST_LINE_BYTES, End, Head, ResponseReader

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader made of a response; where the ending is None it waits for more."""

    ending: Ending | None
    status: int | None = None
    body: bytes = b""


def whole(status: int, body: bytes = b"") -> Seen:
    return Seen(Ending.WHOLE, status, body)


OPEN: tuple[tuple[str, bytes, Seen], ...] = (
    ("nothing", b"", Seen(None)),
    ("half a status", b"HTTP/1.1 2", Seen(None)),
    ("half of the headers", OK + b"A: b\r\n", Seen(None)),
    ("a length", OK + b"Content-Length: 3\r\n\r\nabc", whole(200, b"abc")),
    ("a length of 0", OK + b"Content-Length: 0\r\n\r\n", whole(200)),
    ("a length that is not reached", OK + b"Content-Length: 5\r\n\r\nabc", Seen(None, 200, b"abc")),
    ("a length, and more behind it", OK + b"content-LENGTH:3\r\n\r\nabcd", whole(200, b"abc")),
    ("two lengths", OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", whole(200, b"ab")),
    ("a length below zero", OK + b"Content-Length: -1\r\n\r\nabc", Seen(None, 200, b"abc")),
    ("a length in words", OK + b"Content-Length: ten\r\n\r\nabc", Seen(None, 200, b"abc")),
    ("no length", OK + b"\r\nabc", Seen(None, 200, b"abc")),
    ("chunks", CHUNKED + b"3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\n\r\n", whole(200, b"abcde")),
    ("a chunk's size in capitals, with zeros and spaces", CHUNKED + b" 00A \r\n0123456789\r\n0\r\n\r\n",
     whole(200, b"0123456789")),
    ("trailers", CHUNKED + b"1\r\na\r\n0\r\nX: y\r\nZ: z\r\n\r\n", whole(200, b"a")),
    ("trailers without an end", CHUNKED + b"1\r\na\r\n0\r\nX: y\r\n", Seen(None, 200, b"a")),
    ("chunks without an end", CHUNKED + b"1\r\na\r\n", Seen(None, 200, b"a")),
    ("a size that is no number", CHUNKED + b"1\r\na\r\nzz\r\n", Seen(Ending.CUT, 200, b"a")),
    ("a size below zero", CHUNKED + b"-5\r\nabc", Seen(Ending.CUT, 200)),
    ("a chunk longer than announced", CHUNKED + b"1\r\nabc\r\n", Seen(Ending.CUT, 200, b"a")),
    ("chunks and a length", OK + b"Content-Length: 9\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
     whole(200, b"a")),
    ("another encoding", OK + b"Transfer-Encoding: gzip\r\n\r\nabc", Seen(None, 200, b"abc")),
    ("HTTP/1.0", b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", whole(200, b"a")),
    ("a refusal", b"HTTP/1.1 400\r\nContent-Length: 1\r\n\r\na", whole(400, b"a")),
    ("no content", b"HTTP/1.1 204 No Content\r\n\r\n", whole(204)),
    ("not modified", b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", whole(304)),
    ("another protocol", b"HTTP/1.1 101 X\r\n\r\n\x81\x05Hello", whole(101)),
    *((f"interim responses {status}",
       b"HTTP/1.1 %d X\r\nA: b\r\n\r\n" % status * 2 + OK + b"Content-Length: 1\r\n\r\na", whole(200, b"a"))
      for status in (100, 102, 103, 110, 199)),
    ("lines that end in a newline only", b"HTTP/1.1 200 OK\nContent-Length: 1\n\na", whole(200, b"a")),
    ("headers that are none", OK + b"\xff\xfe\x00: \x1b\r\n: :\r\nnone\r\n folded\r\nContent-Length: 0\r\n\r\n",
     whole(200)),
    ("no HTTP", b"SSH-2.0-x\r\n", Seen(Ending.FOREIGN)),
    ("another version", b"HTTP/9.9 200 OK\r\n\r\n", Seen(Ending.FOREIGN)),
    ("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n", Seen(Ending.FOREIGN)),
    ("a status below 100", b"HTTP/1.1 099 X\r\n\r\n", Seen(Ending.FOREIGN)),
    ("a status below zero", b"HTTP/1.1 -10 X\r\n\r\n", Seen(Ending.FOREIGN)),
    ("a status in words", b"HTTP/1.1 fine\r\n\r\n", Seen(Ending.FOREIGN)),
    ("as many headers as there may be", OK + b"A: a\r\n" * (MOST_HEADERS - 1) + b"\r\n", Seen(None, 200)),
    ("one more", OK + b"A: a\r\n" * MOST_HEADERS + b"\r\n", Seen(Ending.FOREIGN)),
    ("one more in an interim response", b"HTTP/1.1 100 X\r\n" + b"A: a\r\n" * MOST_HEADERS, Seen(Ending.FOREIGN)),
)
"""(what, bytes, what is made of them while the connection is open)."""
LONG: tuple[tuple[str, bytes, Seen], ...] = (
    ("a status without an end", b"HTTP/1.1 200 " + b"a" * MOST_LINE_BYTES, Seen(Ending.FOREIGN)),
    ("a header as long as it may be", OK + b"A: " + b"a" * (MOST_LINE_BYTES - 4) + b"\r\n\r\n", Seen(None, 200)),
    ("one that is longer", OK + b"A: " + b"a" * MOST_LINE_BYTES + b"\r\n\r\n", Seen(Ending.FOREIGN)),
    ("a header without an end", OK + b"A: " + b"a" * MOST_LINE_BYTES, Seen(Ending.FOREIGN)),
    ("a size without an end", CHUNKED + b"0" * (MOST_LINE_BYTES + 1), Seen(Ending.FOREIGN, 200)),
    ("an extension without an end", CHUNKED + b"5;" + b"x" * MOST_LINE_BYTES, Seen(Ending.FOREIGN, 200)),
    ("a trailer without an end", CHUNKED + b"0\r\n" + b"x" * (MOST_LINE_BYTES + 1), Seen(Ending.FOREIGN, 200)),
    ("a length beyond all measure", OK + b"Content-Length: " + b"9" * 400 + b"\r\n\r\nab", Seen(None, 200, b"ab")),
    ("a length beyond all numbers", OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nab", Seen(None, 200, b"ab")),
    ("a chunk beyond all measure", CHUNKED + b"f" * 60 + b"\r\nab", Seen(None, 200, b"ab")),
)
CLOSED: tuple[tuple[str, bytes, Seen], ...] = (
    ("nothing", b"", Seen(Ending.CUT)),
    ("half a status", b"HTTP/1.1 20", Seen(Ending.CUT)),
    ("half of what is no status", b'{"done":true}', Seen(Ending.FOREIGN)),
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
    ("a whole response", OK + b"Content-Length: 3\r\n\r\nabc", Seen(Ending.WHOLE, 200, b"abc")),
)
"""The same once the connection has been closed behind them."""


def made_of(pieces: Iterable[bytes], *, closes: bool) -> Seen:
    """What a reader makes of a response in these pieces."""
    reader = ResponseReader()
    body = b"".join([reader.take(piece) for piece in pieces])
    if closes:
        body += reader.close()
    return Seen(reader.end.ending if reader.end else None, reader.head.status if reader.head else None, body)


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
        for data, end in ((b"", End(Ending.CUT, "before any answer")), (b"SSH\r\n", End(Ending.FOREIGN, said=b"SSH")),
                          (b"SSH", End(Ending.FOREIGN, said=b"SSH")), (b"HTT", End(Ending.CUT))):
            reader = ResponseReader()
            reader.take(data)
            reader.close()
            self.assertEqual(end, reader.end)

    def test_when_to_ask_again_is_taken_from_the_head_as_it_stands(self) -> None:
        reader = ResponseReader()
        reader.take(b"HTTP/1.1 503 X\r\nRETRY-AFTER: \t 12 \r\nRetry-After: 13\r\n\r\n")
        self.assertEqual(Head(503, "12"), reader.head)

    def test_nothing_is_read_behind_the_end(self) -> None:
        reader = ResponseReader()
        reader.take(OK + b"Content-Length: 1\r\n\r\na")
        self.assertEqual((b"", b""), (reader.take(b"more"), reader.close()))

    def test_whatever_is_well_formed_is_read_as_the_standard_library_reads_it(self) -> None:
        chance = random.Random(3)
        for number in range(300):
            data, body = well_formed(chance)
            known = http.client.HTTPResponse(FakeSocket(data))  # type: ignore[arg-type]
            known.begin()
            found = made_of(in_pieces(data, chance), closes=True)
            self.assertEqual((known.status, known.read(), body), (found.status, found.body, body), number)


class FakeSocket:
    """What the standard library reads a response from."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self.data)


def well_formed(chance: random.Random) -> tuple[bytes, bytes]:
    """A response as it should be, and its body."""
    body = chance.randbytes(chance.choice((0, 1, 10, 1000, 100_000)))
    head = b"HTTP/1.%d %d X\r\nA: b\r\n" % (chance.randrange(2), chance.choice((200, 201, 404, 500)))
    match chance.randrange(3):
        case 0:
            return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
        case 1:
            return head + b"\r\n" + body, body
    pieces = list(in_pieces(body, chance))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", body


if __name__ == "__main__":
    unittest.main()
