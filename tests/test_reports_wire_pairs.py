"""The JSON of comparisons: their figures, and the answer of the gate."""
from __future__ import annotations

import json
import unittest
from dataclasses import replace
from fractions import Fraction
from typing import Any

from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.report_json import file_bytes, gate_fields, pair_fields, report_bytes
from benchkit.reports.verdicts import GateRules, gate_of
from tests.comparison_samples import BETTER, WORSE, run_of, two_of, with_outputs
from tests.reports_samples import record


def read_back(side: SideBySide) -> Any:
    """The first pair as a reader of the file sees it."""
    return json.loads(report_bytes(side.runs, side))["comparisons"][0]


class TheFields(unittest.TestCase):
    def test_a_comparison_has_exactly_its_fields(self) -> None:
        self.assertEqual([
            "base", "candidate", "not_compared", "finding", "text", "cases", "pass", "sign_flip", "incomplete",
            "margin", "by_case", "latency", "repeat", "warnings"], list(read_back(two_of(WORSE, WORSE))))

    def test_regressions_open_trials_and_uneven_ones_are_told_where_there_are_any(self) -> None:
        self.assertEqual({"passed_every_time": 8, "stopped": 8, "began": 0, "p": 0.0078125, "may_have_stopped": []},
                         read_back(two_of(BETTER, WORSE))["regressions"])
        may = read_back(two_of({"A": "++", "B": "+-"}, {"A": "+n", "B": "++"}))
        self.assertEqual({"passed_every_time": 1, "stopped": 0, "began": 1, "p": None, "may_have_stopped": ["A"]},
                         may["regressions"])
        self.assertEqual(1.0, may["sign_flip"]["p_worst"])
        base = {f"c{n:02}": "+" for n in range(20)}
        uneven = read_back(two_of(base, {name: "+" * 9 + "-" if n < 11 else "+" * 10 for n, name in enumerate(base)}))
        self.assertEqual((0.000976562, True), (uneven["sign_flip"]["by_sign_flip"], uneven["sign_flip"]["p"] > 0.4))
        self.assertEqual({"p", "smallest_p", "holm_p", "tests", "by_sign_flip"}, set(uneven["sign_flip"]))

    def test_a_pair_that_is_not_compared_says_why_and_no_more(self) -> None:
        found = read_back(two_of({"A": "+"}, {"B": "+"}))
        self.assertEqual({
            "base": {"run": 0, "name": "base", "rank": None},
            "candidate": {"run": 1, "name": "candidate", "rank": None},
            "not_compared": [{"code": "no-common-case", "text": "they have no case in common (1 case and 1)"}]}, found)

    def test_every_pair_of_runs_is_there(self) -> None:
        side = side_by_side([run_of(BETTER, name) for name in ("a", "b", "c")])
        pairs = json.loads(report_bytes(side.runs, side))["comparisons"]
        self.assertEqual([("a", "b"), ("a", "c"), ("b", "c")],
                         [(pair["base"]["name"], pair["candidate"]["name"]) for pair in pairs])

    def test_no_comparison_is_an_empty_list(self) -> None:
        self.assertEqual([], json.loads(report_bytes([run_of(BETTER)]))["comparisons"])


class TheFigures(unittest.TestCase):
    def test_they_are_rounded_to_six_digits(self) -> None:
        found = read_back(two_of({"A": "+++", "B": "+-n"}, {"A": "++-", "B": "nnn", "C": "+++"}, Fraction(1, 10)))
        self.assertEqual({"base": 1.0, "candidate": 0.666667, "difference": -0.333333, "low": -1.0, "high": 0.829779},
                         found["pass"])
        self.assertEqual({"p": 1.0, "smallest_p": 1.0, "holm_p": 1.0, "tests": 1, "p_worst": 1.0}, found["sign_flip"])
        self.assertEqual({"base": 1, "candidate": 3, "low": -0.5, "high": 0.166667, "robust": None},
                         found["incomplete"])
        self.assertEqual({"given": 0.1, "same": False, "smallest": 1.0}, found["margin"])
        self.assertEqual({"common": 2, "compared": 1, "differing": 1, "won": 0, "lost": 1, "tied": 0, "unknown": 1,
                          "only_base": [], "only_candidate": ["C"]}, found["cases"])
        self.assertEqual({"id": "A", "outcome": "lost", "difference": -0.333333, "regression": True,
                          "base": {"n": 3, "passed": 3, "incomplete": 0, "state": "stable pass"},
                          "candidate": {"n": 3, "passed": 2, "incomplete": 0, "state": "flaky"}}, found["by_case"][0])
        self.assertIsNone(found["by_case"][1]["difference"])

    def test_latencies_have_their_medians_and_numbers(self) -> None:
        found = read_back(two_of({"A": "+tt"}, {"A": "+++"}))["latency"]
        self.assertEqual({"base": {"n": 2, "p50": 120.0, "censored": True},
                          "candidate": {"n": 2, "p50": 0.2, "censored": False}, "ratio": None}, found["warm"])
        self.assertEqual(1.0, found["cold"]["ratio"])

    def test_two_recordings_of_one_system_have_their_repeat_and_two_systems_none(self) -> None:
        base = record({"A": "++-"})
        found = read_back(two_of(base, with_outputs(base, {("A", 2): "answer two"})))["repeat"]
        self.assertEqual({
            "p": 1.0, "outputs": {
                "warm": {"compared": 2, "equal": 1, "verdicts_compared": 2, "verdicts_equal": 2},
                "cold": {"compared": 1, "equal": 1, "verdicts_compared": 1, "verdicts_equal": 1}},
            "only_base": 0, "only_candidate": 0, "self_base": 0.0, "self_candidate": 0.0,
            "parting": {"case": "A", "trial": 2, "warmth": "warm", "character": 7, "base_verdict": "pass",
                        "candidate_verdict": "pass"}}, found)
        self.assertIsNone(read_back(two_of(base, base))["repeat"]["parting"])
        self.assertIsNone(read_back(two_of(base, replace(base, system="toys:doll")))["repeat"])

    def test_ranks_are_null_without_a_partner(self) -> None:
        found = read_back(two_of(BETTER, WORSE))
        self.assertEqual(({"best": 1, "worst": 1}, {"best": 2, "worst": 2}),
                         (found["base"]["rank"], found["candidate"]["rank"]))


class TheGate(unittest.TestCase):
    def test_it_says_rules_results_and_the_comparison_it_rests_on(self) -> None:
        side = two_of(BETTER, WORSE)
        pair = side.pairs[0]
        assert pair.comparison is not None
        rules = GateRules(Fraction(1, 100), Fraction(1, 50), allow_incomplete=True, strict=True)
        found = json.loads(file_bytes(gate_fields(side, pair, gate_of(pair.comparison, side.runs[1].totals, rules))))
        self.assertEqual(["gate", "accepted", "decided", "answer", "text", "rules", "results", "comparison"],
                         list(found))
        self.assertEqual((1, False, {"alpha": 0.01, "max_drop": 0.02, "allow_incomplete": True, "strict": True}),
                         (found["gate"], found["accepted"], found["rules"]))
        self.assertEqual(("refused", "refused (2 of 3 rules broken): candidate against base"),
                         (found["answer"], found["text"]))
        self.assertEqual([0.0078125, None, None], [one.get("p") for one in found["results"]])
        self.assertEqual([("drop", True), ("incomplete", False), ("strict", True)],
                         [(one["code"], one["broken"]) for one in found["results"]])
        self.assertEqual(json.loads(json.dumps(pair_fields(side, pair))), found["comparison"])


if __name__ == "__main__":
    unittest.main()
