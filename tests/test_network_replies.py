"""What servers say as replies, in both dialects: what is kept, what is unknown, and what is no reply.

What whole bodies come to through the command is in test_command_openai.py.
"""
from __future__ import annotations

import json
import unittest
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Timings, Usage
from benchkit.network import openai_protocol
from benchkit.network.http_client import Backoff, Ending, Response
from benchkit.network.ollama_protocol import ChatParser
from benchkit.network.openai_protocol import CompletionParser, Completions, EventStream, Signature
from benchkit.network.replies import MOST_RETRY_AFTER_S, object_of, retry_after_s, too_long_message
from tests.fake_openai import data, delta, error

DONE = b"data: [DONE]"
NOW = 1893456000.0  # 2030-01-01 00:00:00 UTC
TOO_MANY = "more keys, values, objects and lists than are read at once"
KIB = "ä" * 1024
"""256 of them are a text as large as it may be."""


def read_chat(*lines: bytes, ending: Ending = Ending.WHOLE) -> Reply:
    """The reply of chat lines of Ollama that come a second apart."""
    reading = ChatParser()
    for number, said in enumerate(lines):
        if reading.take(said, 10.0 + number):
            break
    return reading.reply(Response(ending, 200, sent_at=9.5, ended_at=12.0))


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
    read: Callable[..., Reply]

    def assert_reply(self, lines: Sequence[bytes], **expected: Any) -> None:
        with self.subTest(b" ".join(lines)[:80], expected=str(expected)[:80]):
            reply = self.read(*lines)
            self.assertEqual(expected, {name: getattr(reply, name) for name in expected})

    def assert_error(self, error_type: str, words: str, partial: str | None, *lines: bytes, **how: Ending) -> None:
        with self.subTest(b" ".join(lines)[:80], words=words):
            with self.assertRaises(TrialError) as caught:
                self.read(*lines, **how)
            self.assertEqual((caught.exception.type, caught.exception.partial), (error_type, partial))
            self.assertIn(words, caught.exception.message)
            self.assertTrue(caught.exception.message.isprintable())


def line(content: str = "", done: bool = False, **more: Any) -> bytes:
    fields = {"message": {"role": "assistant", "content": content}, "done": done}
    return json.dumps({**fields, **({"done_reason": "stop"} if done else {}), **more}).encode()


def thought(text: str) -> bytes:
    return b'{"message":{"content":"","thinking":"%s"},"done":false}' % text.encode()


class OllamaReplies(Replies):
    read = staticmethod(read_chat)

    def test_text_and_reasoning_are_kept_apart_and_as_they_came(self) -> None:
        end = line(done=True)
        self.assert_reply([thought("Hm. "), line(" {\n"), line('"a": "é"}  '), end], output=' {\n"a": "é"}  ',
                          reasoning="Hm. ")
        self.assert_reply([line("<think>no</think>yes", True)], output="<think>no</think>yes")
        for reason in ("stop", "length"):
            self.assert_reply([line("", True, done_reason=reason)], output="", finish=reason, reasoning=None)
        # halves of a letter belong together, and only one that stays alone is replaced
        self.assert_reply([thought(r"\ud83d"), thought(r"\ude00"), line("yes \ud83d"), line("\ude00\ud83d", True)],
                          output="yes \U0001f600\ufffd", reasoning="\U0001f600")
        self.assert_reply(
            [rb'{"message":{"content":"a\ud800b\udc00 \ud83d\ude00 \\ud800"},"done":true,"done_reason":"stop"}'],
            output="a\ufffdb\ufffd \U0001f600 \\ud800")
        self.assert_reply([*[line(KIB)] * 255, line(KIB, True)], output=KIB * 256)
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", KIB * 256, *[line(KIB)] * 257)

    def test_an_absent_figure_is_unknown_and_never_zero(self) -> None:
        self.assert_reply([line("x", True)], usage=Usage(), timings=Timings(None, None, None, 0.5, None))
        self.assert_reply([line("", True, total_duration=9_000_000_000, load_duration=1_000_000_000, eval_count=7,
                                eval_duration=2_500_000_000, prompt_eval_count=3, prompt_eval_cached_count=2)],
                          usage=Usage(3, 7, 2), timings=Timings(1.0, None, 2.5, None, 5.5), latency_s=2.5)
        self.assert_reply([line("", True, eval_count="many", prompt_eval_count=True, total_duration=-1)],
                          usage=Usage(), timings=Timings())
        # the first token is the first text or thought
        self.assert_reply([line(""), thought("Hm"), line("x", True)], timings=Timings(first_token_s=1.5))

    def test_what_is_no_chat_line_is_a_bad_reply_that_says_what_came_in_the_same_words_by_every_python(self) -> None:
        not_json = "not a reply of Ollama (it is not JSON): "
        for said, words in {
                b"<html>\x1b[2J": r"<html>\x1b[2J", b'{"message":': "not JSON", b"[]": "no JSON object",
                b'"x"': "no JSON object", b"{}": "no chat message", b'{"done": false}': "no chat message",
                b'{"message":{"content":"x"}}': "no chat message", b'{"message":"x","done":true}': "no chat message",
                b'{"message":{"content":7},"done":true}': "message.content is no text",
                b'{"message":{"thinking":[1]},"done":false}': "message.thinking is no text",
                b'{"choices":[{"message":{"content":"x"}}]}': "no chat message",
                b'{"response":"x","done":true}': "no chat message",
                b'{"message":{"content":"\xff"},"done":true}': "not UTF-8",
                b'{"message":{"content":NaN},"done":true}': "NaN",
                b"[" * 5000: "deep", b'{"done":true,"done":false}': "stands twice",
                b'{"message":{"content":"x"},"done":true,"context":[' + b"{}," * 1_000_000 + b"{}]}": TOO_MANY,
                **{said: not_json + said.decode() for said in (b'{"done":true,}', b"[1,]", b"{'a':1}", b"nope")},
        }.items():
            self.assert_error("BadReply", words, None, said)
            self.assert_error("BadReply", words, "Hel", line("Hel"), said)

    def test_a_line_of_another_model_is_no_part_of_the_answer(self) -> None:
        own = line("", True, model="Phi:latest")
        self.assertTrue(ChatParser(["phi:latest"]).take(own, 0.0))
        self.assertTrue(ChatParser(["phi:latest"]).take(line("", True), 0.0))
        with self.assertRaisesRegex(TrialError, "BadReply: .*of another model"):
            ChatParser(["gemma4:e2b"]).take(own, 0.0)

    def test_an_end_without_done_and_its_reason_is_unfinished_or_broken(self) -> None:
        for error_type, words, partial, lines in (
                ("Unfinished", "without done", "ha ha", (line("ha "), line("ha"))),
                *(("Unfinished", "without done_reason", "ye", (line("ye"), line("", True, done_reason=reason)))
                  for reason in ("", None, 7)),
                ("Unfinished", "without done_reason", "ye", (line("ye"), b'{"message":{"content":""},"done":true}')),
                ("BrokenReply", "done_reason runner gone", "ye", (
                    line("ye"), line("", True, done_reason="runner gone"))),
                ("BrokenReply", "empty", None, ()),
                ("BrokenReply", "unexpected EOF", "Hel", (line("Hel"), b'{"error":"unexpected EOF"}')),
                ("BrokenReply", "unexpected EOF", None, (b'{"error":"unexpected EOF"}',)),
                ("PromptTooLong", "longer than the context (option num_ctx)", None,
                 (b'{"error":"the input length exceeds the context length"}',))):
            self.assert_error(error_type, words, partial, *lines)
        self.assert_error("BrokenReply", "in the middle", "ha", line("ha"), ending=Ending.CLOSED)


class OpenAIReplies(Replies):
    read = staticmethod(read)

    def test_the_text_is_kept_as_it_came_and_reasoning_apart_under_either_name(self) -> None:
        for name in ("reasoning", "reasoning_content"):
            self.assert_reply(
                [delta(role="assistant", content=None), delta(**{name: "Hm. "}), delta(content=" {\n"),
                 delta(content='"a": "é"}  '), delta("stop"), DONE],
                output=' {\n"a": "é"}  ', reasoning="Hm. ", finish="stop")
        self.assert_reply([delta("stop", reasoning="Hm", reasoning_content="Hm", content="x"), DONE], reasoning="Hm")
        self.assert_reply([delta(refusal="I can't."), delta("stop"), DONE], output="I can't.")
        for finish in ("stop", "length", "tool_calls", "content_filter", "STOP", "MAX_TOKENS", "eos_token", "end_turn"):
            self.assert_reply([delta(finish), DONE], output="", finish=finish, reasoning=None)
        second = data(choices=[{"index": 1, "delta": {"content": "no"}, "finish_reason": None}])
        self.assert_reply(
            [b": OPENROUTER PROCESSING", b"event: message", b"id: 7", b"retry: 10", b"data:", second,
             delta(content="yes").replace(b"data: ", b"data:"), delta("stop"), DONE], output="yes")
        for thinking in ("hm", [{"type": "text", "text": "hm"}]):
            self.assert_reply([delta("stop", content=[{"type": "thinking", "thinking": thinking}])], reasoning="hm")
        self.assert_reply(
            [delta(content="yes \ud83d", reasoning="\ud83d"), delta(content="\ude00", reasoning="\ude00!"),
             delta(content="\ud83d"), delta("stop"), DONE], output="yes \U0001f600\ufffd", reasoning="\U0001f600!")
        self.assert_error("Unfinished", "", "\ufffd", delta(content="\ud83d"))
        self.assert_reply([delta("stop", content="ha")], output="ha")

    def test_a_whole_message_takes_the_place_of_the_pieces_that_came_and_an_empty_one_of_none(self) -> None:
        whole, empty = {"role": "assistant", "content": "yes"}, {"role": "assistant", "content": ""}
        for fields, before in (({"delta": {}, "message": whole}, ("ye", "s")), ({"message": whole}, ("ye", "s")),
                               ({"delta": {"content": ""}, "message": whole}, ()), ({"message": empty}, ("ye", "s")),
                               ({"delta": {"content": "s"}, "message": None}, ("ye",)),
                               ({"message": {**whole, "reasoning": "hm"}}, ())):
            last = data(choices=[{"index": 0, "finish_reason": "stop", **fields}])
            self.assert_reply([delta(reasoning="hm"), *(delta(content=text) for text in before), last, DONE],
                              output="yes", reasoning="hm")
        self.assert_reply(
            [json.dumps({"choices": [{"index": 0, "message": whole, "finish_reason": "stop"}],
                         "usage": {"prompt_tokens": 34, "completion_tokens": 12}}).encode()],
            output="yes", finish="stop", usage=Usage(34, 12))

    def test_usage_and_times_are_the_servers_and_what_is_absent_is_unknown(self) -> None:
        def usage(**fields: Any) -> bytes:
            return data(choices=[], usage=fields or None)

        self.assert_reply([delta("stop", content="x")], usage=Usage())
        self.assert_reply([delta("stop", content="x"), usage(
            prompt_tokens=34, completion_tokens=8, prompt_tokens_details={"cached_tokens": 0}), DONE],
            usage=Usage(34, 8, 0))
        self.assert_reply([delta("stop"), usage(
            prompt_tokens=0, completion_tokens=True, prompt_tokens_details=[1]), DONE], usage=Usage())
        self.assert_reply([usage(prompt_tokens=3), delta("stop"), usage(), DONE], usage=Usage(3))
        self.assert_reply([delta("stop"), data(choices=[], usage={"prompt_tokens": 3}, model="\ud83d")], usage=Usage(3))
        timings = {"cache_n": 4, "prompt_ms": 2364.848, "predicted_ms": 1750}
        self.assert_reply([delta(content="x"), data(choices=[], timings=timings), delta("stop"), DONE],
                          timings=Timings(None, 2.364848, 1.75, 0.5, None), usage=Usage(cached_tokens=4), latency_s=2.5)
        odd = data(choices=[], timings={"prompt_ms": -1, "predicted_ms": "long"})
        self.assert_reply([delta("stop"), odd, DONE], timings=Timings())
        # the first token is the first text or thought
        self.assert_reply([delta(content=""), delta(reasoning="Hm"), delta("stop", content="x"), DONE],
                          timings=Timings(first_token_s=1.5))

    def test_a_reply_is_signed_by_model_and_fingerprint(self) -> None:
        completions = Completions()
        reading = completions.new_parser()
        signed = [completions.latest.signature]
        for line in (data(choices=[], model="m-2030", system_fingerprint="fp_1"),
                     data(choices=[], model="", system_fingerprint=None), data(choices=[], model="m" * 3_000_000)):
            reading.take(line, 9.0)
            reading.take(b"", 9.0)
            signed.append(completions.latest.signature)
        completions.new_parser()
        one = Signature("m-2030", "fp_1")
        self.assertEqual([Signature(), one, one, Signature("m" * 200, "fp_1"), Signature()],
                         [*signed, completions.latest.signature])

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
            self.assert_error("BadReply", words, None, line)
            self.assert_error("BadReply", words, "Hel", delta(content="Hel"), line)

    def test_what_says_nothing_that_is_known_costs_no_reply_and_is_quoted_where_none_comes(self) -> None:
        for line, words in {
                b"<html>\x1b[2J": r"<html>\x1b[2J", b"upstream timed out": "timed out", b"foo: bar": "foo: bar",
                b'data: {"type":"ping"}': "no list of choices", b'{"message":{"content":"x"},"done":true}': "choices",
                data(model="m", choices=None): "choices"}.items():
            self.assert_reply([delta(content="yes"), line, delta("stop"), DONE], output="yes")
            self.assert_error("BadReply", words, None, line)
            self.assert_error("Unfinished", "without finish_reason", "yes", delta(content="yes"), line)
        self.assert_error("Unfinished", "upstream timed out", "yes", delta(content="yes"), b"upstream timed out")

    def test_what_is_too_much_is_refused_before_it_is_read(self) -> None:
        for said in (b'{"choices":[' + b"{}," * 1_000_000 + b"{}]}",
                     b'{"choices":[{"delta":{"content":[' + b'{"type":"text"},' * 150_000 + b"{}]}}]}",
                     b"[" + b"1," * 1_500_000 + b"1]"):
            for line in (said, b"data: " + said):
                self.assert_error("BadReply", TOO_MANY, None, line)
        with mock.patch.object(openai_protocol, "object_of", side_effect=object_of) as reads:
            self.assert_error("BadReply", "not a chat completion", None, b"data: " + b"\n".join([b'{"a":1}'] * 230_000))
            self.assertLess(reads.call_count, 10)
        text = '{"a": [1, 2]}, ' * 30_000
        self.assert_reply([delta(content=text), delta("stop"), DONE], output=text)
        self.assert_reply([*[delta("stop", content=KIB)] * 256, DONE], output=KIB * 256)
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", KIB * 256, *[delta(content=KIB)] * 257)
        self.assert_error("ReplyTooLarge", "larger than 512 KiB", None, *[b"{" + b" " * 2**20] * 4)

    def test_an_end_without_a_finish_of_the_models_own_is_unfinished_or_broken(self) -> None:
        ha, torn = delta(content="ha"), b'data: {"choices": [{"del'
        died = data(choices=[{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}])
        for error_type, words, partial, lines, ending in (
                ("Unfinished", "without finish_reason", "ha", (ha,), Ending.WHOLE),
                ("Unfinished", "without finish_reason", "ha", (ha, DONE), Ending.WHOLE),
                ("BrokenReply", "in the middle", "ha", (ha,), Ending.CLOSED),
                ("BrokenReply", "in the middle", "ha", (ha, torn[:6]), Ending.CLOSED),
                ("BrokenReply", "empty", None, (), Ending.WHOLE),
                ("BrokenReply", "empty", None, (b": hello",), Ending.WHOLE),
                ("BrokenReply", "finish_reason: error", "ha", (ha, died), Ending.WHOLE),
                *(("BrokenReply", f"finish_reason {finish[:5]}".replace("\x1b", r"\x1b"), "ha",
                   (ha, delta(finish), DONE), Ending.WHOLE)
                  for finish in ("abort", "network_error", "insufficient_system_resource", "\x1bwhatever" * 99))):
            self.assert_error(error_type, words, partial, *lines, ending=ending)
        self.assert_reply([delta("stop", content="ha")], output="ha")
        self.assertEqual("ha", read(delta("stop", content="ha"), ending=Ending.CLOSED).output)

    def test_an_error_in_the_stream_breaks_the_reply_off_and_may_say_too_long(self) -> None:
        for line in (b"data: " + error("died\x1b").encode(), error("died\x1b").encode(), data(error="died\x1b"),
                     data(error={"message": "died\x1b", "code": 500})):
            self.assert_error("BrokenReply", r"broke the reply off: died\x1b", "Hel", delta(content="Hel"), line)
            self.assert_error("BrokenReply", "died", None, line)
        self.assert_error("PromptTooLong", "longer than the context", None,
                          data(error={"message": "no", "code": "context_length_exceeded"}))

    def test_an_error_before_any_text_stands_for_the_status_that_it_names(self) -> None:
        for code, status in ((429, 429), ("503", 503), (402, 402), (1302, 200), ("slow", 200), (200, 200), (None, 200)):
            reading = CompletionParser()
            reading.take(data(choices=[], error={"message": "slow\ndown", "code": code}), 1.0)
            meant = reading.ended(Response(Ending.WHOLE, 200))
            self.assertEqual(meant.status, status)
            self.assertEqual(b"slow\\ndown" in meant.body, status != 200)


class RetryAfter(unittest.TestCase):
    def test_seconds_and_dates_are_known_and_all_else_asks_for_nothing(self) -> None:
        for text, seconds in {
                "3": 3.0, " 120 ": 120.0, "0.5": 0.5, "999999999": MOST_RETRY_AFTER_S,
                "Tue, 01 Jan 2030 00:01:30 GMT": 90.0, "Tuesday, 01-Jan-30 00:00:10 GMT": 10.0,
                "0": None, "-1": None, "soon": None, "": None, "nan": None, "1e3": None, "inf": None, "9" * 30: None,
                "Mon, 31 Dec 2029 23:59:00 GMT": None, "Fri, 99 Jan 2030 00:00:00 GMT": None}.items():
            with self.subTest(text):
                self.assertEqual(retry_after_s(text, NOW), seconds)
        self.assertIsNone(retry_after_s(None, NOW))

    def test_the_latest_moment_that_anybody_heard_of_counts(self) -> None:
        backoff = Backoff()
        self.assertEqual(backoff.left_s(5.0), 0.0)
        backoff.extend(9.0)
        backoff.extend(7.0)
        self.assertEqual([backoff.left_s(now) for now in (5.0, 9.0, 50.0)], [4.0, 0.0, 0.0])


class TooLongPrompts(unittest.TestCase):
    def test_every_server_says_it_in_its_own_words(self) -> None:
        longer = "the prompt is longer than the context"
        for body, words in {
                '{"error":"the input length exceeds the context length"}': longer,
                error("too many", code="context_length_exceeded"): longer,
                error("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"): longer,
                error("Trying to keep the first 4500 tokens when context the overflows. However, the model is loaded "
                      "with context length of only 4096 tokens"): longer,
                error("no"): None, '{"error":"model is required"}': None,
                '{"error":"{\\"error\\":{\\"type\\":\\"exceed_context_size_error\\",\\"n_prompt_tokens\\":1465,'
                '\\"n_ctx\\":256}}"}': "the prompt has 1465 tokens, the context 256",
                '{"error":{"code":400,"message":"request (9031 tokens) exceeds the available context size (4096 '
                'tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9031,"n_ctx":4096}}':
                    "the prompt has 9031 tokens, the context 4096"}.items():
            self.assertEqual(words, too_long_message(body), body)
            self.assertEqual(words and words + ChatParser.setting, too_long_message(body, ChatParser.setting))


class Events(unittest.TestCase):
    def test_an_event_is_its_data_lines_up_to_an_empty_line_and_a_body_of_json_is_one_thing_to_its_end(self) -> None:
        for lines, expected in (
                ((b"data: a", b""), [b"a"]), ((b"data:a", b"data:  b", b""), [b"a\n b"]),
                ((b"data: a", b"", b"data: b", b""), [b"a", b"b"]), ((b"data: a", b"", b"", b"data: b"), [b"a", b"b"]),
                ((b"\xef\xbb\xbfdata: a", b""), [b"a"]), ((b"data: \xef\xbb\xbfa", b""), [b"\xef\xbb\xbfa"]),
                ((b": hello", b"event: x", b"id: 7", b"retry: 1", b"data: a", b"foo: bar", b"bare", b""), [b"a"]),
                ((b"data", b"data: a", b""), [b"\na"]), ((b"data:", b"", b"id: 7", b""), []),
                ((b" data: a", b"Data: a", b"datas: a", b""), []), ((), []), ((b"\xef\xbb\xbf[1]",), [b"[1]"]),
                ((b"", b" {", b"", b'"data": 1', b"}"), [b' {\n\n"data": 1\n}'])):
            with self.subTest(lines):
                stream = EventStream()
                found = [*map(stream.take, lines), stream.rest()]
                self.assertEqual(expected, [one for one in found if one is not None])

    def test_the_first_line_that_is_no_field_is_kept_and_what_waits_is_counted(self) -> None:
        stream = EventStream()
        for line in (b"data: 1234", b"<html>", b"upstream timed out", b": a comment"):
            stream.take(line)
        self.assertEqual((stream.unknown, stream.size), (b"<html>", 5))
        stream.take(b"")
        self.assertEqual(stream.size, 0)
