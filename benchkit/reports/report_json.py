"""The JSON of a report, of its comparisons and of a gate: the same bytes from the same run records, on any machine.

Its fields are in docs/formats.md.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

from benchkit.basics.values import JSON
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.paired_cases import CaseOutcome, Repeat
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import LatencyColumn, TokenSummary
from benchkit.reports.verdicts import Gate, GateAnswer, answer_line, title_of, verdict_of
from benchkit.reports.warnings import ReportWarning
from benchkit.statistics.estimators import figure, probability_figure
from benchkit.statistics.percentiles import PERCENTS, Percentile
from benchkit.statistics.permutation import About
from benchkit.statistics.suites import SuiteMetric

REPORT_VERSION = 1
GATE_VERSION = 1


def report_bytes(runs: Sequence[RunReport], side: SideBySide | None = None) -> bytes:
    """The file of a report, with a comparison of every pair where `side` gives them."""
    return file_bytes({"report": REPORT_VERSION, "runs": [run_fields(run) for run in runs],
                       "comparisons": [] if side is None else [pair_fields(side, pair) for pair in side.pairs]})


def file_bytes(fields: Mapping[str, JSON]) -> bytes:
    """A file of this layer: JSON indented by 1, ASCII, final newline."""
    return (json.dumps(fields, indent=1, allow_nan=False) + "\n").encode("ascii")


def gate_fields(side: SideBySide, pair: Pair, gate: Gate) -> dict[str, JSON]:
    """The answer of the gate, its rules, what each found (`p` where it rests on one), and the comparison beneath it.

    `answer` is "accepted", "accepted, but not shown to be as good", "not decided" or "refused", and `text` the first
    line of the gate; `accepted` and `decided` are what scripts ask.
    """
    rules = gate.rules
    return {
        "gate": GATE_VERSION, "accepted": not gate.broken, "decided": gate.answer is not GateAnswer.NOT_DECIDED,
        "answer": str(gate.answer), "text": answer_line(gate, title_of(side, pair)),
        "rules": {"alpha": figure(rules.alpha), "max_drop": figure(rules.max_drop),
                  "allow_incomplete": rules.allow_incomplete, "strict": rules.strict},
        "results": [{"code": one.code, "broken": one.is_broken, "text": one.text,
                     **({} if one.p is None else {**_figures({"p": one.p}), **_about({"p": one.p})})}
                    for one in gate.results],
        "comparison": pair_fields(side, pair)}


def _figures(p_values: Mapping[str, Fraction | None]) -> dict[str, JSON]:
    return {name: probability_figure(p) for name, p in p_values.items()}


def _about(p_values: Mapping[str, Fraction | None]) -> dict[str, JSON]:
    """The names of those that were approximated, where there are any."""
    names: list[JSON] = [name for name, p in p_values.items() if isinstance(p, About)]
    return {"about": names} if names else {}


def _warnings(warnings: Sequence[ReportWarning]) -> list[JSON]:
    return [{"code": warning.code, "text": warning.text} for warning in warnings]


def pair_fields(side: SideBySide, pair: Pair) -> dict[str, JSON]:
    """One pair of runs."""
    fields: dict[str, JSON] = {}
    for name, place in (("base", pair.base), ("candidate", pair.candidate)):
        rank = side.ranks[place]
        fields[name] = {"run": place, "name": side.runs[place].name,
                        "rank": None if rank is None else {"best": rank.best, "worst": rank.worst}}
    fields["not_compared"] = [{"code": one.code, "text": one.text} for one in pair.incompatibilities]
    if pair.comparison is None:
        return fields
    found, verdict = pair.comparison, verdict_of(side, pair)
    bounds, (base, candidate) = found.bounds, found.incomplete
    always = {"p": found.p, "smallest_p": found.smallest_p, "holm_p": pair.adjusted_p}
    sometimes = {**({"by_sign_flip": found.sign_flip} if found.p > found.sign_flip else {}),
                 **({"p_worst": found.p_worst} if any(found.incomplete) else {})}
    return {
        **fields, "finding": str(verdict.finding), "text": verdict.text,
        "cases": {"common": len(found.cases), "compared": found.compared, "differing": found.differing,
                  **{str(outcome): len(found.with_outcome(outcome)) for outcome in CaseOutcome},
                  "only_base": list(found.only_base), "only_candidate": list(found.only_candidate)},
        "pass": {"base": figure(found.base_rate), "candidate": figure(found.candidate_rate),
                 "difference": figure(found.difference), "low": figure(found.interval.low),
                 "high": figure(found.interval.high)},
        "sign_flip": {**_figures(always), "tests": side.tests, **_figures(sometimes),
                      **_about({**always, **sometimes})},
        "incomplete": {"base": base, "candidate": candidate, "low": figure(bounds.low if bounds else None),
                       "high": figure(bounds.high if bounds else None), "robust": found.robust},
        "margin": {"given": figure(found.margin), "same": found.same_within_margin,
                   "smallest": figure(found.smallest_margin)},
        "by_case": [{"id": case.id, "outcome": str(case.outcome), "difference": figure(case.difference),
                     "regression": case.is_regression,
                     **{name: {"n": row.n, "passed": row.passed, "incomplete": row.incomplete, "state": str(row.state)}
                        for name, row in (("base", case.base), ("candidate", case.candidate))}}
                    for case in found.cases],
        **_regression_fields(found),
        "latency": {one.warmth: {"base": _median_fields(one.base), "candidate": _median_fields(one.candidate),
                                 "ratio": figure(one.ratio)} for one in found.latency},
        "repeat": None if found.repeat is None else _repeat_fields(found.repeat),
        "warnings": _warnings(found.warnings)}


def _regression_fields(found: Comparison) -> dict[str, JSON]:
    stopped, began, may = len(found.regressions), found.progressed, found.open_regressions
    if not (stopped or began or may):
        return {}
    p = {"p": found.mirror_p}
    return {"regressions": {"passed_every_time": found.passed_every_time, "stopped": stopped, "began": began,
                            **_figures(p), "may_have_stopped": [case.id for case in may], **_about(p)}}


def _median_fields(column: LatencyColumn) -> dict[str, JSON]:
    median = column.median
    return {"n": column.n, "p50": None if median is None else figure(median.seconds),
            "censored": median is not None and median.censored}


def _repeat_fields(repeat: Repeat) -> dict[str, JSON]:
    errors, parting, p = repeat.errors, repeat.parting, {"p": repeat.p}
    return {
        **_figures(p), **_about(p),
        "outputs": {one.warmth: {"compared": one.compared, "equal": one.equal,
                                 "verdicts_compared": one.verdicts_compared, "verdicts_equal": one.verdicts_equal}
                    for one in repeat.repetitions},
        **({"errors": {"both": errors.both, "same_type": errors.same_type, "only_base": errors.only_first,
                       "only_candidate": errors.only_second}} if errors.counted else {}),
        "only_base": repeat.only_base, "only_candidate": repeat.only_candidate,
        "self_base": figure(repeat.self_base), "self_candidate": figure(repeat.self_candidate),
        "parting": None if parting is None else {
            "case": parting.base.case, "trial": parting.base.trial, "warmth": parting.warmth,
            "character": parting.character, "base_verdict": parting.base.verdict,
            "candidate_verdict": parting.candidate.verdict}}


def run_fields(run: RunReport) -> dict[str, JSON]:
    """One run of a report."""
    judge, coverage, totals, attempts = run.record.judge, run.coverage, run.totals, run.speed.attempts
    return {
        "name": run.name, "system": run.record.system, "settings": run.record.settings,
        "judge": {"name": judge.name, "version": judge.version, "task_sha256": judge.task_sha256},
        "coverage": {"planned": coverage.planned, "completed": coverage.completed,
                     "by_error": {error.type: error.count for error in run.unjudged},
                     "cases": coverage.cases, "cases_complete": coverage.cases_complete,
                     "cases_touched": coverage.cases_touched, "k_max": coverage.k_max},
        "totals": {"planned": totals.planned, "pass": totals.passed, "fail": totals.failed,
                   "incomplete": totals.incomplete},
        "pass": [{"k": at_k.k, "at": _metric_fields(at_k.at), "hat": _metric_fields(at_k.hat)} for at_k in run.suite],
        "checks": {check.name: {"failed": check.failed, "alone": check.alone} for check in run.failures.checks},
        "tags": {row.tag: {"cases": row.cases, "planned": row.trials.planned, "pass": row.trials.passed,
                           "fail": row.trials.failed, "incomplete": row.trials.incomplete,
                           **_metric_fields(row.rate)} for row in run.tags},
        "cases": [{"id": row.id, "n": row.n, "passed": row.passed, "incomplete": row.incomplete,
                   "low": figure(row.low), "high": figure(row.high), "disagreement": figure(row.disagreement),
                   "state": str(row.state)} for row in run.cases],
        "latency": {"warm": _column_fields(run.speed.warm), "cold": _column_fields(run.speed.cold)},
        "tokens": _tokens_fields(run.speed.tokens),
        "attempts": {"cells": attempts.cells, "repeated": attempts.repeated, "most": attempts.most,
                     "retries": attempts.retries},
        "warnings": _warnings(run.warnings)}


def _metric_fields(metric: SuiteMetric) -> dict[str, JSON]:
    return {"worst": figure(metric.worst), "completed": figure(metric.completed),
            "completed_cases": metric.completed_cases, "best": figure(metric.best),
            "low": figure(metric.low), "high": figure(metric.high), "se": figure(metric.se or None)}


def _column_fields(column: LatencyColumn) -> dict[str, JSON]:
    return {"n": column.n, "timeouts": column.timeouts, "shortest": figure(column.shortest),
            "longest": figure(column.longest),
            **{f"p{percent}": None if found is None else _percentile_fields(found)
               for percent, found in zip(PERCENTS, column.percentiles, strict=True)}}


def _percentile_fields(found: Percentile) -> dict[str, JSON]:
    """The ends of a rank interval are null also where they are timeouts, whose seconds nobody knows."""
    low, high = (None if end is None or end.censored else figure(end.seconds) for end in (found.low, found.high))
    return {"value": figure(found.value.seconds), "censored": found.value.censored, "low": low, "high": high}


def _tokens_fields(tokens: TokenSummary) -> dict[str, JSON]:
    if not tokens.trials:
        return {"trials": 0, "prompt": None, "output": None, "cached": None, "output_per_second": None}
    return {"trials": tokens.trials, "prompt": tokens.prompt, "output": tokens.output, "cached": tokens.cached,
            **({"prompt_trials": tokens.prompt_trials} if 0 < tokens.prompt_trials < tokens.trials else {}),
            "output_per_second": figure(tokens.output_per_second)}
