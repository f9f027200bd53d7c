"""What the chunks of a chat completion mean: a reply, or the error that it is none.

Server-sent events, one JSON object a `data:` line, as OpenAI began it and llama-server, vLLM, LM Studio, OpenRouter
and others send it; a whole object in one line, from a server that does not stream, is read as well. A reply is complete
when `[DONE]` came, or a finish_reason and then the end. Usage comes behind the finish_reason, in a chunk of its own.
What does not live here: connections and statuses (exchange.py, asking.py), settings (systems/).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network.asking import BUSY, Dialect
from benchkit.network.calls import quoted
from benchkit.network.exchange import Answer
from benchkit.network.reply_texts import ReplyTexts, broken_off, object_of, too_long_message, unended

_DATA, _DONE = b"data:", b"[DONE]"
_OTHER_FIELDS = (b":", b"event:", b"id:", b"retry:")
"""A comment (OpenRouter sends them while a model is found), and fields of an event that say nothing here."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who says that they answered: the model, and the fingerprint of what it ran on; None where nothing is said."""

    model: str | None = None
    fingerprint: str | None = None


class CompletionReading:
    """One reply of /chat/completions, streamed or not."""

    def __init__(self) -> None:
        self._texts = ReplyTexts()
        self._finish: str | None = None
        self._is_done = False
        self._error: Mapping[str, JSON] | None = None
        self._last: dict[str, JSON] = {}
        self._lines = 0

    @property
    def partial(self) -> str | None:
        """The answer text so far; None before any."""
        return self._texts.partial

    @property
    def signature(self) -> Signature:
        """Who says that they answer, as far as it came."""
        model, fingerprint = (self._last.get(key) for key in ("model", "system_fingerprint"))
        return Signature(model if isinstance(model, str) and model else None,
                         fingerprint if isinstance(fingerprint, str) and fingerprint else None)

    def take(self, line: bytes, at: float) -> bool:
        """Take one line of the stream; whether it ends the reply. Raises TrialError: BadReply, ReplyTooLarge."""
        line = line.strip()
        if line.startswith(_OTHER_FIELDS):
            return False
        data = line.removeprefix(_DATA).strip()
        if not data or data == _DONE:
            self._is_done = bool(data)
            return self._is_done
        try:
            self._take_object(object_of(data), at)
        except ValueError as error:
            raise TrialError("BadReply", f"not a chat completion ({error}): {quoted(data)}", self.partial) from None
        return self._error is not None

    def reply(self, answer: Answer) -> Reply:
        """The reply. Raises TrialError: BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            raise _reported_error(self._error, self.partial)
        if not self._is_done and self._finish is None:
            raise unended(answer, self._lines, self.partial, "without finish_reason and [DONE]")
        timings = _mapping(self._last.get("timings"))
        return Reply(
            output=self._texts.output, finish=self._finish, reasoning=self._texts.reasoning,
            usage=_usage(_mapping(self._last.get("usage")), timings),
            timings=_timings(timings, self._texts.first_token_s(answer)), latency_s=answer.latency_s)

    def _take_object(self, fields: Mapping[str, JSON], at: float) -> None:
        """Take a chunk. Raises ValueError with why it is none."""
        error = fields.get("error")
        if error:
            self._error = error if isinstance(error, Mapping) else {"message": error}
            return
        choices = fields.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
            raise ValueError("a line of it has no list of choices")
        self._lines += 1
        self._last.update({key: value for key, value in fields.items() if value is not None})
        for choice in choices:
            if choice.get("index", 0) == 0:
                self._take_choice(choice, at)

    def _take_choice(self, choice: Mapping[str, JSON], at: float) -> None:
        said = choice.get("delta") or choice.get("message") or {}
        if not isinstance(said, Mapping):
            raise ValueError("a delta of it is no object")
        # some servers send the same thought under both names while they move from one to the other
        self._texts.add_reasoning(_text(said, "reasoning") or _text(said, "reasoning_content"), at)
        self._texts.add_output(_text(said, "content") + _text(said, "refusal"), at)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        if finish == "error":
            self._error = _mapping(choice.get("error")) or {"message": "finish_reason: error"}


class Completions:
    """How the replies to one request are read; afterwards it knows who signed the last of them."""

    def __init__(self) -> None:
        self._latest = CompletionReading()
        self.dialect = Dialect(self._new_reading, _too_long)

    @property
    def signature(self) -> Signature:
        """Who says that they gave the last reply."""
        return self._latest.signature

    def _new_reading(self) -> CompletionReading:
        self._latest = CompletionReading()
        return self._latest


def _too_long(answer: Answer) -> str | None:
    return too_long_message(answer.body.decode("utf-8", "replace"))


def _reported_error(error: Mapping[str, JSON], partial: str | None) -> TrialError:
    """The error for what a server reported under status 200: nothing has come, or the reply was broken off."""
    said = str(error.get("message"))
    if partial is None and error.get("code") in BUSY:
        return TrialError("ServerBusy", f"the server was busy: {quoted(said.encode('utf-8'))}")
    too_long = too_long_message(f"{said} {error.get('type')} {error.get('code')}")
    return broken_off(said, partial, too_long)


def _text(said: Mapping[str, JSON], key: str) -> str:
    text = said.get(key) or ""
    if not isinstance(text, str):
        raise ValueError(f"{key} of it is no text")
    return text


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _usage(usage: Mapping[str, JSON], timings: Mapping[str, JSON]) -> Usage:
    """Tokens. No prompt has 0 of them: a server that says so has not counted."""
    details = _mapping(usage.get("prompt_tokens_details"))
    cached = details.get("cached_tokens", timings.get("cache_n"))
    return Usage(_count(usage.get("prompt_tokens")) or None, _count(usage.get("completion_tokens")), _count(cached))


def _count(value: JSON) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _timings(timings: Mapping[str, JSON], first_token_s: float | None) -> Timings:
    """llama-server adds its own times, in milliseconds; the others say nothing."""
    return Timings(prompt_s=_seconds(timings.get("prompt_ms")), output_s=_seconds(timings.get("predicted_ms")),
                   first_token_s=first_token_s)


def _seconds(milliseconds: JSON) -> float | None:
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number and milliseconds >= 0 else None  # type: ignore[operator]
