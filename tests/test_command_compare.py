"""The command `harness.py compare`: its first line, why, every exit code, and the file it writes."""
from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchkit.recordings.run_record import RunRecord, run_record_bytes
from tests.commands import Told, cli
from tests.comparison_samples import BETTER, WORSE, with_case
from tests.reports_samples import SESSION, record, with_results
from tests.workflow import typed_in


class Comparing(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name: str, run: RunRecord | Mapping[str, str]) -> None:
        made = run if isinstance(run, RunRecord) else record(run)
        (self.folder / f"{name}.json").write_bytes(b"".join(run_record_bytes(made)))

    def compare(self, base: RunRecord | Mapping[str, str], candidate: RunRecord | Mapping[str, str],
                *flags: str) -> Told:
        self.write("base", base)
        self.write("candidate", candidate)
        return typed_in(self.folder, "harness.py", "compare", "base.json", "candidate.json", *flags)

    def check(self, told: Told, code: int, first: str) -> None:
        self.assertEqual((code, ""), (told.code, told.stderr))
        self.assertTrue(told.stdout.startswith(f"{first}: "), told.stdout)
        self.assertRegex(told.stdout, f"\n\nExit code {code}\n  {first.lower()} .*: candidate against base\n$")

    def refused(self, told: Told, *words: str) -> None:
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertEqual(1, told.stderr.count("\n"), told.stderr)
        for word in words:
            self.assertIn(word, told.stderr)


class TheSameSystem(Comparing):
    def test_one_log_on_both_sides_is_no_second_recording(self) -> None:
        base = record({"A": "+-t", "B": "---"})
        later = replace(SESSION, started_at="2026-11-30T13:00:00.000Z")
        for name, candidate, is_told in (
                ("the same file", base, True),
                ("judged again", replace(base, started_at="2026-12-01T00:00:00.000Z"), True),
                ("gone on with", replace(record({"A": "+-+", "B": "---"}), sessions=(SESSION, later)), True),
                ("another log", replace(base, sessions=(later,)), False),
                ("other times", with_results(base, lambda one: {"recorded_latency_s": 0.5}), False)):
            told = self.compare(base, candidate, "--allow-incomplete").stdout
            with self.subTest(name):
                self.assertIn("same system  one recording;" if is_told else "same system  two recordings;", told)
                self.assertEqual(is_told, "\n    - one-log: base and candidate come from one log" in told)

    def test_errors_are_counted_apart_from_outputs_on_both_sides_and_on_one(self) -> None:
        told = self.compare({"A": "+++t", "B": "ttut"}, {"A": "+-tt", "B": "tttt"}, "--allow-incomplete", "--out",
                            "gate.json")
        for line in ("outputs      warm: 1 of 1 (100.0 %) equal, and 0 of 1 (0.0 %) verdicts",
                     "errors       5 trials ended in an error on both sides, 4 with the same type",
                     "errors       1 trial ended in an error in the candidate only\n",
                     "parting      first in trial 3 of A (warm), where a side has no output"):
            self.assertIn(line, told.stdout)
        repeat = json.loads((self.folder / "gate.json").read_text(encoding="utf-8"))["comparison"]["repeat"]
        self.assertEqual(({"both": 5, "same_type": 4, "only_base": 0, "only_candidate": 1}, ["warm", "cold"]),
                         (repeat["errors"], list(repeat["outputs"])))
        self.assertIn("  outputs      no trial gave one on both sides\n",
                      self.compare({"A": "tt"}, {"A": "tt"}, "--strict").stdout)


class TheAnswer(Comparing):
    def test_a_regression_is_exit_1(self) -> None:
        told = self.compare(BETTER, WORSE)
        self.check(told, 1, "REFUSED")
        self.assertIn("  broken  mean pass^1 changed by -75.0 points over 8 cases, sign-flip p 0.00781", told.stdout)

    def test_a_refusal_for_incomplete_trials_names_the_ways_on(self) -> None:
        told = self.compare(WORSE, {**BETTER, "case-0": "+++t"})
        self.check(told, 1, "REFUSED")
        self.assertIn("  broken  1 of 32 trials of the candidate is incomplete: go on with them (bench.py --log LOG; "
                      "--retry-errors for those that ended in an error, but a check that raised is to be mended) and "
                      "judge again, or give --allow-incomplete",
                      " ".join(told.stdout.split()).replace("broken 1 of", "  broken  1 of"))

    def test_a_candidate_that_is_better_or_not_told_apart_is_exit_0(self) -> None:
        self.check(self.compare(WORSE, BETTER), 0, "ACCEPTED")
        told = self.compare(BETTER, BETTER)
        self.check(told, 0, "ACCEPTED")
        self.assertIn("cannot be told apart", told.stdout)

    def test_a_fall_that_is_let_pass_is_exit_0_and_its_first_line_does_not_reassure(self) -> None:
        some_lost = {**BETTER, **{f"case-{number}": "----" for number in range(5)}, "case-7": "++++"}
        one_won = {**BETTER, "case-7": "---+"}
        told = self.compare(one_won, some_lost)
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertTrue(told.stdout.startswith("ACCEPTED, BUT NOT SHOWN TO BE AS GOOD: candidate 37.5 %, base 90.6 % "
                                               "(pass^1 fell by 53.1"), told.stdout)
        told = self.compare(BETTER, {**BETTER, "case-0": "----"})
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertTrue(told.stdout.startswith(
            "NOT DECIDED: candidate 87.5 %, base 100.0 % (1 differing case; 6 would be needed)\n"), told.stdout)
        last = " ".join(told.stdout.split("\n\n")[-1].split())
        self.assertRegex(last, "^Exit code 0 not decided: .* the exit code is 0; use more cases, or --strict")
        self.assertEqual(1, self.compare(BETTER, {**BETTER, "case-0": "----"}, "--strict").code)

    def test_cases_of_the_base_that_the_candidate_lacks_could_hold_any_fall(self) -> None:
        passing = {f"c{number:02}": "+++++" for number in range(20)}
        one, most = {"c00": "+++++"}, {name: marks for name, marks in passing.items() if name != "c07"}
        unsure = "accepted, but not shown to be as good: "
        for base, candidate, last in (
                (passing, one, f"{unsure}19 of 20 cases of the base are not in the candidate (none of 2 rules broken)"),
                (passing, most, f"{unsure}1 of 20 cases of the base is not in the candidate (none of 2 rules broken)"),
                (passing, {**most, "c00": "+++--"}, "not decided: pass^1 fell by 2.1 points, and with 1 differing case "
                 "the smallest p is 1, so no alpha of 0.05 could refuse it, and the exit code is 0; use more cases, or "
                 "--strict, which refuses by cases; 1 of 20 cases of the base is not in the candidate"),
                (one, passing, "accepted (none of 2 rules broken)")):
            with self.subTest(last=last):
                told = self.compare(base, candidate, "--out", "gate.json")
                self.assertEqual((0, ""), (told.code, told.stderr))
                end = " ".join(told.stdout.split("\n\n")[-1].split())
                self.assertTrue(end.startswith(f"Exit code 0 {last}"), told.stdout)
                answer = json.loads((self.folder / "gate.json").read_text(encoding="utf-8"))["answer"]
                self.assertTrue(last.startswith(answer), answer)
                self.assertTrue(told.stdout.startswith(f"{answer.upper()}: "), told.stdout)
        self.assertEqual(1, self.compare(passing, most, "--strict").code)
        self.refused(self.compare(passing, {"another": "+++++"}), "they have no case in common")

    def test_the_flags_move_the_rules(self) -> None:
        one_lost = {**BETTER, "case-0": "+++-"}
        unknown = {**BETTER, "case-0": "+++n"}
        for base, candidate, flags, code in (
                (BETTER, WORSE, ("--max-drop", ".75"), 0), (BETTER, WORSE, ("--max-drop", ".74"), 1),
                (BETTER, WORSE, ("--alpha", "0.005"), 0), (BETTER, WORSE, ("--alpha", ".01"), 1),
                (BETTER, one_lost, (), 0), (BETTER, one_lost, ("--strict",), 1),
                (BETTER, one_lost, ("--alpha", "1"), 0),
                (BETTER, unknown, (), 1), (BETTER, unknown, ("--allow-incomplete",), 0),
                (BETTER, unknown, ("--allow-incomplete", "--strict"), 0),
                (unknown, BETTER, ("--strict",), 0), (BETTER, {"case-0": "nnnn"}, (), 1)):
            with self.subTest(flags=flags, candidate=candidate):
                told = self.compare(base, candidate, *flags)
                self.assertEqual((code, ""), (told.code, told.stderr))

    def test_a_p_that_was_approximated_says_so(self) -> None:
        base, candidate = ({f"c{number}": mark if number < 150 else other for number in range(240)}
                           for mark, other in ("+-", "-+"))
        with patch("benchkit.statistics.permutation.MOST_WORK_FOR_EXACT", 0):
            told = self.compare(base, candidate, "--out", "gate.json")
        result = json.loads((self.folder / "gate.json").read_text(encoding="utf-8"))["results"][0]
        self.assertEqual((1, ["p"]), (told.code, result["about"]))
        self.assertIn(f"sign-flip p about {result['p']:.3g}: a fall by", told.stdout)

    def test_a_drop_is_compared_as_it_was_typed(self) -> None:
        passing = {f"c{number:02}": "+" * 10 for number in range(20)}
        fallen = dict.fromkeys(passing, "+++++++---")
        # 0.3 as a float is less than three tenths
        self.assertEqual(0, self.compare(passing, fallen, "--max-drop", "0.3").code)
        self.assertEqual(1, self.compare(passing, fallen, "--max-drop", "0.29").code)

    def test_lost_cases_are_listed_whatever_the_answer(self) -> None:
        told = self.compare({"steady": "++", "shaky": "++"}, {"steady": "++", "shaky": "+-"})
        self.assertEqual(0, told.code)
        self.assertIn("shaky", told.stdout.split("\n  Regressions: ")[1].splitlines()[2])


class WhatCannotBeCompared(Comparing):
    def test_a_reason_is_exit_2_and_one_line_and_nothing_is_written(self) -> None:
        base = record(BETTER)
        for candidate, words in (
                (record({"else": "++"}), "they have no case in common (8 cases and 1)"),
                (with_case(base, 3, input="else"), "the input differs in 1 of 8 common cases (case-3)")):
            self.refused(self.compare(base, candidate, "--out", "gate.json"),
                         "base.json and candidate.json cannot be compared:", words)
            self.assertFalse((self.folder / "gate.json").exists())

    def test_the_way_on_is_told_once_whatever_differs(self) -> None:
        base, judge = record(BETTER), "judge both again: python3 harness.py run --task toy_task --split development"
        ask, label = "record both again, asked the same", with_case(base, 3, expected="else")
        other = replace(label, judge=replace(base.judge, version="2"))
        for candidate, way, not_told in (
                (label, judge, ask), (other, judge, ask), (with_case(base, 1, input="x"), judge, ask),
                (with_case(other, 3, ask="f" * 16), ask, judge)):
            told = self.compare(base, candidate).stderr
            self.assertEqual((1, 0), (told.count(way), told.count(not_told)), told)

    def test_no_case_judged_on_both_sides_is_exit_2_where_no_rule_is_broken(self) -> None:
        nothing = dict.fromkeys(BETTER, "nnnn")
        self.refused(self.compare(nothing, BETTER), "in no case that both have did both judge a trial")
        self.refused(self.compare(BETTER, nothing, "--allow-incomplete"), "did both judge a trial")
        self.check(self.compare(BETTER, nothing), 1, "REFUSED")

    def test_bad_files_and_flags_are_exit_2_and_one_line(self) -> None:
        self.write("base", BETTER)
        (self.folder / "torn.json").write_text('{"run_record": 1', encoding="ascii")
        for flags, words in (
                (("base.json",), "CANDIDATE"), (("base.json", "nowhere.json"), "nowhere.json"),
                (("torn.json", "base.json"), "torn.json"), (("base.json", "base.json", "--alpha", "2"), "--alpha"),
                (("base.json", "base.json", "--max-drop", "-1"), "--max-drop"),
                (("base.json", "base.json", "--max-drop", "nan"), "--max-drop"),
                (("base.json", "base.json", "--colour"), "--colour"),
                (("base.json", "base.json", "--out", "base.json"), "--out base.json: this is one of the two"),
                (("base.json", "base.json", "--out", "gate.html"), "that ends in .html is for report.py --html")):
            with self.subTest(flags=flags):
                self.refused(typed_in(self.folder, "harness.py", "compare", *flags), words)


class TheFile(Comparing):
    def test_out_holds_the_answer_and_the_comparison_of_the_report(self) -> None:
        told = self.compare(BETTER, WORSE, "--out", "gate.json", "--strict")
        self.assertEqual((1, ""), (told.code, told.stderr))
        gate = json.loads((self.folder / "gate.json").read_bytes())
        self.assertEqual((1, False, ["drop", "strict"]), (
            gate["gate"], gate["accepted"], [one["code"] for one in gate["results"] if one["broken"]]))
        reported = typed_in(self.folder, "report.py", "base.json", "candidate.json", "--out", "report.json")
        self.assertEqual(0, reported.code, reported.stderr)
        report = json.loads((self.folder / "report.json").read_bytes())
        self.assertEqual(report["comparisons"], [gate["comparison"]])

    def test_another_file_is_not_written_over(self) -> None:
        self.write("precious", BETTER)
        before = (self.folder / "precious.json").read_bytes()
        self.refused(self.compare(BETTER, BETTER, "--out", "precious.json"), "precious.json")
        self.assertEqual(before, (self.folder / "precious.json").read_bytes())

    def test_it_may_be_written_again_with_equal_bytes(self) -> None:
        self.compare(BETTER, WORSE, "--out", "gate.json")
        before = (self.folder / "gate.json").read_bytes()
        cli(self.folder, "harness.py", "compare", "base.json", "candidate.json", "--out", "gate.json",
            environment={"PYTHONHASHSEED": "7"})
        self.assertEqual(before, (self.folder / "gate.json").read_bytes())

    def test_a_folder_that_is_not_there_is_made(self) -> None:
        told = self.compare(BETTER, BETTER, "--out", "deep/er/gate.json")
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertTrue((self.folder / "deep" / "er" / "gate.json").is_file())


class TheHelp(Comparing):
    def test_it_names_every_flag_and_default(self) -> None:
        told = typed_in(self.folder, "harness.py", "compare", "--help")
        self.assertEqual((0, ""), (told.code, told.stderr))
        for word in ("BASE", "CANDIDATE", "--alpha", "0.05", "--max-drop", "--allow-incomplete", "--strict", "--out"):
            self.assertIn(word, told.stdout)


class SeveralRunsAtTheReport(Comparing):
    def report(self, *flags: str) -> Told:
        self.write("base", BETTER)
        self.write("candidate", WORSE)
        return typed_in(self.folder, "report.py", "base.json", "candidate.json", *flags)

    def test_they_stand_side_by_side_before_each_of_them(self) -> None:
        told = self.report()
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertTrue(told.stdout.startswith("Side by side\n"))
        self.assertIn("candidate passes less often than base: 25.0 % against 100.0 % of tries", told.stdout)
        self.assertLess(told.stdout.index("candidate against base"), told.stdout.index("== base: toys:robot"))

    def test_margin_says_whether_they_are_the_same_within_it(self) -> None:
        self.assertIn("not shown to be the same within 5.0 points", self.report("--margin", ".05").stdout)
        self.assertIn("the same within 100.0 points", self.report("--margin", "1").stdout)

    def test_a_margin_needs_two_runs_and_a_share(self) -> None:
        self.report()
        self.refused(typed_in(self.folder, "report.py", "base.json", "--margin", ".05"), "--margin", "at least two")
        self.refused(typed_in(self.folder, "report.py", "base.json", "candidate.json", "--margin", "5"), "--margin")

    def test_runs_that_cannot_be_compared_are_reported_each_with_the_reason(self) -> None:
        self.write("base", BETTER)
        self.write("other", {"else": "+-"})
        told = typed_in(self.folder, "report.py", "base.json", "other.json", "--out", "report.json")
        self.assertEqual((0, "written: report.json (report)\n"), (told.code, told.stderr))
        self.assertIn("other and base are not compared: they have no case in common", told.stdout)
        self.assertIn("== other: toys:robot", told.stdout)
        report = json.loads((self.folder / "report.json").read_bytes())
        self.assertEqual("no-common-case", report["comparisons"][0]["not_compared"][0]["code"])
