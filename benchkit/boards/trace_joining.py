"""Several traces -> the trace beside the log that their logs were merged into.

Each trace is read through once, in the order in which the merged log took the logs over, so that trials stand in the
trace as they stand in the log. A trial that the merged log took from another log is left out, and so is one that damage
took a line of, in the trace or in the log. What no log has a line of goes along as it stands else: a trial that was cut
off stays abandoned, and one whose line was taken out of its log stays a violation.
What does not live here: merging the logs (trial_log/merging.py), and whether a trace holds (trace_check.py).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from benchkit.boards.trace_events import SegmentKey, event_bytes
from benchkit.boards.trace_reading import Segment, TraceReader, trace_damage_named_by, trial_keys
from benchkit.trial_log.lines import Damage
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class Part:
    """One trace up to a size, the trials that the log beside it has lines of, and the damage that its sessions name.

    `whole` are the sessions of a damaged log that lost no line; None where the log is not damaged.
    """

    trace: Path
    size: int
    keys: frozenset[SegmentKey]
    named: tuple[Damage, ...]
    whole: frozenset[str] | None

    def explains(self, segment: Segment) -> bool:
        """Whether damage took a line of this trial, in the trace, or in the log its own."""
        return segment.is_cut or (
            self.whole is not None and segment.key not in self.keys and segment.key.session not in self.whole)


def part_of(log: TrialLog, trace: Path, size: int) -> Part:
    """The trace beside a log, as the log knows it; `size` was taken before the log was read, for both may grow."""
    whole = _whole_sessions(log) if log.named else None
    return Part(trace, size, frozenset(trial_keys(log)), trace_damage_named_by(log), whole)


def _whole_sessions(log: TrialLog) -> frozenset[str]:
    found, last = Counter[str](), dict[str, int]()
    for _line, place in log.lines_that_count():
        found[place.session] += 1
        last[place.session] = place.n
    return frozenset(session for session in found if found[session] == last[session] + 1)


def joined_traces(parts: Sequence[Part], merged: TrialLog) -> Iterator[bytes]:
    """The lines of the trace beside the merged log. Raises Unusable for a trace that is not there, or is damaged."""
    places = {key: place for place, key in enumerate(trial_keys(merged))}
    owners: dict[SegmentKey, Part] = {}
    for part in sorted(parts, key=lambda part: min((places[key] for key in part.keys & places.keys()), default=0)):
        yield from _lines_of(part, parts, places.keys(), owners)


def _lines_of(
    part: Part, parts: Sequence[Part], kept: Set[SegmentKey], owners: dict[SegmentKey, Part],
) -> Iterator[bytes]:
    reader = TraceReader(part.trace, part.named)
    try:
        for segment in reader.segments(end=part.size):
            key = segment.key
            is_kept = key in part.keys if key in kept else not any(key in one.keys for one in parts)
            if is_kept and not part.explains(segment) and owners.setdefault(key, part) is part:
                yield from map(event_bytes, segment.events)
    finally:
        reader.close()
