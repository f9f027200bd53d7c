"""Agreement of outputs inside a case and between recordings, and the rounding of figures."""

from __future__ import annotations

import json
import unittest
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import combinations, product

from benchkit.statistics.estimators import (
    Agreement,
    equal_pairs_share,
    figure,
    mean_share,
    parting_index,
)
from tests.oracle import reference


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

    def test_fewer_than_two_outputs_have_no_pairs(self) -> None:
        self.assertIsNone(equal_pairs_share([]))
        self.assertIsNone(equal_pairs_share(["a"]))

    def test_a_recording_agrees_with_itself_as_its_cases_do_on_average(self) -> None:
        for cases, share in (([["a", "a"], ["a", "b"], ["a"], []], Fraction(1, 2)), ([["a"], []], None)):
            self.assertEqual(mean_share(map(equal_pairs_share, cases)), share)

    def test_a_mean_is_over_the_shares_that_there_are(self) -> None:
        self.assertEqual(mean_share([Fraction(1), None, Fraction(1, 2)]), Fraction(3, 4))
        self.assertIsNone(mean_share([None]))

    def test_outputs_can_come_as_counts_of_equal_ones(self) -> None:
        self.assertEqual(equal_pairs_share(Counter("aab")), equal_pairs_share("aab"))


class BetweenRecordings(unittest.TestCase):
    def test_every_reference_row_of_where_texts_part(self) -> None:
        for row in reference("digests")["first_divergence"]:
            with self.subTest(row=row):
                self.assertEqual(parting_index(row["a"], row["b"]), row["i"])
                self.assertEqual(parting_index(row["b"], row["a"]), row["i"])

    def test_a_share_is_of_what_could_be_compared_and_none_of_nothing(self) -> None:
        self.assertEqual(Fraction(1, 3), Agreement(compared=3, equal=1, first_difference=("c1", 2)).share)
        self.assertIsNone(Agreement(0, 0, None).share)


class Figures(unittest.TestCase):
    def test_ties_go_to_the_even_digit(self) -> None:
        table = [
            (Fraction(0), 0.0),
            (Fraction(15, 10**7), 0.000002),
            (Fraction(25, 10**7), 0.000002),
            (Fraction(-25, 10**7), -0.000002),
            (Fraction(2, 3), 0.666667),
            (Fraction(1), 1.0),
        ]
        for value, expected in table:
            with self.subTest(value=value):
                self.assertEqual(figure(value), expected)

    def test_a_fraction_is_rounded_exactly_and_not_as_the_nearest_float(self) -> None:
        for numerator in range(0, 4000, 7):
            value = Fraction(numerator, 1999)
            quotient = Decimal(numerator) / Decimal(1999)
            self.assertEqual(figure(value), float(quotient.quantize(Decimal("1e-6"), ROUND_HALF_EVEN)))
        just_above_a_tie = Fraction(5, 10**7) + Fraction(1, 10**40)
        self.assertEqual(figure(just_above_a_tie), 0.000001)

    def test_floats_and_nothing_pass_through(self) -> None:
        self.assertEqual(figure(0.1234565), 0.123456)  # the float lies just below the tie
        self.assertIsNone(figure(None))

    def test_it_prints_at_most_six_digits_in_json(self) -> None:
        for numerator in range(200):
            printed = json.dumps(figure(Fraction(numerator, 199)))
            self.assertLessEqual(len(printed.partition(".")[2]), 6)

    def test_what_is_no_number_is_no_figure(self) -> None:
        for value in (float("nan"), float("inf")):
            with self.assertRaises((ValueError, OverflowError)):
                figure(value)
