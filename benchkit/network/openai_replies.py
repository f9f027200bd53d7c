"""What the chunks of a chat completion mean: a reply, or the error that it is none.

Server-sent events whose data is a JSON object, as OpenAI began it and llama-server, vLLM, LM Studio, OpenRouter and
others send it; a whole object, from a server that does not stream, is read as well. A reply is complete when a
finish_reason has come that the model or the asker's limit is the reason of: a server names its own troubles there, too.
Usage comes behind the finish_reason, in a chunk of its own.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import mended
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network.http_client import MOST_LINE_BYTES, Response, quoted
from benchkit.network.replies import (
    UNPAID,
    Dialect,
    ReplyTexts,
    broken_off,
    names_no_credit,
    object_of,
    too_large,
    too_long_message,
    unended,
)

MOST_NAME = 200
"""Letters of a name or a fingerprint: the settings hold them."""
MOST_LINES = 32_768
"""Of one event whose lines are events themselves: chunks of some 130 bytes, and no event is larger than 3.25 MB."""
_DONE = b"[DONE]"
_SIGNS_OF_LIFE = (b"", b"null")
_ENDS = frozenset((
    "stop", "length", "tool_calls", "function_call", "content_filter",  # OpenAI
    "eos", "eos_token", "stop_sequence", "complete", "end_turn", "tool_use", "refusal",  # TGI, Cohere, Anthropic
    "max_tokens", "model_length", "safety", "recitation", "sensitive"))  # Mistral, Gemini, Zhipu
"""The ends that are the model's own or the asker's limit, in lower case. Others name what befell the server: `abort`,
`network_error`, `insufficient_system_resource`; and one that nobody knows may be such."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = (b"", b"data", b"event", b"id", b"retry")
"""The fields that the standard knows; a comment has an empty name."""


class EventStream:
    """One body of server-sent events: lines in, the data of an event out (WHATWG HTML, section 9.2.6).

    An event ends at an empty line, its `data` lines belong together, and comments and unknown fields say nothing. A
    body that begins like JSON is no event stream: a server that does not stream sends its one object, on however many
    lines. `unknown` is the first line that is no known field: where no answer came, it may say why.
    """

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._has_begun = False
        self.is_json = False
        self.size = 0
        self.unknown = b""

    def take(self, line: bytes) -> bytes | None:
        """Take a line, without its end; the data of the event that it ends, if it ends one that has any."""
        if not self._has_begun:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._has_begun = bool(line.strip())
            self.is_json = line.lstrip()[:1] in (b"{", b"[")
        name, _, value = line.partition(b":")
        if self.is_json:
            self._keep(line)
        elif not line:
            return self.rest()
        elif name == b"data":
            self._keep(value.removeprefix(b" "))
        elif name not in _FIELDS:
            self.unknown = self.unknown or line
        return None

    def rest(self) -> bytes | None:
        """The data of the event, or of the JSON, that nothing has ended yet."""
        data = b"\n".join(self._data)
        self._data, self.size = [], 0
        return data or None

    def _keep(self, data: bytes) -> None:
        self._data.append(data)
        self.size += len(data) + 1


@dataclass(frozen=True, slots=True)
class Signature:
    """Who says that they answered: the model, and the fingerprint of what it ran on; None where nothing is said."""

    model: str | None = None
    fingerprint: str | None = None


class CompletionParser:
    """One reply of /chat/completions, streamed or not."""

    def __init__(self) -> None:
        self._events, self._texts = EventStream(), ReplyTexts()
        self._finish: str | None = None
        self._error: Mapping[str, JSON] | None = None
        self._said: dict[str, JSON] = {}
        self._chunks = 0
        self._stray: tuple[str, bytes] | None = None

    @property
    def partial(self) -> str | None:
        """The answer text so far; None before any."""
        return self._texts.partial

    @property
    def signature(self) -> Signature:
        """Who says that they answer, as far as it came."""
        model, fingerprint = (mended(self._said.get(key)) for key in ("model", "system_fingerprint"))
        return Signature(model[:MOST_NAME] if isinstance(model, str) else None,
                         fingerprint[:MOST_NAME] if isinstance(fingerprint, str) else None)

    def take(self, line: bytes, at: float) -> bool:
        """Take one line of the body; whether it ends the reply. Raises TrialError: BadReply, ReplyTooLarge."""
        data = self._events.take(line)
        if self._events.size > MOST_LINE_BYTES:
            raise too_large(self.partial)
        return data is not None and self._take_data(data, at)

    def ended(self, response: Response) -> Response:
        """What a 200 that has ended in order means: an error before any text stands for the status that it names."""
        self._take_rest(response.ended_at or 0.0)
        status = None if self._error is None else _status_of(self._error)
        if status is None or self._texts.output or self._texts.reasoning:
            return response
        return replace(response, status=status, body=json.dumps(self._error, ensure_ascii=False).encode("utf-8"))

    def reply(self, response: Response) -> Reply:
        """The reply, after `ended`. Raises TrialError: BadReply, BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            raise _reported_error(self._error, self.partial)
        if self._finish is None:
            raise self._unended(response)
        if self._finish.casefold() not in _ENDS:
            raise broken_off(f"finish_reason {self._finish}", self.partial)
        said = mended(self._said)
        assert isinstance(said, dict)
        timings = _mapping(said.get("timings"))
        return Reply(
            output=self._texts.output, finish=self._finish, reasoning=self._texts.reasoning,
            usage=_usage(_mapping(said["usage"]), timings),
            timings=_timings(timings, self._texts.first_token_s(response)), latency_s=response.latency_s)

    def _take_data(self, data: bytes, at: float) -> bool:
        """Take the data of an event; whether it ends the reply. Raises TrialError."""
        data = data.strip()
        if data == _DONE:
            return True
        if data in _SIGNS_OF_LIFE:
            return False
        try:
            fields = object_of(data)
        except ValueError as error:
            # some servers part their events by a single newline: then each line is one
            lines = data.split(b"\n")
            if 1 < len(lines) <= MOST_LINES and _is_object(lines[0]):
                return any(self._take_data(line, at) for line in lines)
            raise self._no_chunk(str(error), data) from None
        try:
            self._take_object(fields, data, at)
        except ValueError as error:
            raise self._no_chunk(str(error), data) from None
        return self._error is not None

    def _take_rest(self, at: float) -> None:
        """Take what no empty line has ended, or an object that came without `data:`. Raises TrialError."""
        data, unknown = self._events.rest(), self._events.unknown
        if self._finish is None and _is_object(unknown):
            self._take_data(unknown, at)
        try:
            if data is not None:
                self._take_data(data, at)
        except TrialError as error:
            # an event that was torn off says nothing; that the reply lacks its end will be said
            if error.type != "BadReply" or self._events.is_json or not self._chunks:
                raise

    def _no_chunk(self, why: str, data: bytes) -> TrialError:
        return TrialError("BadReply", f"not a chat completion ({why}): {quoted(data)}", self.partial)

    def _unended(self, response: Response) -> TrialError:
        """The error of a reply without a finish_reason, with what else the server said, if it said anything."""
        why, data = self._stray or ("a line of it is no event", self._events.unknown)
        if not data:
            return unended(response, self._chunks, self.partial, "without finish_reason")
        if not self._chunks:
            return self._no_chunk(why, data)
        return unended(response, self._chunks, self.partial, f"without finish_reason, but with: {quoted(data)}")

    def _take_object(self, fields: Mapping[str, JSON], data: bytes, at: float) -> None:
        """Take a chunk. Raises ValueError with why it is none."""
        error = fields.get("error")
        if error:
            self._error = _mapping(mended(error)) or {"message": mended(error)}
            return
        choices = fields.get("choices")
        if choices is None and not fields.get("usage"):
            self._stray = self._stray or ("a line of it has no list of choices", data)
            return
        if choices is None:
            choices = []
        if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
            raise ValueError("a line of it has no list of choices")
        self._chunks += 1
        self._hear(fields)
        for choice in choices:
            if choice.get("index", 0) == 0:
                self._take_choice(choice, at)

    def _hear(self, fields: Mapping[str, JSON]) -> None:
        """Keep what a chunk says besides its choices: the last word counts, but an empty one is none."""
        usage, more = dict(_mapping(self._said.get("usage"))), _mapping(fields.get("usage"))
        usage.update((name, count) for name, count in more.items() if count or name not in usage)
        self._said.update((key, value) for key, value in fields.items() if value and key != "choices")
        self._said["usage"] = usage

    def _take_choice(self, choice: Mapping[str, JSON], at: float) -> None:
        piece, whole = (_spoken(choice.get(key)) for key in ("delta", "message"))
        self._texts.add_reasoning(piece.reasoning, at)
        self._texts.add_output(piece.output, at)
        self._texts.replace(whole.output, whole.reasoning, at)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        if finish == "error":
            self._error = _mapping(mended(choice.get("error"))) or {"message": "finish_reason: error"}


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a delta or a message says."""

    output: str = ""
    reasoning: str = ""


def _spoken(said: JSON) -> _Spoken:
    """What is said in a delta or a message. Raises ValueError where it is neither."""
    if not said:
        return _Spoken()
    if not isinstance(said, Mapping):
        raise ValueError("a delta of it is no object")
    content = said.get("content")
    spoken = _in_parts(content) if isinstance(content, list) else _Spoken(_text(said, "content"))
    # some servers send the same thought under both names while they move from one to the other
    reasoning = _text(said, "reasoning") or _text(said, "reasoning_content")
    return _Spoken(spoken.output + _text(said, "refusal"), spoken.reasoning + reasoning)


def _in_parts(parts: list[JSON]) -> _Spoken:
    """Content in parts, as Mistral's reasoning models send it. Raises ValueError for a part of another type."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in map(_mapping, parts):
        match part.get("type"):
            case "text":
                texts.append(_text(part, "text"))
            case "thinking":
                inner = part.get("thinking")
                thoughts.append(_in_parts(inner).output if isinstance(inner, list) else _text(part, "thinking"))
            case other:
                raise ValueError(f"content of it has a part of type {quoted(str(mended(other)).encode('utf-8'))}")
    return _Spoken("".join(texts), "".join(thoughts))


class Completions:
    """How the replies to one request are read; afterwards it knows who signed the last of them."""

    def __init__(self) -> None:
        self._latest = CompletionParser()
        self.dialect = Dialect(self._new_parser, _too_long)

    @property
    def signature(self) -> Signature:
        """Who says that they gave the last reply."""
        return self._latest.signature

    def _new_parser(self) -> CompletionParser:
        self._latest = CompletionParser()
        return self._latest


def _too_long(response: Response) -> str | None:
    return too_long_message(response.body.decode("utf-8", "replace"))


def _is_object(line: bytes) -> bool:
    try:
        return bool(object_of(line))
    except ValueError:
        return False


def _status_of(error: Mapping[str, JSON]) -> int | None:
    """The HTTP status that an error gives as its code, as a number or a text; None where it gives none."""
    code = str(error.get("code"))
    return int(code) if len(code) == 3 and code.isascii() and code.isdigit() and code[0] in "45" else None


def _reported_error(error: Mapping[str, JSON], partial: str | None) -> TrialError:
    """The error for what a server reported under status 200, in the middle of the reply or without a status."""
    said = str(error.get("message") or json.dumps(error))
    found = broken_off(said, partial, too_long_message(f"{said} {error.get('type')} {error.get('code')}"))
    found.stops = f"{UNPAID}: {found.message}" if names_no_credit(error) else None
    return found


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
