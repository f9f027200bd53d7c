"""Several runs in a report: what stands where, the sentence of every finding, figures, limits."""
from __future__ import annotations

import re
import unittest
from collections.abc import Mapping
from fractions import Fraction

from benchkit.basics.texts import width_of
from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import COMMENT, as_markdown
from benchkit.render.as_text import as_text
from benchkit.render.columns import WIDTH
from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.documents import comparison_lead, comparison_sections
from benchkit.reports.figures import points, points_spread, probability, times_as_long
from benchkit.reports.sections.pairs import CaseAnchor, nowhere
from benchkit.reports.verdicts import Finding, GateRules, title_of, verdict_of
from tests.comparison_samples import BETTER, WORSE, run_of, two_of
from tests.markdown_tables import tables, without_code
from tests.page_runs import Outline, gate_text, three_runs
from tests.reports_samples import changed, record


def document(side: SideBySide, case_anchor: CaseAnchor = nowhere) -> doc.Document:
    """All that is said of several runs, without each of them."""
    return doc.Document(f"{len(side.runs)} runs", lambda: comparison_lead(side),
                        list(comparison_sections(side, case_anchor=case_anchor)))


def text(side: SideBySide, full: bool = True) -> str:
    """It as text."""
    return "".join(as_text(document(side), is_full=full))


def flat(side: SideBySide) -> str:
    """All of the text, on one line."""
    return " ".join(text(side).split())


def markdown(side: SideBySide) -> str:
    """It as a comment on GitHub."""
    return "".join(as_markdown(document(side), COMMENT))


def page(side: SideBySide, case_anchor: CaseAnchor = nowhere) -> str:
    """It as a page, from the title on."""
    return "".join(as_html(document(side, case_anchor))).split("</style>")[1]


def several(count: int, marks: Mapping[str, str], names: str = "abcdefghijklmnopqrstuvwxyz") -> SideBySide:
    """So many runs of the same marks."""
    return side_by_side([run_of(marks, name) for name in names[:count]])


def told(pattern: str, shown: str) -> int:
    """A number that is said, or 0."""
    found = re.search(pattern, shown, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


class WhatStandsWhere(unittest.TestCase):
    def test_one_trial_has_no_second_column_and_no_runs_of_it(self) -> None:
        shown = text(two_of({"A": "+"}, {"A": "-"}))
        self.assertIn("  run        pass^1           95 %  rank  incomplete\n", shown)
        self.assertNotIn("all of", shown)

    def test_p_after_holm_is_shown_with_several_pairs_only(self) -> None:
        self.assertNotIn("Holm over 1 pairs", text(two_of(BETTER, WORSE)))
        shown = flat(side_by_side([run_of(BETTER, "a"), run_of(WORSE, "b"), run_of(BETTER, "c")]))
        self.assertIn("0.00781 by sign-flip, 0.0234 after Holm over 3 pairs", shown)
        self.assertIn("against who is ahead, after Holm over 3 pairs.", shown)

    def test_regressions_are_named_once_and_not_again_among_the_lost(self) -> None:
        base, candidate = dict.fromkeys("ABCDEF", "+++"), {**dict.fromkeys("ABCDE", "---"), "F": "+++"}
        shown = markdown(two_of(base, candidate))
        self.assertEqual(shown.count("| `A` |"), 1)
        self.assertNotIn("**Lost", shown)
        row = next(table for table in tables(shown) if "regressed" in table.titles).rows[0]
        # five differences of one sign: 2 of the 32 sign patterns are as far out
        self.assertEqual(row[1:4] + row[5:], ["16.7", "100.0", "-83.3", "0.0625", "5", "0", "1", "5"])

    def test_cases_lost_otherwise_and_won_are_named_and_those_that_changed_most_come_first(self) -> None:
        shown = text(two_of({"A": "++-", "B": "---", "C": "---"}, {"A": "+--", "B": "+--", "C": "++-"}))
        self.assertIn("Lost (1 case)\n", shown)
        self.assertRegex(shown, r"Won \(2 cases\)\n.*\n +C .*\n +B ")

    def test_both_sides_of_a_case_lead_to_its_place(self) -> None:
        shown = page(two_of({"A": "++", "B": "+-"}, {"A": "+-", "B": "+-"}), lambda run, case: f"run-{run}-{case}")
        self.assertIn('<a href="#run-1-A">1 of 2</a>, was <a href="#run-0-A">2 of 2</a>', shown)
        self.assertIn('<p><a href="#run-1-B"><code>B</code></a></p>', shown)

    def test_differences_are_drawn_and_every_link_to_a_pair_has_its_place(self) -> None:
        shown = page(three_runs())
        self.assertRegex(shown, r'(?s)class="rows around-zero".*<a href="#pair-1"><code>candidate.*class="interval"')
        found = Outline(shown)
        self.assertLessEqual({link[1:] for link in found.links if "pair" in link}, set(found.ids))

    def test_rates_over_judged_tries_are_called_so_where_others_were_not_judged(self) -> None:
        for candidate, words in (("+n", "of judged tries"), ("++", "of tries")):
            side = two_of({"A": "+-"}, {"A": candidate})
            self.assertIn(words, flat(side))
            self.assertEqual("judged" in words,
                             "100.0 % against 50.0 % of judged tries" in Outline(page(side)).text)

    def test_runs_of_one_name_are_told_apart(self) -> None:
        side = several(2, BETTER, "ss")
        for shown in (text(side), markdown(side), page(side)):
            self.assertIn("s (run 2)", shown)

    def test_why_runs_are_not_compared_stands_first_and_there_is_no_pair(self) -> None:
        side = two_of({"A": "++"}, {"Z": "+-"})
        for shown in (text(side, full=False), markdown(side), page(side)):
            self.assertLess(shown.index("they have no case in common (1 case and 1)"), shown.index("Side by side"))
            self.assertNotIn("Pair by pair", shown)
            self.assertNotIn("around-zero", shown)

    def test_two_recordings_of_one_system_say_what_is_equal_and_where_they_differ(self) -> None:
        self.assertIn("no output differs: an observation, not a promise", flat(two_of({"A": "++"}, {"A": "++"})))
        shown = flat(two_of(record({"A": "++"}), changed(record({"A": "++"}), output="else")))
        self.assertIn("at character 1", shown)
        self.assertIn("0 of 1 (0.0 %) equal, and 1 of 1 (100.0 %) verdicts", shown)

    def test_a_margin_is_answered(self) -> None:
        for margin, answer in ((Fraction(1, 20), "not shown to be the same within 5.0 points"),
                               (Fraction(1), "the same within 100.0 points"), (None, "no smaller margin could call")):
            self.assertIn(answer, flat(two_of(BETTER, {**BETTER, "case-0": "+++-"}, margin)))


class Limits(unittest.TestCase):
    def test_unknown_cases_are_all_named_and_tied_ones_counted_and_cut_by_the_gate(self) -> None:
        marks = {f"case-{number:03}": "+-" for number in range(300)}
        unknown = text(two_of(marks, dict.fromkeys(marks, "nn")))
        self.assertTrue(all(name in unknown for name in marks))
        shown = gate_text(marks, marks, GateRules())
        self.assertIn("case-011 and 288 more", " ".join(shown.split()))
        self.assertIn("300 cases tied", shown)
        self.assertLessEqual(max(map(width_of, shown.splitlines())), WIDTH)
        many = {f"case-{number:03}": "+-" for number in range(301)}
        self.assertIn("case-299</code> and 1 more</p>", page(two_of(many, many)))

    def test_cases_that_may_have_regressed_are_not_named_without_end(self) -> None:
        names = [f"<b>@team-{number}</b>" for number in range(300)]
        shown = markdown(two_of(dict.fromkeys(names, "++"), dict.fromkeys(names, "+n")))
        self.assertIn("300 cases may have regressed", shown)
        self.assertNotIn("<b>", without_code(shown))
        self.assertIn("and 288 more", shown)

    def test_more_runs_than_curves_have_colours_are_compared_without_curves(self) -> None:
        for count, curves in ((6, 1), (7, 0)):
            shown = page(several(count, {"A": "++"}))
            self.assertEqual(shown.count("pass^k of every run"), 3 * curves)
            self.assertEqual(shown.count("<article"), count * (count - 1) // 2)
        self.assertIn("And 15 more pairs", Outline(shown).text)

    def test_with_many_pairs_text_shows_verdicts_alone_and_at_last_not_even_them(self) -> None:
        for count, facts, verdicts in ((2, 1, 1), (3, 3, 3), (4, 0, 6), (7, 0, 21), (8, 0, 24)):
            shown = text(several(count, BETTER), full=False)
            with self.subTest(runs=count):
                self.assertEqual((shown.count("  difference  "), shown.count("Too few differ\n")), (facts, verdicts))
                self.assertEqual("28 pairs in all." in shown, count == 8)
                self.assertEqual(text(several(count, BETTER)).count("  difference  "), count * (count - 1) // 2)

    def test_pairs_that_are_not_compared_are_counted_and_many_of_them_folded(self) -> None:
        side = side_by_side([run_of({name: "+"}, name) for name in "abcde"])
        self.assertEqual((text(side, full=False).count("no case in common"), text(side).count("no case in common")),
                         (6, 16))
        self.assertIn("10 pairs not compared", text(side, full=False))
        self.assertIn("And 4 more.", markdown(side))

    def test_any_number_of_runs_and_pairs_fits_a_comment_and_what_was_dropped_is_counted(self) -> None:
        marks = ("++++++++++", "+++++-++++", "----------", "+-++-+-+++")
        run = {f"a-case-with-quite-a-long-name-{number:04}": marks[number % 4] for number in range(12)}
        for count in (2, 13):
            shown, pairs = markdown(several(count, run)), count * (count - 1) // 2
            with self.subTest(runs=count):
                self.assertLessEqual(len(shown), COMMENT)
                self.assertEqual(shown.count("<details>"), shown.count("</details>"))
                self.assertEqual(shown.count("#### "), pairs)
                self.assertEqual(told(r"^Left out, so that the report fits: (\d+) details", shown) > 0, count == 13)
                named = sum(len(table.rows) for table in tables(shown) if "regressed" in table.titles)
                self.assertEqual(pairs, named + told(r"^and ([\d,]+) more pairs?$", shown))


class TheSentences(unittest.TestCase):
    def verdict(self, base: Mapping[str, str], candidate: Mapping[str, str], margin: Fraction | None = None,
                ) -> tuple[Finding, str]:
        side = two_of(base, candidate, margin)
        verdict = verdict_of(side, side.pairs[0])
        return verdict.finding, verdict.text

    def test_each_finding_has_its_sentence(self) -> None:
        many = {f"c{number:02}": "+-" for number in range(60)}
        mixed = {name: "++" if number % 2 else "--" for number, name in enumerate(many)}
        for base, candidate, margin, finding, sentence in (
                (WORSE, BETTER, None, Finding.BETTER,
                 "candidate passes more often than base: 100.0 % against 25.0 % of tries"),
                (BETTER, WORSE, None, Finding.WORSE,
                 "candidate passes less often than base: 25.0 % against 100.0 % of tries"),
                (BETTER, WORSE, Fraction(1), Finding.WORSE,
                 "candidate passes less often than base: 25.0 % against 100.0 % of tries (and both are the same "
                 "within 100.0 points)"),
                (many, many, Fraction(1, 20), Finding.SAME_WITHIN_MARGIN,
                 "candidate and base are the same within 5.0 points: 50.0 % against 50.0 % of tries"),
                (dict.fromkeys("ABCDE", "++"), dict.fromkeys("ABCDE", "--"), None, Finding.NOT_DECIDED,
                 "candidate passes less often than base in these cases: 0.0 % against 100.0 % of tries, and the "
                 "interval excludes no difference (-100.0 to -19.6 points); but only 5 of 5 cases differ, and no p "
                 "below 0.0625 can come of that"),
                (many, many, None, Finding.TOO_FEW_DIFFER,
                 "candidate and base cannot be told apart: 50.0 % against 50.0 % of tries, but only 0 of 60 cases "
                 "differ, and no p below 1 can come of that"),
                (many, mixed, None, Finding.NOT_TOLD_APART,
                 "candidate and base are not told apart: 50.0 % against 50.0 % of tries; on other such cases the "
                 "difference may lie anywhere from -13.0 to +13.0 points"),
                ({"A": "n"}, {"A": "+"}, None, Finding.NOTHING_KNOWN,
                 "nothing is known: in none of 1 common case did both runs judge a trial"),
                ({"A": "+"}, {"B": "+"}, None, Finding.NOT_COMPARED,
                 "candidate and base are not compared: they have no case in common (1 case and 1)")):
            with self.subTest(finding=finding):
                self.assertEqual((finding, sentence), self.verdict(base, candidate, margin))

    def test_a_large_p_is_never_called_sameness(self) -> None:
        for candidate in (BETTER, {**BETTER, "case-0": "+++-"}):
            self.assertNotIn("same", self.verdict(BETTER, candidate)[1])

    def test_two_are_never_called_alike_where_the_interval_excludes_0(self) -> None:
        names = [f"c{number:02}" for number in range(24)]
        base = dict.fromkeys(names, "++")
        for lost in (4, 5, 6, 7, 24):
            with self.subTest(lost=lost):
                side = two_of(base, {name: "--" if place < lost else "++" for place, name in enumerate(names)})
                comparison, shown = side.pairs[0].comparison, flat(side)
                assert comparison is not None
                self.assertEqual(comparison.is_apart, "told apart" not in shown)
                self.assertEqual(comparison.is_apart, "sameness" not in shown)

    def test_a_label_with_braces_is_only_a_label(self) -> None:
        side = side_by_side([run_of(BETTER, "{base.__class__}"), run_of(WORSE, "{0}%s")])
        self.assertIn("{0}%s passes less often than {base.__class__}", verdict_of(side, side.pairs[0]).text)

    def test_long_names_are_cut_in_titles(self) -> None:
        side = side_by_side([run_of(BETTER, "x" * 300), run_of(WORSE, "y" * 300)])
        self.assertLessEqual(len(title_of(side, side.pairs[0])), WIDTH)
        self.assertIn(f"  {title_of(side, side.pairs[0])}\n", text(side))


class TheFigures(unittest.TestCase):
    def test_points_have_a_sign_and_only_0_reads_0(self) -> None:
        for value, shown in ((Fraction(1, 30), "+3.3"), (-0.125, "-12.5"), (0, "0.0"), (Fraction(0), "0.0"),
                             (-1e-9, "-0.1"), (1e-9, "+0.1"), (-1.0, "-100.0"), (None, "n/a")):
            with self.subTest(value=value):
                self.assertEqual(shown, points(value))
        self.assertEqual("-3.2 to +4.0", points_spread(-0.032, 0.04))

    def test_probabilities_have_three_digits(self) -> None:
        for value, shown in ((Fraction(1), "1"), (Fraction(1, 32), "0.0312"), (Fraction(2, 2**20), "1.91e-06"),
                             (Fraction(1, 2**2000), "below 1e-300")):
            with self.subTest(shown):
                self.assertEqual(shown, probability(value))

    def test_ratios_of_times_are_words_that_a_person_can_use(self) -> None:
        for ratio, shown in ((Fraction(1), "1.00 times"), (Fraction(5, 4), "1.25 times"),
                             (Fraction(1, 100), "0.01 times"),
                             (Fraction(1, 101), "less than a hundredth"), (Fraction(34929), "about 35,000 times"),
                             (Fraction(12345, 100), "about 120 times"), (Fraction(9999, 100), "99.99 times")):
            with self.subTest(shown):
                self.assertEqual(f"{shown} as long", times_as_long(ratio))
