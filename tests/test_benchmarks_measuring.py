"""What all benchmarks share: turns, medians, ratios, tables."""
from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

from benchmarks import measuring


class Figures(unittest.TestCase):
    def test_the_middle_of_figures_stands_with_their_range(self) -> None:
        for figures, expected in (([2.0], measuring.Spread(2, 2, 2)), ([3.0, 1.0, 2.0], measuring.Spread(2, 1, 3)),
                                  ([4.0, 1.0, 2.0, 3.0], measuring.Spread(2.5, 1, 4))):
            with self.subTest(figures=figures):
                self.assertEqual(expected, measuring.spread(figures))

    def test_no_figures_have_no_middle(self) -> None:
        with self.assertRaisesRegex(ValueError, "no middle"):
            measuring.spread([])

    def test_ratios_are_taken_round_by_round_so_that_a_slow_round_counts_once(self) -> None:
        self.assertEqual(measuring.Spread(2.0, 2.0, 3.0), measuring.ratios([2.0, 20.0, 3.0], [1.0, 10.0, 1.0]))

    def test_ratios_of_unequal_rounds_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            measuring.ratios([1.0, 2.0], [1.0])

    def test_a_ratio_is_shown_with_its_range(self) -> None:
        self.assertEqual("1.31 (1.28 to 1,400.00)", measuring.ratio_text(measuring.Spread(1.31, 1.28, 1400)))
        self.assertEqual("1 (1 to 2)", measuring.ratio_text(measuring.Spread(1.3, 1.2, 1.6), digits=0))


class Turns(unittest.TestCase):
    def test_every_round_runs_each_and_begins_with_another(self) -> None:
        order: list[str] = []

        def one(name: str, figure: float) -> float:
            order.append(name)
            return figure

        found = measuring.in_turns({"a": lambda: one("a", 1), "b": lambda: one("b", 2), "c": lambda: one("c", 3)}, 4)
        self.assertEqual("abcbcacababc", "".join(order))
        self.assertEqual({"a": [1] * 4, "b": [2] * 4, "c": [3] * 4}, found)

    def test_a_call_is_timed_by_the_clock_that_is_given(self) -> None:
        times = iter([10.0, 12.5])
        self.assertEqual(2.5, measuring.seconds_of(lambda: None, lambda: next(times)))

    def test_a_command_is_measured_and_one_that_fails_is_no_measurement(self) -> None:
        here = Path(__file__).parent
        python = [sys.executable, "-I", "-S", "-c"]
        light = measuring.cost_of([*python, "raise SystemExit(1)"], here, (1,))
        heavy = measuring.cost_of([*python, "kept = bytearray(b'x' * 50_000_000); sum(range(2_000_000))"], here)
        for cost in (light, heavy):
            self.assertTrue(0 < cost.cpu_s <= cost.wall_s * 2)
        self.assertGreater(heavy.cpu_s, light.cpu_s)
        self.assertGreater(heavy.peak_bytes - light.peak_bytes, 40_000_000)
        for command, words in (([*python, "raise SystemExit('why')"], "exit code 1: why"),
                               (["/nowhere/python3"], "/nowhere/python3: it cannot be started")):
            with self.assertRaisesRegex(RuntimeError, words):
                measuring.cost_of(command, here)

    def test_the_memory_of_a_process_is_its_own_however_large_the_caller_is(self) -> None:
        kept = bytearray(b"x" * 100_000_000)
        cost = measuring.cost_of([sys.executable, "-I", "-S", "-c", "pass"], Path(__file__).parent)
        self.assertLess(cost.peak_bytes, len(kept) / 2)


class Words(unittest.TestCase):
    def test_the_machine_is_told_in_a_line(self) -> None:
        self.assertRegex(measuring.machine_line("2026-11-30"), r"^2026-11-30, \d+ x \S.*, \w+ \S+, \w+ \d+\.\d+\.\d+")
        self.assertTrue(re.match(r"\d{4}-\d\d-\d\d, ", measuring.machine_line()))

    def test_a_table_has_its_first_column_to_the_left_and_figures_to_the_right(self) -> None:
        self.assertEqual("  command   ratio\n  a.py       1.20\n  bench.py    1.3", measuring.table(
            ["command", "ratio"], [["a.py", "1.20"], ["bench.py", "1.3"]]))
