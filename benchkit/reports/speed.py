"""How fast, and at what cost: latencies of warm and cold trials, loading, tokens, attempts.

A latency is that of a judged trial or of a timeout; other errors end at moments that say nothing about speed. Where
a run is a replay, latencies are those of its recording. Cold trials stand apart, because their prompt was not
in the server's cache: the first of their case in a session, and those that waited for the model to load.
"""
from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from benchkit.basics.texts import count_of
from benchkit.basics.values import ErrorFacts, Timings, Usage
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Result
from benchkit.statistics.percentiles import PERCENTS, Percentile, Sample, percentile

RELOAD_S = 1.0
"""A request that waited longer for loading met a model that was not there; a loaded one takes milliseconds."""


class Timed(Protocol):
    """One trial, as far as it was measured."""

    @property
    def cold(self) -> bool: ...  # noqa: D102 - the field's name says it
    @property
    def error(self) -> ErrorFacts | None: ...  # noqa: D102
    @property
    def latency_s(self) -> float | None: ...  # noqa: D102
    @property
    def recorded_latency_s(self) -> float | None: ...  # noqa: D102
    @property
    def usage(self) -> Usage | None: ...  # noqa: D102
    @property
    def timings(self) -> Timings | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class LatencyColumn:
    """Latencies in seconds of `n` trials, `timeouts` of them; percentiles in the order of PERCENTS, None: too few.

    `shortest` and `longest` are of the judged ones, which are all there in `judged`, ascending, unless nobody needs
    them.
    """

    n: int
    timeouts: int
    shortest: float | None
    longest: float | None
    percentiles: tuple[Percentile | None, ...]
    judged: Sequence[float] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Loading:
    """Seconds each session took to load the model (None: unknown), and trials that waited for it to load again."""

    sessions: tuple[float | None, ...]
    reloads: int
    longest_reload_s: float | None


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """Tokens over the `trials` that tell those of their output; output tokens per second as a ratio of sums.

    `prompt` and `cached` are None where none of these trials tells them; `prompt_trials` of them tell the first.
    """

    trials: int
    prompt: int | None
    prompt_trials: int
    output: int
    cached: int | None
    output_per_second: Fraction | None


@dataclass(frozen=True, slots=True)
class Attempts:
    """Cells that were started, those that took several attempts, the most one took, and requests sent again."""

    cells: int
    repeated: int
    most: int
    retries: int


@dataclass(frozen=True, slots=True)
class Speed:
    """All that was measured in seconds and tokens."""

    warm: LatencyColumn
    cold: LatencyColumn
    loading: Loading
    tokens: TokenSummary
    attempts: Attempts


class SpeedCount:
    """Measures the trials of a run with these sessions, one after the other."""

    def __init__(self, sessions: Sequence[SessionFacts]) -> None:
        self._latency, self._loading = LatencyCount(sessions), _LoadingCount(sessions)
        self._tokens, self._attempts = TokenCount(), _AttemptCount()

    def take(self, result: Result) -> None:
        """One trial."""
        self._latency.take(result)
        self._loading.take(result)
        self._tokens.take(result)
        self._attempts.take(result)

    def speed(self) -> Speed:
        """What they measured."""
        return Speed(*self._latency.columns(), self._loading.loading(), self._tokens.tokens(),
                     self._attempts.attempts())


def speed_of(results: Iterable[Result], sessions: Sequence[SessionFacts]) -> Speed:
    """What the trials of a run measured, in one pass."""
    measured = SpeedCount(sessions)
    for result in results:
        measured.take(result)
    return measured.speed()


def latency_of(result: Timed) -> float | None:
    """Seconds of one trial, of the run or of its recording; None where unknown."""
    return result.recorded_latency_s if result.latency_s is None else result.latency_s


class LatencyCount:
    """Keeps latencies, of warm trials and of cold ones apart; 8 bytes each, and 48 while they are sorted."""

    def __init__(self, sessions: Iterable[SessionFacts]) -> None:
        self._limit = min((one.timeout_s for one in sessions if one.timeout_s is not None), default=None)
        self._warm, self._cold = _ColumnCount(), _ColumnCount()

    def take(self, result: Timed) -> None:
        """One trial."""
        seconds = latency_of(result)
        column = self._cold if result.cold or _reload_s(result) else self._warm
        if result.error is None:
            column.take_judged(seconds)
        elif result.error.type == "Timeout":
            column.take_timeout(seconds if self._limit is None else self._limit)

    def columns(self) -> tuple[LatencyColumn, LatencyColumn]:
        """The latencies of warm trials, and of cold ones."""
        return self._warm.column(), self._cold.column()


def _reload_s(result: Timed) -> float | None:
    """Seconds for which a trial waited for the model to load; None where it was there."""
    wait = result.timings.load_s if result.timings is not None else None
    return wait if wait is not None and wait > RELOAD_S else None


class _ColumnCount:
    def __init__(self) -> None:
        self._judged, self._timeouts = array("d"), array("d")

    def take_judged(self, seconds: float | None) -> None:
        if seconds is not None and math.isfinite(seconds):
            self._judged.append(seconds)

    def take_timeout(self, seconds: float | None) -> None:
        if seconds is not None and math.isfinite(seconds):
            self._timeouts.append(seconds)

    def column(self) -> LatencyColumn:
        judged, timeouts = (array("d", sorted(values)) for values in (self._judged, self._timeouts))
        sample = Sample(judged, timeouts)
        return LatencyColumn(
            sample.size, len(timeouts), judged[0] if judged else None, judged[-1] if judged else None,
            tuple(percentile(sample, percent) for percent in PERCENTS), judged)


def latency_columns(
    results: Iterable[Timed], sessions: Iterable[SessionFacts],
) -> tuple[LatencyColumn, LatencyColumn]:
    """The latencies of warm trials, and of cold ones, in one pass."""
    sorting = LatencyCount(sessions)
    for result in results:
        sorting.take(result)
    return sorting.columns()


class _LoadingCount:
    def __init__(self, sessions: Iterable[SessionFacts]) -> None:
        self._sessions = tuple(session.load_s for session in sessions)
        self._reloads = 0
        self._longest_s: float | None = None

    def take(self, result: Timed) -> None:
        wait = _reload_s(result)
        if wait is not None:
            self._reloads += 1
            self._longest_s = max(wait, self._longest_s or 0.0)

    def loading(self) -> Loading:
        return Loading(self._sessions, self._reloads, self._longest_s)


class TokenCount:
    """Adds up the tokens of trials whose counts are known."""

    def __init__(self) -> None:
        self._trials = self._output = self._prompt_trials = 0
        self._prompt: int | None = None
        self._cached: int | None = None
        self._timed = self._microseconds = 0

    def take(self, result: Timed) -> None:
        """One trial."""
        usage, timings = result.usage, result.timings
        if usage is None or usage.output_tokens is None:
            return
        self._trials += 1
        self._output += usage.output_tokens
        if usage.prompt_tokens is not None:
            self._prompt_trials += 1
            self._prompt = (self._prompt or 0) + usage.prompt_tokens
        if usage.cached_tokens is not None:
            self._cached = (self._cached or 0) + usage.cached_tokens
        if timings is not None and timings.output_s:
            self._timed += usage.output_tokens
            # recorded seconds have 6 digits, so whole microseconds add up exactly, in any order and on any Python
            self._microseconds += round(timings.output_s * 1_000_000)

    def tokens(self) -> TokenSummary:
        """The sums."""
        ratio = Fraction(self._timed * 1_000_000, self._microseconds) if self._microseconds else None
        return TokenSummary(self._trials, self._prompt, self._prompt_trials, self._output, self._cached, ratio)


def tokens_told(tokens: TokenSummary) -> str:
    """The sums in words: `6,400 in, 640 out, over 64 trials that say so`."""
    told = "an unknown number" if tokens.prompt is None else f"{tokens.prompt:,}"
    some = f" (by {tokens.prompt_trials:,} of them)" if 0 < tokens.prompt_trials < tokens.trials else ""
    return f"{told} in{some}, {tokens.output:,} out, over {count_of(tokens.trials, 'trial')} that say so"


class _AttemptCount:
    def __init__(self) -> None:
        self._cells = self._repeated = self._most = self._retries = 0

    def take(self, result: Result) -> None:
        self._cells += result.attempts > 0
        self._repeated += result.attempts > 1
        self._most = max(self._most, result.attempts)
        self._retries += result.retries

    def attempts(self) -> Attempts:
        return Attempts(self._cells, self._repeated, self._most, self._retries)
