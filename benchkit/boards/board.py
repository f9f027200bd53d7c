"""A board as a value: all that its sections show, and what must be seen before any figure of it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.command import Command
from benchkit.basics.texts import are, cases_named, count_of, shown_line, word_for
from benchkit.boards import findings as known
from benchkit.boards.batch import PUBLISHED, Batch, FoundBatch
from benchkit.boards.findings import Findings
from benchkit.boards.job import FromPack, usual_file
from benchkit.boards.pack import Pack
from benchkit.boards.samples import SampledCase, readable_word
from benchkit.boards.scores import RowError
from benchkit.boards.standings import Standing, TrackSection, ranking_of, records_of, tracks_of
from benchkit.boards.trace_check import Verification, Violation
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.trial_log.reader import TrialLog

LONGEST_LINE = 400
MOST_DETAILS = 50


@dataclass(frozen=True, slots=True)
class Board:
    """The whole board. Texts of solvers and packs stand here as they are: escaping them is a renderer's work.

    banners     what must be seen before any figure, what the trace and the pack say of themselves apart
    is_mixed    answers stand under two scorings: no ranks are given
    ranking     by headline, best first; systems of which nothing was judged last
    facts       of each system, in the order of the ranking
    machines    a line for each different machine and server that sessions ran on
    """

    found: FoundBatch
    pack: Pack
    verification: Verification
    banners: tuple[doc.Callout, ...]
    is_mixed: bool
    ranking: tuple[Standing, ...]
    tracks: tuple[TrackSection, ...]
    samples: tuple[SampledCase, ...]
    facts: tuple[known.SystemFacts, ...]
    agreements: tuple[known.BaselineAgreement, ...]
    machines: tuple[str, ...]

    @property
    def batch(self) -> Batch:
        """What batch.json says."""
        return self.found.batch

    @property
    def is_of_task(self) -> bool:
        """Whether the questions are the cases of a task."""
        return not isinstance(self.batch.job.asks, FromPack)

    @property
    def is_gated(self) -> bool:
        """Whether something can be bought."""
        return isinstance(self.batch.dataset.parts.get("prices"), Mapping)


def board_of(findings: Findings) -> Board:
    """The board of a batch. Raises Unusable where its pack cannot say what must not be shown."""
    found, pack, log, rows = findings.found, findings.pack, findings.log, findings.rows
    records = records_of(rows)
    ranking, is_mixed = ranking_of(records, pack), bool(known.mixed_scorings(findings))
    if is_mixed:
        ranking = tuple(replace(one, rank=None, ahead_of=()) for one in ranking)
    gathered = findings.examined.gathered
    return Board(
        found, pack, findings.verification, tuple(banners_of(findings)), is_mixed, ranking,
        tracks_of(records, pack, ranking),
        findings.examined.sampling.cases(rows, [one.system for one in ranking]),
        known.facts_of(gathered, log, rows, ranking), known.agreements_of(gathered, ranking), _machines(log))


def _machines(log: TrialLog) -> tuple[str, ...]:
    found = []
    for line in (session.line for session in log.sessions if session.trials):
        seen = line.environment
        server = [str(seen[key]) for key in ("server", "server_version") if seen.get(key) is not None]
        told = [line.hardware or "", *(str(seen[key]) for key in ("processor", "platform") if seen.get(key)),
                f"Python {seen['python']}" if seen.get("python") else "", " ".join(server) or "no server"]
        found.append(shown_line(", ".join(filter(None, told)), 300))
    return tuple(dict.fromkeys(found))


# what must be seen first: callouts, each with the command that mends it, if one does


def banner(text: str, details: Sequence[str] = (), command: Sequence[str] = (), tone: Tone = Tone.FLAKY) -> doc.Callout:
    """A sentence or two with a capital, further lines, and the words of the command of board.py that mends it."""
    title = shown_line(text, LONGEST_LINE)
    more = len(details) - MOST_DETAILS
    lines = [*(shown_line(one, LONGEST_LINE) for one in details[:MOST_DETAILS]), *([f"and {more} more"] * (more > 0))]
    blocks: list[doc.Block] = [doc.Bullets(lines)] if lines else []
    blocks += [doc.command(str(Command("board.py", tuple(command))))] if command else []
    return doc.Callout(tone, title[:1].upper() + title[1:], blocks)


def banners_of(findings: Findings) -> Iterator[doc.Callout]:
    """What is to be said of a batch, its trace apart."""
    batch, is_closed = findings.found.batch, findings.found.batch.status == PUBLISHED
    if findings.altered:
        yield banner("The questions are not as this batch was made with. Answers were judged by the altered ones.",
                     findings.altered)
    differences, mixed = known.scoring_differences(findings), known.mixed_scorings(findings)
    # a published batch stays as it was judged
    mend = () if is_closed else ("recompute", findings.found.name, "--apply")
    if mixed:
        yield banner("Answers stand here under two scorings, which cannot be compared; no ranks are given until all "
                     "are judged alike.", (*mixed, *differences), mend)
    elif differences:
        judges = "The file of the judges has" if batch.scoring.is_of_one_file else "The judges have"
        yield banner(f"{judges} changed since these answers were judged; the values are those of the judges of then.",
                     differences, mend)
    # what the pack cannot read stands as unreadable
    cases = [case.id for case in findings.cases if readable_word(findings.pack, case) is None]
    if cases:
        yield banner(f"The pack cannot say what is right in {cases_named(cases)} (answer_key raised): it stands as "
                     "unreadable.")
    unread = sum((one.unread for one in findings.examined.gathered.values()), Counter[str]())
    if unread:
        kinds = ", ".join(shown_line(kind, 60) for kind in unread)
        yield banner(f"The pack cannot read {count_of(unread.total(), 'answer')} (said_key raised {kinds}): what they "
                     "say stands as unreadable. Scores are not made of it.")
    yield from _failed(findings)
    left = findings.left
    if left or (findings.never_run and not is_closed):
        planned = len(findings.rows)
        cells = f"{planned} {word_for(planned, 'planned cell')}"
        parts = [f"{left.total()} of {cells} {are(left.total())} not run yet"] if left else []
        if findings.never_run:
            names = ", ".join(shown_line(name, 60) for name in findings.never_run)
            parts.append(f"the job also names {names}, of which nothing has run")
        yield banner(f"{'; '.join(parts)}: this board is of a part.", (),
                     run_command(findings, (*left, *findings.never_run)).words, Tone.INCOMPLETE)


def _failed(findings: Findings) -> Iterator[doc.Callout]:
    """How many cells were run and have no verdict, system by system, and why."""
    rows = findings.rows
    planned = Counter(row.cell.system for row in rows)
    failed: dict[str, list[RowError]] = {}
    for row in rows:
        if row.error is not None and row.error.type != "NotRun":
            failed.setdefault(row.cell.system, []).append(row.error)
    if not failed:
        return
    lines = []
    for system, errors in failed.items():
        kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(one.type for one in errors).most_common())
        message, _ = Counter(one.message for one in errors).most_common(1)[0]
        lines.append(f"{shown_line(system, 60)}: {len(errors)} of {planned[system]} ({kinds}); most often: "
                     f"{shown_line(message)}")
    yield banner(
        f"{sum(map(len, failed.values()))} of {count_of(len(rows), 'cell')} ended without a verdict. They are neither "
        "right nor wrong: what they leave open stands as a range, and decides nothing.", lines,
        retry_words(findings))


def retry_words(findings: Findings) -> tuple[str, ...]:
    """The words of the command that asks again what need not fail again; none where that is nothing.

    A published batch stays as it is.
    """
    systems = findings.to_retry
    if findings.found.batch.status == PUBLISHED or not systems:
        return ()
    return run_command(findings, systems).plus("--retry-errors").words


def run_command(findings: Findings, systems: Iterable[str]) -> Command:
    """The command that runs cells of these systems in the batch of a job."""
    job = findings.found.batch.job
    return asking(systems, Command("board.py", ("run", usual_file(job.name))), job.systems, findings.log)


def asking(systems: Iterable[str], command: Command, asks: Iterable[str], log: TrialLog) -> Command:
    """A command that asks these systems. `asks` are those that it asks as it is.

    The systems are named where one of them is not asked so, or another one would be asked for the first time.
    """
    wanted, asked = dict.fromkeys(systems), set(asks)
    if wanted.keys() <= asked <= wanted.keys() | set(log.planned().systems):
        return command
    return command.minus("--offline").having("--models", ",".join(wanted))


def trace_banners(job: str, verification: Verification) -> Iterator[doc.Callout]:
    """What is to be said of the trace of a batch; nothing of one that agrees with itself and shows nothing."""
    if not verification.is_consistent:
        yield banner(
            f"{verification.headline}. What solvers saw, said or paid is not what the log says; no figure here can be "
            "trusted, and the batch cannot be published. Put the files back as they were, or begin another batch.",
            _first_of(verification.violations, verification.count), ("run", usual_file(job), "--fresh"), Tone.FAIL)
    if verification.exposed_count:
        yield banner(f"{verification.exposed_line}. What they answered shows nothing, and the batch cannot be "
                     "published. Mend the pack, and begin another batch.",
                     _first_of(verification.exposed, verification.exposed_count), tone=Tone.FAIL)


def _first_of(violations: Sequence[Violation], count: int) -> tuple[str, ...]:
    """As many as a board names, and how many more there are; more of them stand in the terminal."""
    named = violations[:MOST_DETAILS - 1]
    more = count - len(named)
    return (*map(str, named), *([f"and {more} more"] if more else []))
