"""How fast, at what cost and on which hardware: latencies of warm and cold trials, loading, tokens, attempts.

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

from benchkit.basics.values import ErrorFacts, Timings, Usage
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Result
from benchkit.statistics.percentiles import PERCENTS, Latency, Percentile, Sample, percentile

RELOAD_S = 1.0
"""A request that waited longer for loading met a model that was not there; a loaded one takes milliseconds."""
NOT_SAID = "not said"
COLD = "cold: the first of its case in a session, or one that waited for the model to load"


def hardware_of(sessions: Iterable[SessionFacts]) -> str:
    """The hardware of all sessions, each kind once; NOT_SAID stands for those that do not name theirs."""
    return ", ".join(dict.fromkeys(session.hardware or NOT_SAID for session in sessions)) or NOT_SAID


def measured_on(sessions: Sequence[SessionFacts]) -> str:
    """The hardware that gave the latencies, for what else ran there is part of them; empty if nobody said."""
    return hardware_of(sessions) if any(session.hardware for session in sessions) else ""


def ending_of(session: SessionFacts) -> str:
    """How a session ended, in one word, or that it does not say."""
    return session.stop or "no word of it"


def latency_of(result: Result) -> float | None:
    """Seconds of one trial, of the run or of its recording; None where unknown."""
    return result.recorded_latency_s if result.latency_s is None else result.latency_s


@dataclass(frozen=True, slots=True)
class LatencyColumn:
    """Latencies in seconds of `n` trials, `timeouts` of them; percentiles in the order of PERCENTS, None: too few.

    `shortest` and `longest` are of the judged ones, which are all in `judged`, ascending, unless nobody needs them.
    """

    n: int
    timeouts: int
    shortest: float | None
    longest: float | None
    percentiles: tuple[Percentile | None, ...]
    judged: Sequence[float] = field(default=(), compare=False, repr=False)

    @property
    def median(self) -> Latency | None:
        """The 50th percentile by nearest rank; None without a latency."""
        return None if self.percentiles[0] is None else self.percentiles[0].value


@dataclass(frozen=True, slots=True)
class LatencyRatio:
    """The latencies of two runs, of warm trials or of cold ones."""

    warmth: str
    base: LatencyColumn
    candidate: LatencyColumn

    @property
    def ratio(self) -> Fraction | None:
        """Median of the candidate over that of the base; None where one is not known, a timeout or 0."""
        above, below = self.candidate.median, self.base.median
        if above is None or below is None or above.censored or below.censored or not below.seconds:
            return None
        return Fraction(above.seconds) / Fraction(below.seconds)


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
    """All that was measured in seconds and tokens; `reloads` are trials that waited for the model to load again."""

    warm: LatencyColumn
    cold: LatencyColumn
    reloads: int
    longest_reload_s: float | None
    tokens: TokenSummary
    attempts: Attempts


class SpeedCount:
    """Measures the trials of a run with these sessions, one after the other."""

    def __init__(self, sessions: Sequence[SessionFacts]) -> None:
        self._latency, self._tokens = LatencyCount(sessions), TokenCount()
        self._cells = self._repeated = self._most = self._retries = 0

    def take(self, result: Result) -> None:
        """One trial."""
        self._latency.take(result.cold, result.error, latency_of(result), result.timings)
        self._tokens.take(result.usage, result.timings)
        self._cells += result.attempts > 0
        self._repeated += result.attempts > 1
        self._most = max(self._most, result.attempts)
        self._retries += result.retries

    def speed(self) -> Speed:
        """What they measured."""
        latency = self._latency
        return Speed(*latency.columns(), latency.reloads, latency.longest_reload_s, self._tokens.tokens(),
                     Attempts(self._cells, self._repeated, self._most, self._retries))


class LatencyCount:
    """Keeps latencies, of warm trials and of cold ones apart; 8 bytes each, and 48 while they are sorted."""

    def __init__(self, sessions: Iterable[SessionFacts]) -> None:
        self._limit = min((one.timeout_s for one in sessions if one.timeout_s is not None), default=None)
        self._warm, self._cold = (array("d"), array("d")), (array("d"), array("d"))
        self.reloads = 0
        self.longest_reload_s: float | None = None

    def take(self, cold: bool, error: ErrorFacts | None, seconds: float | None, timings: Timings | None) -> None:
        """One trial."""
        wait_s = timings.load_s if timings is not None else None
        is_reload = wait_s is not None and wait_s > RELOAD_S
        if wait_s is not None and is_reload:
            self.reloads += 1
            self.longest_reload_s = max(wait_s, self.longest_reload_s or 0.0)
        judged, timeouts = self._cold if cold or is_reload else self._warm
        if error is not None:
            seconds = seconds if self._limit is None else self._limit
        if seconds is not None and math.isfinite(seconds):
            if error is None:
                judged.append(seconds)
            elif error.type == "Timeout":
                timeouts.append(seconds)

    def columns(self) -> tuple[LatencyColumn, LatencyColumn]:
        """The latencies of warm trials, and of cold ones."""
        return _column(*self._warm), _column(*self._cold)


def _column(*taken: array[float]) -> LatencyColumn:
    judged, timeouts = (array("d", sorted(values)) for values in taken)
    sample = Sample(judged, timeouts)
    return LatencyColumn(sample.size, len(timeouts), judged[0] if judged else None, judged[-1] if judged else None,
                         tuple(percentile(sample, percent) for percent in PERCENTS), judged)


class TokenCount:
    """Adds up the tokens of trials whose counts are known."""

    def __init__(self) -> None:
        self._trials = self._output = self._prompt_trials = 0
        self._prompt: int | None = None
        self._cached: int | None = None
        self._timed = self._microseconds = 0

    def take(self, usage: Usage | None, timings: Timings | None) -> None:
        """One trial."""
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
