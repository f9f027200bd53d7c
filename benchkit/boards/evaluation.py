"""Judging a batch: one row for every planned cell; and the cells that damage of the trace costs."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.json_text import text_digest
from benchkit.basics.values import Case, Cell, Failure
from benchkit.boards.pack import Pack, Track
from benchkit.boards.scores import RowError, ScoreRow, UnjudgedError, value_of
from benchkit.boards.trace_events import SegmentKey, steps_in
from benchkit.boards.trace_file import FoundDamage, Segment, TraceReader, trace_damage_named_by
from benchkit.recordings.recording import why_not_run
from benchkit.running.plan import cells_of
from benchkit.tasks.task import case_sha256
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.reader import TrialLog

Keep = Callable[[ScoreRow, Track], bool]
"""Whether what a row says of a track may stand."""
SHORT = 16
"""So many hex digits of a track's fingerprint stand in a row."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that judges read: the log, the trace beside it, and the questions."""

    log: TrialLog
    trace: Path
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Before:
    """Rows of an earlier evaluation by cell, and which of what they say may stand. Without rows all is judged."""

    rows: Mapping[Cell, ScoreRow] = field(default_factory=dict)
    keep: Keep = lambda row, track: False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The rows in the order of the plan, and where in the trace the trial of each judged cell begins."""

    rows: tuple[ScoreRow, ...]
    offsets: Mapping[Cell, int]

    def without(self, systems: Collection[str]) -> Evaluation:
        """The same without the rows of these systems."""
        return replace(self, rows=tuple(row for row in self.rows if row.cell.system not in systems))


def fingerprint_in_row(track: Track) -> str:
    """What stands in a row for the judge of a track."""
    return track.fingerprint[:SHORT]


def keep_what_was_judged(row: ScoreRow, track: Track) -> bool:
    """A track stands as it was judged, be it by another judge: a board must not change by being looked at."""
    return track.name in row.fingerprints


def keep_what_is_unchanged(row: ScoreRow, track: Track) -> bool:
    """A track stands where its judge is still the same."""
    return row.fingerprints.get(track.name) == fingerprint_in_row(track)


def is_judged_as_now(row: ScoreRow, pack: Pack) -> bool:
    """Whether all that a row says is said by the judges of now."""
    return row.judge_version == pack.judge_version and row.fingerprints == {
        track.name: fingerprint_in_row(track) for track in pack.tracks}


def evaluate(evidence: Evidence, pack: Pack, before: Before = Before()) -> Evaluation:
    """Judge every planned cell. Raises Unusable for a log without a plan, or a trace that cannot be read."""
    cases = {case.id: case for case in evidence.cases}
    judging = _Judging(pack, {name: case_sha256(case) for name, case in cases.items()}, before)
    rows: dict[Cell, ScoreRow] = {}
    offsets: dict[Cell, int] = {}
    for segment in counting_segments(evidence):
        cell = segment.key.cell
        if cell.case in cases:
            offsets[cell] = segment.offset
            rows[cell] = judging.row(evidence.log.trial(cell), cases[cell.case], segment)
    planned = cells_of(evidence.log.planned())
    return Evaluation(tuple(rows.get(cell) or judging.unjudged(evidence.log, cell) for cell in planned), offsets)


def counting_segments(evidence: Evidence) -> Iterator[Segment]:
    """The trials of the trace whose lines count: of each cell the last attempt, in the order of the trace.

    Damage is passed over: the verification names it.
    """
    keys = counting_keys(evidence.log)
    reader = TraceReader(evidence.trace, trace_damage_named_by(evidence.log))
    try:
        for segment in reader.segments(_pass_over):
            if keys.get(segment.key.cell) == segment.key:
                yield segment
    finally:
        reader.close()


def counting_keys(log: TrialLog) -> dict[Cell, SegmentKey]:
    """Which segment belongs to the attempt that counts, of each cell that is recorded."""
    found: dict[Cell, SegmentKey] = {}
    for line, place in log.lines_that_count():
        if isinstance(line, TrialLine):
            found[line.cell] = SegmentKey(place.session, line.cell, line.attempt)
    return {cell: key for cell, key in found.items() if log.is_recorded(cell)}


def _pass_over(damage: FoundDamage) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _Judging:
    pack: Pack
    sha256: Mapping[str, str]
    before: Before

    def row(self, line: TrialLine, case: Case, segment: Segment) -> ScoreRow:
        """The row of a trial that is in log and trace."""
        outcome = line.outcome
        if isinstance(outcome, Failure):
            return self._row(line.cell, line.attempt, None, {}, RowError(outcome.error.type, outcome.error.message))
        digest = text_digest(outcome.output)
        earlier, kept = self._earlier(line, digest)
        if earlier is not None and len(kept) == len(self.pack.tracks):
            return earlier.only_of(kept)
        try:
            steps = steps_in(segment.events)
            values = {track.name: kept[track.name] if track.name in kept
                      else value_of(track, case, outcome.output, steps) for track in self.pack.tracks}
        except UnjudgedError as error:
            return self._row(line.cell, line.attempt, digest, {}, RowError("CheckError", str(error)))
        row = self._row(line.cell, line.attempt, digest, values, None)
        marks = {} if earlier is None else {name: earlier.fingerprints[name] for name in kept}
        return replace(row, fingerprints={**row.fingerprints, **marks})

    def unjudged(self, log: TrialLog, cell: Cell) -> ScoreRow:
        """The row of a cell that has no trial in log and trace."""
        if log.is_recorded(cell):
            return self._row(cell, log.attempts(cell), None, {}, RowError(
                "CheckError", "what it saw and said is not in the trace"))
        return self._row(cell, log.attempts(cell), None, {}, RowError("NotRun", why_not_run(log, cell)))

    def _earlier(self, line: TrialLine, digest: str) -> tuple[ScoreRow | None, Mapping[str, float | bool | None]]:
        """The row that was made of the same answer to the same question, and what of it may stand, by track.

        Where that answer could not be judged, it stands as a whole (each value None) or not at all.
        """
        row = self.before.rows.get(line.cell)
        if row is None or (row.attempt, row.output_sha256, row.case_sha256) != (
                line.attempt, digest, self.sha256[line.cell.case]):
            return None, {}
        kept = {track.name: row.value(track.name) for track in self.pack.tracks if self.before.keep(row, track)}
        return row, kept if row.error is None or len(kept) == len(self.pack.tracks) else {}

    def _row(
        self, cell: Cell, attempt: int, digest: str | None, values: Mapping[str, float | bool | None],
        error: RowError | None,
    ) -> ScoreRow:
        kinds = {track.name: track.kind for track in self.pack.tracks}
        return ScoreRow(
            cell, attempt, self.sha256.get(cell.case, ""), digest,
            {name: float(value or 0) for name, value in values.items() if kinds[name] == "capability"},
            {name: bool(value) for name, value in values.items() if kinds[name] == "gate"}, error,
            self.pack.judge_version, {track.name: fingerprint_in_row(track) for track in self.pack.tracks})


@dataclass(frozen=True, slots=True)
class TraceDamage:
    """Whether there is damage that no session line names, and the cells whose trials were lost to any."""

    is_unnamed: bool
    lost: frozenset[Cell]


def damage_of(log: TrialLog, trace: Path) -> TraceDamage:
    """What damage costs the trace beside a log. Raises Unusable for a trace that is not there or holds no events."""
    named = trace_damage_named_by(log)
    unnamed: list[FoundDamage] = []
    whole: dict[SegmentKey, bool] = {}
    reader = TraceReader(trace, named)
    try:
        whole.update((segment.key, not segment.is_cut) for segment in reader.segments(unnamed.append))
    finally:
        reader.close()
    if not unnamed and not named and all(whole.values()):
        return TraceDamage(False, frozenset())
    return TraceDamage(bool(unnamed), frozenset(
        cell for cell, key in counting_keys(log).items() if not whole.get(key)))
