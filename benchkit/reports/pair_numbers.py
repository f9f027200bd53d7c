"""The numbers of a pair as labelled facts, for any renderer: difference, p, sameness, bounds, latency, repeats.

What does not live here: the sentence above them (pair_words.py), the cases below them, and how they are laid out.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from benchkit.basics.names import shown_line
from benchkit.reports.cautions import count_of
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures_as_text import NOT_AVAILABLE, latency, percent, points, points_spread, probability
from benchkit.reports.latency_ratio import LatencyRatio, median_of
from benchkit.reports.repeat_words import repeat_facts

Fact: TypeAlias = tuple[str, str]
"""A label, which is empty where the one before goes on, and its text."""


def number_facts(side: SideBySide, pair: Pair, comparison: Comparison) -> Iterator[Fact]:
    """All that was counted and tested over the common cases."""
    yield from _test_facts(side, pair, comparison)
    yield _margin_fact(comparison)
    yield from _bounds_facts(comparison)
    yield from (("latency", _latency(ratio)) for ratio in comparison.latency)
    yield from repeat_facts(comparison.repeat)
    for label, ids in (("only in base", comparison.only_base), ("only here", comparison.only_candidate)):
        if ids:
            yield label, f"{count_of(len(ids), 'case')} left out: {listed(ids)}"


def _test_facts(side: SideBySide, pair: Pair, comparison: Comparison) -> Iterator[Fact]:
    yield "difference", (
        f"{points(comparison.difference)} points in pass^1 (95 %: "
        f"{points_spread(comparison.interval.low, comparison.interval.high)}) over "
        f"{count_of(comparison.compared, 'case')} judged on both sides")
    adjusted = NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    yield "p", (
        f"{probability(comparison.p)} by sign-flip"
        + (f", {adjusted} after Holm over {side.tests} pairs" if side.tests > 1 else "")
        + f"; the smallest it could be is {probability(comparison.smallest_p)}, with "
        f"{count_of(comparison.differing, 'differing case')}")


def _margin_fact(comparison: Comparison) -> Fact:
    smallest = f"the interval lies within {percent(comparison.smallest_margin)} points of no difference"
    if comparison.margin is None:
        return "sameness", f"{smallest}: no smaller margin could call them the same"
    answer = "the same" if comparison.same_within_margin else "not shown to be the same"
    return "sameness", f"{answer} within {percent(comparison.margin)} points; {smallest}"


def _bounds_facts(comparison: Comparison) -> Iterator[Fact]:
    base, candidate = comparison.incomplete
    bounds = comparison.bounds
    if bounds is None or not base + candidate:
        return
    who = {None: "who is ahead is open", "base": "the base is ahead either way",
           "candidate": "the candidate is ahead either way"}[comparison.robust]
    yield "incomplete", (
        f"{base} trials of the base and {candidate} of the candidate: as they go, the difference is "
        f"{points_spread(bounds.low, bounds.high)} points; {who}")


def _latency(ratio: LatencyRatio) -> str:
    sides = (f"{latency(median_of(ratio.candidate))} s against {latency(median_of(ratio.base))} s, medians of "
             f"{ratio.candidate.n} and {ratio.base.n} {ratio.warmth} trials")
    return f"{float(ratio.ratio):.2f} times as long: {sides}" if ratio.ratio is not None else sides


def listed(ids: Iterable[str]) -> str:
    """All names, on one line."""
    return ", ".join(shown_line(name, 60) for name in ids)
