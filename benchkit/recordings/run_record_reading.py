"""Reading a run record: every field of the right type, every trial once, every verdict what follows from its checks.

One of lines is read as its results are taken, line by line; what is wrong with a line is said when its turn comes.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics import json_text
from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields, KnownRows, all_in_bounds
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import count_of
from benchkit.basics.values import JSON, Timings, Usage, seed_of
from benchkit.disk.file_kinds import Kind, refuse_another_kind
from benchkit.disk.line_files import LineFile
from benchkit.disk.whole_files import read_json
from benchkit.recordings import pieces
from benchkit.recordings.run_record import (
    LINES,
    RESULT_FIELDS,
    RUN_RECORD_VERSION,
    VERDICTS,
    Judge,
    JudgedCase,
    Result,
    RunRecord,
    Totals,
    totals_fields,
)
from benchkit.trial_log.lines import MOST_CELLS

_RESULT_FIELD_SET = dict.fromkeys(RESULT_FIELDS).keys()  # in order: of two that are missing, the first is named


class ResultReader:
    """Reads results that are like those accepted before quickly, and all others field by field.

    Types are remembered; what depends on values is checked each time.
    """

    def __init__(self) -> None:
        self._results = KnownRows(RESULT_FIELDS)
        self._usages, self._timings = KnownRows(tuple(pieces.USAGE_SHAPE)), KnownRows(tuple(pieces.TIMINGS_SHAPE))

    def read(self, value: Any, place: str) -> Result:
        """The result in a JSON value; ValueError names the place and the field."""
        result = self._quick(value)
        if result is None:
            result = _result_of(Fields(value, place))
            self._accept(result, value)
        return result

    def _quick(self, value: Any) -> Result | None:
        """The result, if nothing in it needs a closer look."""
        row = self._results.row(value)
        if row is None or row[9] is not None:
            return None
        (case, trial, seed, verdict, checks, explain, output, finish, reasoning, _, usage, timings, latency_s,
         recorded_latency_s, attempts, retries, cold) = row
        counts, spans = self._usages.row(usage), self._timings.row(timings)
        if counts is None or spans is None or trial < 1 or seed != seed_of(trial) or output is None or not (
                _is_judged(verdict, checks, explain)
                and all_in_bounds((latency_s, recorded_latency_s, attempts, retries, *counts, *spans))):
            return None
        return Result(case, trial, seed, verdict, checks, explain, output, finish, reasoning, None, Usage(*counts),
                      Timings(*spans), latency_s, recorded_latency_s, attempts, retries, cold)

    def _accept(self, result: Result, value: Any) -> None:
        """Remember what a result looks like that was read with care."""
        self._results.accept(value)
        if result.usage is not None and result.timings is not None:
            self._usages.accept(value["usage"])
            self._timings.accept(value["timings"])


def _is_judged(verdict: str, checks: Mapping[str, JSON] | None, explain: Mapping[str, JSON] | None) -> bool:
    return (bool(checks) and checks is not None and _BOOLEAN.issuperset(map(type, checks.values()))
            and verdict == ("pass" if all(checks.values()) else "fail")
            and (explain is None or _TEXT.issuperset(map(type, explain.values()))))


_BOOLEAN, _TEXT = frozenset((bool,)), frozenset((str,))


def _result_of(fields: Fields) -> Result:
    fields.has_exactly(_RESULT_FIELD_SET, optional=("slept_s",))
    values = fields.values
    result = Result(
        fields.text("case"), *pieces.trial_and_seed_of(fields),
        fields.one_of("verdict", VERDICTS), _checks_of(fields), _explain_of(fields),
        fields.text_or_none("output"), fields.text_or_none("finish"), fields.text_or_none("reasoning"),
        None if values["error"] is None else pieces.error_of(fields.inner("error")),
        None if values["usage"] is None else pieces.usage_of(fields.inner("usage")),
        None if values["timings"] is None else pieces.timings_of(fields.inner("timings")),
        fields.seconds_or_none("latency_s"), fields.seconds_or_none("recorded_latency_s"),
        fields.integer("attempts"), fields.integer("retries"), fields.boolean("cold"),
        fields.seconds_or_none("slept_s") if "slept_s" in values else None)
    _check_verdict(result, fields)
    return result


def _checks_of(fields: Fields) -> Mapping[str, bool] | None:
    if fields.values["checks"] is None:
        return None
    checks = fields.mapping("checks")
    if not checks or not all(type(value) is bool for value in checks.values()):
        raise fields.wrong("checks", "null or an object of true and false")
    return checks  # type: ignore[return-value]  # every value was just seen to be a bool


def _explain_of(fields: Fields) -> Mapping[str, str] | None:
    if fields.values["explain"] is None:
        return None
    explain = fields.mapping("explain")
    if not all(type(value) is str for value in explain.values()):
        raise fields.wrong("explain", "null or an object of texts")
    return explain  # type: ignore[return-value]  # every value was just seen to be a text


def _check_verdict(result: Result, fields: Fields) -> None:
    if result.verdict == "incomplete":
        if result.error is None or result.checks is not None:
            raise ValueError(f"{fields.place} is incomplete, so it needs an error and no checks")
        if result.output is not None and result.error.type != "CheckError":
            raise ValueError(f"{fields.place} has both an output and a {result.error.type}")
    elif result.checks is None or result.output is None or result.error is not None:
        raise ValueError(f"{fields.place} is a {result.verdict}, so it needs an output, checks and no error")
    elif all(result.checks.values()) != (result.verdict == "pass"):
        raise ValueError(f"{fields.at('verdict')} does not follow from its checks")


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
        return json_text.parse(line)
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
