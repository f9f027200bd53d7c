"""Retry-After, and the moment until which a server is left alone."""
from __future__ import annotations

import unittest

from benchkit.network.http_client import Backoff
from benchkit.network.replies import MOST_RETRY_AFTER_S, retry_after_s
from tests.fake_ollama import raw_bytes
from tests.workflow import MODEL, WorkflowWithServer

NOW = 1893456000.0  # 2030-01-01 00:00:00 UTC


class RetryAfter(unittest.TestCase):
    def test_seconds_and_dates_are_known_and_all_else_asks_for_nothing(self) -> None:
        for text, seconds in {
                "3": 3.0, " 120 ": 120.0, "0.5": 0.5, "999999999": MOST_RETRY_AFTER_S,
                "Tue, 01 Jan 2030 00:01:30 GMT": 90.0, "Tuesday, 01-Jan-30 00:00:10 GMT": 10.0,
                "0": None, "-1": None, "soon": None, "": None, "nan": None, "1e3": None, "inf": None, "9" * 30: None,
                "Mon, 31 Dec 2029 23:59:00 GMT": None, "Fri, 99 Jan 2030 00:00:00 GMT": None}.items():
            with self.subTest(text):
                self.assertEqual(retry_after_s(text, NOW), seconds)
        self.assertIsNone(retry_after_s(None, NOW))

    def test_the_latest_moment_that_anybody_heard_of_counts(self) -> None:
        backoff = Backoff()
        self.assertEqual(backoff.left_s(5.0), 0.0)
        backoff.extend(9.0)
        backoff.extend(7.0)
        self.assertEqual([backoff.left_s(now) for now in (5.0, 9.0, 50.0)], [4.0, 0.0, 0.0])


class ForLongerThanATrial(WorkflowWithServer):
    def test_one_answer_without_measure_costs_its_own_trial_and_none_of_those_behind_it(self) -> None:
        for number, asked in enumerate(("9999999", "999999999", "Fri, 31 Dec 9999 23:59:59 GMT")):
            with self.subTest(asked):
                busy = b"HTTP/1.1 429 X\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n" % asked.encode()
                self.server.next(raw_bytes(busy))
                log = self.folder / f"busy-{number}.jsonl"
                told = self.type(f"bench.py --system {MODEL} --host {self.server.host} --trials 2 --timeout-s 20 "
                                 f"--quiet --log {log}")
                self.assertEqual(0, told.code, told)
                trials = [line for line in self.lines(log) if line["kind"] == "trial"]
                self.assertEqual(["ServerBusy", *[None] * 5], [line.get("error", {}).get("type") for line in trials])
                self.assertEqual([0.0] * 6, [line["waited_s"] for line in trials])


if __name__ == "__main__":
    unittest.main()
