"""The lines of the trial log, version 1: one frozen dataclass per kind, and the fields of each.

What every line also carries, its session and its number in it, travels apart as a `LinePosition`. A field that a later
kit adds is passed over; a change of meaning raises `v`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchkit.basics import fields as types
from benchkit.basics.fields import Fields, Type
from benchkit.basics.json_text import canonical, close_line
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Cell, ErrorFacts, Failure, Outcome, Reply, Shard, TaskName, seed_of
from benchkit.trial_log import schema
from benchkit.trial_log.schema import Field, FieldTable, log_table

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


def _are_counts(value: Any) -> bool:
    return len(value) == 2 and all(type(part) is int and part >= 0 for part in value)


def _shard_of(value: Any, place: str) -> Shard:
    if not _are_counts(value) or not 1 <= value[0] <= value[1] <= MOST_SHARDS:
        raise ValueError(f"{place} is a list, not {_SHARD.words}")
    return Shard(*value)


def _items(words: str, one: str, holds: Callable[[Any], bool], made: Callable[[Any], Any], write: Any) -> Type:
    """A list of which each element must be such a one; what is none is named with its number."""
    def read(values: Sequence[Any], place: str) -> tuple[Any, ...]:
        for number, value in enumerate(values):
            if not holds(value):
                raise ValueError(f"{place}[{number}] is {shown_line(canonical(value), 60)}, not {one}")
        return tuple(map(made, values))

    return Type(words, frozenset({list}), read=read, write=lambda values: list(map(write, values)))


_SHARD = Type(f"[index, of], from [1, 1] to [{MOST_SHARDS}, {MOST_SHARDS}]", frozenset({list}),
              read=_shard_of, write=lambda shard: [shard.index, shard.of])
_DAMAGE = _items("a list of [byte offset, length]", "[byte offset, length]",
                 lambda value: type(value) is list and _are_counts(value),
                 lambda value: Damage(*value), lambda damage: [damage.offset, damage.length])
_CASES = _items("a list of [id, ask]", "[id, ask], a text that is not empty and 16 hex digits",
                lambda value: type(value) is list and len(value) == 2 and types.NAME.admits(value[0])
                and types.HEX_16.admits(value[1]),
                lambda value: PlannedCase(*value), lambda case: [case.id, case.ask])
_SYSTEMS = _items("a list of names", "a text that is not empty", types.NAME.admits, str, str)
SESSION_LINE_FIELDS = (
    *schema.fields_in(schema.SESSION_FIELDS, schema.LOG, timeout_s=types.SECONDS),
    Field("pid", types.COUNT, "the process that wrote it"),
    Field("damage", _DAMAGE, "what this session found damaged, and goes on without"),
    Field("trace_damage", _DAMAGE, "the same of the trace beside the log, where there is one", is_left_out=True),
    Field("shard", _SHARD, "the part of the plan that the session was given", is_left_out=True),
)
PLAN_FIELDS = (
    Field("kit", types.TEXT, "the version of the kit"),
    Field("task", schema.inner(schema.LOG_TASK), "the task: `module`, `name`, `version`"),
    Field("split", types.TEXT, "the split of the cases"),
    Field("cases", _CASES, "the cases in order, and what is asked"),
    Field("trials", schema.TRIAL_NUMBER, "how often each case is tried"),
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
    Field("reason", types.one_of(schema.STOP_REASONS), "why the session ended"),
    Field("at", types.STAMP, "when"),
)


def _check_plan(plan: PlanLine, place: str) -> None:
    for name, listed in (("cases", [case.id for case in plan.cases]), ("systems", plan.systems)):
        seen: set[str] = set()
        for number, one in enumerate(listed):
            if one in seen:
                raise ValueError(f"{name}[{number}] is {shown_line(canonical(one), 60)}, which stands there twice")
            seen.add(one)
    if len(plan.cases) * len(plan.systems) * plan.trials > schema.MOST_CELLS:
        raise ValueError(f"trials is {plan.trials}, not so few that there are at most {schema.MOST_CELLS:,} cells")


def _loaded(load_s: float, context_length: int | None = None, details: Mapping[str, JSON] | None = None) -> LoadedLine:
    return LoadedLine(load_s, context_length, details or {})


def _trial_line(
    *, system: str, case: str, trial: int, seed: int, attempt: int, request: str, started_at: str,
    latency_s: float | None, retries: int, waited_s: float, slept_s: float | None = None,
    error: ErrorFacts | None = None, **answer: Any,
) -> TrialLine:
    if seed != seed_of(trial):
        raise ValueError(f"seed is {seed}, not {seed_of(trial)} (1000 + trial)")
    outcome: Outcome
    if error is not None:
        outcome = Failure(error, latency_s, retries, waited_s)
    else:
        for name in ("usage", "timings"):
            if answer[name] is None:
                del answer[name]
        outcome = Reply(latency_s=latency_s, retries=retries, waited_s=waited_s, **answer)
    return TrialLine(Cell(system, case, trial), attempt, request, started_at, outcome, slept_s)


_AT = {**{name: f"cell.{name}" for name in ("system", "case", "trial", "seed")},
       **{name: f"outcome.{name}" for name in ("error", "latency_s", "retries", "waited_s", "usage", "timings",
                                               "finish", "output", "reasoning")}}
_REPLY = log_table(_trial_line, schema.LOG_REPLY, at=_AT)
_FAILURE = log_table(_trial_line, schema.LOG_FAILURE, at=_AT)
_TABLES: Mapping[type[Line], tuple[str, FieldTable[Any]]] = {
    SessionLine: ("session", log_table(SessionLine, SESSION_LINE_FIELDS)),
    PlanLine: ("plan", log_table(PlanLine, PLAN_FIELDS, rule=_check_plan)),
    SystemLine: ("system", log_table(SystemLine, SYSTEM_FIELDS)),
    LoadedLine: ("loaded", log_table(_loaded, LOADED_FIELDS)),
    TrialLine: ("trial", _REPLY),
    StopLine: ("stop", log_table(StopLine, STOP_FIELDS)),
}
_TABLE_OF = dict(_TABLES.values())
_KIND = types.one_of(_TABLE_OF)


def bytes_of(line: Line, place: LinePosition) -> bytes:
    r"""The whole line as it stands in the log, "\n" included. Raises ValueError for a value that JSON cannot say."""
    kind, table = _TABLES[type(line)]
    if isinstance(line, TrialLine) and isinstance(line.outcome, Failure):
        table = _FAILURE
    fields = table.fields_of(line)
    fields.update(kind=kind, session=place.session, n=place.n)
    if kind == "session":
        fields["v"] = _VERSION
    return close_line(fields)


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
    table = _TABLE_OF[kind]
    if kind == "trial":
        if ("error" in values) == ("output" in values):
            raise ValueError("error must be there if output is not, and only then")
        table = _FAILURE if "error" in values else _REPLY
    line: Line = table.value_of(fields)
    return line
