"""What a log holds and what is left, in words."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.running.summary import Status, status_of, status_text
from benchkit.trial_log.lines import StopLine, SystemLine
from benchkit.trial_log.reader import TrialLog, read_log
from tests import trial_logs as samples
from tests.trial_logs import SYSTEM, Lines, complete, failure, plan_line, started, trial_line


class Counting(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "gemma.jsonl"

    def log(self, lines: Lines, tail: bytes = b"") -> TrialLog:
        return read_log(samples.written(self.path, bytes(lines) + tail))

    def test_a_complete_log_has_nothing_left(self) -> None:
        self.assertEqual(Status(
            name="gemma.jsonl", systems=(SYSTEM,), planned=6, outputs=6, errors=(), stale=0, left=0,
            several_attempts=0, sessions=1, last_session=samples.STAMP, last_stop="complete", damage=0, rounds=2),
            status_of(self.log(complete())))

    def test_every_cell_counts_once_by_its_last_attempt(self) -> None:
        lines = started().add(
            trial_line("mail-1", outcome=failure("Timeout")), trial_line("mail-2", outcome=failure("Timeout")),
            trial_line("mail-3", outcome=failure("BrokenReply")), trial_line("mail-1", attempt=2),
            trial_line("mail-2", attempt=2, outcome=failure("ServerBusy")))
        status = status_of(self.log(lines))
        self.assertEqual((6, 1, (("BrokenReply", 1), ("ServerBusy", 1)), 3, 2), (
            status.planned, status.outputs, status.errors, status.left, status.several_attempts))

    def test_cells_whose_request_changed_are_left_again(self) -> None:
        status = status_of(self.log(complete().add(plan_line(changed="mail-2"))))
        self.assertEqual((2, 2, 4), (status.stale, status.left, status.outputs))

    def test_one_system_of_several_can_be_looked_at(self) -> None:
        lines = Lines().begin().add(
            plan_line(systems=(SYSTEM, "toys:doll")), SystemLine(SYSTEM, samples.SETTINGS),
            SystemLine("toys:doll", samples.SETTINGS), trial_line(), trial_line(system="toys:doll"))
        self.assertEqual((12, 10), (status_of(self.log(lines)).planned, status_of(self.log(lines)).left))
        one = status_of(self.log(lines), "toys:doll")
        self.assertEqual((6, 5, ("toys:doll",)), (one.planned, one.left, one.systems))
        with self.assertRaisesRegex(Unusable, f"holds no system toys:x; it holds {SYSTEM}, toys:doll"):
            status_of(self.log(lines), "toys:x")

    def test_a_log_without_a_plan_is_refused(self) -> None:
        with self.assertRaisesRegex(Unusable, "nothing recorded yet"):
            status_of(self.log(Lines().begin()))

    def test_it_reads_as_lines_for_a_person(self) -> None:
        lines = started().add(trial_line("mail-1", outcome=failure("Timeout")), trial_line("mail-1", attempt=2))
        lines.begin(samples.SESSION_B).add(trial_line("mail-2", outcome=failure("Timeout")))
        self.assertEqual(
            "gemma.jsonl: 2 of 6 planned trials recorded, 4 left\n"
            "  systems    model_triage:gemma\n"
            "  outputs    1 of 2\n"
            "  errors     1 Timeout (of 2)\n"
            f"  sessions   2, the last begun {samples.STAMP}; its end: none yet: it runs, or it was killed\n"
            "  attempts   more than one at 1\n"
            "  damage     1: set aside; the trials that stood there run again",
            status_text(status_of(self.log(lines, b"torn\n"))))
        self.assertIn("its end: budget", status_text(status_of(self.log(lines.add(StopLine("budget", samples.STAMP))))))
        self.assertIn("changed    2: recorded, but", status_text(
            status_of(self.log(complete().add(plan_line(changed="mail-2"))))))
