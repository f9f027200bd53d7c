"""Judging a batch: one row for every planned cell; and the cells that damage of the trace costs.

A judge that raises makes its cell incomplete (CheckError), never a zero. The trace is read once, one trial in memory
at a time; in memory are the rows.

A cell whose trial lost a line of its trace has an answer and not its story; nothing can be judged of it.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.json_text import text_digest
from benchkit.basics.values import Case, Cell, Failure
from benchkit.boards.pack import Pack, Track
from benchkit.boards.scores import RowError, ScoreRow, UnjudgedError, value_of
from benchkit.boards.trace_check import CountedTrial
from benchkit.boards.trace_events import SegmentKey, steps_in
from benchkit.boards.trace_file import FoundDamage, segments_in, trace_damage_named_by
from benchkit.recordings.recording import why_not_run
from benchkit.running.plan import cells_of
from benchkit.tasks.task import case_sha256
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.reader import TrialLog


@dataclass(frozen=True, slots=True)
class Before:
    """Rows of an earlier evaluation by cell, and whether what one says of a track may stand."""

    rows: Mapping[Cell, ScoreRow] = field(default_factory=dict)
    keep: Callable[[ScoreRow, Track], bool] = lambda row, track: False


NOTHING_BEFORE = Before()


def keep_what_was_judged(row: ScoreRow, track: Track) -> bool:
    """A track stands as it was judged, be it by another judge: a board must not change by being looked at."""
    return track.name in row.fingerprints


def keep_what_is_unchanged(row: ScoreRow, track: Track) -> bool:
    """A track stands where its judge is still the same."""
    return row.fingerprints.get(track.name) == track.fingerprint[:16]


def is_judged_as_now(row: ScoreRow, pack: Pack) -> bool:
    """Whether all that a row says is said by the judges of now."""
    return row.judge_version == pack.judge_version and row.fingerprints == _marks_of(pack)


def _marks_of(pack: Pack) -> dict[str, str]:
    return {track.name: track.fingerprint[:16] for track in pack.tracks}


def counting_keys(log: TrialLog) -> dict[Cell, SegmentKey]:
    """Which segment belongs to the attempt that counts, of each cell that is recorded."""
    found = {line.cell: SegmentKey(place.session, line.cell, line.attempt)
             for line, place in log.lines_that_count() if isinstance(line, TrialLine)}
    return {cell: key for cell, key in found.items() if log.is_recorded(cell)}


class Judging:
    """Judges the trials that count, one after the other."""

    def __init__(self, log: TrialLog, pack: Pack, cases: Sequence[Case], before: Before = NOTHING_BEFORE) -> None:
        self._log, self._pack, self._before = log, pack, before
        self._cases = {case.id: case for case in cases}
        self._sha256 = {case.id: case_sha256(case) for case in cases}
        self._marks = _marks_of(pack)
        self._rows: dict[Cell, ScoreRow] = {}

    def take(self, trial: CountedTrial) -> None:
        """A trial that counts; one that the trace has lost is not judged."""
        if trial.events and trial.key.cell.case in self._cases:
            self._rows[trial.key.cell] = self._row_of(trial)

    def rows(self) -> tuple[ScoreRow, ...]:
        """A row for every planned cell, in the order of the plan. Raises Unusable for a log without a plan."""
        return tuple(self._rows.get(cell) or self._unjudged(cell) for cell in cells_of(self._log.planned()))

    def _unjudged(self, cell: Cell) -> ScoreRow:
        """The row of a cell that has no trial in log and trace."""
        log = self._log
        error = RowError("CheckError", "what it saw and said is not in the trace") if log.is_recorded(cell) else (
            RowError("NotRun", why_not_run(log, cell)))
        return self._row(cell, log.attempts(cell), None, {}, error)

    def _row_of(self, trial: CountedTrial) -> ScoreRow:
        cell, outcome, tracks = trial.key.cell, trial.outcome, self._pack.tracks
        if isinstance(outcome, Failure):
            return self._row(cell, trial.key.attempt, None, {}, RowError(outcome.error.type, outcome.error.message))
        digest = text_digest(outcome.output)
        earlier, kept = self._earlier(trial, digest)
        if earlier is not None and len(kept) == len(tracks):
            return earlier.only_of(kept)
        try:
            steps = steps_in(trial.events)
            values = {track.name: kept[track.name] if track.name in kept
                      else value_of(track, self._cases[cell.case], outcome.output, steps) for track in tracks}
        except UnjudgedError as error:
            return self._row(cell, trial.key.attempt, digest, {}, RowError("CheckError", str(error)))
        row = self._row(cell, trial.key.attempt, digest, values, None)
        marks = {} if earlier is None else {name: earlier.fingerprints[name] for name in kept}
        return replace(row, fingerprints={**row.fingerprints, **marks}) if marks else row

    def _earlier(self, trial: CountedTrial, digest: str) -> tuple[ScoreRow | None, Mapping[str, float | bool | None]]:
        """The row that was made of the same answer to the same question, and what of it may stand, by track.

        Where that answer could not be judged, it stands as a whole (each value None) or not at all.
        """
        row, tracks = self._before.rows.get(trial.key.cell), self._pack.tracks
        if row is None or (row.attempt, row.output_sha256, row.case_sha256) != (
                trial.key.attempt, digest, self._sha256[trial.key.cell.case]):
            return None, {}
        kept = {track.name: row.value(track.name) for track in tracks if self._before.keep(row, track)}
        return row, kept if row.error is None or len(kept) == len(tracks) else {}

    def _row(
        self, cell: Cell, attempt: int, digest: str | None, values: Mapping[str, float | bool | None],
        error: RowError | None,
    ) -> ScoreRow:
        kinds = {track.name: track.kind for track in self._pack.tracks}
        return ScoreRow(
            cell, attempt, self._sha256.get(cell.case, ""), digest,
            {name: float(value or 0) for name, value in values.items() if kinds[name] == "capability"},
            {name: bool(value) for name, value in values.items() if kinds[name] == "gate"}, error,
            self._pack.judge_version, self._marks)


def damage_of(log: TrialLog, trace: Path) -> tuple[bool, frozenset[Cell]]:
    """Whether a trace has damage that no session line of the log beside it names, and which trials were lost to any.

    Raises Unusable for a trace that is not there or holds no events.
    """
    named = trace_damage_named_by(log)
    unnamed: list[FoundDamage] = []
    whole: dict[SegmentKey, bool] = {}
    whole.update((segment.key, not segment.is_cut) for segment in segments_in(trace, named, unnamed.append))
    if not unnamed and not named and all(whole.values()):
        return False, frozenset()
    return bool(unnamed), frozenset(cell for cell, key in counting_keys(log).items() if not whole.get(key))
