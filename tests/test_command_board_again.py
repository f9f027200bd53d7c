"""Cells of a board that are asked again: errors on request, and what was lost to a damaged line."""
from __future__ import annotations

from benchkit.recordings.recording import recording_of
from benchkit.trial_log.reader import read_log
from tests.board_command import GATE, BoardCommand

RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"
JUDGES_RIGHT = "    return 1.0 if read(answer) == case.expected else 0.0"


class Errors(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.job(systems='["baselines:even", "robots:late"]')

    def mend(self) -> None:
        """From now on the robot answers the question that it was always late at."""
        self.rewrite("robots.py", ("number == 4", "number == 400"))

    def attempts(self) -> list[tuple[str, int, int]]:
        """Of the cells that were asked more than once: case, trial, attempt."""
        return [(row["case"], row["trial"], row["attempt"]) for row in self.rows() if row["attempt"] > 1]

    def test_how_many_failed_and_why_is_said_and_they_are_asked_again_on_request(self) -> None:
        told = self.ran()
        self.assertIn("\n2 of 24 cells ended without a verdict.", told)
        self.assertIn("robots:late: 2 of 12 (Timeout 2); most often: no whole reply within 120 s", told)
        self.assertIn(f"\n  try errors again  python3 board.py {RUN} --retry-errors\n", told)
        self.mend()
        self.says(RUN, " 0 new cells")
        # with a limit or a budget the others are left as they are
        self.says(f"{RUN} --retry-errors --limit 1", ": 1 failed cell asked again: 1 answered, 0 failed again; 0 of 24",
                  "1 of 24 cells ended without a verdict")
        self.assertEqual([("T-4", 1, 2)], self.attempts())
        self.says(f"{RUN} --retry-errors", ": 1 failed cell asked again: 1 answered, 0 failed again; 0 of 24 planned "
                  "cells left", "trace self-consistent")
        self.assertEqual([("T-4", 1, 2), ("T-4", 2, 2)], self.attempts())
        # nothing is erased
        told_of = [line for line in self.lines("responses.jsonl") if line.get("case") == "T-4"]
        self.assertEqual([True, True, False, False], ["error" in one for one in told_of if "late" in one["system"]])
        self.says(f"{RUN} --retry-errors", " 0 new cells")

    def test_a_shard_says_so_too_and_what_was_asked_again_can_be_merged_again(self) -> None:
        self.says(f"{RUN} --shard 1/1", "  2 of 24 planned cells failed: 2 Timeout (no whole reply within 120 s)\n",
                  f"  try errors again  python3 board.py {RUN} --shard 1/1 --retry-errors\n")
        self.well(f"merge {self.batch().name}")
        self.mend()
        self.says(f"{RUN} --retry-errors", ": 2 failed cells asked again: ")
        self.says(f"merge {self.batch().name}", "24 of 24 planned cells merged, 0 left")
        self.assertEqual([("T-4", 1, 2), ("T-4", 2, 2)], self.attempts())

    def test_systems_that_the_job_alone_would_not_ask_are_named_where_they_can_be_asked_again(self) -> None:
        retry = f"board.py {RUN} --models robots:late --retry-errors"
        for systems in ('["baselines:even", "robots:late", "robots:good"]', '["baselines:even"]'):
            with self.subTest(systems):
                self.job(systems=systems)
                self.says(f"{RUN} --fresh --models baselines:even,robots:late", f"  Run python3 {retry}\n")
                self.assertIn(retry, self.text("board.md"))
        self.assertIn("2 of 12 cells of robots:late are incomplete, and published they stay so; to ask them again "
                      f"first: python3 {retry}\n", self.type(f"publish {self.batch().name}").stderr)

    def test_what_fails_again_is_told_apart_from_what_is_new(self) -> None:
        self.well(f"{RUN} --limit 20")
        # what is left is not what failed: each has its command
        self.says(f"{RUN} --retry-errors --limit 3", ": 2 new cells, 1 failed cell asked again: 0 answered, 1 failed "
                  "again; 2 of 24 planned cells", f"\n  go on  python3 board.py {RUN}\n  try errors again  python3 "
                  f"board.py {RUN} --retry-errors\n")

    def test_asking_again_where_all_is_published_asks_nobody(self) -> None:
        self.job()
        self.ran(f"{RUN} --retry-errors")
        self.well(f"publish {self.batch().name}")
        for flag in ("--retry-errors", "--accept-damage", "--rebuild"):
            with self.subTest(flag):
                self.assertEqual(
                    f"board.py: {flag}: runs/tiny/{self.batch().name} is published, and stays as it is, and there is "
                    f"no newer batch; begin another one with python3 board.py {RUN} --fresh\n",
                    self.refused(f"{RUN} {flag}"))
        self.assertEqual({"good": 12}, self.calls())

    def test_a_judge_that_raises_is_named_with_message_file_and_line(self) -> None:
        self.pack(judges=(JUDGES_RIGHT, "    return {}[answer]"))
        self.job(systems='["robots:good"]', tables="[batch_gate]\nmost_blind_score = 1.0\n")
        self.assertIn("track right raised KeyError: 'even' (judges.py, line 4)", self.type(RUN).stderr)
        self.pack()
        self.job(systems='["robots:good"]', tables=GATE)
        self.well(RUN)
        self.pack(judges=(JUDGES_RIGHT, "    if case.id == 'T-3':\n        raise KeyError('no such word')\n"
                                        "    return 1.0"))
        self.well(f"recompute {self.batch().name} --apply")
        where = "track right raised KeyError: 'no such word' (judges.py, line 5)"
        self.assertIn(where, self.text("board.md"))
        self.assertEqual({where}, {row["error"]["message"] for row in self.rows() if row["error"]})
        # asking again mends no judge
        self.says(RUN, "2 of 12 cells ended without a verdict.", "robots:good: 2 of 12 (CheckError 2); most often: "
                  f"{where}", never="--retry-errors")


class Damage(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.job(systems='["baselines:even", "robots:buyer"]', geometry='"gated"', trials="1")
        self.ran()
        self.whole = {path.name: path.read_bytes() for path in self.batch().iterdir()}

    def damage(self, name: str, *numbers: int) -> None:
        """Change a byte of some lines, all else being as it was after the run."""
        for file, data in self.whole.items():
            (self.batch() / file).write_bytes(data)
        self.spoil(name, *numbers)

    def spoil(self, name: str, *numbers: int) -> None:
        path = self.batch() / name
        lines = path.read_bytes().splitlines(keepends=True)
        for number in numbers:
            lines[number] = b"#" + lines[number][1:]
        path.write_bytes(b"".join(lines))

    def numbers(self, name: str, case: str) -> list[int]:
        """The lines of the robot's trial at a case."""
        return [number for number, line in enumerate(self.lines(name))
                if (line.get("system", line.get("solver")), line.get("case")) == ("robots:buyer", case)]

    def assert_mended(self, cells: int) -> None:
        """Accepting the damage asks so many cells again, and then all is as sound as before."""
        told = self.says(f"{RUN} --accept-damage", never="failed:")
        self.assertRegex(told, f": {cells} new cells?, 0 of 12 planned cells left\ntrace self-consistent\n")
        self.says(RUN, " 0 new cells, 0 of 12 planned cells left\ntrace self-consistent\n")
        self.assertEqual([], [row for row in self.rows() if row["error"]])

    def test_a_damaged_answer_costs_its_cell(self) -> None:
        self.damage("responses.jsonl", self.numbers("responses.jsonl", "T-3")[0])
        for command in (RUN, REPORT):
            self.refuses(command, "no whole line (torn or altered), and whole lines follow",
                         f"python3 board.py {RUN} --accept-damage")
        asked = self.calls()["buyer"]
        self.assert_mended(1)
        self.assertEqual(asked + 2, self.calls()["buyer"])
        self.says(REPORT, "trace self-consistent", "1 trial lost to damage that was accepted, counted for nothing")
        self.says(f"publish {self.batch().name}", "is published")

    def test_any_damaged_line_of_the_trace_costs_its_cell_and_so_do_all_together_and_the_last(self) -> None:
        numbers = self.numbers("trace.jsonl", "T-3")
        for number in numbers:
            with self.subTest(line=number):
                self.damage("trace.jsonl", number)
                self.says(REPORT, f"ask again what is damaged: python3 board.py {RUN} --accept-damage", code=1)
                self.assert_mended(1)
                self.assertEqual([("robots:buyer", "T-3", 2)], [
                    (row["system"], row["case"], row["attempt"]) for row in self.rows() if row["attempt"] > 1])
        for damaged in (numbers, [-1]):
            with self.subTest(lines=damaged):
                self.damage("trace.jsonl", *damaged)
                self.assert_mended(1)

    def test_a_damaged_line_that_is_no_answer_costs_no_cell(self) -> None:
        for number, line in enumerate(self.lines("responses.jsonl")):
            if line["kind"] != "trial" and line["kind"] != "stop":
                with self.subTest(kind=line["kind"]):
                    self.damage("responses.jsonl", number)
                    self.assert_mended(0)

    def test_what_a_shard_lost_and_asked_again_does_not_come_up_in_the_merge(self) -> None:
        self.well("begin jobs/tiny.toml")
        self.well(f"{RUN} --shard 1/1")
        for name, case in (("trace.shard-1-of-1.jsonl", "T-4"), ("responses.shard-1-of-1.jsonl", "T-3")):
            self.spoil(name, self.numbers(name, case)[0])
            self.says(f"{RUN} --shard 1/1 --accept-damage", ": 1 new cell")
        self.says(f"merge {self.batch().name}", "12 of 12 planned cells merged, 0 left\ntrace self-consistent\n")
        self.says(f"publish {self.batch().name}", "is published")

    def test_without_damage_the_flag_changes_nothing(self) -> None:
        before = self.files()
        self.says(f"{RUN} --accept-damage", " 0 new cells")
        self.assertEqual(before, self.files())

    def test_a_trial_whose_line_was_taken_out_is_still_a_violation(self) -> None:
        number = self.numbers("responses.jsonl", "T-3")[0]
        self.change_lines("responses.jsonl", lambda values: values.pop(number))
        self.refuses(REPORT, "lines are missing before it")

    def test_where_batch_json_is_gone_run_says_so_and_begins_no_other(self) -> None:
        (self.batch() / "batch.json").unlink()
        name = self.batch().name
        for command, job in ((RUN, "jobs/tiny.toml"), (REPORT, "jobs/tiny.toml"),
                             (f"{RUN} --batch {name}", "jobs/tiny.toml"), (f"publish {name}", "JOB")):
            self.refuses(command, "batch.json is gone, and answers are there; put it back, or begin another batch: "
                         f"python3 board.py run {job} --fresh")
        self.says("list", "unreadable")
        self.says(f"{RUN} --fresh", "12 new cells")
        self.assertEqual(2, len(self.batches()))

    def test_altered_questions_are_made_again_where_that_mends_them(self) -> None:
        path, whole = self.batch() / "cases.jsonl", self.whole["cases.jsonl"]
        for data in (whole.replace(b'"odd"', b'"even"', 1), whole[:-9], None):
            with self.subTest(data=data and len(data)):
                path.unlink()
                if data is not None:
                    path.write_bytes(data)
                self.refuses(RUN, f"or make it again: python3 board.py {RUN} --rebuild")
                self.says(f"{RUN} --rebuild", ": 0 new cells, 0 of 12")
                self.assertEqual(whole, path.read_bytes())


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
    def test_no_command_to_go_on_does_again_what_is_done(self) -> None:
        (self.home / "broken_off.py").write_text(BROKEN_OFF, encoding="utf-8")
        self.job(systems='["baselines:even", "broken_off:stopped"]')
        self.job("away", systems='["baselines:even", "broken_off:away"]')
        for command, code, offer in (
                (f"{RUN} --fresh", 130, f"go on with: python3 board.py {RUN}\n"),
                (f"{RUN} --rebuild", 130, f"go on with: python3 board.py {RUN}\n"),
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
        for command, job in (("run jobs/../jobs/other.toml", "jobs/../jobs/other.toml"),
                             ("report jobs/../jobs/other.toml", "jobs/../jobs/other.toml"),
                             (f"recompute {self.batch('other').name}", "jobs/other.toml")):
            self.refuses(command, f"make it again: python3 board.py run {job} --rebuild\n")

    def test_baselines_make_no_difference_between_sessions_and_one_system_none_to_another(self) -> None:
        self.job(systems='["robots:good", "robots:rude", "baselines:even"]')
        (self.home / "others.py").write_text((self.home / "robots.py").read_text(encoding="utf-8").replace(
            '"server": "robots"', '"server": "others"'), encoding="utf-8")
        for more in ("--models robots:good --limit 3", "--offline", "--models others:good --limit 3",
                     "--models baselines:even,robots:good"):
            self.assertNotIn("may differ", self.type(f"{RUN} {more}").stderr, more)
        self.rewrite("others.py", ('_version": "1"', '_version": "2"'))
        self.assertIn("the server version was 1 in an earlier session and is 2 now",
                      self.type(f"{RUN} --models others:good").stderr)
        self.well(RUN)
        self.assertNotIn("may differ", self.type(f"publish {self.batch().name}").stderr)
        log = read_log(self.batch() / "responses.jsonl")
        self.assertEqual([2, 1], [len(recording_of(log, name).sessions)
                                  for name in ("others:good", "robots:rude")])


class Processes(BoardCommand):
    def test_three_runs_that_start_at_once_make_one_batch(self) -> None:
        self.job(systems='["robots:slow", "baselines:even"]')
        # in a process of its own a pack works without an init file in the folder of packs, though the kit has one, too
        (self.home / "packs" / "__init__.py").unlink()
        started = [self.process(*RUN.split()) for _ in range(3)]
        told = [(*one.communicate(), one.returncode) for one in started]
        self.assertEqual(1, len(self.batches()), told)
        # who came too late to record says so, and nobody asked anything twice
        self.assertLessEqual({code for _, _, code in told}, {0, 3}, told)
        self.assertIn(0, {code for _, _, code in told}, told)
        self.assertTrue(all("is in use by another run" in stderr for _, stderr, code in told if code), told)
        self.says(RUN, " 0 of 24 planned cells left")
        self.assertEqual({"slow": 12}, self.calls())


class Links(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.ran(f"{RUN} --limit 3")

    def test_files_of_a_batch_that_are_links_are_replaced_and_never_written_through(self) -> None:
        for name in ("board.md", "board.html", "eval.jsonl", "batch.json"):
            with self.subTest(name):
                path, other = self.batch() / name, self.home / f"mine-{name}"
                other.write_bytes(path.read_bytes() if name == "batch.json" else b"mine\n")
                before = other.read_bytes()
                path.unlink()
                path.symlink_to(other)
                self.well(f"{RUN} --limit 1")
                self.assertEqual((before, False), (other.read_bytes(), path.is_symlink()))

    def test_answers_and_a_trace_that_are_links_are_refused_by_name(self) -> None:
        for name in ("responses.jsonl", "trace.jsonl"):
            with self.subTest(name):
                path, other = self.batch() / name, self.home / f"mine-{name}"
                path.rename(other)
                before = other.read_bytes()
                path.symlink_to(other)
                told = self.type(RUN)
                self.assertIn(told.code, (2, 3), told)
                self.assertIn(f"{name} is a link", told.stderr)
                self.assertEqual(before, other.read_bytes())
                path.unlink()
                other.rename(path)
