"""The JSON of comparisons: one object for each pair of runs, in the order of the runs.

    {"base": {"run": 0, "name", "rank": {"best", "worst"} | null}, "candidate": {"run": 1, ...},
     "not_compared": [{"code", "text"}, ...]}                      why not; then nothing else follows

or, with "not_compared": [],

     "finding": "better" | "worse" | "same within margin" | "not decided" | "too few differ" | "not told apart" |
                "nothing known",
     "text": the finding in a sentence,
     "cases": {"common", "compared", "differing", "won", "lost", "tied", "unknown": counts,
               "only_base": [id, ...], "only_candidate": [id, ...]},
     "pass": {"base", "candidate", "difference", "low", "high"},   mean pass^1 over compared cases; "plus two"
     "sign_flip": {"p", "smallest_p", "holm_p", "tests"},          and "p_worst" where trials are incomplete: what p
                  is at most as they go ("holm_p" is of the larger); and "by_sign_flip" where "p" is larger:
                  then it is that of exchanging trials within each case, for the numbers of judged trials differ
     "incomplete": {"base", "candidate", "low", "high", "robust": "base" | "candidate" | null},
     "margin": {"given": number | null, "same": true | false | null, "smallest"},
     "by_case": [{"id", "outcome", "difference", "regression", "base": {"n", "passed", "incomplete", "state"},
                  "candidate": {...}}, ...],                       all common cases
     "regressions": {"passed_every_time", "stopped", "began": counts, "p": number | null,
                     "may_have_stopped": [id, ...]},               only where there are such cases; p of the exact sign
                  test, for equal numbers of judged trials
     "latency": {"warm": {"base": {"n", "p50", "censored"}, "candidate": {...}, "ratio"}, "cold": {...}},
     "repeat": null | {"p", "outputs": {"warm": {"compared", "equal", "verdicts_compared", "verdicts_equal"}, ...},
                       "errors": {"both", "same_type", "only_base", "only_candidate"},    only where there are any:
                       trials that ended in one; "outputs" are those that both sides have
                       "only_base", "only_candidate", "self_base", "self_candidate",
                       "parting": null | {"case", "trial", "warmth", "character", "base_verdict",
                                          "candidate_verdict"}},
     "warnings": [{"code", "text"}, ...]}

Differences are candidate minus base. A p below 0.1 has 6 digits that count. Ranks are among the runs that a run was
compared with. `run` is the place in the list of runs. What does not live here: JSON of single runs (wire.py), and what
a figure means (comparison.py).
"""
from __future__ import annotations

from benchkit.basics.values import JSON
from benchkit.recordings.error_pairs import ErrorPairs
from benchkit.reports.case_differences import CaseDifference, Outcome
from benchkit.reports.case_rows import CaseRow
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.gate import Gate, RuleResult, answer_line
from benchkit.reports.latency_ratio import LatencyRatio, median_of
from benchkit.reports.pair_words import title_of, verdict_of
from benchkit.reports.repeats import Parting, Repeat, Repetition
from benchkit.reports.speed import LatencyColumn
from benchkit.statistics.figures import figure, probability_figure

GATE_VERSION = 1


def pair_fields(side: SideBySide, pair: Pair) -> dict[str, JSON]:
    """One pair of runs."""
    fields: dict[str, JSON] = {
        "base": _run_fields(side, pair.base), "candidate": _run_fields(side, pair.candidate),
        "not_compared": [{"code": obstacle.code, "text": obstacle.text} for obstacle in pair.obstacles]}
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
    return fields if result.p is None else {**fields, "p": probability_figure(result.p)}


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
        "warnings": [{"code": caution.code, "text": caution.text} for caution in comparison.cautions]}


def _p_fields(side: SideBySide, pair: Pair, comparison: Comparison) -> dict[str, JSON]:
    fields: dict[str, JSON] = {"p": probability_figure(comparison.p),
                               "smallest_p": probability_figure(comparison.smallest_p),
                               "holm_p": probability_figure(pair.adjusted_p), "tests": side.tests}
    if comparison.p > comparison.sign_flip:
        fields["by_sign_flip"] = probability_figure(comparison.sign_flip)
    if any(comparison.incomplete):
        fields["p_worst"] = probability_figure(comparison.p_worst)
    return fields


def _regression_fields(comparison: Comparison) -> dict[str, JSON]:
    stopped, began, may = len(comparison.regressions), comparison.progressed, comparison.open_regressions
    if not (stopped or began or may):
        return {}
    return {"regressions": {"passed_every_time": comparison.passed_every_time, "stopped": stopped, "began": began,
                            "p": probability_figure(comparison.mirror_p),
                            "may_have_stopped": [case.id for case in may]}}


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
    return {"p": probability_figure(repeat.p),
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


def _parting_fields(parting: Parting) -> dict[str, JSON]:
    return {"case": parting.trial.case, "trial": parting.trial.trial, "warmth": parting.warmth,
            "character": parting.character, "base_verdict": parting.base.verdict,
            "candidate_verdict": parting.candidate.verdict}
