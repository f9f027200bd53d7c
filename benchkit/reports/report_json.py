"""The JSON of a report, of its comparisons and of a gate: the same bytes from the same run records, on any machine.

Its fields are in docs/formats.md.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

from benchkit.basics.values import JSON
from benchkit.recordings.digests import ErrorPairs
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.gate import Gate, RuleResult, answer_line
from benchkit.reports.latency_ratio import LatencyRatio, median_of
from benchkit.reports.paired_cases import CaseDifference, Outcome
from benchkit.reports.repeats import FirstDifferenceFacts, Repeat, Repetition
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, Speed, TokenSummary
from benchkit.reports.tally import CaseRow, TagRow
from benchkit.reports.verdicts import title_of, verdict_of
from benchkit.statistics.estimators import figure, probability_figure
from benchkit.statistics.percentiles import PERCENTS, Latency, Percentile
from benchkit.statistics.permutation import About
from benchkit.statistics.suites import SuiteAtK, SuiteMetric

GATE_VERSION = 1


def pair_fields(side: SideBySide, pair: Pair) -> dict[str, JSON]:
    """One pair of runs."""
    fields: dict[str, JSON] = {
        "base": _run_fields(side, pair.base),
        "candidate": _run_fields(side, pair.candidate),
        "not_compared": [
            {"code": incompatibility.code, "text": incompatibility.text} for incompatibility in pair.incompatibilities
        ],
    }
    if pair.comparison is None:
        return fields
    verdict = verdict_of(side, pair)
    return {**fields, "finding": str(verdict.finding), "text": verdict.text,
            **_comparison_fields(side, pair, pair.comparison)}


def gate_fields(side: SideBySide, pair: Pair, gate: Gate) -> dict[str, JSON]:
    """The answer of the gate, its rules, what each found (`p` where it rests on one), and the comparison beneath it.

    `answer` is "accepted", "accepted, but not shown to be as good", "not decided" or "refused", and `text` the first
    line of the gate; `accepted` and `decided` are what scripts ask.
    """
    rules = gate.rules
    return {
        "gate": GATE_VERSION, "accepted": not gate.broken, "decided": gate.is_decided,
        "answer": str(gate.answer), "text": answer_line(gate, title_of(side, pair)),
        "rules": {"alpha": figure(rules.alpha), "max_drop": figure(rules.max_drop),
                  "allow_incomplete": rules.allow_incomplete, "strict": rules.strict},
        "results": [_result_fields(one) for one in gate.results],
        "comparison": pair_fields(side, pair)}


def _result_fields(result: RuleResult) -> dict[str, JSON]:
    fields: dict[str, JSON] = {"code": result.code, "broken": result.is_broken, "text": result.text}
    return fields if result.p is None else {**fields, **_figures({"p": result.p}), **_about({"p": result.p})}


def _figures(p_values: Mapping[str, Fraction | None]) -> dict[str, JSON]:
    return {name: probability_figure(p) for name, p in p_values.items()}


def _about(p_values: Mapping[str, Fraction | None]) -> dict[str, JSON]:
    """The names of those that were approximated, where there are any."""
    names: list[JSON] = [name for name, p in p_values.items() if isinstance(p, About)]
    return {"about": names} if names else {}


def _run_fields(side: SideBySide, run: int) -> dict[str, JSON]:
    rank = side.ranks[run]
    return {"run": run, "name": side.runs[run].name,
            "rank": None if rank is None else {"best": rank.best, "worst": rank.worst}}


def _comparison_fields(side: SideBySide, pair: Pair, comparison: Comparison) -> dict[str, JSON]:
    bounds, (base, candidate) = comparison.bounds, comparison.incomplete
    return {
        "cases": _count_fields(comparison),
        "pass": {"base": figure(comparison.base_rate), "candidate": figure(comparison.candidate_rate),
                 "difference": figure(comparison.difference), "low": figure(comparison.interval.low),
                 "high": figure(comparison.interval.high)},
        "sign_flip": _p_fields(side, pair, comparison),
        "incomplete": {"base": base, "candidate": candidate, "low": figure(bounds.low if bounds else None),
                       "high": figure(bounds.high if bounds else None), "robust": comparison.robust},
        "margin": {"given": figure(comparison.margin), "same": comparison.same_within_margin,
                   "smallest": figure(comparison.smallest_margin)},
        "by_case": [_case_fields(case) for case in comparison.cases],
        **_regression_fields(comparison),
        "latency": {ratio.warmth: _ratio_fields(ratio) for ratio in comparison.latency},
        "repeat": None if comparison.repeat is None else _repeat_fields(comparison.repeat),
        "warnings": [{"code": caution.code, "text": caution.text} for caution in comparison.warnings]}


def _p_fields(side: SideBySide, pair: Pair, comparison: Comparison) -> dict[str, JSON]:
    always = {"p": comparison.p, "smallest_p": comparison.smallest_p, "holm_p": pair.adjusted_p}
    sometimes = {"by_sign_flip": comparison.sign_flip} if comparison.p > comparison.sign_flip else {}
    if any(comparison.incomplete):
        sometimes["p_worst"] = comparison.p_worst
    return {**_figures(always), "tests": side.tests, **_figures(sometimes), **_about({**always, **sometimes})}


def _regression_fields(comparison: Comparison) -> dict[str, JSON]:
    stopped, began, may = len(comparison.regressions), comparison.progressed, comparison.open_regressions
    if not (stopped or began or may):
        return {}
    return {"regressions": {"passed_every_time": comparison.passed_every_time, "stopped": stopped, "began": began,
                            **_figures({"p": comparison.mirror_p}),
                            "may_have_stopped": [case.id for case in may], **_about({"p": comparison.mirror_p})}}


def _count_fields(comparison: Comparison) -> dict[str, JSON]:
    return {"common": len(comparison.cases), "compared": comparison.compared, "differing": comparison.differing,
            **{str(outcome): len(comparison.with_outcome(outcome)) for outcome in Outcome},
            "only_base": list(comparison.only_base), "only_candidate": list(comparison.only_candidate)}


def _case_fields(case: CaseDifference) -> dict[str, JSON]:
    return {"id": case.id, "outcome": str(case.outcome), "difference": figure(case.difference),
            "regression": case.is_regression, "base": _row_fields(case.base),
            "candidate": _row_fields(case.candidate)}


def _row_fields(row: CaseRow) -> dict[str, JSON]:
    return {"n": row.n, "passed": row.passed, "incomplete": row.incomplete, "state": str(row.state)}


def _ratio_fields(ratio: LatencyRatio) -> dict[str, JSON]:
    return {"base": _median_fields(ratio.base), "candidate": _median_fields(ratio.candidate),
            "ratio": figure(ratio.ratio)}


def _median_fields(column: LatencyColumn) -> dict[str, JSON]:
    median = median_of(column)
    return {"n": column.n, "p50": None if median is None else figure(median.seconds),
            "censored": median is not None and median.censored}


def _repeat_fields(repeat: Repeat) -> dict[str, JSON]:
    return {**_figures({"p": repeat.p}), **_about({"p": repeat.p}),
            "outputs": {one.warmth: _repetition_fields(one) for one in repeat.repetitions},
            **_error_fields(repeat.errors),
            "only_base": repeat.only_base, "only_candidate": repeat.only_candidate,
            "self_base": figure(repeat.self_base), "self_candidate": figure(repeat.self_candidate),
            "parting": None if repeat.parting is None else _parting_fields(repeat.parting)}


def _error_fields(errors: ErrorPairs) -> dict[str, JSON]:
    if not errors.counted:
        return {}
    return {"errors": {"both": errors.both, "same_type": errors.same_type, "only_base": errors.only_first,
                       "only_candidate": errors.only_second}}


def _repetition_fields(one: Repetition) -> dict[str, JSON]:
    return {"compared": one.outputs.compared, "equal": one.outputs.equal,
            "verdicts_compared": one.verdicts.compared, "verdicts_equal": one.verdicts.equal}


def _parting_fields(parting: FirstDifferenceFacts) -> dict[str, JSON]:
    return {"case": parting.trial.case, "trial": parting.trial.trial, "warmth": parting.warmth,
            "character": parting.character, "base_verdict": parting.base.verdict,
            "candidate_verdict": parting.candidate.verdict}


REPORT_VERSION = 1


def report_bytes(runs: Sequence[RunReport], side: SideBySide | None = None) -> bytes:
    """The file: indented by 1, ASCII, final newline; with a comparison of every pair where `side` gives them."""
    fields: dict[str, JSON] = {"report": REPORT_VERSION, "runs": [run_fields(run) for run in runs],
                               "comparisons": [] if side is None else [pair_fields(side, pair) for pair in side.pairs]}
    return file_bytes(fields)


def file_bytes(fields: Mapping[str, JSON]) -> bytes:
    """A file of this layer: JSON indented by 1, ASCII, final newline."""
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
        "cases": [_fields_of_case(row) for row in run.cases],
        "latency": {"warm": _column_fields(run.speed.warm), "cold": _column_fields(run.speed.cold)},
        "tokens": _tokens_fields(run.speed.tokens), "attempts": _attempts_fields(run.speed),
        "warnings": [{"code": caution.code, "text": caution.text} for caution in run.warnings],
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


def _fields_of_case(row: CaseRow) -> dict[str, JSON]:
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


def _tokens_fields(tokens: TokenSummary) -> dict[str, JSON]:
    if not tokens.trials:
        return {"trials": 0, "prompt": None, "output": None, "cached": None, "output_per_second": None}
    return {"trials": tokens.trials, "prompt": tokens.prompt, "output": tokens.output, "cached": tokens.cached,
            **({"prompt_trials": tokens.prompt_trials} if 0 < tokens.prompt_trials < tokens.trials else {}),
            "output_per_second": figure(tokens.output_per_second)}


def _attempts_fields(speed: Speed) -> dict[str, JSON]:
    attempts = speed.attempts
    return {"cells": attempts.cells, "repeated": attempts.repeated, "most": attempts.most,
            "retries": attempts.retries}
