"""The invariants of a trace: each is one small function over the events of one trial and what its trial line says.

Together they say: the model could see it if and only if it was logged, and what was judged and billed is what
happened. What does not live here: reading the log and the trace (trace_check.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchkit.basics.canonical import short_digest, text_digest
from benchkit.basics.names import count_of, shown_line
from benchkit.basics.values import JSON, Failure
from benchkit.boards.sums import Bill, bill_of
from benchkit.boards.trace_events import (
    ATTEMPT,
    CALL,
    END,
    ERROR,
    MESSAGE,
    RESULT,
    START,
    SYSTEM,
    USER,
    Event,
)
from benchkit.boards.trace_views import opening_of, outcomes_in, said_in, sent_in
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.parts import fields_of_timings, fields_of_usage

LINES = "every line is whole, or its damage is named"
SEGMENTS = "each trial line has one closed segment"
SEQ = "seq has no gaps"
ORDER = "a trial begins once, ends once, and its steps count up"
CALLS = "every result answers a call, and every call has one"
REQUESTS = "messages rebuilt from the events hash to the request that was sent"
COSTS = "costs add up to what was billed"
ANSWER = "the answer judged is the last message"
TIMES = "the times of a session do not run backwards"
PLAYED = "what a solver is shown is what its question gives for what it said"
INVARIANTS = (LINES, SEGMENTS, SEQ, ORDER, CALLS, REQUESTS, COSTS, ANSWER, TIMES, PLAYED)
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Due:
    """What a trial line says that its segment must agree with.

    `text` and `bill` are digests: of the output or what came of one, and of what the trial took.
    """

    request: str
    text: str
    error: str | None
    bill: str
    settings: Mapping[str, JSON]


def due_of(line: TrialLine, settings: Mapping[str, JSON]) -> Due:
    """What a trial line says, and the settings of its system that held when it was written."""
    outcome, bill = line.outcome, bill_of([line.outcome])
    if isinstance(outcome, Failure):
        error = outcome.error
        return Due(line.request, _digest(error.partial), error.type, _bill_digest(bill, True), settings)
    return Due(line.request, _digest(outcome.output), None, _bill_digest(bill, False), settings)


def _digest(text: str | None) -> str:
    return "nothing" if text is None else text_digest(text)[:32]


def _bill_digest(bill: Bill, is_failure: bool) -> str:
    # the line of an error has no usage and no timings, whatever its earlier steps took
    usage = None if is_failure else fields_of_usage(bill.usage)
    timings = None if is_failure else fields_of_timings(bill.timings)
    return short_digest([usage, timings, bill.latency_s, bill.retries, bill.waited_s])


def violations_of(events: Sequence[Event], due: Due) -> Iterator[tuple[str, str]]:
    """(invariant, what was found) of every violation in the segment of a trial line."""
    for invariant, check in _CHECKS.items():
        for what in check(events, due):
            yield invariant, what


def _closed(events: Sequence[Event], due: Due) -> Iterator[str]:
    if events[-1].type != END:
        yield "its segment is not closed"


def gaps_in(events: Sequence[Event], due: Due | None = None) -> Iterator[str]:
    """Where `seq` has a gap."""
    expected = 0
    for event in events:
        if event.seq != expected:
            yield f"seq is {event.seq}, not {expected}"
        expected = event.seq + 1


def _order(events: Sequence[Event], due: Due) -> Iterator[str]:
    kinds = [event.type for event in events]
    if kinds[0] != START or kinds.count(START) != 1:
        yield f"it does not begin with the one {START}"
    if kinds.count(END) > 1 or END in kinds[:-1]:
        yield f"something stands behind its {END}"
    if len({event.geometry for event in events}) != 1:
        yield "its geometry changes"
    heard = 0
    for event in events:
        if event.step != _step_of(event, heard):
            yield f"{event.type} stands at step {event.step} after {count_of(heard, 'message')}"
            return
        heard += event.type == MESSAGE and event.data["request"] is not None


def _step_of(event: Event, heard: int) -> int:
    if event.type == START:
        return 0
    is_about_the_last = event.type in (CALL, RESULT) or (event.type == END and event.data["ended"] != "error")
    return heard if is_about_the_last else heard + 1


def _calls(events: Sequence[Event], due: Due) -> Iterator[str]:
    for before, event in pairwise(events):
        call_id = shown_line(str(event.data.get("call_id")), 20)
        if event.type == RESULT and (before.type != CALL or before.data["call_id"] != event.data["call_id"]):
            yield f"result {call_id} answers no call"
        if event.type == CALL and (before.type != MESSAGE or before.data["text"] != event.data["arguments"]):
            yield f"call {call_id} is not the message before it"
        if before.type == CALL and event.type != RESULT:
            yield f"call {shown_line(before.data['call_id'], 20)} has no result"
        if before.type == MESSAGE and before.data["request"] is not None and event.type not in (CALL, END):
            yield f"the message of step {before.step} is neither a call nor the last"


def _requests(events: Sequence[Event], due: Due) -> Iterator[str]:
    opening = opening_of(events)
    if opening is None:
        return  # named by the order already, and nothing can be rebuilt
    seed = events[0].key.cell.seed
    if events[0].data["seed"] != seed:
        yield f"its seed is {events[0].data['seed']}, not {seed}"
    first, seen = None, 0
    for sent in sent_in(events):
        seen = events.index(sent.event)
        request = opening.request(sent.messages, due.settings, seed)
        first = first or request
        if request != sent.event.data["request"]:
            yield f"the messages before step {sent.event.step} hash to {request}, not {sent.event.data['request']}"
    unseen = [event.type for event in events[seen:] if event.type in (SYSTEM, USER)]
    if unseen:
        yield f"{unseen[0]} was sent in no request"
    if first != due.request:
        yield f"its first request is {first or 'missing'}, and that of its trial line {due.request}"


def _costs(events: Sequence[Event], due: Due) -> Iterator[str]:
    end, opening = events[-1], opening_of(events)
    spent = sum(event.data["cost"] for event in events if event.type == RESULT)
    if end.type == END and abs(end.data["cost"] - spent) > _TINY:
        yield f"results cost {spent:g}, and {end.data['cost']:g} were billed"
    prices = opening.prices if opening else None
    budget = prices.get("budget") if prices else None
    if isinstance(budget, int | float) and spent > budget + _TINY:
        yield f"results cost {spent:g}, and the budget was {budget:g}"
    outcomes = outcomes_in(events)
    if _bill_digest(bill_of(outcomes), due.error is not None) != due.bill:
        yield "tokens, seconds or retries of its steps do not add up to those of its trial line"


def _answer(events: Sequence[Event], due: Due) -> Iterator[str]:
    said, end = said_in(events), events[-1]
    errors = [event.data["type"] for event in events if event.type == ERROR]
    if errors != ([] if due.error is None else [due.error]):
        yield f"its errors are {', '.join(errors) or 'none'}, and that of its trial line is {due.error or 'none'}"
    lost = [event.data["text"] for event in events if event.type == ATTEMPT]
    last = (said if due.error is None else lost)[-1:]
    if not last or _digest(last[0]) != due.text:
        yield f"the {'output' if due.error is None else 'partial text'} of its trial line is not its last message"
    if end.type == END and end.data["messages"] != len(said):
        yield f"it has {count_of(len(said), 'message')}, and its end says {end.data['messages']}"
    if end.type == END and (end.data["ended"] == "error") != (due.error is not None):
        yield f"its end says {end.data['ended']}, and its trial line has {due.error or 'an answer'}"


_CHECKS: Mapping[str, Callable[[Sequence[Event], Due], Iterator[str]]] = {
    SEGMENTS: _closed, SEQ: gaps_in, ORDER: _order, CALLS: _calls, REQUESTS: _requests, COSTS: _costs,
    ANSWER: _answer,
}
