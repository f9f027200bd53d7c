"""How often a command reads the files of a batch: counted by files that count what is read of them."""
from __future__ import annotations

import io
import os
import tempfile
import tracemalloc
import unittest
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.boards.expected_trials import ExpectedTrials, TrialLines
from benchkit.trial_log.lines import LinePosition, TrialLine
from benchkit.trial_log.reader import TrialLog
from tests.board_command import BoardCommand
from tests.toy_game import ANSWER, LOOK, ROBOT, Batch, Robot

FIRST_LINES = 0.05
"""Where a file is opened, its first lines are looked at."""


class CountingFile(io.BufferedReader):
    """A file that adds to `counts[its inode]` the bytes that are read of it."""

    def __init__(self, handle: int, counts: Counter[int]) -> None:
        super().__init__(io.FileIO(handle))
        self._counts, self._inode = counts, os.fstat(handle).st_ino

    def _counted(self, data: bytes) -> bytes:
        self._counts[self._inode] += len(data)
        return data

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._counted(super().readline(size))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


@contextmanager
def counted_reads() -> Iterator[Counter[int]]:
    """Within this, how many bytes are read of each file, by its inode."""
    counts: Counter[int] = Counter()
    fdopen, pread = os.fdopen, os.pread

    def opened(handle: int, mode: str = "r", *more: Any, **named: Any) -> Any:
        return CountingFile(handle, counts) if mode == "rb" else fdopen(handle, mode, *more, **named)

    def piece(handle: int, size: int, offset: int) -> bytes:
        data = pread(handle, size, offset)
        counts[os.fstat(handle).st_ino] += len(data)
        return data

    with mock.patch("os.fdopen", opened), mock.patch("os.pread", piece):
        yield counts


class Passes(BoardCommand):
    def test_a_report_reads_the_log_at_most_twice_and_the_trace_once(self) -> None:
        self.job(count="12", trials="4")
        self.well("run jobs/tiny.toml --models baselines:even,robots:good,robots:late")
        self.assert_read_seldom("report jobs/tiny.toml")
        self.assert_read_seldom("recompute tiny/" + self.batch().name)
        self.well(f"publish {self.batch().name}")
        self.assert_read_seldom("report jobs/tiny.toml")

    def assert_read_seldom(self, command: str) -> None:
        """The log of the newest batch is read twice by a command, and its trace once."""
        # to tell what kind of file it is, a head of constant length is read; here it would be a pass of its own
        with counted_reads() as counts, mock.patch("benchkit.disk.file_kinds.HEAD_BYTES", 1024):
            self.well(command)
        for name, most in (("responses.jsonl", 2), ("trace.jsonl", 1)):
            found = (self.batch() / name).stat()
            passes = counts[found.st_ino] / found.st_size
            self.assertTrue(most <= passes <= most + FIRST_LINES, f"{command}: {passes} passes over {name}")


class Memory(unittest.TestCase):
    def test_of_a_trial_line_at_most_64_bytes_are_kept(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder))
            batch.run({ROBOT: Robot([LOOK, ANSWER] * 8)}, trials=4)
            log, trial = batch.log(), batch.trials()[0]
        self.assertLess(kept(log, trial, 10_000), 10_000 * 64 + 300_000)


def kept(log: TrialLog, trial: TrialLine, count: int) -> int:
    """Bytes at most while so many lines are taken and sorted by cell."""
    tracemalloc.start()
    lines, place = TrialLines(), LinePosition("0" * 16, 1)
    for number in range(count):
        lines.take(replace(trial, cell=replace(trial.cell, trial=number % 4 + 1)), place)
    found = ExpectedTrials(log, lines)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak + 5 * len(found)  # a line for each cell, and a mark for each line that was found in the trace
