"""A recording: every planned cell of one system of a log, with what came of it; made of the log, written and read.

What stands in it follows from the log alone.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from benchkit.trial_log import schema
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import TrialLog
from benchkit.trial_log.schema import Field, FieldTable, fields_in, inner, list_of

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
    return tuple(SessionFacts(
        one.line.started_at, one.line.hardware, one.line.environment, one.line.timeout_s, one.line.budget_s,
        one.loaded.load_s if one.loaded else None, one.stop.reason if one.stop else None,
        one.loaded.context_length if one.loaded else None) for one in own or sessions)


def _cases_of(log: TrialLog, plan: PlanLine, system: str) -> tuple[RecordedCase, ...]:
    """The cases in order; up to the last trial that has an attempt, or whose line may be damaged, each is begun."""
    furthest = _furthest(log)
    damaged = (furthest + 1) // (len(plan.cases) * len(plan.systems)) + 1 if log.named or log.harmless else 0
    begun: dict[str, int] = {}
    for _position, cell in log.attempted():
        if cell.system == system:
            begun[cell.case] = max(begun.get(cell.case, damaged), cell.trial)

    def trials_of(case: str) -> OnDemand[RecordedTrial]:
        return OnDemand(plan.trials, lambda start, stop: (
            _trial_at(log, Cell(system, case, number), furthest) for number in range(start + 1, stop + 1)))

    is_held = len(plan.cases) * plan.trials <= MOST_HELD
    return tuple(
        RecordedCase(case.id, case.ask, tuple(trials_of(case.id)) if is_held else trials_of(case.id),
                     begun.get(case.id, damaged))
        for case in plan.cases)


def _trial_at(log: TrialLog, cell: Cell, furthest: int) -> RecordedTrial:
    found = log.recorded(cell)
    if found is None:
        return not_run(cell.trial, cell.seed, f"not run: {_reason(log, cell, furthest)}")
    line, facts = found
    return RecordedTrial(
        cell.trial, cell.seed, line.request, line.outcome, line.attempt, facts.is_cold, line.slept_s)


def _furthest(log: TrialLog) -> int:
    """The furthest position in the order of running that a damaged log records; -1 where nothing is damaged."""
    return max(session.furthest for session in log.sessions) if log.named or log.harmless else -1


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


def _recorded_trial(
    trial: int, seed: int, request: str, attempts: int, retries: int, cold: bool, recorded_latency_s: float | None,
    slept_s: float | None = None, error: ErrorFacts | None = None, **answer: Any,
) -> RecordedTrial:
    outcome = Reply(latency_s=recorded_latency_s, retries=retries, **answer) if error is None else (
        Failure(error, recorded_latency_s, retries))
    return RecordedTrial(trial, seed, request, outcome, attempts, cold, slept_s)


def _recorded(make: Callable[..., RecordedTrial], listed: Iterable[Field]) -> FieldTable[RecordedTrial]:
    return FieldTable(make, listed, at=_AT, rule=lambda trial, place: schema.check_seed(trial.trial, trial.seed, place))


_AT = {"recorded_latency_s": "outcome.latency_s", **{name: f"outcome.{name}" for name in (
    "error", "retries", "usage", "timings", "finish", "output", "reasoning")}}
_REPLY = _recorded(_recorded_trial, schema.RECORDED_REPLY)
_FAILURE = _recorded(_recorded_trial, fields_in(
    schema.TRIAL_FIELDS, schema.RECORDING, ("finish", "output", "reasoning"),
    error=schema.error_in(RECORDED_ERRORS), usage=schema.NULL, timings=schema.NULL))
_NOT_RUN = _recorded(
    lambda trial, seed, error: not_run(trial, seed, error.message),
    fields_in((one for one in schema.TRIAL_FIELDS if one.name in ("trial", "seed", "error")), schema.RECORDING,
              error=inner(FieldTable(ErrorFacts, schema.ERROR_FIELDS[:2]))))
HEAD_FIELDS = (
    Field("kit", types.TEXT, "the version of the kit that planned the run"),
    Field("task", inner(schema.TASK), "the task: `module`, `name`, `version`"),
    Field("split", types.TEXT, "the split of the cases"),
    Field("system", types.TEXT, "who was asked"),
    Field("settings", types.OBJECT, "all that determines a request besides messages, schema and seed"),
    Field("trials", schema.TRIAL_NUMBER, "how often each case is tried"),
)
SESSIONS_FIELD = Field(
    "sessions", list_of(FieldTable(SessionFacts, fields_in(schema.SESSION_FIELDS, schema.RECORDING)),
                        "a list of at least one", bool), "when, where and how it was recorded, a line a session")
_HEAD = FieldTable(lambda **head: Recording(cases=(), **head), (*HEAD_FIELDS, SESSIONS_FIELD), is_exact=False)


def check_unique(ids: Sequence[str], place: str) -> None:
    """Raise ValueError if an id stands twice, also where two only look the same."""
    found = first_alike(ids)
    if found is not None:
        number, first, but_for = found
        raise ValueError(f"{place}[{number}].id is the same as {place}[{first}].id{but_for}")


def recording_bytes(recording: Recording) -> Iterator[bytes]:
    """The file: a field, a session and a trial a line, ASCII; equal for equal recordings, anywhere."""
    def text_of_trial(trial: RecordedTrial) -> str:
        table = _REPLY if isinstance(trial.outcome, Reply) else _FAILURE if trial.is_run else _NOT_RUN
        return on_one_line(table.fields_of(trial))

    def pieces_of(case: RecordedCase) -> Iterator[str]:
        yield f'{{"id": {text_of(case.id)}, "ask": {text_of(case.ask)}, "trials": '
        yield from lines_of_list(map(text_of_trial, case.trials), 2)
        yield "}"

    head = {"recording": RECORDING_VERSION, **_HEAD.fields_of(recording)}
    return pieces_of_file([*head.items(), ("cases", pieces_of_list(map(pieces_of, recording.cases), 1))])


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
    place, found = fields.at("trials"), []
    for at, value in enumerate(fields.sequence("trials")):
        table = _REPLY
        if isinstance(value, dict) and "error" in value:
            error = value["error"]
            table = _NOT_RUN if isinstance(error, dict) and error.get("type") == "NotRun" else _FAILURE
        found.append(table.value_of(value, f"{place}[{at}]"))
    if len(found) != trials or any(trial.trial != number for number, trial in enumerate(found, 1)):
        raise ValueError(f"{place} is not the trials 1 to {trials}, each once and in order")
    return RecordedCase(fields.text("id"), fields.hex_digits("ask", 16), tuple(found))
