"""Replaying and judging: what a replay refuses by name, and that a corrected label or check changes verdicts alone."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.values import Case
from benchkit.recordings.recording import keep_recording
from benchkit.recordings.replay import Circumstances, fitted, is_log, judge_recording, recording_from, reference_of
from benchkit.recordings.run_record import RunRecord, run_record_bytes
from benchkit.tasks.task import Task
from tests.logs_samples import put_log
from tests.recordings_samples import TASK_SOURCE, mixed_outcomes, recording, reply, toy
from tests.test_recordings_converting import WithALog

CIRCUMSTANCES = Circumstances("2026-11-30T13:00:00.000Z", {"python": "3.11"})


class WithARecording(WithALog):
    def setUp(self) -> None:
        super().setUp()
        self.made = recording(self.task, self.cases, mixed_outcomes())

    def judged(self, task: Task | None = None, cases: Sequence[Case] | None = None) -> RunRecord:
        return judge_recording(self.made, task or self.task, cases or self.cases, CIRCUMSTANCES)


class Judging(WithARecording):
    def test_every_trial_has_its_verdict_in_order(self) -> None:
        verdicts = [(result.case, result.trial, result.verdict) for result in self.judged().results]
        expected = ["pass", "incomplete", "fail", "incomplete", "pass", "fail", "incomplete", "incomplete"]
        self.assertEqual(expected, [verdict for _, _, verdict in verdicts])
        self.assertEqual([(case, trial) for case in ("two", "three") for trial in (1, 2, 3, 4)],
                         [(case, trial) for case, trial, _ in verdicts])

    def test_the_judge_is_the_task_as_it_is_now(self) -> None:
        judge = self.judged().judge
        self.assertEqual(("Parity", "1", self.task.source_sha256), (judge.name, judge.version, judge.task_sha256))

    def test_a_replay_measures_no_latency(self) -> None:
        results = self.judged().results
        self.assertEqual({None}, {result.latency_s for result in results})
        self.assertEqual([0.4, 120.0, 0.4, None], [result.recorded_latency_s for result in results[:4]])

    def test_reasoning_is_never_judged(self) -> None:
        made = recording(self.task, self.cases, {"two": [reply("no", reasoning="yes")], "three": [reply("no")]})
        record = judge_recording(made, self.task, self.cases, CIRCUMSTANCES)
        self.assertEqual(("fail", "yes"), (record.results[0].verdict, record.results[0].reasoning))

    def test_a_check_that_raises_keeps_the_output_and_says_so(self) -> None:
        task, _ = toy(self.folder, TASK_SOURCE.replace("len(output) < 5", "1 / len(output) > 0"))
        result = self.judged(task).results[5]
        error = result.error
        self.assertEqual(("incomplete", "", None), (result.verdict, result.output, result.checks))
        self.assertEqual("CheckError: check raised ZeroDivisionError: division by zero (parity_task.py, line 14)",
                         error and f"{error.type}: {error.message}")

    def test_a_corrected_label_changes_verdicts_and_nothing_else(self) -> None:
        corrected = (replace(self.cases[0], expected="no"), self.cases[1])
        before, after = self.fields(self.judged()), self.fields(self.judged(cases=corrected))
        self.assertNotEqual(before["results"], after["results"])
        for value in (before, after):
            for result in value["results"]:
                for name in ("verdict", "checks", "explain"):
                    del result[name]
            del value["totals"], value["cases"][0]["expected"], value["cases"][0]["sha256"]
        self.assertEqual(before, after)

    def test_a_corrected_check_changes_verdicts_and_the_judge_and_nothing_else(self) -> None:
        task, _ = toy(self.folder, TASK_SOURCE.replace("< 5", "< 1"))
        before, after = self.fields(self.judged()), self.fields(self.judged(task))
        self.assertNotEqual(before["judge"], after["judge"])
        for value in (before, after):
            for result in value["results"]:
                for name in ("verdict", "checks", "explain"):
                    del result[name]
            del value["totals"], value["judge"]
        self.assertEqual(before, after)

    def test_the_order_of_the_cases_file_changes_nothing(self) -> None:
        self.assertEqual(self.judged(), self.judged(cases=self.cases[::-1]))

    @staticmethod
    def fields(record: RunRecord) -> Any:
        return json.loads(b"".join(run_record_bytes(record)))


TYPED = Command("harness.py", ("run",))


class Fitting(WithARecording):
    def refused(self, task: Task | None = None, cases: Sequence[Case] | None = None, trials: int | None = None) -> str:
        with self.assertRaises(Unusable) as caught:
            fitted(self.made, "robot.json", task or self.task, cases or self.cases, trials, TYPED)
        self.assertTrue(str(caught.exception).startswith("robot.json: "))
        return str(caught.exception)

    def test_a_recording_that_fits_is_taken_as_it_is(self) -> None:
        self.assertIs(self.made, fitted(self.made, "robot.json", self.task, self.cases, None, TYPED))
        self.assertIs(self.made, fitted(self.made, "robot.json", self.task, self.cases, 4, TYPED))

    def test_fewer_trials_take_the_first_ones(self) -> None:
        cut = fitted(self.made, "robot.json", self.task, self.cases, 2, TYPED)
        self.assertEqual((2, [1, 2]), (cut.trials, [trial.trial for trial in cut.cases[1].trials]))
        self.assertEqual(4, len(judge_recording(cut, self.task, self.cases, CIRCUMSTANCES).results))

    def test_more_trials_than_recorded_are_refused(self) -> None:
        self.assertIn("it holds 4 trials of every case, not 5", self.refused(trials=5))

    def test_missing_cases_are_refused_by_name(self) -> None:
        more = tuple(replace(self.cases[0], id=f"new-{number}") for number in range(7))
        words = self.refused(cases=(*self.cases, *more))
        self.assertIn("it has no cases new-0, new-1, new-2, new-3, new-4 and 2 more", words)

    def test_cases_that_are_gone_are_refused_by_name(self) -> None:
        self.assertIn("case three of it is not among the cases any more", self.refused(cases=self.cases[:1]))

    def test_another_split_is_refused(self) -> None:
        other = tuple(replace(case, split="test") for case in self.cases)
        self.assertIn("recording of the split development, not test", self.refused(cases=other))

    def test_a_changed_prompt_is_refused_and_the_cases_it_changes_are_named(self) -> None:
        changed = TASK_SOURCE.replace("Is {case.input}", "Is {case.input if case.input > 2 else 'two'}")
        words = self.refused(toy(self.folder, changed)[0])
        self.assertIn("the prompt or schema of case two has changed", words)
        self.assertNotIn("three", words)

    def test_a_changed_schema_is_refused(self) -> None:
        changed, _ = toy(self.folder, TASK_SOURCE.replace("return None", "return {}"))
        self.assertIn("the prompt or schema of cases two, three has changed", self.refused(changed))

    def test_a_changed_label_tag_or_check_is_not_refused(self) -> None:
        corrected = (replace(self.cases[0], expected="no", tags=("new",)), self.cases[1])
        task, _ = toy(self.folder, TASK_SOURCE.replace("< 5", "< 6"))
        self.assertIs(self.made, fitted(self.made, "robot.json", task, corrected, None, TYPED))


class FindingTheRecording(WithARecording):
    def test_a_log_and_its_recording_replay_alike(self) -> None:
        put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget")
        kept = self.folder / "anything.txt"
        keep_recording(kept, recording_from(reference_of(str(self.path))))
        self.assertEqual((True, False), (is_log(self.path), is_log(kept)))
        records = [judge_recording(recording_from(reference_of(str(path))), self.task, self.cases, CIRCUMSTANCES)
                   for path in (self.path, kept)]
        self.assertEqual(records[0], records[1])

    def test_a_log_that_begins_with_damage_is_still_a_log(self) -> None:
        put_log(self.path, self.task, self.cases, mixed_outcomes())
        self.path.write_bytes(b"damage\n" + self.path.read_bytes())
        self.assertTrue(is_log(self.path))

    def test_a_recording_whose_keys_were_put_in_another_order_is_still_one(self) -> None:
        kept = self.folder / "robot.json"
        keep_recording(kept, self.made)
        kept.write_text(json.dumps(json.loads(kept.read_bytes()), sort_keys=True), encoding="ascii")
        self.assertEqual(self.made.system, recording_from(reference_of(str(kept))).system)

    def test_a_mark_in_a_file_name_is_part_of_it(self) -> None:
        kept = self.folder / "run#2.json"
        keep_recording(kept, self.made)
        self.assertEqual((kept, None), (reference_of(str(kept)).path, reference_of(str(kept)).system))
        self.assertEqual("toys:robot", reference_of(f"{kept}#toys:robot").system)

    def test_a_recording_of_another_system_is_refused(self) -> None:
        kept = self.folder / "robot.json"
        keep_recording(kept, self.made)
        with self.assertRaisesRegex(Unusable, "recording of toys:robot, not of toys:doll"):
            recording_from(reference_of(f"{kept}#toys:doll"))

    def test_what_is_neither_is_refused(self) -> None:
        for name, data, words in (
            ("empty", b"", "nothing recorded yet"), ("text", b"hello", "not JSON"),
            ("json", b"{}", "recording is missing"),
        ):
            with self.subTest(name=name):
                path = self.folder / name
                path.write_bytes(data)
                with self.assertRaisesRegex(Unusable, words):
                    recording_from(reference_of(str(path)))
        for path in (self.folder, self.folder / "nowhere"):
            with self.subTest(path=path), self.assertRaisesRegex(Unusable, path.name):
                recording_from(reference_of(str(path)))
