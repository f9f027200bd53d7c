"""No key and no password comes back: all that a system says is looked through for those it was given.

Modules of the user read keys from the environment, and libraries put them into their errors. A server of the kit's
own clients gets a key from the client alone, which sees to it there (network/asking.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from benchkit.basics.errors import Interrupted, KitError, TrialError
from benchkit.basics.secrets import Redactor, secrets_in
from benchkit.basics.values import JSON, Failure, Reply, Request
from benchkit.systems.system import Loaded, System, SystemOptions


def redacted(make: Callable[[SystemOptions, Redactor], System], options: SystemOptions) -> System:
    """The system that `make` gives for these options, and nothing that it says holds a secret of the environment."""
    redactor = Redactor(secrets_in(options.environment))
    with _redacting(redactor):
        return RedactedSystem(
            make(replace(options, say=lambda line: options.say(redactor.text(line))), redactor), redactor
        )


@dataclass(frozen=True, slots=True)
class RedactedSystem:
    """A system that gives away no secret; see `System` for what each call does."""

    inner: System
    redactor: Redactor

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        with _redacting(self.redactor):
            return cast("Mapping[str, JSON]", self.redactor.value(self.inner.open()))

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        with _redacting(self.redactor):
            return cast("Mapping[str, JSON]", self.redactor.value(self.inner.settings()))

    def warm(self) -> Loaded:
        """What was loaded."""
        with _redacting(self.redactor):
            loaded = self.inner.warm()
        return replace(loaded, details=cast("Mapping[str, JSON] | None", self.redactor.value(loaded.details)))

    def answer(self, request: Request) -> Reply:
        """One whole reply. One that repeats a secret is none: to change an answer is not the kit's."""
        with _redacting(self.redactor):
            reply = self.inner.answer(request)
        if any(self.redactor.is_in(text or "") for text in (reply.output, reply.reasoning, reply.finish)):
            raise TrialError("BadReply", "the reply repeats a key of the environment: nothing of it is kept",
                             latency_s=reply.latency_s, retries=reply.retries, waited_s=reply.waited_s)
        return replace(reply, retried=_tried(self.redactor, reply.retried))

    def close(self) -> None:
        """Let go."""
        with _redacting(self.redactor):
            self.inner.close()


@contextmanager
def _redacting(redactor: Redactor) -> Iterator[None]:
    """Errors within are raised without secrets in their words."""
    try:
        yield
    except TrialError as error:
        error.message = redactor.text(error.message)
        error.args = (redactor.text(str(error)),)
        error.stops = None if error.stops is None else redactor.text(error.stops)
        error.stops_in_a_row = None if error.stops_in_a_row is None else redactor.text(error.stops_in_a_row)
        error.partial = None if redactor.is_in(error.partial or "") else error.partial
        error.retried = _tried(redactor, error.retried)
        raise
    except Interrupted:
        raise
    except KitError as error:
        error.args = tuple(_without(redactor, given) for given in error.args)
        raise


def _tried(redactor: Redactor, tried: tuple[Failure, ...]) -> tuple[Failure, ...]:
    return tuple(replace(one, error=replace(
        one.error, message=redactor.text(one.error.message),
        partial=None if redactor.is_in(one.error.partial or "") else one.error.partial)) for one in tried)


def _without(redactor: Redactor, given: Any) -> Any:
    return redactor.text(given) if isinstance(given, str) else given
