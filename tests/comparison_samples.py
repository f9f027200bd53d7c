"""Several small runs side by side, for the tests of comparisons."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from benchkit.basics.values import JSON
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.comparison import Comparison, SideBySide, side_by_side
from benchkit.reports.run_report import RunReport, report_of
from tests.reports_samples import record

BETTER = {f"case-{number}": "++++" for number in range(8)}
WORSE = {f"case-{number}": "+---" for number in range(8)}
"""Eight cases of which every one is lost: p is 2/256."""


def run_of(marks: Mapping[str, str], name: str = "run", system: str = "toys:robot") -> RunReport:
    """The report of a run with these marks."""
    return report_of(replace(record(marks), system=system), name)


def compared(base: RunRecord | Mapping[str, str], candidate: RunRecord | Mapping[str, str],
             margin: Fraction | None = None) -> Comparison:
    """The comparison of two runs, which must be possible."""
    pair = two_of(base, candidate, margin).pairs[0]
    assert pair.comparison is not None, pair.incompatibilities
    return pair.comparison


def two_of(base: RunRecord | Mapping[str, str], candidate: RunRecord | Mapping[str, str],
           margin: Fraction | None = None) -> SideBySide:
    """Two runs, `base` and `candidate`, side by side."""
    first, second = (one if isinstance(one, RunRecord) else record(one) for one in (base, candidate))
    return side_by_side([report_of(first, "base"), report_of(second, "candidate")], margin)


def with_outputs(run: RunRecord, outputs: Mapping[tuple[str, int], str]) -> RunRecord:
    """The record with these outputs, by case and trial."""
    return replace(run, results=tuple(
        replace(one, output=outputs.get((one.case, one.trial), one.output)) for one in run.results))


def with_case(run: RunRecord, place: int, **fields: JSON) -> RunRecord:
    """The record with fields of one case replaced."""
    cases = list(run.cases)
    cases[place] = replace(cases[place], **fields)  # type: ignore[arg-type]
    return replace(run, cases=tuple(cases))
