"""Several hosts through the command: each with a queue of its own, all serving the same, and one may go."""
from __future__ import annotations

import itertools
import os
import threading
import unittest
from typing import Any
from unittest import mock

from tests.commands import HANGS_S
from tests.fake_ollama import DIGEST, FakeOllama, Seen, status
from tests.fake_openai import BUILD, PROPS, FakeOpenAI
from tests.workflow import MODEL, Workflow

OTHER = "b" * 64
TOY = "openai:toy.gguf"
SECRET = "ann:sesame-sesame"


class AtTwo(Workflow):
    """Two fake servers with room for many, and a command that asks both."""

    def setUp(self) -> None:
        super().setUp()
        self.ada, self.bob = self.servers = (
            self.enterContext(FakeOllama(slots=16)), self.enterContext(FakeOllama(slots=16)))
        self.most = dict.fromkeys(self.servers, 0)
        for server in self.servers:
            server.answer = self.slow(server)

    def slow(self, server: FakeOllama, all_of_the_first: threading.Barrier | None = None) -> Any:
        """Answers that take a while, for others to come meanwhile; how many were under way is noted.

        With a barrier those of the first two trials wait until so many are there.
        """
        lock, under_way = threading.Lock(), [0]

        def answer(model: str, messages: Any, seed: int) -> str:
            with lock:
                under_way[0] += 1
                self.most[server] = max(self.most[server], under_way[0])
            if all_of_the_first is None:
                server.closing.wait(0.02)
            elif seed <= 1002:
                all_of_the_first.wait()
            with lock:
                under_way[0] -= 1
            return f'{{"seed":{seed},"asked":{len(messages[-1]["content"])}}}'
        return answer

    def bench(self, more: str = "", system: str = MODEL, hosts: tuple[str, ...] | None = None) -> str:
        """A command line for bench.py that asks both servers, or the hosts given."""
        given = tuple(server.host for server in self.servers) if hosts is None else hosts
        flags = " ".join(f"--host {host}" for host in given)
        return f"bench.py --system {system} --log recorded/smol.jsonl {flags} --trials 3 --quiet {more}".strip()

    def assert_once_each(self) -> None:
        self.assertEqual(sorted(self.every_cell(3)), sorted(self.trials()))

    def outcomes(self) -> dict[str, str]:
        """What each cell came to: its output, or the type of its error; the last attempt counts."""
        return {f"{line['case']} {line['trial']}": line["output"] if "output" in line else line["error"]["type"]
                for line in self.lines() if line["kind"] == "trial"}

    def first(self, kind: str) -> dict[str, Any]:
        return next(line for line in self.lines() if line["kind"] == kind)


class Recording(AtTwo):
    def test_each_host_has_one_trial_at_a_time_and_trials_start_in_the_order_of_running(self) -> None:
        stdout = self.well(self.bench())
        self.assertIn("Done: every planned trial ran", stdout)
        self.assertIn("several-hosts", stdout)
        self.assert_once_each()
        self.assertEqual([1, 1], list(self.most.values()))
        chats = sorted((seen.at, seen.body["options"]["seed"]) for server in self.servers for seen in server.chats())
        self.assertEqual(9, len(chats))
        self.assertTrue(all(later[1] >= earlier[1] - 1 for earlier, later in itertools.pairwise(chats)), chats)

    def test_parallel_counts_at_each_host(self) -> None:
        for server in self.servers:
            server.answer = self.slow(server, threading.Barrier(3, timeout=HANGS_S))
        self.well(self.bench("--parallel 3"))
        self.assert_once_each()
        self.assertEqual([3, 3], list(self.most.values()))
        self.assertEqual(3, self.first("system")["settings"]["parallel"])

    def test_outputs_settings_and_requests_are_those_of_a_run_with_one_host(self) -> None:
        def kept() -> tuple[Any, ...]:
            requests = {(line["case"], line["trial"]): line["request"]
                        for line in self.lines() if line["kind"] == "trial"}
            return (self.outcomes(), requests, self.first("system")["settings"],
                    self.well("outputs_digest.py recorded/smol.jsonl"))

        self.well(self.bench())
        of_two = kept()
        self.log.unlink()
        self.well(self.bench(hosts=(self.ada.host,)))
        self.assertEqual(of_two, kept())
        self.assertNotIn("hosts", self.first("session")["environment"])

    def test_a_session_names_its_hosts_without_passwords_and_fewer_of_them_can_go_on(self) -> None:
        self.well(self.bench("--limit 4", hosts=(f"http://{SECRET}@{self.ada.host}", self.bob.host)))
        self.assertEqual([self.ada.host, self.bob.host], self.first("session")["environment"]["hosts"])
        self.assertEqual({True, False}, {"Authorization" in server.seen[0].headers for server in self.servers})
        self.well(self.bench(hosts=(self.bob.host,)))
        self.assert_once_each()
        self.assertFalse([name for name, data in self.files().items() if b"sesame" in data])

    def test_a_host_that_is_busy_holds_up_itself_alone(self) -> None:
        self.ada.next(status(503))
        self.well(self.bench())
        self.assert_once_each()
        first, again = (seen.at for seen in self.ada.chats()[:2])
        meanwhile = [seen for seen in self.bob.chats() if first < seen.at < again]
        self.assertGreater(again - first, 0.4)
        self.assertGreater(len(meanwhile), 3)
        self.assertEqual(1, sum(line["waited_s"] > 0.3 for line in self.lines() if line["kind"] == "trial"))

    def test_a_baseline_asks_no_host_however_many_are_named(self) -> None:
        self.well(self.bench("--limit 1", "baselines:keywords"))
        self.assertNotIn("hosts", self.first("session")["environment"])
        self.assertEqual([[], []], [server.seen for server in self.servers])


class Refused(AtTwo):
    def test_hosts_that_serve_different_digests_are_one_line_with_both(self) -> None:
        self.bob.models["smollm2:135m"] = OTHER
        line = self.refused(self.bench(hosts=(f"http://{SECRET}@{self.ada.host}", self.bob.host)), 3)
        self.assertEqual(
            f'bench.py: the servers do not serve the same: digest is "{DIGEST}" at http://{self.ada.host} and '
            f'"{OTHER}" at http://{self.bob.host}; serve one model at all of them, or leave one out\n', line)
        self.assertEqual([], self.ada.chats() + self.bob.chats())

    def test_a_pin_that_one_host_does_not_hold_is_one_line_with_both_hosts_and_digests(self) -> None:
        pinned = "7fbdbf8f5e45a75bb122155ed546e765b4d9c53a1285f62fd9f506baa1c5a47e"
        self.ada.models, self.bob.models = {"gemma4:e2b": pinned}, {"gemma4:e2b": OTHER}
        self.refused(self.bench("", "model_triage:gemma"), 3,
                     f"http://{self.bob.host}: gemma4:e2b is served at digest {OTHER}, not at the pinned {pinned}",
                     f"ready: http://{self.ada.host}")

    def test_a_host_that_lacks_the_model_is_too_old_or_is_not_there_is_named(self) -> None:
        def lacks() -> None:
            self.bob.models = {}

        def is_old() -> None:
            self.bob.version = "0.12.3"

        for change, words in ((lacks, "has no model smollm2:135m"), (is_old, "version 0.12.3, too old"),
                              (self.bob.stop, "no Ollama server at")):
            with self.subTest(words):
                change()
                self.refused(self.bench(), 3, words, f"http://{self.bob.host}", f"ready: http://{self.ada.host}")

    def test_the_same_host_given_twice_is_one_line(self) -> None:
        again = f"http://{SECRET}@{self.ada.host.replace('127.0.0.1', 'localhost')}/"
        for more in ("", "--dry-run"):
            line = self.refused(self.bench(more, hosts=(self.ada.host, self.bob.host, again)), 2,
                                f"--host: http://{self.ada.host} is given 2 times; give each server once")
            self.assertNotIn("sesame", line)

    def test_a_bad_host_among_good_ones_is_one_line(self) -> None:
        for host, words in (("ftp://x", "--host x: the scheme must be http or https"),
                            (f"http://{SECRET}@10.0.0.1", "--host 10.0.0.1: a user name and password are sent over")):
            self.assertNotIn("sesame", self.refused(self.bench(hosts=(self.ada.host, host)), 2, words))

    def test_more_than_can_be_under_way_at_all_hosts_is_refused(self) -> None:
        self.refused(self.bench("--parallel 513"), 2, "--parallel 513 at 2 hosts: at most 1024 trials")


class OneGoes(AtTwo):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch("benchkit.network.retry.REFUSED_WAITS_S", (0.02,)))

    def dies(self, server: FakeOllama, at: int) -> None:
        """The server is stopped when its request of this number arrives."""
        def dying(seen: Seen) -> None:
            if len(server.chats()) == at:
                server.stop()
        server.on_chat = dying

    def test_the_run_goes_on_at_the_others_and_says_so_once(self) -> None:
        self.dies(self.ada, 2)
        told = self.type(self.bench("--parallel 2"))
        self.assertEqual(0, told.code, told)
        self.assertEqual(f"http://{self.ada.host} is gone; the run goes on without it, at http://{self.bob.host}; add "
                         f"--retry-errors later for the trials that were lost there\n", told.stderr)
        self.assert_once_each()
        self.assertLessEqual(self.most[self.bob], 2)
        lost = [outcome for outcome in self.outcomes().values() if not outcome.startswith("{")]
        self.assertTrue(1 <= len(lost) <= 4 and {*lost} <= {"Unreachable", "BrokenReply"}, lost)
        self.ada.on_chat = lambda seen: None
        self.ada.start()
        self.well(self.bench("--retry-errors --parallel 2"))
        self.assertTrue(all(outcome.startswith("{") for outcome in self.outcomes().values()))

    def test_the_last_one_ends_it_as_a_single_one_would(self) -> None:
        self.dies(self.ada, 2)
        self.dies(self.bob, 2)
        told = self.type(self.bench())
        self.assertEqual(3, told.code, told)
        self.assertIn("is gone: start it again with `ollama serve`", told.stderr.splitlines()[-1])
        self.assertEqual("error", self.first("stop")["reason"])

    def test_a_model_that_changes_at_one_host_stops_the_run_with_that_host(self) -> None:
        def changes(seen: Seen) -> None:
            self.bob.models["smollm2:135m"] = OTHER
        self.bob.on_chat = changes
        told = self.type(self.bench())
        self.assertEqual(3, told.code, told)
        self.assertIn(f"http://{self.bob.host}: smollm2:135m is now served at digest {OTHER}", told.stderr)
        self.assertIn("ModelChanged", self.outcomes().values())


class OfChatCompletions(AtTwo):
    KEY = "sk-sesame-1234567890"

    def setUp(self) -> None:
        super().setUp()
        self.eve, self.joe = self.enterContext(FakeOpenAI()), self.enterContext(FakeOpenAI())
        self.eve.key = self.joe.key = self.KEY
        self.servers = (self.eve, self.joe)
        self.enterContext(mock.patch.dict(os.environ, {"OPENAI_API_KEY": self.KEY}))

    def test_both_are_asked_with_the_key_and_what_both_say_is_said_once(self) -> None:
        self.joe.fingerprint = "b5577-c9bbc776"
        self.joe.props = {**PROPS, "build_info": "b5577-c9bbc776"}
        told = self.type(self.bench(system=TOY))
        self.assertEqual(0, told.code, told)
        pinned, versions = told.stderr.splitlines()
        self.assertIn("nothing pins toy.gguf", pinned)
        self.assertIn(f'the servers differ: server version is "{BUILD}" at http://{self.eve.host}', versions)
        self.assert_once_each()
        self.assertGreater(min(len(server.trials()) for server in (self.eve, self.joe)), 0)

    def test_what_identifies_the_model_must_be_the_same(self) -> None:
        self.joe.listed = [{"id": "toy.gguf", "owned_by": "llamacpp", "meta": {"n_params": 8, "size": 99}}]
        self.eve.fingerprint, self.joe.fingerprint = "1" * 64, "2" * 64
        self.refused(self.bench(system=TOY), 3, f'served.system_fingerprint is "{"1" * 64}" at',
                     f"served.n_params is 7 at http://{self.eve.host} and 8 at http://{self.joe.host}")

    def test_a_key_for_any_plain_http_host_is_one_line_and_asks_nobody(self) -> None:
        line = self.refused(self.bench(system=TOY, hosts=(self.eve.host, "http://10.1.2.3:8000")), 2,
                            "OPENAI_API_KEY is not sent to http://10.1.2.3:8000")
        self.assertNotIn("sesame", line)
        self.assertEqual([], self.eve.seen)


if __name__ == "__main__":
    unittest.main()
