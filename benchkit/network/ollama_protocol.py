"""What an Ollama server says: its chat lines as a reply or the error that it is none, its version, and its models.

A reply is complete only when `done: true` was seen, with the reason why it ended: none is given where the server lost
its own runner. Durations come in nanoseconds, and a zero is an absent key.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.errors import EnvironmentFailure, NoServer, TrialError
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Reply, Timings, Usage
from benchkit.network.http_client import Call, Client, Ending, NoAnswer, Response, quoted
from benchkit.network.replies import ReplyParser, amount_of, object_of, text_in

OLDEST = (0, 13, 0)
"""Older versions take no notice of `truncate: false` and `shift: false`, and cut a long prompt without a word."""
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_CLOUD = re.compile(r"[:-]cloud\Z", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PROBE_S = 10.0
_ENDS = ("stop", "length", "load", "unload")
"""The ends of an answer that are the model's own or the asker's limit, and those of a request without messages."""


class ChatParser(ReplyParser):
    """One reply of /api/chat, streamed or not.

    `names` are those of the model that was asked: a line that names another one is no part of the answer (none: any
    will do).
    """

    setting = " (option num_ctx)"

    def __init__(self, names: Collection[str] = ()) -> None:
        super().__init__()
        self._names = frozenset(full_tag(name).casefold() for name in names)
        self._last: Mapping[str, JSON] | None = None
        self._error: str | None = None

    def take(self, line: bytes, at: float) -> bool:
        """Take one JSON object; whether it ends the reply. Raises TrialError: BadReply, ReplyTooLarge."""
        if not line.strip():
            return False
        try:
            fields = object_of(line)
            if isinstance(fields.get("error"), str):
                self._error = str(fields["error"])
                return True
            done, message, model = fields.get("done"), fields.get("message"), fields.get("model")
            if not isinstance(done, bool) or not isinstance(message, Mapping):
                raise ValueError("a line of it is no chat message of Ollama")
            if self._names and isinstance(model, str) and full_tag(model).casefold() not in self._names:
                raise ValueError("a line of it is of another model")
            content, thinking = (text_in(message, key, f"message.{key}") for key in ("content", "thinking"))
        except ValueError as error:
            raise TrialError("BadReply", f"not a reply of Ollama ({error}): {quoted(line)}", self.partial) from None
        self._lines += 1
        self.add(content, thinking, at)
        if done:
            self._last = fields
        return done

    def reply(self, response: Response) -> Reply:
        """The reply. Raises TrialError: BrokenReply, Unfinished, PromptTooLong."""
        if self._error is not None:
            raise self.broken_off(self._error)
        if self._last is None:
            raise self.unended(response, "without done (a token that repeats)")
        finish = self._last.get("done_reason")
        if not isinstance(finish, str) or not finish:
            raise self.unended(response, "without done_reason")
        if finish not in _ENDS:
            raise self.broken_off(f"done_reason {finish}")
        counts = {key: amount_of(value) for key, value in self._last.items()}
        total, *parts = (counts.get(f"{name}_duration") for name in ("total", "load", "prompt_eval", "eval"))
        load_s, prompt_s, output_s = (None if part is None else part / 1e9 for part in parts)
        # what the parts leave of the whole: waiting for a slot of a loaded model shows only there
        other_s = None if total is None else max(0, total - sum(part or 0 for part in parts)) / 1e9
        return Reply(
            output=self.output, finish=finish, reasoning=self.reasoning,
            usage=Usage(*(counts.get(f"{name}_count") for name in ("prompt_eval", "eval", "prompt_eval_cached"))),
            timings=Timings(load_s, prompt_s, output_s, self.first_token_s(response), other_s),
            latency_s=response.latency_s)


@dataclass(frozen=True, slots=True)
class Served:
    """A model as a server lists it. `remote` is where it runs if not there, `remote_model` its name in that place."""

    tag: str
    digest: str
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
    url, version = client.where, response.fields.get("version")
    if response.status is None and response.ending is not Ending.NOT_HTTP:
        raise NoServer(f"no Ollama server at {url} ({response}): start it with `ollama serve`, "
                       f"name another with {named_by}")
    if not isinstance(version, str):
        why = f"GET /api/version gave {response}"
        try:
            InstalledModels(client).now(client.clock.monotonic() + _PROBE_S)
            why = f"it has /api/tags but no /api/version ({why})"
        except NoAnswer:
            pass  # it has neither
        raise EnvironmentFailure(f"what answers at {url} is not Ollama: {why}")
    numbers = _VERSION.match(version)
    if numbers and (0, 0, 0) < tuple(map(int, numbers.groups())) < OLDEST:  # a build from source calls itself 0.0.0
        raise EnvironmentFailure(
            f"the Ollama at {url} is version {shown_line(version, 40)}, too old for `truncate: false`, "
            f"which keeps prompts whole: install {'.'.join(map(str, OLDEST))} or newer")
    return shown_line(version, 100)


class InstalledModels:
    """The models a server has. It is asked again after every reply, and read again only where it says another thing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last: tuple[bytes, tuple[Served, ...]] | None = None

    def now(self, deadline: float) -> tuple[Served, ...]:
        """The models. Raises NoAnswer."""
        response = self._client.send(Call("GET", "/api/tags"), deadline)
        last = self._last
        if last is not None and (response.status, response.body) == (200, last[0]) and response.ending is Ending.WHOLE:
            return last[1]
        models = []
        for entry in response.objects("models", "/api/tags"):
            digest = str(entry.get("digest", "")).removeprefix("sha256:")
            remote_model = str(entry.get("remote_model") or "") or None
            models.append(Served(
                full_tag(str(entry.get("name") or entry.get("model") or "")),
                digest if _DIGEST.fullmatch(digest) else "", str(entry.get("remote_host") or "") or remote_model,
                remote_model))
        self._last = (response.body, tuple(models))
        return self._last[1]


def running(client: Client, tag: str, deadline: float) -> tuple[int | None, Mapping[str, JSON]] | None:
    """The context that a loaded model really has (None: not said), and what else is said of it. Raises NoAnswer.

    None where the server does not list it.
    """
    for entry in client.send(Call("GET", "/api/ps"), deadline).objects("models", "/api/ps"):
        if tag in (entry.get("name"), entry.get("model")):
            said = entry.get("details")
            details = dict(said) if isinstance(said, Mapping) else {}
            details.update((key, entry[key]) for key in ("size", "size_vram") if key in entry)
            return amount_of(entry.get("context_length")), details
    return None


def find_served(models: Sequence[Served], tag: str) -> Served | None:
    """The model of that tag; upper and lower case are the same to Ollama."""
    return next((model for model in models if model.tag.casefold() == tag.casefold()), None)
