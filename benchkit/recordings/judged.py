"""A recording, judged over its cases -> a run record. No model is asked.

What does not live here: the verdict on one output (tasks/judging.py), and whether a recording fits the cases
(replay.py).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.on_demand import OnDemand
from benchkit.basics.values import JSON, Case, Reply
from benchkit.recordings.recording import MOST_HELD, RecordedCase, RecordedTrial, Recording
from benchkit.recordings.run_record import Judge, JudgedCase, Result, RunRecord
from benchkit.tasks.cases import case_sha256
from benchkit.tasks.judging import Judgement, judge
from benchkit.tasks.task import Task

MOST_REMEMBERED = 1_000
"""Different outputs of a case whose judgements are kept; whoever never repeats itself gains nothing from more."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When and where something was judged: they describe a run record, and nothing in it follows from them."""

    started_at: str
    environment: Mapping[str, JSON]


def judge_recording(
    recording: Recording, task: Task, cases: Sequence[Case], circumstances: Circumstances,
) -> RunRecord:
    """The run record of a recording. `cases` holds every recorded case; the order is the recording's.

    An output is judged once per case: checks are pure functions, and most systems repeat themselves. Beyond MOST_HELD
    trials, results are made whenever they are taken.
    """
    by_id = {case.id: case for case in cases}
    size = len(recording.cases) * recording.trials

    def read(start: int, stop: int) -> Iterator[Result]:
        while start < stop:
            place, first = divmod(start, recording.trials)
            recorded, last = recording.cases[place], min(first + stop - start, recording.trials)
            yield from _results(recorded.trials[first:last], by_id[recorded.id], task)
            start += last - first

    return RunRecord(
        recording.kit, recording.task, Judge(task.name, task.version, task.source_sha256), recording.split,
        recording.system, recording.settings, recording.trials, circumstances.started_at,
        circumstances.environment, recording.sessions,
        tuple(_judged_case(recorded, by_id[recorded.id]) for recorded in recording.cases),
        tuple(read(0, size)) if size <= MOST_HELD else OnDemand(size, read),
        [recording.trials if case.begun is None else min(case.begun, recording.trials) for case in recording.cases])


def with_measured_latency(record: RunRecord) -> RunRecord:
    """The record of a run that asked its system itself: then the recorded latency is the measured one."""
    def read(start: int, stop: int) -> Iterator[Result]:
        for result in record.results[start:stop]:
            yield replace(result, latency_s=result.recorded_latency_s)

    size = len(record.results)
    return replace(record, results=tuple(read(0, size)) if size <= MOST_HELD else OnDemand(size, read))


def _judged_case(recorded: RecordedCase, case: Case) -> JudgedCase:
    return JudgedCase(case.id, recorded.ask, case_sha256(case), case.input, case.expected, case.tags)


def _results(trials: Iterable[RecordedTrial], case: Case, task: Task) -> Iterator[Result]:
    judged: dict[str, Judgement] = {}
    for trial in trials:
        if isinstance(trial.outcome, Reply):
            output = trial.outcome.output
            if output not in judged:
                if len(judged) == MOST_REMEMBERED:
                    judged.clear()
                judged[output] = judge(task, case, output)
            yield _judged_result(case.id, trial, trial.outcome, judged[output])
        else:
            yield _unjudged_result(case.id, trial)


def _judged_result(case: str, trial: RecordedTrial, reply: Reply, judgement: Judgement) -> Result:
    return Result(
        case, trial.trial, trial.seed, judgement.verdict, judgement.checks, judgement.explain, reply.output,
        reply.finish, reply.reasoning, judgement.error, reply.usage, reply.timings, None, reply.latency_s,
        trial.attempts, reply.retries, trial.cold, trial.slept_s)


def _unjudged_result(case: str, trial: RecordedTrial) -> Result:
    outcome = trial.outcome
    assert not isinstance(outcome, Reply)
    return Result(
        case, trial.trial, trial.seed, "incomplete", None, None, None, None, None, outcome.error, None, None,
        None, outcome.latency_s, trial.attempts, outcome.retries, trial.cold, trial.slept_s)
