"""A model on an Ollama server as a system: pinned or not, with every option that matters sent each time."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import EnvironmentFailure, NoModel, TrialError, Unusable
from benchkit.basics.texts import names_of, shown_line
from benchkit.basics.values import JSON, Message, Reply, Request
from benchkit.network import ollama_protocol as protocol
from benchkit.network.address import address_of
from benchkit.network.http_client import Call, NoAnswer, Response
from benchkit.systems import server_session
from benchkit.systems.system import SERVERS, Loaded, SystemOptions

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


class OllamaSystem(server_session.ServerSystem):
    """A model on an Ollama server. One request at a time: parallel ones change the text of some models."""

    kind, look, path, schema_field = SERVERS["ollama"], Call("GET", "/api/version"), "/api/chat", "format"
    start_again = "start it again with `ollama serve`"

    def __init__(self, model: OllamaModel, options: SystemOptions) -> None:
        """Connect to nothing yet. Raises Unusable for a bad address, tag or set of options."""
        _check_model(model)
        super().__init__(address_of(*server_session.given_address(self.kind, options)), options)
        self._model = replace(model, tag=protocol.full_tag(model.tag))
        self._new_parser = partial(protocol.ChatParser, (self._model.tag,))
        self._installed = protocol.InstalledModels(self._client)
        self._digest, self._is_remote = model.digest, False

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, check that it is Ollama, and the model's digest. Raises EnvironmentFailure."""
        tag = self._model.tag
        if protocol.is_cloud_name(tag):
            self._check_cloud("elsewhere")
        version = protocol.version_of(self._client, self._named_by)
        try:
            models = self._installed.now(self._soon())
        except NoAnswer as error:
            raise EnvironmentFailure(f"the server at {self._client.where} does not list its models: {error}") from None
        served = protocol.find_served(models, tag)
        if served is None:
            there = names_of((model.tag for model in models), server_session.MOST_NAMES, 80) or "none"
            # instead: the first installed model whose prompts stay on the server
            local = [model.tag for model in models if not model.runs_elsewhere]
            instead = f"{self._model.module}:{local[0]}" if local and self._options.has_flags else None
            raise NoModel(f"the server at {self._client.where} has no model {tag} (installed: {there}): "
                          f"get it with `ollama pull {shell_word(tag)}`", instead)
        self._check_digest(served.digest)
        if served.remote:
            self._check_cloud(f"at {shown_line(served.remote, 80)}")
        self._is_remote, self._digest = served.runs_elsewhere, served.digest
        self._new_parser = partial(protocol.ChatParser, served.names)
        return {"server": "ollama", "server_version": version}

    def settings(self) -> Mapping[str, JSON]:
        """All that a request holds besides messages, format and seed, and the digest (the pinned one before `open`)."""
        return {"api": self.path, "model": self._model.tag, "digest": self._digest, **FIXED,
                "options": dict(self._model.options)}

    def body_of(self, request: Request) -> Mapping[str, JSON]:
        """The exact JSON that is sent for a request."""
        body = self._body(request.messages, {"seed": request.seed})
        return body if request.schema is None else {**body, self.schema_field: request.schema}

    def warm(self) -> Loaded:
        """Load the model, in 10 minutes at most, with a sign of life every 10 seconds. Raises EnvironmentFailure."""
        tag, start = self._model.tag, self._client.clock.monotonic()
        try:
            self._load(tag, self._new_parser, self._body((), {}))
        except TrialError as error:
            if not self._is_remote or error.stops or error.type not in _REFUSALS:
                raise EnvironmentFailure(f"{tag} could not be loaded: {error.stops or error.message}") from None
            self._options.say(f"{tag} runs elsewhere, so nothing has to be loaded; the opening chat "
                              f"failed, and the run goes on: {error.message}")
        load_s = self._client.clock.monotonic() - start
        try:
            found = protocol.running(self._client, tag, self._soon())
        except NoAnswer:
            found = None  # the model is there; how long its context is stays unknown
        if found is None:
            return Loaded(load_s)
        length, asked = found[0], self._model.options["num_ctx"]
        if length is not None and isinstance(asked, int | float) and length < asked:
            # the model has no more, or memory has not
            self._options.say(f"{tag} is loaded with a context of {length:,} tokens, and {asked:,} were "
                              f"asked for (num_ctx): longer prompts will fail, and answers are cut off earlier")
        return Loaded(load_s, *found)

    def answer(self, request: Request) -> Reply:
        """One whole reply, from the digest that was opened. Raises TrialError, Interrupted."""
        one_token = {"options": {**self._model.options, "seed": request.seed, "num_predict": 1}}
        reply = self._ask(self._new_parser, request, self.body_of(request), one_token)
        try:
            models = self._installed.now(self._look_until(request.deadline))
        except NoAnswer as error:
            message = f"the reply came, but the server then did not show its models ({error})"
            unseen = TrialError("Unreachable", message, stops=self._gone(request.deadline))
            raise server_session.with_reply(unseen, reply) from None
        served = protocol.find_served(models, self._model.tag)
        if served is None or served.digest != self._digest:
            now = f"served at digest {served.digest or 'unknown'}" if served else "not installed any more"
            message = f"{self._model.tag} is now {now}; the run began with digest {self._digest}"
            raise server_session.model_changed(message, reply)
        return reply

    def _body(self, messages: Sequence[Message], more_options: Mapping[str, JSON]) -> dict[str, JSON]:
        return {"model": self._model.tag, "messages": messages, **FIXED,
                "options": {**self._model.options, **more_options}}

    def _is_there(self, answer: Response) -> bool:
        return answer.status == 200

    def _check_cloud(self, where: str) -> None:
        if not self._options.allow_cloud:
            raise EnvironmentFailure(f"{self._model.tag} runs {where}: the prompts would leave this machine; "
                                     + ("add --allow-cloud if that is what you want" if self._options.has_flags else
                                        "a board asks no such model"))

    def _check_digest(self, served: str) -> None:
        tag, pin, file = self._model.tag, self._model.digest, self._model.pinned_in
        if not served:
            raise EnvironmentFailure(f"the server at {self._client.where} does not say the digest of {tag}, "
                                     f"so its answers could not be told from another model's")
        if pin is None or served == pin:
            return
        place = "the module of the system"
        if file is not None:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
            numbers = [number for number, line in enumerate(lines, 1) if pin in line]
            place = f"{file.name}, line {numbers[0]}" if numbers else file.name
        raise EnvironmentFailure(
            f"{tag} is served at digest {served}, not at the pinned {pin}: run what is served with "
            f"--system {shell_word(f'{self._model.module}:{tag}')}, or change the pin in {place}")


def system(name: str, options: SystemOptions) -> OllamaSystem:
    """`ollama:TAG`: any installed model, not pinned, with options that suit any task."""
    return OllamaSystem(OllamaModel(name, GENERAL_OPTIONS), options)


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
