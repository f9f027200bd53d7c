"""How fast, and at what cost: latencies of warm and cold trials, loading, tokens, attempts.

A latency is that of a judged trial or of a timeout; other errors end at moments that say nothing about speed. Where
a run is a replay, latencies are those of its recording. Cold trials (the first of their case in a session) stand
apart, because their prompt was not in the server's cache.
What does not live here: nearest ranks and their intervals (statistics/percentiles.py).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from benchkit.basics.values import ErrorFacts, Timings, Usage
from benchkit.recordings.pieces import SessionFacts
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

    `shortest` and `longest` are of the judged ones.
    """

    n: int
    timeouts: int
    shortest: float | None
    longest: float | None
    percentiles: tuple[Percentile | None, ...]


@dataclass(frozen=True, slots=True)
class Loading:
    """Seconds each session took to load the model (None: unknown), and trials that waited for it to load again."""

    sessions: tuple[float | None, ...]
    reloads: int
    longest_reload_s: float | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens over the `trials` whose counts are known; output tokens per second as a ratio of sums."""

    trials: int
    prompt: int
    output: int
    cached: int
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
    tokens: Tokens
    attempts: Attempts


def speed_of(results: Sequence[Result], sessions: Sequence[SessionFacts]) -> Speed:
    """What the trials of a run measured."""
    return Speed(*latency_columns(results, sessions), _loading(results, sessions), token_sums(results),
                 _attempts(results))


def latency_columns(
    results: Sequence[Timed], sessions: Iterable[SessionFacts],
) -> tuple[LatencyColumn, LatencyColumn]:
    """The latencies of warm trials, and of cold ones."""
    limit = min((session.timeout_s for session in sessions if session.timeout_s is not None), default=None)
    return (_column((result for result in results if not result.cold), limit),
            _column((result for result in results if result.cold), limit))


def latency_of(result: Timed) -> float | None:
    """Seconds of one trial, of the run or of its recording; None where unknown."""
    return result.recorded_latency_s if result.latency_s is None else result.latency_s


def _column(results: Iterable[Timed], limit: float | None) -> LatencyColumn:
    judged, timeouts = [], []
    for result in results:
        seconds = latency_of(result)
        if result.error is None:
            judged.extend([] if seconds is None else [seconds])
        elif result.error.type == "Timeout" and (limit is not None or seconds is not None):
            timeouts.append(limit if limit is not None else seconds or 0.0)
    sample = Sample(sorted(judged), sorted(timeouts))
    return LatencyColumn(
        sample.size, len(timeouts), min(judged, default=None), max(judged, default=None),
        tuple(percentile(sample, percent) for percent in PERCENTS))


def _loading(results: Iterable[Result], sessions: Iterable[SessionFacts]) -> Loading:
    waits = [result.timings.load_s for result in results if result.timings and result.timings.load_s is not None]
    reloads = [wait for wait in waits if wait > RELOAD_S]
    return Loading(tuple(session.load_s for session in sessions), len(reloads), max(reloads, default=None))


def token_sums(results: Iterable[Timed]) -> Tokens:
    """Tokens over the trials whose counts are known."""
    trials = prompt = output = cached = timed = 0
    seconds: list[float] = []
    for result in results:
        usage, timings = result.usage, result.timings
        if usage is None or usage.output_tokens is None:
            continue
        trials += 1
        prompt += usage.prompt_tokens or 0
        output += usage.output_tokens
        cached += usage.cached_tokens or 0
        if timings is not None and timings.output_s:
            timed += usage.output_tokens
            seconds.append(timings.output_s)
    return Tokens(trials, prompt, output, cached, _ratio(timed, seconds))


def _ratio(tokens: int, seconds: Sequence[float]) -> Fraction | None:
    # recorded seconds have 6 digits, so whole microseconds add up exactly, in any order and on any Python
    microseconds = sum(round(second * 1_000_000) for second in seconds)
    return Fraction(tokens * 1_000_000, microseconds) if microseconds else None


def _attempts(results: Iterable[Result]) -> Attempts:
    attempts = [result.attempts for result in results]
    return Attempts(
        sum(count > 0 for count in attempts), sum(count > 1 for count in attempts), max(attempts, default=0),
        sum(result.retries for result in results))
