"""A suite of cases: worst, completed-only and best of both metrics, their interval and their re-run error."""

from __future__ import annotations

import math
import random
import time
import unittest
from fractions import Fraction
from itertools import pairwise

from benchkit.statistics.estimators import Counts, figure, shortened
from benchkit.statistics.intervals import case_wilson
from benchkit.statistics.suites import EVERY_K, Coverage, SuiteMetric, coverage, suite_metrics
from tests.oracle import reference


def random_suite(seed: int, cases: int, trials: int, least_completed: int = 0) -> list[Counts]:
    rng = random.Random(seed)
    suite = []
    for _ in range(cases):
        completed = rng.randint(least_completed, trials)
        passed = rng.randint(0, completed)
        suite.append(Counts(trials, passed, completed - passed))
    return suite


def by_definition(suite: list[Counts], k: int, at: bool) -> SuiteMetric:
    """The same metric, case after case as the definition has it."""
    def drawn(trials: int, passed: int, k: int) -> Fraction | None:
        return Fraction(math.comb(trials - passed if at else passed, k), math.comb(trials, k)) if k <= trials else None

    def value(trials: int, passed: int, k: int) -> Fraction | None:
        found = drawn(trials, passed, k)
        return 1 - found if at and found is not None else found

    def variance(trials: int, passed: int, k: int) -> Fraction | None:
        once, twice = drawn(trials, passed, k), drawn(trials, passed, 2 * k)
        return None if once is None or twice is None else once**2 - twice

    worst = [value(case.planned, case.passed, k) or Fraction(0) for case in suite]
    best = [value(case.planned, case.most_passed, k) or Fraction(0) for case in suite]
    enough = [case for case in suite if case.completed >= k]
    completed = [value(case.completed, case.passed, k) or Fraction(0) for case in enough]
    variances = [variance(case.completed, case.passed, k) for case in enough]
    known = [v for v in variances if v is not None]
    whole = bool(enough) and len(known) == len(variances)
    return SuiteMetric(
        worst=sum(worst, Fraction(0)) / len(suite),
        completed=sum(completed, Fraction(0)) / len(enough) if enough else None,
        completed_cases=len(enough),
        best=sum(best, Fraction(0)) / len(suite),
        low=case_wilson(sum(worst, Fraction(0)), len(suite)).low,
        high=case_wilson(sum(best, Fraction(0)), len(suite)).high,
        se=math.sqrt(sum(known, Fraction(0))) / len(enough) if whole else None,
    )


class AgainstTheDefinition(unittest.TestCase):
    def test_suites_of_many_shapes_give_what_the_definition_gives_case_by_case(self) -> None:
        for seed, cases, trials in ((1, 1, 4), (2, 7, 5), (3, 40, 6), (4, 25, 9), (5, 60, 3)):
            suite = random_suite(seed, cases, trials)
            for row in suite_metrics(suite):
                with self.subTest(seed=seed, k=row.k):
                    self.assertEqual(row.at, by_definition(suite, row.k, at=True))
                    self.assertEqual(row.hat, by_definition(suite, row.k, at=False))

    def test_reference_bounds_of_one_case(self) -> None:
        for row in reference("incomplete_bounds"):
            planned = row["completed"] + row["incomplete"]
            case = Counts(planned, row["passed"], row["completed"] - row["passed"])
            metrics = suite_metrics([case])[row["k"] - 1]
            with self.subTest(case=case, k=row["k"]):
                for name, metric in (("pass_at_k", metrics.at), ("pass_hat_k", metrics.hat)):
                    completed = row[f"{name}_completed"]
                    self.assertEqual(metric.worst, Fraction(row[f"{name}_worst"]))
                    self.assertEqual(metric.completed, None if completed is None else Fraction(completed))
                    self.assertEqual(metric.completed_cases, 0 if completed is None else 1)
                    self.assertEqual(metric.best, Fraction(row[f"{name}_best"]))


class Invariants(unittest.TestCase):
    def test_up_to_k_max_completed_only_lies_between_worst_and_best_and_counts_every_case(self) -> None:
        for seed in range(5):
            suite = random_suite(seed, cases=12, trials=6, least_completed=2)
            k_max = coverage(suite).k_max
            self.assertGreaterEqual(k_max, 2)
            for row in suite_metrics(suite)[:k_max]:
                for metric in (row.at, row.hat):
                    assert metric.completed is not None
                    self.assertEqual(metric.completed_cases, len(suite))
                    self.assertLessEqual(metric.worst, metric.completed)
                    self.assertLessEqual(metric.completed, metric.best)

    def test_both_metrics_start_at_the_mean_pass_rate_and_part_from_there(self) -> None:
        suite = random_suite(11, cases=30, trials=8, least_completed=8)
        rows = suite_metrics(suite)
        mean = sum((Fraction(case.passed, case.planned) for case in suite), Fraction(0)) / len(suite)
        self.assertEqual(rows[0].at, rows[0].hat)
        self.assertEqual(rows[0].hat.completed, mean)
        for before, after in pairwise(rows):
            self.assertLessEqual(before.at.worst, after.at.worst)
            self.assertGreaterEqual(before.hat.worst, after.hat.worst)

    def test_the_order_of_cases_changes_nothing(self) -> None:
        suite = random_suite(12, cases=30, trials=5)
        self.assertEqual(suite_metrics(suite), suite_metrics(reversed(suite)))

    def test_cases_weigh_the_same_however_many_of_their_trials_completed(self) -> None:
        row = suite_metrics([Counts(10, 10, 0), Counts(10, 0, 1)])[0]
        self.assertEqual(row.hat.completed, Fraction(1, 2))

    def test_what_no_case_completed_is_not_available_and_the_bounds_are_everything(self) -> None:
        row = suite_metrics([Counts(2, 0, 0)] * 3)[1]
        for metric in (row.at, row.hat):
            self.assertEqual((metric.worst, metric.completed, metric.best), (0, None, 1))
            self.assertEqual((metric.low, metric.high), (0.0, 1.0))
            self.assertIsNone(metric.se)

    def test_the_rerun_error_needs_twice_k_completed_trials_of_each_case_counted(self) -> None:
        rows = suite_metrics([Counts(4, 2, 2), Counts(4, 1, 2)])
        self.assertIsNotNone(rows[0].hat.se)
        self.assertIsNone(rows[1].hat.se)

    def test_k_ends_at_the_smallest_plan_and_an_empty_suite_has_no_rows(self) -> None:
        self.assertEqual([row.k for row in suite_metrics([Counts(3, 1, 1), Counts(2, 1, 1)])], [1, 2])
        self.assertEqual(suite_metrics([]), ())
        self.assertEqual(coverage([]), Coverage(0, 0, 0, 0, 0, 0))


class ManyTrials(unittest.TestCase):
    def test_all_k_are_listed_up_to_a_bound_and_then_the_last(self) -> None:
        for trials, expected in ((EVERY_K, [*range(1, EVERY_K + 1)]), (EVERY_K + 1, [*range(1, EVERY_K + 2)]),
                                 (5 * EVERY_K, [*range(1, EVERY_K + 1), 5 * EVERY_K])):
            with self.subTest(trials=trials):
                self.assertEqual([row.k for row in suite_metrics([Counts(trials, trials - 1, 1)])], expected)

    def test_some_k_alone_are_what_they_are_among_all(self) -> None:
        suite = random_suite(31, cases=9, trials=40)
        rows = suite_metrics(suite)
        for ks in ((1,), (2, 3, 5, 6, 20, 40), (39,)):
            with self.subTest(ks=ks):
                self.assertEqual(suite_metrics(suite, ks), tuple(rows[k - 1] for k in ks))

    def test_long_values_are_rounded_as_the_exact_ones_are(self) -> None:
        suite = [*random_suite(32, cases=5, trials=300), Counts(300, 299, 1), Counts(300, 150, 150)]
        for k in (1, 2, 40, 120, 149, 250, 300):
            (row,) = suite_metrics(suite, ks=(k,))
            for metric, exact in ((row.at, by_definition(suite, k, at=True)),
                                  (row.hat, by_definition(suite, k, at=False))):
                with self.subTest(k=k):
                    self.assertEqual([figure(value) for value in (metric.worst, metric.completed, metric.best)],
                                     [figure(value) for value in (exact.worst, exact.completed, exact.best)])
                    self.assertEqual((metric.low, metric.high, metric.se), (exact.low, exact.high, exact.se))
                    self.assertLess(metric.worst.denominator, 10**62)


class ShortValues(unittest.TestCase):
    def test_a_short_fraction_is_exact_and_a_long_one_that_ends_early_too(self) -> None:
        long = 7**100
        for numerator, denominator in ((0, 1), (1, 3), (2, 6), (10**60 - 1, 10**60), (0, long), (long, long),
                                       (long, 8 * long), (3 * long, 10**9 * long)):
            with self.subTest(numerator=numerator, denominator=denominator):
                self.assertEqual(shortened(numerator, denominator), Fraction(numerator, denominator))

    def test_no_rounding_goes_another_way_however_near_a_value_is_to_a_tie(self) -> None:
        little = Fraction(1, 7**100)
        for tie in (Fraction(0), Fraction(5, 10**7), Fraction(25, 10**3), Fraction(1, 2), Fraction(9999995, 10**7)):
            for exact in (tie + little, tie, 1 - little, *([tie - little] if tie else [])):
                with self.subTest(tie=tie, side=exact - tie):
                    short = shortened(exact.numerator, exact.denominator)
                    for digits in range(20):
                        self.assertEqual(round(short, digits), round(exact, digits))
                    self.assertEqual((short > 0, short < 1, short > tie), (exact > 0, exact < 1, exact > tie))


class Speed(unittest.TestCase):
    def test_a_thousand_cases_of_a_thousand_trials_with_losses_take_little_for_each_k(self) -> None:
        rng = random.Random(22)
        suite = [Counts(1000, passed, rng.randint(960, 1000) - passed) for passed in rng.choices(range(960), k=1000)]
        start = time.process_time()
        rows = suite_metrics(suite, range(1, 101))
        self.assertLess(time.process_time() - start, 2)
        self.assertEqual(len(rows), 100)

    def test_a_hundred_thousand_cases_of_a_hundred_trials_take_far_less_than_two_seconds(self) -> None:
        suite = random_suite(21, cases=2000, trials=100) * 50
        start = time.process_time()
        rows = suite_metrics(suite)
        self.assertLess(time.process_time() - start, 2)
        self.assertEqual(len(rows), 100)
