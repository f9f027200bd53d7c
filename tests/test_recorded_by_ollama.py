"""What the logs that Ollama itself gave show, and a stand-in did not: loading within a trial, answers cut at the
limit, a session whose context nobody told, and work beside it."""
from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.values import Timings
from tests.commands import ROOT
from tests.logs_samples import put_log
from tests.recordings_samples import reply, toy
from tests.test_tasks_task import InAFolder
from tests.workflow import typed_in

ELSEWHERE = "one core of a shared AMD EPYC virtual machine, 24 GiB, no GPU; other work beside it"


def recorded(name: str) -> list[dict[str, Any]]:
    """The lines of a committed log."""
    return [json.loads(line) for line in (ROOT / "recorded" / f"{name}.jsonl").read_text("ascii").splitlines()]


class RecordedByOllama(InAFolder):
    def report(self, name: str) -> tuple[str, dict[str, Any]]:
        """The text report of a committed run record, and the run in JSON."""
        told = typed_in(self.folder, "report.py", str(ROOT / "runs" / f"{name}.json"), "--out", "report.json")
        self.assertEqual(0, told.code, told.stderr)
        return told.stdout, json.loads((self.folder / "report.json").read_text("ascii"))["runs"][0]

    def test_every_trial_says_tokens_and_timings_and_none_ended_without_a_word(self) -> None:
        for name, ends in (("qwen2.5-coder", {"stop": 320}), ("smollm2", {"stop": 313, "length": 7})):
            with self.subTest(name=name):
                trials = [line for line in recorded(name) if line["kind"] == "trial"]
                found = [line["finish"] for line in trials]
                self.assertEqual(ends, {end: found.count(end) for end in ends})
                for line in trials:
                    self.assertTrue(all(line["usage"][key] for key in ("prompt_tokens", "output_tokens")))
                    self.assertTrue(all(isinstance(value, float) for value in line["timings"].values()))

    def test_answers_cut_at_the_limit_are_counted_and_none_is_incomplete(self) -> None:
        text, run = self.report("smollm2")
        self.assertIn("cut-off-answers: 7 of 320 answers were cut off at the length limit", text)
        self.assertEqual((320, {}), (run["coverage"]["completed"], run["coverage"]["by_error"]))

    def test_latencies_stand_beside_the_hardware_that_gave_them(self) -> None:
        for name in ("qwen2.5-coder", "smollm2"):
            page, comment = self.folder / f"{name}.html", self.folder / f"{name}.md"
            typed_in(self.folder, "report.py", str(ROOT / "runs" / f"{name}.json"), "--html", str(page), "--markdown",
                     str(comment))
            for text in (self.report(name)[0], page.read_text("utf-8"), comment.read_text("utf-8")):
                words = " ".join(re.sub(r"<[^>]*>|[`*:]", " ", text).split())
                self.assertIn(f"Measured on {ELSEWHERE}", words)
        told = typed_in(self.folder, "harness.py", "compare", *(
            str(ROOT / "runs" / f"{name}.json") for name in ("smollm2", "qwen2.5-coder")))
        self.assertIn(f" measured on {ELSEWHERE} ", " ".join(told.stdout.split()))

    def test_a_context_that_one_session_did_not_tell_is_no_difference(self) -> None:
        lengths = [line["context_length"] for line in recorded("qwen2.5-coder") if line["kind"] == "loaded"]
        self.assertEqual([4096, None], lengths)
        self.assertNotIn("sessions-differ", self.report("qwen2.5-coder")[0])

    def test_trials_that_waited_for_the_model_are_counted_and_all_of_them_are_cold(self) -> None:
        text, run = self.report("qwen2.5-coder")
        self.assertIn("60 trials waited for the model, up to 44.26 s", text)
        self.assertEqual((254, 66), (run["latency"]["warm"]["n"], run["latency"]["cold"]["n"]))

    def test_a_later_trial_that_waited_for_the_model_is_no_warm_one(self) -> None:
        task, cases = toy(self.folder)
        waited = replace(reply("yes"), timings=Timings(4.2, 0.02, 0.3, 4.3, 0.0))
        put_log(self.folder / "robot.jsonl", task, cases, {
            "two": [reply("yes"), waited, reply("yes")], "three": [reply("no")] * 3})
        for command in ("harness.py run --task parity_task --system replay:robot.jsonl --out run.json",
                        "report.py run.json --out report.json"):
            self.assertEqual(0, typed_in(self.folder, *command.split()).code)
        latency = json.loads(Path(self.folder, "report.json").read_text("ascii"))["runs"][0]["latency"]
        self.assertEqual((3, 3), (latency["warm"]["n"], latency["cold"]["n"]))
