"""The JSON of a report: its fields, its figures, and that it is the same every time."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.recordings.run_record import RunRecord
from benchkit.reports.report_json import report_bytes
from benchkit.reports.run_report import report_of
from tests.reports_samples import SESSION, WORKED_SUITE, case, record

ROOT = Path(__file__).resolve().parent.parent


def run_of(of: RunRecord) -> Any:
    """The one run of its report, read back."""
    return json.loads(report_bytes([report_of(of, "sample")]))["runs"][0]


class TheFields(unittest.TestCase):
    def test_a_report_has_exactly_its_fields(self) -> None:
        report = json.loads(report_bytes([report_of(record(WORKED_SUITE), "sample")]))
        self.assertEqual(list(report), ["report", "runs", "comparisons"])
        self.assertEqual((report["report"], report["comparisons"]), (1, []))
        self.assertEqual(list(report["runs"][0]), [
            "name", "system", "settings", "judge", "coverage", "totals", "pass", "checks", "tags", "cases", "latency",
            "tokens", "attempts", "warnings"])

    def test_the_inner_fields_are_these(self) -> None:
        run = run_of(record(WORKED_SUITE))
        metric = ["worst", "completed", "completed_cases", "best", "low", "high", "se"]
        for place, names in (
                (run["judge"], ["name", "version", "task_sha256"]),
                (run["coverage"], ["planned", "completed", "by_error", "cases", "cases_complete", "cases_touched",
                                   "k_max"]),
                (run["totals"], ["planned", "pass", "fail", "incomplete"]), (run["pass"][0], ["k", "at", "hat"]),
                (run["pass"][0]["at"], metric), (run["pass"][0]["hat"], metric),
                (run["checks"]["label"], ["failed", "alone"]),
                (run["cases"][0], ["id", "n", "passed", "incomplete", "low", "high", "disagreement", "state"]),
                (run["latency"], ["warm", "cold"]), (run["warnings"][0], ["code", "text"])):
            with self.subTest(names=names):
                self.assertEqual(list(place), names)

    def test_the_name_and_the_system_are_those_of_the_record(self) -> None:
        run = run_of(record(WORKED_SUITE, {"temperature": 0}))
        self.assertEqual((run["name"], run["system"], run["settings"]), ("sample", "toys:robot", {"temperature": 0}))


class TheFigures(unittest.TestCase):
    def test_the_worked_suite_is_rounded_to_six_digits(self) -> None:
        run = run_of(record(WORKED_SUITE))
        self.assertEqual(run["coverage"], {
            "planned": 12, "completed": 7, "by_error": {"NotRun": 5}, "cases": 4, "cases_complete": 2,
            "cases_touched": 3, "k_max": 0})
        self.assertEqual(run["totals"], {"planned": 12, "pass": 5, "fail": 2, "incomplete": 5})
        first = run["pass"][0]
        self.assertEqual(first["at"], first["hat"])
        self.assertEqual((first["hat"]["worst"], first["hat"]["completed"], first["hat"]["best"]),
                         (0.416667, 0.555556, 0.833333))
        self.assertEqual([row["at"]["completed"] for row in run["pass"]], [0.555556, 1.0, 1.0])
        self.assertEqual([row["hat"]["completed"] for row in run["pass"]], [0.555556, 0.666667, 0.5])
        self.assertEqual(run["cases"][1], {
            "id": "B", "n": 3, "passed": 2, "incomplete": 0, "low": 0.20766, "high": 0.938508,
            "disagreement": 0.666667, "state": "flaky"})

    def test_what_is_not_available_is_null(self) -> None:
        run = run_of(record(WORKED_SUITE))
        self.assertEqual(run["cases"][3], {
            "id": "D", "n": 0, "passed": 0, "incomplete": 3, "low": None, "high": None, "disagreement": None,
            "state": "no data"})
        self.assertIsNone(run["pass"][0]["hat"]["se"])
        self.assertIsNone(run["latency"]["warm"]["p90"])
        nothing = run_of(record({"A": "n"}))
        self.assertEqual(nothing["tokens"], {
            "trials": 0, "prompt": None, "output": None, "cached": None, "output_per_second": None})
        self.assertIsNone(nothing["pass"][0]["hat"]["completed"])

    def test_a_run_without_cases_is_a_report(self) -> None:
        run = run_of(record({}))
        self.assertEqual((run["pass"], run["cases"], run["tags"], run["checks"]), ([], [], {}, {}))

    def test_a_percentile_on_a_timeout_is_its_limit_and_says_so(self) -> None:
        warm = run_of(record({"A": "+" + "t" * 12}))["latency"]["warm"]
        self.assertEqual((warm["n"], warm["timeouts"]), (12, 12))
        self.assertEqual(warm["p50"], {"value": 120.0, "censored": True, "low": None, "high": None})

    def test_a_percentile_has_the_ends_of_its_rank_interval(self) -> None:
        warm = run_of(record({"A": "+" * 11}))["latency"]["warm"]
        self.assertEqual(warm["p50"], {"value": 0.6, "censored": False, "low": 0.3, "high": 1.0})

    def test_tags_tokens_and_attempts_are_counted(self) -> None:
        run = record({"A": "+-", "B": "-n"})
        found = run_of(replace(run, cases=(case("A", ["short"]), case("B", ["short"]))))
        tag = found["tags"]["short"]
        self.assertEqual((tag["cases"], tag["planned"], tag["pass"], tag["fail"], tag["incomplete"], tag["worst"]),
                         (2, 4, 1, 2, 1, 0.25))
        self.assertEqual(found["tokens"]["output_per_second"], 20.0)
        self.assertEqual(found["attempts"], {"cells": 3, "repeated": 0, "most": 1, "retries": 0})


class TheBytes(unittest.TestCase):
    def test_they_are_ascii_indented_by_one_with_a_final_newline(self) -> None:
        text = report_bytes([report_of(record({"Äpfel": "+-"}), "sämple")])
        self.assertTrue(text.isascii())
        self.assertTrue(text.startswith(b'{\n "report": 1,\n "runs": [\n  {\n   "name": "s\\u00e4mple"'))
        self.assertTrue(text.endswith(b"\n}\n"))

    def test_case_order_changes_no_figure(self) -> None:
        there = run_of(record(WORKED_SUITE))
        back = run_of(record(dict(reversed(WORKED_SUITE.items()))))
        self.assertEqual((there["pass"], there["latency"]), (back["pass"], back["latency"]))

    def test_they_are_the_same_under_any_hash_seed_and_locale(self) -> None:
        program = ("import sys; from tests.reports_samples import *; from tests.test_reports_wire import *\n"
                   "from tests.page_runs import text_of\n"
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


def sample() -> RunRecord:
    """A run with tags, several sessions, all marks and several explanations."""
    run = record({"A": "+-n", "B": "-t+", "C": "u--"}, {"options": {"temperature": 1}}, [SESSION, SESSION])
    cases = tuple(case(one.id, ["x", "y", "z"]) for one in run.cases)
    return replace(run, cases=cases)


if __name__ == "__main__":
    unittest.main()
