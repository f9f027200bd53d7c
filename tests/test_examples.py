"""The examples are true: scripts that parse, flags that exist, and a run shared out that is the run of one machine."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import bench
from benchkit.recordings.digests import digests_of
from benchkit.recordings.recording import Recording, read_recording
from tests.commands import ROOT, cli, put_python3

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted([*EXAMPLES.glob("*.sh"), *EXAMPLES.glob("slurm/*")])
RUN = ("--system", "baselines:coin", "--trials", "2")
# a machine behind ssh that is this one: it notes its name, and runs what it is told
SSH = '#!/usr/bin/env bash\n[ "$1" = -n ] && shift\necho "$1" >>"$0.hosts"\nshift\nexec bash -c "$*"\n'


@unittest.skipUnless(shutil.which("bash"), "the examples are bash scripts")
class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_every_script_parses_and_stops_at_errors(self) -> None:
        self.assertGreaterEqual(len(SCRIPTS), 5)
        for path in SCRIPTS:
            found = subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False)
            self.assertEqual((0, b""), (found.returncode, found.stderr), path.name)
            self.assertIn("set -euo pipefail", path.read_text(encoding="utf-8"), path.name)

    def test_wrong_words_get_the_usage(self) -> None:
        for name, words in (("parallel.sh", ()), ("slurm/submit.sh", ("1-4",)), ("slurm/submit.sh", ("1,3", "x"))):
            found = subprocess.run(["bash", str(EXAMPLES / name), *words], capture_output=True, check=False)
            self.assertEqual((2, b""), (found.returncode, found.stdout), found.stderr)

    def shared_out(self, log: Path, machines: str) -> Recording:
        put_python3(self.folder)
        environment = {**os.environ, "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        found = subprocess.run(["bash", str(EXAMPLES / "parallel.sh"), str(log), "3", machines, *RUN],
                               capture_output=True, check=False, env=environment)
        self.assertEqual((0, b""), (found.returncode, found.stderr), found.stdout)
        self.assertIn(b"128 of 128 planned trials, 0 left", found.stdout)
        return read_recording(log.with_suffix(".json"))

    def test_a_run_shared_out_is_the_run_of_one_machine(self) -> None:
        cli(ROOT, "bench.py", *RUN, "--quiet", "--log", self.folder / "one.jsonl")
        one = read_recording(self.folder / "one.json")
        (self.folder / "ssh").write_text(SSH, encoding="utf-8")
        (self.folder / "ssh").chmod(0o755)
        for log, machines in (("here.jsonl", ":"), ("by ssh.jsonl", "ada,bob")):
            shared = self.shared_out(self.folder / log, machines)
            self.assertEqual(digests_of(one), digests_of(shared))
        self.assertEqual({"ada", "bob"}, set((self.folder / "ssh.hosts").read_text(encoding="utf-8").split()))


class Flags(unittest.TestCase):
    def test_every_flag_that_an_example_gives_bench_is_one_of_its_flags(self) -> None:
        known = set(re.findall(r"--[a-z-]+", bench.parser().format_help()))
        for path in sorted(EXAMPLES.rglob("*")):
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            for command in re.findall(r"bench\.py((?:[^\n]|\\\n)*)", text):
                self.assertLessEqual(set(re.findall(r"--[a-z-]+", command)), known, path.name)

    def test_the_pods_of_the_job_are_told_how_many_they_are(self) -> None:
        text = (EXAMPLES / "kubernetes" / "run.yaml").read_text(encoding="utf-8")
        completions = re.search(r"^  completions: (\d+)$", text, re.MULTILINE)
        told = re.search(r'name: JOB_COMPLETIONS, value: "(\d+)"', text)
        assert completions is not None
        assert told is not None
        self.assertEqual(completions[1], told[1])
        self.assertIn("completionMode: Indexed", text)
        flags = re.findall(r"^            - (--[a-z-]+)$", text, re.MULTILINE)
        self.assertLessEqual({"--shard", "--log"}, set(flags))
        self.assertLessEqual(set(flags), set(re.findall(r"--[a-z-]+", bench.parser().format_help())))
