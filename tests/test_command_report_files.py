"""The command report.py, and the files it writes: each kind, all at once, and what is never written over."""
from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import report as cli
from benchkit.reports.files import FORMATS
from benchkit.reports.junit import junit_report
from benchkit.reports.report_json import report_bytes
from benchkit.reports.run_report import report_of
from benchkit.reports.trials_csv import trials_csv
from tests.commands import Told
from tests.hostile_run import STORABLE, hostile_record
from tests.page_runs import markdown_of
from tests.report_command import ReportCommandTest, call
from tests.reports_samples import WORKED_SUITE, record

NAMES = {"--out": "report.json", "--markdown": "report.md", "--junit": "report.xml", "--csv": "trials.csv"}


class CommandTest(ReportCommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.outputs = {flag: self.folder / name for flag, name in NAMES.items()}

    def flags(self) -> list[str | Path]:
        return [part for item in self.outputs.items() for part in item]

    def written(self) -> dict[str, bytes]:
        return {flag: path.read_bytes() for flag, path in self.outputs.items() if path.exists()}

    def check_refused(self, done: Told, *words: str) -> None:
        self.assertEqual((done.code, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class WhatItWrites(CommandTest):
    def test_the_flags_of_the_command_are_those_of_the_formats(self) -> None:
        self.assertEqual(cli.OUTPUT_FLAGS, tuple(FORMATS))

    def test_every_file_holds_what_its_renderer_says(self) -> None:
        run = report_of(record(WORKED_SUITE), "worked")
        expected = {"--out": report_bytes([run]), "--junit": "".join(junit_report([run])).encode(),
                    "--markdown": markdown_of(record(WORKED_SUITE), names="worked").encode(),
                    "--csv": "".join(trials_csv([run])).encode()}
        for flag, data in expected.items():
            with self.subTest(flag=flag):
                done = call(self.run_file, flag, self.outputs[flag])
                self.assertEqual((done.code, done.stderr),
                                 (0, f"written: {self.outputs[flag]} ({FORMATS[flag].kind})\n"))
                self.assertEqual(self.outputs[flag].read_bytes(), data)

    def test_all_files_at_once_the_text_all_the_same_and_equal_bytes_when_asked_again(self) -> None:
        done = call(self.run_file, *self.flags())
        self.assertEqual((0, [f"written: {path} ({FORMATS[flag].kind})" for flag, path in self.outputs.items()]),
                         (done.code, done.stderr.splitlines()))
        self.assertEqual(done.stdout, call(self.run_file).stdout)
        first = self.written()
        self.assertEqual(first.keys(), NAMES.keys())
        self.assertEqual(call(self.run_file, *self.flags()).code, 0)
        self.assertEqual(self.written(), first)
        for flag, data in first.items():
            self.assertNotIn(self.folder.name.encode(), data, flag)

    def test_hostile_texts_go_through_every_format(self) -> None:
        hostile = hostile_record(STORABLE)
        path = self.write("hostile", hostile)
        self.assertEqual(call(path, *self.flags()).code, 0)
        tests = ElementTree.parse(self.outputs["--junit"]).getroot().get("tests")
        with self.outputs["--csv"].open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
        self.assertEqual((tests, len(rows)), (str(len(hostile.cases)), 1 + len(hostile.results)))

    def test_several_runs_and_a_margin_stand_in_the_markdown(self) -> None:
        other = self.write("other", record(dict.fromkeys(WORKED_SUITE, "+++")))
        self.assertEqual(call(self.run_file, other, "--margin", "0.05", *self.flags()).code, 0)
        text = self.outputs["--markdown"].read_text(encoding="utf-8")
        self.assertTrue(text.startswith("## 2 runs: `worked`, `other`\n"))
        self.assertIn("not shown to be the same within 5.0 points", text)

    def test_missing_folders_are_made_and_an_empty_file_such_as_a_job_summary_is_filled(self) -> None:
        self.outputs["--markdown"].touch()
        for path in (self.outputs["--markdown"], self.folder / "site" / "today" / "report.md"):
            self.assertEqual(call(self.run_file, "--markdown", path).code, 0)
            self.assertTrue(path.read_bytes().startswith(b"## `worked`"))


class NamesOfAnotherKind(CommandTest):
    def test_a_name_of_another_kind_is_refused_with_the_flag_that_is_meant(self) -> None:
        for flag, name, meant in (
                ("--out", "two.html", "--html"), ("--out", "a.htm", "--html"), ("--out", "a.MD", "--markdown"),
                ("--out", "a.csv", "--csv"), ("--out", "a.xml", "--junit"), ("--html", "a.json", "--out"),
                ("--markdown", "a.html", "--html"), ("--junit", "a.csv", "--csv"), ("--csv", "a.xml", "--junit")):
            with self.subTest(flag=flag, name=name):
                path = self.folder / name
                self.check_refused(call(self.run_file, flag, path), f"{flag} ", f"is for report.py {meant}; give that")
                self.assertFalse(path.exists())
        for flag, name in (("--out", "a.txt"), ("--markdown", "summary"), ("--html", "a.htm"), ("--csv", "a.tsv")):
            with self.subTest(flag=flag, name=name):
                self.assertEqual(0, call(self.run_file, flag, self.folder / name).code)


class WhatOthersMakeOfIt(CommandTest):
    def test_github_finds_no_issue_and_nobody_to_mention_in_the_warnings(self) -> None:
        ids = ("#12 refund loop", "octo/repo#56", "GH-7", "@team")
        call(self.write("links", record(dict.fromkeys(ids, "--"))), *self.flags())
        warnings = [line for line in self.outputs["--markdown"].read_text(encoding="utf-8").splitlines()
                    if line.startswith("> - `never-passed`")]
        self.assertIn("#<!-- -->12 refund loop, octo/repo#<!-- -->56, GH-<!-- -->7, @<!-- -->team)", warnings[0])

    def test_a_spreadsheet_runs_no_output(self) -> None:
        texts = ("\uff1d1+1", "\n=1+1", " \ufeff@x", "a=1", "\n\nyes")
        of = record({"A": "-" * len(texts)})
        results = tuple(replace(one, output=text) for one, text in zip(of.results, texts, strict=True))
        call(self.write("formulas", replace(of, results=results)), *self.flags())
        with self.outputs["--csv"].open(newline="", encoding="utf-8") as file:
            found = [row["output"] for row in csv.DictReader(file)]
        self.assertEqual(["'\uff1d1+1", "'\n=1+1", "' \ufeff@x", "a=1", "\n\nyes"], found)


class WhatIsNeverWrittenOver(CommandTest):
    def test_a_run_record_under_any_flag(self) -> None:
        before = self.run_file.read_bytes()
        other = self.write("other", record({"A": "+"}))
        for flag in NAMES:
            with self.subTest(flag=flag):
                self.check_refused(call(other, self.run_file, flag, self.run_file), flag, "worked.json", "input")
                self.assertEqual(self.run_file.read_bytes(), before)

    def test_a_run_record_behind_another_spelling_or_a_link(self) -> None:
        link, twin = self.folder / "link", self.folder / "twin"
        link.symlink_to(self.run_file)
        os.link(self.run_file, twin)
        for path in (link, twin, self.folder / "nowhere" / ".." / "worked.json"):
            with self.subTest(path=path.name):
                self.check_refused(call(self.run_file, "--markdown", path), "input")

    def test_two_flags_that_name_one_file(self) -> None:
        path = self.folder / "report"
        self.check_refused(call(self.run_file, "--markdown", path, "--csv", path), "--markdown and --csv")
        self.assertFalse(path.exists())

    def test_a_file_of_another_kind(self) -> None:
        call(self.run_file, *self.flags())
        before = self.written()
        for flag in NAMES:
            for other, path in self.outputs.items():
                if flag != other:
                    with self.subTest(flag=flag, other=other):
                        self.check_refused(call(self.run_file, flag, path), path.name, "not written over")
        self.assertEqual(self.written(), before)

    def test_a_text_that_somebody_wrote_and_then_the_others_stay_unwritten(self) -> None:
        path = self.folder / "README.md"
        path.write_text("# My project\n", encoding="utf-8")
        self.check_refused(call(self.run_file, "--markdown", path), "README.md")
        self.outputs["--csv"].write_text("my,own,table\n", encoding="utf-8")
        self.check_refused(call(self.run_file, *self.flags()), "trials.csv")
        self.assertEqual(self.written().keys(), {"--csv"})
        self.check_refused(call(self.run_file, "--junit", self.folder), "folder")
