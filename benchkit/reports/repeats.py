"""Two recordings of one system: did anything change in these same cases, and do the same outputs come again?

Cold and warm trials are kept apart, for a server answers a prompt that is not in its cache otherwise. Outputs are
compared as whole texts, which is what their digests stand for; trials that ended in an error are counted apart.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from itertools import zip_longest
from typing import TypeGuard

from benchkit.basics.json_text import canonical
from benchkit.recordings.digests import ErrorPairs, TrialOf, error_pairs
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports.paired_cases import CaseDifference
from benchkit.reports.speed import latency_of
from benchkit.statistics.estimators import equal_pairs_share, mean_share, parting_index
from benchkit.statistics.permutation import label_permutation_p

WARMTHS = ("warm", "cold", "cold on one side only")


@dataclass(frozen=True, slots=True)
class EqualCount:
    """How many were compared, and how many of them are equal."""

    compared: int
    equal: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """The trials of one of WARMTHS with an output on both sides: equal ones, and equal verdicts where both have one."""

    warmth: str
    outputs: EqualCount
    verdicts: EqualCount


@dataclass(frozen=True, slots=True)
class FirstDifferenceFacts:
    """The first trial whose outputs differ.

    `character` is where the two texts part (from 0); None where a side has no text.
    """

    trial: TrialOf
    warmth: str
    base: Result
    candidate: Result
    character: int | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """What two recordings of one system have in common, over their common cases.

    `p` is that of the within-case permutation of labels. `only_base` and `only_candidate` count trials that ran on
    one side only; `self_base` and `self_candidate` are the shares of equal pairs of warm outputs inside a case.
    `is_one_log`: they are not two recordings, but the same trials of one log.
    """

    p: Fraction
    is_one_log: bool
    repetitions: tuple[Repetition, ...]
    errors: ErrorPairs
    only_base: int
    only_candidate: int
    self_base: Fraction | None
    self_candidate: Fraction | None
    parting: FirstDifferenceFacts | None


def is_repeat(base: RunRecord, candidate: RunRecord) -> bool:
    """Whether both are recordings of one system: the same name, the same settings."""
    return base.system == candidate.system and canonical(base.settings) == canonical(candidate.settings)


def repeat_of(base: RunRecord, candidate: RunRecord, cases: Sequence[CaseDifference]) -> Repeat:
    """Compare two recordings of one system over their common cases; both are read once, in step."""
    here, there = ({case.id: place for place, case in enumerate(record.cases)} for record in (base, candidate))
    count = _RepeatCount()
    for order, case in enumerate(cases):
        count.take_case(order, base.results_of(here[case.id]), candidate.results_of(there[case.id]))
    # two logs do not begin in the same millisecond, and no two answers take the same time, trial by trial
    is_one_log = base.sessions[:1] == candidate.sessions[:1] and count.is_same_trials
    return count.repeat(label_permutation_p([case.counts for case in cases]), is_one_log)


class _RepeatCount:
    """Counts the trials of two recordings, case by case."""

    def __init__(self) -> None:
        self._one_sided = Counter[str]()
        self._outputs, self._verdicts = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
        self._errors = Counter[tuple[str | None, str | None]]()
        self._self_base: list[Fraction | None] = []
        self._self_candidate: list[Fraction | None] = []
        self._apart: tuple[int, int, Result, Result] | None = None
        self.is_same_trials = True

    def take_case(self, order: int, base: Iterable[Result], candidate: Iterable[Result]) -> None:
        """All trials of a case on both sides; `order` is its place among the common cases."""
        warm_base, warm_candidate = list[bytes](), list[bytes]()
        for left, right in zip_longest(base, candidate):
            warm_base += _warm_digest(left)
            warm_candidate += _warm_digest(right)
            if _is_run(left) and _is_run(right):
                self._take_both(order, left, right)
            else:
                self._one_sided["base"] += _is_run(left)
                self._one_sided["candidate"] += _is_run(right)
        self._self_base.append(equal_pairs_share(warm_base))
        self._self_candidate.append(equal_pairs_share(warm_candidate))

    def _take_both(self, order: int, left: Result, right: Result) -> None:
        warmth, errors = _warmth(left, right), (_error(left), _error(right))
        is_equal = left.output == right.output and errors[0] == errors[1]
        if errors == (None, None):
            self._outputs[warmth, is_equal] += 1
            self.is_same_trials &= is_equal and (left.verdict, latency_of(left)) == (right.verdict, latency_of(right))
        else:
            self._errors[errors] += 1
        if left.error is None and right.error is None:
            self._verdicts[warmth, left.verdict == right.verdict] += 1
        # in the order of running: trial 1 of all cases first
        if not is_equal and (self._apart is None or (left.trial, order) < self._apart[:2]):
            self._apart = left.trial, order, left, right

    def repeat(self, p: Fraction, is_one_log: bool) -> Repeat:
        """What was counted; `p` is that of the within-case permutation of labels."""
        found = [Repetition(warmth, _equal(self._outputs, warmth), _equal(self._verdicts, warmth))
                 for warmth in WARMTHS]
        return Repeat(p, is_one_log, tuple(one for one in found if one.outputs.compared), error_pairs(self._errors),
                      self._one_sided["base"], self._one_sided["candidate"],
                      mean_share(self._self_base), mean_share(self._self_candidate),
                      None if self._apart is None else _parting(*self._apart[2:]))


def _equal(counts: Counter[tuple[str, bool]], warmth: str) -> EqualCount:
    return EqualCount(counts[warmth, True] + counts[warmth, False], counts[warmth, True])


def _warm_digest(result: Result | None) -> list[bytes]:
    if result is None or result.cold or result.output is None:
        return []
    # a lone surrogate is no text of a file, but a run that was just judged may hold one
    return [blake2b(result.output.encode("utf-8", "surrogatepass"), digest_size=16).digest()]


def _is_run(result: Result | None) -> TypeGuard[Result]:
    return result is not None and (result.error is None or result.error.type != "NotRun")


def _error(result: Result) -> str | None:
    """Why there is no output; None where there is one, which a check that raised leaves, too."""
    return None if result.error is None or result.output is not None else result.error.type


def _warmth(base: Result, candidate: Result) -> str:
    if base.cold != candidate.cold:
        return "cold on one side only"
    return "cold" if base.cold else "warm"


def _parting(base: Result, candidate: Result) -> FirstDifferenceFacts:
    at = None if base.output is None or candidate.output is None else parting_index(base.output, candidate.output)
    return FirstDifferenceFacts(TrialOf(base.trial, base.case), _warmth(base, candidate), base, candidate, at)
