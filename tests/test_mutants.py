"""The mutants fit the kit as it is, and what is to kill them is there (`python3 -m tests.mutants`)."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from tests.faults.parts import BY_NAME
from tests.mutants import MUTANTS, ROOT, change


class Mutants(unittest.TestCase):
    def test_each_can_be_made_of_the_kit_as_it_is_and_is_still_python(self) -> None:
        for mutant in MUTANTS:
            with self.subTest(mutant.breaks), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / mutant.file
                path.parent.mkdir(parents=True)
                path.write_bytes((ROOT / mutant.file).read_bytes())
                change(Path(folder), mutant)
                self.assertNotEqual((ROOT / mutant.file).read_bytes(), path.read_bytes())
                compile(path.read_text(encoding="utf-8"), mutant.file, "exec")

    def test_one_that_does_not_fit_any_more_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / MUTANTS[0].file
            path.parent.mkdir(parents=True)
            for text in ("another text\n", MUTANTS[0].old * 2):
                path.write_text(text, encoding="utf-8")
                with self.assertRaises(LookupError):
                    change(Path(folder), MUTANTS[0])

    def test_the_tests_and_the_parts_that_are_to_kill_them_are_there(self) -> None:
        for mutant in MUTANTS:
            with self.subTest(mutant.breaks):
                self.assertIn(mutant.part, {*BY_NAME, None})
                for name in mutant.tests:
                    self.assertGreater(unittest.defaultTestLoader.loadTestsFromName(name).countTestCases(), 0, name)

    def test_no_two_break_the_same(self) -> None:
        self.assertEqual(len(MUTANTS), len({mutant.breaks for mutant in MUTANTS}))
        self.assertEqual(len(MUTANTS), len({(mutant.file, mutant.new, mutant.old) for mutant in MUTANTS}))
