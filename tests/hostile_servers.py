"""What a hostile server may do in place of answering, each with the outcomes that a trial may have."""
from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.fake_ollama import Fault, drips, endless, lines, raw_bytes, resets, says, silent, stalls, status

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LONG_HEAD = OK + (b"X-A: " + b"\r" * 60_000 + b"\r\n") * 98 + b"\r\n"
"""Each carriage return in it may be the end of a line."""
JUDGED = "judged"
"""A whole output came: it is judged, whatever it says."""
MODEL = "smollm2:135m"
WHOLE = json.dumps({"model": MODEL, "message": {"role": "assistant", "content": "yes"}, "done": True,
                    "done_reason": "stop"}).encode()


@dataclass(frozen=True, slots=True)
class Attack:
    """What the server does, and what may become of the trial: an error type, or JUDGED; how its text begins."""

    fault: Fault
    outcome: str
    keeps: str = ""


def chunk(data: bytes) -> bytes:
    """A chunk as it is sent."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def body(data: bytes, *headers: bytes) -> Fault:
    """A whole 200 with this body, more headers before its length."""
    head = b"".join(header + b"\r\n" for header in headers)
    return raw_bytes(OK + head + b"Content-Length: %d\r\n\r\n" % len(data) + data)


def reply(content: bytes, more: bytes = b"") -> bytes:
    """A chat line whose content and further fields are written by hand."""
    return b'{"model":"%s","message":{"content":%s},"done":true,"done_reason":"stop"%s}' % (
        MODEL.encode(), content, more)


SLOW: Mapping[str, Attack] = {
    "silence": Attack(silent(), "Timeout"),
    "a text without an end": Attack(stalls("Hel"), "Timeout", "Hel"),
    "a byte of the status line now and then": Attack(drips(b"HTTP/1.1 200 OK" + b"K" * 1000, 0.05), "Timeout"),
    "a byte of a header now and then": Attack(drips(OK + b"X-A: a", 0.05), "Timeout"),
    "a byte of a chunk's size now and then": Attack(drips(CHUNKED + b"0", 0.05), "Timeout"),
    "a byte of a line now and then": Attack(drips(CHUNKED + chunk(b"{") + b"ffff\r\n ", 0.05), "Timeout"),
    "a length that never comes": Attack(stalls("x" * 100), "Timeout"),
}
"""They last as long as the client waits."""

FLOODS: Mapping[str, Attack] = {
    "interim responses for ever": Attack(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "Timeout"),
    "headers for ever": Attack(endless(OK, b"X-A: a\r\n"), "BadReply"),
    "one header for ever": Attack(endless(OK + b"X-A: ", b"a" * 4096), "BadReply"),
    "a chunk's size for ever": Attack(endless(CHUNKED, b"0" * 4096), "BadReply"),
    "a chunk's extension for ever": Attack(endless(CHUNKED + b"5;", b"x" * 4096), "BadReply"),
    "trailers for ever": Attack(endless(CHUNKED + b"0\r\n", b"X-A: a\r\n"), "Timeout"),
    "empty lines for ever": Attack(endless(CHUNKED, chunk(b"\n") * 100), "Timeout"),
    "one line for ever": Attack(endless(CHUNKED, chunk(b"a" * 65536)), "ReplyTooLarge"),
    "one line for ever in tiny chunks": Attack(endless(CHUNKED, chunk(b" ") * 1000), "Timeout"),
    "one line for ever, of no announced length": Attack(endless(OK + b"\r\n", b"a" * 65536), "ReplyTooLarge"),
    "tokens for ever": Attack(
        endless(CHUNKED, chunk(b'{"message":{"content":"' + b"x" * 20_000 + b'"},"done":false}\n')), "ReplyTooLarge",
        "xxx"),
    "reasoning for ever": Attack(
        endless(CHUNKED, chunk(b'{"message":{"thinking":"' + b"x" * 20_000 + b'"},"done":false}\n')), "ReplyTooLarge"),
    "an error page for ever": Attack(endless(b"HTTP/1.1 500 X\r\n\r\n", b"<p>" * 20_000), "ReplyTooLarge"),
}
"""As fast as the client takes them."""

QUICK: Mapping[str, Attack] = {
    "a reset before any byte": Attack(resets(), "BrokenReply"),
    "a reset in the middle": Attack(resets("Hel"), "BrokenReply", "Hel"),
    "a connection closed at once": Attack(raw_bytes(b""), "BrokenReply"),
    "a body shorter than announced": Attack(raw_bytes(OK + b"Content-Length: 999\r\n\r\n" + WHOLE[:40]), "BrokenReply"),
    "a chunk shorter than announced": Attack(raw_bytes(CHUNKED + b"fff\r\n" + WHOLE[:40]), "BrokenReply"),
    "a last chunk that is missing": Attack(raw_bytes(CHUNKED + chunk(WHOLE[:40])), "BrokenReply"),
    "a body longer than announced": Attack(raw_bytes(OK + b"Content-Length: 20\r\n\r\n" + WHOLE), "BadReply"),
    "a length below zero": Attack(raw_bytes(OK + b"Content-Length: -1\r\n\r\n" + WHOLE), JUDGED),
    "a length that is no number": Attack(raw_bytes(OK + b"Content-Length: ten\r\n\r\n" + WHOLE), JUDGED),
    "a length beyond all measure": Attack(
        raw_bytes(OK + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n" + WHOLE[:40]), "BrokenReply"),
    "a chunk beyond all measure": Attack(raw_bytes(CHUNKED + b"f" * 60 + b"\r\nabc"), "BrokenReply"),
    "a chunk below zero": Attack(raw_bytes(CHUNKED + b"-5\r\nabc"), "BrokenReply"),
    "a chunk's size that is no number": Attack(raw_bytes(CHUNKED + b"zz\r\nok\r\n"), "BrokenReply"),
    "headers that are no headers": Attack(raw_bytes(OK + b"\xff\xfe\x00: \x1b[31m\r\n: :\r\n\r\n" + WHOLE), JUDGED),
    "headers that take long to read": Attack(raw_bytes(LONG_HEAD + WHOLE), "BadReply"),
    "a status beyond all measure": Attack(raw_bytes(b"HTTP/1.1 99999999999 X\r\n\r\n"), "BadReply"),
    "a status below 100": Attack(raw_bytes(b"HTTP/1.1 -10 X\r\n\r\n"), "BadReply"),
    "another version of HTTP": Attack(raw_bytes(b"HTTP/9.9 200 OK\r\n\r\n" + WHOLE), "BadReply"),
    "no HTTP": Attack(raw_bytes(b"SSH-2.0-\x1b[31mred\r\n"), "BadReply"),
    "TLS": Attack(raw_bytes(b"\x15\x03\x01\x00\x02\x02\x46"), "BadReply"),
    "a line without a head": Attack(raw_bytes(WHOLE), "BadReply"),
    "two responses": Attack(raw_bytes((OK + b"Content-Length: %d\r\n\r\n" % len(WHOLE) + WHOLE) * 2), JUDGED),
    "gzip that nobody asked for": Attack(body(gzip.compress(WHOLE), b"Content-Encoding: gzip"), "BadReply"),
    "a gzip bomb": Attack(body(gzip.compress(bytes(10_000_000)), b"Content-Encoding: gzip"), "BadReply"),
    "UTF-16": Attack(body(WHOLE.decode().encode("utf-16")), "BadReply"),
    "UTF-32": Attack(body(WHOLE.decode().encode("utf-32-le")), "BadReply"),
    "Latin-1": Attack(body(reply('"é"'.encode("latin-1"))), "BadReply"),
    "a byte order mark": Attack(body(b"\xef\xbb\xbf" + WHOLE), "BadReply"),
    "half a letter": Attack(body(reply(b'"\xf0\x9f\x98"')), "BadReply"),
    "half a letter, escaped": Attack(body(reply(rb'"\ud83d"')), JUDGED),
    "a NUL in the text": Attack(body(reply(rb'"\u0000"')), JUDGED),
    "a bare NUL": Attack(body(reply(b'"\x00"')), "BadReply"),
    "HTML": Attack(status(200, "<!doctype html><script>alert(1)</script>", "text/html"), "BadReply"),
    "an empty body": Attack(status(200, ""), "BrokenReply"),
    "only spaces": Attack(status(200, " \n \n"), "BrokenReply"),
    "a list": Attack(lines(b"[]"), "BadReply"),
    "a number": Attack(lines(b"1"), "BadReply"),
    "a text": Attack(lines(b'"done"'), "BadReply"),
    "nothing": Attack(lines(b"null"), "BadReply"),
    "another object": Attack(lines(b'{"response":"yes","done":true}'), "BadReply"),
    "an object without done": Attack(lines(b'{"message":{"content":"yes"}}'), "BadReply"),
    "done that is no truth": Attack(lines(b'{"message":{"content":"yes"},"done":"yes"}'), "BadReply"),
    "a message that is a list": Attack(lines(b'{"message":["yes"],"done":true}'), "BadReply"),
    "content that is a number": Attack(lines(b'{"message":{"content":7},"done":true}'), "BadReply"),
    "content that is an object": Attack(lines(b'{"message":{"content":{"a":1}},"done":true}'), "BadReply"),
    "an error that is an object": Attack(lines(b'{"error":{"message":"no"}}'), "BadReply"),
    "an error with control characters": Attack(lines(rb'{"error":"\u001b[31m\u202e\n\u0000"}'), "BrokenReply"),
    "keys that stand twice": Attack(body(reply(b'"yes"', b',"done":false')), "BadReply"),
    "NaN": Attack(body(reply(b'"yes"', b',"eval_count":NaN')), "BadReply"),
    "a number of 10,000 digits": Attack(body(reply(b'"yes"', b',"eval_count":' + b"9" * 10_000)), "BadReply"),
    "a number beyond all measure": Attack(body(reply(b'"yes"', b',"eval_count":1e999')), "BadReply"),
    "nested 100,000 deep": Attack(body(b'{"a":' * 100_000), "BadReply"),
    "counts of every wrong kind": Attack(body(reply(
        b'"yes"', b',"eval_count":-1,"prompt_eval_count":"many","total_duration":1.5,"load_duration":true,'
                  b'"eval_duration":[]')), JUDGED),
    "a reason to end that is no text": Attack(body(WHOLE.replace(b'"stop"', b"{}")), "Unfinished"),
    "a reason to end that nobody knows": Attack(body(WHOLE.replace(b"stop", b"\\u001b" * 1000)), "BrokenReply"),
    "a whole reply and then more": Attack(lines(WHOLE, b"\x00\xff garbage"), JUDGED),
    "done that comes twice": Attack(lines(WHOLE, WHOLE), JUDGED),
    "an answer of another model": Attack(lines(WHOLE.replace(MODEL.encode(), b"other:1b")), "BadReply"),
    "an empty answer": Attack(says(""), JUDGED),
    **{f"status {code}": Attack(status(code), "ServerError")
       for code in (201, 206, 226, 300, 400, 402, 405, 408, 418, 451, 499, 500, 502, 504, 520, 599)},
    "a status without a body": Attack(raw_bytes(b"HTTP/1.1 204 No Content\r\n\r\n"), "ServerError"),
    "not modified": Attack(raw_bytes(b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n"), "ServerError"),
    "another protocol": Attack(raw_bytes(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n\x81\x05Hello"), "ServerError"),
    "early hints, and then the reply": Attack(
        raw_bytes(b"HTTP/1.1 102 X\r\n\r\nHTTP/1.1 103 X\r\nLink: </a>\r\n\r\n" + OK + b"\r\n" + WHOLE), JUDGED),
}
"""They end by themselves."""
