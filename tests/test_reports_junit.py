"""JUnit XML: which case is a failure, which an error, and that any text leaves well-formed XML."""
from __future__ import annotations

import unittest
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from benchkit.basics.texts import shown
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.junit import junit_report
from benchkit.reports.run_report import report_of
from tests.hostile_run import HOSTILE, hostile_record
from tests.reports_samples import SESSION, WORKED_SUITE, changed, record


def text_of(*records: RunRecord, names: tuple[str, ...] = ("worked", "other")) -> str:
    """The file."""
    return "".join(junit_report([report_of(one, name) for one, name in zip(records, names, strict=False)]))


def parsed(*records: RunRecord, names: tuple[str, ...] = ("worked", "other")) -> Element:
    """The file as a parser reads it from its bytes."""
    return ElementTree.fromstring(text_of(*records, names=names).encode("utf-8"))


def problem_in(of: RunRecord, name: str = "A") -> Element | None:
    """The problem of a case; None where it passes."""
    test = next(test for test in parsed(of).iter("testcase") if test.get("name") == name)
    return next(iter(test), None)


def properties(of: RunRecord) -> dict[str, str | None]:
    """The properties of the first suite."""
    return {one.get("name") or "": one.get("value") for one in parsed(of).iter("property")}


class WhatACaseIs(unittest.TestCase):
    def test_a_case_is_what_its_trials_make_of_it(self) -> None:
        for marks, expected in (
                ("+++", None), ("+", None), ("++-", ("failure", "flaky")), ("+-n", ("failure", "flaky")),
                ("---", ("failure", "stable fail")), ("-", ("failure", "one trial")),
                ("-nn", ("failure", "possibly flaky")), ("++n", ("error", "NotRun")), ("nnn", ("error", "NotRun")),
                ("+ut", ("error", "Unreachable")), ("+utt", ("error", "Timeout"))):
            with self.subTest(marks=marks):
                problem = problem_in(record({"A": marks}))
                self.assertEqual(None if problem is None else (problem.tag, problem.get("type")), expected)

    def test_a_problem_says_how_often_it_passed_what_fails_and_what_is_missing(self) -> None:
        worked = record(WORKED_SUITE)
        for of, name, message, text in (
                (worked, "B", "flaky: 2 of 3 judged trials passed; label: expected bug, got spam (1 of 1); "
                 "expected label: bug",
                 "trials: ++-   (+ passed  - failed  ? incomplete)\ntrial 3, seed 1003: failed\n"
                 "  label: expected bug, got spam\n  output: answer 3"),
                (worked, "D", "no data: no trial was judged; 3 of 3 planned ones are incomplete (3 NotRun)",
                 "trials: ???   (+ passed  - failed  ? incomplete)\n3 x NotRun: not run: the budget ended first"),
                (changed(record({"A": "-"}), explain=None), "A",
                 "one trial: 0 of 1 judged trial passed; not label (1 of 1); expected label: bug",
                 "trials: -   (+ passed  - failed  ? incomplete)\ntrial 1, seed 1001: failed\n"
                 "  label: did not hold\n  output: answer 1")):
            with self.subTest(name=name):
                problem = problem_in(of, name)
                assert problem is not None
                self.assertEqual((message, text), (problem.get("message"), problem.text))

    def test_of_many_failed_trials_three_are_told_and_long_outputs_are_cut(self) -> None:
        problem = problem_in(changed(record({"A": "-" * 10}), output="x" * 300_000))
        text = "" if problem is None else problem.text or ""
        self.assertEqual((3, 3), (text.count("seed"), text.count("xxx...")))
        self.assertTrue(text.endswith("\nand 7 more failed trials"))
        self.assertLess(len(text), 2000)


class TheSuite(unittest.TestCase):
    def test_counts_and_times_add_up_at_every_level(self) -> None:
        root = parsed(record(WORKED_SUITE), record({"A": "+-+", "Z": "+++"}))
        stamp = "2026-11-30T12:00:00"  # without fraction and zone, as readers take it
        self.assertEqual([one.attrib for one in root], [
            {"id": "0", "name": "worked", "tests": "4", "failures": "2", "errors": "1", "skipped": "0",
             "time": "1.300000", "timestamp": stamp},
            {"id": "1", "name": "other", "tests": "2", "failures": "1", "errors": "0", "skipped": "0",
             "time": "1.200000", "timestamp": stamp}])
        self.assertEqual(root.attrib, {"name": "report", "tests": "6", "failures": "3", "errors": "1", "skipped": "0",
                                       "time": "2.500000"})
        first, *_, without_time = root[0].iter("testcase")
        self.assertEqual({"classname": "toy_task.worked", "name": "A", "time": "0.600000"}, first.attrib)
        self.assertEqual({"classname": "toy_task.worked", "name": "D"}, without_time.attrib)
        self.assertEqual(parsed(record({}))[0].get("tests"), "0")

    def test_runs_of_one_name_are_told_apart(self) -> None:
        root = parsed(record({"A": "+"}), record({"A": "-"}), names=("same", "same"))
        self.assertEqual([one.get("name") for one in root], ["same (run 1)", "same (run 2)"])
        self.assertEqual(len({test.get("classname") for test in root.iter("testcase")}), 2)

    def test_properties_carry_hardware_sessions_settings_rates_and_warnings(self) -> None:
        silent = replace(SESSION, hardware=None, stop=None, environment={"server": None}, load_s=None)
        worked = record(WORKED_SUITE, {"options": {"seed": 1}, "model": "robot"})
        found = properties(replace(worked, sessions=(replace(SESSION, context_length=4096), silent)))
        for name, value in (
                ("system", "toys:robot"), ("hardware", "test bench, not said"), ("sessions", "2"),
                ("session.1.server", "none"), ("session.1.timeout_s", "120.0"), ("session.1.stop", "complete"),
                ("session.1.context_length", "4096"), ("session.2.hardware", "not said"),
                ("session.2.stop", "no word of it"), ("settings.options", '{"seed":1}'), ("settings.model", "robot"),
                ("split", "development"), ("judged", "7 of 12 planned trials"),
                ("pass^1 %", "41.7 to 83.3 (95 %: 11.0 to 97.8)")):
            with self.subTest(name=name):
                self.assertEqual(found[name], value)
        self.assertIn("warning.k-above-k-max", found)
        self.assertFalse({"session.2.server", "session.2.load_s", "session.2.budget_s"} & found.keys())


class TextsOfStrangers(unittest.TestCase):
    def test_every_text_is_read_as_it_is_shown_and_adds_no_element(self) -> None:
        root = parsed(hostile_record(), names=("".join(HOSTILE),))
        shown_ids = [shown(f"{number}{text}").replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
                     for number, text in enumerate(HOSTILE)]
        self.assertEqual([test.get("name") for test in root.iter("testcase")], shown_ids)
        self.assertEqual({one.tag for one in root.iter()},
                         {"testsuites", "testsuite", "properties", "property", "testcase", "failure"})

    def test_characters_that_xml_cannot_hold_are_shown_and_there_is_no_document_type(self) -> None:
        text = text_of(hostile_record())
        self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]|<!")
        self.assertIn("nul\\x00nul", text)

    def test_the_circumstances_of_judging_change_nothing(self) -> None:
        of = hostile_record()
        again = replace(of, started_at="2027-01-01T00:00:00.000Z", environment={"host": "another"})
        self.assertEqual(text_of(of), text_of(again))
