"""The command report.py: stdout, stderr, exit codes, and what it writes."""
from __future__ import annotations

import io
import json
import os
import subprocess
import unittest
from dataclasses import replace
from unittest.mock import patch

from benchkit.reports.documents import case_report
from benchkit.reports.report_json import report_bytes
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
            done = call(self.run_file, *flags)
            self.assertEqual((done.code, done.stderr), (0, ""))
            self.assertEqual(done.stdout, text_of(record(WORKED_SUITE), full=full, names="worked"))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["worked.json"])

    def test_several_runs_are_reported_each(self) -> None:
        other = self.write("other", record({"A": "+-"}))
        done = call(self.run_file, other, "--full")
        self.assertEqual(done.code, 0)
        self.assertIn("== worked: toys:robot ==", done.stdout)
        self.assertIn("== other: toys:robot ==", done.stdout)

    def test_out_writes_the_json_and_the_text_is_printed_all_the_same(self) -> None:
        out = self.folder / "report.json"
        done = call(self.run_file, "--out", out)
        self.assertEqual((done.code, done.stderr), (0, f"written: {out} (report)\n"))
        self.assertEqual(done.stdout, call(self.run_file).stdout)
        self.assertEqual(out.read_bytes(), report_bytes([report_of(record(WORKED_SUITE), "worked")]))

    def test_reporting_twice_gives_equal_bytes(self) -> None:
        out = self.folder / "report.json"
        call(self.run_file, "--out", out)
        first = out.read_bytes()
        call(self.run_file, "--out", out)
        self.assertEqual(out.read_bytes(), first)

    def test_a_name_has_neither_folder_nor_suffix(self) -> None:
        out = self.folder / "report.json"
        call(self.run_file, "--out", out)
        self.assertEqual(json.loads(out.read_bytes())["runs"][0]["name"], "worked")
        self.assertNotIn(self.folder.name.encode(), out.read_bytes())

    def test_case_shows_all_trials_of_one_case(self) -> None:
        done = call(self.run_file, "--case", "B")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "".join(case_report([report_of(record(WORKED_SUITE), "worked")], "B")))

    def test_case_shows_it_in_every_run_that_has_it(self) -> None:
        other, third = self.write("other", record({"B": "+-"})), self.write("third", record({"Z": "+"}))
        done = call(self.run_file, other, third, "--case", "B")
        self.assertEqual(done.code, 0)
        self.assertEqual(done.stdout.count("seed 100"), 3 + 2)


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

    def test_a_missing_run_is_named(self) -> None:
        self.check_one_line(call(self.folder / "nowhere.json"), "nowhere.json")

    def test_a_file_that_is_no_run_record_is_named_with_what_is_wrong(self) -> None:
        for text, word in (("{", "JSON"), ("[]", "object"),
                           ('{"recording": 1}', "this is a recording, not a run record"), ("", "JSON")):
            with self.subTest(text=text):
                path = self.folder / "wrong.json"
                path.write_text(text, encoding="utf-8")
                self.check_one_line(call(path), "wrong.json", word)

    def test_a_verdict_that_was_changed_by_hand_is_named(self) -> None:
        text = self.run_file.read_text(encoding="utf-8").replace('"verdict": "pass"', '"verdict": "fail"', 1)
        self.run_file.write_text(text, encoding="utf-8")
        self.check_one_line(call(self.run_file), "results[0].verdict")

    def test_an_unknown_case_is_refused_with_the_nearest(self) -> None:
        path = self.write("many", record({"refund-late": "+", "outage-eu": "-"}))
        self.check_one_line(call(path, "--case", "refund_late"), "refund_late", "refund-late", "there are 2")

    def test_an_unknown_case_writes_no_report(self) -> None:
        out = self.folder / "report.json"
        self.check_one_line(call(self.run_file, "--case", "Z", "--out", out), "Z")
        self.assertFalse(out.exists())

    def test_a_run_record_is_never_written_over(self) -> None:
        before = self.run_file.read_bytes()
        self.check_one_line(call(self.run_file, "--out", self.run_file), "--out")
        self.assertEqual(self.run_file.read_bytes(), before)

    def test_an_out_that_cannot_be_written_is_named(self) -> None:
        done = call(self.run_file, "--out", self.run_file / "report.json")
        self.assertIn(done.code, (2, 3))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("report.json", done.stderr)

    def test_no_run_and_unknown_flags_are_one_line(self) -> None:
        wrong: list[list[str]] = [[], [str(self.run_file), "--colour"], [str(self.run_file), "--out"]]
        for arguments in wrong:
            with self.subTest(arguments=arguments):
                self.check_one_line(call(*arguments), "report.py")


class AsAProgram(ReportCommandTest):
    def start(self, *arguments: str, **more: object) -> Told:
        done = subprocess.run([*PYTHON, str(ROOT / "report.py"), *arguments], capture_output=True, text=True,
                              encoding="utf-8", check=False, **more)  # type: ignore[call-overload]
        return Told(done.returncode, done.stdout, done.stderr)

    def test_it_runs_from_any_folder(self) -> None:
        done = self.start("worked.json", cwd=self.folder)
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("System      toys:robot\nResult      5 of 7 judged tries passed"))

    def test_help_names_every_flag(self) -> None:
        done = self.start("--help")
        self.assertEqual((done.code, done.stderr), (0, ""))
        for flag in ("RUN", "--out", "--full", "--case", "--version", "NO_COLOR"):
            self.assertIn(flag, done.stdout)

    def test_a_terminal_that_knows_only_ascii_gets_escapes_not_a_traceback(self) -> None:
        run = record({"A": "+"})
        run = replace(run, results=(replace(run.results[0], output="Grüße, 日本"),))
        path = self.write("foreign", run)
        done = self.start(str(path), "--case", "A", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertIn("Gr\\xfc\\xdfe", done.stdout)

    @unittest.skipIf(os.name == "nt", "there is no head to close the pipe")
    def test_a_reader_that_has_gone_is_exit_141_and_silence(self) -> None:
        path = self.write("long", record({f"case-{number:05}": "+-" for number in range(3000)}))
        with subprocess.Popen([*PYTHON, str(ROOT / "report.py"), str(path), "--full"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            stderr = process.stderr.read()
        self.assertEqual((process.returncode, stderr), (141, b""))


if __name__ == "__main__":
    unittest.main()
