"""Two recordings of one system: did anything change in these same cases, and do the same outputs come again?

Cold and warm trials are kept apart, for a server answers a prompt that is not in its cache otherwise. Outputs are
compared as whole texts, which is what their digests stand for; errors by their type, as their digests are.
What does not live here: the formulas (statistics/agreement.py, paired.py), and recordings without verdicts
(recordings/digest_comparison.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.canonical import canonical
from benchkit.recordings.digests import ERROR, TrialOf
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports.case_differences import CaseDifference
from benchkit.statistics.agreement import Agreement, agreement, parting_index, self_agreement
from benchkit.statistics.paired import label_permutation_p

WARMTHS = ("warm", "cold", "cold on one side only")


@dataclass(frozen=True, slots=True)
class Repetition:
    """The trials of one of WARMTHS that ran on both sides: equal outputs, and equal verdicts where both have one."""

    warmth: str
    outputs: Agreement[TrialOf]
    verdicts: Agreement[TrialOf]


@dataclass(frozen=True, slots=True)
class Parting:
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
    """

    p: Fraction
    repetitions: tuple[Repetition, ...]
    only_base: int
    only_candidate: int
    self_base: Fraction | None
    self_candidate: Fraction | None
    parting: Parting | None


def is_repeat(base: RunRecord, candidate: RunRecord) -> bool:
    """Whether both are recordings of one system: the same name, the same settings."""
    return base.system == candidate.system and canonical(base.settings) == canonical(candidate.settings)


def repeat_of(base: RunRecord, candidate: RunRecord, cases: Sequence[CaseDifference]) -> Repeat:
    """Compare two recordings of one system over their common cases."""
    ids = [case.id for case in cases]
    left, right = _ran(base, ids), _ran(candidate, ids)
    both = {trial: _warmth(left[trial], right[trial]) for trial in left if trial in right}
    repetitions = (_repetition(name, [trial for trial in both if both[trial] == name], left, right)
                   for name in WARMTHS)
    where = agreement(_texts(left), _texts(right)).first_difference
    return Repeat(
        label_permutation_p([case.counts for case in cases]),
        tuple(one for one in repetitions if one.outputs.compared),
        len(left) - len(both), len(right) - len(both), _self_agreement(left), _self_agreement(right),
        None if where is None else _parting(where, both[where], left[where], right[where]))


def _ran(record: RunRecord, ids: Sequence[str]) -> dict[TrialOf, Result]:
    """The trials that ran, in the order of running: trial 1 of all cases first."""
    places = {case.id: place * record.trials for place, case in enumerate(record.cases)}
    return {TrialOf(number, name): result
            for number in range(1, record.trials + 1) for name in ids
            if (result := record.results[places[name] + number - 1]).error is None
            or result.error.type != "NotRun"}


def _repetition(
    warmth: str, trials: Sequence[TrialOf], left: Mapping[TrialOf, Result], right: Mapping[TrialOf, Result],
) -> Repetition:
    here, there = {trial: left[trial] for trial in trials}, {trial: right[trial] for trial in trials}
    return Repetition(warmth, agreement(_texts(here), _texts(there)),
                      agreement(dict(_verdicts(here)), dict(_verdicts(there))))


def _texts(results: Mapping[TrialOf, Result]) -> dict[TrialOf, str]:
    return {trial: _text(result) for trial, result in results.items()}


def _text(result: Result) -> str:
    # a mark before outputs, so that none of them equals an error
    return "=" + result.output if result.output is not None else f"{ERROR}{result.error.type if result.error else ''}"


def _verdicts(results: Mapping[TrialOf, Result]) -> Iterator[tuple[TrialOf, str]]:
    for trial, result in results.items():
        if result.error is None:
            yield trial, result.verdict


def _warmth(base: Result, candidate: Result) -> str:
    if base.cold != candidate.cold:
        return "cold on one side only"
    return "cold" if base.cold else "warm"


def _parting(trial: TrialOf, warmth: str, base: Result, candidate: Result) -> Parting:
    has_texts = base.output is not None and candidate.output is not None
    at = parting_index(base.output or "", candidate.output or "") if has_texts else None
    return Parting(trial, warmth, base, candidate, at)


def _self_agreement(results: Mapping[TrialOf, Result]) -> Fraction | None:
    by_case: dict[str, list[str]] = {}
    for trial, result in results.items():
        if not result.cold and result.output is not None:
            by_case.setdefault(trial.case, []).append(result.output)
    return self_agreement(by_case.values())
