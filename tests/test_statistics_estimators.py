"""One case, agreement of outputs and the rounding of figures, against the reference and brute force."""

from __future__ import annotations

import json
import math
import unittest
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import combinations, product

from benchkit.statistics import estimators
from benchkit.statistics.estimators import Counts, State, disagreement, equal_pairs_share, state
from benchkit.statistics.suites import SuiteMetric, suite_metrics
from tests.oracle import everything, reference

CHECKED = {
    *("pass_k", "pass_k_undefined_when_k_gt_n", "disagreement_2p1mp", "flakiness"),  # here
    "incomplete_bounds",  # in suites
    *("wilson", "case_wilson", "clopper_pearson", "confseq_beta_binomial"),  # in intervals
    *("z_quantile", "betainc", "paired_interval", "headline"),
    *("sign_flip_permutation", "sign_test_mcnemar", "within_case_label_permutation"),  # in paired
    *("holm", "ranking"),  # in ranking
    "quantile",  # in percentiles
    "digests",
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


def metrics_of(n: int, c: int, k: int) -> tuple[SuiteMetric, SuiteMetric]:
    """pass@k and pass^k of one case whose trials all completed."""
    (row,) = suite_metrics([Counts(n, c, n - c)], ks=(k,))
    return row.at, row.hat


class PassAtKAndPassHatK(unittest.TestCase):
    def test_every_reference_row_is_met_exactly_and_the_published_floats_closely(self) -> None:
        for row in reference("pass_k"):
            n, c, k = row["n"], row["c"], row["k"]
            with self.subTest(n=n, c=c, k=k):
                at, hat = metrics_of(n, c, k)
                self.assertEqual((at.worst, at.completed, at.best), (Fraction(row["pass_at_k"]),) * 3)
                self.assertEqual((hat.worst, hat.completed, hat.best), (Fraction(row["pass_hat_k"]),) * 3)
                variance = row["pass_hat_k_var"]
                self.assertEqual(hat.se, None if variance is None else math.sqrt(Fraction(variance)))
                self.assertAlmostEqual(float(at.worst), row["human_eval"], places=12)
                self.assertAlmostEqual(float(hat.worst), row["tau2"], places=12)
                self.assertEqual(round(at.worst, 12), Fraction(row["pass_at_k_12"]))
                self.assertEqual(round(hat.worst, 12), Fraction(row["pass_hat_k_12"]))

    def test_more_trials_than_completed_leave_both_undefined(self) -> None:
        for row in reference("pass_k_undefined_when_k_gt_n"):
            self.assertIsNone(row["ours"])
            (found,) = suite_metrics([Counts(row["k"], row["c"], row["n"] - row["c"])], ks=(row["k"],))
            self.assertEqual((None, None, 0), (found.at.completed, found.hat.completed, found.hat.completed_cases))

    def test_they_are_the_shares_of_all_subsets_with_a_pass_and_with_nothing_else(self) -> None:
        for n, c in SMALL:
            for k in range(1, n + 1):
                with self.subTest(n=n, c=c, k=k):
                    subsets = list(combinations([True] * c + [False] * (n - c), k))
                    self.assertEqual([Fraction(sum(map(one, subsets)), len(subsets)) for one in (any, all)],
                                     [metric.completed for metric in metrics_of(n, c, k)])

    def test_their_mean_over_all_outcomes_is_the_true_probability_and_the_variance_that_over_re_runs(self) -> None:
        rate, n = Fraction(9, 10), 4
        for k in range(1, n + 1):
            mean_at, mean_hat, mean_squared, mean_variance = (Fraction(0),) * 3 + (0.0,)
            for c in range(n + 1):
                weight = math.comb(n, c) * rate**c * (1 - rate) ** (n - c)
                at, hat = metrics_of(n, c, k)
                mean_at += weight * at.worst
                mean_hat += weight * hat.worst
                mean_squared += weight * hat.worst**2
                mean_variance += float(weight) * (hat.se or 0) ** 2
            with self.subTest(k=k):
                self.assertEqual((mean_hat, mean_at), (rate**k, 1 - (1 - rate) ** k))
                if 2 * k <= n:
                    self.assertAlmostEqual(mean_variance, float(mean_squared - rate ** (2 * k)), delta=1e-12)

    def test_pass_at_varies_as_pass_hat_does_for_fails_and_both_need_twice_k_trials(self) -> None:
        for n, c in SMALL:
            for k in range(1, n + 1):
                self.assertEqual(metrics_of(n, c, k)[0].se, metrics_of(n, n - c, k)[1].se)
                self.assertEqual(metrics_of(n, c, k)[0].se is None, 2 * k > n)


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
            (Counts(3, 3, 0), State.STABLE_PASS), (Counts(3, 0, 3), State.STABLE_FAIL),
            (Counts(2, 2, 0), State.STABLE_PASS), (Counts(3, 2, 1), State.FLAKY), (Counts(9, 1, 1), State.FLAKY),
            (Counts(3, 2, 0), State.POSSIBLY_FLAKY), (Counts(3, 0, 1), State.POSSIBLY_FLAKY),
            (Counts(1, 1, 0), State.ONE_TRIAL), (Counts(1, 0, 1), State.ONE_TRIAL), (Counts(3, 0, 0), State.NO_DATA),
            (Counts(1, 0, 0), State.NO_DATA)]
        for counts, expected in table:
            with self.subTest(counts=counts):
                self.assertEqual(state(counts), expected)

    def test_a_stable_state_cannot_be_undone_by_what_is_incomplete(self) -> None:
        for planned in range(1, 6):
            for passed, failed in ((p, f) for p in range(planned + 1) for f in range(planned + 1 - p)):
                counts = Counts(planned, passed, failed)
                endings = [state(Counts(planned, passed + more, planned - passed - more))
                           for more in range(counts.incomplete + 1)]
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
                self.assertLessEqual(estimators.looks_stable_share(row["n"], rate), Fraction(1, 20))
                self.assertGreater(estimators.looks_stable_share(row["n"] - 1, rate), Fraction(1, 20))

    def test_a_flake_of_one_in_ten_looks_stable_in_over_a_third_of_runs_of_ten(self) -> None:
        share = estimators.looks_stable_share(10, Fraction(1, 10))
        self.assertEqual(share, Fraction(9**10 + 1, 10**10))
        self.assertEqual(estimators.looks_stable_share(1, Fraction(1, 10)), 1)


class InsideACase(unittest.TestCase):
    def test_every_reference_row_of_equal_pairs(self) -> None:
        for row in reference("digests")["collision"]:
            outputs = [kind for kind, count in enumerate(row["counts"]) for _ in range(count)]
            with self.subTest(counts=row["counts"]):
                self.assertEqual(equal_pairs_share(outputs), Fraction(row["value"]))

    def test_it_is_the_share_of_pairs_that_are_equal(self) -> None:
        for outputs in product("abc", repeat=4):
            pairs = list(combinations(outputs, 2))
            self.assertEqual(equal_pairs_share(outputs), Fraction(sum(a == b for a, b in pairs), len(pairs)))
        self.assertEqual(equal_pairs_share(Counter("aab")), equal_pairs_share("aab"))
        self.assertEqual((None, None), (equal_pairs_share([]), equal_pairs_share(["a"])))

    def test_a_recording_agrees_with_itself_as_its_cases_do_on_average(self) -> None:
        for cases, share in (([["a", "a"], ["a", "b"], ["a"], []], Fraction(1, 2)), ([["a"], []], None)):
            self.assertEqual(estimators.mean_share(map(equal_pairs_share, cases)), share)

    def test_a_mean_is_over_the_shares_that_there_are(self) -> None:
        self.assertEqual(estimators.mean_share([Fraction(1), None, Fraction(1, 2)]), Fraction(3, 4))
        self.assertIsNone(estimators.mean_share([None]))


class BetweenRecordings(unittest.TestCase):
    def test_every_reference_row_of_where_texts_part(self) -> None:
        for row in reference("digests")["first_divergence"]:
            with self.subTest(row=row):
                self.assertEqual(estimators.parting_index(row["a"], row["b"]), row["i"])
                self.assertEqual(estimators.parting_index(row["b"], row["a"]), row["i"])

    def test_a_share_is_of_what_could_be_compared_and_none_of_nothing(self) -> None:
        self.assertEqual(Fraction(1, 3), estimators.Agreement(compared=3, equal=1, first_difference=("c1", 2)).share)
        self.assertIsNone(estimators.Agreement(0, 0, None).share)


class Figures(unittest.TestCase):
    def test_ties_go_to_the_even_digit(self) -> None:
        for value, expected in ((Fraction(0), 0.0), (Fraction(15, 10**7), 0.000002), (Fraction(25, 10**7), 0.000002),
                                (Fraction(-25, 10**7), -0.000002), (Fraction(2, 3), 0.666667), (Fraction(1), 1.0)):
            with self.subTest(value=value):
                self.assertEqual(estimators.figure(value), expected)

    def test_a_fraction_is_rounded_exactly_and_not_as_the_nearest_float(self) -> None:
        for numerator in range(0, 4000, 7):
            value = Fraction(numerator, 1999)
            quotient = Decimal(numerator) / Decimal(1999)
            self.assertEqual(estimators.figure(value), float(quotient.quantize(Decimal("1e-6"), ROUND_HALF_EVEN)))
        just_above_a_tie = Fraction(5, 10**7) + Fraction(1, 10**40)
        self.assertEqual(estimators.figure(just_above_a_tie), 0.000001)

    def test_floats_and_nothing_pass_through(self) -> None:
        self.assertEqual(estimators.figure(0.1234565), 0.123456)  # the float lies just below the tie
        self.assertIsNone(estimators.figure(None))

    def test_it_prints_at_most_six_digits_in_json(self) -> None:
        for numerator in range(200):
            printed = json.dumps(estimators.figure(Fraction(numerator, 199)))
            self.assertLessEqual(len(printed.partition(".")[2]), 6)

    def test_what_is_no_number_is_no_figure(self) -> None:
        for value in (float("nan"), float("inf")):
            with self.assertRaises((ValueError, OverflowError)):
                estimators.figure(value)
