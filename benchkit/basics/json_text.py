"""JSON both ways: strangers' JSON in one right reading, canonical JSON and its digests, and JSON for people.

Canonical: sorted keys, no spaces, ASCII; it is what every hash is taken of.
"""
from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchkit.basics.texts import encoding_fault, utf_8
from benchkit.basics.values import JSON, Message

MOST_DEPTH = 64
MOST_INTEGER = 2**53 - 1
MOST_PARTS = 32_000_000
"""A value counts as 1, a key as 2, an object or a list as 4 more: at some 60 bytes of memory each, 2 GB at most."""
_MOST_IN_A_BYTE = 4
_BLOCK_BYTES = 2**20
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b'"{}[]:')
_NO_SIGNS = bytes(byte for byte in range(256) if byte not in b'"{}[]:,')
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class NotJson(ValueError):
    """The text is no JSON at all; the words for what stands where are Python's, and differ between its versions."""


def parse(data: bytes, *, keep_surrogates: bool = False, most_parts: int = MOST_PARTS) -> JSON:
    """The value of a JSON text. Raises ValueError with one line, position included where there is one.

    `keep_surrogates` keeps lone surrogates instead of refusing them: `mended` is for them.
    """
    fault = encoding_fault(data)
    if fault:
        raise ValueError(fault)
    # a text that would take more memory than a machine may have is refused before any of it is made
    if len(data) > most_parts // _MOST_IN_A_BYTE and _parts(data) > most_parts and (
            _parts(_outside_texts(data, _NO_SIGNS)) > most_parts):
        raise ValueError("it holds more keys, values, objects and lists than are read at once")
    keys = None
    if data.count(b"{") + data.count(b"[") > MOST_DEPTH:
        marks = _outside_texts(data, _NO_MARKS)
        keys = marks.count(b":")
        _check_depth(marks.translate(None, b":"))
    try:
        value = _decoded(utf_8(data), keys)
    except json.JSONDecodeError as error:
        raise NotJson(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if not keep_surrogates and (b"\\ud" in data or b"\\uD" in data):
        _check_surrogates(value)
    return value


def mended(value: JSON) -> JSON:
    """The value without surrogates: two halves that meet are their letter, U+FFFD stands for one that is alone."""
    if isinstance(value, str):
        return mended_text(value)
    if isinstance(value, dict):
        return {mended_text(key): mended(inner) for key, inner in value.items()}
    return [mended(inner) for inner in value] if isinstance(value, list) else value


def mended_text(text: str) -> str:
    """The same for a text."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _check_depth(brackets: bytes) -> None:
    depth = 0
    for byte in brackets:
        if byte in b"{[":
            depth += 1
            if depth > MOST_DEPTH:
                raise ValueError(f"it is nested more than {MOST_DEPTH} deep")
        else:
            depth -= 1


def _parts(signs: bytes) -> int:
    return 4 * (signs.count(b"{") + signs.count(b"[")) + 2 * signs.count(b":") + signs.count(b",")


def _outside_texts(data: bytes, others: bytes) -> bytes:
    """What stands outside the texts in a JSON text, without `others`; by whole-bytes calls: files have millions."""
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = unescaped.translate(None, others)
    # two quotes that meet end one text and begin the next: without them both are one, and marks stay inside
    marks = marks.replace(b'""', b"")
    outside, is_inside = [], False
    for start in range(0, len(marks), _BLOCK_BYTES):
        pieces = marks[start:start + _BLOCK_BYTES].split(b'"')
        outside.append(b"".join(pieces[is_inside::2]))
        is_inside ^= len(pieces) % 2 == 0
    return b"".join(outside)


def _decoded(text: str, keys: int | None) -> JSON:
    """The value. `keys` is how many there are in all objects of it; None: unknown, so each is looked at."""
    if keys is not None:
        lengths: list[int] = []

        def counted(inner: dict[str, Any]) -> dict[str, Any]:
            lengths.append(len(inner))
            return inner

        value: JSON = json.JSONDecoder(
            object_hook=counted, parse_float=_finite, parse_int=_integer, parse_constant=_constant).decode(text)
        # to look at the keys of every object takes a third of the time; one that stands twice is named below
        if sum(lengths) == keys:
            return value
    found: JSON = _DECODER.decode(text)
    return found


def _check_surrogates(value: JSON) -> None:
    # json.dumps shows a surrogate pair of a real character as two escapes, so look at the parsed strings
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise ValueError("a text holds a lone surrogate")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_surrogates(key)
            _check_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_surrogates(inner)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {json.dumps(key[:60])} stands twice")
            seen.add(key)
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:30]} is too large")
    return number


def _integer(text: str) -> int:
    number = int(text) if len(text) <= 17 else MOST_INTEGER + 1
    if not -MOST_INTEGER <= number <= MOST_INTEGER:
        raise ValueError(f"the number {text[:30]} is beyond 2^53 - 1")
    return number


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_int=_integer, parse_constant=_constant)


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
SUM_BYTES = 26
"""Length of the closing of a line: `,"sum":"` + 16 hex digits + `"}`."""


def canonical(value: JSON) -> str:
    """The one text of a JSON value: sorted keys, ASCII, no spaces. Raises ValueError for NaN and infinities."""
    return _canonical(value)


def sha256_hex(data: bytes) -> str:
    """SHA-256 as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: JSON) -> str:
    """SHA-256 of the canonical text of a value, 64 hex digits."""
    return sha256_hex(canonical(value).encode("ascii"))


def short_digest(value: JSON) -> str:
    """The first 16 hex digits of `digest(value)`."""
    return digest(value)[:16]


def text_digest(text: str) -> str:
    """SHA-256 of the UTF-8 of a text, 64 hex digits."""
    return sha256_hex(text.encode("utf-8"))


def ask_of(messages: Sequence[Message], schema: Mapping[str, JSON] | None) -> str:
    """What is asked, whoever answers: 16 hex digits over {messages, schema}."""
    return short_digest({"messages": messages, "schema": schema})


def request_of(ask: str, settings: Mapping[str, JSON], seed: int) -> str:
    """What binds a reply to its cell: 16 hex digits over {ask, settings, seed}."""
    return short_digest({"ask": ask, "settings": settings, "seed": seed})


def requests_with(settings: Mapping[str, JSON]) -> Callable[[str, int], str]:
    """`request_of` with these settings, as a function of ask (16 hex digits) and seed: their text is made once."""
    behind = canonical(settings)
    return lambda ask, seed: sha256_hex(f'{{"ask":"{ask}","seed":{seed},"settings":{behind}}}'.encode("ascii"))[:16]


def close_line(value: Mapping[str, JSON]) -> bytes:
    r"""A whole line: canonical, with `sum` behind the other keys, and "\n". `value` has at least one key."""
    body = canonical(value)[:-1].encode("ascii")
    return body + b',"sum":"' + sha256_hex(body)[:16].encode("ascii") + b'"}\n'


def is_whole(line: bytes) -> bool:
    """Whether the bytes of a line (without its newline) are closed by their own sum; checked before parsing."""
    body, closing = line[:-SUM_BYTES], line[-SUM_BYTES:]
    return len(body) > 0 and closing == b',"sum":"' + sha256_hex(body)[:16].encode("ascii") + b'"}'


# to look for circles takes a tenth of the time, and what comes from JSON has none
_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def text_of(value: str | None) -> str:
    """The text of a text, or null. Only for a text is the encoder's way short."""
    return "null" if value is None else _encode(value)


def on_one_line(value: JSON) -> str:
    """A whole value on one line, keys in their order. Raises ValueError for NaN."""
    return _encode(value)


def indented(value: JSON) -> str:
    """A whole value, indented by 1. Raises ValueError for NaN."""
    return json.dumps(value, indent=1, allow_nan=False)


def pieces_of_file(members: Iterable[tuple[str, JSON | Iterator[str]]]) -> Iterator[bytes]:
    """A file of one object: a member a line, and of a list an element a line; an iterator is the pieces of a value."""
    told: Iterator[tuple[str, Iterable[str]]] = (
        (name, value if isinstance(value, Iterator) else
         lines_of_list(map(_encode, value), 1) if isinstance(value, list) else [_encode(value)])
        for name, value in members)
    for piece in pieces_of_object(told):
        yield piece.encode("ascii")
    yield b"\n"


def lines_of_list(texts: Iterable[str], level: int) -> Iterator[str]:
    """The text of a list, indented by `level` more: a line for each of these texts of elements, a piece a line."""
    before, indent = "[", "\n" + " " * (level + 1)
    for text in texts:
        yield f"{before}{indent}{text}"
        before = ","
    yield "[]" if before == "[" else f"\n{' ' * level}]"


def pieces_of_object(members: Iterable[tuple[str, Iterable[str]]], level: int = 0) -> Iterator[str]:
    """An object, a member a line, indented by `level` more: each is a key and the pieces of its value."""
    return _pieces("{}", ((text_of(key) + ": ", value) for key, value in members), level)


def pieces_of_list(members: Iterable[Iterable[str]], level: int = 0) -> Iterator[str]:
    """The same of a list: each member is the pieces of its value."""
    return _pieces("[]", (("", value) for value in members), level)


def _pieces(brackets: str, members: Iterable[tuple[str, Iterable[str]]], level: int) -> Iterator[str]:
    before = brackets[0]
    for head, value in members:
        yield before + "\n" + " " * (level + 1) + head
        yield from value
        before = ","
    yield brackets if before != "," else "\n" + " " * level + brackets[1]
