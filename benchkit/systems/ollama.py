"""A model on an Ollama server as a system: pinned or not, with every option that matters sent each time."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import EnvironmentFailure, NoModel, TrialError, Unusable
from benchkit.basics.texts import names_of, shown_line
from benchkit.basics.values import JSON, Message, Reply, Request
from benchkit.network.address import address_of
from benchkit.network.http_client import Call, Client
from benchkit.network.ollama_replies import chat_with
from benchkit.network.probe import (
    InstalledModels,
    NoAnswer,
    Running,
    Served,
    find_served,
    full_tag,
    is_cloud_name,
    running,
    version_of,
)
from benchkit.network.retry import ask
from benchkit.systems.server_session import (
    CHECK_S,
    LOAD_S,
    MOST_NAMES,
    ServerSession,
    SignsOfLife,
    model_changed,
    probe_messages,
    with_reply,
)
from benchkit.systems.system import Loaded, SystemOptions

NEEDED_OPTIONS = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "num_ctx", "num_predict")
"""Their defaults differ between versions of Ollama, so none is left to it; the seed is the trial's."""
FIXED: Mapping[str, JSON] = {"stream": True, "think": False, "truncate": False, "shift": False, "keep_alive": "10m"}
GENERAL_OPTIONS: Mapping[str, JSON] = {
    "temperature": 1.0, "top_k": 64, "top_p": 0.95, "min_p": 0.0, "repeat_penalty": 1.0, "num_ctx": 8192,
    "num_predict": 1024}
"""For any task: room for a long prompt, and an end for small models that would run on for ever."""
_REFUSALS = ("ServerError", "BrokenReply")
"""What a server answers that is there and loads nothing."""


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model by its tag, and the options of its requests.

    `digest` (64 hex digits) pins it: another one served under the tag is refused. For the errors' sake `pinned_in` is
    the file that holds the pin, and `module` the one whose systems are named by a tag.
    """

    tag: str
    options: Mapping[str, JSON]
    digest: str | None = None
    pinned_in: Path | None = None
    module: str = "ollama"


class OllamaSystem:
    """A model on an Ollama server. One request at a time: parallel ones change the text of some models."""

    def __init__(self, model: OllamaModel, options: SystemOptions) -> None:
        """Connect to nothing yet. Raises Unusable for a bad address, tag or set of options."""
        _check_model(model)
        given, given_as = options.host, "--host"
        if given is None:
            given, given_as = options.environment.get("OLLAMA_HOST", ""), "OLLAMA_HOST"
        self._model = replace(model, tag=full_tag(model.tag))
        self._dialect, self._is_remote = chat_with(self._model.tag), False
        self._options = options
        self._client = Client(address_of(given, given_as), options.clock, options.stop)
        self._installed = InstalledModels(self._client)
        self._digest = model.digest
        self._server_session = ServerSession(self._client, self._gone)

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, check that it is Ollama, and the model's digest. Raises EnvironmentFailure."""
        if is_cloud_name(self._model.tag):
            self._check_cloud("elsewhere")
        version = version_of(self._client, "--host or OLLAMA_HOST" if self._options.has_flags else "OLLAMA_HOST")
        try:
            models = self._installed.now(self._now() + CHECK_S)
        except NoAnswer as error:
            raise EnvironmentFailure(f"the server at {self._client.where} does not list its models: {error}") from None
        served = find_served(models, self._model.tag)
        if served is None:
            raise NoModel(self._not_installed(models), self._installed_instead(models))
        self._check_digest(served)
        if served.remote:
            self._check_cloud(f"at {shown_line(served.remote, 80)}")
        self._is_remote = served.runs_elsewhere
        self._dialect = chat_with(*served.names)
        self._digest = served.digest
        return {"server": "ollama", "server_version": version}

    def settings(self) -> Mapping[str, JSON]:
        """All that a request holds besides messages, format and seed, and the digest (the pinned one before `open`)."""
        return {"api": "/api/chat", "model": self._model.tag, "digest": self._digest, **FIXED,
                "options": dict(self._model.options)}

    def body_of(self, request: Request) -> Mapping[str, JSON]:
        """The exact JSON that is sent for a request."""
        body = self._body(request.messages, {"seed": request.seed})
        return body if request.schema is None else {**body, "format": request.schema}

    def warm(self) -> Loaded:
        """Load the model, in 10 minutes at most, with a sign of life every 10 seconds. Raises EnvironmentFailure."""
        start = self._now()
        try:
            ask(self._client, self._dialect, _chat(self._body((), {})), start + LOAD_S,
                SignsOfLife(self._options, f"loading {self._model.tag}"))
        except TrialError as error:
            if not self._is_remote or error.stops or error.type not in _REFUSALS:
                raise EnvironmentFailure(
                    f"{self._model.tag} could not be loaded: {error.stops or error.message}"
                ) from None
            self._options.say(f"{self._model.tag} runs elsewhere, so nothing has to be loaded; the opening chat "
                              f"failed, and the run goes on: {error.message}")
        load_s = self._now() - start
        try:
            found = running(self._client, self._model.tag, self._now() + CHECK_S)
        except NoAnswer:
            found = None  # the model is there; how long its context is stays unknown
        self._hold_against_what_was_asked(found)
        return Loaded(load_s, found.context_length, found.details) if found else Loaded(load_s)

    def answer(self, request: Request) -> Reply:
        """One whole reply, from the digest that was opened. Raises TrialError, Interrupted."""
        reply = self._server_session.ask(
            self._dialect, _chat(self.body_of(request)), lambda: self._probe(request), request.deadline)
        self._check_still_served(reply, request.deadline)
        return reply

    def close(self) -> None:
        """Nothing is kept open."""

    def _now(self) -> float:
        return self._client.clock.monotonic()

    def _body(self, messages: Sequence[Message], more_options: Mapping[str, JSON]) -> dict[str, JSON]:
        return {"model": self._model.tag, "messages": messages, **FIXED,
                "options": {**self._model.options, **more_options}}

    def _hold_against_what_was_asked(self, found: Running | None) -> None:
        """Say so if the model was loaded with less context than was asked for: it has no more, or memory has not."""
        length, asked = found.context_length if found else None, self._model.options["num_ctx"]
        if length is not None and isinstance(asked, int | float) and length < asked:
            self._options.say(f"{self._model.tag} is loaded with a context of {length:,} tokens, and {asked:,} were "
                              f"asked for (num_ctx): longer prompts will fail, and answers are cut off earlier")

    def _check_cloud(self, where: str) -> None:
        if not self._options.allow_cloud:
            raise EnvironmentFailure(f"{self._model.tag} runs {where}: the prompts would leave this machine; "
                                     + ("add --allow-cloud if that is what you want" if self._options.has_flags else
                                        "a board asks no such model"))

    def _not_installed(self, models: tuple[Served, ...]) -> str:
        there = names_of((model.tag for model in models), MOST_NAMES, 80) or "none"
        return (f"the server at {self._client.where} has no model {self._model.tag} (installed: {there}): "
                f"get it with `ollama pull {shell_word(self._model.tag)}`")

    def _installed_instead(self, models: tuple[Served, ...]) -> str | None:
        """The system of the first installed model whose prompts stay on the server."""
        tags = [model.tag for model in models if not model.runs_elsewhere]
        return f"{self._model.module}:{tags[0]}" if tags and self._options.has_flags else None

    def _check_digest(self, served: Served) -> None:
        tag, pin = self._model.tag, self._model.digest
        if not served.digest:
            raise EnvironmentFailure(f"the server at {self._client.where} does not say the digest of {tag}, "
                                     f"so its answers could not be told from another model's")
        if pin is not None and served.digest != pin:
            raise EnvironmentFailure(
                f"{tag} is served at digest {served.digest}, not at the pinned {pin}: run what is served with "
                f"--system {shell_word(f'{self._model.module}:{tag}')}, or change the pin in "
                f"{_place_of(pin, self._model.pinned_in)}")

    def _probe(self, request: Request) -> Call:
        return _chat(self._body(probe_messages(request), {"seed": request.seed, "num_predict": 1}))

    def _gone(self, deadline: float) -> str | None:
        """The sentence for a server that does not even say its version; None if it does."""
        answer = self._client.send(Call("GET", "/api/version"), self._server_session.look_until(deadline))
        if answer.status == 200:
            return None
        return (f"the server at {self._client.address.url} is gone: start it again with `ollama serve`, "
                f"then the same command goes on")

    def _check_still_served(self, reply: Reply, deadline: float) -> None:
        """Raise TrialError (ModelChanged, Unreachable) unless the tag still means the digest that was opened."""
        try:
            served = find_served(self._installed.now(self._server_session.look_until(deadline)), self._model.tag)
        except NoAnswer as error:
            message = f"the reply came, but the server then did not show its models ({error})"
            raise with_reply(TrialError("Unreachable", message, stops=self._gone(deadline)), reply) from None
        if served is None or served.digest != self._digest:
            now = f"served at digest {served.digest or 'unknown'}" if served else "not installed any more"
            message = f"{self._model.tag} is now {now}; the run began with digest {self._digest}"
            raise model_changed(message, reply)


def ollama_system(tag: str, options: SystemOptions) -> OllamaSystem:
    """`ollama:TAG`: any installed model, not pinned, with options that suit any task."""
    return OllamaSystem(OllamaModel(tag, GENERAL_OPTIONS), options)


def _chat(body: Mapping[str, JSON]) -> Call:
    return Call("POST", "/api/chat", json.dumps(body, ensure_ascii=True).encode("ascii"))


def _check_model(model: OllamaModel) -> None:
    name = shown_line(model.tag, 100)
    if not model.tag or "@" in model.tag or not all("!" <= letter <= "~" for letter in model.tag):
        raise Unusable(f"the model {name}: a model is named name or name:tag (Ollama takes no @sha256:...)")
    missing = [key for key in NEEDED_OPTIONS if not isinstance(model.options.get(key), int | float)]
    if missing:
        raise Unusable(f"the options of {name} need a number for {', '.join(missing)}: Ollama's defaults change")
    if "seed" in model.options:
        raise Unusable(f"the options of {name} hold a seed: each trial brings its own")
    num_predict = model.options["num_predict"]
    if not isinstance(num_predict, int) or num_predict < 1:
        raise Unusable(f"the options of {name}: num_predict must be 1 or more, for 0 and less mean without end")


def _place_of(pin: str, file: Path | None) -> str:
    """`model_triage.py, line 21`: the name of the file and where the pin stands in it."""
    if file is None:
        return "the module of the system"
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    numbers = [number for number, line in enumerate(lines, 1) if pin in line]
    return f"{file.name}, line {numbers[0]}" if numbers else file.name
