"""The rewording model's answers, kept beside the pack, so that the same questions can be made again without it.

packs/<pack>/_llm_cache/<64 hex of {system, prompt}>.txt holds one answer, as received. The questions of a batch are
kept apart, in its cases.jsonl. What does not live here: what is asked (the pack), and who answers (systems/).
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchkit.basics.canonical import digest
from benchkit.basics.errors import Surroundings, TrialError, Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import Reply, Request
from benchkit.boards.usage import Tokens, tokens_of
from benchkit.disk.whole_files import read_whole, shown_path, write_whole
from benchkit.systems.keeping import answered

if TYPE_CHECKING:
    from benchkit.basics.clock import Clock
    from benchkit.systems.system import System

MOST_BYTES = 1024 * 1024
SEED = 1000
Ask = Callable[[str], Reply]


class CachedRewording:
    """Prompt -> text, from the folder if it is there. `used` counts the calls that were truly made.

    `ask` is who answers a prompt that is not there; None: nobody (offline). With `regenerate` everything is asked
    again, each prompt once, and the answers replaced.
    """

    def __init__(self, folder: Path, system: str, ask: Ask | None, *, regenerate: bool = False) -> None:
        self._folder, self._system, self._ask, self._regenerate = folder, system, ask, regenerate
        self._said: dict[str, str] = {}
        self.used = Tokens()

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt. Raises Surroundings if nobody is there to give it, Unusable for a bad file."""
        path = self._folder / f"{digest({'system': self._system, 'prompt': prompt})}.txt"
        if prompt not in self._said:
            is_kept = path.exists() and not self._regenerate
            self._said[prompt] = _kept(path) if is_kept else self._asked(prompt, path)
        return self._said[prompt]

    def _asked(self, prompt: str, path: Path) -> str:
        if self._ask is None:
            raise Surroundings(f"{shown_path(self._folder)} has no answer of {shown_line(self._system, 80)} to "
                               f"{shown_line(prompt, 60)!r}; run once without --offline")
        reply = self._ask(prompt)
        self.used += tokens_of([reply])
        try:
            write_whole(path, [reply.output.encode("utf-8")])
        except UnicodeEncodeError:
            raise Surroundings(f"{shown_line(self._system, 80)} was to reword the questions, and gave a text with a "
                               "lone surrogate, which no file can hold") from None
        return reply.output


def _kept(path: Path) -> str:
    try:
        return read_whole(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable(f"{shown_path(path)}: it is not UTF-8 at byte {error.start}; delete it, or ask again with "
                       "--regen") from None


class Rewording:
    """A system asked to reword: opened and warmed at its first call only, for a full cache needs no server."""

    def __init__(self, name: str, system: System, clock: Clock, timeout_s: float) -> None:
        self._name, self._system, self._clock, self._timeout_s = name, system, clock, timeout_s
        self._is_ready = False

    def __call__(self, prompt: str) -> Reply:
        """The reply to one prompt. Raises Surroundings if there is none."""
        if not self._is_ready:
            self._system.open()
            self._system.warm()
            self._is_ready = True
        request = Request("rewording", 1, 1, SEED, [{"role": "user", "content": prompt}], None,
                          self._clock.monotonic() + self._timeout_s)
        try:
            return answered(self._system, request)
        except TrialError as error:
            raise Surroundings(f"{shown_line(self._name, 80)} was to reword the questions, and did not answer: "
                               f"{error.message}") from error

    def close(self) -> None:
        """Let go of the system."""
        self._system.close()
