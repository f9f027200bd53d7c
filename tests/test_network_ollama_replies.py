"""Chat lines of Ollama as replies: what is kept, what is unknown, and what is no reply."""
from __future__ import annotations

import json
import unittest
from typing import Any

from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Timings, Usage
from benchkit.network.http_client import Ending, Response
from benchkit.network.ollama_protocol import ChatParser
from benchkit.network.replies import too_long_message

DONE = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def line(content: str = "", done: bool = False, **more: Any) -> bytes:
    fields = {"message": {"role": "assistant", "content": content}, "done": done}
    return json.dumps({**fields, **({"done_reason": "stop"} if done else {}), **more}).encode()


def read(*lines: bytes, ending: Ending = Ending.WHOLE) -> Reply:
    reading = ChatParser()
    for number, data in enumerate(lines):
        if reading.take(data, 10.0 + number):
            break
    return reading.reply(Response(ending, 200, sent_at=9.5, ended_at=12.0))


class Replies(unittest.TestCase):
    def assert_error(self, error_type: str, words: str, partial: str | None, *lines: bytes) -> None:
        with self.assertRaises(TrialError) as caught:
            read(*lines)
        self.assertEqual((caught.exception.type, caught.exception.partial), (error_type, partial))
        self.assertIn(words, caught.exception.message)
        self.assertTrue(caught.exception.message.isprintable())

    def test_text_and_reasoning_are_kept_apart_and_as_they_came(self) -> None:
        thought = b'{"message":{"role":"assistant","content":"","thinking":"Hm. "},"done":false}'
        reply = read(thought, line(" {\n"), line('"a": "é"}  '), json.dumps(DONE).encode())
        self.assertEqual((reply.output, reply.reasoning), (' {\n"a": "é"}  ', "Hm. "))
        self.assertEqual(read(line("<think>no</think>yes", True)).output, "<think>no</think>yes")

    def test_a_line_of_more_parts_than_any_has_is_refused_before_it_is_read(self) -> None:
        said = b'{"message":{"content":"x"},"done":true,"done_reason":"stop","context":[' + b"{}," * 1_000_000 + b"{}]}"
        self.assert_error("BadReply", "more keys, values, objects and lists than are read at once", None, said)

    def test_an_empty_answer_is_an_answer(self) -> None:
        for reason in ("stop", "length"):
            reply = read(line("", True, done_reason=reason))
            self.assertEqual((reply.output, reply.finish, reply.reasoning), ("", reason, None))

    def test_an_end_that_is_not_the_model_s_own_nor_the_asker_s_limit_is_no_end_of_an_answer(self) -> None:
        for reason in ("", None, 7):
            self.assert_error("Unfinished", "without done_reason", "ye", line("ye"), line("", True, done_reason=reason))
        self.assert_error("Unfinished", "without done_reason", "ye", line("ye"),
                          b'{"message":{"content":""},"done":true}')
        self.assert_error("BrokenReply", "done_reason runner gone", "ye", line("ye"),
                          line("", True, done_reason="runner gone"))

    def test_halves_of_a_letter_that_meet_belong_together_in_answers_and_thoughts(self) -> None:
        thought = b'{"message":{"content":"","thinking":"%s"},"done":false}'
        reply = read(thought % rb"\ud83d", thought % rb"\ude00", line("yes \ud83d"), line("\ude00\ud83d", True))
        self.assertEqual((reply.output, reply.reasoning), ("yes \U0001f600\ufffd", "\U0001f600"))

    def test_an_absent_figure_is_unknown_and_never_zero(self) -> None:
        reply = read(line("x", True))
        self.assertEqual(reply.usage, Usage(None, None, None))
        self.assertEqual(reply.timings, Timings(None, None, None, 0.5, None))
        reply = read(line("", True, total_duration=9_000_000_000, load_duration=1_000_000_000, eval_count=7,
                          eval_duration=2_500_000_000, prompt_eval_count=3, prompt_eval_cached_count=2))
        self.assertEqual(reply.usage, Usage(3, 7, 2))
        self.assertEqual(reply.timings, Timings(1.0, None, 2.5, None, 5.5))
        self.assertEqual(reply.latency_s, 2.5)
        odd = read(line("", True, eval_count="many", prompt_eval_count=True, total_duration=-1))
        self.assertEqual((odd.usage, odd.timings.other_s), (Usage(), None))

    def test_the_first_token_is_the_first_text_or_thought(self) -> None:
        thought = b'{"message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}'
        self.assertEqual(read(line(""), thought, line("x", True)).timings.first_token_s, 1.5)

    def test_a_lone_surrogate_is_replaced_and_a_pair_is_a_character(self) -> None:
        reply = read(rb'{"message":{"content":"a\ud800b\udc00 \ud83d\ude00 \\ud800"},"done":true,"done_reason":"stop"}')
        self.assertEqual(reply.output, "a\ufffdb\ufffd \U0001f600 \\ud800")

    def test_what_is_no_chat_line_is_a_bad_reply_that_says_what_came(self) -> None:
        for data, words in {
                b"<html>\x1b[2J": r"<html>\x1b[2J", b'{"message":': "not JSON", b"[]": "no JSON object",
                b'"x"': "no JSON object", b"{}": "no chat message", b'{"done": false}': "no chat message",
                b'{"message":{"content":"x"}}': "no chat message", b'{"message":"x","done":true}': "no chat message",
                b'{"message":{"content":7},"done":true}': "message.content is no text",
                b'{"message":{"thinking":[1]},"done":false}': "message.thinking is no text",
                b'{"choices":[{"message":{"content":"x"}}]}': "no chat message",
                b'{"response":"x","done":true}': "no chat message",
                b'{"message":{"content":"\xff"},"done":true}': "not UTF-8",
                b'{"message":{"content":NaN},"done":true}': "NaN",
                b"[" * 5000: "deep", b'{"done":true,"done":false}': "stands twice"}.items():
            with self.subTest(data[:40]):
                self.assert_error("BadReply", words, None, data)
                self.assert_error("BadReply", words, "Hel", line("Hel"), data)

    def test_what_is_not_json_is_said_in_the_same_words_by_every_python(self) -> None:
        for data in (b'{"done":true,}', b"[1,]", b"{'a':1}", b"nope"):
            with self.subTest(data):
                self.assert_error("BadReply", f"not a reply of Ollama (it is not JSON): {data.decode()}", None, data)

    def test_a_line_of_another_model_is_no_part_of_the_answer(self) -> None:
        own = json.dumps({"model": "Phi:latest", **DONE}).encode()
        self.assertTrue(ChatParser(["phi:latest"]).take(own, 0.0))
        self.assertTrue(ChatParser(["phi:latest"]).take(json.dumps(DONE).encode(), 0.0))
        with self.assertRaises(TrialError) as caught:
            ChatParser(["gemma4:e2b"]).take(own, 0.0)
        self.assertEqual(caught.exception.type, "BadReply")
        self.assertIn("of another model", caught.exception.message)

    def test_a_reply_over_512_kib_is_too_large_and_its_start_is_kept(self) -> None:
        text = "ä" * 1024
        with self.assertRaises(TrialError) as caught:
            read(*[line(text)] * 257)
        self.assertEqual(caught.exception.type, "ReplyTooLarge")
        self.assertEqual(caught.exception.partial, text * 256)
        self.assertEqual(read(*[line(text)] * 255, line(text, True)).output, text * 256)

    def test_an_error_line_breaks_the_reply_off(self) -> None:
        self.assert_error("BrokenReply", "unexpected EOF", "Hel", line("Hel"), b'{"error":"unexpected EOF"}')
        self.assert_error("BrokenReply", "unexpected EOF", None, b'{"error":"unexpected EOF"}')
        self.assert_error("PromptTooLong", "longer than the context", None,
                          b'{"error":"the input length exceeds the context length"}')

    def test_an_end_without_done_is_unfinished_if_in_order_and_else_broken(self) -> None:
        self.assert_error("Unfinished", "without done", "ha ha", line("ha "), line("ha"))
        self.assert_error("BrokenReply", "empty", None)
        with self.assertRaises(TrialError) as caught:
            read(line("ha"), ending=Ending.CLOSED)
        self.assertEqual((caught.exception.type, caught.exception.partial), ("BrokenReply", "ha"))


class TooLongPrompts(unittest.TestCase):
    def test_the_numbers_are_said_where_the_server_says_them(self) -> None:
        for body, words in {
                '{"error":"{\\"error\\":{\\"type\\":\\"exceed_context_size_error\\",\\"n_prompt_tokens\\":1465,'
                '\\"n_ctx\\":256}}"}': "the prompt has 1465 tokens, the context 256 (option num_ctx)",
                '{"error":"the input length exceeds the context length"}':
                    "the prompt is longer than the context (option num_ctx)",
        }.items():
            self.assertEqual(words, too_long_message(body, ChatParser.setting))
        self.assertIsNone(too_long_message('{"error":"model is required"}'))
