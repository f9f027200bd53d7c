"""What a server with /v1/chat/completions says: the events of a completion as a reply or an error, and its models.

A whole object, from a server that does not stream, is read as well. A reply is complete when a finish_reason has come
that is the model's or the asker's limit; a server names its own troubles there, too. Usage comes in a chunk behind it.
"""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import mended
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network import replies
from benchkit.network.http_client import MOST_LINE_BYTES, Call, Client, Response, quoted
from benchkit.network.replies import amount_of, object_of, text_in

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
_FIELDS = (b"", b"data", b"event", b"id", b"retry")
"""The fields of an event that the standard knows; a comment has an empty name."""
_SERVERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang", "library": "ollama"}
_META = ("n_params", "size", "n_vocab", "ftype")
_SAMPLING = ("top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "repeat_penalty", "repeat_last_n",
             "presence_penalty", "frequency_penalty", "dry_multiplier", "xtc_probability", "mirostat")
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")
_WEIGHTS = re.compile(r"(sha256:)?[0-9a-f]{64}")


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
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._has_begun = bool(line.strip())
            self.is_json = line.lstrip()[:1] in (b"{", b"[")
        name, _, value = line.partition(b":")
        if self.is_json or name == b"data":
            kept = line if self.is_json else value.removeprefix(b" ")
            self._data.append(kept)
            self.size += len(kept) + 1
        elif not line:
            return self.rest()
        elif name not in _FIELDS:
            self.unknown = self.unknown or line
        return None

    def rest(self) -> bytes | None:
        """The data of the event, or of the JSON, that nothing has ended yet."""
        data = b"\n".join(self._data)
        self._data, self.size = [], 0
        return data or None


@dataclass(frozen=True, slots=True)
class Signature:
    """Who says that they answered: the model, and the fingerprint of what it ran on; None where nothing is said."""

    model: str | None = None
    fingerprint: str | None = None


class CompletionParser(replies.ReplyParser):
    """One reply of /chat/completions, streamed or not."""

    def __init__(self) -> None:
        super().__init__()
        self._events = EventStream()
        self._finish: str | None = None
        self._error: Mapping[str, JSON] | None = None
        self._said: dict[str, JSON] = {}
        self._stray: tuple[str, bytes] | None = None

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
            raise replies.too_large(self.partial)
        return data is not None and self._take_data(data, at)

    def ended(self, response: Response) -> Response:
        """What a 200 that has ended in order means: an error before any text stands for the status that it names."""
        at, data, unknown = response.ended_at or 0.0, self._events.rest(), self._events.unknown
        if self._finish is None and _is_object(unknown):  # an object that came without `data:`
            self._take_data(unknown, at)
        try:
            if data is not None:
                self._take_data(data, at)
        except TrialError as error:
            # an event that was torn off says nothing; that the reply lacks its end will be said
            if error.type != "BadReply" or self._events.is_json or not self._lines:
                raise
        code = str((self._error or {}).get("code"))
        if not re.fullmatch("[45][0-9]{2}", code) or self.output or self.reasoning:
            return response
        return replace(response, status=int(code), body=json.dumps(self._error, ensure_ascii=False).encode("utf-8"))

    def reply(self, response: Response) -> Reply:
        """The reply, after `ended`. Raises TrialError: BadReply, BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            said = str(self._error.get("message") or json.dumps(self._error))
            broken = self.broken_off(said, f"{self._error.get('type')} {self._error.get('code')}")
            broken.stops = replies.without_credit(broken.message) if replies.has_no_credit(self._error) else None
            raise broken
        if self._finish is None:
            why, data = self._stray or ("a line of it is no event", self._events.unknown)
            if data and not self._lines:
                raise self._no_chunk(why, data)
            raise self.unended(response, "without finish_reason" + (f", but with: {quoted(data)}" if data else ""))
        if self._finish.casefold() not in _ENDS:
            raise self.broken_off(f"finish_reason {self._finish}")
        usage, timings = _mapping(self._said["usage"]), _mapping(self._said.get("timings"))
        cached = _mapping(usage.get("prompt_tokens_details")).get("cached_tokens", timings.get("cache_n"))
        return Reply(
            output=self.output, finish=self._finish, reasoning=self.reasoning,
            # no prompt has 0 tokens: a server that says so has not counted
            usage=Usage(amount_of(usage.get("prompt_tokens")), amount_of(usage.get("completion_tokens"), 0),
                        amount_of(cached, 0)),
            # llama-server adds its own times, in milliseconds; the others say nothing
            timings=Timings(prompt_s=_seconds(timings.get("prompt_ms")), output_s=_seconds(timings.get("predicted_ms")),
                            first_token_s=self.first_token_s(response)),
            latency_s=response.latency_s)

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

    def _take_object(self, fields: Mapping[str, JSON], data: bytes, at: float) -> None:
        """Take a chunk. Raises ValueError with why it is none."""
        if error := fields.get("error"):
            self._error = _mapping(mended(error)) or {"message": mended(error)}
            return
        choices = fields.get("choices")
        if choices is None and not fields.get("usage"):
            self._stray = self._stray or ("a line of it has no list of choices", data)
            return
        choices = [] if choices is None else choices
        if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
            raise ValueError("a line of it has no list of choices")
        self._lines += 1
        # the last word counts of what is said besides the choices, but an empty one is none
        usage, more = dict(_mapping(self._said.get("usage"))), _mapping(fields.get("usage"))
        usage.update((name, count) for name, count in more.items() if count or name not in usage)
        self._said.update((key, value) for key, value in fields.items() if value and key != "choices")
        self._said["usage"] = usage
        for choice in choices:
            if choice.get("index", 0) == 0:
                self._take_choice(choice, at)

    def _take_choice(self, choice: Mapping[str, JSON], at: float) -> None:
        piece, whole = (_spoken(choice.get(key)) for key in ("delta", "message"))
        self.add(*piece, at)
        self.put(*whole, at)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        if finish == "error":
            self._error = _mapping(mended(choice.get("error"))) or {"message": "finish_reason: error"}

    def _no_chunk(self, why: str, data: bytes) -> TrialError:
        return TrialError("BadReply", f"not a chat completion ({why}): {quoted(data)}", self.partial)


class Completions:
    """How the replies to one request are read; `latest` knows afterwards who signed the last of them."""

    def __init__(self) -> None:
        self.latest = CompletionParser()

    def new_parser(self) -> CompletionParser:
        """For the next reply."""
        self.latest = CompletionParser()
        return self.latest


def _spoken(said: JSON) -> tuple[str, str]:
    """The answer and the reasoning in a delta or a message. Raises ValueError where it is neither."""
    if not said:
        return "", ""
    if not isinstance(said, Mapping):
        raise ValueError("a delta of it is no object")
    content = said.get("content")
    output, thought = _in_parts(content) if isinstance(content, list) else (_text(said, "content"), "")
    # some servers send the same thought under both names while they move from one to the other
    thought += _text(said, "reasoning") or _text(said, "reasoning_content")
    return output + _text(said, "refusal"), thought


def _in_parts(parts: list[JSON]) -> tuple[str, str]:
    """Content in parts, as Mistral's reasoning models send it. Raises ValueError for a part of another type."""
    output = thought = ""
    for part in map(_mapping, parts):
        match part.get("type"):
            case "text":
                output += _text(part, "text")
            case "thinking":
                inner = part.get("thinking")
                thought += _in_parts(inner)[0] if isinstance(inner, list) else _text(part, "thinking")
            case other:
                raise ValueError(f"content of it has a part of type {quoted(str(mended(other)).encode('utf-8'))}")
    return output, thought


def _text(said: Mapping[str, JSON], key: str) -> str:
    return text_in(said, key, f"{key} of it")


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _is_object(line: bytes) -> bool:
    try:
        return bool(object_of(line))
    except ValueError:
        return False


def _seconds(milliseconds: JSON) -> float | None:
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number and milliseconds >= 0 else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Said:
    """What a server says of a model, in its list or, if it is a llama-server, in /props.

    `id` is as given, `server` the kind of server where that is known, `build` its build. `facts` are those that change
    with the model; `context_length` is in tokens. None: not said.
    """

    id: str = ""
    server: str = "openai-compatible"
    build: str | None = None
    facts: Mapping[str, JSON] = field(default_factory=dict)
    context_length: int | None = None


def listed_models(client: Client, deadline: float) -> Sequence[Said]:
    """The models of GET /models. Raises NoAnswer."""
    found = []
    for entry in client.send(Call("GET", "/models"), deadline).objects("data", f"{client.address.prefix}/models"):
        meta, root = _mapping(entry.get("meta")), entry.get("root")
        facts = {key: meta[key] for key in _META if key in meta}
        if isinstance(root, str) and root:
            facts["root"] = name_only(root)
        found.append(Said(
            str(entry.get("id") or ""), _SERVERS.get(str(entry.get("owned_by")), Said().server), None, facts,
            amount_of(entry.get("max_model_len")) or amount_of(entry.get("context_length"))))
    return found


def find_listed(models: Sequence[Said], name: str) -> Said | None:
    """The model of that name: its id, the file of an id that is a path, or the id before a variant (`x/y:free`).

    Ollama lists `name:latest` where it is asked for `name`.
    """
    meant = filter(None, (name, f"{name}:latest", name.rpartition(":")[0]))
    return next((model for one in meant for model in models if one in (model.id, name_only(model.id))), None)


def props(client: Client, deadline: float) -> Said | None:
    """What llama-server says of itself, and the context it really has; None if this is none, or does not say."""
    root = replace(client, address=replace(client.address, prefix=client.address.prefix.removesuffix("/v1")))
    fields = root.send(Call("GET", "/props"), deadline).fields
    defaults = fields.get("default_generation_settings")
    if not isinstance(defaults, Mapping):
        return None
    params = _mapping(defaults.get("params"))
    sampling = {key: params[key] for key in _SAMPLING if key in params}
    facts: dict[str, JSON] = {"sampling": sampling} if sampling else {}
    template, path, build = (fields.get(key) for key in ("chat_template", "model_path", "build_info"))
    if isinstance(template, str):
        facts["chat_template_sha256"] = hashlib.sha256(template.encode("utf-8")).hexdigest()
    if isinstance(path, str) and path:
        facts["file"] = name_only(path, always=True)
    return Said("", "llama.cpp", shown_line(build, 80) if isinstance(build, str) else None, facts,
                amount_of(defaults.get("n_ctx")))


def pins(fingerprint: str | None) -> bool:
    """Whether a system_fingerprint changes with the weights: it does if it is a digest, as those of weights are.

    What servers really give there is a build (llama.cpp, text-generation-inference, KoboldCpp), versions and the
    machine (mlx_lm), a hash of the configuration (vLLM, OpenAI), the model's own name (LM Studio) or a constant.
    """
    return fingerprint is not None and _WEIGHTS.fullmatch(fingerprint) is not None


def name_only(name: str, always: bool = False) -> str:
    """The name without its folder, where it is a path (`always`: it is one): folders of a machine are kept nowhere."""
    return re.split(r"[/\\]", name)[-1] if always or _PATH.match(name) else name
