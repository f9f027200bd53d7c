"""Small run records made by hand, for the tests of reports: one character a trial says what came of it."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Judge, JudgedCase, Result, RunRecord

SESSION = SessionFacts("2026-11-30T12:00:00.000Z", "test bench", {"server": "none"}, 120.0, None, 1.5, "complete")

WORKED_SUITE = {"A": "+++", "B": "++-", "C": "-nn", "D": "nnn"}
"""Four cases, three trials planned: A 3 of 3, B 2 of 3, C 0 of 1 and 2 not run, D 3 not run."""

ERRORS = {"n": ErrorFacts("NotRun", "not run: the budget ended first"), "t": ErrorFacts("Timeout", "no reply in 120 s"),
          "u": ErrorFacts("Unreachable", "the server cannot be reached")}


def result(case: str, trial: int, mark: str) -> Result:
    """`+` passes, `-` fails by its label, any other mark ends in one of ERRORS."""
    if mark in ERRORS:
        return Result(case, trial, 1000 + trial, "incomplete", None, None, ERRORS[mark], 0 if mark == "n" else 1, 0,
                      False, None, 120.0 if mark == "t" else None, None, None, None, None, None)
    passes = mark == "+"
    return Result(
        case, trial, 1000 + trial, "pass" if passes else "fail", {"parses": True, "label": passes},
        None if passes else {"label": "expected bug, got spam"}, None, 1, 0, trial == 1, None, trial / 10,
        Usage(100, 10), Timings(0.01, 0.1, 0.5, 0.2, 0.0), "stop", f"answer {trial}", None)


def case(name: str, tags: Sequence[str] = (), expected: JSON = None) -> JudgedCase:
    """A case with an input of one line."""
    return JudgedCase(name, "0" * 16, "0" * 64, f"input of {name}", {"label": "bug"} if expected is None else expected,
                      tuple(tags))


def record(marks: Mapping[str, str], settings: Mapping[str, JSON] | None = None,
           sessions: Sequence[SessionFacts] = (SESSION,)) -> RunRecord:
    """A run over cases with these marks, all of one length."""
    results = tuple(result(name, trial, mark) for name, line in marks.items() for trial, mark in enumerate(line, 1))
    return RunRecord(
        "1.0.0", TaskName("toy_task", "Toy", "1"), Judge("Toy", "1", "0" * 64), "development", "toys:robot",
        settings or {}, max(map(len, marks.values()), default=1), "2026-11-30T12:00:00.000Z", {}, tuple(sessions),
        tuple(case(name) for name in marks), results)


def changed(of: RunRecord, **fields: object) -> RunRecord:
    """The record with every result's fields replaced."""
    return replace(of, results=tuple(replace(one, **fields) for one in of.results))  # type: ignore[arg-type]


def with_results(of: RunRecord, fields_of: Callable[[Result], Mapping[str, object]]) -> RunRecord:
    """The record with fields of each result replaced by what is made of it."""
    results = tuple(replace(one, **fields_of(one)) for one in of.results)  # type: ignore[arg-type]
    return replace(of, results=results)
