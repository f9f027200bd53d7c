"""What an Ollama server's chat lines mean: a reply, or the error that it is none.

NDJSON; a reply is complete only when `done: true` was seen, with the reason why it ended: none is given where the
server lost its own runner. Durations come in nanoseconds, and a zero is an absent key.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping

from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network.http_client import Response, quoted
from benchkit.network.probe import full_tag
from benchkit.network.replies import Dialect, ReplyTexts, broken_off, object_of, too_long_message, unended

_SETTING = " (option num_ctx)"
_ENDS = ("stop", "length", "load", "unload")
"""The ends of an answer that are the model's own or the asker's limit, and those of a request without messages."""


class ChatParser:
    """One reply of /api/chat, streamed or not. `sent_at` of the response gives the first token its time.

    `names` are those of the model that was asked: a line that names another one is no part of the answer (none: any
    will do).
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = frozenset(full_tag(name).casefold() for name in names)
        self._texts = ReplyTexts()
        self._last: Mapping[str, JSON] | None = None
        self._error: str | None = None
        self._lines = 0

    @property
    def partial(self) -> str | None:
        """The answer text so far (reasoning is no part of it); None before any."""
        return self._texts.partial

    def take(self, line: bytes, at: float) -> bool:
        """Take one JSON object; whether it ends the reply. Raises TrialError: BadReply, ReplyTooLarge."""
        if not line.strip():
            return False
        try:
            return self._take_fields(object_of(line), at)
        except ValueError as error:
            raise TrialError("BadReply", f"not a reply of Ollama ({error}): {quoted(line)}", self.partial) from None

    def ended(self, response: Response) -> Response:
        """The response as it is meant: as it came."""
        return response

    def reply(self, response: Response) -> Reply:
        """The reply. Raises TrialError: BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            raise broken_off(self._error, self.partial, too_long_message(self._error, _SETTING))
        if self._last is None:
            why = "without done (a token that repeats)"
            raise unended(response, self._lines, self.partial, why)
        finish = self._last.get("done_reason")
        if not isinstance(finish, str) or not finish:
            raise unended(response, self._lines, self.partial, "without done_reason")
        if finish not in _ENDS:
            raise broken_off(f"done_reason {finish}", self.partial)
        return Reply(
            output=self._texts.output, finish=finish,
            reasoning=self._texts.reasoning, usage=_usage(self._last),
            timings=_timings(self._last, self._texts.first_token_s(response)), latency_s=response.latency_s)

    def _take_fields(self, fields: Mapping[str, JSON], at: float) -> bool:
        """Take an object; whether it ends the reply. Raises ValueError with why it is no part of one."""
        if isinstance(fields.get("error"), str):
            self._error = str(fields["error"])
            return True
        done, message = fields.get("done"), fields.get("message")
        if not isinstance(done, bool) or not isinstance(message, Mapping):
            raise ValueError("a line of it is no chat message of Ollama")
        if self._is_of_another(fields.get("model")):
            raise ValueError("a line of it is of another model")
        self._lines += 1
        self._texts.add_output(_text(message, "content"), at)
        self._texts.add_reasoning(_text(message, "thinking"), at)
        if done:
            self._last = fields
        return done

    def _is_of_another(self, model: JSON) -> bool:
        return bool(self._names) and isinstance(model, str) and full_tag(model).casefold() not in self._names


def _text(message: Mapping[str, JSON], key: str) -> str:
    text = message.get(key) or ""
    if not isinstance(text, str):
        raise ValueError(f"message.{key} is no text")
    return text


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


def _too_long(response: Response) -> str | None:
    return too_long_message(response.body.decode("utf-8", "replace"), _SETTING)


CHAT = Dialect(ChatParser, _too_long)
"""How replies of /api/chat are read, whatever model they name."""


def chat_with(*names: str) -> Dialect:
    """How replies of /api/chat are read if the model of these names was asked."""
    return Dialect(lambda: ChatParser(names), _too_long)
