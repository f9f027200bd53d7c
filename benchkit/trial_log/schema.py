"""The fields of a trial, a session and an error: one table, from which all that writes, reads and scans them follows.

A field is one line here, and one in the value that it is read into. What a file holds of a trial is said by `files`.
The tables of docs/formats.md are these.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, contains, itemgetter
from typing import Any, Generic, TypeAlias, TypeVar

from benchkit.basics import fields as types
from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.fields import Fields, Type
from benchkit.basics.json_text import MOST_INTEGER
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage, seed_of

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""The values of an object, by the names of its fields."""

MOST_CELLS = 20_000_000
"""A plan of more cells is refused: it would take more memory than a machine may have."""
MOST_ATTEMPTS = 65_535
"""So that an attempt takes two bytes of memory."""
STOP_REASONS = ("complete", "budget", "selection", "interrupted", "error")
VERDICTS = ("pass", "fail", "incomplete")
TRIAL_NUMBER, ATTEMPT = types.whole(1, MOST_CELLS), types.whole(1, MOST_ATTEMPTS)
FROM_ONE = types.whole(1, MOST_INTEGER)
NULL = types.type_of("null, as where no whole reply came", type(None), pattern="null")


def rounded(seconds: float | None) -> float | None:
    """Seconds as they are written: to 6 digits; None stays unknown."""
    return None if seconds is None else round(float(seconds), 6)


# --------------------------------------------------------------------------------------------- tables of fields

@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object in a file, and what it says.

    files        which files have it: "log", "recording", "run record"
    csv          the title of its column among the trials as CSV; none without
    is_left_out  whether it is written only where there is something to say (read as None where it is missing)
    may_miss     whether it is read as None where it is missing, and always written
    """

    name: str
    type: Type
    meaning: str
    files: str = ""
    csv: str = ""
    is_left_out: bool = False
    may_miss: bool = False


class FieldTable(Generic[T]):
    """The fields of one kind of object, and how it is read and written.

    `make` takes them by name and gives the value; `at` says where in the value a field is kept, if not under its name.
    An exact one has these fields and no others; else what is unknown is passed over, as a later kit may write it.
    `rule` raises ValueError, by the place, for a value whose parts cannot stand beside each other.
    """

    def __init__(
        self, make: Callable[..., T], listed: Iterable[Field], *, at: Mapping[str, str] | None = None,
        is_exact: bool = True, rule: Callable[[T, str], None] | None = None,
    ) -> None:
        self.fields = tuple(listed)
        self._make, self._is_exact, self._rule = make, is_exact, rule
        needed = [one for one in self.fields if not one.is_left_out]
        self._names = tuple(one.name for one in self.fields)
        self._needed = dict.fromkeys(one.name for one in needed).keys()
        self._left_out = [one.name for one in self.fields if one.is_left_out]
        # by place is twice as fast as by name, and safe where a dataclass has its fields in this order
        self._is_in_order = [*getattr(make, "__dataclass_fields__", ())][:len(needed)] == [*self._needed]
        self._pick: Callable[[Any], tuple[Any, ...]] = itemgetter(*self._needed)
        self._types = [one.type.types for one in needed]
        self._bounded = [one.name for one in needed if one.type.holds is types.is_bounded]
        self._holds = [(one.name, holds) for one in needed if (holds := one.type.holds) not in (None, types.is_bounded)]
        self._reads = [(at, one.name, one.type.read) for at, one in enumerate(needed) if one.type.read is not None]
        self._values = attrgetter(*((at or {}).get(name, name) for name in self._names))
        self._writes = [(one.name, one.type.write) for one in self.fields if one.type.write is not None]

    def fields_of(self, value: T) -> Row:
        """The object that a file holds for a value."""
        row = dict(zip(self._names, self._values(value)))  # noqa: B905 - both are of the same fields
        for name, write in self._writes:
            inner = row[name]
            if inner is not None:
                row[name] = write(inner)
        for name in self._left_out:
            if row[name] is None:
                del row[name]
        return row

    def value_of(self, value: JSON, place: str = "") -> T:
        """The value of an object of a file; ValueError names the place and the field that is wrong."""
        others: Row = {}
        picked = self._picked(value)
        if picked is None:
            picked, others = self._picked_with_care(Fields(value, place))
        if self._reads:
            picked = [*picked]
            for at, name, read in self._reads:
                if picked[at] is not None:
                    picked[at] = read(picked[at], f"{place}.{name}" if place else name)
        if self._is_in_order:
            made = self._make(*picked, **others)
        else:
            made = self._make(**dict(zip(self._needed, picked, strict=True)), **others)
        if self._rule is not None:
            self._rule(made, place)
        return made

    def _picked(self, value: Any) -> Sequence[Any] | None:
        """The values of an object in which nothing needs a closer look, in order; None for any other."""
        if type(value) is not dict or (self._is_exact and len(value) != len(self._needed)):
            return None
        try:
            picked = self._pick(value)
        except KeyError:
            return None
        if not all(map(contains, self._types, map(type, picked))):
            return None
        for name in self._bounded:
            number = value[name]
            if number is not None and not 0 <= number <= MOST_INTEGER:
                return None
        for name, holds in self._holds:
            if value[name] is not None and not holds(value[name]):
                return None
        # of the fields that may be left out, any that is there is looked at with care
        return picked if self._is_exact or not any(map(value.__contains__, self._left_out)) else None

    def _picked_with_care(self, found: Fields) -> tuple[list[Any], Row]:
        """The same field by field, what is wrong by name; and what is there of the fields that may be left out."""
        if self._is_exact:
            found.has_exactly(self._needed, self._left_out)
        picked: list[Any] = []
        others: Row = {}
        for one in self.fields:
            is_there = one.name in found
            if not one.is_left_out:
                picked.append(None if one.may_miss and not is_there else found.take(one.name, one.type))
            elif is_there:
                value = found.take(one.name, one.type.or_null())
                read = one.type.read
                others[one.name] = value if value is None or read is None else read(value, found.at(one.name))
        return picked, others


def log_table(make: Callable[..., T], listed: Iterable[Field], **options: Any) -> FieldTable[T]:
    """A table of the log: what is unknown is passed over, and seconds are rounded when they are written."""
    return FieldTable(make, (replace(one, type=replace(one.type, write=rounded)) if float in one.type.types else one
                             for one in listed), is_exact=False, **options)


def inner(table: FieldTable[Any]) -> Type:
    """An object inside another."""
    return replace(types.OBJECT, pattern=pattern_of(table.fields), read=table.value_of, write=table.fields_of)


def list_of(table: FieldTable[Any], words: str = "a list", holds: Callable[[Any], bool] | None = None) -> Type:
    """A list of such objects."""
    return Type(words, frozenset({list}), holds,
                read=lambda value, place: tuple(table.value_of(one, f"{place}[{at}]") for at, one in enumerate(value)),
                write=lambda values: [table.fields_of(one) for one in values])


def pattern_of(listed: Iterable[Field], *captured: str) -> str:
    """The canonical text of an object of these fields, as a regular expression; a group for each one that is named."""
    found = []
    for one in sorted(listed, key=lambda field: field.name):
        text = f"({one.type.pattern})" if one.name in captured else one.type.pattern
        found.append(f'(?:"{one.name}":{text},)?' if one.is_left_out else f'"{one.name}":{text},')
    return r"\{" + "".join(found).removesuffix(",") + r"\}"


def fields_in(listed: Iterable[Field], file: str, without: Collection[str] = (), **others: Type) -> tuple[Field, ...]:
    """The fields that stand in a file, but for some; those named hold something else there."""
    return tuple(replace(one, type=others.get(one.name, one.type)) for one in listed
                 if file in one.files and one.name not in without)


def leniently(listed: Iterable[Field], *names: str) -> tuple[Field, ...]:
    """The same fields, of which those named, or all, may be missing."""
    return tuple(replace(one, may_miss=not names or one.name in names) for one in listed)


# --------------------------------------------------------------------------------------------- parts of all files

TASK_FIELDS = (
    Field("module", types.NAME, "the module it was loaded from"),
    Field("name", types.TEXT, "what the task calls itself"),
    Field("version", types.TEXT, "its version, as it says"),
)
ERROR_FIELDS = (
    Field("type", types.one_of(ERROR_TYPES), "why there is nothing to judge: one of a closed list", csv="error_type"),
    Field("message", types.TEXT, "the same in the kit's own words", csv="error_message"),
    Field("partial", types.TEXT_OR_NULL, "the text that had come"),
)
USAGE_FIELDS = (
    Field("prompt_tokens", types.COUNT_OR_NULL, "of the prompt, as the server counted them", csv="prompt_tokens"),
    Field("output_tokens", types.COUNT_OR_NULL, "the same of the answer, reasoning included", csv="output_tokens"),
    Field("cached_tokens", types.COUNT_OR_NULL, "those of the prompt that the server had kept", csv="cached_tokens"),
    Field("asked_letters", types.COUNT, "letters of a prompt that the server has cut", is_left_out=True),
)
TIMINGS_FIELDS = (
    Field("load_s", types.SECONDS_OR_NULL, "loading the model", csv="load_s"),
    Field("prompt_s", types.SECONDS_OR_NULL, "reading the prompt", csv="prompt_s"),
    Field("output_s", types.SECONDS_OR_NULL, "writing the answer", csv="output_s"),
    Field("first_token_s", types.SECONDS_OR_NULL, "until the first token, as the client saw it", csv="first_token_s"),
    Field("other_s", types.SECONDS_OR_NULL, "what is left of the server's own total", csv="other_s"),
)
TASK, ERROR = FieldTable(TaskName, TASK_FIELDS), FieldTable(ErrorFacts, ERROR_FIELDS)
USAGE, TIMINGS = FieldTable(Usage, USAGE_FIELDS), FieldTable(Timings, TIMINGS_FIELDS)
LOG_TASK, LOG_ERROR = log_table(TaskName, TASK_FIELDS), log_table(ErrorFacts, ERROR_FIELDS)
LOG_USAGE, LOG_TIMINGS = log_table(Usage, leniently(USAGE_FIELDS)), log_table(Timings, leniently(TIMINGS_FIELDS))


# --------------------------------------------------------------------------------------------- sessions and trials

LOG, RECORDING, RUN_RECORD = "log", "recording", "run record"
_RECORDS, _EVERYWHERE = f"{RECORDING}, {RUN_RECORD}", f"{LOG}, {RECORDING}, {RUN_RECORD}"
SESSION_FIELDS = (
    Field("started_at", types.STAMP, "when the session began", _EVERYWHERE),
    Field("hardware", types.TEXT_OR_NULL, "as given with `--hardware`", _EVERYWHERE),
    Field("environment", types.OBJECT, "Python, platform, processor, server and its version", _EVERYWHERE),
    Field("timeout_s", types.SECONDS_OR_NULL, "how long a request may take", _EVERYWHERE),
    Field("budget_s", types.SECONDS_OR_NULL, "how long the session may start trials; null: no limit", _EVERYWHERE),
    Field("load_s", types.SECONDS_OR_NULL, "loading the model; null: none was loaded", _RECORDS),
    Field("context_length", types.COUNT_OR_NULL, "in tokens, as served; null: not told", _RECORDS),
    Field("stop", types.one_of(STOP_REASONS).or_null(), "how it ended; null: no word of it", _RECORDS),
)


def _are_all(kind: type, values: Mapping[str, JSON]) -> bool:
    return {kind}.issuperset(map(type, values.values()))


_CHECKS = Type("an object of true and false", frozenset({dict}), lambda checks: bool(checks) and _are_all(bool, checks))
_EXPLAIN = Type("an object of texts", frozenset({dict}), partial(_are_all, str))
TRIAL_FIELDS = (
    Field("system", types.NAME, "who was asked", LOG),
    Field("case", types.NAME, "the id of the case", f"{LOG}, {RUN_RECORD}"),
    Field("trial", TRIAL_NUMBER, "which try at the case, from 1", _EVERYWHERE, csv="trial"),
    Field("attempt", ATTEMPT, "how often the trial was started, this time included", LOG),
    Field("seed", types.COUNT, "1000 + trial", _EVERYWHERE, csv="seed"),
    Field("request", types.HEX_16, "what was asked, with which settings and seed: binds the outcome to its cell",
          f"{LOG}, {RECORDING}"),
    Field("started_at", types.STAMP, "when the trial was started", LOG),
    Field("verdict", types.one_of(VERDICTS), "`pass`: every check holds; `fail`: some does not; `incomplete`: "
          "nothing to judge", RUN_RECORD, csv="verdict"),
    Field("checks", _CHECKS.or_null(), "whether each check holds, by name", RUN_RECORD),
    Field("explain", _EXPLAIN.or_null(), "what was expected and what came, by check", RUN_RECORD, csv="why"),
    Field("error", inner(ERROR), "why there is nothing to judge", _EVERYWHERE, csv="error"),
    Field("attempts", FROM_ONE, "how often the trial was started", _RECORDS, csv="attempts"),
    Field("retries", types.COUNT, "requests before the last one, within the trial", _EVERYWHERE, csv="retries"),
    Field("cold", types.TRUTH, "whether it was the first of its case in its session", _RECORDS, csv="cold"),
    Field("latency_s", types.SECONDS_OR_NULL, "of the last request, from the first byte sent to the last one read; in "
          "a run record null where no model was asked", f"{LOG}, {RUN_RECORD}", csv="latency_s"),
    Field("recorded_latency_s", types.SECONDS_OR_NULL, "the same, as the log has it", _RECORDS),
    Field("waited_s", types.SECONDS, "between the requests of the trial", LOG),
    Field("slept_s", types.SECONDS, "by which the wall clock ran ahead of the monotonic one, if over 5", _EVERYWHERE,
          csv="slept_s", is_left_out=True),
    Field("usage", inner(USAGE), "tokens; null where no whole reply came", _EVERYWHERE, csv="usage"),
    Field("timings", inner(TIMINGS), "seconds inside the request, likewise", _EVERYWHERE, csv="timings"),
    Field("finish", types.TEXT_OR_NULL, "why the answer ended, in the server's word", _EVERYWHERE, csv="finish"),
    Field("output", types.TEXT, "the answer, as received", _EVERYWHERE, csv="output"),
    Field("reasoning", types.TEXT_OR_NULL, "kept apart, and never judged", _EVERYWHERE, csv="reasoning"),
)
_ANSWER, _NO_ERROR = ("usage", "timings", "finish", "output", "reasoning"), ("error",)


def _known(table: FieldTable[Any]) -> Type:
    """An object of the log: it may be null, but then its line takes the long way."""
    return replace(inner(table).or_null(), pattern=pattern_of(table.fields))


LOG_REPLY = leniently(fields_in(
    TRIAL_FIELDS, LOG, _NO_ERROR, usage=_known(LOG_USAGE), timings=_known(LOG_TIMINGS)), "usage", "timings")
LOG_FAILURE = fields_in(TRIAL_FIELDS, LOG, _ANSWER, error=inner(LOG_ERROR))
RECORDED_REPLY = fields_in(TRIAL_FIELDS, RECORDING, _NO_ERROR)
RESULT = fields_in(
    TRIAL_FIELDS, RUN_RECORD, attempts=types.COUNT, output=types.TEXT_OR_NULL, error=inner(ERROR).or_null(),
    usage=inner(USAGE).or_null(), timings=inner(TIMINGS).or_null())


def check_seed(trial: int, seed: int, place: str) -> None:
    """Raise ValueError unless the seed of a trial follows from its number."""
    if seed != seed_of(trial):
        raise ValueError(f"{place}.seed is {seed}, not {seed_of(trial)}, the seed of trial {trial}")


def error_in(known: Collection[str]) -> Type:
    """An error of one of these types."""
    listed = (replace(one, type=types.one_of(known)) if one.name == "type" else one for one in ERROR_FIELDS)
    return inner(FieldTable(ErrorFacts, listed))
