"""The command outputs_digest.py: digests printed, kept, checked and compared; what it prints, and its exit codes."""
from __future__ import annotations

import json
import os
import shutil
import unittest
from pathlib import Path

from benchkit.basics.values import Outcome
from benchkit.recordings.digests import digests_of
from benchkit.recordings.recording import keep_recording, recording_of
from benchkit.trial_log.reader import read_log
from tests.commands import Told
from tests.logs_samples import Session, altered, broken, put_log
from tests.recordings_samples import failure, mixed_outcomes, reply, toy
from tests.test_tasks_task import InAFolder
from tests.workflow import typed_in

FIRST_TRIAL_LINE = 4
"""A sample log begins with its session, plan, system and loaded lines."""


class AtTheCommand(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.task, self.cases = toy(self.folder)
        self.log = put_log(self.folder / "robot.jsonl", self.task, self.cases, mixed_outcomes(), "budget")

    def digest(self, *flags: str) -> Told:
        return typed_in(self.folder, "outputs_digest.py", *flags)

    def refused(self, told: Told, words: str) -> None:
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertEqual(1, told.stderr.count("\n"), told.stderr)
        self.assertIn(words, told.stderr)

    def other(self, folder: str, case: str = "two", trial: int = 1, output: str = "yes!") -> Path:
        """The same log in another folder, but for one output."""
        (self.folder / folder).mkdir(exist_ok=True)
        outcomes = mixed_outcomes()
        outcomes[case][trial - 1] = reply(output)
        return put_log(self.folder / folder / "robot.jsonl", self.task, self.cases, outcomes, "budget")


class Printing(AtTheCommand):
    def test_the_digest_of_every_log_is_a_line(self) -> None:
        digests = digests_of(recording_of(read_log(self.log), None))
        self.assertEqual(Told(0, f"{digests.sha256}  robot  6 of 8 trials, settings {digests.settings_sha256[:16]}\n",
                              ""), self.digest("robot.jsonl"))

    def test_what_is_no_log_is_refused(self) -> None:
        shutil.copy(self.log, self.folder / "robot.json")
        (self.folder / "empty.jsonl").write_bytes(b"")
        for flags, words in (
            (("nowhere.jsonl",), "nowhere.jsonl: there is no such file"), (("robot.json",), "end in .jsonl"),
            (("empty.jsonl",), "nothing recorded yet"), ((), "name a log"),
            (("robot.jsonl", "./robot.jsonl"), "two logs of the name robot"),
            (("robot.jsonl", "--label", "x"), "go together"), (("robot.jsonl", "--update", "x"), "go together"),
            (("robot.jsonl", "--check", "x"), "take no further logs"),
            (("robot.jsonl", "--system", "toys:doll"), "it holds no toys:doll"),
        ):
            with self.subTest(flags=flags):
                self.refused(self.digest(*flags), words)

    def test_a_log_of_several_systems_needs_a_name(self) -> None:
        with Session(self.folder / "both.jsonl", self.task, self.cases, 1, ("toys:robot", "toys:doll")) as session:
            session.trial("two", 1, reply("yes"), system="toys:doll")
        self.refused(self.digest("both.jsonl"), "say which with --system: toys:robot, toys:doll")
        self.assertIn("1 of 2 trials", self.digest("both.jsonl", "--system", "toys:doll").stdout)

    def test_an_altered_line_is_refused_with_its_line(self) -> None:
        broken(self.log, FIRST_TRIAL_LINE)
        self.refused(self.digest("robot.jsonl"), "line 5")


class KeepingAndChecking(AtTheCommand):
    def keep(self, log: str, label: str) -> Told:
        return self.digest(log, "--update", "recordings.json", "--label", label)

    def test_an_entry_is_kept_and_passes(self) -> None:
        self.assertEqual(Told(0, "recordings.json: entry 1, first: robot\n", ""), self.keep("robot.jsonl", "first"))
        self.assertEqual(Told(0, "robot: 6 trials (2 ended in an error), equal to first\n", ""),
                         self.digest("--check", "recordings.json"))

    def test_logs_without_an_entry_are_counted_and_the_first_is_named(self) -> None:
        self.keep("robot.jsonl", "first")
        for name in ("b log.jsonl", "a.jsonl"):
            shutil.copy(self.log, self.folder / name)
        (self.folder / "record.jsonl").write_text('{"run_record": 2}\n', encoding="ascii")
        (self.folder / "0.jsonl").touch()
        (self.folder / "00.jsonl").symlink_to("robot.jsonl")
        (self.folder / "000.jsonl").symlink_to("000.jsonl")
        told = self.digest("--check", "recordings.json")
        self.assertEqual((0, "recordings.json: 2 logs beside it have no entry and are not checked; the first is "
                             "a.jsonl (python3 outputs_digest.py LOG --update recordings.json --label TEXT)\n"),
                         (told.code, told.stderr))

    @unittest.skipIf(os.access("/root", os.R_OK), "whoever may read everything is refused nothing")
    def test_a_file_beside_it_that_cannot_be_read_is_passed_over(self) -> None:
        self.keep("robot.jsonl", "first")
        shutil.copy(self.log, self.folder / "a.jsonl")
        (self.folder / "a.jsonl").chmod(0)
        told = self.digest("--check", "recordings.json")
        self.assertEqual((0, ""), (told.code, told.stderr))

    def test_an_existing_label_is_refused_and_nothing_is_changed(self) -> None:
        self.keep("robot.jsonl", "first")
        before = (self.folder / "recordings.json").read_bytes()
        self.refused(self.keep("robot.jsonl", "first"), "the label first is there already")
        self.assertEqual(before, (self.folder / "recordings.json").read_bytes())

    def test_a_label_of_several_lines_is_refused(self) -> None:
        for label in ("", " ", "a\nb", "a\x1b[2J"):
            with self.subTest(label=label):
                self.refused(self.keep("robot.jsonl", label), "--label")

    def test_a_log_passes_that_equals_one_entry_of_several(self) -> None:
        self.other("again")
        self.keep("again/robot.jsonl", "another machine")
        self.keep("robot.jsonl", "this machine")
        told = self.digest("--check", "recordings.json")
        words = "robot: 6 trials (2 ended in an error), equal to this machine; another machine: 1 trial differs\n"
        self.assertEqual(Told(0, words, ""), told)

    def test_one_altered_character_is_named_with_case_and_trial(self) -> None:
        self.keep("robot.jsonl", "first")
        altered(self.log, FIRST_TRIAL_LINE, output="yeS")
        told = self.digest("--check", "recordings.json")
        self.assertEqual(Told(1, "robot: 6 trials (2 ended in an error), equal to no entry; nearest first: 1 trial "
                                 "differs, the first is case two, trial 1\n", ""), told)

    def test_a_log_that_is_not_beside_the_file_is_refused(self) -> None:
        self.keep("robot.jsonl", "first")
        self.log.unlink()
        told = self.digest("--check", "recordings.json")
        self.refused(told, "robot.jsonl: there is no such file; --check looks for the logs of recordings.json beside")
        self.assertIn("python3 outputs_digest.py --compare 'recordings.json#LABEL' LOG", told.stderr)

    def test_an_entry_whose_log_is_not_beside_the_file_is_kept_and_where_check_looks_is_said(self) -> None:
        told = self.digest("robot.jsonl", "--update", "kept/recordings.json", "--label", "first")
        self.assertEqual((0, "kept/recordings.json: entry 1, first: robot\n"), (told.code, told.stdout))
        self.assertEqual(1, told.stderr.count("\n"))
        self.assertIn(f"--check looks for logs beside it, and in {(self.folder / 'kept').resolve()} there is no "
                      "robot.jsonl", told.stderr)
        self.refused(self.digest("--check", "kept/recordings.json"), "put the log there, or compare it where it is")
        shutil.copy(self.log, self.folder / "kept")
        self.assertEqual(0, self.digest("--check", "kept/recordings.json").code)

    def test_a_file_of_another_shape_is_refused(self) -> None:
        for text, words in (("{}", "recordings is missing"), ("[]", "not an object"), ("{", "not JSON"),
                            ('{"recordings": 1, "entries": []}', "it holds no entry yet")):
            with self.subTest(text=text):
                (self.folder / "recordings.json").write_text(text, encoding="ascii")
                self.refused(self.digest("--check", "recordings.json"), words)
        self.refused(self.digest("--check", "nowhere.json"), "nowhere.json")


class Comparing(AtTheCommand):
    def test_equal_recordings_are_equal(self) -> None:
        keep_recording(self.folder / "robot.json", recording_of(read_log(self.log), None))
        self.assertEqual(Told(0, (
            "robot.jsonl and robot.json: 4 of 4 outputs that both have are equal\n"
            "  warm: 2 of 2 equal (100.0 %)\n"
            "  cold: 2 of 2 equal (100.0 %)\n"
            "  2 trials ended in an error on both sides, 2 with the same type\n"
            "  equal pairs of outputs inside a case, without cold trials: robot.jsonl n/a, robot.json n/a\n"),
            ""), self.digest("--compare", "robot.jsonl", "robot.json"))

    def test_errors_are_no_equal_outputs_but_an_error_beside_an_output_or_another_error_is_a_difference(self) -> None:
        lost, both = [failure("BrokenReply", None)] * 2, "  6 trials ended in an error on both sides, "
        last: tuple[tuple[str, Outcome, int, list[str]], ...] = (
            ("same", lost[0], 0, ["0 of 0 outputs that both have are equal", f"{both}6 with the same type"]),
            ("types", failure(), 1, ["0 of 0 outputs that both have", f"{both}5 with the same type",
                                     "the first that differs: case three, trial 3"]),
            ("one", reply("no"), 1, ["  5 trials ended in an error on both sides, 5 with the same type\n",
                                     "  1 trial ended in an error in a.jsonl only\n"]))
        ends: list[tuple[str, Outcome]] = [("a", lost[0]), *((name, outcome) for name, outcome, _, _ in last)]
        for name, outcome in ends:
            put_log(self.folder / f"{name}.jsonl", self.task, self.cases,
                    {"two": [*lost, lost[0]], "three": [*lost, outcome]})
        for name, _, code, lines in last:
            told = self.digest("--compare", "a.jsonl", f"{name}.jsonl")
            with self.subTest(name):
                self.assertEqual((code, ""), (told.code, told.stderr))
                self.assertEqual([], [line for line in lines if line not in told.stdout], told.stdout)
                self.assertNotIn("warm", told.stdout.partition("differs")[0])

    def test_one_recording_given_twice_is_said(self) -> None:
        for other in ("robot.jsonl", "./robot.jsonl"):
            told = self.digest("--compare", "robot.jsonl", other)
            self.assertEqual((0, f"robot.jsonl and {other} are one recording, given twice: they can only be equal\n"),
                             (told.code, told.stderr))

    def test_the_first_difference_is_shown_where_the_texts_part(self) -> None:
        self.other("again")
        told = self.digest("--compare", "robot.jsonl", "again/robot.jsonl")
        self.assertEqual((1, ""), (told.code, told.stderr))
        self.assertIn("  cold: 1 of 2 equal (50.0 %)\n", told.stdout)
        self.assertIn('  the first that differs: case two, trial 1 (cold), from character 4 on: "" and "!"\n',
                      told.stdout)

    def test_settings_and_circumstances_that_differ_are_told_by_name(self) -> None:
        with Session(self.folder / "other.jsonl", self.task, self.cases, 1,
                     settings={"model": "toy", "temperature": 0.5, "seed": None, "top_k": 3}) as session:
            session.trial("two", 1, reply("yep"))
            session.trial("three", 1, reply("none"))
        altered(self.folder / "other.jsonl", 0, hardware="another", environment={"processor": "two chips"})
        told = self.digest("--compare", "robot.jsonl", "other.jsonl")
        self.assertEqual((1, ""), (told.code, told.stderr))
        self.assertIn(
            "  settings that differ:\n"
            "    temperature: 1.0 and 0.5\n"
            "    top_k: null and 3\n"
            "  circumstances that differ:\n"
            '    hardware: null and "another"\n'
            '    platform: "an OS" and null\n'
            '    processor: "a chip" and "two chips"\n'
            '    python: "3" and null\n'
            '    server: "toy" and null\n'
            '  the first that differs: case two, trial 1 (cold), from character 3 on: "s" and "p"\n'
            "  outputs that differ do so first at character 3\n", told.stdout)
        self.digest("robot.jsonl", "--update", "recordings.json", "--label", "the first")
        self.assertIn("  the settings of the two differ; which do is not known\n",
                      self.digest("--compare", "recordings.json#the first", "other.jsonl").stdout)

    def test_control_characters_of_an_output_are_shown_never_sent(self) -> None:
        self.other("again", output="yes\x1b[2J\u202e\n")
        told = self.digest("--compare", "robot.jsonl", "again/robot.jsonl")
        self.assertIn(r'"\x1b[2J\u202e\n"', told.stdout)

    def test_an_entry_of_a_file_of_digests_is_compared_by_its_label(self) -> None:
        self.digest("robot.jsonl", "--update", "recordings.json", "--label", "the first")
        self.other("again")
        self.assertEqual(0, self.digest("--compare", "recordings.json#the first", "robot.jsonl").code)
        told = self.digest("--compare", "recordings.json#the first", "again/robot.jsonl")
        self.assertEqual((1, ""), (told.code, told.stderr))
        self.assertIn("  the first that differs: case two, trial 1 (cold)\n", told.stdout)
        self.refused(self.digest("--compare", "recordings.json#another", "robot.jsonl"), "there are: the first")

    def test_of_an_entry_with_several_logs_the_one_of_the_same_name_is_meant(self) -> None:
        other = put_log(self.folder / "doll.jsonl", self.task, self.cases, {"two": [reply("x")], "three": [reply("y")]})
        self.digest("robot.jsonl", "doll.jsonl", "--update", "recordings.json", "--label", "both")
        self.assertEqual(0, self.digest("--compare", "recordings.json#both", "doll.jsonl").code)
        other.rename(self.folder / "bear.jsonl")
        self.refused(self.digest("--compare", "recordings.json#both", "bear.jsonl"), "the entry holds robot, doll")

    def test_nothing_in_common_is_refused(self) -> None:
        with Session(self.folder / "none.jsonl", self.task, self.cases, 1) as session:
            session.stop("interrupted")
        self.refused(self.digest("--compare", "robot.jsonl", "none.jsonl"), "no trial in common")

    def test_trials_on_one_side_only_are_counted_and_are_no_difference(self) -> None:
        put_log(self.folder / "part.jsonl", self.task, self.cases, {
            "two": [reply("yes")], "three": [reply("no")]}, "budget")
        told = self.digest("--compare", "robot.jsonl", "part.jsonl")
        self.assertEqual((0, ""), (told.code, told.stderr))
        self.assertIn("  on one side only: 4 trials of robot.jsonl, 0 of part.jsonl\n", told.stdout)


class TheCommandLineItself(AtTheCommand):
    def test_help_names_every_flag(self) -> None:
        told = self.digest("--help")
        self.assertEqual((0, ""), (told.code, told.stderr))
        for flag in ("LOG", "--update", "--label", "--check", "--compare", "--system", "--version"):
            self.assertIn(flag, told.stdout)

    def test_the_file_of_digests_is_plain_json(self) -> None:
        self.digest("robot.jsonl", "--update", "recordings.json", "--label", "a")
        entry = json.loads((self.folder / "recordings.json").read_bytes())["entries"][0]
        self.assertEqual({"label", "recorded_at", "machine", "server", "logs"}, entry.keys())
        self.assertEqual({"settings_sha256", "sha256", "trials"}, entry["logs"]["robot"].keys())
