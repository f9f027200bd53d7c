"""What is kept of the trials of one case: counts and marks, none of its results.

A trial is taken once and let go. What does not live here: what the counts say (case_rows.py, cautions.py), and all
cases together (run_tally.py).
"""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.reports.failures import FailureCount, Failures
from benchkit.reports.speed import latency_of
from benchkit.statistics.estimators import Counts

MARKS = {"pass": "+", "fail": "-", "incomplete": "?"}
"""One character a trial, by verdict."""
_CODES = {verdict: ord(mark) for verdict, mark in MARKS.items()}


@dataclass(frozen=True, slots=True)
class CaseTally:
    """One case.

    `marks` has one of MARKS for each planned trial. `failures` names only the most frequent reason. `has_one_output`:
    a trial was judged, and all that gave an output, judged or not, gave the same. `seeds_ascend`: each seed is above
    the one before. `microseconds` are those of all trials together, None where no latency is known.
    """

    case: JudgedCase
    counts: Counts
    marks: str
    failures: Failures
    has_one_output: bool
    seeds_ascend: bool
    microseconds: int | None


class CaseCount:
    """Counts the trials of one case, one after the other."""

    def __init__(self) -> None:
        self.failures = FailureCount()
        self._marks = bytearray()
        self._output: str | None = None
        self._outputs = self._judged = 0
        self._differs = self._falls = False
        self._last_seed: int | None = None
        self._microseconds: int | None = None

    def take(self, result: Result) -> None:
        """One trial."""
        self.failures.take(result)
        self._marks.append(_CODES[result.verdict])
        if result.error is None or result.output is not None:  # a check that raises leaves the output
            self._take_output(result.output)
        self._judged += result.error is None
        self._falls |= self._last_seed is not None and result.seed <= self._last_seed
        self._last_seed = result.seed
        seconds = latency_of(result)
        if seconds is not None:
            self._microseconds = (self._microseconds or 0) + round(seconds * 1_000_000)

    def take_not_run(self, result: Result, count: int) -> None:
        """So many trials that did not run, of which this is the first; their seeds ascend."""
        self._marks += MARKS["incomplete"].encode("ascii") * count
        self._falls |= self._last_seed is not None and result.seed <= self._last_seed

    def _take_output(self, output: str | None) -> None:
        if not self._outputs:
            self._output = output
        self._outputs += 1
        self._differs |= output != self._output

    def tally(self, case: JudgedCase) -> CaseTally:
        """What was counted, of this case."""
        marks = self._marks.decode("ascii")
        return CaseTally(
            case, Counts(len(marks), marks.count(MARKS["pass"]), marks.count(MARKS["fail"])), marks,
            self.failures.failures(most_reasons=1), self._judged > 0 and not self._differs, not self._falls,
            self._microseconds)
