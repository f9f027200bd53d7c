"""Jobs: every key has a meaning, a bound and a default; anything else is one line with file and key."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.boards.job import BatchGate, FromPack, FromTask, Job, JobLimits, job_of, job_to_wire, read_job

ROOT = Path(__file__).resolve().parent.parent
PACK = 'pack = "tiny"\ncount = 4\nsystems = ["baselines:even"]\n'
TASK = 'task = "triage_task"\ncases = "cases.json"\nsystems = ["baselines:keywords"]\n'
WHOLE = """\
pack = "tiny"
count = 10000
seed = 0
reword = "model_triage:gemma"
geometry = "gated"
trials = 5
systems = ["baselines:even", "model_triage:smollm2:135m"]
env_file = "keys.env"
[limits]
timeout_s = 30
steps = 4
budget = 2.5
[batch_gate]
least_questions = 3
most_one_answer = 0.4
most_blind_score = 1
"""


class ReadingAJob(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def put(self, text: str | bytes, name: str = "mine.toml") -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    def refused(self, text: str | bytes, name: str = "mine.toml") -> str:
        path = self.put(text, name)
        with self.assertRaises(Unusable) as caught:
            read_job(path)
        message = str(caught.exception)
        self.assertIn(name, message)
        self.assertNotIn("\n", message)
        return message

    def test_what_is_left_out_has_its_default(self) -> None:
        self.assertEqual(
            Job("mine", FromPack("tiny", 4, 1, None), ("baselines:even",), "single", 3, JobLimits(120.0, None, None),
                BatchGate(), None), read_job(self.put(PACK)))
        self.assertEqual(FromTask("triage_task", "cases.json", "development", None, ()),
                         read_job(self.put(TASK)).asks)

    def test_every_key_is_read(self) -> None:
        self.assertEqual(
            Job("mine", FromPack("tiny", 10_000, 0, "model_triage:gemma"),
                ("baselines:even", "model_triage:smollm2:135m"), "gated", 5,
                JobLimits(30.0, 4, 2.5), BatchGate(3, 0.4, 1.0), "keys.env"), read_job(self.put(WHOLE)))
        self.assertEqual(
            FromTask("triage_task", "cases.json", "test", 9, ("parses",)),
            read_job(self.put(TASK + 'split = "test"\ncount = 9\ngates = ["parses"]\n')).asks)

    def test_a_job_kept_in_a_batch_reads_back_the_same(self) -> None:
        for text in (PACK, TASK, WHOLE):
            with self.subTest(text=text[:12]):
                job = read_job(self.put(text))
                self.assertEqual(job, job_of(job.name, job_to_wire(job)))

    def test_the_jobs_that_come_with_the_kit_can_be_read(self) -> None:
        paths = sorted((ROOT / "jobs").glob("*.toml"))
        self.assertLessEqual({"example", "small_gated", "small_single", "triage"}, {path.stem for path in paths})
        for path in paths:
            self.assertEqual(path.stem, read_job(path).name)

    def test_whatever_is_wrong_is_named_with_its_key(self) -> None:
        for text, words in (
            (PACK + "colour = 1\n", "colour is no field that is known"),
            (PACK + 'cases = "cases.json"\n', "cases is no field that is known"),
            (TASK + "seed = 1\n", "seed is no field that is known"),
            (PACK + 'gates = ["x"]\n', "gates is no field that is known"),
            (PACK + 'task = "t"\n', "pack or task must be there, and only one"),
            ("systems = []\n", "pack or task must be there"),
            (PACK.replace("count = 4", ""), "count is missing"),
            (PACK.replace("4", "0"), "count is 0, not a whole number of at least 1"),
            (PACK.replace("4", "10001"), "count is 10001, not a whole number of at most 10,000"),
            (PACK.replace("4", "4.0"), "count is 4.0, not a whole number"),
            (PACK.replace("4", "true"), "count is true, not a whole number"),
            (PACK.replace('"tiny"', "5"), "pack is 5, not a text"),
            (PACK.replace('"tiny"', '"a\\nb"'), "pack is"),
            (PACK + "seed = -1\n", "seed is -1, not a whole number"),
            (PACK + "trials = 1001\n", "trials is 1001, not a whole number of at most 1,000"),
            (PACK + 'geometry = "both"\n', 'geometry is "both", not one of single, gated'),
            (PACK + 'reword = "gemma"\n', "reword has 'gemma': a system is named module:name"),
            (PACK.replace('["baselines:even"]', "[]"), "systems is a list, not a list of at least one"),
            (PACK.replace('["baselines:even"]', '["even"]'), "systems has 'even': a system is named"),
            (PACK.replace('["baselines:even"]', '["a:b", "a:b"]'), "none of them twice"),
            (PACK.replace('["baselines:even"]', '[1]'), "systems is a list, not a list of texts"),
            (PACK.replace('["baselines:even"]', '["a:\\u001b[2J"]'), r"\x1b"),
            (TASK + 'gates = ["x", "x"]\n', "no check stands twice"),
            (PACK + "limits = 5\n", "limits is 5, not an object"),
            (PACK + "[limits]\nspeed = 1\n", "limits.speed is no field that is known"),
            (PACK + "[limits]\ntimeout_s = 0\n", "limits.timeout_s is 0, not a number above 0"),
            (PACK + "[limits]\ntimeout_s = nan\n", "limits.timeout_s is NaN, not a number above 0"),
            (PACK + "[limits]\ntimeout_s = inf\n", "limits.timeout_s is Infinity, not a number above 0"),
            (PACK + "[limits]\ntimeout_s = true\n", "limits.timeout_s is true, not a number above 0"),
            (PACK + "[limits]\nsteps = 101\n", "limits.steps is 101, not a whole number of at most 100"),
            (PACK + "[batch_gate]\nmost_one_answer = 1.5\n", "batch_gate.most_one_answer is 1.5, not a number"),
            (PACK + "[batch_gate]\nmost = 1\n", "batch_gate.most is no field that is known"),
            (PACK + "env_file = 2030-01-01\n", "env_file is"),
            ("pack = \n", "it is not TOML"),
            ("a = 1\na = 2\n", "it is not TOML"),
            ("a = " + "9" * 5000, "mine.toml"),
            ("a = " + "[" * 30000, "it is nested too deep"),
            (b"a = '\xff'\n", "it is not UTF-8 at byte 5"),
            ("#" * 70000, "larger than"),
        ):
            with self.subTest(words=words):
                self.assertIn(words, self.refused(text))

    def test_a_name_that_could_be_no_folder_is_refused(self) -> None:
        for name in ("My job.toml", "con.toml", ".toml"):
            with self.subTest(name=name):
                self.assertIn("the name becomes a folder", self.refused(PACK, name))

    def test_a_job_that_is_not_there_is_one_line(self) -> None:
        with self.assertRaises(Unusable) as caught:
            read_job(self.folder / "none.toml")
        self.assertIn("none.toml: there is no such file", str(caught.exception))
