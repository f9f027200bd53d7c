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

from benchkit.basics.json_text import canonical
from benchkit.recordings.digests import TrialOf
from benchkit.recordings.error_pairs import ErrorPairs, error_pairs
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports.paired_cases import CaseDifference
from benchkit.reports.speed import latency_of
from benchkit.statistics.estimators import Agreement, equal_pairs_share, parting_index
from benchkit.statistics.permutation import label_permutation_p, mean

WARMTHS = ("warm", "cold", "cold on one side only")


@dataclass(frozen=True, slots=True)
class Repetition:
    """The trials of one of WARMTHS with an output on both sides: equal ones, and equal verdicts where both have one."""

    warmth: str
    outputs: Agreement[TrialOf]
    verdicts: Agreement[TrialOf]


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


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a trial stands in the order of running: trial 1 of all cases first."""

    trial: int
    order: int
    case: str


@dataclass(frozen=True, slots=True)
class _Apart:
    """A trial whose outputs differ."""

    place: _Place
    warmth: str
    base: Result
    candidate: Result


class _AgreementCount:
    """Counts what both sides have, and keeps the place of the first that is not equal."""

    def __init__(self) -> None:
        self._first: _Place | None = None
        self._compared = self._equal = 0

    def take(self, place: _Place, is_equal: bool) -> None:
        self._compared += 1
        self._equal += is_equal
        if not is_equal and (self._first is None or place < self._first):
            self._first = place

    def agreement(self) -> Agreement[TrialOf]:
        first = None if self._first is None else TrialOf(self._first.trial, self._first.case)
        return Agreement(self._compared, self._equal, first)


class _WarmOutputs:
    """The outputs of one case as digests, without those of cold trials."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []

    def take(self, result: Result) -> None:
        if not result.cold and result.output is not None:
            # a lone surrogate is no text of a file, but a run that was just judged may hold one
            self._digests.append(blake2b(result.output.encode("utf-8", "surrogatepass"), digest_size=16).digest())

    def share(self) -> Fraction | None:
        return equal_pairs_share(self._digests)


class _RepeatCount:
    """Counts the trials of two recordings, case by case."""

    def __init__(self) -> None:
        self._only_base = self._only_candidate = 0
        self._outputs = {warmth: _AgreementCount() for warmth in WARMTHS}
        self._verdicts = {warmth: _AgreementCount() for warmth in WARMTHS}
        self._errors = Counter[tuple[str | None, str | None]]()
        self._self_base: list[Fraction | None] = []
        self._self_candidate: list[Fraction | None] = []
        self._apart: _Apart | None = None
        self.is_same_trials = True

    def take_case(self, order: int, base: Iterable[Result], candidate: Iterable[Result]) -> None:
        """All trials of a case on both sides; `order` is its place among the common cases."""
        left_outputs, right_outputs = _WarmOutputs(), _WarmOutputs()
        for left, right in zip_longest(base, candidate):
            if left is not None:
                left_outputs.take(left)
            if right is not None:
                right_outputs.take(right)
            self._take(order, left if _is_run(left) else None, right if _is_run(right) else None)
        self._self_base.append(left_outputs.share())
        self._self_candidate.append(right_outputs.share())

    def _take(self, order: int, left: Result | None, right: Result | None) -> None:
        if left is not None and right is not None:
            self._take_both(_Place(left.trial, order, left.case), left, right)
        else:
            self._only_base += left is not None
            self._only_candidate += right is not None

    def _take_both(self, place: _Place, left: Result, right: Result) -> None:
        warmth, errors = _warmth(left, right), (_error(left), _error(right))
        is_equal = left.output == right.output and errors[0] == errors[1]
        if errors == (None, None):
            self._outputs[warmth].take(place, is_equal)
            self.is_same_trials &= is_equal and (left.verdict, latency_of(left)) == (right.verdict, latency_of(right))
        else:
            self._errors[errors] += 1
        if left.error is None and right.error is None:
            self._verdicts[warmth].take(place, left.verdict == right.verdict)
        if not is_equal and (self._apart is None or place < self._apart.place):
            self._apart = _Apart(place, warmth, left, right)

    def repeat(self, p: Fraction, is_one_log: bool) -> Repeat:
        """What was counted; `p` is that of the within-case permutation of labels."""
        found = (Repetition(warmth, self._outputs[warmth].agreement(), self._verdicts[warmth].agreement())
                 for warmth in WARMTHS)
        return Repeat(p, is_one_log, tuple(one for one in found if one.outputs.compared), error_pairs(self._errors),
                      self._only_base, self._only_candidate,
                      _mean_of_known(self._self_base), _mean_of_known(self._self_candidate),
                      None if self._apart is None else _parting(self._apart))


def _mean_of_known(shares: Iterable[Fraction | None]) -> Fraction | None:
    return mean([share for share in shares if share is not None])


def _is_run(result: Result | None) -> bool:
    return result is not None and (result.error is None or result.error.type != "NotRun")


def _error(result: Result) -> str | None:
    """Why there is no output; None where there is one, which a check that raised leaves, too."""
    return None if result.error is None or result.output is not None else result.error.type


def _warmth(base: Result, candidate: Result) -> str:
    if base.cold != candidate.cold:
        return "cold on one side only"
    return "cold" if base.cold else "warm"


def _parting(apart: _Apart) -> FirstDifferenceFacts:
    one, other = apart.base.output, apart.candidate.output
    at = None if one is None or other is None else parting_index(one, other)
    return FirstDifferenceFacts(
        TrialOf(apart.place.trial, apart.place.case), apart.warmth, apart.base, apart.candidate, at
    )
