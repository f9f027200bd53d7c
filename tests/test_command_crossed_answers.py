"""No trial gets the answer of another, whatever a server sends late or twice over the connection of a request."""
from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from tests.fake_ollama import DIGEST, Fault, Handler, Seen, metrics
from tests.workflow import MODEL, WorkflowWithServer

OK = b"HTTP/1.1 200 OK\r\n"
LATE = "LATE"
TRIALS = 6


def chat(text: str) -> bytes:
    """A whole response: a chat line of the model."""
    line = {"model": "smollm2:135m", "message": {"content": text}, "done": True, "done_reason": "stop", **metrics(text)}
    body = json.dumps(line).encode()
    return OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


TAGS = json.dumps({"models": [{"name": "smollm2:135m", "digest": DIGEST[::-1]}]}).encode()
AFTERWARDS: Mapping[str, bytes] = {
    "an answer": chat(LATE), "garbage": b"\x00\xff garbage\r\n\r\n",
    "another reply's body": chat(LATE).partition(b"\r\n\r\n")[2],
    "a list of models": OK + b"Content-Length: %d\r\n\r\n%s" % (len(TAGS), TAGS)}
BODILESS: Mapping[str, bytes] = {
    "204": b"HTTP/1.1 204 No Content\r\n\r\n", "205": b"HTTP/1.1 205 X\r\nContent-Length: 0\r\n\r\n",
    "304": b"HTTP/1.1 304 X\r\n\r\n", "a length of 0": OK + b"Content-Length: 0\r\n\r\n",
    "no chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}


def then(first: bytes, more: bytes, after_s: float) -> Fault:
    """These bytes; the connection takes further requests, and so long afterwards more bytes come unasked."""
    def fault(handler: Handler, seen: Seen) -> None:
        def send() -> None:
            with contextlib.suppress(OSError, ValueError):  # the client has left
                handler.send_bytes(more)
        handler.send_bytes(first)
        handler.go_on()
        if after_s:
            threading.Timer(after_s, send).start()
        else:
            send()
    return fault


class CrossedAnswers(WorkflowWithServer):
    def setUp(self) -> None:
        super().setUp()
        self.server.answer = lambda model, messages, seed: self.text(messages[-1]["content"], seed)
        self.server.delay_s = 0.005
        self.flags = f"--system {MODEL} --host {self.server.host} --trials {TRIALS} --quiet --log"

    def text(self, question: str, seed: int) -> str:
        """What belongs to a trial and to no other."""
        return f"{seed} {next(case['id'] for case in self.cases if case['input']['subject'] in question)}"

    def trial_lines(self, name: str, first: bytes | None, more: bytes, after_s: float) -> list[Any]:
        """Run six trials a case, of which every third meets this."""
        def on_chat(seen: Seen) -> None:
            if len(self.server.chats()) % 3 == 0:
                own = self.text(seen.body["messages"][-1]["content"], seen.body["options"]["seed"])
                self.server.next(then(chat(own) if first is None else first, more, after_s))

        self.server.seen.clear()
        self.server.on_chat = on_chat
        log = self.folder / f"{name}.jsonl"
        told = self.type(self.bench(f"{log}"))
        self.assertEqual(0, told.code, told)
        lines = [line for line in self.lines(log) if line["kind"] == "trial"]
        self.assertEqual(TRIALS * len(self.ids), len(lines))
        for line in lines:
            if "output" in line:
                self.assertEqual(f"{line['seed']} {line['case']}", line["output"])
            else:
                self.assertIsNone(line["error"]["partial"])
        return lines

    def test_what_comes_late_behind_a_reply_without_a_body_is_no_trials_answer(self) -> None:
        for number, (name, first) in enumerate(BODILESS.items()):
            with self.subTest(name):
                more = list(AFTERWARDS.values())[number % len(AFTERWARDS)]
                lines = self.trial_lines(f"late-{number}", first, more, 0.02)
                self.assertEqual(TRIALS, sum("error" in line for line in lines))

    def test_what_comes_behind_a_whole_reply_neither_answers_another_trial_nor_costs_this_one(self) -> None:
        for number, (name, more) in enumerate(AFTERWARDS.items()):
            for after_s in (0.0, 0.02):
                with self.subTest(name, after_s=after_s):
                    lines = self.trial_lines(f"behind-{number}-{after_s}", None, more, after_s)
                    self.assertEqual([], [line["error"] for line in lines if "error" in line])
