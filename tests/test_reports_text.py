"""The text report as it is read: golden texts, its width, hostile text, colour, and one case at length."""
from __future__ import annotations

import re
import unittest
from dataclasses import replace

from benchkit.reports.columns import WIDTH, width_of
from benchkit.reports.paint import Paint
from benchkit.reports.text import first_screen, headline_lines, text_report
from benchkit.reports.text_case import case_text

from benchkit.basics.values import JSON, ErrorFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.run_report import headline_of, report_of
from tests.reports_samples import SESSION, WORKED_SUITE, case, changed, record, result

HOSTILE = ("\x1b[2J\x1b]0;owned\x07", "</script><img onerror=alert(1)>", "\u202eevil\u202c", "a\r\nb\tc", "| # ``` |",
           "日本語" * 80, "x" * 5000, "\x00\x85\u2028", "")

WORKED_REPORT = """\
Does     1 of 4 cases pass every time, 1 sometimes, 0 never, 1 possibly flaky, 1 no data (toys:r...)
Unknown  5 of 12 trials (5 NotRun); 2 of 4 cases complete
Trust    as the unknown trials go, one try passes 41.7 to 83.3 % (95 %: 11.0 to 97.8), all of 3
         tries 25.0 to 50.0 % (4.6 to 85.0)

How much is known
  trials    7 of 12 (58.3 %) judged, 5 incomplete
  cases     2 of 4 with all trials, 3 of 4 with some
  k_max     0: so many trials of every case were judged

How often it passes
  percent, mean over 4 cases; worst / done / best: incomplete trials taken as failed / left out
  (completed-only) / taken as passed; 95 %: interval for other such cases; se: standard error of a
  re-run

     pass@k: at least one of k passes         pass^k: all of k pass
  k  worst   done   best           95 %   se  worst  done  best          95 %   se  cases done
  1   41.7   55.6   83.3   11.0 to 97.8  n/a   41.7  55.6  83.3  11.0 to 97.8  n/a  3 of 4
  2   50.0  100.0  100.0  15.0 to 100.0  n/a   33.3  66.7  66.7   7.5 to 92.5  n/a  2 of 4
  3   50.0  100.0  100.0  15.0 to 100.0  n/a   25.0  50.0  50.0   4.6 to 85.0  n/a  2 of 4

  a case that fails 1 time in 10 looks stable in 73.0 % of runs of 3 trials

Why trials failed
  2 of 7 (28.6 %) judged trials failed

  check   of the failed trials  the only check that failed
  label   2 of 2 (100.0 %)      2 of 2 (100.0 %)
  parses  0 of 2 (0.0 %)        0 of 2 (0.0 %)

  trials  what was expected, and what came
       2  label: expected bug, got spam

By tag
  no case has a tag

Case by case
  disagree: how often two fresh trials differ, in percent; + passed  - failed  ? incomplete
  case  passed             trials           95 %  disagree  state
  A     3 of 3             +++     43.9 to 100.0       0.0  stable pass
  B     2 of 3             ++-      20.8 to 93.9      66.7  flaky
  C     0 of 1, 2 unknown  -??       0.0 to 79.3       n/a  possibly flaky
  D     0 of 0, 3 unknown  ???               n/a       n/a  no data

Flaky cases
  case  passed  fails most often by
  B     2 of 3  label: expected bug, got spam (1 of 1)
  and 1 case of 4 may be, as the unknown trials go

  B: trial 1 passed, trial 3 failed (label: expected bug, got spam)
    expected label: bug
    passed                                         | failed
    answer 1                                       | answer 3
    differs from character 8 on

Cases without a pass
  case  passed             fails most often by
  C     0 of 1, 2 unknown  label: expected bug, got spam (1 of 1)

Incomplete trials
  type    planned trials    message
  NotRun  5 of 12 (41.7 %)  not run: the budget ended first

Latency
  seconds, judged trials and timeouts; cold: the first of its case in a session, or one that waited
  for the model to load; 95 %: rank interval (?: too few trials for that end)
                   warm       95 %   cold       95 %
  trials              4                 3
  p50             0.200        n/a  0.100        n/a
  p90               n/a   needs 10    n/a   needs 10
  p95               n/a   needs 20    n/a   needs 20
  p99               n/a  needs 100    n/a  needs 100
  longest judged  0.300             0.100
  measured on test bench
  loading the model took 1.50 s

Tokens
  700 in, 70 out, over 7 trials that say so
  20.0 output tokens per second (sum of tokens over sum of output time)

Attempts
  0 of 7 started trials took several attempts; 0 requests sent again inside a trial

What was run
  run       worked, 3 trials of 4 cases
  system    toys:robot
  task      Toy 1, split development; judged by Toy 1
  hardware  test bench
  session   2026-11-30T12:00:00.000Z, timeout 120 s, ended: complete

Warnings
  k-above-k-max: from k = 1 on, completed-only values are over fewer than all 4 cases, and may lie
    outside worst and best
  percentile-needs-more: too few latencies for p90, p95, p99 of 4 warm trials (needed: p90 10, p95
    20, p99 100)
"""

WORKED_FIRST_SCREEN = """\
Does     1 of 4 cases pass every time, 1 sometimes, 0 never, 1 possibly flaky, 1 no data (toys:r...)
Unknown  5 of 12 trials (5 NotRun); 2 of 4 cases complete
Trust    as the unknown trials go, one try passes 41.7 to 83.3 % (95 %: 11.0 to 97.8), all of 3
         tries 25.0 to 50.0 % (4.6 to 85.0)

  k       pass@k %           95 %      pass^k %          95 %  cases done
  1   41.7 to 83.3   11.0 to 97.8  41.7 to 83.3  11.0 to 97.8  3 of 4
  3  50.0 to 100.0  15.0 to 100.0  25.0 to 50.0   4.6 to 85.0  2 of 4

  trials  why, of 2 failed trials
       2  label: expected bug, got spam

  for example  passed             fails most often by
  B            2 of 3             label: expected bug, got spam (1 of 1)
  C            0 of 1, 2 unknown  label: expected bug, got spam (1 of 1)

  warnings: k-above-k-max, percentile-needs-more
"""

WORKED_CASE = """\
B: flaky
  toys:robot passed 2 of 3 (95 %: 20.8 to 93.9); two fresh trials differ in 66.7 %
input
  | input of B
expected
  | label: bug

trial 1, seed 1001: pass
  holds: parses, label
  0.100 s, cold, 100 tokens in, 10 tokens out, load 0.010 s, prompt 0.100 s, output 0.500 s, first
  token 0.200 s, other 0.000 s
  output
  | answer 1

trial 2, seed 1002: pass
  holds: parses, label
  0.200 s, 100 tokens in, 10 tokens out, load 0.010 s, prompt 0.100 s, output 0.500 s, first token
  0.200 s, other 0.000 s
  output
  | answer 2

trial 3, seed 1003: fail
  not label: expected bug, got spam
  holds: parses
  0.300 s, 100 tokens in, 10 tokens out, load 0.010 s, prompt 0.100 s, output 0.500 s, first token
  0.200 s, other 0.000 s
  output
  | answer 3
"""


def sections(text: str) -> list[str]:
    """The titles of the sections, in order."""
    return [line for line in text.splitlines() if line and not line.startswith((" ", "=", "Does", "Unknown", "Trust"))]


def section(text: str, title: str) -> str:
    """The lines under a title."""
    return text.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]


class TheWorkedSuite(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.report = report_of(record(WORKED_SUITE), "worked")

    def test_the_whole_report_reads_so(self) -> None:
        self.assertEqual(text_report([self.report]), WORKED_REPORT)

    def test_the_first_screen_reads_so(self) -> None:
        self.assertEqual(first_screen(self.report), WORKED_FIRST_SCREEN)

    def test_one_case_reads_so(self) -> None:
        self.assertEqual(case_text(self.report, "B"), WORKED_CASE)

    def test_a_case_that_is_not_there_is_a_key_error(self) -> None:
        with self.assertRaises(KeyError):
            case_text(self.report, "Z")


class TheHeadline(unittest.TestCase):
    def test_it_says_what_the_run_can_say(self) -> None:
        for marks, does, unknown, trust in (
                ({"A": "++", "B": "+-", "C": "--"}, "1 of 3 cases pass every time, 1 sometimes, 1 never",
                 "nothing: all 6 planned trials were judged",
                 "one try passes 50.0 % (95 %: 12.5 to 87.5), all of 2 tries 33.3 % (6.1 to 79.2)"),
                ({"A": "+", "B": "-"}, "1 of 2 cases passed their one trial, 1 failed",
                 "nothing: all 2 planned trials were judged",
                 "one try passes 50.0 % (95 %: 9.5 to 90.5); one trial cannot show what is reliable"),
                ({"A": "nn"}, "nothing is known: none of 2 planned trials could be judged",
                 "2 of 2 trials (2 NotRun); 0 of 1 case complete",
                 "as the unknown trials go, one try passes 0.0 to 100.0 % (95 %: 0.0 to 100.0), all of 2 tries 0.0 to "
                 "100.0 % (0.0 to 100.0)"),
                ({"A": "+", "B": "n"}, "1 of 2 cases passed their one trial, 0 failed",
                 "1 of 2 trials (1 NotRun); 1 of 2 cases complete",
                 "as the unknown trials go, one try passes 50.0 to 100.0 % (95 %: 9.5 to 100.0); one trial cannot show "
                 "what is reliable"),
                ({"A": "+u", "B": "tt", "C": "nn"}, "0 of 3 cases pass every time, 0 sometimes, 0 never, "
                 "1 possibly flaky, 2 no data",
                 "5 of 6 trials (2 NotRun, 2 Timeout, ...); 0 of 3 cases complete",
                 "as the unknown trials go, one try passes 16.7 to 100.0 % (95 %: 1.8 to 100.0), all of 2 tries 0.0 to "
                 "100.0 % (0.0 to 100.0)"),
                ({}, "nothing is known: none of 0 planned trials could be judged",
                 "nothing: all 0 planned trials were judged", "nothing: there are no cases")):
            with self.subTest(marks=marks):
                headline = headline_of(report_of(record(marks), "run"))
                self.assertEqual((headline.does, headline.unknown, headline.trust), (does, unknown, trust))

    def test_three_lines_and_one_more_for_open_intervals_keep_the_width_whatever_the_system_is_called(self) -> None:
        for system in ("a:b", "model_triage:" + "x" * 200, "日本語" * 60, "\x1b[31mred\n"):
            with self.subTest(system=system):
                lines = headline_lines(report_of(replace(record(WORKED_SUITE), system=system), "run"))
                self.assertEqual([line.split()[0] for line in lines], ["Does", "Unknown", "Trust", "tries"])
                self.assertLessEqual(max(map(width_of, lines)), WIDTH)
                self.assertNotIn("\x1b", "".join(lines))


class TheWholeText(unittest.TestCase):
    def test_the_sections_stand_in_their_order(self) -> None:
        self.assertEqual(sections(text_report([report_of(record(WORKED_SUITE), "run")])), [
            "How much is known", "How often it passes", "Why trials failed", "By tag", "Case by case", "Flaky cases",
            "Cases without a pass", "Incomplete trials", "Latency", "Tokens", "Attempts", "What was run", "Warnings"])

    def test_every_run_has_a_text_of_at_most_the_width(self) -> None:
        for marks in ({}, {"A": "n"}, {"A": "+"}, {"A": "tt", "B": "uu"}, {"A": "+-" * 50, "B": "nt" * 50},
                      {f"case-{number:04}": "+-n" for number in range(300)}):
            with self.subTest(cases=len(marks)):
                self.check_width(text_report([report_of(record(marks), "run")]))

    def check_width(self, text: str) -> None:
        wide = [line for line in text.splitlines() if width_of(line) > WIDTH]
        self.assertEqual(wide, [])
        self.assertEqual([line for line in text.splitlines() if line != line.rstrip()], [])

    def test_several_runs_stand_one_after_the_other_each_under_its_name(self) -> None:
        text = text_report([report_of(record({"A": "+-"}), "one"), report_of(record({"A": "--"}), "two")])
        rules = [line for line in text.splitlines() if line.startswith("==")]
        self.assertEqual([rule.rstrip("=") for rule in rules], ["== one: toys:robot ", "== two: toys:robot "])
        self.assertEqual({len(rule) for rule in rules}, {WIDTH})
        self.check_width(text)

    def test_every_k_up_to_20_has_its_line_and_above_it_round_ones_and_the_last(self) -> None:
        for trials, above in ((20, []), (21, [21]), (100, [50, 100]), (230, [50, 100, 200, 230])):
            with self.subTest(trials=trials):
                text = text_report([report_of(record({"A": "+" * trials}), "run")])
                found = [int(line.split()[0]) for line in text.splitlines() if re.match(r"^ +\d+ +\d+\.\d ", line)]
                self.assertEqual(found, [*range(1, 21), *above])
                self.assertEqual(trials > 21, "only round k are shown" in text)

    def test_the_text_of_5000_trials_a_case_is_short_and_its_numbers_have_their_thousands_apart(self) -> None:
        text = text_report([report_of(record({"A": "+" * 4999 + "-", "B": "+" * 5000}), "run")])
        self.assertLess(len(text.splitlines()), 120)
        self.assertIn(
            "  above 20 only round k are shown; JSON (--out) lists every k from 1 to 1,000, and for 5,000\n", text)
        self.assertIn("looks stable in less than 0.1 % of runs of 5,000 trials\n", text)
        # a trial is called by its number, and a time stamp is one
        self.assertEqual([], re.findall(r"(?<!trial )(?<!answer )(?<![\d.,T:-])\d{4,}(?![\d-])", text))
        self.check_width(text)

    def test_marks_of_many_trials_are_left_out(self) -> None:
        self.assertIn("+-" * 10, text_report([report_of(record({"A": "+-" * 10}), "run")]))
        self.assertNotIn("+-" * 10, text_report([report_of(record({"A": "+-" * 11}), "run")]))

    def test_a_confusion_table_shows_right_answers_and_wrong_ones(self) -> None:
        run = record({"A": "+-", "B": "+-"})
        results = list(run.results)
        results[1] = replace(results[1], explain={"label": "expected bug, got spam"})
        results[3] = replace(results[3], explain={"label": "expected spam, got bug"})
        run = replace(run, cases=(case("A"), case("B", expected={"label": "spam"})), results=tuple(results))
        self.assertIn("  label: expected in the line, got in the column, counted in trials\n"
                      "        bug  spam  trials\n"
                      "  bug     1     1       2\n"
                      "  spam    1     1       2\n", text_report([report_of(run, "run")]))

    def test_rare_reasons_are_counted_not_listed(self) -> None:
        run = record({"A": "-" * 20})
        results = tuple(replace(one, explain={"label": f"reason {one.trial:02}"}) for one in run.results)
        text = text_report([report_of(replace(run, results=results), "run")])
        self.assertIn("label: reason 12", text)
        self.assertNotIn("label: reason 13", section(text, "Why trials failed"))
        self.assertIn("and 8 rarer reasons", text)

    def test_tags_have_their_rates_with_denominators(self) -> None:
        run = record({"A": "+-", "B": "++"})
        run = replace(run, cases=(case("A", ["short"]), case("B", ["short"])))
        self.assertIn("  short      2  3 of 4 judged   75.0  75.0  75.0  ", text_report([report_of(run, "run")]))

    def test_many_sessions_are_counted(self) -> None:
        text = text_report([report_of(record({"A": "+-"}, sessions=[SESSION] * 11), "run")])
        self.assertEqual(text.count("  session   "), 8)
        self.assertIn("and 3 more sessions", text)

    def test_a_failed_check_that_nobody_explained_is_named(self) -> None:
        text = text_report([report_of(changed(record({"A": "--"}), explain=None), "run")])
        self.assertIn("label (2 of 2)", section(text, "Cases without a pass"))


class HostileText(unittest.TestCase):
    def hostile_run(self, text: str) -> RunRecord:
        run = record({"A": "+-n"}, sessions=[replace(SESSION, hardware=text, environment={text or "key": text})])
        results = (
            replace(run.results[0], output=text, reasoning=text, finish=text),
            replace(run.results[1], output=text, checks={text: False}, explain={text: f"expected {text}, got {text}"}),
            replace(run.results[2], error=ErrorFacts("BadReply", text, text)))
        hostile = replace(case("A", [text]), id=text, input={"from": text, "body": text}, expected=[text])
        return replace(run, system=text, settings={text: text}, results=results, cases=(hostile,),
                       task=replace(run.task, name=text))

    def test_no_control_character_reaches_the_terminal_and_no_line_is_too_wide(self) -> None:
        for text in HOSTILE:
            with self.subTest(text=text[:20]):
                report = report_of(self.hostile_run(text), text)
                for shown in (text_report([report, report]), first_screen(report), case_text(report, text)):
                    self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
                    self.assertLessEqual(max(map(width_of, shown.splitlines())), WIDTH)

    def test_an_output_is_shown_whole(self) -> None:
        text = "y" * 250 + "\n\nlast line"
        shown = case_text(report_of(self.hostile_run(text), "run"), text)
        quoted = "".join(line.removeprefix("  | ") for line in shown.splitlines())
        self.assertIn("y" * 250 + "last line", quoted)


class OneCase(unittest.TestCase):
    def test_an_incomplete_trial_says_why_and_what_had_come(self) -> None:
        run = record({"A": "n"})
        error = ErrorFacts("Unfinished", "no end came", "half an ans")
        run = replace(run, results=(replace(run.results[0], error=error, attempts=2, retries=1),))
        text = case_text(report_of(run, "run"), "A")
        self.assertIn("trial 1, seed 1001: incomplete\n  Unfinished: no end came\n  attempt 2, 1 sent again\n"
                      "  what had come\n  | half an ans\n", text)

    def test_an_empty_output_says_so(self) -> None:
        text = case_text(report_of(changed(record({"A": "+"}), output="", reasoning="hm", finish="length"), "run"), "A")
        self.assertIn("  reasoning\n  | hm\n  output (empty)\n", text)
        self.assertIn("finish length", text)

    def test_input_of_several_fields_is_shown_field_by_field(self) -> None:
        run = record({"A": "+"})
        value: JSON = {"subject": "Help", "body": "one\ntwo", "count": 3, "urgent": None}
        one = replace(run.cases[0], input=value, expected={"deep": {"er": [1]}}, tags=("t1", "t2"))
        run = replace(run, cases=(one,))
        text = case_text(report_of(run, "run"), "A")
        self.assertIn("input\n  | subject: Help\n  | body:\n  |   one\n  |   two\n  | count: 3\n  | urgent: null\n",
                      text)
        self.assertIn('expected\n  | {\n  |  "deep": {\n', text)
        self.assertIn("  tags: t1, t2\n", text)

    def test_every_trial_is_there(self) -> None:
        text = case_text(report_of(record({"A": "+" * 30, "B": "-" * 30}), "run"), "B")
        self.assertEqual(text.count("fail"), 1 + 30)
        self.assertEqual(re.findall(r"^trial (\d+)", text, re.MULTILINE), [str(number) for number in range(1, 31)])


class Colour(unittest.TestCase):
    def test_there_is_none_unless_it_is_asked_for(self) -> None:
        report = report_of(record(WORKED_SUITE), "run")
        self.assertNotIn("\x1b", text_report([report]) + first_screen(report) + case_text(report, "A"))

    def test_with_its_codes_taken_away_the_text_is_the_same(self) -> None:
        report = report_of(record(WORKED_SUITE), "run")
        for plain, painted in ((text_report([report]), text_report([report], Paint(True))),
                               (first_screen(report), first_screen(report, Paint(True))),
                               (case_text(report, "B"), case_text(report, "B", Paint(True)))):
            self.assertNotEqual(plain, painted)
            bare = re.sub("\x1b\\[[0-9]*m", "", painted)
            self.assertEqual(plain, re.sub(" +\n", "\n", bare))


class TheFirstScreen(unittest.TestCase):
    def test_it_fits_a_screen(self) -> None:
        marks = {f"case-{number:03}": "+-" * 5 if number % 2 else "-" * 10 for number in range(90)}
        text = first_screen(report_of(record(marks), "run"))
        self.assertLessEqual(len(text.splitlines()), 24)
        self.assertEqual(text.splitlines()[:3], headline_lines(report_of(record(marks), "run")))

    def test_a_run_where_all_passes_needs_few_lines(self) -> None:
        text = first_screen(report_of(record({"A": "++", "B": "++"}), "run"))
        self.assertEqual(len(text.splitlines()), 9)

    def test_the_most_undecided_flaky_cases_come_first(self) -> None:
        run = record({"A": "+++-", "B": "++--", "C": "----"})
        lines = first_screen(report_of(run, "run")).splitlines()
        start = next(place for place, line in enumerate(lines) if "for example" in line)
        self.assertEqual([line.split()[0] for line in lines[start + 1:start + 4]], ["B", "A", "C"])

    def test_a_single_result_is_enough(self) -> None:
        run = replace(record({"A": "+"}), results=(result("A", 1, "-"),))
        self.assertIn("0 of 1 case passed its one trial, 1 failed", first_screen(report_of(run, "run")))


if __name__ == "__main__":
    unittest.main()
