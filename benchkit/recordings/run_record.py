"""A run record: a recording judged over its cases; written and read as one JSON value, or as one result a line.

Lines are read as the results are taken: what is wrong with one is said when its turn comes. They have no totals.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from benchkit.basics import fields as types
from benchkit.basics import json_text
from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import lines_of_list, on_one_line, pieces_of_file
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import count_of
from benchkit.basics.values import JSON, ErrorFacts, TaskName, Timings, Usage
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import LineFile, read_json, refuse_other, write_whole
from benchkit.recordings.recording import HEAD_FIELDS, SESSIONS_FIELD, SessionFacts, check_unique
from benchkit.trial_log.schema import RESULT, VERDICTS, Field, FieldTable, check_seed, inner, list_of


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
    error: ErrorFacts | None
    attempts: int
    retries: int
    cold: bool
    latency_s: float | None
    recorded_latency_s: float | None
    usage: Usage | None
    timings: Timings | None
    finish: str | None
    output: str | None
    reasoning: str | None
    slept_s: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """How many trials were planned, and what became of them; they add up."""

    planned: int
    passed: int
    failed: int
    incomplete: int


@dataclass(slots=True)
class VerdictTally:
    """The verdicts of results, counted as they pass by.

    `errors` is how many of the incomplete ones ended in each type of error, `check_error` the message of the first one
    that the task's check could not judge.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    check_error: str | None = None

    def take(self, result: Result) -> None:
        """Count one more."""
        self.verdicts[result.verdict] += 1
        if result.error is not None:
            self.errors[result.error.type] += 1
            if result.error.type == "CheckError":
                self.check_error = self.check_error or result.error.message

    @property
    def totals(self) -> Totals:
        """What became of all that were taken."""
        counts = [self.verdicts[name] for name in VERDICTS]
        return Totals(sum(counts), *counts)


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
        tally = VerdictTally()
        for result in self.results:
            tally.take(result)
        return tally.totals

    def results_of(self, place: int) -> Sequence[Result]:
        """The trials of the case at a place, in order."""
        return self.results[place * self.trials:(place + 1) * self.trials]


RUN_RECORD_VERSION = 2
"""Version 1 said the same, indented, a value a line; it is read as this one is."""
LINES = ".jsonl"
"""How the name of a run record of lines ends."""
JUDGE_FIELDS = (
    Field("name", types.TEXT, "what the task that judged calls itself"),
    Field("version", types.TEXT, "its version, as it says"),
    Field("task_sha256", types.HEX_64, "of the text of its module"),
)
CASE_FIELDS = (
    Field("id", types.TEXT, "of the case"),
    Field("ask", types.HEX_16, "what was asked, whoever answers"),
    Field("sha256", types.HEX_64, "of the canonical {id, input, expected, tags}"),
    Field("input", types.ANYTHING, "as the task wants it"),
    Field("expected", types.ANYTHING, "the label"),
    Field("tags", types.TEXTS, "of the case"),
)
RECORD_FIELDS = (
    *HEAD_FIELDS,
    Field("judge", inner(FieldTable(Judge, JUDGE_FIELDS)), "who judged"),
    Field("started_at", types.STAMP, "when it was judged"),
    Field("environment", types.OBJECT, "Python and platform where it was judged"),
    SESSIONS_FIELD,
    Field("cases", list_of(FieldTable(JudgedCase, CASE_FIELDS)), "the cases in order, a line a case"),
)


def _check_result(result: Result, place: str) -> None:
    check_seed(result.trial, result.seed, place)
    if result.verdict == "incomplete":
        if result.error is None or result.checks is not None:
            raise ValueError(f"{place} is incomplete, so it needs an error and no checks")
        if result.output is not None and result.error.type != "CheckError":
            raise ValueError(f"{place} has both an output and a {result.error.type}")
    elif result.checks is None or result.output is None or result.error is not None:
        raise ValueError(f"{place} is a {result.verdict}, so it needs an output, checks and no error")
    elif all(result.checks.values()) != (result.verdict == "pass"):
        raise ValueError(f"{place}.verdict does not follow from its checks")


_HEAD = FieldTable(lambda **head: RunRecord(results=(), **head), RECORD_FIELDS, is_exact=False)
_RESULT = FieldTable(Result, RESULT, rule=_check_result)


def _totals_fields(totals: Totals) -> dict[str, JSON]:
    return {"planned": totals.planned, "pass": totals.passed, "fail": totals.failed, "incomplete": totals.incomplete}


def keep_run_record(path: Path, record: RunRecord) -> VerdictTally:
    """Write the file, whole or not at all, in the layout that its name asks for; the results are taken once.

    Gives what they come to. Raises Unusable where another file stands that is no run record.
    """
    refuse_other(path, "run_record")
    tally = VerdictTally()
    write_whole(path, (run_record_lines if path.suffix == LINES else run_record_bytes)(record, tally))
    return tally


def run_record_bytes(record: RunRecord, tally: VerdictTally | None = None) -> Iterator[bytes]:
    """The file: a field, a session, a case and a result a line, ASCII; equal for equal records, anywhere."""
    tally = tally or VerdictTally()
    results = lines_of_list(_result_texts(record, tally), 1)
    # the totals are known when the results are written
    totals = (on_one_line(_totals_fields(one.totals)) for one in (tally,))
    return pieces_of_file([*_head(record).items(), ("results", results), ("totals", totals)])


def run_record_lines(record: RunRecord, tally: VerdictTally | None = None) -> Iterator[bytes]:
    """The file, line by line: the head, then the results; ASCII, equal for equal records, anywhere."""
    for text in chain([on_one_line(_head(record))], _result_texts(record, tally or VerdictTally())):
        yield f"{text}\n".encode("ascii")


def _head(record: RunRecord) -> dict[str, JSON]:
    return {"run_record": RUN_RECORD_VERSION, **_HEAD.fields_of(record)}


def _result_texts(record: RunRecord, tally: VerdictTally) -> Iterator[str]:
    for result in record.results:
        tally.take(result)
        yield on_one_line(_RESULT.fields_of(result))


def read_run_record(path: Path) -> RunRecord:
    """The run record in a file. Raises Unusable with file and field for anything else.

    Where the name ends in .jsonl, the results are read from the file, which stays open, whenever they are taken.
    """
    refuse_another_kind(path, FileKind.RUN_RECORD)
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
    values, size = fields.sequence("results"), len(head.cases) * head.trials
    record = replace(head, results=tuple(
        _result_at(place, value, f"results[{place}]", head) for place, value in enumerate(values[:size])))
    _check_size(head, len(values))
    totals = fields.inner("totals")
    for name, count in _totals_fields(record.totals).items():
        if totals.integer(name) != count:
            raise totals.wrong(name, f"the {count} that the results add up to")
    totals.has_exactly(("planned", *VERDICTS))
    return record


def _of_lines(file: LineFile) -> RunRecord:
    def line_of(line: bytes, number: int) -> JSON:
        try:
            return json_text.parse(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None

    def read(start: int, stop: int) -> Iterator[Result]:
        for place, line in enumerate(file.lines(start + 1, stop + 1), start):
            try:
                yield _result_at(place, line_of(line, place + 2), f"line {place + 2}", head)
            except ValueError as error:
                raise _unusable(file.path, error) from None

    if not file.size:
        raise ValueError("it has no line that is whole")
    head = _head_of(Fields(line_of(next(file.lines(0, 1)), 1)), ())
    _check_size(head, file.size - 1, file.is_torn)
    return replace(head, results=OnDemand(file.size - 1, read))


def _head_of(fields: Fields, others: tuple[str, ...]) -> RunRecord:
    """All but the results; `others` are the fields that stand behind those of a head."""
    fields.version("run_record", 1, RUN_RECORD_VERSION)
    fields.has_exactly(("run_record", *(one.name for one in RECORD_FIELDS), *others))
    head = _HEAD.value_of(fields.values)
    check_unique([case.id for case in head.cases], "cases")
    return head


def _result_at(place: int, value: JSON, where: str, head: RunRecord) -> Result:
    """The result at a place; ValueError if another trial belongs there: cases in order, trials ascending."""
    result = _RESULT.value_of(value, where)
    case, trial = divmod(place, head.trials)
    if result.case != head.cases[case].id or result.trial != trial + 1:
        raise ValueError(f"{where} is not trial {trial + 1} of case {head.cases[case].id}: every planned trial stands "
                         "once, cases in order and trials ascending")
    return result


def _check_size(head: RunRecord, results: int, is_torn: bool = False) -> None:
    """Raise ValueError unless there are as many results as planned trials."""
    size = len(head.cases) * head.trials
    if results != size or is_torn:
        torn = " and a part of one" if is_torn else ""
        raise ValueError(f"results holds {count_of(results, 'trial')}{torn}, but {count_of(len(head.cases), 'case')} x "
                         f"{count_of(head.trials, 'trial')} are {size}")
