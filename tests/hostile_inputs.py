"""Every kind of file of the workflow, with good examples, its reader, and what must be true of what was read.

    kind.examples(folder) gives good bytes; kind.look(path, original) reads and checks the file that they became

`look` raises what the reader raises (KitError is right), and AssertionError where something altered was believed.
"""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from benchkit.basics.values import JSON
from benchkit.recordings.digest_book import entry_of, keep_book, read_book
from benchkit.recordings.recording import read_recording, recording_bytes, recording_of
from benchkit.recordings.run_record import RunRecord, read_run_record, run_record_bytes, run_record_lines
from benchkit.reports.comparison import side_by_side
from benchkit.reports.documents import text_report
from benchkit.reports.files import FORMATS
from benchkit.reports.run_report import report_of
from benchkit.running.summary import status_of, status_text
from benchkit.tasks.task import read_cases
from benchkit.trial_log.lines import Damage, Line, LinePosition, LoadedLine, StopLine, SystemLine, line_of, place_of
from benchkit.trial_log.reader import TrialLog, read_log
from tests import trial_logs as logs
from tests.commands import ROOT
from tests.recordings_samples import mixed_outcomes, recording, toy
from tests.reports_samples import WORKED_SUITE, changed, record

Examples = Callable[[Path], list[bytes]]
Look = Callable[[Path, bytes], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: its name on the disk, good examples of it, and how it is read and checked."""

    name: str
    file: str
    examples: Examples
    look: Look
    is_sealed: bool = False
    """Whether its lines are closed by sums: then nothing that was altered may be believed."""


# ---------------------------------------------------------------------------------------------------- logs

def log_examples(folder: Path) -> list[bytes]:
    """A whole log; one of three sessions with errors, another attempt, a changed prompt and named damage."""
    whole = bytes(logs.complete())
    lines = logs.started()
    lines.add(logs.trial_line(), logs.trial_line(logs.CASES[1], outcome=logs.failure()),
              logs.trial_line(logs.CASES[2], outcome=logs.reply("</script>\x1b[31m\u2028 \U0001f600")))
    first = bytes(lines) + b'{"attempt":1,"case":"mail\n'
    damage = (Damage(len(bytes(lines)), len(first) - len(bytes(lines))),)
    second = logs.Lines().begin(logs.SESSION_B, replace(logs.session_line(2), damage=damage))
    second.add(logs.plan_line(changed=logs.CASES[0]), LoadedLine(1.0),
               logs.trial_line(logs.CASES[0], attempt=2, asked=logs.CASES[0] + "!"),
               logs.trial_line(logs.CASES[1], attempt=2), StopLine("interrupted", logs.STAMP))
    third = logs.Lines().begin(logs.SESSION_C)
    third.add(SystemLine(logs.SYSTEM, {**logs.SETTINGS, "more": [1, {"a": None}]}), logs.trial_line(trial=2))
    return [whole, first + bytes(second) + bytes(third)]


@cache
def lines_by_place(data: bytes) -> dict[LinePosition, tuple[int, Line]]:
    """The whole lines of a good log, numbered, by where they belong."""
    good = [json.loads(line) for line in data.splitlines() if b'"sum"' in line]
    return {place_of(fields): (number, line_of(fields)) for number, fields in enumerate(good)}


def look_at_log(path: Path, original: bytes) -> None:
    """Strictly, and with damage accepted: what counts is what was written, in its order, and gaps are named."""
    written = lines_by_place(original)
    for accept_damage in (True, False):
        log = read_log(path, accept_damage=accept_damage)
        _check_believed(log, written)
        outcomes = [line.outcome for _, line in written.values() if hasattr(line, "outcome")]
        for case in recording_of(log, log.planned().systems[0]).cases:
            for trial in case.trials:
                assert not trial.is_run or trial.outcome in outcomes, f"nobody recorded this: {trial}"


def _check_believed(log: TrialLog, written: Mapping[LinePosition, tuple[int, Line]]) -> None:
    """What counts was written, in this order. What is missing inside of a session is named.

    Whole lines at the end of a session can be missing without a word: that is how a session looks that was killed.
    """
    numbers, places = [], []
    for line, place in log.lines_that_count():
        assert written.get(place, (0, None))[1] == line, f"nobody wrote this line: {place}"
        numbers.append(written[place][0])
        places.append(place)
    follows = {place.session: -1 for place in places}
    is_whole = numbers == sorted(set(numbers))
    for place in places:
        is_whole = is_whole and place.n == follows[place.session] + 1
        follows[place.session] = place.n
    assert is_whole or log.harmless, f"lines {numbers} were believed, and no damage was named"


def look_at_any_log(path: Path, original: bytes) -> None:
    """Whatever it says: it is read or refused, and so is all that is made of it."""
    for accept_damage in (True, False):
        log = read_log(path, accept_damage=accept_damage)
        status_text(status_of(log, None))
        b"".join(recording_bytes(recording_of(log, None)))


# --------------------------------------------------------------------------------------------- JSON files

def same_json(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same but for the rounding of seconds."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return type(one) in (int, float) and type(other) in (int, float) and math.isclose(one, other, abs_tol=1e-6)
    return type(one) is type(other) and bool(one == other)


def assert_same(path: Path, written: bytes | JSON) -> None:
    """What was read, written again, says what stands in the file."""
    again = json.loads(written) if isinstance(written, bytes) else json.loads(json.dumps(written))
    assert same_json(json.loads(path.read_bytes()), again), "what was read is not what stands there"


def recording_examples(folder: Path) -> list[bytes]:
    """A recording with one of everything."""
    return [b"".join(recording_bytes(recording(*toy(folder), mixed_outcomes())))]


def look_at_recording(path: Path, original: bytes) -> None:
    """A recording."""
    assert_same(path, b"".join(recording_bytes(read_recording(path))))


def run_record_examples(folder: Path) -> list[bytes]:
    """A small run record, and one with every odd field filled."""
    odd = changed(record({"a": "+-", "b": "tn"}, {"temperature": 1.0}), reasoning="hm", slept_s=7.5)
    return [b"".join(run_record_bytes(one)) for one in (record(WORKED_SUITE), odd)]


def look_at_run_record(path: Path, original: bytes) -> None:
    """A run record, and every report of it."""
    read = read_run_record(path)
    assert_same(path, b"".join(run_record_bytes(read)))
    side = side_by_side([report_of(read, path.stem)])
    writers = (text_report(side), text_report(side, is_full=True), *(one.render(side) for one in FORMATS.values()))
    for _ in chain.from_iterable(writers):
        pass


def run_record_lines_examples(folder: Path) -> list[bytes]:
    """The same as lines."""
    return [b"".join(run_record_lines(read_run_record_in(folder, data))) for data in run_record_examples(folder)]


def read_run_record_in(folder: Path, data: bytes) -> RunRecord:
    """The run record that a whole file of one JSON value holds."""
    path = folder / "whole.json"
    path.write_bytes(data)
    return read_run_record(path)


def look_at_run_record_lines(path: Path, original: bytes) -> None:
    """A run record of lines, and every report of it."""
    read = read_run_record(path)
    report_of(read, path.stem)
    # not splitlines, for a carriage return between two values ends no line
    there, again = path.read_bytes().strip().split(b"\n"), b"".join(run_record_lines(read)).strip().split(b"\n")
    assert len(there) == len(again)
    assert all(same_json(json.loads(one), json.loads(other)) for one, other in zip(there, again, strict=True))


def cases_examples(folder: Path) -> list[bytes]:
    """Two cases of the inbox."""
    cases = json.loads((ROOT / "cases.json").read_bytes())["cases"]
    return [json.dumps({"cases": cases[:2]}, indent=1).encode()]


def look_at_cases(path: Path, original: bytes) -> None:
    """Cases."""
    cases = read_cases(path)
    there = json.loads(path.read_bytes())["cases"]
    read = [{"id": case.id, "split": case.split, "input": case.input, "expected": case.expected,
             "tags": list(case.tags)} for case in cases]
    assert same_json([{"tags": [], **case} for case in there], json.loads(json.dumps(read)))


def book_examples(folder: Path) -> list[bytes]:
    """A book of digests with one entry."""
    path = folder / "book.json"
    keep_book(path, [entry_of("here", {"toy": recording(*toy(folder), mixed_outcomes())})])
    return [path.read_bytes()]


def look_at_book(path: Path, original: bytes) -> None:
    """A book of digests."""
    entries = read_book(path)
    again = path.with_name("again.json")
    keep_book(again, entries)
    assert_same(path, again.read_bytes())


FILE_KINDS: Sequence[Kind] = (
    Kind("log", "responses.jsonl", log_examples, look_at_log, is_sealed=True),
    Kind("recording", "toy.json", recording_examples, look_at_recording),
    Kind("run record", "toy.json", run_record_examples, look_at_run_record),
    Kind("run record of lines", "toy.jsonl", run_record_lines_examples, look_at_run_record_lines),
    Kind("cases", "cases.json", cases_examples, look_at_cases),
    Kind("book", "recordings.json", book_examples, look_at_book),
)
RESEALED_LOG = Kind("resealed log", "responses.jsonl", log_examples, look_at_any_log)
