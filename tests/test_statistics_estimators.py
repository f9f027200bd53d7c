"""One case: pass@k, pass^k, disagreement, variance, state and flakes, against the reference and brute force."""

from __future__ import annotations

import unittest
from fractions import Fraction
from itertools import combinations, product

from benchkit.statistics.estimators import (
    Counts,
    State,
    disagreement,
    looks_stable_share,
    pass_at_k,
    pass_at_k_variance,
    pass_hat_k,
    pass_hat_k_variance,
    state,
)
from tests.oracle import everything, reference

CHECKED = {
    *("pass_k", "pass_k_undefined_when_k_gt_n", "disagreement_2p1mp", "flakiness"),  # here
    "incomplete_bounds",  # in suites
    *("wilson", "case_wilson", "clopper_pearson", "confseq_beta_binomial"),  # in intervals
    *("z_quantile", "betainc", "paired_interval", "headline"),
    *("sign_flip_permutation", "sign_test_mcnemar", "within_case_label_permutation"),  # in paired
    *("holm", "ranking"),  # in ranking
    "quantile",  # in percentiles
    "digests",  # in agreement
}
FOREIGN = {
    "about",  # the versions of the sources
    "t_quantile",  # no interval here rests on Student's t: they cover too rarely at few cases
    "bootstrap",  # nor on resampling
}
SMALL = [(n, c) for n in range(1, 7) for c in range(n + 1)]


class TheReference(unittest.TestCase):
    def test_every_section_is_checked_or_named_as_foreign(self) -> None:
        self.assertEqual(set(everything()), CHECKED | FOREIGN)


class PassAtKAndPassHatK(unittest.TestCase):
    def test_every_reference_row_is_met_exactly_and_the_published_floats_closely(self) -> None:
        for row in reference("pass_k"):
            n, c, k = row["n"], row["c"], row["k"]
            with self.subTest(n=n, c=c, k=k):
                at, hat, variance = pass_at_k(n, c, k), pass_hat_k(n, c, k), pass_hat_k_variance(n, c, k)
                self.assertEqual(at, Fraction(row["pass_at_k"]))
                self.assertEqual(hat, Fraction(row["pass_hat_k"]))
                expected = row["pass_hat_k_var"]
                self.assertEqual(variance, None if expected is None else Fraction(expected))
                assert at is not None
                assert hat is not None
                self.assertAlmostEqual(float(at), row["human_eval"], places=12)
                self.assertAlmostEqual(float(hat), row["tau2"], places=12)
                self.assertEqual(round(at, 12), Fraction(row["pass_at_k_12"]))
                self.assertEqual(round(hat, 12), Fraction(row["pass_hat_k_12"]))

    def test_more_trials_than_completed_leave_both_undefined(self) -> None:
        for row in reference("pass_k_undefined_when_k_gt_n"):
            self.assertIsNone(row["ours"])
            self.assertIsNone(pass_at_k(row["n"], row["c"], row["k"]))
            self.assertIsNone(pass_hat_k(row["n"], row["c"], row["k"]))
        self.assertIsNone(pass_hat_k(0, 0, 1))

    def test_they_are_the_shares_of_all_subsets_with_a_pass_and_with_nothing_else(self) -> None:
        for n, c in SMALL:
            outcomes = [True] * c + [False] * (n - c)
            for k in range(1, n + 1):
                with self.subTest(n=n, c=c, k=k):
                    subsets = list(combinations(outcomes, k))
                    self.assertEqual(pass_at_k(n, c, k), Fraction(sum(map(any, subsets)), len(subsets)))
                    self.assertEqual(pass_hat_k(n, c, k), Fraction(sum(map(all, subsets)), len(subsets)))

    def test_pass_hat_falls_and_pass_at_grows_with_k_from_the_pass_rate_to_all_and_any(self) -> None:
        for n, c in SMALL:
            with self.subTest(n=n, c=c):
                at = [pass_at_k(n, c, k) or Fraction(0) for k in range(1, n + 1)]
                hat = [pass_hat_k(n, c, k) or Fraction(0) for k in range(1, n + 1)]
                self.assertEqual(at, sorted(at))
                self.assertEqual(hat, sorted(hat, reverse=True))
                self.assertEqual((at[0], hat[0]), (Fraction(c, n), Fraction(c, n)))
                self.assertEqual((at[-1], hat[-1]), (c > 0, c == n))

    def test_their_mean_over_all_outcomes_is_the_true_probability(self) -> None:
        rate, n = Fraction(9, 10), 4
        for k in range(1, n + 1):
            expected = {"at": Fraction(0), "hat": Fraction(0), "variance": Fraction(0), "squared": Fraction(0)}
            for outcome in product((True, False), repeat=n):
                c = sum(outcome)
                weight = rate**c * (1 - rate) ** (n - c)
                hat = pass_hat_k(n, c, k) or Fraction(0)
                expected["at"] += weight * (pass_at_k(n, c, k) or 0)
                expected["hat"] += weight * hat
                expected["squared"] += weight * hat**2
                expected["variance"] += weight * (pass_hat_k_variance(n, c, k) or 0)
            with self.subTest(k=k):
                self.assertEqual(expected["hat"], rate**k)
                self.assertEqual(expected["at"], 1 - (1 - rate) ** k)
                if 2 * k <= n:
                    self.assertEqual(expected["variance"], expected["squared"] - rate ** (2 * k))

    def test_impossible_counts_are_refused(self) -> None:
        for n, c, k in ((3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, -2)):
            with self.subTest(n=n, c=c, k=k), self.assertRaises(ValueError):
                pass_at_k(n, c, k)

    def test_variance_of_pass_at_is_that_of_pass_hat_for_fails_and_never_negative(self) -> None:
        for n, c in SMALL:
            for k in range(1, n + 1):
                variance = pass_at_k_variance(n, c, k)
                self.assertEqual(variance, pass_hat_k_variance(n, n - c, k))
                self.assertEqual(variance is None, 2 * k > n)
                self.assertGreaterEqual(variance or 0, 0)


class Disagreement(unittest.TestCase):
    def test_every_reference_row_is_met_exactly(self) -> None:
        for row in reference("disagreement_2p1mp"):
            with self.subTest(n=row["n"], c=row["c"]):
                value = disagreement(row["n"], row["c"])
                self.assertEqual(value, Fraction(row["value"]))
                self.assertEqual(round(value or Fraction(0), 12), Fraction(row["value_12"]))

    def test_it_is_the_share_of_unequal_pairs_and_needs_two_trials(self) -> None:
        for n, c in SMALL:
            pairs = list(combinations([True] * c + [False] * (n - c), 2))
            expected = Fraction(sum(a != b for a, b in pairs), len(pairs)) if pairs else None
            self.assertEqual(disagreement(n, c), expected)
        self.assertIsNone(disagreement(0, 0))


class CountsOfACase(unittest.TestCase):
    def test_what_neither_passed_nor_failed_is_incomplete(self) -> None:
        counts = Counts(planned=10, passed=3, failed=2)
        self.assertEqual((counts.completed, counts.incomplete, counts.most_passed), (5, 5, 8))

    def test_counts_that_cannot_be_are_refused(self) -> None:
        for planned, passed, failed in ((3, 2, 2), (3, -1, 2), (3, 1, -1), (-1, 0, 0)):
            with self.subTest(planned=planned, passed=passed, failed=failed), self.assertRaises(ValueError):
                Counts(planned, passed, failed)

    def test_states(self) -> None:
        table = [
            (Counts(3, 3, 0), State.STABLE_PASS),
            (Counts(3, 0, 3), State.STABLE_FAIL),
            (Counts(2, 2, 0), State.STABLE_PASS),
            (Counts(3, 2, 1), State.FLAKY),
            (Counts(9, 1, 1), State.FLAKY),
            (Counts(3, 2, 0), State.POSSIBLY_FLAKY),
            (Counts(3, 0, 1), State.POSSIBLY_FLAKY),
            (Counts(1, 1, 0), State.ONE_TRIAL),
            (Counts(1, 0, 1), State.ONE_TRIAL),
            (Counts(3, 0, 0), State.NO_DATA),
            (Counts(1, 0, 0), State.NO_DATA),
        ]
        for counts, expected in table:
            with self.subTest(counts=counts):
                self.assertEqual(state(counts), expected)

    def test_a_stable_state_cannot_be_undone_by_what_is_incomplete(self) -> None:
        for planned in range(1, 6):
            for passed, failed in ((p, f) for p in range(planned + 1) for f in range(planned + 1 - p)):
                counts = Counts(planned, passed, failed)
                endings = [
                    state(Counts(planned, passed + more, planned - passed - more))
                    for more in range(counts.incomplete + 1)
                ]
                if state(counts) in (State.STABLE_PASS, State.STABLE_FAIL, State.FLAKY, State.ONE_TRIAL):
                    self.assertEqual(set(endings), {state(counts)})
                elif state(counts) == State.POSSIBLY_FLAKY:
                    self.assertIn(State.FLAKY, endings)

    def test_the_words_of_the_states_are_those_of_the_report(self) -> None:
        words = ["stable pass", "stable fail", "flaky", "possibly flaky", "one trial", "no data"]
        self.assertEqual([str(one) for one in State], words)


class Flakes(unittest.TestCase):
    """Of the reference's section, the two posterior tables are foreign: no prior is put on cases here."""

    def test_every_reference_row_of_how_many_trials_show_both_verdicts(self) -> None:
        for row in reference("flakiness")["trials_to_see_both_95"]:
            with self.subTest(q=row["q"]):
                rate = Fraction(str(row["q"]))
                self.assertLessEqual(looks_stable_share(row["n"], rate), Fraction(1, 20))
                self.assertGreater(looks_stable_share(row["n"] - 1, rate), Fraction(1, 20))

    def test_a_flake_of_one_in_ten_looks_stable_in_over_a_third_of_runs_of_ten(self) -> None:
        share = looks_stable_share(10, Fraction(1, 10))
        self.assertEqual(share, Fraction(9**10 + 1, 10**10))
        self.assertEqual(looks_stable_share(1, Fraction(1, 10)), 1)
        with self.assertRaises(ValueError):
            looks_stable_share(0, Fraction(1, 10))
