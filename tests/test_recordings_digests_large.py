"""Digests of large logs: of a log's trials nothing is kept, of those in a file 33 bytes each."""
from __future__ import annotations

import tempfile
import tracemalloc
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from benchkit.basics.on_demand import OnDemand
from benchkit.recordings import recording as recording_module
from benchkit.recordings.digest_book import Entry, check_log, entry_of, keep_book, read_book
from benchkit.recordings.digest_comparison import Side, compare
from benchkit.recordings.digests import LogDigests, digests_of
from benchkit.recordings.recording import RecordedTrial, Recording, recording_of
from benchkit.trial_log.reader import read_log
from benchmarks.synthetic import many_cases
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


class OnDemandOrHeld(WithALog):
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


class Memory(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
