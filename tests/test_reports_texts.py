"""Texts of tasks: counted in bounded memory, and what was expected on one line."""
from __future__ import annotations

import unittest
from collections import Counter
from unittest.mock import patch

from benchkit.basics.values import JSON, ErrorFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.failures import MANY_REASONS, MOST_KEPT, Frequent
from benchkit.reports.outputs import expected_line
from benchkit.reports.run_report import report_of
from tests.page_runs import every_format
from tests.reports_samples import record, with_results


def explained(trials: int) -> RunRecord:
    """A case that fails in every trial: in every second one for the same reason, in others for one of its own."""
    return with_results(record({"A": "-" * trials}), lambda one: {
        "explain": {"label": "the usual" if one.trial % 2 else f"reason {one.trial}"}})


class Counting(unittest.TestCase):
    def test_up_to_the_bound_it_counts_as_a_counter_does_in_the_order_of_first_ones(self) -> None:
        texts = [f"text {number % 97}" for number in range(1000)]
        counted: Frequent[str] = Frequent()
        for text in texts:
            counted.take(text)
        self.assertEqual(list(counted.counts.items()), list(Counter(texts).items()))
        self.assertFalse(counted.is_cut)

    def test_of_many_more_the_frequent_ones_stay_with_nearly_all_their_counts(self) -> None:
        counted: Frequent[str] = Frequent()
        for number in range(10 * MOST_KEPT):
            counted.take(f"rare {number}")
            if number % 10 == 0:
                counted.take("frequent")
        self.assertTrue(counted.is_cut)
        self.assertLessEqual(len(counted.counts), MOST_KEPT)
        self.assertTrue(MOST_KEPT - 22 <= counted.counts["frequent"] <= MOST_KEPT, counted.counts["frequent"])

    def test_what_others_counted_is_added_and_they_may_have_been_cut(self) -> None:
        one, other = Frequent[str](), Frequent[str]()
        for text in "abb":
            one.take(text)
        other.take("b", 5)
        with patch("benchkit.reports.failures.MOST_KEPT", 1):
            other.take("c")
        self.assertTrue(other.is_cut)
        one.add(other)
        self.assertTrue(one.is_cut)


class WhatIsSaid(unittest.TestCase):
    def setUp(self) -> None:
        bound = patch("benchkit.reports.failures.MOST_KEPT", 20)
        bound.start()
        self.addCleanup(bound.stop)

    def test_every_renderer_says_that_rare_reasons_were_left_out_and_only_then(self) -> None:
        for trials, is_said in ((20, False), (100, True)):
            with self.subTest(trials=trials):
                run = explained(trials)
                report = report_of(run, "first")
                for name, text in every_format(run).items():
                    self.assertEqual(MANY_REASONS[1:] in text, is_said, name)
                self.assertEqual((report.failures.reasons[0].text, report.failures.reasons[0].count),
                                 ("the usual", trials // 2))

    def test_errors_are_counted_exactly_whatever_their_messages(self) -> None:
        run = with_results(record({"A": "u" * 100}), lambda one: {"error": ErrorFacts("ServerError", str(one.trial))})
        (found,) = report_of(run, "x").unjudged
        self.assertEqual((found.type, found.count), ("ServerError", 100))


class WhatWasExpected(unittest.TestCase):
    def test_fields_stand_by_name_other_values_as_they_are_and_nothing_is_nothing(self) -> None:
        table: tuple[tuple[JSON, str], ...] = (
            ({"label": "bug", "urgent": True, "level": None}, "label: bug, urgent: true, level: null"),
            ("outage", "outage"), (["a", 1], '["a", 1]'), ({"a": {"b": "ü"}}, '{"a": {"b": "ü"}}'), (0, "0"),
            ({}, ""), (None, ""))
        for expected, line in table:
            with self.subTest(expected=expected):
                self.assertEqual(line, expected_line(expected))

    def test_a_long_or_hostile_one_is_cut_and_stays_a_line(self) -> None:
        self.assertEqual("text: one\\ntwo\\x1b...", expected_line({"text": "one\ntwo\x1b[2J" + "x" * 300}, 21))
        self.assertEqual(200, len(expected_line("x" * 300)))
