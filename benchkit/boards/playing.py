"""A system that plays: any system, asked one message at a time, with every word of it in the trace.

To the engine a Player is one more system. Each message of a conversation is in the trace before the request that
shows it is sent; the sums of all steps stand in the one reply, or in the one error, that a trial ends in.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from benchkit.basics.clock import Clock
from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON, Cell, ErrorFacts, Failure, Message, Reply, Request
from benchkit.boards.game import Game, Played, play
from benchkit.boards.pack import Turn
from benchkit.boards.trace_events import ATTEMPT, CALL, END, ERROR, MESSAGE, RESULT, START, SYSTEM, USER
from benchkit.boards.usage import bill_of
from benchkit.systems.guarding import answered
from benchkit.systems.system import Loaded, System
from benchkit.trial_log.schema import LOG_TIMINGS, USAGE, rounded


class Trace(Protocol):
    """Where the events of a trial go as they happen."""

    def start(self, cell: Cell, attempt: int, geometry: str) -> None:
        """A trial begins: the events that follow are its."""

    def emit(self, step: int, kind: str, data: Mapping[str, JSON]) -> None:
        """Something happened. Raises EnvironmentFailure when it cannot be kept."""


class TracedSystem:
    """A system at the games of a batch. `name` is what the job calls the system, `games` are by case id.

    Each single request of a game may take `timeout_s`.
    """

    def __init__(
        self, system: System, name: str, games: Mapping[str, Game], trace: Trace, clock: Clock, timeout_s: float,
    ) -> None:
        self._system, self._name, self._games, self._trace = system, name, games, trace
        self._clock, self._timeout_s = clock, timeout_s

    def open(self) -> Mapping[str, JSON]:
        """Open the system that plays."""
        return self._system.open()

    def settings(self) -> Mapping[str, JSON]:
        """Those of the system that plays: what a game adds stands in the ask."""
        return self._system.settings()

    def warm(self) -> Loaded:
        """Load the model that plays."""
        return self._system.warm()

    def close(self) -> None:
        """Close the system that plays."""
        self._system.close()

    def answer(self, request: Request) -> Reply:
        """Play a whole game: the last message, with the sums of all steps.

        `request.deadline` is that of the first step; each further one has the timeout anew. Raises TrialError, also
        with the sums, when a step brings no whole reply; Interrupted leaves the trial open in the trace.
        """
        game = self._games[request.case]
        self._trace.start(Cell(self._name, request.case, request.trial), request.attempt, game.geometry)
        opening = game.opening
        self._trace.emit(0, START, {"seed": request.seed, "payload": opening.payload, "schema": opening.schema,
                                    "tools": opening.tools, "prices": opening.prices})
        trial = _Trial(game, request, self._system, self._trace, self._clock, self._timeout_s)
        try:
            played = play(game, trial.say, trial.note)
        except TrialError as error:
            trial.fail(error)
            raise
        return trial.end(played)


@dataclass(slots=True)
class _Trial:
    """One trial while it is played. `known` counts the messages of the conversation that are in the trace."""

    game: Game
    request: Request
    system: System
    trace: Trace
    clock: Clock
    timeout_s: float
    step: int = 0
    known: int = 0
    cost: float = 0.0
    replies: list[Reply] = field(default_factory=list)

    def say(self, number: int, talk: Sequence[Message]) -> str:
        """One step: show what is new, ask, and keep the answer. Raises TrialError, with all that had come kept."""
        self.step = number
        for message in talk[self.known:]:
            if message["role"] == "assistant":
                # an example that stands in the prompt: no answer to anything, yet seen
                self.trace.emit(number, MESSAGE, message_data(Reply(message["content"], None), None))
            else:
                kind = SYSTEM if message["role"] == "system" else USER
                self.trace.emit(number, kind, {"text": message["content"]})
        deadline = self.request.deadline if number == 1 else self.clock.monotonic() + self.timeout_s
        asked = replace(self.request, messages=talk, deadline=deadline)
        bound = self.game.opening.request(asked.messages, self.system.settings(), asked.seed)
        reply = self._ask(asked, bound)
        self.trace.emit(number, MESSAGE, message_data(reply, bound))
        self.replies.append(reply)
        self.known = len(talk) + 1
        return reply.output

    def note(self, number: int, said: str, turn: Turn) -> None:
        """A message that was no answer: it is a call, as it was written, and has a result whatever came of it."""
        call_id = f"{number}.1"
        self.trace.emit(number, CALL, {"call_id": call_id, "arguments": said})
        self.trace.emit(number, RESULT, result_data(call_id, turn))
        self.cost += turn.cost

    def end(self, played: Played) -> Reply:
        """The game is over: what the trial line will say of it."""
        self._close("answer" if played.is_answer else "last message")
        bill = bill_of(self.replies)
        return replace(self.replies[-1], usage=bill.usage, timings=bill.timings, latency_s=bill.latency_s,
                       retries=bill.retries, waited_s=bill.waited_s)

    def fail(self, error: TrialError) -> None:
        """A step brought no whole reply: the trial ends in its error, which then carries the sums of all steps."""
        self.trace.emit(self.step, ERROR, {"type": error.type, "message": error.message})
        self._close("error")
        lost = Failure(ErrorFacts(error.type, error.message), error.latency_s, error.retries, error.waited_s)
        bill = bill_of([*self.replies, lost])
        error.latency_s, error.retries, error.waited_s = bill.latency_s, bill.retries, bill.waited_s

    def _ask(self, asked: Request, bound: str) -> Reply:
        start = self.clock.monotonic()
        try:
            reply = answered(self.system, asked)
        except TrialError as error:
            facts = ErrorFacts(error.type, error.message, error.partial)
            last = Failure(facts, error.latency_s, error.retries, error.waited_s)
            self._keep_attempts((*error.retried, last), bound)
            raise
        elapsed = self.clock.monotonic() - start
        self._keep_attempts(reply.retried, bound)
        return replace(reply, latency_s=elapsed if reply.latency_s is None else reply.latency_s, retried=())

    def _keep_attempts(self, attempts: Iterable[Failure], bound: str) -> None:
        for one in attempts:
            self.trace.emit(self.step, ATTEMPT, {
                "text": one.error.partial, "request": bound, "error": one.error.type, "message": one.error.message,
                "latency_s": rounded(one.latency_s), "retries": one.retries, "waited_s": rounded(one.waited_s)})

    def _close(self, ended: str) -> None:
        self.trace.emit(self.step, END, {"ended": ended, "messages": len(self.replies), "cost": self.cost})


def result_data(call_id: str, turn: Turn) -> dict[str, JSON]:
    """The `data` of a tool/result: what a message that was no answer brought."""
    return {"call_id": call_id, "observation": [dict(one) for one in turn.observations], "cost": turn.cost,
            "grounded": turn.grounded, "tool": turn.tool, "error": turn.error}


def message_data(reply: Reply, request: str | None) -> dict[str, JSON]:
    """The `data` of an assistant/message; `request` is None for an example that stands in the prompt."""
    return {
        "text": reply.output, "request": request, "finish": reply.finish, "reasoning": reply.reasoning,
        "usage": USAGE.fields_of(reply.usage), "timings": LOG_TIMINGS.fields_of(reply.timings),
        "latency_s": rounded(reply.latency_s), "retries": reply.retries, "waited_s": rounded(reply.waited_s)}
