"""A board as a value: all that its pages show, decided, counted and worded before anything is drawn.

Shares are floats from 0 to 1 (rounded half-even to 6 digits from exact fractions), seconds are floats; None is always
"not known", never 0. Texts of solvers and packs stand here as they are: escaping them is the page's work.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchkit.basics.values import JSON
from benchkit.boards.question_gates import Dropped
from benchkit.boards.usage import TokenUse
from benchkit.reports.speed import LatencyColumn
from benchkit.statistics.intervals import Interval
from benchkit.statistics.ranking import RankSet

SYNTHETIC, ALTERED, SCORING, TRACE, OPEN = "synthetic", "altered", "scoring changed", "trace violations", "open"
MIXED, UNREAD, EXPOSED, FAILED = "two scorings", "unreadable", "exposed", "failed cells"
BANNERS = (SYNTHETIC, TRACE, EXPOSED, ALTERED, MIXED, SCORING, UNREAD, FAILED, OPEN)
"""The codes of banners, in the order in which they stand."""


@dataclass(frozen=True, slots=True)
class Title:
    """The first line: `job`, `batch` (its stamp, the name of its folder) and `status` (one of batch.STATUSES)."""

    job: str
    batch: str
    status: str


@dataclass(frozen=True, slots=True)
class Banner:
    """What must be seen before any figure. `code` is one of BANNERS, `text` one sentence or two.

    `details` are further lines, such as the violations of the trace by name; `command` mends it, if one does.
    """

    code: str
    text: str
    details: tuple[str, ...] = ()
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """An item that can be bought in `gated`."""

    name: str
    cost: float


@dataclass(frozen=True, slots=True)
class MarketFacts:
    """What there is to spend in `gated`, in `unit`; `steps` counts the solver's messages, its answer included."""

    unit: str
    budget: float
    steps: int
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the batch gate: what it is about, what was found, what it allows, and whether it held."""

    rule: str
    found: str
    allowed: str
    held: bool


@dataclass(frozen=True, slots=True)
class Making:
    """How the questions were made, and what the gates dropped.

    source        `pack early_warning` or `task triage_task`, with `name` and `version` as it calls itself
    how           a sentence: from which seed, how many, reworded by whom
    made, kept    questions made, and those that passed the emission gate
    reasons       dropped questions by reason (of question_gates.REASONS), those of 0 left out
    dropped       each of them, with why
    answers       how many of those kept have each answer, most first
    checks        the batch gate
    market        None in `single`
    gen_usage     tokens spent on making them; its `to_wire()` says why there are none
    """

    source: str
    name: str
    version: str
    judge_version: str
    geometry: str
    trials: int
    how: str
    made_at: str
    made: int
    kept: int
    reasons: Mapping[str, int]
    dropped: tuple[Dropped, ...]
    answers: Mapping[str, int]
    checks: tuple[Check, ...]
    market: MarketFacts | None
    gen_usage: TokenUse
    world_sha256: str
    scoring_sha256: str


@dataclass(frozen=True, slots=True)
class GateStatus:
    """The hard gates of one system together: an answer fails when one of them did not hold.

    `failures` of `trials` judged answers, at 95 % (Clopper-Pearson) `interval`; `incomplete` cells were not judged.
    """

    failures: int
    trials: int
    incomplete: int
    interval: Interval

    @property
    def is_clean(self) -> bool:
        """No failure, and nothing left open."""
        return self.failures == 0 and self.incomplete == 0 and self.trials > 0

    @property
    def mark(self) -> str:
        """`clean`, `not clean`, or `open` where nothing failed and something is left open."""
        return "not clean" if self.failures else "clean" if self.is_clean else "open"

    @property
    def words(self) -> str:
        """`clean`, `3 failures of 36`, `no failure in 30, 6 incomplete`, or `not judged`."""
        if self.trials == 0:
            return "not judged"
        if self.failures:
            more = f", {self.incomplete} incomplete" if self.incomplete else ""
            return f"{self.failures} failure{'' if self.failures == 1 else 's'} of {self.trials}{more}"
        return "clean" if self.is_clean else f"no failure in {self.trials}, {self.incomplete} incomplete"


@dataclass(frozen=True, slots=True)
class Readings:
    """One share in the three readings of incomplete cells, and its 95 % interval.

    `completed` is over what was judged (None: nothing was); `worst` takes every incomplete cell as worth nothing,
    `best` as worth all. `low` is the low end over the worst reading, `high` the high end over the best.
    """

    worst: float
    completed: float | None
    best: float
    low: float
    high: float

    @property
    def is_whole(self) -> bool:
        """Whether no incomplete cell leaves anything open."""
        return self.worst == self.best


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the ranking, which is ordered by the low end of the headline.

    place         its number in the list, from 1
    gate          None where the pack has no hard gate
    headline      mean of the capability tracks x (1 - hard-gate fail rate)
    capability    the first factor alone; None: nothing was judged
    rank          the ranks that the data leave possible; None where nothing was judged
    overtaken     systems that failed no gate and stand below this one, which did: mark it
    planned, judged   cells
    ahead_of      systems than which it is shown to be better, however its and their incomplete cells would go
    """

    place: int
    system: str
    is_baseline: bool
    sees_truth: bool
    gate: GateStatus | None
    headline: Readings
    capability: float | None
    rank: RankSet | None
    overtaken: tuple[str, ...]
    planned: int
    judged: int
    ahead_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrackRow:
    """One system under one track. Of a gate the share is that of answers that held it.

    `failures` counts answers below 1 (of a gate: those that did not hold it) of `judged`.
    """

    system: str
    share: Readings
    failures: int
    judged: int
    incomplete: int


@dataclass(frozen=True, slots=True)
class TrackSection:
    """One track: what it measures and what not, a sentence each, and every system in the order of the ranking."""

    name: str
    kind: Literal["capability", "gate"]
    measures: str
    measures_not: str
    rows: tuple[TrackRow, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation of a sampled case. `minute` is from now (0 or less), None where it has none.

    `bought_by` are the systems that bought it; empty: all were handed it. `cited_by` are those whose answer has its id.
    """

    id: str
    minute: float | None
    at: str
    kind: str
    service: str
    text: str
    bought_by: tuple[str, ...] = ()
    cited_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """One answer under one track: from 0 to 1; of a gate 1.0 (it held) or 0.0."""

    track: str
    kind: Literal["capability", "gate"]
    value: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """A message before the answer: as it was written, and what came of it (`got` are ids of observations)."""

    said: str
    cost: float
    got: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class SampledAnswer:
    """What one system said to a sampled case in one trial.

    `output` is None where the cell is incomplete: then `error` is `Timeout: no whole reply within 120 s`, and there
    are no scores. `eval_line` is the number of its line in eval.jsonl, from 1.
    """

    system: str
    trial: int
    attempt: int
    output: str | None
    error: str | None
    scores: tuple[Score, ...]
    purchases: tuple[Purchase, ...]
    eval_line: int


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message that a solver was shown, before its message number `step`, word for word."""

    role: str
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class Payload:
    """Exactly what `systems` were shown, from the trace. With a `warning` it is left out, and this stands there."""

    systems: tuple[str, ...]
    messages: tuple[ShownMessage, ...]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class SampledCase:
    """One question along its time: observations in order, then every system's answer.

    `now` is the moment T; `answer_key` the right answer in one word; `truth` the whole of it as indented JSON.
    `observations` is empty for a task, whose payload has none. `warnings` say what was left out.
    """

    id: str
    tags: tuple[str, ...]
    now: str
    answer_key: str
    truth: str
    observations: tuple[Seen, ...]
    answers: tuple[SampledAnswer, ...]
    payloads: tuple[Payload, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedCells:
    """Cells of one system that ended in the same way without a verdict: type of error, message, and each by name."""

    type: str
    message: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system as served, and what it took.

    incomplete       cells by error type (`NotRun` included), none of 0
    output_per_second  tokens, a ratio of sums; None: unknown
    warm, cold       seconds of whole trials; in `gated` a trial is the sum of its requests
    attempts         cells that took more than one attempt
    said             how many answers said each word, as the pack reads them (`said_key`), most first
    failed           the incomplete cells by type of error and message, most first
    """

    system: str
    is_baseline: bool
    sees_truth: bool
    settings: Mapping[str, JSON]
    tokens: TokenUse
    output_per_second: float | None
    warm: LatencyColumn
    cold: LatencyColumn
    incomplete: Mapping[str, int]
    attempts: int
    said: Mapping[str, int] = field(default_factory=dict)
    failed: tuple[FailedCells, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineAgreement:
    """How often a system said the same word as a baseline in the same cell: `equal` of `cells` that both answered."""

    system: str
    baseline: str
    equal: int
    cells: int


@dataclass(frozen=True, slots=True)
class Board:
    """The whole board, in the order of its sections.

    synthetic    the sentence that must stand wherever a question is shown; None: all is real
    trace_line   `trace self-consistent` or `trace invariant violations: N`
    ranking      by headline, best first; systems of which nothing was judged last
    facts        of each system, in the order of the ranking
    machines     a line for each different machine and server that sessions ran on
    abandoned    what the trace has that no trial line counts, in words; "" for nothing
    """

    title: Title
    synthetic: str | None
    banners: tuple[Banner, ...]
    trace_line: str
    making: Making
    ranking: tuple[Standing, ...]
    tracks: tuple[TrackSection, ...]
    samples: tuple[SampledCase, ...]
    facts: tuple[SystemFacts, ...]
    agreements: tuple[BaselineAgreement, ...]
    machines: tuple[str, ...]
    abandoned: str = ""
