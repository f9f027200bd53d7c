"""Run records of any size for tests: each result is made when it is read, from its case and trial, and kept nowhere."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from benchkit.basics.on_demand import OnDemand
from benchkit.basics.values import ErrorFacts, Timings, Usage
from benchkit.recordings.run_record import Result, RunRecord
from tests.reports_samples import SESSION, case, record

LABELS = ("bug", "outage", "spam")


def large_record(cases: int, trials: int, make: Callable[[int, int], Result]) -> RunRecord:
    """A run of so many cases and trials; `make` gives the result of a place and a trial."""
    def read(start: int, stop: int) -> Iterator[Result]:
        return (make(number // trials, number % trials + 1) for number in range(start, stop))

    judged = [case(f"case-{place}", [LABELS[place % 3]], {"label": LABELS[place % 3]}) for place in range(cases)]
    results = OnDemand(cases * trials, read)
    return replace(record({}), cases=tuple(judged), trials=trials, settings={"temperature": 1.0},
                   sessions=(SESSION, SESSION), results=cast("tuple[Result, ...]", results))


def uneven_result(place: int, trial: int) -> Result:
    """A case passes more often the later it stands; every output is one of its own, some trials end in errors."""
    drawn = _draw(place, trial)
    name = f"case-{place}"
    if drawn % 97 == 0:
        error = ErrorFacts(("Timeout", "NotRun", "ServerError")[drawn % 3], f"message {drawn % 5}")
        return Result(name, trial, 1000 + trial, "incomplete", None, None, error, 1, 0, trial == 1, None, None,
                      None, None, None, None, None)
    passes = drawn % 1000 < 50 * (place % 21)
    wanted, got = LABELS[place % 3], LABELS[drawn % 3]
    return Result(
        name, trial, 1000 + trial, "pass" if passes else "fail", {"parses": True, "label": passes},
        None if passes else {"label": f"expected {wanted}, got {got}"}, None, 1, 0, trial == 1, None,
        drawn % 100_000 / 10_000, Usage(100, 10 + drawn % 7), Timings(0.01, 0.1, 0.5, 0.2, 0.0), "stop",
        f"the answer {drawn} to trial {trial}", None)


def steady_result(place: int, trial: int) -> Result:
    """Two outputs, one that passes and one that fails, in turns of many lengths."""
    made = uneven_result(place, trial)
    return replace(made, output=None if made.error else f"the answer that is a {made.verdict}")


def _draw(place: int, trial: int) -> int:
    """A number that looks drawn, from 0 to 2**32 - 1."""
    mixed = (place * 1_000_003 + trial) * 2_654_435_761 % 2**32
    return (mixed ^ mixed >> 15) * 2_246_822_519 % 2**32
