"""A report as a document: its headline, what holds of it in every format, how long it gets, and hostile texts in it."""
from __future__ import annotations

import re
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product

from benchkit import VERSION
from benchkit.basics.texts import width_of
from benchkit.basics.values import ErrorFacts, Usage
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.render.as_markdown import COMMENT
from benchkit.render.columns import WIDTH
from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.documents import case_report, first_screen, markdown_report, page_report, text_report
from benchkit.reports.run_report import report_of
from tests.hostile_run import HOSTILE, hostile_record
from tests.large_runs import large_record, steady_result
from tests.markdown_tables import Table, tables, without_code
from tests.page_runs import (
    CASES,
    Outline,
    every_format,
    everything,
    flat,
    markdown_of,
    other,
    page_of,
    tagged,
    text_of,
    told_first,
    worked,
)
from tests.reports_samples import SESSION, WORKED_SUITE, case, changed, record, result, with_results

UNSEEN = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
"""What no format holds; a page holds tabs."""


def table_with(text: str, title: str) -> Table:
    """The first table of a Markdown text that has a title."""
    return next(table for table in tables(text) if title in table.titles)


class TheHeadline(unittest.TestCase):
    def test_it_says_what_was_observed_what_is_open_and_what_follows(self) -> None:
        for marks, expected in (
                ({"A": "++", "B": "+-", "C": "--"}, (
                    "3 of 6 judged tries passed: 50.0 %; of 3 cases 1 passed every time, 1 sometimes, 1 never",
                    "nothing: all 6 planned trials were judged",
                    "pass^1 50.0 % (95 %: 12.5 to 87.5), pass^2 33.3 % (6.1 to 79.2)")),
                ({"A": "+", "B": "-"}, (
                    "1 of 2 judged tries passed: 50.0 %; each of 2 cases was to be tried once",
                    "nothing: all 2 planned trials were judged",
                    "pass^1 50.0 % (95 %: 9.5 to 90.5); one trial cannot show what is reliable")),
                ({"A": "+"}, (
                    "1 of 1 judged try passed: 100.0 %; the one case was to be tried once",
                    "nothing: the one planned trial was judged",
                    "pass^1 100.0 % (95 %: 20.7 to 100.0); one trial cannot show what is reliable")),
                ({"A": "nn"}, (
                    "nothing is known: none of 2 planned trials could be judged",
                    "2 of 2 planned trials did not run; 0 of 1 case complete",
                    "as the missing ones go: pass^1 0.0 to 100.0 % (95 %: 0.0 to 100.0), pass^2 0.0 to 100.0 % "
                    "(0.0 to 100.0)")),
                ({"A": "+", "B": "n"}, (
                    "1 of 1 judged try passed: 100.0 %; each of 2 cases was to be tried once",
                    "1 of 2 planned trials did not run; 1 of 2 cases complete",
                    "as the missing ones go: pass^1 50.0 to 100.0 % (95 %: 9.5 to 100.0); one trial cannot show what "
                    "is reliable")),
                ({"A": "+u", "B": "tt", "C": "nn"}, (
                    "1 of 1 judged try passed: 100.0 %; of 3 cases 0 passed every time, 0 sometimes, 0 never; 3 have "
                    "tries left",
                    "5 of 6 planned trials (2 NotRun, 2 Timeout, ...); 0 of 3 cases complete",
                    "as the missing ones go: pass^1 16.7 to 100.0 % (95 %: 1.8 to 100.0), pass^2 0.0 to 100.0 % "
                    "(0.0 to 100.0)")),
                ({"A": "++", "B": "+t"}, (
                    "3 of 3 judged tries passed: 100.0 %; of 2 cases 1 passed every time, 0 sometimes, 0 never; 1 is "
                    "open",
                    "1 of 4 planned trials (1 Timeout); 1 of 2 cases complete",
                    "as the missing ones go: pass^1 75.0 to 100.0 % (95 %: 19.8 to 100.0), pass^2 50.0 to 100.0 % "
                    "(9.5 to 100.0)")),
                ({}, ("nothing is known: none of 0 planned trials could be judged",
                      "nothing: all 0 planned trials were judged", "nothing: there are no cases"))):
            with self.subTest(marks=marks):
                told = told_first(record(marks))
                self.assertEqual((told["Result"], told["Incomplete"], told["Confidence"]), expected)

    def test_no_missing_trial_can_overturn_what_it_says(self) -> None:
        marks = {"A": "++n", "B": "+-n", "C": "-nn", "D": "+++", "E": "---", "F": "nt+"}
        told = told_first(record(marks))
        low, high = (map(float, one) for one in zip(*re.findall(r"pass\^\d ([\d.]+) to ([\d.]+) %", told["Confidence"]),
                                                    strict=True))
        bounds = list(zip(low, high, strict=True))
        counts = [int(one) for one in re.findall(r"(\d) (?:passed every time|sometimes|never)", told["Result"])]
        self.assertEqual((counts, len(bounds)), ([1, 1, 1], 2))
        for filling in product("+-", repeat=sum(map(len, re.findall("[nt]", "".join(marks.values()))))):
            letters = iter(filling)
            whole = told_first(record({name: "".join(next(letters) if one in "nt" else one for one in line)
                                       for name, line in marks.items()}))
            rates = [float(one) for one in re.findall(r"pass\^\d ([\d.]+) %", whole["Confidence"])]
            self.assertTrue(all(least <= one <= most for one, (least, most) in zip(rates, bounds, strict=True)), whole)
            after = [int(one) for one in re.findall(r"(\d) (?:passed every time|sometimes|never)", whole["Result"])]
            self.assertTrue(all(map(int.__le__, counts, after)), whole)

    def test_the_name_of_the_system_stands_whole(self) -> None:
        for system in ("a:b", "model_triage:" + "x" * 200):
            self.assertEqual(told_first(replace(worked(), system=system))["System"], system)


class TheFirstScreen(unittest.TestCase):
    def screen(self, of: RunRecord) -> list[str]:
        return first_screen(report_of(of, "run")).splitlines()

    def test_it_fits_a_screen_and_begins_as_the_report_does(self) -> None:
        for marks, most in (({f"case-{number:03}": "+-" * 5 if number % 2 else "-" * 10 for number in range(90)}, 26),
                            ({"A": "++", "B": "++"}, 12)):
            lines = self.screen(record(marks))
            self.assertLessEqual(len(lines), most)
            self.assertEqual(lines[:4], text_of(record(marks), full=False).splitlines()[:4])

    def test_the_most_undecided_flaky_cases_come_first(self) -> None:
        lines = self.screen(record({"A": "+++-", "B": "++--", "C": "----"}))
        start = next(place for place, line in enumerate(lines) if "for example" in line)
        self.assertEqual([line.split()[0] for line in lines[start + 1:start + 4]], ["B", "A", "C"])

    def test_a_single_result_is_enough(self) -> None:
        run = replace(record({"A": "+"}), results=(result("A", 1, "-"),))
        self.assertIn("0 of 1 judged try passed: 0.0 %", self.screen(run)[1])


class WhatIsSaid(unittest.TestCase):
    def test_where_there_is_nothing_it_is_said_in_every_format(self) -> None:
        silent = changed(record({"A": "++"}), recorded_latency_s=None, usage=Usage(), timings=None)
        unnamed = record({"A": "+"}, sessions=[replace(SESSION, hardware=None)])
        for of, words in ((record({}), "There are no cases."), (record({"A": "++"}), "No judged trial failed (2 of 2"),
                          (record({"A": "nn"}), "No trial was judged."), (silent, "No latency was recorded."),
                          (silent, "no trial of 2 says how many tokens it took"), (unnamed, "Hardware not said"),
                          (record({"A": "++"}), "None of 2 planned trials."), (record({}), "No trial was judged."),
                          (record({"A": "++"}), "No case of 1 both passed and failed."),
                          (record({"A": "++"}), "The one case with a judged trial passed at least once."),
                          (record({"A": "+n", "B": "+n"}),
                           "2 cases of 2 are open: flaky or not, as the incomplete trials go.")):
            for name, told in every_format(of).items():
                with self.subTest(words=words, format=name):
                    self.assertIn(re.sub("[: ]", "", words), re.sub("[: ]", "", told))

    def test_what_only_some_runs_have_is_said_in_every_format(self) -> None:
        again = with_results(record({"A": "+-", "B": "+-"}), lambda one: {
            "attempts": 2, "retries": 3, "timings": replace(one.timings, load_s=2.5) if one.timings else None})
        cached = changed(record({"A": "++"}), usage=Usage(100, 10, 40))
        session = SessionFacts("2026-11-30T12:00:00.000Z", None, {}, None, 30.0, None, None)
        limited = record({"A": "+"}, sessions=[session])
        for of, words in ((again, "4 of 4 started trials took several attempts; 12 requests sent again inside a trial"),
                          (cached, "200 in, 20 out, over 2 trials that say so; 80 of those in from the cache"),
                          (limited, "budget 30.00 s"), (limited, "no word of it"),
                          (record({"A": "+"}, {"temperature": 0.5}), "temperature"),
                          (record({"A": "-"}), "1 of 1 (100.0 %) judged trial failed.")):
            for name, told in every_format(of).items():
                with self.subTest(words=words, format=name):
                    self.assertIn(words, told)

    def test_a_run_without_warnings_has_no_box_for_them(self) -> None:
        enough = changed(record(dict.fromkeys(map(str, range(101)), "++")), cold=False)
        self.assertNotIn("callout", page_of(enough).split("<nav")[0].split("</style>")[1])
        self.assertNotIn("WARNING", markdown_of(enough))
        self.assertNotIn("warning", text_of(enough))

    def test_every_k_up_to_20_has_its_line_and_above_it_round_ones_and_the_last(self) -> None:
        for trials, above in ((20, []), (21, [21]), (100, [50, 100]), (230, [50, 100, 200, 230])):
            of = record({"A": "+" * trials})
            every = text_of(of).split("The same for every k")[1].split("\n\n")[0]
            found = [int(line.split()[0]) for line in every.splitlines() if re.match(r"^ +\d+ +\d+\.\d ", line)]
            with self.subTest(trials=trials):
                self.assertEqual(found, [*range(1, 21), *above])
        for trials, shown in ((1, "1"), (4, "1 2 3 4"), (10, "1 2 3 5 10"), (17, "1 2 3 5 10 17")):
            with self.subTest(trials=trials):
                table = table_with(markdown_of(record({"A": "+" * trials})), "pass^k %")
                self.assertEqual(" ".join(table.column("k")), shown)
        page = page_of(record({"A": "+" * 30, "B": "+-" * 15}))
        self.assertIn("<summary>The same for every k from 1 to 30</summary>", page)

    def test_long_lists_are_cut_and_it_is_said(self) -> None:
        reasons = with_results(record({"A": "-" * 20}), lambda one: {"explain": {"label": f"reason {one.trial:02}"}})
        tags = replace(record({"A": "+-"}), cases=(case("A", [f"tag-{number}" for number in range(45)]),))
        sessions = record({"A": "+-"}, sessions=[SESSION] * 11)
        settings = record({"A": "+-"}, {f"option-{number:02}": number for number in range(70)})
        for of, in_text, in_markdown, in_page in (
                (reasons, "and 8 more reasons", "8 more reasons", "8 more reasons"),
                (tags, "", "15 more tags", "15 more tags"), (sessions, "", "3 more sessions", "3 more sessions"),
                (settings, "", "10 more settings", "10 more settings")):
            with self.subTest(cut=in_page):
                self.assertIn(in_text, text_of(of, full=False))
                self.assertIn(in_markdown, markdown_of(of))
                self.assertIn(in_page, page_of(of))
                self.assertNotIn(in_page, text_of(of))

    def test_of_several_runs_each_keeps_its_title_and_warnings_stand_on_top(self) -> None:
        page = page_of(tagged(), other())
        topics = Outline(page_of(tagged())).headings
        self.assertEqual(Outline(page).headings, ["Side by side", "Pair by pair", "second against first",
                                                  "first: toys:robot", *topics, "second: toys:other", *topics])
        top = page.split("<nav")[0].split("</style>")[1]
        self.assertEqual((top.count("callout "), top.count("<details")), (1, 1))
        self.assertIn("6 warnings: 3 of first, 3 of second", flat(Outline(top).text))
        self.assertIn("same (run 2): toys:robot", Outline(page_of(tagged(), tagged(), names="same same")).headings)

    def test_it_ends_with_what_it_was_made_of(self) -> None:
        for name, told in every_format(worked(), names="worked").items():
            with self.subTest(name):
                self.assertTrue(told.endswith(
                    f"Made by report.py, kit {VERSION}, from the run record worked alone: the same record gives the "
                    "same bytes. python3 report.py RUN --case ID shows every output."), told[-300:])


class EveryFigure(unittest.TestCase):
    def test_counts_have_what_they_are_of(self) -> None:
        text = markdown_of(tagged(), record(WORKED_SUITE))
        of_all = re.compile(r"\d+ of \d+( \([<>\d.]+ %\))?( judged)?(, \d+ unknown)?")
        for title in ("passed", "planned trials", "of the failed trials", "the only check that failed", "cases done",
                      "trials passed", "incomplete"):
            found = [cell for table in tables(text) if title in table.titles for cell in table.column(title)]
            self.assertTrue(found, title)
            for cell in found:
                with self.subTest(title=title, cell=cell):
                    self.assertRegex(cell, f"^{of_all.pattern}$")

    def test_every_rate_has_its_interval(self) -> None:
        for table in tables(markdown_of(tagged(), other())):
            rates = [place for place, title in enumerate(table.titles) if re.search(r"pass[@^]\w+( %)?$", title)]
            for row in table.rows:
                for place in rates:
                    self.assertRegex(" ".join(row[place + 1:place + 3]), r"(^| )([<>\d.]+ to [<>\d.]+|n/a)")

    def test_numbers_have_their_thousands_apart(self) -> None:
        text = text_of(record({"A": "+" * 1499 + "-", "B": "+" * 1500}))
        self.assertIn("looks stable in less than 0.1 % of runs of 1,500 trials.\n", text)
        self.assertIn("The same for every k from 1 to 1,000, and for 1,500", page_of(record({"A": "+" * 1500})))
        # a trial and a k are called by their numbers, and digests and time stamps are such
        self.assertEqual([], re.findall(r"(?<!trial )(?<!answer )(?<!@)(?<!\^)(?<!any of )(?<!all of )(?<!source )"
                                        r"(?<![\d.,T:-])\d{4,}(?![\d-])", text))


class Links(unittest.TestCase):
    def test_all_lead_to_a_place_that_is_there_once_and_every_trial_can_be_reached(self) -> None:
        for runs in ((tagged(),), (tagged(), other()), (record({"A": "++"}), record({"Z": "+-"})), (record({}),),
                     (everything(), large_record(3, 4000, steady_result))):
            outline = Outline(page_of(*runs))
            self.assertLessEqual({link.removeprefix("#") for link in outline.links}, set(outline.ids))
            self.assertEqual([one for one, count in Counter(outline.ids).items() if count > 1], [])
            for number, run in enumerate(runs, 1):
                prefix = f"#run-{number}-" if len(runs) > 1 else "#"
                leads = Counter(re.sub(r"-trial-\d+$", "", link) for link in outline.links
                                if re.fullmatch(rf"{prefix}case-\d+-trial-\d+", link))
                for place in range(1, len(run.cases) + 1) if all(one.trials < 100 for one in runs) else ():
                    self.assertGreaterEqual(leads[f"{prefix}case-{place}"], run.trials)

    def test_no_link_leads_out_of_a_page(self) -> None:
        self.assertEqual([link for link in Outline(page_of(hostile_record())).links if not link.startswith("#")], [])


class Lengths(unittest.TestCase):
    def test_text_keeps_its_width_whatever_a_run_holds_and_ends_no_line_with_a_blank(self) -> None:
        runs: Iterator[Mapping[str, str]] = iter((
            {}, {"A": "n"}, {"A": "+"}, {"A": "tt", "B": "uu"}, {"A": "+-" * 50, "B": "nt" * 50}, CASES,
            {f"case-{number:04}": "+-n" for number in range(300)}, {"x" * 300: "+-n", "日本語" * 80: "+--"}))
        for marks in runs:
            for text in (text_of(record(marks)), text_of(record(marks), full=False),
                         text_of(record(marks), record(marks, {"temperature": 1.0}))):
                with self.subTest(cases=len(marks)):
                    self.assertEqual([line for line in text.splitlines() if width_of(line) > WIDTH], [])
                    self.assertEqual([line for line in text.splitlines() if line != line.rstrip()], [])

    def test_the_text_fits_two_screens(self) -> None:
        uneven = {f"case-{number:03}": "+-" * 500 if number % 2 else "-" * 1000 for number in range(4)}
        many = {f"case-{number:03}": "+-n" if number % 2 else "---" for number in range(300)}
        for marks in (uneven, many, CASES):
            self.assertLessEqual(len(text_of(record(marks), full=False).splitlines()), 2 * 40)

    def test_markdown_fits_a_comment_whatever_it_is_about(self) -> None:
        marks = ("++++++++++", "+++++-++++", "----------", "++t++n-+++")
        large, half = (record({f"a-case-with-quite-a-long-name-{number:04}": marks[number % 4] for number in range(
            cases)}) for cases in (250, 120))
        apart = [record({f"case-{number}": "+-"}) for number in range(60)]
        sessions = [replace(SESSION, environment={f"{number}-{'@' * 99}": number for number in range(200)}), SESSION]
        wide = record({"@" * 200 + str(number): "-" for number in range(20)}, sessions=sessions)
        for name, runs in (("large", (large,)), ("three", (half,) * 3), ("apart", apart), ("wide", (wide,)),
                           ("two wide", (wide,) * 2)):
            text = markdown_of(*runs, names=" ".join(f"run{number}" for number in range(len(runs))))
            with self.subTest(name):
                self.assertLessEqual(len(text), COMMENT)
                self.assertEqual(text.count("<details>"), text.count("</details>"))
                self.assertTrue(tables(text))


@cache
def strange(words: str) -> SideBySide:
    """Three runs, a text wherever one may stand: one, the same judged otherwise, and one with other outputs."""
    def run(marks: Mapping[str, str], start: str) -> RunRecord:
        of = with_results(record({f"{words}{name}": line for name, line in marks.items()}, {words: 1}), lambda one: {
            "checks": one.checks and {words: one.verdict == "pass", "holds": True},
            "explain": {words: words} if one.verdict == "fail" else None, "reasoning": words, "finish": words,
            "error": one.error and ErrorFacts("BrokenReply", words, words), "output": f"{start * one.trial}{words}"})
        cases = [replace(one, tags=(words,), input={"from": words, "body": words}, expected=[words])
                 for one in of.cases]
        session = replace(of.sessions[0], hardware=words, environment={"a": words})
        return replace(of, cases=tuple(cases), system=words, task=replace(of.task, name=words),
                       judge=replace(of.judge, name=words), sessions=(session,))

    one = run({"A": "+-n", "B": "+++", "C": "++-", "D": "++n"}, "a")
    judged = replace(one, judge=replace(one.judge, version=f"v{words}"))
    other = run({"A": "+--", "B": "+++", "C": "+++", "E": "+++"}, "b")
    return side_by_side([report_of(of, words) for of in (one, judged, other)])


def built(side: SideBySide) -> tuple[object, ...]:
    """What Markdown and the page of some runs are made of, and nothing of their words."""
    found, shown = Outline("".join(page_report(side))), "".join(markdown_report(side))
    return ([tag for tag in found.tags if tag != "wbr"], found.ids, found.links, found.attributes,
            [(len(table.titles), len(table.rows)) for table in tables(shown)],
            re.findall(r"(?m)^(?:#+|>|-|<\w+>|\|(?: -+:? \|)+)", without_code(shown)))


class TextsOfStrangers(unittest.TestCase):
    def test_a_terminal_gets_nothing_that_it_obeys_and_lines_that_fit(self) -> None:
        for words in HOSTILE:
            side = strange(words)
            run, alone = side.runs[0], side_by_side(side.runs[:1])
            told = ["".join(text_report(one, is_full=full)) for one in (side, alone) for full in (True, False)]
            told += [first_screen(run), "".join(case_report([run], run.cases[0].id))]
            for shown in told:
                with self.subTest(words=words[:20]):
                    self.assertNotRegex(shown, UNSEEN)
                    self.assertLessEqual(max(map(width_of, shown.splitlines())), WIDTH)
            self.assertIn("first in trial", told[0])

    def test_markdown_and_page_are_built_as_with_a_plain_text(self) -> None:
        plain = built(strange("words"))
        for words in filter(str.strip, HOSTILE):
            with self.subTest(words=words[:20]):
                self.assertEqual(plain, built(strange(words)))

    def test_all_of_them_at_once_can_be_written_in_every_format(self) -> None:
        for count in (1, 2):
            runs, kit = [hostile_record(), replace(hostile_record(), settings={})][:count], [tagged(), other()][:count]
            names = " ".join(["".join(HOSTILE[:8]).replace(" ", "")] * count)
            markdown, page, outline = markdown_of(*runs, names=names), page_of(*runs,
                                                                               names=names), Outline(page_of(*kit))
            for shown in (text_of(*runs, names=names), markdown, page.replace("\t", "")):
                self.assertNotRegex(shown, UNSEEN)
                shown.encode()
            self.assertLessEqual(set(Outline(page).tags), set(outline.tags))
            self.assertLessEqual(Outline(page).attributes, outline.attributes)
            self.assertNotRegex(re.sub(r"<!-- -->|</?details>|</?summary>|\\.", "", without_code(markdown)),
                                r"<[/a-z!?]|\]\(|!\[(?!WARNING|NOTE|CAUTION)")

    def test_an_error_that_a_stranger_words_stays_in_its_cell(self) -> None:
        run = changed(record({"A": "u"}), error=ErrorFacts("BadReply", "a | b\n\n# c `d"))
        self.assertEqual(table_with(markdown_of(run), "message").column("message"), ["``a \\| b\\n\\n# c `d``"])
        self.assertIn("BadReply  1 of 1 (100.0 %)  a | b\\n\\n# c `d\n", text_of(run))
