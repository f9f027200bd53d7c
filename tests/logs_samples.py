"""Small trial logs, written by the kit's own writer, for the tests of what is made of a log."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchkit.basics.json_text import close_line, request_of
from benchkit.basics.values import JSON, Case, Cell, Outcome
from benchkit.tasks.task import Task, prompt_of
from benchkit.trial_log.lines import (
    LoadedLine,
    PlanLine,
    PlannedCase,
    SessionLine,
    StopLine,
    SystemLine,
    TrialLine,
)
from benchkit.trial_log.writer import LogWriter
from tests.recordings_samples import SETTINGS
from tests.trial_logs import NO_SYNC

SYSTEM = "toys:robot"
STARTED, ENDED = "2026-11-30T12:00:00.000Z", "2026-11-30T12:01:00.000Z"
ENVIRONMENT: Mapping[str, JSON] = {"processor": "a chip", "platform": "an OS", "server": "toy", "python": "3"}


class Session:
    """One session on a log: `with Session(path, task, cases, trials=2) as session: session.trial(...)`."""

    def __init__(
        self, path: Path, task: Task, cases: Sequence[Case], trials: int, systems: Sequence[str] = (SYSTEM,),
        settings: Mapping[str, JSON] = SETTINGS,
    ) -> None:
        self.asks = {case.id: prompt_of(task, case).ask for case in cases}
        self.settings = settings
        planned = tuple(PlannedCase(name, ask) for name, ask in self.asks.items())
        self.plan = PlanLine("1.0.0", task.title, cases[0].split, planned, trials, tuple(systems))
        self.writer = LogWriter.open(path, calls=NO_SYNC)

    def __enter__(self) -> Session:
        before = self.writer.read()
        self.writer.begin(SessionLine(STARTED, None, ENVIRONMENT, 120.0, None, 1))
        if before.plan != self.plan:
            self.writer.write(self.plan)
        for system in self.plan.systems:
            if before.settings.get(system) != self.settings:
                self.writer.write(SystemLine(system, self.settings))
        self.writer.write(LoadedLine(1.5))
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.close()

    def trial(self, case: str, trial: int, outcome: Outcome, attempt: int = 1, system: str = SYSTEM) -> None:
        """Record one trial."""
        cell = Cell(system, case, trial)
        request = request_of(self.asks[case], self.settings, cell.seed)
        self.writer.write(TrialLine(cell, attempt, request, STARTED, outcome))

    def stop(self, reason: str) -> None:
        """End in order."""
        self.writer.write(StopLine(reason, ENDED))


def put_log(
    path: Path, task: Task, cases: Sequence[Case], outcomes: Mapping[str, Sequence[Outcome | None]],
    stop: str | None = "complete",
) -> Path:
    """A log of one session, trial-major; None did not run."""
    trials = len(next(iter(outcomes.values())))
    with Session(path, task, cases, trials) as session:
        for trial in range(trials):
            for case in cases:
                outcome = outcomes[case.id][trial]
                if outcome is not None:
                    session.trial(case.id, trial + 1, outcome)
        if stop is not None:
            session.stop(stop)
    return path


def altered(path: Path, number: int, **fields: JSON) -> None:
    """Change fields of the line of that number (from 0), and close the line again."""
    lines = path.read_bytes().splitlines(keepends=True)
    value = json.loads(lines[number])
    value.pop("sum")
    lines[number] = close_line({**value, **fields})
    path.write_bytes(b"".join(lines))


def broken(path: Path, number: int) -> None:
    """Change one byte in the middle of the line of that number (from 0)."""
    lines = path.read_bytes().splitlines(keepends=True)
    line = bytearray(lines[number])
    line[len(line) // 2] ^= 1
    lines[number] = bytes(line)
    path.write_bytes(b"".join(lines))
