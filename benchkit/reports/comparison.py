"""Several runs side by side: every pair of them compared over the cases both have.

In a pair, the run given first is the base and the other the candidate; a difference is candidate minus base, so above
0 the candidate is better. Figures are exact, or floats as they were computed.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

from benchkit.basics.texts import count_of, verb_for
from benchkit.recordings.run_record import RunRecord
from benchkit.reports import paired_cases
from benchkit.reports.figures import probability
from benchkit.reports.paired_cases import CaseDifference, CaseOutcome, Incompatibility, Repeat
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, LatencyCount, LatencyRatio, latency_of
from benchkit.reports.tally import CaseRow
from benchkit.reports.warnings import ReportWarning
from benchkit.statistics import permutation
from benchkit.statistics.intervals import Interval, open_plus_two, paired_plus_two
from benchkit.statistics.permutation import ALPHA, mean, worst_paired_p
from benchkit.statistics.ranking import PairTest, RankSet, holm, rank_sets


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs say about each other.

    `cases` are the common ones, in the base's order; `only_base` and `only_candidate` are left out of every figure;
    `gone` are those of `only_base` that passed every time.
    `base_rate`, `candidate_rate` and `difference` are means of pass^1 over the `compared` cases in which both judged
    a trial, None without one; `interval` is "plus two", and all of [-1, 1] allowed without a case. `p` is that of the
    sign-flip test (`sign_flip`), or the within-case label p where that is larger and the numbers of judged trials
    differ; `smallest_p` is what the sign-flip test could have reached. `bounds` is what incomplete trials leave
    open over all common cases, `open_interval` the interval with all that they leave open, `robust` who is ahead
    however they would have gone, and `p_worst` what p is at most then. A finding needs both p
    (`p_of_finding`). `same_within_margin` is None where no margin was given; it holds for the open interval. `repeat`
    is there for two recordings of one system.
    """

    cases: tuple[CaseDifference, ...]
    only_base: tuple[str, ...]
    only_candidate: tuple[str, ...]
    gone: tuple[str, ...]
    base_rate: Fraction | None
    candidate_rate: Fraction | None
    difference: Fraction | None
    interval: Interval
    open_interval: Interval
    p: Fraction
    sign_flip: Fraction
    p_worst: Fraction
    smallest_p: Fraction
    bounds: Interval | None
    robust: Literal["base", "candidate"] | None
    margin: Fraction | None
    same_within_margin: bool | None
    latency: tuple[LatencyRatio, ...]
    repeat: Repeat | None
    warnings: tuple[ReportWarning, ...]

    @property
    def compared(self) -> int:
        """Cases in which both sides judged a trial."""
        return len(self.cases) - len(self.with_outcome(CaseOutcome.UNKNOWN))

    @property
    def differing(self) -> int:
        """Cases whose pass rates differ."""
        return len(self.with_outcome(CaseOutcome.WON)) + len(self.with_outcome(CaseOutcome.LOST))

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """The differences of the compared cases, in order."""
        return tuple(case.difference for case in self.cases if case.difference is not None)

    @property
    def is_apart(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0

    @property
    def incomplete(self) -> tuple[int, int]:
        """Incomplete trials in the common cases: of the base, of the candidate."""
        return sum(case.base.incomplete for case in self.cases), sum(case.candidate.incomplete for case in self.cases)

    @property
    def p_of_finding(self) -> Fraction:
        """The larger of the p of judged trials and the one that incomplete trials leave."""
        return max(self.p, self.p_worst)

    @property
    def may_turn(self) -> bool:
        """Whether incomplete trials could turn who is ahead around, or bring a p below 5 % above it."""
        return any(self.incomplete) and (self.robust is None or self.p < ALPHA <= self.p_worst)

    @property
    def smallest_margin(self) -> float:
        """The smallest margin within which the two may be called the same: the farther end of the open interval."""
        return max(abs(self.open_interval.low), abs(self.open_interval.high))

    @property
    def passed_every_time(self) -> int:
        """Cases of which every trial of the base passed."""
        return sum(case.base.passed_every_time for case in self.cases)

    @property
    def regressions(self) -> tuple[CaseDifference, ...]:
        """Cases that passed every time and do not any more."""
        return tuple(case for case in self.cases if case.is_regression)

    @property
    def open_regressions(self) -> tuple[CaseDifference, ...]:
        """Cases that passed every time and may not any more: not all trials of the candidate were judged."""
        return tuple(case for case in self.cases if case.base.passed_every_time and case.candidate.incomplete
                     and not case.is_regression)

    @property
    def progressed(self) -> int:
        """Cases of which a trial failed and that pass every time now."""
        return sum(case.candidate.passed_every_time and case.base.passed < case.base.n for case in self.cases)

    @property
    def mirror_p(self) -> Fraction | None:
        """p of "as many stop passing every time as begin to"; None unless as many trials of each case were judged."""
        if any(self.incomplete) or any(case.base.n != case.candidate.n for case in self.cases):
            return None
        return permutation.mirrored_p(len(self.regressions), self.progressed)

    def with_outcome(self, outcome: CaseOutcome) -> tuple[CaseDifference, ...]:
        """The cases the candidate won, lost, tied, or of which nothing is known."""
        return tuple(case for case in self.cases if case.outcome is outcome)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs by their places in the list of runs.

    Either there are incompatibilities, or a comparison, its p of a finding after Holm over all compared pairs, and the
    smallest that one could have been with as many differing cases.
    """

    base: int
    candidate: int
    incompatibilities: tuple[Incompatibility, ...]
    comparison: Comparison | None
    adjusted_p: Fraction | None
    smallest_adjusted_p: Fraction | None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Several runs. `labels` are their names, told apart; a rank set is among the runs that a run was compared with.

    It is None for a run that could be compared with no other.
    """

    runs: tuple[RunReport, ...]
    labels: tuple[str, ...]
    ranks: tuple[RankSet | None, ...]
    pairs: tuple[Pair, ...]

    @property
    def tests(self) -> int:
        """How many pairs were compared: what Holm corrects for."""
        return sum(pair.comparison is not None for pair in self.pairs)


def side_by_side(runs: Sequence[RunReport], margin: Fraction | None = None) -> SideBySide:
    """Compare every pair of runs; `margin` is what may be called the same, as a share (1/20: 5 points)."""
    found = []
    for base, candidate in combinations(range(len(runs)), 2):
        reasons = paired_cases.incompatibilities_between(runs[base].record, runs[candidate].record)
        found.append((base, candidate, reasons, None if reasons else compare(runs[base], runs[candidate], margin)))
    p_values = [comparison.p_of_finding for *_, comparison in found if comparison is not None]
    pairs, adjusted, place = [], holm(p_values), 0
    for base, candidate, reasons, comparison in found:
        p, smallest, told = None, None, comparison
        if comparison is not None:
            p = adjusted[place]
            smallest = holm([*p_values[:place], comparison.smallest_p, *p_values[place + 1:]])[place]
            place += 1
            if smallest >= ALPHA:
                warning = _few_differing(comparison, smallest, len(p_values))
                told = replace(comparison, warnings=(warning, *comparison.warnings))
        pairs.append(Pair(base, candidate, reasons, told, p, smallest))
    ranks = tuple(_rank(place, pairs) for place in range(len(runs)))
    return SideBySide(tuple(runs), labels_of([run.name for run in runs]), ranks, tuple(pairs))


def labels_of(names: Sequence[str]) -> tuple[str, ...]:
    """The names of runs; those that stand twice are told apart by the number of the run."""
    return tuple(name if names.count(name) == 1 else f"{name} (run {number})"
                 for number, name in enumerate(names, start=1))


def compare(base: RunReport, candidate: RunReport, margin: Fraction | None = None) -> Comparison:
    """Compare two runs that nothing keeps from being compared."""
    others = {row.id: row for row in candidate.cases}
    cases = tuple(CaseDifference(row, others[row.id]) for row in base.cases if row.id in others)
    counts = [case.counts for case in cases]
    known = [case for case in cases if case.difference is not None]
    differences = permutation.pass_rate_differences(counts)
    interval, bounds = paired_plus_two(differences), permutation.difference_bounds(counts)
    robust: Literal["base", "candidate"] | None = None
    if bounds is not None and not bounds.low <= 0 <= bounds.high:
        robust = "candidate" if bounds.low > 0 else "base"
    p = permutation.paired_p(counts)
    is_incomplete = any(pair.first.incomplete or pair.second.incomplete for pair in counts)
    ends = [(one.low, one.high) for one in (pair.open_difference for pair in counts)]
    around = open_plus_two(ends) if is_incomplete else interval
    found = Comparison(
        cases=cases, only_base=_only_in(base.cases, candidate.cases),
        only_candidate=_only_in(candidate.cases, base.cases),
        gone=_only_in([row for row in base.cases if row.passed_every_time], candidate.cases),
        base_rate=mean([Fraction(case.base.passed, case.base.n) for case in known]),
        candidate_rate=mean([Fraction(case.candidate.passed, case.candidate.n) for case in known]),
        difference=mean(differences), interval=interval, open_interval=around, p=p,
        sign_flip=permutation.sign_flip_p(differences) if permutation.has_uneven_trials(counts) else p,
        p_worst=worst_paired_p(counts) if is_incomplete else p,
        smallest_p=permutation.smallest_sign_flip_p(differences),
        bounds=bounds, robust=robust, margin=margin,
        same_within_margin=None if margin is None else bool(differences) and permutation.same_within(around, margin),
        latency=_latencies(base, candidate, {case.id for case in cases}),
        repeat=(paired_cases.repeat_of(base.record, candidate.record, cases)
                if paired_cases.is_repeat(base.record, candidate.record) else None),
        warnings=())
    return replace(found, warnings=tuple(_warnings(base.record, candidate.record, found)))


def _only_in(rows: Sequence[CaseRow], others: Sequence[CaseRow]) -> tuple[str, ...]:
    """The ids of cases that the other side does not have, in order."""
    known = {row.id for row in others}
    return tuple(row.id for row in rows if row.id not in known)


def _latencies(base: RunReport, candidate: RunReport, common: Set[str]) -> tuple[LatencyRatio, ...]:
    """Of warm trials and of cold ones, each only where both sides have a latency."""
    sides = zip(("warm", "cold"), _columns(base, common), _columns(candidate, common), strict=True)
    return tuple(LatencyRatio(warmth, one, other) for warmth, one, other in sides if one.n and other.n)


def _columns(run: RunReport, common: Set[str]) -> tuple[LatencyColumn, LatencyColumn]:
    if len(common) == len(run.cases):
        return run.speed.warm, run.speed.cold
    measured = LatencyCount(run.record.sessions)
    for place, case in enumerate(run.record.cases):
        for result in run.record.results_of(place) if case.id in common else ():
            measured.take(result.cold, result.error, latency_of(result), result.timings)
    warm, cold = measured.columns()
    return replace(warm, judged=()), replace(cold, judged=())


def _rank(place: int, pairs: Sequence[Pair]) -> RankSet | None:
    tests = [PairTest(str(pair.candidate), str(pair.base), pair.comparison.difference,
                      pair.comparison.p_of_finding, pair.adjusted_p)
             for pair in pairs if place in (pair.base, pair.candidate)
             if pair.comparison is not None and pair.adjusted_p is not None]
    names = sorted({name for test in tests for name in (test.first, test.second)})
    return rank_sets(names, tests, float(ALPHA))[str(place)] if tests else None


def _few_differing(found: Comparison, smallest_p: Fraction, tests: int) -> ReportWarning:
    """Too few cases differ for any p below 5 %; `smallest_p` is after Holm over so many tests."""
    holm = f" after Holm over {tests} pairs" if tests > 1 else ""
    return ReportWarning("few-differing-cases", (
        f"{found.differing:,} of {count_of(found.compared, 'compared case')} "
        f"{verb_for(found.differing, found.compared, 'differs', 'differ')}, and p{holm} cannot be smaller than "
        f"{probability(smallest_p)} with so few: this test cannot decide at 5 % before "
        f"{permutation.fewest_differing(ALPHA / tests)} differ"))


def _warnings(base: RunRecord, candidate: RunRecord, found: Comparison) -> Iterator[ReportWarning]:
    """All reasons to trust a comparison less, but the one that needs the other pairs."""
    if found.repeat is not None and found.repeat.is_one_log:
        yield ReportWarning("one-log", (
            "base and candidate come from one log (the same file, or two run records of it): they hold the same "
            "trials, so that they agree says nothing of what the system would do again"))
    if any(found.incomplete) and found.difference and found.robust is None:
        yield ReportWarning("winner-not-robust", "incomplete trials could turn the difference around")
    if found.p < ALPHA and found.interval.low <= 0 <= found.interval.high:
        yield ReportWarning("interval-holds-zero", (
            f"p is {probability(found.p)}, and yet the interval of the difference holds 0. Both are right: p asks "
            "whether chance alone explains the cases that were seen, and the interval allows for rare cases that "
            "nobody saw"))
    if base.trials != candidate.trials:
        yield ReportWarning("trials-differ", (
            f"the base has {count_of(base.trials, 'trial')} of every case, the candidate {candidate.trials:,}: a case "
            "looks stable more easily in fewer trials"))
    if found.latency and _machines(base) != _machines(candidate):
        yield ReportWarning("machines-differ", (
            "hardware, processor, platform or server differ: latencies compare machines, too"))


def _machines(record: RunRecord) -> set[tuple[object, ...]]:
    names = ("processor", "platform", "server")
    return {(one.hardware, *(str(one.environment.get(name)) for name in names)) for one in record.sessions}
