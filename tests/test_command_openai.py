"""A server of chat completions through the command: what such servers were seen to send, and what comes of each.

Each body stands as a server sent it: as the answer of every trial, and where it says so of the first tokens as well.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from tests import fake_ollama
from tests.fake_ollama import Fault
from tests.fake_openai import FakeOpenAI, completes, data, delta, error, refuses
from tests.workflow import Workflow

KEY = "sk-sesame-1234567890"
TOY = """NAME, VERSION = "toy", "1"
def messages(case): return [{"role": "user", "content": str(case.input)}]
def schema(): return None
def check(case, output): return {"right": output.strip() == case.expected}
"""
DONE = "data: [DONE]\n\n"
YES, STOP = {"delta": {"content": "yes"}}, {"delta": {}, "finish_reason": "stop"}
WHOLE = {"role": "assistant", "content": "yes"}


def chunk(choice: Mapping[str, Any], **more: Any) -> str:
    """An event with one choice."""
    return event({"model": "toy.gguf", "choices": [{"index": 0, "finish_reason": None, **choice}], **more})


def event(value: Any) -> str:
    """An event."""
    return f"data: {json.dumps(value)}\n\n"


def pieces(*texts: str) -> str:
    """An event for each piece of the answer."""
    return "".join(chunk({"delta": {"content": text}}) for text in texts)


@dataclass(frozen=True, slots=True)
class Situation:
    """A body under status 200; the output that comes of it, or the type of the error and words of its message."""

    body: str
    output: str | None
    error: str = ""
    words: str = ""


def ends(finish: str, text: str = "ye") -> Situation:
    return Situation(pieces(text) + chunk({"delta": {}, "finish_reason": finish}) + DONE, None, "BrokenReply", finish)


USAGE = {"prompt_tokens": 5, "completion_tokens": 1}
PRETTY = json.dumps({"choices": [{"index": 0, "message": WHOLE, "finish_reason": "stop"}]}, indent=2)
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
SITUATIONS: Mapping[str, Situation] = {
    "a request that the server aborts": ends("abort"),
    "a network error behind a gateway": ends("network_error"),
    "a server without resources": ends("insufficient_system_resource"),
    "an aborted request whose piece would pass": ends("abort", "yes"),
    "an end without a reason": Situation(pieces("yes") + DONE, None, "Unfinished", "without finish_reason"),
    "a line of plain text, and no end": Situation(
        pieces("yes") + "upstream timed out\n\n", None, "Unfinished", "upstream timed out"),
    "a line of plain text within a whole answer": Situation(
        pieces("ye") + "heartbeat\n" + pieces("s") + chunk(STOP) + DONE, "yes"),
    "the whole message behind its pieces": Situation(
        pieces("ye", "s") + chunk({"message": WHOLE, "finish_reason": "stop"}) + DONE, "yes"),
    "the whole message beside an empty delta": Situation(
        pieces("ye", "s") + chunk({"delta": {}, "message": WHOLE, "finish_reason": "stop"}) + DONE, "yes"),
    "a body with an empty delta beside the message": Situation(json.dumps({"choices": [
        {"index": 0, "delta": {"role": None, "content": ""}, "message": WHOLE, "finish_reason": "stop"}]}), "yes"),
    "usage with choices null": Situation(
        chunk(YES) + chunk(STOP) + event({"usage": USAGE, "choices": None}) + DONE, "yes"),
    "usage without choices": Situation(chunk(YES) + chunk(STOP) + event({"usage": USAGE}) + DONE, "yes"),
    "null as a sign of life": Situation(pieces("ye") + event(None) + pieces("s") + chunk(STOP) + DONE, "yes"),
    "an event in several data lines": Situation(
        "".join(f"data: {line}\n" for line in PRETTY.splitlines()) + "\n" + DONE, "yes"),
    "events with one newline between them": Situation(
        (pieces("ye", "s") + chunk(STOP) + DONE).replace("\n\n", "\n") + "\n", "yes"),
    "carriage returns as ends of lines": Situation((chunk(YES) + chunk(STOP) + DONE).replace("\n", "\r"), "yes"),
    "both as ends of lines": Situation((chunk(YES) + chunk(STOP) + DONE).replace("\n", "\r\n"), "yes"),
    "a field that nobody knows": Situation("foo: bar\n" + chunk(YES) + chunk(STOP) + DONE, "yes"),
    "a byte order mark": Situation("\ufeff" + chunk(YES) + chunk(STOP) + DONE, "yes"),
    "a body over several lines": Situation(PRETTY, "yes"),
    "content in parts": Situation(chunk({"delta": {"content": [THOUGHT]}}) + chunk(
        {"delta": {"content": [{"type": "text", "text": "yes"}]}}) + chunk(STOP) + DONE, "yes"),
    "content in a part of an unknown type": Situation(
        chunk({"delta": {"content": [{"type": "audio"}]}}) + chunk(STOP), None, "BadReply", "a part of type audio"),
    "a letter in two chunks": Situation(pieces("yes \ud83d", "\ude00") + chunk(STOP) + DONE, "yes \U0001f600"),
    "half a letter": Situation(pieces("yes \ud83d") + chunk(STOP) + DONE, "yes \ufffd"),
}
BUSY: Mapping[str, str] = {
    "a number": error("rate limited upstream", 429), "a text": error("rate limited upstream", "429"),
    "a chunk": event({"choices": [], "error": {"code": 429, "message": "rate limited upstream"}}),
    "over several lines": json.dumps(json.loads(error("rate limited upstream", 503)), indent=2),
}
UNNAMED = event({"id": "", "object": "", "created": 0, "model": "", "choices": [
    {"index": 0, "finish_reason": None, "content_filter_offsets": {}}]})


class Situations(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOpenAI())
        self.enterContext(mock.patch("benchkit.network.replies.BUSY_WAITS_S", (0.05,)))
        self.enterContext(mock.patch("benchkit.systems.openai._AGAIN_WAITS_S", (0.01,)))
        (self.folder / "toy_task.py").write_text(TOY, encoding="utf-8")
        self.put_cases([{"id": one, "split": "development", "input": "say yes", "expected": "yes"} for one in "ab"])

    def run_of(self, code: int, more: str = "--trials 1") -> list[dict[str, Any]]:
        """Type it; the trial lines of the log."""
        told = self.type(f"bench.py --task toy_task --system openai:toy.gguf --host {self.server.host} "
                         f"--log recorded/smol.jsonl --quiet {more}")
        self.assertEqual(told.code, code, told)
        self.stdout, self.stderr = told.stdout, told.stderr
        return [line for line in self.lines() if line["kind"] == "trial"]

    def fresh(self, opening: Sequence[Fault] = (), *trials: Fault) -> None:
        for path in (self.log, self.recording):
            path.unlink(missing_ok=True)
        self.server.forget_faults()
        self.server.opening = list(opening)
        self.server.next(*trials)

    def test_each_has_its_output_or_its_error_from_the_first_tokens_on(self) -> None:
        for name, one in SITUATIONS.items():
            fault = fake_ollama.status(200, one.body, "text/event-stream")
            with self.subTest(name):
                self.fresh([] if one.output is None else [fault], *[fault] * 4)
                for trial in self.run_of(0):
                    if one.output is None:
                        self.assertEqual(trial["error"]["type"], one.error)
                        self.assertIn(one.words, trial["error"]["message"])
                    else:
                        self.assertEqual(trial.get("output"), one.output, trial)
                judged = "2 of 2 planned trials (" if one.output is None else "all 2 planned trials were judged"
                self.assertIn(judged, self.stdout)

    def test_busy_inside_a_200_is_asked_again(self) -> None:
        for name, body in BUSY.items():
            with self.subTest(name):
                self.fresh((), fake_ollama.status(200, body, "text/event-stream"), completes("yes"), completes("yes"))
                self.assertEqual([(trial["output"], trial["retries"]) for trial in self.run_of(0)],
                                 [("yes", 1), ("yes", 0)])

    def test_a_chunk_without_a_name_hides_no_change_of_the_model(self) -> None:
        self.server.listed = None
        for other, code in (("toy.gguf", 0), ("other-model", 3)):
            signed = [fake_ollama.status(200, (chunk(YES) + chunk(STOP)).replace("toy.gguf", name) + UNNAMED + DONE)
                      for name in ("toy.gguf", "toy.gguf", other)]
            self.fresh(signed[:1], *signed[1:])
            *_, last = self.run_of(code)
            self.assertEqual(last.get("output"), "yes" if code == 0 else None)
            if code:
                self.assertEqual((last["error"]["type"], last["error"]["partial"]), ("ModelChanged", "yes"))

    def test_fingerprints_that_take_turns_end_no_run_and_are_told(self) -> None:
        faults = [fake_ollama.status(200, chunk(YES, system_fingerprint=mark) + chunk(STOP) + DONE)
                  for mark in ("fp_a", "fp_b", None, "fp_a", "fp_b")]
        self.fresh(faults[:1], *faults[1:])
        self.assertEqual([trial["output"] for trial in self.run_of(0, "--trials 2")], ["yes"] * 4)
        self.assertIn("more than one system_fingerprint (fp_a and fp_b)", self.stderr)
        self.assertIn("model-not-pinned", self.stdout)
        self.assertEqual(self.lines()[0]["environment"]["system_fingerprint"], "fp_a")

    def test_another_model_that_answers_is_told_at_the_start_and_in_the_report(self) -> None:
        self.server.model = "gemma-3-1b-it-qat:2"
        self.run_of(0)
        self.assertIn("asked for toy.gguf, answered by gemma-3-1b-it-qat:2", self.stderr)
        self.assertIn("answered-by-another-name", self.stdout)

    def test_one_hiccup_at_the_start_changes_nothing_and_the_same_command_goes_on(self) -> None:
        with_schema = TOY.replace("return None", 'return {"type": "object"}')
        (self.folder / "toy_task.py").write_text(with_schema, encoding="utf-8")
        self.fresh([refuses(500, "Internal server error")])
        self.assertEqual(len(self.run_of(0, "--trials 1 --limit 1")), 1)
        self.assertEqual(len(self.run_of(0)), 2)
        self.assertEqual(["response_format" in seen.body for seen in self.server.trials()], [True, True])

    def test_what_was_learned_at_the_first_start_holds_at_the_next(self) -> None:
        (self.folder / "toy_task.py").write_text(TOY.replace("return None", 'return {"type": "object"}'), "utf-8")
        self.server.refused, self.server.refusal = "max_tokens", "max_tokens is not supported"
        self.fresh([refuses(400, "no response_format here")])
        self.run_of(0, "--trials 1 --limit 1")
        self.run_of(0)
        first, second = (dict(seen.body, seed=0) for seen in self.server.trials())
        self.assertEqual(first, second)
        self.assertTrue("max_completion_tokens" in first and "response_format" not in first)

    def test_a_refusal_that_will_not_change_ends_the_run_and_the_same_command_goes_on_later(self) -> None:
        for fault, asked, error_type, words in (
                (refuses(402, "Insufficient credits"), 1, "ServerError", "Insufficient credits"),
                (refuses(429, "You exceeded your insufficient_quota"), 1, "ServerBusy", "insufficient_quota"),
                (fake_ollama.status(200, error("no credit", 402)), 1, "ServerError", "no credit"),
                (fake_ollama.status(200, error("spent", "insufficient_quota")), 1, "BrokenReply", "spent"),
                (fake_ollama.status(200, '{"error": {"code": "insufficient_quota"}}'), 1, "BrokenReply",
                 "insufficient_quota"),
                (fake_ollama.lines(delta(content="x"), data(error={"type": "insufficient_quota", "message": "over"})),
                 1, "BrokenReply", "over"),
                (fake_ollama.status(429, error("Limit reached", "billing_hard_limit_reached")), 1, "ServerBusy",
                 "Limit reached"),
                (fake_ollama.status(429, error("At the end", "insufficient_quota").replace("_q", r"\u005fq")), 1,
                 "ServerBusy", "At the end"),
                (fake_ollama.status(500, error("No money", "insufficient_quota")), 1, "ServerError", "No money"),
                (refuses(429, "Daily limit reached", "Retry-After: 3600\r\n"), 3, "ServerBusy", "Daily limit reached")):
            with self.subTest(words):
                self.fresh((), *[fault] * 9)
                lines = self.run_of(3, "--trials 4")
                self.assertEqual([line["error"]["type"] for line in lines], [error_type] * asked)
                self.assertRegex(self.stderr.splitlines()[-1], rf"^bench\.py: .*{words}")
                self.assertIn(f"({8 - asked} NotRun", self.stdout)
                self.server.forget_faults()
                self.server.answer = lambda model, messages, seed: "yes"
                later = self.run_of(0, "--trials 4")
                self.assertEqual(["output" in line for line in later], [False] * asked + [True] * (8 - asked))


class OpenAIWorkflow(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOpenAI())
        self.flags = f"--system openai:toy.gguf --host {self.server.host} --trials 2 --quiet --log recorded/smol.jsonl"
        self.enterContext(mock.patch.dict(os.environ, {"OPENAI_API_KEY": KEY}))
        self.server.key = KEY

    def bench(self, more: str = "") -> str:
        return f"bench.py {self.flags} {more}".strip()

    def test_a_run_is_recorded_judged_and_warned_of_and_goes_on_where_it_ended(self) -> None:
        told = self.type(self.bench("--limit 4"))
        self.assertEqual(told.code, 0, told)
        self.assertIn("nothing pins toy.gguf", told.stderr)
        told = self.type(self.bench())
        self.assertEqual(told.code, 0, told)
        self.assertIn("every planned trial ran", told.stdout)
        self.assertEqual(self.trials(), self.every_cell(2))
        self.assertEqual(len(self.server.trials()), 6)
        trial = next(line for line in self.lines() if line["kind"] == "trial")
        self.assertEqual(trial["usage"]["prompt_tokens"], 40)
        settings = self.json("recorded/smol.json")["settings"]
        self.assertEqual((settings["pinned_by"], settings["served"]["file"]), ("nothing", "toy.gguf"))
        self.assertFalse([name for name, data in self.files().items() if b"/home/someone" in data])

    def test_the_report_warns_that_nothing_pins_the_model_by_a_stable_code(self) -> None:
        self.server.takes_schema = False
        self.type(self.bench())
        self.well("harness.py run --system replay:recorded/smol.json --trials 2 --out runs/smol.json")
        self.well("report.py runs/smol.json --out runs/report.json")
        codes = [one["code"] for one in self.json("runs/report.json")["runs"][0]["warnings"]]
        self.assertIn("model-not-pinned", codes)
        self.assertIn("schema-not-sent", codes)

    def test_a_finished_run_asks_no_server(self) -> None:
        self.type(self.bench())
        self.server.stop()
        self.well("bench.py --log recorded/smol.jsonl --quiet")

    def test_the_key_is_in_no_file_and_on_no_screen_whatever_the_server_does_with_it(self) -> None:
        self.server.next(refuses(400, f"no {KEY}"), fake_ollama.lines(KEY.encode()), refuses(500, KEY))
        told = self.type(self.bench())
        self.assertEqual(told.code, 0, told)
        self.assertNotIn("sesame", told.stdout + told.stderr)
        self.assertFalse([name for name, data in self.files().items() if b"sesame" in data])

    def test_another_model_under_the_same_name_is_refused_with_what_differs(self) -> None:
        self.type(self.bench("--limit 1"))
        self.server.listed = [{"id": "toy.gguf", "meta": {"n_params": 8, "size": 99}}]
        told = self.type(self.bench())
        self.assertEqual(told.code, 2)
        self.assertIn("n_params", told.stderr)
        self.assertEqual(len(self.server.trials()), 1)

    def test_a_log_that_a_mere_fingerprint_pinned_is_refused_with_what_differs(self) -> None:
        self.server.fingerprint = "fp_1"
        with mock.patch("benchkit.network.openai_protocol.pins", return_value=True):
            self.type(self.bench("--limit 1"))
        told = self.type(self.bench())
        self.assertEqual((told.code, len(told.stderr.splitlines())), (2, 2), told)
        for words in ('pinned_by: "system_fingerprint" -> "nothing"', "--changed rerun", "choose another --log"):
            self.assertIn(words, told.stderr)
        self.assertEqual(self.type(self.bench("--changed rerun")).code, 0)
        self.assertEqual(len(self.server.trials()), 1 + 6)

    def test_a_wrong_key_is_of_the_surroundings(self) -> None:
        self.server.key = "another"
        self.refused(self.bench(), 3, "the server wants a key")
