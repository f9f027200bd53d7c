"""The trials of runs as CSV: one row each, for a spreadsheet or a data frame.

Columns are the same in every row of a file: a check that only some runs have is empty in the others. Nothing is
averaged, and nothing that is unknown is a zero: it is empty.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchkit.basics.json_text import canonical
from benchkit.basics.values import Timings, Usage
from benchkit.pages.csv_text import CsvValue, csv_line
from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.reports.comparison import labels_of
from benchkit.reports.latency_ratio import hardware_of
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import latency_of

RUN_COLUMNS = ("run", "system", "task", "split", "hardware", "sessions")
CASE_COLUMNS = ("case", "tags", "expected")
TRIAL_COLUMNS = ("trial", "seed", "verdict")
CHECK_PREFIX = "check:"
"""Before the name of a check, which is the task's own, so that it is never taken for another column."""
REST_COLUMNS = (
    "why", "error_type", "error_message", "attempts", "retries", "cold", "latency_s", "slept_s",
    "prompt_tokens", "output_tokens", "cached_tokens",
    "load_s", "prompt_s", "output_s", "first_token_s", "other_s",
    "finish", "output", "reasoning", "partial")
NO_USAGE, NO_TIMINGS = Usage(), Timings()


def trials_csv(runs: Sequence[RunReport]) -> Iterator[str]:
    """The lines of the file, titles first; runs in order, cases in order, trials ascending."""
    checks = check_names(runs)
    titles = [CHECK_PREFIX + name for name in checks]
    yield csv_line((*RUN_COLUMNS, *CASE_COLUMNS, *TRIAL_COLUMNS, *titles, *REST_COLUMNS))
    for label, run in zip(labels_of([run.name for run in runs]), runs, strict=True):
        of_run = (label, *_run_values(run))
        for place, case in enumerate(run.record.cases):
            known = (*of_run, *_case_values(case))
            for result in run.record.results_of(place):
                yield csv_line((*known, *_trial_values(result, checks), *_rest_values(result)))


def check_names(runs: Iterable[RunReport]) -> tuple[str, ...]:
    """The names of all checks of all runs, each once, in the order in which they first stand."""
    return tuple(dict.fromkeys(check.name for run in runs for check in run.failures.checks))


def _run_values(run: RunReport) -> tuple[CsvValue, ...]:
    record = run.record
    return (record.system, record.task.name, record.split, hardware_of(record.sessions),
            len(record.sessions))


def _case_values(case: JudgedCase) -> tuple[CsvValue, ...]:
    expected = case.expected if isinstance(case.expected, str) else canonical(case.expected)
    return case.id, ";".join(case.tags), expected


def _trial_values(result: Result, checks: Iterable[str]) -> tuple[CsvValue, ...]:
    held = result.checks or {}
    return (result.trial, result.seed, result.verdict, *(held.get(name) for name in checks))


def _rest_values(result: Result) -> tuple[CsvValue, ...]:
    usage, timings, error = result.usage or NO_USAGE, result.timings or NO_TIMINGS, result.error
    return (
        "; ".join(f"{name}: {text}" for name, text in (result.explain or {}).items()),
        error.type if error else None, error.message if error else None,
        result.attempts, result.retries, result.cold, latency_of(result), result.slept_s,
        usage.prompt_tokens, usage.output_tokens, usage.cached_tokens,
        timings.load_s, timings.prompt_s, timings.output_s, timings.first_token_s, timings.other_s,
        result.finish, result.output, result.reasoning, error.partial if error else None)
