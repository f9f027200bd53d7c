"""Reports of many trials: one pass, a few bytes a trial, small pages; their results are made when they are read."""
from __future__ import annotations

import re
import tracemalloc
import unittest
from collections import Counter
from dataclasses import dataclass, replace
from unittest.mock import patch

from benchkit.recordings.run_record import Result
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import text_report
from benchkit.reports.files import FORMATS
from benchkit.reports.report_json import report_bytes
from benchkit.reports.run_report import RunReport, report_of
from benchkit.reports.sections.anchors import MOST_DETAILED, MOST_RANGES, MOST_TRIALS, MOST_WHOLE
from tests.large_runs import large_record, steady_result, uneven_result
from tests.page_runs import Outline, page_of
from tests.reports_samples import record

CASES = 5
FEW, MANY = 2_100, 3_000
"""Trials of a case, together above the bound beyond which a page shows counts."""
MOST_BYTES = 64


@dataclass(frozen=True, slots=True)
class Peaks:
    """The most memory that was in use at once, in bytes: over a report with text and JSON, and over its page."""

    report: int
    page: int


def peaks_of(trials: int) -> Peaks:
    """The peaks for some cases with so many trials each, every output another one."""
    tracemalloc.start()
    try:
        report = report_of(large_record(CASES, trials, uneven_result), "large")
        read_text(report)
        report_bytes([report])
        first = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        size_of("--html", report)
        return Peaks(first, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def read_text(report: RunReport) -> None:
    """Its text, all of it, line by line."""
    for _ in text_report(side_by_side([report]), is_full=True):
        pass


def size_of(flag: str, report: RunReport) -> int:
    """How long a file of it is; nothing of it is kept."""
    return sum(map(len, FORMATS[flag].render(side_by_side([report]))))


class Memory(unittest.TestCase):
    # tracing makes every k as slow as hundreds of trials, and their number has a bound of its own
    @patch("benchkit.statistics.suites.EVERY_K", 20)
    def test_a_report_with_text_and_json_and_its_page_take_at_most_64_bytes_for_a_trial_more(self) -> None:
        # the first one fills caches that stay
        _, few, many = (peaks_of(trials) for trials in (20, FEW, MANY))
        more = CASES * (MANY - FEW)
        self.assertLess((many.report - few.report) / more, MOST_BYTES)
        self.assertLess((many.page - few.page) / more, MOST_BYTES)

    def test_files_with_a_line_for_every_trial_are_written_line_by_line(self) -> None:
        report = report_of(large_record(20, 100, steady_result), "large")
        for flag, most in (("--csv", 300_000), ("--junit", 100_000)):
            with self.subTest(flag):
                tracemalloc.start()
                size_of(flag, report)
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                self.assertLess(peak, most)


class Readings(unittest.TestCase):
    def setUp(self) -> None:
        self.read: Counter[tuple[int, int]] = Counter()

    def make(self, place: int, trial: int) -> Result:
        self.read[place, trial] += 1
        return steady_result(place, trial)

    def test_a_report_reads_every_result_once_and_its_json_none(self) -> None:
        report = report_of(large_record(7, 50, self.make), "large")
        report_bytes([report])
        self.assertEqual((len(self.read), set(self.read.values())), (350, {1}))

    def test_the_text_reads_flaky_cases_as_far_as_their_first_two_outcomes(self) -> None:
        report = report_of(large_record(21, 500, self.make), "large")
        self.read.clear()
        read_text(report)
        self.assertTrue(0 < self.read.total() < 300, self.read.total())

    def test_a_page_that_shows_counts_reads_no_result_more_than_twice(self) -> None:
        report = report_of(large_record(11, 1000, self.make), "large")
        self.read.clear()
        size_of("--html", report)
        self.assertLessEqual(max(self.read.values()), 2)

    def test_a_pair_of_recordings_of_one_system_is_read_in_step_once_more(self) -> None:
        reports = [report_of(large_record(7, 50, self.make), name) for name in ("base", "candidate")]
        self.read.clear()
        side_by_side(reports)
        self.assertEqual((len(self.read), set(self.read.values())), (350, {2}))


class LargePages(unittest.TestCase):
    def test_a_thousand_flaky_cases_with_long_outputs_of_their_own_make_a_page_of_a_few_megabytes(self) -> None:
        def make(place: int, trial: int) -> Result:
            made = uneven_result(7, place * 100 + trial)
            return replace(made, case=f"case-{place}", trial=trial, output=made.output and made.output * 60)

        cases = MOST_DETAILED + 100
        report = report_of(large_record(cases, 10, make), "large")
        self.assertGreater(report.coverage.planned, MOST_WHOLE)
        self.assertLess(size_of("--html", report), 12_000_000)

    def test_a_large_group_of_equal_outcomes_tells_its_first_trials_and_ranges_and_counts_the_others(self) -> None:
        page = page_of(large_record(3, 4000, steady_result))
        self.assertLess(len(page), 600_000)
        outline = Outline(page)
        found = re.search(r"trials ([\d, -]*) and \d+ more ranges, the same outcome", outline.text)
        assert found is not None
        self.assertEqual(found[1].count(",") + 1, MOST_RANGES)
        self.assertRegex(outline.text, r"and \d\d+ more trials")
        own = [one for one in outline.ids if one.startswith("case-2-trial-")]
        self.assertLessEqual(len(own), 5 * MOST_TRIALS)
        self.assertLessEqual({link[1:] for link in outline.links}, set(outline.ids))

    def test_with_more_than_a_thousand_trials_a_page_says_which_k_it_lists(self) -> None:
        page = page_of(record({"A": "+" * 1200 + "-" * 30}), record({"A": "+" * 1100 + "-" * 10}))
        self.assertIn("The same for every k from 1 to 1,000, and for 1,230", page)
        self.assertIn("<th scope=\"col\" class=\"number\">pass^1110</th>", page.replace(" title=\"\"", ""))
