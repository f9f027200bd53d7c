"""Every kind of file of boards, with good examples, its reader, and what must be true of what was read."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchkit.boards.batch import Batch as MadeBatch
from benchkit.boards.batch import batch_to_wire, new_batch, read_batch
from benchkit.boards.job import FromTask, Job, job_to_wire, read_job
from benchkit.boards.job_pack import pack_of_task
from benchkit.boards.questions import Questions, make_questions, read_questions
from benchkit.boards.solvers import read_env_file
from benchkit.boards.trace_check import verify
from benchkit.boards.trace_events import SegmentKey, TraceEvent, event_of
from benchkit.boards.trace_file import look_over, segments_in
from benchkit.trial_log.reader import read_log
from tests import trial_logs as logs
from tests.commands import ROOT
from tests.hostile_inputs import FILE_KINDS, RESEALED_LOG, Kind, same_json
from tests.recordings_samples import toy
from tests.toy_game import ANSWER, LOOK, ROBOT, Batch, Robot, timed_out

ENV = b"# keys\nOPENAI_API_KEY=sk-0123456789abcdef\nexport OTHER='a b' # a remark\n\nEMPTY=\n"


def trace_examples(folder: Path) -> list[bytes]:
    """The trace of games of a model with an error, and of a baseline; the log is left beside it."""
    batch = Batch(folder)
    batch.run({ROBOT: Robot([LOOK, ANSWER, LOOK, timed_out(), LOOK, ANSWER])})
    return [batch.trace_path.read_bytes()]


@cache
def _events_in(trace: bytes) -> Mapping[tuple[SegmentKey, int], tuple[int, TraceEvent]]:
    """Every event of a good trace, numbered, by where it belongs."""
    events = [event_of(json.loads(line)) for line in trace.splitlines()]
    return {(event.key, event.seq): (number, event) for number, event in enumerate(events)}


def look_at_trace(path: Path, original: bytes) -> None:
    """What was written is read, or the damage is named: as such, or as an invariant that does not hold."""
    written, numbers = _events_in(original), []
    for segment in segments_in(path):
        for event in segment.events:
            number, as_written = written.get((event.key, event.seq), (0, None))
            assert as_written == event, "altered, and believed"
            numbers.append(number)
    look_over(path)
    if numbers != list(range(len(written))):
        assert not verify(read_log(path.with_name("responses.jsonl")), path).is_consistent, "nothing was named"


def look_at_any_trace(path: Path, original: bytes) -> None:
    """Whatever it says: it is held against its log, or refused."""
    verify(read_log(path.with_name("responses.jsonl")), path)


def job_examples(folder: Path) -> list[bytes]:
    """The jobs of the kit."""
    return [path.read_bytes() for path in sorted((ROOT / "jobs").glob("*.toml"))]


def look_at_job(path: Path, original: bytes) -> None:
    """A job: what it says is what TOML says, and what it leaves out has its default."""
    import tomllib
    job = read_job(path)
    there, read = tomllib.loads(path.read_text(encoding="utf-8")), job_to_wire(job)
    for name, value in there.items():
        kept = read[name]
        named = {key: kept[key] for key in value} if isinstance(value, dict) and isinstance(kept, Mapping) else kept
        assert same_json(json.loads(json.dumps(value)), json.loads(json.dumps(named))), name


def env_examples(folder: Path) -> list[bytes]:
    """Keys."""
    return [ENV]


def look_at_env(path: Path, original: bytes) -> None:
    """Keys: names and values stand so in the file, and no value is shown."""
    secrets = read_env_file(path)
    text = path.read_text(encoding="utf-8-sig")
    for name, value in secrets.values.items():
        assert name in text
        assert value in text
        assert len(value) < 8 or value not in repr(secrets)


def _toy_batch(folder: Path) -> tuple[MadeBatch, Questions]:
    task, cases = toy(folder)
    pack = pack_of_task(task, cases)
    job = Job("mine", FromTask("parity_task", "cases.json"), ("baselines:always",))
    questions = make_questions(job, pack)
    return new_batch(job, pack, questions, logs.STAMP), questions


def batch_examples(folder: Path) -> list[bytes]:
    """A batch over the cases of the toy task."""
    return [json.dumps(batch_to_wire(_toy_batch(folder)[0]), indent=1).encode()]


def look_at_batch(path: Path, original: bytes) -> None:
    """A batch."""
    read = batch_to_wire(read_batch(path.parent).batch)
    assert same_json(json.loads(path.read_bytes())["cases_sha256"], json.loads(json.dumps(read["cases_sha256"])))


def question_examples(folder: Path) -> list[bytes]:
    """The questions of that batch; their digests are left beside them."""
    questions = _toy_batch(folder)[1]
    (folder / "digests.json").write_text(json.dumps([questions.cases_sha256, questions.sha256]), encoding="utf-8")
    return [b"".join(questions.lines)]


def look_at_questions(path: Path, original: bytes) -> None:
    """Questions: as they were made, or refused; with --accept-altered named."""
    by_case, whole = json.loads(path.with_name("digests.json").read_bytes())
    kept = read_questions(path, by_case, whole, accept_altered=True)
    assert kept.altered or path.read_bytes() == original, "altered, and not named"
    strict = read_questions(path, by_case, whole)
    assert not strict.altered
    assert path.read_bytes() == original, "altered, and believed"


KINDS: Sequence[Kind] = (
    *FILE_KINDS,
    Kind("trace", "trace.jsonl", trace_examples, look_at_trace, is_sealed=True),
    Kind("job", "toy.toml", job_examples, look_at_job),
    Kind("env_file", "keys.env", env_examples, look_at_env),
    Kind("batch", "batch.json", batch_examples, look_at_batch),
    Kind("questions", "cases.jsonl", question_examples, look_at_questions),
)
RESEALED: Sequence[Kind] = (
    RESEALED_LOG,
    Kind("resealed trace", "trace.jsonl", trace_examples, look_at_any_trace),
)
