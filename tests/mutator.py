"""Damage, by a seed: what disks, editors, transfers and people who mean harm do to a file.

    Mutator(seed).mutated(data)     the data with one to three kinds of damage
    Mutator(seed).resealed(log)     a log or trace of which one line says something else, closed by a right sum
    big_ones()                      inputs that are large or deep, by name

Equal seeds give equal damage.
"""
from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from benchkit.basics.json_text import SUM_BYTES, is_whole, sha256_hex

Damage: TypeAlias = Callable[[bytes, random.Random], bytes]

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(rb'(?<=[:\[,])\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null|\{\}|\[\])')
_MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null)')
_INSIDE = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf",
    rb"\ud800", rb"\udc00\ud83d", rb"\u0000", rb"\u2028", rb"\u001b[31m", b"\x1b[31m", b"\r", b"\n", b"\t", b'"',
    b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"../../x", b"</script>", b"e", b"-", b".", b"0")
_OTHER_VALUES = (
    b"null", b"true", b"false", b"0", b"-1", b"1.5", b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity", b"01",
    b"1e5", b"-0", b"-0.0", b"9007199254740993", b"9" * 400, b'""', b'"x"', b'"\\ud800"', b"[]", b"{}", b'[""]',
    b'{"a":1}', b'{"a":1,"a":2}', b"[" * 65 + b"]" * 65, b'{"a":' * 65 + b"1" + b"}" * 65, b"'x'", b"0x10", b"1_000")


def flipped(data: bytes, chance: random.Random) -> bytes:
    """One bit is another."""
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:]


def overwritten(data: bytes, chance: random.Random) -> bytes:
    """A few bytes are others."""
    at, length = chance.randrange(len(data)), chance.choice((1, 2, 8, 512))
    return data[:at] + chance.randbytes(len(data[at:at + length])) + data[at + length:]


def zeroed(data: bytes, chance: random.Random) -> bytes:
    """A part is NUL, as after a power cut."""
    at, length = chance.randrange(len(data)), chance.choice((1, 64, 4096))
    return data[:at] + bytes(len(data[at:at + length])) + data[at + length:]


def cut(data: bytes, chance: random.Random) -> bytes:
    """The end is missing."""
    return data[:chance.randrange(len(data))]


def cut_out(data: bytes, chance: random.Random) -> bytes:
    """A part is missing."""
    at = chance.randrange(len(data))
    return data[:at] + data[at + chance.choice((1, 2, 10, 100, 1000)):]


def repeated(data: bytes, chance: random.Random) -> bytes:
    """A part stands there twice, or very often."""
    at, length = chance.randrange(len(data)), chance.choice((1, 10, 100, 1000))
    return data[:at] + data[at:at + length] * chance.choice((2, 2, 3, 100)) + data[at + length:]


def filled(data: bytes, chance: random.Random) -> bytes:
    """Something stands in between that JSON, text files or terminals treat in their own ways."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_INSIDE) + data[at:]


def in_a_text(data: bytes, chance: random.Random) -> bytes:
    """The same, inside of a text."""
    found = _chosen(_TEXT, data, chance)
    if found is None:
        return filled(data, chance)
    at = chance.randrange(found.start() + 1, found.end())
    return data[:at] + chance.choice(_INSIDE) + data[at:]


def another_value(data: bytes, chance: random.Random) -> bytes:
    """A value is another one, of a kind that does not belong there."""
    return _in_place_of(_VALUE, data, chance, lambda old: chance.choice(_OTHER_VALUES))


def another_number(data: bytes, chance: random.Random) -> bytes:
    """A number is another one: near, far, or of 10,000 digits."""
    numbers = (b"0", b"1", b"2", b"-1", b"1000", b"1001", b"65536", b"99999999999", b"0.5", b"1e3", b"7" * 10_000,
               b"0." + b"3" * 10_000)
    return _in_place_of(_NUMBER, data, chance, lambda old: chance.choice(numbers))


def key_twice(data: bytes, chance: random.Random) -> bytes:
    """A key stands there twice, the second time with another value or the same."""
    def doubled(old: bytes) -> bytes:
        key = old.partition(b":")[0]
        return old + b"," + (old if chance.random() < 0.3 else key + b":" + chance.choice(_OTHER_VALUES))
    return _in_place_of(_MEMBER, data, chance, doubled)


def member_gone(data: bytes, chance: random.Random) -> bytes:
    """A key and its value are missing."""
    found = _chosen(_MEMBER, data, chance)
    if found is None:
        return cut_out(data, chance)
    end = found.end() + (data[found.end():found.end() + 1] == b",")
    return data[:found.start()] + data[end:]


def texts_swapped(data: bytes, chance: random.Random) -> bytes:
    """A text stands in the place of another."""
    other = _chosen(_TEXT, data, chance)
    return data if other is None else _in_place_of(_TEXT, data, chance, lambda old: other[0])


def line_gone(data: bytes, chance: random.Random) -> bytes:
    """A line is missing."""
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def line_twice(data: bytes, chance: random.Random) -> bytes:
    """A line stands there again, anywhere."""
    lines = data.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"".join(lines)


def lines_swapped(data: bytes, chance: random.Random) -> bytes:
    """Two lines stand in each other's place."""
    lines = data.splitlines(keepends=True)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def line_ends(data: bytes, chance: random.Random) -> bytes:
    """An editor or a transfer changed the ends of lines, or put a mark before them."""
    return chance.choice((
        lambda: data.replace(b"\n", b"\r\n"), lambda: data.replace(b"\n", b"\r"), lambda: data.rstrip(b"\n"),
        lambda: data + b"\n", lambda: b"\xef\xbb\xbf" + data, lambda: data.replace(b"\n", b"\n\n"),
        lambda: data.decode("latin-1").encode("utf-16"), lambda: data.replace(b"\n", b"\xe2\x80\xa8")))()


DAMAGES: tuple[Damage, ...] = (
    flipped, overwritten, zeroed, cut, cut_out, repeated, filled, in_a_text, another_value, another_number, key_twice,
    member_gone, texts_swapped, line_gone, line_twice, lines_swapped, line_ends)


class Mutator:
    """Gives damaged data, one after the other."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def mutated(self, data: bytes) -> bytes:
        """The data with one to three kinds of damage; it may be equal to what it was."""
        for _ in range(self._chance.choice((1, 1, 1, 2, 3))):
            data = self._chance.choice(DAMAGES)(data or b"0", self._chance)
        return data

    def resealed(self, data: bytes) -> bytes:
        """Lines closed by a sum, of which one says something else and is closed again, as by somebody who knows how."""
        lines = data.splitlines(keepends=True)
        at = self._chance.choice([number for number, line in enumerate(lines) if is_whole(line[:-1])])
        inside = self._chance.choice((another_value, another_number, key_twice, member_gone, texts_swapped, in_a_text))
        body = inside(lines[at][:-SUM_BYTES - 1], self._chance)
        lines[at] = sealed(body)
        return b"".join(lines)


def sealed(body: bytes) -> bytes:
    """A whole line of a log or trace with this body, which lacks its closing brace."""
    return body + b',"sum":"' + sha256_hex(body)[:16].encode("ascii") + b'"}\n'


def big_ones() -> Mapping[str, bytes]:
    """Inputs that are large or deep, by name; some of a good beginning."""
    return {
        "lists 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
        "lists 100,000 deep and never closed": b"[" * 100_000,
        "objects 100,000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "deep in a value": b'{"recording":1,"cases":' + b"[" * 100_000,
        "deep in a text": b'{"cases":"' + b"[" * 100_000 + b'"}',
        "a number of 10,000 digits": b'{"recording":' + b"1" * 10_000 + b"}",
        "a number of 10,000,000 digits": b"[" + b"1" * 10_000_000 + b"]",
        "a fraction of 1,000,000 digits": b"[0." + b"1" * 1_000_000 + b"]",
        "an exponent of 10,000 digits": b"[1e" + b"1" * 10_000 + b"]",
        "a line of 20 MB": b'{"a":"' + b"x" * 20_000_000 + b'"}\n',
        "20 MB without a line end": b"x" * 20_000_000,
        "200,000 line ends": b"\n" * 200_000,
        "20 MB of NUL": bytes(20_000_000),
        "100,000 keys": b"{" + b",".join(b'"%d":1' % number for number in range(100_000)) + b"}",
        "a key 200,000 times": b"{" + b'"a":1,' * 200_000 + b'"a":1}',
        "a million backslashes": b'["' + b"\\" * 1_000_000 + b'"]',
        "a million quotes": b'"' * 1_000_000,
        "a million objects": b"[" + b"{}," * 1_000_000 + b"{}]",
    }


def _chosen(pattern: re.Pattern[bytes], data: bytes, chance: random.Random) -> re.Match[bytes] | None:
    """A place where the pattern is found, from some place on or else from the start."""
    return pattern.search(data, chance.randrange(len(data))) or pattern.search(data)


def _in_place_of(
    pattern: re.Pattern[bytes], data: bytes, chance: random.Random, other: Callable[[bytes], bytes],
) -> bytes:
    found = _chosen(pattern, data, chance)
    return flipped(data, chance) if found is None else data[:found.start()] + other(found[0]) + data[found.end():]
