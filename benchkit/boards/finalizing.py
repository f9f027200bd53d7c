"""Finalizing a batch: judge what was answered, check the trace against the log, write all that follows; publishing."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import are, cases_named, count_of, shown_line, word_for
from benchkit.boards import batch as batches
from benchkit.boards import batch_log, evaluation
from benchkit.boards.batch import FoundBatch
from benchkit.boards.batch_run import BatchRunConfig, questions_of, record_batch
from benchkit.boards.board import Board, board_of, retry_words, run_command
from benchkit.boards.board_document import board_document
from benchkit.boards.evaluation import NOTHING_BEFORE, Before
from benchkit.boards.findings import Findings, examine_trials, scoring_differences
from benchkit.boards.game import games_of
from benchkit.boards.job import FromPack
from benchkit.boards.job_pack import dataset_parts, scoring_of
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import GateFigures, emission_gate, figures_to_wire, gate_figures
from benchkit.boards.questions import KeptQuestions, make_questions, rules_of
from benchkit.boards.scores import FieldChange, changes_between, differing_rows, keep_rows, read_rows
from benchkit.boards.standings import sees_truth
from benchkit.boards.trace_invariants import Asked
from benchkit.disk.whole_files import same_bytes, shown_path, write_whole
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.running.plan import Selection, can_be_retried, cells_of, settings_differences
from benchkit.running.workload import RunContext
from benchkit.systems.loading import is_baseline


def examine(found: FoundBatch, pack: Pack, questions: KeptQuestions, before: Before | None = None) -> Findings:
    """All that can be known of a batch. `before` are rows that may stand (None: see `rows_that_stand`).

    Raises Unusable for a log, a trace or an eval.jsonl that cannot be read, and where nothing is recorded yet.
    """
    examined = examine_trials(
        lambda take: batch_log.recorded_log(found, take), batch_log.trace_path(found.folder),
        asked_in(found, pack, questions), rows_that_stand(found, pack) if before is None else before)
    # baselines that see the truth are for testing: none is on a published board
    rows = tuple(row for row in examined.rows
                 if found.batch.status != batches.PUBLISHED or not sees_truth(pack, row.cell.system))
    return Findings(found, pack, questions.cases, replace(examined, rows=rows), questions.altered)


def asked_in(found: FoundBatch, pack: Pack, questions: KeptQuestions) -> Asked:
    """The questions of a batch as the trace is held against them."""
    return Asked(pack, {case.id: case for case in questions.cases}, rules_of(found.batch.job))


def rows_that_stand(found: FoundBatch, pack: Pack) -> Before:
    """With the same judges all is judged anew; with others the rows stand as they were judged, until `recompute`."""
    if found.batch.scoring.fingerprint == scoring_of(pack).fingerprint:
        return NOTHING_BEFORE
    return Before(read_rows(found.folder / batches.EVAL), evaluation.keep_what_was_judged)


def finalize(findings: Findings, *, keeps_board: bool = False) -> tuple[Findings, Board]:
    """Put on the disk what follows from the findings; those that the batch now holds, and its board.

    With `keeps_board` the files of the board that are there stay, and those that would be drawn otherwise are named.
    """
    told = findings.found.batch.figures
    findings = replace(findings, found=_settled(findings))
    folder, figures = findings.found.folder, findings.found.batch.figures
    board = board_of(findings)
    document = board_document(board)
    drawn = {name: [text.encode("utf-8") for text in texts] for name, texts in (
        (batches.BOARD_MARKDOWN, as_markdown(document, level=1)), (batches.BOARD_HTML, as_html(document)))}
    differing = [name for name, chunks in drawn.items() if not same_bytes(folder / name, chunks)]
    stale = tuple(name for name in differing if keeps_board and (folder / name).exists())
    try:
        repaired = differing_rows(read_rows(folder / batches.EVAL), findings.rows)
    except Unusable:
        repaired = 0  # what cannot be read at all is made anew: it is derived
    findings = replace(findings, repaired=repaired, stale=stale,
                       misstated=settings_differences(figures_to_wire(told), figures_to_wire(figures)))
    keep_rows(folder / batches.EVAL, findings.rows)
    for name in differing:
        if name not in stale:
            write_whole(folder / name, drawn[name])
    batches.write_batch(findings.found)
    return findings, board


def _settled(findings: Findings) -> FoundBatch:
    """The batch with its status, its figures, its systems as served, its usage, and how its rows were judged."""
    batch, log = findings.found.batch, findings.log
    # more trials can be planned than batch.json knows of: a kill came before it was written
    job = replace(batch.job, trials=log.planned().trials)
    is_done = not findings.left and not findings.never_run
    status = batch.status if batch.status == batches.PUBLISHED else batches.COMPLETE if is_done else batches.OPEN
    usage = replace(batch.usage, eval_usage={name: one.used for name, one in findings.examined.gathered.items()})
    are_of_now = all(evaluation.is_judged_as_now(row, findings.pack) for row in findings.rows)
    scoring = scoring_of(findings.pack) if are_of_now else batch.scoring
    return replace(findings.found, batch=replace(
        batch, job=job, status=status, figures=_figures_again(findings), systems=dict(log.settings), usage=usage,
        scoring=scoring))


def _figures_again(findings: Findings) -> GateFigures:
    """What opens the page, made again of the questions and the gates; batch.json is taken at its word for the rest.

    The rest: which questions were dropped, where other cases would be made now or a model worded them; the scores of
    baselines, where the judges have changed; and all of it where the pack fails at its own questions.
    """
    batch, pack, cases = findings.found.batch, findings.pack, findings.cases
    told, rules = batch.figures, rules_of(batch.job)
    try:
        made = None if isinstance(batch.job.asks, FromPack) and batch.job.asks.reword else make_questions(
            batch.job, pack)
        figures = made.figures if made is not None and made.cases == cases else gate_figures(
            pack, tuple(games_of(pack, cases, rules).values()), told.dropped, batch.job.batch_gate)
    except Unusable:
        return told  # a board says what its pack cannot read
    is_judged_otherwise = batch.scoring.fingerprint != scoring_of(pack).fingerprint
    return replace(figures, blind=told.blind, blocked=told.blocked) if is_judged_otherwise else figures


def recompute(
    found: FoundBatch, pack: Pack, questions: KeptQuestions, *, full: bool,
) -> tuple[Findings, tuple[str, ...], tuple[FieldChange, ...]]:
    """Judge again the tracks whose judge changed, or all: the findings, what differs in the scoring, what changed.

    Nothing is written. Raises Unusable as `examine` does.
    """
    before = read_rows(found.folder / batches.EVAL)
    stands = NOTHING_BEFORE if full else Before(before, evaluation.keep_what_is_unchanged)
    findings = examine(found, pack, questions, stands)
    rows = tuple(replace(row, judge_version=pack.judge_version) for row in findings.rows)
    findings = replace(findings, examined=replace(findings.examined, rows=rows))
    return findings, scoring_differences(findings), tuple(changes_between(before, rows))


# publishing


def check_publishable(found: FoundBatch) -> None:
    """Raise Unusable for a batch that is published already, or in which nobody but baselines answered."""
    if found.batch.status == batches.PUBLISHED:
        raise Unusable(f"{shown_path(found.folder)} is published already")
    try:
        systems = () if found.batch.status == batches.BLOCKED else _systems_of(found)
    except Unusable:
        return  # a reason not to publish, told with the others
    if systems and all(map(is_baseline, systems)):
        raise Unusable(f"{shown_path(found.folder)}: only baselines have answered, and a board of these shows nothing; "
                       "add a system with python3 board.py run JOB --models SYSTEM")


def _systems_of(found: FoundBatch) -> tuple[str, ...]:
    """Who is asked in a batch: the log knows, also where a kill came before batch.json was written."""
    log = batch_log.log_of(found)
    return () if log is None else tuple(log.planned().systems)


def verified(
    found: FoundBatch, pack: Pack, before: Before = NOTHING_BEFORE,
) -> tuple[tuple[str, ...], Findings | None]:
    """Why a batch must not be published, a sentence each (none: it can be), and its findings where it has some.

    Nothing is written; rows of `before` that may stand are not judged again.
    """
    if found.batch.status == batches.BLOCKED:
        return tuple(f"blocked by the batch gate: {reason}" for reason in found.batch.figures.blocked), None
    dataset = found.batch.dataset.differences(dataset_parts(found.batch.job, pack))
    if dataset:
        return (f"what its questions were made from has changed: {dataset}",), None
    try:
        questions = questions_of(found, accept_altered=True)
        if questions.altered:
            return tuple(f"its questions were altered: {what}" for what in questions.altered), None
        of_gates = tuple(_of_gates(found, pack, questions))
        findings = examine(found, pack, questions, before)
        return (*of_gates, *_of_answers(findings)), findings
    except Unusable as error:
        return (str(error),), None


def verified_again(found: FoundBatch, pack: Pack) -> tuple[tuple[str, ...], Findings | None]:
    """The same of a batch that says it is published."""
    reasons, findings = verified(found, pack, rows_that_stand(found, pack))
    if reasons or findings is None:
        return reasons, findings
    log = findings.log
    systems = log.planned().systems
    if all(map(is_baseline, systems)):
        return ("only baselines have answered",), findings
    return tuple(
        f"{shown_line(name, 60)} was not asked again, as publishing does" for name in _asked_again(systems, pack)
        if any(log.attempts(cell) < 2 for cell in cells_of(log.planned()) if cell.system == name)), findings


def _of_gates(found: FoundBatch, pack: Pack, questions: KeptQuestions) -> Iterator[str]:
    """What the gates say of the questions now."""
    games, dropped = emission_gate(pack, questions.cases, rules_of(found.batch.job))
    for one in dropped:
        yield f"the emission gate drops {shown_line(one.case, 60)} now ({one.reason}: {one.detail})"
    for reason in gate_figures(pack, games, dropped, found.batch.job.batch_gate).blocked:
        yield f"the batch gate blocks it now: {reason}"


def _of_answers(findings: Findings) -> Iterator[str]:
    """What does not hold of log and trace."""
    found, log, verification = findings.found, findings.log, findings.verification
    if unmerged := batch_log.unmerged_line(found):
        yield unmerged
    games = games_of(findings.pack, findings.cases, rules_of(found.batch.job))
    changed = [case.id for case in log.planned().cases
               if case.id not in games or games[case.id].prompt.ask != case.ask]
    if changed:
        yield f"what is asked in {cases_named(changed)} is not what was asked when it was answered"
    if not verification.is_consistent:
        yield verification.headline
        yield from map(str, verification.violations)
    if verification.exposed_count:
        yield verification.exposed_line
        yield from map(str, verification.exposed)
    left = findings.left
    if left:
        planned = len(findings.rows)
        yield (f"{left.total()} of {planned} {word_for(planned, 'planned cell')} {are(left.total())} not run; "
               f"go on with {run_command(findings, left)}")
    for name in log.planned().systems:
        if is_baseline(name) and name.removeprefix("baselines:") not in findings.pack.baselines:
            yield f"{shown_line(name, 60)} is no baseline of the pack any more"


def incomplete_lines(findings: Findings) -> Iterator[str]:
    """Which cells are incomplete and can be asked again until the batch is published, a sentence for each system."""
    found, log = findings.found, findings.log
    failed = Counter(cell.system for _, cell in log.cells()
                     if not is_baseline(cell.system) and can_be_retried(log.error_type(cell)))
    planned = len(log.planned().cases) * log.planned().trials
    again = Command("board.py", retry_words(findings))
    for name, count in failed.items():
        yield (f"{found.name}: {count} of {count_of(planned, 'cell')} of {shown_line(name, 60)} {are(count)} "
               f"incomplete, and published they stay so; to ask them again first: {again}")


def publish(found: FoundBatch, pack: Pack, command: Command, context: RunContext) -> Findings:
    """Run the baselines again and judge all anew: the findings of the published batch, not written yet.

    The old rows of the baselines give way to those of the next attempt; baselines that see the truth are not run,
    and not on the board. Raises as `record_batch` does.
    """
    questions = questions_of(found)
    again = _asked_again(_systems_of(found), pack)
    if again:
        config = BatchRunConfig(command, Selection(again=True), reruns_changed=True)
        record_batch(found, pack, questions, again, config, context)
    published = replace(found, batch=replace(found.batch, status=batches.PUBLISHED))
    return examine(published, pack, questions, NOTHING_BEFORE)


def _asked_again(systems: Iterable[str], pack: Pack) -> tuple[str, ...]:
    return tuple(name for name in systems if is_baseline(name) and not sees_truth(pack, name))
