"""The lines of the trial log, version 1: one frozen dataclass per kind, and the fields of each.

What every line also carries, its session and its number in it, travels apart as a `LinePosition`. A field that a later
kit adds is passed over; a change of meaning raises `v`.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchkit.basics import fields as types
from benchkit.basics.fields import Fields, Type
from benchkit.basics.json_text import close_line
from benchkit.basics.values import (
    JSON,
    Cell,
    ErrorFacts,
    Failure,
    Outcome,
    Reply,
    Shard,
    TaskName,
    Timings,
    Usage,
    seed_of,
)
from benchkit.trial_log.schema import (
    LOG,
    LOG_FAILURE,
    LOG_REPLY,
    LOG_TASK,
    MOST_CELLS,
    SESSION_FIELDS,
    STOP_REASONS,
    TRIAL_NUMBER,
    Field,
    FieldTable,
    Row,
    fields_in,
    inner,
    log_table,
)

MOST_LINE_BYTES = 4 * 1024 * 1024
"""A longer line is damage for a reader, and is never written."""
SESSION_START = b'{"budget_s":'
"""So every session line begins, and with it every log: keys are sorted."""
MOST_SHARDS = 65_535
"""So that a merge keeps the shard of a cell in two bytes."""
_VERSION = 1


@dataclass(frozen=True, slots=True)
class LinePosition:
    """Where a line belongs: its session (16 hex digits) and its number in it, from 0."""

    session: str
    n: int


@dataclass(frozen=True, slots=True, order=True)
class Damage:
    """Bytes of the log that are no line that counts; length 0 is a gap before the line at `offset`."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class SessionLine:
    """The first line of a session. `damage` is what this session found and names, so that it is known.

    `trace_damage` is the same of the trace beside the log; None, and no field, where there is no trace.
    `shard` is the part of the plan that the session was given; None, and no field, where it was all of it.
    """

    started_at: str
    hardware: str | None
    environment: Mapping[str, JSON]
    timeout_s: float
    budget_s: float | None
    pid: int
    damage: tuple[Damage, ...] = ()
    trace_damage: tuple[Damage, ...] | None = None
    shard: Shard | None = None


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case of the plan, and what is asked about it (16 hex digits)."""

    id: str
    ask: str


@dataclass(frozen=True, slots=True)
class PlanLine:
    """What is to be run: systems x cases x trials. The last plan of a log holds."""

    kit: str
    task: TaskName
    split: str
    cases: tuple[PlannedCase, ...]
    trials: int
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemLine:
    """A system and all that determines its requests besides messages, schema and seed."""

    system: str
    settings: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class LoadedLine:
    """What loading the model took, and what was loaded, as served."""

    load_s: float
    context_length: int | None = None
    details: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialLine:
    """One attempt at one cell. `request` binds the outcome to the cell.

    `slept_s` is how far the wall clock ran ahead of the monotonic one during the trial (None: no more than a little).
    """

    cell: Cell
    attempt: int
    request: str
    started_at: str
    outcome: Outcome
    slept_s: float | None = None


@dataclass(frozen=True, slots=True)
class StopLine:
    """An orderly end of a session, and its reason (one of STOP_REASONS)."""

    reason: str
    at: str


Line: TypeAlias = SessionLine | PlanLine | SystemLine | LoadedLine | TrialLine | StopLine


# ---------------------------------------------------------------------------------------------- fields

def _are_pairs(values: Any) -> bool:
    return all(type(one) is list and len(one) == 2 and all(type(part) is int and part >= 0 for part in one)
               for one in values)


def _is_shard(value: Any) -> bool:
    return _are_pairs([value]) and 1 <= value[0] <= value[1] <= MOST_SHARDS


_IS_ASK = types.HEX_16.admits


def _are_cases(values: Any) -> bool:
    return all(type(one) is list and len(one) == 2 and type(one[0]) is str and one[0] and _IS_ASK(one[1])
               for one in values)


def _list(words: str, holds: Any, read: Any, write: Any) -> Type:
    return Type(words, frozenset({list}), holds, read=lambda value, place: read(value), write=write)


_DAMAGE = _list("a list of [byte offset, length]", _are_pairs, lambda value: tuple(Damage(*one) for one in value),
                lambda damage: [[one.offset, one.length] for one in damage])
_SHARD = _list(f"[index, of], from [1, 1] to [{MOST_SHARDS}, {MOST_SHARDS}]", _is_shard, lambda value: Shard(*value),
               lambda shard: [shard.index, shard.of])
_CASES = _list("a list of [id, ask]", _are_cases, lambda value: tuple(PlannedCase(*one) for one in value),
               lambda cases: [[case.id, case.ask] for case in cases])
_SYSTEMS = _list("a list of names", lambda value: all(type(one) is str and one for one in value), tuple, list)
SESSION_LINE_FIELDS = (
    *fields_in(SESSION_FIELDS, LOG, timeout_s=types.SECONDS),
    Field("pid", types.COUNT, "the process that wrote it"),
    Field("damage", _DAMAGE, "what this session found damaged, and goes on without"),
    Field("trace_damage", _DAMAGE, "the same of the trace beside the log, where there is one", is_left_out=True),
    Field("shard", _SHARD, "the part of the plan that the session was given", is_left_out=True),
)
PLAN_FIELDS = (
    Field("kit", types.TEXT, "the version of the kit"),
    Field("task", inner(LOG_TASK), "the task: `module`, `name`, `version`"),
    Field("split", types.TEXT, "the split of the cases"),
    Field("cases", _CASES, "the cases in order, and what is asked"),
    Field("trials", TRIAL_NUMBER, "how often each case is tried"),
    Field("systems", _SYSTEMS, "who is asked, in order"),
)
SYSTEM_FIELDS = (
    Field("system", types.NAME, "who is asked"),
    Field("settings", types.OBJECT, "all that determines a request besides messages, schema and seed"),
)
LOADED_FIELDS = (
    Field("load_s", types.SECONDS, "loading the model"),
    Field("context_length", types.COUNT_OR_NULL, "in tokens, as served", may_miss=True),
    Field("details", types.OBJECT.or_null(), "what was loaded, as served", may_miss=True),
)
STOP_FIELDS = (
    Field("reason", types.one_of(STOP_REASONS), "why the session ended"),
    Field("at", types.STAMP, "when"),
)


def _check_plan(plan: PlanLine, place: str) -> None:
    if len({case.id for case in plan.cases}) != len(plan.cases):
        raise ValueError("cases is a list, not a list in which no id stands twice")
    if len(set(plan.systems)) != len(plan.systems):
        raise ValueError("systems is a list, not a list in which no system stands twice")
    if len(plan.cases) * len(plan.systems) * plan.trials > MOST_CELLS:
        raise ValueError(f"trials is {plan.trials}, not so few that there are at most {MOST_CELLS:,} cells")


def _loaded(load_s: float, context_length: int | None = None, details: Mapping[str, JSON] | None = None) -> LoadedLine:
    return LoadedLine(load_s, context_length, details or {})


def _trial_line(
    *, system: str, case: str, trial: int, seed: int, attempt: int, request: str, started_at: str,
    latency_s: float | None, retries: int, waited_s: float, slept_s: float | None = None,
    error: ErrorFacts | None = None, usage: Usage | None = None, timings: Timings | None = None, **answer: Any,
) -> TrialLine:
    if seed != seed_of(trial):
        raise ValueError(f"seed is {seed}, not {seed_of(trial)} (1000 + trial)")
    outcome: Outcome
    if error is not None:
        outcome = Failure(error, latency_s, retries, waited_s)
    else:
        outcome = Reply(usage=usage or Usage(), timings=timings or Timings(), latency_s=latency_s, retries=retries,
                        waited_s=waited_s, **answer)
    return TrialLine(Cell(system, case, trial), attempt, request, started_at, outcome, slept_s)


_AT = {**{name: f"cell.{name}" for name in ("system", "case", "trial", "seed")},
       **{name: f"outcome.{name}" for name in ("error", "latency_s", "retries", "waited_s", "usage", "timings",
                                               "finish", "output", "reasoning")}}
_REPLY = log_table(_trial_line, LOG_REPLY, at=_AT)
_FAILURE = log_table(_trial_line, LOG_FAILURE, at=_AT)
_TABLES: Mapping[str, tuple[type[Line], FieldTable[Any]]] = {
    "session": (SessionLine, log_table(SessionLine, SESSION_LINE_FIELDS)),
    "plan": (PlanLine, log_table(PlanLine, PLAN_FIELDS, rule=_check_plan)),
    "system": (SystemLine, log_table(SystemLine, SYSTEM_FIELDS)),
    "loaded": (LoadedLine, log_table(_loaded, LOADED_FIELDS)),
    "trial": (TrialLine, _REPLY),
    "stop": (StopLine, log_table(StopLine, STOP_FIELDS)),
}
_KIND = types.one_of(_TABLES)


def bytes_of(line: Line, place: LinePosition) -> bytes:
    r"""The whole line as it stands in the log, "\n" included. Raises ValueError for a value that JSON cannot say."""
    return close_line({**fields_of(line), "session": place.session, "n": place.n})


def fields_of(line: Line) -> Row:
    """A line as an object, without its place."""
    kind, table = next((kind, table) for kind, (made, table) in _TABLES.items() if isinstance(line, made))
    if isinstance(line, TrialLine) and isinstance(line.outcome, Failure):
        table = _FAILURE
    version = {"v": _VERSION} if kind == "session" else {}
    return {"kind": kind, **version, **table.fields_of(line)}


def place_of(fields: JSON) -> LinePosition:
    """Where the line with these fields belongs. Raises ValueError naming the field."""
    values = Fields(fields)
    return LinePosition(values.hex_digits("session", 16), values.integer("n"))


def line_of(fields: JSON) -> Line:
    """The line with these fields. Raises ValueError naming the field that is missing or wrong."""
    values = Fields(fields)
    kind = values.take("kind", _KIND)
    if kind == "session" and values.integer("v") != _VERSION:
        raise values.wrong("v", f"{_VERSION} (a log of another version needs another kit)")
    if kind != "trial":
        line: Line = _TABLES[kind][1].value_of(fields)
        return line
    if ("error" in values) == ("output" in values):
        raise ValueError("error must be there if output is not, and only then")
    return (_FAILURE if "error" in values else _REPLY).value_of(fields)
