"""Tests side by side: whatever a test comes to, the result is told the same as by a run one after the other."""
from __future__ import annotations

import io
import os
import signal
import unittest
from collections import Counter
from concurrent.futures.process import BrokenProcessPool

from tests.side_by_side import SideBySide


class Sample(unittest.TestCase):
    """One test of every kind of end; not loaded by discovery, for its methods bear no `test`."""

    def passes(self) -> None:
        """It is as it should be."""

    def fails(self) -> None:
        self.assertEqual("what was wanted", "what came")

    def raises(self) -> None:
        raise OSError("no disk")

    def is_skipped(self) -> None:
        self.skipTest("no tool")

    @unittest.expectedFailure
    def fails_as_expected(self) -> None:
        self.fail("as expected")

    @unittest.expectedFailure
    def passes_unexpectedly(self) -> None:
        """It should have failed."""

    def fails_in_parts(self) -> None:
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number, 1)

    def dies(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class NeverSetUp(Sample):
    @classmethod
    def setUpClass(cls) -> None:
        raise OSError("no folder")


ENDS = ("passes", "fails", "raises", "is_skipped", "fails_as_expected", "passes_unexpectedly", "fails_in_parts")


def told(workers: int) -> tuple[unittest.TextTestResult, str]:
    """What a runner says of three units, and its text."""
    units = [unittest.TestSuite(map(kind, ENDS)) for kind in (Sample, NeverSetUp, Sample)]
    stream = io.StringIO()
    runner = unittest.TextTestRunner(stream, verbosity=2)
    return runner.run(SideBySide(units, workers)), stream.getvalue()


def counts(result: unittest.TextTestResult) -> dict[str, int]:
    return {"run": result.testsRun, **{name: len(getattr(result, name)) for name in (
        "failures", "errors", "skipped", "expectedFailures", "unexpectedSuccesses")}}


@unittest.skipUnless(hasattr(os, "fork"), "no fork on this system: tests run one after the other")
class EveryEnd(unittest.TestCase):
    def test_is_counted_as_in_a_run_one_after_the_other(self) -> None:
        (alone, _), (beside, _) = told(1), told(3)
        self.assertEqual(counts(beside), counts(alone))
        self.assertFalse(beside.wasSuccessful())

    def test_is_named_as_in_a_run_one_after_the_other(self) -> None:
        (alone, _), (beside, _) = told(1), told(3)
        for kind in ("failures", "errors", "skipped"):
            with self.subTest(kind):
                ends = [Counter(str(test).partition(" (number")[0] for test, _ in getattr(result, kind))
                        for result in (alone, beside)]
                self.assertEqual(*ends)

    def test_is_shown_with_what_was_wanted_and_where(self) -> None:
        _, text = told(2)
        for words in ("'what was wanted' != 'what came'", "in fails\n", "no disk", "'no tool'", "(number=2)",
                      "setUpClass (tests.test_side_by_side.NeverSetUp)", "no folder"):
            with self.subTest(words):
                self.assertIn(words, text)

    def test_the_first_failure_is_the_last_unit_where_that_was_asked_for(self) -> None:
        units = [unittest.TestSuite([Sample("fails")]) for _ in range(200)]
        result = unittest.TextTestRunner(io.StringIO(), failfast=True).run(SideBySide(units, 2))
        self.assertLess(result.testsRun, 200)


@unittest.skipUnless(hasattr(os, "fork"), "no fork on this system: tests run one after the other")
class AWorkerThatDies(unittest.TestCase):
    def test_is_no_success(self) -> None:
        suite = SideBySide([unittest.TestSuite([Sample("dies")]), unittest.TestSuite([Sample("passes")])], 2)
        with self.assertRaisesRegex(BrokenProcessPool, "terminated abruptly"):
            unittest.TextTestRunner(io.StringIO()).run(suite)
