"""What each system took and said: tokens, seconds, words, and how often it says what a baseline says.

One pass over the log, one trial line in memory at a time.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchkit.basics.texts import shown_line
from benchkit.basics.values import ErrorFacts, Reply, Timings, Usage
from benchkit.boards.board_values import BaselineAgreement, FailedCells, Standing, SystemFacts
from benchkit.boards.pack import Pack
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.usage import NOTHING_USED, TokenUse
from benchkit.recordings.recording import session_facts
from benchkit.reports.speed import latency_columns, token_sums
from benchkit.statistics.figures import figure
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.reader import TrialLog

UNREADABLE = "unreadable"
"""What an answer or a question says in one word, where the pack cannot read it."""


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """What one trial that counts took."""

    cold: bool
    error: ErrorFacts | None
    latency_s: float | None
    recorded_latency_s: float | None
    usage: Usage | None
    timings: Timings | None


@dataclass(slots=True)
class Gathered:
    """What log and trace say of one system. `used` is over all requests; the rest over the attempts that count.

    `words` is what each answer said, by (case, trial); `unread` with which kinds of error the pack could not read some.
    """

    used: TokenUse = NOTHING_USED
    trials: list[TrialFacts] = field(default_factory=list)
    words: dict[tuple[str, int], str] = field(default_factory=dict)
    repeated: int = 0
    unread: list[str] = field(default_factory=list)


def gather(log: TrialLog, pack: Pack, used: Mapping[str, TokenUse]) -> dict[str, Gathered]:
    """What the log says of each system of its plan, beside what it used, by the trace."""
    found: dict[str, Gathered] = {name: Gathered(used.get(name, NOTHING_USED)) for name in log.planned().systems}
    for line, _place in log.lines_that_count():
        if isinstance(line, TrialLine) and line.cell.system in found:
            _add(found[line.cell.system], line, log, pack)
    return found


def facts_of(
    gathered: Mapping[str, Gathered],
    log: TrialLog,
    rows: Iterable[ScoreRow],
    ranking: Sequence[Standing],
    geometry: str,
) -> tuple[SystemFacts, ...]:
    """The facts of each system, in the order of the ranking."""
    incomplete: dict[str, Counter[str]] = defaultdict(Counter)
    failed: dict[str, dict[RowError, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.error is not None:
            incomplete[row.cell.system][row.error.type] += 1
            failed[row.cell.system][row.error].append(f"{row.cell.case} trial {row.cell.trial}")
    # in gated a trial is many requests, so the limit of one says nothing of when it was given up
    sessions = session_facts(log) if geometry == "single" else ()
    found = []
    for one in ranking:
        its = gathered[one.system]
        warm, cold = latency_columns(its.trials, sessions)
        found.append(SystemFacts(
            one.system, one.is_baseline, one.sees_truth, log.settings.get(one.system, {}), its.used,
            figure(token_sums(its.trials).output_per_second), warm, cold,
            dict(sorted(incomplete[one.system].items())), its.repeated,
            dict(Counter(its.words.values()).most_common()), tuple(_failed_cells(failed[one.system]))))
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
    said, other = gathered[system].words, gathered[baseline].words
    both = said.keys() & other.keys()
    return BaselineAgreement(system, baseline, sum(said[cell] == other[cell] for cell in both), len(both))


def _add(found: Gathered, line: TrialLine, log: TrialLog, pack: Pack) -> None:
    outcome, cell = line.outcome, line.cell
    if not log.is_recorded(cell) or line.attempt != log.attempts(cell):
        return
    found.repeated += line.attempt > 1
    found.trials.append(TrialFacts(
        log.is_cold(cell), None if isinstance(outcome, Reply) else outcome.error, None, outcome.latency_s,
        outcome.usage if isinstance(outcome, Reply) else None, outcome.timings if isinstance(outcome, Reply) else None))
    if isinstance(outcome, Reply):
        try:
            word = shown_line(str(pack.said_key(outcome.output)), 80)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001
            # a pack is a stranger's module, and what an answer says in one word decides nothing
            found.unread.append(type(error).__name__)
            word = UNREADABLE
        found.words[cell.case, cell.trial] = word
