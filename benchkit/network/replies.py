"""What every dialect makes of a reply that grows: its answer, its reasoning, its first moment, bounds and errors.

A dialect is a ReplyParser (ollama_replies.py, openai_replies.py). Its `ended` is called for a 200 that ended in order,
before `reply`: a dialect without a stream reads its whole body there.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import NotJson, mended_text, parse
from benchkit.basics.values import JSON, Reply
from benchkit.network.http_client import Ending, Response, quoted

MOST_TEXT_BYTES = 512 * 1024
MOST_PARTS = 200_000
"""Of one line or body, as strict_json counts them: a chunk has some 50. As many as 3 MB hold took 1.5 s of CPU time."""
UNPAID = "the server wants to be paid first"
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of errors behind which more waiting is of no use, for nothing is left to ask with (OpenAI and others)."""
_TOO_LONG = ("exceed_context_size_error", "exceeds the available context size", "exceeds the context length",
             "input length exceeds", "context_length_exceeded", "maximum context length is",
             "loaded with context length of only")
"""llama.cpp (two), Ollama (two), OpenAI, vLLM and OpenRouter, LM Studio."""
_TOKENS = re.compile(r"n_prompt_tokens\W{1,4}(\d{1,9})\D")
_CONTEXT = re.compile(r"n_ctx\W{1,4}(\d{1,9})\D")


class ReplyParser(Protocol):
    """What a dialect makes of one reply, line by line."""

    @property
    def partial(self) -> str | None:
        """The text that has come so far; None if none has."""

    def take(self, line: bytes, at: float) -> bool:
        """Take a line that came at `at`; whether the reply is complete. Raises TrialError (BadReply and others)."""

    def ended(self, response: Response) -> Response:
        """What a 200 that has ended in order means: an error in it stands for its status. Raises TrialError."""

    def reply(self, response: Response) -> Reply:
        """The reply, after `ended`. Raises TrialError."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of server is read: a new parser for each request, and the message for a too long prompt."""

    new_parser: Callable[[], ReplyParser]
    too_long: Callable[[Response], str | None]


class ReplyTexts:
    """Answer and reasoning so far, apart and as they came. A reply over 512 KiB raises TrialError (ReplyTooLarge).

    A letter may come in halves, in two pieces; only a half that stays alone is replaced, by U+FFFD.
    """

    def __init__(self) -> None:
        self._output: list[str] = []
        self._reasoning: list[str] = []
        self._size = 0
        self._first_at: float | None = None

    @property
    def output(self) -> str:
        """The answer."""
        return mended_text("".join(self._output))

    @property
    def reasoning(self) -> str | None:
        """The reasoning; None if none came."""
        return mended_text("".join(self._reasoning)) or None

    @property
    def partial(self) -> str | None:
        """The answer (reasoning is no part of it); None before any."""
        return self.output or None

    def add_output(self, text: str, at: float) -> None:
        """More of the answer, which came at `at` (monotonic seconds)."""
        self._add(self._output, text, at)

    def add_reasoning(self, text: str, at: float) -> None:
        """More of the reasoning."""
        self._add(self._reasoning, text, at)

    def replace(self, output: str, reasoning: str, at: float) -> None:
        """The whole answer and reasoning, in place of the pieces that came before; an empty text replaces none."""
        for texts, whole in ((self._output, output), (self._reasoning, reasoning)):
            if whole:
                self._size -= sum(map(_size, texts))
                texts.clear()
                self._add(texts, whole, at)

    def first_token_s(self, response: Response) -> float | None:
        """Seconds from the first byte sent to the first text or thought; None if none came."""
        if self._first_at is None or response.sent_at is None:
            return None
        return self._first_at - response.sent_at

    def _add(self, texts: list[str], text: str, at: float) -> None:
        texts.append(text)
        self._size += _size(text)
        if text and self._first_at is None:
            self._first_at = at
        if self._size > MOST_TEXT_BYTES:
            raise too_large(self.partial)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def object_of(line: bytes) -> Mapping[str, JSON]:
    """The JSON object in a line, with halves of letters in its texts. Raises ValueError with why it is none."""
    try:
        fields = parse(line, keep_surrogates=True, most_parts=MOST_PARTS)
    except NotJson:
        # which sign it stumbled over is said in other words by other Pythons, and this message is recorded
        raise ValueError("it is not JSON") from None
    if not isinstance(fields, Mapping):
        raise ValueError("a line of it is no JSON object")
    return fields


def names_no_credit(error: JSON) -> bool:
    """Whether an error says by its code or type that nothing is left to ask with."""
    return isinstance(error, Mapping) and any(error.get(name) in NO_CREDIT for name in ("code", "type"))


def too_long_message(said: str, setting: str = "") -> str | None:
    """The message for a prompt that does not fit; None if the server said something else.

    `setting` is what the person can change, such as ` (option num_ctx)`.
    """
    if not any(phrase in said for phrase in _TOO_LONG):
        return None
    tokens, context = _TOKENS.search(said), _CONTEXT.search(said)
    if tokens and context:
        return f"the prompt has {tokens[1]} tokens, the context {context[1]}{setting}"
    return f"the prompt is longer than the context{setting}"


def too_large(partial: str | None) -> TrialError:
    """The error for a reply without measure; its partial text is cut to what a reply may have."""
    kept = None if partial is None else partial.encode("utf-8", "replace")[:MOST_TEXT_BYTES].decode("utf-8", "ignore")
    return TrialError("ReplyTooLarge", f"the reply is larger than {MOST_TEXT_BYTES // 1024} KiB", kept)


def broken_off(said: str, partial: str | None, too_long: str | None = None) -> TrialError:
    """The error for what a server reported under status 200; `too_long`: the message if that was why."""
    if too_long:
        return TrialError("PromptTooLong", too_long)
    words = quoted(mended_text(said).encode("utf-8"))
    return TrialError("BrokenReply", f"the server broke the reply off: {words}", partial)


def unended(response: Response, lines: int, partial: str | None, why: str) -> TrialError:
    """The error for a reply that ended, after so many lines of it, before it was complete."""
    if not lines:
        return TrialError("BrokenReply", "an empty reply (HTTP 200 without a body)")
    if response.ending is Ending.CLOSED:
        return TrialError("BrokenReply", "the connection ended in the middle of the reply", partial)
    return TrialError("Unfinished", f"the server ended the reply {why}", partial)
