"""What the events of one trial amount to: its opening, what the solver saw, the steps that judges read.

Pure: a segment in, values out. It presumes a segment whose invariants hold (trace_check.py looks at those).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.fields import Fields
from benchkit.basics.values import ErrorFacts, Failure, Message, Outcome, Reply
from benchkit.boards.game import observations_in
from benchkit.boards.opening import Opening
from benchkit.boards.pack import Step
from benchkit.boards.trace_events import ATTEMPT, CALL, MESSAGE, RESULT, START, SYSTEM, USER, Event
from benchkit.trial_log.parts import timings_of, usage_of

_ROLES = {SYSTEM: "system", USER: "user", MESSAGE: "assistant"}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as the events rebuild it: the messages the solver could see, and the event that came of them."""

    messages: tuple[Message, ...]
    event: Event


def opening_of(events: Sequence[Event]) -> Opening | None:
    """What the trial opened with; None where that event is not the first."""
    if not events or events[0].type != START:
        return None
    data = events[0].data
    return Opening(data["payload"], data["schema"], data["tools"], data["prices"])


def sent_in(events: Sequence[Event]) -> Iterator[Sent]:
    """Every request of the trial, rebuilt from the events before its reply (or what came in its place)."""
    talk: list[Message] = []
    for event in events:
        if _is_of_request(event):
            yield Sent(tuple(talk), event)
        if event.type in _ROLES:
            talk.append({"role": _ROLES[event.type], "content": event.data["text"]})


def shown_in(events: Sequence[Event]) -> tuple[Message, ...]:
    """What the solver was shown, its own messages left out: where leaks are looked for, and what a page may show."""
    return tuple({"role": _ROLES[event.type], "content": event.data["text"]} for event in events
                 if event.type in _ROLES and not _is_of_request(event))


def said_in(events: Sequence[Event]) -> tuple[str, ...]:
    """The solver's messages in order; the last is its answer, if the trial did not end in an error."""
    return tuple(event.data["text"] for event in events if event.type == MESSAGE and _is_of_request(event))


def steps_in(events: Sequence[Event]) -> tuple[Step, ...]:
    """The steps that judges read: what was handed, then each message before the last with what it brought."""
    opening = opening_of(events)
    calls = {event.data["call_id"]: event.data["arguments"] for event in events if event.type == CALL}
    bought = (Step(calls[event.data["call_id"]], tuple(event.data["observation"]), event.data["cost"],
                   event.data["grounded"], event.data["error"])
              for event in events if event.type == RESULT and event.data["call_id"] in calls)
    return (Step(None, observations_in(opening.payload if opening else None)), *bought)


def outcomes_in(events: Sequence[Event]) -> tuple[Outcome, ...]:
    """What each step of the trial brought and took in the end; requests that were sent again are its `retries`."""
    last = {event.step: event for event in events if _is_of_request(event)}
    return tuple(map(_outcome, last.values()))


def _is_of_request(event: Event) -> bool:
    """Whether it came of a request, well or ill; an example that stands in the prompt did not."""
    return event.type == ATTEMPT or (event.type == MESSAGE and event.data["request"] is not None)


def _outcome(event: Event) -> Outcome:
    data, fields = event.data, Fields(event.data, "data")
    if event.type == ATTEMPT:
        facts = ErrorFacts(data["error"], data["message"], data["text"])
        return Failure(facts, data["latency_s"], data["retries"], data["waited_s"])
    return Reply(data["text"], data["finish"], data["reasoning"], usage_of(fields.inner("usage")),
                 timings_of(fields.inner("timings")), data["latency_s"], data["retries"], data["waited_s"])
