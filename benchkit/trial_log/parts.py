"""The wire form of what the log, the recording and the run record have in common: tokens, times, errors, task names.

What does not live here: the lines of the log (lines.py), and the shapes of whole files.
"""
from __future__ import annotations

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.trial_log.fields import Fields


def rounded(seconds: float | None) -> float | None:
    """Seconds as they are written: to 6 digits; None stays unknown."""
    return None if seconds is None else round(float(seconds), 6)


def fields_of_error(error: ErrorFacts) -> dict[str, JSON]:
    """The wire form of why there is nothing to judge."""
    return {"type": error.type, "message": error.message, "partial": error.partial}


def fields_of_task_name(task: TaskName) -> dict[str, JSON]:
    """The wire form of the name of a task."""
    return {"module": task.module, "name": task.name, "version": task.version}


def fields_of_usage(usage: Usage) -> dict[str, JSON]:
    """The wire form of token counts."""
    return {
        "prompt_tokens": usage.prompt_tokens, "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }


def fields_of_timings(timings: Timings) -> dict[str, JSON]:
    """The wire form of the times inside a request, in seconds rounded to 6 digits."""
    return {
        "load_s": rounded(timings.load_s), "prompt_s": rounded(timings.prompt_s),
        "output_s": rounded(timings.output_s), "first_token_s": rounded(timings.first_token_s),
        "other_s": rounded(timings.other_s),
    }


def usage_of(values: Fields, name: str) -> Usage:
    """Token counts from the wire; null is "nothing known"."""
    if values.is_null(name):
        return Usage()
    inner = values.inner(name)
    return Usage(
        inner.integer_or_null("prompt_tokens"), inner.integer_or_null("output_tokens"),
        inner.integer_or_null("cached_tokens"))


def timings_of(values: Fields, name: str) -> Timings:
    """Times inside a request from the wire; null is "nothing known"."""
    if values.is_null(name):
        return Timings()
    inner = values.inner(name)
    return Timings(
        inner.seconds_or_null("load_s"), inner.seconds_or_null("prompt_s"), inner.seconds_or_null("output_s"),
        inner.seconds_or_null("first_token_s"), inner.seconds_or_null("other_s"))


def error_of(values: Fields, name: str) -> ErrorFacts:
    """Why there is nothing to judge, from the wire."""
    inner = values.inner(name)
    return ErrorFacts(
        inner.one_of("type", ERROR_TYPES), inner.text("message"), inner.text_or_null("partial"))


def task_name_of(values: Fields, name: str) -> TaskName:
    """The name of a task from the wire."""
    inner = values.inner(name)
    return TaskName(inner.name("module"), inner.text("name"), inner.text("version"))
