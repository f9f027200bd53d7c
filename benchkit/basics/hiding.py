r"""Keys and passwords in texts: found however they are written, and hidden behind a mark.

A server repeats what it was sent, and a library puts it into its errors; also as JSON writes it (`\u0073esame`).
What does not live here: which secret belongs to which server (network/host.py), and what a system may say
(systems/guarding.py).
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchkit.basics.values import JSON

MARK = "[secret]"
SHORTEST_SECRET = 8
"""A shorter one ("EMPTY", as servers without keys want it) is a word that any text may hold."""
_LONGEST_WORD = 16
_NAME = re.compile(r"(?:^|_)(?:API_?)?(?:KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|CREDENTIAL|AUTH)S?$", re.IGNORECASE)
_USERINFO = re.compile(r"//[^/@\s:]*:([^/@\s]+)@")


class Hidden:
    """Secrets, and texts without them. Those shorter than SHORTEST_SECRET are not looked for."""

    __slots__ = ("_pattern",)

    def __init__(self, secrets: Iterable[str]) -> None:
        longest_first = sorted({one for one in secrets if len(one) >= SHORTEST_SECRET}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_however_written, longest_first))) if longest_first else None

    def is_in(self, text: str) -> bool:
        """Whether a text holds one."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def text(self, text: str) -> str:
        """The text, with a mark in place of each."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)

    def data(self, data: bytes) -> bytes:
        """The same for bytes that need not be text."""
        return data if self._pattern is None else self.text(data.decode("latin-1")).encode("latin-1")

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


def _however_written(secret: str) -> str:
    return "".join(rf"(?:{re.escape(letter)}|\\u{_hex_of(letter)})" for letter in secret)


def _hex_of(letter: str) -> str:
    digits = f"{ord(letter):04x}"
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in digits)
