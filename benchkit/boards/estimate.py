"""What is still to come: usage of the cells done times the cells to go, and how sure that is. Pure."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchkit.basics.values import Outcome, Reply
from benchkit.statistics.intervals import two_sided_z


@dataclass(frozen=True, slots=True)
class CellCost:
    """What one cell took; None is unknown. `seconds` is the last request and the waiting before it."""

    prompt_tokens: int | None
    output_tokens: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The sum over the cells to go. `cells` is how many it is made from, `spread` their standard deviation.

    `low` and `high` hold the sum with 95 % if the cells to go are as those done; None with fewer than 2 cells.
    """

    cells: int
    mean: float
    spread: float | None
    total: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one system still has to do. A forecast is None where no cell done tells that figure."""

    system: str
    done: int
    to_go: int
    prompt_tokens: Forecast | None
    output_tokens: Forecast | None
    seconds: Forecast | None


def cost_of(outcome: Outcome) -> CellCost:
    """What a recorded cell took. A failure has no usage: its tokens are unknown, not none."""
    seconds = None if outcome.latency_s is None else outcome.latency_s + outcome.waited_s
    if isinstance(outcome, Reply):
        return CellCost(outcome.usage.prompt_tokens, outcome.usage.output_tokens, seconds)
    return CellCost(None, None, seconds)


def estimate(system: str, done: Sequence[CellCost], to_go: int) -> Estimate:
    """What the cells to go of a system will take, by those done."""
    return Estimate(
        system, len(done), to_go, forecast([one.prompt_tokens for one in done], to_go),
        forecast([one.output_tokens for one in done], to_go), forecast([one.seconds for one in done], to_go))


def forecast(values: Sequence[float | None], to_go: int) -> Forecast | None:
    """The sum of `to_go` more values like these; None if none is known.

    The interval is total +- z s sqrt(m + m^2 / n) for m to go after n: the cells to go scatter, and so does the
    mean of those done. It is too narrow where n is below about 20, for z stands in the place of Student's t.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = math.fsum(known) / len(known)
    total = mean * to_go
    if len(known) < 2:
        return Forecast(len(known), mean, None, total, None, None)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1))
    half = two_sided_z(0.95) * spread * math.sqrt(to_go + to_go ** 2 / len(known))
    return Forecast(len(known), mean, spread, total, max(0.0, total - half), total + half)


def in_words(one: Estimate) -> str:
    """One line: `model_triage:gemma: 12 cells done, 36 to go: about 8,400 prompt tokens (8,100 to 8,700), ...`."""
    start = f"{one.system}: {one.done} {_cells(one.done)} done, {one.to_go} to go"
    if not one.to_go:
        return f"{start}: nothing is left"
    if not one.done:
        return f"{start}: nothing is known yet; run one cell with --limit 1"
    parts = [_forecast_in_words(found, unit) for found, unit in (
        (one.prompt_tokens, "prompt tokens"), (one.output_tokens, "output tokens"), (one.seconds, "s"))]
    return f"{start}: {', '.join(parts)}; {_how_sure(one)}"


def _forecast_in_words(found: Forecast | None, unit: str) -> str:
    if found is None:
        return f"{unit} unknown" if unit != "s" else "time unknown"
    interval = "" if found.low is None or found.high is None else f" ({_whole(found.low)} to {_whole(found.high)})"
    return f"{'' if 0 < found.total < 1 else 'about '}{_whole(found.total)} {unit}{interval}"


def _whole(value: float) -> str:
    return "under 1" if 0 < value < 1 else f"{value:,.0f}"


def _how_sure(one: Estimate) -> str:
    cells = max(found.cells if found else 0 for found in (one.prompt_tokens, one.output_tokens, one.seconds))
    if cells == 0:
        return "no cell done tells anything"
    if cells == 1:
        return "one cell tells no spread: it may be far off"
    return f"by {cells} cells" + (", which is few: it may be off by more" if cells < 20 else "")


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"
