"""Who stands where: headlines, gates, ranks and tracks, made of the judged rows. Pure.

    headline = mean of the capability tracks x (1 - hard-gate fail rate)

The mean is over cases of the mean over a case's judged answers of the mean of the capability tracks; an answer fails
when one of the hard gates did not hold. Incomplete cells are read in three ways (worst, completed, best), and the
interval reaches from the low end over the worst to the high end over the best. Ranks are about the headline: each
case has its capability x (1 - fail rate), pairs are tested by sign flips, Holm-corrected.
What does not live here: judging (evaluation.py), and the formulas (statistics/).
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from benchkit.boards.board_values import GateStatus, Readings, Standing, TrackRow, TrackSection
from benchkit.boards.eval_rows import Row
from benchkit.boards.pack import Pack, Track
from benchkit.statistics.figures import figure
from benchkit.statistics.intervals import Headline, case_wilson, clopper_pearson, headline
from benchkit.statistics.ranking import RankSet, pair_tests, rank_sets
from benchkit.systems.loading import is_baseline

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class CaseTally:
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


@dataclass(frozen=True, slots=True)
class Record:
    """All rows of one system, by case."""

    system: str
    rows: Mapping[str, Sequence[Row]]

    def tallies(self, tracks: Sequence[Track]) -> dict[str, CaseTally]:
        """By case, the mean over these tracks."""
        return {case: CaseTally(sum((_mean(row, tracks) for row in rows if row.error is None), ZERO),
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


def records_of(rows: Iterable[Row]) -> dict[str, Record]:
    """The rows by system and case, in the order in which they come."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.cell.system][row.cell.case].append(row)
    return {system: Record(system, dict(cases)) for system, cases in found.items()}


def ranking_of(records: Mapping[str, Record], pack: Pack) -> tuple[Standing, ...]:
    """The ranking, best headline first; systems of which nothing was judged stand last, by name."""
    capabilities, gates = _of_kind(pack, "capability"), _of_kind(pack, "gate")
    ranks = _ranks(records, capabilities)
    standings = [_standing(record, pack, capabilities, gates, ranks.get(name)) for name, record in records.items()]
    standings.sort(key=lambda one: (one.headline.completed is None, -(one.headline.completed or 0.0), one.system))
    return tuple(replace(one, place=place, overtaken=_overtaken(one, standings[place:]))
                 for place, one in enumerate(standings, 1))


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


def _standing(
    record: Record, pack: Pack, capabilities: Sequence[Track], gates: Sequence[Track], rank: RankSet | None,
) -> Standing:
    tallies = list(record.tallies(capabilities).values())
    planned, judged = record.planned, record.judged
    completed = _completed(tallies)
    gate = GateStatus(record.gate_failures, judged, planned - judged, clopper_pearson(record.gate_failures, judged))
    return Standing(
        place=0, system=record.system, is_baseline=is_baseline(record.system),
        sees_truth=sees_truth(pack, record.system), gate=gate if gates else None,
        headline=_headline_readings(tallies, gate, bool(gates)),
        capability=None if completed is None else _share(completed), rank=rank, overtaken=(), planned=planned,
        judged=judged)


def _headline_readings(tallies: Sequence[CaseTally], gate: GateStatus, has_gates: bool) -> Readings:
    planned = gate.trials + gate.incomplete
    worst = _headline([tally.worst for tally in tallies], gate.failures + gate.incomplete, planned, has_gates)
    best = _headline([tally.best for tally in tallies], gate.failures, planned, has_gates)
    judged = [tally.completed for tally in tallies if tally.judged]
    completed = _headline(judged, gate.failures, gate.trials, has_gates).value if judged else None
    return Readings(_share(worst.value), None if completed is None else _share(completed), _share(best.value),
                    _share(worst.interval.low), _share(best.interval.high))


def _headline(values: Sequence[Fraction], failed: int, trials: int, has_gates: bool) -> Headline:
    if has_gates:
        return headline(values, failed, trials)
    # without a hard gate there is one factor only, and it has the whole of the 95 %
    total = sum(values, ZERO)
    return Headline(total / len(values), case_wilson(total, len(values)))


def _track_row(record: Record, track: Track) -> TrackRow:
    tallies = list(record.tallies([track]).values())
    worst, best = sum((one.worst for one in tallies), ZERO), sum((one.best for one in tallies), ZERO)
    completed = _completed(tallies)
    share = Readings(
        _share(worst / len(tallies)), None if completed is None else _share(completed), _share(best / len(tallies)),
        _share(case_wilson(worst, len(tallies)).low), _share(case_wilson(best, len(tallies)).high))
    below = sum(row.error is None and (row.value(track.name) or 0) < 1 for rows in record.rows.values() for row in rows)
    return TrackRow(record.system, share, below, record.judged, record.planned - record.judged)


def _completed(tallies: Sequence[CaseTally]) -> Fraction | None:
    judged = [tally.completed for tally in tallies if tally.judged]
    return sum(judged, ZERO) / len(judged) if judged else None


def _ranks(records: Mapping[str, Record], capabilities: Sequence[Track]) -> dict[str, RankSet]:
    """The ranks that the data leave possible, of systems of which something was judged."""
    values = {}
    for name, record in records.items():
        if record.judged:
            kept = ONE - Fraction(record.gate_failures, record.judged)
            values[name] = {case: tally.completed * kept for case, tally in record.tallies(capabilities).items()
                            if tally.judged}
    return rank_sets(list(values), pair_tests(values))


def _overtaken(one: Standing, below: Sequence[Standing]) -> tuple[str, ...]:
    if one.gate is None or not one.gate.failures:
        return ()
    return tuple(other.system for other in below
                 if other.gate is not None and not other.gate.failures and other.gate.trials)


def _of_kind(pack: Pack, kind: str) -> list[Track]:
    return [track for track in pack.tracks if track.kind == kind]


def _mean(row: Row, tracks: Sequence[Track]) -> Fraction:
    return sum((Fraction(row.value(track.name) or 0) for track in tracks), ZERO) / len(tracks)


def _share(value: Fraction | float) -> float:
    return cast("float", figure(value))
