"""All that is known of a batch after its answers were judged, and under which scorings they stand."""
from __future__ import annotations

from dataclasses import dataclass

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import Case
from benchkit.boards.batch import FoundBatch
from benchkit.boards.evaluation import is_judged_as_now
from benchkit.boards.examination import Examined
from benchkit.boards.fingerprints import scoring_of
from benchkit.boards.pack import Pack
from benchkit.boards.scores import ScoreRow
from benchkit.boards.trace_check import Verification
from benchkit.trial_log.reader import TrialLog


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
