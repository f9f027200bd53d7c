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
    def setUp(self) -> None:
        self.rows = rows_of(record(WORKED_SUITE))

    def test_every_planned_trial_has_a_row_in_order(self) -> None:
        self.assertEqual([(row["case"], row["trial"]) for row in self.rows],
                         [(name, str(trial)) for name in WORKED_SUITE for trial in (1, 2, 3)])

    def test_a_judged_trial_has_its_checks_and_figures(self) -> None:
        expected = {
            "run": "worked", "system": "toys:robot", "task": "Toy", "split": "development", "hardware": "test bench",
            "sessions": "1", "case": "B", "tags": "", "expected": '{"label":"bug"}', "trial": "3", "seed": "1003",
            "verdict": "fail", "check:parses": "true", "check:label": "false", "why": "label: expected bug, got spam",
            "error_type": "", "error_message": "", "attempts": "1", "retries": "0", "cold": "false",
            "latency_s": "0.3", "slept_s": "", "prompt_tokens": "100", "output_tokens": "10", "cached_tokens": "",
            "load_s": "0.01", "prompt_s": "0.1", "output_s": "0.5", "first_token_s": "0.2", "other_s": "0.0",
            "finish": "stop", "output": "answer 3", "reasoning": "", "partial": ""}
        self.assertEqual(self.rows[5], expected)

    def test_a_trial_that_did_not_run_is_empty_and_not_zero(self) -> None:
        row = self.rows[-1]
        self.assertEqual([row["verdict"], row["error_type"], row["attempts"]], ["incomplete", "NotRun", "0"])
        for title in ("check:parses", "check:label", "latency_s", "prompt_tokens", "output_s", "output"):
            self.assertEqual(row[title], "", title)

    def test_what_had_come_of_a_broken_reply_is_kept(self) -> None:
        broken = changed(record({"A": "t"}), error=ErrorFacts("BrokenReply", "cut", "half an ans"), slept_s=9.5)
        row = rows_of(broken)[0]
        self.assertEqual([row["error_message"], row["partial"], row["slept_s"]], ["cut", "half an ans", "9.5"])

    def test_tags_stand_in_one_field_and_a_text_that_is_expected_as_it_is(self) -> None:
        of = replace(record({"A": "+"}), cases=(case("A", ["hard", "short"], expected="yes"),))
        row = rows_of(of)[0]
        self.assertEqual([row["tags"], row["expected"]], ["hard;short", "yes"])

    def test_hardware_and_sessions_of_the_recording_stand_in_every_row(self) -> None:
        rows = rows_of(record({"A": "++"}, sessions=[SESSION, replace(SESSION, hardware="a laptop"), SESSION]))
        self.assertEqual({(row["hardware"], row["sessions"]) for row in rows}, {("test bench, a laptop", "3")})

    def test_a_run_without_cases_has_titles_only(self) -> None:
        self.assertEqual(text_of(record({})).count("\r\n"), 1)


class SeveralRuns(unittest.TestCase):
    def test_a_check_of_one_run_is_empty_in_the_others(self) -> None:
        other = changed(record({"A": "+"}), checks={"short": True, "parses": True})
        rows = rows_of(record({"A": "+"}), other)
        self.assertEqual([row["check:label"] for row in rows], ["true", ""])
        self.assertEqual([row["check:short"] for row in rows], ["", "true"])
        self.assertEqual(["check:parses", "check:label", "check:short"],
                         [title for title in rows[0] if title.startswith("check:")])

    def test_runs_of_one_name_are_told_apart(self) -> None:
        rows = rows_of(record({"A": "+"}), record({"A": "-"}), names=("same", "same"))
        self.assertEqual([row["run"] for row in rows], ["same (run 1)", "same (run 2)"])

    def test_a_check_that_is_called_as_a_column_is_not_taken_for_it(self) -> None:
        row = rows_of(changed(record({"A": "+"}), checks={"verdict": True}))[0]
        self.assertEqual([row["verdict"], row["check:verdict"]], ["pass", "true"])


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

    def test_no_text_begins_as_a_formula_does(self) -> None:
        self.assertEqual(len(self.rows), 3 * len(HOSTILE))
        for row in self.rows:
            for title, value in row.items():
                if title not in FIGURES:
                    self.assertFalse(value.startswith(FORMULA), (title, ascii(value)))

    def test_titles_made_of_check_names_are_harmless_too(self) -> None:
        self.assertFalse([title for title in self.rows[0] if title.startswith(FORMULA)])

    def test_every_row_has_as_many_fields_as_there_are_titles(self) -> None:
        lines = list(csv.reader(io.StringIO(text_of(hostile_record()), newline=""), strict=True))
        self.assertEqual({len(line) for line in lines}, {9 + len(set(HOSTILE)) + 1 + len(COLUMNS)})

    def test_the_file_can_be_written(self) -> None:
        text_of(hostile_record()).encode("utf-8")


class TheSameBytes(unittest.TestCase):
    def test_reporting_twice_gives_equal_text_with_crlf_line_ends(self) -> None:
        text = text_of(record(WORKED_SUITE))
        self.assertEqual(text, text_of(record(WORKED_SUITE)))
        self.assertEqual((text.count("\r\n"), text.count("\n")), (13, 13))


if __name__ == "__main__":
    unittest.main()
