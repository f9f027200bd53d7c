"""A new log without the damaged lines of an old one.

Lines that count are written anew, since offsets and numbers of lines change: sessions name no damage any more,
and `n` has no gaps. What a trial line says stays the same. What does not live here: changing a log in place.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchkit.disk.whole_files import write_new
from benchkit.trial_log.lines import Line, Place, SessionLine, TrialLine, bytes_of
from benchkit.trial_log.reader import TrialLog


def export_clean(log: TrialLog, path: Path | str) -> None:
    """Write the lines of `log` that count to a new log at `path`.

    A session whose first line is lost goes on in the one before it. Raises Unusable if something stands at the
    path already, or nothing is recorded; Surroundings if it cannot be written.
    """
    log.planned()
    log.begun()
    write_new(path, _clean_lines(log))


def _clean_lines(log: TrialLog) -> Iterator[bytes]:
    """The lines that count, closed again, beginning with the first session."""
    first = log.sessions[0]
    yield bytes_of(_clean(first.line), Place(first.id, 0))
    counts = {session.id: 0 for session in log.sessions}
    counts[first.id], current = 1, first.id
    for line, place in log.lines_that_count():
        if _is_left_out(log, line) or place == Place(first.id, 0):
            continue
        current = place.session if place.session in counts else current
        yield bytes_of(_clean(line), Place(current, counts[current]))
        counts[current] += 1


def _clean(line: Line) -> Line:
    return replace(line, damage=()) if isinstance(line, SessionLine) else line


def _is_left_out(log: TrialLog, line: Line) -> bool:
    # the plan that held this trial is lost, and a log may not hold what it does not plan
    return isinstance(line, TrialLine) and log.position(line.cell) is None
