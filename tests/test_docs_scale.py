"""docs/scale.md is true: its commands are there, and the tables that take no time are what they print."""
from __future__ import annotations

import io
import re
import unittest
from contextlib import redirect_stdout

from benchkit.trial_log.lines import MOST_LINE_BYTES, MOST_SHARDS
from benchkit.trial_log.schema import MOST_CELLS
from benchmarks import merge_rate, simulate_fleet
from benchmarks.measuring import ROOT

PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
AGAIN = re.compile(r"^    python3 -m benchmarks\.(\w+)(.*)$", re.MULTILINE)


def printed(*flags: str) -> str:
    """What simulate_fleet prints."""
    with redirect_stdout(io.StringIO()) as stdout:
        simulate_fleet.main(flags)
    return stdout.getvalue()


def table_before(command: str) -> list[str]:
    """The lines of the table that stands before a command, without their indent."""
    block = PAGE.split(f"\n\n    {command}\n")[0].rsplit("\n\n", 1)[1]
    return [line.strip() for line in block.splitlines()]


class Page(unittest.TestCase):
    def test_its_tables_are_what_the_commands_print(self) -> None:
        for name in ("merge", "files"):
            shown = table_before(f"python3 -m benchmarks.simulate_fleet --only {name}")
            with self.subTest(name=name):
                self.assertGreater(len(shown), 3)
                self.assertEqual(shown, [line.strip() for line in printed("--only", name).splitlines()
                                         if line.strip() in shown])

    def test_every_table_of_the_simulation_is_shown(self) -> None:
        for name in simulate_fleet.TABLES:
            self.assertGreater(len(table_before(f"python3 -m benchmarks.simulate_fleet --only {name}")), 3)

    def test_its_commands_are_there(self) -> None:
        commands = AGAIN.findall(PAGE)
        self.assertGreater(len(commands), 6)
        for module, rest in commands:
            words = rest.split("  ")[0].split()
            if module == "simulate_fleet" and "--help" not in words:
                simulate_fleet.parser().parse_args(words)
            self.assertIn(module, ("simulate_fleet", "merge_rate"))
        self.assertTrue(callable(merge_rate.main))

    def test_the_rate_it_reckons_with_is_the_measured_one(self) -> None:
        found = re.search(r"merged trials a second of processor time +([\d,]+) \(([\d,]+) to ([\d,]+)\)", PAGE)
        assert found is not None
        middle, low, high = (int(one.replace(",", "")) for one in found.groups())
        self.assertTrue(low <= middle <= high)
        self.assertAlmostEqual(middle, simulate_fleet.MEASURED.trials_per_s, delta=0.02 * middle)

    def test_the_limits_it_names_are_those_of_the_kit(self) -> None:
        self.assertIn(f"A log plans {MOST_CELLS:,} trials at most", PAGE)
        self.assertIn(f"{MOST_LINE_BYTES >> 20} MiB", PAGE)
        self.assertIn(f"{MOST_SHARDS:,} shards a run", " ".join(PAGE.split()))
