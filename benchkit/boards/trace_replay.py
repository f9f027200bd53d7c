"""A trial of the trace held against its question as the pack makes it now: was all that was shown what it had to be?

The trial is played again with the messages that it has, and what the pack gives for them is held against its events.
A trial that was asked another question than the one of now (the questions were made anew) says nothing of this one.
What does not live here: what holds of a trial by itself (trace_invariants.py), and reading the trace (trace_check.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchkit.basics.canonical import canonical, request_of
from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.exposure import leaked_terms, text_of, untimely
from benchkit.boards.game import Game, Rules, game_of, observations_in, play
from benchkit.boards.pack import Pack, Turn
from benchkit.boards.playing import result_data
from benchkit.boards.trace_events import END, RESULT, Event
from benchkit.boards.trace_reading import Segment
from benchkit.boards.trace_views import opening_of, said_in, sent_in, shown_in

SHOWN = "nothing that a solver is shown tells the truth, or is later than now"


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a batch, by case id, and how they are asked. Games are made when they are first needed."""

    pack: Pack
    cases: Mapping[str, Case]
    rules: Rules
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


def _has_answer(events: Sequence[Event]) -> bool:
    return events[-1].type == END and events[-1].data["ended"] != "error"
