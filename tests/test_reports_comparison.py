"""Two runs and several: figures against reference values, ranks, cases by name, why not, and what comes again."""
from __future__ import annotations

import random
import unittest
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from benchkit.basics.values import ErrorFacts
from benchkit.recordings.digests import ErrorPairs
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.comparison import labels_of, side_by_side
from benchkit.reports.paired_cases import CaseOutcome, Repeat, incompatibilities_between, is_repeat
from benchkit.reports.verdicts import Finding, verdict_of
from benchkit.statistics.intervals import open_plus_two, paired_plus_two
from benchkit.statistics.permutation import PairedCounts, label_permutation_p
from benchkit.statistics.ranking import RankSet
from tests.comparison_samples import BETTER, WORSE, compared, run_of, two_of, with_case, with_outputs
from tests.oracle import decisions, reference
from tests.reports_samples import SESSION, changed, record


def marks_of(values: list[str], trials: int) -> dict[str, str]:
    """One case for each value, which is its share of passes."""
    counts = [int(Fraction(value) * trials) for value in values]
    return {f"c{number}": "+" * passed + "-" * (trials - passed) for number, passed in enumerate(counts)}


class AgainstReferenceValues(unittest.TestCase):
    def test_holm_and_rank_sets_of_four_systems(self) -> None:
        known: Any = reference("ranking")
        names = list(known["models"])
        side = side_by_side([run_of(marks_of(known["models"][name], 3), name) for name in names])
        for pair in side.pairs:
            expected = known["pairs"][f"{names[pair.base]}-{names[pair.candidate]}"]
            assert pair.comparison is not None
            self.assertEqual((Fraction(expected["raw"]), Fraction(expected["holm"])),
                             (pair.comparison.p, pair.adjusted_p))
        for name, rank in zip(names, side.ranks, strict=True):
            result = known["result"][name]
            self.assertEqual(RankSet(result["rank_lo"], result["rank_hi"]), rank)
        self.assertEqual(6, side.tests)

    def test_uneven_trials(self) -> None:
        for known in decisions("unequal_trials_p"):
            cases = known["cases_na_ca_nb_cb"]
            for trials in (max(case[0] for case in cases), 12):
                # with other numbers planned on either side, or with trials that were not judged
                most = (max(case[0] for case in cases), max(case[2] for case in cases)) if trials < 12 else (12, 12)
                first = {f"c{n}": padded(case[0], case[1], most[0]) for n, case in enumerate(cases)}
                second = {f"c{n}": padded(case[2], case[3], most[1]) for n, case in enumerate(cases)}
                for base, candidate in ((first, second), (second, first)):
                    self.assertEqual(Fraction(known["p"]), compared(base, candidate).p)

    def test_no_finding_that_incomplete_trials_could_overturn(self) -> None:
        for known in decisions("incomplete_p"):
            marks = [[padded(passed + failed, passed, planned) for planned, passed, failed in (case[:3], case[3:])]
                     for case in known["cases_planned_passed_failed_twice"]]
            first, second = ({f"c{n}": case[place] for n, case in enumerate(marks)} for place in (0, 1))
            for base, candidate, ahead in ((second, first, Finding.BETTER), (first, second, Finding.WORSE)):
                side = two_of(base, candidate)
                found = side.pairs[0].comparison
                assert found is not None
                finding = ahead if known["ahead_either_way"] else Finding.NOT_DECIDED
                self.assertEqual((Fraction(known["p_judged"]), Fraction(known["p_worst"]), finding),
                                 (found.p, found.p_worst, verdict_of(side, side.pairs[0]).finding))
                self.assertEqual([1, 2] if known["ahead_either_way"] else [1, 1],
                                 sorted(rank.best for rank in side.ranks if rank is not None))


def padded(trials: int, passed: int, most: int) -> str:
    """So many judged trials; the rest did not run."""
    return "+" * passed + "-" * (trials - passed) + "n" * (most - trials)


class AgainstBruteForce(unittest.TestCase):
    def random_run(self, rng: random.Random, marks: str) -> dict[str, str]:
        return {f"c{number}": "".join(rng.choice(marks) for _ in range(2)) for number in range(4)}

    def test_the_bounds_are_the_least_and_the_most_over_all_ways_to_go_on(self) -> None:
        rng = random.Random(6)
        for _ in range(15):
            base, candidate = self.random_run(rng, "+-n"), self.random_run(rng, "+-n")
            found = compared(base, candidate)
            ways = [other - one for one in ways_of(base) for other in ways_of(candidate)]
            assert found.bounds is not None
            self.assertAlmostEqual(float(min(ways)), found.bounds.low, 12)
            self.assertAlmostEqual(float(max(ways)), found.bounds.high, 12)
            winner = "candidate" if min(ways) > 0 else "base" if max(ways) < 0 else None
            self.assertEqual(winner, found.robust)


def ways_of(marks: dict[str, str]) -> list[Fraction]:
    """The mean pass rates of a run, however its unknown trials go."""
    passed = sum(line.count("+") for line in marks.values())
    unknown = sum(line.count("n") for line in marks.values())
    return [Fraction(passed + more, sum(map(len, marks.values()))) for more in range(unknown + 1)]


class CasesByName(unittest.TestCase):
    def setUp(self) -> None:
        self.found = compared({"won": "+-", "lost": "++", "tied": "+-", "gone": "++", "unknown": "nn"},
                              {"lost": "+-", "won": "++", "tied": "-+", "unknown": "++", "new": "--"})

    def test_each_common_case_is_won_lost_tied_or_unknown(self) -> None:
        for outcome in CaseOutcome:
            self.assertEqual([str(outcome)], [case.id for case in self.found.with_outcome(outcome)])
        self.assertEqual((3, 2), (self.found.compared, self.found.differing))

    def test_cases_of_one_side_only_are_listed_and_left_out(self) -> None:
        self.assertEqual((("gone",), ("new",)), (self.found.only_base, self.found.only_candidate))
        self.assertEqual((0, Fraction(2, 3), Fraction(2, 3)),
                         (self.found.difference, self.found.base_rate, self.found.candidate_rate))

    def test_a_case_that_passed_every_time_regresses_with_a_failed_trial_and_may_have_with_an_unknown_one(self) -> None:
        for base, candidate, is_regression, may_be in (
                ("+++", "++-", True, False), ("+++", "---", True, False), ("+++", "n--", True, False),
                ("+++", "++n", False, True), ("+++", "nnn", False, True), ("+++", "+++", False, False),
                ("++-", "---", False, False), ("++n", "+--", False, False), ("---", "---", False, False),
                ("+", "-", True, False), ("+", "n", False, True), ("n", "-", False, False), ("+++", "+", False, False),
                ("+++", "-", True, False)):
            with self.subTest(base=base, candidate=candidate):
                found = compared({"A": base}, {"A": candidate})
                self.assertEqual((is_regression, may_be), (bool(found.regressions), bool(found.open_regressions)))

    def test_chance_beside_regressions_is_a_sign_test_for_equal_numbers_of_judged_trials(self) -> None:
        for row in decisions("regressions_mirror"):
            stopped, began = row["stopped_passing_every_time"], row["began_to"]
            base = {f"s{n}": "++" for n in range(stopped)} | {f"b{n}": "+-" for n in range(began)} | {"tied": "--"}
            candidate = {f"s{n}": "-+" for n in range(stopped)} | {f"b{n}": "++" for n in range(began)} | {"tied": "--"}
            found = compared(base, candidate)
            self.assertEqual((stopped, began, Fraction(row["p"])),
                             (len(found.regressions), found.progressed, found.mirror_p))
            self.assertEqual(found.mirror_p, compared(candidate, base).mirror_p)
            self.assertIsNone(compared(base, {**candidate, "tied": "-n"}).mirror_p)
            self.assertIsNone(compared(base, {name: f"{marks}-" for name, marks in candidate.items()}).mirror_p)


class WhatItSays(unittest.TestCase):
    def test_the_difference_is_candidate_minus_base(self) -> None:
        found = compared(BETTER, WORSE)
        self.assertEqual((Fraction(-3, 4), Fraction(2, 256), Fraction(2, 256)),
                         (found.difference, found.p, found.smallest_p))
        self.assertEqual(Fraction(3, 4), compared(WORSE, BETTER).difference)

    def test_exchanging_the_sides_turns_everything_around(self) -> None:
        one, other = {"A": "+-+n", "B": "----", "C": "++++"}, {"A": "++++", "B": "+-nn", "C": "+++-"}
        there, back = compared(one, other), compared(other, one)
        assert there.bounds is not None
        assert back.bounds is not None
        self.assertEqual((there.p, there.smallest_p), (back.p, back.smallest_p))
        self.assertEqual(there.difference, -(back.difference or 0))
        for first, second in ((there.interval, back.interval), (there.bounds, back.bounds)):
            self.assertAlmostEqual(first.low, -second.high)
            self.assertAlmostEqual(first.high, -second.low)

    def test_case_order_changes_no_figure(self) -> None:
        one, other = {"A": "+-+n", "B": "----", "C": "++++"}, {"A": "++++", "B": "+-nn", "C": "+++-"}
        there, back = compared(one, other), compared(dict(reversed(one.items())), other)
        self.assertEqual((there.p, there.interval, there.bounds), (back.p, back.interval, back.bounds))

    def test_fewer_than_six_differing_cases_are_a_caution_with_the_smallest_p(self) -> None:
        codes = [caution.code for caution in compared(BETTER, WORSE).warnings]
        self.assertEqual([], codes)
        few = compared({"A": "++", "B": "++", "C": "++"}, {"A": "--", "B": "--", "C": "++"}).warnings
        self.assertEqual(["few-differing-cases"], [caution.code for caution in few])
        self.assertIn("2 of 3 compared cases differ, and p cannot be smaller than 0.5", few[0].text)

    def test_too_few_cases_differ_is_about_p_after_holm(self) -> None:
        six, five = ({f"c{n}": "+-"[n < lost] for n in range(10)} for lost in (6, 5))
        none = {f"c{n}": "+" for n in range(10)}
        for runs, finding, told in (
                ((none, six), Finding.WORSE, False), ((none, five), Finding.NOT_DECIDED, True),
                ((none, six, none), Finding.NOT_DECIDED, True)):
            side = side_by_side([run_of(run, f"run {place}") for place, run in enumerate(runs)])
            pair = side.pairs[0]
            assert pair.comparison is not None
            with self.subTest(runs=len(runs), finding=finding):
                verdict = verdict_of(side, pair)
                self.assertEqual((finding, told), (verdict.finding, "differ, and no p below" in verdict.text))
                self.assertEqual(told, "few-differing-cases" in [one.code for one in pair.comparison.warnings])

    def test_incomplete_trials_that_could_turn_the_winner_are_a_caution(self) -> None:
        codes = [caution.code for caution in compared({"A": "+-nn"}, {"A": "++nn"}).warnings]
        self.assertIn("winner-not-robust", codes)
        robust = compared({"A": "---n"}, {"A": "+++n"})
        self.assertEqual(("candidate", "base"), (robust.robust, compared({"A": "+++n"}, {"A": "---n"}).robust))
        for base, candidate in (("+n", "++"), ("++", "+n"), ("+", "+")):  # an end of the bounds is 0
            self.assertIsNone(compared({"A": base}, {"A": candidate}).robust)
        self.assertNotIn("winner-not-robust", [caution.code for caution in robust.warnings])

    def test_other_numbers_of_trials_and_other_machines_are_warnings(self) -> None:
        there = record({"A": "+++"}, sessions=[replace(SESSION, hardware="another bench")])
        codes = [caution.code for caution in compared({"A": "++"}, there).warnings]
        self.assertEqual(["few-differing-cases", "trials-differ", "machines-differ"], codes)
        unmeasured = changed(there, recorded_latency_s=None)  # no latency, so none that compares machines
        codes = [caution.code for caution in compared({"A": "++"}, unmeasured).warnings]
        self.assertEqual(["few-differing-cases", "trials-differ"], codes)

    def test_sameness_needs_the_whole_interval_within_the_margin(self) -> None:
        many = {f"c{number}": "+-" for number in range(60)}
        found = compared(many, many, Fraction(1, 20))
        self.assertEqual((Fraction(1), True), (found.p, found.same_within_margin))
        self.assertFalse(compared(many, many, Fraction(1, 30)).same_within_margin)
        self.assertTrue(1 / 30 < found.smallest_margin < 1 / 20)
        self.assertIsNone(compared(many, many).same_within_margin)
        self.assertFalse(compared({"A": "n"}, {"A": "n"}, Fraction(1)).same_within_margin)

    def test_sameness_holds_whatever_becomes_of_incomplete_trials(self) -> None:
        many = {f"c{number}": "++" for number in range(400)}
        for unknown, same in ((0, True), (2, True), (40, False)):
            candidate = {name: "+n" if number < unknown else marks for number, (name, marks) in enumerate(many.items())}
            found = compared(many, candidate, Fraction(1, 50))
            with self.subTest(unknown=unknown):
                self.assertEqual((same, 0), (found.same_within_margin, found.difference))
                self.assertEqual(same, found.smallest_margin <= 1 / 50)

    def test_the_open_interval_holds_that_of_all_ways_to_go_on(self) -> None:
        rng = random.Random(7)
        for _ in range(30):
            ends = [sorted(Fraction(rng.randint(-4, 4), 4) for _ in range(2)) for _ in range(4)]
            around = open_plus_two([(low, high) for low, high in ends])
            for way in product(*ends):
                one = paired_plus_two(way)
                self.assertTrue(around.low <= one.low and one.high <= around.high, (ends, way))

    def test_without_a_case_judged_on_both_sides_nothing_is_known(self) -> None:
        found = compared({"A": "nn", "B": "++"}, {"A": "++", "B": "nn"})
        self.assertEqual((None, None, None, Fraction(1), 0, (2, 2)), (
            found.difference, found.base_rate, found.candidate_rate, found.p, found.compared, found.incomplete))


class Latency(unittest.TestCase):
    def test_the_ratio_is_that_of_medians_warm_and_cold_apart_with_their_numbers(self) -> None:
        base, candidate = record({"A": "+++", "B": "---"}), record({"A": "+++", "B": "---"})
        candidate = replace(candidate, results=tuple(
            replace(one, recorded_latency_s=(one.recorded_latency_s or 0) * 2) for one in candidate.results))
        warm, cold = compared(base, candidate).latency
        self.assertEqual(("warm", 4, 4, "cold", 2, 2),
                         (warm.warmth, warm.base.n, warm.candidate.n, cold.warmth, cold.base.n, cold.candidate.n))
        self.assertAlmostEqual(2.0, float(warm.ratio or 0))

    def test_only_common_cases_count(self) -> None:
        slow = changed(record({"Z": "++"}), recorded_latency_s=99.0)
        both = record({"A": "++", "Z": "++"})
        both = replace(both, results=(*both.results[:2], *slow.results))
        self.assertEqual(1, compared(both, {"A": "++"}).latency[0].base.n)
        self.assertEqual(1, compared(both, {"A": "++"}).latency[0].ratio)

    def test_a_median_on_a_timeout_has_no_ratio(self) -> None:
        warm = compared({"A": "+tt"}, {"A": "+++"}).latency[0]
        self.assertEqual((2, None), (warm.base.n, warm.ratio))

    def test_runs_without_latencies_have_none(self) -> None:
        bare = changed(record({"A": "++"}), recorded_latency_s=None)
        self.assertEqual((), compared(bare, {"A": "++"}).latency)
        instant = changed(record({"A": "++"}), recorded_latency_s=0.0)
        self.assertIsNone(compared(instant, {"A": "++"}).latency[0].ratio)


class WhyNot(unittest.TestCase):
    def incompatibilities(self, base: RunRecord, candidate: RunRecord) -> list[tuple[str, str]]:
        return [
            (incompatibility.code, incompatibility.text)
            for incompatibility in incompatibilities_between(base, candidate)
        ]

    def test_each_reason_has_its_code_and_names_what_it_is_about(self) -> None:
        base = record({"A": "++", "B": "++"})
        other_judge = replace(base, judge=replace(base.judge, version="2"))
        other_source = replace(base, judge=replace(base.judge, task_sha256="f" * 64))
        for candidate, code, words in (
                (record({"C": "++"}), "no-common-case", "no case in common (2 cases and 1)"),
                (other_judge, "another-judge", "Toy 1 (source 000000000000) and by Toy 2"),
                (replace(base, judge=replace(base.judge, name="Tay")), "another-judge", "by Tay 1"),
                (other_source, "another-judge", "(source ffffffffffff)"),
                (with_case(base, 1, input="else"), "input-differs", "the input differs in 1 of 2 common cases (B)"),
                (with_case(base, 0, expected={"label": "spam"}), "expected-differs", "what is expected differs in 1"),
                (with_case(base, 0, ask="1" * 16), "ask-differs", "what is asked (messages or schema) differs")):
            with self.subTest(code=code, words=words):
                found = self.incompatibilities(base, candidate)
                self.assertEqual([code], [one for one, _ in found])
                self.assertIn(words, found[0][1])

    def test_true_is_not_1_and_all_reasons_are_given(self) -> None:
        base, candidate = record({"A": "++", "B": "++"}), record({"A": "++", "B": "++"})
        base, candidate = with_case(base, 0, expected=1), with_case(candidate, 0, expected=True)
        candidate = with_case(replace(candidate, judge=replace(candidate.judge, version="2")), 1, ask="1" * 16)
        self.assertEqual(["another-judge", "expected-differs", "ask-differs"],
                         [code for code, _ in self.incompatibilities(base, candidate)])

    def test_settings_system_tags_and_split_may_differ(self) -> None:
        base = record({"A": "++"}, {"temperature": 0})
        candidate = replace(with_case(record({"A": "++"}, {"temperature": 1}), 0, tags=("x",)), system="toys:doll",
                            split="test")
        self.assertEqual([], self.incompatibilities(base, candidate))

    def test_many_names_are_counted(self) -> None:
        names = {f"c{number}": "+" for number in range(9)}
        base = record(names)
        candidate = replace(base, cases=tuple(replace(case, ask="1" * 16) for case in base.cases))
        self.assertIn("(c0, c1, c2, c3, c4 and 4 more)", self.incompatibilities(base, candidate)[0][1])

    def test_a_hostile_id_is_shown_not_sent(self) -> None:
        base = record({"\x1b[2J\n": "+"})
        self.assertNotRegex(self.incompatibilities(base, with_case(base, 0, input="x"))[0][1], "[\x00-\x1f]")


class SeveralRuns(unittest.TestCase):
    def test_every_pair_is_there_in_the_order_of_the_runs(self) -> None:
        side = side_by_side([run_of(BETTER, name) for name in "abc"])
        self.assertEqual([(0, 1), (0, 2), (1, 2)], [(pair.base, pair.candidate) for pair in side.pairs])

    def test_a_run_that_cannot_be_compared_has_no_rank_and_is_no_test(self) -> None:
        stranger = run_of({"Z": "+"}, "stranger")
        side = side_by_side([run_of(BETTER, "a"), stranger, run_of(WORSE, "b")])
        self.assertEqual((RankSet(1, 1), None, RankSet(2, 2)), side.ranks)
        self.assertEqual(1, side.tests)
        self.assertEqual([False, True, False], [pair.comparison is not None for pair in side.pairs])
        self.assertEqual(Fraction(2, 256), side.pairs[1].adjusted_p)

    def test_ranks_are_among_the_runs_that_were_compared(self) -> None:
        others = {name.replace("case", "other"): marks for name, marks in BETTER.items()}
        side = side_by_side([run_of(BETTER, "a"), run_of(WORSE, "b"), run_of(others, "c"), run_of(others, "d")])
        self.assertEqual((RankSet(1, 1), RankSet(2, 2), RankSet(1, 2), RankSet(1, 2)), side.ranks)

    def test_names_that_stand_twice_are_told_apart(self) -> None:
        self.assertEqual(("a (run 1)", "b", "a (run 3)"), labels_of(["a", "b", "a"]))

    def test_one_run_has_no_pair(self) -> None:
        side = side_by_side([run_of(BETTER)])
        self.assertEqual(((), (None,)), (side.pairs, side.ranks))

    def test_runs_without_cases_are_not_compared(self) -> None:
        self.assertEqual("no-common-case", two_of({}, {}).pairs[0].incompatibilities[0].code)


def repeat_of(base: RunRecord, candidate: RunRecord) -> Repeat:
    """What the two have in common; they must be of one system."""
    repeat = compared(base, candidate).repeat
    assert repeat is not None
    return repeat


def cells(repeat: Repeat) -> dict[str, tuple[int, int, int, int]]:
    """By warmth: outputs compared and equal, verdicts compared and equal."""
    return {one.warmth: (one.compared, one.equal, one.verdicts_compared, one.verdicts_equal)
            for one in repeat.repetitions}


class WhichRuns(unittest.TestCase):
    def test_one_system_with_the_same_settings(self) -> None:
        base = record({"A": "+"}, {"a": 1, "b": [2]})
        for candidate, expected in (
                (record({"A": "-"}, {"b": [2], "a": 1}), True), (record({"A": "+"}, {"a": 1}), False),
                (record({"A": "+"}, {"a": True, "b": [2]}), False), (replace(base, system="toys:doll"), False)):
            with self.subTest(settings=candidate.settings, system=candidate.system):
                self.assertEqual(expected, is_repeat(base, candidate))
                self.assertEqual(expected, compared(base, candidate).repeat is not None)


class WhatTheyShare(unittest.TestCase):
    def test_the_same_run_twice_is_equal_in_everything(self) -> None:
        run = record({"A": "+-+", "B": "t-n"})
        found = repeat_of(run, run)
        self.assertEqual({"warm": (3, 3, 3, 3), "cold": (1, 1, 1, 1)}, cells(found))
        self.assertEqual((Fraction(1), None, 0, 0), (found.p, found.parting, found.only_base, found.only_candidate))

    def test_outputs_may_differ_where_verdicts_do_not(self) -> None:
        base = record({"A": "++-", "B": "+++"})
        found = repeat_of(base, with_outputs(base, {("A", 2): "else", ("B", 1): "else"}))
        self.assertEqual({"warm": (4, 3, 4, 4), "cold": (2, 1, 2, 2)}, cells(found))

    def test_verdicts_are_compared_where_both_sides_have_one(self) -> None:
        self.assertEqual({"warm": (1, 1, 1, 0), "cold": (1, 1, 1, 1)},
                         cells(repeat_of(record({"A": "+-t"}), record({"A": "+++"}))))

    def test_errors_are_no_outputs_and_are_counted_apart_by_type_and_side(self) -> None:
        late, gone = record({"A": "+t"}), record({"A": "+u"})
        other_words = replace(late, results=(late.results[0], replace(
            late.results[1], error=ErrorFacts("Timeout", "other words"))))
        spoken = with_outputs(record({"A": "++"}), {("A", 2): "error:Timeout"})
        for candidate, errors in ((gone, ErrorPairs(1, 0, 0, 0)), (other_words, ErrorPairs(1, 1, 0, 0)),
                                  (spoken, ErrorPairs(0, 0, 1, 0))):
            found = repeat_of(late, candidate)
            self.assertEqual(({"cold": (1, 1, 1, 1)}, errors), (cells(found), found.errors))
        self.assertEqual(ErrorPairs(0, 0, 0, 1), repeat_of(spoken, late).errors)

    def test_trials_that_are_cold_on_one_side_only_stand_apart(self) -> None:
        base = record({"A": "++"})
        candidate = replace(base, results=(base.results[0], replace(base.results[1], cold=True)))
        self.assertEqual(["cold", "cold on one side only"], list(cells(repeat_of(base, candidate))))

    def test_trials_of_one_side_only_are_counted_and_those_not_run_are_no_trials(self) -> None:
        found = repeat_of(record({"A": "+++n", "B": "++++"}), record({"A": "++", "B": "+n"}))
        self.assertEqual((4, 0), (found.only_base, found.only_candidate))
        self.assertEqual({"warm": (1, 1, 1, 1), "cold": (2, 2, 2, 2)}, cells(found))

    def test_only_common_cases_count(self) -> None:
        found = repeat_of(record({"A": "++", "X": "++"}), record({"Y": "++", "A": "++"}))
        self.assertEqual({"warm": (1, 1, 1, 1), "cold": (1, 1, 1, 1)}, cells(found))

    def test_the_p_is_that_of_the_within_case_permutation(self) -> None:
        base, candidate = {"A": "+" * 9 + "-", "B": "+-+-+-+-+-"}, {"A": "+++" + "-" * 7, "B": "++++++----"}
        found = repeat_of(record(base), record(candidate))
        pairs = [PairedCounts(one.candidate.counts, one.base.counts)
                 for one in compared(record(base), record(candidate)).cases]
        self.assertEqual(label_permutation_p(pairs), found.p)

    def test_agreement_within_a_recording_is_over_pairs_of_warm_outputs(self) -> None:
        outputs = {("A", 1): "cold", ("A", 2): "x", ("A", 3): "x", ("A", 4): "y"}
        base = with_outputs(record({"A": "++++"}), outputs)
        found = repeat_of(base, with_outputs(base, {("A", 4): "x"}))
        self.assertEqual((Fraction(1, 3), Fraction(1)), (found.self_base, found.self_candidate))
        single = record({"A": "++"})
        self.assertIsNone(repeat_of(single, single).self_base)


class WhereTheyPart(unittest.TestCase):
    def test_the_first_trial_in_the_order_of_running_is_named_with_its_character_and_verdicts(self) -> None:
        base = record({"A": "+++", "B": "++-"})
        parting = repeat_of(base, with_outputs(base, {("A", 3): "x", ("B", 2): "answer two"})).parting
        assert parting is not None
        self.assertEqual((2, "B", "warm", 7, "answer 2", "answer two"), (
            parting.base.trial, parting.base.case, parting.warmth, parting.character, parting.base.output,
            parting.candidate.output))

    def test_a_text_that_goes_on_parts_at_the_end_of_the_other(self) -> None:
        base = record({"A": "+"})
        parting = repeat_of(base, with_outputs(base, {("A", 1): "answer 1, and more"})).parting
        assert parting is not None
        self.assertEqual(8, parting.character)

    def test_a_side_without_an_output_has_no_character(self) -> None:
        parting = repeat_of(record({"A": "++"}), record({"A": "+t"})).parting
        assert parting is not None
        self.assertEqual((2, "A", None, "pass", "incomplete"), (
            parting.base.trial, parting.base.case, parting.character, parting.base.verdict, parting.candidate.verdict))
