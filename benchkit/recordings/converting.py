"""A trial log -> a recording of one of its systems. What stands in it follows from the log alone."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.errors import Unusable
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import shown_line
from benchkit.basics.values import Cell
from benchkit.recordings.pieces import SessionFacts
from benchkit.recordings.recording import MOST_HELD, RecordedCase, RecordedTrial, Recording, not_run
from benchkit.trial_log.lines import PlanLine, TrialLine
from benchkit.trial_log.reader import SessionSummary, TrialLog

REQUEST_CHANGED, LINE_DAMAGED = "its request has changed", "its line is damaged"
LOG_ENDS = "the log ends here"
STOPPED = {
    "budget": "the budget ended first", "selection": "only some cases were asked for",
    "interrupted": "stopped by a person", "error": "the run stopped on an error",
}
"""Why what is left is left, by the reason of the last session's stop line."""


def recording_of(log: TrialLog, system: str | None) -> Recording:
    """The recording of one system of a log; None is the only one there is.

    Every planned cell is in it, with its last attempt. Beyond MOST_HELD cells it is read from the log, which stays
    open, whenever its trials are taken. Raises Unusable if nothing is recorded yet, if the log holds several systems
    and none was named, or not the one named.
    """
    plan = log.planned()
    name = system_in(log, system)
    if name not in log.settings:
        raise Unusable(f"{log.path}: nothing recorded yet of {shown_line(name)}; record with bench.py --log")
    return Recording(
        plan.kit, plan.task, plan.split, name, log.settings[name], plan.trials,
        session_facts(log, name), _cases_of(log, plan, name))


def system_in(log: TrialLog, system: str | None) -> str:
    """The name of the system meant: the one given, or the only one. Raises Unusable with those there are."""
    systems = log.planned().systems
    known = ", ".join(shown_line(name) for name in systems)
    if system is None and len(systems) == 1:
        return systems[0]
    if system is None:
        raise Unusable(f"{log.path}: it holds several systems; say which with --system: {known}")
    if system not in systems:
        raise Unusable(f"{log.path}: it holds no {shown_line(system)}, but {known}")
    return system


def session_facts(log: TrialLog, system: str | None = None) -> tuple[SessionFacts, ...]:
    """What is known of each session, in order; in a log of several systems, of those that `system` answered in."""
    sessions = log.begun()
    own = [one for one in sessions if system in one.systems] if len(log.planned().systems) > 1 else []
    return tuple(_session_of(session) for session in own or sessions)


def _session_of(session: SessionSummary) -> SessionFacts:
    line, loaded = session.line, session.loaded
    return SessionFacts(
        line.started_at, line.hardware, line.environment, line.timeout_s, line.budget_s,
        None if loaded is None else loaded.load_s, None if session.stop is None else session.stop.reason,
        None if loaded is None else loaded.context_length)


def _cases_of(log: TrialLog, plan: PlanLine, system: str) -> tuple[RecordedCase, ...]:
    furthest, begun = _furthest(log), _begun(log, plan, system)
    is_held = len(plan.cases) * plan.trials <= MOST_HELD
    made = (_trials_of(log, plan, Cell(system, case.id, 1), furthest) for case in plan.cases)
    return tuple(RecordedCase(case.id, case.ask, tuple(trials) if is_held else trials, begun.get(case.id, begun[None]))
                 for case, trials in zip(plan.cases, made, strict=True))


def _begun(log: TrialLog, plan: PlanLine, system: str) -> dict[str | None, int]:
    """By case, up to which trial it has an attempt; None: up to which trial a line of any case may be damaged."""
    damaged = (_furthest(log) + 1) // (len(plan.cases) * len(plan.systems)) + 1 if log.named or log.harmless else 0
    begun: dict[str | None, int] = {None: damaged}
    for _position, cell in log.attempted():
        if cell.system == system:
            begun[cell.case] = max(begun.get(cell.case, damaged), cell.trial)
    return begun


def _trials_of(log: TrialLog, plan: PlanLine, first: Cell, furthest: int) -> Sequence[RecordedTrial]:
    """The trials of one case, read from the log when they are taken."""
    def read(start: int, stop: int) -> Iterator[RecordedTrial]:
        for number in range(start + 1, stop + 1):
            cell = Cell(first.system, first.case, number)
            yield _recorded(log, log.trial(cell)) if log.is_recorded(cell) else _not_run(log, cell, furthest)

    return OnDemand(plan.trials, read)


def _recorded(log: TrialLog, line: TrialLine) -> RecordedTrial:
    cell, facts = line.cell, log.facts(line.cell)
    return RecordedTrial(
        cell.trial, cell.seed, line.request, line.outcome, line.attempt, facts is not None and facts.is_cold,
        line.slept_s)


def _furthest(log: TrialLog) -> int:
    """The furthest position in the order of running that a damaged log records; -1 where nothing is damaged."""
    is_damaged = log.named or log.harmless
    return max(session.furthest for session in log.sessions) if is_damaged else -1


def why_not_run(log: TrialLog, cell: Cell) -> str:
    """Why a planned cell has no trial that counts, in the words of a recording."""
    return "not run: " + _reason(log, cell, _furthest(log))


def _not_run(log: TrialLog, cell: Cell, furthest: int) -> RecordedTrial:
    return not_run(cell.trial, cell.seed, "not run: " + _reason(log, cell, furthest))


def _reason(log: TrialLog, cell: Cell, furthest: int) -> str:
    if log.is_stale(cell):
        return REQUEST_CHANGED
    position = log.position(cell)
    if position is not None and position < furthest:
        return LINE_DAMAGED
    stop = log.sessions[-1].stop
    return LOG_ENDS if stop is None else STOPPED.get(stop.reason, LOG_ENDS)
