"""The words of the pack as values: what a question is made of, what is bought, what a judge is.

They know nothing of JSON (wire.py), of prompts (pages.py) or of how questions are made (questions.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchkit import JSON, Case

INCIDENTS = ("none", "coming", "under_way")
SEVERITIES = ("none", "low", "high", "critical")
HARMLESS = ("wait", "rollback", "scale_up", "restart", "failover", "free_space", "renew")
DESTRUCTIVE = ("delete_data", "drop_backups", "disable_auth")
MENU = HARMLESS + DESTRUCTIVE
"""What `next` may say. The harmless words stand first: see answers.destructive_words."""
NONE = "none"
GEOMETRIES = ("single", "gated")
KINDS = ("deploy", "notice", "alert", "latency", "errors", "usage", "log", "ticket", "chat")


@dataclass(frozen=True, slots=True)
class Service:
    """One box of the service map. `needs` are the services it calls; an entry is one that customers use."""

    name: str
    is_entry: bool
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """One line of the stream. `minute` counts from now, 0 or less is the past; `at` is the same as HH:MM."""

    id: str
    minute: int
    at: str
    kind: str
    service: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What can be known at the time `now` (HH:MM): the service map, and the observations in order of time."""

    now: str
    services: tuple[Service, ...]
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """What only the generator knows.

    `supports` are the ids of the observations that the true claim rests on; `due_minutes` is how long there
    is to say so; `next` is a step that helps; `later` is what was observed after now.
    """

    situation: str
    incident: str
    cause: str
    severity: str
    supports: tuple[str, ...]
    next: str
    due_minutes: int
    why: str
    later: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A readable answer. A field that is missing or no text is ""; `evidence` as cited, each once."""

    incident: str
    cause: str
    severity: str
    evidence: tuple[str, ...]
    next: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One item of the menu in `gated`. `services`: those it may be asked for; empty: it takes none."""

    name: str
    says: str
    price: float
    kinds: tuple[str, ...]
    services: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message of a solver amounts to in `gated`.

    `observations` are in wire form. `grounded`: the service it asked for stands in something seen before, or
    the tool takes none. `error` is one line, and None if something was bought or answered.
    """

    kind: Literal["answer", "bought", "refused", "unreadable"]
    tool: str | None = None
    observations: tuple[Mapping[str, JSON], ...] = ()
    cost: float = 0.0
    grounded: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a solver said, verbatim, and what it was shown for it. `said` is None where it was only shown.

    A judge reads these five attributes and no others, so any value that has them is a step.
    """

    said: str | None
    observations: Sequence[Mapping[str, JSON]] = ()
    cost: float = 0.0
    grounded: bool = False
    error: str | None = None


Judge: TypeAlias = Callable[[Case, str, Sequence[Step]], float | bool]


@dataclass(frozen=True, slots=True)
class Track:
    """One judge: a number from 0 to 1 (`capability`), or whether all went well (`gate`; True: held)."""

    name: str
    kind: Literal["capability", "gate"]
    measures: str
    measures_not: str
    judge: Judge
