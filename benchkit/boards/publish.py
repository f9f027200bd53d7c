"""Publishing a batch: verify all, judge all under one scoring, run the baselines again, verify again, mark it.

A refusal writes nothing.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from benchkit.basics.errors import Unusable
from benchkit.basics.texts import are, cases_named, count_of, shown_line, word_for
from benchkit.boards.batch import BLOCKED, PUBLISHED, FoundBatch
from benchkit.boards.batch_log import log_of, recorded_log, unmerged_line
from benchkit.boards.choosing_batch import questions_of
from benchkit.boards.evaluation import NOTHING_BEFORE, Before
from benchkit.boards.finalizing import examine
from benchkit.boards.findings import Findings
from benchkit.boards.game import games_of
from benchkit.boards.job import usual_file
from benchkit.boards.job_pack import dataset_differences
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import emission_gate, gate_figures
from benchkit.boards.questions import KeptQuestions, rules_of
from benchkit.boards.recording_batch import BatchRunConfig, record_batch
from benchkit.boards.standings import sees_truth
from benchkit.disk.whole_files import shown_path
from benchkit.running.plan import Selection, can_be_retried, cells_of
from benchkit.running.workload import RunContext
from benchkit.systems.loading import is_baseline


def check_publishable(found: FoundBatch) -> None:
    """Raise Unusable for a batch that is published already, or in which nobody but baselines answered."""
    if found.batch.status == PUBLISHED:
        raise Unusable(f"{shown_path(found.folder)} is published already")
    try:
        systems = () if found.batch.status == BLOCKED else systems_of(found)
    except Unusable:
        return  # a reason not to publish, told with the others
    if systems and all(map(is_baseline, systems)):
        raise Unusable(f"{shown_path(found.folder)}: only baselines have answered, and a board of these shows nothing; "
                       "add a system with python3 board.py run JOB --models SYSTEM")


def systems_of(found: FoundBatch) -> tuple[str, ...]:
    """Who is asked in a batch: the log knows, also where a kill came before batch.json was written."""
    log = log_of(found)
    return () if log is None else tuple(log.planned().systems)


@dataclass(frozen=True, slots=True)
class Verified:
    """Why a batch must not be published, a sentence each (none: it can be), and its findings where it has some."""

    reasons: tuple[str, ...]
    findings: Findings | None = None


def verified(found: FoundBatch, pack: Pack, before: Before = NOTHING_BEFORE) -> Verified:
    """Look a batch over. Nothing is written; rows of `before` that may stand are not judged again."""
    if found.batch.status == BLOCKED:
        return Verified(tuple(f"blocked by the batch gate: {reason}" for reason in found.batch.figures.blocked))
    dataset = dataset_differences(found.batch, found.batch.job, pack)
    if dataset:
        return Verified((f"it was made in another world: {dataset}",))
    try:
        questions = questions_of(found, accept_altered=True)
        if questions.altered:
            return Verified(tuple(f"its questions were altered: {what}" for what in questions.altered))
        of_gates = tuple(_of_gates(found, pack, questions))
        findings = examine(found, pack, questions, before)
        return Verified((*of_gates, *_of_answers(findings)), findings)
    except Unusable as error:
        return Verified((str(error),))


def verified_again(found: FoundBatch, pack: Pack, before: Before) -> Verified:
    """The same of a batch that says it is published."""
    done = verified(found, pack, before)
    if done.reasons or done.findings is None:
        return done
    log = done.findings.log
    if all(map(is_baseline, log.planned().systems)):
        return replace(done, reasons=("only baselines have answered",))
    return replace(done, reasons=tuple(
        f"{shown_line(name, 60)} was not asked again, as publishing does"
        for name in _asked_again(log.planned().systems, pack)
        if any(log.attempts(cell) < 2 for cell in cells_of(log.planned()) if cell.system == name)))


def errors_kept(found: FoundBatch) -> Iterator[str]:
    """Which cells failed and could be asked again until it is published, a sentence for each system."""
    log = recorded_log(found)
    failed = Counter(cell.system for _, cell in log.cells()
                     if not is_baseline(cell.system) and can_be_retried(log.error_type(cell)))
    planned = len(log.planned().cases) * log.planned().trials
    for name, count in failed.items():
        yield (f"{found.name}: {count} of {count_of(planned, 'cell')} of {shown_line(name, 60)} failed and could have "
               "been asked again (run --retry-errors); published, they stay as they are")


def publish(found: FoundBatch, pack: Pack, config: BatchRunConfig, context: RunContext) -> Findings:
    """Run the baselines again and judge all anew: the findings of the published batch, not written yet.

    The old rows of the baselines give way to those of the next attempt; baselines that see the truth are not run,
    and not on the board. Raises as `record_batch` does.
    """
    questions = questions_of(found)
    again = _asked_again(systems_of(found), pack)
    if again:
        record_batch(found, pack, questions, again,
                     replace(config, selection=Selection(again=True), reruns_changed=True), context)
    published = replace(found, batch=replace(found.batch, status=PUBLISHED))
    return examine(published, pack, questions, NOTHING_BEFORE)


def _asked_again(systems: Iterable[str], pack: Pack) -> tuple[str, ...]:
    return tuple(name for name in systems if is_baseline(name) and not sees_truth(pack, name))


def _of_gates(found: FoundBatch, pack: Pack, questions: KeptQuestions) -> Iterator[str]:
    """What the gates say of the questions now."""
    emitted = emission_gate(pack, questions.cases, rules_of(found.batch.job))
    for one in emitted.dropped:
        yield f"the emission gate drops {shown_line(one.case, 60)} now ({one.reason}: {one.detail})"
    for reason in gate_figures(pack, emitted, found.batch.job.batch_gate).blocked:
        yield f"the batch gate blocks it now: {reason}"


def _of_answers(findings: Findings) -> Iterator[str]:
    """What does not hold of log and trace."""
    found, log = findings.found, findings.log
    if unmerged := unmerged_line(found):
        yield unmerged
    yield from _of_requests(findings)
    if not findings.verification.is_consistent:
        yield findings.verification.headline
        yield from map(str, findings.verification.violations)
    if findings.verification.exposed_count:
        yield findings.verification.exposed_line
        yield from map(str, findings.verification.exposed)
    if findings.left:
        planned = len(findings.rows)
        yield (f"{findings.left} of {planned} {word_for(planned, 'planned cell')} {are(findings.left)} not run; "
               f"go on with python3 board.py run {usual_file(found.batch.job.name)}")
    for name in log.planned().systems:
        if is_baseline(name) and name.removeprefix("baselines:") not in findings.pack.baselines:
            yield f"{shown_line(name, 60)} is no baseline of the pack any more"


def _of_requests(findings: Findings) -> Iterator[str]:
    games = games_of(findings.pack, findings.cases, rules_of(findings.found.batch.job))
    changed = [case.id for case in findings.log.planned().cases
               if case.id not in games or games[case.id].prompt.ask != case.ask]
    if changed:
        yield f"what is asked in {cases_named(changed)} is not what was asked when it was answered"
