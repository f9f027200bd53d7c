"""Systems of the user, held to the contract: what else they raise or give becomes one line, or what a log can hold.

A reply whose line no log takes would end the run, and again at every start.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from benchkit.basics import json_text
from benchkit.basics.clock import Clock
from benchkit.basics.errors import ERROR_TYPES, BrokenOff, EnvironmentFailure, KitError, TrialError, Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.secrets import Redactor
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, ErrorFacts, Failure, Message, Reply, Request, Timings, Usage
from benchkit.network.replies import MOST_TEXT_BYTES, too_large
from benchkit.systems.redaction import redacting, without_secrets
from benchkit.systems.system import Loaded, System
from benchkit.tasks.modules import Made, Raised, called, place_of, what_came

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
_RUN = re.compile(r"(\s)\s+|(\S)\2+")
_UNCOUNTED, _UNTIMED = Usage(), Timings()
_counts, _timings = (attrgetter(*(one.name for one in fields(made))) for made in (Usage, Timings))
Number = TypeVar("Number", int, float)


def answered(system: System, request: Request) -> Reply:
    """One whole reply, so that its line can be written. Raises TrialError (ReplyTooLarge too), and as the system does.

    Texts are left as they are; where they are too large together, there is no reply.
    """
    try:
        reply = system.answer(request)
    except TrialError as error:
        _fit(error)
        raise
    if len((reply.output + (reply.reasoning or "")).encode("utf-8", "surrogatepass")) > MOST_TEXT_BYTES:
        too_long = too_large(reply.output)
        too_long.latency_s, too_long.retries, too_long.waited_s = reply.latency_s, reply.retries, reply.waited_s
        too_long.retried = reply.retried
        _fit(too_long)
        raise too_long
    return replace(
        reply, finish=None if reply.finish is None else _cut(reply.finish, MOST_FINISH),
        usage=_usage_of(reply.usage, request.messages),
        timings=reply.timings if reply.timings == _UNTIMED else Timings(
            *(known(one, MOST_SECONDS) for one in _timings(reply.timings))),
        latency_s=known(reply.latency_s, MOST_SECONDS), retries=known(reply.retries, MOST_COUNT) or 0,
        waited_s=known(reply.waited_s, MOST_SECONDS) or 0.0, retried=tuple(map(_tried, reply.retried)))


def kept_of(loaded: Loaded) -> Loaded:
    """What is kept of what a server says of a loaded model; details without measure are none."""
    details = loaded.details
    if details is not None and len(canonical(details)) > MOST_DETAILS_BYTES:
        details = None
    return replace(loaded, context_length=known(loaded.context_length, MOST_COUNT), details=details)


def _usage_of(given: Usage, messages: Sequence[Message]) -> Usage:
    if given == _UNCOUNTED:
        return given
    usage = Usage(*(known(one, MOST_COUNT) for one in _counts(given)))
    return replace(usage, asked_letters=_letters_beyond(usage, messages))


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


def _tried(one: Failure) -> Failure:
    """As much of a request before the last as is kept of the last."""
    error = TrialError(one.error.type, one.error.message, one.error.partial, latency_s=one.latency_s,
                       retries=one.retries, waited_s=one.waited_s)
    _fit(error)
    facts = ErrorFacts(error.type, error.message, error.partial)
    return Failure(facts, error.latency_s, error.retries, error.waited_s)


def _fit(error: TrialError) -> None:
    error.message = _cut(error.message, MOST_MESSAGE)
    error.stops, error.stops_in_a_row = (
        None if sentence is None else _cut(sentence, MOST_SENTENCE) for sentence in (error.stops, error.stops_in_a_row))
    error.retried = tuple(map(_tried, error.retried))
    if error.partial is not None:
        error.partial = too_large(error.partial).partial
    error.latency_s = known(error.latency_s, MOST_SECONDS)
    error.retries = known(error.retries, MOST_COUNT) or 0
    error.waited_s = known(error.waited_s, MOST_SECONDS) or 0.0


def known(number: Number | None, most: float) -> Number | None:
    """The number, if it can be meant; NaN and what is below zero cannot."""
    return number if number is not None and 0 <= number <= most else None


def _cut(text: str, most: int) -> str:
    """The text on so many letters, and without half letters, which no file can hold."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


GRACE_S = 1.0
"""So much later than its deadline a system may return that times its own request: a look at the server behind the
reply is not the model's time."""
_NO_SECONDS = "did not give the seconds that loading took"
METHODS = ("open", "settings", "warm", "answer", "close")
_NOTHING = type(None)
_TEXT, _COUNT, _NUMBER = (str, _NOTHING), (int, _NOTHING), (int, float, _NOTHING)
_PLAIN: Mapping[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
"""How a value of a subclass becomes one of Python's own: nothing that its class has redefined runs."""
_TRIED: Mapping[str, tuple[type, ...]] = {
    "latency_s": _NUMBER, "retries": (int,), "waited_s": (int, float), "retried": (tuple,)}
_ERROR: Mapping[str, tuple[type, ...]] = {
    "type": (str,), "message": (str,), "partial": _TEXT, "stops": _TEXT, "stops_in_a_row": _TEXT, "status": _COUNT,
    **_TRIED}
_FIELDS: Mapping[type, Mapping[str, tuple[type, ...]]] = {
    Reply: {"output": (str,), "finish": _TEXT, "reasoning": _TEXT, "usage": (Usage,), "timings": (Timings,), **_TRIED},
    Usage: {one.name: _COUNT for one in fields(Usage)},
    Timings: {one.name: _NUMBER for one in fields(Timings)},
    Failure: {"error": (ErrorFacts,), "latency_s": _NUMBER, "retries": (int,), "waited_s": (int, float)},
    ErrorFacts: {"type": (str,), "message": (str,), "partial": _TEXT},
    Loaded: {"load_s": (int, float), "context_length": _COUNT}}


def guarded(
    given: str, file: Path, make: Callable[[], Any], clock: Clock, redactor: Redactor,
    loading: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> System:
    """The system that `make` gives, guarded. Raises Unusable if it gives none, or raises.

    Words of an error are cut, so secrets are taken out of them before. It is warmed within `loading`.
    """
    guard = _Guard(shown_line(given, 120), file, redactor)
    system = guard.called("system", make)
    missing = [method for method in METHODS if not callable(getattr(system, method, None))]
    if missing:
        raise guard.refusal("system", f"gave {type(system).__name__}, which has no {', '.join(missing)}")
    return GuardedSystem(system, guard, clock, loading)


@dataclass(frozen=True, slots=True)
class _Guard:
    given: str
    file: Path
    redactor: Redactor

    def asked(self, request: Request) -> _Guard:
        """The guard whose errors name the trial, too."""
        return replace(self, given=f"{self.given}, case {shown_line(request.case, 80)}, trial {request.trial}")

    def called(self, what: str, function: Callable[..., Made], *given: object) -> Made:
        """What the function gives. Errors of the contract pass; any other is told with its place."""
        try:
            return called(function, *given, passing=(TrialError, KitError))
        except TrialError as error:
            raise self.called(what, self._plain_error, what, error) from error
        except Raised as raised:
            cause, place = raised.error, place_of(raised.error) or self.file.name
            kind = self._kind(what, EnvironmentFailure if isinstance(cause, OSError | MemoryError) else Unusable)
            raise kind(f"{self.given}: {what}() of {place} {what_came(cause, self.redactor.text)}") from cause

    def refusal(self, what: str, why: str) -> KitError:
        """The error where the contract is not kept."""
        return self._kind(what, Unusable)(f"{self.given}: {what}() of {self.file.name} {why}")

    def object_of(self, what: str, given: object) -> Mapping[str, JSON]:
        """What was given as values of Python's own, if it is a JSON object."""
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise self.refusal(what, "did not give a JSON object")
        try:
            plain = json_text.parse(canonical(dict(given)).encode("ascii"))
        except (TypeError, ValueError, RecursionError) as error:
            told = shown_line(self.redactor.text(str(error)))
            raise self.refusal(what, f"gave something that is not JSON: {told}") from None
        return cast("Mapping[str, JSON]", plain)

    def plain(self, what: str, given: object, kind: type[Made]) -> Made:
        """What was given, made anew of values of Python's own: nothing of the user's runs when it is read later."""
        return kind(**self._plain_fields(what, given, _FIELDS[kind]))

    def _plain_error(self, what: str, error: TrialError) -> TrialError:
        """The same for what a trial can end in."""
        found = self._plain_fields(what, error, _ERROR)
        for name in (found["type"], *(one.error.type for one in found["retried"])):
            if name not in ERROR_TYPES:
                raise self.refusal(what, f"raised a TrialError of the type {shown_line(name, 60)}, not one of "
                                         f"{', '.join(ERROR_TYPES)}")
        retried = found.pop("retried")
        plain = TrialError(**found)
        plain.retried = retried
        return plain

    def _plain_fields(self, what: str, given: object, wanted: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
        """Plain values by field. Raises the error of a contract that is not kept where one is of another type."""
        found = {}
        for name, types in wanted.items():
            value = getattr(given, name, None)
            # not isinstance, which believes what an object says of its class; and no truth is a number
            kind = next((one for one in types if issubclass(type(value), one) and type(value) is not bool), None)
            if kind is None:
                meant = " or ".join("None" if one is _NOTHING else one.__name__ for one in types)
                raise self.refusal(what, f"gave a {type(given).__name__} whose {name} is of type "
                                         f"{type(value).__name__}, not {meant}")
            found[name] = self._plain_value(what, value, kind)
        return found

    def _plain_value(self, what: str, value: Any, kind: type) -> Any:
        if kind is tuple:  # of failed requests
            return tuple(self.plain(what, one, Failure) for one in tuple.__iter__(value))
        return self.plain(what, value, kind) if kind in _FIELDS else _PLAIN.get(kind, lambda same: same)(value)

    def _kind(self, what: str, usual: type[KitError]) -> type[KitError]:
        """The log is begun when `warm` is called: then it is no longer true that nothing was started."""
        return BrokenOff if what in ("warm", "answer", "close") else usual


@dataclass(frozen=True, slots=True)
class GuardedSystem:
    """A system whose every call is checked, and which gives away no secret; see `System` for what each does."""

    inner: Any
    guard: _Guard
    clock: Clock
    loading: Callable[[], AbstractContextManager[None]]

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        return self._object("open", self.inner.open)

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        return self._object("settings", self.inner.settings)

    def _object(self, what: str, method: Callable[[], object]) -> Mapping[str, JSON]:
        with redacting(self.guard.redactor):
            given = self.guard.called(what, self.guard.object_of, what, self.guard.called(what, method))
        return cast("Mapping[str, JSON]", self.guard.redactor.value(given))

    def warm(self) -> Loaded:
        """What was loaded; a plain number of seconds will do."""
        with redacting(self.guard.redactor):
            with self.loading():
                given = self.guard.called("warm", self.inner.warm)
            return self.guard.called("warm", self._loaded, given)

    def _loaded(self, given: object) -> Loaded:
        loaded = given if isinstance(given, Loaded) else Loaded(cast("float", given))
        if not issubclass(type(loaded.load_s), int | float) or type(loaded.load_s) is bool:
            raise self.guard.refusal("warm", _NO_SECONDS)
        plain = self.guard.plain("warm", loaded, Loaded)
        if not 0 <= plain.load_s <= MOST_SECONDS:
            raise self.guard.refusal("warm", _NO_SECONDS)
        details = None if loaded.details is None else self.guard.object_of("warm", loaded.details)
        details = cast("Mapping[str, JSON] | None", self.guard.redactor.value(details))
        return replace(plain, load_s=float(plain.load_s), details=details)

    def answer(self, request: Request) -> Reply:
        """One whole reply; one that is late is a Timeout of this trial, as it would be at any other system."""
        with redacting(self.guard.redactor):
            reply = self._answer(request)
        return without_secrets(self.guard.redactor, reply)

    def _answer(self, request: Request) -> Reply:
        start, guard = self.clock.monotonic(), self.guard.asked(request)
        given = guard.called("answer", self.inner.answer, request)
        end = self.clock.monotonic()
        if not issubclass(type(given), Reply):
            raise guard.refusal("answer", f"gave {type(given).__name__}, and not a Reply whose output is a text")
        reply: Reply = guard.called("answer", guard.plain, "answer", given, Reply)
        # a number that cannot be meant is dropped before it is counted on
        latency_s, waited_s = known(reply.latency_s, MOST_SECONDS), known(reply.waited_s, MOST_SECONDS) or 0.0
        took_s, grace_s = (end - start, 0.0) if latency_s is None else (latency_s, GRACE_S)
        last = request.deadline + waited_s
        if start + took_s > last or end > last + grace_s:
            raise TrialError("Timeout", "the whole reply came behind the time limit", reply.output,
                             latency_s=took_s, retries=reply.retries, waited_s=waited_s)
        return reply

    def close(self) -> None:
        """Let go."""
        with redacting(self.guard.redactor):
            self.guard.called("close", self.inner.close)
