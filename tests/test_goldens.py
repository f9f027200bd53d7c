"""Commands over committed files print, return and write what they did when a person last read it."""
from __future__ import annotations

import difflib
import unittest

from tests.goldens import COMMANDS, GOLDENS, golden

MOST_LINES = 60


class Goldens(unittest.TestCase):
    def test_every_command_says_and_writes_what_it_did(self) -> None:
        for group in COMMANDS:
            with self.subTest(group=group):
                kept = (GOLDENS / f"{group}.txt").read_bytes().decode("utf-8")
                changed = list(difflib.unified_diff(kept.split("\n"), golden(group).split("\n"), "kept", "now", n=1))
                if changed:
                    self.fail("\n".join([*changed[:MOST_LINES], f"({len(changed)} lines; read them, and if they are "
                                         "meant: python3 -m tests.goldens)"]))
