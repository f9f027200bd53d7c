"""Many machines through the command: shards, each with its own log, and the log they make together."""
from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.commands import Told
from tests.fake_ollama import FakeOllama
from tests.workflow import MODEL, Workflow, WorkflowWithServer

COIN = "python3 bench.py --system baselines:coin --trials 4 --quiet"


class Shards(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.logs = [self.folder / f"recorded/coin.shard-{index}-of-3.jsonl" for index in (1, 2, 3)]

    def run_shards(self, *indexes: int) -> list[str]:
        return [self.well(f"{COIN} --shard {index}/3") for index in indexes]

    def cells_of(self, recording: str) -> list[dict[str, Any]]:
        """The cases of a recording, without what tells when and how fast they were run."""
        cases: list[dict[str, Any]] = self.json(recording)["cases"]
        for case in cases:
            for trial in case["trials"]:
                for name in ("recorded_latency_s", "cold"):
                    trial.pop(name, None)
        return cases

    def merge(self, logs: Sequence[Path], out: str = "recorded/coin.jsonl") -> str:
        return self.well(f"python3 bench.py --merge {' '.join(map(str, logs))} --log {out}")


class OneRunOnThreeMachines(Shards):
    def test_together_they_are_the_run_of_one_machine(self) -> None:
        self.run_shards(1, 2, 3)
        self.well(f"{COIN} --log recorded/one.jsonl")
        told = self.merge(self.logs)
        self.assertEqual("recorded/coin.jsonl: 12 of 12 planned trials, 0 left\n"
                         "  show  python3 bench.py --log recorded/coin.jsonl\n", told)
        shown = self.well(self.offered(told, "show") + " --quiet")
        self.assertIn("Nothing was left to run: every planned trial ran", shown)
        self.assertEqual(self.cells_of("recorded/one.json"), self.cells_of("recorded/coin.json"))
        self.well("python3 outputs_digest.py --compare recorded/one.json recorded/coin.json")

    def test_each_runs_its_cells_in_the_order_of_running_into_a_log_of_its_own(self) -> None:
        self.run_shards(2)
        self.assertEqual(self.every_cell(4)[1::3], self.trials(self.logs[1]))
        self.assertEqual(["cases.json", "recorded/coin.shard-2-of-3.jsonl"], list(self.files()))

    def test_a_shard_says_what_it_holds_and_how_all_become_one(self) -> None:
        told, = self.run_shards(3)
        self.assertEqual(
            "Done; shard 3/3: 4 of its 4 trials are recorded in recorded/coin.shard-3-of-3.jsonl, 0 left\n"
            "  merge all shards  python3 bench.py --merge recorded/coin.shard-*-of-3.jsonl --log recorded/coin.jsonl\n"
            "  note              3 divides the 3 cells of a trial, so all trials of a case are in one shard, and one "
            "that is late leaves its cases empty; 4 shards would not\n",
            told)
        again, = self.run_shards(3)
        self.assertEqual(told.replace("Done", "Nothing was left to run"), again)

    def test_a_file_of_cases_is_named_in_what_is_to_be_typed_next(self) -> None:
        (self.folder / "cases.json").rename(self.folder / "mine.json")
        told = [self.well(f"{COIN} --cases mine.json --shard {number}/3") for number in (1, 2, 3)]
        self.assertIn("python3 bench.py --cases mine.json --merge recorded/coin.shard-*-of-3.jsonl --log", told[2])
        merged = self.well(f"bench.py --cases mine.json --merge {' '.join(map(str, self.logs))} --log one.jsonl")
        self.assertRegex(merged, r"show  python3 bench.py --log one.jsonl --cases mine.json")

    def test_a_shard_that_was_cut_short_goes_on(self) -> None:
        told = self.well(f"{COIN} --shard 2/3 --limit 1")
        self.assertIn("Only what was chosen ran; shard 2/3: 1 of its 4 trials are recorded", told)
        self.assertIn("1 of 4 planned trials of shard 2/3 recorded, 3 left",
                      self.well("bench.py --log recorded/coin.shard-2-of-3.jsonl --status", 1))
        self.well(self.offered(told, "go on").replace(" --limit 1", ""))
        self.assertEqual(self.every_cell(4)[1::3], self.trials(self.logs[1]))
        self.assertIn("0 left", self.well("bench.py --log recorded/coin.shard-2-of-3.jsonl --status"))

    def test_a_merge_is_not_offered_while_trials_of_the_shard_are_left(self) -> None:
        told = self.well(f"{COIN} --shard 2/3 --limit 1")
        self.assertIn("  go on ", told)
        self.assertNotIn("--merge", told)
        self.assertIn("  merge all shards  ", self.well(f"{COIN} --shard 2/3"))

    def test_a_merge_over_an_earlier_one_says_so_and_what_to_do(self) -> None:
        out = self.folder / "recorded/coin.jsonl"
        self.well(f"{COIN} --shard 1/3")
        self.well(f"{COIN} --shard 2/3 --limit 1")
        self.merge(self.logs[:2])
        self.run_shards(2, 3)
        again = f"bench.py --merge {' '.join(map(str, self.logs))} --log {out}"
        self.refused(again, 2, "is there already and holds a merge of 5 of the 12 trials of these logs, and nothing "
                               "else; delete it and merge again, or give the name of a new file")
        self.assertIn("12 of 12", self.well(again.replace("coin.jsonl", "new.jsonl")))
        early = out.read_bytes()
        out.unlink()
        self.assertIn("12 of 12", self.well(again))
        self.assertIn("12 of 12", self.well(again))

        out.write_bytes(early)
        self.well(f"bench.py --log {out} --limit 1 --quiet")  # a session that none of the shards has
        for other in (out, self.logs[0]):
            self.refused(f"bench.py --merge {' '.join(map(str, self.logs))} --log {other}", 2,
                         "is there already and holds something else; give the name of a new file")
        self.well(f"{COIN} --log recorded/one.jsonl")
        (self.folder / "recorded/empty.jsonl").touch()
        (self.folder / "recorded/notes.jsonl").write_text("notes\n", encoding="utf-8")
        for name in ("one", "empty", "notes"):
            self.refused(again.replace("coin.jsonl", f"{name}.jsonl"), 2, "holds something else")

    def test_the_log_of_a_shard_goes_on_as_that_shard_and_as_no_other(self) -> None:
        log = "recorded/coin.shard-2-of-3.jsonl"
        self.well(f"{COIN} --shard 2/3 --limit 1")
        self.well(f"python3 bench.py --log {log} --quiet")
        self.assertEqual(self.every_cell(4)[1::3], self.trials(self.logs[1]))
        line = self.refused(f"python3 bench.py --log {log} --shard 1/3", 2, "recorded with --shard 2/3, not 1/3")
        self.assertIn(f"python3 bench.py --log {log} --shard 2/3", line)

    def test_the_log_of_a_whole_run_does_not_become_that_of_a_shard(self) -> None:
        self.well(f"{COIN} --limit 2")
        self.refused("python3 bench.py --log recorded/coin.jsonl --shard 2/3", 2, "recorded for the whole plan",
                     "go on with python3 bench.py --log recorded/coin.jsonl, or")
        told = self.well("bench.py --log recorded/coin.jsonl --status", 1)
        self.assertIn("2 of 12 planned trials recorded, 10 left", told)
        self.assertIn("Done", self.well("bench.py --log recorded/coin.jsonl --shard 1/1 --quiet"))

    def test_a_missing_shard_is_not_run_and_can_be_run_from_there(self) -> None:
        self.run_shards(1, 3)
        told = self.merge([self.logs[0], self.logs[2]])
        self.assertIn("recorded/coin.jsonl: 8 of 12 planned trials, 4 left; none of these logs is of shard 2/3\n", told)
        self.well(self.offered(told, "recording"))
        errors = [trial["error"] for case in self.json("recorded/coin.json")["cases"] for trial in case["trials"]
                  if "error" in trial]
        self.assertEqual([{"type": "NotRun", "message": "not run: only some cases were asked for"}] * 4, errors)
        self.well(self.offered(told, "run what is left") + " --quiet")
        self.well(f"{COIN} --log recorded/one.jsonl")
        self.assertEqual(self.cells_of("recorded/one.json"), self.cells_of("recorded/coin.json"))


class AtTwoServers(WorkflowWithServer):
    """What to do with two servers, as the error of a second --host says it."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.enterContext(FakeOllama())
        self.logs = [self.folder / f"recorded/smol-{index}.jsonl" for index in (1, 2)]

    def type_shards(self) -> list[Told]:
        return [self.type(f"bench.py --system {MODEL} --trials 2 --quiet --shard {index}/2 --host {server.host} "
                          f"--log recorded/smol-{index}.jsonl")
                for index, server in enumerate((self.server, self.other), 1)]

    def test_a_second_host_is_one_line_with_what_to_do_instead_and_without_passwords(self) -> None:
        for more in ("", "--dry-run", "--host third"):
            line = self.refused(f"bench.py --system {MODEL} --host http://ann:sesame-sesame@localhost:1 "
                                f"--host={self.other.host} {more}", 2,
                                f"--host is given {2 + ('third' in more)} times; a run asks one server",
                                "--shard 1/2 --host A, --shard 2/2 --host B", "--merge", "a proxy")
            self.assertNotIn("sesame", line)
        self.assertEqual([[], []], [self.server.seen, self.other.seen])

    def test_each_has_a_part_and_the_logs_become_one(self) -> None:
        self.assertEqual([0, 0], [told.code for told in self.type_shards()])
        self.assertEqual([3, 3], [len(server.chats()) for server in (self.server, self.other)])
        self.well(f"bench.py --merge {' '.join(map(str, self.logs))} --log recorded/smol.jsonl")
        self.assert_once_each(2)

    def test_servers_of_different_digests_make_logs_that_cannot_become_one(self) -> None:
        self.other.models["smollm2:135m"] = "b" * 64
        self.type_shards()
        self.refused(f"bench.py --merge {' '.join(map(str, self.logs))} --log recorded/smol.jsonl", 2,
                     f"of different settings: {MODEL} has another digest")


class RecordedAtSeveralHosts(WorkflowWithServer):
    """Logs of a time when a run could ask several servers itself; their sessions name them."""

    def setUp(self) -> None:
        super().setUp()
        self.well(self.bench("--quiet --limit 4"))
        session = self.lines()[0]
        self.alter(0, environment={**session["environment"], "hosts": ["ada:11434", "bob:11434"]})

    def test_they_are_read_reported_and_gone_on_with(self) -> None:
        self.assertIn("4 of 6 planned trials recorded", self.well("bench.py --log recorded/smol.jsonl --status", 1))
        self.assertIn("several-hosts", self.well(self.bench("--quiet")))
        self.assert_once_each(2)
        self.assertEqual(["ada:11434", "bob:11434"], self.json(self.recording)["sessions"][0]["environment"]["hosts"])
        self.assertNotIn("hosts", self.json(self.recording)["sessions"][1]["environment"])
        self.well("outputs_digest.py recorded/smol.jsonl")


class CopiesOfAGrowingLog(Shards):
    """What is copied to an object store while a shard runs may end in the middle of a line."""

    def setUp(self) -> None:
        super().setUp()
        self.run_shards(1, 2, 3)
        whole = self.logs[1].read_bytes()
        ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
        self.copy = self.folder / "copy.jsonl"
        self.copy.write_bytes(whole[:ends[-2] - 40])

    def test_one_that_is_torn_gives_its_whole_lines_to_a_merge(self) -> None:
        self.assertIn("11 of 12 planned trials, 1 left", self.merge([self.logs[0], self.copy, self.logs[2]]))

    def test_an_older_one_beside_the_log_itself_adds_nothing(self) -> None:
        self.merge(self.logs)
        self.assertIn("12 of 12 planned trials, 0 left", self.merge([*self.logs, self.copy], "recorded/more.jsonl"))
        self.assertEqual(self.trials(self.folder / "recorded/coin.jsonl"),
                         self.trials(self.folder / "recorded/more.jsonl"))

    def test_another_machine_goes_on_from_it_with_the_same_command(self) -> None:
        torn = self.copy.read_bytes()
        self.logs[1].write_bytes(torn)
        self.assertIn("4 of its 4 trials are recorded", self.well(f"{COIN} --shard 2/3"))
        self.assertTrue(self.logs[1].read_bytes().startswith(torn))
        self.assertIn("12 of 12 planned trials, 0 left", self.merge(self.logs))


class WhatDoesNotFit(Shards):
    def test_a_shard_that_cannot_be(self) -> None:
        for shard, words in (("0/3", "I goes from 1 to N"), ("4/3", "I goes from 1 to N"), ("x", "a shard is I/N"),
                             ("auto", "no task of a job array")):
            self.refused(f"{COIN} --shard {shard}", 2, "--shard", words)

    def test_logs_of_different_plans(self) -> None:
        self.run_shards(1)
        self.well("bench.py --system baselines:coin --trials 5 --quiet --shard 2/3")
        self.refused(f"bench.py --merge {self.logs[0]} {self.logs[1]} --log out.jsonl", 2,
                     "coin.shard-2-of-3.jsonl", "coin.shard-1-of-3.jsonl", "trials 5, not 4")

    def test_logs_of_different_systems(self) -> None:
        self.run_shards(1)
        self.well("bench.py --system baselines:keywords --trials 4 --quiet --shard 2/3")
        self.refused(f"bench.py --merge {self.logs[0]} recorded/keywords.shard-2-of-3.jsonl --log out.jsonl", 2,
                     "of different plans: systems baselines:keywords, not baselines:coin")

    def test_cells_with_two_outcomes(self) -> None:
        self.run_shards(1)
        self.log = self.logs[1]
        self.log.write_bytes(self.logs[0].read_bytes())
        self.alter(4, output="another")
        self.refused(f"bench.py --merge {self.logs[0]} {self.log} --log out.jsonl", 2,
                     f"different outcomes of {self.ids[0]} trial 1;", str(self.log))

    def test_files_that_are_missing_or_stand_in_the_way(self) -> None:
        self.run_shards(1)
        (self.folder / "wrong.jsonl").write_bytes(b'{"kind":"trial"}\n')
        for flags, words in (
            (f"--merge {self.logs[0]} none.jsonl --log out.jsonl", "none.jsonl: there is no such file"),
            (f"--merge {self.logs[0]} wrong.jsonl --log out.jsonl", "wrong.jsonl: this is no trial log"),
            (f"--merge {self.logs[0]} --log out.json", "ends in .jsonl"),
            (f"--merge {self.logs[0]}", "--merge need --log"),
            (f"--merge {self.logs[0]} --log out.jsonl --status", "not allowed with"),
            (f"--merge {self.logs[0]} --log {self.logs[0]}", "is there already"),
            ("--merge --log out.jsonl", "--merge: expected"),
        ):
            with self.subTest(flags=flags):
                self.refused(f"bench.py {flags}", 2, words)

    def test_a_log_that_holds_nothing_is_told(self) -> None:
        self.run_shards(1)
        (self.folder / "empty.jsonl").touch()
        told = self.type(f"bench.py --merge empty.jsonl {self.logs[0]} --log out.jsonl")
        self.assertEqual((0, "empty.jsonl: nothing recorded yet\n"), (told.code, told.stderr))
        self.assertIn("4 of 12 planned trials", told.stdout)


class JobArrays(Shards):
    def test_auto_is_the_part_of_this_task(self) -> None:
        slurm = {f"SLURM_ARRAY_TASK_{name}": value for name, value in (
            ("ID", "12"), ("MIN", "10"), ("MAX", "14"), ("COUNT", "3"), ("STEP", "2"))}
        for variables in (slurm, {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "3"}):
            with mock.patch.dict(os.environ, variables):
                told = self.well(f"{COIN} --shard auto --limit 1")
            self.assertEqual(self.every_cell(4)[1:2], self.trials(self.logs[1]))
            # outside of the job, `auto` says nothing any more
            self.assertIn("--shard 2/3", self.offered(told, "go on"))
            self.logs[1].unlink()

    def array(self, task: int, first: int, last: int, count: int) -> None:
        """From now on this is a task of a Slurm job array."""
        found = {"ID": task, "MIN": first, "MAX": last, "COUNT": count, "STEP": 1}
        self.enterContext(mock.patch.dict(os.environ, {f"SLURM_ARRAY_TASK_{name}": str(value)
                                                       for name, value in found.items()}))

    def test_a_task_that_is_run_again_is_not_taken_for_a_whole_array(self) -> None:
        for task in (1, 2):
            self.array(task, 1, 3, 3)
            self.well(f"{COIN} --shard auto")
        for task, first, last, count in ((3, 3, 3, 1), (2, 2, 3, 2), (3, 2, 3, 2)):
            self.array(task, first, last, count)
            for flags in ("", " --log recorded/another.jsonl", " --dry-run"):
                self.refused(f"{COIN} --shard auto{flags}", 2, f"has {count} task", "give --shard auto/3",
                             "coin.shard-1-of-3.jsonl is of shard 1/3 of the same run")
        self.well(f"{COIN} --shard auto/3")
        self.assertEqual(self.every_cell(4)[2::3], self.trials(self.logs[2]))
        self.assertIn("12 of 12 planned trials, 0 left", self.merge(self.logs))

    def test_logs_of_other_runs_and_of_no_run_beside_it_are_no_reason(self) -> None:
        self.array(1, 1, 3, 3)
        for other in ("--system baselines:coin --trials 5", "--system baselines:keywords --trials 4"):
            self.well(f"python3 bench.py --quiet {other} --shard auto")
        self.well(f"{COIN} --log recorded/whole.jsonl")
        for name, text in (("notes", "notes\n"), ("empty", ""), ("rows", '{"a":1}\n{"a":2}\n')):
            (self.folder / f"recorded/{name}.jsonl").write_text(text, encoding="utf-8")
        (self.folder / "recorded/folder.jsonl").mkdir()
        self.array(3, 3, 3, 1)
        self.assertIn("shard 1/1: 12 of its 12", self.well(f"{COIN} --shard auto"))

    def test_a_dry_run_counts_the_cells_of_the_shard(self) -> None:
        told = self.well(f"{COIN} --shard 3/3 --dry-run")
        self.assertIn("0 of 4 planned trials are recorded; this command would run 4, the first of them "
                      f"{self.ids[2]}", told)


class Killed(WorkflowWithServer):
    def test_shards_that_were_killed_go_on_and_merge_into_one_whole_run(self) -> None:
        self.server.delay_s = 0.03
        for index in (1, 2):
            log = self.folder / f"recorded/part-{index}.jsonl"
            flags = self.flags.replace("smol.jsonl", log.name).replace("--trials 2", "--trials 4")
            flags += f" --quiet --shard {index}/2"
            process = self.start(*flags.split())
            self.wait_for(lambda log=log: len(self.trials(log)) >= 2)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.well(f"bench.py {flags}")
            self.assertEqual(self.every_cell(4)[index - 1::2], self.trials(log))
        told = self.well("bench.py --merge recorded/part-1.jsonl recorded/part-2.jsonl --log recorded/smol.jsonl")
        self.assertIn("12 of 12 planned trials, 0 left", told)
        self.assert_once_each(4)
        self.well("bench.py --log recorded/smol.jsonl --convert recorded/smol.json")
        cases = self.json(self.recording)["cases"]
        self.assertEqual(12, sum("output" in trial for case in cases for trial in case["trials"]))
