"""`replay:FILE` and `replay:LOG#SYSTEM`: a log or a recording in place of a model, judged over its cases."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.clock import Clock
from benchkit.basics.command import Command, shell_word
from benchkit.basics.errors import Unusable
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import are, cases_named, count_of, shown_line
from benchkit.basics.values import JSON, Case, Reply
from benchkit.disk.file_kinds import FileKind, beginning, kind_in
from benchkit.disk.machine import environment
from benchkit.recordings.recording import MOST_HELD, RecordedTrial, Recording, log_beside, read_recording, recording_of
from benchkit.recordings.run_record import Judge, JudgedCase, Result, RunRecord
from benchkit.tasks.judging import Judgement, judge
from benchkit.tasks.task import Task, case_sha256, prompt_of
from benchkit.trial_log.reader import read_log

MOST_REMEMBERED = 1_000
"""Different outputs of a case whose judgements are kept; whoever never repeats itself gains nothing from more."""

RUN_DESCRIPTION_FIELDS = ("latency_s", "recorded_latency_s", "started_at", "environment")
"""Fields that describe the circumstances of a run; every other byte follows from log, cases and task."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When and where something was judged: they describe a run record, and nothing in it follows from them."""

    started_at: str
    environment: Mapping[str, JSON]

    @classmethod
    def here(cls, clock: Clock) -> Circumstances:
        """Now, on this machine."""
        return cls(clock.stamp(), environment({}))


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
        tuple(JudgedCase(one.id, one.ask, case_sha256(case), case.input, case.expected, case.tags)
              for one in recording.cases for case in (by_id[one.id],)),
        tuple(read(0, size)) if size <= MOST_HELD else OnDemand(size, read),
        [recording.trials if case.begun is None else min(case.begun, recording.trials) for case in recording.cases])


def with_measured_latency(record: RunRecord) -> RunRecord:
    """The record of a run that asked its system itself: then the recorded latency is the measured one."""
    def read(start: int, stop: int) -> Iterator[Result]:
        for result in record.results[start:stop]:
            yield replace(result, latency_s=result.recorded_latency_s)

    size = len(record.results)
    return replace(record, results=tuple(read(0, size)) if size <= MOST_HELD else OnDemand(size, read))


def _results(trials: Iterable[RecordedTrial], case: Case, task: Task) -> Iterator[Result]:
    judged: dict[str, Judgement] = {}
    for trial in trials:
        outcome = trial.outcome
        finish = output = reasoning = None
        if isinstance(outcome, Reply):
            finish, output, reasoning = outcome.finish, outcome.output, outcome.reasoning
            if output not in judged:
                if len(judged) == MOST_REMEMBERED:
                    judged.clear()
                judged[output] = judge(task, case, output)
            found = judged[output]
        else:
            found = Judgement("incomplete", None, None, outcome.error)
        yield Result(
            case.id, trial.trial, trial.seed, found.verdict, found.checks, found.explain, found.error, trial.attempts,
            outcome.retries, trial.cold, None, outcome.latency_s, outcome.usage, outcome.timings, finish, output,
            reasoning, trial.slept_s)


REPLAY = "replay:"


@dataclass(frozen=True, slots=True)
class Reference:
    """What stands behind `replay:`: a file, and the system meant where a log holds several."""

    path: Path
    system: str | None = None


def is_replay(name: str) -> bool:
    """Whether a system's name means a replay."""
    return name.startswith(REPLAY)


def reference_of(text: str) -> Reference:
    """`FILE` or `LOG#SYSTEM`; a file that is there by the whole name is meant as it is."""
    path, mark, system = text.rpartition("#")
    if not mark or Path(text).exists():
        return Reference(Path(text))
    return Reference(Path(path), system)


def recording_from(reference: Reference, accept_damage: bool = False) -> Recording:
    """The recording in a file, or of a system in a log; which of both, the content says. Raises Unusable."""
    if is_log(reference.path):
        return recording_of(read_log(reference.path, accept_damage=accept_damage), reference.system)
    recording = read_recording(reference.path)
    if reference.system not in (None, recording.system):
        raise Unusable(f"{reference.path}: it is a recording of {shown_line(recording.system)}, "
                       f"not of {shown_line(reference.system or '')}")
    return recording


def is_log(path: Path) -> bool:
    """Whether a file is a trial log: empty, or with a line that is closed by its sum near the top. Raises Unusable."""
    head = beginning(path)
    return not head or kind_in(head) is FileKind.LOG


def fitted(
    recording: Recording, place: str, task: Task, cases: Sequence[Case], trials: int | None, command: Command,
    record: str = "",
) -> Recording:
    """The recording cut to `trials` (None: all), if it is one of these cases as the task asks them now.

    `cases` are those of one split, `place` names the file in errors, `record` are the flags that bench.py needs besides
    those that the recording tells, `command` is the one that was typed. Raises Unusable by name for missing cases,
    another split, more trials than recorded, and cases whose `ask` differs, be it that another task asks them.
    """
    if any(case.split != recording.split for case in cases):
        raise Unusable(f"{place}: it is a recording of the split {shown_line(recording.split, 60)}, not "
                       f"{shown_line(cases[0].split, 60)}; give --split {shown_line(recording.split, 60)}")
    # the modules are named, for a log does not have them imported
    bench = (f"python3 bench.py --task {shell_word(recording.task.module)} --system {shell_word(recording.system)} "
             f"--log {log_beside(Path(place))}{record}")
    is_other = recording.task.module != task.module
    at = f"{place}: " + is_other * (
        f"it was recorded with --task {shown_line(recording.task.module)}, not {shown_line(task.module)}; ")
    asks, wanted = {case.id: case.ask for case in recording.cases}, {case.id for case in cases}
    missing = [case.id for case in cases if case.id not in asks]
    if missing:
        raise Unusable(f"{at}it has no {cases_named(missing)}; record what is missing: {bench}, or give the cases it "
                       "was recorded with")
    gone = [case.id for case in recording.cases if case.id not in wanted]
    if gone:
        raise Unusable(f"{at}{cases_named(gone)} of it {are(len(gone))} not among the cases any more; give the "
                       "cases it was recorded with")
    changed = [case.id for case in cases if prompt_of(task, case).ask != asks[case.id]]
    if changed and is_other:
        raise Unusable(f"{at}the prompt or schema of {cases_named(changed)} is another there; judge it with "
                       f"{command.having('--task', recording.task.module)}")
    if changed:
        raise Unusable(f"{place}: the prompt or schema of {cases_named(changed)} has changed since it was recorded; "
                       f"put it back, or record again: {bench} --changed rerun")
    if trials is None or trials == recording.trials:
        return recording
    if trials > recording.trials:
        raise Unusable(f"{place}: it holds {count_of(recording.trials, 'trial')} of every case, not {trials}; "
                       f"give --trials {recording.trials} or fewer, or record more: "
                       f"{bench} --trials {trials}")
    return replace(recording, trials=trials, cases=tuple(
        replace(case, trials=case.trials[:trials]) for case in recording.cases))
