"""Chunks of a chat completion as replies: what is kept, what is unknown, and what is no reply."""
from __future__ import annotations

import json
import unittest

from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Timings, Usage
from benchkit.network.calls import Ending
from benchkit.network.exchange import Answer
from benchkit.network.openai_replies import CompletionReading, Completions, Signature
from tests.fake_openai import data, delta, error

DONE = b"data: [DONE]"


def read(*lines: bytes, ending: Ending = Ending.WHOLE) -> Reply:
    reading = CompletionReading()
    for number, line in enumerate(lines):
        if reading.take(line, 10.0 + number):
            break
    return reading.reply(Answer(ending, 200, sent_at=9.5, ended_at=12.0))


class Replies(unittest.TestCase):
    def assert_error(self, error_type: str, words: str, partial: str | None, *lines: bytes,
                     ending: Ending = Ending.WHOLE) -> None:
        with self.assertRaises(TrialError) as caught:
            read(*lines, ending=ending)
        self.assertEqual((caught.exception.type, caught.exception.partial), (error_type, partial))
        self.assertIn(words, caught.exception.message)
        self.assertTrue(caught.exception.message.isprintable())

    def test_the_text_is_kept_as_it_came_and_reasoning_apart_under_either_name(self) -> None:
        for name in ("reasoning", "reasoning_content"):
            reply = read(delta(role="assistant", content=None), delta(**{name: "Hm. "}), delta(content=" {\n"),
                         delta(content='"a": "é"}  '), delta("stop"), DONE)
            self.assertEqual((reply.output, reply.reasoning, reply.finish), (' {\n"a": "é"}  ', "Hm. ", "stop"))
        both = read(delta(reasoning="Hm", reasoning_content="Hm", content="x"), DONE)
        self.assertEqual(both.reasoning, "Hm")

    def test_a_refusal_is_what_was_said(self) -> None:
        self.assertEqual(read(delta(refusal="I can't."), delta("stop"), DONE).output, "I can't.")

    def test_an_empty_answer_is_an_answer(self) -> None:
        for reason in ("stop", "length", "content_filter"):
            reply = read(delta(reason), DONE)
            self.assertEqual((reply.output, reply.finish, reply.reasoning), ("", reason, None))

    def test_usage_comes_behind_the_end_and_what_is_absent_is_unknown(self) -> None:
        self.assertEqual(read(delta("stop", content="x")).usage, Usage())
        usage = {"prompt_tokens": 34, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 0}}
        reply = read(delta("stop", content="x"), data(choices=[], usage=usage), DONE)
        self.assertEqual(reply.usage, Usage(34, 8, 0))
        odd = {"prompt_tokens": 0, "completion_tokens": True, "prompt_tokens_details": [1]}
        self.assertEqual(read(delta("stop"), data(choices=[], usage=odd), DONE).usage, Usage())
        null = read(data(choices=[], usage={"prompt_tokens": 3}), delta("stop"), data(choices=[], usage=None), DONE)
        self.assertEqual(null.usage.prompt_tokens, 3)

    def test_times_are_the_servers_where_it_says_them(self) -> None:
        timings = {"cache_n": 4, "prompt_ms": 2364.848, "predicted_ms": 1750}
        reply = read(delta(content="x"), data(choices=[], timings=timings), delta("stop"), DONE)
        self.assertEqual(reply.timings, Timings(None, 2.364848, 1.75, 0.5, None))
        self.assertEqual((reply.usage.cached_tokens, reply.latency_s), (4, 2.5))
        odd = read(delta("stop"), data(choices=[], timings={"prompt_ms": -1, "predicted_ms": "long"}), DONE)
        self.assertEqual(odd.timings, Timings())

    def test_the_first_token_is_the_first_text_or_thought(self) -> None:
        reply = read(delta(content=""), delta(reasoning="Hm"), delta("stop", content="x"), DONE)
        self.assertEqual(reply.timings.first_token_s, 1.5)

    def test_comments_event_names_and_other_choices_say_nothing(self) -> None:
        second = data(choices=[{"index": 1, "delta": {"content": "no"}, "finish_reason": None}])
        reply = read(b": OPENROUTER PROCESSING", b"event: message", b"id: 7", b"retry: 10", b"data:", second,
                     delta(content="yes").replace(b"data: ", b"data:") + b"\r", delta("stop"), DONE)
        self.assertEqual(reply.output, "yes")

    def test_a_whole_object_from_a_server_that_does_not_stream_is_a_reply(self) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Red."}, "finish_reason": "stop"}
        whole = {"choices": [choice], "usage": {"prompt_tokens": 34, "completion_tokens": 12}}
        reply = read(json.dumps(whole).encode())
        self.assertEqual((reply.output, reply.finish, reply.usage.output_tokens), ("Red.", "stop", 12))

    def test_a_reply_is_signed_by_model_and_fingerprint(self) -> None:
        completions = Completions()
        reading = completions.dialect.new_reading()
        self.assertEqual(completions.signature, Signature())
        reading.take(data(choices=[], model="m-2030", system_fingerprint="fp_1"), 1.0)
        reading.take(data(choices=[], model=None, system_fingerprint=""), 2.0)
        self.assertEqual(completions.signature, Signature("m-2030"))
        completions.dialect.new_reading()
        self.assertEqual(completions.signature, Signature())

    def test_what_is_no_chunk_is_a_bad_reply_that_says_what_came(self) -> None:
        for line, words in {
                b"<html>\x1b[2J": r"<html>\x1b[2J", b'data: {"choices":': "not JSON", b"data: []": "no JSON object",
                b"data: {}": "no list of choices", b'{"message":{"content":"x"},"done":true}': "no list of choices",
                data(choices=None): "no list of choices", data(choices=[7]): "no list of choices",
                data(choices=[{"delta": "x"}]): "a delta of it is no object", delta(content=7): "content of it is no",
                delta(content=[{"type": "text"}]): "content of it is no text", delta(reasoning=[1]): "reasoning of it",
                b'data: {"choices":[],"a":NaN}': "NaN", b'data: {"choices":[{"delta":{"content":"\xff"}}]}': "UTF-8",
                b"data: " + b"[" * 5000: "deep", b'data: {"choices":[],"choices":[]}': "stands twice"}.items():
            with self.subTest(line[:50]):
                self.assert_error("BadReply", words, None, line)
                self.assert_error("BadReply", words, "Hel", delta(content="Hel"), line)

    def test_a_lone_surrogate_is_replaced_and_a_pair_is_a_character(self) -> None:
        reply = read(rb'data: {"choices":[{"delta":{"content":"a\ud800b \ud83d\ude00"},"finish_reason":"stop"}]}', DONE)
        self.assertEqual(reply.output, "a\ufffdb \U0001f600")

    def test_a_reply_over_512_kib_is_too_large_and_its_start_is_kept(self) -> None:
        text = "ä" * 1024
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", text * 256, *[delta(content=text)] * 257)
        self.assertEqual(read(*[delta(content=text)] * 256, DONE).output, text * 256)

    def test_an_end_without_a_sign_is_unfinished_if_in_order_and_else_broken(self) -> None:
        self.assert_error("Unfinished", "without finish_reason and [DONE]", "ha", delta(content="ha"))
        self.assert_error("BrokenReply", "in the middle", "ha", delta(content="ha"), ending=Ending.CLOSED)
        self.assert_error("BrokenReply", "empty", None)
        self.assert_error("BrokenReply", "empty", None, b": hello")
        self.assertEqual(read(delta("stop", content="ha"), ending=Ending.CLOSED).output, "ha")
        self.assertIsNone(read(delta(content="ha"), DONE).finish)

    def test_an_error_in_the_stream_breaks_the_reply_off(self) -> None:
        for line in (b"data: " + error("died\x1b").encode(), error("died\x1b").encode(), data(error="died\x1b")):
            self.assert_error("BrokenReply", r"broke the reply off: died\x1b", "Hel", delta(content="Hel"), line)
            self.assert_error("BrokenReply", "died", None, line)
        finish = data(choices=[{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}])
        self.assert_error("BrokenReply", "finish_reason: error", "Hel", delta(content="Hel"), finish)

    def test_an_error_in_the_stream_may_say_busy_or_too_long(self) -> None:
        self.assert_error("ServerBusy", "slow down", None, data(error={"message": "slow down", "code": 429}))
        self.assert_error("BrokenReply", "slow down", "x", delta(content="x"),
                          data(error={"message": "slow down", "code": 429}))
        self.assert_error("PromptTooLong", "longer than the context", None,
                          data(error={"message": "no", "code": "context_length_exceeded"}))


class TooLongPrompts(unittest.TestCase):
    def test_every_server_says_it_in_its_own_words(self) -> None:
        for body, words in {
                '{"error":{"code":400,"message":"request (9031 tokens) exceeds the available context size (4096 '
                'tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9031,"n_ctx":4096}}':
                    "the prompt has 9031 tokens, the context 4096",
                error("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"):
                    "the prompt is longer than the context",
                error("too many", code="context_length_exceeded"): "the prompt is longer than the context",
                error("Trying to keep the first 4500 tokens when context the overflows. However, the model is loaded "
                      "with context length of only 4096 tokens"): "the prompt is longer than the context"}.items():
            self.assertEqual(Completions().dialect.too_long(Answer(Ending.WHOLE, 400, body.encode())), words)
        self.assertIsNone(Completions().dialect.too_long(Answer(Ending.WHOLE, 400, error("no").encode())))


if __name__ == "__main__":
    unittest.main()
