"""The tests. All together they run side by side, a module on a core at a time (side_by_side.py), and they keep their
temporary folders in memory, where there is a place for that.

Many of them record hundreds of trials, and each trial waits for the disk. What a real disk does is shown by the
campaign (`python3 -m tests.campaign`), and by whoever names a folder on one in TMPDIR.

Whole texts that a person last read are kept in tests/goldens. After a change of what is printed: `python3 -m
tests.goldens` writes those of the commands, `python3 -m tests.test_reports_goldens --write` those of reports, and alike
for tests.test_reports_sections_cases and _pairs; their difference is to be read line by line.

Tests send signals to the processes that they start. A shell starts what runs in the background with SIGINT ignored,
and children inherit that, so it is taken back.
"""
from __future__ import annotations

import os
import signal
import tempfile
import unittest
from pathlib import Path

from tests.side_by_side import SideBySide, cores

IN_MEMORY = "/dev/shm"
LONGEST = ("test_readme", "test_hostile_inputs", "test_campaign", "test_docs_boards", "test_rebuild")
"""Modules that take ten seconds: they begin, so that none of them is what everybody waits for at the end."""


def load_tests(loader: unittest.TestLoader, _: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Called when all tests are looked for; the processes that they start inherit what is set."""
    if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK):
        os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    found = loader.discover(str(Path(__file__).parent), pattern or "test*.py")
    units = [unit for unit in found if isinstance(unit, unittest.TestSuite) and unit.countTestCases()]
    return SideBySide(sorted(units, key=_is_short), cores())


def _is_short(unit: unittest.TestSuite) -> bool:
    return not any(f"tests.{name}." in str(unit) for name in LONGEST)
