"""What the steps of trials took, and what is still to come: tokens, seconds, retries. Never money: prices change.

Seconds are rounded to 6 digits before they are added, as they stand in the trace: so whoever adds them up again
comes to the same figure. What is unknown of one step is unknown of their sum.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from benchkit.basics.fields import Fields
from benchkit.basics.texts import word_for
from benchkit.basics.values import JSON, Outcome, Reply, Timings, Usage
from benchkit.statistics.intervals import two_sided_z
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


def still_to_come(system: str, done: Iterable[Outcome], planned: int) -> str:
    """What the cells to go of a system will take by those done, in a line: `m:x: 12 cells done, 36 to go: about ...`.

    A failure has no usage: its tokens are unknown, not none. Its seconds are the last request and the waiting before.
    """
    costs = [(*((one.usage.prompt_tokens, one.usage.output_tokens) if isinstance(one, Reply) else (None, None)),
              None if one.latency_s is None else one.latency_s + one.waited_s) for one in done]
    to_go = planned - len(costs)
    start = f"{system}: {len(costs)} {word_for(len(costs), 'cell')} done, {to_go} to go"
    if not to_go:
        return f"{start}: nothing is left"
    if not costs:
        return f"{start}: nothing is known yet; run one cell with --limit 1"
    columns = [[value for value in column if value is not None] for column in zip(*costs, strict=True)]
    units = ("prompt tokens", "output tokens", "s")
    sums = ", ".join(_sum_of_more(known, to_go, unit) for known, unit in zip(columns, units, strict=True))
    cells = max(map(len, columns))
    sure = ("no cell done tells anything" if cells == 0 else
            "one cell tells no spread: it may be far off" if cells == 1 else
            f"by {cells} cells" + (", which is few: it may be off by more" if cells < 20 else ""))
    return f"{start}: {sums}; {sure}"


def _sum_of_more(known: Sequence[float], to_go: int, unit: str) -> str:
    """The sum of `to_go` more values like these, with an interval that holds it with 95 % if they are like these.

    The interval is total +- z s sqrt(m + m^2 / n) for m to go after n: the cells to go scatter, and so does the
    mean of those done. It is too narrow where n is below about 20, for z stands in the place of Student's t.
    """
    def whole(value: float) -> str:
        return "under 1" if 0 < value < 1 else f"{value:,.0f}"

    if not known:
        return f"{unit} unknown" if unit != "s" else "time unknown"
    mean, interval = math.fsum(known) / len(known), ""
    total = mean * to_go
    if len(known) > 1:
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1))
        half = two_sided_z(0.95) * spread * math.sqrt(to_go + to_go ** 2 / len(known))
        interval = f" ({whole(max(0.0, total - half))} to {whole(total + half)})"
    return f"{'' if 0 < total < 1 else 'about '}{whole(total)} {unit}{interval}"
