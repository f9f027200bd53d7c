"""Identical systems are seldom called different: the simulations of benchmarks/false_findings.py, in small."""
from __future__ import annotations

import unittest

from benchmarks.false_findings import rows_of

DRAWS = 20
MOST = 0.06
"""Of 20 draws one at most."""


class FalseFindings(unittest.TestCase):
    def test_comparison_gate_and_board_are_wrong_in_six_of_a_hundred_at_most(self) -> None:
        alone = []
        for name, judged_alone, *said in rows_of(DRAWS, seed=1):
            with self.subTest(row=name):
                self.assertTrue(any(said))
                self.assertLessEqual(max(float(one) for one in said if one), MOST)
            alone.append(float(judged_alone))
        # and the draws are such that the judged trials alone would mislead
        self.assertGreater(sum(share > 0.2 for share in alone), 10)
