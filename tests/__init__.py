"""The tests. All together they keep their temporary folders in memory, where there is a place for that.

Many of them record hundreds of trials, and each trial waits for the disk. What a real disk does is shown by the
campaign (`python3 -m tests.campaign`), and by whoever names a folder on one in TMPDIR.
"""
from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

IN_MEMORY = "/dev/shm"


def load_tests(loader: unittest.TestLoader, _: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Called when all tests are looked for; the processes that they start inherit the place."""
    if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK):
        os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY
    return loader.discover(str(Path(__file__).parent), pattern or "test*.py")
