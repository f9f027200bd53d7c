"""The files of recordings and run records: a trial a line, read back to equal values, strictly."""
from __future__ import annotations

import copy
import json
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.errors import Unusable
from benchkit.recordings.recording import Recording, keep_recording, read_recording, recording_bytes
from benchkit.recordings.replay import Circumstances, judge_recording, with_measured_latency
from benchkit.recordings.run_record import RunRecord, Totals, keep_run_record, read_run_record, run_record_bytes
from tests.recordings_samples import mixed_outcomes, recorded, recording, reply, toy
from tests.test_tasks_task import InAFolder

CIRCUMSTANCES = Circumstances("2026-11-30T13:00:00.000Z", {"python": "3.11"})


class WithSamples(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.task, self.cases = toy(self.folder)
        made = recording(self.task, self.cases, mixed_outcomes())
        slept = recorded(made.cases[0].ask, 1, reply("yes"), slept_s=6.5)
        first = replace(made.cases[0], trials=(slept, *made.cases[0].trials[1:]))
        self.recording = replace(made, cases=(first, *made.cases[1:]))
        self.record = judge_recording(self.recording, self.task, self.cases, CIRCUMSTANCES)


class WritingAndReadingBack(WithSamples):
    def test_a_recording_has_a_line_for_each_session_and_trial(self) -> None:
        data = b"".join(recording_bytes(self.recording)).decode("ascii")
        value = json.loads(data)
        lines = data.splitlines()
        self.assertEqual(value["sessions"], [json.loads(lines[9])])
        self.assertEqual([trial for case in value["cases"] for trial in case["trials"]],
                         [json.loads(line.removesuffix(",")) for line in lines if line.startswith('   {"trial"')])
        self.assertEqual([f'  {{"id": "{case.id}", "ask": "{case.ask}", "trials": [' for case in self.recording.cases],
                         [line for line in lines if line.startswith('  {"id"')])
        self.assertEqual(["{", ' "recording": 2,', ' "kit": "1.0.0",'], lines[:3])

    def test_a_run_record_has_a_line_for_each_session_case_and_result(self) -> None:
        data = b"".join(run_record_bytes(with_measured_latency(self.record))).decode("ascii")
        value, lines = json.loads(data), data.splitlines()
        for name in ("sessions", "cases", "results"):
            first = lines.index(f' "{name}": [') + 1
            self.assertEqual(value[name], [json.loads(line.removesuffix(","))
                                           for line in lines[first:first + len(value[name])]])
            self.assertIn(lines[first + len(value[name])], (" ],", " ]"))
        self.assertEqual(["{", ' "run_record": 2,'], lines[:2])
        self.assertEqual([' "totals": {"planned": 8, "pass": 2, "fail": 2, "incomplete": 4}', "}"], lines[-2:])

    def test_of_a_reply_the_texts_of_strangers_stand_last(self) -> None:
        for data in (recording_bytes(self.recording), run_record_bytes(self.record)):
            line = next(line for line in b"".join(data).splitlines() if b"</script>" in line)
            self.assertEqual(["finish", "output", "reasoning"], [*json.loads(line.removesuffix(b","))][-3:])

    def test_a_recording_is_read_back_to_an_equal_one(self) -> None:
        path = self.folder / "recording.json"
        self.assertTrue(keep_recording(path, self.recording))
        # the time between retries is not in a recording
        self.assertEqual(b"".join(recording_bytes(self.recording)), b"".join(recording_bytes(read_recording(path))))
        kept = read_recording(path)
        self.assertEqual((self.recording.settings, self.recording.sessions, self.recording.task),
                         (kept.settings, kept.sessions, kept.task))

    def test_a_run_record_is_read_back_to_an_equal_one(self) -> None:
        path = self.folder / "run.json"
        keep_run_record(path, self.record)
        self.assertEqual(self.record, read_run_record(path))

    def test_an_equal_recording_is_left_alone(self) -> None:
        path = self.folder / "recording.json"
        keep_recording(path, self.recording)
        before = path.stat().st_mtime_ns, path.stat().st_ino
        self.assertFalse(keep_recording(path, self.recording))
        self.assertEqual(before, (path.stat().st_mtime_ns, path.stat().st_ino))

    def test_a_trial_that_did_not_run_has_trial_seed_and_error_only(self) -> None:
        trial = json.loads(b"".join(recording_bytes(self.recording)))["cases"][0]["trials"][3]
        error = {"type": "NotRun", "message": "not run: the budget ended first"}
        self.assertEqual({"trial": 4, "seed": 1004, "error": error}, trial)

    def test_an_error_stands_in_place_of_output_finish_and_reasoning(self) -> None:
        trials = json.loads(b"".join(recording_bytes(self.recording)))["cases"][0]["trials"]
        self.assertEqual({"output", "finish", "reasoning"}, trials[2].keys() - trials[1].keys())
        self.assertEqual({"error"}, trials[1].keys() - trials[2].keys())
        self.assertIsNone(trials[1]["usage"])

    def test_totals_add_up(self) -> None:
        self.assertEqual(Totals(8, 2, 2, 4), self.record.totals)


Change = Callable[[Any], object]


class ReadingStrangers(WithSamples):
    def refusals(self, kept: bytes, read: Callable[[Path], object], changes: list[tuple[Change, str]]) -> None:
        path = self.folder / "altered.json"
        for change, words in changes:
            value = copy.deepcopy(json.loads(kept))
            change(value)
            path.write_text(json.dumps(value), encoding="ascii")
            with self.subTest(words=words):
                with self.assertRaises(Unusable) as caught:
                    read(path)
                self.assertIn(words, str(caught.exception))
                self.assertIn(str(path), str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))

    def test_a_malformed_recording_is_refused_with_file_and_field(self) -> None:
        def trial(number: int) -> Callable[[Any], Any]:
            return lambda value: value["cases"][0]["trials"][number]

        self.refusals(b"".join(recording_bytes(self.recording)), read_recording, [
            (lambda v: v.update(recording=3), "recording is 3, not 1 or 2, the versions this kit reads"),
            (lambda v: v.pop("recording"), "recording is missing"),
            (lambda v: v.pop("kit"), "kit is missing"),
            (lambda v: v.update(more=1), "more is no field that is known"),
            (lambda v: v.update(trials=0), "trials is 0"),
            (lambda v: v.update(trials=True), "trials is true"),
            (lambda v: v.update(trials=3), "cases[0].trials is not the trials 1 to 3"),
            (lambda v: v.update(settings=[]), "settings is a list, not an object"),
            (lambda v: v.update(sessions=[]), "sessions is a list, not a list of at least one"),
            (lambda v: v["sessions"][0].update(started_at="today"), "sessions[0].started_at"),
            (lambda v: v["sessions"][0].update(stop="tired"), "sessions[0].stop"),
            (lambda v: v["sessions"][0].pop("load_s"), "sessions[0].load_s is missing"),
            (lambda v: v["task"].update(name=None), "task.name is null"),
            (lambda v: v["cases"].append(v["cases"][0]), "cases[2].id is the same as cases[0].id"),
            (lambda v: v["cases"][0].update(ask="xyz"), "cases[0].ask"),
            (lambda v: trial(0)(v).update(trial=2, seed=1002), "cases[0].trials is not the trials"),
            (lambda v: v["cases"][0]["trials"].pop(), "cases[0].trials is not the trials"),
            (lambda v: v["cases"][0]["trials"].reverse(), "cases[0].trials is not the trials"),
            (lambda v: trial(0)(v).update(seed=1.5), "cases[0].trials[0].seed is 1.5"),
            (lambda v: trial(0)(v).update(seed=7), "cases[0].trials[0].seed is 7"),
            (lambda v: trial(0)(v).update(output=5), "cases[0].trials[0].output is 5"),
            (lambda v: trial(0)(v).update(slept_s="long"), "cases[0].trials[0].slept_s"),
            (lambda v: trial(0)(v).update(attempts=0), "cases[0].trials[0].attempts is 0"),
            (lambda v: trial(0)(v).update(cold=1), "cases[0].trials[0].cold is 1"),
            (lambda v: trial(0)(v).update(recorded_latency_s=-1), "cases[0].trials[0].recorded_latency_s is -1"),
            (lambda v: trial(0)(v)["usage"].update(prompt_tokens="9"), "cases[0].trials[0].usage.prompt_tokens"),
            (lambda v: trial(0)(v)["timings"].pop("load_s"), "cases[0].trials[0].timings.load_s is missing"),
            (lambda v: trial(1)(v)["error"].update(type="Weather"), "cases[0].trials[1].error.type"),
            (lambda v: trial(1)(v)["error"].update(type="CheckError"), "cases[0].trials[1].error.type"),
            (lambda v: trial(1)(v).update(output="x"), "cases[0].trials[1].output is no field"),
            (lambda v: trial(3)(v).update(attempts=1), "cases[0].trials[3].attempts is no field"),
        ])

    def test_a_malformed_run_record_is_refused_with_file_and_field(self) -> None:
        def result(number: int) -> Callable[[Any], Any]:
            return lambda value: value["results"][number]

        self.refusals(b"".join(run_record_bytes(self.record)), read_run_record, [
            (lambda v: v.update(run_record="1"), 'run_record is "1", not 1 or 2'),
            (lambda v: v.pop("environment"), "environment is missing"),
            (lambda v: v["judge"].update(task_sha256="0" * 63), "judge.task_sha256"),
            (lambda v: v["cases"][0].update(tags=[1]), "cases[0].tags"),
            (lambda v: v["cases"][0].pop("expected"), "cases[0].expected is missing"),
            (lambda v: v["cases"][1].update(id="TWO"), "cases[1].id is the same as cases[0].id"),
            (lambda v: v["results"].pop(), "results holds 7 trials, but 2 cases x 4 trials are 8"),
            (lambda v: v["results"].append(v["results"][-1]), "results holds 9 trials"),
            (lambda v: v["results"].insert(0, v["results"][0]), "results[1] is not trial 2 of case two"),
            (lambda v: v["results"].reverse(), "results[0] is not trial 1 of case two"),
            (lambda v: result(0)(v).update(verdict="passs"), "results[0].verdict"),
            (lambda v: result(0)(v).update(verdict="fail"), "results[0].verdict does not follow from its checks"),
            (lambda v: result(2)(v).update(verdict="pass"), "results[2].verdict does not follow"),
            (lambda v: result(0)(v).update(checks={"right": 1}), "results[0].checks"),
            (lambda v: result(0)(v).update(checks={}), "results[0].checks"),
            (lambda v: result(0)(v).update(checks=None), "results[0] is a pass, so it needs"),
            (lambda v: result(2)(v).update(explain={"right": 1}), "results[2].explain"),
            (lambda v: result(1)(v).update(error=None), "results[1] is incomplete, so it needs an error"),
            (lambda v: result(1)(v).update(output="x"), "results[1] has both an output and a Timeout"),
            (lambda v: result(1)(v)["error"].update(type="Weather"), "results[1].error.type"),
            (lambda v: result(0)(v).update(usage=5), "results[0].usage is 5, not an object"),
            (lambda v: result(0)(v).update(latency_s="fast"), "results[0].latency_s"),
            (lambda v: v["totals"].update({"pass": 3}), "totals.pass is 3, not the 2 that the results add up to"),
            (lambda v: v["totals"].update(planned=9), "totals.planned is 9"),
            (lambda v: v["totals"].update(left=0), "totals.left is no field"),
        ])

    def test_what_is_no_json_object_is_refused(self) -> None:
        path = self.folder / "strange.json"
        for data in (b"", b"[]", b"null", b'{"recording": 1', b"\xff", b'{"recording": 1, "recording": 1}',
                     b"[" * 10**5):
            for read in (read_recording, read_run_record):
                with self.subTest(data=data[:20], read=read.__name__):
                    path.write_bytes(data)
                    with self.assertRaises(Unusable):
                        read(path)


class Circumstantial(WithSamples):
    def test_only_started_at_environment_and_latency_describe_the_run(self) -> None:
        other = judge_recording(self.recording, self.task, self.cases, Circumstances("2027-01-01T00:00:00.000Z", {}))
        one, two = (json.loads(b"".join(run_record_bytes(record))) for record in (self.record, other))
        self.assertEqual({"started_at", "environment"}, {key for key in one if one[key] != two[key]})
        measured = json.loads(b"".join(run_record_bytes(with_measured_latency(self.record))))
        self.assertEqual([result["recorded_latency_s"] for result in one["results"]],
                         [result["latency_s"] for result in measured["results"]])


def samples(folder: Path) -> tuple[Recording, RunRecord]:
    """A recording of one of everything, and its run record."""
    task, cases = toy(folder)
    made = recording(task, cases, mixed_outcomes())
    return made, judge_recording(made, task, cases, CIRCUMSTANCES)


class AtScale(unittest.TestCase):
    def test_writing_a_trial_takes_little_more_than_encoding_it(self) -> None:
        import time
        with tempfile.TemporaryDirectory() as folder:
            made, _ = samples(Path(folder))
        many = replace(made, cases=made.cases * 100)
        value = json.loads(b"".join(recording_bytes(many)))

        def fastest(work: Callable[[], object]) -> float:
            times = []
            for _ in range(5):
                start = time.process_time()
                work()
                times.append(time.process_time() - start)
            return min(times)

        # the encoder without indentation is C in every Python; with it, 5 times slower in 3.11 and 3.12
        self.assertLess(fastest(lambda: list(recording_bytes(many))), 4 * fastest(lambda: json.dumps(value)))
