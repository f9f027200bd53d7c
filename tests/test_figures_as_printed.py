"""Figures that cannot be: a 0 or a 100 % that is none, a p of 0, a 0 for what nobody told, wherever a report prints."""
from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any
from unittest.mock import patch

from benchkit.basics.texts import as_given, distance, percent, percent_in_words
from benchkit.basics.values import Usage
from benchkit.boards.board_document import board_document
from benchkit.recordings.digest_comparison import in_brackets
from benchkit.recordings.run_record import RunRecord
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.reports.figures import latency, number, of, per_second, probability, seconds, share, spread
from benchkit.statistics.estimators import figure, probability_figure
from benchkit.statistics.percentiles import Latency
from benchkit.statistics.permutation import About
from tests.report_command import ReportCommandTest, call
from tests.reports_samples import WORKED_SUITE, case, changed, record
from tests.sample_board import sample_board

FORMATS = ("out", "html", "markdown", "junit")


class PrintedTest(ReportCommandTest):
    def printed(self, *runs: RunRecord, flags: tuple[str, ...] = ()) -> dict[str, str]:
        """All that report.py writes about runs, by format, with character references read; stdout is `text`."""
        paths = [self.write(f"run{number}", run) for number, run in enumerate(runs)]
        files = {name: self.folder / f"report.{name}" for name in FORMATS}
        told = call(*paths, "--full", *flags, *(part for name, path in files.items() for part in (f"--{name}", path)))
        self.assertEqual((0, len(files)), (told.code, told.stderr.count("written: ")), told.stderr)
        return {"text": told.stdout,
                **{name: html.unescape(path.read_text(encoding="utf-8")) for name, path in files.items()}}

    def json(self, *runs: RunRecord) -> Any:
        return json.loads(self.printed(*runs)["out"])


class NearlyAllAndNearlyNone(PrintedTest):
    def test_two_thousand_of_two_thousand_and_one_is_nowhere_all(self) -> None:
        run = record({f"c{number}": "+" * 22 + ("-" if number == 7 else "+") for number in range(87)})
        printed = self.printed(run, run)
        for name in ("text", "html", "markdown", "junit"):
            with self.subTest(name=name):
                self.assertIn(">99.9", printed[name])
        found = json.loads(printed["out"])["runs"][0]["pass"][0]["hat"]
        self.assertEqual((0.9995, 0.9995), (found["worst"], found["best"]))
        self.assertLess(found["high"], 1)
        # the run's own bar and the curve of two runs, told aloud
        told = re.findall(r'aria-label="([^"]*)"', printed["html"].split("<caption>Share of tries that pass, with")[1])
        self.assertTrue(told[1].startswith(">99.9 %, interval 95.7 % to >99.9 %"), told[1])

    def test_what_six_digits_would_round_to_none_or_all_keeps_its_digits(self) -> None:
        # pass@14 is 1 - C(15,14) / C(30,14), and pass^14 is C(15,14) / C(30,14) = 15 / 145,422,675
        entries = self.json(record({"A": "+" * 15 + "-" * 15}))["runs"][0]["pass"]
        self.assertEqual((0.999999896852, 1.03148e-07), (entries[13]["at"]["worst"], entries[13]["hat"]["worst"]))
        self.assertEqual((1.0, 0.0), (entries[15]["at"]["worst"], entries[15]["hat"]["worst"]))
        self.assertLess(entries[14]["at"]["high"], 1)
        self.assertGreater(entries[14]["hat"]["low"], 0)

    def test_a_figure_is_a_whole_number_only_if_it_is_one(self) -> None:
        tiny = Fraction(1, 10**400)
        for value, expected in (
                (Fraction(1, 4 * 10**6), 2.5e-07), (1 - Fraction(1, 4 * 10**6), 0.99999975), (Fraction(1), 1.0),
                (-1 + Fraction(1, 10**9), -0.999999999), (Fraction(0), 0.0), (Fraction(1, 3), 0.333333),
                (tiny, 5e-324), (1 - tiny, 0.9999999999999999), (2 - tiny, 2.0)):
            with self.subTest(expected=expected):
                self.assertEqual(expected, figure(value))

    def test_the_curves_of_a_page_say_so_too(self) -> None:
        page = self.printed(record({"A": "+" * 15 + "-" * 15}))["html"]
        self.assertIn("at least one of k tries passes, 14: >99.9 % (", page)
        self.assertIn("all of k tries pass, 14: <0.1 % (", page)

    def test_equal_outputs_of_two_recordings_are_told_by_the_same_rule(self) -> None:
        shares = (Fraction(2000, 2001), Fraction(1), Fraction(1, 2001), None)
        self.assertEqual([" (>99.9 %)", " (100.0 %)", " (<0.1 %)", " n/a"], [
            in_brackets(share) for share in shares])

    def test_a_share_beside_a_limit_stands_on_its_side_of_it(self) -> None:
        for passed, limit, text in ((Fraction(7501, 10000), 0.75, "75.01"), (Fraction(3, 4), 0.75, "75.0"),
                                    (0.7, 0.7, "70.0"), (Fraction(2, 3), 0.667, "66.67")):
            with self.subTest(text=text):
                self.assertEqual(text, percent(passed, limit))
        self.assertEqual(("5.04", "5.0"), (distance(0.0504, Fraction(1, 20)), distance(0.0504)))
        self.assertEqual(("5.0", "0.04", "70.0"), (as_given(Fraction(1, 20)), as_given(0.0004), as_given(0.7)))

    def test_only_all_reads_100_and_only_none_reads_0_and_ties_go_to_even(self) -> None:
        for value, text, words in (
                (Fraction(99999, 10**5), ">99.9", "more than 99.9 %"), (Fraction(1, 10**5), "<0.1", "less than 0.1 %"),
                (Fraction(9, 10) ** 5000, "<0.1", "less than 0.1 %"), (Fraction(5, 10000), "<0.1", "less than 0.1 %"),
                (Fraction(6, 10000), "0.1", "0.1 %"), (Fraction(15, 10000), "0.2", "0.2 %"),
                (Fraction(25, 10000), "0.2", "0.2 %"), (Fraction(35, 10000), "0.4", "0.4 %"),
                (Fraction(2, 3), "66.7", "66.7 %"), (Fraction(0), "0.0", "0.0 %"), (Fraction(1), "100.0", "100.0 %"),
                (0.9993, "99.9", "99.9 %"), (0.5, "50.0", "50.0 %")):
            with self.subTest(value=value):
                self.assertEqual((text, words), (percent(value), percent_in_words(value)))

    def test_figures_have_their_denominators_thousands_and_the_digits_that_matter(self) -> None:
        self.assertEqual(("7 of 10", "12 of 30,000", "30,000 of 30,000 (100.0 %)", "7 of 12 (58.3 %)", "0 of 0"), (
            of(7, 10), of(12, 30_000), share(30_000, 30_000), share(7, 12), share(0, 0)))
        self.assertEqual(("n/a", "11.0 to 97.8", "n/a", "1,234,567"), (
            percent(None), spread(0.11, 0.9775), spread(None, None), number(1234567)))
        self.assertEqual(("> 120", "1.50", "n/a"), (
            latency(Latency(120.0, censored=True)), latency(Latency(1.5)), latency(None)))
        for value, text in ((None, "n/a"), (0.0, "0.000"), (0.000012, "0.000012"), (0.0123, "0.012"), (1.0, "1.00"),
                            (99.994, "99.99"), (120.0, "120"), (1234.5, "1234")):
            with self.subTest(seconds=value):
                self.assertEqual(text, seconds(value))

    def test_a_slow_model_has_a_speed(self) -> None:
        self.assertEqual(["0.04", "0.3", "41.2", "0.0", "n/a"], [
            per_second(rate) for rate in (Fraction(1, 25), Fraction(3, 10), 41.23, 0, None)])


class Probabilities(PrintedTest):
    def test_a_small_p_is_no_zero_in_json(self) -> None:
        all_pass, none = (record({f"c{number}": mark * 2 for number in range(64)}) for mark in "+-")
        found = self.json(all_pass, none)["comparisons"][0]
        self.assertEqual([1.0842e-19] * 3, [found["sign_flip"][key] for key in ("p", "smallest_p", "holm_p")])
        self.assertTrue(0 < found["repeat"]["p"] < 1e-40)

    def test_six_digits_of_it_count(self) -> None:
        for value, expected in ((Fraction(1, 64), 0.015625), (Fraction(123456789, 10**12), 0.000123457),
                                (Fraction(1, 2**3000), 5e-324), (Fraction(0), 0.0), (Fraction(1), 1.0), (None, None),
                                (1 - Fraction(1, 10**8), 0.99999999)):
            with self.subTest(expected=expected):
                self.assertEqual(expected, probability_figure(value))

    def test_it_stands_on_its_side_of_the_level(self) -> None:
        for value, text in ((Fraction(49999, 10**6), "0.049999"), (Fraction(1, 20), "0.05"),
                            (Fraction(50001, 10**6), "0.05"), (Fraction(1, 32), "0.0312"), (Fraction(1), "1"),
                            (Fraction(99996, 10**5), "0.99996"),
                            (About(1, 10**6), "about 1e-06"), (About(49999, 10**6), "about 0.049999"),
                            (Fraction(1, 2**20), "9.54e-07"), (Fraction(1, 2**2000), "below 1e-300")):
            with self.subTest(text=text):
                self.assertEqual(text, probability(value))
        self.assertEqual("0.009999", probability(Fraction(9999, 10**6), Fraction(1, 100)))

    def test_one_that_was_approximated_says_so_wherever_it_stands(self) -> None:
        # the exact p of 130 against 110 is a binomial tail
        exact = float(Fraction(2 * sum(comb(240, won) for won in range(130, 241)), 2**240))
        runs = [record({f"c{number}": mark if number < 130 else other for number in range(240)})
                for mark, other in ("-+", "+-")]
        with patch("benchkit.statistics.permutation.MOST_WORK_FOR_EXACT", 0):
            printed = self.printed(*runs)
        found = json.loads(printed["out"])["comparisons"][0]
        for name, about in (("sign_flip", ["p", "holm_p"]), ("regressions", ["p"]), ("repeat", ["p"])):
            with self.subTest(name=name):
                self.assertEqual(about, found[name]["about"])
                self.assertAlmostEqual(exact, found[name]["p"], delta=5e-4)
        shown = f"about {found['sign_flip']['p']:.3g}"
        for name, words in (
                ("text", (f"{shown} by sign-flip", f"{shown} by the sign test", f"p {shown}, permuting the labels")),
                ("markdown", (f"p:** {shown} by sign-flip", f"{shown} by the sign test",
                              f"p {shown}, permuting the labels")),
                ("html", (f"p {shown}", f"{shown} by the sign test"))):
            text = " ".join(printed[name].replace("\u00a0", " ").replace("\\", "").split())
            for one in (*words, "(about: a normal approximation, never below 1e-06)"):
                with self.subTest(name=name, one=one):
                    self.assertIn(one, text)
            with self.subTest(name=name):
                self.assertNotRegex(text, rf"(?<!about ){shown.removeprefix('about ')}")

    def test_a_p_beside_an_interval_that_holds_no_difference_is_explained_once(self) -> None:
        # six cases of 30 differ by a tenth in one direction: p is 2 / 2^6, and the interval -6.9 to +10.7
        base = record({f"c{number:02}": "+" * 9 + ("-" if number < 6 else "+") for number in range(30)})
        candidate = record({f"c{number:02}": "+" * 10 for number in range(30)}, {"temperature": 0.5})
        printed = self.printed(base, candidate)
        for name in ("text", "html", "markdown", "out"):
            with self.subTest(name=name):
                text = " ".join(printed[name].replace("\u00a0", " ").replace("\\", "").split())
                self.assertEqual(1, text.count("the interval allows for rare cases that nobody saw"), text[:3000])
                self.assertIn("interval-holds-zero", text)
        equal = json.loads(self.printed(base, replace(base, settings={"temperature": 0.5}))["out"])
        self.assertNotIn("interval-holds-zero", {one["code"] for one in equal["comparisons"][0]["warnings"]})

    def test_differences_are_in_points_on_the_page(self) -> None:
        base, other = record({"A": "++", "B": "++"}), record({"A": "++", "B": "+-"}, {"temperature": 0.5})
        page = self.printed(base, other)["html"]
        charts = page.split('class="rows around-zero"')[1:]
        self.assertEqual(2, len(charts))
        for chart in charts:
            told = re.findall(r'aria-label="([^"]*)"', chart.split("</table>")[0])
            self.assertTrue(all("points" in one and "%" not in one for one in told), told)
        self.assertIn("\u221225.0 points, interval \u2212", charts[0])


class WhatNobodyTold(PrintedTest):
    def test_tokens_that_no_server_told_are_no_zero(self) -> None:
        run = changed(record({"A": "++"}), usage=Usage(None, 10))
        printed = self.printed(run)
        tokens = json.loads(printed["out"])["runs"][0]["tokens"]
        self.assertEqual((None, 20, None, 2), tuple(tokens[key] for key in ("prompt", "output", "cached", "trials")))
        for name in ("text", "html", "markdown"):
            with self.subTest(name=name):
                self.assertRegex(printed[name], r"an unknown number in, 20 out, over 2\stri")

    def test_those_that_some_trials_told_say_how_many(self) -> None:
        of = record({"A": "+++"})
        run = replace(of, results=(replace(of.results[0], usage=Usage(None, 10)), *of.results[1:]))
        printed = self.printed(run)
        self.assertIn("200 in (by 2 of them), 30 out, over 3 trials", printed["text"])
        tokens = json.loads(printed["out"])["runs"][0]["tokens"]
        self.assertEqual((200, 2), (tokens["prompt"], tokens["prompt_trials"]))

    def test_no_error_bar_has_no_width(self) -> None:
        printed = self.printed(record({"A": "++++", "B": "----"}))
        entries = json.loads(printed["out"])["runs"][0]["pass"]
        self.assertEqual([None] * 8, [entry[metric]["se"] for entry in entries for metric in ("at", "hat")])
        for name in ("text", "html", "markdown"):
            with self.subTest(name=name):
                self.assertIn("no case wavered", printed[name].replace("\n  ", " "))
        self.assertNotIn("no case wavered", self.printed(record({"A": "++--"}))["text"])

    def test_one_trial_does_not_look_stable_in_all_runs(self) -> None:
        for name, text in self.printed(record({"A": "+", "B": "-"})).items():
            with self.subTest(name=name):
                self.assertNotIn("looks stable in", text)
                if name not in ("out", "junit"):
                    self.assertIn("ne trial a case cannot show a flaky case", text)

    def test_the_page_says_which_trials_are_unknown(self) -> None:
        page = self.printed(record(WORKED_SUITE), record(WORKED_SUITE, {"temperature": 0.5}))["html"]
        self.assertNotIn("0 of 1<", page)
        self.assertNotIn("0/1", page)
        self.assertEqual(6, page.count("0 of 1, 2 unknown<"))

    def test_a_tag_says_how_many_of_its_trials_are_unknown(self) -> None:
        of = record({"A": "+nn"})
        printed = self.printed(replace(of, cases=(case("A", ["hard"]),)))
        self.assertIn("1 of 1 judged, 2 unknown", printed["text"])
        self.assertIn("1 of 1 judged, 2 unknown", printed["markdown"])
        self.assertIn("1 of 1, 2 unknown<", printed["html"])


class ManyIntervals(PrintedTest):
    def test_of_many_some_miss_by_chance_and_that_is_said(self) -> None:
        of = record({"A": "++", "B": "+-"})
        for tags, words in ((24, "of 24 about 1 misses by chance"), (40, "of 40 about 2 miss by chance"), (9, "")):
            names = [f"t{number:02}" for number in range(tags)]
            printed = self.printed(replace(of, cases=(case("A", names), case("B"))))
            for name in ("text", "html", "markdown"):
                with self.subTest(tags=tags, name=name):
                    text = printed[name].replace("\n  ", " ").replace("\u00a0", " ")
                    self.assertEqual(bool(words), "by itself, not adjusted for how many there are" in text)
                    self.assertIn(words, text)

    def test_those_of_cases_are_no_others(self) -> None:
        text = self.printed(record({f"c{number}": "+-" for number in range(64)}))["text"]
        self.assertIn("of 64 about 3 miss by chance", text.replace("\n  ", " "))


    def test_those_of_the_tracks_of_a_board_are_no_others(self) -> None:
        board = sample_board(hostile=False)
        rows = sum(len(track.rows) for track in board.tracks)
        for text in ("".join(render(board_document(board))) for render in (as_html, as_markdown)):
            self.assertIn(f"of {rows} about {round(rows / 20)} miss", text.replace("\u00a0", " "))
