"""A model on an Ollama server as a system: who is let in, what is sent, what is retried, and what ends a run."""
from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest import mock

import model_triage
from benchkit.basics.errors import EnvironmentFailure, Interrupted, TrialError, Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.values import JSON, Reply
from benchkit.network.ollama_protocol import full_tag
from benchkit.systems import server_session
from benchkit.systems.ollama import FIXED, OllamaModel, OllamaSystem
from tests import fake_ollama
from tests.commands import LATE_S
from tests.fake_ollama import DIGEST, FakeOllama, Fault
from tests.systems_samples import MESSAGES, OTHER, PROBE, SCHEMA, WithSystem, hurried

BUSY = fake_ollama.status(503, '{"error":"server busy, please try again.  maximum pending requests exceeded"}')


class WithServer(WithSystem):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOllama())

    def system(self, name: str = "smollm2:135m", **changed: Any) -> OllamaSystem:
        system = model_triage.system(name, self.options(**changed))
        self.addCleanup(system.close)
        return system

    def refusal(self, name: str = "smollm2:135m", **changed: Any) -> str:
        """The line of the EnvironmentFailure that `open` raises."""
        return self.refused(lambda: self.system(name, **changed).open())

    def opened(self, name: str = "smollm2:135m") -> OllamaSystem:
        system = self.system(name)
        system.open()
        return system


class Opening(WithServer):
    def test_a_model_that_is_there_is_opened_and_its_digest_goes_into_the_settings(self) -> None:
        system = self.system()
        self.assertIsNone(system.settings()["digest"])
        self.assertEqual(system.open(), {"server": "ollama", "server_version": "0.32.15"})
        self.assertEqual(system.settings(), {
            "api": "/api/chat", "model": "smollm2:135m", "digest": DIGEST, "stream": True, "think": False,
            "truncate": False, "shift": False, "keep_alive": "10m", "options": {
                "temperature": 1.0, "top_k": 64, "top_p": 0.95, "min_p": 0.0, "repeat_penalty": 1.0,
                "num_ctx": 4096, "num_predict": 160}})
        canonical(system.settings())
        # no tag means latest, and case does not matter
        self.server.models = {"Phi:latest": DIGEST, "hf.co/Some/Model:Q4": OTHER}
        self.assertEqual(self.opened("phi").settings()["model"], "phi:latest")
        self.assertEqual(self.opened("hf.co/some/model:Q4").settings()["digest"], OTHER)
        self.assertEqual(full_tag("localhost:5000/model"), "localhost:5000/model:latest")

    def test_the_host_comes_from_the_flag_or_else_from_the_environment(self) -> None:
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host}):
            self.system(host=None).open()
            self.assertRaises(Unusable, self.system, host="nowhere:x")
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": "user:sesame@127.0.0.1:x"}):
            line = self.refused(lambda: self.system(host=None), Unusable)
            self.assertRegex(line, "^OLLAMA_HOST 127.0.0.1:x: the port")
            self.assertNotIn("sesame", line)

    def test_whoever_cannot_be_asked_is_refused_in_one_line_without_the_password_of_the_address(self) -> None:
        def says(fault: Fault) -> dict[str, Any]:
            return {"paths": {"/api/version": fault, "/api/tags": fault}}

        many = {f"m{number}:1b": OTHER for number in range(25)} | {"e\x1bvil:1b": OTHER}
        broken = {"/api/tags": fake_ollama.status(500, '{"error":"disk"}')}
        for server, words in (
                (says(fake_ollama.status(404, "<html>\x1b[31mNo</html>", "text/html")),
                 ("is not Ollama", r"HTTP 404, <html>\x1b[31mNo</html>")),
                (says(fake_ollama.status(200, '{"error":"Unexpected endpoint or method."}')), ("Unexpected endpoint",)),
                (says(fake_ollama.status(200, "")), ("is not Ollama", "an empty body")),
                (says(fake_ollama.status(302, "")), ("is not Ollama", "HTTP 302")),
                (says(fake_ollama.raw_bytes(b"SSH-2.0-OpenSSH_9.6\r\n")), ("is not Ollama", "SSH-2.0")),
                (says(fake_ollama.status(200, '{"version":7}')), ("is not Ollama", '{"version":7}')),
                ({"version": None}, ("it has /api/tags but no /api/version",)),
                ({"paths": broken}, ('does not list its models: GET /api/tags: HTTP 500, {"error":"disk"}',)),
                *(({"version": version}, (f"version {version}, too old",))
                  for version in ("0.5.13", "v0.9.0-rc1", "0.12.11")),
                ({"models": many},
                 ("has no model gemma4:e2b", "m0:1b, m1:1b", "and 6 more", "`ollama pull gemma4:e2b`")),
                ({"models": {}}, ("(installed: none)",)),
                ({"models": {"gemma4:e2b": "short"}}, ("does not say the digest",)),
                ({"models": {"gemma4:e2b": ""}}, ("does not say the digest",))):
            with self.subTest(words), FakeOllama() as self.server:
                for name, value in server.items():
                    setattr(self.server, name, value)
                line = self.refusal("gemma", host=f"user:sesame@{self.server.host}")
                for some in words:
                    self.assertIn(some, line)
                self.assertNotIn("sesame", line)
        line = self.refusal("gemma", host=f"user:sesame@{self.server.host}")
        for some in (f"http://{self.server.host}", "`ollama serve`", "connection refused", "OLLAMA_HOST"):
            self.assertIn(some, line)
        self.assertNotIn("sesame", line)

    def test_a_build_from_source_and_a_version_of_another_form_are_taken(self) -> None:
        for version in ("0.13.0", "0.0.0", "1.0.0", "0.40.1-rc2", "nightly"):
            self.server.version = version
            self.assertEqual(self.system().open()["server_version"], version)

    def test_another_digest_than_the_pinned_one_names_digest_tag_and_line(self) -> None:
        self.server.models = {"gemma4:e2b": OTHER}
        line = self.refusal("gemma")
        pin = model_triage.MODELS["gemma"][1]
        for words in (OTHER, pin, "--system model_triage:gemma4:e2b"):
            self.assertIn(words, line)
        place = re.search(r"model_triage\.py, line (\d+)$", line)
        assert place is not None
        text = Path(model_triage.__file__).read_text(encoding="utf-8").splitlines()
        self.assertIn(pin, text[int(place[1]) - 1])

    def test_a_pinned_model_is_opened_at_its_digest_and_a_full_tag_at_any(self) -> None:
        for name, (tag, digest) in model_triage.MODELS.items():
            self.server.models = {tag: digest}
            self.assertEqual(self.opened(name).settings()["digest"], digest)
            self.server.models = {tag: OTHER}
            self.assertEqual(self.opened(tag).settings()["digest"], OTHER)

    def test_a_model_that_runs_elsewhere_is_refused_unless_asked_for(self) -> None:
        self.server.models = {"big:cloud": DIGEST, "big:120b-cloud": DIGEST, "near:1b": DIGEST}
        self.server.remote = {"near:1b"}
        for name in self.server.models:
            with self.subTest(name):
                self.assertIn("--allow-cloud", self.refusal(name))
                self.system(name, allow_cloud=True).open()
        self.server.stop()
        self.assertIn("--allow-cloud", self.refusal("big:cloud"))

    def test_a_model_that_cannot_be_meant_is_refused_before_any_request(self) -> None:
        good = model_triage.OPTIONS
        for model, words in (
            (OllamaModel("a@sha256:" + DIGEST, good), "@sha256"),
            (OllamaModel("a b", good), "named name or name:tag"),
            (OllamaModel("a\x1b", good), "named name or name:tag"),
            (OllamaModel("a", {}), "need a number for temperature"),
            (OllamaModel("a", {**good, "seed": 1}), "hold a seed"),
            (OllamaModel("a", {**good, "num_predict": 0}), "1 or more"),
            (OllamaModel("a", {**good, "num_predict": -1}), "1 or more"),
            (OllamaModel("a", {**good, "top_k": "40"}), "top_k"),
        ):
            with self.subTest(words):
                self.assertIn(words, self.refused(lambda model=model: OllamaSystem(  # type: ignore[misc]
                    model, self.options()), Unusable))
        self.assertEqual(self.server.seen, [])


class Warming(WithServer):
    def test_a_model_is_loaded_with_the_options_of_its_requests_and_its_context_is_known(self) -> None:
        system = self.opened()
        loaded = system.warm()
        self.assertEqual(loaded.context_length, 4096)
        self.assertEqual((loaded.details or {})["family"], "fake")
        self.assertLess(loaded.load_s, LATE_S)
        body = self.server.seen[-2].body
        self.assertEqual(body, {"model": "smollm2:135m", "messages": [], **FIXED, "options": model_triage.OPTIONS})
        self.assertEqual(self.server.chats(), [])

    def test_what_is_not_said_of_a_loaded_model_is_unknown(self) -> None:
        system = self.opened()
        self.server.paths["/api/ps"] = fake_ollama.status(500)
        self.assertEqual((system.warm().context_length, system.warm().details), (None, None))

    def test_a_model_that_cannot_be_loaded_is_a_matter_of_the_surroundings(self) -> None:
        system = self.opened()
        self.server.paths["/api/chat"] = fake_ollama.status(500, '{"error":"model requires more system memory"}')
        with self.assertRaisesRegex(EnvironmentFailure, "could not be loaded: HTTP 500: .*more system memory"):
            system.warm()

    def test_a_long_load_gives_a_sign_of_life_every_ten_seconds_and_ends_after_ten_minutes(self) -> None:
        system = self.system(clock=hurried(1200))
        system.open()
        start = time.monotonic()
        self.server.paths["/api/chat"] = fake_ollama.silent()
        self.enterContext(mock.patch.object(server_session, "TICK_S", 0.005))
        line = self.refused(system.warm)
        self.assertIn("could not be loaded: no whole reply within the time limit", line)
        self.assertLess(time.monotonic() - start, LATE_S)
        self.assertGreaterEqual(len(self.said), 3)
        self.assertRegex(self.said[0], r"^loading smollm2:135m: \d+ s so far$")


class Answering(WithServer):
    def test_a_trial_is_one_request_that_holds_everything(self) -> None:
        reply = self.opened().answer(self.request(trial=7))
        chat, = self.server.chats()
        self.assertEqual(chat.body, {
            "model": "smollm2:135m", "messages": list(MESSAGES), "format": SCHEMA, **FIXED,
            "options": {**model_triage.OPTIONS, "seed": 1007}})
        self.assertEqual(list(chat.body["format"]["properties"]), ["z", "a"])
        self.assertEqual(reply.output, self.server.text_of(chat))
        self.assertEqual((reply.finish, reply.retries, reply.waited_s), ("stop", 0, 0.0))
        self.assertGreaterEqual(reply.latency_s or 0.0, reply.timings.first_token_s or 9.9)

    def test_the_settings_and_the_seed_say_all_of_a_request_besides_messages_and_format(self) -> None:
        system = self.opened()
        body = dict(system.body_of(self.request()))
        settings = dict(system.settings())
        del settings["api"], settings["digest"], body["messages"], body["format"]
        options = dict(cast(Mapping[str, JSON], body["options"]))
        self.assertEqual(options.pop("seed"), 1001)
        self.assertEqual({**body, "options": options}, settings)

    def test_foreign_text_goes_there_and_back_unharmed(self) -> None:
        text = ' \n"\u2028\x00\x1b ä 😀 <think>x</think> '
        self.server.answer = lambda model, messages, seed: text
        self.assertEqual(self.opened().answer(replace(self.request(), schema=None)).output, text)
        self.assertNotIn("format", self.server.chats()[0].body)

    def test_a_full_queue_is_asked_again_and_counted(self) -> None:
        self.server.next(BUSY, BUSY)
        reply = self.opened().answer(self.request())
        self.assertEqual((reply.retries, len(self.server.chats())), (2, 3))
        self.assertGreaterEqual(reply.waited_s, 0.15)
        self.assertLess(reply.latency_s or 9.9, reply.waited_s)

    def test_a_queue_that_stays_full_is_busy_and_the_run_goes_on(self) -> None:
        self.server.next(*[BUSY] * 9)
        error = self.error(self.opened())
        self.assertEqual((error.type, error.retries, error.stops), ("ServerBusy", 2, None))
        self.assertGreaterEqual(error.waited_s, 0.15)

    def test_a_server_that_is_gone_ends_the_run_with_what_to_do(self) -> None:
        system = self.opened()
        self.server.stop()
        error = self.error(system)
        self.assertEqual((error.type, error.retries, error.latency_s), ("Unreachable", 2, None))
        self.assertIn("`ollama serve`", error.stops or "")

    def test_a_status_that_no_further_trial_can_pass_ends_the_run(self) -> None:
        system = self.opened()
        for code in (401, 403, 404):
            self.server.next(fake_ollama.status(code, '{"error":"go away"}'))
            error = self.error(system)
            self.assertEqual(error.type, "ServerError")
            self.assertIn(f"HTTP {code}: ", error.stops or "")

    def test_a_signal_ends_a_trial_at_once_in_a_request_and_between_two(self) -> None:
        for fault in (fake_ollama.silent(), BUSY):
            self.stop.signal = None
            system = self.opened()
            self.server.next(fault, fault)
            threading.Timer(0.1, setattr, (self.stop, "signal", signal.SIGTERM)).start()
            start = time.monotonic()
            with self.assertRaises(Interrupted):
                system.answer(self.request(2 * LATE_S))
            self.assertLess(time.monotonic() - start, LATE_S)

    def test_what_a_given_up_request_leaves_behind_is_not_the_next_trial_s_time(self) -> None:
        system = self.opened()
        self.server.next(fake_ollama.silent(1.0))
        self.assertEqual(self.error(system, 0.2).type, "Timeout")
        reply = system.answer(self.request(LATE_S))
        self.assertGreater(reply.waited_s, 0.2)
        self.assertLess(reply.latency_s or 9.9, reply.waited_s)
        _, probe, chat = self.server.chats()
        self.assertEqual(probe.body["messages"], PROBE)
        self.assertEqual(probe.body["options"], {**chat.body["options"], "num_predict": 1})
        self.assertEqual(system.answer(self.request()).waited_s, 0.0)

    def test_a_server_that_stays_busy_costs_the_next_trial_no_more_than_its_timeout(self) -> None:
        system = self.opened()
        self.server.next(fake_ollama.silent(30))
        self.error(system, 0.3)
        for _ in range(2):
            error = self.error(system, 0.3)
            self.assertEqual((error.type, error.latency_s), ("Timeout", None))
            self.assertIn("given up before", error.message)
            self.assertGreater(error.waited_s, 0.2)


class StillTheSameModel(WithServer):
    def test_a_list_of_models_that_says_the_same_is_not_read_again_and_one_that_says_another_thing_is(self) -> None:
        system = self.opened()
        with mock.patch("benchkit.network.http_client.parse", side_effect=AssertionError):
            system.answer(self.request())
        self.server.models["other:1b"] = OTHER
        system.answer(self.request())
        self.server.models["smollm2:135m"] = OTHER
        with self.assertRaisesRegex(TrialError, OTHER):
            system.answer(self.request())

    def test_another_digest_after_a_reply_is_a_changed_model_and_ends_the_run(self) -> None:
        system = self.opened()
        whole = system.answer(self.request())
        self.server.on_chat = lambda seen: self.server.models.update({"smollm2:135m": OTHER})
        error = self.error(system)
        self.assertEqual((error.type, error.partial), ("ModelChanged", whole.output))
        self.assertIsNotNone(error.latency_s)
        for words in (OTHER, DIGEST, "--retry-errors", "--log", "--changed rerun"):
            self.assertIn(words, error.stops or "")

    def test_a_model_that_was_removed_is_a_changed_one(self) -> None:
        system = self.opened()
        self.server.on_chat = lambda seen: self.server.models.clear()
        self.server.next(fake_ollama.says("bye"))
        error = self.error(system)
        self.assertEqual((error.type, error.partial), ("ModelChanged", "bye"))
        self.assertIn("not installed any more", error.message)

    def test_a_server_that_shows_no_models_after_a_reply_keeps_the_text_and_the_run_if_it_lives(self) -> None:
        for fault, stops in ((fake_ollama.status(500), False), (fake_ollama.silent(), True)):
            with self.subTest(stops=stops):
                system = self.opened()
                self.server.paths["/api/tags"] = fault
                if stops:
                    self.server.paths["/api/version"] = fault
                error = self.error(system, 0.6 if stops else 5.0)
                self.assertEqual(("Unreachable", self.server.text_of(self.server.chats()[0])),
                                 (error.type, error.partial))
                self.assertEqual(stops, "is gone" in (error.stops or ""))
                self.server.paths.clear()

    def test_the_check_comes_after_every_reply(self) -> None:
        system = self.opened()
        for trial in (1, 2):
            self.assertIsInstance(system.answer(self.request(trial=trial)), Reply)
        paths = [seen.path for seen in self.server.seen[2:]]
        self.assertEqual(paths, ["/api/chat", "/api/tags"] * 2)
