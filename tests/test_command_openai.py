"""The river through its command with a server of /v1/chat/completions: recorded, gone on with, and no key anywhere."""
from __future__ import annotations

import os
from unittest import mock

from tests import fake_ollama
from tests.fake_openai import FakeOpenAI, refuses
from tests.workflow import Workflow

KEY = "sk-sesame-1234567890"


class OpenAIWorkflow(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOpenAI())
        self.flags = f"--system openai:toy.gguf --host {self.server.host} --trials 2 --quiet --log recorded/smol.jsonl"
        self.enterContext(mock.patch.dict(os.environ, {"OPENAI_API_KEY": KEY}))
        self.server.key = KEY

    def bench(self, more: str = "") -> str:
        return f"bench.py {self.flags} {more}".strip()

    def test_a_run_is_recorded_judged_and_warned_of_and_goes_on_where_it_ended(self) -> None:
        told = self.type(self.bench("--limit 4"))
        self.assertEqual(told.code, 0, told)
        self.assertIn("nothing pins toy.gguf", told.stderr)
        told = self.type(self.bench())
        self.assertEqual(told.code, 0, told)
        self.assertIn("every planned trial ran", told.stdout)
        self.assertEqual(self.trials(), self.every_cell(2))
        self.assertEqual(len(self.server.trials()), 6)
        trial = next(line for line in self.lines() if line["kind"] == "trial")
        self.assertEqual(trial["usage"]["prompt_tokens"], 40)
        settings = self.json("recorded/smol.json")["settings"]
        self.assertEqual((settings["pinned_by"], settings["served"]["file"]), ("nothing", "toy.gguf"))
        self.assertFalse([name for name, data in self.files().items() if b"/home/someone" in data])

    def test_the_report_warns_that_nothing_pins_the_model_by_a_stable_code(self) -> None:
        self.server.takes_schema = False
        self.type(self.bench())
        self.well("harness.py run --system replay:recorded/smol.json --trials 2 --out runs/smol.json")
        self.well("report.py runs/smol.json --out runs/report.json")
        codes = [one["code"] for one in self.json("runs/report.json")["runs"][0]["warnings"]]
        self.assertIn("model-not-pinned", codes)
        self.assertIn("schema-not-sent", codes)

    def test_a_finished_run_asks_no_server(self) -> None:
        self.type(self.bench())
        self.server.stop()
        self.well("bench.py --log recorded/smol.jsonl --quiet")

    def test_the_key_is_in_no_file_and_on_no_screen_whatever_the_server_does_with_it(self) -> None:
        self.server.next(refuses(400, f"no {KEY}"), fake_ollama.lines(KEY.encode()), refuses(500, KEY))
        told = self.type(self.bench())
        self.assertEqual(told.code, 0, told)
        self.assertNotIn("sesame", told.stdout + told.stderr)
        self.assertFalse([name for name, data in self.files().items() if b"sesame" in data])

    def test_another_model_under_the_same_name_is_refused_with_what_differs(self) -> None:
        self.type(self.bench("--limit 1"))
        self.server.listed = [{"id": "toy.gguf", "meta": {"n_params": 8, "size": 99}}]
        told = self.type(self.bench())
        self.assertEqual(told.code, 2)
        self.assertIn("n_params", told.stderr)
        self.assertEqual(len(self.server.trials()), 1)

    def test_a_log_that_a_mere_fingerprint_pinned_is_refused_with_what_differs(self) -> None:
        self.server.fingerprint = "fp_1"
        with mock.patch("benchkit.network.openai_protocol.pins", return_value=True):
            self.type(self.bench("--limit 1"))
        told = self.type(self.bench())
        self.assertEqual((told.code, len(told.stderr.splitlines())), (2, 2), told)
        for words in ('pinned_by: "system_fingerprint" -> "nothing"', "--changed rerun", "choose another --log"):
            self.assertIn(words, told.stderr)
        self.assertEqual(self.type(self.bench("--changed rerun")).code, 0)
        self.assertEqual(len(self.server.trials()), 1 + 6)

    def test_a_wrong_key_is_of_the_surroundings(self) -> None:
        self.server.key = "another"
        self.refused(self.bench(), 3, "the server wants a key")
