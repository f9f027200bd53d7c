"""Two recordings of one system: equal outputs and verdicts, cold and warm apart, and where they part."""
from __future__ import annotations

import unittest
from dataclasses import replace
from fractions import Fraction

from benchkit.basics.values import ErrorFacts
from benchkit.recordings.digests import ErrorPairs, TrialOf
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.paired_cases import Repeat, is_repeat
from benchkit.statistics.permutation import PairedCounts, label_permutation_p
from tests.comparison_samples import compared, with_outputs
from tests.reports_samples import record


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
        self.assertEqual((TrialOf(2, "B"), "warm", 7, "answer 2", "answer two"), (
            parting.trial, parting.warmth, parting.character, parting.base.output, parting.candidate.output))

    def test_a_text_that_goes_on_parts_at_the_end_of_the_other(self) -> None:
        base = record({"A": "+"})
        parting = repeat_of(base, with_outputs(base, {("A", 1): "answer 1, and more"})).parting
        assert parting is not None
        self.assertEqual(8, parting.character)

    def test_a_side_without_an_output_has_no_character(self) -> None:
        parting = repeat_of(record({"A": "++"}), record({"A": "+t"})).parting
        assert parting is not None
        self.assertEqual((TrialOf(2, "A"), None, "pass", "incomplete"), (
            parting.trial, parting.character, parting.base.verdict, parting.candidate.verdict))


if __name__ == "__main__":
    unittest.main()
