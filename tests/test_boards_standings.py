"""Standings: headlines, gates, ranks and tracks of judged rows, by hand where a hand can do it."""
from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from benchkit.basics.values import Cell
from benchkit.boards.pack import Pack, PackBaseline, Track
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.standings import (
    GateStatus,
    Readings,
    Standing,
    ranking_of,
    records_of,
    sees_truth,
    tracks_of,
    values_of,
)
from benchkit.statistics.intervals import Interval, case_wilson, clopper_pearson, headline_over_cases
from benchkit.statistics.ranking import open_pair_tests
from tests.oracle import decisions
from tests.toy_game import looks_twice, payload, toy_pack

A, B = "toys:a", "toys:b"
TRACKS = (
    Track("right", "capability", "r", "not r", lambda case, said, steps: 1.0, "0" * 64),
    Track("brief", "capability", "b", "not b", lambda case, said, steps: 1.0, "0" * 64),
    Track("safe", "gate", "s", "not s", lambda case, said, steps: True, "0" * 64),
)
PACK = replace(toy_pack(), tracks=TRACKS)
NO_GATE = replace(PACK, tracks=TRACKS[:2])
Told = Mapping[str, Sequence["tuple[float, float, bool] | None"]]
"""By case, what each trial scored (right, brief, safe); None: it is incomplete."""


def rows_of(system: str, told: Told) -> list[ScoreRow]:
    return [_row(Cell(system, case, trial), scores) for case, trials in told.items()
            for trial, scores in enumerate(trials, 1)]


def _row(cell: Cell, scores: tuple[float, float, bool] | None) -> ScoreRow:
    if scores is None:
        return ScoreRow(cell, 1, "", None, {}, {}, RowError("Timeout", "late"), "1", {})
    return ScoreRow(cell, 1, "", "", {"right": scores[0], "brief": scores[1]}, {"safe": scores[2]}, None, "1", {})


def ranked(pack: Pack = PACK, **told: Told) -> tuple[Standing, ...]:
    rows = [row for name, cases in told.items() for row in rows_of(f"toys:{name}", cases)]
    return ranking_of(records_of(rows), pack)


def always(right: float, safe: bool = True, cases: int = 10, trials: int = 1) -> Told:
    return {f"c{number}": [(right, right, safe)] * trials for number in range(cases)}


class Headlines(unittest.TestCase):
    def test_it_is_the_mean_over_cases_of_the_tracks_times_the_share_that_held_the_gates(self) -> None:
        # cases: (1 + 0.5)/2 over two trials = 0.625 of right and brief, and 0.25; 1 of 4 answers broke the gate
        one, = ranked(a={"c1": [(1.0, 0.5, True), (0.5, 0.5, True)], "c2": [(0.0, 0.5, True), (0.0, 0.5, False)]})
        self.assertEqual((0.4375, round(0.4375 * 0.75, 6)), (one.capability, one.headline.completed))
        by_hand = headline_over_cases([Fraction(5, 8), Fraction(1, 4)], [Fraction(0), Fraction(1, 2)])
        self.assertAlmostEqual(by_hand.interval.low, one.headline.low, 6)
        self.assertAlmostEqual(by_hand.interval.high, one.headline.high, 6)

    def test_incomplete_cells_are_read_in_three_ways(self) -> None:
        one, = ranked(a={"c1": [(1.0, 1.0, True), None], "c2": [None, None]})
        self.assertEqual((round(0.25 * 0.25, 6), 1.0, 1.0), (
            one.headline.worst, one.headline.completed, one.headline.best))
        self.assertFalse(one.headline.is_whole)
        self.assertEqual((4, 1), (one.planned, one.judged))
        self.assertAlmostEqual(headline_over_cases(
            [Fraction(1, 2), Fraction(0)], [Fraction(1, 2), Fraction(1)]).interval.low, one.headline.low, 6)
        self.assertAlmostEqual(headline_over_cases(
            [Fraction(1), Fraction(1)], [Fraction(0), Fraction(0)]).interval.high, one.headline.high, 6)

    def test_of_a_system_of_which_nothing_was_judged_nothing_is_known(self) -> None:
        one, other = ranked(a={"c1": [None]}, b={"c1": [(0.0, 0.0, True)]})
        self.assertEqual((B, A), (one.system, other.system))
        self.assertEqual((None, None, None, 0), (
            other.headline.completed, other.capability, other.rank, other.gate.trials if other.gate else -1))
        self.assertEqual((0.0, 1.0), (other.headline.low, other.headline.high))

    def test_without_a_hard_gate_it_is_the_capability_with_the_whole_of_the_confidence(self) -> None:
        one, = ranked(NO_GATE, a={"c1": [(1.0, 1.0, True)], "c2": [(0.0, 0.0, True)]})
        interval = case_wilson(1, 2)
        self.assertEqual((None, 0.5), (one.gate, one.headline.completed))
        self.assertEqual((round(interval.low, 6), round(interval.high, 6)), (one.headline.low, one.headline.high))

    def test_a_case_counts_once_however_many_of_its_trials_were_judged(self) -> None:
        one, = ranked(a={"c1": [(1.0, 1.0, True)] * 3, "c2": [(0.0, 0.0, True), None, None]})
        self.assertEqual(0.5, one.capability)


class GatesOfSystems(unittest.TestCase):
    def test_it_is_clean_only_where_nothing_failed_and_nothing_is_left_open(self) -> None:
        for failures, trials, incomplete, is_clean in ((0, 12, 0, True), (1, 12, 0, False), (3, 36, 2, False),
                                                       (0, 30, 6, False), (0, 0, 6, False)):
            self.assertEqual(is_clean, GateStatus(failures, trials, incomplete, Interval(0.0, 1.0)).is_clean)

    def test_failures_have_their_exact_interval(self) -> None:
        one, = ranked(a={"c1": [(1.0, 1.0, False), (1.0, 1.0, True), None]})
        self.assertEqual(GateStatus(1, 2, 1, clopper_pearson(1, 2)), one.gate)

    def test_a_system_that_failed_is_marked_above_each_of_which_it_is_known_that_it_did_not(self) -> None:
        told = ranked(a={**always(1.0, cases=9), "x": [(1.0, 1.0, False)]}, b=always(0.5), c=always(0.2, safe=False),
                      d={"c1": [None]}, e={**always(0.2, cases=9), "x": [None]})
        self.assertEqual([("toys:a", ("toys:b",)), ("toys:b", ()), ("toys:e", ()), ("toys:c", ()), ("toys:d", ())],
                         [(one.system, one.overtaken) for one in told])


class Ranks(unittest.TestCase):
    def test_they_are_what_the_data_leave_possible(self) -> None:
        told = ranked(a=always(0.9), b=always(0.8), c=always(0.1))
        self.assertEqual({"toys:a": "1", "toys:b": "2", "toys:c": "3"}, {one.system: str(one.rank) for one in told})

    def test_few_cases_tell_nobody_apart(self) -> None:
        told = ranked(a=always(1.0, cases=5), b=always(0.0, cases=5))
        self.assertEqual(["1-2", "1-2"], [str(one.rank) for one in told])

    def test_a_broken_gate_costs_rank_as_it_costs_the_headline(self) -> None:
        first, second = ranked(a=always(0.8, safe=False), b=always(0.5))
        self.assertEqual([(B, "1"), (A, "2")], [(one.system, str(one.rank)) for one in (first, second)])

    def test_places_are_by_headline_and_then_by_name(self) -> None:
        told = ranked(b=always(0.5), a=always(0.5), c=always(0.7))
        self.assertEqual([(1, "toys:c"), (2, "toys:a"), (3, "toys:b")], [(one.place, one.system) for one in told])

    def test_at_equal_headlines_a_clean_system_stands_before_one_that_broke_a_gate_or_has_not_answered(self) -> None:
        told = ranked(a=always(0.0, safe=False), b={**always(0.0, cases=9), "c9": [None]}, c=always(0.0))
        self.assertEqual(["toys:c", "toys:b", "toys:a"], [one.system for one in told])

    def test_one_broken_gate_answer_does_not_tell_two_systems_apart(self) -> None:
        # one answer of 36: scaling all cases of the system by it made p 1/2048 of what is p 1
        told = ranked(a=always(1.0, cases=12, trials=3),
                      b={**always(1.0, cases=11, trials=3), "c11": [(1.0, 1.0, True)] * 2 + [(1.0, 1.0, False)]})
        self.assertEqual([("1-2", ()), ("1-2", ())], [(str(one.rank), one.ahead_of) for one in told])

    def test_the_value_of_a_case_is_its_own_against_reference_rows(self) -> None:
        for row in decisions("board_rank_values"):
            records = records_of(told for name in "ab" for told in rows_of(name, {
                f"c{number}": [(float(Fraction(right)), float(Fraction(right)), bool(held)) for right, held in answers]
                for number, answers in enumerate(row[f"answers_{name}_capability_held"])}))
            values = {name: values_of(record, PACK) for name, record in records.items()}
            for name in "ab":
                self.assertEqual(list(map(Fraction, row[f"values_{name}"])),
                                 [one.judged for one in values[name].values()])
            (test,) = open_pair_tests(values)
            self.assertAlmostEqual(float(Fraction(row["p"])), float(test.p), delta=1e-12)

    def test_a_system_stands_below_what_it_has_not_shown(self) -> None:
        failed = {f"c{number}": [None] for number in range(9)}
        told = ranked(a={**failed, **{f"c{number}": [(1.0, 1.0, True)] for number in range(9, 12)}},
                      b={**always(1.0, cases=11), "c11": [(0.0, 0.0, True)]})
        self.assertEqual([(B, "1-2"), (A, "1-2")], [(one.system, str(one.rank)) for one in told])

    def test_nobody_is_ahead_where_incomplete_cells_could_turn_it(self) -> None:
        # in ten questions of two trials the first was right each time it was judged, the second never
        right, wrong = (1.0, 1.0, True), (0.0, 0.0, True)
        for first, second, ahead in (([right, right], [wrong, None], (B,)), ([right, None], [wrong, wrong], (B,)),
                                     ([right, None], [wrong, None], ()), ([right, right], [None, None], ())):
            cases = [f"c{number}" for number in range(10)]
            told = ranked(a=dict.fromkeys(cases, first), b=dict.fromkeys(cases, second))
            with self.subTest(first=first, second=second):
                self.assertEqual((A, ahead), (told[0].system, told[0].ahead_of))
                self.assertEqual("1" if ahead else "1-2", str(told[0].rank))


class TrackByTrack(unittest.TestCase):
    def test_every_track_has_every_system_in_the_order_of_the_ranking(self) -> None:
        rows = [*rows_of(A, {"c1": [(0.5, 1.0, True), None]}),
                *rows_of(B, {"c1": [(1.0, 1.0, False), (1.0, 0.5, True)]})]
        records = records_of(rows)
        right, brief, safe = tracks_of(records, PACK, ranking_of(records, PACK))
        self.assertEqual(("right", "capability", "r", "not r"), (
            right.name, right.kind, right.measures, right.measures_not))
        self.assertEqual([(A, 0.5, 1, 1, 1), (B, 1.0, 0, 2, 0)], sorted(
            (row.system, row.share.completed, row.failures, row.judged, row.incomplete) for row in right.rows))
        self.assertEqual([one.system for one in right.rows], [one.system for one in brief.rows])
        self.assertEqual({A: (1.0, 0), B: (0.5, 1)}, {row.system: (row.share.completed, row.failures)
                                                      for row in safe.rows})

    def test_a_share_has_the_three_readings_and_an_interval(self) -> None:
        records = records_of(rows_of(A, {"c1": [(0.5, 1.0, True), None], "c2": [(0.0, 1.0, True)] * 2}))
        row = tracks_of(records, PACK, ranking_of(records, PACK))[0].rows[0]
        low, high = case_wilson(Fraction(1, 4), 2).low, case_wilson(Fraction(3, 4), 2).high
        self.assertEqual(Readings(0.125, 0.25, 0.375, round(low, 6), round(high, 6)), row.share)


class WhoSeesTheTruth(unittest.TestCase):
    def test_only_a_baseline_that_the_pack_says_does(self) -> None:
        oracle = PackBaseline("oracle", looks_twice, True, "0" * 64, payload)
        pack = replace(PACK, baselines={**PACK.baselines, "oracle": oracle})
        for name, told in (("baselines:oracle", True), ("baselines:looker", False), ("baselines:gone", False),
                           ("toys:oracle", False)):
            self.assertEqual(told, sees_truth(pack, name), name)
