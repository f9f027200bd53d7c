"""Trials as CSV: one row each, the same columns everywhere, and no text that a spreadsheet would run."""
from __future__ import annotations

import csv
import io
import unittest
from collections.abc import Sequence
from dataclasses import replace

from benchkit.basics.values import ErrorFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.run_report import report_of
from benchkit.reports.trials_csv import COLUMNS, trials_csv
from tests.hostile_run import HOSTILE, hostile_record
from tests.reports_samples import SESSION, WORKED_SUITE, case, changed, record

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\0")
FIGURES = {"sessions", "trial", "seed", "attempts", "retries", "latency_s", "slept_s", "prompt_tokens", "output_tokens",
           "cached_tokens", "load_s", "prompt_s", "output_s", "first_token_s", "other_s"}


def text_of(*records: RunRecord, names: Sequence[str] = ("worked", "other")) -> str:
    """The file."""
    return "".join(trials_csv([report_of(one, name) for one, name in zip(records, names, strict=False)]))


def rows_of(*records: RunRecord, names: Sequence[str] = ("worked", "other")) -> list[dict[str, str]]:
    """The rows as a reader of RFC 4180 takes them, by title."""
    text = text_of(*records, names=names)
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


class OneRowPerTrial(unittest.TestCase):
    def test_every_planned_trial_has_a_row_in_order_with_its_checks_and_figures(self) -> None:
        rows = rows_of(record(WORKED_SUITE))
        self.assertEqual([(row["case"], row["trial"]) for row in rows],
                         [(name, str(trial)) for name in WORKED_SUITE for trial in (1, 2, 3)])
        self.assertEqual(rows[5], {
            "run": "worked", "system": "toys:robot", "task": "Toy", "split": "development", "hardware": "test bench",
            "sessions": "1", "case": "B", "tags": "", "expected": '{"label":"bug"}', "trial": "3", "seed": "1003",
            "verdict": "fail", "check:parses": "true", "check:label": "false", "why": "label: expected bug, got spam",
            "error_type": "", "error_message": "", "attempts": "1", "retries": "0", "cold": "false",
            "latency_s": "0.3", "slept_s": "", "prompt_tokens": "100", "output_tokens": "10", "cached_tokens": "",
            "load_s": "0.01", "prompt_s": "0.1", "output_s": "0.5", "first_token_s": "0.2", "other_s": "0.0",
            "finish": "stop", "output": "answer 3", "reasoning": "", "partial": ""})
        # what did not run is empty and not zero
        self.assertEqual(["incomplete", "NotRun", "0", "", "", "", "", "", ""], [rows[-1][title] for title in (
            "verdict", "error_type", "attempts", "check:parses", "check:label", "latency_s", "prompt_tokens",
            "output_s", "output")])

    def test_what_one_run_brings_stands_in_its_rows(self) -> None:
        broken = changed(record({"A": "t"}), error=ErrorFacts("BrokenReply", "cut", "half an ans"), slept_s=9.5)
        tagged = replace(record({"A": "+"}), cases=(case("A", ["hard", "short"], expected="yes"),))
        there = record({"A": "+"}, sessions=[SESSION, replace(SESSION, hardware="a laptop"), SESSION])
        called_so = changed(record({"A": "+"}), checks={"verdict": True})
        for of, expected in (
                (broken, {"error_message": "cut", "partial": "half an ans", "slept_s": "9.5"}),
                (tagged, {"tags": "hard;short", "expected": "yes"}),
                (there, {"hardware": "test bench, a laptop", "sessions": "3"}),
                (called_so, {"verdict": "pass", "check:verdict": "true"})):
            with self.subTest(expected=expected):
                row = rows_of(of)[0]
                self.assertEqual(expected, {title: row[title] for title in expected})

    def test_a_check_of_one_run_is_empty_in_others_and_runs_of_one_name_are_told_apart(self) -> None:
        other = changed(record({"A": "+"}), checks={"short": True, "parses": True})
        rows = rows_of(record({"A": "+"}), other, names=("same", "same"))
        self.assertEqual([("same (run 1)", "true", ""), ("same (run 2)", "", "true")],
                         [(row["run"], row["check:label"], row["check:short"]) for row in rows])
        self.assertEqual(["check:parses", "check:label", "check:short"],
                         [title for title in rows[0] if title.startswith("check:")])

    def test_lines_end_in_crlf_and_a_run_without_cases_has_titles_only(self) -> None:
        for of, count in ((record({}), 1), (record(WORKED_SUITE), 13)):
            text = text_of(of)
            self.assertEqual((count, count, text), (text.count("\r\n"), text.count("\n"), text_of(of)))


class TextsOfStrangers(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = rows_of(hostile_record(), names=["=run"])

    def test_every_text_comes_back_whole(self) -> None:
        for number, text in enumerate(HOSTILE):
            with self.subTest(text=ascii(text)):
                kept = "'" + text if text.startswith(FORMULA) else text.replace("\ud800", "\\ud800")
                passed, _, broken = self.rows[3 * number:3 * number + 3]
                self.assertEqual([passed["output"], passed["reasoning"], broken["error_message"], broken["partial"]],
                                 [kept] * 4)

    def test_no_text_and_no_title_begins_as_a_formula_does(self) -> None:
        self.assertEqual(len(self.rows), 3 * len(HOSTILE))
        for row in self.rows:
            self.assertEqual(9 + len(set(HOSTILE)) + 1 + len(COLUMNS), len(row))
            for title, value in row.items():
                self.assertFalse(title.startswith(FORMULA), title)
                if title not in FIGURES:
                    self.assertFalse(value.startswith(FORMULA), (title, ascii(value)))
        text_of(hostile_record()).encode("utf-8")
