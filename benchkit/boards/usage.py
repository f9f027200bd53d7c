"""What the steps of trials took: tokens, or why there are none, seconds, retries. Never money: prices change.

Seconds are rounded to 6 digits before they are added, as they stand in the trace: so whoever adds them up again
comes to the same figure. What is unknown of one step is unknown of their sum.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from benchkit.basics.fields import Fields
from benchkit.basics.values import JSON, Outcome, Reply, Timings, Usage
from benchkit.trial_log.schema import rounded

CACHE_ONLY, NOT_REPORTED, NO_REPLY = "absent:cache_only", "absent:not_reported", "absent:no_reply"


@dataclass(frozen=True, slots=True)
class TokenUse:
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

    def __add__(self, other: TokenUse) -> TokenUse:
        def total(one: int | None, more: int | None) -> int | None:
            return more if one is None else one if more is None else one + more

        return TokenUse(self.calls + other.calls, self.reported + other.reported,
                        total(self.prompt_tokens, other.prompt_tokens), total(self.output_tokens, other.output_tokens),
                        self.lost + other.lost)


NOTHING_USED = TokenUse()


def tokens_of(outcomes: Iterable[Outcome]) -> TokenUse:
    """The sums over requests, those that were sent again included.

    A reply with one figure of the two counts as reported; the missing one adds nothing.
    """
    found = NOTHING_USED
    for outcome in outcomes:
        usage = outcome.usage if isinstance(outcome, Reply) else Usage()
        is_reported = usage.prompt_tokens is not None or usage.output_tokens is not None
        lost = outcome.retries + (not isinstance(outcome, Reply))
        found += TokenUse(1 + outcome.retries, int(is_reported), usage.prompt_tokens, usage.output_tokens, lost)
    return found


def tokens_in(fields: Fields, name: str) -> TokenUse:
    """The sums at a field of batch.json. Raises ValueError naming the field."""
    value = fields.json(name)
    if value == CACHE_ONLY:
        return TokenUse()
    if value == NOT_REPORTED:
        # how many calls there were is not kept where none of them reported anything
        return TokenUse(calls=1)
    if value == NO_REPLY:
        return TokenUse(calls=1, lost=1)
    inner = fields.inner(name)
    inner.has_exactly(("calls", "reported", "prompt_tokens", "output_tokens"))
    return TokenUse(inner.integer("calls", 1), inner.integer("reported", 1), inner.integer_or_none("prompt_tokens"),
                    inner.integer_or_none("output_tokens"))


@dataclass(frozen=True, slots=True)
class Bill:
    """What the requests of a trial took. None is unknown, never zero."""

    usage: Usage
    timings: Timings
    latency_s: float | None
    retries: int
    waited_s: float


def bill_of(steps: Sequence[Outcome]) -> Bill:
    """The sums over the steps of a trial; a step that brought no reply has no known usage or timings."""
    usages = [step.usage if isinstance(step, Reply) else Usage() for step in steps]
    timings = [step.timings if isinstance(step, Reply) else Timings() for step in steps]
    return Bill(
        Usage(*(_total([getattr(one, field.name) for one in usages]) for field in fields(Usage))),
        Timings(*(_seconds(getattr(one, field.name) for one in timings) for field in fields(Timings))),
        _seconds(step.latency_s for step in steps), sum(step.retries for step in steps),
        _seconds(step.waited_s for step in steps) or 0.0)


def _total(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


def _seconds(values: Iterable[float | None]) -> float | None:
    known = [rounded(value) for value in values]
    return None if None in known else rounded(sum(value for value in known if value is not None))
