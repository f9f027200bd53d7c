"""A board of all that is known of a batch: what its pages show, put together. Pure but for the trace it samples."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchkit.basics.command import Command
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import are, as_given, cases_named, count_of, percent, shown_line, word_for
from benchkit.basics.values import JSON, Case
from benchkit.boards.batch import PUBLISHED, Batch, FoundBatch
from benchkit.boards.board_values import (
    ALTERED,
    EXPOSED,
    FAILED,
    MIXED,
    OPEN,
    SCORING,
    SYNTHETIC,
    TRACE,
    UNREAD,
    Banner,
    Board,
    Check,
    Making,
    MarketFacts,
    Price,
    Title,
)
from benchkit.boards.evaluation import is_judged_as_now
from benchkit.boards.examination import Examined
from benchkit.boards.fingerprints import scoring_of
from benchkit.boards.job import FromPack, Job, usual_file
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import GateFigures
from benchkit.boards.samples import readable_word
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.solver_facts import agreements_of, facts_of
from benchkit.boards.standings import ranking_of, records_of, tracks_of
from benchkit.boards.trace_check import Verification, Violation
from benchkit.running.plan import can_be_retried
from benchkit.trial_log.lines import SessionLine
from benchkit.trial_log.reader import TrialLog

PROG = "board.py"
MOST_VIOLATIONS = 49
"""So many violations are named on a board, and how many more there are; all that are named stand in the terminal."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that is known of a batch after its answers were judged.

    altered     questions that are not as they were made, in words
    repaired    rows on the disk that said another thing than their judges, and were written anew
    misstated   figures of batch.json that were not those of its questions and gates, in words, and were written anew
    stale       files of a published board that stay as they are, and would be drawn otherwise now
    """

    found: FoundBatch
    pack: Pack
    cases: tuple[Case, ...]
    examined: Examined
    altered: tuple[str, ...] = ()
    repaired: int = 0
    misstated: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def log(self) -> TrialLog:
        """Its log."""
        return self.examined.log

    @property
    def rows(self) -> tuple[ScoreRow, ...]:
        """A row for each planned cell."""
        return self.examined.rows

    @property
    def verification(self) -> Verification:
        """How its trace stands."""
        return self.examined.verification

    @property
    def left(self) -> int:
        """How many planned cells have no trial that counts."""
        return sum(row.error is not None and row.error.type == "NotRun" for row in self.rows)

    @property
    def never_run(self) -> tuple[str, ...]:
        """Systems of the job that are not planned yet."""
        planned = self.log.planned().systems
        return tuple(name for name in self.found.batch.job.systems if name not in planned)


def board_of(findings: Findings) -> Board:
    """The board of a batch. Raises Unusable where its pack cannot say what must not be shown."""
    found, pack, log = findings.found, findings.pack, findings.log
    batch, rows = found.batch, findings.rows
    records = records_of(rows)
    ranking = ranking_of(records, pack)
    if mixed_scorings(findings):
        ranking = tuple(replace(one, rank=None, ahead_of=()) for one in ranking)
    systems = [one.system for one in ranking]
    return Board(
        title=Title(batch.job.name, found.folder.name, batch.status), synthetic=pack.synthetic,
        banners=tuple(_banners(findings)), trace_line=findings.verification.headline, making=making_of(batch, pack),
        ranking=ranking, tracks=tracks_of(records, pack, ranking),
        samples=findings.examined.sampling.cases(rows, systems),
        facts=facts_of(findings.examined.gathered, log, rows, ranking),
        agreements=agreements_of(findings.examined.gathered, ranking), machines=_machines(log),
        abandoned=findings.verification.abandoned_line)


def scoring_differences(findings: Findings) -> tuple[str, ...]:
    """What differs between how the rows were judged and how the pack judges now, a text each."""
    return findings.found.batch.scoring.differences(scoring_of(findings.pack), findings.pack.module)


def mixed_scorings(findings: Findings) -> tuple[str, ...]:
    """Where judged answers stand under more than one scoring: which systems under which, a text each. Else empty."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in findings.rows:
        if row.error is None:
            judges = "the judges as they are now" if is_judged_as_now(row, findings.pack) else "those of before"
            marks = canonical([row.judge_version, dict(row.fingerprints)])
            found.setdefault((judges, marks), {})[row.cell.system] = None
    if len(found) < 2:
        return ()
    return tuple(f"judged by {judges}: {', '.join(shown_line(name, 60) for name in systems)}"
                 for (judges, _marks), systems in found.items())


# --------------------------------------------------------------------------------------------- banners

def _banners(findings: Findings) -> Iterator[Banner]:
    name, verification = findings.found.name, findings.verification
    if findings.pack.synthetic is not None:
        yield Banner(SYNTHETIC, findings.pack.synthetic)
    if not verification.is_consistent:
        yield Banner(TRACE, f"{verification.headline}. What solvers saw, said or paid is not what the log says; no "
                            "figure here can be trusted, and the batch cannot be published. Put the files back as they "
                            "were, or begin another batch.", _first_of(verification.violations, verification.count),
                     str(Command(PROG, ("run", usual_file(findings.found.batch.job.name), "--fresh"))))
    if verification.exposed_count:
        yield Banner(EXPOSED, f"{verification.exposed_line}. What they answered shows nothing, and the batch cannot be "
                              "published. Mend the pack, and begin another batch.",
                     _first_of(verification.exposed, verification.exposed_count))
    if findings.altered:
        yield Banner(ALTERED, "The questions are not as this batch was made with. Answers were judged by the altered "
                              "ones.", tuple(findings.altered))
    differences, mixed = scoring_differences(findings), mixed_scorings(findings)
    # a published batch stays as it was judged
    mend = None if findings.found.batch.status == PUBLISHED else str(Command(PROG, ("recompute", name, "--apply")))
    if mixed:
        yield Banner(MIXED, "Answers stand here under two scorings, which cannot be compared; no ranks are given until "
                            "all are judged alike.", (*mixed, *differences), mend)
    elif differences:
        judges = "The file of the judges has" if findings.found.batch.scoring.is_of_one_file else "The judges have"
        yield Banner(SCORING, f"{judges} changed since these answers were judged; the values are those of the judges "
                              "of then.", differences, mend)
    yield from _unread(findings)
    yield from _failed(findings)
    if findings.left or (findings.never_run and findings.found.batch.status != PUBLISHED):
        yield _open(findings)


def _first_of(violations: Sequence[Violation], count: int) -> tuple[str, ...]:
    """As many as a board names, and how many more there are."""
    named = violations[:MOST_VIOLATIONS]
    more = count - len(named)
    return (*map(str, named), *([f"and {more} more"] if more else []))


def _unread(findings: Findings) -> Iterator[Banner]:
    """What the pack cannot read stands as unreadable, and that is said."""
    cases = [case.id for case in findings.cases if readable_word(findings.pack, case) is None]
    if cases:
        yield Banner(UNREAD, f"The pack cannot say what is right in {cases_named(cases)} (answer_key raised): it "
                             "stands as unreadable.")
    failed = sum((one.unread for one in findings.examined.gathered.values()), Counter[str]())
    if failed:
        kinds = ", ".join(shown_line(kind, 60) for kind in failed)
        yield Banner(UNREAD, f"The pack cannot read {count_of(failed.total(), 'answer')} (said_key raised {kinds}): "
                             "what they say stands as unreadable. Scores are not made of it.")


def _failed(findings: Findings) -> Iterator[Banner]:
    """How many cells were run and have no verdict, system by system, and why."""
    rows = findings.rows
    failed = [(row.cell.system, row.error) for row in rows if row.error is not None and row.error.type != "NotRun"]
    if failed:
        planned = Counter(row.cell.system for row in rows)
        yield Banner(FAILED, f"{len(failed)} of {count_of(len(rows), 'cell')} ended without a verdict. They are "
                             "neither right nor wrong: what they leave open stands as a range, and decides nothing.",
                     tuple(_why_failed(name, [error for system, error in failed if system == name], planned[name])
                           for name in dict.fromkeys(system for system, _ in failed)), _ask_again(findings))


def _ask_again(findings: Findings) -> str | None:
    """The command that asks cells again which need not fail again; a published batch stays as it is."""
    batch, log = findings.found.batch, findings.log
    if batch.status == PUBLISHED or not any(
            can_be_retried(log.error_type(row.cell)) for row in findings.rows):
        return None
    return str(Command(PROG, ("run", usual_file(batch.job.name), "--retry-errors")))


def _why_failed(system: str, errors: Sequence[RowError], planned: int) -> str:
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(one.type for one in errors).most_common())
    message, _ = Counter(one.message for one in errors).most_common(1)[0]
    return f"{shown_line(system, 60)}: {len(errors)} of {planned} ({kinds}); most often: {shown_line(message)}"


def _open(findings: Findings) -> Banner:
    planned = len(findings.rows)
    cells = f"{planned} {word_for(planned, 'planned cell')}"
    parts = [f"{findings.left} of {cells} {are(findings.left)} not run yet"] if findings.left else []
    if findings.never_run:
        names = ", ".join(shown_line(name, 60) for name in findings.never_run)
        parts.append(f"the job also names {names}, of which nothing has run")
    return Banner(OPEN, f"{'; '.join(parts)}: this board is of a part.", (),
                  str(Command(PROG, ("run", usual_file(findings.found.batch.job.name)))))


# --------------------------------------------------------------------------------------------- making

def making_of(batch: Batch, pack: Pack) -> Making:
    """How the questions of a batch were made."""
    job, figures = batch.job, batch.figures
    return Making(
        source=f"pack {job.asks.pack}" if isinstance(job.asks, FromPack) else f"task {job.asks.task}",
        name=pack.name, version=pack.version, judge_version=batch.scoring.judge_version, geometry=job.geometry,
        trials=job.trials, how=_how(job), made_at=batch.made_at, made=figures.made, kept=figures.kept,
        reasons=figures.dropped_by_reason, dropped=figures.dropped, answers=figures.answers,
        checks=tuple(_checks(job, figures)), market=_market(batch.dataset.parts), gen_usage=batch.usage.gen_usage,
        world_sha256=batch.dataset.fingerprint, scoring_sha256=batch.scoring.fingerprint)


def _how(job: Job) -> str:
    asks = job.asks
    if isinstance(asks, FromPack):
        reworded = f", reworded by {shown_line(asks.reword, 80)}" if asks.reword else ""
        made = count_of(asks.count, "question")
        return f"{made} from seed {asks.seed}{reworded}; the same seed makes the same questions"
    count = "all cases" if asks.count is None else f"the first {count_of(asks.count, 'case')}"
    return f"{count} of the split {shown_line(asks.split, 60)} of {shown_line(asks.cases, 100)}"


def _checks(job: Job, figures: GateFigures) -> Iterator[Check]:
    gate = job.batch_gate
    yield Check("questions left", str(figures.kept), f"at least {gate.least_questions}",
                figures.kept >= gate.least_questions)
    most = max(figures.answers.items(), key=lambda one: one[1], default=("none", 0))
    share = most[1] / figures.kept if figures.kept else 0.0
    yield Check("most of one answer", f"{percent(share, gate.most_one_answer)} % ({shown_line(most[0], 60)})",
                f"at most {as_given(gate.most_one_answer)} %",
                most[1] <= gate.most_one_answer * figures.kept)
    best = max(figures.blind.items(), key=lambda one: one[1], default=None)
    if best is not None:
        yield Check("best that does not see the truth",
                    f"{percent(best[1], gate.most_blind_score)} % (baselines:{shown_line(best[0], 60)})",
                    f"at most {as_given(gate.most_blind_score)} %", best[1] <= gate.most_blind_score)


def _market(parts: Mapping[str, JSON]) -> MarketFacts | None:
    prices = parts.get("prices")
    if not isinstance(prices, Mapping):
        return None
    costs = prices.get("prices")
    budget, steps = prices.get("budget"), prices.get("steps")
    return MarketFacts(
        str(prices.get("unit")), float(budget) if isinstance(budget, int | float) else 0.0,
        steps if isinstance(steps, int) else 0,
        tuple(Price(name, float(cost)) for name, cost in costs.items() if isinstance(cost, int | float))
        if isinstance(costs, Mapping) else ())


def _machines(log: TrialLog) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_machine(session.line) for session in log.sessions if session.trials))


def _machine(line: SessionLine) -> str:
    seen = line.environment
    server = [str(seen[key]) for key in ("server", "server_version") if seen.get(key) is not None]
    told: Sequence[str | None] = (
        line.hardware, *(str(seen[key]) for key in ("processor", "platform") if seen.get(key)),
        f"Python {seen['python']}" if seen.get("python") else None, " ".join(server) or "no server")
    return shown_line(", ".join(part for part in told if part), 300)
