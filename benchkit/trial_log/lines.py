"""The lines of the trial log, version 1: one frozen dataclass per kind, and their wire form, which stands only here.

What every line also carries, its session and its number in it, travels apart as a `Place`. A field that a later
kit adds is passed over; a change of meaning raises `v`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from benchkit.basics.fields import Fields
from benchkit.basics.json_text import close_line
from benchkit.basics.values import JSON, Cell, Failure, Outcome, Reply, Shard, TaskName
from benchkit.trial_log.parts import (
    error_of,
    fields_of_error,
    fields_of_task_name,
    fields_of_timings,
    fields_of_usage,
    rounded,
    task_name_of,
    timings_of,
    usage_of,
)

MOST_LINE_BYTES = 4 * 1024 * 1024
"""A longer line is damage for a reader, and is never written."""
SESSION_START = b'{"budget_s":'
"""So every session line begins, and with it every log: keys are sorted."""
MOST_CELLS = 20_000_000
"""A plan of more cells is refused: it would take more memory than a machine may have."""
MOST_ATTEMPTS = 65_535
"""So that an attempt takes two bytes of memory."""
MOST_SHARDS = 65_535
"""So that a merge keeps the shard of a cell in two bytes."""
STOP_REASONS = ("complete", "budget", "selection", "interrupted", "error")
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


def bytes_of(line: Line, place: LinePosition) -> bytes:
    r"""The whole line as it stands in the log, "\n" included. Raises ValueError for a value that JSON cannot say."""
    return close_line({**fields_of(line), "session": place.session, "n": place.n})


def place_of(fields: JSON) -> LinePosition:
    """Where the line with these fields belongs. Raises ValueError naming the field."""
    values = Fields(fields)
    return LinePosition(values.hex_digits("session", 16), values.integer("n"))


def fields_of(line: Line) -> dict[str, JSON]:
    """The wire form of a line, without its place."""
    if isinstance(line, TrialLine):
        return _fields_of_trial(line)
    if isinstance(line, SessionLine):
        return _fields_of_session(line)
    if isinstance(line, PlanLine):
        return {
            "kind": "plan", "kit": line.kit, "task": fields_of_task_name(line.task), "split": line.split,
            "cases": [[case.id, case.ask] for case in line.cases], "trials": line.trials,
            "systems": line.systems,
        }
    if isinstance(line, SystemLine):
        return {"kind": "system", "system": line.system, "settings": line.settings}
    if isinstance(line, LoadedLine):
        return {
            "kind": "loaded", "load_s": rounded(line.load_s), "context_length": line.context_length,
            "details": line.details,
        }
    return {"kind": "stop", "reason": line.reason, "at": line.at}


def line_of(fields: JSON) -> Line:
    """The line with these fields. Raises ValueError naming the field that is missing or wrong."""
    values = Fields(fields)
    return _READERS[values.one_of("kind", _READERS)](values)


def _fields_of_session(line: SessionLine) -> dict[str, JSON]:
    fields: dict[str, JSON] = {
        "kind": "session", "v": _VERSION, "started_at": line.started_at, "hardware": line.hardware,
        "environment": line.environment, "timeout_s": rounded(line.timeout_s),
        "budget_s": rounded(line.budget_s), "pid": line.pid, "damage": _fields_of_damage(line.damage),
    }
    if line.trace_damage is not None:
        fields["trace_damage"] = _fields_of_damage(line.trace_damage)
    if line.shard is not None:
        fields["shard"] = [line.shard.index, line.shard.of]
    return fields


def _fields_of_damage(damage: tuple[Damage, ...]) -> list[JSON]:
    return [[one.offset, one.length] for one in damage]


def _fields_of_trial(line: TrialLine) -> dict[str, JSON]:
    outcome = line.outcome
    fields: dict[str, JSON] = {
        "kind": "trial", "system": line.cell.system, "case": line.cell.case, "trial": line.cell.trial,
        "attempt": line.attempt, "seed": line.cell.seed, "request": line.request,
        "started_at": line.started_at, "latency_s": rounded(outcome.latency_s),
        "retries": outcome.retries, "waited_s": rounded(outcome.waited_s),
    }
    if line.slept_s is not None:
        fields["slept_s"] = rounded(line.slept_s)
    if isinstance(outcome, Failure):
        fields["error"] = fields_of_error(outcome.error)
    else:
        fields.update(
            output=outcome.output, finish=outcome.finish, reasoning=outcome.reasoning,
            usage=fields_of_usage(outcome.usage), timings=fields_of_timings(outcome.timings))
    return fields


def _session_of(values: Fields) -> SessionLine:
    if values.integer("v") != _VERSION:
        raise values.wrong("v", f"{_VERSION} (a log of another version needs another kit)")
    return SessionLine(
        values.stamp("started_at"), values.text_or_none("hardware"), values.mapping("environment"),
        values.seconds("timeout_s"), values.seconds_or_none("budget_s"), values.integer("pid"),
        _damage_of(values, "damage"), _damage_of(values, "trace_damage") if "trace_damage" in values else None,
        _shard_of(values) if "shard" in values else None)


def _damage_of(values: Fields, name: str) -> tuple[Damage, ...]:
    return tuple(_damage_in(values, name, item) for item in values.sequence(name))


def _damage_in(values: Fields, name: str, item: object) -> Damage:
    if isinstance(item, (list, tuple)) and len(item) == 2 and all(type(part) is int and part >= 0 for part in item):
        return Damage(item[0], item[1])
    raise values.wrong(name, "a list of [byte offset, length]")


def _shard_of(values: Fields) -> Shard:
    index, of = [*values.sequence("shard"), None, None][:2]
    if type(index) is int and type(of) is int and 1 <= index <= of <= MOST_SHARDS \
            and len(values.sequence("shard")) == 2:
        return Shard(index, of)
    raise values.wrong("shard", f"[index, of], from [1, 1] to [{MOST_SHARDS}, {MOST_SHARDS}]")


def _plan_of(values: Fields) -> PlanLine:
    cases = tuple(_planned_case_of(values, item) for item in values.sequence("cases"))
    systems = tuple(_name_in(values, item) for item in values.sequence("systems"))
    trials = values.integer("trials", 1, MOST_CELLS)
    if len({case.id for case in cases}) != len(cases):
        raise values.wrong("cases", "a list in which no id stands twice")
    if len(set(systems)) != len(systems):
        raise values.wrong("systems", "a list in which no system stands twice")
    if len(cases) * len(systems) * trials > MOST_CELLS:
        raise values.wrong("trials", f"so few that there are at most {MOST_CELLS:,} cells")
    return PlanLine(
        values.text("kit"), task_name_of(values.inner("task")), values.text("split"), cases, trials, systems)


def _planned_case_of(values: Fields, item: object) -> PlannedCase:
    if isinstance(item, (list, tuple)) and len(item) == 2:
        pair = Fields({"id": item[0], "ask": item[1]}, "cases")
        return PlannedCase(pair.name("id"), pair.hex_digits("ask", 16))
    raise values.wrong("cases", "a list of [id, ask]")


def _name_in(values: Fields, item: object) -> str:
    if isinstance(item, str) and item:
        return item
    raise values.wrong("systems", "a list of names")


def _system_of(values: Fields) -> SystemLine:
    return SystemLine(values.name("system"), values.mapping("settings"))


def _loaded_of(values: Fields) -> LoadedLine:
    length = values.integer_or_none("context_length") if "context_length" in values else None
    return LoadedLine(values.seconds("load_s"), length, _known(values, "details").values)


def _trial_of(values: Fields) -> TrialLine:
    cell = Cell(values.name("system"), values.name("case"), values.integer("trial", 1, MOST_CELLS))
    if values.integer("seed") != cell.seed:
        raise values.wrong("seed", f"{cell.seed} (1000 + trial)")
    return TrialLine(
        cell, values.integer("attempt", 1, MOST_ATTEMPTS), values.hex_digits("request", 16),
        values.stamp("started_at"), _outcome_of(values),
        values.seconds_or_none("slept_s") if "slept_s" in values else None)


def _outcome_of(values: Fields) -> Outcome:
    if ("error" in values) == ("output" in values):
        raise ValueError("error must be there if output is not, and only then")
    latency_s, retries = values.seconds_or_none("latency_s"), values.integer("retries")
    waited_s = values.seconds("waited_s")
    if "error" in values:
        return Failure(error_of(values.inner("error")), latency_s, retries, waited_s)
    return Reply(
        values.text("output"), values.text_or_none("finish"), values.text_or_none("reasoning"),
        usage_of(_known(values, "usage")), timings_of(_known(values, "timings")), latency_s, retries, waited_s)


def _known(values: Fields, name: str) -> Fields:
    """What is known of an object inside: nothing, if it is null or not there."""
    return Fields({}) if values.values.get(name) is None else values.inner(name)


def _stop_of(values: Fields) -> StopLine:
    return StopLine(values.one_of("reason", STOP_REASONS), values.stamp("at"))


_READERS: Mapping[str, Callable[[Fields], Line]] = {
    "session": _session_of, "plan": _plan_of, "system": _system_of, "loaded": _loaded_of, "trial": _trial_of,
    "stop": _stop_of,
}
