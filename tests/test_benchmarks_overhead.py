"""The benchmark of a trial's overhead: a server that says how long it was at work, slopes, and what is made of them."""
from __future__ import annotations

import json
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from benchmarks import bare_client
from benchmarks.measuring import ROOT, Spread
from benchmarks.overhead import (
    INSTANT,
    MANY,
    ONE,
    UNSYNCED,
    WITHOUT_SYNC,
    Run,
    Slope,
    answering,
    rows_of,
    share_of_ideal,
    slope_of_bare_client,
    slope_with_server,
    slope_without_server,
    sync_share,
    times_the_server,
)
from tests.commands import LATE_S


class TheServer(unittest.TestCase):
    def test_it_answers_after_so_long_and_says_how_long_it_was_at_work(self) -> None:
        with answering(0.05) as (host, at_work):
            for path in ("/api/tags", "/api/chat", "/api/chat"):
                start = time.perf_counter()
                with urllib.request.urlopen(f"http://{host}{path}", data=b"{}" if "chat" in path else None) as answer:
                    last = json.loads(answer.read().splitlines()[-1])
                self.assertTrue("models" in last or (last["done"] and time.perf_counter() - start >= 0.05))
            chat_s, look_s = at_work()
        self.assertTrue(0.1 <= chat_s < LATE_S and 0 < look_s < LATE_S, (chat_s, look_s))


class Slopes(unittest.TestCase):
    def test_a_run_is_one_of_the_command_and_what_is_measured_works(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            slope = slope_with_server(ROOT, Path(name), 0.01, 2, (2, 12))
            self.assertGreater(slope.chat_s, 0.009)
            slope_without_server(ROOT, Path(name), (), (2, 12))
            self.assertEqual([], list(Path(name).iterdir()))

    def test_a_bare_client_asks_the_same_and_keeps_a_line_of_each(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            slope = slope_of_bare_client(Path(name), 0.01, (2, 12))
            self.assertGreater(slope.chat_s, 0.009)  # looks take so little that their slope may be below 0
            with answering(0.0) as (host, _):
                bare_client.run(int(host.rpartition(":")[2]), 3, Path(name) / "log")
            self.assertEqual([bare_client.LINE_BYTES - 1] * 3,
                             [len(line) for line in (Path(name) / "log").read_bytes().splitlines()])

    def test_without_the_sync_the_command_runs_all_the_same(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for trials in (1, 3):
                cost = Run(ROOT, Path(name), "baselines:constant", before=("-c", WITHOUT_SYNC)).cost(trials, 3)
                self.assertGreater(cost.cpu_s, 0.0)


class Figures(unittest.TestCase):
    def test_they_are_ratios_round_by_round(self) -> None:
        slopes = [Slope(0.05, 0.001, 0.03, 0.01), Slope(0.06, 0.001, 0.04, 0.01)]
        self.assertEqual(Spread(1.225, 1.2, 1.25), times_the_server(slopes))
        shares = share_of_ideal([Slope(0.01, 0, 0.08, 9.0), Slope(0.02, 0, 0.08, 9.0)], 8)
        self.assertEqual((0.5, 1.0), (shares.low, shares.high))
        self.assertEqual(Spread(0.75, 0.75, 0.75), sync_share([Slope(0.004, 0.0)], [Slope(0.001, 0.0)]))

    def test_a_row_says_what_its_figures_are_worth(self) -> None:
        found = {ONE: [Slope(0.0525, 0.001, 0.05, 0.0)], MANY: [Slope(0.008, 0.001, 0.048, 0.0)],
                 INSTANT: [Slope(0.002, 0.0001)], UNSYNCED: [Slope(0.0005, 0.0001)]}
        self.assertEqual([
            [ONE, "52.50", "50.00", "1.00", "1.050 (1.050 to 1.050) times the server's time"],
            [MANY, "8.00", "48.00", "1.00", "0.750 (0.750 to 0.750) of the ideal"],
            [INSTANT, "2.00", "0.00", "0.10", "0.75 (0.75 to 0.75) of it for the sync"],
            [UNSYNCED, "0.50", "0.00", "0.10", ""]], rows_of(found))
