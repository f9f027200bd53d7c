"""The command report.py, called in this process, in a folder with a run record."""
from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import report
from benchkit.recordings.run_record import RunRecord, run_record_bytes
from tests.commands import Told
from tests.reports_samples import WORKED_SUITE, record


def call(*arguments: str | Path, stdout: io.StringIO | None = None) -> Told:
    """What the command prints and returns."""
    stdout, stderr = stdout or io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            code = report.main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 2
    return Told(code, stdout.getvalue(), stderr.getvalue())


class ReportCommandTest(unittest.TestCase):
    """A folder with worked.json in it."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.run_file = self.write("worked", record(WORKED_SUITE))

    def write(self, name: str, run: RunRecord) -> Path:
        """A run record in the folder."""
        path = self.folder / f"{name}.json"
        path.write_bytes(b"".join(run_record_bytes(run)))
        return path
