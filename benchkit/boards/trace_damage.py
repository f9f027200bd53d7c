"""What damage of a trace costs: the bytes that no session names yet, and the cells that have to be asked again.

A cell whose trial lost a line of its trace has an answer and not its story; nothing can be judged of it.
What does not live here: damage of the log (trial_log/), and whether the trace holds (trace_check.py).
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.values import Cell
from benchkit.boards.evaluation import counting_keys
from benchkit.boards.trace_events import SegmentKey
from benchkit.boards.trace_reading import FoundDamage, TraceReader, trace_damage_named_by
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class TraceDamage:
    """Whether there is damage that no session line names, and the cells whose trials were lost to any."""

    is_unnamed: bool
    lost: frozenset[Cell]


def damage_of(log: TrialLog, trace: Path) -> TraceDamage:
    """What damage costs the trace beside a log. Raises Unusable for a trace that is not there or holds no events."""
    named = trace_damage_named_by(log)
    unnamed: list[FoundDamage] = []
    whole: dict[SegmentKey, bool] = {}
    reader = TraceReader(trace, named)
    try:
        whole.update((segment.key, not segment.is_cut) for segment in reader.segments(unnamed.append))
    finally:
        reader.close()
    if not unnamed and not named and all(whole.values()):
        return TraceDamage(False, frozenset())
    return TraceDamage(bool(unnamed), frozenset(
        cell for cell, key in counting_keys(log).items() if not whole.get(key)))
