"""Who is answering a chat completion: as far as a server says it in its list of models, and llama-server in /props.

None of them gives a digest of the weights. What is said (file, size, number of parameters, chat template, defaults of
sampling) tells most models apart, and is kept for that.
"""
from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.network.calls import Call
from benchkit.network.exchange import Client
from benchkit.network.host import Address
from benchkit.network.looking import NoAnswer, json_fields, tokens_of, what_came

_SERVERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang", "library": "ollama"}
_META = ("n_params", "size", "n_vocab", "ftype")
_SAMPLING = ("top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "repeat_penalty", "repeat_last_n",
             "presence_penalty", "frequency_penalty", "dry_multiplier", "xtc_probability", "mirostat")
_PATH = re.compile(r"(~|\.{0,2})[/\\]|[A-Za-z]:[/\\]")
_WEIGHTS = re.compile(r"(sha256:)?[0-9a-f]{64}")


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
    answer = client.send(Call("GET", "/models"), deadline)
    entries = json_fields(answer).get("data")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise NoAnswer(f"GET {client.address.prefix}/models: {what_came(answer)}")
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
    fields = json_fields(root.send(Call("GET", "/props"), deadline))
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
    return Props(shown_line(build, 80) if isinstance(build, str) else None, facts, tokens_of(defaults.get("n_ctx")))


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
                  tokens_of(entry.get("max_model_len")) or tokens_of(entry.get("context_length")))


def _root(address: Address) -> Address:
    return replace(address, prefix=address.prefix.removesuffix("/v1"))
