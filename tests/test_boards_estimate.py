"""Estimates: cells done times cells to go, and a word on how sure that is; usage, and why there may be none."""
from __future__ import annotations

import unittest

from benchkit.basics.fields import Fields
from benchkit.basics.values import ErrorFacts, Failure, Reply, Usage
from benchkit.boards.estimate import CellCost, cost_of, estimate, forecast, in_words
from benchkit.boards.usage import NOTHING_USED, TokenUse, tokens_in, tokens_of

LOST = Failure(ErrorFacts("ServerError", "HTTP 500"))


def used(usage: Usage, retries: int = 0) -> Reply:
    """A reply that used so much."""
    return Reply("x", usage=usage, retries=retries)


class Forecasting(unittest.TestCase):
    def test_the_sum_is_the_mean_of_the_cells_done_times_the_cells_to_go(self) -> None:
        found = forecast([100, 110, 120], 10)
        assert found is not None
        self.assertEqual((3, 110.0, 10.0, 1100.0), (found.cells, found.mean, found.spread, found.total))

    def test_the_interval_counts_the_scatter_of_both(self) -> None:
        found = forecast([100, 110, 120], 10)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        # 1.959964 x 10 x sqrt(10 + 100 / 3)
        self.assertAlmostEqual(129.0206, found.total - found.low, places=3)
        self.assertAlmostEqual(129.0206, found.high - found.total, places=3)

    def test_equal_cells_leave_no_doubt_and_no_sum_is_below_zero(self) -> None:
        same, far = forecast([5, 5], 4), forecast([0, 100], 1)
        assert same is not None
        assert far is not None
        self.assertEqual((20.0, 20.0, 20.0), (same.low, same.total, same.high))
        self.assertEqual(0.0, far.low)

    def test_one_cell_tells_no_spread(self) -> None:
        found = forecast([100, None], 10)
        assert found is not None
        self.assertEqual((1, 1000.0, None, None), (found.cells, found.total, found.spread, found.low))

    def test_unknown_figures_are_not_zeros(self) -> None:
        self.assertIsNone(forecast([None, None], 3))
        self.assertIsNone(forecast([], 3))


class TheCostOfACell(unittest.TestCase):
    def test_a_reply_has_tokens_and_its_time_with_the_waiting(self) -> None:
        reply = Reply("x", usage=Usage(100, 20), latency_s=2.0, waited_s=1.5)
        self.assertEqual(CellCost(100, 20, 3.5), cost_of(reply))

    def test_what_a_failure_used_is_unknown(self) -> None:
        self.assertEqual(CellCost(None, None, 120.0), cost_of(Failure(ErrorFacts("Timeout", "too late"), 120.0)))
        self.assertEqual(CellCost(None, None, None), cost_of(Failure(ErrorFacts("Unreachable", "nobody"))))


class InWords(unittest.TestCase):
    def test_a_line_says_how_much_and_how_sure(self) -> None:
        costs = [CellCost(100, 10, 3.0), CellCost(120, 20, 3.0)]
        for done, to_go, words in (
            (costs, 10, "m:x: 2 cells done, 10 to go: about 1,100 prompt tokens (885 to 1,315), about 150 output"),
            (costs, 10, "about 30 s (30 to 30); by 2 cells, which is few: it may be off by more"),
            (costs[:1], 3, "m:x: 1 cell done, 3 to go: about 300 prompt tokens, about 30 output tokens, about 9 s; "
                           "one cell tells no spread: it may be far off"),
            (costs * 10, 3, "by 20 cells"),
            ([], 3, "nothing is known yet; run one cell with --limit 1"),
            (costs, 0, "nothing is left"),
            ([CellCost(None, None, None)], 2, "prompt tokens unknown, output tokens unknown, time unknown; "
                                              "no cell done tells anything"),
        ):
            with self.subTest(words=words):
                self.assertIn(words, in_words(estimate("m:x", done, to_go)))


class CountingTokens(unittest.TestCase):
    def test_sums_say_how_many_calls_came_with_figures(self) -> None:
        self.assertEqual(TokenUse(3, 2, 110, 25), tokens_of(map(used, (Usage(100, 20), Usage(), Usage(10, 5)))))
        self.assertEqual(TokenUse(2, 1, 7), tokens_of([used(Usage(7))]) + tokens_of([used(Usage())]))

    def test_each_request_is_a_call_and_one_that_failed_or_was_sent_again_brought_no_figures(self) -> None:
        self.assertEqual(TokenUse(4, 1, 7, 2, lost=3), tokens_of([used(Usage(7, 2), retries=2), LOST]))
        self.assertEqual("absent:not_reported", tokens_of([used(Usage()), LOST]).to_wire())

    def test_no_call_and_no_report_are_told_apart(self) -> None:
        for tokens, wire in (
            (NOTHING_USED, "absent:cache_only"),
            (tokens_of([used(Usage())]), "absent:not_reported"),
            (tokens_of([LOST]), "absent:no_reply"),
            (tokens_of([used(Usage(None, 5))]), {"calls": 1, "reported": 1, "prompt_tokens": None, "output_tokens": 5}),
            (tokens_of([used(Usage(0, 0))]), {"calls": 1, "reported": 1, "prompt_tokens": 0, "output_tokens": 0}),
        ):
            with self.subTest(wire=wire):
                self.assertEqual(wire, tokens.to_wire())
                self.assertEqual(tokens, tokens_in(Fields({"u": wire}), "u"))

    def test_any_other_word_is_refused(self) -> None:
        for wire in ("absent:lost", 5, {"calls": 0, "reported": 1, "prompt_tokens": 0, "output_tokens": 0}, {}):
            with self.subTest(wire=wire), self.assertRaises(ValueError):
                tokens_in(Fields({"u": wire}), "u")


if __name__ == "__main__":
    unittest.main()
