"""The tests. All together they run side by side, a module in a process at a time (side_by_side.py), and they keep their
temporary folders in memory, where there is a place for that.

Many of them record hundreds of trials, and each trial waits for the disk. What a real disk does is shown by the
campaign (`python3 -m tests.campaign`), and by whoever names a folder on one in TMPDIR.

Whole texts that a person last read are kept in tests/goldens. After a change of what is printed: `python3 -m
tests.goldens` writes those of the commands, `python3 -m tests.test_reports_goldens --write` those of reports; their
difference is to be read line by line.

Tests send signals to the processes that they start. A shell starts what runs in the background with SIGINT ignored,
and children inherit that, so it is taken back.
"""
from __future__ import annotations

import os
import signal
import tempfile
import unittest
from fnmatch import fnmatch
from pathlib import Path

from tests.side_by_side import SideBySide, cores

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # here, for modules that are run by their names, too
    signal.signal(signal.SIGINT, signal.default_int_handler)

IN_MEMORY = "/dev/shm"
WORKFLOW = "test_bench"
"""The module beside the commands; it leaves its tests to this package where all are looked for."""
LONGEST = (
    WORKFLOW, "test_hostile_inputs", "test_pages_in_chromium", "test_rebuild", "test_limits_files",
    "test_command_board", "test_hostile_servers", "test_command_board_shards", "test_limits_replies",
    "test_limits_surroundings", "test_command_board_again", "test_readme", "test_command_board_lost_answers",
    "test_figures_as_printed", "test_hostile_pages", "test_docs_boards", "test_files_not_ours",
    "test_systems_openai", "test_command_parallel", "test_hostile_names",
    "test_trial_log_writer", "test_campaign", "test_reports_large", "test_goldens", "test_reports_documents",
    "test_commands_new_user", "test_own_systems",
)
"""Modules that take longest, the longest first: all others fit in where one of these ends before the last."""


def load_tests(loader: unittest.TestLoader, _: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Called when all tests are looked for; the processes that they start inherit what is set."""
    if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK):
        os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY
    found = loader.discover(str(Path(__file__).parent), pattern or "test*.py")
    units = [unit for unit in found if isinstance(unit, unittest.TestSuite) and unit.countTestCases()]
    if fnmatch(f"{WORKFLOW}.py", pattern or "test*.py"):
        units.append(loader.loadTestsFromName(WORKFLOW))
    # one more than there are cores, for many a test waits
    return SideBySide(sorted(units, key=_order), cores() + 1)


def _order(unit: unittest.TestSuite) -> int:
    text = str(unit)
    return next((place for place, name in enumerate(LONGEST) if f"{name}." in text), len(LONGEST))
