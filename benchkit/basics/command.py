"""A command line as a value, so that an error can offer the one that would be right.

What does not live here: parsing flags (the doors).
"""
from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """The words behind `python3 PROG`; `str()` gives the line to type."""

    prog: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(["python3", self.prog, *self.words])

    def having(self, flag: str, value: str) -> Command:
        """The same command with `flag value`, in place of what it said for that flag."""
        kept: list[str] = []
        skips = False
        for word in self.words:
            if not skips and word != flag and not word.startswith(flag + "="):
                kept.append(word)
            skips = not skips and word == flag
        return Command(self.prog, (*kept, flag, value))
