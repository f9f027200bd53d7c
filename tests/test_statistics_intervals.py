"""Intervals: against scipy, statsmodels and statpsych, at their edges, and by how often they cover."""

from __future__ import annotations

import math
import statistics
import unittest
from fractions import Fraction
from itertools import product

from benchkit.statistics.intervals import (
    Interval,
    anytime,
    case_wilson,
    clopper_pearson,
    headline,
    headline_over_cases,
    normal_quantile,
    paired_plus_two,
    two_sided_z,
    upper_tail,
    wilson,
)
from tests.oracle import reference


def fractions(values: list[str]) -> list[Fraction]:
    return [Fraction(value) for value in values]


def coverage(intervals: list[Interval], rate: float) -> float:
    """How often the interval of so many passes holds the true rate; one for each number of passes."""
    trials = len(intervals) - 1
    return math.fsum(math.comb(trials, passed) * rate**passed * (1 - rate) ** (trials - passed)
                     for passed, interval in enumerate(intervals) if interval.low <= rate <= interval.high)


class IntervalTest(unittest.TestCase):
    def assert_close(self, interval: Interval, expected: list[float], delta: float = 1e-12) -> None:
        self.assertAlmostEqual(interval.low, expected[0], delta=delta)
        self.assertAlmostEqual(interval.high, expected[1], delta=delta)


class NormalQuantile(unittest.TestCase):
    def test_every_reference_row(self) -> None:
        for row in reference("z_quantile"):
            with self.subTest(p=row["p"]):
                self.assertAlmostEqual(normal_quantile(row["p"]), row["scipy"], delta=1e-14)

    def test_it_agrees_with_the_standard_library_far_into_both_tails(self) -> None:
        for probability in (1e-300, 1e-12, 0.001, 0.025, 0.3, 0.5, 0.7, 0.975, 0.999999):
            with self.subTest(probability=probability):
                expected = statistics.NormalDist().inv_cdf(probability)
                self.assertTrue(math.isclose(normal_quantile(probability), expected, rel_tol=1e-13, abs_tol=1e-15))

    def test_only_probabilities_inside_zero_and_one_have_one(self) -> None:
        for probability in (0.0, 1.0, -0.1, 1.5):
            with self.assertRaises(ValueError):
                normal_quantile(probability)

    def test_the_two_sided_one_leaves_half_on_either_side(self) -> None:
        self.assertAlmostEqual(two_sided_z(0.95), 1.959963984540054, delta=1e-14)


class Wilson(IntervalTest):
    def test_every_reference_row(self) -> None:
        for row in reference("wilson"):
            with self.subTest(row=row):
                interval = wilson(row["c"], row["n"], row["conf"])
                self.assert_close(interval, row["scipy"])
                self.assert_close(interval, row["statsmodels"])

    def test_nothing_passed_begins_at_exactly_zero_and_everything_ends_at_exactly_one(self) -> None:
        for trials in (1, 3, 10, 1000):
            self.assertEqual(wilson(0, trials).low, 0.0)
            self.assertEqual(wilson(trials, trials).high, 1.0)

    def test_without_a_trial_nothing_is_known_and_more_successes_than_trials_are_refused(self) -> None:
        for function in (wilson, clopper_pearson, anytime):
            self.assertEqual(function(0, 0), Interval(0.0, 1.0))
            for successes, trials in ((4, 3), (-1, 3)):
                with self.assertRaises(ValueError):
                    function(successes, trials)


class CaseWilson(IntervalTest):
    """The columns for Student's t and for a fractional Clopper-Pearson are foreign: neither is used here."""

    def test_every_reference_row(self) -> None:
        for row in reference("case_wilson"):
            values = fractions(row["values"])
            with self.subTest(values=row["values"]):
                self.assertEqual(sum(values, Fraction(0)) / len(values), Fraction(row["mean"]))
                interval = case_wilson(sum(values, Fraction(0)), len(values), row["conf"])
                self.assert_close(interval, row["interval"])
                self.assert_close(interval, row["independent_formula"])

    def test_at_five_cases_it_covers_as_promised_on_average_and_never_falls_far_below(self) -> None:
        intervals = [case_wilson(passed, 5) for passed in range(6)]
        covered = [coverage(intervals, permille / 1000) for permille in range(1, 1000)]
        self.assertGreaterEqual(math.fsum(covered) / len(covered), 0.95)
        self.assertGreaterEqual(min(covered), 0.83)

    def test_it_never_has_width_zero(self) -> None:
        for cases in (1, 2, 5, 1000):
            for total in (Fraction(0), Fraction(cases, 2), Fraction(cases)):
                interval = case_wilson(total, cases)
                self.assertLess(interval.low, interval.high)


class ClopperPearson(IntervalTest):
    def test_every_reference_row(self) -> None:
        for row in reference("clopper_pearson"):
            with self.subTest(row=row):
                self.assert_close(clopper_pearson(row["c"], row["n"], row["conf"]), row["scipy"], delta=1e-11)

    def test_it_covers_at_least_as_often_as_it_says(self) -> None:
        for trials, percent in product((1, 4, 9), range(1, 100, 7)):
            intervals = [clopper_pearson(passed, trials) for passed in range(trials + 1)]
            self.assertGreaterEqual(coverage(intervals, percent / 100), 0.95)

    def test_a_million_trials_are_no_trouble(self) -> None:
        interval = clopper_pearson(999_000, 1_000_000)
        self.assertTrue(0.9989 < interval.low < 0.999 < interval.high < 0.9991)


class BinomialTail(unittest.TestCase):
    def test_it_is_the_incomplete_beta_function_of_whole_parameters(self) -> None:
        checked = 0
        for row in reference("betainc"):
            if row["a"] == int(row["a"]) and row["b"] == int(row["b"]):  # the others are foreign
                value = upper_tail(row["a"] + row["b"] - 1, row["a"], row["x"])
                self.assertTrue(math.isclose(value, row["scipy"], rel_tol=1e-11), msg=str(row))
                checked += 1
        self.assertEqual(checked, 4)

    def test_it_is_the_exact_sum_of_terms(self) -> None:
        rate = Fraction(3, 10)
        for trials, successes in product((1, 5, 30), range(32)):
            terms = (math.comb(trials, i) * rate**i * (1 - rate) ** (trials - i) for i in range(successes, trials + 1))
            expected = float(sum(terms, Fraction(0)))
            self.assertTrue(math.isclose(upper_tail(trials, successes, 0.3), expected, rel_tol=1e-12))


class Anytime(IntervalTest):
    def test_every_reference_row(self) -> None:
        for row in reference("confseq_beta_binomial"):
            with self.subTest(n=row["n"], c=row["c"]):
                self.assert_close(anytime(row["c"], row["n"], row["alpha"]), row["interval"], delta=1e-9)

    def test_it_is_wider_than_the_interval_for_one_look(self) -> None:
        for passed in range(1, 20):
            once, always = clopper_pearson(passed, 20), anytime(passed, 20)
            self.assertLess(always.low, once.low)
            self.assertGreater(always.high, once.high)

    def test_looking_after_every_trial_misses_the_rate_in_at_most_one_run_of_twenty(self) -> None:
        rate, longest = Fraction(7, 10), 12
        alive = {0: Fraction(1)}  # probability of each number of passes, of runs that never missed so far
        for trials in range(1, longest + 1):
            reached: dict[int, Fraction] = {}
            for passed, weight in alive.items():
                reached[passed + 1] = reached.get(passed + 1, Fraction(0)) + weight * rate
                reached[passed] = reached.get(passed, Fraction(0)) + weight * (1 - rate)
            intervals = {passed: anytime(passed, trials) for passed in reached}
            alive = {passed: weight for passed, weight in reached.items()
                     if intervals[passed].low <= rate <= intervals[passed].high}
        missed = 1 - sum(alive.values(), Fraction(0))
        self.assertLessEqual(missed, Fraction(1, 20))
        self.assertGreater(missed, 0)


class PairedPlusTwo(IntervalTest):
    def test_every_reference_row(self) -> None:
        for row in reference("paired_interval"):
            with self.subTest(d=row["d"]):
                interval = paired_plus_two(fractions(row["d"]), row.get("conf", 0.95))
                self.assert_close(interval, row["ours"])
                if "expected_published" in row:
                    self.assert_close(interval, row["expected_published"], delta=5e-8)

    def test_exchanging_the_sides_mirrors_it(self) -> None:
        values = fractions(["1/3", "-1/2", "0", "1"])
        there, back = paired_plus_two(values), paired_plus_two([-value for value in values])
        self.assertEqual(there, Interval(-back.high, -back.low))

    def test_without_a_case_it_is_everything(self) -> None:
        self.assertEqual(paired_plus_two([]), Interval(-1.0, 1.0))


class HeadlineOfABoard(IntervalTest):
    def test_every_reference_row(self) -> None:
        for row in reference("headline"):
            with self.subTest(row=row):
                result = headline(fractions(row["capability"]), row["gate_fail"], row["gate_n"])
                value, low, high = row["result"]
                self.assertAlmostEqual(float(result.value), value, delta=1e-12)
                self.assert_close(result.interval, [low, high], delta=1e-10)

    def test_the_corners_are_worst_with_most_failures_and_best_with_fewest(self) -> None:
        able, failed = (case_wilson(Fraction(number), 8, confidence=0.975) for number in (6, 1))
        found = headline_over_cases([Fraction(3, 4)] * 8, [Fraction(1, 8)] * 8)
        self.assertEqual(Fraction(3, 4) * Fraction(7, 8), found.value)
        self.assert_close(found.interval, [able.low * (1 - failed.high), able.high * (1 - failed.low)])

    def test_over_cases_it_covers_also_where_all_answers_to_a_question_break_a_gate_together(self) -> None:
        # exact: how many of the cases break it is binomial; an interval over answers covers .71 to .93
        for cases, breaks in ((12, .2), (24, .1), (24, .3)):
            intervals = [headline_over_cases([Fraction(1)] * cases, [Fraction(number >= held) for number in range(
                cases)]).interval for held in range(cases + 1)]
            with self.subTest(cases=cases, breaks=breaks):
                self.assertGreaterEqual(coverage(intervals, 1 - breaks), 0.95)

    def test_a_gate_nobody_tried_leaves_the_low_end_open(self) -> None:
        result = headline([Fraction(1)], gate_failed=0, gate_trials=0)
        self.assertEqual((result.value, result.interval.low, result.interval.high), (1, 0.0, 1.0))

    def test_no_case_is_no_headline(self) -> None:
        with self.assertRaises(ValueError):
            headline([], 0, 1)
