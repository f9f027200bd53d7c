"""What every dialect makes of a reply that grows: its answer, its reasoning, its first moment, and its bounds."""
from __future__ import annotations

import re
from collections.abc import Mapping

from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import NotJson, mended_text, parse
from benchkit.basics.values import JSON
from benchkit.network.asking import MOST_PARTS, MOST_TEXT_BYTES, too_large
from benchkit.network.calls import Ending, quoted
from benchkit.network.exchange import Answer

_TOO_LONG = ("exceed_context_size_error", "exceeds the available context size", "exceeds the context length",
             "input length exceeds", "context_length_exceeded", "maximum context length is",
             "loaded with context length of only")
"""llama.cpp (two), Ollama (two), OpenAI, vLLM and OpenRouter, LM Studio."""
_TOKENS = re.compile(r"n_prompt_tokens\W{1,4}(\d{1,9})\D")
_CONTEXT = re.compile(r"n_ctx\W{1,4}(\d{1,9})\D")


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

    def first_token_s(self, answer: Answer) -> float | None:
        """Seconds from the first byte sent to the first text or thought; None if none came."""
        if self._first_at is None or answer.sent_at is None:
            return None
        return self._first_at - answer.sent_at

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


def broken_off(said: str, partial: str | None, too_long: str | None = None) -> TrialError:
    """The error for what a server reported under status 200; `too_long`: the message if that was why."""
    if too_long:
        return TrialError("PromptTooLong", too_long)
    words = quoted(mended_text(said).encode("utf-8"))
    return TrialError("BrokenReply", f"the server broke the reply off: {words}", partial)


def unended(answer: Answer, lines: int, partial: str | None, why: str) -> TrialError:
    """The error for a reply that ended, after so many lines of it, before it was complete."""
    if not lines:
        return TrialError("BrokenReply", "an empty reply (HTTP 200 without a body)")
    if answer.ending is Ending.CLOSED:
        return TrialError("BrokenReply", "the connection ended in the middle of the reply", partial)
    return TrialError("Unfinished", f"the server ended the reply {why}", partial)
