"""Reading a run record: every field of the right type, every trial there, once and in its place.

One of lines is read as its results are taken, line by line; what is wrong with a line is said when its turn comes.
What does not live here: what a result must look like (run_record_results.py), the values (run_record.py), and how
they are written (run_record_writing.py).
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchkit.basics import strict_json
from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.names import count_of
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.values import JSON
from benchkit.disk.file_kinds import Kind, refuse_another_kind
from benchkit.disk.line_files import LineFile
from benchkit.disk.whole_files import read_json
from benchkit.recordings import pieces
from benchkit.recordings.run_record import VERDICTS, Judge, JudgedCase, Result, RunRecord, Totals
from benchkit.recordings.run_record_results import ResultReader
from benchkit.recordings.run_record_writing import LINES, RUN_RECORD_VERSION, totals_fields
from benchkit.trial_log.lines import MOST_CELLS

_HEAD_FIELDS = ("run_record", "kit", "task", "judge", "split", "system", "settings", "trials", "started_at",
                "environment", "sessions", "cases")


def read_run_record(path: Path) -> RunRecord:
    """The run record in a file. Raises Unusable with file and field for anything else.

    Where the name ends in .jsonl, the results are read from the file, which stays open, whenever they are taken.
    """
    refuse_another_kind(path, Kind.RUN_RECORD)
    try:
        return _of_lines(LineFile(path)) if path.suffix == LINES else run_record_of_fields(Fields(read_json(path)))
    except ValueError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: ValueError) -> Unusable:
    return Unusable(f"{path}: {error}; make it again: python3 harness.py run --system replay:RECORDING --out "
                    f"{shell_word(str(path))}")


def run_record_of_fields(fields: Fields) -> RunRecord:
    """A run record from its wire form; ValueError names the field."""
    head = _head_of(fields, ("results", "totals"))
    record = replace(head, results=tuple(_results_of(fields, _Grid(head))))
    _check_totals(record.totals, fields.inner("totals"))
    return record


def _of_lines(file: LineFile) -> RunRecord:
    if not file.size:
        raise ValueError("it has no line that is whole")
    head = _head_of(Fields(_line_of(next(file.lines(0, 1)), 1)), ())
    grid, reader = _Grid(head), ResultReader()
    grid.check_size(file.size - 1, file.is_torn)

    def read(start: int, stop: int) -> Iterator[Result]:
        for place, line in enumerate(file.lines(start + 1, stop + 1), start):
            try:
                result = reader.read(_line_of(line, place + 2), f"line {place + 2}")
                grid.check(result, place, f"line {place + 2}")
            except ValueError as error:
                raise _unusable(file.path, error) from None
            yield result

    return replace(head, results=OnDemand(grid.size, read))


def _line_of(line: bytes, number: int) -> JSON:
    try:
        return strict_json.parse(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _head_of(fields: Fields, others: tuple[str, ...]) -> RunRecord:
    """All but the results; `others` are the fields that stand behind those of a head."""
    fields.version("run_record", RUN_RECORD_VERSION)
    fields.has_exactly((*_HEAD_FIELDS, *others))
    cases = tuple(_case_of(case) for case in fields.objects("cases"))
    pieces.check_unique([case.id for case in cases], "cases")
    return RunRecord(
        fields.text("kit"), pieces.task_of(fields.inner("task")), _judge_of(fields.inner("judge")),
        fields.text("split"), fields.text("system"), fields.mapping("settings"),
        fields.integer("trials", 1, MOST_CELLS), fields.stamp("started_at"), fields.mapping("environment"),
        pieces.sessions_of(fields), cases, ())


def _judge_of(fields: Fields) -> Judge:
    fields.has_exactly(("name", "version", "task_sha256"))
    return Judge(fields.text("name"), fields.text("version"), fields.hex_digits("task_sha256", 64))


def _case_of(fields: Fields) -> JudgedCase:
    fields.has_exactly(("id", "ask", "sha256", "input", "expected", "tags"))
    return JudgedCase(
        fields.text("id"), fields.hex_digits("ask", 16), fields.hex_digits("sha256", 64),
        fields.json("input"), fields.json("expected"), fields.texts("tags"))


def _results_of(fields: Fields, grid: _Grid) -> Iterator[Result]:
    reader, values = ResultReader(), fields.sequence("results")
    for place, value in enumerate(values[:grid.size]):
        result = reader.read(value, f"results[{place}]")
        grid.check(result, place, f"results[{place}]")
        yield result
    grid.check_size(len(values))


class _Grid:
    """Which trial stands at which place: cases in order, trials ascending, every planned one once."""

    def __init__(self, head: RunRecord) -> None:
        self._cases, self._trials = [case.id for case in head.cases], head.trials
        self.size = len(self._cases) * self._trials

    def check(self, result: Result, place: int, where: str) -> None:
        """Raise ValueError if another trial belongs to this place, which is one of the grid."""
        case, trial = divmod(place, self._trials)
        if result.case != self._cases[case] or result.trial != trial + 1:
            raise ValueError(f"{where} is not trial {trial + 1} of case {self._cases[case]}: every planned trial "
                             "stands once, cases in order and trials ascending")

    def check_size(self, results: int, is_torn: bool = False) -> None:
        """Raise ValueError unless there are as many results as planned trials."""
        if results != self.size or is_torn:
            torn = " and a part of one" if is_torn else ""
            raise ValueError(f"results holds {count_of(results, 'trial')}{torn}, but "
                             f"{count_of(len(self._cases), 'case')} x {count_of(self._trials, 'trial')} are "
                             f"{self.size}")


def _check_totals(totals: Totals, fields: Fields) -> None:
    for name, count in totals_fields(totals).items():
        if fields.integer(name) != count:
            raise fields.wrong(name, f"the {count} that the results add up to")
    fields.has_exactly(("planned", *VERDICTS))
