"""The wire form of what the log, the trace, the recording and the run record share: tokens, times, errors, tasks."""
from __future__ import annotations

from collections.abc import Collection

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.fields import Fields
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage

TASK_FIELDS = ("module", "name", "version")
ERROR_FIELDS = ("type", "message", "partial")
USAGE_FIELDS = ("prompt_tokens", "output_tokens", "cached_tokens")
ASKED = "asked_letters"
"""The field of token counts that is written only where there is something to say."""
TIMINGS_FIELDS = ("load_s", "prompt_s", "output_s", "first_token_s", "other_s")


def rounded(seconds: float | None) -> float | None:
    """Seconds as they are written: to 6 digits; None stays unknown."""
    return None if seconds is None else round(float(seconds), 6)


def fields_of_task_name(task: TaskName) -> dict[str, JSON]:
    """The wire form of the name of a task."""
    return {name: getattr(task, name) for name in TASK_FIELDS}


def fields_of_error(error: ErrorFacts) -> dict[str, JSON]:
    """The wire form of why there is nothing to judge."""
    return {name: getattr(error, name) for name in ERROR_FIELDS}


def fields_of_usage(usage: Usage) -> dict[str, JSON]:
    """The wire form of token counts."""
    fields: dict[str, JSON] = {name: getattr(usage, name) for name in USAGE_FIELDS}
    return fields if usage.asked_letters is None else {**fields, ASKED: usage.asked_letters}


def fields_of_timings(timings: Timings) -> dict[str, JSON]:
    """The wire form of the times inside a request, in seconds rounded to 6 digits."""
    return {name: rounded(getattr(timings, name)) for name in TIMINGS_FIELDS}


def task_name_of(fields: Fields) -> TaskName:
    """The name of a task from its wire form; ValueError names the field."""
    return TaskName(fields.name("module"), fields.text("name"), fields.text("version"))


def error_of(fields: Fields, types: Collection[str] = ERROR_TYPES) -> ErrorFacts:
    """Why there is nothing to judge, from its wire form; ValueError names the field."""
    return ErrorFacts(fields.one_of("type", types), fields.text("message"), fields.text_or_none("partial"))


def usage_of(fields: Fields) -> Usage:
    """Token counts from their wire form, what is not there unknown; ValueError names the field."""
    return Usage(**{name: fields.integer_or_none(name) for name in (*USAGE_FIELDS, ASKED) if name in fields})


def timings_of(fields: Fields) -> Timings:
    """Times inside a request from their wire form, what is not there unknown; ValueError names the field."""
    return Timings(**{name: fields.seconds_or_none(name) for name in TIMINGS_FIELDS if name in fields})
