"""Several runs as text: a golden text, the sentence of every finding, its width, hostile names and outputs."""
from __future__ import annotations

import re
import unittest
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from benchkit.reports.columns import WIDTH, width_of
from benchkit.reports.paint import Paint
from benchkit.reports.text import text_report
from benchkit.reports.text_pairs import side_by_side_text

from benchkit.recordings.run_record import RunRecord
from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.figures import points, points_spread, probability, times_as_long
from benchkit.reports.run_report import report_of
from benchkit.reports.verdicts import Finding, title_of, verdict_of
from tests.comparison_samples import BETTER, WORSE, run_of, two_of, with_outputs
from tests.reports_samples import changed, record
from tests.test_reports_text import HOSTILE

GOLDEN = """\
Side by side
  percent; pass^1: how often one try passes, pass^4: how often all of 4 pass (a range where
  incomplete trials leave it open); 95 %: interval for other such cases; rank: what is left open at
  5 % after Holm over 1 compared pair
  run                pass^1          95 %        pass^4          95 %  rank  incomplete  system
  base                 65.0  26.4 to 90.6          40.0  11.8 to 76.9   1-2  0 of 20     toys:robot
  candidate    60.0 to 85.0  23.1 to 97.8  40.0 to 60.0  11.8 to 88.2   1-2  5 of 20     toys:robot
  judged-anew          65.0  26.4 to 90.6          40.0  11.8 to 76.9   n/a  0 of 20     toys:robot

candidate against base
  candidate and base cannot be told apart: 69.4 % against 75.0 % of judged tries, but only 2 of 3
  cases differ, and no p below 0.5 can come of that

  difference    -5.6 points in pass^1 (95 %: -67.6 to +60.9) over 3 cases judged on both sides
  p             1 by sign-flip; the smallest it could be is 0.5, with 2 differing cases
  sameness      not shown to be the same within 5.0 points; the interval lies within 80.4 points of
                no difference, whatever becomes of the incomplete trials
  incomplete    0 trials of the base and 5 of the candidate: as they go, the difference is -6.2 to
                +25.0 points; who is ahead is open
  latency       0.300 s against 0.300 s, medians of 8 and 12 warm trials: 1.00 times as long
  latency       0.100 s against 0.100 s, medians of 3 and 4 cold trials: 1.00 times as long
  measured on   test bench
  same system   two recordings; did anything change in these same cases? p 0.691, permuting the
                labels within each case
  outputs       warm: 7 of 8 (87.5 %) equal, and 4 of 8 (50.0 %) verdicts
  outputs       cold: 3 of 3 (100.0 %) equal, and 3 of 3 (100.0 %) verdicts
                5 trials ran in the base only, 0 in the candidate only
  by itself     two warm outputs of one case are equal in 0.0 % of pairs inside the base, 0.0 %
                inside the candidate
  parting       first in trial 2 of beta (warm), at character 8: "2" in the base, "two" in the
                candidate; verdicts pass and pass
  only in base  1 case left out: omega
  only here     1 case left out: new
  cases         1 lost, 1 won, 1 tied, 1 not judged on both sides
  regressions   1 of 1 (100.0 %) case that passed every time does not any more: alpha

  lost   base    candidate          points  state
  alpha  4 of 4  1 of 3, 1 unknown   -66.7  stable pass -> flaky

  won    base    candidate  points  state
  gamma  2 of 4  4 of 4      +50.0  flaky -> stable pass

  tied          beta

  unknown       delta

  few-differing-cases: 2 of 3 compared cases differ, and p cannot be smaller than 0.5 with so few:
    this test cannot decide at 5 % before 6 differ
  winner-not-robust: incomplete trials could turn the difference around

judged-anew against base
  judged-anew and base are not compared: they were judged by Toy 1 (source 000000000000) and by Toy
  2 (source 000000000000); judge both again: python3 harness.py run --task toy_task --split
  development --system replay:RECORDING --out RUN

judged-anew against candidate
  judged-anew and candidate are not compared: they were judged by Toy 1 (source 000000000000) and by
  Toy 2 (source 000000000000); judge both again: python3 harness.py run --task toy_task --split
  development --system replay:RECORDING --out RUN
"""


def three_runs() -> SideBySide:
    """A base, a candidate with everything that can happen, and one that was judged by another judge."""
    base = record({"alpha": "++++", "beta": "+++-", "gamma": "+-+-", "delta": "----", "omega": "++++"})
    candidate = with_outputs(
        record({"alpha": "+--n", "beta": "+++-", "gamma": "++++", "delta": "nnnn", "new": "++++"}),
        {("beta", 2): "answer two"})
    anew = replace(base, judge=replace(base.judge, version="2"))
    names = ((base, "base"), (candidate, "candidate"), (anew, "judged-anew"))
    return side_by_side([report_of(run, name) for run, name in names], Fraction(1, 20))


class TheText(unittest.TestCase):
    maxDiff = None

    def test_three_runs_read_so(self) -> None:
        self.assertEqual(GOLDEN, side_by_side_text(three_runs()))

    def test_it_stands_before_the_runs_and_changes_nothing_of_them(self) -> None:
        side = three_runs()
        self.assertEqual(GOLDEN + "\n\n" + text_report(side.runs), text_report(side.runs, side=side))

    def test_with_colours_taken_away_it_is_the_same(self) -> None:
        painted = side_by_side_text(three_runs(), Paint(True))
        self.assertNotEqual(GOLDEN, painted)
        self.assertEqual(GOLDEN, re.sub("\x1b\\[[0-9]*m", "", painted))

    def test_one_trial_has_no_second_column_and_no_runs_of_it(self) -> None:
        text = side_by_side_text(two_of({"A": "+"}, {"A": "-"}))
        self.assertIn("  run        pass^1           95 %  rank  incomplete  system\n", text)
        self.assertNotIn("all of", text)

    def test_p_after_holm_is_shown_with_several_pairs_only(self) -> None:
        self.assertNotIn("after Holm over 1 pairs", side_by_side_text(two_of(BETTER, WORSE)))
        text = side_by_side_text(side_by_side([run_of(marks, name) for marks, name in (
            (BETTER, "a"), (WORSE, "b"), (BETTER, "c"))]))
        self.assertIn("0.00781 by sign-flip, 0.0234 after Holm over 3 pairs", text)

    def test_unknown_cases_are_all_named_and_tied_ones_counted_and_cut(self) -> None:
        marks = {f"case-{number:03}": "+-" for number in range(300)}
        nothing = dict.fromkeys(marks, "nn")
        unknown = side_by_side_text(two_of(marks, nothing))
        self.assertTrue(all(name in unknown for name in marks))
        text = side_by_side_text(two_of(marks, marks))
        tied = text.split("\n  tied ")[1].split("\n\n")[0]
        self.assertLessEqual(tied.count("\n"), 2)
        self.assertIn("case-011 and 288 more", " ".join(tied.split()))
        self.assertIn("300 tied", text)
        self.assertLessEqual(max(map(width_of, text.splitlines())), WIDTH)


class TheSentences(unittest.TestCase):
    def verdict(self, base: Mapping[str, str], candidate: Mapping[str, str], margin: Fraction | None = None,
                ) -> tuple[Finding, str]:
        side = two_of(base, candidate, margin)
        verdict = verdict_of(side, side.pairs[0])
        return verdict.finding, verdict.text

    def test_each_finding_has_its_sentence(self) -> None:
        many = {f"c{number:02}": "+-" for number in range(60)}
        mixed = {name: "++" if number % 2 else "--" for number, name in enumerate(many)}
        for base, candidate, margin, finding, text in (
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
                self.assertEqual((finding, text), self.verdict(base, candidate, margin))

    def test_a_large_p_is_never_called_sameness(self) -> None:
        for candidate in (BETTER, {**BETTER, "case-0": "+++-"}):
            self.assertNotIn("same", self.verdict(BETTER, candidate)[1])

    def test_two_are_never_called_alike_where_the_interval_excludes_0(self) -> None:
        names = [f"c{number:02}" for number in range(24)]
        base = dict.fromkeys(names, "++")
        for lost in (4, 5, 6, 7, 24):
            with self.subTest(lost=lost):
                side = two_of(base, {name: "--" if place < lost else "++" for place, name in enumerate(names)})
                comparison, text = side.pairs[0].comparison, " ".join(side_by_side_text(side).split())
                assert comparison is not None
                self.assertEqual(comparison.is_apart, "told apart" not in text)
                self.assertEqual(comparison.is_apart, "sameness" not in text)

    def test_a_label_with_braces_is_only_a_label(self) -> None:
        side = side_by_side([run_of(BETTER, "{base.__class__}"), run_of(WORSE, "{0}%s")])
        self.assertIn("{0}%s passes less often than {base.__class__}", verdict_of(side, side.pairs[0]).text)

    def test_long_names_are_cut_in_titles(self) -> None:
        side = side_by_side([run_of(BETTER, "x" * 300), run_of(WORSE, "y" * 300)])
        self.assertLessEqual(len(title_of(side, side.pairs[0])), WIDTH)


class TheFigures(unittest.TestCase):
    def test_points_have_a_sign_and_only_0_reads_0(self) -> None:
        for value, text in ((Fraction(1, 30), "+3.3"), (-0.125, "-12.5"), (0, "0.0"), (Fraction(0), "0.0"),
                            (-1e-9, "-0.1"), (1e-9, "+0.1"), (-1.0, "-100.0"), (None, "n/a")):
            with self.subTest(value=value):
                self.assertEqual(text, points(value))
        self.assertEqual("-3.2 to +4.0", points_spread(-0.032, 0.04))

    def test_probabilities_have_three_digits(self) -> None:
        for value, text in ((Fraction(1), "1"), (Fraction(1, 32), "0.0312"), (Fraction(2, 2**20), "1.91e-06"),
                            (Fraction(1, 2**2000), "below 1e-300")):
            with self.subTest(text=text):
                self.assertEqual(text, probability(value))


    def test_ratios_of_times_are_words_that_a_person_can_use(self) -> None:
        for ratio, text in ((Fraction(1), "1.00 times"), (Fraction(5, 4), "1.25 times"),
                            (Fraction(1, 100), "0.01 times"),
                            (Fraction(1, 101), "less than a hundredth"), (Fraction(34929), "about 35,000 times"),
                            (Fraction(12345, 100), "about 120 times"), (Fraction(9999, 100), "99.99 times")):
            with self.subTest(text=text):
                self.assertEqual(f"{text} as long", times_as_long(ratio))


class HostileText(unittest.TestCase):
    def hostile(self, text: str) -> RunRecord:
        run = record({text: "+-n", "B": "+++"})
        return replace(changed(run, output=text), system=text, task=replace(run.task, name=text),
                       judge=replace(run.judge, name=text))

    def test_no_control_character_is_sent_and_no_line_is_too_wide(self) -> None:
        for text in HOSTILE:
            with self.subTest(text=text[:20]):
                one = self.hostile(text)
                other = replace(one, judge=replace(one.judge, version=text))
                parting = with_outputs(one, {("B", 2): "y" + text})
                side = side_by_side([report_of(run, text) for run in (one, other, parting)])
                shown = side_by_side_text(side)
                self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
                self.assertLessEqual(max(map(width_of, shown.splitlines())), WIDTH)
                self.assertIn("first in trial", shown)


if __name__ == "__main__":
    unittest.main()
