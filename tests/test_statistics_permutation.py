"""Paired comparisons and the sums beneath them: against scipy and statsmodels, and every arrangement counted."""

from __future__ import annotations

import math
import random
import time
import unittest
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import Interval
from benchkit.statistics.permutation import (
    LARGEST_LATTICE,
    LEAST_ABOUT,
    About,
    PairedCounts,
    Term,
    difference_bounds,
    fewest_differing,
    label_permutation_p,
    mean,
    on_lattice,
    pass_rate_differences,
    same_within,
    sign_flip_p,
    smallest_sign_flip_p,
    two_sided_tail,
)
from tests.oracle import reference

NO_WORK = -1

def fractions(values: Sequence[str]) -> list[Fraction]:
    return [Fraction(value) for value in values]


def whole_pair(first_trials: int, first_passed: int, second_trials: int, second_passed: int) -> PairedCounts:
    return PairedCounts(Counts(first_trials, first_passed, first_trials - first_passed),
                        Counts(second_trials, second_passed, second_trials - second_passed))


def every_sign_pattern(differences: Sequence[Fraction]) -> Fraction:
    # over one denominator they are whole numbers, which are as exact as fractions and 20 times as fast
    denominator = math.lcm(*(value.denominator for value in differences))
    whole = [int(value * denominator) for value in differences]
    sums = [abs(sum(signed)) for signed in product(*((value, -value) for value in whole))]
    observed = abs(sum(whole))
    return Fraction(sum(value >= observed for value in sums), len(sums))


def every_relabelling(pairs: Sequence[PairedCounts]) -> Fraction:
    def of_case(pair: PairedCounts) -> Iterator[Fraction]:
        outcomes = [1] * pair.first.passed + [0] * pair.first.failed
        outcomes += [1] * pair.second.passed + [0] * pair.second.failed
        for chosen in combinations(range(len(outcomes)), pair.first.completed):
            passed = sum(outcomes[i] for i in chosen)
            yield Fraction(passed, pair.first.completed) - Fraction(sum(outcomes) - passed, pair.second.completed)

    observed = abs(sum((pair.difference for pair in pairs), Fraction(0)))
    sums = [abs(sum(values, Fraction(0))) for values in product(*(list(of_case(pair)) for pair in pairs))]
    return Fraction(sum(value >= observed for value in sums), len(sums))


def random_differences(seed: int, cases: int, trials: int) -> list[Fraction]:
    rng = random.Random(seed)
    return [Fraction(int(rng.random() * (2 * trials + 1)) - trials, trials) for _ in range(cases)]


def random_pairs(seed: int, cases: int, most_trials: int) -> list[PairedCounts]:
    rng = random.Random(seed)
    pairs = []
    for _ in range(cases):
        first, second = rng.randint(1, most_trials), rng.randint(1, most_trials)
        pairs.append(whole_pair(first, rng.randint(0, first), second, rng.randint(0, second)))
    return pairs


class SignFlip(unittest.TestCase):
    def test_every_reference_row_is_met_exactly(self) -> None:
        for row in reference("sign_flip_permutation"):
            with self.subTest(d=row["d"]):
                p = sign_flip_p(fractions(row["d"]))
                self.assertEqual(p, Fraction(row["p_exact"]))
                self.assertEqual(round(p, 12), Fraction(row["p_12"]))
                self.assertAlmostEqual(float(p), row["scipy_permutation_test"], delta=1e-12)

    def test_with_one_trial_a_case_it_is_the_exact_sign_test(self) -> None:
        for row in reference("sign_test_mcnemar"):
            with self.subTest(row=row):
                p = sign_flip_p([Fraction(1)] * row["wins"] + [Fraction(-1)] * row["losses"] + [Fraction(0)] * 3)
                self.assertEqual(p, Fraction(row["p_exact"]))
                self.assertAlmostEqual(float(p), row["statsmodels_mcnemar_exact"], delta=1e-12)

    def test_it_counts_every_sign_pattern_of_random_small_suites(self) -> None:
        for seed in range(40):
            differences = random_differences(seed, cases=seed % 10, trials=1 + seed % 7)
            differences += [Fraction(seed % 3, 7)]
            with self.subTest(seed=seed):
                self.assertEqual(sign_flip_p(differences), every_sign_pattern(differences))

    def test_order_sides_and_scale_change_nothing(self) -> None:
        differences = random_differences(3, cases=30, trials=10)
        p = sign_flip_p(differences)
        self.assertEqual(p, sign_flip_p(differences[::-1]))
        self.assertEqual(p, sign_flip_p([-value for value in differences]))
        self.assertEqual(p, sign_flip_p([value / 3 for value in differences]))

    def test_where_nothing_differs_p_is_one(self) -> None:
        self.assertEqual(sign_flip_p([]), 1)
        self.assertEqual(sign_flip_p([Fraction(0)] * 9), 1)

    def test_the_smallest_p_is_that_of_differences_all_one_way(self) -> None:
        for changed in range(9):
            differences = [Fraction(1, 2)] * changed + [Fraction(0)] * 4
            self.assertEqual(smallest_sign_flip_p(differences), sign_flip_p(differences))
        fewest = fewest_differing(Fraction(1, 20)) or 0
        self.assertEqual(6, fewest)
        below, reached = (smallest_sign_flip_p([Fraction(1)] * cases) for cases in (fewest - 1, fewest))
        self.assertTrue(reached < Fraction(1, 20) < below)

    def test_a_thousand_cases_of_ten_trials_take_less_than_a_second_and_are_exact(self) -> None:
        differences = random_differences(5, cases=1000, trials=10)
        start = time.process_time()
        p = sign_flip_p(differences)
        self.assertLess(time.process_time() - start, 1)
        changed = sum(value != 0 for value in differences)
        self.assertEqual(2**changed % p.denominator, 0)


class LabelPermutation(unittest.TestCase):
    def test_every_reference_row_is_met_exactly(self) -> None:
        for row in reference("within_case_label_permutation"):
            with self.subTest(row=row):
                p = label_permutation_p([whole_pair(*case) for case in row["cases_na_ca_nb_cb"]])
                self.assertEqual(p, Fraction(row["p_exact"]))
                self.assertEqual(round(p, 12), Fraction(row["p_12"]))
                if "fisher_exact_scipy" in row:
                    self.assertAlmostEqual(float(p), row["fisher_exact_scipy"], delta=1e-12)

    def test_it_counts_every_relabelling_of_random_small_suites(self) -> None:
        for seed in range(40):
            pairs = random_pairs(seed, cases=1 + seed % 3, most_trials=4)
            with self.subTest(seed=seed):
                self.assertEqual(label_permutation_p(pairs), every_relabelling(pairs))

    def test_cases_in_which_a_side_completed_nothing_are_left_out(self) -> None:
        pairs = [whole_pair(3, 3, 3, 1), PairedCounts(Counts(3, 3, 0), Counts(3, 0, 0))]
        self.assertEqual(label_permutation_p(pairs), label_permutation_p(pairs[:1]))
        self.assertEqual(label_permutation_p(pairs[1:]), 1)
        self.assertEqual(label_permutation_p([]), 1)


class SumsAbout(unittest.TestCase):
    """Beyond a size the exact convolution is out of reach; what stands in for it must be near where both can run."""

    def assert_near(self, exact: Fraction, about: Fraction, delta: float) -> None:
        self.assertEqual((Fraction, About), (type(exact), type(about)))
        self.assertAlmostEqual(float(exact), float(about), delta=delta)

    def test_it_is_near_the_convolution_the_nearer_the_more_cases_there_are(self) -> None:
        for cases, trials, delta in ((100, 10, 4e-3), (400, 10, 1e-3), (1000, 10, 4e-4), (400, 1, 2e-5)):
            for seed in range(2):
                with self.subTest(cases=cases, trials=trials, seed=seed):
                    differences = random_differences(seed, cases, trials)
                    self.assert_near(sign_flip_p(differences), sign_flip_p(differences, NO_WORK), delta)

    def test_it_is_near_where_labels_are_exchanged_within_cases(self) -> None:
        for seed in range(2):
            pairs = random_pairs(seed, cases=60, most_trials=9)
            with self.subTest(seed=seed):
                self.assert_near(label_permutation_p(pairs), label_permutation_p(pairs, NO_WORK), 4e-3)

    def test_a_few_cases_that_decide_among_many_that_hardly_differ_are_enumerated(self) -> None:
        # taken for normal, five of one sign would have p .026
        for large in range(3, 10):
            differences = [Fraction(1)] * large + [Fraction((-1) ** number, 50) for number in range(100)]
            with self.subTest(large=large):
                self.assert_near(sign_flip_p(differences), sign_flip_p(differences, NO_WORK), 2e-3)

    def test_a_sum_of_a_few_terms_is_enumerated_whole(self) -> None:
        for seed in range(40):
            rng = random.Random(seed)
            terms = [Term(rng.randint(1, 9), tuple(rng.randint(1, 20) for _ in range(rng.randint(2, 5))))
                     for _ in range(rng.randint(1, 4))]
            observed = rng.randint(0, sum(term.reach for term in terms))
            with self.subTest(seed=seed):
                self.assertAlmostEqual(float(two_sided_tail(terms, observed)),
                                       float(two_sided_tail(terms, observed, NO_WORK)), delta=1e-12)

    def test_none_is_smaller_than_a_millionth_or_larger_than_one(self) -> None:
        self.assertEqual(LEAST_ABOUT, sign_flip_p([Fraction(1)] * 100, NO_WORK))
        for ahead in range(51, 60):
            p = sign_flip_p([Fraction(1)] * ahead + [Fraction(-1)] * (100 - ahead), NO_WORK)
            self.assertTrue(0 < p <= 1, (ahead, p))

    def test_ten_thousand_cases_and_cases_of_a_thousand_trials_are_quick(self) -> None:
        rng = random.Random(5)
        pairs = [whole_pair(rng.randint(990, 1000), passed, rng.randint(990, 1000), max(0, passed - rng.randint(-9, 9)))
                 for passed in range(0, 1000, 50)]
        start = time.process_time()
        found = (label_permutation_p(pairs), sign_flip_p(random_differences(7, cases=10_000, trials=10)))
        self.assertLess(time.process_time() - start, 2)
        self.assertEqual([About, About], [type(p) for p in found])

    def test_unlike_denominators_are_rounded_to_a_lattice_that_changes_p_little(self) -> None:
        values = [Fraction(numerator, prime) for prime in (89, 97, 83, 79) for numerator in (1, 5, 9, -4)]
        self.assertGreater(sum(map(abs, on_lattice(values, [1] * 16))), 0)
        self.assertLessEqual(sum(map(abs, on_lattice(values, [1] * 16))), LARGEST_LATTICE + 16)
        self.assertAlmostEqual(float(sign_flip_p(values)), float(every_sign_pattern(values)), delta=1e-3)

    def test_a_lattice_keeps_proportions_and_is_as_small_as_can_be(self) -> None:
        self.assertEqual(on_lattice(fractions(["1/3", "-2/3", "4/3"]), [1, 1, 1]), [1, -2, 4])
        self.assertEqual(on_lattice(fractions(["1/2", "1/3"]), [1, 1]), [3, 2])
        self.assertEqual(on_lattice([], []), [])


class IncompleteTrials(unittest.TestCase):
    def test_the_bounds_are_the_worst_of_one_against_the_best_of_the_other(self) -> None:
        pairs = [PairedCounts(Counts(4, 2, 1), Counts(4, 1, 1)), PairedCounts(Counts(4, 4, 0), Counts(4, 0, 4))]
        self.assertEqual(difference_bounds(pairs), Interval((0.5 - 0.75 + 1) / 2, (0.75 - 0.25 + 1) / 2))
        self.assertIsNone(difference_bounds([]))

    def test_the_bounds_hold_whatever_the_incomplete_trials_would_have_given(self) -> None:
        pair = PairedCounts(Counts(3, 1, 1), Counts(3, 0, 1))
        bounds = difference_bounds([pair])
        assert bounds is not None
        ends = [Fraction(1 + first, 3) - Fraction(second, 3) for first, second in product(range(2), range(3))]
        self.assertEqual((bounds.low, bounds.high), (float(min(ends)), float(max(ends))))

    def test_differences_are_of_completed_trials_and_of_cases_both_sides_have(self) -> None:
        pairs = [PairedCounts(Counts(4, 2, 1), Counts(4, 1, 1)), PairedCounts(Counts(4, 4, 0), Counts(4, 0, 0))]
        self.assertEqual(pass_rate_differences(pairs), [Fraction(1, 6)])
        self.assertEqual(mean([Fraction(1, 6), Fraction(1, 3)]), Fraction(1, 4))
        self.assertIsNone(mean([]))


class Decisions(unittest.TestCase):
    def test_same_within_a_margin_means_the_whole_interval(self) -> None:
        self.assertTrue(same_within(Interval(-0.05, 0.05), Fraction(1, 20) + Fraction(1, 1000)))
        self.assertFalse(same_within(Interval(-0.06, 0.01), 0.05))
        self.assertFalse(same_within(Interval(-0.01, 0.06), 0.05))
