"""What a solver must not be shown: a text that gives the truth of its question away, and what was observed after now.

What does not live here: what is done about it, before anybody is asked (question_gates.py) and after (trace_replay.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from benchkit.basics.canonical import canonical
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case
from benchkit.boards.game import observations_in
from benchkit.boards.pack import Pack
from benchkit.tasks.modules import named

_Made = TypeVar("_Made")


def of_pack(pack: Pack, case: Case, what: str, make: Callable[[], _Made]) -> _Made:
    """What a function of the pack gives for a case. Raises Unusable that names pack, case and function."""
    with named(f"pack {pack.module}, case {shown_line(case.id, 80)}: {what}"):
        return make()


def leaked_terms(pack: Pack, case: Case, text: str) -> tuple[str, ...]:
    """The truth terms of a case that stand in a text, however cased."""
    folded = text.casefold()
    return tuple(term for term in of_pack(pack, case, "truth_terms", lambda: pack.truth_terms(case))
                 if term.casefold() in folded)


def text_of(value: JSON) -> str:
    """All that a value says: as JSON, in which a term can span names and values, and each text as it is read."""
    return "\n".join([canonical(value), *_texts_in(value)])


def _texts_in(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _texts_in(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts_in(inner)


def untimely_payload(payload: JSON) -> Iterator[str]:
    """What is wrong with the times of a payload, a text each: it says when now is, and nothing in it is later."""
    if not isinstance(payload, Mapping) or payload.get("now") in (None, ""):
        yield "the payload does not say when now is"
    yield from untimely(observations_in(payload))


def untimely(observations: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    """Which observations are later than now, or do not say when they were made."""
    for one in observations:
        minute, name = one.get("minute"), shown_line(str(one.get("id", "an observation")), 40)
        if isinstance(minute, bool) or not isinstance(minute, int | float):
            yield f"{name} has no time: its minute is no number"
        elif minute > 0:
            yield f"{name} is {minute:g} minutes later than now"
