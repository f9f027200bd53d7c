"""Systems of the user, held to the contract: what else they raise or give becomes one line, or what a log can hold.

No key comes back, either: libraries put what they read from the environment into their errors. What a server of the
kit's own clients repeats is seen to in network/replies.py.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from benchkit.basics import errors, json_text
from benchkit.basics.clock import Clock
from benchkit.basics.errors import KitError, TrialError
from benchkit.basics.secrets import Redactor
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, ErrorFacts, Failure, Message, Reply, Request, Timings, Usage
from benchkit.network.replies import MOST_TEXT_BYTES, too_large
from benchkit.systems.server_session import with_reply
from benchkit.systems.system import Loaded, System
from benchkit.tasks.modules import Made, Raised, called, raised_at, what_came

MOST_COUNT = 10**12
"""Of tokens and retries."""
MOST_SECONDS = 1e9
MOST_FINISH, MOST_MESSAGE, MOST_SENTENCE = 200, 2000, 1000
"""Letters of the word that ends a reply, of what is told of an error, and of why a run ends: the way on follows it."""
MOST_DETAILS_BYTES = 64 * 1024
MOST_LETTERS_A_TOKEN, FEWEST_LETTERS = 16, 2000
"""No tokenizer makes so few tokens of a longer text. English has 4 to 5 letters a token, and half as many again where
200,000 tokens may be of several words (a third fewer tokens: Liu and others 2025, arXiv 2503.13423); other scripts have
fewer. Only runs of one letter have more, up to 128 spaces a token: they are counted once."""
GRACE_S = 1.0
"""So much later than its deadline a system may return that times its own request: a look at the server behind the
reply is not the model's time."""
METHODS = ("open", "settings", "warm", "answer", "close")
_RUN = re.compile(r"(\s)\s+|(\S)\2+")
_UNCOUNTED, _UNTIMED = Usage(), Timings()
_counts, _timings = (attrgetter(*(one.name for one in fields(made))) for made in (Usage, Timings))
_NOTHING = type(None)
_TEXT, _COUNT, _NUMBER = (str, _NOTHING), (int, _NOTHING), (int, float, _NOTHING)
_PLAIN: Mapping[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
"""How a value of a subclass becomes one of Python's own: nothing that its class has redefined runs."""
_TRIED: Mapping[str, tuple[type, ...]] = {"latency_s": _NUMBER, "retries": (int,), "waited_s": (int, float)}
_FIELDS: Mapping[type, Mapping[str, tuple[type, ...]]] = {
    Reply: {"output": (str,), "finish": _TEXT, "reasoning": _TEXT, "usage": (Usage,), "timings": (Timings,), **_TRIED,
            "retried": (tuple,)},
    TrialError: {"type": (str,), "message": (str,), "partial": _TEXT, "stops": _TEXT, "stops_in_a_row": _TEXT,
                 "status": _COUNT, **_TRIED, "retried": (tuple,)},
    Usage: {one.name: _COUNT for one in fields(Usage)},
    Timings: {one.name: _NUMBER for one in fields(Timings)},
    Failure: {"error": (ErrorFacts,), **_TRIED},
    ErrorFacts: {"type": (str,), "message": (str,), "partial": _TEXT},
    Loaded: {"load_s": (int, float), "context_length": _COUNT}}
Number = TypeVar("Number", int, float)


def answered(system: System, request: Request) -> Reply:
    """One whole reply, so that its line can be written: one that no log takes would end the run, at every start.

    Raises TrialError (ReplyTooLarge too), and as the system does. Texts are left as they are; where they are too large
    together, there is no reply.
    """
    try:
        reply = system.answer(request)
        if len((reply.output + (reply.reasoning or "")).encode("utf-8", "surrogatepass")) > MOST_TEXT_BYTES:
            raise with_reply(too_large(None), reply)
    except TrialError as error:
        facts = _cut_facts(error)
        error.message, error.partial = facts.message, facts.partial
        error.stops = None if error.stops is None else _cut(error.stops, MOST_SENTENCE)
        error.stops_in_a_row = None if error.stops_in_a_row is None else _cut(error.stops_in_a_row, MOST_SENTENCE)
        for name, value in _tried(error).items():
            setattr(error, name, value)
        error.retried = tuple(Failure(_cut_facts(one.error), **_tried(one)) for one in error.retried)
        raise
    usage, timings = reply.usage, reply.timings
    if usage != _UNCOUNTED:
        usage = Usage(*(known(one, MOST_COUNT) for one in _counts(usage)))
        usage = replace(usage, asked_letters=_letters_beyond(usage, request.messages))
    if timings != _UNTIMED:
        timings = Timings(*(known(one, MOST_SECONDS) for one in _timings(timings)))
    return replace(
        reply, finish=None if reply.finish is None else _cut(reply.finish, MOST_FINISH), usage=usage, timings=timings,
        retried=tuple(Failure(_cut_facts(one.error), **_tried(one)) for one in reply.retried), **_tried(reply))


def kept_of(loaded: Loaded) -> Loaded:
    """What is kept of what a server says of a loaded model; details without measure are none."""
    details = loaded.details
    if details is not None and len(json_text.canonical(details)) > MOST_DETAILS_BYTES:
        details = None
    return replace(loaded, context_length=known(loaded.context_length, MOST_COUNT), details=details)


def known(number: Number | None, most: float) -> Number | None:
    """The number, if it can be meant; NaN and what is below zero cannot."""
    return number if number is not None and 0 <= number <= most else None


def _letters_beyond(usage: Usage, messages: Sequence[Message]) -> int | None:
    """The letters of a prompt that has too few tokens for them, a run of one letter or of white space counted once.

    None where the tokens may be all of it, or are not known. Cached ones are added: some servers count them apart.
    """
    if usage.prompt_tokens is None:
        return None
    most = max(FEWEST_LETTERS, MOST_LETTERS_A_TOKEN * (usage.prompt_tokens + (usage.cached_tokens or 0)))
    texts = [message["content"] for message in messages]
    if sum(map(len, texts)) <= most:
        return None
    letters = sum(len(_RUN.sub(r"\1\2", text)) for text in texts)
    return letters if letters > most else None


def _tried(one: Reply | TrialError | Failure) -> dict[str, Any]:
    return {"latency_s": known(one.latency_s, MOST_SECONDS), "retries": known(one.retries, MOST_COUNT) or 0,
            "waited_s": known(one.waited_s, MOST_SECONDS) or 0.0}


def _cut_facts(error: TrialError | ErrorFacts) -> ErrorFacts:
    partial = None if error.partial is None else too_large(error.partial).partial
    return ErrorFacts(error.type, _cut(error.message, MOST_MESSAGE), partial)


def _cut(text: str, most: int) -> str:
    """The text on so many letters, and without half letters, which no file can hold."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


@contextmanager
def redacting(redactor: Redactor) -> Iterator[None]:
    """Errors within are raised without secrets in their words."""
    try:
        yield
    except TrialError as error:
        error.message = redactor.text(error.message)
        error.args = (redactor.text(str(error)),)
        error.stops = None if error.stops is None else redactor.text(error.stops)
        error.stops_in_a_row = None if error.stops_in_a_row is None else redactor.text(error.stops_in_a_row)
        error.partial = None if redactor.is_in(error.partial or "") else error.partial
        error.retried = _without_secrets(redactor, error.retried)
        raise
    except errors.Interrupted:
        raise
    except KitError as error:
        error.args = tuple(redactor.text(given) if isinstance(given, str) else given for given in error.args)
        raise


def _without_secrets(redactor: Redactor, tried: tuple[Failure, ...]) -> tuple[Failure, ...]:
    return tuple(replace(one, error=replace(
        one.error, message=redactor.text(one.error.message),
        partial=None if redactor.is_in(one.error.partial or "") else one.error.partial)) for one in tried)


@dataclass(frozen=True, slots=True)
class GuardedSystem:
    """A system whose every call is checked, and which gives away no secret; see `System` for what each does.

    `given` is how it was named, `file` its module; it is warmed within `loading`. Words of an error are cut, so secrets
    are taken out of them before.
    """

    inner: Any
    given: str
    file: Path
    clock: Clock
    redactor: Redactor
    loading: Callable[[], AbstractContextManager[None]]

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        return self._object("open", self.inner.open)

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        return self._object("settings", self.inner.settings)

    def warm(self) -> Loaded:
        """What was loaded; a plain number of seconds will do."""
        with redacting(self.redactor):
            with self.loading():
                given = self._called("warm", self.inner.warm)
            return self._called("warm", self._loaded, given)

    def answer(self, request: Request) -> Reply:
        """One whole reply; one that is late is a Timeout of this trial, as it would be at any other system.

        One that repeats a secret is none, and raises TrialError: to change an answer is not the kit's.
        """
        asked = replace(self, given=f"{self.given}, case {shown_line(request.case, 80)}, trial {request.trial}")
        with redacting(self.redactor):
            reply = asked._answer(request)
        if any(self.redactor.is_in(text or "") for text in (reply.output, reply.reasoning, reply.finish)):
            raise TrialError("BadReply", "the reply repeats a key of the environment: nothing of it is kept",
                             latency_s=reply.latency_s, retries=reply.retries, waited_s=reply.waited_s)
        return replace(reply, retried=_without_secrets(self.redactor, reply.retried))

    def close(self) -> None:
        """Let go."""
        with redacting(self.redactor):
            self._called("close", self.inner.close)

    def made(self, make: Callable[[], Any]) -> GuardedSystem:
        """The same around the system that `make` gives. Raises Unusable if it gives none, or raises."""
        system = self._called("system", make)
        missing = [method for method in METHODS if not callable(getattr(system, method, None))]
        if missing:
            raise self._refusal("system", f"gave {type(system).__name__}, which has no {', '.join(missing)}")
        return replace(self, inner=system)

    def _answer(self, request: Request) -> Reply:
        start = self.clock.monotonic()
        given = self._called("answer", self.inner.answer, request)
        end = self.clock.monotonic()
        if not issubclass(type(given), Reply):
            raise self._refusal("answer", f"gave {type(given).__name__}, and not a Reply whose output is a text")
        reply: Reply = self._called("answer", self._plain, "answer", given, Reply)
        # a number that cannot be meant is dropped before it is counted on
        latency_s, waited_s = known(reply.latency_s, MOST_SECONDS), known(reply.waited_s, MOST_SECONDS) or 0.0
        took_s, grace_s = (end - start, 0.0) if latency_s is None else (latency_s, GRACE_S)
        last = request.deadline + waited_s
        if start + took_s > last or end > last + grace_s:
            raise TrialError("Timeout", "the whole reply came behind the time limit", reply.output,
                             latency_s=took_s, retries=reply.retries, waited_s=waited_s)
        return reply

    def _loaded(self, given: object) -> Loaded:
        loaded = given if isinstance(given, Loaded) else Loaded(cast("float", given))
        refusal = self._refusal("warm", "did not give the seconds that loading took")
        if not issubclass(type(loaded.load_s), int | float) or type(loaded.load_s) is bool:
            raise refusal
        plain = self._plain("warm", loaded, Loaded)
        if not 0 <= plain.load_s <= MOST_SECONDS:
            raise refusal
        details = None if loaded.details is None else self.redactor.value(self._json("warm", loaded.details))
        return replace(plain, load_s=float(plain.load_s), details=cast("Mapping[str, JSON] | None", details))

    def _object(self, what: str, method: Callable[[], object]) -> Mapping[str, JSON]:
        with redacting(self.redactor):
            given = self._called(what, self._json, what, self._called(what, method))
        return cast("Mapping[str, JSON]", self.redactor.value(given))

    def _called(self, what: str, function: Callable[..., Made], *given: object) -> Made:
        """What the function gives. Errors of the contract pass; any other is told with its place."""
        try:
            return called(function, *given, passing=(TrialError, KitError))
        except TrialError as error:
            raise self._called(what, self._plain_error, what, error) from error
        except Raised as raised:
            cause, place = raised.error, raised_at(raised.error) or self.file.name
            is_outside = isinstance(cause, OSError | MemoryError)
            kind = self._kind(what, errors.EnvironmentFailure if is_outside else errors.Unusable)
            raise kind(f"{self.given}: {what}() of {place} {what_came(cause, self.redactor.text)}") from cause

    def _refusal(self, what: str, why: str) -> KitError:
        """The error where the contract is not kept."""
        return self._kind(what, errors.Unusable)(f"{self.given}: {what}() of {self.file.name} {why}")

    def _kind(self, what: str, usual: type[KitError]) -> type[KitError]:
        """The log is begun when `warm` is called: then it is no longer true that nothing was started."""
        return errors.BrokenOff if what in ("warm", "answer", "close") else usual

    def _json(self, what: str, given: object) -> Mapping[str, JSON]:
        """What was given as values of Python's own, if it is a JSON object."""
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise self._refusal(what, "did not give a JSON object")
        try:
            plain = json_text.parse(json_text.canonical(dict(given)).encode("ascii"))
        except (TypeError, ValueError, RecursionError) as error:
            told = shown_line(self.redactor.text(str(error)))
            raise self._refusal(what, f"gave something that is not JSON: {told}") from None
        return cast("Mapping[str, JSON]", plain)

    def _plain_error(self, what: str, error: TrialError) -> TrialError:
        """The same error, made anew."""
        found = self._plain_fields(what, error, TrialError)
        retried = found.pop("retried")
        for name in (found["type"], *(one.error.type for one in retried)):
            if name not in errors.ERROR_TYPES:
                raise self._refusal(what, f"raised a TrialError of the type {shown_line(name, 60)}, not one of "
                                          f"{', '.join(errors.ERROR_TYPES)}")
        plain = TrialError(**found)
        plain.retried = retried
        return plain

    def _plain(self, what: str, given: object, kind: type[Made]) -> Made:
        """What was given, made anew of values of Python's own: nothing of the user's runs when it is read later."""
        return kind(**self._plain_fields(what, given, kind))

    def _plain_fields(self, what: str, given: object, wanted: type) -> dict[str, Any]:
        """Plain values by field. Raises the error of a contract that is not kept where one is of another type."""
        found: dict[str, Any] = {}
        for name, types in _FIELDS[wanted].items():
            value: Any = getattr(given, name, None)
            # not isinstance, which believes what an object says of its class; and no truth is a number
            kind = next((one for one in types if issubclass(type(value), one) and type(value) is not bool), None)
            if kind is None:
                meant = " or ".join("None" if one is _NOTHING else one.__name__ for one in types)
                raise self._refusal(what, f"gave a {type(given).__name__} whose {name} is of type "
                                          f"{type(value).__name__}, not {meant}")
            if kind is tuple:  # of failed requests
                found[name] = tuple(self._plain(what, one, Failure) for one in tuple.__iter__(value))
            elif kind in _FIELDS:
                found[name] = self._plain(what, value, kind)
            else:
                found[name] = _PLAIN[kind](value) if kind in _PLAIN else value
        return found
