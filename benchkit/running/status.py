"""What a log holds and what is left of its plan, from the log alone.

What does not live here: verdicts; a log knows outputs and errors, not what is right.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.running.plan import cells_of
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of cells, each once, by their last attempt. `left` = planned - outputs - errors."""

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


def status_of(log: TrialLog, system: str | None = None) -> Status:
    """Count the cells of one system, or of all. Raises Unusable for a log without a plan or such a system."""
    if log.plan is None:
        raise Unusable(f"{log.path}: nothing recorded yet")
    if system is not None and system not in log.plan.systems:
        raise Unusable(f"{log.path}: it holds no system {shown_line(system)}; it holds {', '.join(log.plan.systems)}")
    systems = log.plan.systems if system is None else (system,)
    cells = [cell for cell in cells_of(log.plan) if cell.system in systems]
    recorded = [cell for cell in cells if log.is_recorded(cell)]
    errors = Counter(found for cell in recorded if (found := log.error_type(cell)) is not None)
    last = log.sessions[-1]
    return Status(
        name=log.path.name, systems=systems, planned=len(cells), outputs=len(recorded) - errors.total(),
        errors=tuple(sorted(errors.items())), stale=sum(log.is_stale(cell) for cell in cells),
        left=len(cells) - len(recorded), several_attempts=sum(log.attempts(cell) > 1 for cell in recorded),
        sessions=len(log.sessions), last_session=last.line.started_at,
        last_stop=None if last.stop is None else last.stop.reason, damage=len(log.harmless) + len(log.named))


def status_text(status: Status) -> str:
    """The status in words, one fact a line."""
    recorded = status.planned - status.left
    errors = ", ".join(f"{count} {name}" for name, count in status.errors) or "none"
    end = status.last_stop or "none yet: it runs, or it was killed"
    lines = [
        f"{status.name}: {recorded} of {status.planned} planned trials recorded, {status.left} left",
        f"  systems    {', '.join(shown_line(name) for name in status.systems)}",
        f"  outputs    {status.outputs} of {recorded}",
        f"  errors     {errors} (of {recorded})",
        f"  sessions   {status.sessions}, the last begun {status.last_session}; its end: {end}",
    ]
    if status.stale:
        lines.append(f"  changed    {status.stale} recorded cells count as not run: their request has changed")
    if status.several_attempts:
        lines.append(f"  attempts   {status.several_attempts} cells took more than one")
    if status.damage:
        lines.append(f"  damage     {status.damage} places set aside; the cells that stood there run again")
    return "\n".join(lines)
