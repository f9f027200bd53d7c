"""Every command that a refusal offers works as it is typed: with the flags that were given, in any folder."""
from __future__ import annotations

import json

from tests.commands import ROOT
from tests.workflow import NOWHERE, WorkflowWithServer, typed, typed_in

TASK = '''\
NAME, VERSION = "meet", "1"
def messages(case): return [{"role": "user", "content": case.input}]
def schema(): return None
def check(case, output): return {"right": output == case.expected}
'''


class Offers(WorkflowWithServer):
    """A task of one's own, whose cases are in a file and a split of their own."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "meet_task.py").write_text(TASK, encoding="utf-8")
        cases = [{"id": f"m{number}", "split": "dev", "input": f"meet {number}", "expected": "yes", "tags": []}
                 for number in range(3)]
        (self.folder / "meet.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
        self.asked_for = "--task meet_task --cases meet.json --split dev --trials 2"

    def offer(self, command: str, code: int, before: str) -> str:
        """The command that ends the refusal of another one, behind some words."""
        line = self.refused(command, code, before)
        return line.rpartition(before)[2].strip()

    def test_without_a_server(self) -> None:
        for more in ("", "--case m1", "--log recorded/mine.jsonl --limit 2"):
            with self.subTest(more=more):
                offered = self.offer(f"bench.py {self.asked_for} --system ollama:a --host {NOWHERE} {more}", 3,
                                     "run without a model: ")
                self.assertIn("0 of 6 planned", self.well(f"{offered} --dry-run"))
        self.well(offered)

    def test_without_a_server_and_with_the_log_of_another_plan_or_task_where_the_offered_one_would_be(self) -> None:
        self.well("bench.py --system baselines:most-common --trials 3 --quiet")
        self.well("harness.py run --system replay:recorded/most-common.json")
        for command, new in (
                (f"bench.py {self.asked_for}", "--log recorded/most-common-2.jsonl"),
                (f"bench.py {self.asked_for} --log recorded/z.jsonl", "--log recorded/most-common-3.jsonl"),
                (f"harness.py run {self.asked_for}", "--out runs/most-common-2.json")):
            with self.subTest(command=command):
                offered = self.offer(f"{command} --system ollama:a", 3, "run without a model: ")
                self.assertTrue(offered.endswith(f" --system baselines:most-common {new}"), offered)
                self.assertEqual(0, self.type(offered).code)

    def test_with_what_only_the_log_says(self) -> None:
        self.type(f"bench.py {self.asked_for} --system ollama:smollm2:135m --host {self.server.host} --limit 1 "
                  "--log recorded/mine.jsonl --quiet")
        offered = self.offer(f"bench.py --task meet_task --cases meet.json --log recorded/mine.jsonl --host {NOWHERE}",
                             3, "run without a model: ")
        self.assertIn("Done: every planned trial ran", self.type(offered).stdout)

    def test_for_a_model_that_is_not_installed(self) -> None:
        self.server.models = {"smollm2:135m": "a" * 64}
        for place in ("--log recorded/mine.jsonl", ""):
            with self.subTest(place=place):
                offered = self.offer(f"bench.py {self.asked_for} {place} --system ollama:llama9 --host "
                                     f"{self.server.host} --quiet", 3, "; or: ")
                self.assertIn("Done: every planned trial ran", self.type(offered).stdout)

    def test_for_a_model_that_is_gone_from_the_server_another_log_is_begun(self) -> None:
        self.type(f"bench.py {self.asked_for} --system ollama:smollm2:135m --host {self.server.host} --limit 1 "
                  "--log recorded/mine.jsonl --quiet")
        self.server.models = {"other:1b": "b" * 64}
        for asked_for in (self.asked_for, "--task meet_task --cases meet.json"):
            with self.subTest(asked_for=asked_for):
                offered = self.offer(f"bench.py {asked_for} --system ollama:smollm2:135m --host {self.server.host} "
                                     "--log recorded/mine.jsonl --quiet", 3, "; or: ")
                self.assertIn("all 6 planned trials were judged", self.type(offered).stdout)

    def test_for_another_model_whose_usual_log_is_there_already(self) -> None:
        self.server.models = {"other:1b": "b" * 64}
        here = f"--host {self.server.host} --quiet"
        self.assertEqual(0, self.type(f"bench.py --system ollama:other:1b --trials 3 {here}").code)
        usual, = (path.stem for path in (self.folder / "recorded").glob("*.jsonl"))
        for shard, name in (("", f"{usual}-2"), ("--shard 1/2", f"{usual}.shard-1-of-2")):
            with self.subTest(shard=shard):
                asked = f"bench.py {self.asked_for} --system ollama:llama9 {shard} {here}"
                for _ in range(2):
                    offered = self.offer(asked, 3, "; or: ")
                    self.assertEqual(0, self.type(offered).code, offered)
                self.assertTrue((self.folder / f"recorded/{name}.jsonl").exists())

    def test_to_judge_by_the_task_that_was_recorded(self) -> None:
        self.well(f"bench.py {self.asked_for} --system baselines:most-common --log recorded/mine.jsonl --quiet")
        self.put_task("same_task", "")
        self.put_task("rude_task", "!")
        cases = json.loads((self.folder / "meet.json").read_text(encoding="utf-8"))["cases"]
        for name, some in (("fewer", cases[1:]), ("more", [*cases, {**cases[0], "id": "m9"}])):
            (self.folder / f"{name}.json").write_text(json.dumps({"cases": some}), encoding="utf-8")
        other = "it was recorded with --task meet_task, not rude_task; "
        for name in ("mine.jsonl", "mine.json"):
            judge = f"harness.py run --system replay:recorded/{name}"
            with self.subTest(name=name):
                self.well(f"{judge} --cases meet.json --task same_task")
                self.refused(f"{judge} --cases fewer.json --task rude_task", 2, f"{other}case m0 of it is not")
                self.refused(f"{judge} --cases more.json --task rude_task", 2, f"{other}it has no case m9")
                self.well(self.offer(
                    f"{judge} --cases meet.json --task rude_task", 2,
                    f"{other}the prompt or schema of cases m0, m1, m2 is another there; judge it with "))

    def test_to_record_again_where_the_prompt_of_the_same_task_has_changed(self) -> None:
        self.well(f"bench.py {self.asked_for} --system baselines:most-common --log recorded/mine.jsonl --quiet")
        self.put_task("meet_task", "?")
        line = self.refused("harness.py run --task meet_task --cases meet.json --system replay:recorded/mine.json", 2,
                            "mine.json: the prompt or schema of cases m0, m1, m2 has changed since it was recorded")
        self.assertEqual(0, self.type(f"{line.rpartition('record again: ')[2]} --quiet").code)

    def put_task(self, name: str, end: str) -> None:
        """A task like the one of the folder, whose prompts have another end."""
        (self.folder / f"{name}.py").write_text(TASK.replace("case.input}]", f"case.input + {end!r}}}]"),
                                                encoding="utf-8")

    def test_to_judge_a_log_or_a_recording(self) -> None:
        self.well(f"bench.py {self.asked_for} --system baselines:most-common --log recorded/mine.jsonl --quiet")
        for name in ("mine.jsonl", "mine.json"):
            with self.subTest(name=name):
                offered = self.offer(f"report.py recorded/{name}", 2, "in cases.json): ")
                self.assertIn("6 of 6", self.well(f"{offered} --cases meet.json"))

    def test_to_record_more(self) -> None:
        self.well(f"bench.py {self.asked_for} --system baselines:most-common --log recorded/mine.jsonl --quiet")
        offered = self.offer("harness.py run --task meet_task --cases meet.json --system replay:recorded/mine.json "
                             "--trials 3", 2, "record more: ")
        self.assertIn("Done: every planned trial ran", self.type(offered).stdout)

    def test_without_any_word(self) -> None:
        told = typed(["bench.py"], by_path=True)
        self.assertEqual((3, ""), (told.code, told.stdout), told.stderr)
        offered = told.stderr.rpartition("run without a model: ")[2].split()
        self.assertEqual(["python3", str(ROOT / "bench.py"), "--system", "baselines:keywords"], offered)
        self.assertEqual(0, typed_in(self.folder, "bench.py", *offered[2:]).code)
