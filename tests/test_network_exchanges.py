"""Every recorded exchange with a real server, played back over a socket, has the outcome that stands in a table."""
from __future__ import annotations

import time
import unittest
from typing import NamedTuple

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import KitError, TrialError
from benchkit.basics.values import Reply, Request, Usage
from benchkit.network.address import address_of
from benchkit.network.http_client import Call, Client, NoAnswer
from benchkit.network.ollama_protocol import ChatParser, InstalledModels, find_served, running, version_of
from benchkit.network.openai_protocol import Completions, Signature
from benchkit.network.replies import ask
from tests.fake_ollama import EXCHANGES, FakeOllama, played, recorded
from tests.fake_openai import CHAT as COMPLETION
from tests.fake_openai import FakeOpenAI

REQUEST = Request("a", 1, 1, 1001, ({"role": "user", "content": "hi"},), None, 0.0)


class Whole(NamedTuple):
    """A reply: how it begins, how it ended, and its tokens."""

    starts: str
    finish: str | None
    prompt_tokens: int | None = None
    output_tokens: int | None = None


class Error(NamedTuple):
    """An error: its type, words of its message, how its partial text begins, whether the run ends."""

    type: str
    words: str
    starts: str | None = None
    stops: bool = False


COLOURS = "Three primary colours are red, blue, and green."
SEA = "The sea is a vast and mysterious realm"
TOO_LONG = Error("PromptTooLong", "the prompt has 1465 tokens, the context 256 (option num_ctx)")
CHATS: dict[str, Whole | Error] = {
    "after_disconnect_stream": Whole("The sea is a vast", "length", 39, 5),
    "chat_format_bad": Error("ServerError", "HTTP 500: "),
    "chat_length": Whole("Title: The End of", "length", 35, 5),
    "chat_length_stream": Whole("Title: The End of", "length", 35, 5),
    "chat_no_options": Whole("Hello! How can I assist you today?", "stop", 32, 10),
    "chat_nonstream_cold": Whole(COLOURS, "stop", 34, 12),
    "chat_nonstream_warm": Whole(COLOURS, "stop", 34, 12),
    "chat_num_predict_0": Whole("As an artificial intelligence", "stop", 35, 271),
    "chat_schema": Whole('{"answer": 5555555555555555, "why": "2+3 equals', "stop", 40, 55),
    "chat_schema_cut": Whole('{"answer": 55', "length", 40, 6),
    "chat_schema_stream": Whole('{"answer": 5555555555555555, "why": "2+3 equals', "stop", 40, 55),
    "chat_stream": Whole(COLOURS, "stop", 34, 12),
    "err_empty_body": Error("ServerError", "HTTP 400: "),
    "err_host": Error("BadReply", "no chat message"),
    "err_invalid_json": Error("ServerError", "HTTP 400: "),
    "err_method_get": Error("ServerError", "HTTP 405: 405 method not allowed"),
    "err_missing_model": Error("ServerError", "HTTP 400: "),
    "err_opt_stop_string": Error("ServerError", "HTTP 500: "),
    "err_opt_string_seed": Error("ServerError", "HTTP 500: "),
    "err_opt_unknown": Whole("Hello! How", "length", 30, 3),
    "err_think_bad": Error("ServerError", "HTTP 400: "),
    "err_think_false": Whole("Hello! How", "length", 30, 3),
    "err_think_unsupported": Error("ServerError", "does not support thinking"),
    "err_tools_unsupported": Error("ServerError", "does not support tools"),
    "err_unknown_model": Error("ServerError", "HTTP 404: ", stops=True),
    "err_unknown_model_stream": Error("ServerError", "model 'nosuch:1b' not found", stops=True),
    "err_unknown_path": Error("ServerError", "HTTP 404: 404 page not found", stops=True),
    "head_root": Error("Timeout", "no whole reply within the time limit"),
    "keep_alive_0": Whole("Hello! How", "length", 30, 3),
    "keep_alive_unload": Whole("", "unload"),
    "num_ctx_over_train": Whole("Hello there!", "length", 31, 3),
    "ps_idle": Error("BadReply", "no chat message"),
    "ps_loaded": Error("BadReply", "no chat message"),
    "root": Error("BadReply", "Ollama is running"),
    "runner_killed_nonstream": Error("ServerError", "HTTP 500: "),
    "runner_killed_stream": Error("BrokenReply", "unexpected EOF", SEA),
    "server_killed_stream": Error("BrokenReply", "ended in the middle", SEA),
    "tags": Error("BadReply", "no chat message"),
    "token_repeat_nonstream": Error("Unfinished", "without done", " ha ha"),
    "token_repeat_stream": Error("Unfinished", "without done", " ha ha"),
    "trunc_default_native": TOO_LONG,
    "trunc_default_tmpl": Whole("The last item in the list is item149.", "stop", 130, 13),
    "trunc_false_native": TOO_LONG,
    "trunc_false_stream_tmpl": TOO_LONG,
    "trunc_false_tmpl": TOO_LONG,
    "v1_chat": Error("BadReply", "no chat message"),
    "v1_chat_stream": Error("BadReply", "not JSON"),
    "v1_invalid_json": Error("ServerError", "HTTP 400: "),
    "v1_unknown_model": Error("ServerError", "HTTP 404: ", stops=True),
    "version": Error("BadReply", "no chat message"),
}
BURST = "queue_reload_burst_max_queue_1"
SIGNED = Signature("qwen2.5-coder:0.5b", "fp_ollama")
COMPLETIONS = {
    "v1_chat": ("Three primary colours are red, blue, and green.", "stop", Usage(34, 12)),
    "v1_chat_stream": ("Three primary colours are red, blue,", "length", Usage(34, 8)),
}
NO_COMPLETIONS = {
    "v1_invalid_json": ("ServerError", "HTTP 400: ", False), "v1_unknown_model": ("ServerError", "HTTP 404: ", True),
    "chat_stream": ("BadReply", "no list of choices", False), "err_unknown_path": ("ServerError", "HTTP 404: ", True),
    "trunc_false_native": ("PromptTooLong", "the prompt has 1465 tokens, the context 256", False),
    "runner_killed_nonstream": ("ServerError", "HTTP 500: ", False), "root": ("BadReply", "Ollama is running", False),
}


class RecordedExchanges(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOllama())
        self.client = Client(address_of(self.server.host, "--host"), Clock(), StopRequest())

    def outcome(self, name: str, number: int = 0, limit_s: float = 5.0) -> Reply | TrialError:
        self.server.paths["/api/chat"] = played(name, number)
        try:
            return ask(self.client, ChatParser, Call("POST", "/api/chat", b"{}"), time.monotonic() + limit_s)
        except TrialError as error:
            return error

    def test_the_table_names_every_file(self) -> None:
        aside = {BURST}
        self.assertEqual(sorted(CHATS.keys() | aside), sorted(path.stem for path in EXCHANGES.glob("*.json")))

    def test_each_exchange_as_an_answer_to_a_chat_has_its_outcome(self) -> None:
        for name, expected in CHATS.items():
            with self.subTest(name):
                found = self.outcome(name, limit_s=0.5 if name == "head_root" else 5.0)
                if isinstance(expected, Whole):
                    assert isinstance(found, Reply), found
                    self.assertEqual(expected, Whole(found.output[:len(expected.starts)], found.finish,
                                                     found.usage.prompt_tokens, found.usage.output_tokens))
                    self.assertIsNotNone(found.latency_s)
                else:
                    assert isinstance(found, TrialError), found
                    partial = found.partial and found.partial[:len(expected.starts or "")]
                    self.assertIn(expected.words, found.message)
                    self.assertEqual(expected, Error(found.type, expected.words, partial, found.stops is not None))

    def test_a_burst_on_a_short_queue_gives_three_replies_and_three_that_were_busy(self) -> None:
        found = [self.outcome(BURST, number, limit_s=0.4) for number in range(6)]
        outcomes = [one.finish if isinstance(one, Reply) else one.type for one in found]
        self.assertEqual(outcomes, ["length"] * 3 + ["ServerBusy"] * 3)

    def test_the_durations_are_the_server_s_in_seconds(self) -> None:
        found = self.outcome("chat_nonstream_cold")
        assert isinstance(found, Reply)
        times = found.timings
        self.assertEqual((times.load_s, times.prompt_s, times.output_s), (1.060103958, 0.222036, 0.362146))
        self.assertEqual(times.other_s, 0.003089859)

    def test_each_exchange_in_place_of_what_it_answers_is_understood(self) -> None:
        soon = time.monotonic() + 60
        for name, path in {"version": "/api/version", "tags": "/api/tags", "ps_loaded": "/api/ps"}.items():
            self.server.paths[path] = played(name)
        self.assertEqual(version_of(self.client), "0.32.15")
        served = find_served(InstalledModels(self.client).now(soon), "SMOLLM2:135m")
        assert served is not None
        self.assertEqual(served.digest, "2c444dd5ea3d4fb98fde0660ea7f3b682f2b643e94b1e7d16a55f0b81a3508ff")
        found = running(self.client, "qwen2.5-coder:0.5b", soon)
        assert found is not None
        self.assertEqual((found[0], found[1]["quantization_level"]), (4096, "Q4_K_M"))
        self.server.paths["/api/ps"] = played("ps_idle")
        self.assertIsNone(running(self.client, "qwen2.5-coder:0.5b", soon))

    def test_each_exchange_in_place_of_a_list_or_a_version_is_taken_or_refused_in_one_line(self) -> None:
        for name in CHATS.keys() - {"head_root"}:
            with self.subTest(name):
                self.server.paths["/api/tags"] = self.server.paths["/api/version"] = played(name)
                if name != "version":
                    with self.assertRaises(KitError) as refused:
                        version_of(self.client)
                    self.assertTrue(str(refused.exception).isprintable())
                if "models" not in recorded(name)["body"]:
                    with self.assertRaises(NoAnswer) as silent:
                        InstalledModels(self.client).now(time.monotonic() + 5)
                    self.assertTrue(str(silent.exception).isprintable())


class RecordedCompletions(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOpenAI())
        self.completions = Completions()

    def asked(self, name: str) -> Reply:
        self.server.paths[COMPLETION] = played(name)
        client = Client(address_of(self.server.host, "--host"), Clock(), StopRequest())
        return ask(client, self.completions.new_parser, Call("POST", COMPLETION, b"{}"), time.monotonic() + 5)

    def test_a_whole_one_is_a_reply_and_signed(self) -> None:
        for name, (output, finish, usage) in COMPLETIONS.items():
            with self.subTest(name):
                reply = self.asked(name)
                self.assertEqual((reply.output, reply.finish, reply.usage), (output, finish, usage))
                self.assertEqual(self.completions.latest.signature, SIGNED)
                self.assertGreaterEqual(reply.latency_s or 0.0, reply.timings.first_token_s or 9.9)

    def test_any_other_is_an_error(self) -> None:
        for name, (error_type, words, stops) in NO_COMPLETIONS.items():
            with self.subTest(name), self.assertRaises(TrialError) as caught:
                self.asked(name)
            self.assertEqual((caught.exception.type, caught.exception.stops is not None), (error_type, stops))
            self.assertIn(words, caught.exception.message)
