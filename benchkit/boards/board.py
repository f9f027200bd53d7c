"""A board as a value: all that its sections show, decided and counted."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchkit.basics.texts import shown_line
from benchkit.boards.banners import banners_of
from benchkit.boards.batch import Batch, FoundBatch
from benchkit.boards.findings import Findings, mixed_scorings
from benchkit.boards.job import FromPack
from benchkit.boards.pack import Pack
from benchkit.boards.samples import SampledCase
from benchkit.boards.findings import BaselineAgreement, SystemFacts, agreements_of, facts_of
from benchkit.boards.standings import Standing, TrackSection, ranking_of, records_of, tracks_of
from benchkit.boards.trace_check import Verification
from benchkit.render import document as doc
from benchkit.trial_log.reader import TrialLog


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
    facts: tuple[SystemFacts, ...]
    agreements: tuple[BaselineAgreement, ...]
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
    ranking, is_mixed = ranking_of(records, pack), bool(mixed_scorings(findings))
    if is_mixed:
        ranking = tuple(replace(one, rank=None, ahead_of=()) for one in ranking)
    gathered = findings.examined.gathered
    return Board(
        found, pack, findings.verification, tuple(banners_of(findings)), is_mixed, ranking,
        tracks_of(records, pack, ranking),
        findings.examined.sampling.cases(rows, [one.system for one in ranking]),
        facts_of(gathered, log, rows, ranking), agreements_of(gathered, ranking), _machines(log))


def _machines(log: TrialLog) -> tuple[str, ...]:
    found = []
    for line in (session.line for session in log.sessions if session.trials):
        seen = line.environment
        server = [str(seen[key]) for key in ("server", "server_version") if seen.get(key) is not None]
        told = [line.hardware or "", *(str(seen[key]) for key in ("processor", "platform") if seen.get(key)),
                f"Python {seen['python']}" if seen.get("python") else "", " ".join(server) or "no server"]
        found.append(shown_line(", ".join(filter(None, told)), 300))
    return tuple(dict.fromkeys(found))
