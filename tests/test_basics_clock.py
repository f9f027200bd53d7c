"""Time as a value, the budget, and the request to stop."""
from __future__ import annotations

import contextlib
import os
import signal
import time
import unittest

from benchkit.basics.clock import Budget, Clock, StopRequest, signals_as_interrupt, signals_as_stop_request, stamp_of
from benchkit.basics.errors import Interrupted


class Stamps(unittest.TestCase):
    def test_wall_time_is_utc_with_milliseconds_and_z(self) -> None:
        for seconds, stamp in (
            (0.0, "1970-01-01T00:00:00.000Z"), (1796040000.0, "2026-11-30T12:00:00.000Z"),
            (1796040000.9999, "2026-11-30T12:00:00.999Z"), (951782399.25, "2000-02-28T23:59:59.250Z"),
        ):
            with self.subTest(seconds=seconds):
                self.assertEqual(stamp, stamp_of(seconds))

    def test_a_clock_takes_its_time_from_the_wall_it_is_given(self) -> None:
        self.assertEqual("2026-11-30T12:00:00.000Z", Clock(wall=lambda: 1796040000.0).stamp())


class Budgets(unittest.TestCase):
    def test_a_budget_is_over_when_its_seconds_have_passed(self) -> None:
        for seconds, now, is_over in ((30.0, 129.9, False), (30.0, 130.0, True), (30.0, 500.0, True),
                                      (None, 1e12, False)):
            with self.subTest(seconds=seconds, now=now):
                self.assertEqual(is_over, Budget(100.0, seconds).is_over(now))


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        self.left: list[int] = []
        self.stop = StopRequest()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.addCleanup(lambda: [signal.signal(number, handler) for number, handler in before.items()])

    def test_a_signal_becomes_a_request_with_its_exit_code(self) -> None:
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
            with self.subTest(number=number):
                stop = StopRequest()
                stop.raise_if_wished()
                with signals_as_stop_request(stop, self.left.append):
                    os.kill(os.getpid(), number)
                with self.assertRaises(Interrupted) as caught:
                    stop.raise_if_wished()
                self.assertEqual(code, caught.exception.exit_code)
        self.assertEqual([], self.left)

    def test_a_second_signal_leaves_at_once_with_its_own_code(self) -> None:
        with signals_as_stop_request(self.stop, self.left.append):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual([143], self.left)

    def test_a_hangup_that_was_ignored_at_the_start_stays_ignored(self) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with signals_as_stop_request(self.stop, self.left.append):
            os.kill(os.getpid(), signal.SIGHUP)
        self.assertIsNone(self.stop.signal)

    def test_the_handlers_are_put_back_however_it_ends(self) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with self.assertRaises(ZeroDivisionError), signals_as_stop_request(self.stop, self.left.append):
            self.assertNotEqual(before, signal.getsignal(signal.SIGTERM))
            raise ZeroDivisionError
        self.assertEqual(before, signal.getsignal(signal.SIGTERM))

    def test_work_that_may_be_cut_is_ended_where_it_is_and_clears_away(self) -> None:
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
            cleared = []
            with self.subTest(number=number):
                with self.assertRaises(Interrupted) as caught, signals_as_interrupt(self.left.append):
                    try:
                        with contextlib.suppress(Exception):  # what catches errors does not catch the request to end
                            os.kill(os.getpid(), number)
                            time.sleep(5)
                    finally:
                        cleared.append(number)
                self.assertEqual((code, [number]), (caught.exception.exit_code, cleared))
        self.assertEqual([], self.left)

    def test_a_second_signal_leaves_work_that_clears_away_too_long(self) -> None:
        with self.assertRaises(Interrupted), signals_as_interrupt(self.left.append):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
            finally:
                with contextlib.suppress(KeyboardInterrupt):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.01)
        self.assertEqual([130], self.left)

    def test_within_such_work_signals_can_be_a_request_for_a_while(self) -> None:
        with signals_as_interrupt(self.left.append):
            with signals_as_stop_request(self.stop, self.left.append):
                os.kill(os.getpid(), signal.SIGTERM)
            self.assertEqual(signal.SIGTERM, self.stop.signal)
        self.assertEqual([], self.left)

    def test_an_interrupt_that_no_signal_brought_is_let_through(self) -> None:
        with self.assertRaises(KeyboardInterrupt), signals_as_interrupt(self.left.append):
            raise KeyboardInterrupt

    def test_the_sentence_names_the_signal_and_what_is_kept(self) -> None:
        self.assertEqual("stopped by SIGINT", str(Interrupted(signal.SIGINT)))
        self.assertEqual("stopped by SIGTERM; kept", str(Interrupted(signal.SIGHUP, "; kept")))
