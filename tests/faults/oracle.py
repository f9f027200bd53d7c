"""What a log holds, told from its bytes alone and without the kit's own reader: the judge is not the accused.

A line is whole if its last 26 bytes close it: the first 16 hex digits of the SHA-256 of all that stands before.
"""
from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.found import Problem


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cell of a log."""

    system: str
    case: str
    trial: int


@dataclass(frozen=True, slots=True)
class Said:
    """What a trial came to, without its circumstances."""

    output: str | None
    finish: str | None
    error: str | None


def bytes_of(log: Path) -> bytes:
    """The bytes of a log; none where there is no file."""
    return log.read_bytes() if log.exists() else b""


def whole_lines(data: bytes) -> list[dict[str, Any]]:
    """Every whole line, parsed. The last one counts without its newline too, for the writer only adds that."""
    lines = [line for line in data.split(b"\n") if _is_closed(line)]
    return [json.loads(line) for line in lines]


def _is_closed(line: bytes) -> bool:
    told = hashlib.sha256(line[:-26]).hexdigest()[:16].encode()
    return line[-26:] == b',"sum":"' + told + b'"}'


def trials_in(data: bytes) -> list[tuple[Place, int, Said]]:
    """Every trial line: its cell, its attempt, what was said."""
    return [(Place(line["system"], line["case"], line["trial"]), line["attempt"], _said(line))
            for line in whole_lines(data) if line["kind"] == "trial"]


def _said(line: Mapping[str, Any]) -> Said:
    error = line.get("error")
    return Said(line.get("output"), line.get("finish"), error["type"] if error else None)


def places_in(data: bytes) -> set[Place]:
    """The cells that have a trial line."""
    return {place for place, _attempt, _said in trials_in(data)}


def lost(acknowledged: Iterable[Place], data: bytes, when: str) -> tuple[Problem, ...]:
    """The cells that were acknowledged and are not there."""
    there = places_in(data)
    return tuple(Problem("lost", f"{when}: {place}") for place in sorted(set(acknowledged) - there))


def twice(data: bytes, when: str) -> tuple[Problem, ...]:
    """The cells that are there more than once, though nobody asked for another attempt."""
    counts = Counter(place for place, _attempt, _said in trials_in(data))
    return tuple(Problem("twice", f"{when}: {place}, {count} times") for place, count in counts.items() if count > 1)


def grown(before: bytes, after: bytes, when: str) -> tuple[Problem, ...]:
    """Bytes once in a log never change."""
    return () if after.startswith(before) else (Problem("changed", f"{when}: bytes of the log have changed"),)


def as_wanted(wanted: Mapping[Place, Said], data: bytes, when: str) -> tuple[Problem, ...]:
    """Every wanted cell is there, once, and says what it says in a run that nothing disturbed."""
    there = {place: said for place, _attempt, said in trials_in(data)}
    missing = tuple(Problem("lost", f"{when}: {place} never ran") for place in sorted(wanted.keys() - there.keys()))
    other = tuple(Problem("changed", f"{when}: {place} says {str(there[place])[:80]}, not {str(said)[:80]}")
                  for place, said in sorted(wanted.items()) if place in there and there[place] != said)
    return missing + other + twice(data, when)
