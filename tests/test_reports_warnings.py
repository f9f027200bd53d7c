"""Every warning that a report owes its reader: when it stands there, when not, and its code."""
from __future__ import annotations

import unittest
from dataclasses import replace

from benchkit.basics.values import ErrorFacts, Usage
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.figures import spread
from benchkit.reports.run_report import report_of
from benchkit.reports.tally import tally_of
from benchkit.reports.warnings import ReportWarning, session_differences, temperature_of
from benchkit.statistics.estimators import State
from benchkit.statistics.intervals import anytime
from tests.page_runs import told_first
from tests.reports_samples import SESSION, WORKED_SUITE, changed, record, result

WARM = {"options": {"temperature": 1.0}}


def warnings(run: RunRecord) -> dict[str, str]:
    """The warnings of a run by code; a code stands once."""
    found: tuple[ReportWarning, ...] = report_of(run, "run").warnings
    codes = [caution.code for caution in found]
    assert len(set(codes)) == len(codes), codes
    return {caution.code: caution.text for caution in found}


class WhenAWarningStands(unittest.TestCase):
    def test_each_reason_brings_its_code_and_its_absence_none(self) -> None:
        plain = record({"A": "+-", "B": "-+"})
        slept = replace(plain, results=(replace(plain.results[0], slept_s=31.0), *plain.results[1:]))
        two = replace(plain, sessions=(SESSION, SESSION))
        for code, run in (
                ("k-above-k-max", record(WORKED_SUITE)),
                ("identical-outputs", replace(changed(plain, output="same"), settings=WARM)),
                ("repeated-seeds", changed(plain, seed=7)),
                ("cut-off-answers", changed(plain, finish="length")),
                ("cut-off-answers", changed(plain, finish="MAX_TOKENS")),
                ("empty-answers", changed(plain, output=" \n")),
                ("reasoning-only-answers", changed(plain, output="", reasoning="let me think")),
                ("never-passed", record({"A": "--"})),
                ("several-attempts", changed(plain, attempts=2)),
                ("sessions-differ", replace(two, sessions=(SESSION, replace(SESSION, hardware="another")))),
                ("several-sessions", two),
                ("percentile-needs-more", plain),
                ("latency-includes-queue", replace(plain, settings={"parallel": 4})),
                ("several-hosts", replace(plain, sessions=(replace(SESSION, environment={"hosts": ["a:1", "b:1"]}),))),
                ("model-not-pinned", replace(plain, settings={"pinned_by": "nothing"})),
                ("answered-by-another-name", replace(plain, settings={"model": "toy", "served": {"model": "gemma"}})),
                ("schema-not-sent", replace(plain, settings={"response_format": "refused by the server"})),
                ("prompt-cut", changed(plain, usage=Usage(10, 5, None, 5000))),
                ("context-smaller-than-asked", replace(
                    plain, settings={"options": {"num_ctx": 8192}}, sessions=(replace(SESSION, context_length=4096),))),
                ("machine-slept", slept)):
            with self.subTest(code=code):
                self.assertIn(code, warnings(run))
                if code != "percentile-needs-more":
                    self.assertNotIn(code, warnings(plain))

    def test_a_run_that_gives_no_cause_has_no_warning(self) -> None:
        run = changed(record({f"C{number}": "+-" * 60 for number in range(2)}), cold=False)
        self.assertEqual(warnings(run), {})

    def test_the_texts_name_figures_with_their_denominators(self) -> None:
        self.assertEqual(
            warnings(record(WORKED_SUITE))["k-above-k-max"],
            "from k = 1 on, completed-only values are over fewer than all 4 cases, and may lie outside worst and best")
        self.assertEqual(
            warnings(changed(record({"A": "+-", "B": "-+"}), attempts=3))["several-attempts"],
            "4 of 4 started trials took several attempts (at most 3); the last one counts")


class WhatAServerMadeOfThePrompt(unittest.TestCase):
    def test_a_cut_prompt_is_told_with_what_that_rests_on(self) -> None:
        run = record({"A": "+-", "B": "-+"})
        usages = iter((Usage(2000, 1), Usage(1000, 1, None, 40_000), Usage(100, 1, None, 30_000), Usage()))
        run = replace(run, results=tuple(replace(one, usage=next(usages)) for one in run.results))
        self.assertEqual(
            "before 2 of 4 answers the server has cut the prompt, or does not count all of it: it counted 100 tokens "
            "where 30,000 letters were asked, and no tokenizer makes so few of so many (A, B)",
            warnings(run)["prompt-cut"])

    def test_a_context_is_held_against_what_was_asked_for_where_both_are_known(self) -> None:
        run = record({"A": "+-"})
        for asked, served, is_told in ((8192, (8192, 4096), True), (8192, (None, 4096), True), (8192, (8192,), False),
                                       (4096, (8192,), False), (8192, (None,), False), (None, (4096,), False)):
            sessions = tuple(replace(SESSION, context_length=length) for length in served)
            settings = {"options": {} if asked is None else {"num_ctx": asked}}
            with self.subTest(asked=asked, served=served):
                told = warnings(replace(run, settings=settings, sessions=sessions))
                self.assertEqual(is_told, "context of 4,096 tokens where 8,192 were asked for (num_ctx)" in told.get(
                    "context-smaller-than-asked", ""))


class IdenticalOutputs(unittest.TestCase):
    def test_it_says_that_the_repetitions_add_nothing_and_not_that_they_are_left_out(self) -> None:
        run = replace(changed(record({"A": "++", "B": "--"}), output="same"), settings=WARM)
        self.assertEqual(
            "in 2 of 2 cases with several judged trials these all gave the same text, at temperature 1: repeated "
            "trials of these cases are copies, which say no more than one trial does, and their pass^k is no more "
            "certain than a single look (A, B)",
            warnings(run)["identical-outputs"])

    def test_they_are_copies_at_temperature_0_or_without_one_too(self) -> None:
        same = changed(record({"A": "++"}), output="same")
        unknown, cold = "a temperature that nobody told: ", "temperature 0: "
        for settings, words in (({}, unknown), ({"temperature": 0}, cold), ({"options": {"temperature": 0.0}}, cold),
                                ({"options": None}, unknown)):
            with self.subTest(settings=settings):
                self.assertIn(f"gave the same text, at {words}",
                              warnings(replace(same, settings=settings))["identical-outputs"])

    def test_where_other_cases_vary_one_text_may_be_a_sure_answer_but_not_at_temperature_0(self) -> None:
        sure, varied = changed(record({"A": "++", "C": "+t"}), output="x").results, record({"B": "+-"}).results
        run = replace(record({"A": "++", "C": "+t", "B": "+-"}), results=(*sure, *varied))
        for settings, words in ((WARM, ""), ({}, ""), ({"temperature": 0}, "in 1 of 2 cases with several judged")):
            with self.subTest(settings=settings):
                self.assertIn(words, warnings(replace(run, settings=settings)).get("identical-outputs", ""))
                self.assertEqual(bool(words), "identical-outputs" in warnings(replace(run, settings=settings)))

    def test_incomplete_trials_are_left_out_and_one_judged_trial_is_not_identical_with_anything(self) -> None:
        run = replace(changed(record({"A": "++"}), output="same"), trials=3, settings=WARM)
        run = replace(run, results=(*run.results, result("A", 3, "n")))
        self.assertIn("identical-outputs", warnings(run))
        self.assertNotIn("identical-outputs", warnings(replace(record({"A": "+n"}), settings=WARM)))

    def test_an_output_that_a_check_could_not_judge_varies_as_well(self) -> None:
        run = replace(changed(record({"A": "++"}), output="same"), trials=3, settings=WARM)
        raised = replace(result("A", 3, "t"), error=ErrorFacts("CheckError", "label raised ValueError"))
        for output, is_copy in (("same", True), ("another", False)):
            with self.subTest(output=output):
                found = warnings(replace(run, results=(*run.results, replace(raised, output=output))))
                self.assertEqual(is_copy, "identical-outputs" in found)

    def test_the_temperature_is_found_among_settings_and_their_options(self) -> None:
        for settings, temperature in (
                ({"temperature": 0.7}, 0.7), ({"options": {"temperature": 1}}, 1.0), ({}, None),
                ({"options": {"temperature": "hot"}}, None), ({"options": [1]}, None)):
            with self.subTest(settings=settings):
                self.assertEqual(temperature_of(settings), temperature)


class OddAnswers(unittest.TestCase):
    def test_an_empty_answer_behind_reasoning_is_counted_as_that_alone_and_none_is_not_empty(self) -> None:
        run = record({"A": "+-"})
        run = replace(run, results=(replace(run.results[0], output="", reasoning="hm"),
                                    replace(run.results[1], output="", reasoning=" ")))
        found = warnings(run)
        for code in ("reasoning-only-answers", "empty-answers"):
            self.assertTrue(found[code].startswith("1 of 2 answers"), found[code])
        self.assertNotIn("empty-answers", warnings(record({"A": "nn"})))

    def test_answers_that_hold_the_tags_of_thoughts_are_counted(self) -> None:
        texts = ["<think>hm</think>yes", "hm</think>yes", "<think>hm", "yes", "I think so", "<b>think</b>"]
        of = record({"A": "------"})
        run = replace(of, results=tuple(replace(one, output=text) for one, text in zip(of.results, texts, strict=True)))
        told = warnings(run)["thinking-in-answers"]
        self.assertTrue(told.startswith("3 of 6 answers hold <think> or </think>: "), told)


class CasesThatNeverPass(unittest.TestCase):
    def test_it_warns_of_those_of_which_the_headline_says_never(self) -> None:
        for marks in ({"A": "-n"}, {"A": "--n"}, {"A": "--n", "B": "---"}, {"A": "-", "B": "+"},
                      {"A": "---", "B": "+-+"}):
            with self.subTest(marks=marks):
                run = report_of(record(marks), "run")
                never = sum(row.state is State.STABLE_FAIL for row in run.cases)
                text = warnings(record(marks)).get("never-passed", "0 cases")
                self.assertEqual(never, int(text.split()[0]))
                if len(marks["A"]) > 1:
                    self.assertIn(f" {never} never", told_first(record(marks))["Result"])

    def test_the_first_ids_are_named_and_the_others_counted(self) -> None:
        text = warnings(record({f"case-{number}": "--" for number in range(7)}))["never-passed"]
        self.assertTrue(text.startswith("7 cases of 7 never passed"), text)
        self.assertIn("case-4 and 2 more", text)
        self.assertNotIn("case-5", text)


class Sessions(unittest.TestCase):
    def test_what_differs_is_named(self) -> None:
        second = replace(SESSION, environment={"server": "other"})
        self.assertEqual(session_differences([SESSION, second]), ("server",))
        loaded = [replace(SESSION, context_length=length) for length in (4096, None, 2048)]
        self.assertEqual(session_differences(loaded), ("context length",))
        self.assertEqual(session_differences(loaded[:2]), ())
        self.assertEqual(session_differences([SESSION, replace(SESSION, hardware=None)]), ("hardware",))
        self.assertEqual(session_differences([SESSION, SESSION]), ())
        self.assertEqual(session_differences([]), ())

    def test_only_rounds_judged_in_every_case_are_complete(self) -> None:
        for marks, complete, passed in (({"A": "++-+", "B": "+-nn"}, 2, 3), ({"A": "nn"}, 0, 0), ({}, 0, 0)):
            with self.subTest(marks=marks):
                found = tally_of(record(marks)).anomalies
                self.assertEqual((found.rounds, found.passed_in_rounds), (complete, passed))

    def test_several_sessions_print_the_anytime_interval_over_complete_rounds(self) -> None:
        run = replace(record({"A": "++-", "B": "+-n"}), sessions=(SESSION, SESSION))
        interval = anytime(3, 4)
        text = warnings(run)["several-sessions"]
        self.assertIn(f"{spread(interval.low, interval.high)} %", text)
        self.assertIn("3 of 4 trials in 2 complete rounds", text)
        self.assertIn("ordinary intervals, which are about other such cases, too narrow. Another question is how often "
                      "one try passes in these same cases: ", text)
        self.assertTrue(text.endswith("; that says nothing of other cases"), text)


class Percentiles(unittest.TestCase):
    def test_the_missing_ones_are_named_for_warm_and_cold(self) -> None:
        of = changed(record({f"c{number:02}": "+-" for number in range(30)}), recorded_latency_s=None)
        timed = tuple(replace(one, recorded_latency_s=0.1) if one.case < "c15" else one for one in of.results)
        text = warnings(replace(of, results=timed))["percentile-needs-more"]
        self.assertIn("p95, p99 of 15 warm trials and for p95 of 15 cold trials", text)
        self.assertIn("p99 100", text)

    def test_what_no_run_of_so_few_cases_could_have_is_not_missed(self) -> None:
        run = record({"A": "+" * 21, "B": "-" * 21})
        self.assertEqual("too few latencies for p99 of 40 warm trials (needed: p90 10, p95 20, p99 100)",
                         warnings(run)["percentile-needs-more"])
        for marks in ({"A": "+" * 101, "B": "-" * 101}, {"A": "nn"}):
            self.assertNotIn("percentile-needs-more", warnings(record(marks)))


class Words(unittest.TestCase):
    def test_codes_have_one_form(self) -> None:
        run = replace(changed(record({"A": "--", "B": "n-"}), seed=1, finish="length", attempts=2, output=""),
                      sessions=(SESSION, replace(SESSION, hardware=None)), settings={**WARM, "parallel": 2})
        for code, text in warnings(run).items():
            with self.subTest(code=code):
                self.assertRegex(code, r"^[a-z]+(-[a-z]+)*$")
                self.assertNotRegex(text, r"\n|\.$")
