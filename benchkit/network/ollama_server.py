"""Who is answering: whether a server is Ollama, which version, which models it has and at which digests."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.errors import EnvironmentFailure, NoServer
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.network.calls import Call, Ending
from benchkit.network.exchange import Answer, Client
from benchkit.network.looking import NoAnswer, json_fields, tokens_of, what_came

OLDEST = (0, 13, 0)
"""Older versions take no notice of `truncate: false` and `shift: false`, and cut a long prompt without a word."""
_NUMBERS = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_CLOUD = re.compile(r"[:-]cloud\Z", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOOK_S = 10.0
_TAGS, _PS = Call("GET", "/api/tags"), Call("GET", "/api/ps")


@dataclass(frozen=True, slots=True)
class Served:
    """A model as a server lists it. `remote` is where it runs if not there, `remote_model` its name in that place."""

    tag: str
    digest: str
    details: Mapping[str, JSON]
    remote: str | None = None
    remote_model: str | None = None

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the server only passes on what is asked of it."""
        return self.remote is not None or is_cloud_name(self.tag)

    @property
    def names(self) -> tuple[str, ...]:
        """What its replies may call it: a model that runs elsewhere answers under its name there, without `cloud`."""
        if not self.runs_elsewhere:
            return (self.tag,)
        return tuple(filter(None, (self.tag, _CLOUD.sub("", self.tag), self.remote_model)))


@dataclass(frozen=True, slots=True)
class Running:
    """A loaded model: the context it really has (None: not said), and what else is said of it."""

    context_length: int | None
    details: Mapping[str, JSON]


def full_tag(name: str) -> str:
    """The name with its tag: no tag means `:latest`."""
    return name if ":" in name.rpartition("/")[2] else name + ":latest"


def is_cloud_name(tag: str) -> bool:
    """Whether the name says that the model runs elsewhere."""
    return _CLOUD.search(tag) is not None


def version_of(client: Client, named_by: str = "--host or OLLAMA_HOST") -> str:
    """The version of the Ollama server there; `named_by` is how a person names another.

    Raises EnvironmentFailure: nobody there, not Ollama, too old.
    """
    answer = client.send(Call("GET", "/api/version"), client.clock.monotonic() + _LOOK_S)
    url = client.where
    if answer.status is None and answer.ending is not Ending.FOREIGN:
        raise NoServer(f"no Ollama server at {url} ({what_came(answer)}): start it with `ollama serve`, name another "
                       f"with {named_by}")
    version = json_fields(answer).get("version")
    if not isinstance(version, str):
        raise EnvironmentFailure(f"what answers at {url} is not Ollama: {_why_not_ollama(client, answer)}")
    numbers = _NUMBERS.match(version)
    found = tuple(int(number) for number in numbers.groups()) if numbers else None
    if found and (0, 0, 0) < found < OLDEST:  # a build from source calls itself 0.0.0
        oldest = ".".join(map(str, OLDEST))
        raise EnvironmentFailure(
            f"the Ollama at {url} is version {shown_line(version, 40)}, too old for `truncate: false`, "
            f"which keeps prompts whole: install {oldest} or newer"
        )
    return shown_line(version, 100)


class Installed:
    """The models a server has. It is asked again after every reply, and read again only where it says another thing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last: tuple[bytes, tuple[Served, ...]] | None = None

    def now(self, deadline: float) -> tuple[Served, ...]:
        """The models. Raises NoAnswer."""
        answer = self._client.send(_TAGS, deadline)
        last = self._last
        if last is not None and (answer.status, answer.body) == (200, last[0]) and answer.ending is Ending.WHOLE:
            return last[1]
        models = tuple(_served(entry) for entry in _models_in(answer, _TAGS))
        self._last = (answer.body, models)
        return models


def installed(client: Client, deadline: float) -> tuple[Served, ...]:
    """The models the server has. Raises NoAnswer."""
    return Installed(client).now(deadline)


def running(client: Client, tag: str, deadline: float) -> Running | None:
    """What the server says of the loaded model; None if it does not list it. Raises NoAnswer."""
    for entry in _models_in(client.send(_PS, deadline), _PS):
        if tag in (entry.get("name"), entry.get("model")):
            length = entry.get("context_length")
            details = {**_details(entry), **{key: entry[key] for key in ("size", "size_vram") if key in entry}}
            return Running(tokens_of(length), details)
    return None


def find(models: Sequence[Served], tag: str) -> Served | None:
    """The model of that tag; upper and lower case are the same to Ollama."""
    return next((model for model in models if model.tag.casefold() == tag.casefold()), None)


def _models_in(answer: Answer, call: Call) -> list[Mapping[str, JSON]]:
    models = json_fields(answer).get("models")
    if not isinstance(models, list) or not all(isinstance(entry, Mapping) for entry in models):
        raise NoAnswer(f"GET {call.path}: {what_came(answer)}")
    return models


def _served(entry: Mapping[str, JSON]) -> Served:
    digest = str(entry.get("digest", "")).removeprefix("sha256:")
    remote_model = str(entry.get("remote_model") or "") or None
    remote = str(entry.get("remote_host") or "") or remote_model
    return Served(full_tag(str(entry.get("name") or entry.get("model") or "")),
                  digest if _DIGEST.fullmatch(digest) else "", _details(entry), remote, remote_model)


def _details(entry: Mapping[str, JSON]) -> Mapping[str, JSON]:
    details = entry.get("details")
    return details if isinstance(details, Mapping) else {}


def _why_not_ollama(client: Client, answer: Answer) -> str:
    said = f"GET /api/version gave {what_came(answer)}"
    try:
        installed(client, client.clock.monotonic() + _LOOK_S)
    except NoAnswer:
        return said
    return f"it has /api/tags but no /api/version ({said})"
