"""What judges say of an answer, and the rows of eval.jsonl: their verdict on every planned cell.

One canonical line a cell, in the order of the plan, so the number of a line is the number of its cell. The file is
derived: it can be deleted, and is made again of the answers.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from benchkit.basics import json_text
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.fields import SHARE, Fields
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Cell
from benchkit.boards.pack import Step, Track
from benchkit.disk.whole_files import read_whole, same_bytes, shown_path, write_whole
from benchkit.tasks.modules import Raised, called, told

Value = TypeVar("Value")


class UnjudgedError(ValueError):
    """A judge raised, or gave something else than its kind of track may."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One answer under every track: numbers from 0 to 1 of the capabilities, whether each hard gate held."""

    capabilities: Mapping[str, float]
    gates: Mapping[str, bool]

    @property
    def capability(self) -> Fraction:
        """The mean of the capability tracks, exact."""
        return sum((Fraction(value) for value in self.capabilities.values()), Fraction(0)) / len(self.capabilities)

    @property
    def held(self) -> bool:
        """Whether every hard gate held."""
        return all(self.gates.values())


def scores_of(tracks: Sequence[Track], case: Case, answer: str, steps: Sequence[Step]) -> Scores:
    """The scores of one answer. Raises UnjudgedError that names the track."""
    found = {track.name: value_of(track, case, answer, steps) for track in tracks}
    return Scores({track.name: float(found[track.name]) for track in tracks if track.kind == "capability"},
                  {track.name: bool(found[track.name]) for track in tracks if track.kind == "gate"})


def value_of(track: Track, case: Case, answer: str, steps: Sequence[Step]) -> float | bool:
    """What one judge says: a float from 0 to 1, or whether the gate held. Raises UnjudgedError."""
    try:
        value: object = called(track.judge, case, answer, tuple(steps))
    except Raised as raised:
        raise UnjudgedError(f"track {track.name} {told(raised.error, track.judge)}") from raised.error
    if track.kind == "gate":
        if type(value) is not bool:
            raise UnjudgedError(f"track {track.name} gave {type(value).__name__}, not whether it held")
        return value
    if type(value) not in (int, float) or not isinstance(value, int | float) or not 0 <= value <= 1:
        what = f"{value:g}" if isinstance(value, float) and math.isfinite(value) else type(value).__name__
        raise UnjudgedError(f"track {track.name} gave {what}, not a number from 0 to 1")
    return float(value)


MOST_BYTES = 1024 * 1024 * 1024
JUDGED, INCOMPLETE = "judged", "incomplete"
_FIELDS = ("system", "case", "trial", "attempt", "verdict", "tracks", "gates", "error", "case_sha256", "output_sha256",
           "judge_version", "fingerprints")


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a cell is not judged: a type of the closed list, and the kit's words."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One cell: what the judges said of the attempt that counts (0: there is none).

    capabilities   by track, from 0 to 1
    gates          by track, whether it held
    error          why neither is there; None: it is judged
    case_sha256, output_sha256   the question and the answer that were judged
    fingerprints   by track, the first 16 hex digits of that of its judge
    """

    cell: Cell
    attempt: int
    case_sha256: str
    output_sha256: str | None
    capabilities: Mapping[str, float]
    gates: Mapping[str, bool]
    error: RowError | None
    judge_version: str
    fingerprints: Mapping[str, str]

    def value(self, track: str) -> float | bool | None:
        """What it says of a track; None if nothing."""
        return self.capabilities[track] if track in self.capabilities else self.gates.get(track)

    @property
    def held(self) -> bool:
        """Whether every hard gate held."""
        return all(self.gates.values())

    def only_of(self, tracks: Collection[str]) -> ScoreRow:
        """The same without what it says of other tracks."""
        def kept(values: Mapping[str, Value]) -> Mapping[str, Value]:
            return {name: value for name, value in values.items() if name in tracks}

        return replace(self, capabilities=kept(self.capabilities), gates=kept(self.gates),
                       fingerprints=kept(self.fingerprints))


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What one field of a row was and is; "none" where it is not there."""

    cell: Cell
    field: str
    was: str
    now: str

    def __str__(self) -> str:
        cell = self.cell
        return (f"{shown_line(cell.case, 60)}, {shown_line(cell.system, 60)}, trial {cell.trial}: {self.field} "
                f"{self.was} -> {self.now}")


def changes_between(before: Mapping[Cell, ScoreRow], after: Iterable[ScoreRow]) -> Iterator[FieldChange]:
    """Every field that differs, row by row: tracks, gates and errors. Rows that are new or gone are one field each."""
    left = dict(before)
    for row in after:
        old = left.pop(row.cell, None)
        told, tells = (_judgement(old) if old else {"row": "none"}), _judgement(row) if old else {"row": "new"}
        for name in dict.fromkeys((*told, *tells)):
            was, now = told.get(name, "none"), tells.get(name, "none")
            if was != now:
                yield FieldChange(row.cell, name, was, now)
    for cell in left:
        yield FieldChange(cell, "row", "there", "none")


def differing_rows(before: Mapping[Cell, ScoreRow], after: Iterable[ScoreRow]) -> int:
    """How many rows of the same answer under the same judges say something else: a judge is pure, so one was edited."""
    def basis(row: ScoreRow) -> tuple[int, str, str | None, Mapping[str, str]]:
        return row.attempt, row.case_sha256, row.output_sha256, row.fingerprints

    return sum(_judgement(old) != _judgement(row) and basis(old) == basis(row)
               for row in after if (old := before.get(row.cell)) is not None)


def _judgement(row: ScoreRow) -> dict[str, str]:
    error = "none" if row.error is None else f"{row.error.type} ({shown_line(row.error.message, 80)})"
    values: Mapping[str, JSON] = {**row.capabilities, **row.gates}
    return {"error": error, **{name: canonical(value) for name, value in values.items()}}


def read_rows(path: Path) -> dict[Cell, ScoreRow]:
    """The rows of a file by cell; none where there is no file. Raises Unusable with file, line and field."""
    if not path.exists():
        return {}
    found: dict[Cell, ScoreRow] = {}
    # line by line: a list of millions of empty lines takes many times the memory of the file
    for number, line in enumerate(BytesIO(read_whole(path, MOST_BYTES)), 1):
        try:
            row = row_of(json_text.parse(line))
        except ValueError as error:
            raise Unusable(f"{shown_path(path)}, line {number}: {error}; it is derived: delete the file, and it is "
                           "made anew") from None
        found[row.cell] = row
    return found


def keep_rows(path: Path, rows: Iterable[ScoreRow]) -> None:
    """Write the file whole, unless it holds the same already. Raises EnvironmentFailure."""
    lines = [line_of(row) for row in rows]
    if not same_bytes(path, lines):
        write_whole(path, lines)


def line_of(row: ScoreRow) -> bytes:
    r"""The line of a row, "\n" included."""
    cell, error = row.cell, row.error
    return canonical({
        "system": cell.system, "case": cell.case, "trial": cell.trial, "attempt": row.attempt,
        "verdict": JUDGED if error is None else INCOMPLETE, "tracks": row.capabilities, "gates": row.gates,
        "error": None if error is None else {"type": error.type, "message": error.message},
        "case_sha256": row.case_sha256, "output_sha256": row.output_sha256, "judge_version": row.judge_version,
        "fingerprints": row.fingerprints}).encode("ascii") + b"\n"


def row_of(value: JSON) -> ScoreRow:
    """The row with these fields. Raises ValueError naming the field."""
    fields = Fields(value)
    fields.has_exactly(_FIELDS)
    tracks, gates, marks = fields.inner("tracks"), fields.inner("gates"), fields.inner("fingerprints")
    why = None if fields.json("error") is None else fields.inner("error")
    error = None if why is None else RowError(why.one_of("type", ERROR_TYPES), why.text("message"))
    if (error is None) != (fields.one_of("verdict", (JUDGED, INCOMPLETE)) == JUDGED):
        raise fields.wrong("verdict", f"{JUDGED} without an error and {INCOMPLETE} with one")
    return ScoreRow(
        Cell(fields.text("system"), fields.text("case"), fields.integer("trial", 1)), fields.integer("attempt"),
        fields.text("case_sha256"), fields.text_or_none("output_sha256"),
        {name: float(tracks.take(name, SHARE)) for name in tracks.values},
        {name: gates.boolean(name) for name in gates.values},
        error, fields.text("judge_version"), {name: marks.text(name) for name in marks.values})
