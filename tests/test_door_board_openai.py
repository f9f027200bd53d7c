"""A board over a server of /v1/chat/completions: its address and key come from the job's env_file, and stay there."""
from __future__ import annotations

import os
import unittest
from unittest import mock

from tests.board_door import BoardDoor
from tests.fake_openai import FakeOpenAI, refuses

KEY = "sk-sesame-1234567890"


class AModelOfAnotherServer(BoardDoor):
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


if __name__ == "__main__":
    unittest.main()
