"""The report page: what stands where, where links lead, what is left out and said to be, and how large it gets."""
from __future__ import annotations

import random
import re
import tempfile
import unittest
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.values import Usage
from benchkit.recordings.run_record import RunRecord, run_record_bytes
from benchkit.reports import page_cases, page_run
from tests.hostile_run import HOSTILE
from tests.page_runs import CASES, LONG, Outline, hostile, other, page_of, tagged, worked
from tests.reports_samples import SESSION, case, changed, record
from tests.workflow import typed_in

TOPICS = ["How much is known", "How often it passes", "Every trial", "Case by case", "Flaky cases", "Why trials failed",
          "By tag", "Latency, tokens, attempts", "What was run", "Input, output and checks"]
TEN_MEGABYTES = 10_000_000
UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def varied(cases: int, trials: int, letters: int) -> RunRecord:
    """A large run in which every output is another one."""
    luck = random.Random(1)
    marks = {f"case-{number:04}-of-many": "".join("+" if luck.random() < (0, 0.5, 0.9, 1)[number % 4] else "-"
                                                  for _ in range(trials)) for number in range(cases)}
    of = record(marks)
    results = [replace(one, output=f'{{"n": {place}, "s": "{"word " * (letters // 5)}"}}')
               for place, one in enumerate(of.results)]
    return replace(of, results=tuple(results))


class OneRun(unittest.TestCase):
    page: str
    outline: Outline

    @classmethod
    def setUpClass(cls) -> None:
        cls.page = page_of(tagged())
        cls.outline = Outline(cls.page)

    def test_the_headline_then_the_warnings_then_the_figures_come_before_everything(self) -> None:
        places = [self.page.index(words) for words in (
            "1 of 6 cases pass every time", "warnings</p>", "pass^5: all of 5 pass", 'aria-label="Contents"',
            "<h2")]
        self.assertEqual(places, sorted(places))

    def test_the_sections_come_in_this_order(self) -> None:
        self.assertEqual(self.outline.headings, TOPICS)

    def test_every_warning_stands_on_top_with_its_code(self) -> None:
        top = self.page.split("<nav")[0]
        self.assertIn("<code>k-above-k-max</code>", top)
        self.assertIn("<code>percentile-needs-more</code>", top)

    def test_every_trial_is_a_mark_with_words_that_leads_to_its_details(self) -> None:
        self.assertEqual(len(re.findall(r'<a class="mark ', self.page)), 30)
        for words, tone, anchor in (("flaky, trial 2: fail", "fail", "case-3-trial-2"),
                                    ("slow, trial 1: incomplete: Timeout", "incomplete", "case-5-trial-1"),
                                    ("unrun, trial 5: incomplete: NotRun", "absent", "case-6-trial-5")):
            with self.subTest(words=words):
                self.assertRegex(self.page, rf'<a class="mark {tone}" href="#{anchor}" title="{words}" '
                                            rf'aria-label="{words}">')

    def test_every_link_has_a_place_and_every_place_is_there_once(self) -> None:
        self.assertLessEqual({link[1:] for link in self.outline.links}, set(self.outline.ids))
        self.assertEqual(len(self.outline.ids), len(set(self.outline.ids)))

    def test_details_hold_input_expected_output_checks_reasons_and_measures(self) -> None:
        details = Outline(self.page.split('id="case-3"')[1].split('id="case-4"')[0]).text
        for words in ("input of flaky", "label: bug", "answer 2", "not label: expected bug, got spam", "holds: parses",
                      "trial 1, seed 1001, 0.100 s, cold, 100 tokens in, 10 tokens out", "Tags: even, all"):
            with self.subTest(words=words):
                self.assertIn(words, details)

    def test_details_are_folded(self) -> None:
        details = self.page.split('<section id="details"')[1]
        self.assertNotIn("<details open", details)
        self.assertEqual(details.count("<details"), 6 + 5 + 5 + 5 + 3 + 4 + 1)

    def test_a_flaky_case_shows_both_outputs_and_marks_where_they_differ(self) -> None:
        flaky = self.page.split('<section id="flaky"')[1].split("</section>")[0]
        self.assertIn("<pre>answer <mark>1</mark></pre>", flaky)
        self.assertIn("<pre>answer <mark>2</mark></pre>", flaky)
        self.assertIn("Expected <code>label: bug</code>.", flaky)
        self.assertIn("Failed by label: expected bug, got spam.", flaky)
        self.assertIn("The outputs differ from character 8 on.", flaky)
        self.assertIn("1 case of 6 may be flaky", flaky)

    def test_bars_begin_with_the_flaky_cases(self) -> None:
        bars = self.page.split('<section id="cases"')[1].split("</section>")[0]
        self.assertEqual(re.findall(r"<code>([a-z-]+)</code>", bars),
                         ["flaky", "slow", "cut-short", "never", "unrun", "always"])

    def test_failures_stand_by_check_by_reason_and_as_a_confusion_table(self) -> None:
        text = Outline(self.page.split('<section id="failures"')[1].split("</section>")[0]).text
        for words in ("8 of 20 (40.0 %) judged trials failed.", "label expected spam, got bug62.5 %5",
                      "label: expected in the row, got in the column"):
            with self.subTest(words=words):
                self.assertIn(words, text)

    def test_latencies_tokens_attempts_sessions_and_hardware_are_there(self) -> None:
        text = self.outline.text
        for words in ("warm 16 judged trials, 2 timeouts not drawn", "2,000 in, 200 out",
                      "several attempts", "test bench", "2026-11-30 12:00:00 UTC", "timeout 120 s", "1 setting"):
            with self.subTest(words=words):
                self.assertIn(words, text)

    def test_incomplete_trials_are_counted_by_type(self) -> None:
        coverage = Outline(self.page.split('<section id="coverage"')[1].split("</section>")[0]).text
        self.assertIn("NotRun8 of 30 (26.7 %)not run: the budget ended first", coverage)
        self.assertIn("20 of 30 (66.7 %) judged: 12 passed, 8 failed; 10 incomplete", coverage)

    def test_both_rates_stand_for_every_k_with_what_is_left_open(self) -> None:
        text = Outline(page_of(worked()).split("Both rates for every k</caption>")[1].split("</table>")[0]).text
        self.assertIn("141.7 to 83.355.6", text)

    def test_the_page_follows_from_the_record_alone(self) -> None:
        self.assertEqual(self.page, page_of(tagged()))


class Shared(unittest.TestCase):
    def test_equal_outputs_share_one_block_and_every_trial_still_has_its_place(self) -> None:
        page = page_of(changed(record({"A": "++++"}), output="the same answer"))
        details = page.split('<section id="details"')[1]
        self.assertEqual(details.count("the same answer"), 1)
        self.assertIn("trials 1-4, the same outcome", details)
        self.assertEqual(re.findall(r'id="(case-1-trial-\d)"', details), [f"case-1-trial-{t}" for t in range(1, 5)])

    def test_reasoning_is_folded_and_said_to_be_unjudged(self) -> None:
        page = page_of(changed(record({"A": "+"}), reasoning="first I thought"))
        self.assertIn("<details><summary>Reasoning, 15 characters, never judged</summary>", page)

    def test_what_had_come_of_a_broken_reply_is_shown(self) -> None:
        of = record({"A": "t"})
        error = of.results[0].error
        assert error is not None
        self.assertIn("half an ans", page_of(changed(of, error=replace(error, partial="half an ans"))))

    def test_a_case_with_equal_outputs_that_passed_and_failed_says_so(self) -> None:
        page = page_of(changed(record({"A": "+-"}), output="the same"))
        self.assertIn("The outputs are equal: the checks do not depend on them alone.", page)

    def test_fields_that_differ_are_named(self) -> None:
        of = record({"A": "+-"})
        outputs = ['{"label": "bug", "urgent": true}', '{"label": "spam", "urgent": true}']
        results = tuple(replace(one, output=text) for one, text in zip(of.results, outputs, strict=True))
        text = Outline(page_of(replace(of, results=results))).text
        self.assertIn('The outputs differ in label: "bug" against "spam".', text)


class NothingToSay(unittest.TestCase):
    def test_no_case_no_failure_no_measure_and_one_trial_are_said_in_words(self) -> None:
        silent = changed(record({"A": "++"}), recorded_latency_s=None, usage=Usage(), timings=None)
        for of, words in ((record({}), "There are no cases."), (record({"A": "++"}), "No judged trial failed (2 of 2"),
                          (record({"A": "nn"}), "No trial was judged."), (silent, "No latency was recorded."),
                          (silent, "no trial of 2 says how many tokens it took"), (silent, "No case has a tag."),
                          (record({"A": "++"}), "No case of 1 both passed and failed."),
                          (record({"A": "+"}), "1 of 1 case passed its one trial")):
            with self.subTest(words=words):
                self.assertIn(words, page_of(of))

    def test_a_run_without_warnings_has_no_box_for_them(self) -> None:
        enough = record(dict.fromkeys(map(str, range(101)), "++"))
        self.assertNotIn("callout", page_of(changed(enough, cold=False)).split("<nav")[0].split("</style>")[1])

    def test_hardware_that_nobody_named_is_said_to_be_so(self) -> None:
        page = page_of(record({"A": "+"}, sessions=[replace(SESSION, hardware=None)]))
        self.assertIn("<dt>Hardware</dt><dd>not said</dd>", page)


class SeveralRuns(unittest.TestCase):
    page: str
    outline: Outline

    @classmethod
    def setUpClass(cls) -> None:
        cls.page = page_of(tagged(), other(), margin=Fraction(1, 20))
        cls.outline = Outline(cls.page)

    def test_they_stand_side_by_side_then_in_pairs_then_each_with_all_topics(self) -> None:
        self.assertEqual(self.outline.headings, [
            "Side by side", "Pair by pair", "second against first", "first: toys:robot", *TOPICS,
            "second: toys:other", *TOPICS])

    def test_the_warnings_of_all_runs_stand_on_top_in_one_folded_box_with_their_counts(self) -> None:
        top = self.page.split("<nav")[0].split("</style>")[1]
        self.assertEqual((top.count("callout "), top.count("<details")), (1, 1))
        self.assertRegex(top, r"<summary[^>]*><span[^>]*>~</span>6 warnings: 3 of first, 3 of second</summary>")
        self.assertIn("<code>k-above-k-max</code>", top)

    def test_the_table_comes_first_then_the_picture_then_a_line_for_each_pair(self) -> None:
        places = [self.page.index(words) for words in (
            "Runs side by side</caption>", "Share of tries that pass, with", "second against first</a>: ",
            "pass^k of every run", "Differences in pass^1", "Pair by pair</h2>")]
        self.assertEqual(places, sorted(places))
        self.assertIn('too few differ</span> <a href="#pair-1">second against first</a>: '
                      "64.0\u00a0% against 65.3\u00a0%", self.page)

    def test_every_link_has_a_place_and_every_place_is_there_once(self) -> None:
        self.assertLessEqual({link[1:] for link in self.outline.links}, set(self.outline.ids))
        self.assertEqual(len(self.outline.ids), len(set(self.outline.ids)))

    def test_regressions_losses_and_wins_stand_by_name_and_lead_to_both_sides(self) -> None:
        pairs = self.page.split('<section id="pairs"')[1].split("</section>")[0]
        parts = [Outline(piece).text for piece in re.split(r"<caption>", pairs)[1:]]
        self.assertTrue(parts[0].startswith("Regressions: passed every time, and do not any more (1 case)"))
        self.assertIn("always", parts[0])
        self.assertIn("Lost otherwise (2 cases)", parts[1])
        self.assertIn("Won (1 case)", parts[2])
        self.assertIn('<a href="#run-2-case-1">4 of 5</a>, was <a href="#run-1-case-1">5 of 5</a>', pairs)
        self.assertIn("1 case tied", pairs)
        self.assertIn("1 case not judged on both sides", pairs)

    def test_the_numbers_of_a_pair_are_those_of_the_text_report(self) -> None:
        pairs = Outline(self.page.split('<section id="pairs"')[1].split("</section>")[0]).text
        for words in ("points in pass^1", "by sign-flip", "not shown to be the same within 5.0 points",
                      "who is ahead is open", "few-differing-cases"):
            with self.subTest(words=words):
                self.assertIn(words, pairs)

    def test_differences_are_drawn_with_their_intervals_and_ranks_are_given(self) -> None:
        runs = self.page.split('<section id="runs"')[1].split("</section>")[0]
        self.assertRegex(runs, r'class="rows around-zero".*second against first.*class="interval"')
        self.assertEqual(Outline(runs).text.count("1-2"), 2)

    def test_runs_that_cannot_be_compared_say_why_and_are_shown_each(self) -> None:
        page = page_of(record({"A": "++"}), record({"Z": "+-"}))
        self.assertIn("1 pair not compared", page.split("<nav")[0])
        self.assertIn("they have no case in common", page.split("<nav")[0])
        self.assertNotIn("around-zero", page.split("</style>")[1])
        self.assertIn('href="#run-2-case-1-trial-2"', page)

    def test_two_recordings_of_one_system_say_where_they_part(self) -> None:
        again = changed(record({"A": "++"}), output="else")
        self.assertIn("at character 1", Outline(page_of(record({"A": "++"}), again)).text)

    def test_runs_of_one_name_are_told_apart(self) -> None:
        self.assertIn("same (run 2): toys:robot", Outline(page_of(tagged(), tagged(), names="same same")).headings)

    def test_more_runs_than_curves_have_colours_are_compared_without_curves(self) -> None:
        page = page_of(*[tagged({"A": "++"})] * 7, names="a b c d e f g")
        self.assertEqual(page.count("pass^k of every run"), 0)
        self.assertEqual(page.count("<article"), 21)
        self.assertIn("And 15 more pairs", Outline(page).text)


class TextsOfStrangers(unittest.TestCase):
    def setUp(self) -> None:
        names = "".join(HOSTILE[:8]).replace(" ", "")
        self.pages = {"one": page_of(hostile(), names=names),
                      "two": page_of(hostile(), replace(hostile(), settings={}), names=f"{names} {names}")}

    def test_no_element_and_no_attribute_comes_from_them(self) -> None:
        kit = Outline(page_of(tagged(), other()))
        for which, page in self.pages.items():
            with self.subTest(page=which):
                outline = Outline(page)
                self.assertLessEqual(set(outline.tags), set(kit.tags))
                self.assertLessEqual(outline.attributes, kit.attributes)
                self.assertTrue(all(link.startswith("#") for link in outline.links))
                self.assertLessEqual({link[1:] for link in outline.links}, set(outline.ids))

    def test_no_control_character_and_no_turn_of_direction_is_in_the_page(self) -> None:
        for page in self.pages.values():
            self.assertNotRegex(page, UNSEEN)
            page.encode()

    def test_a_line_of_300_kilobytes_stands_whole_where_there_is_room(self) -> None:
        self.assertEqual(self.pages["one"].count(LONG), 1)

    def test_a_hostile_id_is_cut_in_the_grid(self) -> None:
        grid = self.pages["one"].split('<section id="grid"')[1].split("</section>")[0]
        self.assertNotIn("x" * 200, grid)


class Sizes(unittest.TestCase):
    def test_600_cases_of_10_long_trials_stay_under_ten_megabytes_and_what_was_cut_is_said(self) -> None:
        page = page_of(varied(600, 10, 20_000))
        self.assertLess(len(page.encode()), TEN_MEGABYTES)
        self.assertGreater(len(page.encode()), TEN_MEGABYTES / 5)
        self.assertRegex(page, r"Texts are cut behind [\d,]+ characters")
        self.assertRegex(page, r"The first [\d,]+ of 20,\d+ characters\.")
        self.assertIn("python3 report.py RUN --case ID", page)

    def test_above_ten_thousand_trials_the_grid_counts_and_details_are_few(self) -> None:
        page = page_of(varied(120, 100, 200))
        self.assertLess(len(page.encode()), TEN_MEGABYTES / 3)
        self.assertNotIn('<a class="mark', page)
        grid = page.split('<section id="grid"')[1].split("</section>")[0]
        self.assertEqual(grid.count("<svg"), 120)
        self.assertRegex(grid, r'aria-label="case-0001-of-many: \d+ pass, \d+ fail"')
        text = Outline(page.split('<section id="details"')[1]).text
        self.assertIn("Details of 90 of 120 cases", text)
        self.assertRegex(text, r"Other outcomes, in \d+ trials, are not shown\.")

    def test_many_trials_of_few_cases_stand_line_under_line(self) -> None:
        page = page_of(record({"A": "+-" * 40}))
        self.assertIn(">trials 1 to 80</th>", page)
        self.assertEqual(page.count('<a class="mark '), 80)

    def test_more_cases_than_a_page_holds_are_counted(self) -> None:
        with patch.object(page_run, "MOST_ROWS", 200), patch.object(page_cases, "MOST_ROWS", 200):
            page = page_of(record(dict.fromkeys(map(str, range(300)), "+")))
        self.assertIn("And 100 more cases, not shown", page)
        self.assertIn("Details of 200 of 300 cases", Outline(page).text)


class ManyOfAKind(unittest.TestCase):
    def test_long_lists_go_on_in_a_fold(self) -> None:
        marks = dict.fromkeys((f"case-{number}" for number in range(70)), "+-")
        page = page_of(record(marks))
        self.assertIn("<summary>40 more cases</summary>", page)
        self.assertIn("And 10 more flaky cases", page)

    def test_many_tags_go_on_in_a_fold(self) -> None:
        of = record({"A": "+-"})
        tags = [f"tag-{number}" for number in range(45)]
        self.assertIn("<summary>15 more tags</summary>", page_of(replace(of, cases=(case("A", tags),))))

    def test_many_k_are_drawn_and_their_table_is_folded(self) -> None:
        page = page_of(record({"A": "+" * 30, "B": "+-" * 15}))
        self.assertIn("<summary>The same for every k from 1 to 30</summary>", page)

    def test_the_states_of_all_cases_are_named(self) -> None:
        grid = page_of(record(CASES)).split('<section id="grid"')[1]
        for state in ("stable pass", "stable fail", "flaky", "possibly flaky", "no data"):
            with self.subTest(state=state):
                self.assertIn(f"{state}</span>", grid)


class TheFlag(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "first.json").write_bytes(b"".join(run_record_bytes(tagged())))
        (self.folder / "second.json").write_bytes(b"".join(run_record_bytes(other())))

    def test_report_html_writes_the_page_and_still_prints_the_text(self) -> None:
        told = typed_in(self.folder, "report.py", "first.json", "second.json", "--margin", "0.05",
                        "--html", "page.html")
        self.assertEqual((told.code, told.stderr), (0, "written: page.html (page of a report)\n"))
        self.assertTrue(told.stdout.startswith("Side by side\n"))
        self.assertEqual((self.folder / "page.html").read_text(encoding="utf-8"),
                         page_of(tagged(), other(), margin=Fraction(1, 20)))

    def test_a_page_is_written_over_a_page_and_over_nothing_else(self) -> None:
        page = self.folder / "page.html"
        for before, code in ((page_of(worked()), 0), ("<!doctype html>\n<title>mine</title>", 2)):
            with self.subTest(before=before[-20:]):
                page.write_text(before, encoding="utf-8")
                told = typed_in(self.folder, "report.py", "first.json", "--html", "page.html")
                self.assertEqual(told.code, code)
                self.assertEqual(page.read_text(encoding="utf-8"), page_of(tagged()) if code == 0 else before)
        self.assertEqual(told.stdout, "")
        self.assertIn("page.html is there and is no page of a report", told.stderr)


if __name__ == "__main__":
    unittest.main()
