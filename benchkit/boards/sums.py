"""What the steps of one trial took together: tokens, seconds, retries.

Seconds are rounded to 6 digits before they are added, as they stand in the trace: so whoever adds them up again
comes to the same figure. What is unknown of one step is unknown of their sum.
What does not live here: what was billed for tools (game.py), and usage over many trials.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from benchkit.basics.values import Outcome, Reply, Timings, Usage
from benchkit.trial_log.parts import rounded


@dataclass(frozen=True, slots=True)
class Bill:
    """What the requests of a trial took. None is unknown, never zero."""

    usage: Usage
    timings: Timings
    latency_s: float | None
    retries: int
    waited_s: float


def bill_of(steps: Sequence[Outcome]) -> Bill:
    """The sums over the steps of a trial; a step that brought no reply has no known usage or timings."""
    usages = [step.usage if isinstance(step, Reply) else Usage() for step in steps]
    timings = [step.timings if isinstance(step, Reply) else Timings() for step in steps]
    return Bill(
        Usage(*(_sum(getattr(one, field.name) for one in usages) for field in fields(Usage))),
        Timings(*(_seconds(getattr(one, field.name) for one in timings) for field in fields(Timings))),
        _seconds(step.latency_s for step in steps), sum(step.retries for step in steps),
        _seconds(step.waited_s for step in steps) or 0.0)


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _seconds(values: Iterable[float | None]) -> float | None:
    known = [rounded(value) for value in values]
    return None if None in known else rounded(sum(value for value in known if value is not None))
