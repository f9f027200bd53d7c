"""The benchmarks as commands: each says what it measures; the start of the commands is measured for every command."""
from __future__ import annotations

import importlib
import io
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from random import Random

from benchmarks.approximate_p import KINDS, row_of
from benchmarks.measuring import ROOT, Cost, cost_of
from benchmarks.startup import LEAST, NOTHING, commands, prepare, rows_of


class Commands(unittest.TestCase):
    def test_each_has_help_that_begins_with_what_it_is_for(self) -> None:
        for path in sorted((ROOT / "benchmarks").glob("*.py")):
            module = importlib.import_module(f"benchmarks.{path.stem}".removesuffix(".__init__"))
            if not hasattr(module, "main"):
                continue
            with self.subTest(module=path.stem), redirect_stdout(io.StringIO()) as stdout:
                with self.assertRaises(SystemExit) as ended:
                    module.main(["--help"])
                self.assertEqual(0, ended.exception.code)
                self.assertIn(f"usage: python3 -m benchmarks.{path.stem}", stdout.getvalue())
                self.assertIn((module.__doc__ or "?").splitlines()[0], stdout.getvalue())


class ApproximateP(unittest.TestCase):
    def test_a_row_has_the_worst_error_of_its_draws(self) -> None:
        for number, worst in ((0, 0.001), (3, 0.005), (8, 0.005)):
            with self.subTest(kind=KINDS[number].name):
                name, error, *_ = row_of(KINDS[number], 2, Random(1))
                self.assertEqual(KINDS[number].name, name)
                self.assertLess(float(error), worst)


class Startup(unittest.TestCase):
    def test_every_command_is_started_twice_help_and_something_real(self) -> None:
        kit_commands = [path.name for path in ROOT.glob("*.py") if "import cli" in path.read_text(encoding="utf-8")]
        self.assertEqual(5, len(kit_commands))
        started = [Path(command[1]).name for command in commands().values()]
        for cli in kit_commands:
            self.assertEqual(2, started.count(cli), cli)

    def test_what_is_measured_works(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            prepare(Path(name))
            for command in commands().values():
                if "--help" not in command:
                    cost_of(command, Path(name))

    def test_a_row_has_ratios_to_nothing_and_to_the_least(self) -> None:
        found = {NOTHING: [Cost(0.2, 0.1, 0)], LEAST: [Cost(0.4, 0.2, 0)], "x": [Cost(0.8, 0.4, 0)]}
        self.assertEqual(["x", "400", "4.00 (4.00 to 4.00)", "2.00 (2.00 to 2.00)", "4.00 (4.00 to 4.00)"],
                         rows_of(found)[2])
