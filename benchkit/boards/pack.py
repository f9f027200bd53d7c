"""A question pack as a value: what it is called, how it makes and shows questions, and how it judges answers.

The contract of the module behind it stands in packs/__init__.py. The functions are the pack's own: they may raise
anything, and give anything.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from benchkit.basics.values import JSON, Case, Message

GEOMETRIES = ("single", "gated")
Reword = Callable[[str], str]
"""Prompt -> text: what may reword a question, and nothing else."""
Handed = JSON | Case
"""What a baseline is handed as its view: the payload, or a case."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a solver said, verbatim, and what it was shown for it. `said` is None where it was only shown."""

    said: str | None
    observations: Sequence[Mapping[str, JSON]] = ()
    cost: float = 0.0
    grounded: bool = False
    error: str | None = None


class Tool(Protocol):
    """One item of the menu. `services` are those it may be asked for; empty: it takes none."""

    @property
    def name(self) -> str: ...  # noqa: D102 - the field's name says it
    @property
    def says(self) -> str: ...  # noqa: D102
    @property
    def price(self) -> float: ...  # noqa: D102
    @property
    def kinds(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def services(self) -> Sequence[str]: ...  # noqa: D102


class Turn(Protocol):
    """What one message of a solver amounts to; `kind` is answer, bought, refused or unreadable."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def tool(self) -> str | None: ...  # noqa: D102
    @property
    def observations(self) -> Sequence[Mapping[str, JSON]]: ...  # noqa: D102
    @property
    def cost(self) -> float: ...  # noqa: D102
    @property
    def grounded(self) -> bool: ...  # noqa: D102
    @property
    def error(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class PriceList:
    """What there is to spend, in `unit`, and the cost of each item; `steps` counts the solver's messages."""

    unit: str
    budget: float
    steps: int
    prices: Mapping[str, float]

    def to_wire(self) -> dict[str, JSON]:
        """The list as JSON, for digests and batch.json."""
        return {"unit": self.unit, "budget": self.budget, "steps": self.steps, "prices": dict(self.prices)}


@dataclass(frozen=True, slots=True)
class PackMarket:
    """What a pack has for the geometry `gated`. `purchase` gives the message that buys a tool (of a service, or None).

    Where it is None, one of the usual messages does (menu.py).
    """

    prices: PriceList
    tools: Callable[[Case], Sequence[Tool]]
    turn: Callable[[Case, str, Sequence[Step], float], Turn]
    reply: Callable[[Turn, float, int], str]
    purchase: Callable[[Tool, str | None], str] | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """One judge: `capability` gives a number from 0 to 1, `gate` whether it held.

    `fingerprint` is 64 hex over all the text that its verdicts depend on.
    """

    name: str
    kind: Literal["capability", "gate"]
    measures: str
    measures_not: str
    judge: Callable[[Case, str, Sequence[Step]], float | bool]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PackBaseline:
    """A solver without a model, called once a message as `answer(handed(case, geometry), seed, messages)`.

    `handed` gives the payload, or the case where it may see more. `sees_truth`: never on a published board.
    """

    name: str
    answer: Callable[[Handed, int, Sequence[Message]], str]
    sees_truth: bool
    source_sha256: str
    handed: Callable[[Case, str], Handed]


@dataclass(frozen=True, slots=True)
class Sources:
    """SHA-256 of the texts behind a pack: all of it, and the module that judges with its helpers."""

    pack_sha256: str
    judge_sha256: str


@dataclass(frozen=True, slots=True)
class Pack:
    """All that a board asks of a pack; `module` is its folder's name, or the task's module.

    build      (seed, count, llm) -> cases, the same for a seed
    payload    (case, geometry) -> what a solver is handed, never the truth
    messages   (payload, budget, steps) -> the first messages; limits of `gated` only (None: those of the price list)
    schema     (payload) -> the JSON schema of one message of the solver, or None
    market     None where questions can be asked in `single` only
    synthetic  one line that stands wherever a question is shown; None if all is real
    is_timed   its payloads say when now is, and its observations when they were made; those of a task do not
    """

    module: str
    name: str
    version: str
    judge_version: str
    synthetic: str | None
    sources: Sources
    build: Callable[[int, int, Reword | None], Sequence[Case]]
    truth_terms: Callable[[Case], Sequence[str]]
    problems: Callable[[Case], Sequence[str]]
    answer_key: Callable[[Case], str]
    said_key: Callable[[str], str]
    payload: Callable[[Case, str], JSON]
    messages: Callable[[JSON, float | None, int | None], Sequence[Message]]
    schema: Callable[[JSON], Mapping[str, JSON] | None]
    market: PackMarket | None
    tracks: tuple[Track, ...]
    baselines: Mapping[str, PackBaseline]
    is_timed: bool = True

    @property
    def geometries(self) -> tuple[str, ...]:
        """In which geometries its questions can be asked."""
        return GEOMETRIES if self.market is not None else GEOMETRIES[:1]

    @property
    def blind_baselines(self) -> tuple[PackBaseline, ...]:
        """Those that do not see the truth."""
        return tuple(one for one in self.baselines.values() if not one.sees_truth)
