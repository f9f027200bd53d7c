"""Who stands where: headlines, gates, ranks and tracks, made of the judged rows. Pure.

    headline = mean of the capability tracks x (1 - hard-gate fail rate)

The mean is over cases of the mean over a case's judged answers of the mean of the capability tracks; an answer fails
when one of the hard gates did not hold. Incomplete cells are read in three ways (worst, completed, best), and the
interval reaches from the low end over the worst to the high end over the best. The order is by the worst reading.
Ranks compare case by case: an answer is worth its capability if every hard gate held, else 0, so that no case's value
depends on another case; pairs are tested by sign flips with incomplete cells against the winner, Holm-corrected.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from benchkit.boards.board_values import GateStatus, Readings, Standing, TrackRow, TrackSection
from benchkit.boards.pack import Pack, Track
from benchkit.boards.scores import ScoreRow
from benchkit.statistics.estimators import figure
from benchkit.statistics.intervals import HeadlineInterval, case_wilson, clopper_pearson, headline_over_cases
from benchkit.statistics.permutation import OpenValue
from benchkit.statistics.ranking import open_pair_tests, rank_sets, wins
from benchkit.systems.loading import is_baseline

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class CaseScores:
    """One system at one case under one measure: the sum over its judged answers, and how many cells there are."""

    total: Fraction
    judged: int
    planned: int

    @property
    def worst(self) -> Fraction:
        """Incomplete cells are worth nothing."""
        return self.total / self.planned

    @property
    def best(self) -> Fraction:
        """Incomplete cells are worth all."""
        return (self.total + self.planned - self.judged) / self.planned

    @property
    def completed(self) -> Fraction:
        """Over what was judged, which must be something."""
        return self.total / self.judged

    @property
    def value(self) -> OpenValue:
        """All three readings."""
        return OpenValue(self.worst, self.completed if self.judged else None, self.best)


@dataclass(frozen=True, slots=True)
class Record:
    """All rows of one system, by case."""

    system: str
    rows: Mapping[str, Sequence[ScoreRow]]

    def tallies(self, worth: Callable[[ScoreRow], Fraction]) -> dict[str, CaseScores]:
        """By case, what its judged answers are worth, each from 0 to 1."""
        return {case: CaseScores(sum((worth(row) for row in rows if row.error is None), ZERO),
                                 sum(row.error is None for row in rows), len(rows))
                for case, rows in self.rows.items()}

    @property
    def planned(self) -> int:
        """How many cells there are."""
        return sum(len(rows) for rows in self.rows.values())

    @property
    def judged(self) -> int:
        """How many of them are judged."""
        return sum(row.error is None for rows in self.rows.values() for row in rows)

    @property
    def gate_failures(self) -> int:
        """How many judged answers broke a hard gate."""
        return sum(row.error is None and not row.held for rows in self.rows.values() for row in rows)


def records_of(rows: Iterable[ScoreRow]) -> dict[str, Record]:
    """The rows by system and case, in the order in which they come."""
    found: dict[str, dict[str, list[ScoreRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.cell.system][row.cell.case].append(row)
    return {system: Record(system, dict(cases)) for system, cases in found.items()}


def ranking_of(records: Mapping[str, Record], pack: Pack) -> tuple[Standing, ...]:
    """The ranking, by what each system has shown: the headline with every incomplete cell worth nothing, best first.

    At equal headlines those that broke no gate come first, then those that are complete. Systems of which nothing was
    judged stand last, by name.
    """
    tests = open_pair_tests({name: values_of(record, pack) for name, record in records.items()})
    ranks, won = rank_sets(list(records), tests), wins(tests)
    standings = [replace(_standing(record, pack), rank=ranks[name] if record.judged else None,
                         ahead_of=tuple(loser for winner, loser in won if winner == name))
                 for name, record in records.items()]
    standings.sort(key=_order)
    return tuple(replace(one, place=place, overtaken=_overtaken(one, standings[place:]))
                 for place, one in enumerate(standings, 1))


def values_of(record: Record, pack: Pack) -> dict[str, OpenValue]:
    """What a system is worth in each case, for its rank: the mean capability of answers that held every hard gate."""
    capabilities = _of_kind(pack, "capability")
    tallies = record.tallies(lambda row: _mean(row, capabilities) if row.held else ZERO)
    return {case: tally.value for case, tally in tallies.items()}


def tracks_of(records: Mapping[str, Record], pack: Pack, ranking: Sequence[Standing]) -> tuple[TrackSection, ...]:
    """A section for each track, its systems in the order of the ranking."""
    return tuple(
        TrackSection(track.name, track.kind, track.measures, track.measures_not,
                     tuple(_track_row(records[one.system], track) for one in ranking))
        for track in pack.tracks)


def sees_truth(pack: Pack, system: str) -> bool:
    """Whether a system is a baseline that may look at the truth."""
    baseline = pack.baselines.get(system.removeprefix("baselines:")) if is_baseline(system) else None
    return baseline is not None and baseline.sees_truth


def _order(one: Standing) -> tuple[bool, float, bool, bool, str]:
    has_broken = one.gate is not None and one.gate.failures > 0
    return one.headline.completed is None, -one.headline.worst, has_broken, one.judged < one.planned, one.system


def _standing(record: Record, pack: Pack) -> Standing:
    """What a system amounts to by itself; its place and rank are not known yet."""
    capabilities, has_gates = _of_kind(pack, "capability"), bool(_of_kind(pack, "gate"))
    tallies = list(record.tallies(lambda row: _mean(row, capabilities)).values())
    failed = list(record.tallies(lambda row: Fraction(not row.held)).values())
    planned, judged, failures = record.planned, record.judged, record.gate_failures
    completed = _completed(tallies)
    kept = None if completed is None else completed * (1 - Fraction(failures, judged))
    worst = _headline([one.worst for one in tallies], [one.best for one in failed], has_gates)
    best = _headline([one.best for one in tallies], [one.worst for one in failed], has_gates)
    return Standing(
        place=0, system=record.system, is_baseline=is_baseline(record.system),
        sees_truth=sees_truth(pack, record.system),
        gate=GateStatus(failures, judged, planned - judged, clopper_pearson(failures, judged)) if has_gates else None,
        headline=Readings(_share(worst.value), None if kept is None else _share(kept), _share(best.value),
                          _share(worst.interval.low), _share(best.interval.high)),
        capability=None if completed is None else _share(completed), rank=None, overtaken=(), planned=planned,
        judged=judged)


def _headline(values: Sequence[Fraction], failed: Sequence[Fraction], has_gates: bool) -> HeadlineInterval:
    if has_gates:
        return headline_over_cases(values, failed)
    # without a hard gate there is one factor only, and it has the whole of the 95 %
    total = sum(values, ZERO)
    return HeadlineInterval(total / len(values), case_wilson(total, len(values)))


def _track_row(record: Record, track: Track) -> TrackRow:
    tallies = list(record.tallies(lambda row: _mean(row, [track])).values())
    worst, best = sum((one.worst for one in tallies), ZERO), sum((one.best for one in tallies), ZERO)
    completed = _completed(tallies)
    share = Readings(
        _share(worst / len(tallies)), None if completed is None else _share(completed), _share(best / len(tallies)),
        _share(case_wilson(worst, len(tallies)).low), _share(case_wilson(best, len(tallies)).high))
    below = sum(row.error is None and (row.value(track.name) or 0) < 1 for rows in record.rows.values() for row in rows)
    return TrackRow(record.system, share, below, record.judged, record.planned - record.judged)


def _completed(tallies: Sequence[CaseScores]) -> Fraction | None:
    judged = [tally.completed for tally in tallies if tally.judged]
    return sum(judged, ZERO) / len(judged) if judged else None


def _overtaken(one: Standing, below: Sequence[Standing]) -> tuple[str, ...]:
    if one.gate is None or not one.gate.failures:
        return ()
    return tuple(other.system for other in below
                 if other.gate is not None and not other.gate.failures and other.gate.trials)


def _of_kind(pack: Pack, kind: str) -> list[Track]:
    return [track for track in pack.tracks if track.kind == kind]


def _mean(row: ScoreRow, tracks: Sequence[Track]) -> Fraction:
    return sum((Fraction(row.value(track.name) or 0) for track in tracks), ZERO) / len(tracks)


def _share(value: Fraction | float) -> float:
    return cast("float", figure(value))
