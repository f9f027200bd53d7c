"""One pass over the trials of a run: each case by itself, and what is odd about trials."""
from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from benchkit.basics.values import Usage
from benchkit.recordings.run_record import JudgedCase, Result, RunRecord
from benchkit.reports.failures import Confusion, ConfusionCount, FailureCount, Failures, Unjudged, UnjudgedCount
from benchkit.reports.figures import of, passed_of
from benchkit.reports.speed import Speed, SpeedCount, latency_of
from benchkit.statistics.estimators import Counts, State, disagreement, state
from benchkit.statistics.intervals import Interval, wilson
from benchkit.statistics.suites import SuiteAtK

ROUND_KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""The k that people ask for; the last one is always shown, too."""
EVERY_K = 20
"""Where there is room for a line each: all k up to this one."""


def shown_ks(suite: Sequence[SuiteAtK], every: int = 0) -> list[SuiteAtK]:
    """All k of a suite up to `every`, above it those of ROUND_KS, and its last k."""
    return [at_k for at_k in suite if at_k.k <= every or at_k.k in ROUND_KS or at_k is suite[-1]]


MARKS = {"pass": "+", "fail": "-", "incomplete": "?"}
"""One character a trial, by verdict."""
_CODES = {verdict: ord(mark) for verdict, mark in MARKS.items()}


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case.

    `interval` is Wilson's 95 % interval of the share of judged trials that passed, None without one. `marks` has one of
    MARKS for each planned trial. `failures` names only the most frequent reason. `has_one_output`: a trial was judged,
    and all that gave an output, judged or not, gave the same. `seeds_ascend`: each seed is above the one before.
    `microseconds` are those of all trials together, None where no latency is known.
    """

    case: JudgedCase
    counts: Counts
    interval: Interval | None
    marks: str
    failures: Failures
    has_one_output: bool
    seeds_ascend: bool
    microseconds: int | None

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.case.id

    @property
    def n(self) -> int:
        """Trials that were judged."""
        return self.counts.completed

    @property
    def passed(self) -> int:
        """Judged trials that passed."""
        return self.counts.passed

    @property
    def incomplete(self) -> int:
        """Planned trials that could not be judged."""
        return self.counts.incomplete

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.interval is None else self.interval.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.interval is None else self.interval.high

    @property
    def disagreement(self) -> Fraction | None:
        """The probability that two fresh trials differ; None below two judged ones."""
        return disagreement(self.n, self.passed)

    @property
    def state(self) -> State:
        """What may be said of its stability."""
        return state(self.counts)

    @property
    def passed_every_time(self) -> bool:
        """Whether all of its planned trials were judged and passed, be it a single one."""
        return self.n > 0 and self.passed == self.counts.planned

    @property
    def unevenness(self) -> float:
        """From 0, where half of the judged trials passed, to 1, where all or none did; 0 without one."""
        return abs(2 * self.passed - self.n) / self.n if self.n else 0.0


class _CaseCount:
    """Counts the trials of one case, one after the other."""

    def __init__(self) -> None:
        self.failures = FailureCount()
        self._marks = bytearray()
        self._output: str | None = None
        self._has_output = self._differs = self._falls = False
        self._last_seed: int | None = None
        self._microseconds: int | None = None

    def take(self, result: Result) -> None:
        """One trial."""
        self.failures.take(result)
        self._marks.append(_CODES[result.verdict])
        if result.error is None or result.output is not None:  # a check that raises leaves the output
            self._differs |= self._has_output and result.output != self._output
            self._output, self._has_output = result.output, True
        self._falls |= self._last_seed is not None and result.seed <= self._last_seed
        self._last_seed = result.seed
        seconds = latency_of(result)
        if seconds is not None:
            self._microseconds = (self._microseconds or 0) + round(seconds * 1_000_000)

    def take_not_run(self, result: Result, count: int) -> None:
        """So many trials that did not run, of which this is the first; their seeds ascend."""
        self._marks += MARKS["incomplete"].encode("ascii") * count
        self._falls |= self._last_seed is not None and result.seed <= self._last_seed

    def row(self, case: JudgedCase, interval_of: Callable[[Counts], Interval | None]) -> CaseRow:
        """What was counted, of this case."""
        marks = self._marks.decode("ascii")
        counts = Counts(len(marks), marks.count(MARKS["pass"]), marks.count(MARKS["fail"]))
        return CaseRow(case, counts, interval_of(counts), marks, self.failures.failures(most_reasons=1),
                       counts.completed > 0 and not self._differs, not self._falls, self._microseconds)


def interval_of(counts: Counts) -> Interval | None:
    """Wilson's 95 % interval of the share of judged trials that passed; None without one."""
    return wilson(counts.passed, counts.completed) if counts.completed else None


def passed_cell(row: CaseRow) -> str:
    """`7 of 10`, over the judged trials, and how many were not."""
    return passed_of(row.passed, row.n, row.incomplete)


def main_failure(row: CaseRow) -> str:
    """The explanation most of a case's failures have, or the check that did not hold, and in how many failed trials."""
    failures = row.failures
    if failures.reasons:
        reason = failures.reasons[0]
        return f"{reason.check}: {reason.text} ({of(reason.count, failures.failed)})"
    check = max(failures.checks, key=lambda check: check.failed, default=None)
    return f"not {check.name} ({of(check.failed, failures.failed)})" if check else ""


def state_words(of: State) -> str:
    """A state in a report: a case with tries left that all went one way so far is open, not flaky."""
    return "open" if of is State.POSSIBLY_FLAKY else str(of)


def in_state(rows: Iterable[CaseRow], *states: State) -> tuple[CaseRow, ...]:
    """The rows in one of some states, in order."""
    return tuple(row for row in rows if row.state in states)


def never_passed(rows: Iterable[CaseRow]) -> tuple[CaseRow, ...]:
    """The cases of which some trial was judged and none passed."""
    return tuple(row for row in rows if row.n and not row.passed)


@dataclass(frozen=True, slots=True)
class Anomalies:
    """What is odd about the trials of a run, of which `answered` have an output.

    `found` says by the code of its warning in how many trials it was seen, and in which cases, each once and in order.
    Of the prompts with too few tokens for what was asked, `worst_prompt` is the one with most letters a token; of the
    trials during which the machine slept, `longest_sleep_s` is the longest sleep. `rounds` is how many trial numbers
    are judged in every case, `passed_in_rounds` how many trials passed in them.
    """

    answered: int
    found: Mapping[str, tuple[int, Collection[str]]]
    worst_prompt: Usage
    longest_sleep_s: float
    rounds: int
    passed_in_rounds: int


_THOUGHT = re.compile("</?think>")
_LIMITS = ("length", "max_tokens", "model_length")
"""How servers call the end of an answer that was cut off: most, Gemini and Anthropic, Mistral."""


class _AnomalyCount:
    """Counts the trials of a run of so many trials a case, case by case."""

    def __init__(self, trials: int) -> None:
        self._answered, self._longest_sleep_s = 0, 0.0
        self._counts: dict[str, tuple[int, dict[str, None]]] = {}
        self._worst_prompt = Usage()
        # by trial number: whether all cases so far were judged in it, and how many passed
        self._is_judged, self._passed = bytearray(b"\1" * trials), array("I", [0]) * trials
        self._place = self._cases = 0

    def begin(self) -> None:
        """The trials that follow are those of another case."""
        self._place = 0
        self._cases += 1

    def take(self, result: Result) -> None:
        """One trial."""
        if result.error is not None:
            self._is_judged[self._place] = 0
        elif result.verdict == "pass":
            self._passed[self._place] += 1
        self._place += 1
        if result.output is not None:
            self._answered += 1
            if (result.finish or "").casefold() in _LIMITS:
                self._find("cut-off-answers", result)
            if not result.output.strip():
                self._find("reasoning-only-answers" if (result.reasoning or "").strip() else "empty-answers", result)
            if _THOUGHT.search(result.output):
                self._find("thinking-in-answers", result)
            if result.usage is not None and result.usage.asked_letters is not None:
                self._find("prompt-cut", result)
                self._worst_prompt = max(self._worst_prompt, result.usage, key=lambda usage: (
                    (usage.asked_letters or 0) / max(1, usage.prompt_tokens or 0)))
        if result.slept_s is not None:
            self._find("machine-slept", result)
            self._longest_sleep_s = max(self._longest_sleep_s, result.slept_s)

    def take_not_run(self, _result: Result, count: int) -> None:
        """So many trials that did not run."""
        self._is_judged[self._place:self._place + count] = bytes(count)
        self._place += count

    def _find(self, code: str, result: Result) -> None:
        count, cases = self._counts.get(code, (0, {}))
        cases[result.case] = None
        self._counts[code] = count + 1, cases

    def anomalies(self) -> Anomalies:
        """What was counted."""
        passed = sum(passed for passed, judged in zip(self._passed, self._is_judged, strict=True) if judged)
        return Anomalies(self._answered, self._counts, self._worst_prompt, self._longest_sleep_s,
                         sum(self._is_judged) if self._cases else 0, passed)


@dataclass(frozen=True, slots=True)
class RunTally:
    """What was counted; `cases` are in the order of the plan."""

    cases: tuple[CaseRow, ...]
    failures: Failures
    confusions: tuple[Confusion, ...]
    unjudged: tuple[Unjudged, ...]
    speed: Speed
    anomalies: Anomalies


def tally_of(record: RunRecord) -> RunTally:
    """Count over all trials of a run, reading each once and keeping none: a million may not fit into memory."""
    cases, failures, confusion, unjudged = [], FailureCount(), ConfusionCount(), UnjudgedCount()
    speed, anomalies = SpeedCount(record.sessions), _AnomalyCount(record.trials)
    intervals = cache(interval_of)  # one of each: cases have few different counts
    for place, case in enumerate(record.cases):
        counted = _CaseCount()
        anomalies.begin()
        takers = (counted.take, confusion.take, unjudged.take, speed.take, anomalies.take)
        begun = record.trials if record.begun is None else record.begun[place]
        for result in record.results_of(place)[:begun]:
            for take in takers:
                take(result)
        if begun < record.trials:
            alike, count = record.results_of(place)[begun], record.trials - begun
            for take_alike in (counted.take_not_run, unjudged.take, anomalies.take_not_run):
                take_alike(alike, count)
        confusion.end(case)
        failures.add(counted.failures)
        cases.append(counted.row(case, intervals))
    return RunTally(tuple(cases), failures.failures(), confusion.confusions(), unjudged.unjudged(), speed.speed(),
                    anomalies.anomalies())
