"""Two runs, case by case: whether they may be compared, who won, lost, tied, and whether outputs come again.

Runs are compared over the cases both have, if these were the same questions with the same right answers, judged by
the same judge. Settings of the systems may differ: they are what is compared. Of two recordings of one system it is
counted which outputs are equal, as whole texts; cold and warm trials apart, for a server answers a prompt that is not
in its cache otherwise.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from hashlib import blake2b
from itertools import zip_longest
from typing import TypeGuard

from benchkit.basics.command import Command
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, names_of, shown_line
from benchkit.recordings.digests import ErrorPairs, error_pairs
from benchkit.recordings.run_record import Judge, JudgedCase, Result, RunRecord
from benchkit.reports.speed import latency_of
from benchkit.reports.tally import CaseRow
from benchkit.statistics.estimators import equal_pairs_share, mean_share, parting_index
from benchkit.statistics.permutation import PairedCounts, label_permutation_p


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why two runs are not compared: a code that stays the same, and a line."""

    code: str
    text: str


def incompatibilities_between(base: RunRecord, candidate: RunRecord) -> tuple[Incompatibility, ...]:
    """All that stands in the way, the last with the way on; nothing if the two can be compared."""
    found = []
    if base.judge != candidate.judge:
        found.append(Incompatibility(
            "another-judge", f"they were judged by {_judge(base.judge)} and by {_judge(candidate.judge)}"))
    others = {case.id: case for case in candidate.cases}
    common = [(case, others[case.id]) for case in base.cases if case.id in others]
    if not common:
        found.append(Incompatibility("no-common-case", (
            f"they have no case in common ({count_of(len(base.cases), 'case')} and {len(candidate.cases)})")))
        return tuple(found)
    for code, words, part_of in _PARTS:
        differing = [case.id for case, other in common if part_of(case) != part_of(other)]
        if differing:
            found.append(Incompatibility(code, (
                f"{words} differs in {len(differing):,} of {count_of(len(common), 'common case')} "
                f"({names_of(differing)})")))
    if found:
        way = "record both again, asked the same"
        if all(one.code != "ask-differs" for one in found):
            # the record does not say in which file the recording is
            module = base.task.module if base.task.module == candidate.task.module else "MODULE"
            run = ("run", "--task", module, "--split", base.split, "--system", "replay:RECORDING", "--out", "RUN")
            way = f"judge both again: {Command('harness.py', run)}"
        found[-1] = replace(found[-1], text=f"{found[-1].text}; {way}")
    return tuple(found)


def _judge(judge: Judge) -> str:
    return f"{shown_line(judge.name, 60)} {shown_line(judge.version, 30)} (source {judge.task_sha256[:12]})"


_PARTS: tuple[tuple[str, str, Callable[[JudgedCase], str]], ...] = (
    ("input-differs", "the input", lambda case: canonical(case.input)),
    ("expected-differs", "what is expected", lambda case: canonical(case.expected)),
    ("ask-differs", "what is asked (messages or schema)", lambda case: case.ask))


class CaseOutcome(StrEnum):
    """Who passes a case more often; UNKNOWN where one side judged no trial of it."""

    WON = "won"
    LOST = "lost"
    TIED = "tied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CaseDifference:
    """One case that both runs have."""

    base: CaseRow
    candidate: CaseRow

    @property
    def id(self) -> str:
        """The case."""
        return self.base.id

    @property
    def counts(self) -> PairedCounts:
        """The trials of both sides; the candidate is the first, so that above 0 means better."""
        return PairedCounts(self.candidate.counts, self.base.counts)

    @property
    def difference(self) -> Fraction | None:
        """Pass rate of the candidate minus that of the base over judged trials; None where a side has none."""
        return self.counts.difference if self.counts.both_completed else None

    @property
    def outcome(self) -> CaseOutcome:
        """What became of the case on the candidate's side."""
        difference = self.difference
        if difference is None:
            return CaseOutcome.UNKNOWN
        if not difference:
            return CaseOutcome.TIED
        return CaseOutcome.WON if difference > 0 else CaseOutcome.LOST

    @property
    def is_regression(self) -> bool:
        """The base passed every time, and the candidate failed a trial."""
        return self.base.passed_every_time and self.candidate.passed < self.candidate.n


WARMTHS = ("warm", "cold", "cold on one side only")


@dataclass(frozen=True, slots=True)
class Repetition:
    """The trials of one of WARMTHS with an output on both sides: equal ones, and equal verdicts where both have one."""

    warmth: str
    compared: int
    equal: int
    verdicts_compared: int
    verdicts_equal: int


@dataclass(frozen=True, slots=True)
class FirstDifferenceFacts:
    """The first trial whose outputs differ; `character` is where they part (from 0), None where a side has no text."""

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
    # two logs do not begin in the same millisecond, and no two answers take the same time, trial by trial
    is_one_log = base.sessions[:1] == candidate.sessions[:1]
    outputs, verdicts = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    errors, one_sided = Counter[tuple[str | None, str | None]](), [0, 0]
    shares: tuple[list[Fraction | None], list[Fraction | None]] = [], []
    apart: tuple[int, int, Result, Result] | None = None
    for order, case in enumerate(cases):
        warm = list[bytes](), list[bytes]()
        for left, right in zip_longest(base.results_of(here[case.id]), candidate.results_of(there[case.id])):
            for side, result in enumerate((left, right)):
                if result is not None and not result.cold and result.output is not None:
                    # a lone surrogate is no text of a file, but a run that was just judged may hold one
                    text = result.output.encode("utf-8", "surrogatepass")
                    warm[side].append(blake2b(text, digest_size=16).digest())
                one_sided[side] += _is_run(result) and not _is_run((right, left)[side])
            if not (_is_run(left) and _is_run(right)):
                continue
            warmth, types = _warmth(left, right), (_error(left), _error(right))
            is_equal = left.output == right.output and types[0] == types[1]
            if types == (None, None):
                outputs[warmth, is_equal] += 1
                is_one_log &= is_equal and (left.verdict, latency_of(left)) == (right.verdict, latency_of(right))
            else:
                errors[types] += 1
            if left.error is None and right.error is None:
                verdicts[warmth, left.verdict == right.verdict] += 1
            # in the order of running: trial 1 of all cases first
            if not is_equal and (apart is None or (left.trial, order) < apart[:2]):
                apart = left.trial, order, left, right
        for side in (0, 1):
            shares[side].append(equal_pairs_share(warm[side]))
    found = [Repetition(warmth, outputs[warmth, True] + outputs[warmth, False], outputs[warmth, True],
                        verdicts[warmth, True] + verdicts[warmth, False], verdicts[warmth, True])
             for warmth in WARMTHS]
    return Repeat(label_permutation_p([case.counts for case in cases]), is_one_log,
                  tuple(one for one in found if one.compared), error_pairs(errors), one_sided[0], one_sided[1],
                  mean_share(shares[0]), mean_share(shares[1]), None if apart is None else _parting(*apart[2:]))


def _parting(base: Result, candidate: Result) -> FirstDifferenceFacts:
    at = None if base.output is None or candidate.output is None else parting_index(base.output, candidate.output)
    return FirstDifferenceFacts(_warmth(base, candidate), base, candidate, at)


def _is_run(result: Result | None) -> TypeGuard[Result]:
    return result is not None and (result.error is None or result.error.type != "NotRun")


def _error(result: Result) -> str | None:
    """Why there is no output; None where there is one, which a check that raised leaves, too."""
    return None if result.error is None or result.output is not None else result.error.type


def _warmth(base: Result, candidate: Result) -> str:
    if base.cold != candidate.cold:
        return "cold on one side only"
    return "cold" if base.cold else "warm"
