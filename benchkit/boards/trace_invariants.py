"""The invariants of a trace: small functions over the events of one trial, its trial line, and its question. Pure.

Together they say: the model could see it if and only if it was logged, and what was judged and billed is what
happened. The trial is played again with the messages that it has, and what the pack gives for them is held against
its events. A trial that was asked another question than the one of now says nothing of this one.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical, request_of, short_digest, text_digest
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import JSON, Case, ErrorFacts, Failure, Message, Outcome, Reply
from benchkit.boards import trace_events as trace
from benchkit.boards.game import Game, GameRules, game_of, observations_in, play
from benchkit.boards.pack import Pack, Turn
from benchkit.boards.playing import result_data
from benchkit.boards.question_gates import all_texts_of, leaked_terms, untimely
from benchkit.boards.trace_events import TraceEvent
from benchkit.boards.trace_file import Segment
from benchkit.boards.usage import Bill, bill_of
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.schema import LOG_TIMINGS, USAGE

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
SHOWN = "nothing that a solver is shown tells the truth, or is later than now"
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class ExpectedTrial:
    """What a trial line says that its segment must agree with.

    Each of the first four has 16 hex digits: `text` is of the output or what came of one, `bill` of what the trial
    took, `message` of its error in words.
    """

    request: str
    text: str
    bill: str
    message: str
    error: str | None
    settings: Mapping[str, JSON]


NOTHING = "0" * 16
"""In the place of the digest of a text that is not there."""


def expected_of(line: TrialLine, settings: Mapping[str, JSON]) -> ExpectedTrial:
    """What a trial line says, and the settings of its system that held when it was written."""
    outcome, bill = line.outcome, bill_of([line.outcome])
    if isinstance(outcome, Failure):
        error = outcome.error
        return ExpectedTrial(line.request, _digest(error.partial), _bill_digest(bill, True), _digest(error.message),
                             error.type, settings)
    return ExpectedTrial(line.request, _digest(outcome.output), _bill_digest(bill, False), NOTHING, None, settings)


def _digest(text: str | None) -> str:
    return NOTHING if text is None else text_digest(text)[:16]


def _bill_digest(bill: Bill, is_failure: bool) -> str:
    # the line of an error has no usage and no timings, whatever its earlier steps took
    usage = None if is_failure else USAGE.fields_of(bill.usage)
    timings = None if is_failure else LOG_TIMINGS.fields_of(bill.timings)
    return short_digest([usage, timings, bill.latency_s, bill.retries, bill.waited_s])


def violations_of(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[tuple[str, str]]:
    """(invariant, what was found) of every violation in the segment of a trial line."""
    if events[-1].type != trace.END:
        yield SEGMENTS, "its segment is not closed"
    for invariant, check in _CHECKS.items():
        for what in check(events, line):
            yield invariant, what


def gaps_in(events: Sequence[TraceEvent], line: ExpectedTrial | None = None) -> Iterator[str]:
    """Where `seq` has a gap."""
    expected = 0
    for event in events:
        if event.seq != expected:
            yield f"seq is {event.seq}, not {expected}"
        expected = event.seq + 1


def _order(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[str]:
    kinds = [event.type for event in events]
    if kinds[0] != trace.START or kinds.count(trace.START) != 1:
        yield f"it does not begin with the one {trace.START}"
    if kinds.count(trace.END) > 1 or trace.END in kinds[:-1]:
        yield f"something stands behind its {trace.END}"
    if len({event.geometry for event in events}) != 1:
        yield "its geometry changes"
    heard = 0
    for event in events:
        is_of_last = event.type in (trace.CALL, trace.RESULT) or (
            event.type == trace.END and event.data["ended"] != "error")
        if event.step != (0 if event.type == trace.START else heard if is_of_last else heard + 1):
            yield f"{event.type} stands at step {event.step} after {count_of(heard, 'message')}"
            return
        heard += event.type == trace.MESSAGE and event.data["request"] is not None


def _calls(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[str]:
    for before, event in pairwise(events):
        call_id = shown_line(str(event.data.get("call_id")), 20)
        if event.type == trace.RESULT and (
                before.type != trace.CALL or before.data["call_id"] != event.data["call_id"]):
            yield f"result {call_id} answers no call"
        if event.type == trace.CALL and (
                before.type != trace.MESSAGE or before.data["text"] != event.data["arguments"]):
            yield f"call {call_id} is not the message before it"
        if before.type == trace.CALL and event.type != trace.RESULT:
            yield f"call {shown_line(before.data['call_id'], 20)} has no result"
        if before.type == trace.MESSAGE and before.is_of_request and event.type not in (trace.CALL, trace.END):
            yield f"the message of step {before.step} is neither a call nor the last"


def _requests(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[str]:
    opening = trace.opening_of(events)
    if opening is None:
        return  # named by the order already, and nothing can be rebuilt
    seed = events[0].key.cell.seed
    if events[0].data["seed"] != seed:
        yield f"its seed is {events[0].data['seed']}, not {seed}"
    first, seen = None, 0
    for event, messages in trace.sent_in(events):
        seen = events.index(event)
        request = opening.request(messages, line.settings, seed)
        first = first or request
        if request != event.data["request"]:
            yield f"the messages before step {event.step} hash to {request}, not {event.data['request']}"
    unseen = [event.type for event in events[seen:] if event.type in (trace.SYSTEM, trace.USER)]
    if unseen:
        yield f"{unseen[0]} was sent in no request"
    if first != line.request:
        yield f"its first request is {first or 'missing'}, and that of its trial line {line.request}"


def _costs(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[str]:
    end, opening = events[-1], trace.opening_of(events)
    spent = sum(event.data["cost"] for event in events if event.type == trace.RESULT)
    if end.type == trace.END and abs(end.data["cost"] - spent) > _TINY:
        yield f"results cost {spent:g}, and {end.data['cost']:g} were billed"
    prices = opening.prices if opening else None
    budget = prices.get("budget") if prices else None
    if isinstance(budget, int | float) and spent > budget + _TINY:
        yield f"results cost {spent:g}, and the budget was {budget:g}"
    if _bill_digest(bill_of(trace.outcomes_in(events)), line.error is not None) != line.bill:
        yield "tokens, seconds or retries of its steps do not add up to those of its trial line"


def _answer(events: Sequence[TraceEvent], line: ExpectedTrial) -> Iterator[str]:
    said, end = trace.said_in(events), events[-1]
    errors = [event.data["type"] for event in events if event.type == trace.ERROR]
    if errors != ([] if line.error is None else [line.error]):
        yield f"its errors are {', '.join(errors) or 'none'}, and that of its trial line is {line.error or 'none'}"
    lost = [event.data["text"] for event in events if event.type == trace.ATTEMPT]
    last = (said if line.error is None else lost)[-1:]
    if not last or _digest(last[0]) != line.text:
        yield f"the {'output' if line.error is None else 'partial text'} of its trial line is not its last message"
    if end.type == trace.END and end.data["messages"] != len(said):
        yield f"it has {count_of(len(said), 'message')}, and its end says {end.data['messages']}"
    if end.type == trace.END and (end.data["ended"] == "error") != (line.error is not None):
        yield f"its end says {end.data['ended']}, and its trial line has {line.error or 'an answer'}"


_CHECKS: Mapping[str, Callable[[Sequence[TraceEvent], ExpectedTrial], Iterator[str]]] = {
    SEQ: gaps_in, ORDER: _order, CALLS: _calls, REQUESTS: _requests, COSTS: _costs, ANSWER: _answer}


def outcome_in(events: Sequence[TraceEvent], line: ExpectedTrial) -> Outcome | None:
    """What a trial ended in, by events that violate nothing; None where that is not what its line says of the error."""
    steps = trace.outcomes_in(events)
    bill = bill_of(steps)
    if line.error is None:
        reply = steps[-1]
        return replace(reply, usage=bill.usage, timings=bill.timings, latency_s=bill.latency_s, retries=bill.retries,
                       waited_s=bill.waited_s) if isinstance(reply, Reply) else None
    message = next(event.data["message"] for event in events if event.type == trace.ERROR)
    partial = [event.data["text"] for event in events if event.type == trace.ATTEMPT][-1]
    return Failure(ErrorFacts(line.error, message, partial), bill.latency_s, bill.retries, bill.waited_s) \
        if _digest(message) == line.message else None


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a batch, by case id, and how they are asked. Games are made when they are first needed."""

    pack: Pack
    cases: Mapping[str, Case]
    rules: GameRules
    _games: dict[str, Game | None] = field(default_factory=dict, repr=False)

    def game_of(self, segment: Segment, line: ExpectedTrial | None) -> Game | None:
        """The game that a trial played; None if that was another question, or the pack makes none of it any more.

        Without its line it is told by what it opens with.
        """
        cell = segment.key.cell
        if cell.case not in self._games:
            case = self.cases.get(cell.case)
            try:
                self._games[cell.case] = None if case is None else game_of(self.pack, case, self.rules)
            except Unusable:
                self._games[cell.case] = None
        game = self._games[cell.case]
        if game is None:
            return None
        if line is None:
            opening = trace.opening_of(segment.events)
            return game if opening is not None and canonical(opening.parts) == canonical(game.opening.parts) else None
        return game if line.request == request_of(game.prompt.ask, line.settings, cell.seed) else None

    def exposed_in(self, segment: Segment, game: Game) -> Iterator[str]:
        """What a trial was shown and must not be. Raises Unusable where the pack cannot say what must not be shown."""
        opening = trace.opening_of(segment.events)
        results = [event.data for event in segment.events if event.type == trace.RESULT]
        shown = all_texts_of([opening.parts if opening else None, list(trace.shown_in(segment.events)), *results])
        for term in leaked_terms(self.pack, game.case, shown):
            yield f"it was shown {shown_line(term, 100)!r}, which tells the truth"
        if self.pack.is_timed:
            seen = [*observations_in(opening.payload if opening else None),
                    *(one for data in results for one in data["observation"])]
            yield from (f"it was shown that {what}" for what in untimely(seen))


class _OverError(Exception):
    """The trial has no further message."""


def played_otherwise(segment: Segment, game: Game) -> Sequence[str]:
    """What of a trial is not as the pack makes it for the same messages."""
    events, found = segment.events, list[str]()
    opening, said = trace.opening_of(events), trace.said_in(events)
    sent = {event.step: messages for event, messages in trace.sent_in(events)}
    results = [event.data for event in events if event.type == trace.RESULT]
    if opening is not None and canonical(opening.parts) != canonical(game.opening.parts):
        found.append("what it opens with is not what its question hands out")

    def say(number: int, talk: Sequence[Message]) -> str:
        if number in sent and list(sent[number]) != [dict(message) for message in talk]:
            found.append(f"what it was shown at step {number} is not what its question gives")
        if number > len(said):
            raise _OverError
        return said[number - 1]

    def note(number: int, _said: str, turn: Turn) -> None:
        if number > len(results):
            return  # every call has a result, or that is another violation
        kept = results[number - 1]
        wrong = [name for name, value in result_data("", turn).items()
                 if name != "call_id" and canonical(value) != canonical(kept.get(name))]
        if wrong:
            found.append(f"{', '.join(wrong)} of result {shown_line(str(kept['call_id']), 20)} "
                         f"{are(len(wrong))} not what turn gives")

    try:
        steps = len(play(game, say, note).steps)
        if steps < len(said):
            found.append(f"its message {steps} is an answer, and it goes on")
    except _OverError:
        if events[-1].type == trace.END and events[-1].data["ended"] != "error":
            found.append("its last message is no answer, and it ends with one")
    except Unusable as error:
        found.append(f"it cannot be played again: {error}")
    return found
