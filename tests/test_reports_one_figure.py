"""Where one figure stands for a metric it is the exact value or the range worst to best, in every renderer alike."""
from __future__ import annotations

import html
import re
import unittest
from dataclasses import replace
from fractions import Fraction

from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import first_screen
from benchkit.reports.figures import completed_of_all, rate
from benchkit.reports.junit import junit_report
from benchkit.reports.run_report import RunReport, report_of
from benchkit.reports.sections.run import curve_points
from benchkit.reports.verdicts import verdict_of
from benchkit.statistics.suites import SuiteMetric
from tests.markdown_tables import Table, tables
from tests.page_runs import markdown_of, page_of, text_of, told_first
from tests.reports_samples import record

EXACT = {"A": "+++", "B": "---", "C": "---", "D": "---", "E": "-nn", "F": "-nn"}
"""pass^3 is 1 of 6 however the trials that are missing go, and 1 of 4 over the cases that have all of theirs."""
OPEN = {"A": "+++", "B": "++-", "C": "+nn", "D": "nnn"}
"""pass^3 is 1 of 4 to 3 of 4, and 1 of 2 over the cases that have all of theirs."""
RISING = {"A": "+++", "B": "+--", "C": "-nn"}
"""Completed-only pass^k is 1 of 2 both at k = 3 and at k = 1 of fewer cases: it does not fall."""


def run_of(marks: dict[str, str]) -> RunReport:
    """The report of a run."""
    return report_of(record(marks), "run")


def metric(worst: str, best: str, completed: str | None = None, cases: int = 0) -> SuiteMetric:
    """A metric without an interval of interest."""
    return SuiteMetric(Fraction(worst), None if completed is None else Fraction(completed), cases, Fraction(best),
                       0.0, 1.0, None)


class TheFigure(unittest.TestCase):
    def test_it_is_exact_or_a_range_and_never_the_completed_only_value(self) -> None:
        for one, text in ((metric("1/6", "1/6", "1/4", 4), "16.7"), (metric("1/4", "3/4", "1/2", 2), "25.0 to 75.0"),
                          (metric("0", "1"), "0.0 to 100.0"), (metric("0", "1/10000"), "0.0 to <0.1"), (None, "n/a")):
            with self.subTest(text=text):
                self.assertEqual(text, rate(one))

    def test_a_completed_only_value_is_drawn_only_where_it_is_over_all_cases(self) -> None:
        self.assertEqual(0.5, completed_of_all(metric("1/4", "3/4", "1/2", 4), 4))
        self.assertIsNone(completed_of_all(metric("1/4", "3/4", "1/2", 3), 4))
        self.assertIsNone(completed_of_all(metric("0", "1"), 4))
        self.assertIsNone(completed_of_all(metric("0", "1"), 0))


class EveryRenderer(unittest.TestCase):
    def shown(self, marks: dict[str, str]) -> dict[str, str]:
        """pass^3 where each renderer has one figure for it."""
        of, run = record(marks), run_of(marks)
        page, alone, both = html.unescape(page_of(of)), text_of(of, full=False), text_of(of, of, full=False)
        return {
            "first screen": cell(first_screen(run), "3", 3), "text": cell(alone, "3", 3 + ("done" in alone)),
            "side by side": cell(both, "first", 3), "JUnit": found(r'"pass\^3 %" value="(.*?) \(95', junit(run)),
            "Markdown": table_with(markdown_of(of), "pass^k %").column("pass^k %")[-1],
            "Markdown of several": table_with(markdown_of(of, of), "pass^3").column("pass^3")[0],
            "headline": found(r"pass\^3 (.*?) %", told_first(of)["Confidence"]),
            "figure": found(r"pass\^3: all of 3 pass</dt><dd[^>]*>(?:<span[^>]*>)?(.*?)\u00a0%", page),
            "chart": found(r"At k = 3, pass@k is .*? and pass\^k (.*?) %", page.replace("\u00a0", " "))}

    def test_all_say_the_exact_value_where_the_missing_trials_cannot_change_it(self) -> None:
        self.assertEqual({"16.7"}, set(self.shown(EXACT).values()), self.shown(EXACT))

    def test_all_say_the_range_where_they_can(self) -> None:
        self.assertEqual({"25.0 to 75.0"}, set(self.shown(OPEN).values()), self.shown(OPEN))

    def test_the_completed_only_value_stands_beside_them_labelled_and_with_its_cases(self) -> None:
        table = table_with(markdown_of(record(EXACT)), "pass^k %")
        self.assertEqual(["16.7", "25.0", "4 of 6"],
                         [table.column(title)[-1] for title in ("pass^k %", "pass^k done", "cases done")])
        for told in (markdown_of(record(EXACT)), " ".join(text_of(record(EXACT)).split())):
            self.assertIn("done: left out (completed-only), over the cases done", told)

    def test_a_tag_has_the_range_and_counts_what_is_unknown(self) -> None:
        tagged = replace(record(EXACT), cases=tuple(replace(one, tags=("all",)) for one in record(EXACT).cases))
        self.assertRegex(text_of(tagged), r"tag +cases +trials passed +pass\^1 % +95 %\n"
                                          r"  all +6  3 of 14 judged, 4 unknown +16\.7 to 38\.9 ")


class ThePair(unittest.TestCase):
    def test_rates_are_called_means_of_cases_where_not_all_tries_were_judged(self) -> None:
        for base, candidate, words in (
                (OPEN, EXACT, "33.3 % against 88.9 %, means of 3 cases over their judged tries, but"),
                ({"A": "+n"}, {"A": "++"}, "100.0 % of judged tries"), ({"A": "+-"}, {"A": "++"}, "50.0 % of tries")):
            side = side_by_side([run_of(base), run_of(candidate)])
            self.assertIn(words, verdict_of(side, side.pairs[0]).text)


class TheChart(unittest.TestCase):
    def test_its_line_ends_where_a_case_has_fewer_than_k_trials_and_the_band_goes_on(self) -> None:
        run = run_of(OPEN | {"D": "+nn"})
        points = curve_points({one.k: one.hat for one in run.suite}, run.coverage.cases)
        self.assertEqual([True, False, False], [point.y is not None for point in points])
        self.assertEqual([(0.25, 0.75)], [(point.least, point.most) for point in points[2:]])

    def test_pass_hat_never_rises_with_k_in_what_is_drawn(self) -> None:
        for marks in (EXACT, OPEN, RISING):
            run = run_of(marks)
            points = curve_points({one.k: one.hat for one in run.suite}, run.coverage.cases)
            for ends in zip(*((point.least, point.most) for point in points), strict=True):
                self.assertEqual(sorted(ends, key=lambda end: -(end or 0.0)), list(ends))
            drawn = [point.y for point in points if point.y is not None]
            self.assertEqual(sorted(drawn, reverse=True), drawn)

    def test_a_complete_run_has_no_band_of_missing_trials(self) -> None:
        run = run_of({"A": "+-", "B": "++"})
        points = curve_points({one.k: one.hat for one in run.suite}, run.coverage.cases)
        self.assertEqual({(None, None)}, {(point.least, point.most) for point in points})
        self.assertNotIn("darker", page_of(record({"A": "+-", "B": "++"})))
        self.assertIn("In the picture, darker bands are what incomplete trials leave open", page_of(record(OPEN)))
        self.assertIn("In the picture, darker bands are", page_of(record(OPEN), record(OPEN)))

    def test_a_bar_is_drawn_over_the_range_and_told_so(self) -> None:
        bars = page_of(record(OPEN), record(OPEN)).split("<caption>Share of tries that pass, with")[1]
        told = re.findall(r'role="img" aria-label="([^"]*)"', html.unescape(bars.split("</table>")[0]))
        self.assertEqual([True, True], [one.startswith("50.0 % to 91.7 %, interval ") for one in told[1:]], told)


def cell(text: str, row: str, place: int) -> str:
    """A cell of the first row of a text that begins with a word, and has so many."""
    rows = (re.split(r"  +", line.strip()) for line in text.splitlines())
    return next(cells[place] for cells in rows if cells[0] == row and len(cells) > place)


def junit(run: RunReport) -> str:
    """The JUnit file of a run."""
    return "".join(junit_report([run]))


def table_with(text: str, title: str) -> Table:
    """The first table that has a column with this title."""
    return next(table for table in tables(text) if title in table.titles)


def found(pattern: str, text: str) -> str:
    """What a pattern finds in a text, which it must."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match.group(1)
