"""Files of version 1 are read for ever: what follows from them is, byte for byte, what follows from version 2.

tests/version1 holds what version 1 wrote: of the toy log of tests/goldens (`robot`), and two cases of the inbox.
"""
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.recordings.recording import keep_recording, read_recording
from benchkit.recordings.run_record import keep_run_record, read_run_record
from tests.commands import ROOT
from tests.goldens import CIRCUMSTANCES, TOY, _modules_of
from tests.test_tasks_task import InAFolder
from tests.workflow import typed_in

VERSION_1 = ROOT / "tests" / "version1"
RECORDINGS = ("qwen2.5-coder-partial.json", "robot.json", "smollm2.json")
RUN_RECORDS = ("robot-lines.jsonl", "robot-run.json", "smollm2-run.json")
MADE = "--out made.json --html made.html --markdown made.md --junit made.xml --csv made.csv"
JUDGE = "harness.py run --task parity_task --cases cases.json --system replay:{} --out {}"


class Version1(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = (self.folder / name for name in ("1", "2"))
        for folder in (self.one, self.two):
            shutil.copytree(TOY, folder)

    def typed(self, folder: Path, command: str) -> str:
        """What a command prints that is done."""
        with _modules_of(folder):
            told = typed_in(folder, *command.split())
        self.assertEqual(0, told.code, told.stderr)
        return told.stdout

    def reported(self, folder: Path, name: str) -> list[bytes]:
        """All that report.py prints and writes of a run."""
        text = self.typed(folder, f"report.py {name} {MADE}")
        return [text.encode(), *(path.read_bytes() for path in sorted(folder.glob("made.*")))]

    def judged(self, folder: Path, source: str, out: str = "robot-run.json") -> str:
        """The run record of the toy task, but for when and where it was made."""
        self.typed(folder, JUDGE.format(source, out))
        return CIRCUMSTANCES.sub("", (folder / out).read_text(encoding="ascii"))

    def test_a_file_says_which_version_it_is(self) -> None:
        for name in (*RECORDINGS, *RUN_RECORDS):
            head = (VERSION_1 / name).read_bytes()[:40]
            self.assertRegex(head, rb'^\{\s*"(recording|run_record)": ?1,')

    def test_a_report_is_the_same_from_either_version(self) -> None:
        for name in RUN_RECORDS:
            with self.subTest(name):
                shutil.copy(VERSION_1 / name, self.one)
                keep_run_record(self.two / name, read_run_record(self.one / name))
                self.assertRegex((self.two / name).read_bytes()[:40], rb'^\{\s*"run_record": 2,')
                self.assertEqual(self.reported(self.one, name), self.reported(self.two, name))

    def test_a_recording_says_the_same_in_either_version(self) -> None:
        for name in RECORDINGS:
            with self.subTest(name):
                keep_recording(self.two / name, read_recording(VERSION_1 / name))
                kept, made = (json.loads((folder / name).read_bytes()) for folder in (VERSION_1, self.two))
                self.assertEqual({**kept, "recording": 2}, made)
                self.assertEqual(read_recording(VERSION_1 / name), read_recording(self.two / name))

    def test_a_log_comes_to_the_same_verdicts_and_report_by_way_of_either_version(self) -> None:
        shutil.copy(VERSION_1 / "robot.json", self.one)
        self.typed(self.two, "bench.py --log robot.jsonl --convert robot.json")
        kept = json.loads((VERSION_1 / "robot-run.json").read_bytes())
        records = [self.judged(folder, "robot.json") for folder in (self.one, self.two)]
        self.assertEqual(*records)
        made = json.loads((self.two / "robot-run.json").read_bytes())
        for key in ("run_record", "started_at", "environment"):
            del kept[key], made[key]
        self.assertEqual(kept, made)
        reports = [self.reported(folder, "robot-run.json") for folder in (self.one, self.two)]
        shutil.copy(VERSION_1 / "robot-run.json", self.one)
        self.assertEqual([reports[0]] * 2, [reports[1], self.reported(self.one, "robot-run.json")])

    def test_a_version_that_is_not_known_is_refused_by_name(self) -> None:
        for name, read in ((RECORDINGS[0], read_recording), (RUN_RECORDS[0], read_run_record)):
            for version in ("0", "3", "1.0", "true", '"1"'):
                with self.subTest(name=name, version=version):
                    text = (VERSION_1 / name).read_text(encoding="ascii")
                    path = self.folder / name
                    path.write_text(re.sub(r'(record\w*": ?)1', rf"\g<1>{version}", text, count=1), encoding="ascii")
                    with self.assertRaisesRegex(Unusable, f"is {version}, not 1 or 2, the versions this kit reads"):
                        read(path)
