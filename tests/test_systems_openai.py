"""A model behind /v1/chat/completions as a system: where it is, who it is, what is sent, what is told."""
from __future__ import annotations

import json
import threading
import time
import unittest
from collections.abc import Mapping
from typing import Any, cast
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.values import JSON, Reply, Request, Usage
from benchkit.systems import server_session
from benchkit.systems.loading import load_system
from benchkit.systems.ollama import OllamaSystem
from benchkit.systems.openai import BY_SCHEMA, FIXED, GENERAL_OPTIONS, OpenAIModel, OpenAISystem
from benchkit.systems.system import SystemOptions
from tests import fake_ollama
from tests.commands import HANGS_S, LATE_S
from tests.fake_openai import BUILD, CHAT, FakeOpenAI, completes, data, delta, error, refuses
from tests.systems_samples import MESSAGES, PROBE, SCHEMA, WithSystem, hurried

KEY = "sk-sesame-1234567890"
BUSY = refuses(429, "slow down", "Retry-After: 0.4\r\n")


class WithServer(WithSystem):
    server: FakeOpenAI

    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOpenAI())

    def options(self, clock: Clock | None = None, **changed: Any) -> SystemOptions:
        return super().options(clock, **{"environment": {}, **changed})

    def system(self, name: str = "toy.gguf", **changed: Any) -> OpenAISystem:
        system = load_system(f"openai:{name}", self.options(**changed), [])
        assert isinstance(system, OpenAISystem)
        self.addCleanup(system.close)
        return system

    def opened(self, **changed: Any) -> OpenAISystem:
        system = self.system(**changed)
        system.open()
        return system

    def refusal(self, kind: type[KitError] = EnvironmentFailure, name: str = "toy.gguf", **changed: Any) -> str:
        """The line of the error with which a system does not open."""
        return self.refused(lambda: self.system(name, **changed).open(), kind)


class Where(WithServer):
    def paths(self, **changed: Any) -> set[str]:
        self.server.seen.clear()
        self.opened(**changed)
        return {seen.path for seen in self.server.seen}

    def test_without_a_path_v1_is_meant_and_a_path_stands_as_it_is(self) -> None:
        for host in (self.server.host, f"http://{self.server.host}/v1/", f"{self.server.host}/v1"):
            self.assertEqual(self.paths(host=host), {"/v1/models", "/props", CHAT})
        for path in ("/api/v1/models", "/api/v1/chat/completions"):
            self.server.paths[path] = completes("yes")
        self.assertEqual(self.paths(host=f"{self.server.host}/api/v1"),
                         {"/api/v1/models", "/api/props", "/api/v1/chat/completions"})

    def test_the_host_comes_from_the_flag_or_else_from_the_environment(self) -> None:
        self.opened(host=None, environment={"OPENAI_BASE_URL": f"http://{self.server.host}/v1"})
        self.opened(environment={"OPENAI_BASE_URL": "http://127.0.0.1:1"})
        with mock.patch.dict("os.environ", {"OPENAI_BASE_URL": f"http://{self.server.host}"}):
            system = OpenAISystem(OpenAIModel("toy.gguf", GENERAL_OPTIONS), SystemOptions(
                Clock(), StopRequest(), self.said.append, None, ()))
            self.addCleanup(system.close)
            system.open()
        with self.assertRaisesRegex(Unusable, "^OPENAI_BASE_URL nowhere:x: the port"):
            self.system(host=None, environment={"OPENAI_BASE_URL": "nowhere:x"})

    def test_each_request_has_a_connection_of_its_own_so_that_no_thread_of_the_server_is_held(self) -> None:
        system = self.opened()
        for trial in (1, 2):
            system.answer(self.request(trial=trial))
        self.assertEqual(len(self.server.seen), len({seen.port for seen in self.server.seen}))
        self.assertEqual({"close"}, {seen.headers["Connection"] for seen in self.server.seen})

    def test_nobody_there_says_at_once_where_it_looked_and_what_to_do(self) -> None:
        self.server.stop()
        self.enterContext(mock.patch("benchkit.network.replies.REFUSED_WAITS_S", (HANGS_S,)))
        line = self.refusal()
        for words in (f"http://{self.server.host}/v1", "connection refused", "--host or OPENAI_BASE_URL"):
            self.assertIn(words, line)

    def test_a_name_that_cannot_be_meant_and_options_that_are_the_kit_s_are_refused_before_any_request(self) -> None:
        for model, words in (
            (OpenAIModel("a b", GENERAL_OPTIONS), "printable ASCII"),
            (OpenAIModel("a\x1b", GENERAL_OPTIONS), "without spaces"),
            (OpenAIModel("a", {}), "need a temperature and max_tokens"),
            (OpenAIModel("a", {"temperature": 1.0, "max_completion_tokens": 0}), "must be 1 or more"),
            (OpenAIModel("a", {**GENERAL_OPTIONS, "seed": 1}), "hold seed: the kit says that itself"),
        ):
            with self.subTest(words):
                self.assertIn(words, self.refused(lambda model=model: OpenAISystem(  # type: ignore[misc]
                    model, self.options()), Unusable))
        self.assertEqual(self.server.seen, [])


class Keys(WithServer):
    def test_a_key_goes_to_that_host_with_every_request(self) -> None:
        self.server.key = KEY
        self.opened(environment={"OPENAI_API_KEY": f" {KEY}\n"}).answer(self.request())
        self.assertEqual({seen.headers["Authorization"] for seen in self.server.seen}, {f"Bearer {KEY}"})
        self.server.seen.clear()
        self.server.key = None
        self.opened(environment={"OPENAI_API_KEY": ""}).answer(self.request())
        self.assertFalse(any("Authorization" in seen.headers for seen in self.server.seen))

    def test_a_key_goes_to_no_server_that_nobody_named_and_shows_nowhere(self) -> None:
        system = self.system(host=None, environment={"OPENAI_API_KEY": KEY})
        self.assertIsNone(system._client.address.authorization)
        system = self.system(host="https://example.com/v1", environment={"OPENAI_API_KEY": KEY})
        self.assertNotIn(KEY, f"{system._client!r} {system._options!r}")

    def test_a_key_that_may_not_be_sent_is_refused_in_one_line_without_it(self) -> None:
        here, plain = self.server.host, "^OPENAI_API_KEY is not sent to http://.*over https or to this machine only"
        for host, key, words in (
                *((host, KEY, plain) for host in ("http://10.0.0.1:8000/v1", "example.com", "http://example.com/v1")),
                (here, "sesame\nX: y", "printable ASCII"), (here, "sésame", "printable ASCII"),
                (f"me:word@{here}", "sesame-sesame", "given with a user name")):
            with self.subTest(host=host, key=key):
                line = self.refusal(Unusable, host=host, environment={"OPENAI_API_KEY": key})
                self.assertRegex(line, words)
                self.assertNotRegex(line, "s[eé]same|word")

    def test_a_server_that_wants_a_key_says_where_it_goes(self) -> None:
        self.server.key = KEY
        self.assertIn("the key goes into OPENAI_API_KEY", self.refusal())
        self.assertNotIn("goes into", self.refusal(environment={"OPENAI_API_KEY": "another-key"}))

    def test_a_key_that_the_server_repeats_is_in_no_error_and_in_no_reply(self) -> None:
        long = "x" * 190 + KEY  # cut behind 200 bytes: half a key would be left
        for fault, error_type in (
                (refuses(400, f"bad key {KEY}"), "ServerError"), (refuses(500, long), "ServerError"),
                (fake_ollama.raw_bytes(f"SSH {long}\r\n".encode()), "BadReply"), (completes(f"{KEY}!"), "BadReply"),
                (fake_ollama.lines(delta(content="Hel"), error(KEY).encode()), "BadReply"),
                (fake_ollama.lines(delta(content=KEY[:9]), delta(content=KEY[9:]), ends=False), "BrokenReply"),
                (fake_ollama.lines(delta(reasoning=KEY)), "BadReply"), (fake_ollama.lines(KEY.encode()), "BadReply")):
            with self.subTest(error_type):
                self.server.next(fault)
                error_ = self.error(self.opened(environment={"OPENAI_API_KEY": KEY}))
                told = f"{error_.message} {error_.partial} {error_.stops}"
                self.assertEqual(error_.type, error_type)
                for piece in (KEY, KEY[:9]):
                    self.assertNotIn(piece, told)
        self.server.key = "another"
        self.server.paths["/v1/models"] = refuses(404, KEY)
        self.server.paths[CHAT] = refuses(401, KEY)
        self.assertNotIn(KEY, self.refusal(environment={"OPENAI_API_KEY": KEY}) + repr(self.said))

    def test_a_short_key_is_a_word_that_an_answer_may_hold(self) -> None:
        system = self.opened(environment={"OPENAI_API_KEY": "EMPTY"})
        self.server.next(completes("the box is EMPTY"))
        self.assertEqual(system.answer(self.request()).output, "the box is EMPTY")


class WhoAnswers(WithServer):
    def test_all_that_a_llama_server_says_of_its_model_goes_into_the_settings(self) -> None:
        system = self.system()
        before = system.settings()
        self.assertEqual([key for key, value in before.items() if value is None],
                         ["response_format", "served", "pinned_by"])
        self.assertEqual(system.open(), {"server": "llama.cpp", "server_version": BUILD})
        self.assertEqual(system.settings(), {
            "api": "/v1/chat/completions", "model": "toy.gguf", **FIXED, "options": GENERAL_OPTIONS,
            "response_format": BY_SCHEMA, "pinned_by": "nothing", "served": {
                "model": "toy.gguf", "file": "toy.gguf", "n_params": 7, "size": 99, "sampling": {
                    "top_k": 40, "min_p": 0.05}, "chat_template_sha256": mock.ANY}})
        self.assertNotIn("/home", canonical(system.settings()))
        loaded = system.warm()
        self.assertEqual((loaded.context_length, loaded.details), (4096, system.settings()["served"]))

    def test_where_nothing_pins_the_model_a_warning_says_what_is_known(self) -> None:
        self.opened()
        self.assertEqual(1, len(self.said))
        for words in ("nothing pins toy.gguf", "no digest and no fingerprint", "file", "n_params"):
            self.assertIn(words, self.said[0])
        self.server.listed, self.server.props, self.server.fingerprint = None, None, None
        self.opened()
        self.assertIn("only its name", self.said[1])
        self.server.listed, self.server.fingerprint = [{"id": "toy.gguf", "owned_by": "library"}], "fp_ollama"
        self.assertEqual(self.opened().settings()["pinned_by"], "nothing")
        self.assertIn("--system ollama:toy.gguf pins by digest", self.said[2])

    def test_a_fingerprint_that_is_a_digest_pins_it_and_a_change_ends_the_run(self) -> None:
        self.server.props = None
        for digest in ("4" * 64, f"sha256:{'4' * 64}"):
            self.said.clear()
            self.server.fingerprint = digest
            system = self.opened()
            self.assertEqual((system.settings()["pinned_by"], self.said), ("system_fingerprint", []))
            self.assertEqual(system.settings()["served"], {
                "n_params": 7, "size": 99, "model": "toy.gguf", "system_fingerprint": digest})
            whole = system.answer(self.request())
            self.server.fingerprint = None
            self.assertIsInstance(system.answer(self.request()), Reply)
            self.server.fingerprint = "5" * 64
            error_ = self.error(system)
            self.assertEqual((error_.type, error_.partial), ("ModelChanged", whole.output))
            for words in ("4" * 64, "--retry-errors", "--changed rerun"):
                self.assertIn(words, error_.stops or "")

    def test_any_other_fingerprint_pins_nothing_and_may_take_turns_which_is_said_once(self) -> None:
        self.server.props = None
        for fingerprint in ("toy.gguf", "0.26.3-0.29.1-macOS-15.5-arm64-arm-64bit-applegpu_g14s", "3.3.4-sha-1a2b3c4",
                            "koboldcpp", "fp_ollama", "b5576-c9bbc775", "fp_44709d6fcb", "vllm-0.9.1-1a2b3c4d"):
            with self.subTest(fingerprint):
                self.said.clear()
                self.server.fingerprint = fingerprint
                system = self.system()
                self.assertEqual(system.open()["system_fingerprint"], fingerprint)
                self.assertEqual(system.settings()["pinned_by"], "nothing")
                self.assertNotIn("system_fingerprint", cast(Mapping[str, JSON], system.settings()["served"]))
                for answered in ("fp_b", None, fingerprint, "fp_c"):
                    self.server.fingerprint = answered
                    self.assertIsInstance(system.answer(self.request()), Reply)
                self.assertEqual(len(self.said), 2, self.said)
                self.assertIn("more than one system_fingerprint", self.said[1])
                self.assertTrue(fingerprint in self.said[1] and "fp_b" in self.said[1])

    def test_another_name_than_the_one_that_was_asked_for_is_said_and_no_error(self) -> None:
        for name, answered, is_said in (
                ("toy", "gemma-3-1b-it-qat:2", True), ("gpt-4o", "gpt-4o-2024-08-06", True), ("toy", "toy", False),
                ("x/y:free", "x/y", False), ("phi", "phi:latest", False), ("toy.gguf", "/models/Toy.gguf", False),
                ("toy", None, False), ("qwen:7b", "qwen:0.5b", True)):
            with self.subTest(name=name, answered=answered):
                self.said.clear()
                self.server.listed, self.server.model = [{"id": name}], answered
                system = self.system(name)
                system.open()
                line = f"asked for {name}, answered by {answered}: "
                self.assertEqual([one for one in self.said if one.startswith(line)] != [], is_said, self.said)
                self.assertIsInstance(system.answer(self.request()), Reply)

    def test_a_reply_signed_by_another_model_does_not_count_and_another_build_does(self) -> None:
        system = self.opened()
        self.server.fingerprint = "b5577-0000000"
        self.assertIsInstance(system.answer(self.request()), Reply)
        self.server.model = "/elsewhere/other.gguf"
        error_ = self.error(system)
        self.assertEqual(error_.type, "ModelChanged")
        self.assertIn("the model of toy.gguf is now other.gguf; the run began with toy.gguf", error_.stops or "")

    def test_a_model_that_is_not_listed_is_refused_with_those_that_are(self) -> None:
        self.server.listed = [{"id": f"/m/n{number}\x1b.gguf"} for number in range(25)]
        line = self.refusal(name="toy.gguf")
        for words in ("has no model toy.gguf", r"it has n0\x1b.gguf, n1", "and 5 more"):
            self.assertIn(words, line)
        self.assertEqual(self.server.chats(), [])

    def test_a_model_is_found_by_its_id_by_the_file_of_a_path_and_before_a_variant(self) -> None:
        for id_, name in (("x/y", "x/y"), ("/models/toy.gguf", "toy.gguf"), ("C:\\m\\toy.gguf", "toy.gguf"),
                          ("x/y", "x/y:free"), ("phi:latest", "phi")):
            self.server.listed = [{"id": "other"}, {"id": id_, "max_model_len": 7, "root": "org/name"}]
            with self.subTest(name=name):
                system = self.system(name)
                system.open()
                self.assertEqual((system.warm().details or {})["root"], "org/name")

    def test_the_kind_of_server_and_its_context_are_known_where_the_list_tells(self) -> None:
        self.server.props, self.server.listed = None, [{"id": "toy.gguf", "owned_by": "vllm", "max_model_len": 2048}]
        self.server.fingerprint = None
        system = self.system()
        self.assertEqual(system.open(), {"server": "vllm", "server_version": None})
        self.assertEqual(system.warm().context_length, 2048)
        odd: Mapping[str, Any] = {"id": "toy.gguf", "owned_by": 7, "meta": "x", "max_model_len": True}
        for listed in ([odd], None, []):
            self.server.listed = listed
            self.assertEqual(self.system().open()["server"], "openai-compatible")

    def test_nonsense_in_the_list_and_in_props_is_passed_over(self) -> None:
        for body in ("[]", '{"data":7}', '{"data":[7]}', "<html>", '{"default_generation_settings":7}',
                     '{"default_generation_settings":{"params":7,"n_ctx":"x"},"model_path":7,"build_info":[]}'):
            self.server.paths["/v1/models"] = self.server.paths["/props"] = fake_ollama.status(200, body)
            with self.subTest(body):
                self.assertEqual(self.opened().settings()["served"], {"model": "toy.gguf"})


class Schemas(WithServer):
    def test_a_server_that_takes_no_schema_is_sent_none_and_the_settings_say_so(self) -> None:
        self.server.takes_schema = False
        system = self.opened()
        self.assertEqual(system.settings()["response_format"], "refused by the server")
        self.assertIn("the server takes no schema: none is sent, and the settings say so (HTTP 400: ", self.said[0])
        system.answer(self.request())
        self.assertNotIn("response_format", self.server.trials()[0].body)

    def test_a_fault_in_passing_teaches_nothing_of_schemas(self) -> None:
        self.enterContext(mock.patch("benchkit.systems.openai._AGAIN_WAITS_S", (0.01, 0.02)))
        for code in (500, 502, 504):
            self.server.seen.clear()
            self.server.opening = [refuses(code, "Internal server error")]
            self.assertEqual(self.opened().settings()["response_format"], BY_SCHEMA)
            self.assertEqual(["response_format" in seen.body for seen in self.server.chats()], [True, True])
            self.server.opening = [refuses(code, "Internal server error")] * 9
            self.assertIn(f"could not be asked: HTTP {code}", self.refusal())
        self.server.opening = [refuses(429, "slow down"), refuses(408, "slow")]
        self.assertIn("could not be asked: HTTP 408", self.refusal())
        self.server.opening = [refuses(501, "grammars are not implemented")]
        self.assertEqual(self.opened().settings()["response_format"], "refused by the server")

    def test_what_a_log_says_that_the_server_takes_is_not_asked_again(self) -> None:
        self.server.takes_schema = False
        before = self.opened().settings()
        self.server.takes_schema = True
        self.assertEqual(self.opened(recorded=before).settings(), before)
        self.assertNotIn("response_format", self.server.chats()[-1].body)
        self.assertEqual(self.opened().settings()["response_format"], BY_SCHEMA)

    def test_a_field_that_the_kit_adds_and_the_server_refuses_is_left_out_or_said_otherwise(self) -> None:
        for words, without, instead, settings in (
                ("Extra inputs are not permitted: stream_options", "stream_options", {}, {
                    "stream_options": "refused by the server", "options": GENERAL_OPTIONS}),
                ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens",
                 {"max_completion_tokens": 1024}, {"options": {
                     "temperature": 1.0, "top_p": 0.95, "max_completion_tokens": 1024}})):
            with self.subTest(without):
                self.server.refused, self.server.refusal = without, words
                system = self.opened()
                system.answer(self.request())
                asked = self.server.trials()[-1].body
                self.assertEqual({**asked, **instead}, asked)
                self.assertTrue(without not in asked and "response_format" in asked)
                self.assertEqual({key: system.settings()[key] for key in settings}, settings)
                self.assertIn(f"takes no {without}", "".join(self.said))
                chats = len(self.server.chats())
                again = self.opened(recorded=system.settings())
                self.assertEqual((again.settings(), len(self.server.chats())), (system.settings(), chats + 1))

    def test_a_field_that_the_kit_needs_and_the_server_refuses_names_the_way_out(self) -> None:
        for field, said, words in (
                *((name, f"Unsupported parameter: '{name}'", f"a module of your own can ask without {name}")
                  for name in ("seed", "top_p")),
                ("max_tokens", "max_tokens must be 1 at most", "max_tokens must be 1 at most")):
            self.server.refused, self.server.refusal = field, said
            self.assertIn(words, self.refusal())
        for code, words in ((400, "HTTP 400: "), (404, "does not know the model"), (403, "not let this client in")):
            self.server.paths[CHAT] = refuses(code, "no")
            self.assertIn(words, self.refusal())

    def test_a_long_load_gives_signs_of_life_and_ends_after_ten_minutes(self) -> None:
        start = time.monotonic()
        self.server.paths[CHAT] = fake_ollama.silent()
        self.enterContext(mock.patch.object(server_session, "TICK_S", 0.005))
        self.assertIn("no whole reply within the time limit", self.refusal(clock=hurried(1200)))
        self.assertLess(time.monotonic() - start, LATE_S)
        self.assertRegex(self.said[0], r"^loading toy.gguf: \d+ s so far$")


class Answering(WithServer):
    def test_a_trial_is_one_request_that_holds_everything(self) -> None:
        reply = self.opened().answer(self.request(trial=7))
        chat, = self.server.trials()
        self.assertEqual(chat.body, {
            "model": "toy.gguf", "messages": list(MESSAGES), **FIXED, **GENERAL_OPTIONS, "seed": 1007,
            "response_format": {"type": "json_schema", "json_schema": {
                "name": "answer", "strict": True, "schema": SCHEMA}}})
        self.assertEqual(list(chat.body["response_format"]["json_schema"]["schema"]["properties"]), ["z", "a"])
        self.assertEqual(reply.output, self.server.text_of(chat))
        self.assertEqual(reply.usage, Usage(40, len(reply.output) // 4 + 1, 30))
        self.assertEqual((reply.finish, reply.retries, reply.timings.prompt_s), ("stop", 0, 0.01))

    def test_the_settings_and_the_seed_say_all_of_a_request_besides_messages_and_schema(self) -> None:
        system = self.opened()
        body, settings = dict(system.body_of(self.request())), dict(system.settings())
        for key in ("messages", "seed", "response_format"):
            body.pop(key, None)
        for key in ("api", "served", "pinned_by", "response_format"):
            settings.pop(key)
        options = cast(Mapping[str, JSON], settings.pop("options"))
        self.assertEqual(body, {**settings, **options})

    def test_too_many_requests_are_asked_again_when_the_server_wants_it(self) -> None:
        system = self.opened()
        self.server.next(BUSY)
        reply = system.answer(self.request())
        self.assertEqual(reply.retries, 1)
        self.assertGreaterEqual(reply.waited_s, 0.4)
        first, second = (seen.at for seen in self.server.trials())
        self.assertGreaterEqual(second - first, 0.4)

    def test_busy_within_a_200_is_busy(self) -> None:
        system = self.opened()
        for code in (429, "429", 503):
            body = json.dumps(json.loads(error("rate limited upstream", code)), indent=2)
            for fault in (fake_ollama.status(200, body), fake_ollama.lines(
                    data(choices=[], error={"code": code, "message": "rate limited upstream"}), b"")):
                self.server.next(fault)
                self.assertEqual(system.answer(self.request(60.0)).retries, 1)
        self.server.next(*[fault] * 9)
        error_ = self.error(system)
        self.assertEqual(error_.type, "ServerBusy")
        self.assertIn("rate limited upstream", error_.message)

    def test_a_rest_is_kept_by_the_next_trials_that_have_the_time_and_the_others_ask_at_once(self) -> None:
        system = self.opened()
        self.server.next(refuses(503, "later", "Retry-After: 1.4\r\n"))
        error_ = self.error(system, 0.8)
        self.assertEqual((error_.type, error_.retries, error_.stops), ("ServerBusy", 0, None))
        self.assertEqual(0.0, system.answer(self.request(0.8)).waited_s)
        self.assertGreater(system.answer(self.request(20.0)).waited_s, 0.1)

    def test_the_rest_holds_for_all_that_ask_at_once(self) -> None:
        system = self.opened()
        self.server.next(BUSY)
        threads = [threading.Thread(target=system.answer, args=(self.request(trial=number),)) for number in (1, 2)]
        threads[0].start()
        time.sleep(0.1)
        threads[1].start()
        for thread in threads:
            thread.join(5)
        first, *others = (seen.at for seen in self.server.trials())
        self.assertEqual(len(others), 2)
        self.assertGreaterEqual(min(others) - first, 0.4)

    def test_every_way_to_end_has_its_error(self) -> None:
        for fault, error_type, stops in (
                (refuses(429, "no"), "ServerBusy", False), (refuses(500, "no"), "ServerError", False),
                (refuses(302, "no", "Location: /x\r\n"), "ServerError", False),
                (refuses(401, "no"), "ServerError", True), (refuses(403, "no"), "ServerError", True),
                (refuses(404, "no"), "ServerError", True), (refuses(402, "no credit"), "ServerError", True),
                (refuses(429, "insufficient_quota"), "ServerBusy", True),
                (fake_ollama.lines(error("pay", 402).encode()), "ServerError", True),
                (fake_ollama.lines(error("overloaded", "503").encode()), "ServerBusy", False),
                (fake_ollama.lines(error("died", 500).encode()), "ServerError", False),
                (fake_ollama.resets(), "BrokenReply", False),
                (fake_ollama.raw_bytes(b""), "BrokenReply", False), (fake_ollama.status(200, ""), "BrokenReply", False),
                (fake_ollama.lines(delta(content="x")), "Unfinished", False),
                (fake_ollama.lines(delta(content="x"), ends=False), "BrokenReply", False),
                (fake_ollama.lines(b"data: no"), "BadReply", False), (fake_ollama.silent(0.6), "Timeout", False),
                (refuses(400, "context_length_exceeded"), "PromptTooLong", False)):
            with self.subTest(error_type):
                self.server.forget_faults()
                self.server.next(*[fault] * 9)
                error_ = self.error(self.opened(), 0.3 if error_type == "Timeout" else 5.0)
                self.assertEqual((error_.type, error_.stops is not None), (error_type, stops))

    def test_a_server_that_is_gone_ends_the_run(self) -> None:
        system = self.opened()
        self.server.stop()
        error_ = self.error(system)
        self.assertEqual(error_.type, "Unreachable")
        self.assertIn(f"http://{self.server.host}/v1 is gone", error_.stops or "")

    def test_what_a_given_up_request_leaves_behind_is_not_the_next_trial_s_time(self) -> None:
        system = self.opened()
        self.server.next(fake_ollama.silent(0.5))
        self.assertEqual(self.error(system, 0.3).type, "Timeout")
        system.answer(self.request())
        _, probe, chat = self.server.trials()
        self.assertEqual(probe.body["messages"], PROBE)
        self.assertEqual({**probe.body, "messages": 0}, {
            key: value for key, value in {**chat.body, "max_tokens": 1, "messages": 0}.items()
            if key != "response_format"})


class OllamaForAnyTask(unittest.TestCase):
    def test_any_tag_is_asked_with_options_for_any_task(self) -> None:
        with fake_ollama.FakeOllama() as server:
            system = load_system("ollama:smollm2:135m", SystemOptions(
                Clock(), StopRequest(), print, None, (), environment={"OLLAMA_HOST": server.host}), [])
            self.addCleanup(system.close)
            self.assertIsInstance(system, OllamaSystem)
            system.open()
            self.assertEqual(system.settings()["digest"], fake_ollama.DIGEST)
            system.answer(Request("a", 1, 1, 1001, MESSAGES, SCHEMA, time.monotonic() + LATE_S))
            options = server.chats()[0].body["options"]
            self.assertEqual((options["num_ctx"], options["num_predict"]), (8192, 1024))
