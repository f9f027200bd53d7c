"""board.py, typed as a person does: batches made, gone on with, killed, refused, told about."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from tests import workflow
from tests.board_command import GATE, BoardCommand, ranking
from tests.commands import HANGS_S, PYTHON, ROOT
from tests.fake_ollama import FakeOllama, status

RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"


class Running(BoardCommand):
    def test_a_run_makes_a_batch_and_a_board_and_shows_the_ranking(self) -> None:
        told = self.ran()
        folder = f"runs/tiny/{self.batch().name}"
        lines = told.splitlines()
        self.assertEqual([f"{folder}: 24 new cells, 0 of 24 planned cells left", "trace self-consistent"], lines[:2])
        self.assertEqual([("robots:good", "clean", "100.0", "1-2", "29.6 to 100.0", "12 of 12"),
                          ("baselines:even", "clean", "75.0", "1-2", "17.5 to 95.0", "12 of 12")], ranking(told))
        self.assertIn("SYNTHETIC: numbers", told)
        self.assertEqual(f"board: {folder}/board.md and {folder}/board.html", lines[-1])
        self.assertEqual({"batch.json", "cases.jsonl", "responses.jsonl", "trace.jsonl", "eval.jsonl", "board.md",
                          "board.html"}, {path.name for path in self.batch().iterdir()})
        self.assertEqual("complete", self.batch_json()["status"])
        # trial by trial, and in each system by system
        ran = [(line["trial"], line["system"]) for line in self.lines("responses.jsonl") if line["kind"] == "trial"]
        self.assertEqual(ran, sorted(ran))
        self.assertEqual({"eval_usage": {"baselines:even": "absent:cache_only", "robots:good": {
            "calls": 12, "reported": 12, "prompt_tokens": 120, "output_tokens": 24}}, "gen_usage": "absent:cache_only"},
            self.batch_json()["usage"])
        # again it runs no cell, opens nobody and changes nothing
        before, opened = self.files(), self.opened()
        self.says(RUN, ": 0 new cells, 0 of 24 planned cells left")
        self.assertEqual((before, opened), (self.files(), self.opened()))
        # another one; and the first can be gone on with by its name
        first = self.batch()
        self.says(f"{RUN} --fresh --limit 2", "2 new cells, 22 of 24")
        self.assertEqual(2, len(self.batches()))
        self.says(f"{RUN} --batch {first.name}", f"runs/tiny/{first.name}: 0 new cells, 0 of 24")

    def test_models_are_added_in_stages(self) -> None:
        self.says(f"{RUN} --offline", "12 new cells")
        self.assertEqual("open", self.batch_json()["status"])
        self.says(REPORT, "open: systems of the job have not run yet, the figures will change",
                  "robots:good, of which nothing has run", never="cells are left")
        self.says(f"{RUN} --models robots:rude", "12 new cells")
        self.says(RUN, "12 new cells")
        self.assertEqual(({"rude": 12, "good": 12}, 1), (self.calls(), len(self.batches())))
        self.assertEqual(("complete", ["baselines:even", "robots:good", "robots:rude"]),
                         (self.batch_json()["status"], sorted(self.batch_json()["systems"])))

    def test_a_limit_or_a_budget_leaves_the_rest_for_later_and_never_rewrites_the_questions(self) -> None:
        self.says(f"{RUN} --limit 5", "5 new cells, 19 of 24 planned cells left; only what was chosen ran",
                  f"\n  go on  python3 board.py {RUN}\n")
        questions = self.text("cases.jsonl")
        self.board_says("19 of 24 planned cells are not run yet", "open: cells are left, the figures will change")
        self.says(f"{RUN} --budget-s 0.001 --models robots:slow",
                  ": 1 new cell, 30 of 36 planned cells left; the budget ended the run")
        self.says(RUN, "19 new cells")
        self.assertEqual(questions, self.text("cases.jsonl"))

    def test_more_trials_in_the_job_extend_the_batch_and_fewer_are_refused(self) -> None:
        self.ran()
        self.job(trials="3")
        self.says(RUN, "12 new cells, 0 of 36 planned cells left")
        self.job(trials="2")
        self.refuses(RUN, "it plans 3 trials of each question, and the job now says trials = 2")

    def test_a_gated_job_is_played_and_its_purchases_are_on_the_board_and_in_the_story_of_a_trial(self) -> None:
        self.job(geometry='"gated"', systems='["robots:buyer", "baselines:buyer"]')
        self.says(RUN, "24 new cells", "trace self-consistent")
        self.assertEqual({"buyer": 24}, self.calls())
        self.board_says("its half is")
        self.says(f"trace {self.batch().name} --case T-3 --system robots:buyer --trial 2",
                  "case T-3, robots:buyer, trial 2, attempt 1, session", "it buys hint for 2",
                  "the trial ends with an answer; 2 messages, 2 spent")

    def test_a_task_and_its_cases_stand_in_the_place_of_a_pack(self) -> None:
        shutil.copy(ROOT / "cases.json", self.home)
        text = ('task = "triage_task"\ncases = "cases.json"\ngates = ["ignores_instructions"]\ncount = 8\ntrials = 1\n'
                'systems = ["baselines:keywords", "baselines:constant"]\n[batch_gate]\nmost_blind_score = 1.0\n')
        (self.home / "jobs" / "mails.toml").write_text(text, encoding="utf-8")
        self.says("run jobs/mails.toml --offline", "16 new cells", "trace self-consistent", "baselines:keywords")

    def test_one_of_a_thing_is_not_called_many(self) -> None:
        self.job(trials="1", count="1", systems='["baselines:even"]', tables=GATE.replace("= 4", "= 1").replace(
            "0.6", "1.0"))
        self.well(f"{RUN} --limit 1")
        trial = f"trace {self.batch().name} --case T-1 --system baselines:even --trial 2"
        for told, words in ((self.well("list"), "single, 1 question, 1 system\n"),
                            (self.well("estimate jobs/tiny.toml"), "1 question x 1 trial for each system"),
                            (self.text("board.md"), "1 question from seed 1;"),
                            (self.refused(trial), "the batch has 1 trial of each question")):
            self.assertIn(words, told)
            self.assertNotRegex(told, r"\b1 (questions|trials|systems|cells|answers|messages|observations|cases)\b")

    def test_an_incomplete_cell_is_counted_by_its_type_and_never_as_a_zero(self) -> None:
        self.job(systems='["robots:late", "baselines:even"]')
        told = self.well(RUN)
        self.assertEqual(("robots:late", "open", "69.4 to 100.0", "10 of 12"),
                         next((*row[:3], row[5]) for row in ranking(told) if row[0] == "robots:late"))
        self.assertEqual(2, sum((row["error"] or {}).get("type") == "Timeout" for row in self.rows()))
        self.board_says("Timeout")

    def test_a_system_that_broke_a_gate_is_marked_above_one_that_did_not(self) -> None:
        self.pack(judges=('return not any("damn" in text for text in said)',
                          'return case.id != "T-1" or answer != "odd"'))
        self.job(trials="1")
        told = self.says(RUN, "robots:good: 1 failure of 6; stands above baselines:even, which broke none")
        self.assertEqual(("robots:good", "1 of 6", "83.3"), ranking(told)[0][:3])


class Offered(BoardCommand):
    def test_systems_that_a_command_would_not_ask_are_named_wherever_it_is_to_run_what_is_left(self) -> None:
        # what was typed, who has cells left, what the run says, the banner, and publish; "" names nobody
        both, rude = "baselines:even,robots:good", "robots:rude"
        for typed, go_on, banner, publish in (
            (("--models robots:rude --limit 2",), rude, f"{rude},{both}", rude),
            (("--limit 5",), "", "", ""),
            (("--limit 5", f"--models {rude}"), both, "", ""),
            (("--limit 5", f"--models {rude} --limit 2"), f"{both},{rude}", f"{both},{rude}", f"{both},{rude}"),
            (("--models robots:good --limit 2", "--offline"), "robots:good", "", ""),
            (("--models robots:good --limit 2",), "robots:good", "", "robots:good"),
        ):
            with self.subTest(typed):
                shutil.rmtree(self.home / "runs", ignore_errors=True)
                told = [self.well(f"{RUN} {flags}") for flags in typed][-1]
                refusal = self.well(f"publish {self.batch().name}", 1)
                for names, text in ((go_on, told.split("Run ")[0]), (banner, told.split("Run ")[1]),
                                    (banner, self.text("board.md")), (publish, refusal)):
                    offered = re.findall(r"board\.py run jobs/tiny\.toml(?: --models (\S+?))?`?$", text, re.MULTILINE)
                    self.assertEqual({names}, set(offered), text)
                self.says(told.split("Run python3 board.py ")[1].splitlines()[0], " 0 of ")
                self.assertEqual("complete", self.batch_json()["status"])

    def test_a_run_of_others_names_whose_errors_can_be_asked_again(self) -> None:
        self.well(f"{RUN} --models robots:late")
        self.says(RUN, f"\n  try errors again  python3 board.py {RUN} --models robots:late --retry-errors\n")

    def test_commands_work_from_where_the_person_stands(self) -> None:
        # the kit is elsewhere, and the job is not where jobs usually lie
        os.rename(self.home / "jobs", self.home / "my jobs")
        kit = shlex.quote(str(ROOT / "board.py"))
        offered = re.findall(r"python3 (.*)", self.ask("run", "my jobs/tiny.toml", "--limit", "5"))
        self.assertEqual([f"{kit} run 'my jobs/tiny.toml'"] * 2, offered)  # to go on, and of the banner
        self.assertIn(" 0 of 24 planned cells left", self.ask(*shlex.split(offered[0])[1:]))
        self.assertNotIn("my jobs", self.text("board.md"))
        self.pack(judges=("<= 4", "<= 3"))
        (command,) = re.findall(r"python3 (.*)", self.ask("report", "my jobs/tiny.toml"))
        self.assertEqual(f"{kit} recompute tiny/{self.batch().name} --apply", command)
        self.assertIn("; written", self.ask(*shlex.split(command)[1:]))

    def ask(self, *words: str) -> str:
        """What board.py of another folder prints, its exit code being 0."""
        told = workflow.typed(["board.py", *words], by_path=True)
        self.assertEqual(0, told.code, told.stderr)
        return told.stdout


class Stopped(BoardCommand):
    def start(self, calls: int) -> subprocess.Popen[str]:
        """A run as a process, which has asked the slow robot so often by now."""
        process = self.process(*RUN.split())
        end = time.monotonic() + HANGS_S
        while self.calls()["slow"] < calls:
            self.assertLess(time.monotonic(), end, "it does not begin")
            time.sleep(0.01)
        return process

    def test_killed_in_the_middle_it_is_complete_after_the_same_command(self) -> None:
        self.job(systems='["robots:slow"]', trials="3")
        for calls in (4, 9):
            process = self.start(calls)
            process.kill()
            process.communicate()
        self.says(RUN, "trace self-consistent", " 0 of 18 planned cells left", "2 trials abandoned")
        # every cell that was recorded before a kill is kept, and none is asked for again
        self.assertEqual({"slow": 20}, self.calls())
        self.assertEqual({1}, {row["attempt"] for row in self.rows()})

    def test_a_signal_leaves_the_batch_to_go_on_with_and_says_how(self) -> None:
        self.job(systems='["robots:slow"]')
        process = self.start(3)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate()
        self.assertEqual(143, process.returncode)
        self.assertIn("board.py: stopped by SIGTERM; what ended before is in runs/tiny/", stderr)
        self.assertIn(f"board.py {RUN}\n", stderr)
        self.assertEqual("interrupted", self.lines("responses.jsonl")[-1]["reason"])
        self.says(RUN, " 0 of 12 planned cells left")

    def test_a_torn_trace_and_a_torn_log_are_closed_and_named(self) -> None:
        self.well(f"{RUN} --limit 5")
        for name in ("trace.jsonl", "responses.jsonl"):
            with (self.batch() / name).open("ab") as file:
                file.write(b'{"torn')
        self.says(RUN, "trace self-consistent", " 0 of 24 planned cells left")


class BadInput(BoardCommand):
    def test_what_cannot_be_used_is_one_line_and_begins_nothing(self) -> None:
        shutil.copy(ROOT / "cases.json", self.home)
        (self.home / "broken.py").write_text("def system(name, options):\n    return 1 / 0\n", encoding="utf-8")
        task = {"pack": "", "count": "", "seed": "", "task": '"triage_task"', "cases": '"cases.json"',
                "split": '"none"'}
        table: tuple[tuple[str, dict[str, str], str], ...] = (
            ("run jobs/none.toml", {}, "there is no such file"),
            ("report example", {}, "there is no such file; a job is named by its file, as in jobs/example.toml"),
            ("run jobs", {}, "is a folder"),
            (f"{RUN} --models nobody", {}, "--models nobody: a system is named module:name"),
            (f"{RUN} --models nowhere:x", {}, "no module nowhere"),
            (f"{RUN} --models baselines:none", {}, "no such baseline; there are buyer, even, oracle"),
            (f"{RUN} --models robots:good --offline", {}, "--offline runs baselines only"),
            (f"{RUN} --batch 20260101T000000Z", {}, "there is none"),
            (f"{RUN} --regen", {}, "reworded by nobody"),
            (REPORT, {}, f"has no batch yet; python3 board.py {RUN} makes one"),
            ("trace nothing --case T-1 --system robots:good", {}, "there is none"),
            ("recompute nothing", {}, "there is none"), ("publish ../../etc", {}, "there is none"),
            # a system or a split of a job is named as it stands there
            (RUN, {"systems": '["robots.py:good"]'}, "systems in the job tiny: robots.py:good: a system is"),
            (RUN, {"systems": '["broken:x"]'}, "systems in the job tiny: broken:x: system() of broken.py"),
            (RUN, {"systems": '["replay:a.json"]'}, "systems in the job tiny: replay:a.json: a replay is judged"),
            (RUN, task, "split in the job tiny: none: no case has it"),
            # a wrong job, by file and key
            (f"{RUN} --offline", {"colour": '"red"'}, "tiny.toml: colour is no field that is known"),
            (f"{RUN} --offline", {"pack": '"nowhere"'}, "there is no pack nowhere"),
            (f"{RUN} --offline", {"pack": '"../tiny"'}, "a pack is named of a-z"),
            (f"{RUN} --offline", {"trials": '"two"'}, "tiny.toml: trials is"),
            (f"{RUN} --offline", {"systems": ""}, "tiny.toml: systems is missing"),
            (f"{RUN} --offline", {"systems": '["robots:good"]'}, "names no baseline"))
        for command, keys, words in table:
            with self.subTest(command, **keys):
                self.job(**keys)
                self.refuses(command, words)
                self.assertFalse((self.home / "runs").exists())
        self.job()
        self.pack(pack=("def truth_terms(case)", "def truth_words(case)"))
        self.refuses(RUN, "truth_terms must be a function")

    def test_another_world_is_refused_with_the_difference_and_fresh(self) -> None:
        self.ran()
        recompute = f"recompute {self.batch().name}"
        for keys, difference in (({"seed": "2"}, "seed: 1 -> 2"), ({"count": "8"}, "count: 6 -> 8"),
                                 ({"geometry": '"gated"'}, 'geometry: "single" -> "gated"')):
            with self.subTest(keys=keys):
                self.job(**keys)
                self.refuses(RUN, difference, f"board.py {RUN} --fresh")
        self.job()
        self.pack(pack=('VERSION = "1"\nJUDGE', 'VERSION = "2"\nJUDGE'))
        for command in (RUN, REPORT, recompute):
            self.refuses(command, 'version: "1" -> "2"')
        self.says(f"{RUN} --fresh", "24 new cells")

    def test_a_system_whose_settings_changed_is_refused_with_what_differs(self) -> None:
        self.well(f"{RUN} --limit 20")
        self.rewrite("robots.py", ('"temperature": 1.0', '"temperature": 0.5'))
        self.refuses(RUN, "temperature: 1.0 -> 0.5",
                     f"--rebuild, or begin another batch with python3 board.py {RUN} --fresh")


class Altered(BoardCommand):
    """Files of a whole batch that are not as they were left."""

    def setUp(self) -> None:
        super().setUp()
        self.ran()
        self.whole = self.files()

    def test_an_altered_question_is_named_and_reported_on_only_when_asked_for(self) -> None:
        self.rewrite(self.batch() / "cases.jsonl", ('"expected":"odd","id":"T-3"', '"expected":"even","id":"T-3"'))
        for command in (RUN, REPORT, f"recompute {self.batch().name}"):
            self.refuses(command, "case T-3 is not as this batch was made with")
        self.says(f"{REPORT} --accept-altered", "The questions are not as this batch was made with")
        self.board_says("T-3")

    def test_an_event_that_nobody_knows_is_refused_with_its_line(self) -> None:
        self.change_lines("trace.jsonl", lambda events: events[2].update(type="model/thought"))
        for command in (REPORT, RUN, f"recompute {self.batch().name}"):
            self.refuses(command, "trace.jsonl: line 3", '"model/thought"', "put back the file as it was, or begin "
                         f"another batch: python3 board.py {RUN} --fresh")

    def test_what_a_solver_was_shown_is_exit_code_1_named_and_on_the_board(self) -> None:
        def change(events: list[dict[str, Any]]) -> None:
            next(event for event in events if event["type"] == "context/user")["data"]["text"] += " It is even."
        self.change_lines("trace.jsonl", change)
        self.says(REPORT, "trace invariant violations: 2\n- trial 1 of case T-1 by baselines:even",
                  "(messages rebuilt from the events hash to the request that was sent)", code=1)
        self.board_says("race invariant violations: 2", "cannot be published")

    def test_many_violations_are_named_up_to_a_number_and_counted(self) -> None:
        self.job(trials="6")
        self.well(RUN)

        def change(events: list[dict[str, Any]]) -> None:
            for event in events:
                if event["type"] == "assistant/message":
                    event["data"]["text"] = "better"
        self.change_lines("trace.jsonl", change)
        self.says(REPORT, "trace invariant violations: 72\n",
                  "\nput back the file as it was, or begin another batch", code=1)
        for name in ("board.md", "board.html"):
            text = self.text(name)
            self.assertEqual((49, 1), (text.count("is not its last message"), text.count("and 23 more")))
            self.assertIn(f"{RUN} --fresh", text)

    def test_what_follows_from_the_rest_is_written_anew_and_what_was_edited_is_counted_or_named(self) -> None:
        self.says(REPORT, never="differed")
        path = self.batch() / "eval.jsonl"
        path.write_text("{}\n")
        self.refuses(f"recompute {self.batch().name}", "eval.jsonl, line 1: system is missing; it is derived")
        self.well(REPORT)
        self.assertEqual(self.whole, self.files())
        self.rewrite(path, ('"right":0.0', '"right":1.0'), count=2)
        self.says(REPORT, "2 rows of eval.jsonl differed from what their judges say; written anew")
        self.assertEqual(self.whole, self.files())

    def test_figures_of_batch_json_are_made_again_and_an_edited_one_is_named(self) -> None:
        self.ask_3("truth=odd")  # it is dropped
        self.job(count="7")
        self.well(f"{RUN} --fresh")
        path, whole = self.batch() / "batch.json", self.files()
        for was, edited, told in (
            ('"made": 7', '"made": 40', "made: 40 -> 7"), ('"kept": 6', '"kept": 7', "kept: 7 -> 6"),
            ('"odd": 3', '"odd": 4', "answers.odd: 4 -> 3"), ('"even": 0.75', '"even": 0.1', "blind.even: 0.1 -> 0.75"),
            ('"reason": "leak"', '"reason": "repeat"', '"reason":"repeat"}] -> [{"case":"T-3"'),
        ):
            with self.subTest(edited):
                self.rewrite(path, (was, edited))
                line = self.well(REPORT).splitlines()[1]
                self.assertTrue(line.startswith("batch.json differed from what its questions and gates say ("))
                self.assertIn(told, line)
                self.assertEqual(whole, self.files())
        self.says(REPORT, never="differed")

    def test_a_pack_that_cannot_read_an_answer_or_a_question_ends_no_board(self) -> None:
        self.pack(pack=("return read(answer) if", "return {}[answer] if"))
        self.rewrite("packs/tiny/__init__.py", ("    return case.expected\n\ndef said", "    return 1 / 0\n\ndef said"))
        self.says(REPORT, "The pack cannot read 24 answers (said_key raised KeyError)",
                  "The pack cannot say what is right in cases T-1, T-2, T-3, T-4, T-5 and 1 more (answer_key")
        self.assertIn("unreadable 12", self.text("board.md"))

    def test_a_leak_that_came_later_is_caught_again_when_the_page_is_made(self) -> None:
        self.pack(pack=('f"truth={case.expected}"', 'f"Is {case.input[\'number\']}"'))
        self.well(REPORT)
        self.board_says("1 observation is left out: it holds a text that gives the truth away",
                        "was shown is left out: it holds a text that gives the truth away", never="Is 3 even or odd?")


class Gates(BoardCommand):
    def test_a_blocked_batch_is_neither_run_nor_reported_nor_published(self) -> None:
        self.job(tables=GATE.replace("least_questions = 4", "least_questions = 7"))
        told = self.type(RUN)
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertIn("blocked by the batch gate: 6 of 6 questions are left, fewer than least_questions", told.stderr)
        self.assertEqual("blocked_by_batch_gate", self.batch_json()["status"])
        for command in (RUN, REPORT, f"recompute {self.batch().name}"):
            self.refuses(command, "blocked by the batch gate")
        self.assertEqual({}, self.calls())

    def test_a_leak_is_caught_when_the_question_is_made(self) -> None:
        self.ask_3("Truth=odd")
        self.well(f"{RUN} --offline")
        self.assertEqual([["T-3", "leak"]], [[one["case"], one["reason"]]
                                             for one in self.batch_json()["questions"]["dropped"]])
        self.assertNotIn("T-3", self.text("cases.jsonl"))


class Rebuilding(BoardCommand):
    def test_questions_made_anew_run_again_only_where_what_is_asked_changed(self) -> None:
        self.ran()
        self.ask_3("Say it.")
        self.says(RUN, "0 new cells")
        self.says(f"{RUN} --rebuild", "4 new cells, 0 of 24 planned cells left", "trace self-consistent")
        self.assertEqual({("T-3", 2)}, {(row["case"], row["attempt"]) for row in self.rows() if row["attempt"] > 1})
        self.says(RUN, "0 new cells")

    def test_a_changed_truth_is_judged_anew_and_nobody_is_asked(self) -> None:
        self.job(tables=GATE.replace("most_one_answer = 0.6", "most_one_answer = 0.7"))
        self.well(RUN)
        self.pack(pack=('word = "even" if number % 2 == 0', 'word = "even" if number % 2 == 0 or number == 3'))
        calls = self.calls()
        self.says(f"{RUN} --rebuild", "0 new cells")
        self.assertEqual(calls, self.calls())
        self.assertEqual({0.0}, {row["tracks"]["right"] for row in self.rows()
                                 if (row["case"], row["system"]) == ("T-3", "robots:good")})

    def test_questions_that_would_be_gone_or_blocked_are_named_and_nothing_is_changed(self) -> None:
        self.ran()
        for change, words in (
            (('== 13 else []', '== 3 else []'), "case T-3 would not be made any more"),
            (('word = "even" if number % 2 == 0 else "odd"', 'word = "even"'),
             "its questions made anew would be blocked by the batch gate: 6 of 6 questions have the answer"),
        ):
            self.pack(pack=change)
            self.refuses(f"{RUN} --rebuild", words)


class Secrets(BoardCommand):
    SECRET = "k-3f9a71c2"

    def test_values_of_an_env_file_are_used_and_appear_nowhere_and_without_it_nothing_runs(self) -> None:
        self.job(env_file='"keys.env"', systems='["baselines:even", "robots:key"]')
        self.addCleanup(os.environ.pop, "ROBOT_KEY", None)
        self.refuses(RUN, "keys.env: the job's env_file is not there", code=3)
        keys = self.home / "keys.env"
        keys.write_text(f"# keys\n{self.SECRET}\n")
        told = self.refused(RUN)
        self.assertIn("keys.env, line 2", told)
        self.assertNotIn(self.SECRET, told)
        self.assertEqual((False, 0), ((self.home / "runs").exists(), self.opened()))
        keys.unlink()
        self.says(f"{RUN} --offline", "12 new cells")
        keys.write_text(f"ROBOT_KEY={self.SECRET}\n")
        done = self.type(RUN)
        self.assertIn(("robots:key", "clean", "100.0"), [row[:3] for row in ranking(done.stdout)])
        for text in (done.stdout, done.stderr, *(data.decode() for data in self.files().values())):
            self.assertNotIn(self.SECRET, text)


class Telling(BoardCommand):
    def test_list_tells_every_batch_with_its_status(self) -> None:
        self.says("list", "no batches yet")
        self.ran()
        self.assertEqual(f"tiny/{self.batch().name}  complete  single, 6 questions, 2 systems\n", self.well("list"))

    def test_estimate_tells_what_is_to_come_by_the_cells_done(self) -> None:
        self.says("estimate jobs/tiny.toml", "robots:good: 0 cells done, 12 to go: nothing is known yet")
        for count, to_go in (("", 128), ("8", 16)):
            self.job("triage", pack="", seed="", count=count, task='"triage_task"',
                     cases=f"'{(ROOT / 'cases.json').as_posix()}'")
            self.says("estimate jobs/triage.toml", f"robots:good: 0 cells done, {to_go} to go")
        self.well(f"{RUN} --models robots:good --limit 3")
        self.says("estimate jobs/tiny.toml --models robots:good",
                  "robots:good: 3 cells done, 9 to go: about 90 prompt tokens (90 to 90), about 18 output")

    def test_trace_names_what_the_batch_has_not(self) -> None:
        self.well(f"{RUN} --limit 1")
        for flags, words in (
            ("--case X --system robots:good", "--case X: the batch asks cases T-1"),
            ("--case T-1 --system x:y", "--system x:y: the batch has baselines:even, robots:good"),
            ("--case T-1 --system robots:good --trial 9", "the batch has 2 trials of each question"),
            ("--case T-1 --system robots:good", "this trial has not run yet"),
        ):
            with self.subTest(flags):
                self.refuses(f"trace {self.batch().name} {flags}", words)


class Rewording(BoardCommand):
    def test_a_model_rewords_once_and_its_words_are_kept_beside_the_pack(self) -> None:
        self.job(reword='"poets:one"')
        text = (self.home / "robots.py").read_text("utf-8").replace(
            '        number = int(', '        return Reply(request.messages[0]["content"].replace("Is ", "Pray, is "), '
            'usage=Usage(5, 4))\n        number = int(')
        (self.home / "poets.py").write_text(text, encoding="utf-8")
        self.assertIn("has no answer of poets:one", self.type(f"{RUN} --offline").stderr)
        self.well(RUN)
        self.assertIn("Pray, is 1", self.text("cases.jsonl"))
        self.assertEqual({"calls": 6, "reported": 6, "prompt_tokens": 30, "output_tokens": 24},
                         self.batch_json()["usage"]["gen_usage"])
        self.well(f"{RUN} --fresh --offline")
        self.assertEqual("absent:cache_only", self.batch_json()["usage"]["gen_usage"])
        self.assertEqual(6, self.calls()["one"])
        self.well(f"{RUN} --regen")
        self.assertEqual(12, self.calls()["one"])


class AModelOfOllama(BoardCommand):
    MODEL = "model_triage:smollm2:135m"

    def test_it_plays_both_geometries_of_the_example_pack(self) -> None:
        shutil.copytree(ROOT / "packs" / "early_warning", self.home / "packs" / "early_warning")
        for geometry, chats in (("single", 3), ("gated", 9)):
            tables = "[limits]\nsteps = 3\n[batch_gate]\nleast_questions = 3\nmost_blind_score = 1.0\n"
            self.job(geometry, tables, pack='"early_warning"', count="3", geometry=f'"{geometry}"', trials="1",
                     systems=f'["baselines:silent", "{self.MODEL}"]')
            with FakeOllama() as server, mock.patch.dict(os.environ, {"OLLAMA_HOST": server.host}):
                server.answer = lambda model, messages, seed: '{"buy": "alerts"}'
                self.says(f"run jobs/{geometry}.toml", "6 new cells, 0 of 6 planned cells left",
                          "trace self-consistent")
                self.assertEqual(chats, len(server.chats()))
                self.assertIn("5a" * 32, str(self.batch_json(geometry)["systems"][self.MODEL]["settings"]))

    def test_each_request_that_was_sent_again_is_an_event_and_a_call(self) -> None:
        self.job(systems=f'["baselines:even", "{self.MODEL}"]', count="4", trials="1")
        asked: list[int] = []
        with FakeOllama() as server, mock.patch.dict(os.environ, {"OLLAMA_HOST": server.host}):
            def answer(model: str, messages: Any, seed: int) -> str:
                asked.append(seed)
                if len(asked) == 1:
                    server.next(status(503, '{"error":"full"}'), status(503, '{"error":"full"}'))
                return "odd"
            server.answer = answer
            self.says(RUN, "trace self-consistent")
        tries = [event for event in self.lines("trace.jsonl") if event["case"] == "T-2" and "model" in event["solver"]
                 and event["type"].startswith("assistant/")]
        self.assertEqual([*["assistant/attempt"] * 2, "assistant/message"], [one["type"] for one in tries])
        self.assertEqual([0, 1, 2], [one["data"]["retries"] for one in tries])
        self.assertEqual(1, len({one["data"]["request"] for one in tries}))
        for one in tries[:2]:
            self.assertEqual("ServerBusy", one["data"]["error"])
            self.assertIn("HTTP 503", one["data"]["message"])
        usage = self.batch_json()["usage"]["eval_usage"][self.MODEL]
        self.assertEqual((6, 4), (usage["calls"], usage["reported"]))
        told = self.well(f"trace {self.batch().name} --case T-2 --system {self.MODEL}")
        self.assertEqual(2, told.count("no whole reply: ServerBusy"))

    def test_a_server_that_is_not_there_is_exit_code_3_and_the_baselines_stay(self) -> None:
        self.job(systems=f'["baselines:even", "{self.MODEL}"]')
        self.well(f"{RUN} --offline")
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": "127.0.0.1:1"}):
            told = self.refused(RUN, code=3)
        self.assertIn("127.0.0.1:1", told)
        self.assertIn("name another with OLLAMA_HOST, or", told)
        self.assertNotIn("--host", told)


class FreshCopy(unittest.TestCase):
    def test_the_example_makes_a_batch_and_a_board_and_then_0_new_cells(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            for part in ("benchkit", "packs", "jobs"):
                shutil.copytree(ROOT / part, home / part, ignore=shutil.ignore_patterns("__pycache__", "_llm_cache"))
            shutil.copy(ROOT / "board.py", home)
            for new in (288, 0):
                told = subprocess.run([*PYTHON, "board.py", "run", "jobs/example.toml", "--offline"], cwd=home,
                                      check=True, capture_output=True, text=True, timeout=HANGS_S,
                                      env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""}).stdout
                self.assertIn(f": {new} new cells, 0 of 288 planned cells left\ntrace self-consistent\n", told)
