"""Usage of trials, why there may be none, and what is still to come: a line that says how much, and how sure."""
from __future__ import annotations

import unittest

from benchkit.basics.fields import Fields
from benchkit.basics.values import ErrorFacts, Failure, Outcome, Reply, Usage
from benchkit.boards.usage import NOTHING_USED, TokenUse, still_to_come, tokens_in, tokens_of

LOST = Failure(ErrorFacts("ServerError", "HTTP 500"))


def used(usage: Usage, retries: int = 0, latency_s: float | None = None) -> Reply:
    """A reply that used so much; it waited half a second before it was asked, where it says how long it took."""
    return Reply("x", usage=usage, retries=retries, latency_s=latency_s, waited_s=0.0 if latency_s is None else 0.5)


class StillToCome(unittest.TestCase):
    def test_a_line_says_how_much_and_how_sure(self) -> None:
        two: list[Outcome] = [used(Usage(100, 10), latency_s=2.5), used(Usage(120, 20), latency_s=2.5)]
        # the interval of 100, 110, 120 is 1.959964 x 10 x sqrt(10 + 100 / 3) = 129.02 on both sides
        table: tuple[tuple[list[Outcome], int, str], ...] = (
            (two, 10, "m:x: 2 cells done, 10 to go: about 1,100 prompt tokens (885 to 1,315), about 150 output tokens "
                      "(43 to 257), about 30 s (30 to 30); by 2 cells, which is few: it may be off by more"),
            ([*two, used(Usage(110))], 10, "about 1,100 prompt tokens (971 to 1,229), about 150"),
            (two[:1], 3, "m:x: 1 cell done, 3 to go: about 300 prompt tokens, about 30 output tokens, about 9 s; "
                         "one cell tells no spread: it may be far off"),
            ([used(Usage(5)), used(Usage(5))], 4, "about 20 prompt tokens (20 to 20), output tokens unknown, time"),
            ([used(Usage(0)), used(Usage(100))], 1, "about 50 prompt tokens (0 to 220)"),
            ([used(Usage(100)), LOST], 10, "about 1,000 prompt tokens, output tokens unknown"),
            ([Failure(ErrorFacts("Timeout", "too late"), 120.0)], 2, "tokens unknown, about 240 s; one cell tells no"),
            ([used(Usage(), latency_s=0.0)], 1, "output tokens unknown, under 1 s; one cell tells no spread"),
            (two * 10, 3, "; by 20 cells\n"),
            ([], 3, "m:x: 0 cells done, 3 to go: nothing is known yet; run one cell with --limit 1"),
            (two, 0, "m:x: 2 cells done, 0 to go: nothing is left"),
            ([LOST], 2, "prompt tokens unknown, output tokens unknown, time unknown; no cell done tells anything"),
        )
        for done, to_go, words in table:
            with self.subTest(words=words):
                line = still_to_come("m:x", done, len(done) + to_go)
                self.assertIn(words, line + "\n")


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
