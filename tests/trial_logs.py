"""Logs for tests: made line by line as bytes, or by the writer with a sync that costs nothing."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchkit.basics.json_text import request_of, short_digest
from benchkit.basics.values import JSON, Cell, ErrorFacts, Failure, Outcome, Reply, TaskName, Timings, Usage
from benchkit.disk.appending import DiskCalls
from benchkit.trial_log.lines import (
    Line,
    LinePosition,
    LoadedLine,
    PlanLine,
    PlannedCase,
    SessionLine,
    StopLine,
    SystemLine,
    TrialLine,
    bytes_of,
)

STAMP = "2026-11-30T12:00:00.000Z"
SYSTEM = "model_triage:gemma"
SETTINGS: dict[str, JSON] = {"model": "gemma4:e2b", "options": {"temperature": 1.0}}
CASES = ("mail-1", "mail-2", "mail-3")
NO_SYNC = DiskCalls(sync=lambda fd: None, sync_folder=lambda path: None)
SESSION_A, SESSION_B, SESSION_C = "a" * 16, "b" * 16, "c" * 16


def ask(case: str) -> str:
    """The ask of a case of these tests."""
    return short_digest({"case": case})


def session_line(pid: int = 4711) -> SessionLine:
    """The first line of a session."""
    return SessionLine(STAMP, "a desk, 8 GB", {"python": "3.11.7", "server": None}, 120.0, 30.0, pid)


def plan_line(
    cases: Sequence[str] = CASES, trials: int = 2, systems: Sequence[str] = (SYSTEM,), changed: str = "",
) -> PlanLine:
    """A plan; the case named by `changed` is asked something else than in other plans."""
    planned = tuple(PlannedCase(case, ask(case + "!" if case == changed else case)) for case in cases)
    return PlanLine("1.0.0", TaskName("triage_task", "inbox", "1"), "development", planned, trials, tuple(systems))


def reply(output: str = "{}") -> Reply:
    """A whole answer."""
    return Reply(output, "stop", None, Usage(120, 40), Timings(0.0, 0.2, 0.8, 0.25, 0.0), 1.234567)


def failure(error_type: str = "Timeout") -> Failure:
    """A trial without a whole answer."""
    return Failure(ErrorFacts(error_type, "no whole reply within 120 s", "half a"), 120.0, 1, 0.5)


def trial_line(
    case: str = CASES[0], trial: int = 1, *, outcome: Outcome | None = None, attempt: int = 1, system: str = SYSTEM,
    asked: str = "",
) -> TrialLine:
    """A trial whose request is that of the case's ask (or of the ask of `asked`)."""
    cell = Cell(system, case, trial)
    request = request_of(ask(asked or case), SETTINGS, cell.seed)
    return TrialLine(cell, attempt, request, STAMP, outcome or reply(f"{case} {trial}"))


class Lines:
    """The bytes of a log, line by line, in the sessions they are put in."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._session, self._n = SESSION_A, 0

    def begin(self, session: str = SESSION_A, line: SessionLine | None = None) -> Lines:
        """Begin a session."""
        self._session, self._n = session, 0
        return self.add(line or session_line())

    def add(self, *lines: Line) -> Lines:
        """Add lines to the session."""
        for line in lines:
            self.lines.append(bytes_of(line, LinePosition(self._session, self._n)))
            self._n += 1
        return self

    def offset(self, index: int) -> int:
        """Where a line begins."""
        return sum(map(len, self.lines[:index]))

    def __bytes__(self) -> bytes:
        return b"".join(self.lines)


def started(session: str = SESSION_A) -> Lines:
    """A session with its plan, its system and its load: lines 0 to 3."""
    return Lines().begin(session).add(plan_line(), SystemLine(SYSTEM, SETTINGS), LoadedLine(3.5, 4096))


def complete() -> Lines:
    """All cells of the plan (lines 4 to 9) and the stop line (10)."""
    lines = started()
    for trial in (1, 2):
        lines.add(*(trial_line(case, trial) for case in CASES))
    return lines.add(StopLine("complete", STAMP))


def cells(trials: int = 2, cases: Sequence[str] = CASES) -> list[Cell]:
    """All cells of the plan, in its order."""
    return [Cell(SYSTEM, case, trial) for trial in range(1, trials + 1) for case in cases]


def written(path: Path, data: bytes) -> Path:
    """A log with these bytes."""
    path.write_bytes(data)
    return path


def altered(line: bytes, change: Callable[[bytes], bytes] | None = None) -> bytes:
    """A line of which one byte is another."""
    return change(line) if change else line[:20] + bytes([line[20] ^ 1]) + line[21:]
