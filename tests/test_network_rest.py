"""Retry-After, and the moment until which a server is left alone."""
from __future__ import annotations

import unittest

from benchkit.network.rest import MOST_ASKED_S, Rest, asked_wait

NOW = 1893456000.0  # 2030-01-01 00:00:00 UTC


class RetryAfter(unittest.TestCase):
    def test_seconds_and_dates_are_known_and_all_else_asks_for_nothing(self) -> None:
        for text, seconds in {
                "3": 3.0, " 120 ": 120.0, "0.5": 0.5, "999999999": MOST_ASKED_S,
                "Tue, 01 Jan 2030 00:01:30 GMT": 90.0, "Tuesday, 01-Jan-30 00:00:10 GMT": 10.0,
                "0": None, "-1": None, "soon": None, "": None, "nan": None, "1e3": None, "inf": None, "9" * 30: None,
                "Mon, 31 Dec 2029 23:59:00 GMT": None, "Fri, 99 Jan 2030 00:00:00 GMT": None}.items():
            with self.subTest(text):
                self.assertEqual(asked_wait(text, NOW), seconds)
        self.assertIsNone(asked_wait(None, NOW))

    def test_the_latest_moment_that_anybody_heard_of_counts(self) -> None:
        rest = Rest()
        self.assertEqual(rest.left(5.0), 0.0)
        rest.ask_for(9.0)
        rest.ask_for(7.0)
        self.assertEqual((rest.left(5.0), rest.left(9.0), rest.left(50.0)), (4.0, 0.0, 0.0))


if __name__ == "__main__":
    unittest.main()
