"""What every command has: its help, its flags, its version, its word to an old Python, its silence, its progress."""
from __future__ import annotations

import ast
import os
import pty
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from benchkit import VERSION
from tests.commands import HANGS_S, PYTHON, ROOT
from tests.workflow import Workflow, WorkflowWithServer

ARGUMENTS = {
    "harness.py": "run check show compare",
    "harness.py compare": "BASE CANDIDATE",
    "report.py": "RUN",
    "board.py": "run begin merge report estimate trace recompute publish list",
    "board.py merge": "BATCH COPY",
    "outputs_digest.py": "LOG",
    **dict.fromkeys(("board.py run", "board.py begin", "board.py report", "board.py estimate"), "JOB"),
    **dict.fromkeys(("board.py trace", "board.py recompute", "board.py publish"), "BATCH"),
}
"""What help names besides flags: those are held against the table in README.md (tests/test_readme.py)."""
DEFAULTS = {
    "bench.py": ("model_triage:gemma", "triage_task", "cases.json", "development", "10", "120", "recorded/NAME.jsonl"),
    "harness.py compare": ("0.05", "0.0"),
}
COMMANDS_OF_THE_KIT = ("bench.py", "harness.py", "report.py", "outputs_digest.py", "board.py")


class Help(Workflow):
    def test_help_names_what_is_to_be_given_and_every_default(self) -> None:
        for command in {**ARGUMENTS, **DEFAULTS}:
            with self.subTest(command=command):
                words = re.findall(r"[\w.:/-]+", self.well(f"{command} --help"))
                for word in (*ARGUMENTS.get(command, "").split(), "--help", "--version", *DEFAULTS.get(command, ())):
                    self.assertIn(word, words)

    def test_help_says_what_the_exit_codes_mean(self) -> None:
        for name in COMMANDS_OF_THE_KIT:
            told = self.well(f"{name} --help")
            self.assertIn("exit codes", told)
            for code in ("0 ", "2 ", "3 ", "141 "):
                self.assertIn(code, told, name)

    def test_the_version_is_that_of_the_kit(self) -> None:
        for name in COMMANDS_OF_THE_KIT:
            self.assertEqual(f"{name} {VERSION}\n", self.well(f"{name} --version"))

    def test_help_can_be_read_in_any_locale_and_from_any_folder(self) -> None:
        each = ("import runpy, sys\n"
                "for sys.argv in [[name, '--help'] for name in sys.argv[1:]]:\n"
                "    try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
                "    except SystemExit as left: print(left.code)\n")
        for locale in ("C", "C.UTF-8"):
            told = subprocess.run(
                [*PYTHON, "-c", each, *(str(ROOT / name) for name in COMMANDS_OF_THE_KIT)], capture_output=True,
                check=False, cwd=self.folder, env={**os.environ, "LC_ALL": locale, "PYTHONIOENCODING": "ascii"})
            self.assertEqual((0, b"", 5), (told.returncode, told.stderr, told.stdout.count(b"\n0\n")))

    def test_before_it_has_read_its_flags_a_command_imports_no_module_of_the_kit(self) -> None:
        for name in COMMANDS_OF_THE_KIT:
            tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
            nodes = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.Try) else [node])]
            found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            found |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
            self.assertIn("argparse", found)
            self.assertLessEqual(found, {"sys", "os", "time", "argparse", "benchkit"}, name)


    def test_no_memory_to_start_with_is_one_line_and_3(self) -> None:
        starved = ("import runpy, sys\n"
                   "class Full:\n"
                   "    def find_spec(self, name, *more):\n"
                   "        if name == missing: raise MemoryError\n"
                   "sys.meta_path.insert(0, Full())\n"
                   "for name in sys.argv[1:]:\n"
                   "    for missing in ('argparse', 'benchkit.cli'):\n"
                   "        for known in [*sys.modules]:\n"
                   "            if known.startswith('benchkit') or known == 'argparse': del sys.modules[known]\n"
                   "        try: runpy.run_path(name, run_name='__main__')\n"
                   "        except SystemExit as left: print(left.code)\n")
        told = subprocess.run([*PYTHON, "-c", starved, *(str(ROOT / name) for name in COMMANDS_OF_THE_KIT)],
                              capture_output=True, check=False)
        self.assertEqual("3\n" * 10, told.stdout.decode(), told.stderr.decode())
        self.assertEqual("".join(f"{name}: there is not enough memory to start (ulimit -v)\n" * 2
                                 for name in COMMANDS_OF_THE_KIT), told.stderr.decode())


def old_pythons() -> list[str]:
    """Pythons from 3.6 to 3.10 that this machine has."""
    found = [shutil.which(f"python3.{minor}") for minor in range(6, 11)]
    found += [str(path) for minor in range(6, 11)
              for path in Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}")]
    starts = "import sys; sys.exit(not (3, 6) <= sys.version_info[:2] < (3, 11))"
    return [path for path in dict.fromkeys(found)
            if path and subprocess.run([path, "-c", starts], capture_output=True, check=False).returncode == 0]


class OldPythons(unittest.TestCase):
    def test_an_old_python_is_told_which_one_is_needed(self) -> None:
        pythons = old_pythons()
        if not pythons:
            self.skipTest("this machine has no Python from 3.6 to 3.10")
        for python in pythons:
            for name in COMMANDS_OF_THE_KIT:
                with self.subTest(python=python, name=name):
                    told = subprocess.run([python, str(ROOT / name), "--help"], capture_output=True, check=False)
                    self.assertEqual((3, b""), (told.returncode, told.stdout))
                    self.assertRegex(told.stderr.decode(),
                                     rf"\A{name} needs Python 3\.11 or newer; this is 3\.\d+\n\Z")

    def test_a_command_is_written_so_that_python_3_6_can_read_it(self) -> None:
        for name in COMMANDS_OF_THE_KIT:
            ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))


class ShowingLife(WorkflowWithServer):
    def test_on_a_terminal_progress_is_one_line_written_over(self) -> None:
        self.server.delay_s = 0.16
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = self.start(*self.flags.split(), stderr=theirs)
        os.close(theirs)
        stdout, _ = process.communicate(timeout=HANGS_S)
        shown = os.read(ours, 100_000).decode()
        self.assertEqual(0, process.returncode)
        self.assertRegex(shown, r"\r[1-5]/6 recorded; now \d pass, \d fail, 0 incomplete; \d[\d.]*/s, "
                                r"(\d+|under 1) s left; (dev-.*, )?trial [12]")
        self.assertNotIn("\n", shown)
        self.assertRegex(shown, r"\r +\r\Z")
        self.assertLess(max(map(len, shown.split("\r"))), 80)
        self.assertIn(b"Done: every planned trial ran", stdout)

    def test_quiet_is_quiet_on_a_terminal_too(self) -> None:
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.server.delay_s = 0.1
        process = self.start(*self.flags.split(), "--quiet", stderr=theirs)
        process.communicate(timeout=HANGS_S)
        os.write(theirs, b"end")
        os.close(theirs)
        self.assertEqual((0, b"end"), (process.returncode, os.read(ours, 1000)))

    def test_a_command_works_from_another_folder_and_says_commands_that_can_be_typed_there(self) -> None:
        told = self.ended(self.start("--system", "baselines:keywords", "--trials", "2"))
        self.assertEqual((0, ""), (told.code, told.stderr))
        command = self.offered(told.stdout, "judge again")
        self.assertTrue(command.startswith(f"python3 {ROOT / 'harness.py'} run "), command)
        done = subprocess.run(command.replace("python3", sys.executable, 1), shell=True, cwd=self.folder,
                              capture_output=True, check=False, timeout=HANGS_S)
        self.assertEqual((0, b""), (done.returncode, done.stderr))
