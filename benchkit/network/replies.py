"""Asking a model: one request, sent again only where the server said "not now", and the errors that a trial can have.

A dialect (ollama_protocol.py, openai_protocol.py) is a ReplyParser. What a status means stands here.
"""
from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.json_text import NotJson, mended_text, parse
from benchkit.basics.values import JSON, ErrorFacts, Failure, Reply
from benchkit.network.connection import SLICE_S
from benchkit.network.http_client import Call, Client, Ending, Response, quoted

MOST_TEXT_BYTES = 512 * 1024
MOST_PARTS = 200_000
"""Of one line or body, as strict_json counts them: a chunk has some 50. As many as 3 MB hold took 1.5 s of CPU time."""
MOST_RETRY_AFTER_S = 1e6
BUSY_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits before a request that met a full queue is sent again; the last one over and over."""
REFUSED_WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while a server restarts; then it is given up, for a server that is gone should end a run soon."""
BUSY = (429, 503)
"""Too many requests, and a full queue: the statuses that say "not now"."""
_IN_PASSING = (408, 425, 429)
_UNPAID = "the server wants to be paid first"
_FINAL = {401: "the server wants a key", 402: _UNPAID,
          403: "the server does not let this client in", 404: "the server does not know the model or the path"}
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of errors behind which more waiting is of no use, for nothing is left to ask with (OpenAI and others)."""
_TOO_LONG = ("exceed_context_size_error", "exceeds the available context size", "exceeds the context length",
             "input length exceeds", "context_length_exceeded", "maximum context length is",
             "loaded with context length of only")
"""llama.cpp (two), Ollama (two), OpenAI, vLLM and OpenRouter, LM Studio."""
_TOKENS = re.compile(r"n_prompt_tokens\W{1,4}(\d{1,9})\D")
_CONTEXT = re.compile(r"n_ctx\W{1,4}(\d{1,9})\D")
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_IN_ORDER = (Ending.WHOLE, Ending.ENOUGH, Ending.CLOSED)


class ReplyParser:
    """What a dialect makes of one reply as it grows: answer and reasoning, apart and as they came, within 512 KiB.

    A letter may come in halves, in two pieces; only a half that stays alone is replaced, by U+FFFD. A dialect says what
    its lines mean with `take`, and what they are together with `reply`; without a stream, `ended` reads the body.
    """

    setting = ""
    """What a person can change where a prompt is too long, such as ` (option num_ctx)`."""

    def __init__(self) -> None:
        self._output: list[str] = []
        self._reasoning: list[str] = []
        self._size = self._lines = 0
        self._first_at: float | None = None

    def take(self, line: bytes, at: float) -> bool:
        """Take a line that came at `at`; whether the reply is complete. Raises TrialError (BadReply and others)."""
        raise NotImplementedError

    def ended(self, response: Response) -> Response:
        """What a 200 that has ended in order means: an error in it stands for its status. Raises TrialError."""
        return response

    def reply(self, response: Response) -> Reply:
        """The reply, after `ended`. Raises TrialError."""
        raise NotImplementedError

    @property
    def output(self) -> str:
        """The answer."""
        return mended_text("".join(self._output))

    @property
    def reasoning(self) -> str | None:
        """The reasoning; None if none came."""
        return mended_text("".join(self._reasoning)) or None

    @property
    def partial(self) -> str | None:
        """The answer so far (reasoning is no part of it); None before any."""
        return self.output or None

    def add(self, output: str, reasoning: str, at: float) -> None:
        """More of the answer and the reasoning, which came at `at` (monotonic seconds)."""
        for texts, text in ((self._reasoning, reasoning), (self._output, output)):
            if text:
                texts.append(text)
                self._size += _size(text)
                self._first_at = at if self._first_at is None else self._first_at
        if self._size > MOST_TEXT_BYTES:
            raise too_large(self.partial)

    def put(self, output: str, reasoning: str, at: float) -> None:
        """The whole answer and reasoning, in place of the pieces that came before; an empty text replaces none."""
        for texts, whole in ((self._output, output), (self._reasoning, reasoning)):
            if whole:
                self._size -= sum(map(_size, texts))
                texts.clear()
        self.add(output, reasoning, at)

    def first_token_s(self, response: Response) -> float | None:
        """Seconds from the first byte sent to the first text or thought; None if none came."""
        if self._first_at is None or response.sent_at is None:
            return None
        return self._first_at - response.sent_at

    def broken_off(self, said: str, more: str = "") -> TrialError:
        """The error for what a server reported under status 200; `more` of it may say that the prompt is too long."""
        if too_long := too_long_message(f"{said} {more}", self.setting):
            return TrialError("PromptTooLong", too_long)
        words = quoted(mended_text(said).encode("utf-8"))
        return TrialError("BrokenReply", f"the server broke the reply off: {words}", self.partial)

    def unended(self, response: Response, why: str) -> TrialError:
        """The error for a reply that ended before it was complete."""
        if not self._lines:
            return TrialError("BrokenReply", "an empty reply (HTTP 200 without a body)")
        if response.ending is Ending.CLOSED:
            return TrialError("BrokenReply", "the connection ended in the middle of the reply", self.partial)
        return TrialError("Unfinished", f"the server ended the reply {why}", self.partial)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def object_of(line: bytes) -> Mapping[str, JSON]:
    """The JSON object in a line, with halves of letters in its texts. Raises ValueError with why it is none."""
    try:
        fields = parse(line, keep_surrogates=True, most_parts=MOST_PARTS)
    except NotJson:
        # which sign it stumbled over is said in other words by other Pythons, and this message is recorded
        raise ValueError("it is not JSON") from None
    if not isinstance(fields, Mapping):
        raise ValueError("a line of it is no JSON object")
    return fields


def text_in(fields: Mapping[str, JSON], key: str, shown: str) -> str:
    """The text of a field, "" where there is none. Raises ValueError, naming it as `shown`, for another thing."""
    text = fields.get(key) or ""
    if not isinstance(text, str):
        raise ValueError(f"{shown} is no text")
    return text


def amount_of(value: JSON, least: int = 1) -> int | None:
    """A number that a server gives, of tokens or nanoseconds; None where it gives another thing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= least else None


def too_long_message(said: str, setting: str = "") -> str | None:
    """The message for a prompt that does not fit; None if the server said something else."""
    if not any(phrase in said for phrase in _TOO_LONG):
        return None
    tokens, context = _TOKENS.search(said), _CONTEXT.search(said)
    if tokens and context:
        return f"the prompt has {tokens[1]} tokens, the context {context[1]}{setting}"
    return f"the prompt is longer than the context{setting}"


def too_large(partial: str | None) -> TrialError:
    """The error for a reply without measure; its partial text is cut to what a reply may have."""
    kept = None if partial is None else partial.encode("utf-8", "replace")[:MOST_TEXT_BYTES].decode("utf-8", "ignore")
    return TrialError("ReplyTooLarge", f"the reply is larger than {MOST_TEXT_BYTES // 1024} KiB", kept)


def ask(client: Client, new_parser: Callable[[], ReplyParser], call: Call, deadline: float) -> Reply:
    """One whole reply. Raises TrialError (Unreachable, ServerBusy, ... with what was tried), Interrupted."""
    clock, redactor = client.clock, client.address.redactor
    retries, waited_s, retried = 0, 0.0, list[Failure]()
    response: Response | None = None
    try:
        while True:
            # one answer with a Retry-After without measure says nothing of the trials behind it
            now = clock.monotonic()
            left_s = client.backoff.left_s(now)
            if left_s and now + left_s < deadline:
                waited_s += pause(left_s, clock, client.stop)
            response, parser = None, new_parser()

            def take(line: bytes, at: float, parser: ReplyParser = parser) -> bool:
                if redactor.data(line) != line:
                    raise _secret_came_back()
                return parser.take(line, at)

            response = client.send(call, deadline, take)
            if response.status == 200 and response.ending in _IN_ORDER:
                response = parser.ended(response)
            wait_s = _wait_before_retry(response, retries, client)
            if wait_s is None or clock.monotonic() + wait_s >= deadline:
                reply = _reply_of(response, parser)
                if any(map(redactor.is_in, (reply.output, reply.reasoning or ""))):
                    raise _secret_came_back()  # put together from its pieces
                return replace(reply, retries=retries, waited_s=waited_s, retried=tuple(retried))
            if _is_busy(response):
                # whoever else asks this server now would only lengthen its queue
                client.backoff.extend(clock.monotonic() + wait_s)
            error = _connection_error(response, None) or TrialError(
                "ServerBusy", f"the server was busy ({_status(response)})")
            retried.append(Failure(ErrorFacts(error.type, error.message), response.latency_s, retries, waited_s))
            waited_s += pause(wait_s, clock, client.stop)
            retries += 1
    except TrialError as error:
        error.retries, error.waited_s, error.retried = retries, waited_s, tuple(retried)
        error.latency_s = response.latency_s if response else None
        asked_s = retry_after_s(response.retry_after, clock.wall()) if response else None
        if error.type == "ServerBusy" and asked_s is not None:
            error.stops_in_a_row = (f"the server wants to be left alone for {asked_s:,.0f} s (Retry-After), longer "
                                    f"than the trial may take: {error.message}")
        if redactor.is_in(error.partial or ""):
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
    from email.utils import parsedate_to_datetime
    text = (header or "").strip()
    try:
        seconds = float(text) if _SECONDS.fullmatch(text) else parsedate_to_datetime(text).timestamp() - wall
    except (ValueError, OverflowError, OSError):
        return None
    return min(seconds, MOST_RETRY_AFTER_S) if seconds > 0 else None


def has_no_credit(said: JSON) -> bool:
    """Whether an error, or the body that holds it, says by its code or type that nothing is left to ask with."""
    return isinstance(said, Mapping) and (
        any(said.get(name) in _NO_CREDIT for name in ("code", "type")) or has_no_credit(said.get("error")))


def without_credit(message: str) -> str:
    """Why the run ends where nothing is left to ask with."""
    return f"{_UNPAID}: {message}"


def refuses_request(error: TrialError) -> bool:
    """Whether the server refuses what it was sent. A fault in passing, or no entry at all, teaches nothing of that."""
    status = error.status or 0
    return error.type == "ServerError" and not error.stops and (
        status == 501 or (400 <= status < 500 and status not in _IN_PASSING))


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
    return response.status in BUSY and not _is_unpaid(response)


def _is_unpaid(response: Response) -> bool:
    """Whether a refusal says so by the code of its error; a 429 may say it anywhere."""
    if response.status == 429 and any(code.encode("ascii") in response.body for code in _NO_CREDIT):
        return True
    try:
        return has_no_credit(parse(response.body, keep_surrogates=True, most_parts=MOST_PARTS))
    except ValueError:
        return False


def _secret_came_back() -> TrialError:
    return TrialError("BadReply", "the reply repeats the key that was sent with the request: nothing of it is kept")


def _reply_of(response: Response, parser: ReplyParser) -> Reply:
    error = _connection_error(response, parser.partial) or _refusal(response, parser.setting)
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


def _refusal(response: Response, setting: str) -> TrialError | None:
    """The error of a status; None for 200."""
    status = response.status
    if status == 200 or status is None:
        return None
    message = _status(response, ", a redirect, which is not followed" if 300 <= status < 400 else "")
    if _is_unpaid(response):
        return TrialError("ServerBusy" if status in BUSY else "ServerError", message, stops=without_credit(message),
                          status=status)
    if status in BUSY:
        return TrialError("ServerBusy", f"the server was busy to the end ({message})", status=status)
    if too_long := too_long_message(response.body.decode("utf-8", "replace"), setting):
        return TrialError("PromptTooLong", too_long)
    final = _FINAL.get(status)
    return TrialError("ServerError", message, stops=final and f"{final}: {message}", status=status)
