"""Signs of life: on a terminal one line that fits, elsewhere plain lines, and nothing when quiet."""
from __future__ import annotations

import errno
import io
import os
import pty
import re
import unittest
from collections.abc import Callable
from threading import Event
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.texts import fitting, width_of
from benchkit.basics.values import Cell, ErrorFacts, Failure, Outcome, Reply
from benchkit.running import progress
from benchkit.running.plan import Assignment, RemainingWork
from benchkit.running.progress import ALL_EMPTY, Progress, Verdicts, duration
from benchkit.running.workload import RunContext
from benchkit.trial_log.lines import TrialLine
from tests.commands import HANGS_S

REMAINING = RemainingWork(planned=640, recorded=10, chosen=100, first="dev-001, trial 1")


def verdict(case: str, output: str) -> str:
    return "pass" if output == "yes" else "fail"


class Screen(io.StringIO):
    """A stream, a terminal or not, that can break."""

    def __init__(self, is_terminal: bool = False, breaks: bool = False) -> None:
        super().__init__()
        self.is_terminal, self.breaks, self.writes = is_terminal, breaks, 0

    def has_been_tried(self) -> bool:
        return self.writes >= 3

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, text: str) -> int:
        self.writes += 1
        if self.breaks:
            raise OSError(errno.EIO, "the terminal has gone")
        return super().write(text)


class TimedProgress:
    """A progress at a time of one's choice."""

    def __init__(self, stream: Screen | None = None, remaining: RemainingWork = REMAINING) -> None:
        self.now, self.said = 0.0, list[str]()
        self.progress = Progress(remaining, Verdicts(verdict), self.context(stream or Screen()))
        if stream is None:
            self.progress.__exit__()  # nothing ticks: the test asks for lines itself

    def context(self, stream: Screen | None) -> RunContext:
        return RunContext((), 0.0, self.said.append, stream, Clock(lambda: self.now), StopRequest())

    def trial(
        self, outcome: Outcome, case: str = "dev-001", takes_s: float = 2.0, system: str = "toys:robot",
    ) -> None:
        cell = Cell(system, case, 1)
        self.progress.starts(Assignment(cell, 1))
        self.now += takes_s
        self.progress.recorded(TrialLine(cell, 1, "0" * 16, "2026-11-30T12:00:00.000Z", outcome))


FAILURE = Failure(ErrorFacts("Timeout", "too slow"))


class OneLine(unittest.TestCase):
    def test_it_says_what_is_recorded_what_came_of_it_how_fast_and_how_long_still(self) -> None:
        timed = TimedProgress()
        self.assertEqual("10/640 recorded; now 0 pass, 0 fail, 0 incomplete", timed.progress.line())
        outcomes: tuple[Outcome, ...] = (Reply("yes"), Reply("yes"), Reply("no"), FAILURE)
        for outcome in outcomes:
            timed.trial(outcome)
        self.assertEqual("14/640 recorded; now 2 pass, 1 fail, 1 incomplete; 0.5/s, 3 min 12 s left; dev-001, trial 1",
                         timed.progress.line())

    def test_loading_does_not_count_as_slowness(self) -> None:
        timed = TimedProgress()
        timed.now = 500.0
        timed.trial(Reply("yes"), takes_s=1.0)
        self.assertIn("1/s, 1 min 39 s left", timed.progress.line())

    def test_the_time_left_is_that_of_this_session(self) -> None:
        timed = TimedProgress(remaining=RemainingWork(640, 0, 2, "x"))
        timed.trial(Reply("yes"), takes_s=4.0)
        self.assertIn("; 0.25/s, 4 s left;", timed.progress.line())

    def test_the_time_left_counts_models_and_baselines_apart(self) -> None:
        timed = TimedProgress(remaining=RemainingWork(200, 0, 200, "x", baselines=100))
        for _ in range(99):
            timed.trial(Reply("yes"), takes_s=0.001, system="baselines:coin")
        self.assertNotIn("left", timed.progress.line())  # no model has answered: nobody knows
        for _ in range(2):
            timed.trial(Reply("yes"), takes_s=10.0)
        self.assertIn("; 0.1/s, 16 min 20 s left;", timed.progress.line())

    def test_a_trial_that_takes_long_makes_the_rest_look_longer(self) -> None:
        timed = TimedProgress(remaining=RemainingWork(3, 0, 3, "x"))
        timed.trial(Reply("yes"), takes_s=10.0)
        timed.progress.starts(Assignment(Cell("toys:robot", "dev-002", 1), 1))
        timed.now += 10.0
        self.assertIn("; 0.05/s, 40 s left;", timed.progress.line())

    def test_a_hostile_case_id_stays_on_the_line(self) -> None:
        timed = TimedProgress()
        timed.trial(Reply("yes"), case="\x1b[2J" + "x" * 100)
        self.assertTrue(timed.progress.line().isprintable())
        self.assertIn("\\x1b[2J", timed.progress.line())

    def test_in_few_columns_the_case_id_gives_way_and_the_trial_stays(self) -> None:
        timed = TimedProgress()
        timed.trial(Reply("yes"), case="dev-021-a-rather-long-name-of-a-case")
        whole = timed.progress.line()
        for fewer, end in ((0, "left; dev-021-a-rather-long-name-of-a-case, trial 1"),
                           (1, "left; dev-021-a-rather-long-name-of-a-..., trial 1"),
                           (30, "left; dev..., trial 1"), (31, "left; trial 1")):
            with self.subTest(fewer=fewer):
                line = timed.progress.line(len(whole) - fewer)
                self.assertTrue(line.endswith(end), line)
                self.assertLessEqual(len(line), len(whole) - fewer)

    def test_the_trial_stands_on_a_terminal_of_80_columns(self) -> None:
        timed = TimedProgress(remaining=RemainingWork(640, 420, 640, "x"))
        for _ in range(100):
            timed.trial(Reply("no"), case="dev-021-green-status", takes_s=12.0)
        line = timed.progress.line(79)
        self.assertEqual("520/640 recorded; now 0 pass, 100 fail, 0 incomplete; 1 h 48 min left; trial 1", line)
        self.assertLess(len(line), 80)

    def test_durations_read_as_a_person_would_say_them(self) -> None:
        for seconds, text in ((0.0, "0 s"), (0.4, "under 1 s"), (59.9, "59 s"), (60, "1 min 00 s"), (125, "2 min 05 s"),
                              (3660, "1 h 01 min"), (360000, "100 h 00 min")):
            self.assertEqual(text, duration(seconds))

    def test_wide_letters_take_two_columns(self) -> None:
        self.assertEqual((5, 6), (width_of("abcde"), width_of("漢字ab")))
        self.assertEqual(("漢", "漢字", "abc"), (fitting("漢字", 3), fitting("漢字", 4), fitting("abcdef", 3)))


class EmptyOutputs(unittest.TestCase):
    def test_five_first_outputs_that_are_all_empty_are_a_warning_once(self) -> None:
        timed = TimedProgress()
        outcomes: tuple[Outcome, ...] = (Reply(""), Reply(""), FAILURE, Reply(""), Reply(""))
        for outcome in outcomes:
            timed.trial(outcome)
        self.assertEqual([], timed.said)
        timed.trial(Reply(""))
        timed.trial(Reply(""))
        self.assertEqual([ALL_EMPTY], timed.said)

    def test_one_output_that_is_not_empty_is_enough_against_it(self) -> None:
        timed = TimedProgress()
        for outcome in (Reply("yes"), *[Reply("")] * 9):
            timed.trial(outcome)
        self.assertEqual([], timed.said)


class OnAStream(unittest.TestCase):
    def shown(self, stream: Screen, every: str, is_done: Callable[[], bool]) -> str:
        """What is on the stream after ticks of 10 ms, until `is_done`."""
        with mock.patch.object(progress, f"{every}_EVERY_S", 0.01):
            timed = TimedProgress(stream)
            with timed.progress:
                timed.trial(Reply("yes"))
                for _ in range(int(100 * HANGS_S)):
                    if is_done():
                        break
                    Event().wait(0.01)
        return stream.getvalue()

    def test_elsewhere_than_on_a_terminal_it_is_plain_lines(self) -> None:
        stream = Screen()
        text = self.shown(stream, "PLAIN", lambda: stream.getvalue().count("\n") >= 2)
        self.assertRegex(text, r"\A(1[01]/640 recorded; .*\n){2,}\Z")
        self.assertNotIn("\r", text)

    def test_on_a_terminal_it_is_one_line_written_over_and_taken_away(self) -> None:
        stream = Screen(is_terminal=True)
        text = self.shown(stream, "TERMINAL", lambda: stream.getvalue().count("\r") >= 3)
        self.assertNotIn("\n", text)
        self.assertRegex(text, r"\r *\r\Z")
        for part in text.split("\r"):
            self.assertLessEqual(len(part), 79)

    def test_nothing_is_shown_before_the_first_trial(self) -> None:
        stream = Screen()
        with mock.patch.object(progress, "PLAIN_EVERY_S", 0.001), TimedProgress(stream).progress:
            Event().wait(0.05)
        self.assertEqual("", stream.getvalue())

    def test_quiet_judges_nothing_and_says_only_what_must_be_seen(self) -> None:
        timed, judged = TimedProgress(), list[str]()
        verdicts = Verdicts(lambda case, output: judged.append(case) or "pass")  # type: ignore[func-returns-value]
        with Progress(REMAINING, verdicts, timed.context(None)) as timed.progress:
            for _ in range(5):
                timed.trial(Reply(""))
        self.assertEqual(([], [ALL_EMPTY]), (judged, timed.said))

    def test_a_stream_that_breaks_stops_nothing(self) -> None:
        for is_terminal in (False, True):
            stream = Screen(is_terminal, breaks=True)
            self.shown(stream, "TERMINAL" if is_terminal else "PLAIN", stream.has_been_tried)
            self.assertGreaterEqual(stream.writes, 3)

    def test_a_shorter_line_covers_a_longer_one(self) -> None:
        stream = Screen(is_terminal=True)
        terminal = progress.Screen(stream)
        terminal.show("longer")
        terminal.show("short")
        terminal.clear()
        terminal.clear()
        self.assertEqual("\rlonger\r\rshort \r\r     \r", stream.getvalue())

    def test_it_never_is_wider_than_the_terminal_it_is_on(self) -> None:
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with os.fdopen(theirs, "w") as stream:
            for columns, shown in ((40, 39), (200, 120), (0, 79)):
                with self.subTest(columns=columns), mock.patch.object(
                        os, "get_terminal_size", lambda fd, columns=columns: os.terminal_size((columns, 24))):
                    progress.Screen(stream).show("x" * 120)
                    self.assertEqual("x" * shown, re.sub(r"[\r\n]", "", os.read(ours, 1000).decode()))
