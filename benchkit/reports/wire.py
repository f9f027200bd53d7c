"""The JSON of a report: the same bytes from the same run records, on any machine.

Figures are rounded half-even to 6 digits from exact values, but never to 0 or 1 where they are neither
(statistics/figures.py); what is not available is null, never zero. `se` is also null where no case wavered, and
`prompt` and `cached` of `tokens` where no trial tells them.
What does not live here: how a figure comes about (run_report.py and the rooms it names), and the fields of
`comparisons` (wire_pairs.py).
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from benchkit.basics.values import JSON
from benchkit.reports.case_rows import CaseRow
from benchkit.reports.comparison import SideBySide
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, Speed, Tokens
from benchkit.reports.tags import TagRow
from benchkit.reports.wire_pairs import pair_fields
from benchkit.statistics.figures import figure
from benchkit.statistics.percentiles import PERCENTS, Latency, Percentile
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

REPORT_VERSION = 1


def report_bytes(runs: Sequence[RunReport], side: SideBySide | None = None) -> bytes:
    """The file: indented by 1, ASCII, final newline; with a comparison of every pair where `side` gives them."""
    fields: dict[str, JSON] = {"report": REPORT_VERSION, "runs": [run_fields(run) for run in runs],
                               "comparisons": [] if side is None else [pair_fields(side, pair) for pair in side.pairs]}
    return file_bytes(fields)


def file_bytes(fields: Mapping[str, JSON]) -> bytes:
    """A file of this floor: JSON indented by 1, ASCII, final newline."""
    return (json.dumps(fields, indent=1, allow_nan=False) + "\n").encode("ascii")


def run_fields(run: RunReport) -> dict[str, JSON]:
    """One run of a report."""
    judge = run.record.judge
    return {
        "name": run.name, "system": run.record.system, "settings": run.record.settings,
        "judge": {"name": judge.name, "version": judge.version, "task_sha256": judge.task_sha256},
        "coverage": _coverage_fields(run), "totals": _totals_fields(run),
        "pass": [_at_k_fields(at_k) for at_k in run.suite],
        "checks": {check.name: {"failed": check.failed, "alone": check.alone} for check in run.failures.checks},
        "tags": {row.tag: _tag_fields(row) for row in run.tags},
        "cases": [_case_fields(row) for row in run.cases],
        "latency": {"warm": _column_fields(run.speed.warm), "cold": _column_fields(run.speed.cold)},
        "tokens": _tokens_fields(run.speed.tokens), "attempts": _attempts_fields(run.speed),
        "warnings": [{"code": caution.code, "text": caution.text} for caution in run.cautions],
    }


def _coverage_fields(run: RunReport) -> dict[str, JSON]:
    coverage = run.coverage
    return {
        "planned": coverage.planned, "completed": coverage.completed,
        "by_error": {error.type: error.count for error in run.unjudged},
        "cases": coverage.cases, "cases_complete": coverage.cases_complete,
        "cases_touched": coverage.cases_touched, "k_max": coverage.k_max,
    }


def _totals_fields(run: RunReport) -> dict[str, JSON]:
    totals = run.totals
    return {"planned": totals.planned, "pass": totals.passed, "fail": totals.failed, "incomplete": totals.incomplete}


def _at_k_fields(at_k: SuiteAtK) -> dict[str, JSON]:
    return {"k": at_k.k, "at": _metric_fields(at_k.at), "hat": _metric_fields(at_k.hat)}


def _metric_fields(metric: SuiteMetric) -> dict[str, JSON]:
    return {
        "worst": figure(metric.worst), "completed": figure(metric.completed),
        "completed_cases": metric.completed_cases, "best": figure(metric.best),
        "low": figure(metric.low), "high": figure(metric.high), "se": figure(metric.se or None),
    }


def _tag_fields(row: TagRow) -> dict[str, JSON]:
    return {"cases": row.cases, "planned": row.planned, "pass": row.passed, "fail": row.failed,
            "incomplete": row.unknown, **_metric_fields(row.rate)}


def _case_fields(row: CaseRow) -> dict[str, JSON]:
    return {
        "id": row.id, "n": row.n, "passed": row.passed, "incomplete": row.incomplete,
        "low": figure(row.low), "high": figure(row.high), "disagreement": figure(row.disagreement),
        "state": str(row.state),
    }


def _column_fields(column: LatencyColumn) -> dict[str, JSON]:
    percentiles = zip(PERCENTS, column.percentiles, strict=True)
    return {
        "n": column.n, "timeouts": column.timeouts, "shortest": figure(column.shortest),
        "longest": figure(column.longest),
        **{f"p{percent}": _percentile_fields(found) for percent, found in percentiles},
    }


def _percentile_fields(found: Percentile | None) -> JSON:
    if found is None:
        return None
    return {"value": figure(found.value.seconds), "censored": found.value.censored,
            "low": _end_fields(found.low), "high": _end_fields(found.high)}


def _end_fields(end: Latency | None) -> JSON:
    """An end of a rank interval; null also where it is a timeout, whose seconds nobody knows."""
    return None if end is None or end.censored else figure(end.seconds)


def _tokens_fields(tokens: Tokens) -> dict[str, JSON]:
    if not tokens.trials:
        return {"trials": 0, "prompt": None, "output": None, "cached": None, "output_per_second": None}
    return {"trials": tokens.trials, "prompt": tokens.prompt, "output": tokens.output, "cached": tokens.cached,
            **({"prompt_trials": tokens.prompt_trials} if 0 < tokens.prompt_trials < tokens.trials else {}),
            "output_per_second": figure(tokens.output_per_second)}


def _attempts_fields(speed: Speed) -> dict[str, JSON]:
    attempts = speed.attempts
    return {"cells": attempts.cells, "repeated": attempts.repeated, "most": attempts.most,
            "retries": attempts.retries}
