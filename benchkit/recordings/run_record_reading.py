"""Reading a run record: every field of the right type, every verdict what follows from its checks, every trial there.

What does not live here: the values, and how they are written (run_record.py).
"""
from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.known_rows import KnownRows, all_in_bounds
from benchkit.basics.values import JSON, Timings, Usage
from benchkit.disk.file_kinds import Kind, refuse_another_kind
from benchkit.disk.whole_files import read_json
from benchkit.recordings import pieces
from benchkit.recordings.run_record import (
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

_TOP_FIELDS = ("run_record", "kit", "task", "judge", "split", "system", "settings", "trials", "started_at",
               "environment", "sessions", "cases", "results", "totals")
_RESULT_FIELD_SET = frozenset(RESULT_FIELDS)


def read_run_record(path: Path) -> RunRecord:
    """The run record in a file. Raises Unusable with file and field for anything else."""
    refuse_another_kind(path, Kind.RUN_RECORD)
    try:
        return run_record_of_fields(Fields(read_json(path)))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; make it again: python3 harness.py run --system replay:RECORDING --out "
                       f"{shlex.quote(str(path))}") from None


def run_record_of_fields(fields: Fields) -> RunRecord:
    """A run record from its wire form; ValueError names the field."""
    if fields.values.get("run_record") != RUN_RECORD_VERSION:
        raise fields.wrong("run_record", f"{RUN_RECORD_VERSION}, the version this kit reads")
    fields.has_exactly(_TOP_FIELDS)
    cases = tuple(_case_of(case) for case in fields.objects("cases"))
    pieces.check_unique([case.id for case in cases], "cases")
    record = RunRecord(
        fields.text("kit"), pieces.task_of(fields.inner("task")), _judge_of(fields.inner("judge")),
        fields.text("split"), fields.text("system"), fields.mapping("settings"),
        fields.integer("trials", least=1), fields.stamp("started_at"), fields.mapping("environment"),
        pieces.sessions_of(fields), cases,
        tuple(_results_of(fields)))
    _check_grid(record)
    _check_totals(record.totals, fields.inner("totals"))
    return record


def _judge_of(fields: Fields) -> Judge:
    fields.has_exactly(("name", "version", "task_sha256"))
    return Judge(fields.text("name"), fields.text("version"), fields.hex_digits("task_sha256", 64))


def _case_of(fields: Fields) -> JudgedCase:
    fields.has_exactly(("id", "ask", "sha256", "input", "expected", "tags"))
    return JudgedCase(
        fields.text("id"), fields.hex_digits("ask", 16), fields.hex_digits("sha256", 64),
        fields.json("input"), fields.json("expected"), fields.texts("tags"))


def _results_of(fields: Fields) -> Iterator[Result]:
    known = _KnownResults()
    for number, value in enumerate(fields.sequence("results")):
        result = known.quick(value)
        if result is None:
            result = _result_of(Fields(value, f"results[{number}]"))
            known.accept(result, value)
        yield result


class _KnownResults:
    """Reads results that are like those accepted before, and leaves all others to the careful reader.

    Types, and pairs of trial and seed, are remembered; what depends on values is checked each time.
    """

    def __init__(self) -> None:
        self._results = KnownRows(RESULT_FIELDS)
        self._usages, self._timings = KnownRows(tuple(pieces.USAGE_SHAPE)), KnownRows(tuple(pieces.TIMINGS_SHAPE))
        self._seeds: dict[int, int] = {}

    def quick(self, value: Any) -> Result | None:
        """The result, if nothing in it needs a closer look."""
        row = self._results.row(value)
        if row is None or row[9] is not None:
            return None
        (case, trial, seed, verdict, checks, explain, output, finish, reasoning, _, usage, timings, latency_s,
         recorded_latency_s, attempts, retries, cold) = row
        counts, spans = self._usages.row(usage), self._timings.row(timings)
        if counts is None or spans is None or self._seeds.get(trial) != seed or output is None or not (
                _is_judged(verdict, checks, explain)
                and all_in_bounds((latency_s, recorded_latency_s, attempts, retries, *counts, *spans))):
            return None
        return Result(case, trial, seed, verdict, checks, explain, output, finish, reasoning, None, Usage(*counts),
                      Timings(*spans), latency_s, recorded_latency_s, attempts, retries, cold)

    def accept(self, result: Result, value: Any) -> None:
        """Remember what a result looks like that was read with care."""
        self._results.accept(value)
        if result.usage is not None and result.timings is not None:
            self._usages.accept(value["usage"])
            self._timings.accept(value["timings"])
        self._seeds[result.trial] = result.seed


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


def _check_grid(record: RunRecord) -> None:
    wanted = ((case.id, trial) for case in record.cases for trial in range(1, record.trials + 1))
    for number, (result, cell) in enumerate(zip(record.results, wanted, strict=False)):
        if (result.case, result.trial) != cell:
            raise ValueError(f"results[{number}] is not trial {cell[1]} of case {cell[0]}: every planned "
                             "trial stands once, cases in order and trials ascending")
    planned = len(record.cases) * record.trials
    if len(record.results) != planned:
        raise ValueError(f"results holds {len(record.results)} trials, but {len(record.cases)} cases x "
                         f"{record.trials} trials are {planned}")


def _check_totals(totals: Totals, fields: Fields) -> None:
    for name, count in totals_fields(totals).items():
        if fields.integer(name) != count:
            raise fields.wrong(name, f"the {count} that the results add up to")
    fields.has_exactly(("planned", *VERDICTS))
