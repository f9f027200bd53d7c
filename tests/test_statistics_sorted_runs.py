"""Sorted runs: they read as the sorted list of their values does, and keep 8 bytes a value."""

from __future__ import annotations

import math
import random
import tracemalloc
import unittest
from collections import Counter

from benchkit.statistics.percentiles import PERCENTS, Sample, percentile
from benchkit.statistics.sorted_runs import LONGEST_RUN, RunSorter, SortedRuns, sorted_runs


def some_values(number: int, kinds: int = 10**9) -> list[float]:
    rng = random.Random(number)
    return [round(rng.lognormvariate(0, 2), 6) if kinds > 10 else float(rng.randrange(kinds)) for _ in range(number)]


class AsAList(unittest.TestCase):
    def test_every_rank_of_a_few_runs_is_that_of_the_sorted_list(self) -> None:
        for runs in ([[1.0]], [[], [2.0], []], [[1.0, 1.0, 1.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 2.0]],
                     [[0.0], [5.0, 6.0, 7.0, 8.0], [2.0, 6.0]], [[float(value)] for value in range(20, 0, -1)]):
            values = sorted(value for run in runs for value in run)
            with self.subTest(runs=runs):
                found = SortedRuns(runs)
                self.assertEqual([found[place] for place in range(len(values))], values)
                self.assertEqual(list(found), values)
                self.assertEqual((found[-1], found[1:]), (values[-1], tuple(values[1:])))

    def test_values_that_fill_many_runs_have_their_ranks_whatever_their_order(self) -> None:
        drawn = some_values(3 * LONGEST_RUN + 7)
        for order in (drawn, sorted(drawn), sorted(drawn, reverse=True), some_values(2 * LONGEST_RUN, kinds=4)):
            found, values = sorted_runs(order), sorted(order)
            self.assertEqual(len(found), len(values))
            for place in (0, 1, LONGEST_RUN - 1, LONGEST_RUN, len(values) // 2, len(values) - 1):
                self.assertEqual(found[place], values[place])
            for percent in PERCENTS:
                self.assertEqual(percentile(Sample(found), percent), percentile(Sample(values), percent))

    def test_a_place_outside_is_an_index_error_and_nothing_has_none(self) -> None:
        for values, place in (([], 0), ([1.0], 1), ([1.0], -2)):
            with self.subTest(values), self.assertRaises(IndexError):
                sorted_runs(values)[place]
        self.assertEqual(list(SortedRuns()), [])

    def test_what_is_no_finite_number_is_left_out(self) -> None:
        self.assertEqual(list(sorted_runs([math.inf, 1.0, math.nan, -math.inf, 0.5])), [0.5, 1.0])

    def test_what_stands_in_runs_is_taken_as_it_is(self) -> None:
        runs = sorted_runs([2.0, 1.0])
        self.assertIs(sorted_runs(runs), runs)


class Views(unittest.TestCase):
    def test_another_unit_multiplies_every_value_and_keeps_the_runs(self) -> None:
        found = sorted_runs([0.25, 0.125]).times(1000)
        self.assertEqual((list(found), found[0], found[-1]), ([125.0, 250.0], 125.0, 250.0))

    def test_several_are_one_sequence_together(self) -> None:
        found = SortedRuns.joined([sorted_runs([3.0, 1.0]).times(2), sorted_runs([2.0]).times(2)])
        self.assertEqual((list(found), len(found), found[1]), ([2.0, 4.0, 6.0], 3, 4.0))
        self.assertEqual(len(SortedRuns.joined([])), 0)
        with self.assertRaisesRegex(ValueError, "different units"):
            SortedRuns.joined([sorted_runs([1.0]), sorted_runs([1.0]).times(1000)])

    def test_counts_in_bins_are_those_of_counting_one_by_one(self) -> None:
        values = some_values(LONGEST_RUN + 100)
        for factor in (1, 1000):
            counted = Counter(min(9, int(value * factor)) for value in values)
            self.assertEqual(sorted_runs(values).times(factor).counts(lambda value: min(9, int(value)), 10),
                             [counted[number] for number in range(10)])
        self.assertEqual(SortedRuns().counts(int, 3), [0, 0, 0])


class Memory(unittest.TestCase):
    def test_a_value_takes_eight_bytes_and_little_more(self) -> None:
        peaks = []
        for number in (2 * LONGEST_RUN, 8 * LONGEST_RUN):
            tracemalloc.start()
            sorter = RunSorter()
            for value in range(number):
                sorter.take(value / 3)
            self.assertEqual(sorter.sorted()[number - 1], (number - 1) / 3)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess((peaks[1] - peaks[0]) / (6 * LONGEST_RUN), 9)


if __name__ == "__main__":
    unittest.main()
