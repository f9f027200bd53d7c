"""The rows of eval.jsonl: what judges said of every planned cell, and the file that keeps them.

One canonical line a cell, in the order of the plan, so the number of a line is the number of its cell. The file is
derived: it can be deleted, and is made again of the answers. What does not live here: judging (evaluation.py).
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import cast

from benchkit.basics import strict_json
from benchkit.basics.canonical import canonical
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Cell
from benchkit.disk.whole_files import read_whole, same_bytes, shown_path, write_whole

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
class Row:
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

    def only_of(self, tracks: Collection[str]) -> Row:
        """The same without what it says of other tracks."""
        return replace(
            self, capabilities={name: value for name, value in self.capabilities.items() if name in tracks},
            gates={name: held for name, held in self.gates.items() if name in tracks},
            fingerprints={name: mark for name, mark in self.fingerprints.items() if name in tracks})


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


def changes_between(before: Mapping[Cell, Row], after: Iterable[Row]) -> Iterator[FieldChange]:
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


def differing_rows(before: Mapping[Cell, Row], after: Iterable[Row]) -> int:
    """How many rows of the same answer under the same judges say something else: a judge is pure, so one was edited."""
    return sum(_judgement(old) != _judgement(row) and _basis(old) == _basis(row)
               for row in after if (old := before.get(row.cell)) is not None)


def _basis(row: Row) -> tuple[int, str, str | None, Mapping[str, str]]:
    return row.attempt, row.case_sha256, row.output_sha256, row.fingerprints


def _judgement(row: Row) -> dict[str, str]:
    error = "none" if row.error is None else f"{row.error.type} ({shown_line(row.error.message, 80)})"
    values: Mapping[str, JSON] = {**row.capabilities, **row.gates}
    return {"error": error, **{name: canonical(value) for name, value in values.items()}}


def read_rows(path: Path) -> dict[Cell, Row]:
    """The rows of a file by cell; none where there is no file. Raises Unusable with file, line and field."""
    if not path.exists():
        return {}
    found: dict[Cell, Row] = {}
    # line by line: a list of millions of empty lines takes many times the memory of the file
    for number, line in enumerate(BytesIO(read_whole(path, MOST_BYTES)), 1):
        try:
            row = row_of(strict_json.parse(line))
        except ValueError as error:
            raise Unusable(f"{shown_path(path)}, line {number}: {error}; it is derived: delete the file, and it is "
                           "made anew") from None
        found[row.cell] = row
    return found


def keep_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the file whole, unless it holds the same already. Raises Surroundings."""
    lines = [line_of(row) for row in rows]
    if not same_bytes(path, lines):
        write_whole(path, lines)


def line_of(row: Row) -> bytes:
    r"""The line of a row, "\n" included."""
    cell, error = row.cell, row.error
    return canonical({
        "system": cell.system, "case": cell.case, "trial": cell.trial, "attempt": row.attempt,
        "verdict": JUDGED if error is None else INCOMPLETE, "tracks": row.capabilities, "gates": row.gates,
        "error": None if error is None else {"type": error.type, "message": error.message},
        "case_sha256": row.case_sha256, "output_sha256": row.output_sha256, "judge_version": row.judge_version,
        "fingerprints": row.fingerprints}).encode("ascii") + b"\n"


def row_of(value: JSON) -> Row:
    """The row with these fields. Raises ValueError naming the field."""
    fields = Fields(value)
    fields.has_exactly(_FIELDS)
    tracks, gates, marks = fields.inner("tracks"), fields.inner("gates"), fields.inner("fingerprints")
    error = None if fields.json("error") is None else _error_of(fields.inner("error"))
    if (error is None) != (fields.one_of("verdict", (JUDGED, INCOMPLETE)) == JUDGED):
        raise fields.wrong("verdict", f"{JUDGED} without an error and {INCOMPLETE} with one")
    return Row(
        Cell(fields.text("system"), fields.text("case"), fields.integer("trial", 1)), fields.integer("attempt"),
        fields.text("case_sha256"), fields.text_or_none("output_sha256"),
        {name: _share(tracks, name) for name in tracks.values}, {name: gates.boolean(name) for name in gates.values},
        error, fields.text("judge_version"), {name: marks.text(name) for name in marks.values})


def _error_of(fields: Fields) -> RowError:
    return RowError(fields.one_of("type", ERROR_TYPES), fields.text("message"))


def _share(fields: Fields, name: str) -> float:
    value = fields.json(name)
    if type(value) not in (int, float) or not 0 <= cast("float", value) <= 1:
        raise fields.wrong(name, "a number from 0 to 1")
    return float(cast("float", value))
