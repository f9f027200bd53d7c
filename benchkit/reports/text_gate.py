"""The text of the gate: the verdict in the first line, then rule by rule why, then the comparison.

What does not live here: the rules (gate.py), and the comparison (text_pairs.py).
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.reports.cautions import count_of
from benchkit.reports.columns import INDENT, wrapped
from benchkit.reports.comparison import Pair, SideBySide
from benchkit.reports.gate import Gate
from benchkit.reports.pair_words import title_of
from benchkit.reports.text_pairs import pair_lines


def gate_text(side: SideBySide, pair: Pair, gate: Gate) -> str:
    """All of it; ends in a newline."""
    return "\n".join([*_verdict_lines(side, pair, gate), "", *pair_lines(side, pair)]) + "\n"


def _verdict_lines(side: SideBySide, pair: Pair, gate: Gate) -> Iterator[str]:
    rules, broken = count_of(len(gate.results), "rule"), len(gate.broken)
    answer = f"refused ({broken} of {rules} broken)" if broken else f"accepted (none of {rules} broken)"
    yield from wrapped(f"{answer}: {title_of(side, pair)}", rest=INDENT)
    for result in sorted(gate.results, key=lambda result: not result.is_broken):
        yield from wrapped(result.text, f"{INDENT}{'broken' if result.is_broken else 'held':<8}")
