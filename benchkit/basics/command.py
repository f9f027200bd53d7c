"""A command line as a value, so that an error can offer the one that would be right, in words that a shell reads."""
from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from itertools import pairwise

from benchkit.basics.secrets import without_password
from benchkit.basics.texts import shown_line

_ADDRESS = "--host"


def shell_word(text: str) -> str:
    r"""A text as one word of a shell, with nothing in it that a terminal obeys: `$'a\033[31m'` where it holds such."""
    if _is_shown(text):
        return shlex.quote(text)
    letters = (letter if _is_shown(letter) and letter not in "\\'" else _octal(letter) for letter in text)
    return f"$'{''.join(letters)}'"


def _is_shown(text: str) -> bool:
    return shown_line(text, len(text)) == text


def _octal(letter: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Command:
    """The words behind `python3 PROG`; `str()` gives the line to type, without the password of an address."""

    prog: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        shown = ["python3", self.prog]
        for before, word in pairwise(("", *self.words)):
            flag = _ADDRESS + "=" if word.startswith(_ADDRESS + "=") else ""
            shown.append(flag + without_password(word[len(flag):]) if flag or before == _ADDRESS else word)
        return " ".join(map(shell_word, shown))

    def plus(self, flag: str) -> Command:
        """The same command with a flag that takes no value."""
        return self if flag in self.words else Command(self.prog, (*self.words, flag))

    def minus(self, *flags: str) -> Command:
        """The same command without flags that take no value."""
        return Command(self.prog, tuple(word for word in self.words if word not in flags))

    def says(self, flag: str) -> bool:
        """Whether `flag value` is among the words."""
        return self.without(flag) != self

    def without(self, flag: str) -> Command:
        """The same command without `flag value`."""
        return Command(self.prog, self.having(flag, "").words[:-2])

    def only(self, *flags: str) -> Command:
        """The same command with its leading word, if it has one, and no more than `flag value` of these flags."""
        kept = list(self.words[:1]) if self.words and not self.words[0].startswith("-") else []
        for word, after in pairwise((*self.words, "")):
            if word in flags:
                kept += [word, after]
            elif word.startswith(tuple(f"{one}=" for one in flags)):
                kept.append(word)
        return Command(self.prog, tuple(kept))

    def beside(self, prog: str, *words: str) -> Command:
        """A command of the command that stands beside this one."""
        return Command(os.path.join(os.path.dirname(self.prog), prog), words)

    def having(self, flag: str, value: str) -> Command:
        """The same command with `flag value`, in place of what it said for that flag."""
        kept: list[str] = []
        skips = False
        for word in self.words:
            if not skips and word != flag and not word.startswith(flag + "="):
                kept.append(word)
            skips = not skips and word == flag
        return Command(self.prog, (*kept, flag, value))
