"""How much longer the candidate takes, and on which hardware each run was measured."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.figures import seconds
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, latency_columns
from benchkit.statistics.percentiles import Latency

NOT_SAID = "not said"
COLD = "cold: the first of its case in a session, or one that waited for the model to load"


def measured_on(sessions: Sequence[SessionFacts]) -> str:
    """The hardware that gave the latencies, for what else ran there is part of them; empty if nobody said."""
    return hardware_of(sessions) if any(session.hardware for session in sessions) else ""


def hardware_of(sessions: Iterable[SessionFacts]) -> str:
    """The hardware of all sessions, each kind once; NOT_SAID stands for those that do not name theirs."""
    return ", ".join(dict.fromkeys(session.hardware or NOT_SAID for session in sessions)) or NOT_SAID


def limits_of(session: SessionFacts) -> tuple[str, ...]:
    """The limits a session was given: `budget 30.00 s`, `timeout 120 s`."""
    limits = (("budget", session.budget_s), ("timeout", session.timeout_s))
    return tuple(f"{name} {seconds(value)} s" for name, value in limits if value is not None)


def ending_of(session: SessionFacts) -> str:
    """How a session ended, in one word, or that it does not say."""
    return session.stop or "no word of it"


WARMTHS = ("warm", "cold")


@dataclass(frozen=True, slots=True)
class LatencyRatio:
    """The latencies of both sides; `warmth` is one of WARMTHS."""

    warmth: str
    base: LatencyColumn
    candidate: LatencyColumn

    @property
    def ratio(self) -> Fraction | None:
        """Median of the candidate over that of the base; None where one is not known, a timeout or 0."""
        above, below = median_of(self.candidate), median_of(self.base)
        if above is None or below is None or above.censored or below.censored or not below.seconds:
            return None
        return Fraction(above.seconds) / Fraction(below.seconds)


def latency_ratios(base: RunReport, candidate: RunReport, common: Collection[str]) -> tuple[LatencyRatio, ...]:
    """Warm and cold, each only where both sides have a latency."""
    sides = zip(WARMTHS, _columns(base, common), _columns(candidate, common), strict=True)
    return tuple(LatencyRatio(warmth, one, other) for warmth, one, other in sides if one.n and other.n)


def median_of(column: LatencyColumn) -> Latency | None:
    """The 50th percentile by nearest rank; None without a latency."""
    found = column.percentiles[0]
    return None if found is None else found.value


def machines_differ(base: RunRecord, candidate: RunRecord) -> bool:
    """Whether the sessions of the two name another hardware, processor, platform or server."""
    return _machines(base) != _machines(candidate)


def _machines(record: RunRecord) -> set[tuple[object, ...]]:
    names = ("processor", "platform", "server")
    return {(one.hardware, *(str(one.environment.get(name)) for name in names)) for one in record.sessions}


def _columns(run: RunReport, common: Collection[str]) -> tuple[LatencyColumn, LatencyColumn]:
    if len(common) == len(run.cases):
        return run.speed.warm, run.speed.cold
    kept, record = set(common), run.record
    warm, cold = latency_columns(
        (result for place, case in enumerate(record.cases) if case.id in kept for result in record.results_of(place)),
        record.sessions)
    return replace(warm, judged=()), replace(cold, judged=())
