"""A board over a server of /v1/chat/completions: its address and key come from the job's env_file, and stay there."""
from __future__ import annotations

import os
from unittest import mock

from tests.board_command import BoardCommand, ranking, unfolded
from tests.fake_openai import FakeOpenAI, completes, refuses

KEY = "sk-sesame-1234567890"


class AModelOfAnotherServer(BoardCommand):
    def test_it_answers_with_the_key_of_the_env_file_which_is_in_no_file_and_on_no_screen(self) -> None:
        self.job(systems='["baselines:even", "openai:toy.gguf"]', env_file='"keys.env"')
        with FakeOpenAI() as server, mock.patch.dict(os.environ):
            os.environ.pop("OPENAI_BASE_URL", None)
            os.environ["OPENAI_API_KEY"] = "ambient-key-of-another-host"
            (self.home / "keys.env").write_text(
                f"OPENAI_BASE_URL=http://{server.host}/v1\nOPENAI_API_KEY={KEY}\n", encoding="utf-8")
            server.key = KEY
            server.next(refuses(400, f"no {KEY}"))
            told = self.type("run jobs/tiny.toml")
        self.assertEqual(told.code, 0, told)
        self.assertIn("24 new cells, 0 of 24 planned cells left", told.stdout)
        self.assertEqual(12, len(server.trials()))
        self.assertEqual({f"Bearer {KEY}"}, {seen.headers["Authorization"] for seen in server.seen})
        self.assertNotIn("sesame", told.stdout + told.stderr)
        files = [path for path in self.home.rglob("*") if path.is_file() and path.name != "keys.env"]
        self.assertFalse([path for path in files if b"sesame" in path.read_bytes()])

    def test_one_that_failed_nine_of_twelve_stands_below_what_it_has_not_shown(self) -> None:
        self.job(count="12", trials="1", systems='["baselines:even", "robots:good", "openai:toy.gguf"]',
                 env_file='"keys.env"')
        with FakeOpenAI() as server, mock.patch.dict(os.environ):
            (self.home / "keys.env").write_text(f"OPENAI_BASE_URL=http://{server.host}/v1\n", encoding="utf-8")
            for number in range(1, 13):
                server.next(completes(("even", "odd")[number % 2]) if number <= 3 else refuses(500, "out of memory"))
            told = self.well("run jobs/tiny.toml")
            published = self.type(f"publish {self.batch().name}")
        self.assertEqual((0, f"tiny/{self.batch().name}: 9 of 12 cells of openai:toy.gguf are incomplete, and "
                          "published they stay so; to ask them again first: python3 board.py run jobs/tiny.toml "
                          "--retry-errors\n"),
                         (published.code, published.stderr), published.stdout)
        self.assertEqual([("robots:good", "100.0", "1-3"), ("baselines:even", "75.0", "1-3"),
                          ("openai:toy.gguf", "6.2 to 100.0", "1-3")], [(row[0], *row[2:4]) for row in ranking(told)])
        self.assertRegex(unfolded(told), r"9 of 36 cells ended without a verdict\. .*openai:toy.gguf: 9 of 12 "
                                         r"\(ServerError 9\); most often: HTTP 500: .*out of memory")
        text = (self.batch() / "board.md").read_text(encoding="utf-8").replace("\\", "")
        self.assertIn("9 of 36 cells ended without a verdict.", text)
        self.assertRegex(text, r"openai:toy.gguf: 9 of 12 \(ServerError 9\); most often: HTTP 500: .*out of memory")
        self.assertIn("It is left open whether a model reaches the best baseline: `robots:good` has 100.0", text)
        self.assertRegex(text, r"`openai:toy.gguf` \| `ServerError` \| `HTTP 500: .*out of memory.*` \| 9 "
                               r"\| T-4 trial 1, T-5 .* and 4 more \|")
        self.assertIn("| 3 of 12 | 100.0 over 3 judged |", text)
        page = (self.batch() / "board.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r'badge pass"><span[^>]*>[^<]*</span>published')
        self.assertIn("3/3, 9 incomplete", page)

    def test_a_server_without_credit_ends_the_run_which_goes_on_later_with_what_it_takes(self) -> None:
        self.job(systems='["baselines:even", "openai:toy.gguf"]', env_file='"keys.env"')
        with FakeOpenAI() as server, mock.patch.dict(os.environ):
            (self.home / "keys.env").write_text(f"OPENAI_BASE_URL=http://{server.host}/v1\n", encoding="utf-8")
            server.refused, server.refusal = "max_tokens", "max_tokens is unsupported"
            server.next(completes("even"), refuses(402, "Insufficient credits"))
            told = self.type("run jobs/tiny.toml")
            self.assertEqual(told.code, 3, told)
            self.assertRegex(told.stderr.splitlines()[-1], "^board.py.*Insufficient credits")
            self.assertEqual(2, len(server.trials()))
            told = self.type("run jobs/tiny.toml")
            self.assertEqual(told.code, 0, told)
            self.assertEqual(12, len(server.trials()))
            self.assertEqual({True}, {"max_completion_tokens" in seen.body for seen in server.trials()})
