"""Percentiles by exact nearest rank, their intervals, and what timeouts do to them."""

from __future__ import annotations

import statistics
import unittest
from array import array
from fractions import Fraction
from math import comb

from benchkit.statistics.percentiles import (
    PERCENTS,
    TRIALS_NEEDED,
    Latency,
    Percentile,
    Sample,
    nearest_rank,
    percentile,
    rank_interval,
)
from tests.oracle import reference


def exact_upper_tail(size: int, count: int, percent: int) -> Fraction:
    ways = sum(comb(size, i) * percent**i * (100 - percent) ** (size - i) for i in range(count, size + 1))
    return Fraction(ways, 100**size)


class NearestRank(unittest.TestCase):
    def test_every_reference_row(self) -> None:
        for row in reference("quantile")["nearest_rank"]:
            with self.subTest(pct=row["pct"], x=row["x"]):
                rank = nearest_rank(row["pct"], len(row["x"]))
                self.assertEqual(Sample(row["x"]).at_rank(rank), Latency(row["value"]))

    def test_the_library_extrapolates_and_this_does_not(self) -> None:
        trap = reference("quantile")["statistics_quantiles_trap"]
        self.assertAlmostEqual(statistics.quantiles(trap["x"], n=100)[98], trap["exclusive_p99"])
        self.assertEqual(Sample(trap["x"]).at_rank(nearest_rank(99, 5)).seconds, 500)

    def test_it_is_the_first_rank_that_reaches_the_share(self) -> None:
        for size in range(1, 250):
            for percent in PERCENTS:
                rank = nearest_rank(percent, size)
                self.assertGreaterEqual(Fraction(rank, size), Fraction(percent, 100))
                self.assertLess(Fraction(rank - 1, size), Fraction(percent, 100))


class RankIntervals(unittest.TestCase):
    def test_every_reference_row(self) -> None:
        for row in reference("quantile")["rank_ci_95"]:
            with self.subTest(n=row["n"], pct=row["pct"]):
                self.assertEqual(rank_interval(row["pct"], row["n"]), tuple(row["ranks"]))

    def test_they_are_the_ranks_that_exact_tails_give(self) -> None:
        for size in (*range(1, 40), 90):
            for percent in PERCENTS:
                tails = {rank: exact_upper_tail(size, rank, percent) for rank in range(1, size + 1)}
                low = max((rank for rank, tail in tails.items() if tail >= Fraction(975, 1000)), default=None)
                high = min((rank for rank, tail in tails.items() if tail <= Fraction(25, 1000)), default=None)
                with self.subTest(size=size, percent=percent):
                    self.assertEqual(rank_interval(percent, size), (low, high))

    def test_a_million_trials_are_no_trouble(self) -> None:
        low, high = rank_interval(99, 1_000_000)
        self.assertTrue(989_000 < (low or 0) < 990_000 < (high or 0) < 991_000)


class Percentiles(unittest.TestCase):
    def test_each_is_given_from_its_number_of_trials_on_and_not_before(self) -> None:
        self.assertEqual(TRIALS_NEEDED, {50: 1, 90: 10, 95: 20, 99: 100})
        for percent, needed in TRIALS_NEEDED.items():
            with self.subTest(percent=percent):
                seconds = [float(i) for i in range(1, needed + 1)]
                self.assertIsNone(percentile(Sample(seconds[:-1]), percent))
                result = percentile(Sample(seconds), percent)
                assert result is not None
                self.assertEqual(result.value, Latency(seconds[nearest_rank(percent, needed) - 1]))

    def test_a_percentile_comes_with_the_latencies_at_the_ends_of_its_rank_interval(self) -> None:
        result = percentile(Sample([float(i) for i in range(1, 101)]), 90)
        self.assertEqual(result, Percentile(Latency(90.0), low=Latency(84.0), high=Latency(96.0)))
        self.assertEqual(
            percentile(Sample([1.0, 2.0, 3.0]), 50), Percentile(Latency(2.0), low=None, high=None)
        )

    def test_timeouts_rank_above_everything_and_show_their_smallest_limit(self) -> None:
        sample = Sample([1.0] * 8, timeouts=[60.0, 120.0])
        self.assertEqual(sample.size, 10)
        median, high = percentile(sample, 50), percentile(sample, 90)
        assert median is not None
        assert high is not None
        self.assertEqual(median.value, Latency(1.0))
        self.assertEqual(high.value, Latency(60.0, censored=True))
        self.assertEqual(Sample([200.0], timeouts=[60.0]).at_rank(2), Latency(60.0, censored=True))

    def test_timeouts_count_among_the_trials_a_percentile_needs(self) -> None:
        self.assertIsNone(percentile(Sample([1.0] * 8, timeouts=[60.0]), 90))
        only_timeouts = percentile(Sample([], timeouts=[60.0]), 50)
        self.assertEqual(only_timeouts, Percentile(Latency(60.0, censored=True), low=None, high=None))

    def test_nothing_has_no_percentile_and_an_unknown_one_is_refused(self) -> None:
        self.assertIsNone(percentile(Sample([]), 50))
        with self.assertRaises(KeyError):
            percentile(Sample([1.0]), 37)

    def test_a_compact_array_does_as_well_as_a_list(self) -> None:
        seconds = array("d", [0.25, 0.5, 0.75])
        self.assertEqual(percentile(Sample(seconds), 50), percentile(Sample(list(seconds)), 50))
