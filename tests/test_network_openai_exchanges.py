"""Recorded chat completions of a real server, played back over a socket, have the outcome that stands in a table."""
from __future__ import annotations

import time
import unittest

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Usage
from benchkit.network.asking import ask
from benchkit.network.calls import Call
from benchkit.network.exchange import Client
from benchkit.network.host import address_of
from benchkit.network.openai_replies import Completions, Signature
from tests.fake_ollama import played
from tests.fake_openai import CHAT, FakeOpenAI

SIGNED = Signature("qwen2.5-coder:0.5b", "fp_ollama")
WHOLE = {
    "v1_chat": ("Three primary colours are red, blue, and green.", "stop", Usage(34, 12)),
    "v1_chat_stream": ("Three primary colours are red, blue,", "length", Usage(34, 8)),
}
ERRORS = {
    "v1_invalid_json": ("ServerError", "HTTP 400: ", False), "v1_unknown_model": ("ServerError", "HTTP 404: ", True),
    "chat_stream": ("BadReply", "no list of choices", False), "err_unknown_path": ("ServerError", "HTTP 404: ", True),
    "trunc_false_native": ("PromptTooLong", "the prompt has 1465 tokens, the context 256", False),
    "runner_killed_nonstream": ("ServerError", "HTTP 500: ", False), "root": ("BadReply", "Ollama is running", False),
}


class RecordedCompletions(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOpenAI())
        self.completions = Completions()

    def asked(self, name: str) -> Reply:
        self.server.paths[CHAT] = played(name)
        client = Client(address_of(self.server.host, "--host"), Clock(), StopRequest())
        return ask(client, self.completions.dialect, Call("POST", CHAT, b"{}"), time.monotonic() + 5)

    def test_a_whole_one_is_a_reply_and_signed(self) -> None:
        for name, (output, finish, usage) in WHOLE.items():
            with self.subTest(name):
                reply = self.asked(name)
                self.assertEqual((reply.output, reply.finish, reply.usage), (output, finish, usage))
                self.assertEqual(self.completions.signature, SIGNED)
                self.assertGreaterEqual(reply.latency_s or 0.0, reply.timings.first_token_s or 9.9)

    def test_any_other_is_an_error(self) -> None:
        for name, (error_type, words, stops) in ERRORS.items():
            with self.subTest(name), self.assertRaises(TrialError) as caught:
                self.asked(name)
            self.assertEqual((caught.exception.type, caught.exception.stops is not None), (error_type, stops))
            self.assertIn(words, caught.exception.message)


if __name__ == "__main__":
    unittest.main()
