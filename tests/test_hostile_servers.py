"""A hostile server: every trial ends in time under its right name, the run goes on or stops, and memory stays small.

The recorded exchanges with a real server are in test_network_exchanges.py, what ends a run by itself in
test_systems_ollama.py and in the tests of the workflow; here stands what nobody would send who means well.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import model_triage
from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import ERROR_TYPES, EnvironmentFailure, TrialError
from benchkit.basics.texts import shown_line
from benchkit.basics.values import Request
from benchkit.network.http_client import MOST_LINE_BYTES
from benchkit.systems.system import SystemOptions
from tests import fake_ollama
from tests.commands import HANGS_S, LATE_S, ROOT
from tests.fake_ollama import FakeOllama, Fault, Handler, Seen
from tests.hostile_servers import CHUNKED, FLOODS, JUDGED, LONG_HEAD, MODEL, OK, QUICK, SLOW, WHOLE, Attack, chunk
from tests.workflow import WorkflowWithServer

TIMEOUT_S = 0.5
LONG_S = 10.0
"""For what ends by itself, however busy the machine is."""
RUN_S = 1.5
MOST_MEMORY = 200 * 2**20
SCRIPT = """
import sys, time
import model_triage
from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import KitError, TrialError
from benchkit.basics.values import Request
from benchkit.systems.system import SystemOptions
options = SystemOptions(clock=Clock(), stop=StopRequest(), say=print, task=None, cases=(), host=sys.argv[1])
for _ in range(int(sys.argv[2])):
    # a new one each time: one that gave a request up would ask first whether the server is free again
    system = model_triage.system("smollm2:135m", options)
    try:
        system.open()
        system.answer(Request("a", 1, 1, 1001, ({"role": "user", "content": "hi"},), None, time.monotonic() + 0.6))
        print("judged")
    except TrialError as error:
        print(error.type)
    except KitError as error:
        print(type(error).__name__)
# not ru_maxrss, which begins at what the process had that started this one
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a trial: an error type or JUDGED, the seconds it took, and what is said of it."""

    name: str
    seconds: float
    message: str = ""
    partial: str | None = None
    latency_s: float | None = None
    retries: int = 0


@contextmanager
def system_at(server: FakeOllama) -> Iterator[Any]:
    """The model of the fake server, opened."""
    system = model_triage.system(MODEL, SystemOptions(
        clock=Clock(), stop=StopRequest(), say=lambda line: None, task=None, cases=(), host=server.host))
    with closing(system):
        system.open()
        yield system


def outcome_of(fault: Fault, limit_s: float = TIMEOUT_S) -> Outcome:
    """One trial against a server of its own that does this."""
    with FakeOllama() as server, system_at(server) as system:
        server.next(fault)
        start = time.monotonic()
        try:
            system.answer(Request("a", 1, 1, 1001, ({"role": "user", "content": "hi"},), None, start + limit_s))
            return Outcome(JUDGED, time.monotonic() - start)
        except TrialError as error:
            return Outcome(error.type, time.monotonic() - start, error.message, error.partial, error.latency_s,
                           error.retries)


class OneTrial(unittest.TestCase):
    def assert_each(self, attacks: Mapping[str, Attack], at_once: int, limit_s: float = TIMEOUT_S) -> None:
        with ThreadPoolExecutor(at_once) as pool:
            outcomes = pool.map(lambda attack: outcome_of(attack.fault, limit_s), attacks.values())
            for (name, attack), outcome in zip(attacks.items(), outcomes, strict=True):
                with self.subTest(name):
                    self.assertEqual(attack.outcome, outcome.name, outcome.message)
                    self.assertIn(outcome.name, (JUDGED, *ERROR_TYPES))
                    self.assertLess(outcome.seconds, limit_s + LATE_S)
                    self.assertEqual(0, outcome.retries)
                    if outcome.name == "Timeout":
                        self.assertGreater(outcome.latency_s or 0.0, limit_s / 4)
                    self.assertEqual(attack.keeps, (outcome.partial or "")[:len(attack.keeps)])
                    self.assertEqual(shown_line(outcome.message, 1000), outcome.message)

    def test_a_server_that_never_ends_is_left_in_time(self) -> None:
        self.assert_each(SLOW, 8)

    def test_a_server_that_never_stops_sending_is_left_in_time(self) -> None:
        self.assert_each(FLOODS, 1)

    def test_what_is_no_reply_has_its_name(self) -> None:
        self.assert_each(QUICK, 4, LONG_S)

    def test_a_redirect_leads_nowhere(self) -> None:
        with FakeOllama() as elsewhere:
            for code in (301, 302, 303, 307, 308):
                with self.subTest(code):
                    place = f"HTTP/1.1 {code} X\r\nLocation: http://{elsewhere.host}/api/chat\r\n\r\n"
                    outcome = outcome_of(fake_ollama.raw_bytes(place.encode()), LONG_S)
                    self.assertEqual("ServerError", outcome.name)
                    self.assertIn(f"HTTP {code}, a redirect, which is not followed", outcome.message)
            self.assertEqual([], elsewhere.seen)

    def test_no_message_of_an_error_quotes_more_than_a_little(self) -> None:
        for fault in (fake_ollama.status(500, "x" * 100_000), fake_ollama.lines(b"x" * 100_000),
                      fake_ollama.lines(b'{"error":"' + b"x" * 100_000 + b'"}')):
            self.assertLess(len(outcome_of(fault, LONG_S).message), 1000)


class LooksOfTheServer(unittest.TestCase):
    """What /api/version, /api/tags and /api/ps may say."""

    STRANGE: Mapping[str, Fault] = {
        "models that are no list": fake_ollama.status(200, '{"models":{"a":1}}'),
        "models that are numbers": fake_ollama.status(200, '{"models":[1]}'),
        "a model without a name": fake_ollama.status(200, '{"models":[{}]}'),
        "a digest that is a list": fake_ollama.status(200, f'{{"models":[{{"name":"{MODEL}","digest":["a"]}}]}}'),
        "nested deep": fake_ollama.status(200, '{"models":' + "[" * 100_000),
        "many models": fake_ollama.status(200, '{"models":[' + ",".join(['{"name":"a"}'] * 100_000) + "]}"),
        "a flood": fake_ollama.endless(CHUNKED, chunk(b"a" * 65536)),
        "a cut": fake_ollama.raw_bytes(OK + b"Content-Length: 99\r\n\r\n{"),
        "gibberish": fake_ollama.raw_bytes(b"\x00\xff\r\n\r\n"),
    }

    def test_before_a_run_they_are_refused_in_one_line(self) -> None:
        for name, fault in self.STRANGE.items():
            for path in ("/api/tags", "/api/version"):
                with self.subTest(name, path=path), FakeOllama() as server:
                    server.paths[path] = fault
                    with self.assertRaises(EnvironmentFailure) as refused, system_at(server):
                        self.fail("it was opened")
                    self.assertTrue(str(refused.exception).isprintable())
                    self.assertLess(len(str(refused.exception)), 2000)

    def test_after_a_reply_the_trial_has_a_name_and_keeps_its_text(self) -> None:
        for name, fault in self.STRANGE.items():
            with self.subTest(name), FakeOllama() as server, system_at(server) as system:
                server.paths["/api/tags"] = fault
                with self.assertRaises(TrialError) as caught:
                    system.answer(Request("a", 1, 1, 1001, (), None, time.monotonic() + RUN_S))
                self.assertIn(caught.exception.type, ("Unreachable", "ModelChanged"))
                self.assertIsNotNone(caught.exception.partial)
                self.assertTrue(caught.exception.message.isprintable())


@unittest.skipUnless(sys.platform.startswith("linux"), "memory is measured as Linux counts it")
class Memory(unittest.TestCase):
    def used(self, server: FakeOllama, times: int) -> tuple[list[str], int]:
        """The outcomes of so many trials, one after the other in one process, and its most memory in bytes."""
        found = subprocess.run([sys.executable, "-c", SCRIPT, server.host, str(times)], cwd=ROOT, timeout=HANGS_S,
                               capture_output=True, text=True, check=True,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        *outcomes, memory = found.stdout.split()
        return outcomes, int(memory) * 1024

    def test_100_megabytes_in_any_form_take_less_than_200_at_the_client(self) -> None:
        line = b'{"message":{"content":"%s"},"done":false}\n'
        many = 100 * 2**20
        forms: Mapping[str, tuple[bytes, bytes, str]] = {
            "one line": (OK + b"Content-Length: %d\r\n\r\n" % many, b"a" * 65536, "ReplyTooLarge"),
            "one text": (OK + b'Content-Length: %d\r\n\r\n{"message":{"content":"' % many, b"a" * 65536,
                         "ReplyTooLarge"),
            "empty lists": (OK + b"Content-Length: %d\r\n\r\n[" % many, b"[]," * 20_000, "ReplyTooLarge"),
            "lines that end at the limit": (
                CHUNKED, chunk(b"[" + b"{}," * (MOST_LINE_BYTES // 3 - 10) + b"1]\n"), "BadReply"),
            "texts": (CHUNKED, chunk(line % (b"x" * 60_000)), "ReplyTooLarge"),
            "short lines without a text": (CHUNKED, chunk(line % b"") * 500, "Timeout"),
            "empty lines in tiny chunks": (CHUNKED, chunk(b"\n") * 1000, "Timeout"),
            "empty lines": (OK + b"\r\n", b"\n" * 65536, "ReplyTooLarge"),
            "headers": (LONG_HEAD, b"a" * 65536, "BadReply"),
            "an error page": (b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n" % many, b"<p>" * 20_000,
                              "ReplyTooLarge"),
        }
        with FakeOllama() as server:
            server.next(*(fake_ollama.endless(start, again) for start, again, _ in forms.values()))
            outcomes, memory = self.used(server, len(forms))
        for (name, (_, _, wanted)), outcome in zip(forms.items(), outcomes, strict=True):
            with self.subTest(name):
                self.assertIn(outcome, (wanted, "Timeout"))
        self.assertLess(memory, MOST_MEMORY)

    def test_100_megabytes_of_models_take_no_more(self) -> None:
        with FakeOllama() as server:
            server.paths["/api/tags"] = fake_ollama.endless(OK + b'\r\n{"models":[', b"{}," * 20_000)
            outcomes, memory = self.used(server, 2)
        self.assertEqual(["EnvironmentFailure"] * 2, outcomes)
        self.assertLess(memory, MOST_MEMORY)


class Runs(WorkflowWithServer):
    """The same through the command."""

    ATTACKS: Mapping[str, Attack] = {
        "a text without an end": Attack(fake_ollama.stalls("Hel", RUN_S + 0.1), "Timeout"),
        **{name: {**FLOODS, **QUICK}[name] for name in (
            "a gzip bomb", "HTML", "nested 100,000 deep", "an answer of another model", "a reset in the middle",
            "one line for ever", "headers for ever", "UTF-16", "status 500", "no HTTP", "half a letter, escaped",
            "keys that stand twice", "a NUL in the text", "a chunk below zero")}}

    def test_a_run_goes_on_through_whatever_the_server_does_and_every_trial_has_its_name(self) -> None:
        faults = [attack.fault for attack in self.ATTACKS.values()]
        trials = len(faults) // len(self.ids)

        def attacked(seen: Seen) -> None:
            # a probe for what a given up request left behind is answered as it should be
            if faults and seen.body["options"]["num_predict"] != 1:
                self.server.next(faults.pop(0))

        self.server.on_chat = attacked
        stdout = self.well(self.bench(f"--trials {trials} --timeout-s {RUN_S} --quiet",
                                      self.flags.replace("--trials 2", "")))
        self.assertIn("every planned trial ran", stdout)
        lines = [line for line in self.lines() if line["kind"] == "trial"]
        for (name, attack), line in zip(self.ATTACKS.items(), lines, strict=True):
            with self.subTest(name):
                self.assertEqual(attack.outcome, line["error"]["type"] if "error" in line else JUDGED)
                self.assertLess(line["latency_s"] or 0.0, RUN_S + LATE_S)
        self.assertEqual(self.every_cell(trials), self.trials())
        self.well("harness.py run --system replay:recorded/smol.json --out runs/smol.json")
        self.well("report.py runs/smol.json --html a.html --markdown a.md --csv a.csv --junit a.xml --out a.json")

    def test_a_server_that_dies_and_comes_back_costs_the_trial_it_died_in(self) -> None:
        def dies(handler: Handler, seen: Seen) -> None:
            self.server.stop()
            threading.Timer(0.4, self.server.start).start()
            handler.hang_up(reset=True)

        self.server.next(fake_ollama.says("yes"), dies)
        self.well(self.bench("--timeout-s 5 --quiet"))
        self.assertEqual(self.every_cell(2), self.trials())
        lines = [line for line in self.lines() if line["kind"] == "trial"]
        self.assertEqual([None, "BrokenReply", None, None, None, None],
                         [line["error"]["type"] if "error" in line else None for line in lines])
        self.assertGreater(lines[2]["retries"], 0)
        self.assertGreater(lines[2]["waited_s"], 0.2)

    def test_one_answer_without_measure_costs_its_own_trial_and_none_of_those_behind_it(self) -> None:
        for asked in ("9999999", "999999999", "Fri, 31 Dec 9999 23:59:59 GMT"):
            with self.subTest(asked):
                busy = b"HTTP/1.1 429 X\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n" % asked.encode()
                self.server.next(fake_ollama.raw_bytes(busy))
                self.log.unlink(missing_ok=True)
                self.well(self.bench("--timeout-s 20 --quiet"))
                trials = [line for line in self.lines() if line["kind"] == "trial"]
                self.assertEqual(["ServerBusy", *[None] * 5], [line.get("error", {}).get("type") for line in trials])
                self.assertEqual([0.0] * 6, [line["waited_s"] for line in trials])

    def test_what_was_never_asked_for_is_in_no_line_of_the_log(self) -> None:
        self.server.next(fake_ollama.lines(json.dumps({
            **json.loads(WHOLE), "evil": "EVIL", "context": ["EVIL"], "message": {
                "content": "yes", "role": "EVIL", "tool_calls": ["EVIL"], "images": ["EVIL"]}}).encode()))
        self.well(self.bench("--limit 1 --quiet"))
        self.assertNotIn(b"EVIL", self.log.read_bytes())
