r"""Keys and passwords in texts: found however they are written, and replaced by a mark.

A server repeats what it was sent, and a library puts it into its errors; also as JSON writes it (`\u0073esame`, `\"`,
`\/`), and as JSON within JSON does.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchkit.basics.values import JSON

MARK = "[secret]"
SHORTEST_SECRET = 8
"""A shorter one ("EMPTY", as servers without keys want it) is a word that any text may hold."""
DEPTH = 3
"""So many levels of escapes are looked behind: JSON in a text of JSON has two."""
_LONGEST_WORD = 16
_NAME = re.compile(r"(?:^|_)(?:API_?)?(?:KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|CREDENTIAL|AUTH)S?$", re.IGNORECASE)
_ESCAPED = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|(["'\\/bfnrt]))""")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_USERINFO = re.compile(r"//[^/@\s:]*:([^/@\s]+)@")


class Redactor:
    """Secrets, and texts without them. Those shorter than SHORTEST_SECRET are not looked for."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[str]) -> None:
        long = {one for one in secrets if len(one) >= SHORTEST_SECRET}
        self._secrets = tuple(long | {_in_halves(one) for one in long})

    def is_in(self, text: str) -> bool:
        """Whether a text holds one, as it is or as JSON writes it."""
        for level in range(DEPTH + 1):
            if any(secret in text for secret in self._secrets):
                return True
            if level == DEPTH or not self._secrets or "\\" not in text:
                break
            text = _ESCAPED.sub(_unescaped, text)
        return False

    def text(self, text: str) -> str:
        """The text, with a mark in place of each."""
        if not self.is_in(text):
            return text
        kept, end = [], 0
        for first, last in sorted(self._spans_in(text)):
            if first >= end:
                kept += [text[end:first], MARK]
            end = max(end, last)
        return "".join([*kept, text[end:]])

    def _spans_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Where secrets begin and end in a text, however they are written there."""
        places: Sequence[int] = range(len(text) + 1)
        for _ in range(DEPTH + 1):
            for secret in self._secrets:
                at = text.find(secret)
                while at >= 0:
                    yield places[at], places[at + len(secret)]
                    at = text.find(secret, at + 1)
            text, places = _one_level_less(text, places)

    def data(self, data: bytes) -> bytes:
        """The same for bytes that need not be text."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def value(self, value: JSON) -> JSON:
        """The same for every text in a value, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(inner) for key, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list | tuple) else value


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """What variables hold that are named as keys are, and the passwords of addresses; short plain words are none."""
    named = [value.strip() for name, value in environment.items() if _NAME.search(name)]
    passwords = [password for value in environment.values() for password in _USERINFO.findall(value)]
    return [one for one in (*named, *passwords) if not (one.isalpha() and len(one) < _LONGEST_WORD)]


def without_password(address: str) -> str:
    """An address as it was typed, with a mark in place of user name and password."""
    scheme, mark, rest = address.rpartition("://")
    userinfo, at, host = rest.rpartition("@")
    return f"{scheme}{mark}{MARK}{at}{host}" if userinfo else address


def _one_level_less(text: str, places: Sequence[int]) -> tuple[str, list[int]]:
    """The text without one level of JSON's escapes; and where each letter of it, and its end, stood (`places`: before).
    """
    letters: list[str] = []
    now: list[int] = []
    end = 0
    for found in _ESCAPED.finditer(text):
        letters += [text[end:found.start()], _unescaped(found)]
        now += [*places[end:found.start()], places[found.start()]]
        end = found.end()
    return "".join([*letters, text[end:]]), [*now, *places[end:]]


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], found[2])


def _in_halves(text: str) -> str:
    r"""The text with each letter above U+FFFF as two halves, as `\ud83d\ude00` gives them."""
    units = memoryview(text.encode("utf-16", "surrogatepass")).cast("H")
    return "".join(map(chr, units[1:]))
