"""Finalizing a batch: judge what was answered, check the trace against the log, write all that follows from it.

Judging again without a model is the same with other judges.

    examine   reads and judges, writes nothing
    finalize  writes eval.jsonl, the board, and batch.json last
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.boards.batch import (
    BOARD_HTML,
    BOARD_MARKDOWN,
    COMPLETE,
    EVAL,
    OPEN,
    PUBLISHED,
    TRACE,
    BatchUsage,
    FoundBatch,
    write_batch,
)
from benchkit.boards.batch_log import recorded_log
from benchkit.boards.board import Board, board_of
from benchkit.boards.board_document import board_document
from benchkit.boards.evaluation import (
    NOTHING_BEFORE,
    Before,
    is_judged_as_now,
    keep_what_is_unchanged,
    keep_what_was_judged,
)
from benchkit.boards.findings import Findings, examine_trials, scoring_differences
from benchkit.boards.fingerprints import scoring_of
from benchkit.boards.game import games_of
from benchkit.boards.job import FromPack
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import Emitted, GateFigures, figures_to_wire, gate_figures
from benchkit.boards.questions import KeptQuestions, make_questions, rules_of
from benchkit.boards.scores import FieldChange, ScoreRow, changes_between, differing_rows, keep_rows, read_rows
from benchkit.boards.standings import sees_truth
from benchkit.boards.trace_invariants import Asked
from benchkit.disk.whole_files import same_bytes, write_whole
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.running.plan import settings_differences


def examine(found: FoundBatch, pack: Pack, questions: KeptQuestions, before: Before | None = None) -> Findings:
    """All that can be known of a batch. `before` are rows that may stand (None: see `rows_that_stand`).

    Raises Unusable for a log, a trace or an eval.jsonl that cannot be read, and where nothing is recorded yet.
    """
    examined = examine_trials(
        lambda take: recorded_log(found, take), found.folder / TRACE, asked_in(found, pack, questions),
        rows_that_stand(found, pack) if before is None else before)
    hidden = hidden_systems(found, pack, examined.log.planned().systems)
    rows = tuple(row for row in examined.rows if row.cell.system not in hidden)
    return Findings(found, pack, questions.cases, replace(examined, rows=rows), questions.altered)


def asked_in(found: FoundBatch, pack: Pack, questions: KeptQuestions) -> Asked:
    """The questions of a batch as the trace is held against them."""
    return Asked(pack, {case.id: case for case in questions.cases}, rules_of(found.batch.job))


def rows_that_stand(found: FoundBatch, pack: Pack) -> Before:
    """With the same judges all is judged anew; with others the rows stand as they were judged, until `recompute`."""
    if found.batch.scoring.fingerprint == scoring_of(pack).fingerprint:
        return NOTHING_BEFORE
    return Before(read_rows(found.folder / EVAL), keep_what_was_judged)


def hidden_systems(found: FoundBatch, pack: Pack, systems: Iterable[str]) -> frozenset[str]:
    """Baselines that see the truth are for testing: none is on a published board."""
    if found.batch.status != PUBLISHED:
        return frozenset()
    return frozenset(name for name in systems if sees_truth(pack, name))


def finalize(findings: Findings, *, keeps_board: bool = False) -> tuple[Findings, Board]:
    """Put on the disk what follows from the findings; those that the batch now holds, and its board.

    With `keeps_board` the files of the board that are there stay, and those that would be drawn otherwise are named.
    """
    told = findings.found.batch.figures
    findings = replace(findings, found=_settled(findings))
    folder, figures = findings.found.folder, findings.found.batch.figures
    board = board_of(findings)
    document = board_document(board)
    drawn = {BOARD_MARKDOWN: list(_encoded(as_markdown(document, level=1))),
             BOARD_HTML: list(_encoded(as_html(document)))}
    differing = [name for name, chunks in drawn.items() if not same_bytes(folder / name, chunks)]
    stale = tuple(name for name in differing if keeps_board and (folder / name).exists())
    findings = replace(findings, repaired=_repaired(folder / EVAL, findings.rows), stale=stale,
                       misstated=settings_differences(figures_to_wire(told), figures_to_wire(figures)))
    keep_rows(folder / EVAL, findings.rows)
    for name in differing:
        if name not in stale:
            write_whole(folder / name, drawn[name])
    write_batch(findings.found)
    return findings, board


def _figures_again(findings: Findings) -> GateFigures:
    """What opens the page, made again of the questions and the gates; batch.json is taken at its word for the rest.

    The rest: which questions were dropped, where other cases would be made now or a model worded them; the scores of
    baselines, where the judges have changed; and all of it where the pack fails at its own questions.
    """
    batch, pack, cases = findings.found.batch, findings.pack, findings.cases
    told, rules = batch.figures, rules_of(batch.job)
    try:
        made = None if isinstance(batch.job.asks, FromPack) and batch.job.asks.reword else make_questions(
            batch.job, pack)
        figures = made.figures if made is not None and made.cases == cases else gate_figures(
            pack, Emitted(tuple(games_of(pack, cases, rules).values()), told.dropped), batch.job.batch_gate)
    except Unusable:
        return told  # a board says what its pack cannot read
    is_judged_otherwise = batch.scoring.fingerprint != scoring_of(pack).fingerprint
    return replace(figures, blind=told.blind, blocked=told.blocked) if is_judged_otherwise else figures


def _repaired(path: Path, rows: Sequence[ScoreRow]) -> int:
    """How many rows on the disk say another thing than the same judges say of the same answer."""
    try:
        return differing_rows(read_rows(path), rows)
    except Unusable:
        return 0  # what cannot be read at all is made anew: it is derived


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode("utf-8") for text in texts)


def _settled(findings: Findings) -> FoundBatch:
    """The batch with its status, its figures, its systems as served, its usage, and how its rows were judged."""
    batch, log = findings.found.batch, findings.log
    # more trials can be planned than batch.json knows of: a kill came before it was written
    job = replace(batch.job, trials=log.planned().trials)
    is_done = not findings.left and not findings.never_run
    status = batch.status if batch.status == PUBLISHED else COMPLETE if is_done else OPEN
    usage = BatchUsage({name: one.used for name, one in findings.examined.gathered.items()}, batch.usage.gen_usage)
    are_of_now = all(is_judged_as_now(row, findings.pack) for row in findings.rows)
    scoring = scoring_of(findings.pack) if are_of_now else batch.scoring
    return replace(findings.found, batch=replace(
        batch, job=job, status=status, figures=_figures_again(findings), systems=dict(log.settings), usage=usage,
        scoring=scoring))


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What judging again came to: the findings, what differs in the scoring, and every field that changed."""

    findings: Findings
    differences: tuple[str, ...]
    changes: tuple[FieldChange, ...]


def recompute(found: FoundBatch, pack: Pack, questions: KeptQuestions, *, full: bool) -> Recomputed:
    """Judge again the tracks whose judge changed, or all. Nothing is written. Raises Unusable as `examine` does."""
    before = read_rows(found.folder / EVAL)
    stands = NOTHING_BEFORE if full else Before(before, keep_what_is_unchanged)
    findings = examine(found, pack, questions, stands)
    rows = tuple(replace(row, judge_version=pack.judge_version) for row in findings.rows)
    findings = replace(findings, examined=replace(findings.examined, rows=rows))
    return Recomputed(findings, scoring_differences(findings), tuple(changes_between(before, rows)))
