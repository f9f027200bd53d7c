"""The JSON of a report, of its comparisons and of the gate: fields, figures, and that it is the same every time."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from dataclasses import replace
from fractions import Fraction
from typing import Any

from benchkit.recordings.run_record import RunRecord
from benchkit.reports.comparison import side_by_side
from benchkit.reports.report_json import file_bytes, gate_fields, pair_fields, report_bytes
from benchkit.reports.run_report import report_of
from benchkit.reports.verdicts import GateRules, gate_of
from tests.commands import ROOT
from tests.comparison_samples import BETTER, WORSE, run_of, two_of, with_outputs
from tests.reports_samples import SESSION, WORKED_SUITE, case, record

METRIC = ["worst", "completed", "completed_cases", "best", "low", "high", "se"]


def told_of(of: RunRecord) -> Any:
    """The one run of its report, read back."""
    return json.loads(report_bytes([report_of(of, "sample")]))["runs"][0]


def told_of_pair(base: Any, candidate: Any, margin: Fraction | None = None) -> Any:
    """The one comparison of a report of two runs, read back."""
    side = two_of(base, candidate, margin)
    return json.loads(report_bytes(side.runs, side))["comparisons"][0]


def sample() -> RunRecord:
    """A run with tags, several sessions, all marks and several explanations."""
    run = record({"A": "+-n", "B": "-t+", "C": "u--"}, {"options": {"temperature": 1}}, [SESSION, SESSION])
    return replace(run, cases=tuple(case(one.id, ["x", "y", "z"]) for one in run.cases))


class OneRun(unittest.TestCase):
    def test_a_report_has_exactly_its_fields(self) -> None:
        report = json.loads(report_bytes([report_of(record(WORKED_SUITE, {"temperature": 0}), "sample")]))
        run = report["runs"][0]
        self.assertEqual((1, []), (report["report"], report["comparisons"]))
        self.assertEqual(("sample", "toys:robot", {"temperature": 0}), (run["name"], run["system"], run["settings"]))
        for place, names in (
                (report, ["report", "runs", "comparisons"]),
                (run, ["name", "system", "settings", "judge", "coverage", "totals", "pass", "checks", "tags", "cases",
                       "latency", "tokens", "attempts", "warnings"]),
                (run["judge"], ["name", "version", "task_sha256"]), (run["pass"][0], ["k", "at", "hat"]),
                (run["pass"][0]["at"], METRIC), (run["pass"][0]["hat"], METRIC),
                (run["checks"]["label"], ["failed", "alone"]), (run["latency"], ["warm", "cold"]),
                (run["warnings"][0], ["code", "text"])):
            with self.subTest(names=names):
                self.assertEqual(list(place), names)

    def test_the_worked_suite_is_rounded_to_six_digits_and_what_is_not_available_is_null(self) -> None:
        run = told_of(record(WORKED_SUITE))
        self.assertEqual(run["coverage"], {
            "planned": 12, "completed": 7, "by_error": {"NotRun": 5}, "cases": 4, "cases_complete": 2,
            "cases_touched": 3, "k_max": 0})
        self.assertEqual(run["totals"], {"planned": 12, "pass": 5, "fail": 2, "incomplete": 5})
        first = run["pass"][0]["hat"]
        self.assertEqual((run["pass"][0]["at"], 0.416667, 0.555556, 0.833333, None),
                         (first, first["worst"], first["completed"], first["best"], first["se"]))
        self.assertEqual([[0.555556, 1.0, 1.0], [0.555556, 0.666667, 0.5]], [
            [row[metric]["completed"] for row in run["pass"]] for metric in ("at", "hat")])
        self.assertEqual(run["cases"][1], {
            "id": "B", "n": 3, "passed": 2, "incomplete": 0, "low": 0.20766, "high": 0.938508,
            "disagreement": 0.666667, "state": "flaky"})
        self.assertEqual(run["cases"][3], {
            "id": "D", "n": 0, "passed": 0, "incomplete": 3, "low": None, "high": None, "disagreement": None,
            "state": "no data"})
        self.assertIsNone(run["latency"]["warm"]["p90"])

    def test_a_run_without_a_judged_trial_or_without_cases_is_a_report(self) -> None:
        nothing, empty = told_of(record({"A": "n"})), told_of(record({}))
        self.assertEqual(nothing["tokens"], {
            "trials": 0, "prompt": None, "output": None, "cached": None, "output_per_second": None})
        self.assertIsNone(nothing["pass"][0]["hat"]["completed"])
        self.assertEqual(([], [], {}, {}), tuple(empty[key] for key in ("pass", "cases", "tags", "checks")))

    def test_a_percentile_has_its_rank_interval_and_on_a_timeout_its_limit(self) -> None:
        late, warm = (told_of(record({"A": marks}))["latency"]["warm"] for marks in ("+" + "t" * 12, "+" * 11))
        self.assertEqual((12, 12, {"value": 120.0, "censored": True, "low": None, "high": None}),
                         (late["n"], late["timeouts"], late["p50"]))
        self.assertEqual({"value": 0.6, "censored": False, "low": 0.3, "high": 1.0}, warm["p50"])

    def test_tags_tokens_and_attempts_are_counted(self) -> None:
        found = told_of(replace(record({"A": "+-", "B": "-n"}), cases=(case("A", ["short"]), case("B", ["short"]))))
        self.assertEqual([2, 4, 1, 2, 1, 0.25], [found["tags"]["short"][key] for key in (
            "cases", "planned", "pass", "fail", "incomplete", "worst")])
        self.assertEqual(found["tokens"]["output_per_second"], 20.0)
        self.assertEqual(found["attempts"], {"cells": 3, "repeated": 0, "most": 1, "retries": 0})


class TwoRuns(unittest.TestCase):
    def test_a_comparison_has_exactly_its_fields(self) -> None:
        self.assertEqual([
            "base", "candidate", "not_compared", "finding", "text", "cases", "pass", "sign_flip", "incomplete",
            "margin", "by_case", "latency", "repeat", "warnings"], list(told_of_pair(WORSE, WORSE)))

    def test_regressions_open_trials_and_uneven_ones_are_told_where_there_are_any(self) -> None:
        self.assertEqual({"passed_every_time": 8, "stopped": 8, "began": 0, "p": 0.0078125, "may_have_stopped": []},
                         told_of_pair(BETTER, WORSE)["regressions"])
        may = told_of_pair({"A": "++", "B": "+-"}, {"A": "+n", "B": "++"})
        self.assertEqual({"passed_every_time": 1, "stopped": 0, "began": 1, "p": None, "may_have_stopped": ["A"]},
                         may["regressions"])
        self.assertEqual(1.0, may["sign_flip"]["p_worst"])
        base = {f"c{n:02}": "+" for n in range(20)}
        uneven = told_of_pair(base, {name: "+" * 9 + "-" if n < 11 else "+" * 10 for n, name in enumerate(base)})
        self.assertEqual((0.000976562, True), (uneven["sign_flip"]["by_sign_flip"], uneven["sign_flip"]["p"] > 0.4))
        self.assertEqual({"p", "smallest_p", "holm_p", "tests", "by_sign_flip"}, set(uneven["sign_flip"]))

    def test_a_pair_that_is_not_compared_says_why_and_no_more(self) -> None:
        self.assertEqual({
            "base": {"run": 0, "name": "base", "rank": None},
            "candidate": {"run": 1, "name": "candidate", "rank": None},
            "not_compared": [{"code": "no-common-case", "text": "they have no case in common (1 case and 1)"}]},
            told_of_pair({"A": "+"}, {"B": "+"}))

    def test_every_pair_of_runs_is_there_and_ranks_where_there_is_a_partner(self) -> None:
        side = side_by_side([run_of(BETTER, name) for name in ("a", "b", "c")])
        pairs = json.loads(report_bytes(side.runs, side))["comparisons"]
        self.assertEqual([("a", "b"), ("a", "c"), ("b", "c")],
                         [(pair["base"]["name"], pair["candidate"]["name"]) for pair in pairs])
        found = told_of_pair(BETTER, WORSE)
        self.assertEqual(({"best": 1, "worst": 1}, {"best": 2, "worst": 2}),
                         (found["base"]["rank"], found["candidate"]["rank"]))

    def test_figures_are_rounded_to_six_digits(self) -> None:
        found = told_of_pair({"A": "+++", "B": "+-n"}, {"A": "++-", "B": "nnn", "C": "+++"}, Fraction(1, 10))
        for key, expected in (
                ("pass", {"base": 1.0, "candidate": 0.666667, "difference": -0.333333, "low": -1.0, "high": 0.829779}),
                ("sign_flip", {"p": 1.0, "smallest_p": 1.0, "holm_p": 1.0, "tests": 1, "p_worst": 1.0}),
                ("incomplete", {"base": 1, "candidate": 3, "low": -0.5, "high": 0.166667, "robust": None}),
                ("margin", {"given": 0.1, "same": False, "smallest": 1.0}),
                ("cases", {"common": 2, "compared": 1, "differing": 1, "won": 0, "lost": 1, "tied": 0, "unknown": 1,
                           "only_base": [], "only_candidate": ["C"]})):
            with self.subTest(key):
                self.assertEqual(expected, found[key])
        self.assertEqual({"id": "A", "outcome": "lost", "difference": -0.333333, "regression": True,
                          "base": {"n": 3, "passed": 3, "incomplete": 0, "state": "stable pass"},
                          "candidate": {"n": 3, "passed": 2, "incomplete": 0, "state": "flaky"}}, found["by_case"][0])
        self.assertIsNone(found["by_case"][1]["difference"])

    def test_latencies_have_their_medians_and_numbers(self) -> None:
        found = told_of_pair({"A": "+tt"}, {"A": "+++"})["latency"]
        self.assertEqual({"base": {"n": 2, "p50": 120.0, "censored": True},
                          "candidate": {"n": 2, "p50": 0.2, "censored": False}, "ratio": None}, found["warm"])
        self.assertEqual(1.0, found["cold"]["ratio"])

    def test_two_recordings_of_one_system_have_their_repeat_and_two_systems_none(self) -> None:
        base = record({"A": "++-"})
        self.assertEqual({
            "p": 1.0, "outputs": {
                "warm": {"compared": 2, "equal": 1, "verdicts_compared": 2, "verdicts_equal": 2},
                "cold": {"compared": 1, "equal": 1, "verdicts_compared": 1, "verdicts_equal": 1}},
            "only_base": 0, "only_candidate": 0, "self_base": 0.0, "self_candidate": 0.0,
            "parting": {"case": "A", "trial": 2, "warmth": "warm", "character": 7, "base_verdict": "pass",
                        "candidate_verdict": "pass"}},
            told_of_pair(base, with_outputs(base, {("A", 2): "answer two"}))["repeat"])
        self.assertIsNone(told_of_pair(base, base)["repeat"]["parting"])
        self.assertIsNone(told_of_pair(base, replace(base, system="toys:doll"))["repeat"])

    def test_the_gate_says_rules_results_and_the_comparison_it_rests_on(self) -> None:
        side = two_of(BETTER, WORSE)
        pair = side.pairs[0]
        assert pair.comparison is not None
        rules = GateRules(Fraction(1, 100), Fraction(1, 50), allow_incomplete=True, strict=True)
        found = json.loads(file_bytes(gate_fields(side, pair, gate_of(pair.comparison, side.runs[1].totals, rules))))
        results, comparison = found.pop("results"), found.pop("comparison")
        self.assertEqual({
            "gate": 1, "accepted": False, "decided": True, "answer": "refused",
            "text": "refused (2 of 3 rules broken): candidate against base",
            "rules": {"alpha": 0.01, "max_drop": 0.02, "allow_incomplete": True, "strict": True}}, found)
        self.assertEqual([("drop", True, 0.0078125), ("incomplete", False, None), ("strict", True, None)],
                         [(one["code"], one["broken"], one.get("p")) for one in results])
        self.assertEqual(json.loads(json.dumps(pair_fields(side, pair))), comparison)


class TheBytes(unittest.TestCase):
    def test_they_are_ascii_indented_by_one_with_a_final_newline(self) -> None:
        text = report_bytes([report_of(record({"Äpfel": "+-"}), "sämple")])
        self.assertTrue(text.isascii())
        self.assertTrue(text.startswith(b'{\n "report": 1,\n "runs": [\n  {\n   "name": "s\\u00e4mple"'))
        self.assertTrue(text.endswith(b"\n}\n"))

    def test_case_order_changes_no_figure(self) -> None:
        there, back = (told_of(record(dict(cases))) for cases in (
            WORKED_SUITE.items(), reversed(WORKED_SUITE.items())))
        self.assertEqual((there["pass"], there["latency"]), (back["pass"], back["latency"]))

    def test_they_are_the_same_under_any_hash_seed_and_locale(self) -> None:
        program = ("import sys; from tests.test_reports_json import *; from tests.page_runs import text_of\n"
                   "report = report_of(sample(), 'sample')\n"
                   "sys.stdout.buffer.write(report_bytes([report]) + text_of(sample()).encode())")
        outputs = set()
        for seed, language in (("0", "C"), ("77", "tr_TR.UTF-8")):
            environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": language, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True,
                                  check=False)
            self.assertEqual(done.stderr, b"")
            outputs.add(done.stdout)
        self.assertEqual(len(outputs), 1)
        self.assertIn(b'"report": 1', outputs.pop())
