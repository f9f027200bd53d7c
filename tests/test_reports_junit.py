"""JUnit XML: which case is a failure, which an error, and that any text leaves well-formed XML."""
from __future__ import annotations

import unittest
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from benchkit.basics.texts import shown
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.junit import junit_report
from benchkit.reports.run_report import report_of
from tests.hostile_run import HOSTILE, hostile_record
from tests.reports_samples import SESSION, WORKED_SUITE, changed, record

MAVEN_TIMESTAMP = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"


def text_of(*records: RunRecord, names: Sequence[str] = ("worked", "other")) -> str:
    """The file."""
    return "".join(junit_report([report_of(one, name) for one, name in zip(records, names, strict=False)]))


def parsed(*records: RunRecord, names: Sequence[str] = ("worked", "other")) -> Element:
    """The file as a parser reads it from its bytes."""
    return ElementTree.fromstring(text_of(*records, names=names).encode("utf-8"))


def case_in(of: RunRecord, name: str) -> Element:
    """The test of one case."""
    return next(test for test in parsed(of).iter("testcase") if test.get("name") == name)


def problem_in(of: RunRecord, name: str = "A") -> tuple[str, str | None] | None:
    """The kind and type of a case's problem; None where it passes."""
    found = list(case_in(of, name))
    return (found[0].tag, found[0].get("type")) if found else None


def properties(of: RunRecord) -> dict[str, str | None]:
    """The properties of the first suite."""
    return {one.get("name") or "": one.get("value") for one in parsed(of).iter("property")}


class WhatACaseIs(unittest.TestCase):
    def test_a_case_is_what_its_trials_make_of_it(self) -> None:
        table = (
            ("+++", None), ("+", None),
            ("++-", ("failure", "flaky")), ("+-n", ("failure", "flaky")),
            ("---", ("failure", "stable fail")), ("-", ("failure", "one trial")),
            ("-nn", ("failure", "possibly flaky")),
            ("++n", ("error", "NotRun")), ("nnn", ("error", "NotRun")), ("+ut", ("error", "Unreachable")),
            ("+utt", ("error", "Timeout")),
        )
        for marks, expected in table:
            with self.subTest(marks=marks):
                self.assertEqual(problem_in(record({"A": marks})), expected)

    def test_a_flaky_case_says_how_often_it_passed_and_what_fails(self) -> None:
        failure = case_in(record(WORKED_SUITE), "B")[0]
        self.assertEqual(failure.get("message"),
                         "flaky: 2 of 3 judged trials passed; label: expected bug, got spam (1 of 1); "
                         "expected label: bug")
        self.assertEqual(failure.text, "trials: ++-   (+ passed  - failed  ? incomplete)\n"
                                       "trial 3, seed 1003: failed\n"
                                       "  label: expected bug, got spam\n"
                                       "  output: answer 3")

    def test_an_incomplete_case_says_what_is_missing(self) -> None:
        error = case_in(record(WORKED_SUITE), "D")[0]
        self.assertEqual(error.get("message"),
                         "no data: no trial was judged; 3 of 3 planned ones are incomplete (3 NotRun)")
        self.assertIn("3 x NotRun: not run: the budget ended first", error.text or "")

    def test_a_check_without_an_explanation_is_named(self) -> None:
        failure = case_in(changed(record({"A": "--"}), explain=None), "A")[0]
        self.assertIn("\n  label: did not hold\n", failure.text or "")

    def test_of_many_failed_trials_three_are_told_and_the_rest_counted(self) -> None:
        text = case_in(record({"A": "-" * 10}), "A")[0].text or ""
        self.assertEqual(text.count("seed"), 3)
        self.assertTrue(text.endswith("\nand 7 more failed trials"))

    def test_a_long_output_is_cut_and_shows_it(self) -> None:
        text = case_in(changed(record({"A": "--"}), output="x" * 300_000), "A")[0].text or ""
        self.assertLess(len(text), 2000)
        self.assertIn("xxx...", text)


class TheSuite(unittest.TestCase):
    def test_counts_add_up_at_every_level(self) -> None:
        root = parsed(record(WORKED_SUITE), record({"A": "+-+", "Z": "+++"}))
        self.assertEqual([dict(list(one.attrib.items())[-6:]) for one in root],
                         [{"tests": "4", "failures": "2", "errors": "1", "skipped": "0", "time": "1.300000",
                           "timestamp": "2026-11-30T12:00:00"},
                          {"tests": "2", "failures": "1", "errors": "0", "skipped": "0", "time": "1.200000",
                           "timestamp": "2026-11-30T12:00:00"}])
        self.assertEqual(root.attrib, {"name": "report", "tests": "6", "failures": "3", "errors": "1", "skipped": "0",
                                       "time": "2.500000"})

    def test_a_time_is_that_of_all_trials_and_absent_where_nobody_knows(self) -> None:
        self.assertEqual(case_in(record(WORKED_SUITE), "A").get("time"), "0.600000")
        self.assertIsNone(case_in(record(WORKED_SUITE), "D").get("time"))

    def test_a_test_is_named_by_its_case_and_placed_by_task_and_run(self) -> None:
        test = case_in(record(WORKED_SUITE), "A")
        self.assertEqual((test.get("classname"), test.get("name")), ("toy_task.worked", "A"))

    def test_runs_of_one_name_are_told_apart(self) -> None:
        root = parsed(record({"A": "+"}), record({"A": "-"}), names=("same", "same"))
        self.assertEqual([one.get("name") for one in root], ["same (run 1)", "same (run 2)"])
        self.assertEqual(len({test.get("classname") for test in root.iter("testcase")}), 2)

    def test_the_timestamp_is_one_that_readers_take(self) -> None:
        self.assertRegex(parsed(record({"A": "+"}))[0].get("timestamp") or "", MAVEN_TIMESTAMP)

    def test_properties_carry_hardware_sessions_settings_rates_and_warnings(self) -> None:
        found = properties(record(WORKED_SUITE, {"options": {"seed": 1}, "model": "robot"}))
        for name, value in (
                ("system", "toys:robot"), ("hardware", "test bench"), ("sessions", "1"),
                ("session.1.server", "none"), ("session.1.timeout_s", "120.0"), ("session.1.stop", "complete"),
                ("settings.options", '{"seed":1}'), ("settings.model", "robot"), ("split", "development"),
                ("judged", "7 of 12 planned trials"), ("pass^1 %", "41.7 to 83.3 (95 %: 11.0 to 97.8)")):
            with self.subTest(name=name):
                self.assertEqual(found[name], value)
        self.assertIn("warning.k-above-k-max", found)

    def test_every_session_stands_in_the_properties(self) -> None:
        found = properties(record({"A": "+"}, sessions=[SESSION, replace(SESSION, hardware=None, stop=None)]))
        self.assertEqual([found["hardware"], found["session.2.hardware"], found["session.2.stop"]],
                         ["test bench, not said", "not said", "no word of it"])

    def test_what_nobody_knows_is_no_property(self) -> None:
        found = properties(record({"A": "+"}, sessions=[replace(SESSION, environment={"server": None}, load_s=None)]))
        self.assertFalse({"session.1.server", "session.1.load_s", "session.1.budget_s"} & found.keys())

    def test_the_context_length_of_a_session_stands_where_it_is_known(self) -> None:
        found = properties(record({"A": "+"}, sessions=[replace(SESSION, context_length=4096)]))
        self.assertEqual(found["session.1.context_length"], "4096")

    def test_a_run_without_cases_is_an_empty_suite(self) -> None:
        self.assertEqual(parsed(record({}))[0].get("tests"), "0")


class TextsOfStrangers(unittest.TestCase):
    def test_every_text_is_read_as_it_is_shown(self) -> None:
        root = parsed(hostile_record(), names=["".join(HOSTILE)])
        shown_ids = [shown(f"{number}{text}").replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
                     for number, text in enumerate(HOSTILE)]
        self.assertEqual([test.get("name") for test in root.iter("testcase")], shown_ids)

    def test_hostile_texts_add_no_element(self) -> None:
        self.assertEqual({one.tag for one in parsed(hostile_record()).iter()},
                         {"testsuites", "testsuite", "properties", "property", "testcase", "failure"})

    def test_characters_that_xml_cannot_hold_are_shown(self) -> None:
        text = text_of(hostile_record())
        self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]")
        self.assertIn("nul\\x00nul", text)

    def test_no_document_type_and_no_entity_of_its_own(self) -> None:
        self.assertNotIn("<!", text_of(hostile_record()))


class TheSameBytes(unittest.TestCase):
    def test_reporting_twice_gives_equal_text(self) -> None:
        self.assertEqual(text_of(hostile_record()), text_of(hostile_record()))

    def test_the_circumstances_of_judging_change_nothing(self) -> None:
        of = record(WORKED_SUITE)
        again = replace(of, started_at="2027-01-01T00:00:00.000Z", environment={"host": "another"})
        self.assertEqual(text_of(of), text_of(again))


if __name__ == "__main__":
    unittest.main()
