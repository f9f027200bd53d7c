"""Every reason to trust the comparison of two runs less, each with a code that stays the same."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count

from benchkit.basics.texts import count_of, verb_for
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.figures import probability
from benchkit.reports.latency_ratio import machines_differ
from benchkit.reports.paired_cases import CaseDifference
from benchkit.reports.repeats import Repeat
from benchkit.reports.warnings import ReportWarning
from benchkit.statistics.intervals import Interval
from benchkit.statistics.permutation import (
    ALPHA,
    FEWEST_DIFFERING_CASES,
    difference_bounds,
    mean,
    pass_rate_differences,
    robust_winner,
)


def pair_warnings(
    base: RunRecord, candidate: RunRecord, cases: Sequence[CaseDifference], p: Fraction, interval: Interval,
) -> tuple[ReportWarning, ...]:
    """All cautions of a comparison over these common cases, but those that need the other pairs or what repeats."""
    return (*_open_winner(cases), *_interval_around_zero(p, interval), *_other_trials(base, candidate),
            *_other_machines(base, candidate))


def few_differing(compared: int, differing: int, smallest_p: Fraction, tests: int) -> Iterator[ReportWarning]:
    """A caution where too few cases differ for any p below 5 %; `smallest_p` is after Holm over so many tests."""
    if smallest_p >= ALPHA:
        needed = next(m for m in count(FEWEST_DIFFERING_CASES) if tests * Fraction(2, 2**m) < ALPHA)
        holm = f" after Holm over {tests} pairs" if tests > 1 else ""
        yield ReportWarning("few-differing-cases", (
            f"{differing:,} of {count_of(compared, 'compared case')} "
            f"{verb_for(differing, compared, 'differs', 'differ')}, and p{holm} cannot be smaller than "
            f"{probability(smallest_p)} with so few: this test cannot decide at 5 % before {needed} differ"))


def one_log(repeat: Repeat | None) -> Iterator[ReportWarning]:
    """A caution where both sides are the same trials."""
    if repeat is not None and repeat.is_one_log:
        yield ReportWarning("one-log", (
            "base and candidate come from one log (the same file, or two run records of it): they hold the same "
            "trials, so that they agree says nothing of what the system would do again"))


def _open_winner(cases: Sequence[CaseDifference]) -> Iterator[ReportWarning]:
    counts = [case.counts for case in cases]
    is_incomplete = any(pair.first.incomplete or pair.second.incomplete for pair in counts)
    if is_incomplete and mean(pass_rate_differences(counts)) and robust_winner(difference_bounds(counts)) is None:
        yield ReportWarning("winner-not-robust", "incomplete trials could turn the difference around")


def _interval_around_zero(p: Fraction, interval: Interval) -> Iterator[ReportWarning]:
    if p < ALPHA and interval.low <= 0 <= interval.high:
        yield ReportWarning("interval-holds-zero", (
            f"p is {probability(p)}, and yet the interval of the difference holds 0. Both are right: p asks whether "
            "chance alone explains the cases that were seen, and the interval allows for rare cases that nobody saw"))


def _other_trials(base: RunRecord, candidate: RunRecord) -> Iterator[ReportWarning]:
    if base.trials != candidate.trials:
        yield ReportWarning("trials-differ", (
            f"the base has {count_of(base.trials, 'trial')} of every case, the candidate {candidate.trials:,}: a case "
            "looks stable more easily in fewer trials"))


def _other_machines(base: RunRecord, candidate: RunRecord) -> Iterator[ReportWarning]:
    if machines_differ(base, candidate):
        yield ReportWarning("machines-differ", (
            "hardware, processor, platform or server differ: latencies compare machines, too"))
