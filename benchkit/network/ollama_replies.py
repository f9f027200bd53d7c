"""What an Ollama server's chat lines mean: a reply, or the error that it is none.

NDJSON; a reply is complete only when `done: true` was seen. Durations come in nanoseconds, and a zero is an
absent key. What does not live here: connections and statuses (exchange.py, asking.py), settings (systems/).
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from benchkit.basics.errors import TrialError
from benchkit.basics.strict_json import NotJson, parse
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network.asking import MOST_TEXT_BYTES, Dialect, too_large
from benchkit.network.carrier import Ending, quoted
from benchkit.network.exchange import Answer

_TOO_LONG = ("exceed_context_size_error", "exceeds the available context size", "exceeds the context length",
             "input length exceeds")
_TOKENS = re.compile(r"n_prompt_tokens\W{1,4}(\d{1,9})\D")
_CONTEXT = re.compile(r"n_ctx\W{1,4}(\d{1,9})\D")


class ChatReading:
    """One reply of /api/chat, streamed or not. `sent_at` of the answer gives the first token its time.

    `model` is the tag that was asked: a line that names another one is no part of the answer (None: any will do).
    """

    def __init__(self, model: str | None = None) -> None:
        self._model = None if model is None else model.casefold()
        self._output: list[str] = []
        self._reasoning: list[str] = []
        self._size = 0
        self._first_at: float | None = None
        self._last: Mapping[str, JSON] | None = None
        self._error: str | None = None
        self._lines = 0

    @property
    def partial(self) -> str | None:
        """The answer text so far (reasoning is no part of it); None before any."""
        return "".join(self._output) or None

    def take(self, line: bytes, at: float) -> bool:
        """Take one JSON object; whether it ends the reply. Raises TrialError: BadReply, ReplyTooLarge."""
        fields = self._object(line)
        if isinstance(fields.get("error"), str):
            self._error = str(fields["error"])
            return True
        done, message = fields.get("done"), fields.get("message")
        if not isinstance(done, bool) or not isinstance(message, Mapping):
            raise self._bad("a line of it is no chat message of Ollama", line)
        if self._is_of_another(fields.get("model")):
            raise self._bad("a line of it is of another model", line)
        self._lines += 1
        self._add(message, line, at)
        if done:
            self._last = fields
        return done

    def reply(self, answer: Answer) -> Reply:
        """The reply. Raises TrialError: BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            raise self._reported_error(self._error)
        if self._last is None:
            raise self._without_done(answer)
        finish = self._last.get("done_reason")
        return Reply(
            output="".join(self._output), finish=finish if isinstance(finish, str) else None,
            reasoning="".join(self._reasoning) or None, usage=_usage(self._last),
            timings=_timings(self._last, self._first_token_s(answer)), latency_s=answer.latency_s)

    def _object(self, line: bytes) -> Mapping[str, JSON]:
        try:
            fields = parse(line, mend_surrogates=True)
        except NotJson:
            # which sign it stumbled over is said in other words by other Pythons, and this message is recorded
            raise self._bad("it is not JSON", line) from None
        except ValueError as error:
            raise self._bad(str(error), line) from None
        if not isinstance(fields, Mapping):
            raise self._bad("a line of it is no JSON object", line)
        return fields

    def _is_of_another(self, model: JSON) -> bool:
        return self._model is not None and isinstance(model, str) and model.casefold() != self._model

    def _add(self, message: Mapping[str, JSON], line: bytes, at: float) -> None:
        for key, texts in (("content", self._output), ("thinking", self._reasoning)):
            text = message.get(key) or ""
            if not isinstance(text, str):
                raise self._bad(f"message.{key} is no text", line)
            texts.append(text)
            self._size += len(text.encode("utf-8"))
            if text and self._first_at is None:
                self._first_at = at
        if self._size > MOST_TEXT_BYTES:
            raise too_large(self.partial)

    def _bad(self, why: str, line: bytes) -> TrialError:
        return TrialError("BadReply", f"not a reply of Ollama ({why}): {quoted(line)}", self.partial)

    def _reported_error(self, said: str) -> TrialError:
        too_long = _too_long_message(said)
        if too_long:
            return TrialError("PromptTooLong", too_long)
        message = f"the server broke the reply off: {quoted(said.encode('utf-8'))}"
        return TrialError("BrokenReply", message, self.partial)

    def _without_done(self, answer: Answer) -> TrialError:
        if not self._lines:
            return TrialError("BrokenReply", "an empty reply (HTTP 200 without a body)")
        if answer.ending is Ending.CLOSED:
            return TrialError("BrokenReply", "the connection ended in the middle of the reply", self.partial)
        return TrialError("Unfinished", "the server ended the reply without done (a token that repeats)", self.partial)

    def _first_token_s(self, answer: Answer) -> float | None:
        if self._first_at is None or answer.sent_at is None:
            return None
        return self._first_at - answer.sent_at


def _usage(last: Mapping[str, JSON]) -> Usage:
    return Usage(_count(last, "prompt_eval_count"), _count(last, "eval_count"),
                 _count(last, "prompt_eval_cached_count"))


def _timings(last: Mapping[str, JSON], first_token_s: float | None) -> Timings:
    """`other_s` is what the parts leave of the whole: waiting for a slot of a loaded model shows only there."""
    keys = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    total, load, prompt, output = (_count(last, key) for key in keys)
    other = None if total is None else max(0, total - (load or 0) - (prompt or 0) - (output or 0))
    return Timings(_seconds(load), _seconds(prompt), _seconds(output), first_token_s, _seconds(other))


def _count(last: Mapping[str, JSON], key: str) -> int | None:
    value = last.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _too_long(answer: Answer) -> str | None:
    return _too_long_message(answer.body.decode("utf-8", "replace"))


def _too_long_message(said: str) -> str | None:
    """The message for a prompt that does not fit; None if the server said something else."""
    if not any(phrase in said for phrase in _TOO_LONG):
        return None
    tokens, context = _TOKENS.search(said), _CONTEXT.search(said)
    if tokens and context:
        return f"the prompt has {tokens[1]} tokens, the context {context[1]} (option num_ctx)"
    return "the prompt is longer than the context (option num_ctx)"


CHAT = Dialect(ChatReading, _too_long)
"""How replies of /api/chat are read, whatever model they name."""


def chat_with(model: str) -> Dialect:
    """How replies of /api/chat are read if this model was asked."""
    return Dialect(lambda: ChatReading(model), _too_long)
