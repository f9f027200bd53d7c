"""The invariants of a trace: small functions over the events of one trial, its trial line, and its question.

Together they say: the model could see it if and only if it was logged, and what was judged and billed is what
happened.

The trial is played again with the messages that it has, and what the pack gives for them is held against its events.
A trial that was asked another question than the one of now (the questions were made anew) says nothing of this one.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical, request_of, short_digest, text_digest
from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON, Case, ErrorFacts, Failure, Message, Outcome, Reply
from benchkit.boards.exposure import leaked_terms, text_of, untimely
from benchkit.boards.game import Game, GameRules, game_of, observations_in, play
from benchkit.boards.pack import Pack, Turn
from benchkit.boards.playing import result_data
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
    TraceEvent,
    opening_of,
    outcomes_in,
    said_in,
    sent_in,
    shown_in,
)
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


def expected_of(line: TrialLine, settings: Mapping[str, JSON]) -> ExpectedTrial:
    """What a trial line says, and the settings of its system that held when it was written."""
    outcome, bill = line.outcome, bill_of([line.outcome])
    if isinstance(outcome, Failure):
        error = outcome.error
        return ExpectedTrial(line.request, _digest(error.partial), _bill_digest(bill, True), _digest(error.message),
                             error.type, settings)
    return ExpectedTrial(line.request, _digest(outcome.output), _bill_digest(bill, False), NOTHING, None, settings)


NOTHING = "0" * 16
"""In the place of the digest of a text that is not there."""


def _digest(text: str | None) -> str:
    return NOTHING if text is None else text_digest(text)[:16]


def _bill_digest(bill: Bill, is_failure: bool) -> str:
    # the line of an error has no usage and no timings, whatever its earlier steps took
    usage = None if is_failure else USAGE.fields_of(bill.usage)
    timings = None if is_failure else LOG_TIMINGS.fields_of(bill.timings)
    return short_digest([usage, timings, bill.latency_s, bill.retries, bill.waited_s])


def violations_of(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[tuple[str, str]]:
    """(invariant, what was found) of every violation in the segment of a trial line."""
    for invariant, check in _CHECKS.items():
        for what in check(events, due):
            yield invariant, what


def _closed(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
    if events[-1].type != END:
        yield "its segment is not closed"


def gaps_in(events: Sequence[TraceEvent], due: ExpectedTrial | None = None) -> Iterator[str]:
    """Where `seq` has a gap."""
    expected = 0
    for event in events:
        if event.seq != expected:
            yield f"seq is {event.seq}, not {expected}"
        expected = event.seq + 1


def _order(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
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


def _step_of(event: TraceEvent, heard: int) -> int:
    if event.type == START:
        return 0
    is_about_the_last = event.type in (CALL, RESULT) or (event.type == END and event.data["ended"] != "error")
    return heard if is_about_the_last else heard + 1


def _calls(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
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


def _requests(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
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


def _costs(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
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


def _answer(events: Sequence[TraceEvent], due: ExpectedTrial) -> Iterator[str]:
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


def outcome_in(events: Sequence[TraceEvent], due: ExpectedTrial) -> Outcome | None:
    """What a trial ended in, by events that violate nothing; None where that is not what its line says of the error."""
    steps, bill = outcomes_in(events), bill_of(outcomes_in(events))
    if due.error is None:
        reply = steps[-1]
        return replace(reply, usage=bill.usage, timings=bill.timings, latency_s=bill.latency_s, retries=bill.retries,
                       waited_s=bill.waited_s) if isinstance(reply, Reply) else None
    message = next(event.data["message"] for event in events if event.type == ERROR)
    partial = [event.data["text"] for event in events if event.type == ATTEMPT][-1]
    return Failure(ErrorFacts(due.error, message, partial), bill.latency_s, bill.retries, bill.waited_s) \
        if _digest(message) == due.message else None


_CHECKS: Mapping[str, Callable[[Sequence[TraceEvent], ExpectedTrial], Iterator[str]]] = {
    SEGMENTS: _closed, SEQ: gaps_in, ORDER: _order, CALLS: _calls, REQUESTS: _requests, COSTS: _costs,
    ANSWER: _answer,
}


SHOWN = "nothing that a solver is shown tells the truth, or is later than now"


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a batch, by case id, and how they are asked. Games are made when they are first needed."""

    pack: Pack
    cases: Mapping[str, Case]
    rules: GameRules
    _games: dict[str, Game | None] = field(default_factory=dict, repr=False)

    def game_of(self, segment: Segment, request: str | None, settings: Mapping[str, JSON]) -> Game | None:
        """The game that a trial played; None if that was another question, or the pack makes none of it any more.

        `request` and `settings` are those of its trial line; without one it is told by what it opens with.
        """
        game = self._game(segment.key.cell.case)
        if game is None:
            return None
        if request is None:
            opening = opening_of(segment.events)
            return game if opening is not None and canonical(opening.parts) == canonical(game.opening.parts) else None
        return game if request == request_of(game.prompt.ask, settings, segment.key.cell.seed) else None

    def _game(self, name: str) -> Game | None:
        if name not in self._games:
            try:
                self._games[name] = game_of(self.pack, self.cases[name], self.rules) if name in self.cases else None
            except Unusable:
                self._games[name] = None
        return self._games[name]

    def exposed_in(self, segment: Segment, game: Game) -> Iterator[str]:
        """What a trial was shown and must not be. Raises Unusable where the pack cannot say what must not be shown."""
        opening = opening_of(segment.events)
        results = [event.data for event in segment.events if event.type == RESULT]
        shown = text_of([opening.parts if opening else None, list(shown_in(segment.events)), *results])
        for term in leaked_terms(self.pack, game.case, shown):
            yield f"it was shown {shown_line(term, 100)!r}, which tells the truth"
        if self.pack.is_timed:
            seen = [*observations_in(opening.payload if opening else None),
                    *(one for data in results for one in data["observation"])]
            yield from (f"it was shown that {what}" for what in untimely(seen))


class _OverError(Exception):
    """The trial has no further message."""


@dataclass(slots=True)
class _Replay:
    """One trial, played again: what its events say of each step, and what was found to differ."""

    said: Sequence[str]
    sent: Mapping[int, Sequence[Message]]
    results: Sequence[Mapping[str, JSON]]
    found: list[str] = field(default_factory=list)

    def say(self, number: int, talk: Sequence[Message]) -> str:
        if number in self.sent and list(self.sent[number]) != [dict(message) for message in talk]:
            self.found.append(f"what it was shown at step {number} is not what its question gives")
        if number > len(self.said):
            raise _OverError
        return self.said[number - 1]

    def note(self, number: int, said: str, turn: Turn) -> None:
        if number > len(self.results):
            return  # every call has a result, or that is another violation
        kept = self.results[number - 1]
        wrong = [name for name, value in result_data("", turn).items()
                 if name != "call_id" and canonical(value) != canonical(kept.get(name))]
        if wrong:
            self.found.append(f"{', '.join(wrong)} of result {shown_line(str(kept['call_id']), 20)} "
                              f"{'is' if len(wrong) == 1 else 'are'} not what turn gives")


def played_otherwise(segment: Segment, game: Game) -> Iterator[str]:
    """What of a trial is not as the pack makes it for the same messages."""
    events = segment.events
    opening = opening_of(events)
    if opening is not None and canonical(opening.parts) != canonical(game.opening.parts):
        yield "what it opens with is not what its question hands out"
    replay = _Replay(said_in(events), {sent.event.step: sent.messages for sent in sent_in(events)},
                     [event.data for event in events if event.type == RESULT])
    try:
        steps = len(play(game, replay.say, replay.note).steps)
        if steps < len(replay.said):
            replay.found.append(f"its message {steps} is an answer, and it goes on")
    except _OverError:
        if _has_answer(events):
            replay.found.append("its last message is no answer, and it ends with one")
    except Unusable as error:
        replay.found.append(f"it cannot be played again: {error}")
    yield from replay.found


def _has_answer(events: Sequence[TraceEvent]) -> bool:
    return events[-1].type == END and events[-1].data["ended"] != "error"
