"""The command report.py: stdout, stderr, exit codes, and what it writes."""
from __future__ import annotations

import io
import os
import subprocess
import unittest
from dataclasses import replace
from unittest.mock import patch

from benchkit.reports.documents import case_report
from benchkit.reports.run_report import report_of
from tests.commands import PYTHON, ROOT, Told
from tests.page_runs import text_of
from tests.report_command import ReportCommandTest, call
from tests.reports_samples import WORKED_SUITE, record


class Terminal(io.StringIO):
    """Standard output where a person reads it."""

    def isatty(self) -> bool:
        return True


class WhatItShows(ReportCommandTest):
    def test_the_text_goes_to_stdout_and_nothing_else_anywhere(self) -> None:
        for flags, full in (((), False), (("--full",), True)):
            self.assertEqual(Told(0, text_of(record(WORKED_SUITE), full=full, names="worked"), ""),
                             call(self.run_file, *flags))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["worked.json"])

    def test_the_text_is_made_without_what_only_other_formats_need(self) -> None:
        second = self.write("second", record(WORKED_SUITE))
        done = subprocess.run([*PYTHON, "-X", "importtime", str(ROOT / "report.py"), str(self.run_file), str(second),
                               "--full"], capture_output=True, text=True, check=True)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        self.assertIn("benchkit.render.as_text", loaded)
        self.assertEqual({name for name in loaded if name.startswith(("benchkit.pages.", "benchkit.render.as_"))},
                         {"benchkit.pages.tones", "benchkit.render.as_text"})

    def test_several_runs_are_reported_each(self) -> None:
        other = self.write("other", record({"A": "+-"}))
        told = call(self.run_file, other, "--full").stdout
        for name in ("worked", "other"):
            self.assertIn(f"== {name}: toys:robot ==", told)

    def test_case_shows_all_trials_of_one_case_in_every_run_that_has_it(self) -> None:
        expected = "".join(case_report([report_of(record(WORKED_SUITE), "worked")], "B"))
        self.assertEqual(Told(0, expected, ""), call(self.run_file, "--case", "B"))
        other, third = self.write("other", record({"B": "+-"})), self.write("third", record({"Z": "+"}))
        self.assertEqual(call(self.run_file, other, third, "--case", "B").stdout.count("seed 100"), 3 + 2)


class ColourOnATerminal(ReportCommandTest):
    def test_a_terminal_gets_colour_and_a_pipe_none(self) -> None:
        with patch.dict(os.environ, {"TERM": "xterm"}):
            os.environ.pop("NO_COLOR", None)
            self.assertIn("\x1b[1mResult", call(self.run_file, stdout=Terminal()).stdout)
            self.assertNotIn("\x1b", call(self.run_file).stdout)

    def test_no_color_and_a_dumb_terminal_are_respected(self) -> None:
        for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
            with self.subTest(name=name), patch.dict(os.environ, {name: value}):
                self.assertNotIn("\x1b", call(self.run_file, stdout=Terminal()).stdout)


class WhatItRefuses(ReportCommandTest):
    def check_one_line(self, done: Told, *words: str) -> None:
        self.assertEqual((done.code, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_what_cannot_be_read_is_named_with_what_is_wrong(self) -> None:
        changed = self.run_file.read_text(encoding="utf-8").replace('"verdict": "pass"', '"verdict": "fail"', 1)
        for text, *words in (("{", "JSON"), ("[]", "object"), ("", "JSON"),
                             ('{"recording": 1}', "this is a recording, not a run record"),
                             (changed, "results[0].verdict")):
            with self.subTest(text=text[:20]):
                path = self.folder / "wrong.json"
                path.write_text(text, encoding="utf-8")
                self.check_one_line(call(path), "wrong.json", *words)
        self.check_one_line(call(self.folder / "nowhere.json"), "nowhere.json")

    def test_an_unknown_case_is_refused_with_the_nearest_and_writes_no_report(self) -> None:
        path, out = self.write("many", record({"refund-late": "+", "outage-eu": "-"})), self.folder / "report.json"
        self.check_one_line(call(path, "--case", "refund_late", "--out", out), "refund_late", "refund-late",
                            "there are 2")
        self.assertFalse(out.exists())

    def test_an_out_that_cannot_be_written_is_named(self) -> None:
        done = call(self.run_file, "--out", self.run_file / "report.json")
        self.assertIn(done.code, (2, 3))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("report.json", done.stderr)

    def test_no_run_and_unknown_flags_are_one_line(self) -> None:
        for arguments in ([], [str(self.run_file), "--colour"], [str(self.run_file), "--out"]):
            with self.subTest(arguments=arguments):
                self.check_one_line(call(*arguments), "report.py")


class AsAProgram(ReportCommandTest):
    def start(self, *arguments: str, **more: object) -> Told:
        done = subprocess.run([*PYTHON, str(ROOT / "report.py"), *arguments], capture_output=True, text=True,
                              encoding="utf-8", check=False, **more)  # type: ignore[call-overload]
        return Told(done.returncode, done.stdout, done.stderr)

    def test_help_names_every_flag(self) -> None:
        done = call("--help")
        self.assertEqual((done.code, done.stderr), (0, ""))
        for flag in ("RUN", "--out", "--full", "--case", "--version", "NO_COLOR"):
            self.assertIn(flag, done.stdout)

    def test_from_any_folder_a_terminal_that_knows_only_ascii_gets_escapes_not_a_traceback(self) -> None:
        run = record({"A": "+"})
        run = replace(run, results=(replace(run.results[0], output="Grüße, 日本"),))
        self.write("foreign", run)
        ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = self.start("foreign.json", "--case", "A", cwd=self.folder, env=ascii_only)
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertIn("Gr\\xfc\\xdfe", done.stdout)

    @unittest.skipIf(os.name == "nt", "there is no head to close the pipe")
    def test_a_reader_that_has_gone_is_exit_141_and_silence(self) -> None:
        path = self.write("long", record({f"case-{number:05}": "+-" for number in range(900)}))
        with subprocess.Popen([*PYTHON, str(ROOT / "report.py"), str(path), "--full"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            stderr = process.stderr.read()
        self.assertEqual((process.returncode, stderr), (141, b""))
