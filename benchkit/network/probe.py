"""Asking a server about itself, before and behind the replies of a model: who it is, and which models it has.

Of Ollama: its version, and each model with its digest. Of others no digest of the weights is to be had. What is said
(file, size, number of parameters, chat template, defaults of sampling) tells most models apart, and is kept for that.
"""
from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchkit.basics.errors import EnvironmentFailure, NoServer
from benchkit.basics.json_text import mended, parse
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.network.address import Address
from benchkit.network.http_client import Call, Client, Ending, Response, quoted

OLDEST = (0, 13, 0)
"""Older versions take no notice of `truncate: false` and `shift: false`, and cut a long prompt without a word."""
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_CLOUD = re.compile(r"[:-]cloud\Z", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PROBE_S = 10.0
_TAGS, _PS = Call("GET", "/api/tags"), Call("GET", "/api/ps")
_SERVERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang", "library": "ollama"}
_META = ("n_params", "size", "n_vocab", "ftype")
_SAMPLING = ("top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "repeat_penalty", "repeat_last_n",
             "presence_penalty", "frequency_penalty", "dry_multiplier", "xtc_probability", "mirostat")
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")
_WEIGHTS = re.compile(r"(sha256:)?[0-9a-f]{64}")


class NoAnswer(Exception):
    """The server did not say what it was asked, in the kit's words."""


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
    response = client.send(Call("GET", "/api/version"), client.clock.monotonic() + _PROBE_S)
    url = client.where
    if response.status is None and response.ending is not Ending.NOT_HTTP:
        raise NoServer(f"no Ollama server at {url} ({_what_came(response)}): start it with `ollama serve`, "
                       f"name another with {named_by}")
    version = _json_fields(response).get("version")
    if not isinstance(version, str):
        raise EnvironmentFailure(f"what answers at {url} is not Ollama: {_why_not_ollama(client, response)}")
    numbers = _VERSION.match(version)
    found = tuple(int(number) for number in numbers.groups()) if numbers else None
    if found and (0, 0, 0) < found < OLDEST:  # a build from source calls itself 0.0.0
        oldest = ".".join(map(str, OLDEST))
        raise EnvironmentFailure(
            f"the Ollama at {url} is version {shown_line(version, 40)}, too old for `truncate: false`, "
            f"which keeps prompts whole: install {oldest} or newer"
        )
    return shown_line(version, 100)


class InstalledModels:
    """The models a server has. It is asked again after every reply, and read again only where it says another thing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last: tuple[bytes, tuple[Served, ...]] | None = None

    def now(self, deadline: float) -> tuple[Served, ...]:
        """The models. Raises NoAnswer."""
        response = self._client.send(_TAGS, deadline)
        last = self._last
        if last is not None and (response.status, response.body) == (200, last[0]) and response.ending is Ending.WHOLE:
            return last[1]
        models = tuple(_served(entry) for entry in _models_in(response, _TAGS))
        self._last = (response.body, models)
        return models


def running(client: Client, tag: str, deadline: float) -> Running | None:
    """What the server says of the loaded model; None if it does not list it. Raises NoAnswer."""
    for entry in _models_in(client.send(_PS, deadline), _PS):
        if tag in (entry.get("name"), entry.get("model")):
            length = entry.get("context_length")
            details = {**_details(entry), **{key: entry[key] for key in ("size", "size_vram") if key in entry}}
            return Running(_tokens(length), details)
    return None


def find_served(models: Sequence[Served], tag: str) -> Served | None:
    """The model of that tag; upper and lower case are the same to Ollama."""
    return next((model for model in models if model.tag.casefold() == tag.casefold()), None)


def _models_in(response: Response, call: Call) -> list[Mapping[str, JSON]]:
    models = _json_fields(response).get("models")
    if not isinstance(models, list) or not all(isinstance(entry, Mapping) for entry in models):
        raise NoAnswer(f"GET {call.path}: {_what_came(response)}")
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


def _why_not_ollama(client: Client, response: Response) -> str:
    said = f"GET /api/version gave {_what_came(response)}"
    try:
        InstalledModels(client).now(client.clock.monotonic() + _PROBE_S)
    except NoAnswer:
        return said
    return f"it has /api/tags but no /api/version ({said})"


@dataclass(frozen=True, slots=True)
class Listed:
    """A model of the list: its id as given, who owns it (the kind of server, often), and what is said of it.

    `facts` are those that change with the model; `context_length` in tokens (None: not said).
    """

    id: str
    owner: str = ""
    facts: Mapping[str, JSON] = field(default_factory=dict)
    context_length: int | None = None

    @property
    def server(self) -> str:
        """The kind of server, where its list gives it away."""
        return _SERVERS.get(self.owner, "openai-compatible")


@dataclass(frozen=True, slots=True)
class Props:
    """What llama-server says in /props: its build, facts that change with the model, and the context it really has."""

    build: str | None
    facts: Mapping[str, JSON]
    context_length: int | None


def listed_models(client: Client, deadline: float) -> tuple[Listed, ...]:
    """The models of GET /models. Raises NoAnswer."""
    response = client.send(Call("GET", "/models"), deadline)
    entries = _json_fields(response).get("data")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise NoAnswer(f"GET {client.address.prefix}/models: {_what_came(response)}")
    return tuple(_listed(entry) for entry in entries)


def find_listed(models: Sequence[Listed], name: str) -> Listed | None:
    """The model of that name: its id, the file of an id that is a path, or the id before a variant (`x/y:free`).

    Ollama lists `name:latest` where it is asked for `name`.
    """
    for meant in (name, f"{name}:latest", name.rpartition(":")[0]):
        for model in models:
            if meant and meant in (model.id, name_only(model.id)):
                return model
    return None


def props(client: Client, deadline: float) -> Props | None:
    """What llama-server says of itself; None if this is none, or does not say."""
    root = replace(client, address=_root(client.address))
    fields = _json_fields(root.send(Call("GET", "/props"), deadline))
    defaults = fields.get("default_generation_settings")
    if not isinstance(defaults, Mapping):
        return None
    params = defaults.get("params")
    sampling = {key: params[key] for key in _SAMPLING if key in params} if isinstance(params, Mapping) else {}
    facts: dict[str, JSON] = {"sampling": sampling} if sampling else {}
    template, path = fields.get("chat_template"), fields.get("model_path")
    if isinstance(template, str):
        facts["chat_template_sha256"] = hashlib.sha256(template.encode("utf-8")).hexdigest()
    if isinstance(path, str) and path:
        facts["file"] = name_only(path, always=True)
    build = fields.get("build_info")
    return Props(shown_line(build, 80) if isinstance(build, str) else None, facts, _tokens(defaults.get("n_ctx")))


def pins(fingerprint: str | None) -> bool:
    """Whether a system_fingerprint changes with the weights: it does if it is a digest, as those of weights are.

    What servers really give there is a build (llama.cpp, text-generation-inference, KoboldCpp), versions and the
    machine (mlx_lm), a hash of the configuration (vLLM, OpenAI), the model's own name (LM Studio) or a constant.
    """
    return fingerprint is not None and _WEIGHTS.fullmatch(fingerprint) is not None


def name_only(name: str, always: bool = False) -> str:
    """The name without its folder, where it is a path (`always`: it is one): folders of a machine are kept nowhere."""
    return re.split(r"[/\\]", name)[-1] if always or _PATH.match(name) else name


def _listed(entry: Mapping[str, JSON]) -> Listed:
    meta = entry.get("meta")
    facts: dict[str, JSON] = {key: meta[key] for key in _META if key in meta} if isinstance(meta, Mapping) else {}
    root = entry.get("root")
    if isinstance(root, str) and root:
        facts["root"] = name_only(root)
    return Listed(str(entry.get("id") or ""), str(entry.get("owned_by") or ""), facts,
                  _tokens(entry.get("max_model_len")) or _tokens(entry.get("context_length")))


def _root(address: Address) -> Address:
    return replace(address, prefix=address.prefix.removesuffix("/v1"))


def _json_fields(response: Response) -> Mapping[str, JSON]:
    """The JSON object of a 200; empty where there is none."""
    if response.status != 200 or response.ending not in (Ending.WHOLE, Ending.CLOSED):
        return {}
    try:
        value = mended(parse(response.body, keep_surrogates=True))
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _what_came(response: Response) -> str:
    """What a server sent, or how it did not, for a message."""
    if response.status is not None and response.ending in (Ending.WHOLE, Ending.CLOSED):
        said = quoted(response.body)
        return f"HTTP {response.status}, {said}" if said else f"HTTP {response.status}, an empty body"
    if response.ending is Ending.TIMEOUT:
        return "no answer in time"
    return response.detail or response.ending.value


def _tokens(value: JSON) -> int | None:
    """A number of tokens that a server gives; None where it gives another thing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
