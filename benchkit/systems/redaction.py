"""No key and no password comes back: all that a system says is looked through for those it was given.

Modules of the user read keys from the environment, and libraries put them into their errors. A server of the kit's
own clients gets a key from the client alone, which sees to it there (network/retry.py).
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchkit.basics.errors import Interrupted, KitError, TrialError
from benchkit.basics.secrets import Redactor
from benchkit.basics.values import Failure, Reply


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
        error.retried = _tried(redactor, error.retried)
        raise
    except Interrupted:
        raise
    except KitError as error:
        error.args = tuple(redactor.text(given) if isinstance(given, str) else given for given in error.args)
        raise


def without_secrets(redactor: Redactor, reply: Reply) -> Reply:
    """The reply. One that repeats a secret is none, and raises TrialError: to change an answer is not the kit's."""
    if any(redactor.is_in(text or "") for text in (reply.output, reply.reasoning, reply.finish)):
        raise TrialError("BadReply", "the reply repeats a key of the environment: nothing of it is kept",
                         latency_s=reply.latency_s, retries=reply.retries, waited_s=reply.waited_s)
    return replace(reply, retried=_tried(redactor, reply.retried))


def _tried(redactor: Redactor, tried: tuple[Failure, ...]) -> tuple[Failure, ...]:
    return tuple(replace(one, error=replace(
        one.error, message=redactor.text(one.error.message),
        partial=None if redactor.is_in(one.error.partial or "") else one.error.partial)) for one in tried)
