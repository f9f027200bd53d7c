"""The command harness.py: what it prints where, its exit codes, and the files it leaves."""
from __future__ import annotations

import json
import os
import unittest
from typing import Any
from unittest import mock

from benchkit.recordings.run_record import read_run_record
from tests.commands import ROOT, Told
from tests.logs_samples import put_log
from tests.recordings_samples import CASES, TASK_SOURCE, mixed_outcomes, put_cases, put_task, toy
from tests.test_tasks_task import InAFolder
from tests.workflow import NOWHERE, typed_in


class AtTheCommand(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.task, self.cases = toy(self.folder)
        put_log(self.folder / "robot.jsonl", self.task, self.cases, mixed_outcomes(), "budget")

    def harness(self, *flags: str) -> Told:
        return typed_in(self.folder, "harness.py", *flags)

    def replay(self, *flags: str) -> Told:
        usual = {"--task": "parity_task", "--system": "replay:robot.jsonl"}
        kept = [word for flag, value in usual.items() if flag not in flags for word in (flag, value)]
        return self.harness("run", *kept, *flags)

    def refused(self, told: Told, *words: str) -> None:
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertEqual(1, told.stderr.count("\n"), told.stderr)
        for word in words:
            self.assertIn(word, told.stderr)


class Running(AtTheCommand):
    def test_a_replay_writes_a_run_record_and_says_what_became_of_the_trials(self) -> None:
        told = self.replay("--out", "runs/robot.json")
        self.assertEqual(Told(0, (
            "toys:robot on 2 cases (development) x 4 trials, judged by Parity 1\n"
            "  pass 2 of 8, fail 2 of 8, incomplete 4 of 8 (BrokenReply 1, NotRun 2, Timeout 1)\n"
            "  written to runs/robot.json\n"
            "  report     python3 report.py runs/robot.json --out runs/robot-report.json\n"), ""), told)
        record = read_run_record(self.folder / "runs" / "robot.json")
        self.assertEqual(("toys:robot", 4, "development"), (record.system, record.trials, record.split))

    def test_a_name_that_ends_in_jsonl_gets_a_result_a_line_and_every_command_reads_it(self) -> None:
        self.assertEqual(0, self.replay("--out", "runs/whole.json").code)
        told = self.replay("--out", "runs/lines.jsonl")
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertIn("  pass 2 of 8, fail 2 of 8, incomplete 4 of 8 (BrokenReply 1, NotRun 2, Timeout 1)\n"
                      "  written to runs/lines.jsonl\n", told.stdout)
        self.assertIn("report.py runs/lines.jsonl --out runs/lines-report.json", told.stdout)
        self.assertEqual(9, (self.folder / "runs" / "lines.jsonl").read_bytes().count(b"\n"))
        (self.folder / "runs" / "whole.jsonl").write_bytes((self.folder / "runs" / "lines.jsonl").read_bytes())
        for words in (("report.py", "{}", "--csv", "{}.csv", "--html", "{}.html", "--junit", "{}.xml",
                       "--markdown", "{}.md", "--out", "{}.report"), ("report.py", "{}", "--case", "two"),
                      ("harness.py", "compare", "{}", "{}", "--allow-incomplete")):
            with self.subTest(words):
                one, other = (typed_in(self.folder, *(word.format(f"runs/whole{suffix}") for word in words))
                              for suffix in (".json", ".jsonl"))
                self.assertEqual((one.code, one.stdout, one.stderr),
                                 (other.code, other.stdout.replace(".jsonl", ".json"),
                                  other.stderr.replace(".jsonl", ".json")))
        for suffix in (".csv", ".html", ".xml", ".md", ".report"):
            with self.subTest(suffix):
                self.assertEqual((self.folder / "runs" / f"whole.json{suffix}").read_bytes(),
                                 (self.folder / "runs" / f"whole.jsonl{suffix}").read_bytes())

    def test_a_record_of_lines_that_was_cut_is_refused_by_every_command(self) -> None:
        self.replay("--out", "runs/lines.jsonl")
        path = self.folder / "runs" / "lines.jsonl"
        path.write_bytes(path.read_bytes()[:-20])
        for words in (("report.py", "runs/lines.jsonl", "--html", "page.html"),
                      ("harness.py", "compare", "runs/lines.jsonl", "runs/lines.jsonl")):
            with self.subTest(words):
                self.refused(typed_in(self.folder, *words), "results holds 7 trials and a part of one")
        self.assertFalse((self.folder / "page.html").exists())

    def test_without_out_the_record_is_named_after_the_recorded_system(self) -> None:
        self.assertIn("written to runs/robot.json", self.replay().stdout)
        self.assertTrue((self.folder / "runs" / "robot.json").is_file())

    def test_fewer_trials_and_the_given_split_are_taken(self) -> None:
        told = self.replay("--trials", "1", "--split", "development")
        self.assertIn("x 1 trial,", told.stdout)
        self.assertIn("pass 2 of 2", told.stdout)

    def test_what_does_not_fit_is_refused_and_nothing_is_written(self) -> None:
        for flags, words in (
            (("--trials", "5"), "it holds 4 trials of every case, not 5"),
            (("--trials", "none"), "--trials"),
            (("--trials", "0"), "--trials"),
            (("--colour", "red"), "--colour"),
            (("--system", "replay:robot.jsonl#toys:doll"), "it holds no toys:doll, but toys:robot"),
            (("--system", "nowhere"), "module:name"),
            (("--system", "nowhere:x"), "there is no module nowhere"),
            (("--task", "json"), "another name"),
        ):
            with self.subTest(flags=flags):
                self.refused(self.replay(*flags), words)
                self.assertFalse((self.folder / "runs").exists())

class RunningASystem(AtTheCommand):
    def run_baseline(self) -> Told:
        return self.harness("run", "--task", "parity_task", "--system", "baselines:always", "--trials", "3",
                            "--out", "runs/always.json")

    def test_a_system_is_recorded_beside_out_and_judged_with_its_latency(self) -> None:
        told = self.run_baseline()
        self.assertEqual(0, told.code, told.stderr)
        self.assertIn("baselines:always on 2 cases (development) x 3 trials", told.stdout)
        self.assertIn("pass 3 of 6, fail 3 of 6, incomplete 0 of 6", told.stdout)
        record = read_run_record(self.folder / "runs" / "always.json")
        self.assertTrue(all(result.latency_s is not None for result in record.results))
        self.assertTrue((self.folder / "runs" / "always.jsonl").is_file())

    def test_the_same_command_again_records_nothing_more(self) -> None:
        self.run_baseline()
        log = (self.folder / "runs" / "always.jsonl").read_bytes()
        self.assertEqual(0, self.run_baseline().code)
        self.assertEqual(log, (self.folder / "runs" / "always.jsonl").read_bytes())

    def test_a_record_named_like_a_log_is_refused(self) -> None:
        told = self.harness("run", "--task", "parity_task", "--system", "baselines:always", "--out", "always.jsonl")
        self.refused(told, "ends in .json")


class Checking(AtTheCommand):
    def test_a_good_task_is_told_in_a_summary(self) -> None:
        told = self.harness("check", "--task", "parity_task")
        self.assertEqual(Told(0, (
            "cases.json and parity_task (Parity 1) can be used\n"
            "  cases:        development 2, test 1\n"
            "  expected:     yes 1, no 2\n"
            "  tags:         small 2\n"
            "  checks:       right, short\n"
            "  baselines:    always, label (sees labels)\n"
            "  for any task: constant (sees labels), most-common (sees labels), coin (sees labels)\n"), ""), told)

    def test_one_problem_is_one_line_and_called_one(self) -> None:
        put_task(self.folder, TASK_SOURCE.replace("len(output) < 5", "len(output['label']) < 5"))
        put_cases(self.folder, CASES[:1])
        told = self.harness("check", "--task", "parity_task")
        self.assertEqual([
            "cases.json: task parity_task, case two: check raised TypeError: string indices must be integers, "
            "not 'str' (parity_task.py, line 14), on the output '' and on 6 other odd ones",
            "harness.py: 1 problem in cases.json and parity_task; nothing was changed"], told.stderr.splitlines())
        self.assertEqual((2, ""), (told.code, told.stdout))

    def test_every_problem_is_a_line_with_file_cases_and_field(self) -> None:
        put_task(self.folder, TASK_SOURCE.replace("{case.input} even", "{case.expected} even"))
        told = self.harness("check", "--task", "parity_task")
        self.assertEqual((2, ""), (told.code, told.stdout))
        lines = told.stderr.splitlines()
        problem = "messages depends on expected or tags: the prompt would give the answer away"
        self.assertEqual([f"cases.json: task parity_task, cases two, three, nine: {problem}"], lines[:-1])
        self.assertEqual("harness.py: 1 problem in cases.json and parity_task; nothing was changed", lines[-1])

    def test_the_example_can_be_used(self) -> None:
        told = typed_in(ROOT, "harness.py", "check")
        self.assertEqual((0, ""), (told.code, told.stderr))


class Showing(AtTheCommand):
    def show(self, *flags: str) -> Any:
        told = self.harness("show", "--task", "parity_task", "--case", "two", *flags)
        self.assertEqual((0, ""), (told.code, told.stderr))
        return json.loads(told.stdout)

    def test_the_exact_request_is_printed_as_json(self) -> None:
        shown = self.show()
        self.assertEqual([{"role": "user", "content": "Is 2 even? yes or no"}], shown["messages"])
        self.assertEqual((None, "two", "development", 16),
                         (shown["schema"], shown["case"], shown["split"], len(shown["ask"])))
        self.assertNotIn("expected", shown)

    def test_a_recorded_system_shows_the_settings_and_request_of_the_recording(self) -> None:
        self.harness("run", "--task", "parity_task", "--system", "baselines:always", "--trials", "1", "--out", "a.json")
        shown = self.show("--system", "replay:a.jsonl")
        lines = [json.loads(line) for line in (self.folder / "a.jsonl").read_bytes().splitlines()]
        request = next(line["request"] for line in lines if line["kind"] == "trial" and line["case"] == "two")
        self.assertEqual(("baselines:always", 1001, request), (shown["system"], shown["seed"], shown["request"]))
        self.assertEqual(shown, self.show("--system", "baselines:always"))

    def test_a_model_is_shown_without_its_server(self) -> None:
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": NOWHERE}):
            told = self.harness("show", "--task", "parity_task", "--case", "two", "--system", "model_triage:gemma")
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertIn("temperature", told.stdout)

    def test_an_unpinned_model_has_no_request_before_its_digest_is_known(self) -> None:
        shown = self.show("--system", "model_triage:smollm2:135m")
        self.assertIsNone(shown["request"])

if __name__ == "__main__":
    unittest.main()
