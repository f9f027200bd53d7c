"""Judging a batch again, without a model: what a changed judge makes of the same answers.

What does not live here: judging (evaluation.py), and writing what changed (settling.py).
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from benchkit.boards.batch import EVAL, FoundBatch
from benchkit.boards.board_making import Findings, scoring_differences
from benchkit.boards.eval_rows import FieldChange, changes_between, read_rows
from benchkit.boards.evaluation import Before, keep_what_is_unchanged
from benchkit.boards.pack import Pack
from benchkit.boards.questions import KeptQuestions
from benchkit.boards.settling import examine


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What judging again came to: the findings, what differs in the scoring, and every field that changed."""

    findings: Findings
    differences: tuple[str, ...]
    changes: tuple[FieldChange, ...]


def recompute(found: FoundBatch, pack: Pack, questions: KeptQuestions, *, full: bool) -> Recomputed:
    """Judge again the tracks whose judge changed, or all. Nothing is written. Raises Unusable as `examine` does."""
    before = read_rows(found.folder / EVAL)
    stands = Before() if full else Before(before, keep_what_is_unchanged)
    findings = examine(found, pack, questions, stands)
    rows = tuple(replace(row, judge_version=pack.judge_version) for row in findings.evaluation.rows)
    findings = replace(findings, evaluation=replace(findings.evaluation, rows=rows))
    return Recomputed(findings, scoring_differences(findings), tuple(changes_between(before, rows)))
