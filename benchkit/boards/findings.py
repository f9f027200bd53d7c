"""What is known of a batch: one look over it, in which its log is read once, then its trace, and what both say is
judged, counted and sampled. Counted is what each system took and said: tokens, seconds, words, and how often it says
what a baseline says.
"""
from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Reply
from benchkit.boards.batch import FoundBatch
from benchkit.boards.evaluation import NOTHING_BEFORE, Before, Judging, is_judged_as_now
from benchkit.boards.expected_trials import ExpectedTrials, TrialLines
from benchkit.boards.job_pack import scoring_of
from benchkit.boards.pack import Pack
from benchkit.boards.samples import UNREADABLE, Sampling
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.standings import Standing
from benchkit.boards.trace_check import CountedTrial, Verification, verify
from benchkit.boards.trace_invariants import Asked
from benchkit.boards.usage import NOTHING_USED, TokenUse
from benchkit.recordings.recording import SessionFacts, session_facts
from benchkit.reports.speed import LatencyColumn, LatencyCount, TokenCount
from benchkit.running.plan import can_be_retried
from benchkit.statistics.estimators import figure
from benchkit.tasks.modules import Raised, called
from benchkit.trial_log.reader import TakeLine, TrialLog


@dataclass(frozen=True, slots=True)
class FailedCells:
    """Cells of one system that ended in the same way without a verdict: type of error, message, and each by name."""

    type: str
    message: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system as served, and what it took.

    incomplete       cells by error type (`NotRun` included), none of 0
    output_per_second  tokens, a ratio of sums; None: unknown
    warm, cold       seconds of whole trials; in `gated` a trial is the sum of its requests
    attempts         cells that took more than one attempt
    said             how many answers said each word, as the pack reads them (`said_key`), most first
    failed           the incomplete cells by type of error and message, most first
    """

    system: str
    is_baseline: bool
    sees_truth: bool
    settings: Mapping[str, JSON]
    tokens: TokenUse
    output_per_second: float | None
    warm: LatencyColumn
    cold: LatencyColumn
    incomplete: Mapping[str, int]
    attempts: int
    said: Mapping[str, int] = field(default_factory=dict)
    failed: tuple[FailedCells, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineAgreement:
    """How often a system said the same word as a baseline in the same cell: `equal` of `cells` that both answered."""

    system: str
    baseline: str
    equal: int
    cells: int


class Gathered:
    """What log and trace say of one system. `used` is over all requests; the rest over the attempts that count.

    `said` is how many answers said each word; `unread` with which kinds of error the pack could not read some.
    """

    def __init__(self, sessions: Sequence[SessionFacts]) -> None:
        self.used = NOTHING_USED
        self.latency, self.tokens = LatencyCount(sessions), TokenCount()
        self.said, self.unread = Counter[str](), Counter[str]()
        self.repeated = 0
        # by cell, in the order of the plan, which word its answer said; 0: there is none
        self._words, self._word_of = array("I"), dict[str, int]()

    def says(self, cell: int, word: str) -> None:
        """An answer says this."""
        self.said[word] += 1
        self._words.extend([0] * (cell + 1 - len(self._words)))
        self._words[cell] = self._word_of.setdefault(word, len(self._word_of) + 1)

    def words(self) -> Iterator[str | None]:
        """What the answers said, cell by cell; None where there is none."""
        names = [None, *self._word_of]
        return (names[number] for number in self._words)


class Gathering:
    """Counts what the trials of every system of a log took and said; of each trial some 12 bytes are kept."""

    def __init__(self, log: TrialLog, pack: Pack, geometry: str) -> None:
        # in gated a trial is many requests, so the limit of one says nothing of when it was given up
        sessions = session_facts(log) if geometry == "single" else ()
        plan = log.planned()
        self._log, self._pack = log, pack
        self._cases = {case.id: place for place, case in enumerate(plan.cases)}
        self.found = {name: Gathered(sessions) for name in plan.systems}

    def take(self, trial: CountedTrial) -> None:
        """A trial that counts."""
        cell, outcome = trial.key.cell, trial.outcome
        found, reply = self.found[cell.system], outcome if isinstance(outcome, Reply) else None
        error, usage, timings = (None, outcome.usage, outcome.timings) if isinstance(outcome, Reply) else (
            outcome.error, None, None)
        found.repeated += trial.key.attempt > 1
        found.latency.take(self._log.is_cold(cell), error, outcome.latency_s, timings)
        found.tokens.take(usage, timings)
        if reply:
            try:
                word = shown_line(called(lambda: str(self._pack.said_key(reply.output))), 80)
            except Raised as raised:
                # what an answer says in one word decides nothing
                found.unread[type(raised.error).__name__] += 1
                word = UNREADABLE
            found.says((cell.trial - 1) * len(self._cases) + self._cases[cell.case], word)


@dataclass(frozen=True, slots=True)
class Examined:
    """What log and trace amount to: rows in the order of the plan, facts by system, and the trials to show."""

    log: TrialLog
    verification: Verification
    rows: tuple[ScoreRow, ...]
    gathered: Mapping[str, Gathered]
    sampling: Sampling


def examine_trials(
    read: Callable[[TakeLine], TrialLog], trace: Path, asked: Asked, before: Before = NOTHING_BEFORE,
) -> Examined:
    """Look over the log that `read` reads, giving each line to what it is handed, and over the trace beside it.

    Raises Unusable for a log without a plan, and for log or trace that cannot be read.
    """
    lines, pack, cases = TrialLines(), asked.pack, tuple(asked.cases.values())
    log = read(lines.take)
    judging, sampling = Judging(log, pack, cases, before), Sampling(pack, cases)
    gathering = Gathering(log, pack, asked.rules.geometry)

    def take(trial: CountedTrial) -> None:
        judging.take(trial)
        sampling.take(trial)
        gathering.take(trial)

    verification = verify(log, trace, asked, ExpectedTrials(log, lines), take)
    for name, used in verification.used.items():
        gathering.found[name].used = used
    return Examined(log, verification, judging.rows(), gathering.found, sampling)


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
    def left(self) -> Counter[str]:
        """How many planned cells of each system have no trial that counts."""
        return Counter(row.cell.system for row in self.rows if row.error is not None and row.error.type == "NotRun")

    @property
    def to_retry(self) -> Counter[str]:
        """How many cells of each system ended in an error, and need not when they are asked again."""
        return Counter(row.cell.system for row in self.rows if can_be_retried(self.log.error_type(row.cell)))

    @property
    def never_run(self) -> tuple[str, ...]:
        """Systems of the job that are not planned yet."""
        planned = self.log.planned().systems
        return tuple(name for name in self.found.batch.job.systems if name not in planned)


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


def facts_of(gathered: Mapping[str, Gathered], log: TrialLog, rows: Iterable[ScoreRow],
             ranking: Sequence[Standing]) -> tuple[SystemFacts, ...]:
    """The facts of each system, in the order of the ranking."""
    failed: dict[str, dict[RowError, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.error is not None:
            failed[row.cell.system][row.error].append(f"{row.cell.case} trial {row.cell.trial}")
    found = []
    for one in ranking:
        its, errors, incomplete = gathered[one.system], failed[one.system], Counter[str]()
        for error, cells in errors.items():
            incomplete[error.type] += len(cells)
        warm, cold = its.latency.columns()
        found.append(SystemFacts(
            one.system, one.is_baseline, one.sees_truth, log.settings.get(one.system, {}), its.used,
            figure(its.tokens.tokens().output_per_second), warm, cold, dict(sorted(incomplete.items())), its.repeated,
            dict(its.said.most_common()),
            tuple(FailedCells(error.type, error.message, tuple(cells))
                  for error, cells in sorted(errors.items(), key=lambda one: -len(one[1])))))
    return tuple(found)


def agreements_of(gathered: Mapping[str, Gathered], ranking: Sequence[Standing]) -> tuple[BaselineAgreement, ...]:
    """How often each system that is no baseline says the word of each baseline that does not see the truth."""
    found = []
    for one in ranking:
        for other in ranking:
            if not one.is_baseline and other.is_baseline and not other.sees_truth:
                pairs = zip(gathered[one.system].words(), gathered[other.system].words(), strict=False)
                equal = [said == word for said, word in pairs if said is not None and word is not None]
                found.append(BaselineAgreement(one.system, other.system, sum(equal), len(equal)))
    return tuple(found)
