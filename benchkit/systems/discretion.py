"""Nothing that was given in confidence comes back: what a system says is looked through for keys and passwords.

Modules of the user read keys from the environment, and libraries put them into their errors. A server of the kit's
own clients gets a key from the client alone, which sees to it there (network/asking.py).
What does not live here: what a secret is, and how it is found in a text (basics/hiding.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from benchkit.basics.errors import Interrupted, KitError, TrialError
from benchkit.basics.hiding import Hidden, secrets_in
from benchkit.basics.values import JSON, Failure, Reply, Request
from benchkit.systems.system import Loaded, System, SystemOptions


def discreet(make: Callable[[SystemOptions, Hidden], System], options: SystemOptions) -> System:
    """The system that `make` gives for these options, and nothing that it says holds a secret of the environment."""
    hidden = Hidden(secrets_in(options.environment))
    with _discreetly(hidden):
        return DiscreetSystem(make(replace(options, say=lambda line: options.say(hidden.text(line))), hidden), hidden)


@dataclass(frozen=True, slots=True)
class DiscreetSystem:
    """A system that gives away no secret; see `System` for what each call does."""

    inner: System
    hidden: Hidden

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        with _discreetly(self.hidden):
            return cast("Mapping[str, JSON]", self.hidden.value(self.inner.open()))

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        with _discreetly(self.hidden):
            return cast("Mapping[str, JSON]", self.hidden.value(self.inner.settings()))

    def warm(self) -> Loaded:
        """What was loaded."""
        with _discreetly(self.hidden):
            loaded = self.inner.warm()
        return replace(loaded, details=cast("Mapping[str, JSON] | None", self.hidden.value(loaded.details)))

    def answer(self, request: Request) -> Reply:
        """One whole reply. One that repeats a secret is none: to change an answer is not the kit's."""
        with _discreetly(self.hidden):
            reply = self.inner.answer(request)
        if any(self.hidden.is_in(text or "") for text in (reply.output, reply.reasoning, reply.finish)):
            raise TrialError("BadReply", "the reply repeats a key of the environment: nothing of it is kept",
                             latency_s=reply.latency_s, retries=reply.retries, waited_s=reply.waited_s)
        return replace(reply, retried=_tried(self.hidden, reply.retried))

    def close(self) -> None:
        """Let go."""
        with _discreetly(self.hidden):
            self.inner.close()


@contextmanager
def _discreetly(hidden: Hidden) -> Iterator[None]:
    """Errors within are raised without secrets in their words."""
    try:
        yield
    except TrialError as error:
        error.message = hidden.text(error.message)
        error.args = (hidden.text(str(error)),)
        error.stops = None if error.stops is None else hidden.text(error.stops)
        error.stops_in_a_row = None if error.stops_in_a_row is None else hidden.text(error.stops_in_a_row)
        error.partial = None if hidden.is_in(error.partial or "") else error.partial
        error.retried = _tried(hidden, error.retried)
        raise
    except Interrupted:
        raise
    except KitError as error:
        error.args = tuple(_without(hidden, given) for given in error.args)
        raise


def _tried(hidden: Hidden, tried: tuple[Failure, ...]) -> tuple[Failure, ...]:
    return tuple(replace(one, error=replace(
        one.error, message=hidden.text(one.error.message),
        partial=None if hidden.is_in(one.error.partial or "") else one.error.partial)) for one in tried)


def _without(hidden: Hidden, given: Any) -> Any:
    return hidden.text(given) if isinstance(given, str) else given
