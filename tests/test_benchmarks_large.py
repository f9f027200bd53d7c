"""The benchmark of large runs: its commands, its slopes, and what it calls broken; and the logs it is made with."""
from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path

from benchkit.basics.values import Reply
from benchkit.recordings.recording import recording_of
from benchkit.tasks.judging import judge
from benchkit.trial_log.reader import read_log
from benchmarks import large
from benchmarks.large import STAGES, Workflow, broken, command_of, growth, memory_rows, time_rows
from benchmarks.measuring import Cost
from benchmarks.synthetic import ERROR_SHARE, SYSTEM, example_task, many_cases, put_log

MB = 1_000_000


def workflow(cpu_s: dict[int, float], peaks: dict[int, int]) -> Workflow:
    """Every stage took the same."""
    return Workflow({size: {stage: [Cost(9.0, cpu_s[size], peaks[size])] for stage in STAGES} for size in cpu_s})


EVEN = workflow({1_000: 1.05, 10_000: 1.5, 100_000: 6.0, 1_000_000: 51.0},
                {1_000: 30 * MB, 10_000: 40 * MB, 100_000: 50 * MB, 1_000_000: 59 * MB})
"""50 us a trial at every size, and 10 bytes a trial from 100,000 on."""


class Figures(unittest.TestCase):
    def test_time_a_trial_is_a_slope_without_the_start(self) -> None:
        for size in (10_000, 100_000, 1_000_000):
            self.assertAlmostEqual(EVEN.microseconds("judge", size), 50.0)
        self.assertAlmostEqual(growth(EVEN), 1.0)

    def test_memory_a_trial_is_the_slope_between_the_two_largest(self) -> None:
        self.assertAlmostEqual(EVEN.bytes_a_trial("report"), 10.0)

    def test_the_middle_of_rounds_counts_and_the_largest_peak(self) -> None:
        costs = {1_000: [Cost(1, 1.0, 10), Cost(1, 1.0, 10), Cost(1, 9.0, 10)],
                 2_000: [Cost(1, 2.0, 20), Cost(1, 8.0, 90), Cost(1, 2.0, 20)]}
        found = Workflow({size: {"judge": rounds} for size, rounds in costs.items()})
        self.assertAlmostEqual(found.microseconds("judge", 2_000), 1_000.0)
        self.assertEqual(found.peak("judge", 2_000), 90)

    def test_tables_have_a_row_for_each_stage(self) -> None:
        self.assertEqual([row[0] for row in time_rows(EVEN)], [*STAGES, "convert + judge + report"])
        self.assertEqual(time_rows(EVEN)[-1], ["convert + judge + report", "150.0", "150.0", "150.0", "1.00"])
        self.assertEqual(memory_rows(EVEN)[0], ["status", "30", "40", "50", "59", "10.0"])


class Promises(unittest.TestCase):
    def test_nothing_is_broken_where_all_is_even(self) -> None:
        self.assertEqual(broken(EVEN, 1.5, 5 * MB), [])

    def test_what_is_broken_is_named(self) -> None:
        slow = workflow({1_000: 1.05, 10_000: 1.5, 100_000: 6.0, 1_000_000: 61.0},
                        {1_000: 0, 10_000: 0, 100_000: 0, 1_000_000: 65 * 900_000})
        said = broken(slow, 2.1, 21 * MB)
        self.assertIn("a trial costs 1.20 times as much in a large run", said)
        self.assertIn("digests takes 65.0 bytes of memory a trial", said)
        self.assertEqual(said[-2:], ["the scan takes 2.10 times json.loads", "the page has 21,000,000 bytes"])

    def test_sizes_that_make_no_slope_are_refused(self) -> None:
        for words in (["--sizes", "1000", "2000"], ["--sizes", "1000", "1500", "2000"], ["--sizes", "0", "1", "2"]):
            with self.subTest(words), redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                large.main(words)


class Commands(unittest.TestCase):
    def test_they_name_files_after_the_size(self) -> None:
        self.assertEqual(command_of("convert", 1_000)[2:], ["--log", "1000.jsonl", "--convert", "1000.json"])
        self.assertEqual(command_of("judge", 10)[2:], [
            "run", "--cases", "cases.json", "--system", "replay:10.jsonl", "--out", "10-run.jsonl"])
        self.assertTrue(command_of("merge", 10)[1].endswith("bench.py"))


class SyntheticLogs(unittest.TestCase):
    def test_they_are_whole_and_of_no_model(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "draws.jsonl"
            put_log(path, many_cases(40), 20)
            recording = recording_of(read_log(path), None)
        self.assertEqual((recording.system, len(recording.cases), recording.trials), (SYSTEM, 40, 20))
        outcomes = [trial.outcome for case in recording.cases for trial in case.trials]
        errors = sum(not isinstance(outcome, Reply) for outcome in outcomes)
        self.assertLess(errors, 4 * ERROR_SHARE * len(outcomes))
        self.assertGreater(errors, 0)

    def test_equal_seeds_give_equal_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("a", "b", "c")]
            for path, seed in zip(paths, (1, 1, 2), strict=True):
                put_log(path, many_cases(3), 4, seed)
            one, same, other = (path.read_bytes() for path in paths)
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_the_answers_drawn_are_right_wrong_and_none(self) -> None:
        task, cases = example_task(), many_cases(3)
        verdicts = {judge(task, case, answer).verdict for case in cases
                    for answer in (task.baselines["labels"](case, 1), "I cannot say.")}
        self.assertEqual(verdicts, {"pass", "fail"})
