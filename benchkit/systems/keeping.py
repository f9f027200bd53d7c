"""What is kept of what a system gave: as much as a log can hold, and no number that cannot be meant.

A reply whose line no log takes would end the run, and again at every start. What does not live here: whether a module
of the user gives the right types (guarding.py), and the lines themselves (trial_log/).
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeVar

from benchkit.basics.canonical import canonical
from benchkit.basics.errors import TrialError
from benchkit.basics.values import ErrorFacts, Failure, Message, Reply, Request, Timings, Usage
from benchkit.network.asking import MOST_TEXT_BYTES, too_large
from benchkit.systems.system import Loaded, System

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
        timings=Timings(**{one.name: known(getattr(reply.timings, one.name), MOST_SECONDS)
                           for one in fields(Timings)}),
        latency_s=known(reply.latency_s, MOST_SECONDS), retries=known(reply.retries, MOST_COUNT) or 0,
        waited_s=known(reply.waited_s, MOST_SECONDS) or 0.0, retried=tuple(map(_tried, reply.retried)))


def kept_of(loaded: Loaded) -> Loaded:
    """What is kept of what a server says of a loaded model; details without measure are none."""
    details = loaded.details
    if details is not None and len(canonical(details)) > MOST_DETAILS_BYTES:
        details = None
    return replace(loaded, context_length=known(loaded.context_length, MOST_COUNT), details=details)


def _usage_of(given: Usage, messages: Sequence[Message]) -> Usage:
    usage = Usage(**{one.name: known(getattr(given, one.name), MOST_COUNT) for one in fields(Usage)})
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
