"""The events of a trace: all that a solver was shown, said and bought in one trial, and what they amount to. Pure.

One line an event, canonical and closed by `sum` as in the trial log; a key that a later kit adds is passed over. What
is drawn from a segment presumes that its invariants hold (trace_invariants.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import close_line
from benchkit.basics.values import JSON, Cell, ErrorFacts, Failure, Message, Outcome, Reply, Timings, Usage
from benchkit.boards.game import PromptState, observations_in
from benchkit.boards.pack import GEOMETRIES, Step
from benchkit.trial_log.schema import LOG_TIMINGS, LOG_USAGE, MOST_ATTEMPTS, MOST_CELLS

EVENT_START = b'{"attempt":'
"""So every event begins, and with it every trace: keys are sorted."""
_VERSION = 1
_MOST_STEPS = 1_000_000

START, SYSTEM, USER = "trial/start", "context/system", "context/user"
CALL, RESULT = "tool/call", "tool/result"
MESSAGE, ATTEMPT = "assistant/message", "assistant/attempt"
ERROR, END = "trial/error", "trial/end"

ENDINGS = ("answer", "last message", "error")
"""How a trial ended: with an answer, with the last message it had (whatever that says), or with an error."""
_TEXT, _TEXT_OR_NULL, _WHOLE, _SECONDS = "a text", "a text or null", "a whole number from 0", "seconds"
_ENDING, _ERROR_TYPE = "one of " + ", ".join(ENDINGS), "an error type of the log"
_REQUEST = {"latency_s": "seconds or null", "retries": _WHOLE, "waited_s": _SECONDS}

KNOWN_EVENT_TYPES: Mapping[str, Mapping[str, str]] = {
    # what the solver is handed, the schema of a message; in gated, what can be bought and for how much
    START: {"seed": _WHOLE, "payload": "any JSON", "schema": "an object or null", "tools": "a list or null",
            "prices": "an object or null"},
    # a message as the solver was sent it; its role is in the type
    SYSTEM: {"text": _TEXT},
    USER: {"text": _TEXT},
    # as it entered the context; `request` is the hash of the request that it answered, null for an example that
    # stands in the prompt; `reasoning` is kept apart and never judged
    MESSAGE: {"text": _TEXT, "request": "16 hex digits or null", "finish": _TEXT_OR_NULL, "reasoning": _TEXT_OR_NULL,
              "usage": "tokens", "timings": "seconds by name", **_REQUEST},
    # a request that brought no whole reply: `text` is what had come, null if nothing
    ATTEMPT: {"text": _TEXT_OR_NULL, "request": "16 hex digits", "error": _ERROR_TYPE, "message": _TEXT, **_REQUEST},
    # `arguments` is the message as it was written, not parsed
    CALL: {"call_id": _TEXT, "arguments": _TEXT},
    # what the call of the same `call_id` brought and cost; `error` says why it brought nothing
    RESULT: {"call_id": _TEXT, "observation": "a list of objects", "cost": "a number from 0",
             "grounded": "true or false", "tool": _TEXT_OR_NULL, "error": _TEXT_OR_NULL},
    # why there is nothing to judge
    ERROR: {"type": _ERROR_TYPE, "message": _TEXT},
    # how many messages of the solver there were, and what was billed for tools
    END: {"ended": _ENDING, "messages": _WHOLE, "cost": "a number from 0"},
}
"""Every type there is, and the keys of its `data` with what each holds; any other type is refused."""


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _is_hash(value: Any) -> bool:
    return type(value) is str and len(value) == 16 and set(value) <= set("0123456789abcdef")


def _each_of(facts: type[Usage | Timings], holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether an object has only such values, or none, at the names of these facts."""
    names = [one.name for one in fields(facts)]
    return lambda value: isinstance(value, dict) and all(
        value.get(name) is None or holds(value[name]) for name in names)


_HOLDS: Mapping[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: type(value) is str,
    _TEXT_OR_NULL: lambda value: value is None or type(value) is str,
    _WHOLE: _is_count,
    "a number from 0": _is_amount,
    _SECONDS: _is_amount,
    "seconds or null": lambda value: value is None or _is_amount(value),
    "16 hex digits": _is_hash,
    "16 hex digits or null": lambda value: value is None or _is_hash(value),
    "tokens": _each_of(Usage, _is_count),
    "seconds by name": _each_of(Timings, _is_amount),
    "an object or null": lambda value: value is None or isinstance(value, dict),
    "a list or null": lambda value: value is None or isinstance(value, list),
    "a list of objects": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    "any JSON": lambda value: True,
    "true or false": lambda value: type(value) is bool,
    _ENDING: lambda value: value in ENDINGS,
    _ERROR_TYPE: lambda value: value in ERROR_TYPES,
}


@dataclass(frozen=True, slots=True)
class SegmentKey:
    """Which trial an event belongs to: an attempt at a cell, in a session (16 hex digits)."""

    session: str
    cell: Cell
    attempt: int


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event. `seq` counts from 0 in its segment; `step` is the solver's message it leads to or follows, from 1
    (0 at the start); `at` is a time in UTC.
    """

    key: SegmentKey
    seq: int
    at: str
    geometry: str
    step: int
    type: str
    data: Mapping[str, Any]

    @property
    def is_of_request(self) -> bool:
        """Whether it came of a request, well or ill; an example that stands in the prompt did not."""
        return self.type == ATTEMPT or (self.type == MESSAGE and self.data["request"] is not None)


def event_bytes(event: TraceEvent) -> bytes:
    r"""The whole line as it stands in the trace, "\n" included. Raises ValueError for a value that JSON cannot say."""
    key = event.key
    return close_line({
        "v": _VERSION, "seq": event.seq, "ts": event.at, "session": key.session, "case": key.cell.case,
        "solver": key.cell.system, "trial": key.cell.trial, "attempt": key.attempt, "geometry": event.geometry,
        "step": event.step, "type": event.type, "data": event.data,
    })


def event_of(value: JSON) -> TraceEvent:
    """The event with these fields. Raises ValueError naming the field that is missing or wrong, or an unknown type."""
    values = Fields(value)
    if values.integer("v") != _VERSION:
        raise values.wrong("v", f"{_VERSION} (a trace of another version needs another kit)")
    kind = values.one_of("type", tuple(KNOWN_EVENT_TYPES))
    data = values.mapping("data")
    for name, wanted in KNOWN_EVENT_TYPES[kind].items():
        if name not in data or not _HOLDS[wanted](data[name]):
            found = "is not" if name in data else "is missing; it must be"
            raise ValueError(f'field "data.{name}" of {kind} {found} {wanted}')
    cell = Cell(values.name("solver"), values.name("case"), values.integer("trial", 1, MOST_CELLS))
    return TraceEvent(
        SegmentKey(values.hex_digits("session", 16), cell, values.integer("attempt", 1, MOST_ATTEMPTS)),
        values.integer("seq"), values.stamp("ts"), values.one_of("geometry", GEOMETRIES),
        values.integer("step", 0, _MOST_STEPS), kind, data)


_ROLES = {SYSTEM: "system", USER: "user", MESSAGE: "assistant"}


def opening_of(events: Sequence[TraceEvent]) -> PromptState | None:
    """What the trial opened with; None where that event is not the first."""
    if not events or events[0].type != START:
        return None
    data = events[0].data
    return PromptState(data["payload"], data["schema"], data["tools"], data["prices"])


def sent_in(events: Sequence[TraceEvent]) -> Iterator[tuple[TraceEvent, Sequence[Message]]]:
    """Every request of the trial: the event that came of it, and the messages that the solver could see before it."""
    talk: list[Message] = []
    for event in events:
        if event.is_of_request:
            yield event, tuple(talk)
        if event.type in _ROLES:
            talk.append({"role": _ROLES[event.type], "content": event.data["text"]})


def shown_in(events: Sequence[TraceEvent]) -> tuple[Message, ...]:
    """What the solver was shown, its own messages left out."""
    return tuple({"role": _ROLES[event.type], "content": event.data["text"]} for event in events
                 if event.type in _ROLES and not event.is_of_request)


def said_in(events: Sequence[TraceEvent]) -> tuple[str, ...]:
    """The solver's messages in order; the last is its answer, if the trial did not end in an error."""
    return tuple(event.data["text"] for event in events if event.type == MESSAGE and event.is_of_request)


def steps_in(events: Sequence[TraceEvent]) -> tuple[Step, ...]:
    """The steps that judges read: what was handed, then each message before the last with what it brought."""
    opening = opening_of(events)
    calls = {event.data["call_id"]: event.data["arguments"] for event in events if event.type == CALL}
    bought = (Step(calls[event.data["call_id"]], tuple(event.data["observation"]), event.data["cost"],
                   event.data["grounded"], event.data["error"])
              for event in events if event.type == RESULT and event.data["call_id"] in calls)
    return (Step(None, observations_in(opening.payload if opening else None)), *bought)


def outcomes_in(events: Sequence[TraceEvent]) -> tuple[Outcome, ...]:
    """What each step of the trial brought and took in the end; requests that were sent again are its `retries`."""
    return tuple(map(_outcome, {event.step: event for event in events if event.is_of_request}.values()))


def _outcome(event: TraceEvent) -> Outcome:
    data = event.data
    if event.type == ATTEMPT:
        facts = ErrorFacts(data["error"], data["message"], data["text"])
        return Failure(facts, data["latency_s"], data["retries"], data["waited_s"])
    usage = LOG_USAGE.value_of(data["usage"], "data.usage")
    timings = LOG_TIMINGS.value_of(data["timings"], "data.timings")
    return Reply(data["text"], data["finish"], data["reasoning"], usage, timings, data["latency_s"], data["retries"],
                 data["waited_s"])
