"""A run record: a recording judged over its cases. Values, and their wire form both ways.

What does not live here: judging (judged.py), and anything counted over more than one result (reports/).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.indented import HOLE, form_of, indented, number_of, text_of, truth_of
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.disk.whole_files import read_json, refuse_other, write_whole
from benchkit.recordings import pieces
from benchkit.recordings.pieces import SessionFacts

RUN_RECORD_VERSION = 1
VERDICTS = ("pass", "fail", "incomplete")


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judged: the task as it is now, by name, version and SHA-256 of its module's text."""

    name: str
    version: str
    task_sha256: str


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """One case as it was judged; `sha256` is over its id, input, expected and tags."""

    id: str
    ask: str
    sha256: str
    input: JSON
    expected: JSON
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """One trial with its verdict.

    `verdict` is one of VERDICTS. `checks` and `explain` are None where there is nothing to judge; `output` is
    None where no whole reply came, and then `error` says why. A check that raised leaves both.
    `latency_s` is of this run (None in a replay), `recorded_latency_s` of the recording, in seconds.
    `slept_s`: seconds by which the wall clock ran ahead of the monotonic one during the trial, if over 5.
    """

    case: str
    trial: int
    seed: int
    verdict: str
    checks: Mapping[str, bool] | None
    explain: Mapping[str, str] | None
    output: str | None
    finish: str | None
    reasoning: str | None
    error: ErrorFacts | None
    usage: Usage | None
    timings: Timings | None
    latency_s: float | None
    recorded_latency_s: float | None
    attempts: int
    retries: int
    cold: bool
    slept_s: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """How many trials were planned, and what became of them; they add up."""

    planned: int
    passed: int
    failed: int
    incomplete: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All a report follows from. `started_at` and `environment` are the circumstances of the judging."""

    kit: str
    task: TaskName
    judge: Judge
    split: str
    system: str
    settings: Mapping[str, JSON]
    trials: int
    started_at: str
    environment: Mapping[str, JSON]
    sessions: tuple[SessionFacts, ...]
    cases: tuple[JudgedCase, ...]
    results: tuple[Result, ...]
    """Cases in order, trials ascending: `results[c * trials + t - 1]` is trial t of `cases[c]`."""

    @property
    def totals(self) -> Totals:
        """The verdicts, counted."""
        counts = dict.fromkeys(VERDICTS, 0)
        for result in self.results:
            counts[result.verdict] += 1
        return Totals(len(self.results), counts["pass"], counts["fail"], counts["incomplete"])


# ---------------------------------------------------------------------------------------------- writing

_RESULT_FIELDS = (
    "case", "trial", "seed", "verdict", "checks", "explain", "output", "finish", "reasoning", "error",
    "usage", "timings", "latency_s", "recorded_latency_s", "attempts", "retries", "cold")
_RESULT = form_of(dict.fromkeys(_RESULT_FIELDS, HOLE), 2)
_SLEPT_RESULT = form_of(dict.fromkeys((*_RESULT_FIELDS, "slept_s"), HOLE), 2)
_USAGE = form_of(pieces.USAGE_SHAPE, 3)
_TIMINGS = form_of(pieces.TIMINGS_SHAPE, 3)
_ERROR = form_of(pieces.ERROR_SHAPE, 3)


def run_record_bytes(record: RunRecord) -> Iterator[bytes]:
    """The file, result by result: indented by 1, ASCII, final newline; equal for equal records, anywhere."""
    head: dict[str, JSON] = {
        "run_record": RUN_RECORD_VERSION, "kit": record.kit, "task": pieces.task_fields(record.task),
        "judge": {"name": record.judge.name, "version": record.judge.version,
                  "task_sha256": record.judge.task_sha256},
        "split": record.split, "system": record.system, "settings": record.settings,
        "trials": record.trials, "started_at": record.started_at, "environment": record.environment,
        "sessions": [pieces.session_fields(one) for one in record.sessions],
        "cases": [_case_fields(case) for case in record.cases],
    }
    yield (indented(head).removesuffix("\n}") + ',\n "results": [').encode("ascii")
    for number, result in enumerate(record.results):
        yield ((",\n  " if number else "\n  ") + _result_text(result)).encode("ascii")
    yield ("\n ],\n \"totals\": " + indented(_totals_fields(record.totals), 1) + "\n}\n").encode("ascii")


def keep_run_record(path: Path, record: RunRecord) -> None:
    """Write the file, whole or not at all. Raises Unusable where another file stands that is no run record."""
    refuse_other(path, "run_record")
    write_whole(path, run_record_bytes(record))


def _case_fields(case: JudgedCase) -> dict[str, JSON]:
    return {"id": case.id, "ask": case.ask, "sha256": case.sha256, "input": case.input,
            "expected": case.expected, "tags": list(case.tags)}


def _totals_fields(totals: Totals) -> dict[str, JSON]:
    return {"planned": totals.planned, "pass": totals.passed, "fail": totals.failed,
            "incomplete": totals.incomplete}


def _result_text(result: Result) -> str:
    texts = (
        text_of(result.case), result.trial, result.seed, text_of(result.verdict),
        "null" if result.checks is None else _checks_text(tuple(result.checks.items())),
        "null" if result.explain is None else indented(dict(result.explain), 3),
        text_of(result.output), text_of(result.finish), text_of(result.reasoning),
        "null" if result.error is None else _ERROR % pieces.error_texts(result.error),
        "null" if result.usage is None else _USAGE % pieces.usage_texts(result.usage),
        "null" if result.timings is None else _TIMINGS % pieces.timings_texts(result.timings),
        number_of(result.latency_s), number_of(result.recorded_latency_s),
        result.attempts, result.retries, truth_of(result.cold))
    if result.slept_s is None:
        return _RESULT % texts
    return _SLEPT_RESULT % (*texts, number_of(result.slept_s))


@lru_cache(maxsize=1024)
def _checks_text(checks: tuple[tuple[str, bool], ...]) -> str:
    # a task has a handful of checks, so the same few answers come again and again
    return indented(dict(checks), 3)


# ---------------------------------------------------------------------------------------------- reading

_TOP_FIELDS = ("run_record", "kit", "task", "judge", "split", "system", "settings", "trials", "started_at",
               "environment", "sessions", "cases", "results", "totals")
_RESULT_FIELD_SET = frozenset(_RESULT_FIELDS)


def read_run_record(path: Path) -> RunRecord:
    """The run record in a file. Raises Unusable with file and field for anything else."""
    try:
        return run_record_of_fields(Fields(read_json(path)))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; make it again: python3 harness.py run ... --out FILE") from None


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
        fields.integer("trials", least=1), pieces.stamp(fields, "started_at"), fields.mapping("environment"),
        pieces.sessions_of(fields), cases,
        tuple(_result_of(result) for result in fields.objects("results")))
    _check_grid(record)
    _check_totals(record.totals, fields.inner("totals"))
    return record


def _judge_of(fields: Fields) -> Judge:
    fields.has_exactly(("name", "version", "task_sha256"))
    return Judge(fields.text("name"), fields.text("version"), pieces.hex_64(fields, "task_sha256"))


def _case_of(fields: Fields) -> JudgedCase:
    fields.has_exactly(("id", "ask", "sha256", "input", "expected", "tags"))
    return JudgedCase(
        fields.text("id"), pieces.hex_16(fields, "ask"), pieces.hex_64(fields, "sha256"),
        fields.json("input"), fields.json("expected"), fields.texts("tags"))


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
    for name, count in _totals_fields(totals).items():
        if fields.integer(name) != count:
            raise fields.wrong(name, f"the {count} that the results add up to")
    fields.has_exactly(("planned", *VERDICTS))
