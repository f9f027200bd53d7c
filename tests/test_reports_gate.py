"""The gate: which rules a candidate breaks, rule by rule and on their edges."""
from __future__ import annotations

import random
import re
import unittest
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from benchkit.render.as_text import as_text
from benchkit.reports.sections.pairs import gate_document
from benchkit.reports.verdicts import Gate, GateAnswer, GateRules, gate_of
from tests.comparison_samples import BETTER, WORSE, compared, two_of
from tests.oracle import decisions


def gate(base: Mapping[str, str], candidate: Mapping[str, str], rules: GateRules = GateRules()) -> Gate:  # noqa: B008
    """The gate's answer; the rules are frozen."""
    side = two_of(base, candidate)
    comparison = side.pairs[0].comparison
    assert comparison is not None
    return gate_of(comparison, side.runs[1].totals, rules)


def broken(base: Mapping[str, str], candidate: Mapping[str, str], rules: GateRules = GateRules()) -> list[str]:  # noqa: B008
    """The codes of the rules that are broken."""
    return [result.code for result in gate(base, candidate, rules).broken]


def fallen(lost: int, of: int = 20) -> dict[str, str]:
    """So many of the cases fail, in one trial each."""
    return {f"c{number:02}": "-" if number < lost else "+" for number in range(of)}


def marks_of(passed: int, of: int = 10) -> str:
    """One case with so many passes."""
    return "+" * passed + "-" * (of - passed)


def lines(*marks: str) -> dict[str, str]:
    """Cases with these marks."""
    return {f"c{number:02}": line for number, line in enumerate(marks)}


def few_judged(rng: random.Random, trials: int, cases: int, rate: float) -> dict[str, str]:
    """Cases of so many trials that pass at this rate; up to two trials were not run."""
    marks = ["+" if rng.random() < rate else "-" for _ in range(cases * trials)]
    for place in rng.sample(range(2 * trials), rng.randint(0, min(2, trials))):
        marks[place] = "n"
    return lines(*("".join(marks[start:start + trials]) for start in range(0, len(marks), trials)))


def completed(marks: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """All that a run may be once each of its trials was judged; the order of marks in a case says nothing."""
    ways = [{"".join(sorted("".join(way))) for way in product(*({"n": "+-"}.get(mark, mark) for mark in line))}
            for line in marks.values()]
    return (dict(zip(marks, way, strict=True)) for way in product(*ways))


class HoweverIncompleteTrialsGo(unittest.TestCase):
    """Unequal numbers of planned trials are where p may rise though the side ahead gains: found by trying all ways."""

    def test_no_refusal_is_undone_by_a_trial_that_was_missing(self) -> None:
        for base, candidate, max_drop in (
                (lines("n----", *["+----"] * 5, "++---", "-----", "-----"), lines(*["---"] * 9), Fraction(0)),
                (lines(*"++++++++++++"), lines("++n", *["+++"] * 3, *["++-"] * 5, *["+--"] * 3), Fraction(1, 50)),
                (lines(*"++++++++++++"), lines("n-", "n+", *["+-"] * 5, *["++"] * 4, "--"), Fraction(0))):
            rules = GateRules(max_drop=max_drop, allow_incomplete=True)
            with self.subTest(base=base, candidate=candidate):
                found = gate(base, candidate, rules)
                self.assertTrue(any(gate(*way, rules).answer is GateAnswer.UNSURE
                                    for way in product(completed(base), completed(candidate))))
                self.assertEqual(GateAnswer.NOT_DECIDED, found.answer)
                self.assertIn("incomplete trials could undo it: with them p is up to 0.05", found.why_open[0])

    def test_the_p_that_incomplete_trials_leave_bounds_that_of_every_way_for_them_to_go(self) -> None:
        rng, tried = random.Random(2), 0
        while tried < 15:
            trials, cases = rng.choice([(2, 3), (1, 3), (1, 2), (4, 2), (5, 3), (2, 2)]), rng.randint(3, 10)
            base, candidate = (few_judged(rng, one, cases, rng.random()) for one in trials)
            rules, found = GateRules(max_drop=rng.choice([Fraction(0), Fraction(1, 10)])), compared(base, candidate)
            p = gate(base, candidate, rules).results[0].p or Fraction(1)
            if max(p, found.p_of_finding) == 1 or not any(found.incomplete):
                continue
            tried += 1
            for way in product(completed(base), completed(candidate)):
                with self.subTest(base=base, candidate=candidate, way=way):
                    then = compared(*way)
                    self.assertLessEqual(then.p, found.p_of_finding)
                    self.assertGreater((then.difference or 0) * (found.difference or 0), 0)
                    self.assertLessEqual(gate(*way, rules).results[0].p or Fraction(1), p)


class TheRules(unittest.TestCase):
    def test_a_fall_needs_both_a_small_p_and_more_than_the_allowed_drop(self) -> None:
        for lost, rules, expected in (
                (0, GateRules(), []), (5, GateRules(), []), (6, GateRules(), ["drop"]), (20, GateRules(), ["drop"]),
                (6, GateRules(alpha=Fraction(1, 32)), []), (6, GateRules(alpha=Fraction(1, 31)), ["drop"]),
                (5, GateRules(alpha=Fraction(1)), ["drop"]), (20, GateRules(alpha=Fraction(0)), []),
                (6, GateRules(max_drop=Fraction(3, 10)), []), (6, GateRules(max_drop=Fraction(29, 100)), []),
                (20, GateRules(max_drop=Fraction(99, 100)), ["drop"]),
                (20, GateRules(max_drop=Fraction(1)), [])):
            with self.subTest(lost=lost, rules=rules):
                self.assertEqual(expected, broken(fallen(0), fallen(lost), rules))

    def test_incomplete_trials_of_the_candidate_need_to_be_allowed(self) -> None:
        base, candidate = {"A": "++"}, {"A": "+n"}
        self.assertEqual(["incomplete"], broken(base, candidate))
        self.assertEqual([], broken(base, candidate, GateRules(allow_incomplete=True)))
        self.assertEqual([], broken(candidate, base))

    def test_incomplete_trials_count_in_cases_that_the_base_does_not_have(self) -> None:
        self.assertEqual(["incomplete"], broken({"A": "++"}, {"A": "++", "B": "+t"}))

    def test_strict_refuses_any_case_that_was_a_stable_pass(self) -> None:
        base, candidate = {"A": "++", "B": "++"}, {"A": "+-", "B": "++"}
        self.assertEqual([], broken(base, candidate))
        self.assertEqual(["strict"], broken(base, candidate, GateRules(strict=True)))
        self.assertEqual([], broken(candidate, base, GateRules(strict=True)))
        self.assertEqual([], broken({"A": "+-"}, {"A": "--"}, GateRules(strict=True)))

    def test_strict_refuses_a_stable_pass_that_is_not_there_any_more(self) -> None:
        base = {"A": "++", "B": "++", "C": "+-"}
        self.assertEqual([], broken(base, {"A": "++"}))
        found = gate(base, {"A": "++"}, GateRules(strict=True))
        self.assertEqual(["strict"], [result.code for result in found.broken])
        self.assertIn("1 case that passed every time is not in the candidate at all (B)", found.broken[0].text)
        self.assertEqual([], broken(base, {"A": "++", "B": "++"}, GateRules(strict=True)))

    def test_p_is_that_of_a_fall_by_at_most_what_is_allowed(self) -> None:
        for row in decisions("gate_p"):
            differences = [Fraction(value) for value in row["d"]]
            base = {f"c{n}": "+" * 5 + "-" * 5 for n in range(len(differences))}
            if min(differences) == -1:
                base = dict.fromkeys(base, "+" * 10)
            passed = [marks.count("+") + int(differences[n] * 10) for n, marks in enumerate(base.values())]
            candidate = {name: marks_of(passed[n]) for n, name in enumerate(base)}
            for side in ({}, {"more": "+" * 10}):
                found = gate(base | side, candidate, GateRules(max_drop=Fraction(row["allowed"])))
                with self.subTest(d=row["d"], allowed=row["allowed"]):
                    self.assertEqual(Fraction(row["p"]), found.results[0].p)
                    self.assertEqual(row["refused_at_.05"], bool(found.broken))

    def test_more_trials_on_one_side_refuse_nothing_by_themselves(self) -> None:
        known = decisions("unequal_trials_p")[0]["cases_na_ca_nb_cb"]
        base = {f"c{n:02}": "+" for n in range(len(known))}
        found = gate(base, {name: marks_of(known[n][1]) for n, name in enumerate(base)})
        self.assertEqual((GateAnswer.UNSURE, Fraction(10437424601, 25937424601)), (found.answer, found.results[0].p))

    def test_a_fall_that_incomplete_trials_could_undo_refuses_nothing(self) -> None:
        base = {f"c{n:02}": "+" * 6 + "n" * 4 for n in range(64)}
        candidate = dict.fromkeys(base, "+" * 6 + "-" * 4)
        found = gate(base, candidate)
        self.assertEqual((GateAnswer.NOT_DECIDED, Fraction(1)), (found.answer, found.results[0].p))
        self.assertIn("judge the incomplete trials first", found.why_open[0])
        few = dict.fromkeys(base, "+" * 9 + "n")
        self.assertEqual(["drop"], broken(few, candidate))

    def test_a_fall_that_incomplete_trials_leave_open_is_a_doubt(self) -> None:
        base = {f"c{n:02}": "+" * 10 for n in range(20)}
        candidate = dict.fromkeys(base, "+" * 8 + "nn")
        for drop, answer in ((Fraction(0), GateAnswer.UNSURE), (Fraction(1, 5), GateAnswer.ACCEPTED)):
            self.assertEqual(answer, gate(base, candidate, GateRules(max_drop=drop, allow_incomplete=True)).answer)

    def test_strict_counts_a_single_pass_and_needs_a_failed_trial(self) -> None:
        ten = {f"c{n}": "+" for n in range(10)}
        four_lost = {name: "-" if n < 4 else "+" for n, name in enumerate(ten)}
        self.assertEqual(["strict"], broken(ten, four_lost, GateRules(strict=True)))
        one_unknown = {**ten, "c3": "n"}
        found = gate(ten, one_unknown, GateRules(strict=True, allow_incomplete=True))
        self.assertEqual(([], GateAnswer.UNSURE), ([one.code for one in found.broken], found.answer))
        self.assertIn("1 case may have regressed, with trials that were not judged (c3)", found.results[2].text)
        self.assertEqual(
            ["strict"], broken(ten, {**four_lost, "c3": "n"}, GateRules(strict=True, allow_incomplete=True))
        )

    def test_all_broken_rules_are_named(self) -> None:
        candidate = {**WORSE, "more": "n+++"}
        self.assertEqual(["drop", "incomplete", "strict"], broken(BETTER, candidate, GateRules(strict=True)))

    def test_nothing_judged_on_both_sides_is_no_fall(self) -> None:
        found = gate({"A": "n"}, {"A": "+"})
        self.assertEqual([], list(found.broken))
        self.assertIn("nothing is known of a fall", found.results[0].text)


class ItsText(unittest.TestCase):
    def text(self, base: Mapping[str, str], candidate: Mapping[str, str], rules: GateRules) -> str:
        side = two_of(base, candidate)
        comparison = side.pairs[0].comparison
        assert comparison is not None
        answer = gate_of(comparison, side.runs[1].totals, rules)
        return "".join(as_text(gate_document(side, side.pairs[0], answer), is_full=True))

    def head(self, base: Mapping[str, str], candidate: Mapping[str, str], rules: GateRules = GateRules()) -> str:  # noqa: B008
        """The verdict and the rules, on one line."""
        return " ".join(self.text(base, candidate, rules).split("\n\ncandidate against base\n")[0].split())

    def end(self, base: Mapping[str, str], candidate: Mapping[str, str], rules: GateRules = GateRules()) -> str:  # noqa: B008
        """The exit code and its reason, on one line."""
        return " ".join(self.text(base, candidate, rules).split("\n\n")[-1].split())

    def test_an_accepted_candidate_is_not_called_the_same(self) -> None:
        mixed = {name: "-" if number in (3, 4, 5, 6) else "+" for number, name in enumerate(fallen(0))}
        text = self.text(fallen(3), mixed, GateRules(max_drop=Fraction(1, 10)))
        self.assertTrue(text.startswith("ACCEPTED: candidate 80.0 %, base 85.0 % (none of 2 rules broken)\n"), text)
        self.assertIn("no fall by more than 10.0 points with p below 0.05 was found", " ".join(text.split()))
        self.assertNotIn("same", text.split("sameness")[0])

    def test_a_fall_that_nothing_could_refuse_is_not_called_accepted(self) -> None:
        five = dict.fromkeys("ABCDE", "++")
        for candidate, rules, first, end in (
                (dict.fromkeys(five, "--"), GateRules(), "candidate 0.0 %, base 100.0 % (5 differing cases; 6 would be "
                 "needed)", "100.0 points, and with 5 differing cases the smallest p is 0.0625, so no alpha of 0.05 "
                 "could refuse it, and the exit code is 0; use more cases, or --strict, which refuses by cases "
                 "(candidate against base)"),
                ({**five, "A": "--"}, GateRules(), "candidate 80.0 %, base 100.0 % (1 differing case; 6 would be "
                 "needed)", "20.0 points, and with 1 differing case the smallest p is 1, so"),
                ({**five, "A": "--"}, GateRules(alpha=Fraction(1, 1000)), "(1 differing case; 11 would be needed)",
                 "so no alpha of 0.001 could refuse it"),
                (fallen(20), GateRules(alpha=Fraction(0)), "(20 differing cases; no p is below 0)",
                 "so no alpha of 0 could refuse it, and")):
            with self.subTest(first=first):
                base = fallen(0) if len(candidate) == 20 else five
                head, text = self.head(base, candidate, rules), self.text(base, candidate, rules)
                self.assertTrue(head.startswith("NOT DECIDED: candidate "), head)
                self.assertIn(f"{first} Rules open mean pass^1 changed by", head)
                self.assertTrue(self.end(base, candidate, rules).startswith("Exit code 0 not decided: pass^1 fell by "))
                self.assertIn(end, self.end(base, candidate, rules))
                self.assertNotIn("accepted", text.lower())
                self.assertNotIn("no smaller margin", text if len(candidate) == 20 else "")

    def test_a_fall_that_incomplete_trials_could_undo_is_said_to_be_open(self) -> None:
        base = {f"c{n:02}": "+" * 6 + "n" * 4 for n in range(64)}
        head = self.head(base, dict.fromkeys(base, "+" * 6 + "-" * 4))
        self.assertTrue(head.startswith("NOT DECIDED: candidate 60.0 %, base 100.0 %, means of 64 cases over their "
                                        "judged tries (incomplete trials could undo it)"), head)

    def test_where_nothing_was_judged_on_both_sides_the_first_line_says_so(self) -> None:
        self.assertTrue(self.head({"A": "++"}, {"A": "nn"}).startswith(
            "REFUSED: in no case did both judge a trial (1 of 2 rules broken: incomplete)"))

    def test_a_fall_that_chance_may_explain_is_accepted_but_not_called_as_good(self) -> None:
        base = {name: "-" if number == 19 else "+" for number, name in enumerate(fallen(0))}
        candidate = {name: "-" if number < 5 else "+" for number, name in enumerate(base)}
        for rules, first, end in (
                (GateRules(), "ACCEPTED, BUT NOT SHOWN TO BE AS GOOD: candidate 75.0 %, base 95.0 % (pass^1 fell by "
                 "20.0 points, p 0.219)", "accepted, but not shown to be as good: pass^1 fell by 20.0 points, p 0.219 "
                 "(none of 2 rules broken): candidate against base"),
                (GateRules(max_drop=Fraction(1, 5)), "ACCEPTED: candidate 75.0 %, base 95.0 % (none of 2 rules broken)",
                 "accepted (none of 2 rules broken): candidate against base")):
            with self.subTest(first=first):
                self.assertTrue(self.head(base, candidate, rules).startswith(first))
                self.assertEqual(f"Exit code 0 {end}", self.end(base, candidate, rules))

    def test_a_candidate_that_is_refused_for_another_reason_is_not_called_accepted(self) -> None:
        base = {name: "-" if number == 19 else "+" for number, name in enumerate(fallen(0))}
        candidate = {name: "-" if number < 5 else "+" for number, name in enumerate(base)} | {"c00": "n"}
        head = self.head(base, candidate)
        self.assertTrue(head.startswith("REFUSED: candidate 78.9 %, base 94.7 %, means of 19 cases over their judged "
                                        "tries (1 of 2 rules broken: incomplete)"), head)
        self.assertNotIn("accepted", self.text(base, candidate, GateRules()).lower())

    def test_strict_is_not_offered_where_it_was_given(self) -> None:
        end = self.end({"A": "+-"}, {"A": "--"}, GateRules(strict=True))
        self.assertTrue(end.startswith("Exit code 0 not decided: pass^1 fell by 50.0 points"))
        self.assertTrue(end.endswith("the exit code is 0; use more cases (candidate against base)"))
        self.assertNotIn("--strict", self.text({"A": "+-"}, {"A": "--"}, GateRules(strict=True)))

    def test_a_rise_or_an_allowed_fall_is_decided(self) -> None:
        for base, candidate, rules in (
                (fallen(5), fallen(0), GateRules()), (fallen(0), fallen(0), GateRules()),
                (fallen(0), fallen(5), GateRules(max_drop=Fraction(1, 4))), (fallen(0), fallen(6), GateRules())):
            self.assertIsNot(GateAnswer.NOT_DECIDED, gate(base, candidate, rules).answer)
        self.assertIs(GateAnswer.NOT_DECIDED, gate(fallen(0), fallen(5)).answer)

    def test_lost_cases_are_always_listed(self) -> None:
        for lost in (0, 1, 20):
            with self.subTest(lost=lost):
                text = self.text(fallen(0), fallen(lost), GateRules())
                self.assertRegex(text, rf"\n  cases +{lost} lost, 0 won, {20 - lost} tied\n")
                self.assertEqual(lost, len(re.findall(r"^  c\d\d +1 of 1 +0 of 1 +-100.0  one trial$", text, re.M)))
