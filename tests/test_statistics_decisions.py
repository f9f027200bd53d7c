"""What a finding rests on: p for uneven trials, and p at worst, against reference rows and all ways to go on."""
from __future__ import annotations

import random
import unittest
from fractions import Fraction
from itertools import product

from benchkit.statistics.estimators import Counts
from benchkit.statistics.intervals import paired_plus_two
from benchkit.statistics.permutation import (
    OpenValue,
    PairedCounts,
    label_bound,
    label_permutation_p,
    paired_p,
    pass_rate_differences,
    sign_flip_p,
    worst_label_p,
    worst_paired_p,
)
from benchkit.statistics.ranking import open_pair_tests, rank_sets
from tests.oracle import decisions


def pair(*numbers: int) -> PairedCounts:
    """Planned, passed and failed of the first, then of the second."""
    return PairedCounts(Counts(*numbers[:3]), Counts(*numbers[3:]))


class AgainstReferenceRows(unittest.TestCase):

    def test_with_uneven_trials_a_fall_of_more_than_is_allowed_needs_the_interval_to_lie_below_it(self) -> None:
        pairs = [pair(10, 9 - (case % 8 == 0), 1 + (case % 8 == 0), 1, 1, 0) for case in range(200)]
        differences = pass_rate_differences(pairs)
        for allowed in (Fraction(1, 20), Fraction(1, 10), Fraction(21, 200)):
            p = paired_p(pairs, allowed)
            self.assertGreaterEqual(p, sign_flip_p([one + allowed for one in differences]))
            self.assertEqual(p < Fraction(1, 20), paired_plus_two(differences).high < -allowed)

    def test_ranks_of_a_board(self) -> None:
        for row in decisions("board_rank_values"):
            systems = {name: {str(case): OpenValue(value, value, value)
                              for case, value in enumerate(map(Fraction, row[f"values_{name}"]))} for name in "ab"}
            (test,) = open_pair_tests(systems)
            self.assertEqual(Fraction(row["p"]), test.p)


class AtWorst(unittest.TestCase):
    def test_it_is_the_largest_p_over_all_ways_for_incomplete_trials_to_go(self) -> None:
        rng = random.Random(3)
        for allowed in (Fraction(0), Fraction(1, 5)):
            for _ in range(30):
                pairs = [random_pair(rng) for _ in range(3)]
                ahead = sum(pass_rate_differences(pairs), Fraction(0)) + allowed * sum(
                    one.both_completed for one in pairs)
                ways = [sign_flip_p([one + allowed for one in way]) if sum(
                    one + allowed for one in way) * ahead > 0 else Fraction(1) for way in product(*map(ways_of, pairs))]
                with self.subTest(pairs=pairs, allowed=allowed):
                    self.assertEqual(max(ways), worst_paired_p(pairs, allowed))

    def test_complete_trials_leave_nothing_open(self) -> None:
        pairs = [pair(3, number % 4, 3 - number % 4, 3, 2, 1) for number in range(9)]
        self.assertEqual(paired_p(pairs), worst_paired_p(pairs))

    def test_where_there_are_too_many_ways_to_try_a_bound_holds(self) -> None:
        rng = random.Random(4)
        for _ in range(200):
            pairs = [pair(5, first, 5 - first, 2, second, 2 - second) for first, second in (
                (rng.randint(2, 5), rng.randint(0, 1)) for _ in range(rng.randint(1, 12)))]
            distance = abs(sum(pass_rate_differences(pairs), Fraction(0)))
            self.assertLessEqual(label_permutation_p(pairs), label_bound(pairs, distance))
        lost = [pair(10, 9 - number % 4, 0, 3, 0, 2) for number in range(60)]
        at_worst = label_permutation_p([pair(10, 9 - number % 4, 1 + number % 4, 3, 1, 2) for number in range(60)])
        self.assertLess(at_worst, worst_label_p(lost))
        self.assertLess(worst_label_p(lost), Fraction(1, 1000))

    def test_no_rank_separates_where_what_is_incomplete_could_turn_it(self) -> None:
        cases = [str(number) for number in range(64)]
        full, none, open_from = Fraction(1), Fraction(0), OpenValue(Fraction(3, 5), Fraction(1), Fraction(1))
        for other, ranks in ((open_from, ["1-2", "1-2"]), (OpenValue(full, full, full), ["2", "1"]),
                             (OpenValue(none, None, full), ["1-2", "1-2"])):
            known = OpenValue(Fraction(3, 5), Fraction(3, 5), Fraction(3, 5))
            systems = {"known": dict.fromkeys(cases, known), "open": dict.fromkeys(cases, other)}
            found = rank_sets(list(systems), open_pair_tests(systems))
            self.assertEqual(ranks, [str(one) for one in found.values()])


def random_pair(rng: random.Random) -> PairedCounts:
    """Two trials planned on both sides, some of them without a verdict."""
    marks = ["".join(rng.choice("++-?") for _ in range(2)) for _ in range(2)]
    return pair(*(number for one in marks for number in (2, one.count("+"), one.count("-"))))


def ways_of(one: PairedCounts) -> list[Fraction]:
    """The differences of a case of two trials, however its incomplete ones go."""
    return [Fraction(first - second, 2) for first in range(one.first.passed, one.first.most_passed + 1)
            for second in range(one.second.passed, one.second.most_passed + 1)]
