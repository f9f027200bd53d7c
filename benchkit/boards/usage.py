"""Tokens that were used: a count, or the reason why there is none. Never money: prices change, tokens were counted.

What does not live here: what is still to come (estimate.py).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.basics.fields import Fields
from benchkit.basics.values import JSON, Outcome, Reply, Usage

CACHE_ONLY, NOT_REPORTED, NO_REPLY = "absent:cache_only", "absent:not_reported", "absent:no_reply"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sums over `calls` requests, of which `reported` came with figures and `lost` brought no whole reply.

    A sum of what none of them told is None.
    """

    calls: int = 0
    reported: int = 0
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    lost: int = 0

    def to_wire(self) -> JSON:
        """The figures; or why there are none: nobody was called, no whole reply came, or none gave any."""
        if not self.calls:
            return CACHE_ONLY
        if not self.reported:
            return NO_REPLY if self.lost == self.calls else NOT_REPORTED
        return {"calls": self.calls, "reported": self.reported, "prompt_tokens": self.prompt_tokens,
                "output_tokens": self.output_tokens}

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.calls + other.calls, self.reported + other.reported,
                      _sum(self.prompt_tokens, other.prompt_tokens), _sum(self.output_tokens, other.output_tokens),
                      self.lost + other.lost)


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


NOTHING_USED = Tokens()


def tokens_of(outcomes: Iterable[Outcome]) -> Tokens:
    """The sums over requests, those that were sent again included.

    A reply with one figure of the two counts as reported; the missing one adds nothing.
    """
    return sum(map(_of_one, outcomes), NOTHING_USED)


def _of_one(outcome: Outcome) -> Tokens:
    usage = outcome.usage if isinstance(outcome, Reply) else Usage()
    lost = outcome.retries + (not isinstance(outcome, Reply))
    return Tokens(1 + outcome.retries, int(is_reported(usage)), usage.prompt_tokens, usage.output_tokens, lost)


def is_reported(usage: Usage) -> bool:
    """Whether the server said anything of tokens."""
    return usage.prompt_tokens is not None or usage.output_tokens is not None


def tokens_in(fields: Fields, name: str) -> Tokens:
    """The sums at a field of batch.json. Raises ValueError naming the field."""
    value = fields.json(name)
    if value == CACHE_ONLY:
        return Tokens()
    if value == NOT_REPORTED:
        # how many calls there were is not kept where none of them reported anything
        return Tokens(calls=1)
    if value == NO_REPLY:
        return Tokens(calls=1, lost=1)
    inner = fields.inner(name)
    inner.has_exactly(("calls", "reported", "prompt_tokens", "output_tokens"))
    return Tokens(inner.integer("calls", 1), inner.integer("reported", 1), inner.integer_or_none("prompt_tokens"),
                  inner.integer_or_none("output_tokens"))
