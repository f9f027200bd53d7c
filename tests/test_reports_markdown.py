"""The Markdown report: what stands where, what is folded, and that no text leaves its place."""
from __future__ import annotations

import re
import unittest
from dataclasses import replace
from fractions import Fraction

from benchkit import VERSION
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.comparison import side_by_side
from benchkit.reports.markdown import markdown_report
from benchkit.reports.run_report import report_of
from tests.hostile_run import HOSTILE, hostile_record
from tests.markdown_tables import Table, tables, without_code
from tests.reports_samples import SESSION, WORKED_SUITE, case, changed, record

GITHUB_COMMENT = 65_536


def markdown(*records: RunRecord, names: str = "worked other third", margin: Fraction | None = None) -> str:
    """The report of records, each under a name."""
    runs = [report_of(one, name) for one, name in zip(records, names.split(" "), strict=False)]
    return "".join(markdown_report(side_by_side(runs, margin)))


def table_with(text: str, title: str) -> Table:
    """The first table that has a title."""
    return next(table for table in tables(text) if title in table.titles)


def told(text: str, pattern: str) -> int:
    """The number that a pattern finds; 0 where it finds none."""
    found = re.search(pattern, text, re.MULTILINE)
    return int(found.group(1).replace(",", "")) if found else 0


def sections(text: str) -> list[str]:
    """The titles of a report, in order."""
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


class WhatStandsWhere(unittest.TestCase):
    def setUp(self) -> None:
        self.text = markdown(record(WORKED_SUITE, {"temperature": 1.0}))

    def test_the_headline_in_three_lines_then_the_warnings_come_first(self) -> None:
        head = self.text.split("###", maxsplit=1)[0].split("\n")
        self.assertEqual(head[0], "## `worked` by `toys:robot`")
        self.assertEqual([line.split(":**")[0] for line in head[2:5]], ["- **Does", "- **Unknown", "- **Trust"])
        self.assertEqual(head[6], "> [!WARNING]")
        self.assertTrue(head[7].startswith("> - `k-above-k-max` from k"))

    def test_the_sections_come_in_this_order(self) -> None:
        self.assertEqual(sections(self.text)[1:], [
            "How much is known", "How often it passes", "Why trials failed", "Flaky cases", "Cases without a pass",
            "Incomplete trials", "In detail", "What was run"])

    def test_coverage_counts_trials_and_cases(self) -> None:
        self.assertEqual(table_with(self.text, "`k_max`").rows,
                         [["7 of 12 (58.3 %)", "5", "2 of 4", "3 of 4", "0"]])

    def test_rates_say_what_incomplete_trials_leave_open(self) -> None:
        table = table_with(self.text, "`pass^k` %")
        self.assertEqual(table.column("k"), ["1", "2", "3"])
        # A 1, B 2/3, C 0 of 1 and 2 unknown, D 3 unknown: worst (1 + 2/3) / 4, best (1 + 2/3 + 2/3 + 1) / 4
        self.assertEqual(table.rows[0][5:7], ["41.7 to 83.3", "55.6"])
        self.assertEqual(table.column("cases done"), ["3 of 4", "2 of 4", "2 of 4"])

    def test_a_complete_run_leaves_nothing_open_and_has_no_such_column(self) -> None:
        text = markdown(record({"A": "++", "B": "+-"}))
        self.assertNotIn("completed-only", text)
        self.assertEqual(table_with(text, "`pass^k` %").rows[0][4], "75.0")
        self.assertNotIn("### Incomplete trials", text)

    def test_a_few_k_and_the_last_one_are_shown(self) -> None:
        for trials, shown in ((1, "1"), (4, "1 2 3 4"), (10, "1 2 3 5 10"), (17, "1 2 3 5 10 17")):
            with self.subTest(trials=trials):
                text = markdown(record({"A": "+" * trials}))
                self.assertEqual(" ".join(table_with(text, "`pass^k` %").column("k")), shown)

    def test_failures_stand_by_check_and_by_reason(self) -> None:
        self.assertEqual(table_with(self.text, "check").rows[0], ["`label`", "2 of 2 (100.0 %)", "2 of 2 (100.0 %)"])
        self.assertEqual(table_with(self.text, "what was expected, and what came").rows,
                         [["2", "`label: expected bug, got spam`"]])

    def test_flaky_and_never_passed_cases_stand_with_their_trials(self) -> None:
        flaky, never = [table for table in tables(self.text) if "fails most often by" in table.titles]
        reason = "`label: expected bug, got spam (1 of 1)`"
        self.assertEqual(flaky.rows, [["`B`", "2 of 3", "`++-`", "20.8 to 93.9", "`label: bug`", reason]])
        self.assertEqual(never.rows, [["`C`", "0 of 1, 2 unknown", "`-??`", "0.0 to 79.3", "`label: bug`", reason]])
        self.assertIn("1 case of 4 may be, as the incomplete trials go.", self.text)

    def test_incomplete_trials_stand_by_type(self) -> None:
        self.assertEqual(table_with(self.text, "type").rows,
                         [["NotRun", "5 of 12 (41.7 %)", "`not run: the budget ended first`"]])

    def test_every_case_stands_in_a_folded_table(self) -> None:
        folded = self.text.split("<details><summary>Case by case</summary>")[1].split("</details>")[0]
        self.assertEqual(tables(folded)[0].column("state"), ["stable pass", "flaky", "possibly flaky", "no data"])

    def test_many_trials_are_counted_and_not_shown_as_marks(self) -> None:
        self.assertNotIn("trials", table_with(markdown(record({"A": "+" * 21})), "disagree %").titles)

    def test_hardware_sessions_and_settings_stand_at_the_end(self) -> None:
        end = self.text.split("### What was run")[1]
        self.assertIn("- **Hardware:** `test bench`", end)
        self.assertEqual(table_with(end, "started").rows,
                         [["2026-11-30T12:00:00.000Z", "`test bench`", "timeout 120 s", "complete", "n/a",
                           '`{"server":"none"}`']])
        self.assertEqual(table_with(end, "setting").rows, [["`temperature`", "`1.0`"]])

    def test_hardware_that_nobody_named_is_said_to_be_so(self) -> None:
        text = markdown(record({"A": "+"}, sessions=[replace(SESSION, hardware=None)]))
        self.assertIn("- **Hardware:** `not said`", text)

    def test_many_sessions_are_cut_and_the_cut_is_named(self) -> None:
        text = markdown(record({"A": "++"}, sessions=[SESSION] * 11))
        self.assertEqual(len(table_with(text, "started").rows), 8)
        self.assertIn("\nand 3 more sessions\n", text)

    def test_it_ends_with_how_it_was_made(self) -> None:
        self.assertTrue(self.text.rstrip().split("\n---\n\n")[1].startswith(
            f"Made by `report.py --markdown`, kit {VERSION}, from the run record `worked` alone"))

    def test_tags_are_folded_and_absent_where_there_are_none(self) -> None:
        self.assertNotIn("By tag", self.text)
        of = record({"A": "+-"})
        tagged = replace(of, cases=(case("A", ["hard"]),))
        self.assertEqual(table_with(markdown(tagged), "tag").rows,
                         [["`hard`", "1", "1 of 2 judged", "50.0", "5.5 to 94.5"]])

    def test_a_confusion_table_is_folded(self) -> None:
        of = record({"A": "+-", "B": "++"})
        mixed = replace(of, cases=(case("A"), case("B", expected={"label": "spam"})))
        folded = markdown(mixed).split("Which answer was taken for which: label</summary>")[1]
        self.assertEqual(tables(folded)[0], Table(
            ["expected, got", "`bug`", "`spam`", "trials"],
            [["`bug`", "1", "1", "2"], ["`spam`", ".", "2", "2"]]))


class NothingToSay(unittest.TestCase):
    def test_a_run_without_cases_says_so(self) -> None:
        text = markdown(record({}))
        self.assertIn("There are no cases.", text)
        self.assertIn("No trial was judged.", text)

    def test_a_run_without_failures_says_so(self) -> None:
        text = markdown(record({"A": "++"}))
        self.assertIn("No judged trial failed.", text)
        self.assertIn("No case of 1 both passed and failed.", text)
        self.assertIn("Every one of 1 case with a judged trial passed at least once.", text)

    def test_a_run_that_measured_nothing_says_so(self) -> None:
        text = markdown(changed(record({"A": "++"}), recorded_latency_s=None, usage=None))
        self.assertIn("No latency was recorded.", text)
        self.assertNotIn("tokens in", text)


class LongLists(unittest.TestCase):
    def test_a_long_list_is_folded_and_a_short_one_open(self) -> None:
        for cases, is_folded in ((10, False), (11, True)):
            with self.subTest(cases=cases):
                text = markdown(record({f"case-{number}": "+-" for number in range(cases)}))
                self.assertEqual(f"<details><summary>{cases} cases</summary>" in text, is_folded)

    def test_a_list_that_was_cut_says_how_many_are_left_out(self) -> None:
        text = markdown(record({f"case-{number}": "+-" for number in range(130)}))
        flaky = text.split("### Flaky cases")[1]
        self.assertEqual(len(tables(flaky)[0].rows), 50)
        self.assertIn("\nand 80 more cases\n", flaky.split("</details>")[0])
        self.assertIn("\nand 30 more cases\n", text.split("Case by case")[1])

    def test_a_large_report_fits_a_comment(self) -> None:
        marks = ("++++++++++", "+++++-++++", "----------", "++t++n-+++")
        large = record({f"a-case-with-quite-a-long-name-{number:04}": marks[number % 4] for number in range(1000)})
        for runs in (1, 3):
            with self.subTest(runs=runs):
                self.assertLess(len(markdown(*[large] * runs)), GITHUB_COMMENT)

    def test_any_number_of_runs_and_pairs_fits_and_what_was_dropped_is_counted(self) -> None:
        marks = ("++++++++++", "+++++-++++", "----------", "+-++-+-+++")
        run = record({f"a-case-with-quite-a-long-name-{number:04}": marks[number % 4] for number in range(24)})
        for runs in (2, 6, 16):
            text = markdown(*[run] * runs, names=" ".join(f"run{number}" for number in range(runs)))
            with self.subTest(runs=runs):
                self.assertLessEqual(len(text), GITHUB_COMMENT)
                self.assertEqual(text.count("<details>"), text.count("</details>"))
                pairs, named = runs * (runs - 1) // 2, len(tables(text)[1].rows)
                self.assertEqual(pairs, named + told(text, r"^and ([\d,]+) more pairs?$"))
                self.assertEqual(pairs, text.count("\n#### ") + told(text, "([\\d,]+) detailed pairs?"))
                self.assertEqual(runs, text.count("<summary>All of") + told(text, "([\\d,]+) detailed runs?"))
                self.assertEqual(runs, len(re.findall("^## `", text, re.MULTILINE)))

    def test_nothing_that_a_stranger_writes_makes_it_longer(self) -> None:
        sessions = [replace(SESSION, environment={f"{number}-{'@' * 99}": number for number in range(200)}), SESSION]
        run = record({"@" * 200 + str(number): "-" for number in range(20)}, sessions=sessions)
        for runs in (1, 2):
            text = markdown(*[run] * runs)
            self.assertLessEqual(len(text), GITHUB_COMMENT)
            self.assertIn("\nThe rest is left out: the report is longer than a comment may be.", text[-140:])

    def test_cases_that_may_have_regressed_are_named_in_code_of_nobody_and_not_without_end(self) -> None:
        names = [f"<b>@team-{number}</b>" for number in range(300)]
        text = markdown(record(dict.fromkeys(names, "++")), record(dict.fromkeys(names, "+n"), {"temperature": 0.5}))
        self.assertIn("300 cases may have regressed", text)
        self.assertNotIn("<b>", without_code(text))
        self.assertIn("and 250 more", text)


class SeveralRuns(unittest.TestCase):
    def setUp(self) -> None:
        self.base = record(dict.fromkeys("ABCDEF", "+++"))
        self.candidate = record({**dict.fromkeys("ABCDE", "---"), "F": "+++"}, {"temperature": 0.5})

    def test_all_runs_stand_side_by_side_first(self) -> None:
        text = markdown(self.base, self.candidate)
        self.assertTrue(text.startswith("## 2 runs\n"))
        table = tables(text)[0]
        self.assertEqual(table.column("run"), ["`worked`", "`other`"])
        self.assertEqual(table.column("`pass^1` %"), ["100.0", "16.7"])

    def test_a_pair_is_compared_candidate_minus_base(self) -> None:
        text = markdown(self.base, self.candidate)
        row = table_with(text, "candidate").rows[0]
        self.assertEqual(row[:6], ["`worked`", "`other`", "6", "100.0", "16.7", "-83.3"])
        # five differences of one sign: 2 of the 32 sign patterns are as far out
        self.assertEqual(row[7:], ["0.0625", "0.0625", "0, 5, 1", "5"])

    def test_regressions_are_named_once_and_not_again_among_the_lost(self) -> None:
        text = markdown(self.base, self.candidate)
        self.assertIn("**5 regressions**", text)
        self.assertEqual(table_with(text, "base passed").rows[0], ["`A`", "3 of 3", "0 of 3", "-100.0"])
        self.assertNotIn("lost**", text)

    def test_cases_won_and_lost_otherwise_are_named(self) -> None:
        text = markdown(record({"A": "++-", "B": "---"}), record({"A": "+--", "B": "+--"}, {"temperature": 0.5}))
        self.assertIn("**1 case lost**", text)
        self.assertIn("**1 case won**", text)

    def test_a_pair_begins_with_its_verdict_and_its_warnings(self) -> None:
        text = markdown(self.base, self.candidate)
        verdict, warning = text.split("#### `other` against `worked`\n\n")[1].split("\n\n")[:2]
        self.assertTrue(verdict.startswith("other passes less often than worked in these cases\\: 16\\.7 \\% "))
        self.assertTrue(warning.startswith("> [!WARNING]\n> - `few-differing-cases`"))

    def test_a_margin_is_answered(self) -> None:
        self.assertIn("within 5.0 points: not shown to be the same", markdown(self.base, self.candidate,
                                                                              margin=Fraction(1, 20)))

    def test_two_recordings_of_one_system_say_how_many_outputs_are_equal(self) -> None:
        self.assertIn("warm trials: 12 of 12 (100.0 %) outputs and 12 of 12 (100.0 %) verdicts are equal",
                      markdown(self.base, self.base))

    def test_incomplete_trials_leave_a_difference_open(self) -> None:
        open_one = record({**dict.fromkeys("ABCDE", "++n"), "F": "+++"}, {"temperature": 0.5})
        self.assertIn("incomplete trials (0 of the base, 5 of the candidate) leave the difference between "
                      "-27.8 and 0.0: nobody is ahead however they go", markdown(self.base, open_one))

    def test_runs_that_cannot_be_compared_say_why(self) -> None:
        text = markdown(self.base, record({"Z": "+++"}))
        self.assertNotIn("### Compared", text)
        self.assertIn("### Not compared\n\n- `worked` and `other` are not compared: they have no case in common", text)

    def test_every_run_has_its_headline_and_its_details_folded(self) -> None:
        text = markdown(self.base, self.candidate)
        self.assertEqual(text.count("**Does:**"), 2)
        self.assertIn("<details><summary>All of other</summary>", text)

    def test_runs_of_one_name_are_told_apart(self) -> None:
        text = markdown(self.base, self.candidate, names="same same")
        self.assertEqual(tables(text)[0].column("run"), ["`same (run 1)`", "`same (run 2)`"])


class TextsOfStrangers(unittest.TestCase):
    def setUp(self) -> None:
        name = "".join(HOSTILE[:8]).replace(" ", "")
        self.text = markdown(hostile_record(), names=name)
        self.pair = markdown(hostile_record(), replace(hostile_record(), settings={}), names=f"{name} {name}")

    def test_every_table_has_as_many_cells_as_titles_in_every_row(self) -> None:
        self.assertEqual(len(table_with(self.text, "disagree %").rows), len(HOSTILE))
        self.assertGreater(len(tables(self.pair)), 20)

    def test_nothing_but_folds_is_html(self) -> None:
        for text in (self.text, self.pair):
            bare = re.sub(r"<!-- -->|</?details>|</?summary>|\\.", "", without_code(text))
            self.assertNotRegex(bare, r"<|\]\(|!\[(?!WARNING)")

    def test_folds_open_and_close_in_pairs(self) -> None:
        for text in (self.text, self.pair):
            depth = 0
            for line in text.split("\n"):
                depth += line.startswith("<details>") - (line == "</details>")
                self.assertGreaterEqual(depth, 0)
            self.assertEqual(depth, 0)

    def test_a_line_begins_only_as_the_report_lets_it(self) -> None:
        starts = (r"$|#{2,4} |\| |- |> \[!WARNING\]$|> - |<details><summary>.*</summary>$|</details>$|---$|\*\*|"
                  r"[A-Z0-9a]|\\<")
        for line in self.text.split("\n") + self.pair.split("\n"):
            self.assertRegex(line, f"^(?:{starts})")

    def test_the_titles_are_the_same_as_without_strangers(self) -> None:
        self.assertEqual(sections(self.text)[1:], sections(markdown(record(WORKED_SUITE)))[1:])

    def test_control_characters_are_shown_and_the_file_can_be_written(self) -> None:
        self.assertNotRegex(self.text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028\ud800]")
        self.assertIn("\\x1b[31mred", self.text)
        self.text.encode("utf-8")


class TheSameBytes(unittest.TestCase):
    def test_reporting_twice_gives_equal_text(self) -> None:
        for records in ([hostile_record()], [record(WORKED_SUITE), record({"A": "+-+"})]):
            self.assertEqual(markdown(*records), markdown(*records))

    def test_the_circumstances_of_judging_change_nothing(self) -> None:
        of = record(WORKED_SUITE)
        again = replace(of, started_at="2027-01-01T00:00:00.000Z", environment={"host": "another"})
        self.assertEqual(markdown(of), markdown(again))

    def test_a_session_that_does_not_say_how_it_ended(self) -> None:
        open_end = SessionFacts("2026-11-30T12:00:00.000Z", None, {}, None, 30.0, None, None)
        row = table_with(markdown(record({"A": "+"}, sessions=[open_end])), "started").rows[0]
        self.assertEqual(row[1:4], ["`not said`", "budget 30.00 s", "no word of it"])


if __name__ == "__main__":
    unittest.main()
