"""A board that several machines answer: shards, each with its log and trace, and the batch they make together."""
from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit import cli
from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure
from benchkit.boards import batch_log
from benchkit.boards.batch_run import one_at_a_time
from benchkit.disk.appending import AppendFile
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import move_whole
from benchkit.running.workload import RunContext
from benchkit.trial_log.merging import Merged, merge_logs
from benchkit.trial_log.writer import LogWriter
from tests.board_command import BoardCommand
from tests.commands import HANGS_S, ROOT

STAMP = "20261130T120000Z"
RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"


def run_context_at_noon(_options: object) -> RunContext:
    """Clocks that stand still: what is left to differ is who ran what, and in how many sessions."""
    return RunContext(cli.folders(), 0.0, cli.say, None, Clock(lambda: 0.0, lambda: 1796040000.0), StopRequest())


class Shards(BoardCommand):
    def shards(self, *indexes: int, of: int = 3, flags: str = "") -> list[str]:
        """Run some shards of the job, one after the other."""
        return [self.well(f"{RUN} {flags} --shard {index}/{of}") for index in indexes]

    def run_before(self, *indexes: int) -> None:
        """Shards of three that a test begins with."""
        for index in indexes:
            self.ran(f"{RUN} --shard {index}/3")

    def merge(self, *words: str, code: int = 0) -> str:
        """Merge the newest batch: what is said, and all these words in it."""
        return self.says(f"merge {self.batch().name}", *words, code=code)

    def part(self, name: str, index: int, of: int = 3) -> Path:
        """The log (`responses`) or the `trace` of a shard."""
        return self.batch() / f"{name}.shard-{index}-of-{of}.jsonl"

    def cells(self, name: str = "responses.jsonl") -> list[tuple[int, str, str]]:
        """The cells of a log, in its order."""
        return [(line["trial"], line["system"], line["case"]) for line in self.lines(name) if line["kind"] == "trial"]

    def judged(self) -> list[dict[str, Any]]:
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

    def test_each_runs_its_cells_into_files_of_its_own_and_any_number_of_them_gives_the_same_rows(self) -> None:
        self.ran()
        self.refuses(f"merge {self.batch().name}", "no shard has recorded anything here")
        every, rows = self.cells(), self.judged()
        told, = self.shards(2)
        self.assertEqual(every[1::3], self.cells("responses.shard-2-of-3.jsonl"))
        self.assertEqual({"batch.json", "cases.jsonl", "responses.shard-2-of-3.jsonl", "trace.shard-2-of-3.jsonl"},
                         {path.name for path in self.batch().iterdir()})
        folder = f"runs/tiny/{self.batch().name}"
        self.assertEqual(f"{folder}: shard 2/3: 8 new cells, 0 of its 8 planned cells left\n"
                         f"  merge all shards  python3 board.py merge {folder}\ntrace self-consistent\n", told)
        self.well("begin jobs/tiny.toml")
        self.shards(*range(5, 0, -1), of=5)
        self.merge("24 of 24 planned cells merged, 0 left\ntrace self-consistent\n")
        self.assertEqual(("complete", rows), (self.batch_json()["status"], self.judged()))

    def test_the_events_of_a_trial_stand_together_in_the_order_of_the_log(self) -> None:
        self.job(geometry='"gated"', systems='["robots:buyer", "baselines:buyer"]')
        self.shards(3, 1, 2)
        self.merge()
        parts = [self.part("trace", index).read_bytes() for index in (1, 2, 3)]
        self.assertEqual(sorted(b"".join(parts).splitlines()),
                         sorted((self.batch() / "trace.jsonl").read_bytes().splitlines()))
        events = [(line["trial"], line["solver"], line["case"]) for line in self.lines("trace.jsonl")]
        self.assertEqual(self.cells(), list(dict.fromkeys(events)))
        self.assertEqual(24, sum(one != other for one, other in zip(events, [None, *events], strict=False)))

    def test_a_merged_batch_is_merged_again_reported_told_and_published_as_any_other(self) -> None:
        self.run_before(1, 2, 3)
        name = self.batch().name
        self.merge()
        before = self.files()
        self.merge()
        self.assertEqual(before, self.files())
        self.says(REPORT, "trace self-consistent")
        self.says(f"trace {name} --case T-2 --system robots:good", "T-2")
        self.says(f"recompute {name} --full", "0 fields changed")
        self.says(RUN, "0 new cells, 0 of 24")
        self.refuses(f"{RUN} --rebuild", "shards were asked its questions")
        with LogWriter.open(self.batch() / "responses.jsonl"):
            self.refuses(f"merge {name}", "is in use by another run", code=3)
        self.says(f"publish {name}", "is published\n")
        self.refuses(f"merge {name}", "is published, and stays as it is")

    def test_copies_on_other_disks_are_merged_into_one(self) -> None:
        self.run_before(1, 2)
        shutil.copytree("runs", "elsewhere")
        for path in Path("elsewhere").rglob("*-of-3.jsonl"):
            path.unlink()
        Path("runs").rename("here")
        Path("elsewhere").rename("runs")
        self.shards(3)
        Path("runs").rename("elsewhere")
        Path("here").rename("runs")
        copy, = Path("elsewhere/tiny").iterdir()
        self.says(f"merge {self.batch()} {copy}", "24 of 24 planned cells merged")
        self.refuses(f"merge {self.batch()} {self.batch()}", "is given twice")


class WhatIsMissing(Shards):
    UNMERGED = "8 answers of its shards are not in responses.jsonl yet; first python3 board.py merge"

    def test_a_missing_shard_is_counted_on_the_board_and_can_be_run_without_shards(self) -> None:
        self.run_before(1, 3)
        self.merge("16 of 24 planned cells merged, 8 left; no log of shard 2/3\n")
        self.assertEqual(8, sum((row["error"] or {}).get("type") == "NotRun" for row in self.rows()))
        self.board_says("8 of 24 planned cells")
        self.assertEqual("open", self.batch_json()["status"])
        self.says(RUN, "8 new cells, 0 of 24")
        self.assertEqual(24, len(set(self.cells())))

    def test_a_shard_that_comes_late_is_merged_by_the_same_command(self) -> None:
        self.run_before(1, 3)
        self.merge()
        self.shards(2)
        self.refuses(RUN, self.UNMERGED)
        self.assertIn(self.UNMERGED, self.type(REPORT).stderr)
        self.says(f"publish {self.batch().name}", self.UNMERGED, code=1)
        self.merge("24 of 24 planned cells merged, 0 left\n")
        self.assertEqual(12, self.calls()["good"])

    def test_a_batch_without_any_log_but_those_of_shards_says_what_to_do(self) -> None:
        self.run_before(1)
        for command in (REPORT, RUN, f"publish {self.batch().name}",
                        f"trace {self.batch().name} --case T-1 --system robots:good"):
            with self.subTest(command=command):
                told = self.type(command)
                self.assertIn(self.UNMERGED, told.stdout + told.stderr)
                self.assertIn(told.code, (1, 2))

    def test_what_the_batch_holds_already_no_shard_asks_again(self) -> None:
        self.ran(f"{RUN} --limit 4")
        told = self.shards(1, 2, 3)
        self.assertEqual([6, 7, 7], [int(line.split(": ")[2].split()[0]) for line in told])
        self.assertIn("0 of its 8 planned cells left", told[0])
        self.merge("24 of 24")
        self.assertEqual(24, len(self.cells()))

    def test_models_are_added_in_stages_and_each_stage_is_merged(self) -> None:
        self.ran(f"{RUN} --offline")
        self.shards(1, 2, flags="--models robots:good", of=4)
        self.refuses(f"{RUN} --models robots:good,robots:rude --shard 1/4", "shared out without robots:rude, and are "
                     f"not in the batch yet; first python3 board.py merge runs/tiny/{self.batch().name}")
        self.refuses(f"{RUN} --models robots:good --shard 1/3", "shared out over 4, and are not")
        self.merge()
        self.shards(1, 2, 3, 4, flags="--models robots:good,robots:rude", of=4)
        self.merge("36 of 36 planned cells merged, 0 left")
        self.assertEqual(Counter({"baselines:even": 12, "robots:good": 12, "robots:rude": 12}),
                         Counter(system for _, system, _ in self.cells()))
        self.assertEqual({"good": 12, "rude": 12}, self.calls())
        self.says(f"{RUN} --shard 1/3", "0 new cells, 0 of its 8")

    def test_more_trials_are_shared_out_over_a_batch_that_is_merged(self) -> None:
        self.run_before(1, 2, 3)
        self.merge()
        self.job(trials="3")
        self.shards(1, 2)
        self.refuses(f"merge {self.batch().name}",
                     "are of different plans: trials 2, not 3; run the shard that plans fewer again")
        self.shards(3)
        self.merge("36 of 36 planned cells merged, 0 left\ntrace self-consistent\n")
        self.assertEqual((36, 18), (len(set(self.cells())), self.calls()["good"]))
        # over another number: the shards of before plan fewer trials for good
        self.job(trials="4")
        self.shards(*range(1, 5), of=4)
        self.merge("48 of 48 planned cells merged, 0 left\ntrace self-consistent\n")
        self.assertEqual((48, 24), (len(set(self.cells())), self.calls()["good"]))
        rows = self.judged()
        self.well(RUN)
        self.assertEqual(rows, self.judged())


class CutOff(Shards):
    def test_a_shard_that_was_stopped_or_torn_goes_on_and_is_merged(self) -> None:
        self.says(f"{RUN} --shard 1/3 --limit 3", "3 new cells, 5 of its 8 planned cells left; only what was chosen",
                  f"\n  go on             python3 board.py {RUN} --shard 1/3\n")
        for name in ("responses", "trace"):
            with self.part(name, 1).open("ab") as file:
                file.write(b'{"attempt":1,"ca')
        self.merge("3 of 24")
        told = self.shards(1, 2, 3)
        self.assertIn("5 new cells, 0 of its 8", told[0])
        self.merge("24 of 24 planned cells merged, 0 left\ntrace self-consistent\n")

    def test_a_shard_names_the_systems_that_it_was_not_asked_for_and_that_have_cells_left(self) -> None:
        self.job(systems='["baselines:even", "robots:late"]')
        self.well(f"{RUN} --shard 1/1 --limit 11")
        shard = f"{RUN} --shard 1/1 --models"
        told = self.well(f"{shard} baselines:even --limit 1")
        self.assertIn(f"\n  go on             python3 board.py {shard} robots:late,baselines:even\n"
                      f"  try errors again  python3 board.py {shard} robots:late --retry-errors\n", told)
        (go_on,) = re.findall("go on +python3 board.py (.*)", told)
        self.says(go_on, " 0 of its 24 planned cells left")

    def test_an_altered_line_of_a_shard_is_refused_by_name(self) -> None:
        self.run_before(1, 2)
        for name in ("responses", "trace"):
            path = self.part(name, 2)
            before = path.read_bytes()
            path.write_bytes(before.replace(b'"trial":1', b'"trial":2', 1))
            self.refuses(f"merge {self.batch().name}", f"{path.name}: line ")
            path.write_bytes(before)
        log = self.part("responses", 2)
        log.write_bytes(b"")
        self.refuses(f"merge {self.batch().name}", f"{log.name}: the answers are gone")

    def test_an_answer_taken_out_of_a_shard_is_a_violation_of_the_merged_trace(self) -> None:
        self.run_before(1, 2, 3)

        def take_out(lines: list[dict[str, Any]]) -> None:
            del lines[next(number for number, line in enumerate(lines) if line["kind"] == "trial")]
            for number, line in enumerate(lines):
                line["n"] = number

        self.change_lines("responses.shard-2-of-3.jsonl", take_out)
        self.merge("23 of 24 planned cells merged, 1 left\ntrace invariant violations: 1\n",
                   "its trial line is gone", code=1)

    def test_a_trial_that_was_cut_off_stays_abandoned_and_one_that_another_shard_finished_does_not(self) -> None:
        self.run_before(1, 2)
        for name in ("responses", "trace"):
            shutil.copyfile(self.part(name, 1), self.part(name, 3))
        for index in (1, 2):
            path = self.part("responses", index)
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
        self.merge("15 of 24 planned cells merged, 9 left; no log of shard 3/3\ntrace self-consistent\n1 trial "
                   "abandoned")

    def test_a_shard_that_was_killed_goes_on_and_all_make_one_whole_batch(self) -> None:
        self.job(systems='["robots:slow"]', trials="1")
        process = self.process(*RUN.split(), "--shard", "1/2")
        end, logs = time.monotonic() + HANGS_S, "tiny/*/responses.shard-1-of-2.jsonl"
        while not any(b'"kind":"trial"' in path.read_bytes() for path in Path("runs").glob(logs)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.shards(1, 2, of=2)
        self.merge("6 of 6 planned cells merged, 0 left\ntrace self-consistent\n")
        self.assertEqual(6, len(set(self.cells())))


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
        self.ran(f"{RUN} --shard 1/3 --limit 2")
        self.well(f"{RUN} --shard 2/3 --limit 3")
        self.meanwhile(*(f"{RUN} --shard {index}/3" for index in (1, 2, 3)))
        self.merge("5 of 24 planned cells merged, 19 left; no log of shard 3/3\ntrace self-consistent\n")
        self.merge("24 of 24 planned cells merged, 0 left\ntrace self-consistent\ncomplete: ")

    def test_a_whole_run_and_another_merge_wait_though_the_batch_has_no_log_yet(self) -> None:
        self.run_before(1)
        folder = self.batch()
        shutil.copytree(folder, "copy")
        for path in folder.glob("*.shard-*"):
            path.unlink()
        self.meanwhile(RUN, f"merge {folder} copy")
        self.says(f"merge {folder} copy", "8 of 24 planned cells merged")
        for told in self.told:
            self.assertEqual(3, told.code, told)
            self.assertIn("responses.jsonl is in use by another run", told.stderr)
        self.assertEqual(8, self.calls()["good"] + sum("baselines:even" in cell for cell in self.cells()))

    def test_a_merge_that_is_cut_off_changes_nothing_or_is_finished_by_the_next(self) -> None:
        self.run_before(1, 2, 3)
        folder, passing = self.batch(), ["responses.merging.jsonl", "responses.merged.jsonl", "trace.merged.jsonl"]
        shutil.copytree(folder, "copy")
        for name in ("responses.merging.jsonl", "trace.merged.jsonl"):
            (folder / f"{name}.partial-0123456789abcdef").write_bytes(b"as large as the batch")
        for index in (2, 3):
            self.part("responses", index).unlink()
            self.part("trace", index).unlink()
        self.merge()
        self.assertEqual([], list(folder.glob("*.partial-*")))
        shutil.copytree(folder, "before")
        for moves, merged in enumerate((8, 24, 24)):
            with self.subTest(moves=moves):
                shutil.rmtree(folder)
                shutil.copytree("before", folder)
                with mock.patch.object(batch_log, "move_whole", self.cut_off_after(moves)):
                    self.assertEqual(3, self.type(f"merge {folder} copy").code)
                if merged == 24:
                    for command in (REPORT, RUN, f"{RUN} --shard 2/3"):
                        self.refuses(command, "a merge was cut off before its end; finish it: python3 board.py merge "
                                              "runs/")
                # the copies may be gone by now
                self.merge(f"{merged} of 24 planned cells merged, {24 - merged} left")
                self.says(REPORT, "trace self-consistent")
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

    def test_a_merge_that_is_refused_leaves_no_log(self) -> None:
        self.run_before(1)
        self.part("trace", 1).unlink()
        self.refused(f"merge {self.batch().name}")


class Beginning(Shards):
    def test_shards_that_start_at_once_begin_one_batch(self) -> None:
        processes = [self.process(*RUN.split(), "--shard", f"{index}/2") for index in (1, 2)]
        told = [process.communicate(timeout=HANGS_S)[1] for process in processes]
        self.assertEqual([0] * 2, [process.returncode for process in processes], told)
        self.assertEqual(1, len(self.batches()))
        self.merge("24 of 24 planned cells merged")

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
        self.ran()
        calls = self.calls()
        folder = self.well("begin jobs/tiny.toml").strip()
        self.assertEqual([Path(folder).name], [path.name for path in self.batches()[1:]])
        self.assertEqual(({"batch.json", "cases.jsonl"}, calls),
                         ({path.name for path in self.batch().iterdir()}, self.calls()))
        self.says(f"{RUN} --shard 1/3 --batch {folder}", f"{folder}: shard 1/3: 8 new cells")

    def task(self, number: int, least: int, most: int, count: int, step: int = 1) -> Any:
        """As a task of a job array of Slurm."""
        facts = {"ID": number, "MIN": least, "MAX": most, "COUNT": count, "STEP": step}
        return mock.patch.dict(os.environ, {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in facts.items()})

    def test_auto_is_the_part_of_this_task(self) -> None:
        with self.task(12, 10, 14, 3, 2):
            # outside of the job, `auto` says nothing any more
            self.says(f"{RUN} --shard auto --limit 1", f"python3 board.py {RUN} --shard 2/3\n")
        with mock.patch.dict(os.environ, {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "3"}):
            self.says(f"{RUN} --shard auto", "7 new cells, 0 of its 8")

    def test_a_task_that_is_run_again_is_not_taken_for_a_whole_array(self) -> None:
        self.run_before(1)
        with self.task(2, 2, 2, 1):
            self.refuses(f"{RUN} --shard auto", "responses.shard-1-of-3.jsonl is of shard 1/3 of the same run; to run "
                         "part", "give --shard auto/3")
            self.says(f"{RUN} --shard auto/3", "shard 2/3: 8 new cells")


class WhatDoesNotFit(Shards):
    def test_flags_that_cannot_be(self) -> None:
        (self.home / "runs").mkdir()
        begin = "begin a batch once with python3 board.py begin jobs/tiny.toml"
        for flags, words in (("0/3", "I goes from 1 to N"), ("4/3", "I goes from 1 to N"), ("1/0", "I goes from 1"),
                             ("x", "a shard is I/N"), ("auto", "no task of a job array"), ("1/3 --fresh", begin),
                             ("1/3 --rebuild", begin), ("1/3 --regen", begin)):
            with self.subTest(flags=flags):
                self.refuses(f"{RUN} --shard {flags}", words)
        self.refuses("merge", "the following arguments are required: BATCH (")

    def test_shards_of_another_world_or_with_other_settings(self) -> None:
        self.ran(f"{RUN} --shard 1/3 --limit 5")
        self.job(count="5")
        world = ("what its questions were made from has changed (count: 6 -> 5); begin another batch with python3 "
                 "board.py ")
        self.refuses(f"{RUN} --shard 2/3", f"{world}begin jobs/tiny.toml\n")
        self.refuses(f"{RUN} --batch {self.batch().name}", f"{world}{RUN} --fresh\n")
        self.job()
        self.rewrite("robots.py", ("1.0}", "0.5}"))
        self.refuses(f"{RUN} --shard 1/3", "(temperature: 1.0 -> 0.5) since it was recorded; put back what was "
                     "changed, or begin another batch with python3 board.py begin jobs/tiny.toml\n")

    def test_copies_of_another_job_or_world(self) -> None:
        self.run_before(1)
        one = self.batch()
        for name, keys, words in (("other", {}, "is of the job other, and"), ("tiny", {"seed": "2"}, "seed: 2 -> 1")):
            with self.subTest(name=name):
                self.job(name, **keys)
                folder = self.well(f"begin jobs/{name}.toml").strip()
                self.refuses(f"merge {one} {folder}", words)

    def test_a_cell_with_two_answers(self) -> None:
        self.run_before(1, 2)

        def answer_otherwise(lines: list[dict[str, Any]]) -> None:
            for line in lines:
                if line["kind"] == "trial":
                    line["output"] = "another"

        for name in ("responses", "trace"):
            shutil.copyfile(self.part(name, 1), self.part(name, 3))
        self.change_lines("responses.shard-3-of-3.jsonl", answer_otherwise)
        self.refuses(f"merge {self.batch().name}", "responses.shard-3-of-3.jsonl and ",
                     "have different outcomes of T-1 trial 1, T-4 trial 1")
        shutil.copyfile(self.part("responses", 1), self.part("responses", 3))
        self.merge("16 of 24 planned cells merged, 8 left; no log of shard 3/3\ntrace self-consistent")
