"""Cases and single trials in a report: what is shown of outputs, which outcomes and how many, links, sizes."""
from __future__ import annotations

import random
import re
import unittest
from dataclasses import replace
from unittest.mock import patch

from benchkit.basics.values import JSON
from benchkit.pages.html import html_text
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports import outputs
from benchkit.reports.documents import case_report
from benchkit.reports.run_report import report_of
from benchkit.reports.sections import anchors, cases
from tests.comparison_samples import with_outputs
from tests.large_runs import large_record, steady_result, uneven_result
from tests.markdown_tables import tables
from tests.page_runs import (
    LONG,
    Outline,
    hostile,
    markdown_of,
    page_of,
    part_of,
    tagged,
    text_of,
)
from tests.reports_samples import WORKED_SUITE, changed, record, result

TEN_MEGABYTES = 10_000_000


def case_text(run: RunRecord, case_id: str) -> str:
    """One case as text."""
    return "".join(case_report([report_of(run, "run")], case_id))


def flat(shown: str) -> str:
    """A text on one line."""
    return " ".join(shown.split())


def two_outputs(passed: str, failed: str) -> RunRecord:
    """A flaky case with two outputs."""
    return with_outputs(record({"A": "-+"}), {("A", 1): failed, ("A", 2): passed})


def outputs_in_text(passed: str, failed: str) -> str:
    """What text says of them."""
    return text_of(two_outputs(passed, failed)).split("\n  A passed ")[1].split("\n\nCases without")[0] + "\n"


class WhatIsSaid(unittest.TestCase):
    def test_cases_that_are_not_flaky_have_no_outputs_beside_each_other(self) -> None:
        self.assertNotIn("outputs differ", text_of(record({"A": "++", "B": "--", "C": "+n", "D": "nn"})))

    def test_a_failed_check_that_nobody_explained_is_named(self) -> None:
        self.assertIn("  A     0 of 2  not label (2 of 2)\n", text_of(changed(record({"A": "--"}), explain=None)))
        self.assertIn("Failed by label.", text_of(changed(record({"A": "+-"}), explain=None)))

    def test_the_nearest_to_half_and_half_come_first(self) -> None:
        marks = {"rare": "+++-" * 5, "rarer": ("+" * 9 + "-") * 2, "even": "+-+-" * 5, "odd": "-++-" * 5}
        shown = text_of(record(marks), full=False).split("Flaky cases")[1].split("Cases without")[0]
        self.assertEqual(re.findall(r"^  (\w+) +\d+ of", shown, re.MULTILINE), ["even", "odd", "rare", "rarer"])

    def test_marks_stand_for_trials_and_counts_where_there_are_too_many(self) -> None:
        for trials, shown in ((10, r"(\+-){10}"), (50, r"(\+-){12}[+-]*\.\.\. "), (6000, "6,000 pass, 6,000 fail")):
            self.assertRegex(text_of(record({"A": "+-" * trials})), shown)

    def test_many_intervals_are_said_to_be_each_by_itself(self) -> None:
        for count, is_said in ((9, False), (10, True)):
            shown = markdown_of(record({f"case-{number}": "+" for number in range(count)}))
            self.assertEqual("Each 95 % interval is by itself" in shown, is_said)

    def test_long_values_of_settings_stand_whole_in_text_and_on_a_page_their_beginning(self) -> None:
        prompt = " ".join(f"word-{number}" for number in range(200))
        run = record({"A": "+"}, {"prompt": prompt, "short": 1, **{f"long-{number}": prompt for number in range(61)}})
        shown = text_of(run)
        self.assertIn(prompt, flat(shown.replace("| ", "")))
        self.assertIn("    short    1\n", shown)
        self.assertIn("And 2 more long settings.", shown)
        self.assertIn(f"The first 400 of {len(prompt):,} characters.", page_of(run))


class TwoOutputs(unittest.TestCase):
    def test_what_differs_is_said(self) -> None:
        many = [str({f"f{number}": value for number in range(20)}).replace("'", '"') for value in (1, 2)]
        for passed, failed, said in (
                ('{"label": "bug", "urgency": 3}', '{"label": "spam"}',
                 'differ in label: "bug" against "spam"; urgency: 3 against nothing.'),
                ("outage? no", "outage, I think", "differ from character 7 on."),
                (*many, "; f11: 1 against 2; and 8 more."),
                ("same", "same", "The outputs are equal: the checks do not depend on them alone.")):
            with self.subTest(said=said):
                self.assertIn(said, flat(outputs_in_text(passed, failed)))

    def test_outputs_stand_beside_each_other_line_by_line(self) -> None:
        lines = outputs_in_text("one\ntoo", "one\ntwo").splitlines()
        self.assertEqual([[side.strip() for side in line.split("|")] for line in lines[-3:]],
                         [["trial 2: pass", "trial 1: fail"], ["one", "one"], ["too", "two"]])
        self.assertRegex(outputs_in_text("", "answer"), r"\n +\| answer\n$")

    def test_the_place_where_long_texts_part_is_in_sight(self) -> None:
        for before in ("x" * 3000, "line\n" * 700, "x\n" * 100 + "y" * 300):
            with self.subTest(before=before[:6]):
                shown = outputs_in_text(before + "GOOD" + "y" * 900, before + "BAD")
                self.assertEqual((shown.count("GOOD"), shown.count("BAD")), (1, 1))
                self.assertLess(len(shown.splitlines()), 60)

    def test_a_page_marks_what_each_has_for_itself_and_says_what_is_left_out(self) -> None:
        for passed, failed, marked in (
                ("answer 1", "answer 2", "<pre>answer <mark>1</mark></pre>"),
                ("\nx1", "\nx2", "<pre>\n\nx<mark>1</mark></pre>"),
                ("a" * 900 + "1" + "b" * 900, "a" * 900 + "2" + "b" * 900,
                 f"<pre>\u2026{'a' * 200}<mark>1</mark>{'b' * 400}\u2026</pre>"),
                ("1" * 2000, "2", f"<mark>{'1' * 1200}</mark>\u2026 (800 more characters)</pre>")):
            with self.subTest(marked=marked[:30]):
                self.assertIn(marked, re.sub(r'<pre tabindex="0">', "<pre>", page_of(two_outputs(passed, failed))))

    def test_the_first_few_are_open_and_of_many_the_rest_is_counted(self) -> None:
        shown = page_of(record(dict.fromkeys((f"case-{number}" for number in range(70)), "+-")))
        self.assertEqual(shown.count("<details open"), 5)
        self.assertIn("And 10 more flaky cases: see all cases.", shown)
        self.assertIn("<summary>40 more cases</summary>", shown)

    def test_the_first_that_passed_and_the_first_that_failed_are_compared(self) -> None:
        for marks, trials in (("n-+-+", (3, 2)), ("++", None), ("--", None), ("+n", None), ("nn", None), ("", None)):
            pair = outputs.output_pair(result("A", trial, mark) for trial, mark in enumerate(marks, 1))
            self.assertEqual(pair and (pair[0].trial, pair[1].trial), trials)

    def test_texts_part_in_the_middle(self) -> None:
        for text, other, start, own, end in (
                ("one two three", "one 2 three", "one ", "two", " three"), ("same", "same", "same", "", ""),
                ("", "new", "", "", ""), ("new", "", "", "new", ""), ("aaa", "aa", "aa", "a", ""),
                ("abcab", "ab", "ab", "cab", ""),
                ("x" * 300_000 + "a", "x" * 300_000 + "b", "x" * 300_000, "a", "")):
            with self.subTest(text=text[:20], other=other[:20]):
                self.assertEqual(outputs.parted(text, other), (start, own, end))

    def test_a_parted_text_is_whole_and_shares_no_letter_at_either_end_of_its_own(self) -> None:
        texts = ["".join("ab"[number >> bit & 1] for bit in range(4)) for number in range(16)]
        for one, other in ((one, other) for one in texts for other in texts):
            here, there = outputs.parted(one, other), outputs.parted(other, one)
            self.assertEqual("".join(here), one)
            self.assertEqual(here[::2], there[::2])
            if here[1] and there[1]:
                self.assertNotEqual(here[1][0], there[1][0])
                self.assertNotEqual(here[1][-1], there[1][-1])

    def test_small_json_objects_differ_in_fields_and_nothing_else_does(self) -> None:
        self.assertEqual(
            outputs.field_differences('{"a": 1, "b": "x", "c": null}', '{"b": "y", "a": 1, "d": [true]}'),
            {"b": ('"x"', '"y"'), "c": ("null", None), "d": (None, "[true]")})
        for other in ("", "text", "[1]", '"a"', "{", "{" * 5000, '{"a": ' + "[" * 300 + "]" * 300 + "}",
                      '{"a": ' + "1" * 5000 + "}", '{"a": "' + "x" * 30_000 + '"}'):
            with self.subTest(text=other[:20]):
                self.assertEqual(outputs.field_differences(other, '{"a": 2}'), {})


class OutcomesOfACase(unittest.TestCase):
    def test_trials_with_one_outcome_are_one_group_in_the_order_of_their_first(self) -> None:
        groups = outputs.answer_groups(replace(result("A", trial, mark), output="the same")
                                       for trial, mark in enumerate("+-+nnt", 1))
        self.assertEqual([(group.size, group.numbers, list(group.trials)) for group in groups],
                         [(2, "1, 3", [1, 3]), (1, "2", [2]), (2, "4-5", [4, 5]), (1, "6", [6])])
        self.assertEqual(groups[0].first.trial, 1)

    def test_whatever_a_reader_would_see_keeps_groups_apart_and_what_was_measured_does_not(self) -> None:
        base = replace(result("A", 1, "+"), output="the same")
        for count, fields in ((2, {"output": "other"}), (2, {"finish": "length"}), (2, {"reasoning": "because"}),
                              (2, {"verdict": "fail"}),
                              (1, {"trial": 2, "seed": 1002, "recorded_latency_s": 9.0, "cold": True, "attempts": 3,
                                   "usage": None})):
            with self.subTest(fields=fields):
                self.assertEqual(len(outputs.answer_groups([base, replace(base, **fields)])), count)

    def test_of_many_the_first_outcomes_trials_and_ranges_are_kept(self) -> None:
        trials = [replace(result("A", trial, mark), output=output) for trial, (mark, output) in enumerate(
            zip("--+--+--", "abcaadab", strict=True), 1)]
        groups = outputs.answer_groups(trials, {"pass": 1, "fail": 1, "incomplete": 1}, most_trials=2, most_ranges=2)
        self.assertEqual([(group.first.output, group.size, group.numbers) for group in groups],
                         [("a", 4, "1, 4-5 and 1 more range"), ("c", 1, "3")])
        self.assertEqual(list(groups[0].trials), [1, 4])

    def test_numbers_are_written_as_ranges(self) -> None:
        for numbers, most, words in (
                ((), 9, ""), ((4,), 9, "4"), ((1, 2), 9, "1-2"), ((1, 2, 3, 7, 9, 10), 9, "1-3, 7, 9-10"),
                ((1, 2, 4, 5), 1, "1-2 and 1 more range"), ((1, 3, 4, 6, 7, 8, 10), 2, "1, 3-4 and 2 more ranges")):
            with self.subTest(numbers=numbers, most=most):
                self.assertEqual(outputs.ranges_of(numbers, most), words)

    def test_values_are_texts_fields_line_by_line_or_json(self) -> None:
        table: tuple[tuple[JSON, str], ...] = (
            ("as\nit is", "as\nit is"), (None, "null"), (3, "3"), ({}, "{}"), ([1, "\u00e9"], '[\n 1,\n "\u00e9"\n]'),
            ({"a": "x", "b": 2, "c": None, "d": True}, "a: x\nb: 2\nc: null\nd: true"),
            ({"body": "two\nlines", "to": "me"}, "body:\ntwo\nlines\nto: me"), ({"a": {}}, '{\n "a": {}\n}'))
        for value, words in table:
            with self.subTest(value=value):
                self.assertEqual(outputs.value_text(value), words)


class OneCase(unittest.TestCase):
    def test_every_trial_is_there_each_outcome_once(self) -> None:
        shown = case_text(record({"A": "+" * 30, "B": "-" * 30}), "B")
        self.assertEqual(re.findall(r"^  trial (\d+): fail", shown, re.MULTILINE), [str(one) for one in range(1, 31)])
        shown = case_text(changed(record({"A": "+-" * 15}), output="same"), "A")
        self.assertEqual(shown.count("| same"), 2)
        self.assertEqual(re.findall(r"- trial (\d+), seed", shown), [*map(str, range(1, 31, 2)),
                                                                     *map(str, range(2, 31, 2))])

    def test_texts_are_whole(self) -> None:
        long = "y" * 250 + "\n\n" + "last line " * 5_000
        for fields in ({"output": long}, {"reasoning": long}):
            shown = case_text(changed(record({"A": "+"}), **fields), "A")
            self.assertIn(flat(long.replace("\n", "")).replace(" ", ""), re.sub(r"\n *\| ?|\s", "", shown))

    def test_a_case_that_is_not_there_is_a_key_error(self) -> None:
        with self.assertRaises(KeyError):
            case_text(record(WORKED_SUITE), "Z")


class Links(unittest.TestCase):
    def test_every_trial_is_a_mark_with_words_that_leads_to_its_details(self) -> None:
        shown = page_of(tagged())
        self.assertEqual(len(re.findall(r'<a class="mark ', shown)), 30)
        for words, tone, anchor in (("flaky, trial 2: fail", "fail", "case-3-trial-2"),
                                    ("slow, trial 1: incomplete: Timeout", "incomplete", "case-5-trial-1"),
                                    ("unrun, trial 5: incomplete: NotRun", "absent", "case-6-trial-1")):
            self.assertIn(f'<a class="mark {tone}" href="#{anchor}" title="{words}" aria-label="{words}">', shown)

    def test_flaky_cases_and_those_without_a_pass_lead_to_their_details(self) -> None:
        shown = part_of(page_of(tagged()), "flaky") + part_of(page_of(tagged()), "never")
        self.assertEqual(re.findall(r'<th scope="row"><a href="(.*?)">', shown), ["#case-3", "#case-5", "#case-2"])
        self.assertEqual(re.findall(r'<a href="(#case-3-.*?)">trial', shown), ["#case-3-trial-1", "#case-3-trial-2"])

    def test_details_are_folded_each_outcome_once(self) -> None:
        details = part_of(page_of(tagged()), "details")
        self.assertNotIn("<details open", details)
        self.assertEqual(details.count("<details"), 6 + 5 + 5 + 5 + 3 + 4 + 1)

    def test_bars_begin_with_the_flaky_cases(self) -> None:
        shown = part_of(page_of(tagged()), "cases").replace("<wbr>", "")
        self.assertEqual(re.findall(r"<code>([a-z-]+)</code>", shown),
                         ["flaky", "slow", "cut-short", "never", "unrun", "always"])


class WhatIsShown(unittest.TestCase):
    def anchors(self, *records: RunRecord) -> tuple[anchors.Anchors, ...]:
        """Those of the runs of a page."""
        return anchors.anchors_of([report_of(one, "x") for one in records])

    def test_the_most_uncertain_cases_come_first_and_stable_passes_last(self) -> None:
        rows = report_of(record({"pass": "++++", "fail": "----", "maybe": "++n+", "none": "nnnn", "flaky": "-+++",
                                 "coin": "-+-+"}), "x").cases
        self.assertEqual([rows[place].id for place in anchors.by_trouble(rows)],
                         ["coin", "flaky", "maybe", "fail", "none", "pass"])

    def test_every_trial_of_a_small_run_has_details(self) -> None:
        one, = self.anchors(record({"A": "++", "B": "nn"}))
        self.assertTrue(all(one.trial(place, trial) for place in (0, 1) for trial in (1, 2)))
        self.assertEqual([case.hidden for case in one.detailed.values()], [0, 0])

    def test_in_a_large_run_only_cases_that_fail_or_are_open_have_details(self) -> None:
        run = record({f"{name}{number}": line * 25 for number in range(21)
                      for name, line in (("p", "++++"), ("f", "----"), ("x", "+-+-"), ("m", "+++n"), ("u", "nnnn"))})
        one, = self.anchors(run)
        self.assertFalse(anchors.has_marks(report_of(run, "x")))
        self.assertEqual({run.cases[place].id[0] for place in one.detailed}, {"f", "x", "m"})
        self.assertEqual(one.case(0), "")
        for case in one.detailed.values():
            shown = [group.first.verdict for group in case.groups]
            self.assertTrue(all(shown.count(verdict) <= most
                                for verdict, most in {"fail": 3, "incomplete": 1, "pass": 1}.items()))
            self.assertEqual(case.hidden, 100 - sum(group.size for group in case.groups))
            self.assertTrue(all(len(group.trials) == min(group.size, 5) for group in case.groups))

    def test_cases_with_details_have_a_bound_which_runs_share(self) -> None:
        large = record(dict.fromkeys(map(str, range(1200)), "+-+-+-+-+"))
        many = record(dict.fromkeys(map(str, range(600)), "+" * 10))
        self.assertTrue(anchors.has_marks(report_of(many, "x")))
        for runs, counts in (((large,), [1000]), ((large, large), [500, 500]), ((many, many), [0, 0])):
            self.assertEqual([len(one.detailed) for one in self.anchors(*runs)], counts)

    def test_texts_are_cut_to_what_fits_and_something_of_each_is_shown(self) -> None:
        self.assertEqual(anchors.most_characters(["x" * 300_000, "y"]), 400_000)
        self.assertEqual(anchors.most_characters(["x" * 1000] * 1000, 1000), 200)
        for texts in (["x" * 5000] * 20, ['"<\u202e' * 500] * 30, ["\U0001f600" * 2000, "short"] * 10):
            with self.subTest(texts=texts[0][:3]):
                most = anchors.most_characters(texts, 35_000)
                self.assertLess(sum(len(html_text(one[:most]).encode()) for one in texts), 35_000)
                self.assertGreater(sum(len(html_text(one[:most * 2]).encode()) for one in texts), 35_000)


def varied(count: int, trials: int, letters: int) -> RunRecord:
    """A large run in which every output is another one."""
    luck = random.Random(1)
    run = record({f"case-{number:04}-of-many": "".join("+" if luck.random() < (0, 0.5, 0.9, 1)[number % 4] else "-"
                                                       for _ in range(trials)) for number in range(count)})
    return replace(run, results=tuple(replace(one, output=f'{{"n": {place}, "s": "{"word " * (letters // 5)}"}}')
                                      for place, one in enumerate(run.results)))


class Sizes(unittest.TestCase):
    def test_300_cases_of_10_long_trials_stay_under_ten_megabytes_and_what_was_cut_is_said(self) -> None:
        shown = page_of(varied(300, 10, 20_000))
        self.assertTrue(TEN_MEGABYTES / 5 < len(shown.encode()) < TEN_MEGABYTES)
        self.assertRegex(shown, r"Texts are cut behind [\d,]+ characters")
        self.assertRegex(shown, r"The first [\d,]+ of 20,\d+ characters\.")
        self.assertIn("python3 report.<wbr>py RUN --case ID", shown)

    def test_above_ten_thousand_trials_there_are_counts_and_few_details(self) -> None:
        shown = page_of(varied(120, 100, 200))
        self.assertLess(len(shown.encode()), TEN_MEGABYTES / 3)
        self.assertNotIn('<a class="mark', shown)
        grid = part_of(shown, "grid")
        self.assertEqual(grid.count("<svg"), 120)
        self.assertRegex(grid, r'aria-label="case-0001-of-many: \d+ pass, \d+ fail"')
        self.assertNotIn("did not run", grid)
        details = Outline(part_of(shown, "details")).text
        self.assertIn("Details of 90 of 120 cases", details)
        self.assertRegex(details, r"Other outcomes, in \d+ trials, are not shown\.")

    def test_a_thousand_flaky_cases_with_long_outputs_of_their_own_make_a_page_of_a_few_megabytes(self) -> None:
        def make(place: int, trial: int) -> Result:
            made = uneven_result(7, place * 100 + trial)
            return replace(made, case=f"case-{place}", trial=trial, output=made.output and made.output * 60)
        self.assertLess(len(page_of(large_record(1100, 10, make))), 12_000_000)

    def test_a_large_group_of_equal_outcomes_tells_its_first_trials_and_ranges_and_counts_the_others(self) -> None:
        shown = page_of(large_record(3, 4000, steady_result))
        self.assertLess(len(shown), 600_000)
        found = re.search(r"trials ([\d, -]*) and \d+ more ranges, the same outcome", Outline(shown).text)
        assert found is not None
        self.assertEqual(found[1].count(",") + 1, 20)
        self.assertRegex(shown, r"and [\d,]+ more trials")

    def test_many_trials_of_few_cases_have_a_mark_each(self) -> None:
        self.assertEqual(page_of(record({"A": "+-" * 40})).count('<a class="mark '), 80)

    def test_more_cases_than_a_page_holds_are_counted(self) -> None:
        with patch.object(anchors, "MOST_ROWS", 20), patch.object(cases, "MOST_ROWS", 20):
            shown = Outline(page_of(record(dict.fromkeys(map(str, range(30)), "+")))).text
        self.assertIn("And 10 more cases, not shown", shown)
        self.assertIn("Details of 20 of 30 cases", shown)

    def test_long_tables_of_markdown_are_folded_or_cut_and_it_is_said(self) -> None:
        for count, is_folded in ((10, False), (11, True)):
            shown = markdown_of(record({f"case-{number}": "+-" for number in range(count)}))
            self.assertEqual(f"<details><summary>{count} cases</summary>" in shown, is_folded)
        shown = markdown_of(record({f"case-{number}": "+-" for number in range(130)}))
        flaky = shown.split("### Flaky cases")[1].split("\n### ")[0]
        self.assertEqual(sum(len(table.rows) for table in tables(flaky)), 100)
        self.assertEqual(shown.count("\nand 30 more cases\n"), 2)

    def test_a_line_of_300_kilobytes_stands_whole_on_a_page_once_and_is_cut_in_tables(self) -> None:
        shown = page_of(hostile())
        self.assertEqual(shown.count(LONG), 1)
        self.assertNotIn("x" * 200, part_of(shown, "grid"))
