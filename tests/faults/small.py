"""Recording in this process, by the kit's own session: a robot answers, and the disk is whatever a test wants.

Thousands of runs a minute, for faults at every byte and every write.
"""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from benchkit.disk import appending
from benchkit.disk.appending import DiskCalls
from benchkit.running.engine import Observer
from benchkit.running.plan import Assignment, RemainingWork
from benchkit.running.session import record
from benchkit.running.workload import log_at
from benchkit.trial_log.lines import TrialLine
from tests.faults.oracle import Place, Said, trials_in
from tests.running_samples import Robot, context, order

NO_SYNC = DiskCalls(sync=lambda fd: None, sync_folder=lambda path: None)


@dataclass
class Listener:
    """Who is told what is recorded: the cells that may never be lost again."""

    told: list[Place] = field(default_factory=list)

    def starts(self, assignment: Assignment) -> None:
        """Nothing."""

    def recorded(self, line: TrialLine) -> None:
        """Keep what was told."""
        self.told.append(Place(line.cell.system, line.cell.case, line.cell.trial))

    def watching(self, ahead: RemainingWork) -> AbstractContextManager[Observer]:
        """This, as a session wants it."""
        return nullcontext(self)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run in this process: the cells that were asked, and those that were told to be recorded."""

    asked: int
    told: tuple[Place, ...]


def record_on(log: Path, calls: DiskCalls = NO_SYNC, listener: Listener | None = None, trials: int = 1) -> Recorded:
    """Record two cases into a log, on a disk of these calls. What the disk raises passes through."""
    robot, listener = Robot(), listener or Listener()
    with mock.patch.object(appending, "DiskCalls", return_value=calls):
        record(order(log, robot, trials=trials), log_at(log), context(), listener.watching)
    return Recorded(sum(call[:1] in "ab" for call in robot.calls), tuple(listener.told))


def wanted_from(log: Path) -> dict[Place, Said]:
    """What the trials of a log say."""
    return {place: said for place, _attempt, said in trials_in(log.read_bytes())}


def put(path: Path, data: bytes) -> None:
    """A file with these bytes, made anew: some file systems sync one that is cut and written again."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
