"""Asking a model: one request, sent again only where the server said "not now", and the errors of a trial.

It serves every dialect: a dialect brings a Call, a Reading that makes a reply of lines, and the server's words
for a too long prompt.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import parse
from benchkit.basics.values import JSON, ErrorFacts, Failure, Reply
from benchkit.network.calls import Call, Ending, quoted
from benchkit.network.exchange import Answer, Client, LineReader
from benchkit.network.host import Address
from benchkit.network.rest import asked_wait
from benchkit.network.waiting import SLICE_S

MOST_TEXT_BYTES = 512 * 1024
MOST_PARTS = 200_000
"""Of one line or body, as strict_json counts them: a chunk has some 50. As many as 3 MB hold took 1.5 s of CPU time."""
BUSY_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits before a request that met a full queue is sent again; the last one over and over."""
BUSY = (429, 503)
"""Too many requests, and a full queue: the statuses that say "not now"."""
REFUSED_WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while a server restarts; then it is given up, for a server that is gone should end a run soon."""
UNPAID = "the server wants to be paid first"
_FINAL = {401: "the server wants a key", 402: UNPAID,
          403: "the server does not let this client in", 404: "the server does not know the model or the path"}
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of errors behind which more waiting is of no use, for nothing is left to ask with (OpenAI and others)."""
_IN_ORDER = (Ending.WHOLE, Ending.ENOUGH, Ending.CLOSED)


class Reading(Protocol):
    """What a dialect makes of one reply, line by line."""

    @property
    def partial(self) -> str | None:
        """The text that has come so far; None if none has."""

    def take(self, line: bytes, at: float) -> bool:
        """Take a line that came at `at`; whether the reply is complete. Raises TrialError (BadReply and others)."""

    def ended(self, answer: Answer) -> Answer:
        """What a 200 that has ended in order means: an error in it stands for its status. Raises TrialError."""

    def reply(self, answer: Answer) -> Reply:
        """The reply, after `ended`. Raises TrialError."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of server is read: a new reading for each request, and the message for a too long prompt."""

    new_reading: Callable[[], Reading]
    too_long: Callable[[Answer], str | None]


@dataclass(slots=True)
class _Tally:
    """What was tried before the last request."""

    retries: int = 0
    waited_s: float = 0.0
    retried: tuple[Failure, ...] = ()

    def asked_again(self, answer: Answer) -> None:
        """What came is not final: the request is sent once more."""
        error = _connection_error(answer, None) or TrialError("ServerBusy", f"the server was busy ({_status(answer)})")
        facts = ErrorFacts(error.type, error.message)
        self.retried = (*self.retried, Failure(facts, answer.latency_s, self.retries, self.waited_s))

    def told_of(self, reply: Reply) -> Reply:
        """The reply with what was tried before it."""
        return replace(reply, retries=self.retries, waited_s=self.waited_s, retried=self.retried) \
            if self.retries or self.waited_s else reply


def ask(client: Client, dialect: Dialect, call: Call, deadline: float,
        while_waiting: Callable[[], None] = lambda: None) -> Reply:
    """One whole reply. Raises TrialError (Unreachable, ServerBusy, ... with what was tried), Interrupted."""
    tally = _Tally()
    answer: Answer | None = None
    try:
        while True:
            _leave_alone(client, deadline, tally)
            answer, reading = None, dialect.new_reading()
            answer = client.send(call, deadline, _guarded(reading, client.address), while_waiting)
            if answer.status == 200 and answer.ending in _IN_ORDER:
                answer = reading.ended(answer)
            wait_s = _wait_before_retry(answer, tally.retries, client)
            if wait_s is None or client.clock.monotonic() + wait_s >= deadline:
                reply = _checked(_reply_of(answer, reading, dialect), client.address)
                return tally.told_of(reply)
            if _is_busy(answer):
                # whoever else asks this server now would only lengthen its queue
                client.rest.ask_for(client.clock.monotonic() + wait_s)
            tally.asked_again(answer)
            tally.waited_s += pause(wait_s, client.clock, client.stop)
            tally.retries += 1
    except TrialError as error:
        error.retries, error.waited_s, error.retried = tally.retries, tally.waited_s, tally.retried
        error.latency_s = answer.latency_s if answer else None
        asked_s = asked_wait(answer.retry_after, client.clock.wall()) if answer else None
        if error.type == "ServerBusy" and asked_s is not None:
            error.stops_in_a_row = (f"the server wants to be left alone for {asked_s:,.0f} s (Retry-After), longer "
                                    f"than the trial may take: {error.message}")
        if error.partial is not None and client.address.holds_secret(error.partial):
            error.partial = None
        raise


def pause(seconds: float, clock: Clock, stop: StopRequest) -> float:
    """Wait so long; the seconds it took. Raises Interrupted within a slice of a signal."""
    start = clock.monotonic()
    while (left := start + seconds - clock.monotonic()) > 0:
        stop.raise_if_wished()
        time.sleep(min(SLICE_S, left))
    return clock.monotonic() - start


def _leave_alone(client: Client, deadline: float, tally: _Tally) -> None:
    """Wait as long as the server asked anybody to, where the trial has that long. Else it asks for itself at once.

    One answer with a Retry-After without measure says nothing of the trials behind it.
    """
    now = client.clock.monotonic()
    left = client.rest.left(now)
    if left and now + left < deadline:
        tally.waited_s += pause(left, client.clock, client.stop)


def _wait_before_retry(answer: Answer, retries: int, client: Client) -> float | None:
    """Seconds to wait before the request is sent again; None: what came is final."""
    if _is_busy(answer):
        asked_s = asked_wait(answer.retry_after, client.clock.wall())
        if asked_s is None:
            return BUSY_WAITS_S[min(retries, len(BUSY_WAITS_S) - 1)]
        client.rest.ask_for(client.clock.monotonic() + asked_s)
        return asked_s
    if answer.ending is Ending.REFUSED and retries < len(REFUSED_WAITS_S):
        return REFUSED_WAITS_S[retries]
    return None


def _is_busy(answer: Answer) -> bool:
    """Whether the server says "not now", so that asking again may help."""
    return answer.status in BUSY and not _has_no_credit(answer)


def _has_no_credit(answer: Answer) -> bool:
    """Whether a refusal says so by the code of its error; a 429 may say it anywhere."""
    if answer.status in (None, 200):
        return False
    if answer.status == 429 and any(code.encode("ascii") in answer.body for code in _NO_CREDIT):
        return True
    try:
        said = parse(answer.body, keep_surrogates=True, most_parts=MOST_PARTS)
    except ValueError:
        return False
    return isinstance(said, Mapping) and (names_no_credit(said) or names_no_credit(said.get("error")))


def names_no_credit(error: JSON) -> bool:
    """Whether an error says by its code or type that nothing is left to ask with."""
    return isinstance(error, Mapping) and any(error.get(name) in _NO_CREDIT for name in ("code", "type"))


def _guarded(reading: Reading, address: Address) -> LineReader:
    """The reading, handed no line that repeats a secret."""
    def take(line: bytes, at: float) -> bool:
        if address.without_secret(line) != line:
            raise _secret_came_back()
        return reading.take(line, at)
    return take


def _checked(reply: Reply, address: Address) -> Reply:
    """The reply, unless a secret is put together from its pieces."""
    if address.holds_secret(reply.output) or address.holds_secret(reply.reasoning or ""):
        raise _secret_came_back()
    return reply


def _secret_came_back() -> TrialError:
    return TrialError("BadReply", "the reply repeats the key that was sent with the request: nothing of it is kept")


def _reply_of(answer: Answer, reading: Reading, dialect: Dialect) -> Reply:
    error = _connection_error(answer, reading.partial) or _refusal(answer, dialect)
    if error:
        raise error
    return reading.reply(answer)


def _connection_error(answer: Answer, partial: str | None) -> TrialError | None:
    detail = f" ({answer.detail})" if answer.detail else ""
    match answer.ending:
        case Ending.TIMEOUT:
            return TrialError("Timeout", "no whole reply within the time limit", partial)
        case Ending.REFUSED | Ending.UNREACHABLE:
            return TrialError("Unreachable", f"the server cannot be reached{detail}", partial)
        case Ending.FOREIGN:
            said = f": {answer.detail}" if answer.detail else ""
            return TrialError("BadReply", f"what came is not HTTP{said}", partial)
        case Ending.TOO_LARGE:
            return too_large(partial)
        case Ending.CUT if answer.status in (None, 200):
            return TrialError("BrokenReply", f"the connection ended in the middle of the reply{detail}", partial)
    return None


def too_large(partial: str | None) -> TrialError:
    """The error for a reply without measure; its partial text is cut to what a reply may have."""
    kept = None if partial is None else partial.encode("utf-8", "replace")[:MOST_TEXT_BYTES].decode("utf-8", "ignore")
    return TrialError("ReplyTooLarge", f"the reply is larger than {MOST_TEXT_BYTES // 1024} KiB", kept)


def _status(answer: Answer, meaning: str = "") -> str:
    """The status with its meaning, and the server's words if there are any."""
    return f"HTTP {answer.status}{meaning}" + (f": {quoted(answer.body)}" if answer.body.strip() else "")


def _refusal(answer: Answer, dialect: Dialect) -> TrialError | None:
    """The error of a status; None for 200."""
    if answer.status == 200 or answer.status is None:
        return None
    if _has_no_credit(answer):
        message = _status(answer)
        return TrialError("ServerBusy" if answer.status in BUSY else "ServerError", message,
                          stops=f"{UNPAID}: {message}", status=answer.status)
    if answer.status in BUSY:
        message = f"the server was busy to the end ({_status(answer)})"
        return TrialError("ServerBusy", message, status=answer.status)
    too_long = dialect.too_long(answer)
    if too_long:
        return TrialError("PromptTooLong", too_long)
    redirect = ", a redirect, which is not followed" if 300 <= answer.status < 400 else ""
    message = _status(answer, redirect)
    final = _FINAL.get(answer.status)
    stops = f"{final}: {message}" if final else None
    return TrialError("ServerError", message, stops=stops, status=answer.status)
