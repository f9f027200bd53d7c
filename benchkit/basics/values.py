"""What flows down the workflow: cases, requests, replies. Frozen values that know nothing of files or networks.

Seconds are floats, rounded to 6 digits where they are written; None is always "unknown", never zero.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
Message: TypeAlias = Mapping[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}"""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled input. Its `id` is unique in its file, also when case-folded."""

    id: str
    split: str
    input: JSON
    expected: JSON
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskName:
    """Which task: the module it was loaded from, and what that module calls itself."""

    module: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The unit of work: trial number `trial` (from 1) of one system at one case."""

    system: str
    case: str
    trial: int

    @property
    def seed(self) -> int:
        """The seed of its trial."""
        return seed_of(self.trial)


def seed_of(trial: int) -> int:
    """The seed of a trial, of whatever case: 1000 + its number."""
    return 1000 + trial


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `of` parts of a plan, `index` from 1: the cells whose number from 0 is index - 1 modulo `of`.

    Cells are numbered in the order of running. `str()` gives `2/3`.
    """

    index: int
    of: int

    def holds(self, number: int) -> bool:
        """Whether the cell of that number from 0 is of this part."""
        return number % self.of == self.index - 1

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


@dataclass(frozen=True, slots=True)
class Request:
    """What a system is sent for one cell. `deadline` is on the monotonic clock, in seconds, and total."""

    case: str
    trial: int
    attempt: int
    seed: int
    messages: Sequence[Message]
    schema: Mapping[str, JSON] | None
    deadline: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them. `prompt_tokens` includes cached ones, `output_tokens` reasoning.

    `asked_letters`, of the prompt, are known only where the tokens are too few for them: the server has cut it.
    """

    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    asked_letters: int | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds inside one request, as the server measured them (`first_token_s`: as the client saw it)."""

    load_s: float | None = None
    prompt_s: float | None = None
    output_s: float | None = None
    first_token_s: float | None = None
    other_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `output` is as received; `reasoning` is kept apart and never judged. `finish` is the word of the
    server for why it ended: "length" is counted as cut off, None is not told.

    `latency_s` is that of the last request only, from the first byte sent to the last byte read;
    `retries` counts the requests before it, `waited_s` the time between them. `retried` is what came of each of these;
    a trial log does not keep it.
    """

    output: str
    finish: str | None = "stop"
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    latency_s: float | None = None
    retries: int = 0
    waited_s: float = 0.0
    retried: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """Why there is nothing to judge: a type of the closed list, the kit's words, and the text that had come."""

    type: str
    message: str
    partial: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What a trial ended in when no whole reply came."""

    error: ErrorFacts
    latency_s: float | None = None
    retries: int = 0
    waited_s: float = 0.0
    usage: ClassVar[None] = None
    timings: ClassVar[None] = None


Outcome: TypeAlias = Reply | Failure
