"""Chunks of a chat completion as replies: what is kept, what is unknown, and what is no reply."""
from __future__ import annotations

import json
import unittest
from unittest import mock

from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Timings, Usage
from benchkit.network import openai_protocol
from benchkit.network.http_client import Ending, Response
from benchkit.network.openai_protocol import CompletionParser, Completions, EventStream, Signature
from benchkit.network.replies import object_of, too_long_message
from tests.fake_openai import data, delta, error

DONE = b"data: [DONE]"


def read(*lines: bytes, ending: Ending = Ending.WHOLE) -> Reply:
    """The reply of an event each line, or of the lines of one JSON object."""
    reading = CompletionParser()
    for number, line in enumerate(lines):
        if reading.take(line, 10.0 + number) or reading.take(b"", 10.0 + number):
            break
    answer = Response(ending, 200, sent_at=9.5, ended_at=12.0)
    reading.ended(answer)
    return reading.reply(answer)


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
        both = read(delta("stop", reasoning="Hm", reasoning_content="Hm", content="x"), DONE)
        self.assertEqual(both.reasoning, "Hm")

    def test_a_line_of_more_parts_than_any_chunk_has_is_refused_before_it_is_read(self) -> None:
        for said in (b'{"choices":[' + b"{}," * 1_000_000 + b"{}]}",
                     b'{"choices":[{"delta":{"content":[' + b'{"type":"text"},' * 150_000 + b"{}]}}]}",
                     b"[" + b"1," * 1_500_000 + b"1]"):
            for line in (said, b"data: " + said):
                self.assert_error("BadReply", "more keys, values, objects and lists than are read at once", None, line)
        lines = b"data: " + b"\n".join([b'{"a":1}'] * 230_000)
        with mock.patch.object(openai_protocol, "object_of", side_effect=object_of) as reads:
            self.assert_error("BadReply", "not a chat completion", None, lines)
            self.assertLess(reads.call_count, 10)
        text = '{"a": [1, 2]}, ' * 30_000
        self.assertEqual(read(delta(content=text), delta("stop"), DONE).output, text)

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
                     delta(content="yes").replace(b"data: ", b"data:"), delta("stop"), DONE)
        self.assertEqual(reply.output, "yes")

    def test_a_whole_object_from_a_server_that_does_not_stream_is_a_reply(self) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Red."}, "finish_reason": "stop"}
        whole = {"choices": [choice], "usage": {"prompt_tokens": 34, "completion_tokens": 12}}
        reply = read(json.dumps(whole).encode())
        self.assertEqual((reply.output, reply.finish, reply.usage.output_tokens), ("Red.", "stop", 12))

    def test_a_reply_is_signed_by_model_and_fingerprint(self) -> None:
        completions = Completions()
        reading = completions.new_parser()
        self.assertEqual(completions.latest.signature, Signature())
        for number, line in enumerate((data(choices=[], model="m-2030", system_fingerprint="fp_1"), b"",
                                       data(choices=[], model="", system_fingerprint=None), b"")):
            reading.take(line, float(number))
        self.assertEqual(completions.latest.signature, Signature("m-2030", "fp_1"))
        reading.take(data(choices=[], model="m" * 3_000_000), 9.0)
        reading.take(b"", 9.0)
        self.assertEqual(completions.latest.signature, Signature("m" * 200, "fp_1"))
        completions.new_parser()
        self.assertEqual(completions.latest.signature, Signature())

    def test_what_is_no_chunk_is_a_bad_reply_that_says_what_came(self) -> None:
        for line, words in {
                b'data: {"choices":': "not JSON", b"data: []": "no JSON object",
                data(choices="x"): "no list of choices", data(choices=[7]): "no list of choices",
                data(choices=[{"delta": "x"}]): "a delta of it is no object", delta(content=7): "content of it is no",
                delta(content=[{"type": "text", "text": 7}]): "text of it is no text",
                delta(content=[{"type": "image_url"}]): "a part of type image_url",
                delta(reasoning=[1]): "reasoning of it is no text",
                b'data: {"choices":[],"a":NaN}': "NaN", b'data: {"choices":[{"delta":{"content":"\xff"}}]}': "UTF-8",
                b"data: " + b"[" * 5000: "deep", b'data: {"choices":[],"choices":[]}': "stands twice"}.items():
            with self.subTest(line[:50]):
                self.assert_error("BadReply", words, None, line)
                self.assert_error("BadReply", words, "Hel", delta(content="Hel"), line)

    def test_what_says_nothing_that_is_known_costs_no_reply_and_is_quoted_where_none_comes(self) -> None:
        for line, words in {
                b"<html>\x1b[2J": r"<html>\x1b[2J", b"upstream timed out": "timed out", b"foo: bar": "foo: bar",
                b'data: {"type":"ping"}': "no list of choices", b'{"message":{"content":"x"},"done":true}': "choices",
                data(model="m", choices=None): "choices"}.items():
            with self.subTest(line):
                self.assertEqual(read(delta(content="yes"), line, delta("stop"), DONE).output, "yes")
                self.assert_error("BadReply", words, None, line)
                self.assert_error("Unfinished", "without finish_reason", "yes", delta(content="yes"), line)
        self.assert_error("Unfinished", "upstream timed out", "yes", delta(content="yes"), b"upstream timed out")

    def test_a_lone_surrogate_is_replaced_and_a_pair_is_a_character(self) -> None:
        reply = read(rb'data: {"choices":[{"delta":{"content":"a\ud800b \ud83d\ude00"},"finish_reason":"stop"}]}', DONE)
        self.assertEqual(reply.output, "a\ufffdb \U0001f600")

    def test_a_reply_over_512_kib_is_too_large_and_its_start_is_kept(self) -> None:
        text = "ä" * 1024
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", text * 256, *[delta(content=text)] * 257)
        self.assertEqual(read(*[delta("stop", content=text)] * 256, DONE).output, text * 256)
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", None, *[b"{" + b" " * 2**20] * 4)

    def test_an_end_without_a_sign_is_unfinished_if_in_order_and_else_broken(self) -> None:
        self.assert_error("Unfinished", "without finish_reason", "ha", delta(content="ha"))
        self.assert_error("Unfinished", "without finish_reason", "ha", delta(content="ha"), DONE)
        self.assert_error("BrokenReply", "in the middle", "ha", delta(content="ha"), ending=Ending.CLOSED)
        self.assert_error("BrokenReply", "empty", None)
        self.assert_error("BrokenReply", "empty", None, b": hello")
        self.assertEqual(read(delta("stop", content="ha"), ending=Ending.CLOSED).output, "ha")
        torn = b'data: {"choices": [{"del'
        self.assert_error("BrokenReply", "in the middle", "ha", delta(content="ha"), torn[:6], ending=Ending.CLOSED)

    def test_an_end_that_is_not_the_model_s_own_nor_the_asker_s_limit_is_no_end_of_an_answer(self) -> None:
        for finish in ("abort", "network_error", "insufficient_system_resource", "\x1bwhatever" * 99):
            self.assert_error("BrokenReply", f"finish_reason {finish[:5]}".replace("\x1b", r"\x1b"), "yes",
                              delta(content="yes"), delta(finish), DONE)
        for finish in ("stop", "length", "tool_calls", "content_filter", "STOP", "MAX_TOKENS", "eos_token", "end_turn"):
            self.assertEqual(read(delta(content="yes"), delta(finish), DONE).finish, finish)

    def test_a_whole_message_takes_the_place_of_the_pieces_that_came_and_an_empty_one_of_none(self) -> None:
        def last(**fields: object) -> bytes:
            return data(choices=[{"index": 0, "finish_reason": "stop", **fields}])

        whole, empty = {"role": "assistant", "content": "yes"}, {"role": "assistant", "content": ""}
        for fields, before in (({"delta": {}, "message": whole}, ("ye", "s")), ({"message": whole}, ("ye", "s")),
                               ({"delta": {"content": ""}, "message": whole}, ()), ({"message": empty}, ("ye", "s")),
                               ({"delta": {"content": "s"}, "message": None}, ("ye",))):
            with self.subTest(fields=fields, before=before):
                self.assertEqual(read(*(delta(content=text) for text in before), last(**fields), DONE).output, "yes")
        thought = read(delta(reasoning="h"), last(message={"content": "yes", "reasoning": "hm"}))
        self.assertEqual((thought.output, thought.reasoning), ("yes", "hm"))

    def test_content_in_parts_is_text_and_thought(self) -> None:
        thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
        reply = read(delta(content=thought), delta(content=[{"type": "text", "text": "yes"}]), delta("stop"), DONE)
        self.assertEqual((reply.output, reply.reasoning), ("yes", "hm"))
        self.assertEqual(read(delta("stop", content=[{"type": "thinking", "thinking": "hm"}])).reasoning, "hm")

    def test_halves_of_a_letter_that_meet_belong_together_in_answers_and_thoughts(self) -> None:
        reply = read(delta(content="yes \ud83d", reasoning="\ud83d"), delta(content="\ude00", reasoning="\ude00!"),
                     delta(content="\ud83d"), delta("stop"), DONE)
        self.assertEqual((reply.output, reply.reasoning), ("yes \U0001f600\ufffd", "\U0001f600!"))
        self.assert_error("Unfinished", "", "\ufffd", delta(content="\ud83d"))
        signed = read(delta("stop", content="x"), data(choices=[], usage={"prompt_tokens": 3}, model="\ud83d"))
        self.assertEqual(signed.usage.prompt_tokens, 3)

    def test_one_event_may_have_several_lines_and_several_events_one_newline_between_them(self) -> None:
        whole = json.dumps({"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}, indent=1).encode()
        reading, answer = CompletionParser(), Response(Ending.WHOLE, 200, ended_at=1.0)
        self.assertEqual(read(*whole.split(b"\n")).output, "yes")
        for lines in (tuple(b"data: " + line for line in whole.split(b"\n")),
                      (delta(content="ye"), delta(content="s"), delta("stop"), DONE),
                      (delta(content="ye"), b"", b"data: null", b"", delta("stop", content="s"))):
            reading = CompletionParser()
            for line in lines:
                reading.take(line, 0.5)
            reading.ended(answer)
            self.assertEqual(reading.reply(answer).output, "yes")

    def test_an_error_in_the_stream_breaks_the_reply_off(self) -> None:
        for line in (b"data: " + error("died\x1b").encode(), error("died\x1b").encode(), data(error="died\x1b"),
                     data(error={"message": "died\x1b", "code": 500})):
            self.assert_error("BrokenReply", r"broke the reply off: died\x1b", "Hel", delta(content="Hel"), line)
            self.assert_error("BrokenReply", "died", None, line)
        finish = data(choices=[{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}])
        self.assert_error("BrokenReply", "finish_reason: error", "Hel", delta(content="Hel"), finish)

    def test_an_error_before_any_text_stands_for_the_status_that_it_names(self) -> None:
        for code, status in ((429, 429), ("503", 503), (402, 402), (1302, 200), ("slow", 200), (200, 200), (None, 200)):
            reading = CompletionParser()
            reading.take(data(choices=[], error={"message": "slow\ndown", "code": code}), 1.0)
            meant = reading.ended(Response(Ending.WHOLE, 200))
            self.assertEqual(meant.status, status)
            self.assertEqual(b"slow\\ndown" in meant.body, status != 200)

    def test_an_error_in_the_stream_may_say_too_long(self) -> None:
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
            self.assertEqual(too_long_message(body), words)
        self.assertIsNone(too_long_message(error("no")))


class Events(unittest.TestCase):
    def data_of(self, *lines: bytes) -> list[bytes]:
        stream = EventStream()
        return [one for one in [*map(stream.take, lines), stream.rest()] if one is not None]

    def test_an_event_is_its_data_lines_up_to_an_empty_line(self) -> None:
        for lines, expected in (
                ((b"data: a", b""), [b"a"]), ((b"data:a", b"data:  b", b""), [b"a\n b"]),
                ((b"data: a", b"", b"data: b", b""), [b"a", b"b"]), ((b"data: a", b"", b"", b"data: b"), [b"a", b"b"]),
                ((b"\xef\xbb\xbfdata: a", b""), [b"a"]), ((b"data: \xef\xbb\xbfa", b""), [b"\xef\xbb\xbfa"]),
                ((b": hello", b"event: x", b"id: 7", b"retry: 1", b"data: a", b"foo: bar", b"bare", b""), [b"a"]),
                ((b"data", b"data: a", b""), [b"\na"]), ((b"data:", b"", b"id: 7", b""), []),
                ((b" data: a", b"Data: a", b"datas: a", b""), []), ((), [])):
            with self.subTest(lines):
                self.assertEqual(self.data_of(*lines), expected)

    def test_a_body_that_begins_like_json_is_one_thing_to_its_end(self) -> None:
        self.assertEqual(self.data_of(b"", b" {", b"", b'"data": 1', b"}"), [b' {\n\n"data": 1\n}'])
        self.assertEqual(self.data_of(b"\xef\xbb\xbf[1]"), [b"[1]"])

    def test_the_first_line_that_is_no_field_is_kept_and_what_waits_is_counted(self) -> None:
        stream = EventStream()
        for line in (b"data: 1234", b"<html>", b"upstream timed out", b": a comment"):
            stream.take(line)
        self.assertEqual((stream.unknown, stream.size), (b"<html>", 5))
        stream.take(b"")
        self.assertEqual(stream.size, 0)


if __name__ == "__main__":
    unittest.main()
