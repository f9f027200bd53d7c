"""Writing a run record: as one JSON value, or, where the name ends in .jsonl, as a head line and one result a line.

Both hold the same; lines can be read one by one, which is what a large run needs. Totals stand in the first only:
they follow from the results.
What does not live here: reading them again (run_record_reading.py, run_record_lines.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchkit.basics.indented import HOLE, form_of, indented, line_form_of, number_of, on_one_line, text_of, truth_of
from benchkit.basics.values import JSON, Usage
from benchkit.disk.whole_files import refuse_other, write_whole
from benchkit.recordings import pieces
from benchkit.recordings.run_record import Counting, JudgedCase, Result, RunRecord, Tally, Totals
from benchkit.trial_log.parts import fields_of_task_name

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
