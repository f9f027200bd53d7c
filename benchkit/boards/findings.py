"""What is known of a batch: one look over it, in which its log is read once, then its trace, and what both say is
judged, counted and sampled; and under which scorings its answers stand.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import Case
from benchkit.boards.batch import FoundBatch
from benchkit.boards.evaluation import NOTHING_BEFORE, Before, Judging, is_judged_as_now
from benchkit.boards.expected_trials import ExpectedTrials, TrialLines
from benchkit.boards.fingerprints import scoring_of
from benchkit.boards.pack import Pack
from benchkit.boards.samples import Sampling
from benchkit.boards.scores import ScoreRow
from benchkit.boards.solver_facts import Gathered, Gathering
from benchkit.boards.trace_check import CountedTrial, Verification, verify
from benchkit.boards.trace_invariants import Asked
from benchkit.trial_log.reader import TakeLine, TrialLog


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
    def left(self) -> int:
        """How many planned cells have no trial that counts."""
        return sum(row.error is not None and row.error.type == "NotRun" for row in self.rows)

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
