"""What a log holds and what is left of its plan, from the log alone.

What does not live here: verdicts; a log knows outputs and errors, not what is right.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line, word_for
from benchkit.basics.values import Cell, Shard
from benchkit.running.plan import cells_of, size_of
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of cells, each once, by their last attempt. `left` = planned - outputs - errors.

    `rounds`: how many trials, from the first one on, every case has been through.
    The log of a shard counts the cells of its own part of the plan.
    """

    name: str
    systems: tuple[str, ...]
    planned: int
    outputs: int
    errors: tuple[tuple[str, int], ...]
    stale: int
    left: int
    several_attempts: int
    sessions: int
    last_session: str
    last_stop: str | None
    damage: int
    shard: Shard | None = None
    rounds: int = 0


def status_of(log: TrialLog, system: str | None = None) -> Status:
    """Count the cells of one system, or of all. Raises Unusable for a log without a plan or such a system."""
    plan = log.planned()
    if system is not None and system not in plan.systems:
        raise Unusable(f"{log.path}: it holds no system {shown_line(system)}; it holds {', '.join(plan.systems)}")
    systems = plan.systems if system is None else (system,)
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    of_trial: Counter[int] = Counter()
    for position, cell in log.attempted():
        if cell.system in systems and _is_of(log.shard, position):
            counts["stale"] += log.is_stale(cell)
            if log.is_recorded(cell):
                counts["recorded"] += 1
                of_trial[cell.trial] += 1
                counts["several"] += log.attempts(cell) > 1
                errors.update(_error_of(log, cell))
    last, planned = log.begun()[-1], _planned(log, plan, systems)
    return Status(
        name=log.path.name, systems=systems, planned=planned, outputs=counts["recorded"] - errors.total(),
        errors=tuple(sorted(errors.items())), stale=counts["stale"],
        left=planned - counts["recorded"], several_attempts=counts["several"],
        sessions=len(log.sessions), last_session=last.line.started_at,
        last_stop=None if last.stop is None else last.stop.reason, damage=len(log.harmless) + len(log.named),
        shard=log.shard, rounds=sum(1 for _ in takewhile(
            lambda trial: of_trial[trial] == len(plan.cases) * len(systems), range(1, plan.trials + 1))))


def _is_of(shard: Shard | None, position: int) -> bool:
    """Whether a position of the plan is one of a shard's."""
    return shard is None or position % shard.of == shard.index - 1


def _planned(log: TrialLog, plan: PlanLine, systems: Collection[str]) -> int:
    """How many cells are planned for these systems; those of all are not gone through, for there may be millions."""
    if len(systems) == len(plan.systems):
        return size_of(plan, log.shard)
    return sum(cell.system in systems for cell in cells_of(plan, log.shard))


def _error_of(log: TrialLog, cell: Cell) -> list[str]:
    found = log.error_type(cell)
    return [] if found is None else [found]


def status_text(status: Status) -> str:
    """The status in words, one fact a line."""
    recorded = status.planned - status.left
    errors = ", ".join(f"{count} {name}" for name, count in status.errors) or "none"
    end = status.last_stop or "none yet: it runs, or it was killed"
    lines = [
        f"{status.name}: {recorded} of {status.planned} {word_for(status.planned, 'planned trial')}"
        f"{f' of shard {status.shard}' if status.shard else ''} recorded, {status.left} left",
        f"  systems    {', '.join(shown_line(name) for name in status.systems)}",
        f"  outputs    {status.outputs} of {recorded}",
        f"  errors     {errors} (of {recorded})",
        f"  sessions   {status.sessions}, the last begun {status.last_session}; its end: {end}",
    ]
    if status.stale:
        lines.append(f"  changed    {status.stale}: recorded, but their request has changed, so they run again")
    if status.several_attempts:
        lines.append(f"  attempts   more than one at {status.several_attempts}")
    if status.damage:
        lines.append(f"  damage     {status.damage}: set aside; the trials that stood there run again")
    return "\n".join(lines)
