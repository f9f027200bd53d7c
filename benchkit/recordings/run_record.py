"""A run record: a recording judged over its cases; and writing it, as one JSON value or one result a line.

Both hold the same; lines can be read one by one, which is what a large run needs. Totals stand in the first only:
they follow from the results.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from benchkit.basics.json_text import HOLE, form_of, indented, line_form_of, number_of, on_one_line, text_of, truth_of
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.disk.whole_files import refuse_other, write_whole
from benchkit.recordings import pieces
from benchkit.recordings.pieces import SessionFacts
from benchkit.trial_log.parts import fields_of_task_name

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
class Tally:
    """The totals of some results, and how many of the incomplete ones ended in each type of error.

    `check_error` is the message of the first one that the task's check could not judge.
    """

    totals: Totals
    errors: Mapping[str, int]
    check_error: str | None


class Counting:
    """Counts results as they pass by."""

    def __init__(self) -> None:
        self._verdicts: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._check_error: str | None = None

    def take(self, result: Result) -> None:
        """Count one more."""
        self._verdicts[result.verdict] += 1
        if result.error is not None:
            self._errors[result.error.type] += 1
            if result.error.type == "CheckError":
                self._check_error = self._check_error or result.error.message

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        counts = [self._verdicts[name] for name in VERDICTS]
        return Tally(Totals(sum(counts), *counts), dict(sorted(self._errors.items())), self._check_error)


def tally_of(results: Iterable[Result]) -> Tally:
    """All results, counted."""
    counting = Counting()
    for result in results:
        counting.take(result)
    return counting.tally


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
    results: Sequence[Result]
    """Cases in order, trials ascending: `results[c * trials + t - 1]` is trial t of `cases[c]`.

    A large record makes them anew whenever they are asked for, and keeps none: take them one by one, and once.
    """
    begun: Sequence[int] | None = field(default=None, compare=False)
    """Of each case: how many results are to be looked at; the others are `NotRun`, all alike. None: nobody knows."""

    @property
    def totals(self) -> Totals:
        """The verdicts, counted."""
        return tally_of(self.results).totals

    def results_of(self, place: int) -> Sequence[Result]:
        """The trials of the case at a place, in order."""
        return self.results[place * self.trials:(place + 1) * self.trials]


RUN_RECORD_VERSION = 1
LINES = ".jsonl"
"""How the name of a run record of lines ends."""
RESULT_FIELDS = (
    "case", "trial", "seed", "verdict", "checks", "explain", "output", "finish", "reasoning", "error",
    "usage", "timings", "latency_s", "recorded_latency_s", "attempts", "retries", "cold")
_RESULT: Mapping[str, JSON] = dict.fromkeys(RESULT_FIELDS, HOLE)
_SLEPT_RESULT: Mapping[str, JSON] = {**_RESULT, "slept_s": HOLE}


@dataclass(frozen=True, slots=True)
class _Layout:
    """The forms of a result and of its parts; lines of a part are indented by `inner_level` (0: it is on one line)."""

    result: str
    slept_result: str
    usage: str
    asked_usage: str
    timings: str
    error: str
    inner_level: int


_INDENTED = _Layout(form_of(_RESULT, 2), form_of(_SLEPT_RESULT, 2), form_of(pieces.USAGE_SHAPE, 3),
                    form_of(pieces.ASKED_USAGE_SHAPE, 3), form_of(pieces.TIMINGS_SHAPE, 3),
                    form_of(pieces.ERROR_SHAPE, 3), 3)
_ON_A_LINE = _Layout(line_form_of(_RESULT), line_form_of(_SLEPT_RESULT), line_form_of(pieces.USAGE_SHAPE),
                     line_form_of(pieces.ASKED_USAGE_SHAPE), line_form_of(pieces.TIMINGS_SHAPE),
                     line_form_of(pieces.ERROR_SHAPE), 0)


def keep_run_record(path: Path, record: RunRecord) -> Tally:
    """Write the file, whole or not at all, in the layout that its name asks for; the results are taken once.

    Gives what they come to. Raises Unusable where another file stands that is no run record.
    """
    refuse_other(path, "run_record")
    counting = Counting()
    write_whole(path, run_record_lines(record, counting) if path.suffix == LINES
                else run_record_bytes(record, counting))
    return counting.tally


def run_record_bytes(record: RunRecord, counting: Counting | None = None) -> Iterator[bytes]:
    """The file, result by result: indented by 1, ASCII, final newline; equal for equal records, anywhere."""
    counting = counting or Counting()
    yield (indented(_head(record)).removesuffix("\n}") + ',\n "results": [').encode("ascii")
    for number, result in enumerate(record.results):
        counting.take(result)
        yield ((",\n  " if number else "\n  ") + _result_text(result, _INDENTED)).encode("ascii")
    yield ("\n ],\n \"totals\": " + indented(totals_fields(counting.tally.totals), 1) + "\n}\n").encode("ascii")


def run_record_lines(record: RunRecord, counting: Counting | None = None) -> Iterator[bytes]:
    """The file, line by line: the head, then the results; ASCII, equal for equal records, anywhere."""
    counting = counting or Counting()
    yield (on_one_line(_head(record)) + "\n").encode("ascii")
    for result in record.results:
        counting.take(result)
        yield (_result_text(result, _ON_A_LINE) + "\n").encode("ascii")


def _head(record: RunRecord) -> dict[str, JSON]:
    return {
        "run_record": RUN_RECORD_VERSION, "kit": record.kit, "task": fields_of_task_name(record.task),
        "judge": {"name": record.judge.name, "version": record.judge.version,
                  "task_sha256": record.judge.task_sha256},
        "split": record.split, "system": record.system, "settings": record.settings,
        "trials": record.trials, "started_at": record.started_at, "environment": record.environment,
        "sessions": [pieces.session_fields(one) for one in record.sessions],
        "cases": [_case_fields(case) for case in record.cases],
    }


def _case_fields(case: JudgedCase) -> dict[str, JSON]:
    return {"id": case.id, "ask": case.ask, "sha256": case.sha256, "input": case.input,
            "expected": case.expected, "tags": list(case.tags)}


def totals_fields(totals: Totals) -> dict[str, JSON]:
    """The wire form of totals."""
    return {"planned": totals.planned, "pass": totals.passed, "fail": totals.failed,
            "incomplete": totals.incomplete}


def _result_text(result: Result, layout: _Layout) -> str:
    level = layout.inner_level
    texts = (
        text_of(result.case), result.trial, result.seed, text_of(result.verdict),
        "null" if result.checks is None else _checks_text(tuple(result.checks.items()), level),
        "null" if result.explain is None else _inner_text(dict(result.explain), level),
        text_of(result.output), text_of(result.finish), text_of(result.reasoning),
        "null" if result.error is None else layout.error % pieces.error_texts(result.error),
        "null" if result.usage is None else _usage_text(result.usage, layout),
        "null" if result.timings is None else layout.timings % pieces.timings_texts(result.timings),
        number_of(result.latency_s), number_of(result.recorded_latency_s),
        result.attempts, result.retries, truth_of(result.cold))
    if result.slept_s is None:
        return layout.result % texts
    return layout.slept_result % (*texts, number_of(result.slept_s))


def _usage_text(usage: Usage, layout: _Layout) -> str:
    form = layout.usage if usage.asked_letters is None else layout.asked_usage
    return form % pieces.usage_texts(usage)


@lru_cache(maxsize=1024)
def _checks_text(checks: tuple[tuple[str, bool], ...], level: int) -> str:
    # a task has a handful of checks, so the same few answers come again and again
    return _inner_text(dict(checks), level)


def _inner_text(value: Mapping[str, JSON], level: int) -> str:
    return indented(value, level) if level else on_one_line(value)
