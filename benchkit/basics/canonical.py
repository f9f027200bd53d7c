"""Canonical JSON and the digests made of it: one function for lines and for every hash.

What does not live here: reading (strict_json.py) and files (disk/).
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from benchkit.basics.values import JSON, Message

SUM_BYTES = 26
"""Length of the closing of a line: `,"sum":"` + 16 hex digits + `"}`."""


def canonical(value: JSON) -> str:
    """The one text of a JSON value: sorted keys, ASCII, no spaces. Raises ValueError for NaN and infinities."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


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
