"""The values of a report: coverage, rates, failures, confusion, tags, cases, speed."""
from __future__ import annotations

import math
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from unittest.mock import call, patch

from benchkit.basics.values import JSON, ErrorFacts, Timings, Usage
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Result
from benchkit.reports.documents import first_screen
from benchkit.reports.failures import (
    LONGEST_LABEL,
    MOST_LABELS,
    NO_LABEL,
    CheckCount,
    Confusion,
    Reason,
    Unjudged,
    failed_checks,
    labels_in,
)
from benchkit.reports.run_report import report_of, suite_at, tag_rows
from benchkit.reports.speed import LatencyCount, latency_of
from benchkit.reports.tally import RunTally, in_state, never_passed, tally_of
from benchkit.statistics.estimators import Counts, State
from benchkit.statistics.intervals import wilson
from benchkit.statistics.percentiles import Latency
from benchkit.statistics.suites import Coverage
from tests.reports_samples import SESSION, WORKED_SUITE, case, changed, record, result


def tally(results: Sequence[Result], sessions: Sequence[SessionFacts] = (SESSION,)) -> RunTally:
    """What is counted over these trials of one case."""
    run = record({"A": "+" * len(results)}, sessions=sessions)
    return tally_of(replace(run, results=tuple(results)))


class TheWorkedSuite(unittest.TestCase):
    """The table of four cases and three trials that goes with the formulas."""

    def setUp(self) -> None:
        self.report = report_of(record(WORKED_SUITE), "worked")

    def test_every_k_has_its_worst_completed_and_best_value(self) -> None:
        for k, metric, worst, completed, cases, best, low, high in (
                (1, "at", "5/12", "5/9", 3, "5/6", .110, .978), (1, "hat", "5/12", "5/9", 3, "5/6", .110, .978),
                (2, "at", "1/2", "1", 2, "1", .150, 1), (2, "hat", "1/3", "2/3", 2, "2/3", .075, .925),
                (3, "at", "1/2", "1", 2, "1", .150, 1), (3, "hat", "1/4", "1/2", 2, "1/2", .046, .850)):
            with self.subTest(k=k, metric=metric):
                found = getattr(self.report.suite[k - 1], metric)
                self.assertEqual((found.worst, found.completed, found.best),
                                 (Fraction(worst), Fraction(completed), Fraction(best)))
                self.assertEqual(found.completed_cases, cases)
                self.assertAlmostEqual(found.low, low, places=3)
                self.assertAlmostEqual(found.high, high, places=3)

    def test_every_case_has_its_marks_its_state_and_what_follows_from_its_judged_trials(self) -> None:
        self.assertEqual([
            ("A", 3, 3, 0, State.STABLE_PASS, "+++", Fraction(0)), ("B", 3, 2, 0, State.FLAKY, "++-", Fraction(2, 3)),
            ("C", 1, 0, 2, State.POSSIBLY_FLAKY, "-??", None), ("D", 0, 0, 3, State.NO_DATA, "???", None)], [
            (row.id, row.n, row.passed, row.incomplete, row.state, row.marks, row.disagreement)
            for row in self.report.cases])
        self.assertEqual((self.report.cases[3].low, self.report.cases[3].high), (None, None))
        self.assertEqual([row.id for row in never_passed(self.report.cases)], ["C"])
        self.assertEqual([row.id for row in in_state(self.report.cases, State.FLAKY, State.NO_DATA)], ["B", "D"])

    def test_the_report_says_how_much_is_known_and_how_often_a_flake_of_one_in_ten_goes_unseen(self) -> None:
        self.assertEqual(self.report.coverage, Coverage(
            planned=12, completed=7, cases=4, cases_complete=2, cases_touched=3, k_max=0))
        self.assertEqual(self.report.flake_unseen, Fraction(9**3 + 1, 1000))


class Extremes(unittest.TestCase):
    def test_a_run_without_cases_has_a_report(self) -> None:
        report = report_of(record({}), "empty")
        self.assertEqual((report.suite, report.cases, report.tags, report.coverage.k_max), ((), (), (), 0))

    def test_runs_of_which_nothing_or_one_trial_was_judged(self) -> None:
        nothing, one = report_of(record({"A": "nn", "B": "tu"}), "nothing"), report_of(record({"A": "+", "B": "-"}), "")
        self.assertEqual(({State.NO_DATA}, {State.ONE_TRIAL}, [1]), (
            {row.state for row in nothing.cases}, {row.state for row in one.cases}, [at_k.k for at_k in one.suite]))
        first = nothing.suite[0].hat
        self.assertEqual((first.worst, first.completed, first.completed_cases, first.best), (0, None, 0, 1))

    def test_every_case_is_counted_from_its_own_trials(self) -> None:
        cases = tally_of(record({"A": "+-", "B": "nt"})).cases
        self.assertEqual([(one.case.id, one.marks, one.microseconds) for one in cases],
                         [("A", "+-", 300_000), ("B", "??", 120_000_000)])
        self.assertEqual([(one.counts.planned, one.counts.passed, one.counts.failed) for one in cases],
                         [(2, 1, 1), (2, 0, 0)])

    def test_a_case_says_whether_all_outputs_are_one_and_whether_seeds_ascend(self) -> None:
        for marks, output, seeds, expected in (
                ("++", "same", (1, 2), (True, True)), ("++", None, (1, 2), (True, True)),
                ("nt", "", (1, 2), (False, True)), ("n+", "same", (2, 2), (True, False)),
                ("+-", "same", (3, 1), (True, False))):
            with self.subTest(marks=marks, output=output, seeds=seeds):
                run = changed(record({"A": marks}), output=output)
                results = [replace(one, seed=seed) for one, seed in zip(run.results, seeds, strict=True)]
                (case,) = tally_of(replace(run, results=tuple(results))).cases
                self.assertEqual((case.has_one_output, case.seeds_ascend), expected)
        (case,) = tally_of(record({"A": "+-"})).cases
        self.assertFalse(case.has_one_output)

    def test_of_very_many_k_those_up_to_a_thousand_are_listed_and_the_last_and_others_worked_out(self) -> None:
        report = report_of(record({"A": "+" * 1499 + "-"}), "long")
        self.assertEqual([at_k.k for at_k in report.suite], [*range(1, 1001), 1500])
        last, listed, other = suite_at(report, 1500), suite_at(report, 3), suite_at(report, 1200)
        assert last is not None
        assert listed is not None
        assert other is not None
        self.assertIs(last, report.suite[-1])
        self.assertEqual((listed.k, listed.hat.worst), (3, Fraction(1497, 1500)))
        self.assertEqual((other.k, other.hat.worst, last.hat.worst), (1200, Fraction(300, 1500), 0))
        self.assertIsNone(suite_at(report_of(record({}), "empty"), 1))

    def test_an_interval_is_made_once_for_equal_counts(self) -> None:
        with patch("benchkit.reports.tally.wilson", wraps=wilson) as interval:
            tally_of(record({"A": "++", "B": "++", "C": "+-"}))
        self.assertEqual(interval.call_args_list, [call(2, 2), call(1, 2)])


class WhyTrialsFailed(unittest.TestCase):
    def test_a_check_counts_its_failures_and_those_it_explains_alone(self) -> None:
        results = [
            replace(result("A", 1, "-"), checks={"parses": True, "label": False, "size": False}),
            replace(result("A", 2, "-"), checks={"parses": True, "label": False, "size": True}),
            replace(result("A", 3, "+"), checks={"parses": True, "label": True, "size": True}), result("A", 4, "n")]
        failures = tally(results).failures
        self.assertEqual((failures.judged, failures.failed), (3, 2))
        self.assertEqual(failures.checks, (
            CheckCount("parses", 0, 0), CheckCount("label", 2, 1), CheckCount("size", 1, 0)))

    def test_explanations_are_counted_most_frequent_first_and_equal_ones_by_name(self) -> None:
        texts = ["got b", "got a", "got c", "got c"]
        results = [replace(result("A", trial, "-"), explain={"label": text}) for trial, text in enumerate(texts, 1)]
        self.assertEqual(tally(results).failures.reasons, (
            Reason("label", "got c", 2), Reason("label", "got a", 1), Reason("label", "got b", 1)))
        unexplained = tally([replace(result("A", 1, "-"), explain=None)]).failures
        self.assertEqual((unexplained.reasons, unexplained.checks[1].failed), ((), 1))

    def test_the_failed_checks_of_an_incomplete_trial_are_none(self) -> None:
        self.assertEqual(failed_checks(result("A", 1, "n")), ())
        self.assertEqual(failed_checks(result("A", 1, "-")), ("label",))

    def test_incomplete_trials_are_counted_by_type_with_the_message_that_most_of_them_carry(self) -> None:
        results = [result("A", 1, "u"), result("A", 2, "n"), result("A", 3, "u"), result("A", 4, "+")]
        self.assertEqual([("NotRun", 1), ("Unreachable", 2)],
                         [(one.type, one.count) for one in tally(results).unjudged])
        results = [replace(result("A", 1, "n"), error=ErrorFacts("ServerError", message)) for message in "baa"]
        self.assertEqual(tally(results).unjudged, (Unjudged("ServerError", 3, "a", 2),))

    def test_the_first_screen_counts_an_error_among_the_trials_that_were_started(self) -> None:
        for marks, words in (("+unn", "Unreachable in 1 of 2 started trials: the server"),
                             ("unnn", "Unreachable in 1 of 1 started trial: the server")):
            self.assertIn(f"most frequent error: {words}", first_screen(report_of(record({"A": marks}), "run")))


def confused(marks: Mapping[str, str], expected: Mapping[str, JSON],
             explained: Mapping[int, str | None]) -> Sequence[Confusion]:
    """The tables of a run with these expected values, and other explanations in some places."""
    run = record(marks)
    results = [replace(one, explain=None if (text := explained[place]) is None else {"label": text})
               if place in explained else one for place, one in enumerate(run.results)]
    return tally_of(replace(run, cases=tuple(case(name, expected=expected.get(name)) for name in marks),
                            results=tuple(results))).confusions


class WhichAnswerForWhich(unittest.TestCase):
    def test_labels_are_read_from_one_form_only(self) -> None:
        for text, labels in (
                ("expected outage, got bug", ("outage", "bug")), ("expected a, b, got c", ("a, b", "c")),
                ("expected x, got y, got z", ("x", "y, got z")), ("expected outage", None), ("outage, got bug", None),
                ("expected , got bug", None), ("expected bug, got ", None), ("", None)):
            with self.subTest(text=text):
                self.assertEqual(labels_in(text), labels)

    def test_what_was_wanted_and_what_came(self) -> None:
        two, spam = {"A": "+-", "B": "+-"}, {"B": {"label": "spam"}}
        named, both = {1: "expected bug, got spam"}, ("bug", "spam")
        truths = {"A": {"label": True}, "B": {"label": True}, "C": {"label": False}}
        for name, marks, expected, explained, wanted, got, counts in (
                ("right answers stand on the diagonal", two, spam, {**named, 3: "expected spam, got bug"},
                 both, both, ((1, 1), (1, 1))),
                ("a failure without a label has its own last column", two, spam, {**named, 3: None},
                 both, (*both, NO_LABEL), ((1, 1, 0), (0, 1, 1))),
                ("an incomplete trial is in no field", {"A": "+-n", "B": "+-n"}, spam, {4: None},
                 both, (*both, NO_LABEL), ((1, 1, 0), (0, 1, 1))),
                ("what a truth value is called is learned from other cases", {"A": "+-", "B": "++", "C": "+-"}, truths,
                 {1: "expected yes, got no", 5: "expected no, got yes"}, ("no", "yes"), ("no", "yes"),
                 ((1, 1), (1, 3))),
                ("an expectation may be no object", {"A": "+-", "B": "-+"}, {"A": "bug", "B": "spam"},
                 {2: "expected spam, got bug"}, both, both, ((1, 1), (1, 1)))):
            with self.subTest(name):
                self.assertEqual((Confusion("label", wanted, got, counts),), confused(marks, expected, explained))

    def test_equal_expectations_none_that_is_named_and_many_or_long_labels_make_no_table(self) -> None:
        self.assertEqual(confused({"A": "+-", "B": "-+"}, {}, {}), ())
        self.assertEqual(confused({"A": "+-", "B": "+-"}, {"B": {"label": "spam"}}, {1: None, 3: "no"}), ())
        for labels in ([f"label {number}" for number in range(MOST_LABELS + 1)], ["a" * (LONGEST_LABEL + 1), "b"]):
            with self.subTest(labels=labels[0]):
                self.assertEqual((), confused(
                    {f"C{number}": "-" for number in range(len(labels))},
                    {f"C{number}": {"label": label} for number, label in enumerate(labels)},
                    {number: f"expected {label}, got b" for number, label in enumerate(labels)}))


class Tags(unittest.TestCase):
    def test_a_tag_is_a_suite_of_the_cases_that_carry_it(self) -> None:
        run = record({"A": "++", "B": "+-", "C": "n-"})
        run = replace(run, cases=(case("A", ["short"]), case("B", ["short", "angry", "short"]), case("C", ["angry"])))
        angry, short = tag_rows(tally_of(run).cases)
        self.assertEqual((angry.tag, angry.cases, angry.trials), ("angry", 2, Counts(4, 1, 2)))
        self.assertEqual((angry.rate.worst, angry.rate.completed, angry.rate.best),
                         (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)))
        self.assertEqual((short.tag, short.cases, short.rate.worst), ("short", 2, Fraction(3, 4)))


class Speed(unittest.TestCase):
    def test_latencies_are_of_judged_trials_and_timeouts_cold_ones_apart(self) -> None:
        speed = tally_of(record({"A": "+++", "B": "-++"})).speed
        self.assertEqual((speed.warm.n, speed.cold.n), (4, 2))
        self.assertEqual((speed.warm.shortest, speed.warm.longest, speed.cold.longest), (0.2, 0.3, 0.1))
        speed = tally(record({"A": "+unu"}).results).speed  # other errors say nothing about speed
        self.assertEqual((speed.warm.n, speed.cold.n), (0, 1))
        speed = tally(record({"A": "+" * 10}).results).speed  # percentiles below their size are not made up
        self.assertEqual([found is not None for found in speed.warm.percentiles], [True, False, False, False])
        speed = tally(changed(record({"A": "++"}), recorded_latency_s=None).results).speed
        self.assertEqual((speed.warm.n, speed.warm.longest), (0, None))

    def test_a_timeout_ranks_above_everything_at_the_smallest_limit(self) -> None:
        sessions = [replace(SESSION, timeout_s=60.0), SESSION, replace(SESSION, timeout_s=None)]
        warm = tally(record({"A": "+" * 11 + "tt"}).results, sessions).speed.warm
        p90 = warm.percentiles[1]
        self.assertEqual((12, 2, Latency(60.0, censored=True)), (warm.n, warm.timeouts, p90 and p90.value))

    def test_latencies_are_kept_in_order_without_what_is_no_finite_number(self) -> None:
        drawn = [3.0, math.inf, 0.5, math.nan, 2.0, 0.5]
        results = [replace(one, recorded_latency_s=seconds, cold=False) for one, seconds in zip(
            record({"A": "+" * 6}).results, drawn, strict=True)]
        measured = LatencyCount([SESSION])
        for one in results:
            measured.take(one.cold, one.error, latency_of(one), one.timings)
        warm, _ = measured.columns()
        self.assertEqual((4, [0.5, 0.5, 2.0, 3.0], 0.5, 3.0), (warm.n, [*warm.judged], warm.shortest, warm.longest))

    def test_the_latency_of_this_run_goes_before_that_of_its_recording(self) -> None:
        one = result("A", 5, "+")
        self.assertEqual(latency_of(one), 0.5)
        self.assertEqual(latency_of(replace(one, latency_s=0.0)), 0.0)

    def test_output_tokens_per_second_is_a_ratio_of_sums(self) -> None:
        results = [replace(result("A", 1, "+"), usage=Usage(5, 10, 3), timings=Timings(output_s=0.1)),
                   replace(result("A", 2, "+"), usage=Usage(5, 90), timings=Timings(output_s=4.9)),
                   replace(result("A", 3, "+"), usage=Usage(None, 7), timings=Timings()),
                   replace(result("A", 4, "+"), usage=Usage(), timings=None)]
        tokens = tally(results, []).speed.tokens
        self.assertEqual((tokens.trials, tokens.prompt, tokens.output, tokens.cached), (3, 10, 107, 3))
        self.assertEqual(tokens.output_per_second, 20)
        untimed = tally(changed(record({"A": "+"}), timings=None).results, []).speed.tokens
        self.assertIsNone(untimed.output_per_second)

    def test_trials_that_waited_for_the_model_to_load_again_are_counted(self) -> None:
        run = changed(record({"A": "+++"}), timings=Timings(load_s=0.004))
        results = (replace(run.results[0], timings=Timings(load_s=7.25)), *run.results[1:])
        speed = tally(results).speed
        self.assertEqual((speed.reloads, speed.longest_reload_s), (1, 7.25))

    def test_attempts_are_counted_over_started_trials(self) -> None:
        results = [replace(result("A", 1, "+"), attempts=3, retries=2), result("A", 2, "-"), result("A", 3, "n")]
        attempts = tally(results, []).speed.attempts
        self.assertEqual((attempts.cells, attempts.repeated, attempts.most, attempts.retries), (2, 1, 3, 2))
