"""The workflow, through its commands and without a model: cases -> log -> recording -> run record -> report."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

from benchkit.basics.clock import Clock
from benchkit.recordings.recording import read_recording
from benchkit.recordings.replay import RUN_DESCRIPTION_FIELDS
from benchkit.recordings.run_record import read_run_record
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import first_screen, text_report
from benchkit.reports.run_report import report_of
from benchkit.trial_log.writer import LogWriter
from tests.commands import HANGS_S, LATE_S, ROOT, Told, cli
from tests.fake_ollama import says, silent, status
from tests.workflow import MODEL, NOWHERE, Workflow, WorkflowWithServer

KEYWORDS = "python3 bench.py --system baselines:keywords --trials 2"
JUDGE = ("python3 harness.py run --task triage_task --cases cases.json --system replay:recorded/keywords.json "
         "--split development --trials 2 --out runs/keywords.json")
REPORT = "python3 report.py runs/keywords.json --out runs/keywords-report.json"


def load_tests(_: unittest.TestLoader, found: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Where all tests are looked for, tests/__init__.py has these run beside the others."""
    return found if pattern is None else unittest.TestSuite()


def without_description(value: Any) -> Any:
    """JSON without what describes the circumstances of a run."""
    if isinstance(value, dict):
        return {key: without_description(inner) for key, inner in value.items() if key not in RUN_DESCRIPTION_FIELDS}
    return [without_description(inner) for inner in value] if isinstance(value, list) else value


class TheWholeWorkflow(Workflow):
    def test_one_command_records_converts_judges_and_shows(self) -> None:
        stdout = self.well(KEYWORDS + " --budget-s 30")
        self.assertEqual(["cases.json", "recorded/keywords.json", "recorded/keywords.jsonl"], list(self.files()))
        self.well(JUDGE)
        shown = first_screen(report_of(read_run_record(self.folder / "runs/keywords.json"), "keywords"))
        self.assertEqual(f"{shown}\nDone: every planned trial ran\n  judge again  {JUDGE}\n  report       {REPORT}\n",
                         stdout)

    def test_the_commands_it_offers_lead_to_the_report(self) -> None:
        stdout = self.well(KEYWORDS)
        judged = self.well(self.offered(stdout, "judge again"))
        self.assertIn("written to runs/keywords.json", judged)
        told = self.well(self.offered(stdout, "report"))
        record = read_run_record(self.folder / "runs/keywords.json")
        self.assertEqual("".join(text_report(side_by_side([report_of(record, "keywords")]))), told)
        self.assertEqual("keywords", self.json("runs/keywords-report.json")["runs"][0]["name"])

    def test_the_log_goes_trial_by_trial_with_the_seed_of_each_trial(self) -> None:
        self.well(KEYWORDS)
        log = self.folder / "recorded/keywords.jsonl"
        self.assertEqual(self.every_cell(2), self.trials(log))
        seeds = [line["seed"] for line in self.lines(log) if line["kind"] == "trial"]
        self.assertEqual([1001] * 3 + [1002] * 3, seeds)

    def test_the_same_command_again_adds_nothing_and_shows_the_same(self) -> None:
        first = self.well(KEYWORDS)
        before = self.files()
        again = self.well(KEYWORDS)
        self.assertEqual(first.replace("Done:", "Nothing was left to run:"), again)
        self.assertEqual(before, self.files())

    def test_a_recording_that_is_missing_or_different_is_made_again(self) -> None:
        self.well(KEYWORDS)
        path = self.folder / "recorded/keywords.json"
        whole = path.read_bytes()
        for change in (path.unlink, lambda: path.write_bytes(whole.replace(b'"seed": 1001', b'"seed": 1009'))):
            change()
            self.well(KEYWORDS)
            self.assertEqual(whole, path.read_bytes())

    def test_converting_judging_and_reporting_give_equal_bytes_whatever_the_hash_seed_and_locale(self) -> None:
        self.well(KEYWORDS)
        results = []
        for number, environment in enumerate(({"PYTHONHASHSEED": "1", "LC_ALL": "C"},
                                              {"PYTHONHASHSEED": "77", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"})):
            out = f"out{number}"
            told = [cli(self.folder, name, *flags.split(), environment=environment) for name, flags in (
                ("bench.py", f"--log recorded/keywords.jsonl --convert {out}/keywords.json"),
                ("harness.py", f"run --system replay:{out}/keywords.json --out {out}/runs/keywords.json"),
                ("report.py", f"{out}/runs/keywords.json --out {out}/report.json"))]
            self.assertEqual([(0, ""), (0, ""), (0, f"written: {out}/report.json (report)\n")],
                             [(one.code, one.stderr) for one in told])
            folder = self.folder / out
            results.append(((folder / "keywords.json").read_bytes(),
                            json.dumps(without_description(self.json(f"{out}/runs/keywords.json"))),
                            (folder / "report.json").read_bytes(), told[2].stdout))
        self.assertEqual(results[0], results[1])

    def test_names_never_paths_stand_in_what_is_written(self) -> None:
        self.well(KEYWORDS)
        self.well(JUDGE)
        self.well(REPORT)
        for name, data in self.files().items():
            if name != "cases.json":
                for words in (os.fsencode(self.folder), b"recorded/", b"runs/", b"replay:"):
                    self.assertNotIn(words, data, name)


class ChangingOnesMind(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.well(KEYWORDS)
        self.well(JUDGE)

    def test_a_corrected_label_changes_verdicts_and_nothing_else(self) -> None:
        before = self.json("runs/keywords.json")
        self.cases[0]["expected"]["needs_reply"] = not self.cases[0]["expected"]["needs_reply"]
        self.put_cases(self.cases)
        self.well(JUDGE)
        after = self.json("runs/keywords.json")
        self.assertNotEqual(before["results"][0]["verdict"], after["results"][0]["verdict"])
        for name in ("cases", "results", "totals", *RUN_DESCRIPTION_FIELDS):
            before.pop(name, None)
            after.pop(name, None)
        self.assertEqual(before, after)
        self.assertTrue(self.well(KEYWORDS).count("Nothing was left to run"))

    def test_of_the_results_only_verdict_checks_and_explanation_change(self) -> None:
        before = self.json("runs/keywords.json")["results"]
        self.cases[0]["expected"]["priority"] = "low" if self.cases[0]["expected"]["priority"] != "low" else "high"
        self.put_cases(self.cases)
        self.well(JUDGE)
        after = self.json("runs/keywords.json")["results"]
        changed = {key for one, other in zip(before, after, strict=True) for key in one if one[key] != other[key]}
        self.assertLessEqual(changed, {"verdict", "checks", "explain"})
        self.assertTrue(changed)

    def test_a_changed_prompt_is_refused_by_name_at_every_command(self) -> None:
        self.change("triage_task.py", "Subject: {fields['subject']}",
                    "Subject: {fields['subject'].replace('" + self.cases[1]["input"]["subject"] + "', '?')}")
        self.refused(JUDGE, 2, f"the prompt or schema of case {self.ids[1]} has changed since it was recorded")
        words = self.refused(KEYWORDS, 2, f"the prompt or schema of case {self.ids[1]} changed since it was recorded")
        self.assertIn("python3 bench.py --system baselines:keywords --trials 2 --changed rerun", words)

    def test_what_changed_is_run_again_when_that_is_wished(self) -> None:
        self.change("triage_task.py", "Answer in JSON:", "Reply in JSON:")
        self.well(KEYWORDS + " --changed rerun")
        self.assertEqual([1] * 6 + [2] * 6, [line["attempt"] for line in self.lines(
            self.folder / "recorded/keywords.jsonl") if line["kind"] == "trial"])
        self.assertIn("Nothing was left", self.well(KEYWORDS + " --changed rerun"))
        self.well(JUDGE)

    def test_another_rule_is_another_system_and_refused_without_being_asked(self) -> None:
        self.change("triage_task.py", "def keywords(case: Case, seed: int) -> str:\n",
                    "def keywords(case: Case, seed: int) -> str:\n    # another rule\n")
        self.refused(KEYWORDS, 2, "the settings of baselines:keywords changed (baseline_sha256:")
        self.refused(KEYWORDS + " --dry-run", 2, "baseline_sha256")

    def test_a_new_case_grows_the_plan_and_a_gone_one_is_refused(self) -> None:
        new = {**self.cases[0], "id": "dev-999-new"}
        self.put_cases([*self.cases, new])
        self.well(KEYWORDS)
        log = self.folder / "recorded/keywords.jsonl"
        self.assertEqual([*self.every_cell(2), "dev-999-new 1", "dev-999-new 2"], self.trials(log))
        self.put_cases(self.cases)
        self.refused(KEYWORDS, 2, "case dev-999-new of its plan is not in the cases any more")

    def test_more_trials_extend_and_fewer_are_refused(self) -> None:
        self.assertIn("it plans 2 trials, and 1 is fewer; go on with python3 bench.py --system baselines:keywords "
                      "--trials 2", self.refused("python3 bench.py --system baselines:keywords --trials 1", 2))
        self.well("python3 bench.py --system baselines:keywords --trials 3")
        self.assertEqual(self.every_cell(3), self.trials(self.folder / "recorded/keywords.jsonl"))

    def test_flags_not_given_are_those_of_the_log(self) -> None:
        self.assertIn("Nothing was left to run", self.well("python3 bench.py --log recorded/keywords.jsonl"))
        for flags, right in (("--system baselines:coin", "--system baselines:keywords"),
                             ("--split test", "--split development"), ("--trials 1", "--trials 2")):
            self.refused(f"python3 bench.py --log recorded/keywords.jsonl {flags}", 2,
                         f"go on with python3 bench.py --log recorded/keywords.jsonl {right}")

    def test_a_log_cut_anywhere_is_gone_on_with_and_ends_whole(self) -> None:
        log = self.folder / "recorded/keywords.jsonl"
        whole = log.read_bytes()
        for cut in range(7, len(whole), len(whole) // 12):
            log.write_bytes(whole[:cut])
            self.well(KEYWORDS)
            self.assertEqual(self.every_cell(2), sorted(self.trials(log), key=self.every_cell(2).index))
            self.assertTrue(log.read_bytes().startswith(whole[:cut]))
            self.assertIn("6 of 6 planned trials", self.well("python3 bench.py --log recorded/keywords.jsonl --status"))

    def test_damage_in_the_middle_is_refused_named_where_it_is_accepted_and_left_out_of_an_export(self) -> None:
        log = self.folder / "recorded/keywords.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        lines[5] = lines[5].replace(b'"attempt":1', b'"attempt":2')
        log.write_bytes(b"".join(lines))
        offset = sum(map(len, lines[:5]))
        self.refused(KEYWORDS, 2, "recorded/keywords.jsonl", "line 6", f"byte {offset}", "--accept-damage")
        self.refused("python3 bench.py --log recorded/keywords.jsonl --status", 2, "line 6")
        self.well("python3 bench.py --log recorded/keywords.jsonl --export clean/keywords.jsonl")
        self.assertIn("5 of 6", self.well("python3 bench.py --log clean/keywords.jsonl --status", code=1))
        self.well(KEYWORDS + " --accept-damage")
        self.assertEqual([[offset, len(lines[5])]], self.lines(log)[-4]["damage"])
        self.well(KEYWORDS)


class AgainstAServer(WorkflowWithServer):
    def test_it_records_through_http_and_binds_every_reply(self) -> None:
        stdout = self.well(self.bench("--hardware 'a desk'"))
        self.assertEqual(self.every_cell(2), self.asked())
        self.assertEqual(["session", "plan", "system", "loaded", *["trial"] * 6, "stop"],
                         [line["kind"] for line in self.lines()])
        self.assertEqual(("a desk", "ollama"), (self.lines()[0]["hardware"], self.lines()[0]["environment"]["server"]))
        self.assertEqual(MODEL, read_recording(self.recording).system)
        self.assertIn("Done: every planned trial ran", stdout)

    def test_the_default_log_is_named_after_the_system(self) -> None:
        self.well(f"python3 bench.py --system {MODEL} --host {self.server.host} --limit 1")
        self.assertRegex(list(self.files())[1], r"\Arecorded/x-smollm2-135m-[0-9a-f]{12}\.json\Z")

    def test_ollama_host_is_honoured_and_host_overrides_it(self) -> None:
        os.environ["OLLAMA_HOST"] = self.server.host
        flags = f"--system {MODEL} --log recorded/smol.jsonl"
        self.well(self.bench("--trials 2", flags))
        self.refused(self.bench(f"--trials 3 --host {NOWHERE}", flags), 3, f"no Ollama server at http://{NOWHERE}")

    def test_a_budget_ends_the_run_in_words_and_the_same_command_goes_on(self) -> None:
        self.server.delay_s = 0.1
        stdout = self.well(self.bench("--budget-s 0.35"))
        done = len(self.server.chats())
        self.assertIn(done, (1, 2, 3, 4))
        left = 6 - done
        self.assertIn(f"\nThe budget ended the run; {left} trials are left\n", stdout)
        self.assertEqual("budget", self.lines()[-1]["reason"])
        self.assertIn(f"smol.jsonl: {done} of 6 planned trials recorded, {left} left\n", self.well(
            "python3 bench.py --log recorded/smol.jsonl --status", code=1))
        not_run = [trial for case in self.json(self.recording)["cases"] for trial in case["trials"] if "error" in trial]
        self.assertEqual([{"type": "NotRun", "message": "not run: the budget ended first"}] * left,
                         [trial["error"] for trial in not_run])
        self.server.delay_s = 0.0
        before = self.log.read_bytes()
        self.well(self.offered(stdout, "go on").replace("--budget-s 0.35", "--budget-s 60"))
        self.assertEqual(self.every_cell(2), self.asked())
        self.assertTrue(self.log.read_bytes().startswith(before))

    def test_a_run_with_nothing_to_do_asks_no_server(self) -> None:
        self.well(self.bench())
        self.server.stop()
        before = self.files()
        self.assertIn("Nothing was left to run: every planned trial ran", self.well(self.bench()))
        self.assertEqual(before, self.files())

    def test_limit_and_case_choose_cells_of_this_session_only(self) -> None:
        stdout = self.well(self.bench("--limit 2"))
        self.assertIn("Only what was chosen ran; 4 trials are left", stdout)
        self.assertEqual(self.every_cell(2)[:2], self.asked())
        stdout = self.well(self.bench(f"--case {self.ids[2]}"))
        self.assertIn("Only what was chosen ran; 2 trials are left", stdout)
        self.assertIn("Nothing that was chosen was left to run; 2 trials are left",
                      self.well(self.bench(f"--case {self.ids[2]}")))
        reasons = [line["reason"] for line in self.lines() if line["kind"] == "stop"]
        self.assertEqual(["selection", "selection"], reasons)
        go_on = self.offered(stdout, "go on")
        self.assertNotIn("--case", go_on)
        self.assertIn("Done: every planned trial ran", self.well(go_on))
        self.assert_once_each(2)

    def test_a_dry_run_says_what_would_be_run_and_asks_nobody(self) -> None:
        before = self.files()
        self.assertEqual(
            f"recorded/smol.jsonl: 0 of 6 planned trials are recorded; this command would run 6, the first of them "
            f"{self.ids[0]}, trial 1; nothing was asked or written\n", self.well(self.bench("--dry-run")))
        self.assertEqual(before, self.files())
        self.well(self.bench("--limit 4"))
        seen = len(self.server.seen)
        self.assertIn(f"4 of 6 planned trials are recorded; this command would run 2, the first of them {self.ids[1]}, "
                      "trial 2", self.well(self.bench("--dry-run")))
        self.assertEqual(seen, len(self.server.seen))

    def test_errors_are_recorded_counted_offered_and_tried_again(self) -> None:
        self.server.next(status(500), says("{}"), says("not JSON"))
        stdout = self.well(self.bench())
        status_text = self.well("python3 bench.py --log recorded/smol.jsonl --status")
        self.assertIn("errors     1 ServerError (of 6)", status_text)
        self.assertEqual(1, self.json(self.recording)["cases"][0]["trials"][0]["attempts"])
        again = self.offered(stdout, "try errors again")
        self.assertTrue(again.endswith("--retry-errors"))
        stdout = self.well(again)
        self.assertEqual([*self.every_cell(2), f"{self.ids[0]} 1"], self.asked())
        trial = self.json(self.recording)["cases"][0]["trials"][0]
        self.assertEqual((2, False), (trial["attempts"], "error" in trial))
        self.assertNotIn("try errors again", stdout)
        self.assertIn("attempts   more than one at 1", self.well("python3 bench.py --log recorded/smol.jsonl --status"))

    def test_a_timeout_is_total_and_the_run_goes_on(self) -> None:
        self.server.next(silent(1.0))
        self.well(self.bench("--timeout-s 0.3"))
        trial = next(line for line in self.lines() if line["kind"] == "trial")
        self.assertEqual("Timeout", trial["error"]["type"])
        self.assert_once_each(2)

    def test_a_server_that_dies_ends_the_run_with_what_was_recorded(self) -> None:
        def dies(seen: Any) -> None:
            if len(self.server.chats()) == 3:
                self.server.stop()
        self.server.on_chat = dies
        told = self.type(self.bench("--timeout-s 1"))
        self.assertEqual(3, told.code, told)
        self.assertEqual(self.every_cell(2)[:2], self.trials()[:2])
        self.assertIn(f"The run stopped by itself; {6 - len(self.trials())} trials are left", told.stdout)
        self.assertIn("is gone: start it again with `ollama serve`", told.stderr)
        self.assertEqual(("Unreachable", "error"), (self.lines()[-2]["error"]["type"], self.lines()[-1]["reason"]))
        self.server.on_chat = lambda seen: None
        self.server.start()
        self.well(self.bench("--retry-errors"))
        self.assertEqual({f"{case} {trial}" for case in self.ids for trial in (1, 2)}, set(self.trials()))

    def test_a_model_that_is_re_pointed_ends_the_run_and_is_refused_by_digest(self) -> None:
        def re_points(seen: Any) -> None:
            if len(self.server.chats()) == 2:
                self.server.models["smollm2:135m"] = "b" * 64
        self.server.on_chat = re_points
        told = self.type(self.bench())
        self.assertEqual(3, told.code, told)
        self.assertIn(f"smollm2:135m is now served at digest {'b' * 64}; the run began with digest {'5a' * 32}: "
                      "restore it and add --retry-errors, take another --log, or add --changed rerun", told.stderr)
        self.assertEqual("ModelChanged", self.lines()[-2]["error"]["type"])
        self.assertTrue(self.lines()[-2]["error"]["partial"])
        self.refused(self.bench(), 2, f'digest: "{"5a" * 32}"', "--changed rerun")
        self.well(self.bench("--changed rerun"))
        attempts = [line["attempt"] for line in self.lines() if line["kind"] == "trial"]
        self.assertEqual([1, 1, 2, 2, 1, 1, 1, 1], attempts)

    def test_an_option_that_was_changed_is_refused_without_a_server(self) -> None:
        self.well(self.bench())
        self.change("model_triage.py", '"temperature": 1.0', '"temperature": 0.5')
        self.server.stop()
        self.refused(self.bench(), 2, "options.temperature: 1.0 -> 0.5")

    def test_another_server_version_or_machine_is_a_warning(self) -> None:
        self.well(self.bench("--limit 1 --hardware desk"))
        self.server.version = "0.33.0"
        told = self.type(self.bench("--hardware attic"))
        self.assertEqual(0, told.code)
        self.assertRegex(told.stderr, r"\Athe hardware was desk in an earlier session and is attic now; [^\n]*\n"
                                      r"the server version was 0\.32\.15 in an earlier session and is 0\.33\.0 now; "
                                      r"[^\n]*\n\Z")

    def test_five_empty_outputs_at_the_start_are_a_warning_even_when_quiet(self) -> None:
        self.server.answer = lambda model, messages, seed: ""
        self.assertRegex(self.type(self.bench("--quiet")).stderr, r"\Athe first 5 outputs are all empty; [^\n]*\n\Z")

    def test_a_second_writer_is_refused_with_the_process_of_the_first(self) -> None:
        self.well(self.bench("--limit 1"))
        with LogWriter.open(self.log):
            self.refused(self.bench(), 3, f"recorded/smol.jsonl is in use by another run (process {os.getpid()})")
        self.well(self.bench())

    def test_harness_run_records_a_live_system_by_the_same_engine(self) -> None:
        os.environ["OLLAMA_HOST"] = self.server.host
        stdout = self.well(f"python3 harness.py run --system {MODEL} --trials 2 --out runs/smol.json")
        self.assertEqual(self.every_cell(2), self.trials(self.folder / "runs/smol.jsonl"))
        self.assertIn("smollm2:135m on 3 cases (development) x 2 trials", stdout)
        self.refused("python3 bench.py --log runs/smol.jsonl", 2, "runs/smol.json is there and is no recording")


class Killed(WorkflowWithServer):
    def test_killed_at_any_moment_no_trial_is_lost_and_none_is_asked_twice(self) -> None:
        for moment in (1, 2, 4, 6):
            with self.subTest(moment=moment):
                self.log.unlink(missing_ok=True)
                self.server.seen.clear()
                lost: list[tuple[int, int]] = []
                self.killed_at(moment, lost)
                self.assertEqual([], lost, "requests that came before the trial before them was in the log")
                recorded = self.trials()
                self.assertEqual(self.every_cell(2)[:moment - 1], recorded)
                asked = len(self.server.chats())
                self.well(self.bench())
                self.assertEqual(6 - len(recorded), len(self.server.chats()) - asked)
                self.assertEqual(self.every_cell(2), self.trials())

    def killed_at(self, moment: int, lost: list[tuple[int, int]]) -> None:
        """Kill a run when its request of this number arrives; `lost`: (number, trials in the log) that do not fit."""
        processes: list[subprocess.Popen[bytes]] = []

        def observer(seen: Any) -> None:
            number = len(self.server.chats())
            if len(self.trials()) != number - 1:
                lost.append((number, len(self.trials())))
            if number == moment:
                processes[0].kill()
        self.server.on_chat = observer
        processes.append(self.start(*self.flags.split()))
        self.assertEqual(-signal.SIGKILL, self.ended(processes[0]).code)
        self.server.on_chat = lambda seen: None

    def test_killed_while_it_writes_the_torn_line_is_named_and_run_again(self) -> None:
        self.well(self.bench("--limit 3"))
        whole = self.log.read_bytes()
        torn = whole.splitlines(keepends=True)[-2]
        self.log.write_bytes(whole + torn[:len(torn) // 2])
        self.well(self.bench())
        self.assertEqual([[len(whole), len(torn) // 2 + 1]],
                         [line["damage"] for line in self.lines() if line["kind"] == "session"][-1])
        self.assert_once_each(2)


def send(number: signal.Signals, process: subprocess.Popen[bytes]) -> None:
    """Send a signal."""
    process.send_signal(number)


class Signalled(WorkflowWithServer):
    SLEEPER = ("import time\nfrom benchkit.basics.values import Reply\n"
               "class Sleeper:\n"
               "    def open(self): return {'server': None}\n"
               "    def settings(self): return {}\n"
               "    def warm(self): return 0.0\n"
               "    def answer(self, request):\n"
               "        open('asleep', 'w').close()\n"
               "        time.sleep(60)\n"
               "    def close(self): pass\n"
               "def system(name, options): return Sleeper()\n")

    def during_request(
        self, number: int, act: Callable[[subprocess.Popen[bytes]], None], answers_after_s: float,
        prefix: tuple[str, ...] = (),
    ) -> Told:
        """What a run told to which something was done when its request of this number had arrived."""
        processes: list[subprocess.Popen[bytes]] = []

        def acts(seen: Any) -> None:
            if len(self.server.chats()) == number:
                act(processes[0])
                self.server.closing.wait(answers_after_s)
        self.server.on_chat = acts
        processes.append(self.start(*self.flags.split(), prefix=prefix))
        told = self.ended(processes[0])
        self.server.on_chat = lambda seen: None
        self.server.stop()
        self.server.start()
        return told

    def test_a_signal_ends_it_in_order_with_the_command_to_go_on(self) -> None:
        for number, code, name in ((signal.SIGINT, 130, "SIGINT"), (signal.SIGTERM, 143, "SIGTERM"),
                                   (signal.SIGHUP, 143, "SIGTERM")):
            with self.subTest(number=number):
                self.log.unlink(missing_ok=True)
                self.server.seen.clear()
                told = self.during_request(2, partial(send, number), answers_after_s=20.0)
                self.assertEqual((code, ""), (told.code, told.stdout))
                self.assertEqual(f"bench.py: stopped by {name}; what ended before is in recorded/smol.jsonl; go on "
                                 f"with: python3 {ROOT / 'bench.py'} {self.flags}\n", told.stderr)
                self.assertEqual(("interrupted", self.every_cell(2)[:1]), (self.lines()[-1]["reason"], self.trials()))
                self.assertFalse(self.recording.exists())
        asked = len(self.server.chats())
        self.well(self.bench())
        self.assertEqual((5, self.every_cell(2)), (len(self.server.chats()) - asked, self.trials()))

    def test_a_second_signal_leaves_at_once(self) -> None:
        (self.folder / "sleeper.py").write_text(self.SLEEPER, encoding="utf-8")
        process = self.start("--system", "sleeper:x", "--log", "recorded/smol.jsonl")
        self.wait_for((self.folder / "asleep").exists)
        start = Clock().monotonic()
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(143, process.wait(HANGS_S))
        self.assertLess(Clock().monotonic() - start, LATE_S)
        self.assertEqual(["session", "plan", "system", "loaded"], [line["kind"] for line in self.lines()])

    def test_a_hangup_is_ignored_under_nohup(self) -> None:
        told = self.during_request(1, partial(send, signal.SIGHUP), answers_after_s=0.3,
                                   prefix=("sh", "-c", 'trap "" HUP; exec "$@"', "sh"))
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertEqual(self.every_cell(2), self.trials())

    def test_a_reader_that_leaves_is_141_and_silence_and_everything_is_kept(self) -> None:
        told = subprocess.run(
            ["bash", "-c", '"$0" -u "$@" | head -n 1; exit ${PIPESTATUS[0]}', sys.executable,
             str(ROOT / "bench.py"), *self.flags.split()], capture_output=True, cwd=self.folder, check=False,
            timeout=HANGS_S)
        self.assertEqual(b"", told.stderr)
        self.assertIn(told.returncode, (0, 141))
        self.assertEqual(1, told.stdout.count(b"\n"))
        self.assertEqual(self.every_cell(2), self.trials())
        self.assertTrue(self.recording.exists())


if __name__ == "__main__":
    unittest.main()
