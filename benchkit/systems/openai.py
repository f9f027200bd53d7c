"""A model behind `/v1/chat/completions` as a system: llama-server, vLLM, LM Studio, OpenRouter and any other.

    --system openai:MODEL --host http://127.0.0.1:8080     or OPENAI_BASE_URL; a key from OPENAI_API_KEY

What identifies the model is what its server says; where nothing pins it, a warning and the report say so.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.errors import EnvironmentFailure, NoServer, TrialError, Unusable
from benchkit.basics.texts import names_of, same_model, shown_line
from benchkit.basics.values import JSON, Message, Reply, Request
from benchkit.network.address import Address, address_of, with_key
from benchkit.network.http_client import Call, Client
from benchkit.network.openai_replies import Completions, Signature
from benchkit.network.probe import Listed, NoAnswer, Props, find_listed, listed_models, name_only, pins, props
from benchkit.network.retry import ask, pause
from benchkit.systems.openai_requests import (
    BY_SCHEMA,
    FIXED,
    LENGTHS,
    REFUSED,
    refuses_request,
    taken_before,
)
from benchkit.systems.server_session import (
    CHECK_S,
    LOAD_S,
    MOST_NAMES,
    ServerSession,
    SignsOfLife,
    model_changed,
    probe_messages,
)
from benchkit.systems.system import Loaded, SystemOptions
from benchkit.tasks.task import prompt_of

BASE_URL, API_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
DEFAULT_PORT = 8080  # llama-server's
GENERAL_OPTIONS: Mapping[str, JSON] = {"temperature": 1.0, "top_p": 0.95, "max_tokens": 1024}
"""For any task, and known to every server; an option that a server does not know is an error at some of them."""
NO_SCHEMA = "the task has no schema"
NOTHING, FINGERPRINT = "nothing", "system_fingerprint"
_NOT_OPTIONS = ("model", "messages", "seed", "n", "response_format", *FIXED)
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


@dataclass(frozen=True, slots=True)
class Opened:
    """What the server said when it was opened."""

    listed: Listed | None
    props: Props | None
    signature: Signature
    load_s: float

    @property
    def build(self) -> str | None:
        """The build of the server, as far as it says it."""
        return None if self.props is None else self.props.build

    @property
    def pinned_by(self) -> str:
        """What a change of the model would show in: `system_fingerprint`, or `nothing`."""
        return FINGERPRINT if pins(self.signature.fingerprint) else NOTHING

    @property
    def served(self) -> Mapping[str, JSON]:
        """All that the server says of the model, for the settings: its build is no part of it."""
        facts: dict[str, JSON] = {}
        for said in (self.listed, self.props):
            facts.update(said.facts if said else {})
        if self.signature.model is not None:
            facts["model"] = name_only(self.signature.model)
        if self.pinned_by == FINGERPRINT:
            facts[FINGERPRINT] = self.signature.fingerprint
        return facts


class OpenAISystem:
    """A model behind /v1/chat/completions."""

    def __init__(self, model: OpenAIModel, options: SystemOptions) -> None:
        """Connect to nothing yet. Raises Unusable for a bad address, name or set of options, and for an exposed key."""
        _check_model(model)
        self._model, self._options = model, options
        address = _address(options)
        self._client = Client(address, options.clock, options.stop)
        self._server_session = ServerSession(self._client, self._gone)
        self._opened: Opened | None = None
        self._takes = taken_before(options.recorded or {}, has_schema=self._schema() is not None)
        self._fingerprints: set[str] = set()

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, and learn who answers by asking for a few tokens. Raises EnvironmentFailure."""
        listed = self._listed()
        said = props(self._client, self._now() + CHECK_S)
        start = self._now()
        signature = self._first_tokens()
        opened = self._opened = Opened(listed, said, signature, self._now() - start)
        self._say_who(opened)
        server = "llama.cpp" if said else listed.server if listed else "openai-compatible"
        environment: dict[str, JSON] = {"server": server, "server_version": opened.build}
        if signature.fingerprint is not None:
            self._fingerprints = {signature.fingerprint}
            if opened.pinned_by == NOTHING and signature.fingerprint != opened.build:
                environment[FINGERPRINT] = signature.fingerprint
        address = self._client.address
        return environment if address.is_loopback else {**environment, "host": address.host}

    def settings(self) -> Mapping[str, JSON]:
        """All that a request holds besides messages, schema and seed, and what the server says of the model."""
        opened = self._opened
        return {"api": "/v1/chat/completions", "model": self._model.name, **self._takes.fixed_as_settings,
                "options": self._model_options(), "response_format": self._response_format() if opened else None,
                "served": opened.served if opened else None, "pinned_by": opened.pinned_by if opened else None}

    def body_of(self, request: Request) -> Mapping[str, JSON]:
        """The exact JSON that is sent for a request."""
        return self._body(request.messages, request.seed, request.schema)

    def warm(self) -> Loaded:
        """What loading took: the tokens asked for by `open` had to wait for it."""
        opened = self._opened
        if opened is None:
            return Loaded(0.0)
        lengths = [said.context_length for said in (opened.props, opened.listed) if said is not None]
        return Loaded(opened.load_s, next((length for length in lengths if length), None), opened.served)

    def answer(self, request: Request) -> Reply:
        """One whole reply, from the model that was opened. Raises TrialError, Interrupted."""
        completions = Completions()
        reply = self._server_session.ask(
            completions.dialect, _completion(self.body_of(request)), lambda: self._probe(request), request.deadline)
        self._check_still_served(completions.signature, reply)
        return reply

    def close(self) -> None:
        """Nothing is kept open."""

    def _now(self) -> float:
        return self._options.clock.monotonic()

    def _body(self, messages: Sequence[Message], seed: int, schema: Mapping[str, JSON] | None) -> dict[str, JSON]:
        return {"model": self._model.name, "messages": messages, **self._takes.fixed, **self._model_options(),
                "seed": seed, **self._takes.schema_fields(schema)}

    def _model_options(self) -> Mapping[str, JSON]:
        return self._takes.options(self._model.options)

    def _response_format(self) -> JSON:
        if self._schema() is None:
            return NO_SCHEMA
        return BY_SCHEMA if self._takes.schema else REFUSED

    def _probe(self, request: Request) -> Call:
        return _completion({**self._body(probe_messages(request), request.seed, None), **self._length(1)})

    def _length(self, tokens: int) -> Mapping[str, JSON]:
        return {key: tokens for key in LENGTHS if key in self._model_options()}

    def _listed(self) -> Listed | None:
        """The model in the server's list; None where it keeps none. Raises EnvironmentFailure."""
        try:
            models = listed_models(self._client, self._now() + CHECK_S)
        except NoAnswer:
            return None  # the first tokens will tell whether anybody is there
        found = find_listed(models, self._model.name)
        if found is None and models:
            there = names_of((name_only(model.id) for model in models), MOST_NAMES, 80)
            raise EnvironmentFailure(f"the server at {self._client.where} has no model {self._model.name}; it has "
                                     f"{there}")
        return found

    def _first_tokens(self) -> Signature:
        """Who answers; what the server refuses of a request is left out from then on. Raises EnvironmentFailure."""
        before, refusal = self._takes, ""
        while True:
            try:
                signature = self._ask_for_tokens_again()
                break
            except TrialError as error:
                less = self._takes.less(error)
                if less is None:
                    raise self._unasked(error) from None
                self._takes, refusal = less, error.message
        if self._takes != before:
            self._options.say(f"the server {self._takes.without(before)}, and the settings say so ({refusal})")
        return signature

    def _ask_for_tokens_again(self) -> Signature:
        """Who answers: a server that stumbles says nothing of what it takes, so it is asked once more, and again."""
        for wait_s in _AGAIN_WAITS_S:
            try:
                return self._ask_for_tokens()
            except TrialError as error:
                if error.type != "ServerError" or (error.status or 0) < 500 or error.status == 501:
                    raise
            pause(wait_s, self._options.clock, self._options.stop)
        return self._ask_for_tokens()

    def _schema(self) -> Mapping[str, JSON] | None:
        task, cases = self._options.task, self._options.cases
        return prompt_of(task, cases[0]).schema if task and cases else _PROBE_SCHEMA

    def _ask_for_tokens(self) -> Signature:
        asked = self._body([{"role": "user", "content": "Say yes."}], 1, self._schema())
        body = {**asked, **self._length(_PROBE_TOKENS)}
        completions = Completions()
        ask(self._client, completions.dialect, _completion(body), self._now() + LOAD_S,
            SignsOfLife(self._options, f"loading {self._model.name}"))
        return completions.signature

    def _unasked(self, error: TrialError) -> EnvironmentFailure:
        url = self._client.where
        if error.type == "Unreachable":
            named_by = f"--host or {BASE_URL}" if self._options.has_flags else BASE_URL
            return NoServer(f"no server at {url} ({error.message}): start it, name another with {named_by}")
        hint = f"; the key goes into {API_KEY}" if error.status == 401 and self._client.address.key is None else ""
        sent = ("seed", *self._model_options()) if refuses_request(error) else ()
        refused = [key for key in sent if key in error.message]
        if refused:
            hint = f"; a module of your own can ask without {refused[0]} (README: Your own cases, task and system)"
        return EnvironmentFailure(
            f"{self._model.name} at {url} could not be asked: {error.stops or error.message}{hint}"
        )

    def _say_who(self, opened: Opened) -> None:
        answered = opened.served.get("model")
        if isinstance(answered, str) and not same_model(self._model.name, answered):
            self._options.say(f"asked for {self._model.name}, answered by {shown_line(answered, 80)}: another name of "
                              f"it, or another model; the report says so")
        if opened.pinned_by == NOTHING:
            self._options.say(self._not_pinned(opened))

    def _not_pinned(self, opened: Opened) -> str:
        known = ", ".join(key for key in opened.served if key != "model")
        ollama = f"; --system ollama:{self._model.name} pins by digest" if opened.listed and (
            opened.listed.server == "ollama") else ""
        return (f"nothing pins {self._model.name}: its server gives no digest and no fingerprint of the weights, only "
                f"{known or 'its name'}; other weights under this name would not show{ollama}")

    def _gone(self, deadline: float) -> str | None:
        """The sentence for a server that does not answer at all; None if it does, whatever it says."""
        answer = self._client.send(Call("GET", "/models"), self._server_session.look_until(deadline))
        if answer.status is not None:
            return None
        return f"the server at {self._client.address.url} is gone: start it again, then the same command goes on"

    def _check_still_served(self, now: Signature, reply: Reply) -> None:
        """Raise TrialError (ModelChanged) if the reply is signed by another model than the one that was opened."""
        if self._opened is None:
            return
        before = self._opened.signature
        pairs = [("model", before.model, now.model)]
        if self._opened.pinned_by == FINGERPRINT:
            pairs.append((FINGERPRINT, before.fingerprint, now.fingerprint))
        else:
            self._notice(now.fingerprint)
        for what, was, is_now in pairs:
            if None not in (was, is_now) and is_now != was:
                is_, was_ = (shown_line(name_only(str(name)), 80) for name in (is_now, was))
                raise model_changed(f"the {what} of {self._model.name} is now {is_}; the run began with {was_}", reply)

    def _notice(self, fingerprint: str | None) -> None:
        """Say once that fingerprints take turns: a service balances over several, and none names the weights."""
        if fingerprint is None or fingerprint in self._fingerprints:
            return
        self._fingerprints.add(fingerprint)
        if len(self._fingerprints) == _SEVERAL:
            named = " and ".join(shown_line(one, 80) for one in sorted(self._fingerprints))
            self._options.say(f"{self._model.name} answers with more than one {FINGERPRINT} ({named}): several back "
                              f"ends of one service, or other weights; nothing pins it")


def openai_system(name: str, options: SystemOptions) -> OpenAISystem:
    """`openai:MODEL`: the model of that name, with options that suit any task."""
    return OpenAISystem(OpenAIModel(name, GENERAL_OPTIONS), options)


def _completion(body: Mapping[str, JSON]) -> Call:
    return Call("POST", "/chat/completions", json.dumps(body, ensure_ascii=True).encode("ascii"))


def _address(options: SystemOptions) -> Address:
    """Where the server is, with the key for it. Without a path, `/v1` is meant."""
    given, given_as = options.host, "--host"
    if given is None:
        given, given_as = options.environment.get(BASE_URL, ""), BASE_URL
    address = address_of(given, given_as, DEFAULT_PORT)
    address = replace(address, prefix=address.prefix or "/v1")
    # a key belongs to a server that somebody named, not to whatever listens at the default address
    return with_key(address, options.environment.get(API_KEY, ""), API_KEY) if given.strip() else address


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
