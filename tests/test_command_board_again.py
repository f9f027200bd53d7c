"""Cells of a board that are asked again: errors on request, and what was lost to a damaged line."""
from __future__ import annotations

import re
import subprocess
import sys
import unittest

from benchkit.recordings.recording import recording_of
from benchkit.trial_log.reader import read_log
from tests.board_command import GATE, BoardCommand, unfolded
from tests.boards_packs import JUDGES, put_pack
from tests.commands import PYTHON, ROOT


class Errors(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.job(systems='["baselines:even", "robots:late"]')

    def mend(self) -> None:
        """From now on the robot answers the question that it was always late at."""
        path = self.home / "robots.py"
        path.write_text(path.read_text(encoding="utf-8").replace("number == 4", "number == 400"), encoding="utf-8")

    def attempts(self) -> list[tuple[str, int, int]]:
        """Of the cells that were asked more than once: case, trial, attempt."""
        return [(row["case"], row["trial"], row["attempt"]) for row in self.rows() if row["attempt"] > 1]

    def test_how_many_failed_and_why_is_said_and_they_are_asked_again_on_request(self) -> None:
        told = self.well("run jobs/tiny.toml")
        self.assertIn("\n2 of 24 cells ended without a verdict.", told)
        self.assertIn("robots:late: 2 of 12 (Timeout 2); most often: no whole reply within 120 s", told)
        self.assertIn("\n  try errors again  python3 board.py run jobs/tiny.toml --retry-errors\n", told)
        self.mend()
        self.assertIn(" 0 new cells", self.well("run jobs/tiny.toml"))
        told = self.well("run jobs/tiny.toml --retry-errors")
        self.assertIn(": 2 failed cells asked again: 2 answered, 0 failed again; 0 of 24 planned cells left\n"
                      "trace self-consistent\n", told)
        self.assertEqual([("T-4", 1, 2), ("T-4", 2, 2)], self.attempts())
        # nothing is erased
        told_of = [line for line in self.lines("responses.jsonl") if line.get("case") == "T-4"]
        self.assertEqual([True, True, False, False], ["error" in one for one in told_of if "late" in one["system"]])
        self.assertIn(" 0 new cells", self.well("run jobs/tiny.toml --retry-errors"))

    def test_with_a_limit_or_a_budget_the_others_are_left_as_they_are(self) -> None:
        self.well("run jobs/tiny.toml")
        self.mend()
        told = self.well("run jobs/tiny.toml --retry-errors --limit 1")
        self.assertIn(": 1 failed cell asked again: 1 answered, 0 failed again; 0 of 24", told)
        self.assertIn("1 of 24 cells ended without a verdict", told)
        self.assertEqual([("T-4", 1, 2)], self.attempts())

    def test_a_shard_says_so_too_and_what_was_asked_again_can_be_merged_again(self) -> None:
        told = self.well("run jobs/tiny.toml --shard 1/1")
        self.assertIn("  2 of 24 planned cells failed: 2 Timeout (no whole reply within 120 s)\n", told)
        self.assertIn("  try errors again  python3 board.py run jobs/tiny.toml --shard 1/1 --retry-errors\n", told)
        self.well(f"merge {self.batch().name}")
        self.mend()
        self.assertIn(": 2 failed cells asked again: ", self.well("run jobs/tiny.toml --retry-errors"))
        self.assertIn("24 of 24 planned cells merged, 0 left", self.well(f"merge {self.batch().name}"))
        self.assertEqual([("T-4", 1, 2), ("T-4", 2, 2)], self.attempts())

    def test_systems_that_the_job_alone_would_not_ask_are_named_where_they_can_be_asked_again(self) -> None:
        retry = "board.py run jobs/tiny.toml --models robots:late --retry-errors"
        for systems in ('["baselines:even"]', '["baselines:even", "robots:late", "robots:good"]'):
            with self.subTest(systems):
                self.job(systems=systems)
                told = self.well("run jobs/tiny.toml --fresh --models baselines:even,robots:late")
                self.assertIn(f"  Run python3 {retry}\n", told)
                self.assertIn(retry, (self.batch() / "board.md").read_text(encoding="utf-8"))
        self.job(systems='["baselines:even"]')
        self.assertIn(f"2 of 12 cells of robots:late are incomplete, and published they stay so; to ask them again "
                      f"first: python3 {retry}\n", self.type(f"publish {self.batch().name}").stderr)

    def test_what_fails_again_is_told_apart_from_what_is_new(self) -> None:
        self.well("run jobs/tiny.toml --limit 20")
        told = self.well("run jobs/tiny.toml --retry-errors --limit 3")
        self.assertIn(": 2 new cells, 1 failed cell asked again: 0 answered, 1 failed again; 2 of 24 planned cells",
                      told)
        # what is left is not what failed: each has its command
        self.assertIn("\n  go on  python3 board.py run jobs/tiny.toml\n  try errors again  python3 board.py run "
                      "jobs/tiny.toml --retry-errors\n", told)

    def test_asking_again_where_all_is_published_asks_nobody(self) -> None:
        self.job(systems='["baselines:even", "robots:good"]')
        self.well("run jobs/tiny.toml --retry-errors")
        self.well(f"publish {self.batch().name}")
        for flag in ("--retry-errors", "--accept-damage", "--rebuild"):
            with self.subTest(flag):
                self.assertEqual(
                    f"board.py: {flag}: runs/tiny/{self.batch().name} is published, and stays as it is, and there is "
                    "no newer batch; begin another one with python3 board.py run jobs/tiny.toml --fresh\n",
                    self.refused(f"run jobs/tiny.toml {flag}"))
        self.assertEqual({"good": 12}, self.calls())

    def test_a_judge_that_raises_is_named_with_message_file_and_line(self) -> None:
        put_pack(self.home, judges=JUDGES.replace(
            "    return 1.0 if read(answer) == case.expected else 0.0", "    return {}[answer]"))
        self.job(systems='["robots:good"]', tables="[batch_gate]\nmost_blind_score = 1.0\n")
        refused = self.type("run jobs/tiny.toml").stderr
        self.assertIn("track right raised KeyError: 'even' (judges.py, line 4)", refused)
        put_pack(self.home)
        self.job(systems='["robots:good"]', tables=GATE)
        self.well("run jobs/tiny.toml")
        put_pack(self.home, judges=JUDGES.replace(
            "    return 1.0 if read(answer) == case.expected else 0.0",
            "    if case.id == 'T-3':\n        raise KeyError('no such word')\n    return 1.0"))
        told = self.well(f"recompute {self.batch().name} --apply")
        where = "track right raised KeyError: 'no such word' (judges.py, line 5)"
        self.assertIn(where, (self.batch() / "board.md").read_text(encoding="utf-8").replace("\\", ""))
        self.assertEqual({where}, {row["error"]["message"] for row in self.rows() if row["error"]})
        told = self.well("run jobs/tiny.toml")
        self.assertIn("2 of 12 cells ended without a verdict.", told)
        self.assertIn(f"robots:good: 2 of 12 (CheckError 2); most often: {where}", unfolded(told))
        # asking again mends no judge
        self.assertNotIn("--retry-errors", told)


class Damage(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.job(systems='["baselines:even", "robots:buyer"]', geometry='"gated"')
        self.well("run jobs/tiny.toml")
        self.whole = {path.name: path.read_bytes() for path in self.batch().iterdir()}

    def damage(self, name: str, number: int) -> None:
        """Change a byte of a line, all else being as it was after the run."""
        for file, data in self.whole.items():
            (self.batch() / file).write_bytes(data)
        lines = self.whole[name].splitlines(keepends=True)
        lines[number] = b"#" + lines[number][1:]
        (self.batch() / name).write_bytes(b"".join(lines))

    def numbers(self, name: str, system: str, case: str) -> list[int]:
        """The lines of the first trial of a system at a case."""
        return [number for number, line in enumerate(self.lines(name))
                if (line.get("system", line.get("solver")), line.get("case"), line.get("trial")) == (system, case, 1)]

    def assert_mended(self, cells: int) -> None:
        """Accepting the damage asks so many cells again, and then all is as sound as before."""
        told = self.well("run jobs/tiny.toml --accept-damage")
        self.assertRegex(told, f": {cells} new cells?, 0 of 24 planned cells left\ntrace self-consistent\n")
        self.assertNotIn("failed:", told)
        self.assertIn("trace self-consistent", self.well("report jobs/tiny.toml"))
        self.assertIn(" 0 new cells", self.well("run jobs/tiny.toml"))
        self.assertEqual([], [row for row in self.rows() if row["error"]])

    def test_a_damaged_answer_costs_its_cell(self) -> None:
        self.damage("responses.jsonl", self.numbers("responses.jsonl", "robots:buyer", "T-3")[0])
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml"):
            self.assertIn("no whole line (torn or altered), and whole lines follow", self.refused(command))
            self.assertIn("python3 board.py run jobs/tiny.toml --accept-damage", self.refused(command))
        asked = self.calls()["buyer"]
        self.assert_mended(1)
        self.assertEqual(asked + 2, self.calls()["buyer"])
        self.assertIn("1 trial lost to damage that was accepted, counted for nothing",
                      self.well("report jobs/tiny.toml"))
        self.assertIn("is published", self.well(f"publish {self.batch().name}"))

    def test_any_damaged_line_of_the_trace_costs_its_cell(self) -> None:
        for number in self.numbers("trace.jsonl", "robots:buyer", "T-3"):
            with self.subTest(line=number):
                self.damage("trace.jsonl", number)
                told = self.well("report jobs/tiny.toml", code=1)
                self.assertIn("ask again what is damaged: python3 board.py run jobs/tiny.toml --accept-damage", told)
                self.assert_mended(1)
                self.assertEqual([("robots:buyer", "T-3", 1, 2)], [
                    (row["system"], row["case"], row["trial"], row["attempt"]) for row in self.rows()
                    if row["attempt"] > 1])

    def test_the_last_line_of_a_trace_and_a_whole_trial_of_it_cost_their_cell(self) -> None:
        numbers = self.numbers("trace.jsonl", "robots:buyer", "T-3")
        self.damage("trace.jsonl", -1)
        self.assert_mended(1)
        self.damage("trace.jsonl", 0)
        lines = self.whole["trace.jsonl"].splitlines(keepends=True)
        for number in numbers:
            lines[number] = b"#" + lines[number][1:]
        (self.batch() / "trace.jsonl").write_bytes(b"".join(lines))
        self.assert_mended(1)

    def test_a_damaged_line_that_is_no_answer_costs_no_cell(self) -> None:
        for number, line in enumerate(self.lines("responses.jsonl")):
            if line["kind"] != "trial" and line["kind"] != "stop":
                with self.subTest(kind=line["kind"]):
                    self.damage("responses.jsonl", number)
                    self.assert_mended(0)

    def test_what_a_shard_lost_and_asked_again_does_not_come_up_in_the_merge(self) -> None:
        self.well("begin jobs/tiny.toml")
        shard = "run jobs/tiny.toml --shard 1/1"
        self.well(shard)
        places = {name: self.numbers(f"{name}.shard-1-of-1.jsonl", "robots:buyer", case)[0]
                  for name, case in (("trace", "T-4"), ("responses", "T-3"))}
        for name, number in places.items():
            path = self.batch() / f"{name}.shard-1-of-1.jsonl"
            lines = path.read_bytes().splitlines(keepends=True)
            lines[number] = b"#" + lines[number][1:]
            path.write_bytes(b"".join(lines))
            self.assertIn(": 1 new cell", self.well(f"{shard} --accept-damage"))
        told = self.well(f"merge {self.batch().name}")
        self.assertIn("24 of 24 planned cells merged, 0 left\ntrace self-consistent\n", told)
        self.assertIn("is published", self.well(f"publish {self.batch().name}"))

    def test_without_damage_the_flag_changes_nothing(self) -> None:
        before = self.files()
        self.assertIn(" 0 new cells", self.well("run jobs/tiny.toml --accept-damage"))
        self.assertEqual(before, self.files())

    def test_a_trial_whose_line_was_taken_out_is_still_a_violation(self) -> None:
        number = self.numbers("responses.jsonl", "robots:buyer", "T-3")[0]
        lines = self.lines("responses.jsonl")
        del lines[number]
        self.change_lines("responses.jsonl", lambda values: values.pop(number))
        self.assertIn("lines are missing before it", self.refused("report jobs/tiny.toml"))

    def test_where_batch_json_is_gone_run_says_so_and_begins_no_other(self) -> None:
        (self.batch() / "batch.json").unlink()
        name = self.batch().name
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml", f"run jobs/tiny.toml --batch {name}",
                        f"publish {name}"):
            with self.subTest(command):
                told = self.refused(command)
                self.assertIn("batch.json is gone, and answers are there; put it back, or begin another batch: "
                              "python3 board.py run jobs/tiny.toml --fresh" if "publish" not in command else
                              "python3 board.py run JOB --fresh", told)
        self.assertIn("unreadable", self.well("list"))
        self.assertIn("24 new cells", self.well("run jobs/tiny.toml --fresh"))
        self.assertEqual(2, len(self.batches()))

    def test_altered_questions_are_made_again_where_that_mends_them(self) -> None:
        path = self.batch() / "cases.jsonl"
        for data in (self.whole["cases.jsonl"].replace(b'"odd"', b'"even"', 1), self.whole["cases.jsonl"][:-9], None):
            with self.subTest(data=data and len(data)):
                path.unlink()
                if data is not None:
                    path.write_bytes(data)
                told = self.refused("run jobs/tiny.toml")
                self.assertIn("or make it again: python3 board.py run jobs/tiny.toml --rebuild", told)
                self.assertIn(": 0 new cells, 0 of 24", self.well("run jobs/tiny.toml --rebuild"))
                self.assertEqual(self.whole["cases.jsonl"], path.read_bytes())


BROKEN_OFF = '''
from benchkit.basics.errors import NoServer
from robots import Robot, os
import signal


class Stopped(Robot):
    def answer(self, request):
        os.kill(os.getpid(), signal.SIGINT)
        return super().answer(request)


class Away(Robot):
    def open(self):
        raise NoServer("nobody answers")


def system(name, options):
    return {"stopped": Stopped, "away": Away}[name]("good")
'''


class GoingOn(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        (self.home / "broken_off.py").write_text(BROKEN_OFF, encoding="utf-8")
        self.job(systems='["baselines:even", "broken_off:stopped"]')
        self.job("away", systems='["baselines:even", "broken_off:away"]')

    def test_no_command_to_go_on_does_again_what_is_done(self) -> None:
        for command, code, offer in (
                ("run jobs/tiny.toml --fresh", 130, "go on with: python3 board.py run jobs/tiny.toml\n"),
                ("run jobs/tiny.toml --rebuild", 130, "go on with: python3 board.py run jobs/tiny.toml\n"),
                ("run jobs/away.toml --fresh", 3, "without a model: python3 board.py run jobs/away.toml --offline\n")):
            with self.subTest(command):
                told = self.type(command)
                self.assertEqual(code, told.code, told.stderr)
                self.assertTrue(told.stderr.endswith(offer), told.stderr)
        self.assertEqual(1, len(self.batches()))

    def test_an_error_names_the_job_as_it_was_typed(self) -> None:
        self.job("other", systems='["baselines:even"]')
        self.well("run jobs/../jobs/other.toml")
        (self.batch("other") / "cases.jsonl").unlink()
        for command in ("run", "report"):
            self.assertIn("make it again: python3 board.py run jobs/../jobs/other.toml --rebuild\n",
                          self.refused(f"{command} jobs/../jobs/other.toml"))
        self.assertIn("make it again: python3 board.py run jobs/other.toml --rebuild\n",
                      self.refused(f"recompute {self.batch('other').name}"))

    def test_baselines_make_no_difference_between_sessions_and_one_system_none_to_another(self) -> None:
        self.job(systems='["robots:good", "robots:rude", "baselines:even"]')
        (self.home / "others.py").write_text((self.home / "robots.py").read_text(encoding="utf-8").replace(
            '"server": "robots"', '"server": "others"'), encoding="utf-8")
        for more in ("--models robots:good --limit 3", "--offline", "--models others:good --limit 3",
                     "--models baselines:even,robots:good"):
            with self.subTest(more):
                self.assertNotIn("may differ", self.type(f"run jobs/tiny.toml {more}").stderr)
        path = self.home / "others.py"
        path.write_text(path.read_text(encoding="utf-8").replace('_version": "1"', '_version": "2"'), encoding="utf-8")
        sys.modules.pop("others")
        self.assertIn("the server version was 1 in an earlier session and is 2 now",
                      self.type("run jobs/tiny.toml --models others:good").stderr)
        self.well("run jobs/tiny.toml")
        self.assertNotIn("may differ", self.type(f"publish {self.batch().name}").stderr)
        log = read_log(self.batch() / "responses.jsonl")
        self.assertEqual([2, 1], [len(recording_of(log, name).sessions)
                                  for name in ("others:good", "robots:rude")])


class AtOnce(BoardCommand):
    def test_three_runs_that_start_at_once_make_one_batch(self) -> None:
        self.job(systems='["robots:slow", "baselines:even"]')
        command = [*PYTHON, str(ROOT / "board.py"), "run", "jobs/tiny.toml"]
        started = [subprocess.Popen(command, cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(3)]
        told = [(*one.communicate(), one.returncode) for one in started]
        self.assertEqual(1, len(self.batches()), told)
        # who came too late to record says so, and nobody asked anything twice
        self.assertLessEqual({code for _, _, code in told}, {0, 3}, told)
        self.assertTrue(all("is in use by another run" in stderr for _, stderr, code in told if code), told)
        self.assertIn(" 0 of 24 planned cells left", self.well("run jobs/tiny.toml"))
        self.assertEqual({"slow": 12}, self.calls())


class WithoutInit(BoardCommand):
    def test_a_pack_works_without_an_init_file_in_the_folder_of_packs(self) -> None:
        (self.home / "packs" / "__init__.py").unlink()
        # a process of its own: the folder of the kit has packs, too
        done = subprocess.run([*PYTHON, str(ROOT / "board.py"), "run", "jobs/tiny.toml"], cwd=self.home,
                              capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(re.search("24 new cells", done.stdout), done.stdout)


class Links(BoardCommand):
    def test_files_of_a_batch_that_are_links_are_replaced_and_never_written_through(self) -> None:
        self.well("run jobs/tiny.toml --limit 3")
        for name in ("board.md", "board.html", "eval.jsonl", "batch.json"):
            with self.subTest(name):
                path, other = self.batch() / name, self.home / f"mine-{name}"
                data = path.read_bytes()
                other.write_bytes(data if name == "batch.json" else b"mine\n")
                before = other.read_bytes()
                path.unlink()
                path.symlink_to(other)
                self.well("run jobs/tiny.toml --limit 1")
                self.assertEqual(before, other.read_bytes())
                self.assertFalse(path.is_symlink())

    def test_answers_and_a_trace_that_are_links_are_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml --limit 3")
        for name in ("responses.jsonl", "trace.jsonl"):
            with self.subTest(name):
                path, other = self.batch() / name, self.home / f"mine-{name}"
                path.rename(other)
                before = other.read_bytes()
                path.symlink_to(other)
                told = self.type("run jobs/tiny.toml")
                self.assertIn(told.code, (2, 3), told)
                self.assertIn(f"{name} is a link", told.stderr)
                self.assertEqual(before, other.read_bytes())
                path.unlink()
                other.rename(path)


if __name__ == "__main__":
    unittest.main()
