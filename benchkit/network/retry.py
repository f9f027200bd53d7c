"""Asking a model: one request, sent again only where the server said "not now", and the errors of a trial."""
from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import parse
from benchkit.basics.values import ErrorFacts, Failure, Reply
from benchkit.network.address import Address
from benchkit.network.connection import SLICE_S
from benchkit.network.http_client import Call, Client, Ending, LineReader, Response, quoted
from benchkit.network.replies import (
    MOST_PARTS,
    NO_CREDIT,
    UNPAID,
    Dialect,
    ReplyParser,
    names_no_credit,
    too_large,
)

BUSY_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits before a request that met a full queue is sent again; the last one over and over."""
BUSY = (429, 503)
"""Too many requests, and a full queue: the statuses that say "not now"."""
REFUSED_WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while a server restarts; then it is given up, for a server that is gone should end a run soon."""
MOST_RETRY_AFTER_S = 1e6
_FINAL = {401: "the server wants a key", 402: UNPAID,
          403: "the server does not let this client in", 404: "the server does not know the model or the path"}
_IN_ORDER = (Ending.WHOLE, Ending.ENOUGH, Ending.CLOSED)
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(slots=True)
class _Attempts:
    """What was tried before the last request."""

    retries: int = 0
    waited_s: float = 0.0
    retried: tuple[Failure, ...] = ()

    def add(self, response: Response) -> None:
        """What came is not final: the request is sent once more."""
        error = _connection_error(response, None) or TrialError(
            "ServerBusy", f"the server was busy ({_status(response)})")
        facts = ErrorFacts(error.type, error.message)
        self.retried = (*self.retried, Failure(facts, response.latency_s, self.retries, self.waited_s))

    def noted_in(self, reply: Reply) -> Reply:
        """The reply with what was tried before it."""
        return replace(reply, retries=self.retries, waited_s=self.waited_s, retried=self.retried) \
            if self.retries or self.waited_s else reply


def ask(client: Client, dialect: Dialect, call: Call, deadline: float,
        while_waiting: Callable[[], None] = lambda: None) -> Reply:
    """One whole reply. Raises TrialError (Unreachable, ServerBusy, ... with what was tried), Interrupted."""
    attempts = _Attempts()
    response: Response | None = None
    try:
        while True:
            _wait_for_backoff(client, deadline, attempts)
            response, parser = None, dialect.new_parser()
            response = client.send(call, deadline, _guarded(parser, client.address), while_waiting)
            if response.status == 200 and response.ending in _IN_ORDER:
                response = parser.ended(response)
            wait_s = _wait_before_retry(response, attempts.retries, client)
            if wait_s is None or client.clock.monotonic() + wait_s >= deadline:
                reply = _checked(_reply_of(response, parser, dialect), client.address)
                return attempts.noted_in(reply)
            if _is_busy(response):
                # whoever else asks this server now would only lengthen its queue
                client.backoff.extend(client.clock.monotonic() + wait_s)
            attempts.add(response)
            attempts.waited_s += pause(wait_s, client.clock, client.stop)
            attempts.retries += 1
    except TrialError as error:
        error.retries, error.waited_s, error.retried = attempts.retries, attempts.waited_s, attempts.retried
        error.latency_s = response.latency_s if response else None
        asked_s = retry_after_s(response.retry_after, client.clock.wall()) if response else None
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


def retry_after_s(header: str | None, wall: float) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or as a date (`wall`: seconds since 1970 now).

    None where it asks for nothing, or is neither. RFC 9110, section 10.2.3.
    """
    text = (header or "").strip()
    seconds = float(text) if _SECONDS.fullmatch(text) else _seconds_until(text, wall)
    return min(seconds, MOST_RETRY_AFTER_S) if seconds is not None and seconds > 0 else None


def _seconds_until(date: str, wall: float) -> float | None:
    from email.utils import parsedate_to_datetime
    try:
        return parsedate_to_datetime(date).timestamp() - wall
    except (ValueError, OverflowError, OSError):
        return None


def _wait_for_backoff(client: Client, deadline: float, attempts: _Attempts) -> None:
    """Wait as long as the server asked anybody to, where the trial has that long. Else it asks for itself at once.

    One answer with a Retry-After without measure says nothing of the trials behind it.
    """
    now = client.clock.monotonic()
    left = client.backoff.left_s(now)
    if left and now + left < deadline:
        attempts.waited_s += pause(left, client.clock, client.stop)


def _wait_before_retry(response: Response, retries: int, client: Client) -> float | None:
    """Seconds to wait before the request is sent again; None: what came is final."""
    if _is_busy(response):
        asked_s = retry_after_s(response.retry_after, client.clock.wall())
        if asked_s is None:
            return BUSY_WAITS_S[min(retries, len(BUSY_WAITS_S) - 1)]
        client.backoff.extend(client.clock.monotonic() + asked_s)
        return asked_s
    if response.ending is Ending.REFUSED and retries < len(REFUSED_WAITS_S):
        return REFUSED_WAITS_S[retries]
    return None


def _is_busy(response: Response) -> bool:
    """Whether the server says "not now", so that asking again may help."""
    return response.status in BUSY and not _has_no_credit(response)


def _has_no_credit(response: Response) -> bool:
    """Whether a refusal says so by the code of its error; a 429 may say it anywhere."""
    if response.status in (None, 200):
        return False
    if response.status == 429 and any(code.encode("ascii") in response.body for code in NO_CREDIT):
        return True
    try:
        said = parse(response.body, keep_surrogates=True, most_parts=MOST_PARTS)
    except ValueError:
        return False
    return isinstance(said, Mapping) and (names_no_credit(said) or names_no_credit(said.get("error")))


def _guarded(parser: ReplyParser, address: Address) -> LineReader:
    """The parser, handed no line that repeats a secret."""
    def take(line: bytes, at: float) -> bool:
        if address.without_secret(line) != line:
            raise _secret_came_back()
        return parser.take(line, at)
    return take


def _checked(reply: Reply, address: Address) -> Reply:
    """The reply, unless a secret is put together from its pieces."""
    if address.holds_secret(reply.output) or address.holds_secret(reply.reasoning or ""):
        raise _secret_came_back()
    return reply


def _secret_came_back() -> TrialError:
    return TrialError("BadReply", "the reply repeats the key that was sent with the request: nothing of it is kept")


def _reply_of(response: Response, parser: ReplyParser, dialect: Dialect) -> Reply:
    error = _connection_error(response, parser.partial) or _refusal(response, dialect)
    if error:
        raise error
    return parser.reply(response)


def _connection_error(response: Response, partial: str | None) -> TrialError | None:
    detail = f" ({response.detail})" if response.detail else ""
    match response.ending:
        case Ending.TIMEOUT:
            return TrialError("Timeout", "no whole reply within the time limit", partial)
        case Ending.REFUSED | Ending.UNREACHABLE:
            return TrialError("Unreachable", f"the server cannot be reached{detail}", partial)
        case Ending.NOT_HTTP:
            said = f": {response.detail}" if response.detail else ""
            return TrialError("BadReply", f"what came is not HTTP{said}", partial)
        case Ending.TOO_LARGE:
            return too_large(partial)
        case Ending.CUT if response.status in (None, 200):
            return TrialError("BrokenReply", f"the connection ended in the middle of the reply{detail}", partial)
    return None


def _status(response: Response, meaning: str = "") -> str:
    """The status with its meaning, and the server's words if there are any."""
    return f"HTTP {response.status}{meaning}" + (f": {quoted(response.body)}" if response.body.strip() else "")


def _refusal(response: Response, dialect: Dialect) -> TrialError | None:
    """The error of a status; None for 200."""
    if response.status == 200 or response.status is None:
        return None
    if _has_no_credit(response):
        message = _status(response)
        return TrialError("ServerBusy" if response.status in BUSY else "ServerError", message,
                          stops=f"{UNPAID}: {message}", status=response.status)
    if response.status in BUSY:
        message = f"the server was busy to the end ({_status(response)})"
        return TrialError("ServerBusy", message, status=response.status)
    too_long = dialect.too_long(response)
    if too_long:
        return TrialError("PromptTooLong", too_long)
    redirect = ", a redirect, which is not followed" if 300 <= response.status < 400 else ""
    message = _status(response, redirect)
    final = _FINAL.get(response.status)
    stops = f"{final}: {message}" if final else None
    return TrialError("ServerError", message, stops=stops, status=response.status)
