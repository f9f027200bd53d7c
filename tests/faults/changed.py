"""What goes on around a writer: its file is removed, replaced, moved, grown or cut; no locks; a clock that jumps."""
from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.found import Found, Part, Turn, one_in
from tests.faults.oracle import bytes_of, grown, lost, whole_lines
from tests.faults.scene import Arrival, Scene, scene
from tests.workflow import typed

OTHER = b"bytes of somebody else\n"


def _removed(log: Path) -> None:
    os.unlink(log)


def _replaced(log: Path) -> None:
    other = log.with_name("other")
    other.write_bytes(OTHER)
    os.replace(other, log)


def _moved(log: Path) -> None:
    os.rename(log, log.with_name("moved.jsonl"))


def _grown(log: Path) -> None:
    with log.open("ab") as file:
        file.write(OTHER)


def _cut(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 1)


CHANGES: tuple[Callable[[Path], None], ...] = (_removed, _replaced, _moved, _grown, _cut)
WORDS = {"_grown": "was changed by another program", "_cut": "was changed by another program"}


def log_changed(turn: Turn) -> Found:
    """The log is removed, replaced, moved, grown or cut under a running bench.py: it stops, and touches nothing."""
    change = CHANGES[turn.number % len(CHANGES)]
    at = turn.dice.randint(2, 9)
    left: list[bytes] = []
    with scene(turn.folder) as one:
        def arrived(arrival: Arrival) -> None:
            if arrival.number == at:
                change(one.log)
                left.append(bytes_of(one.log))
        one.on_arrival = arrived
        told = one.run(*one.flags, "--quiet")
        one.on_arrival = lambda arrival: None
        one.expect_told(told, 3, WORDS.get(change.__name__, "was removed or replaced"))
        one.expect(bytes_of(one.log) == left[0], f"{change.__name__}: the file was written all the same")
        if change is _moved:
            _check_moved(one)
        if change is _grown:
            _check_grown(one)
        return Found(1, len(one.acknowledged), tuple(one.problems))


def _check_moved(one: Scene) -> None:
    """A log goes on where it is now."""
    os.rename(one.log.with_name("moved.jsonl"), one.log)
    one.goes_on("a log that was moved, and back")


def _check_grown(one: Scene) -> None:
    """Foreign bytes at the end are set aside by name, and nothing before them is lost."""
    one.goes_on("a log with foreign bytes at its end")


def no_locks(turn: Turn) -> Found:
    """A file system without locks: refused in a line before anything is asked; the log stays as it is."""
    with scene(turn.folder) as one:
        typed(["bench.py", *one.flags, "--limit", "4"])
        before, asked = bytes_of(one.log), one.calls()
        told = one.run(*one.flags, "--quiet", bends=("no_locks",))
        one.expect_told(told, 3, "cannot be locked", "No locks available")
        one.expect(bytes_of(one.log) == before, "the log was written without a lock")
        one.expect(one.calls() == asked, "the model was asked without a lock")
        one.goes_on("a disk without locks")
        return Found(1, len(one.acknowledged), tuple(one.problems))


def jumping_clock(turn: Turn) -> Found:
    """The wall clock jumps ahead and back all the time: order, durations and the budget do not care."""
    with scene(turn.folder) as one:
        told = one.run(*one.flags, "--quiet", "--budget-s", "60", bends=("jumping_clock",))
        one.expect_told(told, 0)
        data = bytes_of(one.log)
        for line in whole_lines(data):
            latency = line.get("latency_s") or 0.0
            one.expect(0.0 <= latency < 60.0, f"a latency of {latency} s")
        one.problems += lost(one.acknowledged, data, "with a clock that jumps")
        one.goes_on("a clock that jumps")
        one.problems += grown(data, bytes_of(one.log), "with a clock that jumps")
        recording = json.loads(one.recording.read_bytes())
        one.expect(len(recording["sessions"]) == 1, "a run that was complete has another session")
        return Found(1, len(one.acknowledged), tuple(one.problems))


CHANGED = (
    Part("log changed under a writer", "removed, replaced, moved, grown, cut",
         lambda rounds: max(min(rounds, 5), rounds // 15), log_changed),
    Part("no locks", "a file system without locks", one_in(100), no_locks),
    Part("jumping clock", "the wall clock jumps ahead and back", one_in(100), jumping_clock))
