"""Large runs: a log is converted, judged and read back trial by trial, in little memory, with the very same bytes."""
from __future__ import annotations

import json
import tempfile
import tracemalloc
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.errors import Unusable
from benchkit.basics.on_demand import OnDemand
from benchkit.recordings import recording as recording_module
from benchkit.recordings import replay
from benchkit.recordings.recording import Recording, recording_bytes, recording_of
from benchkit.recordings.replay import Circumstances, fitted, judge_recording, with_measured_latency
from benchkit.recordings.run_record import (
    RunRecord,
    VerdictTally,
    keep_run_record,
    read_run_record,
    run_record_bytes,
    run_record_lines,
)
from benchkit.tasks.judging import judge
from benchkit.trial_log.reader import read_log
from benchmarks.synthetic import example_task, many_cases
from benchmarks.synthetic import put_log as put_log_of
from tests.logs_samples import put_log
from tests.recordings_samples import mixed_outcomes, reply
from tests.test_recordings_converting import WithALog

CIRCUMSTANCES = Circumstances("2026-11-30T13:00:00.000Z", {"python": "3.11"})


class OnDemandOrHeld(WithALog):
    def setUp(self) -> None:
        super().setUp()
        put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget")
        self.held = recording_of(read_log(self.path), None)
        with patch.object(recording_module, "MOST_HELD", 0):
            self.read = recording_of(read_log(self.path), None)

    def judged(self, recording: Recording, most_held: int) -> RunRecord:
        with patch.object(replay, "MOST_HELD", most_held):
            return judge_recording(recording, self.task, self.cases, CIRCUMSTANCES)

    def test_a_recording_is_the_same(self) -> None:
        self.assertIsInstance(self.read.cases[0].trials, OnDemand)
        self.assertEqual(b"".join(recording_bytes(self.read)), b"".join(recording_bytes(self.held)))

    def test_a_run_record_is_the_same_in_both_layouts(self) -> None:
        held, read = self.judged(self.held, 100), self.judged(self.read, 0)
        self.assertIsInstance(read.results, OnDemand)
        for write in (run_record_bytes, run_record_lines):
            with self.subTest(write.__name__):
                self.assertEqual(b"".join(write(read)), b"".join(write(held)))

    def test_the_trials_of_one_case_are_those_of_its_place(self) -> None:
        held, read = self.judged(self.held, 100), self.judged(self.read, 0)
        for place in range(len(held.cases)):
            self.assertEqual(tuple(read.results_of(place)), held.results_of(place))
        self.assertEqual(tuple(read.results[2:7]), held.results[2:7])

    def test_fewer_trials_are_the_first_ones(self) -> None:
        one, other = (b"".join(recording_bytes(fitted(recording, "robot.jsonl", self.task, self.cases, 2)))
                      for recording in (self.held, self.read))
        self.assertEqual(one, other)

    def test_a_measured_latency_is_put_in(self) -> None:
        with patch.object(replay, "MOST_HELD", 0):
            measured = with_measured_latency(self.judged(self.read, 0))
        self.assertEqual([result.latency_s for result in measured.results],
                         [result.recorded_latency_s for result in self.judged(self.held, 100).results])

    def test_an_output_is_judged_once_a_case_as_long_as_few_differ(self) -> None:
        outcomes = {"two": [reply("yes"), reply("no")] * 3, "three": [reply("no")] * 6}
        path = put_log(self.folder / "more.jsonl", self.task, self.cases, outcomes)
        for most, times in ((1_000, 3), (1, 7)):
            with (self.subTest(most), patch.object(replay, "MOST_REMEMBERED", most),
                  patch.object(replay, "judge", wraps=judge) as judging):
                self.judged(recording_of(read_log(path), None), 100)
                self.assertEqual(judging.call_count, times)


class Lines(WithALog):
    def setUp(self) -> None:
        super().setUp()
        put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget")
        self.record = judge_recording(recording_of(read_log(self.path), None), self.task, self.cases, CIRCUMSTANCES)
        self.file = self.folder / "run.jsonl"
        self.tally = keep_run_record(self.file, self.record)

    def test_a_head_and_one_result_a_line_hold_all_but_the_totals(self) -> None:
        head, *results = map(json.loads, self.file.read_text(encoding="ascii").splitlines())
        whole = json.loads(b"".join(run_record_bytes(self.record)))
        self.assertEqual(head, {key: value for key, value in whole.items() if key not in ("results", "totals")})
        self.assertEqual(results, whole["results"])

    def test_it_is_read_back_to_an_equal_record(self) -> None:
        read = read_run_record(self.file)
        self.assertIsInstance(read.results, OnDemand)
        self.assertEqual(read, self.record)

    def test_writing_counts_what_it_writes(self) -> None:
        tally = VerdictTally()
        for result in self.record.results:
            tally.take(result)
        self.assertEqual(self.tally, tally)
        self.assertEqual(self.tally.errors, {"BrokenReply": 1, "NotRun": 2, "Timeout": 1})
        self.assertEqual(keep_run_record(self.folder / "run.json", self.record), self.tally)

    def test_what_is_no_such_file_is_refused_with_its_line(self) -> None:
        kept = self.file.read_bytes().splitlines(keepends=True)
        changes: list[tuple[str, Callable[[list[bytes]], list[bytes]], str]] = [
            ("nothing", lambda lines: [], "it has no line that is whole"),
            ("the head", lambda lines: lines[1:], "run_record is missing"),
            ("a result", lambda lines: lines[:-1], "results holds 7 trials, but 2 cases x 4 trials are 8"),
            ("the last letters", lambda lines: [*lines[:-1], lines[-1][:-5]],
             "results holds 7 trials and a part of one"),
            ("one more", lambda lines: [*lines, lines[-1]], "results holds 9 trials"),
            ("the order", lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
             "line 2 is not trial 1 of case two"),
            ("a verdict", lambda lines: [lines[0], lines[1].replace(b'"pass"', b'"fail"'), *lines[2:]],
             "line 2.verdict does not follow from its checks"),
            ("JSON", lambda lines: [*lines[:3], b"{\n", *lines[4:]], "line 4: it is not JSON"),
            ("a key twice", lambda lines: [*lines[:3], lines[3].replace(b"{", b'{"case":"x",', 1), *lines[4:]],
             'line 4: the key "case" stands twice'),
            ("a seed", lambda lines: [lines[0], lines[1].replace(b"1001", b"1002"), *lines[2:]], "line 2.seed is 1002"),
            ("a head among the results", lambda lines: [*lines[:3], lines[0], *lines[4:]], "line 4.case is missing"),
            ("totals", lambda lines: [lines[0].replace(b'{"run', b'{"totals":{},"run', 1), *lines[1:]],
             "totals is no field that is known"),
        ]
        for name, change, words in changes:
            with self.subTest(name):
                self.file.write_bytes(b"".join(change(kept)))
                with self.assertRaises(Unusable) as caught:
                    list(read_run_record(self.file).results)
                self.assertIn(words, str(caught.exception))
                self.assertIn(str(self.file), str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))

    def test_another_file_is_not_written_over(self) -> None:
        other = self.folder / "other.jsonl"
        other.write_bytes(self.path.read_bytes())
        with self.assertRaisesRegex(Unusable, "is no run record"):
            keep_run_record(other, self.record)


class Memory(unittest.TestCase):
    def peak(self, folder: Path, trials: int) -> int:
        """Most bytes held while a log is read, converted, judged into lines, and these are read again."""
        task, cases = example_task(), many_cases(4)
        path, out = folder / f"{trials}.jsonl", folder / f"{trials}-run.jsonl"
        put_log_of(path, cases, trials)
        tracemalloc.start()
        with patch.object(recording_module, "MOST_HELD", 0), patch.object(replay, "MOST_HELD", 0):
            recording = recording_of(read_log(path), None)
            for _ in recording_bytes(recording):
                pass
            keep_run_record(out, judge_recording(recording, task, cases, CIRCUMSTANCES))
            for result in read_run_record(out).results:
                VerdictTally().take(result)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def test_from_log_to_results_takes_at_most_16_bytes_a_trial(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.peak(Path(folder), 10)
            small, large = self.peak(Path(folder), 500), self.peak(Path(folder), 1_000)
        self.assertLess((large - small) / (500 * 4), 16.0)
