"""One look over a batch: its log is read once, then its trace, and what both say is judged, counted and sampled."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchkit.boards.evaluation import NOTHING_BEFORE, Before, Judging
from benchkit.boards.expected_trials import ExpectedTrials, TrialLines
from benchkit.boards.samples import Sampling
from benchkit.boards.scores import ScoreRow
from benchkit.boards.solver_facts import Gathered, Gathering
from benchkit.boards.trace_check import CountedTrial, Verification, look_through
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

    verification = look_through(log, ExpectedTrials(log, lines), trace, asked, take)
    for name, used in verification.used.items():
        gathering.found[name].used = used
    return Examined(log, verification, judging.rows(), gathering.found, sampling)
