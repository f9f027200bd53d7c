"""Which k a report shows where it cannot show all: small ones, and round ones.

What does not live here: the figures at a k (statistics/suites.py). The JSON of a report lists every k of its suite.
"""
from __future__ import annotations

from collections.abc import Sequence

from benchkit.reports.figures_as_text import number
from benchkit.statistics.suites import SuiteAtK

ROUND_KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""The k that people ask for; the last one is always shown, too."""
EVERY_K = 20
"""Where there is room for a line each: all k up to this one."""


def shown_ks(suite: Sequence[SuiteAtK], every: int = 0) -> list[SuiteAtK]:
    """All k of a suite up to `every`, above it those of ROUND_KS, and its last k."""
    return [at_k for at_k in suite if at_k.k <= every or at_k.k in ROUND_KS or at_k is suite[-1]]


def last_ks(suite: Sequence[SuiteAtK]) -> str:
    """Where the k of a suite of several end, behind `every k from 1 to`: `30`, `1,000, and for 5,000`."""
    *_, before, last = (at_k.k for at_k in suite)
    return number(last) if last == before + 1 else f"{number(before)}, and for {number(last)}"
