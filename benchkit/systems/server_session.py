"""What every system with a server does around its requests: it waits, says so, and leaves nothing to the next trial."""
from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

from benchkit.basics.clock import Clock
from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON, Reply, Request
from benchkit.network.address import Address
from benchkit.network.http_client import Call, Client, Ending, Response
from benchkit.network.replies import ReplyParser, ask
from benchkit.systems.system import ServerKind, SystemOptions

LOAD_S = 600.0
"""A model has this long to be loaded."""
SIGN_OF_LIFE_S, TICK_S = 10.0, 0.5
CHECK_S = 5.0
MOST_NAMES = 20
"""So many models of a server are named."""
GRACE_S = 0.4
"""A reply that came just in time is still checked, in two looks at most: a trial may end a second late, no more."""
_LEAVES_THE_SERVER_BUSY = ("Timeout", "ReplyTooLarge", "BadReply")


class SignsOfLife:
    """The lines of a system; while its model loads, one every 10 seconds, whoever says it.

    Around a system of the user, `spare_ticks` let one that gives signs by itself come first.
    """

    def __init__(self, say: Callable[[str], None], clock: Clock, spare_ticks: int = 0) -> None:
        self._say, self._clock, self._spare_ticks, self._last = say, clock, spare_ticks, 0.0

    def say(self, line: str) -> None:
        """A line of the system itself."""
        self._last = self._clock.monotonic()
        self._say(line)

    @contextmanager
    def while_loading(self, name: str) -> Iterator[None]:
        """Within this, say how long it has taken so far wherever nothing was said for a while."""
        ended, start = threading.Event(), self._clock.monotonic()
        self._last = start

        def tick() -> None:
            while not ended.wait(TICK_S):
                now = self._clock.monotonic()
                if now - self._last >= SIGN_OF_LIFE_S + self._spare_ticks * TICK_S:
                    self.say(f"loading {name}: {int(now - start)} s so far")

        ticker = threading.Thread(target=tick, daemon=True, name="loading")
        with suppress(RuntimeError, MemoryError):  # where no more threads can be started, nothing is said
            ticker.start()
        try:
            yield
        finally:
            ended.set()
            if ticker.ident is not None:
                ticker.join()


class ServerSystem:
    """What asks one server trial after trial, for a dialect to go on with: where it is, one reply, and who is gone."""

    kind: ServerKind
    look: Call
    """What any such server answers at once."""
    path: str
    """Where chats are sent."""
    schema_field: str
    start_again = "start it again"

    def __init__(self, address: Address, options: SystemOptions) -> None:
        self._options = options
        self._client = Client(address, options.clock, options.stop)
        self._gave_up = False

    def close(self) -> None:
        """Nothing is kept open."""

    @property
    def _named_by(self) -> str:
        """How a person names another server."""
        return f"--host or {self.kind.address}" if self._options.has_flags else self.kind.address

    def _is_there(self, answer: Response) -> bool:
        return answer.status is not None

    def _call(self, body: Mapping[str, JSON]) -> Call:
        return Call("POST", self.path, json.dumps(body, ensure_ascii=True).encode("ascii"))

    def _soon(self) -> float:
        """The end of a look at the server that belongs to no trial."""
        return self._client.clock.monotonic() + CHECK_S

    def _look_until(self, deadline: float) -> float:
        """The end of a look at the server that belongs to a trial with this deadline."""
        now = self._client.clock.monotonic()
        return min(max(deadline, now + GRACE_S), now + CHECK_S)

    def _load(self, name: str, new_parser: Callable[[], ReplyParser], body: Mapping[str, JSON]) -> None:
        """Ask for the first time, with signs of life, in 10 minutes at most. Raises TrialError."""
        with SignsOfLife(self._options.say, self._options.clock).while_loading(name):
            ask(self._client, new_parser, self._call(body), self._client.clock.monotonic() + LOAD_S)

    def _ask(self, new_parser: Callable[[], ReplyParser], request: Request, body: Mapping[str, JSON],
             one_token: Mapping[str, JSON]) -> Reply:
        """One whole reply, by the deadline at the latest. Raises TrialError, Interrupted.

        A server may go on generating after its client has left: where the last request was given up, one for a token
        (`one_token` are the fields that say so) goes first. What it waits is in `waited_s`, and no part of the latency;
        but the time limit of a trial is total.
        """
        waited_s = 0.0
        if self._gave_up:
            start = self._client.clock.monotonic()
            # the system message alone and a dot, so that the server's cache is as after any other case
            before = [message for message in request.messages if message["role"] == "system"]
            probe = {**body, "messages": [*before, {"role": "user", "content": "."}], **one_token}
            probe.pop(self.schema_field, None)
            answer = self._client.send(self._call(probe), request.deadline)
            waited_s = self._client.clock.monotonic() - start
            if answer.ending is Ending.TIMEOUT:
                raise TrialError("Timeout", "the server was busy all the time with a request that was given up before",
                                 waited_s=waited_s)
            self._gave_up = False
        try:
            reply = ask(self._client, new_parser, self._call(body), request.deadline)
        except TrialError as error:
            error.waited_s += waited_s
            # of several trials at once, each may be the one that was given up
            self._gave_up = self._gave_up or error.type in _LEAVES_THE_SERVER_BUSY
            if error.type == "Unreachable":
                error.stops = self._gone(request.deadline)
            if waited_s and error.type == "Timeout":
                error.message += ", part of which the server spent on a request that was given up before"
            raise
        return replace(reply, waited_s=reply.waited_s + waited_s)

    def _gone(self, deadline: float) -> str | None:
        """The sentence for a server that does not answer a look; None if it does."""
        if self._is_there(self._client.send(self.look, self._look_until(deadline))):
            return None
        return (f"the server at {self._client.address.url} is gone: {self.start_again}, then the same command goes on")


def given_address(kind: ServerKind, options: SystemOptions) -> tuple[str, str]:
    """The text of the address that is meant, and where it was given."""
    if options.host is not None:
        return options.host, "--host"
    return options.environment.get(kind.address, ""), kind.address


def model_changed(message: str, reply: Reply) -> TrialError:
    """The error for a whole reply of another model than the one that the run began with."""
    return with_reply(TrialError("ModelChanged", message, stops=(
        f"{message}: restore it and add --retry-errors, take another --log, or add --changed rerun")), reply)


def with_reply(error: TrialError, reply: Reply) -> TrialError:
    """The error for a whole reply that does not count: its text is kept."""
    error.partial, error.latency_s = reply.output, reply.latency_s
    error.retries, error.waited_s, error.retried = reply.retries, reply.waited_s, reply.retried
    return error
