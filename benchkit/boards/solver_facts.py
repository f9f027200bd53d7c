"""What each system took and said: tokens, seconds, words, and how often it says what a baseline says.

Of each trial some 12 bytes are kept.
"""
from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, ErrorFacts, Reply, Timings, Usage
from benchkit.boards.pack import Pack
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.standings import Standing
from benchkit.boards.trace_check import CountedTrial
from benchkit.boards.usage import NOTHING_USED, TokenUse
from benchkit.recordings.recording import SessionFacts, session_facts
from benchkit.reports.speed import LatencyColumn, LatencyCount, TokenCount
from benchkit.statistics.estimators import figure
from benchkit.tasks.modules import Raised, called
from benchkit.trial_log.reader import TrialLog

UNREADABLE = "unreadable"
"""What an answer or a question says in one word, where the pack cannot read it."""


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


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """What one trial that counts took."""

    cold: bool
    error: ErrorFacts | None
    latency_s: float | None
    recorded_latency_s: float | None
    usage: Usage | None
    timings: Timings | None


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
    """Counts what the trials of every system of a log took and said, one trial after the other."""

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
        facts = TrialFacts(
            self._log.is_cold(cell), None if isinstance(outcome, Reply) else outcome.error, None, outcome.latency_s,
            reply.usage if reply else None, reply.timings if reply else None)
        found.repeated += trial.key.attempt > 1
        found.latency.take(facts)
        found.tokens.take(facts)
        if reply:
            place = (cell.trial - 1) * len(self._cases) + self._cases[cell.case]
            found.says(place, self._word(found, reply.output))

    def _word(self, found: Gathered, output: str) -> str:
        try:
            return shown_line(called(lambda: str(self._pack.said_key(output))), 80)
        except Raised as raised:
            # what an answer says in one word decides nothing
            found.unread[type(raised.error).__name__] += 1
            return UNREADABLE


def facts_of(
    gathered: Mapping[str, Gathered],
    log: TrialLog,
    rows: Iterable[ScoreRow],
    ranking: Sequence[Standing],
) -> tuple[SystemFacts, ...]:
    """The facts of each system, in the order of the ranking."""
    incomplete: dict[str, Counter[str]] = defaultdict(Counter)
    failed: dict[str, dict[RowError, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.error is not None:
            incomplete[row.cell.system][row.error.type] += 1
            failed[row.cell.system][row.error].append(f"{row.cell.case} trial {row.cell.trial}")
    found = []
    for one in ranking:
        its = gathered[one.system]
        warm, cold = its.latency.columns()
        found.append(SystemFacts(
            one.system, one.is_baseline, one.sees_truth, log.settings.get(one.system, {}), its.used,
            figure(its.tokens.tokens().output_per_second), warm, cold,
            dict(sorted(incomplete[one.system].items())), its.repeated,
            dict(its.said.most_common()), tuple(_failed_cells(failed[one.system]))))
    return tuple(found)


def _failed_cells(failed: Mapping[RowError, Sequence[str]]) -> Iterator[FailedCells]:
    for error, cells in sorted(failed.items(), key=lambda one: -len(one[1])):
        yield FailedCells(error.type, error.message, tuple(cells))


def agreements_of(gathered: Mapping[str, Gathered], ranking: Sequence[Standing]) -> tuple[BaselineAgreement, ...]:
    """How often each system that is no baseline says the word of each baseline that does not see the truth."""
    return tuple(
        _agreement(one.system, other.system, gathered)
        for one in ranking if not one.is_baseline
        for other in ranking if other.is_baseline and not other.sees_truth)


def _agreement(system: str, baseline: str, gathered: Mapping[str, Gathered]) -> BaselineAgreement:
    both = [(said, other) for said, other in zip(gathered[system].words(), gathered[baseline].words(), strict=False)
            if said is not None and other is not None]
    return BaselineAgreement(system, baseline, sum(said == other for said, other in both), len(both))
