"""Who stands where: headlines, gates, ranks and tracks, made of the judged rows.

    headline = mean of the capability tracks x (1 - hard-gate fail rate)

The mean is over cases of the mean over a case's judged answers of the mean of the capability tracks; an answer fails
when one of the hard gates did not hold. Incomplete cells are read in three ways (worst, completed, best), and the
interval reaches from the low end over the worst to the high end over the best. The order is by the worst reading.
Ranks compare case by case: an answer is worth its capability if every hard gate held, else 0, so that no case's value
depends on another case; pairs are tested by sign flips with incomplete cells against the winner, Holm-corrected.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, cast

from benchkit.boards.pack import Pack, Track
from benchkit.boards.scores import ScoreRow
from benchkit.statistics.estimators import figure
from benchkit.statistics.intervals import HeadlineInterval, Interval, case_wilson, clopper_pearson, headline_over_cases
from benchkit.statistics.permutation import OpenValue
from benchkit.statistics.ranking import RankSet, open_pair_tests, rank_sets, wins
from benchkit.systems.loading import is_baseline

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class GateStatus:
    """The hard gates of one system together: an answer fails when one of them did not hold.

    `failures` of `trials` judged answers, at 95 % (Clopper-Pearson) `interval`; `incomplete` cells were not judged.
    """

    failures: int
    trials: int
    incomplete: int
    interval: Interval

    @property
    def is_clean(self) -> bool:
        """No failure, and nothing left open."""
        return self.failures == 0 and self.incomplete == 0 and self.trials > 0


@dataclass(frozen=True, slots=True)
class Readings:
    """One share in the three readings of incomplete cells, and its 95 % interval.

    `completed` is over what was judged (None: nothing was); `worst` takes every incomplete cell as worth nothing,
    `best` as worth all. `low` is the low end over the worst reading, `high` the high end over the best.
    """

    worst: float
    completed: float | None
    best: float
    low: float
    high: float

    @property
    def is_whole(self) -> bool:
        """Whether no incomplete cell leaves anything open."""
        return self.worst == self.best


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the ranking, which is ordered by the low end of the headline.

    place         its number in the list, from 1
    gate          None where the pack has no hard gate
    headline      mean of the capability tracks x (1 - hard-gate fail rate)
    capability    the first factor alone; None: nothing was judged
    rank          the ranks that the data leave possible; None where nothing was judged
    overtaken     systems that failed no gate and stand below this one, which did: mark it
    planned, judged   cells
    ahead_of      systems than which it is shown to be better, however its and their incomplete cells would go
    """

    place: int
    system: str
    is_baseline: bool
    sees_truth: bool
    gate: GateStatus | None
    headline: Readings
    capability: float | None
    rank: RankSet | None
    overtaken: tuple[str, ...]
    planned: int
    judged: int
    ahead_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrackRow:
    """One system under one track. Of a gate the share is that of answers that held it.

    `failures` counts answers below 1 (of a gate: those that did not hold it) of `judged`.
    """

    system: str
    share: Readings
    failures: int
    judged: int
    incomplete: int


@dataclass(frozen=True, slots=True)
class TrackSection:
    """One track: what it measures and what not, a sentence each, and every system in the order of the ranking."""

    name: str
    kind: Literal["capability", "gate"]
    measures: str
    measures_not: str
    rows: tuple[TrackRow, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """All rows of one system, by case."""

    system: str
    rows: Mapping[str, Sequence[ScoreRow]]

    def values(self, worth: Callable[[ScoreRow], Fraction]) -> dict[str, OpenValue]:
        """By case, the mean of what its answers are worth, each from 0 to 1; incomplete ones may be worth anything."""
        found = {}
        for case, rows in self.rows.items():
            judged = [worth(row) for row in rows if row.error is None]
            total, planned = sum(judged, ZERO), len(rows)
            found[case] = OpenValue(total / planned, total / len(judged) if judged else None,
                                    (total + planned - len(judged)) / planned)
        return found

    @property
    def planned(self) -> int:
        """How many cells there are."""
        return sum(map(len, self.rows.values()))

    def judged(self) -> Iterator[ScoreRow]:
        """The rows with a verdict."""
        return (row for rows in self.rows.values() for row in rows if row.error is None)


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
    def order(one: Standing) -> tuple[bool, float, bool, bool, str]:
        has_broken = one.gate is not None and one.gate.failures > 0
        return one.headline.completed is None, -one.headline.worst, has_broken, one.judged < one.planned, one.system

    tests = open_pair_tests({name: values_of(record, pack) for name, record in records.items()})
    ranks, won = rank_sets(list(records), tests), wins(tests)
    standings = [_standing(record, pack) for record in records.values()]
    standings.sort(key=order)
    found = []
    for place, one in enumerate(standings, 1):
        has_broken = one.gate is not None and one.gate.failures
        overtaken = tuple(other.system for other in standings[place:]
                          if has_broken and other.gate and other.gate.is_clean)
        found.append(replace(one, place=place, overtaken=overtaken, rank=ranks[one.system] if one.judged else None,
                             ahead_of=tuple(loser for winner, loser in won if winner == one.system)))
    return tuple(found)


def values_of(record: Record, pack: Pack) -> dict[str, OpenValue]:
    """What a system is worth in each case, for its rank: the mean capability of answers that held every hard gate."""
    capabilities = _of_kind(pack, "capability")
    return record.values(lambda row: _mean(row, capabilities) if row.held else ZERO)


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


def _standing(record: Record, pack: Pack) -> Standing:
    """What a system amounts to by itself; its place and rank are not known yet."""
    capabilities, has_gates = _of_kind(pack, "capability"), bool(_of_kind(pack, "gate"))
    values = list(record.values(lambda row: _mean(row, capabilities)).values())
    failed = list(record.values(lambda row: Fraction(not row.held)).values())
    judged, failures = 0, 0
    for row in record.judged():
        judged, failures = judged + 1, failures + (not row.held)
    capability = _completed(values)
    headline = None if capability is None else capability * (1 - Fraction(failures, judged))
    worst = _headline([one.low for one in values], [one.high for one in failed], has_gates)
    best = _headline([one.high for one in values], [one.low for one in failed], has_gates)
    gate = GateStatus(failures, judged, record.planned - judged, clopper_pearson(failures, judged))
    return Standing(
        place=0, system=record.system, is_baseline=is_baseline(record.system),
        sees_truth=sees_truth(pack, record.system), gate=gate if has_gates else None,
        headline=_readings(worst.value, headline, best.value, worst.interval, best.interval),
        capability=figure(capability), rank=None, overtaken=(), planned=record.planned, judged=judged)


def _headline(values: Sequence[Fraction], failed: Sequence[Fraction], has_gates: bool) -> HeadlineInterval:
    if has_gates:
        return headline_over_cases(values, failed)
    # without a hard gate there is one factor only, and it has the whole of the 95 %
    total = sum(values, ZERO)
    return HeadlineInterval(total / len(values), case_wilson(total, len(values)))


def _track_row(record: Record, track: Track) -> TrackRow:
    values = list(record.values(lambda row: _mean(row, [track])).values())
    worst, best = sum((one.low for one in values), ZERO), sum((one.high for one in values), ZERO)
    share = _readings(worst / len(values), _completed(values), best / len(values),
                      case_wilson(worst, len(values)), case_wilson(best, len(values)))
    judged = [row.value(track.name) or 0 for row in record.judged()]
    return TrackRow(record.system, share, sum(value < 1 for value in judged), len(judged), record.planned - len(judged))


def _readings(worst: Fraction, completed: Fraction | None, best: Fraction, low: Interval, high: Interval) -> Readings:
    first, last, least, most = (cast("float", figure(value)) for value in (worst, best, low.low, high.high))
    return Readings(first, figure(completed), last, least, most)


def _completed(values: Sequence[OpenValue]) -> Fraction | None:
    judged = [one.judged for one in values if one.judged is not None]
    return sum(judged, ZERO) / len(judged) if judged else None


def _of_kind(pack: Pack, kind: str) -> list[Track]:
    return [track for track in pack.tracks if track.kind == kind]


def _mean(row: ScoreRow, tracks: Sequence[Track]) -> Fraction:
    return sum((Fraction(row.value(track.name) or 0) for track in tracks), ZERO) / len(tracks)
