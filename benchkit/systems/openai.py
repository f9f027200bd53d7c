"""A model behind `/v1/chat/completions` as a system: llama-server, vLLM, LM Studio, OpenRouter and any other.

What identifies the model is what its server says; where nothing pins it, a warning and the report say so. What the
server refuses of a request at the start is left out of all that follows, and the settings say so.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.errors import EnvironmentFailure, NoServer, TrialError, Unusable
from benchkit.basics.texts import names_of, same_model, shown_line
from benchkit.basics.values import JSON, Message, Reply, Request
from benchkit.network import openai_protocol as protocol
from benchkit.network.address import Address, address_of, with_key
from benchkit.network.http_client import Call, NoAnswer
from benchkit.network.replies import pause, refuses_request
from benchkit.systems import server_session
from benchkit.systems.system import SERVERS, Loaded, SystemOptions
from benchkit.tasks.task import prompt_of

DEFAULT_PORT = 8080  # llama-server's
GENERAL_OPTIONS: Mapping[str, JSON] = {"temperature": 1.0, "top_p": 0.95, "max_tokens": 1024}
"""For any task, and known to every server; an option that a server does not know is an error at some of them."""
FIXED: Mapping[str, JSON] = {"stream": True, "stream_options": {"include_usage": True}}
BY_SCHEMA: Mapping[str, JSON] = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True}}
"""How a schema is asked for; the schema itself stands beside `strict`."""
NO_SCHEMA, REFUSED = "the task has no schema", "refused by the server"
NOTHING, FINGERPRINT = "nothing", "system_fingerprint"
LENGTHS = LENGTH, NEW_LENGTH = "max_tokens", "max_completion_tokens"
_SCHEMA, _USAGE = "response_format", "stream_options"
_WITHOUT = {_SCHEMA: "takes no schema: none is sent", _USAGE: f"takes no {_USAGE}: none are sent",
            LENGTH: f"takes no {LENGTH}: {NEW_LENGTH} stands in its place"}
"""What is done where a server refuses a field: some refuse a schema, some `stream_options` (Mistral, Databricks), some
`max_tokens` (OpenAI's newer models want `max_completion_tokens`)."""
_NOT_OPTIONS = ("model", "messages", "seed", "n", _SCHEMA, *FIXED)
_IS_UNKNOWN = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|extra|not permitted|not allowed|unexpected", re.IGNORECASE)
_AGAIN_WAITS_S = (0.5, 2.0)
"""Waits before the first tokens are asked for once more, where the server stumbled (5xx)."""
_PROBE_TOKENS = 16  # some servers call a limit of 1 an error
_PROBE_SCHEMA: Mapping[str, JSON] = {
    "type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"], "additionalProperties": False}
_SEVERAL = 2


@dataclass(frozen=True, slots=True)
class OpenAIModel:
    """A model by the name that its server knows it by, and the options of its requests."""

    name: str
    options: Mapping[str, JSON]


class OpenAISystem(server_session.ServerSystem):
    """A model behind /v1/chat/completions."""

    kind, look, path, schema_field = SERVERS["openai"], Call("GET", "/models"), "/chat/completions", _SCHEMA

    def __init__(self, model: OpenAIModel, options: SystemOptions) -> None:
        """Connect to nothing yet. Raises Unusable for a bad address, name or set of options, and for an exposed key."""
        _check_model(model)
        super().__init__(_address(options), options)
        self._model = model
        task, cases = options.task, options.cases
        self._schema = prompt_of(task, cases[0]).schema if task and cases else _PROBE_SCHEMA
        recorded = options.recorded or {}
        known = recorded.get("options")
        left_out = {_SCHEMA: self._schema is None or recorded.get(_SCHEMA) == REFUSED,
                    _USAGE: recorded.get(_USAGE) == REFUSED,
                    LENGTH: isinstance(known, Mapping) and NEW_LENGTH in known}
        self._left_out = {field for field, is_so in left_out.items() if is_so}
        self._served: Mapping[str, JSON] | None = None
        self._signature = protocol.Signature()
        self._loaded = Loaded(0.0)
        self._fingerprints: set[str] = set()

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, and learn who answers by asking for a few tokens. Raises EnvironmentFailure."""
        listed = self._listed()
        said = protocol.props(self._client, self._soon())
        start = self._client.clock.monotonic()
        signature = self._signature = self._first_tokens()
        load_s = self._client.clock.monotonic() - start
        # all that the server says of the model, for the settings: its build is no part of it
        heard = [one for one in (listed, said) if one is not None]
        served: dict[str, JSON] = {key: value for one in heard for key, value in one.facts.items()}
        if signature.model is not None:
            served["model"] = protocol.name_only(signature.model)
        if self._is_pinned:
            served[FINGERPRINT] = signature.fingerprint
        self._served = served
        lengths = filter(None, (one.context_length for one in reversed(heard)))
        self._loaded = Loaded(load_s, next(lengths, None), served)
        self._say_who(served, listed)
        server = said or listed or protocol.Said()
        environment: dict[str, JSON] = {"server": server.server, "server_version": server.build}
        if signature.fingerprint is not None:
            self._fingerprints = {signature.fingerprint}
            if not self._is_pinned and signature.fingerprint != server.build:
                environment[FINGERPRINT] = signature.fingerprint
        address = self._client.address
        return environment if address.is_loopback else {**environment, "host": address.host}

    def settings(self) -> Mapping[str, JSON]:
        """All that a request holds besides messages, schema and seed, and what the server says of the model."""
        is_open = self._served is not None
        by_schema = NO_SCHEMA if self._schema is None else REFUSED if _SCHEMA in self._left_out else BY_SCHEMA
        return {"api": "/v1/chat/completions", "model": self._model.name, **FIXED,
                **({_USAGE: REFUSED} if _USAGE in self._left_out else {}),
                "options": self._model_options(), _SCHEMA: by_schema if is_open else None,
                "served": self._served,
                "pinned_by": (FINGERPRINT if self._is_pinned else NOTHING) if is_open else None}

    def body_of(self, request: Request) -> Mapping[str, JSON]:
        """The exact JSON that is sent for a request."""
        return self._body(request.messages, request.seed, request.schema)

    def warm(self) -> Loaded:
        """What loading took: the tokens asked for by `open` had to wait for it."""
        return self._loaded

    def answer(self, request: Request) -> Reply:
        """One whole reply, from the model that was opened. Raises TrialError, Interrupted."""
        completions = protocol.Completions()
        reply = self._ask(completions.new_parser, request, self.body_of(request), self._length(1))
        if self._served is None:
            return reply
        before, now = self._signature, completions.latest.signature
        pairs = [("model", before.model, now.model)]
        if self._is_pinned:
            pairs.append((FINGERPRINT, before.fingerprint, now.fingerprint))
        elif now.fingerprint is not None and now.fingerprint not in self._fingerprints:
            self._fingerprints.add(now.fingerprint)
            if len(self._fingerprints) == _SEVERAL:
                named = " and ".join(shown_line(one, 80) for one in sorted(self._fingerprints))
                self._options.say(f"{self._model.name} answers with more than one {FINGERPRINT} ({named}): several "
                                  f"back ends of one service, or other weights; nothing pins it")
        for what, was, is_now in pairs:
            if None not in (was, is_now) and is_now != was:
                is_, was_ = (shown_line(protocol.name_only(str(name)), 80) for name in (is_now, was))
                raise server_session.model_changed(
                    f"the {what} of {self._model.name} is now {is_}; the run began with {was_}", reply)
        return reply

    @property
    def _is_pinned(self) -> bool:
        """Whether a change of the model would show."""
        return protocol.pins(self._signature.fingerprint)

    def _body(self, messages: Sequence[Message], seed: int, schema: Mapping[str, JSON] | None) -> dict[str, JSON]:
        body = {"model": self._model.name, "messages": messages, **FIXED, **self._model_options(), "seed": seed}
        if _USAGE in self._left_out:
            del body[_USAGE]
        if schema is not None and _SCHEMA not in self._left_out:
            body[_SCHEMA] = {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        return body

    def _model_options(self) -> Mapping[str, JSON]:
        """The model's options, by the names that the server knows."""
        return {NEW_LENGTH if key == LENGTH and LENGTH in self._left_out else key: value
                for key, value in self._model.options.items()}

    def _length(self, tokens: int) -> Mapping[str, JSON]:
        return {key: tokens for key in LENGTHS if key in self._model_options()}

    def _listed(self) -> protocol.Said | None:
        """The model in the server's list; None where it keeps none. Raises EnvironmentFailure."""
        try:
            models = protocol.listed_models(self._client, self._soon())
        except NoAnswer as error:
            if error.is_refused:  # there is no sense in waiting as for one that restarts in the middle of a run
                raise self._unasked(TrialError(
                    "Unreachable", "the server cannot be reached (connection refused)")) from None
            return None
        found = protocol.find_listed(models, self._model.name)
        if found is None and models:
            there = names_of((protocol.name_only(model.id) for model in models), server_session.MOST_NAMES, 80)
            raise EnvironmentFailure(f"the server at {self._client.where} has no model {self._model.name}; it has "
                                     f"{there}")
        return found

    def _first_tokens(self) -> protocol.Signature:
        """Who answers; what the server refuses of a request is left out from then on. Raises EnvironmentFailure."""
        before, refusal, stumbles = set(self._left_out), "", 0
        while True:
            body = {**self._body([{"role": "user", "content": "Say yes."}], 1, self._schema),
                    **self._length(_PROBE_TOKENS)}
            completions = protocol.Completions()
            try:
                self._load(self._model.name, completions.new_parser, body)
                break
            except TrialError as error:
                # a server that stumbles says nothing of what it takes, so it is asked once more, and again
                is_stumble = error.type == "ServerError" and (error.status or 0) >= 500 and error.status != 501
                field = self._refused_field(error)
                if is_stumble and stumbles < len(_AGAIN_WAITS_S):
                    pause(_AGAIN_WAITS_S[stumbles], self._options.clock, self._options.stop)
                    stumbles += 1
                elif field is None:
                    raise self._unasked(error) from None
                else:
                    self._left_out.add(field)
                    refusal, stumbles = error.message, 0
        if refusal:
            words = ", ".join(text for key, text in _WITHOUT.items() if key in self._left_out - before)
            self._options.say(f"the server {words}, and the settings say so ({refusal})")
        return completions.latest.signature

    def _refused_field(self, error: TrialError) -> str | None:
        """What is to be left out after this; None where the request was not refused, or nothing more can go."""
        said, kept = error.message, _WITHOUT.keys() - self._left_out
        if not refuses_request(error):
            return None
        if _USAGE in kept and _USAGE in said:
            return _USAGE
        if LENGTH in kept and (NEW_LENGTH in said or (LENGTH in said and _IS_UNKNOWN.search(said))):
            return LENGTH
        return _SCHEMA if _SCHEMA in kept else None

    def _unasked(self, error: TrialError) -> EnvironmentFailure:
        url = self._client.where
        if error.type == "Unreachable":
            return NoServer(f"no server at {url} ({error.message}): start it, name another with {self._named_by}")
        hint = ""
        if error.status == 401 and self._client.address.key is None:
            hint = f"; the key goes into {self.kind.key}"
        sent = ("seed", *self._model_options()) if refuses_request(error) else ()
        refused = [key for key in sent if key in error.message]
        if refused:
            hint = f"; a module of your own can ask without {refused[0]} (README: Your own cases, task and system)"
        return EnvironmentFailure(
            f"{self._model.name} at {url} could not be asked: {error.stops or error.message}{hint}")

    def _say_who(self, served: Mapping[str, JSON], listed: protocol.Said | None) -> None:
        name, answered = self._model.name, served.get("model")
        if isinstance(answered, str) and not same_model(name, answered):
            self._options.say(f"asked for {name}, answered by {shown_line(answered, 80)}: another name of "
                              f"it, or another model; the report says so")
        if not self._is_pinned:
            known = ", ".join(key for key in served if key != "model") or "its name"
            ollama = f"; --system ollama:{name} pins by digest" if listed and listed.server == "ollama" else ""
            self._options.say(
                f"nothing pins {name}: its server gives no digest and no fingerprint of the weights, only {known}; "
                f"other weights under this name would not show{ollama}")


def system(name: str, options: SystemOptions) -> OpenAISystem:
    """`openai:MODEL`: the model of that name, with options that suit any task."""
    return OpenAISystem(OpenAIModel(name, GENERAL_OPTIONS), options)


def _address(options: SystemOptions) -> Address:
    """Where the server is, with the key for it. Without a path, `/v1` is meant."""
    kind = SERVERS["openai"]
    given, given_as = server_session.given_address(kind, options)
    address = address_of(given, given_as, DEFAULT_PORT)
    address = replace(address, prefix=address.prefix or "/v1")
    # a key belongs to a server that somebody named, not to whatever listens at the default address
    return with_key(address, options.environment.get(kind.key, ""), kind.key) if given.strip() else address


def _check_model(model: OpenAIModel) -> None:
    name = shown_line(model.name, 100)
    if not model.name or not all("!" <= letter <= "~" for letter in model.name):
        raise Unusable(f"the model {name}: a model is named in printable ASCII without spaces")
    own = [key for key in _NOT_OPTIONS if key in model.options]
    if own:
        raise Unusable(f"the options of {name} hold {', '.join(own)}: the kit says that itself")
    lengths = [model.options[key] for key in LENGTHS if key in model.options]
    if not isinstance(model.options.get("temperature"), int | float) or not lengths:
        raise Unusable(f"the options of {name} need a temperature and max_tokens: defaults differ between servers")
    if not all(isinstance(length, int) and length >= 1 for length in lengths):
        raise Unusable(f"the options of {name}: {' or '.join(LENGTHS)} must be 1 or more")
