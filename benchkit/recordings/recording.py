"""A recording: every planned cell of one system, with what came of it. Values, and their wire form both ways."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import HOLE, form_of, indented, number_of, text_of, truth_of
from benchkit.basics.values import JSON, ErrorFacts, Failure, Outcome, Reply, TaskName
from benchkit.disk.file_kinds import Kind, refuse_another_kind
from benchkit.disk.whole_files import read_json, refuse_other, same_bytes, write_whole
from benchkit.recordings import pieces
from benchkit.recordings.pieces import SessionFacts
from benchkit.trial_log.lines import MOST_CELLS
from benchkit.trial_log.parts import fields_of_task_name

RECORDING_VERSION = 1
RECORDED_ERRORS = tuple(word for word in ERROR_TYPES if word not in ("NotRun", "CheckError"))
"""What a trial that ran can have ended in; a check is never run before a recording is judged."""
MOST_HELD = 20_000
"""So many trials (some 50 MB) are kept in memory rather than read again."""


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """The last attempt of one cell. A cell that did not run has no request, no attempts, and a `NotRun`."""

    trial: int
    seed: int
    request: str | None
    outcome: Outcome
    attempts: int
    cold: bool
    slept_s: float | None = None

    @property
    def is_run(self) -> bool:
        """Whether the trial was started and something came of it."""
        return isinstance(self.outcome, Reply) or self.outcome.error.type != "NotRun"


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """One planned case: its trials 1 to K, in order; those of a large recording are read whenever they are taken.

    `begun`: so many of them have to be looked at, and none of the others ran, for one and the same reason; None: all.
    """

    id: str
    ask: str
    trials: Sequence[RecordedTrial]
    begun: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Recording:
    """All of a log that one system's verdicts can follow from. `kit` and `task` are those of the plan."""

    kit: str
    task: TaskName
    split: str
    system: str
    settings: Mapping[str, JSON]
    trials: int
    sessions: tuple[SessionFacts, ...]
    cases: tuple[RecordedCase, ...]


def not_run(trial: int, seed: int, message: str) -> RecordedTrial:
    """The cell of a trial that did not run, and why."""
    return RecordedTrial(trial, seed, None, Failure(ErrorFacts("NotRun", message)), 0, False)


# ---------------------------------------------------------------------------------------------- writing

_HEAD = ("trial", "seed", "request")
_ANSWER = ("output", "finish", "reasoning")
_MEASURES: Mapping[str, JSON] = {
    "usage": pieces.USAGE_SHAPE, "timings": pieces.TIMINGS_SHAPE, "recorded_latency_s": HOLE,
    "attempts": HOLE, "retries": HOLE, "cold": HOLE}
_FAILURE_MEASURES: Mapping[str, JSON] = {**_MEASURES, "usage": None, "timings": None}
_SLEPT = ("slept_s",)
_HOLES = dict.fromkeys((*_HEAD, *_ANSWER, *_SLEPT), HOLE)


def _form(names: tuple[str, ...], measures: Mapping[str, JSON], more: tuple[str, ...] = ()) -> str:
    shape: dict[str, JSON] = {name: _HOLES.get(name, pieces.ERROR_SHAPE) for name in names}
    return form_of({**shape, **measures, **dict.fromkeys(more, HOLE)}, 4)


_REPLIES = {(asked, slept): _form(_HEAD + _ANSWER, {**_MEASURES, "usage": shape}, more)
            for asked, shape in ((False, pieces.USAGE_SHAPE), (True, pieces.ASKED_USAGE_SHAPE))
            for slept, more in ((False, ()), (True, _SLEPT))}
_FAILURE = _form((*_HEAD, "error"), _FAILURE_MEASURES)
_SLEPT_FAILURE = _form((*_HEAD, "error"), _FAILURE_MEASURES, _SLEPT)
_NOT_RUN = form_of({"trial": HOLE, "seed": HOLE, "error": {"type": "NotRun", "message": HOLE}}, 4)
_CASE = form_of({"id": HOLE, "ask": HOLE}, 2).removesuffix("\n  }") + ',\n   "trials": ['


def recording_bytes(recording: Recording) -> Iterator[bytes]:
    """The file, trial by trial: indented by 1, ASCII, final newline; equal for equal recordings, anywhere."""
    head: dict[str, JSON] = {
        "recording": RECORDING_VERSION, "kit": recording.kit, "task": fields_of_task_name(recording.task),
        "split": recording.split, "system": recording.system, "settings": recording.settings,
        "trials": recording.trials, "sessions": [pieces.session_fields(one) for one in recording.sessions],
    }
    yield (indented(head).removesuffix("\n}") + ',\n "cases": [').encode("ascii")
    for number, case in enumerate(recording.cases):
        beginning = _CASE % (text_of(case.id), text_of(case.ask))
        yield ((",\n  " if number else "\n  ") + beginning).encode("ascii")
        for place, trial in enumerate(case.trials):
            yield ((",\n    " if place else "\n    ") + _trial_text(trial)).encode("ascii")
        yield b"\n   ]\n  }"
    yield b"\n ]\n}\n"


def keep_recording(path: Path, recording: Recording) -> bool:
    """Write the file whole, unless it is these very bytes already; whether it was written.

    Raises Unusable where another file stands that is no recording.
    """
    if same_bytes(path, recording_bytes(recording)):
        return False
    refuse_other(path, "recording")
    write_whole(path, recording_bytes(recording))
    return True


def _trial_text(trial: RecordedTrial) -> str:
    outcome = trial.outcome
    if not trial.is_run and isinstance(outcome, Failure):
        return _NOT_RUN % (trial.trial, trial.seed, text_of(outcome.error.message))
    slept = () if trial.slept_s is None else (number_of(trial.slept_s),)
    head = (trial.trial, trial.seed, text_of(trial.request))
    tail = (number_of(outcome.latency_s), trial.attempts, outcome.retries, truth_of(trial.cold), *slept)
    if isinstance(outcome, Reply):
        answer = (text_of(outcome.output), text_of(outcome.finish), text_of(outcome.reasoning))
        return _REPLIES[outcome.usage.asked_letters is not None, bool(slept)] % (
            *head, *answer, *pieces.usage_texts(outcome.usage), *pieces.timings_texts(outcome.timings), *tail)
    return (_SLEPT_FAILURE if slept else _FAILURE) % (*head, *pieces.error_texts(outcome.error), *tail)


# ---------------------------------------------------------------------------------------------- reading

_REPLY_FIELDS = dict.fromkeys((*_HEAD, *_ANSWER, *_MEASURES)).keys()
_FAILURE_FIELDS = dict.fromkeys((*_HEAD, "error", *_MEASURES)).keys()
_TOP_FIELDS = ("recording", "kit", "task", "split", "system", "settings", "trials", "sessions", "cases")


def read_recording(path: Path) -> Recording:
    """The recording in a file. Raises Unusable with file and field for anything else."""
    refuse_another_kind(path, Kind.RECORDING)
    try:
        return recording_of_fields(Fields(read_json(path)))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; convert its log again: python3 bench.py --log {log_beside(path)} --convert "
                       f"{shell_word(str(path))}") from None


def log_beside(path: Path) -> str:
    """The log of a recording, as a word of a command: it lies beside it. LOG where it does not."""
    log = path.with_suffix(".jsonl")
    return shell_word(str(log)) if log.exists() else "LOG"


def recording_of_fields(fields: Fields) -> Recording:
    """A recording from its wire form; ValueError names the field."""
    fields.version("recording", RECORDING_VERSION)
    fields.has_exactly(_TOP_FIELDS)
    trials = fields.integer("trials", 1, MOST_CELLS)
    cases = tuple(_case_of(case, trials) for case in fields.objects("cases"))
    sessions = pieces.sessions_of(fields)
    pieces.check_unique([case.id for case in cases], "cases")
    return Recording(
        fields.text("kit"), pieces.task_of(fields.inner("task")), fields.text("split"),
        fields.text("system"), fields.mapping("settings"), trials,
        sessions, cases)


def _case_of(fields: Fields, trials: int) -> RecordedCase:
    fields.has_exactly(("id", "ask", "trials"))
    found = tuple(_trial_of(trial) for trial in fields.objects("trials"))
    if len(found) != trials or any(trial.trial != number for number, trial in enumerate(found, 1)):
        raise ValueError(f"{fields.at('trials')} is not the trials 1 to {trials}, each once and in order")
    return RecordedCase(fields.text("id"), fields.hex_digits("ask", 16), found)


def _trial_of(fields: Fields) -> RecordedTrial:
    trial, seed = pieces.trial_and_seed_of(fields)
    if "error" in fields and fields.inner("error").values.get("type") == "NotRun":
        return _not_run_of(fields, trial, seed)
    outcome = _failure_of(fields) if "error" in fields else _reply_of(fields)
    return RecordedTrial(
        trial, seed, fields.hex_digits("request", 16), outcome, fields.integer("attempts", least=1),
        fields.boolean("cold"), fields.seconds_or_none("slept_s") if "slept_s" in fields else None)


def _not_run_of(fields: Fields, trial: int, seed: int) -> RecordedTrial:
    fields.has_exactly(("trial", "seed", "error"))
    error = fields.inner("error")
    error.has_exactly(("type", "message"))
    return not_run(trial, seed, error.text("message"))


def _reply_of(fields: Fields) -> Reply:
    fields.has_exactly(_REPLY_FIELDS, optional=_SLEPT)
    return Reply(
        fields.text("output"), fields.text_or_none("finish"), fields.text_or_none("reasoning"),
        pieces.usage_of(fields.inner("usage")), pieces.timings_of(fields.inner("timings")),
        fields.seconds_or_none("recorded_latency_s"), fields.integer("retries"))


def _failure_of(fields: Fields) -> Failure:
    fields.has_exactly(_FAILURE_FIELDS, optional=_SLEPT)
    for name in ("usage", "timings"):
        if fields.json(name) is not None:
            raise fields.wrong(name, "null, as where no whole reply came")
    return Failure(
        pieces.error_of(fields.inner("error"), RECORDED_ERRORS),
        fields.seconds_or_none("recorded_latency_s"), fields.integer("retries"))
