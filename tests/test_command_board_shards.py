"""A board that several machines answer: shards, each with its log and trace, and the batch they make together."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from benchkit import cli
from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure
from benchkit.basics.json_text import close_line
from benchkit.boards import batch_log
from benchkit.boards.batch_run import one_at_a_time
from benchkit.disk.appending import AppendFile
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import move_whole
from benchkit.running.workload import RunContext
from benchkit.trial_log.merging import Merged, merge_logs
from tests.board_command import BoardCommand, unfolded
from tests.commands import HANGS_S, PYTHON, ROOT

STAMP = "20261130T120000Z"


def run_context_at_noon(_options: object) -> RunContext:
    """Clocks that stand still: what is left to differ is who ran what, and in how many sessions."""
    return RunContext(cli.folders(), 0.0, cli.say, None, Clock(lambda: 0.0, lambda: 1796040000.0), StopRequest())


def typed(command: str) -> subprocess.Popen[bytes]:
    """`python3 board.py ...`, typed in a process of its own."""
    return subprocess.Popen([*PYTHON, str(ROOT / "board.py"), *command.split()], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


class Shards(BoardCommand):
    def shards(self, *indexes: int, of: int = 3, flags: str = "") -> list[str]:
        """Run some shards of the job, one after the other."""
        return [self.well(f"run jobs/tiny.toml {flags} --shard {index}/{of}") for index in indexes]

    def merge(self, code: int = 0) -> str:
        return self.well(f"merge {self.batch().name}", code)

    def log(self, index: int, of: int = 3) -> str:
        return f"responses.shard-{index}-of-{of}.jsonl"

    def ran(self, name: str = "responses.jsonl") -> list[tuple[int, str, str]]:
        """The cells of a log, in its order."""
        return [(line["trial"], line["system"], line["case"]) for line in self.lines(name) if line["kind"] == "trial"]

    def judged(self) -> list[dict[str, object]]:
        """The rows of the newest batch, its folder put out of the way."""
        rows = self.rows()
        shutil.move("runs", f"runs-{len(list(Path().iterdir()))}")
        return rows


class OneBoardOnThreeMachines(Shards):
    def test_together_they_are_the_batch_of_one_machine_byte_for_byte(self) -> None:
        job = (ROOT / "jobs/example.toml").read_text(encoding="utf-8")
        Path("jobs/example.toml").write_text(job.replace("trials = 3", "trials = 1"), encoding="utf-8")
        shutil.rmtree("packs")
        with mock.patch.object(cli, "run_context", run_context_at_noon):
            one = self.well("run jobs/example.toml --offline")
            before = self.files()
            shutil.rmtree("runs")
            for index in (2, 1, 3):
                self.well(f"run jobs/example.toml --offline --shard {index}/3")
            many = self.well(f"merge {STAMP}")
        after = self.files()
        self.assertEqual({"responses.jsonl", "trace.jsonl"}, {
            Path(name).name for name, text in before.items() if after[name] != text})
        for name in set(after) - set(before):
            self.assertRegex(name, rf"{STAMP}/(responses|trace)\.shard-[123]-of-3\.jsonl$")
        self.assertEqual(f"runs/example/{STAMP}: 96 of 96 planned cells merged, 0 left", many.splitlines()[0])
        # behind the first line: the trace, and the whole ranking
        self.assertEqual(one.splitlines()[1:], many.splitlines()[1:])

    def test_any_number_of_shards_gives_the_same_rows(self) -> None:
        self.well("run jobs/tiny.toml")
        rows = self.judged()
        self.shards(*range(5, 0, -1), of=5)
        self.assertIn("24 of 24 planned cells merged, 0 left\ntrace self-consistent\n", self.merge())
        self.assertEqual(("complete", rows), (self.batch_json()["status"], self.judged()))

    def test_each_runs_its_cells_in_the_order_of_running_into_files_of_its_own(self) -> None:
        self.well("run jobs/tiny.toml")
        every = self.ran()
        self.judged()
        told, = self.shards(2)
        self.assertEqual(every[1::3], self.ran(self.log(2)))
        self.assertEqual({"batch.json", "cases.jsonl", self.log(2), "trace.shard-2-of-3.jsonl"},
                         {path.name for path in self.batch().iterdir()})
        folder = f"runs/tiny/{self.batch().name}"
        self.assertEqual(f"{folder}: shard 2/3: 8 new cells, 0 of its 8 planned cells left\n"
                         f"  merge all shards  python3 board.py merge {folder}\ntrace self-consistent\n", told)

    def test_the_events_of_a_trial_stand_together_in_the_order_of_the_log(self) -> None:
        self.job(geometry='"gated"', systems='["robots:buyer", "baselines:buyer"]')
        self.shards(3, 1, 2)
        self.merge()
        parts = [(self.batch() / f"trace.shard-{index}-of-3.jsonl").read_bytes() for index in (1, 2, 3)]
        self.assertEqual(sorted(b"".join(parts).splitlines()),
                         sorted((self.batch() / "trace.jsonl").read_bytes().splitlines()))
        events = [(line["trial"], line["solver"], line["case"]) for line in self.lines("trace.jsonl")]
        self.assertEqual(self.ran(), list(dict.fromkeys(events)))
        self.assertEqual(24, sum(one != other for one, other in zip(events, [None, *events], strict=False)))

    def test_a_merged_batch_is_reported_told_and_published_as_any_other(self) -> None:
        self.shards(1, 2, 3)
        self.merge()
        self.assertIn("trace self-consistent", self.well("report jobs/tiny.toml"))
        self.assertIn("T-2", self.well(f"trace {self.batch().name} --case T-2 --system robots:good"))
        self.assertIn("0 fields changed", self.well(f"recompute {self.batch().name} --full"))
        self.assertIn("0 new cells, 0 of 24", self.well("run jobs/tiny.toml"))
        self.assertIn("is published\n", self.well(f"publish {self.batch().name}"))
        self.assertIn("is published, and stays as it is", self.refused(f"merge {self.batch().name}"))

    def test_merging_again_changes_nothing(self) -> None:
        self.shards(1, 2)
        self.merge()
        before = self.files()
        self.merge()
        self.assertEqual(before, self.files())

    def test_copies_on_other_disks_are_merged_into_one(self) -> None:
        self.shards(1, 2)
        shutil.copytree("runs", "elsewhere")
        for path in Path("elsewhere").rglob("*-of-3.jsonl"):
            path.unlink()
        Path("runs").rename("here")
        Path("elsewhere").rename("runs")
        self.shards(3)
        Path("runs").rename("elsewhere")
        Path("here").rename("runs")
        copy, = Path("elsewhere/tiny").iterdir()
        self.assertIn("24 of 24 planned cells merged", self.well(f"merge {self.batch()} {copy}"))
        self.assertIn("is given twice", self.refused(f"merge {self.batch()} {self.batch()}"))


class WhatIsMissing(Shards):
    def test_a_missing_shard_is_counted_on_the_board_and_can_be_run_without_shards(self) -> None:
        self.shards(1, 3)
        told = self.merge()
        self.assertIn("16 of 24 planned cells merged, 8 left; no log of shard 2/3\n", told)
        self.assertEqual(8, sum((row["error"] or {}).get("type") == "NotRun" for row in self.rows()))
        page = (self.batch() / "board.md").read_text(encoding="utf-8")
        self.assertRegex(page, r"8 of 24 planned cells")
        self.assertEqual("open", self.batch_json()["status"])
        self.assertIn("8 new cells, 0 of 24", self.well("run jobs/tiny.toml"))
        self.assertEqual(24, len(set(self.ran())))

    def test_a_shard_that_comes_late_is_merged_by_the_same_command(self) -> None:
        self.shards(1, 3)
        self.merge()
        self.shards(2)
        words = "8 answers of its shards are not in responses.jsonl yet; first python3 board.py merge"
        self.assertIn(words, self.refused("run jobs/tiny.toml"))
        self.assertIn(words, self.type("report jobs/tiny.toml").stderr)
        self.assertIn(words, self.well(f"publish {self.batch().name}", 1))
        self.assertIn("24 of 24 planned cells merged, 0 left\n", self.merge())
        self.assertEqual(12, self.calls()["good"])

    def test_what_the_batch_holds_already_no_shard_asks_again(self) -> None:
        self.well("run jobs/tiny.toml --limit 4")
        told = self.shards(1, 2, 3)
        self.assertEqual([6, 7, 7], [int(line.split(": ")[2].split()[0]) for line in told])
        self.assertIn("0 of its 8 planned cells left", told[0])
        self.assertIn("24 of 24", self.merge())
        self.assertEqual(24, len(self.ran()))

    def test_models_are_added_in_stages_and_each_stage_is_merged(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        self.shards(1, 2, flags="--models robots:good", of=4)
        line = self.refused("run jobs/tiny.toml --models robots:good,robots:rude --shard 1/4")
        self.assertIn("shared out without robots:rude, and are not in the batch yet; first python3 board.py merge "
                      f"runs/tiny/{self.batch().name}", line)
        self.assertIn("shared out over 4, and are not",
                      self.refused("run jobs/tiny.toml --models robots:good --shard 1/3"))
        self.merge()
        self.shards(1, 2, 3, 4, flags="--models robots:good,robots:rude", of=4)
        self.assertIn("36 of 36 planned cells merged, 0 left", self.merge())
        self.assertEqual(Counter({"baselines:even": 12, "robots:good": 12, "robots:rude": 12}),
                         Counter(system for _, system, _ in self.ran()))
        self.assertEqual({"good": 12, "rude": 12}, self.calls())
        self.assertIn("0 new cells, 0 of its 8", self.shards(1)[0])

    def test_more_trials_are_shared_out_over_a_batch_that_is_merged(self) -> None:
        self.shards(1, 2, 3)
        self.merge()
        self.job(trials="3")
        self.shards(1, 2)
        self.assertIn("are of different plans: trials 2, not 3; run the shard that plans fewer again",
                      self.refused(f"merge {self.batch().name}"))
        self.shards(3)
        self.assertIn("36 of 36 planned cells merged, 0 left\ntrace self-consistent\n", self.merge())
        self.assertEqual((36, 18), (len(set(self.ran())), self.calls()["good"]))
        # over another number: the shards of before plan fewer trials for good
        self.job(trials="4")
        self.shards(*range(1, 5), of=4)
        self.assertIn("48 of 48 planned cells merged, 0 left\ntrace self-consistent\n", self.merge())
        self.assertEqual((48, 24), (len(set(self.ran())), self.calls()["good"]))
        rows = self.judged()
        self.well("run jobs/tiny.toml")
        self.assertEqual(rows, self.judged())

    def test_a_batch_without_any_log_but_those_of_shards_says_what_to_do(self) -> None:
        self.shards(1)
        for command in ("report jobs/tiny.toml", "run jobs/tiny.toml", f"publish {self.batch().name}",
                        f"trace {self.batch().name} --case T-1 --system robots:good"):
            with self.subTest(command=command):
                told = self.type(command)
                self.assertIn("8 answers of its shards are not in responses.jsonl yet; first python3 board.py merge",
                              told.stdout + told.stderr)
                self.assertIn(told.code, (1, 2))


class CutOff(Shards):
    def test_a_shard_that_was_stopped_goes_on(self) -> None:
        told = self.well("run jobs/tiny.toml --shard 2/3 --limit 3")
        self.assertIn("3 new cells, 5 of its 8 planned cells left; only what was chosen ran\n"
                      "  go on             python3 board.py run jobs/tiny.toml --shard 2/3\n", told)
        self.assertIn("5 new cells, 0 of its 8", self.shards(2)[0])

    def test_torn_files_of_a_shard_are_gone_on_with_and_merged(self) -> None:
        self.well("run jobs/tiny.toml --shard 1/3 --limit 3")
        for name in (self.log(1), "trace.shard-1-of-3.jsonl"):
            path = self.batch() / name
            path.write_bytes(path.read_bytes() + b'{"attempt":1,"ca')
        self.merge()
        self.shards(1, 2, 3)
        self.assertIn("24 of 24 planned cells merged, 0 left\ntrace self-consistent\n", self.merge())

    def test_an_altered_line_of_a_shard_is_refused_by_name(self) -> None:
        self.shards(1, 2)
        for name in (self.log(2), "trace.shard-2-of-3.jsonl"):
            with self.subTest(name=name):
                path = self.batch() / name
                before = path.read_bytes()
                path.write_bytes(before.replace(b'"trial":1', b'"trial":2', 1))
                self.assertIn(f"{name}: line ", self.refused(f"merge {self.batch().name}"))
                path.write_bytes(before)
        (self.batch() / self.log(2)).unlink()
        (self.batch() / self.log(2)).touch()
        self.assertIn(f"{self.log(2)}: the answers are gone", self.refused(f"merge {self.batch().name}"))

    def test_an_answer_taken_out_of_a_shard_is_a_violation_of_the_merged_trace(self) -> None:
        self.shards(1, 2, 3)

        def take_out(lines: list[dict[str, object]]) -> None:
            del lines[next(number for number, line in enumerate(lines) if line["kind"] == "trial")]
            for number, line in enumerate(lines):
                line["n"] = number

        self.change_lines(self.log(2), take_out)
        told = self.merge(code=1)
        self.assertIn("23 of 24 planned cells merged, 1 left\ntrace invariant violations: 1\n", told)
        self.assertIn("its trial line is gone", unfolded(told))

    def test_a_trial_that_was_cut_off_stays_abandoned_and_one_that_another_shard_finished_does_not(self) -> None:
        self.shards(1, 2)
        for name in ("responses", "trace"):
            lines = (self.batch() / f"{name}.shard-1-of-3.jsonl").read_bytes()
            (self.batch() / f"{name}.shard-3-of-3.jsonl").write_bytes(lines)
        for index in (1, 2):
            path = self.batch() / self.log(index)
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
        told = self.merge()
        self.assertIn("15 of 24 planned cells merged, 9 left; no log of shard 3/3\ntrace self-consistent\n1 trial "
                      "abandoned", told)

    def test_a_shard_that_was_killed_goes_on_and_all_make_one_whole_batch(self) -> None:
        self.job(systems='["robots:slow"]', trials="1")
        process = typed("run jobs/tiny.toml --shard 1/2")
        end = time.monotonic() + HANGS_S
        while not any(b'"kind":"trial"' in path.read_bytes() for path in Path("runs").glob(f"tiny/*/{self.log(1, 2)}")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.shards(1, 2, of=2)
        told = self.merge()
        self.assertIn("6 of 6 planned cells merged, 0 left\ntrace self-consistent\n", told)
        self.assertEqual(6, len(set(self.ran())))


class MergedWhileOneRecords(Shards):
    """What comes to the files of a shard between the moments in which a merge reads them."""

    def meanwhile(self, *commands: str) -> None:
        """Type these as soon as the logs are merged, and the traces not yet."""
        def merged(paths: Sequence[Path], out: Path, *, joins_systems: bool) -> Merged:
            found = merge_logs(paths, out, joins_systems=joins_systems)
            self.told = [self.type(command) for command in commands]
            return found

        self.enterContext(mock.patch.object(batch_log, "merge_logs", merged))

    def test_what_a_shard_records_meanwhile_is_left_to_the_next_merge(self) -> None:
        self.well("run jobs/tiny.toml --shard 1/3 --limit 2")
        self.well("run jobs/tiny.toml --shard 2/3 --limit 3")
        self.meanwhile(*(f"run jobs/tiny.toml --shard {index}/3" for index in (1, 2, 3)))
        self.assertIn("5 of 24 planned cells merged, 19 left; no log of shard 3/3\ntrace self-consistent\n",
                      self.merge())
        self.assertIn("24 of 24 planned cells merged, 0 left\ntrace self-consistent\ncomplete: ", self.merge())

    def test_a_whole_run_and_another_merge_wait_though_the_batch_has_no_log_yet(self) -> None:
        self.shards(1)
        folder = self.batch()
        shutil.copytree(folder, "copy")
        for path in folder.glob("*.shard-*"):
            path.unlink()
        self.meanwhile("run jobs/tiny.toml", f"merge {folder} copy")
        self.assertIn("8 of 24 planned cells merged", self.well(f"merge {folder} copy"))
        for told in self.told:
            self.assertEqual(3, told.code, told)
            self.assertIn("responses.jsonl is in use by another run", told.stderr)
        self.assertEqual(8, self.calls()["good"] + sum("baselines:even" in cell for cell in self.ran()))

    def test_a_merge_that_is_cut_off_changes_nothing_or_is_finished_by_the_next(self) -> None:
        self.shards(1, 2, 3)
        folder, passing = self.batch(), ["responses.merging.jsonl", "responses.merged.jsonl", "trace.merged.jsonl"]
        shutil.copytree(folder, "copy")
        for name in ("responses.merging.jsonl", "trace.merged.jsonl"):
            (folder / f"{name}.partial-0123456789abcdef").write_bytes(b"as large as the batch")
        for index in (2, 3):
            (folder / self.log(index)).unlink()
            (folder / f"trace.shard-{index}-of-3.jsonl").unlink()
        self.merge()
        self.assertEqual([], list(folder.glob("*.partial-*")))
        before = self.folder(folder)
        for moves, merged in enumerate((8, 24, 24)):
            with self.subTest(moves=moves):
                self.reset(folder, before)
                with mock.patch.object(batch_log, "move_whole", self.cut_off_after(moves)):
                    self.assertEqual(3, self.type(f"merge {folder} copy").code)
                if merged == 24:
                    for command in ("report jobs/tiny.toml", "run jobs/tiny.toml", "run jobs/tiny.toml --shard 2/3"):
                        self.assertIn("a merge was cut off before its end; finish it: python3 board.py merge runs/",
                                      self.refused(command))
                # the copies may be gone by now
                self.assertIn(f"{merged} of 24 planned cells merged, {24 - merged} left", self.merge())
                self.assertIn("trace self-consistent", self.well("report jobs/tiny.toml"))
                self.assertFalse([name for name in passing if (folder / name).exists()])

    def cut_off_after(self, moves: int) -> Callable[[Path, Path], None]:
        """`move_whole`, so many times; then the machine is gone."""
        def move(source: Path, target: Path) -> None:
            nonlocal moves
            if moves == 0:
                raise EnvironmentFailure("the power is gone")
            moves -= 1
            move_whole(source, target)
        return move

    def folder(self, folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def reset(self, folder: Path, files: dict[str, bytes]) -> None:
        for path in folder.iterdir():
            path.unlink()
        for name, data in files.items():
            (folder / name).write_bytes(data)

    def test_a_merge_that_is_refused_leaves_no_log(self) -> None:
        self.shards(1)
        (self.batch() / "trace.shard-1-of-3.jsonl").unlink()
        before = self.files()
        self.refused(f"merge {self.batch().name}")
        self.assertEqual(before, self.files())


class Beginning(Shards):
    def test_shards_that_start_at_once_begin_one_batch(self) -> None:
        processes = [typed(f"run jobs/tiny.toml --shard {index}/2") for index in (1, 2)]
        told = [process.communicate(timeout=HANGS_S)[1] for process in processes]
        self.assertEqual([0] * 2, [process.returncode for process in processes], told)
        self.assertEqual(1, len(self.batches()))
        self.assertIn("24 of 24 planned cells merged", self.merge())

    def test_who_finds_another_at_it_says_so_once_and_waits(self) -> None:
        path = Path("runs/tiny/begin.lock")
        other, said, waited = AppendFile.open(path), list[str](), list[float]()

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                other.close()

        with one_at_a_time(path.parent, said.append, sleep):
            self.assertEqual((["runs/tiny: waiting for another run, which makes the questions"], 3),
                             (said, len(waited)))
            with self.assertRaises(LockedElsewhere):
                AppendFile.open(path)
        self.assertEqual([], list(path.parent.iterdir()))

    def test_begin_makes_another_batch_and_asks_nobody(self) -> None:
        self.well("run jobs/tiny.toml")
        calls = self.calls()
        folder = self.well("begin jobs/tiny.toml").strip()
        self.assertEqual([Path(folder).name], [path.name for path in self.batches()[1:]])
        self.assertEqual(({"batch.json", "cases.jsonl"}, calls),
                         ({path.name for path in self.batch().iterdir()}, self.calls()))
        told = self.well(f"run jobs/tiny.toml --shard 1/3 --batch {folder}")
        self.assertIn(f"{folder}: shard 1/3: 8 new cells", told)

    def test_auto_is_the_part_of_this_task(self) -> None:
        slurm = {f"SLURM_ARRAY_TASK_{name}": value for name, value in (
            ("ID", "12"), ("MIN", "10"), ("MAX", "14"), ("COUNT", "3"), ("STEP", "2"))}
        with mock.patch.dict(os.environ, slurm):
            told = self.well("run jobs/tiny.toml --shard auto --limit 1")
        # outside of the job, `auto` says nothing any more
        self.assertIn("python3 board.py run jobs/tiny.toml --shard 2/3\n", told)
        with mock.patch.dict(os.environ, {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "3"}):
            self.assertIn("7 new cells, 0 of its 8", self.well("run jobs/tiny.toml --shard auto"))

    def test_a_task_that_is_run_again_is_not_taken_for_a_whole_array(self) -> None:
        self.well("run jobs/tiny.toml --shard 1/3")
        again = {f"SLURM_ARRAY_TASK_{name}": value for name, value in (
            ("ID", "2"), ("MIN", "2"), ("MAX", "2"), ("COUNT", "1"), ("STEP", "1"))}
        with mock.patch.dict(os.environ, again):
            line = self.refused("run jobs/tiny.toml --shard auto")
            self.assertIn("responses.shard-1-of-3.jsonl is of shard 1/3 of the same run; to run part", line)
            self.assertIn("give --shard auto/3", line)
            self.assertIn("shard 2/3: 8 new cells", self.well("run jobs/tiny.toml --shard auto/3"))


class WhatDoesNotFit(Shards):
    def setUp(self) -> None:
        super().setUp()
        (self.home / "runs").mkdir()

    def test_a_shard_that_cannot_be(self) -> None:
        for flags, words in (("0/3", "I goes from 1 to N"), ("4/3", "I goes from 1 to N"), ("1/0", "I goes from 1"),
                             ("x", "a shard is I/N"), ("auto", "no task of a job array")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.refused(f"run jobs/tiny.toml --shard {flags}"))

    def test_a_flag_by_which_each_shard_would_have_other_questions(self) -> None:
        for flag in ("--fresh", "--rebuild", "--regen"):
            with self.subTest(flag=flag):
                line = self.refused(f"run jobs/tiny.toml {flag} --shard 1/3")
                self.assertIn("begin a batch once with python3 board.py begin jobs/tiny.toml", line)

    def test_questions_are_not_made_anew_under_shards(self) -> None:
        self.shards(1)
        self.merge()
        self.assertIn("shards were asked its questions", self.refused("run jobs/tiny.toml --rebuild"))

    def test_shards_of_another_world(self) -> None:
        self.shards(1)
        self.job(count="5")
        line = self.refused("run jobs/tiny.toml --shard 2/3")
        self.assertIn("made in another world (count: 6 -> 5); begin another one with python3 board.py begin "
                      "jobs/tiny.toml\n", line)
        line = self.refused(f"run jobs/tiny.toml --batch {self.batch().name}")
        self.assertIn("begin another one with python3 board.py run jobs/tiny.toml --fresh\n", line)

    def test_settings_that_changed_are_put_back_or_asked_in_another_batch(self) -> None:
        self.well("run jobs/tiny.toml --shard 1/3 --limit 5")
        robots = Path("robots.py").read_text(encoding="utf-8")
        Path("robots.py").write_text(robots.replace("1.0}", "0.5}"), encoding="utf-8")
        line = self.refused("run jobs/tiny.toml --shard 1/3")
        self.assertIn("(temperature: 1.0 -> 0.5) since it was recorded; put back what was changed, or begin another "
                      "batch with python3 board.py begin jobs/tiny.toml\n", line)

    def test_shards_of_different_plans(self) -> None:
        self.shards(1)
        self.job(trials="3")
        self.shards(2)
        line = self.refused(f"merge {self.batch().name}")
        self.assertIn(f"{self.log(2)} and ", line)
        self.assertIn("are of different plans: trials 3, not 2", line)

    def test_copies_of_another_job_or_world(self) -> None:
        self.shards(1)
        one = self.batch()
        for name, keys, words in (("other", {}, "is of the job other, and"), ("tiny", {"seed": "2"}, "seed: 2 -> 1")):
            with self.subTest(name=name):
                self.job(name, **keys)
                folder = self.well(f"begin jobs/{name}.toml").strip()
                self.assertIn(words, self.refused(f"merge {one} {folder}"))

    def test_a_cell_with_two_answers(self) -> None:
        self.shards(1, 2)
        text = (self.batch() / self.log(1)).read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            del line["sum"]
            if line["kind"] == "trial":
                line["output"] = "another"
        log, trace = self.batch() / self.log(3), self.batch() / "trace.shard-3-of-3.jsonl"
        log.write_bytes(b"".join(map(close_line, lines)))
        trace.write_bytes((self.batch() / "trace.shard-1-of-3.jsonl").read_bytes())
        line = self.refused(f"merge {self.batch().name}")
        self.assertIn(f"{self.log(3)} and ", line)
        self.assertIn("have different outcomes of T-1 trial 1, T-4 trial 1", line)
        shutil.copyfile(self.batch() / self.log(1), log)
        self.assertIn("16 of 24 planned cells merged, 8 left; no log of shard 3/3\ntrace self-consistent", self.merge())

    def test_no_batch_named(self) -> None:
        self.assertIn("the following arguments are required: BATCH (", self.refused("merge"))

    def test_nothing_to_merge(self) -> None:
        self.well("run jobs/tiny.toml")
        self.assertIn("no shard has recorded anything here", self.refused(f"merge {self.batch().name}"))

    def test_a_batch_that_is_being_recorded(self) -> None:
        from benchkit.trial_log.writer import LogWriter
        self.shards(1)
        self.merge()
        with LogWriter.open(self.batch() / "responses.jsonl"):
            self.assertIn("is in use by another run", self.refused(f"merge {self.batch().name}", 3))


if __name__ == "__main__":
    unittest.main()
