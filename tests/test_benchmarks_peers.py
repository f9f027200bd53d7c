"""The benchmark of peers, without a peer: slopes, what their files say, the tables, what is said of one left out."""
from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchkit.tasks.task import read_cases
from benchmarks import peer_tools, peers
from benchmarks.measuring import Cost, Spread

SIZES = peers.Sizes(small=4, large=20, cases=50)
"""200 and 1,000 trials."""
MB = 2**20


def a_round(factor: float = 1.0) -> peers.Round:
    """A round in which a trial takes 1 ms of processor time, 4 ms on the wall and 2 KB, times the factor."""
    return peers.Round(Cost(0.1, 0.05 * factor, 10 * MB), Cost(0.3, 0.2 * factor, 15 * MB),
                 Cost(1.0 * factor, 0.4 * factor, int(20 * MB * factor)),
                 Cost(4.2 * factor, 1.2 * factor, int((20 * MB + 1_600 * 1_024) * factor)))


def shell(words: str, right: int = 1) -> peer_tools.Tool:
    """A tool that runs a line of shell, and then says that so many trials were right."""
    return peer_tools.Tool("shell", "runs a line", ("echo", "shell 1.2"), lambda cases: {"line.sh": words},
                lambda trials: ("sh", "line.sh"), lambda folder: right)


class Slopes(unittest.TestCase):
    def test_a_slope_is_what_a_trial_adds_so_starting_is_not_in_it(self) -> None:
        self.assertAlmostEqual(0.001, peers.slope(lambda cost: cost.cpu_s, SIZES.between)(a_round()))
        late = replace(a_round(), small=Cost(1, 9.4, 0), large=Cost(1, 10.2, 0))
        self.assertAlmostEqual(0.001, peers.slope(lambda cost: cost.cpu_s, SIZES.between)(late))

    def test_a_slope_that_is_noise_may_be_below_zero(self) -> None:
        shrinking = replace(a_round(), small=Cost(1, 1, 900), large=Cost(1, 1, 100))
        self.assertEqual(-1, peers.slope(lambda cost: cost.peak_bytes, 800)(shrinking))

    def test_both_sizes_lie_on_one_side_of_a_thousand_trials(self) -> None:
        self.assertGreaterEqual(peers.Sizes().cases * peers.Sizes().small, 1_000)
        self.assertEqual(800, SIZES.between)

    def test_every_figure_is_in_its_unit(self) -> None:
        found = {figure.title: round(figure.of(a_round()), 6) for figures in peers.figures_of(SIZES).values()
                 for figure in figures}
        self.assertEqual({"CPU ms": 1, "wall ms": 4, "peak MB at 1,000 trials": 21.5625, "KB a trial": 2,
                          "CPU ms of --version": 50, "CPU ms of a run of 1 trial": 200}, found)


class Tables(unittest.TestCase):
    def test_the_kit_stands_first_and_the_others_against_it_with_their_range(self) -> None:
        shown = peers.tables({"this kit": [a_round()] * 3, "other": [a_round(2), a_round(3), a_round(12)]}, SIZES)
        words = [re.split(r" {2,}", line.strip()) for line in shown.split("\n\n")[0].splitlines()]
        self.assertEqual([
            ["a trial, by slope", "CPU ms", "times the kit", "wall ms", "times the kit"],
            ["this kit", "1.00 (1.00 to 1.00)", "1", "4.00 (4.00 to 4.00)", "1"],
            ["other", "3.00 (2.00 to 12.00)", "3.00 (2.00 to 12.00)", "12.00 (8.00 to 48.00)", "3.00 (2.00 to 12.00)"],
        ], words)
        self.assertEqual(["a trial, by slope", "memory", "starting"],
                         [part.split("  ")[1].strip() for part in shown.split("\n\n")])

    def test_nothing_is_compared_with_what_is_noise_around_zero(self) -> None:
        figure = peers.Figure("x", lambda one: one.one.wall_s - 0.3)
        other = [replace(a_round(), one=Cost(1.3, 0, 0))]
        self.assertEqual(["1.00 (1.00 to 1.00)", "-"], peers.cells(figure, other, [a_round()]))
        self.assertEqual(["1.00 (1.00 to 1.00)"], peers.cells(replace(figure, is_compared=False), other, [a_round()]))

    def test_large_ratios_lose_the_digits_that_say_nothing(self) -> None:
        for ratio, words in ((Spread(2.5, 2, 30), "2.50 (2.00 to 30.00)"), (Spread(25.4, 9.9, 30), "25 (10 to 30)")):
            with self.subTest(ratio=ratio):
                self.assertEqual(words, peers.times(ratio))

    def test_a_name_has_its_version_before_what_a_comma_sets_apart(self) -> None:
        for name, printed, shown in (("Inspect AI", "0.3.285\n", "Inspect AI 0.3.285"),
                                     ("this kit, --parallel 4", "bench.py 1.0.0\n", "this kit 1.0.0, --parallel 4"),
                                     ("promptfoo", "a warning\n0.121.20\n\n", "promptfoo 0.121.20")):
            with self.subTest(name=name):
                self.assertEqual(shown, peers.with_version(name, printed))


class LeftOut(unittest.TestCase):
    def test_a_peer_that_is_not_given_is_named_with_its_flag(self) -> None:
        self.assertEqual(["left out: Inspect AI, not given: --inspect PYTHON (--help says how to install it)",
                          "left out: promptfoo, not given: --promptfoo PROGRAM (--help says how to install it)"],
                         peers.left_out({"this kit 1.0.0": [a_round()]}))

    def test_a_peer_that_failed_is_shown_with_why_and_one_that_was_measured_is_not(self) -> None:
        found: dict[str, list[peers.Round] | peers.Failed] = {
            "Inspect AI 0.3": peers.Failed("no such thing"), "promptfoo": [a_round()]}
        self.assertEqual(["left out: Inspect AI 0.3 failed: no such thing"], peers.left_out(found))

    def test_why_is_the_last_line_that_names_an_error_else_the_last(self) -> None:
        for words, why in (
            ("env a b: exit code 1: NodeError: write after end\n    at write\n\nNode.js v20\n",
             "exit code 1: NodeError: write after end"),
            ("env a b: exit code 127: sh: 1: exec: /x: not found\n", "exit code 127: sh: 1: exec: /x: not found"),
            ("env a b: exit code 1: Traceback\n  x\nValueError: no\n", "exit code 1: ValueError: no"),
            ("env a b: exit code 1: one\ntwo\x1b[31m\n", r"exit code 1: two\x1b[31m"),
            ("env a b: exit code 1: ", "exit code 1: it said nothing"),
            ("error one\nit left no log", "it left no log"),
        ):
            with self.subTest(words=words):
                self.assertEqual(why, peers.reason(RuntimeError(words)))
        self.assertEqual("something is missing in what it left: 'results'", peers.reason(KeyError("results")))

    def test_one_failure_in_any_round_is_a_failure(self) -> None:
        self.assertEqual(peers.Failed("b"), peers.sound([a_round(), peers.Failed("b"), peers.Failed("c")]))
        self.assertEqual([a_round()], peers.sound([a_round()]))

    def test_a_program_that_is_not_there_is_refused_in_a_line(self) -> None:
        with redirect_stderr(io.StringIO()) as stderr, self.assertRaises(SystemExit) as ended:
            peers.main(["--inspect", "/nowhere/python"])
        self.assertEqual(2, ended.exception.code)
        self.assertIn("argument --inspect: /nowhere/python: no such program here; --help says how", stderr.getvalue())

    def test_sizes_that_give_no_slope_are_refused(self) -> None:
        for small, large in (("0", "4"), ("4", "4"), ("5", "4")):
            with self.subTest(small=small), redirect_stderr(io.StringIO()) as stderr:
                with self.assertRaises(SystemExit) as ended:
                    peers.main(["--trials", small, large])
                self.assertEqual(2, ended.exception.code)
                self.assertIn("--trials: SMALL must be at least 1, and LARGE more", stderr.getvalue())

    def test_a_link_to_a_python_is_kept_for_it_is_how_an_environment_is_known(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            link = Path(name) / "python"
            link.symlink_to(sys.executable)
            self.assertEqual(str(link), peers.program(os.path.relpath(link)))
        with self.assertRaises(argparse.ArgumentTypeError):
            peers.program("no-such-program-anywhere")


class Counting(unittest.TestCase):
    def test_right_answers_of_a_recording_are_counted(self) -> None:
        trials = [{"output": peer_tools.ANSWER}, {"output": peer_tools.ANSWER + " "}, {"error": {"type": "NotRun"}}]
        self.assertEqual(2, peer_tools.kit_right(json.dumps({"cases": [{"trials": trials}, {"trials": trials[:1]}]})))

    def test_a_log_header_gives_completed_trials_times_accuracy(self) -> None:
        header = {"status": "success", "results": {
            "completed_samples": 200, "scores": [{"metrics": {"accuracy": {"value": 0.98}}}]}}
        self.assertEqual(196, peer_tools.inspect_right(json.dumps(header)))

    def test_an_evaluation_that_failed_says_why_though_its_exit_code_was_0(self) -> None:
        for log, words in (({"status": "error", "error": {"message": "one\nno network\n"}}, "^no network$"),
                           ({"status": "cancelled", "error": None}, "^cancelled$")):
            with self.subTest(log=log), self.assertRaisesRegex(RuntimeError, words):
                peer_tools.inspect_right(json.dumps(log))

    def test_a_run_without_a_log_is_a_failure(self) -> None:
        with tempfile.TemporaryDirectory() as name, self.assertRaisesRegex(RuntimeError, "it left no log"):
            peer_tools.inspect_ai("python").right(Path(name))

    def test_results_of_promptfoo_give_their_successes(self) -> None:
        results = '{"results": {"stats": {"successes": 7, "failures": 1, "errors": 2}}}'
        self.assertEqual(7, peer_tools.promptfoo_right(results))


class Files(unittest.TestCase):
    def test_all_are_asked_the_same_and_expect_the_same(self) -> None:
        ours = json.loads(peer_tools.kit().files(3)["cases.json"])["cases"]
        theirs = json.loads(peer_tools.inspect_ai("python").files(3)["samples.json"])
        other = json.loads(peer_tools.promptfoo("promptfoo").files(3)["config.json"])
        asked = [case["input"] for case in ours]
        self.assertEqual(3, len(set(asked)))
        self.assertEqual(asked, [sample["input"] for sample in theirs])
        self.assertEqual(asked, [test["vars"]["question"] for test in other["tests"]])
        expected = {*(case["expected"] for case in ours), *(sample["target"] for sample in theirs),
                    other["defaultTest"]["assert"][0]["value"]}
        self.assertEqual({peer_tools.ANSWER}, expected)

    def test_what_runs_in_other_processes_is_whole_python_and_says_the_answer(self) -> None:
        for text in (peer_tools.KIT_TASK, peer_tools.INSPECT_TASK):
            ast.parse(text)
        self.assertIn(repr(peer_tools.ANSWER), peer_tools.INSPECT_TASK)
        self.assertIn(json.dumps(peer_tools.ANSWER), peer_tools.promptfoo("promptfoo").files(1)["same_answer.js"])

    def test_the_cases_are_cases_of_the_kit(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "cases.json"
            path.write_text(peer_tools.kit().files(2)["cases.json"], encoding="utf-8")
            self.assertEqual(["case-001", "case-002"], [case.id for case in read_cases(path)])

    def test_each_does_as_many_trials_as_asked(self) -> None:
        for tool, flag in ((peer_tools.kit(), "--trials"), (peer_tools.kit(4), "--trials"),
                           (peer_tools.inspect_ai("python"), "--epochs"),
                           (peer_tools.promptfoo("promptfoo"), "--repeat")):
            with self.subTest(tool=tool.name):
                words = tool.run(7)
                self.assertEqual("7", words[words.index(flag) + 1])
                self.assertTrue(tool.does)


class Running(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = peers.Scratch(Path(folder.name))
        self.scratch.home.mkdir()

    def test_a_tool_is_handed_none_of_the_callers_variables_but_path(self) -> None:
        with patch.dict(os.environ, {"SOME_API_KEY": "secret"}):
            shown = peer_tools.said(peer_tools.alone(["env"], self.scratch.home), self.scratch.path)
        self.assertNotIn("secret", shown)
        self.assertIn(f"HOME={self.scratch.home}\n", shown)
        self.assertIn("PROMPTFOO_DISABLE_TELEMETRY=1\n", shown)

    def test_a_tool_that_does_not_say_its_version_goes_by_its_name(self) -> None:
        self.assertEqual("shell 1.2", peers.versioned(shell("true"), self.scratch))
        self.assertEqual("shell", peers.versioned(replace(shell("true"), version=("false",)), self.scratch))

    def test_a_command_that_fails_gives_its_last_line(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "^exit code 3: so it is$"):
            peer_tools.said(["sh", "-c", "echo first >&2; echo so it is >&2; exit 3"], self.scratch.path)
        self.assertEqual("it said nothing", peer_tools.last_line(" \n"))

    def test_a_run_has_a_folder_of_its_own_that_is_gone_afterwards(self) -> None:
        self.assertGreater(self.scratch.run(shell("test ! -e was-here && touch was-here"), 1, 1).wall_s, 0)
        self.assertGreater(self.scratch.run(shell("test ! -e was-here && touch was-here"), 1, 1).wall_s, 0)
        self.assertEqual(["home"], [path.name for path in self.scratch.path.iterdir()])

    def test_a_run_in_which_not_all_was_right_is_no_measurement(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "it judged 5 of 6 trials right, and all are"):
            self.scratch.run(shell("true", right=5), 2, 3)

    def test_a_tool_that_fails_is_left_out_of_the_rounds_that_count(self) -> None:
        failing = shell("echo here: an error; exit 1")
        found = peers.measured([failing], self.scratch, peers.Sizes(1, 2, 1), rounds=3)
        self.assertEqual({"shell": peers.Failed("exit code 1: here: an error")}, found)

    def test_the_kit_that_fails_is_exit_1_and_a_line(self) -> None:
        with patch.object(peers, "measured", lambda tools, *_: {tool.name: peers.Failed("broken") for tool in tools}), \
                redirect_stderr(io.StringIO()) as stderr, redirect_stdout(io.StringIO()) as stdout:
            self.assertEqual(1, peers.main([]))
        self.assertEqual(("", "benchmarks.peers: the kit itself failed: broken\n"),
                         (stdout.getvalue(), stderr.getvalue()))

    def test_the_page_has_tables_what_each_does_who_is_left_out_and_the_command_again(self) -> None:
        with patch.object(peers, "measured", lambda tools, *_: {tool.name: [a_round()] for tool in tools}), \
                redirect_stdout(io.StringIO()) as stdout:
            self.assertEqual(0, peers.main(["--trials", "4", "20", "--rounds", "3"]))
        for words in ("a trial, by slope", "  this kit 1.", "synced to the disk before the next one starts",
                      "left out: Inspect AI, not given", "left out: promptfoo, not given", "of 3 rounds",
                      "the slope between 200 and 1,000 trials", "; load ",
                      "again: python3 -m benchmarks.peers --inspect PYTHON --promptfoo PROGRAM --trials 4 20"):
            self.assertIn(words, stdout.getvalue())

    def test_the_kit_itself_runs_the_task_and_all_of_it_is_right(self) -> None:
        self.assertGreater(self.scratch.run(peer_tools.kit(2), 2, 2).peak_bytes, 0)
