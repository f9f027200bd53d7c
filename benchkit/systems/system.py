"""The seam to whoever answers: what a system is, what it is given, and how one is found by its name.

A system is named `module:name`, such as `model_triage:gemma`; the module holds `system(name, options) -> System`.
What does not live here: any system itself (baselines.py, and the modules of the user).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchkit.basics.clock import Clock, StopWish
from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.tasks.modules import load_module
from benchkit.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a server says of a model once it is loaded; None where it does not say."""

    load_s: float
    context_length: int | None = None
    details: Mapping[str, JSON] | None = None


class System(Protocol):
    """Who answers. The calls come in this order: open, settings, warm, answer (many times), close."""

    def open(self) -> Mapping[str, JSON]:
        """Reach the server, check identity and digest; the environment: {"server": ..., "server_version": ...}.

        Raises Surroundings.
        """

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request besides messages, schema and seed. After `open`: digest as served."""

    def warm(self) -> Loaded:
        """Load the model, with a limit of 10 minutes and a sign of life. Raises Surroundings."""

    def answer(self, request: Request) -> Reply:
        """One whole reply within `request.deadline`. Raises TrialError, or Interrupted when a signal came."""

    def close(self) -> None:
        """Let go of connections. Never raises."""


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What a door hands to every system. `say` takes a line for the person who waits (a sign of life)."""

    clock: Clock
    stop: StopWish
    say: Callable[[str], None]
    task: Task
    cases: tuple[Case, ...]
    host: str | None = None
    allow_cloud: bool = False


def split_name(name: str) -> tuple[str, str]:
    """(module, rest) of a system's name, cut at the first colon. Raises Unusable."""
    module, colon, rest = name.partition(":")
    if not (module and colon and rest):
        raise Unusable(f"--system {shown_line(name)}: a system is named module:name, such as model_triage:gemma "
                       f"or baselines:keywords")
    return module, rest


def is_baseline(name: str) -> bool:
    """Whether a system is a baseline: if and only if its name begins with `baselines:`."""
    return name.startswith("baselines:")


def load_system(name: str, options: SystemOptions, folders: Sequence[Path]) -> System:
    """The system of that name, not opened yet. Raises Unusable."""
    module_name, rest = split_name(name)
    if module_name == "replay":
        raise Unusable(f"--system {shown_line(name)}: a replay is judged, not recorded: "
                       f"python3 harness.py run --system {shown_line(name)}")
    if is_baseline(name):
        from benchkit.systems.baselines import baseline_system
        return baseline_system(rest, options)
    module = load_module(module_name, folders)
    make = getattr(module, "system", None)
    if not callable(make):
        raise Unusable(f"{module_name}.py has no function system(name, options); see model_triage.py for the pattern")
    made: System = make(rest, options)
    return made
