"""A run record: a recording judged over its cases.

What does not live here: its file (run_record_writing.py, run_record_reading.py), judging (judged.py), and any figure
over more than one result but how many there are of each kind (reports/).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.recordings.pieces import SessionFacts

VERDICTS = ("pass", "fail", "incomplete")


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judged: the task as it is now, by name, version and SHA-256 of its module's text."""

    name: str
    version: str
    task_sha256: str


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """One case as it was judged; `sha256` is over its id, input, expected and tags."""

    id: str
    ask: str
    sha256: str
    input: JSON
    expected: JSON
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """One trial with its verdict.

    `verdict` is one of VERDICTS. `checks` and `explain` are None where there is nothing to judge; `output` is
    None where no whole reply came, and then `error` says why. A check that raised leaves both.
    `latency_s` is of this run (None in a replay), `recorded_latency_s` of the recording, in seconds.
    `slept_s`: seconds by which the wall clock ran ahead of the monotonic one during the trial, if over 5.
    """

    case: str
    trial: int
    seed: int
    verdict: str
    checks: Mapping[str, bool] | None
    explain: Mapping[str, str] | None
    output: str | None
    finish: str | None
    reasoning: str | None
    error: ErrorFacts | None
    usage: Usage | None
    timings: Timings | None
    latency_s: float | None
    recorded_latency_s: float | None
    attempts: int
    retries: int
    cold: bool
    slept_s: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """How many trials were planned, and what became of them; they add up."""

    planned: int
    passed: int
    failed: int
    incomplete: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The totals of some results, and how many of the incomplete ones ended in each type of error.

    `check_error` is the message of the first one that the task's check could not judge.
    """

    totals: Totals
    errors: Mapping[str, int]
    check_error: str | None


class Counting:
    """Counts results as they pass by."""

    def __init__(self) -> None:
        self._verdicts: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._check_error: str | None = None

    def take(self, result: Result) -> None:
        """Count one more."""
        self._verdicts[result.verdict] += 1
        if result.error is not None:
            self._errors[result.error.type] += 1
            if result.error.type == "CheckError":
                self._check_error = self._check_error or result.error.message

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        counts = [self._verdicts[name] for name in VERDICTS]
        return Tally(Totals(sum(counts), *counts), dict(sorted(self._errors.items())), self._check_error)


def tally_of(results: Iterable[Result]) -> Tally:
    """All results, counted."""
    counting = Counting()
    for result in results:
        counting.take(result)
    return counting.tally


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All a report follows from. `started_at` and `environment` are the circumstances of the judging."""

    kit: str
    task: TaskName
    judge: Judge
    split: str
    system: str
    settings: Mapping[str, JSON]
    trials: int
    started_at: str
    environment: Mapping[str, JSON]
    sessions: tuple[SessionFacts, ...]
    cases: tuple[JudgedCase, ...]
    results: Sequence[Result]
    """Cases in order, trials ascending: `results[c * trials + t - 1]` is trial t of `cases[c]`.

    A large record makes them anew whenever they are asked for, and keeps none: take them one by one, and once.
    """
    begun: Sequence[int] | None = field(default=None, compare=False)
    """Of each case: how many results are to be looked at; the others are `NotRun`, all alike. None: nobody knows."""

    @property
    def totals(self) -> Totals:
        """The verdicts, counted."""
        return tally_of(self.results).totals

    def results_of(self, place: int) -> Sequence[Result]:
        """The trials of the case at a place, in order."""
        return self.results[place * self.trials:(place + 1) * self.trials]
