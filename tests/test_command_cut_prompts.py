"""What a server made of a prompt: one that it cut is told of, and one that has few tokens for good reasons is not."""
from __future__ import annotations

import json
from typing import Any

from tests.fake_ollama import says, status
from tests.workflow import WorkflowWithServer

TASK = """
NAME, VERSION = "toy", "1"
def messages(case): return [{"role": "user", "content": str(case.input)}]
def schema(): return None
def check(case, output): return {"right": output == case.expected}
"""
WORDS = "lorem ipsum dolor sit amet "
CUT = "the server counted 2,050 tokens where"


class Prompts(WorkflowWithServer):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "toy_task.py").write_text(TASK, encoding="utf-8")

    def told_of(
            self, prompt: str, tokens: int, cached: int = 0, name: str = "a") -> tuple[str, dict[str, Any], list[str]]:
        """Ask one prompt, of which the server counts so many tokens: stderr, the usage in the log, the warnings."""
        self.put_cases([{"id": "long", "split": "development", "input": prompt, "expected": "yes"}])
        self.server.models = {"toy:1b": "a" * 64}
        self.server.next(says("yes", prompt_eval_count=tokens, prompt_eval_cached_count=cached))
        told = self.type(f"bench.py --task toy_task --system ollama:toy:1b --host {self.server.host} --trials 1 "
                         f"--log recorded/{name}.jsonl")
        self.assertEqual(0, told.code, told)
        trial = next(line for line in self.lines(self.folder / f"recorded/{name}.jsonl") if line["kind"] == "trial")
        self.well(f"harness.py run --task toy_task --system replay:recorded/{name}.json --trials 1 "
                  f"--out runs/{name}.json")
        for out in (f"runs/{name}.json", f"runs/{name}-lines.jsonl"):
            self.well(f"harness.py run --task toy_task --system replay:recorded/{name}.jsonl --trials 1 --out {out}")
        self.well(f"report.py runs/{name}.json --out {name}.json")
        self.well(f"report.py runs/{name}-lines.jsonl --out {name}-lines.json")
        reports = [self.json(f"{name}.json"), self.json(f"{name}-lines.json")]
        codes = [[one["code"] for one in report["runs"][0]["warnings"]] for report in reports]
        self.assertEqual(codes[0], codes[1])
        return told.stderr, trial["usage"], codes[0]

    def test_one_that_has_too_few_tokens_for_its_letters_was_cut_and_the_log_says_what_that_rests_on(self) -> None:
        stderr, usage, warnings = self.told_of(WORDS * 2500, 2050)
        self.assertIn(f"long: {CUT} 67,500 letters were asked: it has cut the prompt, or does not count", stderr)
        self.assertEqual((2050, 67_500), (usage["prompt_tokens"], usage["asked_letters"]))
        self.assertIn("prompt-cut", warnings)

    def test_one_with_few_tokens_for_good_reasons_is_no_news(self) -> None:
        for name, prompt, tokens, cached in (
                ("long-words", "Donaudampfschifffahrtsgesellschaft " * 1000, 9000, 0),
                ("several-words-a-token", WORDS * 2500, 67_500 // 8, 0),
                ("spaces", ("x" + " " * 127) * 600, 1200, 0), ("lines", "\n \t\n" * 20_000, 600, 0),
                ("rules", ("=" * 64 + "\n") * 1000, 2000, 0), ("chinese", "\u5929\u5929\u4e2d" * 20_000, 10_000, 0),
                ("short", WORDS * 70, 30, 0), ("counted-apart", WORDS * 2500, 40, 12_500),
                ("unknown", WORDS * 2500, 0, 0)):
            with self.subTest(name):
                stderr, usage, warnings = self.told_of(prompt, tokens, cached, name)
                self.assertNotIn("letters", stderr)
                self.assertNotIn("asked_letters", usage)
                self.assertNotIn("prompt-cut", warnings)

    def test_a_context_smaller_than_asked_for_is_said_at_the_start_and_in_the_report(self) -> None:
        for length, is_told in ((4096, True), (8192, False), (16384, False)):
            with self.subTest(length):
                self.server.paths["/api/ps"] = status(200, json.dumps({"models": [
                    {"name": "toy:1b", "model": "toy:1b", "context_length": length}]}))
                stderr, _, warnings = self.told_of("yes?", 5, name=f"context-{length}")
                line = f"toy:1b is loaded with a context of {length:,} tokens, and 8,192 were asked for (num_ctx)"
                self.assertEqual(is_told, line in stderr, stderr)
                self.assertEqual(is_told, "context-smaller-than-asked" in warnings)


class ModelsThatRunElsewhere(WorkflowWithServer):
    def run_of(self, tag: str, remote_model: str | None, said: str, opening: Any = None) -> tuple[int, str, list[str]]:
        """A run whose replies name `said`: exit code, stderr, and the errors of its trials."""
        entry = {"name": tag, "model": tag, "digest": "a" * 64, "remote_model": remote_model,
                 "remote_host": "https://ollama.com:443" if remote_model else None}
        self.server.paths["/api/tags"] = status(200, json.dumps({"models": [entry]}))
        line = {"model": said, "message": {"role": "assistant", "content": "yes"}, "done": True, "done_reason": "stop"}
        reply = status(200, json.dumps(line))
        self.server.paths["/api/chat"] = lambda handler, seen: (
            opening if opening and not seen.body["messages"] else reply)(handler, seen)
        self.log.unlink(missing_ok=True)
        told = self.type(f"bench.py --system model_triage:{tag} --host {self.server.host} --trials 1 --allow-cloud "
                         f"--log {self.log}")
        return told.code, told.stderr, [line["error"]["message"] for line in self.lines()
                                        if line["kind"] == "trial" and "error" in line]

    def test_they_may_answer_under_their_name_there(self) -> None:
        for tag, remote_model, said in (
                ("big:1b-cloud", "big:1b", "big:1b"), ("big:1b-cloud", "big:1b", "big:1b-cloud"),
                ("big:1b-cloud", None, "BIG:1b"), ("big:cloud", None, "big"), ("big:cloud", "big", "big:latest"),
                ("mine:latest", "theirs:70b", "theirs:70b")):
            with self.subTest(tag, said=said):
                self.assertEqual((0, []), self.run_of(tag, remote_model, said)[::2])

    def test_another_model_is_another_one_there_as_well(self) -> None:
        for tag, remote_model, said in (("big:1b-cloud", "big:1b", "big:2b"), ("mine:1b", None, "mine"),
                                        ("mine:1b-clouds", None, "mine:1b")):
            with self.subTest(tag, said=said):
                code, stderr, _ = self.run_of(tag, remote_model, said)
                self.assertEqual(3, code)
                self.assertIn("a line of it is of another model", stderr)

    def test_an_opening_chat_that_fails_is_not_the_end_for_nothing_has_to_be_loaded(self) -> None:
        for opening in (status(500, '{"error":"index out of range"}'), status(200, '{"error":"index out of range"}')):
            code, stderr, errors = self.run_of("big:1b-cloud", "big:1b", "big:1b", opening)
            self.assertEqual((0, []), (code, errors))
            self.assertIn("big:1b-cloud runs elsewhere, so nothing has to be loaded; the opening chat failed", stderr)
            self.assertIn("index out of range", stderr)
            code, stderr, _ = self.run_of("near:1b", None, "near:1b", opening)
            self.assertEqual(3, code)
            self.assertIn("near:1b could not be loaded", stderr)
        code, stderr, _ = self.run_of("big:1b-cloud", "big:1b", "big:1b", status(401, '{"error":"unauthorized"}'))
        self.assertEqual(3, code)
        self.assertIn("the server wants a key", stderr)
