"""Holm's correction and rank sets, against the reference and by hand."""

from __future__ import annotations

import random
import unittest
from fractions import Fraction

from benchkit.statistics.permutation import About, OpenValue, mean
from benchkit.statistics.ranking import PairTest, RankSet, holm, open_pair_tests, rank_sets
from tests.oracle import reference


def systems_of_the_reference() -> dict[str, dict[str, Fraction]]:
    return {
        name: {f"case {i}": Fraction(value) for i, value in enumerate(values)}
        for name, values in reference("ranking")["models"].items()
    }


def pair_tests(systems: dict[str, dict[str, Fraction]]) -> list[PairTest]:
    return open_pair_tests({name: {case: OpenValue(value, value, value) for case, value in values.items()}
                            for name, values in systems.items()})


class Holm(unittest.TestCase):
    def test_every_reference_row(self) -> None:
        for row in reference("holm"):
            with self.subTest(p=row["p"]):
                adjusted = holm([Fraction(str(p)) for p in row["p"]])
                for ours, expected in zip(adjusted, row["adjusted"], strict=True):
                    self.assertAlmostEqual(float(ours), expected, delta=1e-15)

    def test_it_never_makes_p_smaller_nor_changes_its_order(self) -> None:
        rng = random.Random(4)
        for size in (0, 1, 2, 7):
            p_values = [Fraction(rng.randint(0, 1000), 1000) for _ in range(size)]
            adjusted = holm(p_values)
            self.assertTrue(all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True)))
            in_order = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
            self.assertEqual(in_order, sorted(adjusted))

    def test_what_was_approximated_stays_so_and_what_was_not_is_exact(self) -> None:
        exact, about = Fraction, About
        for p_values, types in (((exact(1, 100), about(1, 50)), [exact, about]), ((about(1, 50),), [about]),
                                ((exact(3, 100), about(1, 50)), [about, about]),
                                ((exact(9, 100), about(1, 50)), [exact, about])):
            with self.subTest(p_values=p_values):
                self.assertEqual(types, [type(p) for p in holm(p_values)])
                self.assertEqual(holm([Fraction(p) for p in p_values]), holm(p_values))


class Ranks(unittest.TestCase):

    def test_the_reference_ranks_and_means(self) -> None:
        systems = systems_of_the_reference()
        ranks = rank_sets(list(systems), pair_tests(systems))
        for name, row in reference("ranking")["result"].items():
            with self.subTest(name=name):
                self.assertEqual(ranks[name], RankSet(row["rank_lo"], row["rank_hi"]))
                self.assertTrue(ranks[name].best <= row["rank"] <= ranks[name].worst)
                self.assertEqual(mean(list(systems[name].values())), Fraction(row["mean"]))

    def test_ties_are_shown_as_a_range(self) -> None:
        self.assertEqual(str(RankSet(2, 3)), "2-3")
        self.assertEqual(str(RankSet(2, 2)), "2")

    def test_a_lone_system_is_first(self) -> None:
        lone = {"alone": {"case": Fraction(1)}}
        self.assertEqual(rank_sets(["alone"], pair_tests(lone)), {"alone": RankSet(1, 1)})

    def test_systems_without_a_common_case_cannot_be_told_apart(self) -> None:
        systems = {"one": {"a": Fraction(1)}, "other": {"b": Fraction(0)}}
        tests = pair_tests(systems)
        self.assertEqual(tests, [PairTest("one", "other", None, Fraction(1), Fraction(1))])
        self.assertEqual(rank_sets(["one", "other"], tests)["one"], RankSet(1, 2))

    def test_pairs_are_compared_over_the_cases_both_have(self) -> None:
        cases = [f"case {i}" for i in range(8)]
        systems = {
            "good": dict.fromkeys(cases, Fraction(1)),
            "bad": dict.fromkeys([*cases[1:], "its own"], Fraction(0)),
        }
        (test,) = pair_tests(systems)
        self.assertEqual((test.difference, test.p), (1, Fraction(2, 2**7)))
        self.assertEqual(rank_sets(list(systems), [test]), {"good": RankSet(1, 1), "bad": RankSet(2, 2)})
