"""What must be known of a log before its lines can be counted: its end, its last plan, and the damage it names.

A session line names damage that stands before it, and a plan may grow after the trials it holds: so a log is
looked over once for these, and then counted (accounting.py). What does not live here: every other line.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.basics.canonical import is_whole
from benchkit.basics.errors import Unusable
from benchkit.basics.values import Shard
from benchkit.trial_log.lines import Damage, PlanLine, SessionLine
from benchkit.trial_log.raw_lines import LineSource, line_and_place, where_in

# a text inside a line has its quotes escaped, so these never stand in one; inside settings they may
_SESSION, _PLAN = b'"kind":"session"', b'"kind":"plan"'


class NamedDamage:
    """Damage that a session line names: it counts for nothing, and is no reason to refuse the log."""

    def __init__(self, damage: Iterable[Damage]) -> None:
        self.all = tuple(sorted(set(damage)))
        self._gaps = {found.offset for found in self.all if found.length == 0}
        regions = [found for found in self.all if found.length > 0]
        self._starts = [found.offset for found in regions]
        self._ends: list[int] = []
        for found in regions:
            end = found.offset + found.length
            self._ends.append(max(end, self._ends[-1]) if self._ends else end)

    def covers(self, offset: int, length: int) -> bool:
        """Whether the bytes of a line lie wholly in named damage."""
        at = bisect_right(self._starts, offset)
        return at > 0 and offset + length <= self._ends[at - 1]

    def names_gap(self, offset: int) -> bool:
        """Whether a gap before the line at this offset is named."""
        return offset in self._gaps


@dataclass(frozen=True, slots=True)
class Landmarks:
    """`size`: bytes up to the last newline. `plan`: the last one that counts, None if there is none.

    `shard`: the one that all sessions were given; None where they were not given one, or not the same.
    """

    size: int
    lines: int
    has_session: bool
    plan: PlanLine | None
    named: NamedDamage
    shard: Shard | None


def landmarks_of(source: LineSource) -> Landmarks:
    """Look a log over. Raises Unusable for a session line, or a last plan line, that says what it cannot."""
    size = number = 0
    shards: list[Shard | None] = []
    damage: list[Damage] = []
    plans: list[tuple[int, int, int]] = []
    for offset, length, data in source.lines():
        size, number = offset + length, number + 1
        if data is None or not (_SESSION in data or _PLAN in data) or not is_whole(data):
            continue
        if _PLAN in data:
            plans.append((number, offset, length))
        if _SESSION in data:
            where = where_in(source.path, number, offset)
            line, _place = line_and_place(where, data)
            if isinstance(line, SessionLine):
                shards.append(line.shard)
                damage.extend(_named_before(line, where, offset))
    named = NamedDamage(damage)
    shard = shards[0] if len(set(shards)) == 1 else None
    return Landmarks(size, number, bool(shards), _last_plan(source, plans, named), named, shard)


def _named_before(line: SessionLine, where: str, offset: int) -> tuple[Damage, ...]:
    for damage in line.damage:
        if damage.offset + damage.length > offset:
            raise Unusable(f"{where}: damage names bytes that do not stand before it")
    return line.damage


def _last_plan(source: LineSource, plans: list[tuple[int, int, int]], named: NamedDamage) -> PlanLine | None:
    for number, offset, length in reversed(plans):
        if not named.covers(offset, length):
            line, _place = line_and_place(where_in(source.path, number, offset), source.at(offset))
            if isinstance(line, PlanLine):
                return line
    return None
