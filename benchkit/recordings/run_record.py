"""A run record: a recording judged over its cases. Values, and how they are written.

What does not live here: reading them again (run_record_reading.py), judging (judged.py), and anything counted over
more than one result (reports/).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchkit.basics.indented import HOLE, form_of, indented, number_of, text_of, truth_of
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.disk.whole_files import refuse_other, write_whole
from benchkit.recordings import pieces
from benchkit.recordings.pieces import SessionFacts
from benchkit.trial_log.parts import fields_of_task_name

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

    def results_of(self, place: int) -> Sequence[Result]:
        """The trials of the case at a place, in order."""
        return self.results[place * self.trials:(place + 1) * self.trials]


# ---------------------------------------------------------------------------------------------- writing

RESULT_FIELDS = (
    "case", "trial", "seed", "verdict", "checks", "explain", "output", "finish", "reasoning", "error",
    "usage", "timings", "latency_s", "recorded_latency_s", "attempts", "retries", "cold")
_RESULT = form_of(dict.fromkeys(RESULT_FIELDS, HOLE), 2)
_SLEPT_RESULT = form_of(dict.fromkeys((*RESULT_FIELDS, "slept_s"), HOLE), 2)
_USAGE = form_of(pieces.USAGE_SHAPE, 3)
_TIMINGS = form_of(pieces.TIMINGS_SHAPE, 3)
_ERROR = form_of(pieces.ERROR_SHAPE, 3)


def run_record_bytes(record: RunRecord) -> Iterator[bytes]:
    """The file, result by result: indented by 1, ASCII, final newline; equal for equal records, anywhere."""
    head: dict[str, JSON] = {
        "run_record": RUN_RECORD_VERSION, "kit": record.kit, "task": fields_of_task_name(record.task),
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
    yield ("\n ],\n \"totals\": " + indented(totals_fields(record.totals), 1) + "\n}\n").encode("ascii")


def keep_run_record(path: Path, record: RunRecord) -> None:
    """Write the file, whole or not at all. Raises Unusable where another file stands that is no run record."""
    refuse_other(path, "run_record")
    write_whole(path, run_record_bytes(record))


def _case_fields(case: JudgedCase) -> dict[str, JSON]:
    return {"id": case.id, "ask": case.ask, "sha256": case.sha256, "input": case.input,
            "expected": case.expected, "tags": list(case.tags)}


def totals_fields(totals: Totals) -> dict[str, JSON]:
    """The wire form of totals."""
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
