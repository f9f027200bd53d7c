"""Colour for a terminal, by what a text means; or none."""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.pages.marks import Tone

_CODES = {Tone.PASS: "32", Tone.FAIL: "31", Tone.INCOMPLETE: "33", Tone.FLAKY: "33", Tone.ABSENT: "33"}
_STRONG = "1"


@dataclass(frozen=True, slots=True)
class Paint:
    """Puts colour around a text; with `is_on` false it leaves everything as it is."""

    is_on: bool = False

    def toned(self, text: str, tone: Tone) -> str:
        """A verdict or a state."""
        return self._around(text, _CODES.get(tone, ""))

    def strong(self, text: str) -> str:
        """A title."""
        return self._around(text, _STRONG)

    def _around(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and code and text else text


NO_PAINT = Paint()
