"""What recordings and run records share: sessions, and the parts of the log, read with nothing missing or unknown."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import HOLE, number_of, text_of
from benchkit.basics.texts import first_alike
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage, seed_of
from benchkit.trial_log import parts
from benchkit.trial_log.lines import STOP_REASONS

USAGE_SHAPE: Mapping[str, JSON] = dict.fromkeys(parts.USAGE_FIELDS, HOLE)
ASKED_USAGE_SHAPE: Mapping[str, JSON] = {**USAGE_SHAPE, parts.ASKED: HOLE}
TIMINGS_SHAPE: Mapping[str, JSON] = dict.fromkeys(parts.TIMINGS_FIELDS, HOLE)
ERROR_SHAPE: Mapping[str, JSON] = dict.fromkeys(parts.ERROR_FIELDS, HOLE)


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


def session_fields(session: SessionFacts) -> dict[str, JSON]:
    """The wire form of a session."""
    return {
        "started_at": session.started_at, "hardware": session.hardware, "environment": session.environment,
        "timeout_s": session.timeout_s, "budget_s": session.budget_s, "load_s": session.load_s,
        "context_length": session.context_length, "stop": session.stop,
    }


def sessions_of(fields: Fields) -> tuple[SessionFacts, ...]:
    """The sessions of a file, at least one; ValueError names the field."""
    sessions = tuple(_session_of(one) for one in fields.objects("sessions"))
    if not sessions:
        raise fields.wrong("sessions", "a list of at least one")
    return sessions


def _session_of(fields: Fields) -> SessionFacts:
    fields.has_exactly(
        ("started_at", "hardware", "environment", "timeout_s", "budget_s", "load_s", "context_length", "stop"))
    return SessionFacts(
        fields.stamp("started_at"), fields.text_or_none("hardware"), fields.mapping("environment"),
        fields.seconds_or_none("timeout_s"), fields.seconds_or_none("budget_s"),
        fields.seconds_or_none("load_s"),
        None if fields.json("stop") is None else fields.one_of("stop", STOP_REASONS),
        fields.integer_or_none("context_length"))


def task_of(fields: Fields) -> TaskName:
    """A task's name from its wire form, nothing missing or unknown; ValueError names the field."""
    fields.has_exactly(parts.TASK_FIELDS)
    return parts.task_name_of(fields)


def usage_texts(usage: Usage) -> tuple[str, ...]:
    """What fills USAGE_SHAPE, in its order; or ASKED_USAGE_SHAPE."""
    counts = number_of(usage.prompt_tokens), number_of(usage.output_tokens), number_of(usage.cached_tokens)
    return counts if usage.asked_letters is None else (*counts, number_of(usage.asked_letters))


def timings_texts(timings: Timings) -> tuple[str, ...]:
    """What fills TIMINGS_SHAPE, in its order."""
    return (number_of(timings.load_s), number_of(timings.prompt_s), number_of(timings.output_s),
            number_of(timings.first_token_s), number_of(timings.other_s))


def error_texts(error: ErrorFacts) -> tuple[str, ...]:
    """What fills ERROR_SHAPE, in its order."""
    return text_of(error.type), text_of(error.message), text_of(error.partial)


def usage_of(fields: Fields) -> Usage:
    """Tokens from their wire form, nothing missing or unknown; ValueError names the field."""
    fields.has_exactly(USAGE_SHAPE.keys(), optional=(parts.ASKED,))
    return parts.usage_of(fields)


def timings_of(fields: Fields) -> Timings:
    """Seconds inside one request from their wire form, nothing missing or unknown; ValueError names the field."""
    fields.has_exactly(TIMINGS_SHAPE.keys())
    return parts.timings_of(fields)


def error_of(fields: Fields, types: Collection[str] = ERROR_TYPES) -> ErrorFacts:
    """Why there is no output, from its wire form, nothing missing or unknown; ValueError names the field."""
    fields.has_exactly(ERROR_SHAPE.keys())
    return parts.error_of(fields, types)


def trial_and_seed_of(fields: Fields) -> tuple[int, int]:
    """The number of a trial and its seed, which follows from it."""
    trial = fields.integer("trial", least=1)
    seed = seed_of(trial)
    if fields.integer("seed") != seed:
        raise fields.wrong("seed", f"{seed}, the seed of trial {trial}")
    return trial, seed


def check_unique(ids: Sequence[str], place: str) -> None:
    """Raise ValueError if an id stands twice, also where two only look the same."""
    found = first_alike(ids)
    if found is not None:
        number, first, but_for = found
        raise ValueError(f"{place}[{number}].id is the same as {place}[{first}].id{but_for}")
