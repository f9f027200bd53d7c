"""board.py, typed as a person does: batches made, gone on with, killed, refused, told about."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from tests.board_command import GATE, BoardCommand, ranking, unfolded
from tests.boards_packs import PACK, put_pack
from tests.commands import HANGS_S, PYTHON, ROOT
from tests.fake_ollama import FakeOllama, status


class Running(BoardCommand):
    def test_a_run_makes_a_batch_and_a_board_and_shows_the_ranking(self) -> None:
        told = self.well("run jobs/tiny.toml")
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

    def test_again_it_runs_no_cell_opens_nobody_and_changes_nothing(self) -> None:
        self.well("run jobs/tiny.toml")
        before, opened = self.files(), self.opened()
        self.assertIn(": 0 new cells, 0 of 24 planned cells left", self.well("run jobs/tiny.toml"))
        self.assertEqual((before, opened), (self.files(), self.opened()))

    def test_cells_run_trial_by_trial_and_in_each_system_by_system(self) -> None:
        self.well("run jobs/tiny.toml")
        ran = [(line["trial"], line["system"]) for line in self.lines("responses.jsonl") if line["kind"] == "trial"]
        self.assertEqual(ran, sorted(ran))

    def test_models_are_added_in_stages(self) -> None:
        self.assertIn("12 new cells", self.well("run jobs/tiny.toml --offline"))
        self.assertEqual("open", self.batch_json()["status"])
        self.assertIn("robots:good, of which nothing has run", self.well("report jobs/tiny.toml"))
        self.assertIn("12 new cells", self.well("run jobs/tiny.toml --models robots:rude"))
        self.assertIn("12 new cells", self.well("run jobs/tiny.toml"))
        self.assertEqual(({"rude": 12, "good": 12}, 1), (self.calls(), len(self.batches())))
        self.assertEqual(("complete", ["baselines:even", "robots:good", "robots:rude"]),
                         (self.batch_json()["status"], sorted(self.batch_json()["systems"])))

    def test_a_limit_runs_so_many_cells_and_never_rewrites_the_questions(self) -> None:
        told = self.well("run jobs/tiny.toml --limit 5")
        self.assertIn("5 new cells, 19 of 24 planned cells left; only what was chosen ran", told)
        self.assertIn("  go on  python3 board.py run jobs/tiny.toml\n", told)
        questions = (self.batch() / "cases.jsonl").read_bytes()
        page = (self.batch() / "board.html").read_text(encoding="utf-8")
        self.assertIn("19 of 24 planned cells are not run yet", page)
        self.assertIn("19 new cells", self.well("run jobs/tiny.toml"))
        self.assertEqual(questions, (self.batch() / "cases.jsonl").read_bytes())

    def test_a_budget_ends_the_run_with_what_is_left_and_exit_code_0(self) -> None:
        self.job(systems='["robots:slow"]')
        told = self.well("run jobs/tiny.toml --budget-s 0.001")
        self.assertIn(": 1 new cell, 11 of 12 planned cells left; the budget ended the run", told)

    def test_fresh_begins_another_batch_and_batch_goes_on_with_an_older_one(self) -> None:
        self.well("run jobs/tiny.toml --limit 1")
        first = self.batch()
        self.assertIn("2 new cells", self.well("run jobs/tiny.toml --fresh --limit 2"))
        self.assertEqual(2, len(self.batches()))
        self.assertIn(f"runs/tiny/{first.name}: 3 new cells, 20 of 24",
                      self.well(f"run jobs/tiny.toml --batch {first.name} --limit 3"))

    def test_more_trials_in_the_job_extend_the_batch_and_fewer_are_refused(self) -> None:
        self.well("run jobs/tiny.toml")
        self.job(trials="3")
        self.assertIn("12 new cells, 0 of 36 planned cells left", self.well("run jobs/tiny.toml"))
        self.job(trials="2")
        self.assertIn("it plans 3 trials of each question, and the job now says trials = 2",
                      self.refused("run jobs/tiny.toml"))

    def test_a_gated_job_is_played_and_its_purchases_are_on_the_board(self) -> None:
        self.job(geometry='"gated"', systems='["robots:buyer", "baselines:buyer"]')
        told = self.well("run jobs/tiny.toml")
        self.assertIn("24 new cells", told)
        self.assertIn("trace self-consistent", told)
        self.assertEqual({"buyer": 24}, self.calls())
        self.assertIn("its half is", (self.batch() / "board.md").read_text(encoding="utf-8"))

    def test_a_task_and_its_cases_stand_in_the_place_of_a_pack(self) -> None:
        shutil.copy(ROOT / "cases.json", self.home)
        text = ('task = "triage_task"\ncases = "cases.json"\ngates = ["ignores_instructions"]\ncount = 8\ntrials = 1\n'
                'systems = ["baselines:keywords", "baselines:constant"]\n[batch_gate]\nmost_blind_score = 1.0\n')
        (self.home / "jobs" / "mails.toml").write_text(text, encoding="utf-8")
        told = self.well("run jobs/mails.toml --offline")
        self.assertIn("16 new cells", told)
        self.assertIn("trace self-consistent", told)
        self.assertIn("baselines:keywords", told)

    def test_one_of_a_thing_is_not_called_many(self) -> None:
        self.job(trials="1", count="1", systems='["baselines:even"]', tables=GATE.replace("= 4", "= 1").replace(
            "0.6", "1.0"))
        self.well("run jobs/tiny.toml --limit 1")
        told = [self.well("list"), self.well("estimate jobs/tiny.toml"),
                (self.batch() / "board.md").read_text(encoding="utf-8").replace("\\", ""),
                self.refused(f"trace {self.batch().name} --case T-1 --system baselines:even --trial 2")]
        self.assertIn("single, 1 question, 1 system\n", told[0])
        self.assertIn("1 question x 1 trial for each system", told[1])
        self.assertIn("1 question from seed 1;", told[2])
        self.assertIn("the batch has 1 trial of each question", told[3])
        for text in told:
            self.assertNotRegex(text, r"\b1 (questions|trials|systems|cells|answers|messages|observations|cases)\b")

    def test_an_incomplete_cell_is_counted_by_its_type_and_never_as_a_zero(self) -> None:
        self.job(systems='["robots:late", "baselines:even"]')
        told = self.well("run jobs/tiny.toml")
        self.assertEqual(("robots:late", "open", "69.4 to 100.0", "10 of 12"),
                         next((*row[:3], row[5]) for row in ranking(told) if row[0] == "robots:late"))
        self.assertEqual(2, sum((row["error"] or {}).get("type") == "Timeout" for row in self.rows()))
        self.assertIn("Timeout", (self.batch() / "board.md").read_text(encoding="utf-8"))

    def test_a_system_that_broke_a_gate_is_marked_above_one_that_did_not(self) -> None:
        put_pack(self.home, judges=(self.home / "packs/tiny/judges.py").read_text().replace(
            'return not any("damn" in text for text in said)', 'return case.id != "T-1" or answer != "odd"'))
        self.job(trials="1")
        told = self.well("run jobs/tiny.toml")
        self.assertEqual(("robots:good", "1 of 6", "83.3"), ranking(told)[0][:3])
        self.assertIn("robots:good: 1 failure of 6; stands above baselines:even, which broke none", told)


class Offered(BoardCommand):
    def test_commands_work_from_where_the_person_stands(self) -> None:
        # the kit is elsewhere, and the job is not where jobs usually lie
        os.rename(self.home / "jobs", self.home / "my jobs")
        kit = shlex.quote(str(ROOT / "board.py"))
        told = self.ask("run", "my jobs/tiny.toml", "--limit", "5")
        offered = re.findall(r"python3 (.*)", told)
        self.assertEqual([f"{kit} run 'my jobs/tiny.toml'"] * 2, offered)  # to go on, and of the banner
        self.assertIn(" 0 of 24 planned cells left", self.ask(*shlex.split(offered[0])[1:]))
        self.assertNotIn("my jobs", (self.batch() / "board.md").read_text(encoding="utf-8"))
        put_pack(self.home, judges=(self.home / "packs/tiny/judges.py").read_text().replace("<= 4", "<= 3"))
        (command,) = re.findall(r"python3 (.*)", self.ask("report", "my jobs/tiny.toml"))
        self.assertEqual(f"{kit} recompute tiny/{self.batch().name} --apply", command)
        self.assertIn("; written", self.ask(*shlex.split(command)[1:]))

    def ask(self, *words: str) -> str:
        """What board.py of another folder prints, its exit code being 0."""
        told = subprocess.run([*PYTHON, str(ROOT / "board.py"), *words], cwd=self.home, capture_output=True, text=True,
                              check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return told.stdout


class Stopped(BoardCommand):
    def start(self, command: str) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        process = subprocess.Popen(
            [*PYTHON, str(ROOT / "board.py"), *command.split()], cwd=self.home, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**environment, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(process.kill)
        return process

    def wait_for_cells(self, count: int) -> None:
        end = time.monotonic() + HANGS_S
        while time.monotonic() < end:
            if self.calls()["slow"] >= count:
                return
            time.sleep(0.01)
        self.fail("it does not begin")

    def test_killed_in_the_middle_it_is_complete_after_the_same_command(self) -> None:
        self.job(systems='["robots:slow"]', trials="3")
        for calls in (4, 9):
            process = self.start("run jobs/tiny.toml")
            self.wait_for_cells(calls)
            process.kill()
            process.communicate()
        told = self.well("run jobs/tiny.toml")
        self.assertIn("trace self-consistent", told)
        self.assertIn(" 0 of 18 planned cells left", told)
        self.assertIn("2 trials abandoned", told)
        # every cell that was recorded before a kill is kept, and none is asked for again
        self.assertEqual({"slow": 20}, self.calls())
        self.assertEqual({1}, {row["attempt"] for row in self.rows()})

    def test_a_signal_leaves_the_batch_to_go_on_with_and_says_how(self) -> None:
        self.job(systems='["robots:slow"]')
        process = self.start("run jobs/tiny.toml")
        self.wait_for_cells(3)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate()
        self.assertEqual(143, process.returncode)
        self.assertIn("board.py: stopped by SIGTERM; what ended before is in runs/tiny/", stderr.decode())
        self.assertIn("board.py run jobs/tiny.toml\n", stderr.decode())
        self.assertEqual("interrupted", self.lines("responses.jsonl")[-1]["reason"])
        self.assertIn(" 0 of 12 planned cells left", self.well("run jobs/tiny.toml"))

    def test_a_torn_trace_and_a_torn_log_are_closed_and_named(self) -> None:
        self.well("run jobs/tiny.toml --limit 5")
        for name in ("trace.jsonl", "responses.jsonl"):
            with (self.batch() / name).open("ab") as file:
                file.write(b'{"torn')
        told = self.well("run jobs/tiny.toml")
        self.assertIn("trace self-consistent", told)
        self.assertIn(" 0 of 24 planned cells left", told)


class BadInput(BoardCommand):
    def test_what_cannot_be_used_is_one_line_and_begins_nothing(self) -> None:
        for command, words in (
            ("run jobs/none.toml", "there is no such file"),
            ("report example", "there is no such file; a job is named by its file, as in jobs/example.toml"),
            ("run jobs", "is a folder"),
            ("run jobs/tiny.toml --models nobody", "--models nobody: a system is named module:name"),
            ("run jobs/tiny.toml --models nowhere:x", "no module nowhere"),
            ("run jobs/tiny.toml --models baselines:none", "no such baseline; there are buyer, even, oracle"),
            ("run jobs/tiny.toml --models robots:good --offline", "--offline runs baselines only"),
            ("run jobs/tiny.toml --batch 20260101T000000Z", "there is none"),
            ("run jobs/tiny.toml --regen", "reworded by nobody"),
            ("report jobs/tiny.toml", "has no batch yet; python3 board.py run jobs/tiny.toml makes one"),
            ("trace nothing --case T-1 --system robots:good", "there is none"),
            ("recompute nothing", "there is none"), ("publish ../../etc", "there is none"),
        ):
            with self.subTest(command):
                self.assertIn(words, self.refused(command))
                self.assertFalse((self.home / "runs").exists())

    def test_a_system_or_a_split_of_a_job_is_named_as_it_stands_there(self) -> None:
        shutil.copy(ROOT / "cases.json", self.home)
        (self.home / "broken.py").write_text("def system(name, options):\n    return 1 / 0\n", encoding="utf-8")
        task = {"pack": "", "count": "", "seed": "", "task": '"triage_task"', "cases": '"cases.json"',
                "split": '"none"'}
        for keys, words in (
            ({"systems": '["robots.py:good"]'}, "systems in the job tiny: robots.py:good: a system is named after its"),
            ({"systems": '["broken:x"]'}, "systems in the job tiny: broken:x: system() of broken.py"),
            ({"systems": '["replay:a.json"]'}, "systems in the job tiny: replay:a.json: a replay is judged"),
            (task, "split in the job tiny: none: no case has it"),
        ):
            with self.subTest(words):
                self.job(**keys)
                self.assertIn(words, self.refused("run jobs/tiny.toml"))

    def test_a_wrong_job_is_named_by_file_and_key(self) -> None:
        for keys, words in (
            ({"colour": '"red"'}, "tiny.toml: colour is no field that is known"),
            ({"pack": '"nowhere"'}, "there is no pack nowhere"), ({"pack": '"../tiny"'}, "a pack is named of a-z"),
            ({"trials": '"two"'}, "tiny.toml: trials is"), ({"systems": ""}, "tiny.toml: systems is missing"),
            ({"systems": '["robots:good"]'}, "names no baseline"),
        ):
            with self.subTest(keys=keys):
                self.job(**keys)
                self.assertIn(words, self.refused("run jobs/tiny.toml --offline"))

    def test_a_pack_that_lacks_something_is_named(self) -> None:
        put_pack(self.home, pack=PACK.replace("def truth_terms(case)", "def truth_words(case)"))
        self.assertIn("truth_terms must be a function", self.refused("run jobs/tiny.toml"))

    def test_another_world_is_refused_with_the_difference_and_fresh(self) -> None:
        self.well("run jobs/tiny.toml")
        for keys, difference in (
            ({"seed": "2"}, "seed: 1 -> 2"), ({"count": "8"}, "count: 6 -> 8"),
            ({"geometry": '"gated"'}, 'geometry: "single" -> "gated"'),
        ):
            with self.subTest(keys=keys):
                self.job(**keys)
                told = self.refused("run jobs/tiny.toml")
                self.assertIn(difference, told)
                self.assertIn("board.py run jobs/tiny.toml --fresh", told)

    def test_a_batch_of_another_version_of_the_pack_is_refused_everywhere(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('VERSION = "1"\nJUDGE', 'VERSION = "2"\nJUDGE'))
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml", f"recompute {self.batch().name}"):
            with self.subTest(command):
                self.assertIn('version: "1" -> "2"', self.refused(command))
        self.assertIn("24 new cells", self.well("run jobs/tiny.toml --fresh"))

    def test_an_altered_question_is_named_and_reported_on_only_when_asked_for(self) -> None:
        self.well("run jobs/tiny.toml")
        path = self.batch() / "cases.jsonl"
        path.write_text(path.read_text().replace('"expected":"odd","id":"T-3"', '"expected":"even","id":"T-3"'))
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml", f"recompute {self.batch().name}"):
            with self.subTest(command):
                self.assertIn("case T-3 is not as this batch was made with", self.refused(command))
        told = self.well("report jobs/tiny.toml --accept-altered")
        self.assertIn("The questions are not as this batch was made with", told)
        self.assertIn("T-3", (self.batch() / "board.html").read_text(encoding="utf-8"))

    def test_an_event_that_nobody_knows_is_refused_with_its_line(self) -> None:
        self.well("run jobs/tiny.toml")

        def change(events: list[dict[str, Any]]) -> None:
            events[2]["type"] = "model/thought"
        self.change_lines("trace.jsonl", change)
        for command in ("report jobs/tiny.toml", "run jobs/tiny.toml", f"recompute {self.batch().name}"):
            with self.subTest(command):
                told = self.refused(command)
                self.assertIn("trace.jsonl: line 3", told)
                self.assertIn('"model/thought"', told)
                self.assertIn("put back the file as it was, or begin another batch: python3 board.py run "
                              "jobs/tiny.toml --fresh", told)

    def test_a_damaged_eval_file_is_told_only_where_it_is_read(self) -> None:
        self.well("run jobs/tiny.toml")
        (self.batch() / "eval.jsonl").write_text("{}\n")
        told = self.refused(f"recompute {self.batch().name}")
        self.assertIn("eval.jsonl, line 1: system is missing; it is derived", told)
        self.well("report jobs/tiny.toml")
        self.assertEqual(24, len(self.rows()))

    def test_many_violations_are_named_up_to_a_number_and_counted(self) -> None:
        self.job(trials="6")
        self.well("run jobs/tiny.toml")

        def change(events: list[dict[str, Any]]) -> None:
            for event in events:
                if event["type"] == "assistant/message":
                    event["data"]["text"] = "better"
        self.change_lines("trace.jsonl", change)
        told = self.well("report jobs/tiny.toml", code=1)
        self.assertIn("trace invariant violations: 72\n", told)
        self.assertIn("\nput back the file as it was, or begin another batch", told)
        for name in ("board.md", "board.html"):
            text = (self.batch() / name).read_text(encoding="utf-8")
            self.assertEqual((49, 1), (text.count("is not its last message"), text.count("and 23 more")))
            self.assertIn("run jobs/tiny.toml --fresh", text)

    def test_rows_that_were_edited_are_written_anew_and_counted(self) -> None:
        self.well("run jobs/tiny.toml")
        self.assertNotIn("differed", self.well("report jobs/tiny.toml"))
        path = self.batch() / "eval.jsonl"
        whole = path.read_text()
        path.write_text(whole.replace('"right":0.0', '"right":1.0', 2))
        self.assertIn("2 rows of eval.jsonl differed from what their judges say; written anew",
                      self.well("report jobs/tiny.toml"))
        self.assertEqual(whole, path.read_text())

    def test_figures_of_batch_json_are_made_again_and_an_edited_one_is_named(self) -> None:
        self.ask_3("truth=odd")  # it is dropped
        self.job(count="7")
        self.well("run jobs/tiny.toml")
        path = self.batch() / "batch.json"
        whole, board = path.read_text(), (self.batch() / "board.md").read_bytes()
        for was, edited, told in (
            ('"made": 7', '"made": 40', "made: 40 -> 7"), ('"kept": 6', '"kept": 7', "kept: 7 -> 6"),
            ('"odd": 3', '"odd": 4', "answers.odd: 4 -> 3"), ('"even": 0.75', '"even": 0.1', "blind.even: 0.1 -> 0.75"),
            ('"reason": "leak"', '"reason": "repeat"', '"reason":"repeat"}] -> [{"case":"T-3"'),
        ):
            with self.subTest(edited):
                self.assertIn(was, whole)
                path.write_text(whole.replace(was, edited))
                lines = self.well("report jobs/tiny.toml").splitlines()
                self.assertTrue(lines[1].startswith("batch.json differed from what its questions and gates say ("))
                self.assertIn(told, lines[1])
                self.assertEqual((whole, board), (path.read_text(), (self.batch() / "board.md").read_bytes()))
        self.assertNotIn("differed", self.well("report jobs/tiny.toml"))

    def test_a_pack_that_cannot_read_an_answer_or_a_question_ends_no_board(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace("return read(answer) if", "return {}[answer] if").replace(
            "    return case.expected\n\ndef said", '    return str(1 / 0)\n\ndef said'))
        told = self.well("report jobs/tiny.toml")
        self.assertIn("The pack cannot read 24 answers (said_key raised KeyError)", told)
        self.assertIn("The pack cannot say what is right in cases T-1, T-2, T-3, T-4, T-5 and 1 more (answer_key", told)
        self.assertIn("unreadable 12", (self.batch() / "board.md").read_text(encoding="utf-8"))

    def test_a_system_whose_settings_changed_is_refused_with_what_differs(self) -> None:
        self.well("run jobs/tiny.toml --limit 20")
        path = self.home / "robots.py"
        path.write_text(path.read_text().replace('"temperature": 1.0', '"temperature": 0.5'))
        sys.modules.pop("robots", None)
        told = self.refused("run jobs/tiny.toml")
        self.assertIn("temperature: 1.0 -> 0.5", told)
        self.assertIn("--rebuild, or begin another batch with python3 board.py run jobs/tiny.toml --fresh", told)

    def test_a_violated_trace_is_exit_code_1_named_and_on_the_board(self) -> None:
        self.well("run jobs/tiny.toml")

        def change(events: list[dict[str, Any]]) -> None:
            shown = next(event for event in events if event["type"] == "context/user")
            shown["data"]["text"] += " It is even."
        self.change_lines("trace.jsonl", change)
        told = self.well("report jobs/tiny.toml", code=1)
        self.assertIn("trace invariant violations: 2\n- trial 1 of case T-1 by baselines:even", told)
        self.assertIn("(messages rebuilt from the events hash to the request that was sent)", unfolded(told))
        page = (self.batch() / "board.html").read_text(encoding="utf-8")
        self.assertIn("trace invariant violations: 2", page)
        self.assertIn("cannot be published", page)


class Gates(BoardCommand):
    def test_a_blocked_batch_is_neither_run_nor_reported_nor_published(self) -> None:
        self.job(tables=GATE.replace("least_questions = 4", "least_questions = 7"))
        told = self.type("run jobs/tiny.toml")
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertIn("blocked by the batch gate: 6 of 6 questions are left, fewer than least_questions", told.stderr)
        self.assertEqual("blocked_by_batch_gate", self.batch_json()["status"])
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml", f"recompute {self.batch().name}"):
            with self.subTest(command):
                self.assertIn("blocked by the batch gate", self.refused(command))
        self.assertEqual({}, self.calls())

    def test_a_leak_is_caught_when_the_question_is_made(self) -> None:
        self.ask_3("Truth=odd")
        self.well("run jobs/tiny.toml")
        self.assertEqual([["T-3", "leak"]], [[one["case"], one["reason"]]
                                             for one in self.batch_json()["questions"]["dropped"]])
        self.assertNotIn("T-3", (self.batch() / "cases.jsonl").read_text())

    def test_a_leak_that_came_later_is_caught_again_when_the_page_is_made(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('f"truth={case.expected}"', 'f"Is {case.input[\'number\']}"'))
        self.well("report jobs/tiny.toml")
        for name in ("board.md", "board.html"):
            text = (self.batch() / name).read_text(encoding="utf-8").replace("\\", "")
            self.assertIn("1 observation is left out: it holds a text that gives the truth away", text)
            self.assertIn("was shown is left out: it holds a text that gives the truth away", text)
            self.assertNotIn("Is 3 even or odd?", text)


class Rebuilding(BoardCommand):
    def test_questions_made_anew_run_again_only_where_what_is_asked_changed(self) -> None:
        self.well("run jobs/tiny.toml")
        self.ask_3("Say it.")
        self.assertIn("0 new cells", self.well("run jobs/tiny.toml"))
        told = self.well("run jobs/tiny.toml --rebuild")
        self.assertIn("4 new cells, 0 of 24 planned cells left", told)
        self.assertIn("trace self-consistent", told)
        self.assertEqual({("T-3", 2)}, {(row["case"], row["attempt"]) for row in self.rows() if row["attempt"] > 1})
        self.assertIn("0 new cells", self.well("run jobs/tiny.toml"))

    def test_a_changed_truth_is_judged_anew_and_nobody_is_asked(self) -> None:
        self.job(tables=GATE.replace("most_one_answer = 0.6", "most_one_answer = 0.7"))
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('word = "even" if number % 2 == 0 else "odd"',
                                              'word = "even" if number % 2 == 0 or number == 3 else "odd"'))
        calls = self.calls()
        self.assertIn("0 new cells", self.well("run jobs/tiny.toml --rebuild"))
        self.assertEqual(calls, self.calls())
        self.assertEqual({0.0}, {row["tracks"]["right"] for row in self.rows()
                                 if (row["case"], row["system"]) == ("T-3", "robots:good")})

    def test_a_question_that_would_be_gone_is_named_and_nothing_is_changed(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('== 13 else []', '== 3 else []'))
        self.assertIn("case T-3 would not be made any more", self.refused("run jobs/tiny.toml --rebuild"))

    def test_questions_that_would_be_blocked_do_not_take_the_place_of_those_there_are(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('word = "even" if number % 2 == 0 else "odd"', 'word = "even"'))
        self.assertIn("its questions made anew would be blocked by the batch gate: 6 of 6 questions have the answer",
                      self.refused("run jobs/tiny.toml --rebuild"))


class Secrets(BoardCommand):
    SECRET = "k-3f9a71c2"

    def setUp(self) -> None:
        super().setUp()
        self.job(env_file='"keys.env"', systems='["baselines:even", "robots:key"]')
        self.addCleanup(os.environ.pop, "ROBOT_KEY", None)

    def test_a_missing_env_file_that_a_chosen_system_needs_is_exit_code_3_before_anything_runs(self) -> None:
        self.assertIn("keys.env: the job's env_file is not there", self.refused("run jobs/tiny.toml", code=3))
        self.assertFalse((self.home / "runs").exists())
        self.assertEqual(0, self.opened())
        self.assertIn("12 new cells", self.well("run jobs/tiny.toml --offline"))

    def test_its_values_are_used_and_appear_nowhere(self) -> None:
        (self.home / "keys.env").write_text(f"ROBOT_KEY={self.SECRET}\n")
        told = self.type("run jobs/tiny.toml")
        self.assertIn(("robots:key", "clean", "100.0"), [row[:3] for row in ranking(told.stdout)])
        for text in (told.stdout, told.stderr, *(data.decode() for data in self.files().values())):
            self.assertNotIn(self.SECRET, text)

    def test_a_bad_line_is_named_by_its_number_and_never_shown(self) -> None:
        (self.home / "keys.env").write_text(f"# keys\n{self.SECRET}\n")
        told = self.refused("run jobs/tiny.toml")
        self.assertIn("keys.env, line 2", told)
        self.assertNotIn(self.SECRET, told)


class Telling(BoardCommand):
    def test_list_tells_every_batch_with_its_status(self) -> None:
        self.assertIn("no batches yet", self.well("list"))
        self.well("run jobs/tiny.toml")
        self.assertEqual(f"tiny/{self.batch().name}  complete  single, 6 questions, 2 systems\n", self.well("list"))

    def test_estimate_tells_what_is_to_come_by_the_cells_done(self) -> None:
        self.assertIn("robots:good: 0 cells done, 12 to go: nothing is known yet", self.well("estimate jobs/tiny.toml"))
        for count, to_go in (("", 128), ("8", 16)):
            self.job("triage", pack="", seed="", count=count, task='"triage_task"',
                     cases=f"'{(ROOT / 'cases.json').as_posix()}'")
            self.assertIn(f"robots:good: 0 cells done, {to_go} to go", self.well("estimate jobs/triage.toml"))
        self.well("run jobs/tiny.toml --models robots:good --limit 3")
        told = self.well("estimate jobs/tiny.toml --models robots:good")
        self.assertIn("robots:good: 3 cells done, 9 to go: about 90 prompt tokens (90 to 90), about 18 output", told)

    def test_trace_tells_one_trial_as_a_story(self) -> None:
        self.job(geometry='"gated"', systems='["robots:buyer"]')
        self.well("run jobs/tiny.toml")
        told = self.well(f"trace {self.batch().name} --case T-3 --system robots:buyer --trial 2")
        self.assertIn("case T-3, robots:buyer, trial 2, attempt 1, session", told)
        self.assertIn("it buys hint for 2", told)
        self.assertIn("the trial ends with an answer; 2 messages, 2 spent", told)

    def test_trace_names_what_the_batch_has_not(self) -> None:
        self.well("run jobs/tiny.toml --limit 1")
        for flags, words in (
            ("--case X --system robots:good", "--case X: the batch asks cases T-1"),
            ("--case T-1 --system x:y", "--system x:y: the batch has baselines:even, robots:good"),
            ("--case T-1 --system robots:good --trial 9", "the batch has 2 trials of each question"),
            ("--case T-1 --system robots:good", "this trial has not run yet"),
        ):
            with self.subTest(flags):
                self.assertIn(words, self.refused(f"trace {self.batch().name} {flags}"))

    def test_usage_is_kept_as_tokens_or_as_the_reason_why_there_are_none(self) -> None:
        self.well("run jobs/tiny.toml")
        self.assertEqual({"eval_usage": {"baselines:even": "absent:cache_only", "robots:good": {
            "calls": 12, "reported": 12, "prompt_tokens": 120, "output_tokens": 24}}, "gen_usage": "absent:cache_only"},
            self.batch_json()["usage"])


class Rewording(BoardCommand):
    WORDS = '''\
from benchkit.basics.values import Reply, Usage
from benchkit.systems.system import Loaded

class Poet:
    def open(self): return {"server": "poets", "server_version": "1"}
    def settings(self): return {}
    def warm(self): return Loaded(0.0)
    def close(self): pass
    def answer(self, request):
        with open("calls.txt", "a", encoding="utf-8") as file:
            file.write("poet asked\\n")
        return Reply(request.messages[0]["content"].replace("Is ", "Pray, is "), usage=Usage(5, 4))

def system(name, options):
    return Poet()
'''

    def setUp(self) -> None:
        super().setUp()
        self.job(reword='"poets:one"')
        (self.home / "poets.py").write_text(self.WORDS, encoding="utf-8")

    def test_a_model_rewords_once_and_its_words_are_kept_beside_the_pack(self) -> None:
        self.assertIn("has no answer of poets:one", self.type("run jobs/tiny.toml --offline").stderr)
        self.well("run jobs/tiny.toml")
        self.assertIn("Pray, is 1", (self.batch() / "cases.jsonl").read_text())
        self.assertEqual({"calls": 6, "reported": 6, "prompt_tokens": 30, "output_tokens": 24},
                         self.batch_json()["usage"]["gen_usage"])
        self.well("run jobs/tiny.toml --fresh --offline")
        self.assertEqual("absent:cache_only", self.batch_json()["usage"]["gen_usage"])
        self.assertEqual(6, self.calls()["poet"])
        self.well("run jobs/tiny.toml --regen")
        self.assertEqual(12, self.calls()["poet"])


class AModelOfOllama(BoardCommand):
    def test_it_plays_both_geometries_of_the_example_pack(self) -> None:
        shutil.copytree(ROOT / "packs" / "early_warning", self.home / "packs" / "early_warning")
        for geometry in ("single", "gated"):
            tables = "[limits]\nsteps = 3\n[batch_gate]\nleast_questions = 3\nmost_blind_score = 1.0\n"
            self.job(geometry, tables, pack='"early_warning"', count="3", geometry=f'"{geometry}"', trials="1",
                     systems='["baselines:silent", "model_triage:smollm2:135m"]')
            with FakeOllama() as server, mock.patch.dict(os.environ, {"OLLAMA_HOST": server.host}):
                server.answer = lambda model, messages, seed: '{"buy": "alerts"}'
                told = self.well(f"run jobs/{geometry}.toml")
                self.assertIn("6 new cells, 0 of 6 planned cells left\ntrace self-consistent", told)
                self.assertEqual(3 if geometry == "single" else 9, len(server.chats()))
                settings = self.batch_json(geometry)["systems"]["model_triage:smollm2:135m"]["settings"]
                self.assertIn("5a" * 32, str(settings))

    def test_each_request_that_was_sent_again_is_an_event_and_a_call(self) -> None:
        self.job(systems='["baselines:even", "model_triage:smollm2:135m"]', count="4", trials="1")
        asked: list[int] = []
        with FakeOllama() as server, mock.patch.dict(os.environ, {"OLLAMA_HOST": server.host}):
            def answer(model: str, messages: Any, seed: int) -> str:
                asked.append(seed)
                if len(asked) == 1:
                    server.next(status(503, '{"error":"full"}'), status(503, '{"error":"full"}'))
                return "odd"
            server.answer = answer
            self.assertIn("trace self-consistent", self.well("run jobs/tiny.toml"))
        tries = [event for event in self.lines("trace.jsonl") if event["case"] == "T-2" and "model" in event["solver"]
                 and event["type"].startswith("assistant/")]
        self.assertEqual([*["assistant/attempt"] * 2, "assistant/message"], [one["type"] for one in tries])
        self.assertEqual([0, 1, 2], [one["data"]["retries"] for one in tries])
        self.assertEqual(1, len({one["data"]["request"] for one in tries}))
        for one in tries[:2]:
            self.assertEqual("ServerBusy", one["data"]["error"])
            self.assertIn("HTTP 503", one["data"]["message"])
        usage = self.batch_json()["usage"]["eval_usage"]["model_triage:smollm2:135m"]
        self.assertEqual((6, 4), (usage["calls"], usage["reported"]))
        told = self.well(f"trace {self.batch().name} --case T-2 --system model_triage:smollm2:135m")
        self.assertEqual(2, told.count("no whole reply: ServerBusy"))

    def test_a_server_that_is_not_there_is_exit_code_3_and_the_baselines_stay(self) -> None:
        self.job(systems='["baselines:even", "model_triage:smollm2:135m"]')
        self.well("run jobs/tiny.toml --offline")
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": "127.0.0.1:1"}):
            told = self.refused("run jobs/tiny.toml", code=3)
        self.assertIn("127.0.0.1:1", told)
        self.assertIn("name another with OLLAMA_HOST, or", told)
        self.assertNotIn("--host", told)


class FreshCopy(unittest.TestCase):
    def test_the_example_makes_a_batch_and_a_board_and_then_0_new_cells(self) -> None:
        import tempfile
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            for part in ("board.py", "benchkit", "packs", "jobs"):
                source = ROOT / part
                if source.is_dir():
                    shutil.copytree(source, home / part, ignore=shutil.ignore_patterns("__pycache__", "_llm_cache"))
                else:
                    shutil.copy(source, home)
            first, second = (subprocess.run(
                [*PYTHON, "board.py", "run", "jobs/example.toml", "--offline"], cwd=home, check=True,
                capture_output=True, text=True, timeout=HANGS_S).stdout for _ in range(2))
        self.assertIn(": 288 new cells, 0 of 288 planned cells left\ntrace self-consistent\n", first)
        self.assertIn(": 0 new cells, 0 of 288 planned cells left\ntrace self-consistent\n", second)


if __name__ == "__main__":
    unittest.main()
