"""The events of a trace: all that a solver was shown, said and bought in one trial, and what they amount to.

One line an event, canonical and closed by `sum` as in the trial log. The wire form stands only here, and so does the
table of what `data` holds for each type; a type that is not in it is refused. A key that a later kit adds is passed
over.

Pure: a segment in, values out. It presumes a segment whose invariants hold (trace_check.py looks at those).
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

_TEXT, _TEXT_OR_NULL, _WHOLE, _AMOUNT = "a text", "a text or null", "a whole number from 0", "a number from 0"
_SECONDS, _SECONDS_OR_NULL, _HASH = "seconds", "seconds or null", "16 hex digits"
_OBJECT_OR_NULL, _LIST_OR_NULL, _USAGE, _TIMINGS = "an object or null", "a list or null", "tokens", "seconds by name"
_OBJECTS, _ANYTHING, _TRUTH, _HASH_OR_NULL = "a list of objects", "any JSON", "true or false", "16 hex digits or null"
_ENDING, _ERROR_TYPE = "one of " + ", ".join(ENDINGS), "an error type of the log"

KNOWN_EVENT_TYPES: Mapping[str, Mapping[str, str]] = {
    START: {"seed": _WHOLE, "payload": _ANYTHING, "schema": _OBJECT_OR_NULL, "tools": _LIST_OR_NULL,
            "prices": _OBJECT_OR_NULL},
    SYSTEM: {"text": _TEXT},
    USER: {"text": _TEXT},
    MESSAGE: {"text": _TEXT, "request": _HASH_OR_NULL, "finish": _TEXT_OR_NULL, "reasoning": _TEXT_OR_NULL,
              "usage": _USAGE, "timings": _TIMINGS, "latency_s": _SECONDS_OR_NULL, "retries": _WHOLE,
              "waited_s": _SECONDS},
    ATTEMPT: {"text": _TEXT_OR_NULL, "request": _HASH, "error": _ERROR_TYPE, "message": _TEXT,
              "latency_s": _SECONDS_OR_NULL, "retries": _WHOLE, "waited_s": _SECONDS},
    CALL: {"call_id": _TEXT, "arguments": _TEXT},
    RESULT: {"call_id": _TEXT, "observation": _OBJECTS, "cost": _AMOUNT, "grounded": _TRUTH, "tool": _TEXT_OR_NULL,
             "error": _TEXT_OR_NULL},
    ERROR: {"type": _ERROR_TYPE, "message": _TEXT},
    END: {"ended": _ENDING, "messages": _WHOLE, "cost": _AMOUNT},
}
"""Every type there is, and the keys of its `data` with what each holds. In the words of a person:

    trial/start        what the trial opens with: `payload` is what the solver is handed, `schema` that of a message;
                       `tools` and `prices` (limits included) in gated, null in single
    context/system     a message as the solver was sent it; its role is in the type
    context/user       the same
    assistant/message  `text` as it entered the context; `request` is the hash of the request that it answered, null
                       for an example that stands in the prompt; `reasoning` is kept apart and never judged
    assistant/attempt  a request that brought no whole reply: `text` is what had come, null if nothing
    tool/call          `arguments` is the message as it was written, not parsed
    tool/result        what the call of the same `call_id` brought and cost; `error` says why it brought nothing
    trial/error        why there is nothing to judge
    trial/end          how it ended, how many messages of the solver there were, and what was billed for tools
"""


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _holds_counts(value: Any) -> bool:
    counts = [value.get(one.name) for one in fields(Usage)] if isinstance(value, dict) else [-1]
    return all(count is None or (type(count) is int and count >= 0) for count in counts)


def _holds_seconds(value: Any) -> bool:
    times = [value.get(one.name) for one in fields(Timings)] if isinstance(value, dict) else [-1]
    return all(time is None or _is_amount(time) for time in times)


def _is_hash(value: Any) -> bool:
    return type(value) is str and len(value) == 16 and set(value) <= set("0123456789abcdef")


_HOLDS: Mapping[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: type(value) is str,
    _TEXT_OR_NULL: lambda value: value is None or type(value) is str,
    _WHOLE: lambda value: type(value) is int and value >= 0,
    _AMOUNT: _is_amount,
    _SECONDS: _is_amount,
    _SECONDS_OR_NULL: lambda value: value is None or _is_amount(value),
    _HASH: _is_hash,
    _HASH_OR_NULL: lambda value: value is None or _is_hash(value),
    _USAGE: _holds_counts,
    _TIMINGS: _holds_seconds,
    _OBJECT_OR_NULL: lambda value: value is None or isinstance(value, dict),
    _LIST_OR_NULL: lambda value: value is None or isinstance(value, list),
    _OBJECTS: lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    _ANYTHING: lambda value: True,
    _TRUTH: lambda value: type(value) is bool,
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
    _check_data(kind, data)
    cell = Cell(values.name("solver"), values.name("case"), values.integer("trial", 1, MOST_CELLS))
    return TraceEvent(
        SegmentKey(values.hex_digits("session", 16), cell, values.integer("attempt", 1, MOST_ATTEMPTS)),
        values.integer("seq"), values.stamp("ts"), values.one_of("geometry", GEOMETRIES),
        values.integer("step", 0, _MOST_STEPS), kind, data)


def _check_data(kind: str, data: Mapping[str, JSON]) -> None:
    for name, wanted in KNOWN_EVENT_TYPES[kind].items():
        if name not in data or not _HOLDS[wanted](data[name]):
            found = "is not" if name in data else "is missing; it must be"
            raise ValueError(f'field "data.{name}" of {kind} {found} {wanted}')


_ROLES = {SYSTEM: "system", USER: "user", MESSAGE: "assistant"}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as the events rebuild it: the messages the solver could see, and the event that came of them."""

    messages: tuple[Message, ...]
    event: TraceEvent


def opening_of(events: Sequence[TraceEvent]) -> PromptState | None:
    """What the trial opened with; None where that event is not the first."""
    if not events or events[0].type != START:
        return None
    data = events[0].data
    return PromptState(data["payload"], data["schema"], data["tools"], data["prices"])


def sent_in(events: Sequence[TraceEvent]) -> Iterator[Sent]:
    """Every request of the trial, rebuilt from the events before its reply (or what came in its place)."""
    talk: list[Message] = []
    for event in events:
        if _is_of_request(event):
            yield Sent(tuple(talk), event)
        if event.type in _ROLES:
            talk.append({"role": _ROLES[event.type], "content": event.data["text"]})


def shown_in(events: Sequence[TraceEvent]) -> tuple[Message, ...]:
    """What the solver was shown, its own messages left out: where leaks are looked for, and what a page may show."""
    return tuple({"role": _ROLES[event.type], "content": event.data["text"]} for event in events
                 if event.type in _ROLES and not _is_of_request(event))


def said_in(events: Sequence[TraceEvent]) -> tuple[str, ...]:
    """The solver's messages in order; the last is its answer, if the trial did not end in an error."""
    return tuple(event.data["text"] for event in events if event.type == MESSAGE and _is_of_request(event))


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
    last = {event.step: event for event in events if _is_of_request(event)}
    return tuple(map(_outcome, last.values()))


def _is_of_request(event: TraceEvent) -> bool:
    """Whether it came of a request, well or ill; an example that stands in the prompt did not."""
    return event.type == ATTEMPT or (event.type == MESSAGE and event.data["request"] is not None)


def _outcome(event: TraceEvent) -> Outcome:
    data = event.data
    if event.type == ATTEMPT:
        facts = ErrorFacts(data["error"], data["message"], data["text"])
        return Failure(facts, data["latency_s"], data["retries"], data["waited_s"])
    usage = LOG_USAGE.value_of(data["usage"], "data.usage")
    timings = LOG_TIMINGS.value_of(data["timings"], "data.timings")
    return Reply(data["text"], data["finish"], data["reasoning"], usage, timings, data["latency_s"], data["retries"],
                 data["waited_s"])
