"""The text of flaky cases: what was expected, an output that passed beside one that failed, and what differs."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from benchkit.basics.texts import count_of, shown_line
from benchkit.reports.columns import INDENT, WIDTH, clipped, quoted, width_of, wrapped
from benchkit.reports.failures import failed_checks
from benchkit.reports.outputs import FieldDifference, OutputPair, expected_line, field_differences, output_pair, parted
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow
from benchkit.statistics.estimators import State

MOST_PAIRS = 5
MOST_LINES = 6
MOST_FIELDS = 4
BETWEEN = " | "
HALF = (WIDTH - 2 * len(INDENT) - len(BETWEEN)) // 2
BEFORE = 60
"""Letters shown before the place where two long texts part."""


def flaky_output_lines(run: RunReport) -> Iterator[str]:
    """The flaky cases that are nearest to half and half, two outputs of each side by side."""
    flaky = [place for place, row in enumerate(run.cases) if row.state is State.FLAKY]
    flaky.sort(key=lambda place: run.cases[place].unevenness)
    for place in flaky[:MOST_PAIRS]:
        pair = output_pair(run.record.results_of(place))
        if pair is not None:
            yield ""
            yield from _pair_lines(run.cases[place], expected_line(run.record.cases[place].expected), pair)
    if len(flaky) > MOST_PAIRS:
        yield ""
        yield f"{INDENT}and {count_of(len(flaky) - MOST_PAIRS, 'more flaky case')}: --case ID shows all outputs of one"


def _pair_lines(row: CaseRow, expected: str, pair: OutputPair) -> Iterator[str]:
    explain = pair.failed.explain or {}
    why = "; ".join(f"{shown_line(name, 60)}: {shown_line(explain[name], 100)}" if name in explain
                    else shown_line(name, 60) for name in failed_checks(pair.failed))
    yield from wrapped(f"{shown_line(row.id, 60)}: trial {pair.passed.trial} passed, trial {pair.failed.trial} failed "
                       f"({why})", INDENT)
    if expected:
        yield INDENT * 2 + clipped(f"expected {expected}", WIDTH - 2 * len(INDENT))
    yield from _difference_lines(pair.passed.output or "", pair.failed.output or "")


def _difference_lines(passed: str, failed: str) -> Iterator[str]:
    fields = field_differences(passed, failed)
    if passed == failed:
        yield INDENT * 2 + "the outputs are equal: the checks do not depend on them alone"
        return
    at = len(parted(passed, failed).start)
    left, right = (["passed", *_excerpt(passed, at)], ["failed", *_excerpt(failed, at)])
    for one, other in zip_longest(left, right, fillvalue=""):
        yield (INDENT * 2 + one + " " * (HALF - width_of(one)) + BETWEEN + other).rstrip()
    if fields:
        more = f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
        yield from wrapped("differs in " + "; ".join(map(_field, fields[:MOST_FIELDS])) + more, INDENT * 2)
    else:
        yield INDENT * 2 + f"differs from character {at + 1} on"


def _field(difference: FieldDifference) -> str:
    sides = ("nothing" if text is None else shown_line(text, 60) for text in (difference.passed, difference.failed))
    return f"{shown_line(difference.name, 40)}: {' against '.join(sides)}"


def _excerpt(text: str, at: int) -> list[str]:
    """The lines around the place where a text parts from the other."""
    most = HALF * MOST_LINES
    start = 0 if at < most // 2 else at - BEFORE
    piece = ("..." if start else "") + text[start:start + most]
    lines = quoted(piece, "", HALF)
    is_cut = len(lines) > MOST_LINES or start + most < len(text)
    return [*lines[:MOST_LINES - 1], "..."] if is_cut else lines or [""]
