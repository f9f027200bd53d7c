"""What the report page is made of before it is drawn: outcomes, pairs of outputs, anchors, room for texts."""
from __future__ import annotations

import unittest
from dataclasses import replace

from benchkit.reports.page_parts import value_text
from benchkit.reports.page_run import (
    LONGEST_TEXT,
    MOST_DETAILED,
    MOST_GROUPS,
    MOST_LINES,
    SHORTEST_TEXT,
    RunOnPage,
    most_characters,
    places_by_trouble,
    runs_on_page,
)

from benchkit.basics.values import JSON
from benchkit.pages.escaping import html_text
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports.outputs import (
    FieldDifference,
    OutputSpace,
    Parted,
    Ranges,
    answer_groups,
    field_differences,
    output_pair,
    parted,
)
from benchkit.reports.run_report import report_of
from tests.reports_samples import record, result


def same(*marks: str, output: str | None = "the same") -> list[Result]:
    """Trials of one case with one output, whatever came of them."""
    return [replace(result("A", trial, mark), output=output) for trial, mark in enumerate(marks, 1)]


def on_page(*records: RunRecord) -> tuple[RunOnPage, ...]:
    """The runs of a page, labelled a, b, ..."""
    return runs_on_page([report_of(one, "x") for one in records], "abcdef"[:len(records)])


class OutcomesOfACase(unittest.TestCase):
    def test_trials_with_one_outcome_are_one_group_in_the_order_of_their_first(self) -> None:
        groups = answer_groups(same("+", "-", "+", "n", "n", "t"))
        self.assertEqual([[line.trial for line in group.lines] for group in groups], [[1, 3], [2], [4, 5], [6]])
        self.assertEqual([(group.size, group.numbers) for group in groups],
                         [(2, "1, 3"), (1, "2"), (2, "4-5"), (1, "6")])
        self.assertEqual(groups[0].first.trial, 1)

    def test_whatever_a_reader_would_see_keeps_groups_apart(self) -> None:
        base = same("+")[0]
        for field, value in (("output", "other"), ("finish", "length"), ("reasoning", "because"), ("verdict", "fail")):
            with self.subTest(field=field):
                other = replace(base, **{field: value})  # type: ignore[arg-type]
                self.assertEqual(len(answer_groups([base, other])), 2)

    def test_what_was_measured_keeps_nothing_apart(self) -> None:
        base = same("+")[0]
        other = replace(base, trial=2, seed=1002, recorded_latency_s=9.0, cold=True, attempts=3, usage=None)
        self.assertEqual(len(answer_groups([base, other])), 1)

    def test_a_line_says_what_was_measured_of_a_trial(self) -> None:
        line, _ = answer_groups(same("+", "+"))[0].lines
        self.assertEqual(line.text, "trial 1, seed 1001, 0.100 s, cold, 100 tokens in, 10 tokens out, load 0.010 s, "
                                    "prompt 0.100 s, output 0.500 s, first token 0.200 s, other 0.000 s")

    def test_where_there_is_little_room_first_outcomes_first_trials_and_first_ranges_are_kept(self) -> None:
        trials = [replace(result("A", trial, mark), output=output) for trial, (mark, output) in enumerate(
            [("-", "a"), ("-", "b"), ("+", "c"), ("-", "a"), ("-", "a"), ("+", "d"), ("-", "a"), ("-", "b")], 1)]
        groups = answer_groups(trials, OutputSpace({"pass": 1, "fail": 1, "incomplete": 1}, trials=2, ranges=2))
        self.assertEqual([(group.first.output, group.size, group.numbers) for group in groups],
                         [("a", 4, "1, 4-5 and 1 more range"), ("c", 1, "3")])
        self.assertEqual([line.trial for line in groups[0].lines], [1, 4])

    def test_numbers_are_written_as_ranges(self) -> None:
        for numbers, most, text in (
                ((), None, ""), ((4,), None, "4"), ((1, 2), None, "1-2"), ((1, 2, 3, 7, 9, 10), None, "1-3, 7, 9-10"),
                ((1, 2, 4, 5), 1, "1-2 and 1 more range"), ((1, 3, 4, 6, 7, 8, 10), 2, "1, 3-4 and 2 more ranges")):
            with self.subTest(numbers=numbers, most=most):
                ranges = Ranges(most)
                for number in numbers:
                    ranges.take(number)
                self.assertEqual(ranges.text(), text)


class TwoOutputs(unittest.TestCase):
    def test_the_first_that_passed_and_the_first_that_failed(self) -> None:
        pair = output_pair(same("n", "-", "+", "-", "+"))
        assert pair is not None
        self.assertEqual((pair.passed.trial, pair.failed.trial), (3, 2))

    def test_no_pair_where_no_trial_passed_or_none_failed(self) -> None:
        for marks in ("++", "--", "+n", "nn", ""):
            with self.subTest(marks=marks):
                self.assertIsNone(output_pair(same(*marks)))

    def test_texts_part_in_the_middle(self) -> None:
        table = (
            ("one two three", "one 2 three", "one ", "two", " three"),
            ("same", "same", "same", "", ""),
            ("", "new", "", "", ""),
            ("new", "", "", "new", ""),
            ("aaa", "aa", "aa", "a", ""),
            ("abcab", "ab", "ab", "cab", ""),
            ("x" * 300_000 + "a", "x" * 300_000 + "b", "x" * 300_000, "a", ""),
        )
        for text, other, start, own, end in table:
            with self.subTest(text=text[:20], other=other[:20]):
                self.assertEqual(parted(text, other), Parted(start, own, end))

    def test_a_parted_text_is_whole_and_shares_no_letter_at_either_end_of_its_own(self) -> None:
        texts = ["".join("ab"[number >> bit & 1] for bit in range(4)) for number in range(16)]
        for text in texts:
            for other in texts:
                here, there = parted(text, other), parted(other, text)
                self.assertEqual(here.start + here.own + here.end, text)
                self.assertEqual((here.start, here.end), (there.start, there.end))
                if here.own and there.own:
                    self.assertNotEqual(here.own[0], there.own[0])
                    self.assertNotEqual(here.own[-1], there.own[-1])

    def test_json_objects_differ_in_fields(self) -> None:
        self.assertEqual(
            field_differences('{"a": 1, "b": "x", "c": null}', '{"b": "y", "a": 1, "d": [true]}'),
            (FieldDifference("b", '"x"', '"y"'), FieldDifference("c", "null", None),
             FieldDifference("d", None, "[true]")))

    def test_what_is_no_small_json_object_has_no_fields(self) -> None:
        for text in ("", "text", "[1]", '"a"', "{", "{" * 5000, '{"a": ' + "[" * 300 + "]" * 300 + "}",
                     '{"a": ' + "1" * 5000 + "}", '{"a": "' + "x" * 30_000 + '"}'):
            with self.subTest(text=text[:20]):
                self.assertEqual(field_differences(text, '{"a": 2}'), ())


class ValuesAsText(unittest.TestCase):
    def test_texts_stay_fields_stand_line_by_line_and_all_else_is_json(self) -> None:
        table: tuple[tuple[JSON, str], ...] = (
            ("as\nit is", "as\nit is"), (None, "null"), (3, "3"), ({}, "{}"), ([1, "\u00e9"], '[\n 1,\n "\u00e9"\n]'),
            ({"a": "x", "b": 2, "c": None, "d": True}, "a: x\nb: 2\nc: null\nd: true"),
            ({"body": "two\nlines", "to": "me"}, "body:\ntwo\nlines\nto: me"), ({"a": {}}, '{\n "a": {}\n}'))
        for value, text in table:
            with self.subTest(value=value):
                self.assertEqual(value_text(value), text)


class WhereThingsStand(unittest.TestCase):
    def test_one_run_has_plain_anchors_and_several_have_their_number(self) -> None:
        alone, = on_page(record({"A": "+-"}))
        self.assertEqual((alone.anchor("grid"), alone.case_anchor(0), alone.trial_anchor(0, 2)),
                         ("grid", "case-1", "case-1-trial-2"))
        _, second = on_page(record({"A": "+-"}), record({"A": "+-"}))
        self.assertEqual((second.anchor("grid"), second.trial_anchor(0, 2)), ("run-2-grid", "run-2-case-1-trial-2"))

    def test_the_most_uncertain_cases_come_first_and_stable_passes_last(self) -> None:
        rows = report_of(record({"pass": "++++", "fail": "----", "maybe": "++n+", "none": "nnnn", "flaky": "-+++",
                                 "coin": "-+-+"}), "x").cases
        self.assertEqual([rows[place].id for place in places_by_trouble(rows)],
                         ["coin", "flaky", "maybe", "fail", "none", "pass"])

    def test_every_trial_of_a_small_run_has_details(self) -> None:
        page, = on_page(record({"A": "++", "B": "nn"}))
        self.assertTrue(page.has_grid)
        self.assertTrue(all(page.trial_anchor(place, trial) for place in (0, 1) for trial in (1, 2)))
        self.assertEqual([case.hidden for case in page.detailed.values()], [0, 0])

    def test_in_a_large_run_only_cases_that_fail_or_may_be_flaky_have_details(self) -> None:
        marks = {f"{name}{number}": line * 25 for number in range(21)
                 for name, line in (("p", "++++"), ("f", "----"), ("x", "+-+-"), ("m", "+++n"), ("u", "nnnn"))}
        page, = on_page(record(marks))
        self.assertFalse(page.has_grid)
        self.assertEqual({page.report.cases[place].id[0] for place in page.detailed}, {"f", "x", "m"})
        self.assertEqual(page.case_anchor(0), "")
        for case in page.detailed.values():
            shown = [group.first.verdict for group in case.groups]
            self.assertTrue(all(shown.count(verdict) <= most for verdict, most in MOST_GROUPS.items()))
            self.assertEqual(case.hidden, 100 - sum(group.size for group in case.groups))
            self.assertTrue(all(len(group.lines) == min(group.size, MOST_LINES) for group in case.groups))
            self.assertEqual(len(case.trials), sum(len(group.lines) for group in case.groups))

    def test_cases_with_details_have_a_bound_which_runs_share(self) -> None:
        large = record(dict.fromkeys(map(str, range(1200)), "+-+-+-+-+"))
        self.assertEqual(len(on_page(large)[0].detailed), MOST_DETAILED)
        self.assertEqual([len(page.detailed) for page in on_page(large, large)], [MOST_DETAILED // 2] * 2)

    def test_several_runs_that_are_large_together_keep_their_grids(self) -> None:
        pages = on_page(*[record(dict.fromkeys(map(str, range(600)), "++++++++++"))] * 2)
        self.assertTrue(all(page.has_grid and not page.detailed for page in pages))


class RoomForTexts(unittest.TestCase):
    def test_texts_that_fit_stay_whole(self) -> None:
        self.assertEqual(most_characters(["x" * 300_000, "y"]), LONGEST_TEXT)

    def test_long_texts_are_cut_to_what_fits_and_short_ones_are_not_the_reason(self) -> None:
        for texts in (["x" * 5000] * 200, ['"<\u202e' * 500] * 300, ["\U0001f600" * 2000, "short"] * 100):
            with self.subTest(texts=texts[0][:3]):
                most = most_characters(texts, 350_000)
                self.assertLess(sum(len(html_text(text[:most]).encode()) for text in texts), 350_000)
                self.assertGreater(sum(len(html_text(text[:most * 2]).encode()) for text in texts), 350_000)

    def test_something_of_every_text_is_always_shown(self) -> None:
        self.assertEqual(most_characters(["x" * 1000] * 1000, room=1000), SHORTEST_TEXT)


if __name__ == "__main__":
    unittest.main()
