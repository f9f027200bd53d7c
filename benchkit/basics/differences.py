"""What differs between two JSON values, leaf by leaf. What does not live here: what a difference means."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchkit.basics.canonical import canonical
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON


@dataclass(frozen=True, slots=True)
class Difference:
    """A leaf by its place (`options.temperature`), and what stands there in the one and in the other, to be shown."""

    place: str
    one: str
    other: str


def differences(one: JSON, other: JSON, place: str = "") -> Iterator[Difference]:
    """Every leaf in which the two differ, in order of their places; what is missing is null."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{place}.{key}" if place else key)
    elif canonical(one) != canonical(other):
        yield Difference(place, shown_line(canonical(one), 80), shown_line(canonical(other), 80))
