"""Colour for a terminal: four meanings, and the choice of none."""
from __future__ import annotations

from dataclasses import dataclass

_GOOD, _BAD, _UNSURE, _STRONG = "32", "31", "33", "1"


@dataclass(frozen=True, slots=True)
class Paint:
    """Paints text by what it means; with `is_on` false it leaves everything as it is."""

    is_on: bool = False

    def good(self, text: str) -> str:
        """What works."""
        return self._around(text, _GOOD)

    def bad(self, text: str) -> str:
        """What does not."""
        return self._around(text, _BAD)

    def unsure(self, text: str) -> str:
        """What is so sometimes, or not known."""
        return self._around(text, _UNSURE)

    def strong(self, text: str) -> str:
        """A title."""
        return self._around(text, _STRONG)

    def state(self, padded: str) -> str:
        """The state of a case, padded as it stands in its column."""
        word = padded.strip()
        if word == "stable pass":
            return self.good(padded)
        return self.bad(padded) if word == "stable fail" else self.unsure(padded)

    def _around(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text


NO_PAINT = Paint()
