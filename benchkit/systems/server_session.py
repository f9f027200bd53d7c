"""What every system with a server does around its requests: it waits, says so, and leaves nothing to the next trial."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from benchkit.basics.clock import Clock
from benchkit.basics.errors import TrialError
from benchkit.basics.values import Message, Reply, Request
from benchkit.network.http_client import Call, Client, Ending
from benchkit.network.replies import Dialect
from benchkit.network.retry import ask
from benchkit.systems.system import SystemOptions

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
    """Called while a model loads; says so every 10 seconds. `what` is `loading smollm2:135m`."""

    def __init__(self, options: SystemOptions, what: str) -> None:
        self._options, self._what, self._said = options, what, 0
        self._start = options.clock.monotonic()

    def __call__(self) -> None:
        """A slice of the wait has passed."""
        passed = self._options.clock.monotonic() - self._start
        if passed >= (self._said + 1) * SIGN_OF_LIFE_S:
            self._said = int(passed / SIGN_OF_LIFE_S)
            self._options.say(f"{self._what}: {passed:.0f} s so far")


class SignsFromOutside:
    """The lines of a system that may not think of it: while its model loads, one every 10 seconds, whoever says it."""

    def __init__(self, say: Callable[[str], None], clock: Clock) -> None:
        self._say, self._clock, self._last = say, clock, 0.0

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
                # a tick later than a sign is due, so that a system that gives signs by itself comes first
                if now - self._last >= SIGN_OF_LIFE_S + TICK_S:
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


class ServerSession:
    """Asks one server trial after trial. `gone` says (until a deadline) whether it is there; None if it is."""

    def __init__(self, client: Client, gone: Callable[[float], str | None]) -> None:
        self._client, self._gone = client, gone
        self._gave_up = False

    def ask(self, dialect: Dialect, call: Call, probe: Callable[[], Call], deadline: float) -> Reply:
        """One whole reply, by the deadline at the latest. Raises TrialError, Interrupted.

        A server may go on generating after its client has left: where the last request was given up, a probe goes
        first. What it waits is in `waited_s`, and no part of the latency; but the time limit of a trial is total.
        """
        waited_s = self._wait_for_leftovers(probe, deadline) if self._gave_up else 0.0
        try:
            reply = ask(self._client, dialect, call, deadline)
        except TrialError as error:
            error.waited_s += waited_s
            # of several trials at once, each may be the one that was given up
            self._gave_up = self._gave_up or error.type in _LEAVES_THE_SERVER_BUSY
            if error.type == "Unreachable":
                error.stops = self._gone(deadline)
            if waited_s and error.type == "Timeout":
                error.message += ", part of which the server spent on a request that was given up before"
            raise
        if waited_s:
            reply = replace(reply, waited_s=reply.waited_s + waited_s)
        return reply

    def look_until(self, deadline: float) -> float:
        """The end of a look at the server that belongs to a trial with this deadline."""
        now = self._client.clock.monotonic()
        return min(max(deadline, now + GRACE_S), now + CHECK_S)

    def _wait_for_leftovers(self, probe: Callable[[], Call], deadline: float) -> float:
        start = self._client.clock.monotonic()
        answer = self._client.send(probe(), deadline)
        waited_s = self._client.clock.monotonic() - start
        if answer.ending is Ending.TIMEOUT:
            raise TrialError("Timeout", "the server was busy all the time with a request that was given up before",
                             waited_s=waited_s)
        self._gave_up = False
        return waited_s


def probe_messages(request: Request) -> list[Message]:
    """What a probe asks: the system message alone and a dot, so that the cache is as after any other case."""
    before: list[Message] = [message for message in request.messages if message["role"] == "system"]
    return [*before, {"role": "user", "content": "."}]


def model_changed(message: str, reply: Reply) -> TrialError:
    """The error for a whole reply of another model than the one that the run began with."""
    return with_reply(TrialError("ModelChanged", message, stops=(
        f"{message}: restore it and add --retry-errors, take another --log, or add --changed rerun")), reply)


def with_reply(error: TrialError, reply: Reply) -> TrialError:
    """The error for a whole reply that does not count: its text is kept."""
    error.partial, error.latency_s = reply.output, reply.latency_s
    error.retries, error.waited_s, error.retried = reply.retries, reply.waited_s, reply.retried
    return error
