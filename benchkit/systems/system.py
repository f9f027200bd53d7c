"""The seam to whoever answers: what a system is, and what it is given."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.tasks.task import Task


@dataclass(frozen=True, slots=True)
class ServerKind:
    """The module that asks servers of a kind, with `system(name, options)` as one of the user has it.

    `address` and `key` are the variables of the environment that hold them ("": no key).
    """

    module: str
    address: str
    key: str = ""


SERVERS: Mapping[str, ServerKind] = {
    "ollama": ServerKind("benchkit.systems.ollama", "OLLAMA_HOST"),
    "openai": ServerKind("benchkit.systems.openai", "OPENAI_BASE_URL", "OPENAI_API_KEY")}
"""By the name in `--system ollama:TAG`; a log may name them by itself."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a server says of a model once it is loaded; None where it does not say."""

    load_s: float
    context_length: int | None = None
    details: Mapping[str, JSON] | None = None


class System(Protocol):
    """Who answers. The calls come in this order: open, settings, warm, answer (many times), close."""

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, check identity and digest. Raises EnvironmentFailure.

        Gives the environment: {"server": ..., "server_version": ...}, and more where it knows more.
        """

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request besides messages, schema and seed. After `open`: digest as served.

        Before `open`, what only a server knows is None; the rest is as it will be. Reports warn by some keys, where
        they are there: `pinned_by`, `served`, `response_format`, `parallel`, `temperature`.
        """

    def warm(self) -> Loaded:
        """Load the model, with a limit of 10 minutes and a sign of life. Raises EnvironmentFailure."""

    def answer(self, request: Request) -> Reply:
        """One whole reply within `request.deadline`. Raises TrialError, or Interrupted when a signal came.

        Where a person wants several trials at once, it is called by as many threads.
        """

    def close(self) -> None:
        """Let go of connections. Never raises."""


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What a command hands to every system. `say` takes a line for the person who waits (a sign of life).

    `has_flags`: the command has --host and --allow-cloud, and an error may offer them.
    `task` is None where the cases are those of a question pack. `environment` holds addresses and keys by the names of
    their variables; it never shows when this is printed. `recorded` are the settings that a log which is gone on with
    has of this system: what was learned of a server at the first start is not asked again (None: there are none).
    """

    clock: Clock
    stop: StopRequest
    say: Callable[[str], None]
    task: Task | None
    cases: tuple[Case, ...]
    host: str | None = None
    allow_cloud: bool = False
    has_flags: bool = True
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    recorded: Mapping[str, JSON] | None = None
