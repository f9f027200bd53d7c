"""Large runs: a log is converted, judged and read back trial by trial, in little memory, with the very same bytes."""
from __future__ import annotations

import json
import tempfile
import tracemalloc
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.on_demand import OnDemand
from benchkit.recordings import recording as recording_module
from benchkit.recordings import replay
from benchkit.recordings.digest_book import Entry, check_log, entry_of, keep_book, read_book
from benchkit.recordings.digest_comparison import Side, compare
from benchkit.recordings.digests import LogDigests, digests_of
from benchkit.recordings.recording import RecordedTrial, Recording, recording_bytes, recording_of
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

FEWEST, FEW, MANY, CASES = 5, 50, 250, 4
MOST_BYTES_A_TRIAL = 52.0
"""Of the 64 that there are, those that reading a log leaves: its table takes 11, and a part more where it grows."""
ANOTHER = Entry("another", "2026-11-30T12:00:00.000Z", None, None, {
    "y": LogDigests("0" * 64, {"a": ["0" * 64] * 8000})})
"""An entry of 600 kB: a file is written in blocks of 256 KiB, so only from two blocks on is what is held constant."""
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
        typed = Command("harness.py", ())
        one, other = (b"".join(recording_bytes(fitted(recording, "robot.jsonl", self.task, self.cases, 2, typed)))
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


class DigestsOnDemandOrHeld(WithALog):
    def setUp(self) -> None:
        super().setUp()
        other = mixed_outcomes()
        other["two"][2], other["three"][3] = reply("</script>"), reply("late")
        self.held, self.read = self.both(put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget"))
        self.other, self.other_read = self.both(
            put_log(self.folder / "other.jsonl", self.task, self.cases, other, "budget"))

    def both(self, path: Path) -> tuple[Recording, Recording]:
        """A log's recording, held, and read when its trials are taken."""
        with patch.object(recording_module, "MOST_HELD", 0):
            read = recording_of(read_log(path), None)
        self.assertIsInstance(read.cases[0].trials, OnDemand)
        return recording_of(read_log(path), None), read

    def test_digests_have_the_same_total(self) -> None:
        self.assertIsInstance(digests_of(self.read).trials["two"], OnDemand)
        self.assertEqual(digests_of(self.held).total(), digests_of(self.read).total())

    def test_a_comparison_is_the_same(self) -> None:
        held = compare(Side("A", digests_of(self.held), self.held), Side("B", digests_of(self.other), self.other))
        read = compare(Side("A", digests_of(self.read), self.read),
                       Side("B", digests_of(self.other_read), self.other_read))
        self.assertEqual((4, 1, 0, 1), (held.compared, held.different, held.only_first, held.only_second))
        self.assertEqual(held, read)

    def test_a_file_of_digests_has_the_same_bytes(self) -> None:
        kept = []
        for name, recording in (("held", self.held), ("read", self.read)):
            path = self.folder / f"{name}.json"
            keep_book(path, [entry_of("here", {"robot": recording})])
            kept.append(path.read_bytes())
        self.assertEqual(kept[0], kept[1])

    def test_a_check_is_the_same_and_takes_every_trial_once(self) -> None:
        entries = [entry_of(str(number), {"robot": one}) for number, one in enumerate((self.other, self.held))]
        held = check_log("robot", digests_of(self.held), entries)
        taken: list[RecordedTrial] = []
        with patch("benchkit.recordings.digests.trial_digest", side_effect=taken.append):
            check_log("robot", digests_of(self.read), entries)
        self.assertEqual(8, len(taken))
        self.assertEqual(held, check_log("robot", digests_of(self.read), entries))
        self.assertEqual(("1",), held.equal)


class MemoryOfDigests(unittest.TestCase):
    """Most bytes held while digests are taken from logs that were read before, at two sizes."""

    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for trials in (FEWEST, FEW, MANY):
            for seed in (1, 2):
                put_log_of(cls.folder / f"{trials}-{seed}.jsonl", many_cases(CASES), trials, seed)
            keep_book(cls.book(trials), [ANOTHER, entry_of("here", {"x": cls.recording(trials)})])

    @classmethod
    def recording(cls, trials: int, seed: int = 1) -> Recording:
        """A log's recording, read when its trials are taken."""
        with patch.object(recording_module, "MOST_HELD", 0):
            return recording_of(read_log(cls.folder / f"{trials}-{seed}.jsonl"), None)

    @classmethod
    def book(cls, trials: int) -> Path:
        """The file of digests of a size."""
        return cls.folder / f"{trials}.json"

    def side(self, recording: Recording) -> Side:
        """One side of a comparison."""
        return Side("A", digests_of(recording), recording)

    def peak(self, work: Callable[[int, Recording, Recording], object], trials: int) -> int:
        """Most bytes held during some work at one size."""
        one, other = self.recording(trials), self.recording(trials, 2)
        tracemalloc.start()
        work(trials, one, other)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def assert_takes_little(self, work: Callable[[int, Recording, Recording], object]) -> None:
        """Hold the growth a trial to what reading a log leaves of 64 bytes."""
        self.peak(work, FEWEST)
        grown = self.peak(work, MANY) - self.peak(work, FEW)
        self.assertLess(grown / ((MANY - FEW) * CASES), MOST_BYTES_A_TRIAL)

    def test_the_digest_of_a_log(self) -> None:
        self.assert_takes_little(lambda trials, one, other: digests_of(one).total())

    def test_an_entry_added(self) -> None:
        self.assert_takes_little(lambda trials, one, other: keep_book(
            self.folder / "new.json", [*read_book(self.book(trials)), entry_of("there", {"x": other})]))

    def test_a_check_against_a_file_of_digests(self) -> None:
        self.assert_takes_little(
            lambda trials, one, other: check_log("x", digests_of(other), read_book(self.book(trials))[1:]))

    def test_two_logs_compared(self) -> None:
        self.assert_takes_little(lambda trials, one, other: compare(self.side(one), self.side(other)))

    def test_an_entry_compared_with_a_log(self) -> None:
        self.assert_takes_little(lambda trials, one, other: compare(
            Side("A", read_book(self.book(trials))[1].logs["x"], None), self.side(other)))
