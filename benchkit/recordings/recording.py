"""A recording: every planned cell of one system of a log, with what came of it; made of the log, written and read.

What stands in it follows from the log alone.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchkit.basics import fields as types
from benchkit.basics.command import shell_word
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import lines_of_list, on_one_line, pieces_of_file, pieces_of_list, text_of
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import first_alike, shown_line
from benchkit.basics.values import JSON, Cell, ErrorFacts, Failure, Outcome, Reply, TaskName
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import read_json, refuse_other, same_bytes, write_whole
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import SessionSummary, TrialLog
from benchkit.trial_log.schema import (
    ERROR_FIELDS,
    NULL,
    RECORDED_REPLY,
    RECORDING,
    SESSION_FIELDS,
    TASK,
    TRIAL_FIELDS,
    TRIAL_NUMBER,
    Field,
    FieldTable,
    check_seed,
    error_in,
    fields_in,
    inner,
    list_of,
)

RECORDING_VERSION = 2
"""Version 1 said the same, indented, a value a line; it is read as this one is."""
RECORDED_ERRORS = tuple(word for word in ERROR_TYPES if word not in ("NotRun", "CheckError"))
"""What a trial that ran can have ended in; a check is never run before a recording is judged."""
MOST_HELD = 20_000
"""So many trials (some 50 MB) are kept in memory rather than read again."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """One session of a log: where, how long, and how it ended (`stop` None: no word of it).

    `context_length` is in tokens, as served once the model was loaded; None: the server did not say.
    """

    started_at: str
    hardware: str | None
    environment: Mapping[str, JSON]
    timeout_s: float | None
    budget_s: float | None
    load_s: float | None
    stop: str | None
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """The last attempt of one cell. A cell that did not run has no request, no attempts, and a `NotRun`."""

    trial: int
    seed: int
    request: str | None
    outcome: Outcome
    attempts: int
    cold: bool
    slept_s: float | None = None

    @property
    def is_run(self) -> bool:
        """Whether the trial was started and something came of it."""
        return isinstance(self.outcome, Reply) or self.outcome.error.type != "NotRun"


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """One planned case: its trials 1 to K, in order; those of a large recording are read whenever they are taken.

    `begun`: so many of them have to be looked at, and none of the others ran, for one and the same reason; None: all.
    """

    id: str
    ask: str
    trials: Sequence[RecordedTrial]
    begun: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Recording:
    """All of a log that one system's verdicts can follow from. `kit` and `task` are those of the plan."""

    kit: str
    task: TaskName
    split: str
    system: str
    settings: Mapping[str, JSON]
    trials: int
    sessions: tuple[SessionFacts, ...]
    cases: tuple[RecordedCase, ...]


def not_run(trial: int, seed: int, message: str) -> RecordedTrial:
    """The cell of a trial that did not run, and why."""
    return RecordedTrial(trial, seed, None, Failure(ErrorFacts("NotRun", message)), 0, False)


# ------------------------------------------------------------------------------------------- from a log

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
            found = log.recorded(cell)
            if found is None:
                yield not_run(cell.trial, cell.seed, f"not run: {_reason(log, cell, furthest)}")
            else:
                line, facts = found
                yield RecordedTrial(cell.trial, cell.seed, line.request, line.outcome, line.attempt, facts.is_cold,
                                    line.slept_s)

    return OnDemand(plan.trials, read)


def _furthest(log: TrialLog) -> int:
    """The furthest position in the order of running that a damaged log records; -1 where nothing is damaged."""
    is_damaged = log.named or log.harmless
    return max(session.furthest for session in log.sessions) if is_damaged else -1


def why_not_run(log: TrialLog, cell: Cell) -> str:
    """Why a planned cell has no trial that counts, in the words of a recording."""
    return f"not run: {_reason(log, cell, _furthest(log))}"


def _reason(log: TrialLog, cell: Cell, furthest: int) -> str:
    if log.is_stale(cell):
        return REQUEST_CHANGED
    position = log.position(cell)
    if position is not None and position < furthest:
        return LINE_DAMAGED
    stop = log.sessions[-1].stop
    return LOG_ENDS if stop is None else STOPPED.get(stop.reason, LOG_ENDS)


# ------------------------------------------------------------------------------------------- fields

def _recorded_trial(
    trial: int, seed: int, request: str, attempts: int, retries: int, cold: bool, recorded_latency_s: float | None,
    slept_s: float | None = None, error: ErrorFacts | None = None, **answer: Any,
) -> RecordedTrial:
    outcome = Reply(latency_s=recorded_latency_s, retries=retries, **answer) if error is None else (
        Failure(error, recorded_latency_s, retries))
    return RecordedTrial(trial, seed, request, outcome, attempts, cold, slept_s)


def _check_trial(trial: RecordedTrial, place: str) -> None:
    check_seed(trial.trial, trial.seed, place)


_AT = {"recorded_latency_s": "outcome.latency_s", **{name: f"outcome.{name}" for name in (
    "error", "retries", "usage", "timings", "finish", "output", "reasoning")}}
_REPLY = FieldTable(_recorded_trial, RECORDED_REPLY, at=_AT, rule=_check_trial)
_FAILURE = FieldTable(_recorded_trial, fields_in(
    TRIAL_FIELDS, RECORDING, ("finish", "output", "reasoning"), error=error_in(RECORDED_ERRORS), usage=NULL,
    timings=NULL), at=_AT, rule=_check_trial)
_NOT_RUN = FieldTable(
    lambda trial, seed, error: not_run(trial, seed, error.message),
    fields_in((one for one in TRIAL_FIELDS if one.name in ("trial", "seed", "error")), RECORDING,
              error=inner(FieldTable(ErrorFacts, ERROR_FIELDS[:2]))), at=_AT, rule=_check_trial)
SESSIONS = list_of(FieldTable(SessionFacts, fields_in(SESSION_FIELDS, RECORDING)), "a list of at least one", bool)
HEAD_FIELDS = (
    Field("kit", types.TEXT, "the version of the kit that planned the run"),
    Field("task", inner(TASK), "the task: `module`, `name`, `version`"),
    Field("split", types.TEXT, "the split of the cases"),
    Field("system", types.TEXT, "who was asked"),
    Field("settings", types.OBJECT, "all that determines a request besides messages, schema and seed"),
    Field("trials", TRIAL_NUMBER, "how often each case is tried"),
)
SESSIONS_FIELD = Field("sessions", SESSIONS, "when, where and how it was recorded, a line a session")
_HEAD = FieldTable(lambda **head: Recording(cases=(), **head), (*HEAD_FIELDS, SESSIONS_FIELD), is_exact=False)


def check_unique(ids: Sequence[str], place: str) -> None:
    """Raise ValueError if an id stands twice, also where two only look the same."""
    found = first_alike(ids)
    if found is not None:
        number, first, but_for = found
        raise ValueError(f"{place}[{number}].id is the same as {place}[{first}].id{but_for}")


# ------------------------------------------------------------------------------------------- the file

def recording_bytes(recording: Recording) -> Iterator[bytes]:
    """The file: a field, a session and a trial a line, ASCII; equal for equal recordings, anywhere."""
    head = {"recording": RECORDING_VERSION, **_HEAD.fields_of(recording)}
    cases = pieces_of_list(map(_case_pieces, recording.cases), 1)
    return pieces_of_file([*head.items(), ("cases", cases)])


def _case_pieces(case: RecordedCase) -> Iterator[str]:
    yield f'{{"id": {text_of(case.id)}, "ask": {text_of(case.ask)}, "trials": '
    yield from lines_of_list(map(_trial_text, case.trials), 2)
    yield "}"


def _trial_text(trial: RecordedTrial) -> str:
    if isinstance(trial.outcome, Reply):
        return on_one_line(_REPLY.fields_of(trial))
    return on_one_line((_FAILURE if trial.is_run else _NOT_RUN).fields_of(trial))


def keep_recording(path: Path, recording: Recording) -> bool:
    """Write the file whole, unless it is these very bytes already; whether it was written.

    Raises Unusable where another file stands that is no recording.
    """
    if same_bytes(path, recording_bytes(recording)):
        return False
    refuse_other(path, "recording")
    write_whole(path, recording_bytes(recording))
    return True


def read_recording(path: Path) -> Recording:
    """The recording in a file. Raises Unusable with file and field for anything else."""
    refuse_another_kind(path, FileKind.RECORDING)
    try:
        return recording_of_fields(Fields(read_json(path)))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; convert its log again: python3 bench.py --log {log_beside(path)} --convert "
                       f"{shell_word(str(path))}") from None


def log_beside(path: Path) -> str:
    """The log of a recording, as a word of a command: it lies beside it. LOG where it does not."""
    log = path.with_suffix(".jsonl")
    return shell_word(str(log)) if log.exists() else "LOG"


def recording_of_fields(fields: Fields) -> Recording:
    """A recording from the object that a file holds; ValueError names the field."""
    fields.version("recording", 1, RECORDING_VERSION)
    fields.has_exactly(("recording", *(one.name for one in _HEAD.fields), "cases"))
    head = _HEAD.value_of(fields.values)
    cases = tuple(_case_of(case, head.trials) for case in fields.objects("cases"))
    check_unique([case.id for case in cases], "cases")
    return replace(head, cases=cases)


def _case_of(fields: Fields, trials: int) -> RecordedCase:
    fields.has_exactly(("id", "ask", "trials"))
    place = fields.at("trials")
    found = tuple(_trial_of(value, f"{place}[{at}]") for at, value in enumerate(fields.sequence("trials")))
    if len(found) != trials or any(trial.trial != number for number, trial in enumerate(found, 1)):
        raise ValueError(f"{place} is not the trials 1 to {trials}, each once and in order")
    return RecordedCase(fields.text("id"), fields.hex_digits("ask", 16), found)


def _trial_of(value: JSON, place: str) -> RecordedTrial:
    if not isinstance(value, dict) or "error" not in value:
        return _REPLY.value_of(value, place)
    error = value["error"]
    is_run = not isinstance(error, dict) or error.get("type") != "NotRun"
    return (_FAILURE if is_run else _NOT_RUN).value_of(value, place)
