"""board.py where a batch has lost something, or says what is not so: nothing is asked twice without a word."""
from __future__ import annotations

import json
import os
import unittest
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from tests.board_command import GATE, BoardCommand


class LostAnswers(BoardCommand):
    def take(self, count: int) -> None:
        """The last trial lines of the log, and what stands behind them."""
        path = self.batch() / "responses.jsonl"
        log = path.read_bytes().splitlines(keepends=True)
        trials = [line for line in log if b'"kind":"trial"' in line]
        path.write_bytes(b"".join(log[: log.index(trials[-count])]))

    def test_asked_again_they_are_no_board_to_publish(self) -> None:
        self.well("run jobs/tiny.toml")
        self.take(5)
        told = self.well("run jobs/tiny.toml", code=1)
        self.assertIn("5 new cells", told)
        self.assertIn("trace invariant violations: 4", told)
        self.assertIn("its trial line is gone", told)
        self.assertIn("is not published; nothing was written", self.well(f"publish {self.batch().name}", code=1))

    def test_one_may_be_that_of_a_kill_and_is_counted_on_the_board_and_by_publish(self) -> None:
        self.well("run jobs/tiny.toml")
        self.take(1)
        self.well("run jobs/tiny.toml")
        for name in ("board.md", "board.html"):
            self.assertIn("1 trial abandoned", (self.batch() / name).read_text(encoding="utf-8"))
        told = self.well(f"publish {self.batch().name}")
        self.assertIn("trace self-consistent\n1 trial abandoned", told)

    def test_a_log_that_is_gone_is_named_and_nothing_is_asked_again(self) -> None:
        self.well("run jobs/tiny.toml --limit 5")
        changes: tuple[Callable[[Path], object], ...] = (Path.unlink, lambda path: path.write_bytes(b""))
        for change in changes:
            change(self.batch() / "responses.jsonl")
            for command in ("run jobs/tiny.toml", "report jobs/tiny.toml", f"recompute {self.batch().name}"):
                with self.subTest(command):
                    told = self.refused(command)
                    self.assertIn("responses.jsonl: the answers are gone, and trace.jsonl or batch.json", told)
                    self.assertIn("python3 board.py run jobs/tiny.toml --fresh", told)

    def test_a_system_that_is_gone_from_the_log_is_named(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        early = (self.batch() / "responses.jsonl").read_bytes()
        self.well("run jobs/tiny.toml")
        (self.batch() / "responses.jsonl").write_bytes(early)
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml"):
            self.assertIn("batch.json says that robots:good has answered", self.refused(command))


class WhatBatchJsonSays(BoardCommand):
    def says(self, name: str, value: Any) -> None:
        path = self.batch() / "batch.json"
        found = json.loads(path.read_text())
        found["job"][name] = value
        path.write_text(json.dumps(found))

    def test_more_trials_than_are_planned_are_refused(self) -> None:
        self.well("run jobs/tiny.toml")
        self.says("trials", 5)
        self.assertIn("batch.json says trials = 5, and responses.jsonl plans 2", self.refused("report jobs/tiny.toml"))

    def test_fewer_trials_than_are_planned_are_what_a_kill_leaves(self) -> None:
        self.well("run jobs/tiny.toml")
        self.says("trials", 1)
        self.assertIn("12 of 12\n", self.well("report jobs/tiny.toml"))
        self.assertEqual(2, self.batch_json()["job"]["trials"])

    def test_one_that_cannot_be_read_is_a_line_of_the_list(self) -> None:
        self.well("run jobs/tiny.toml --limit 1")
        broken = self.batch()
        (broken / "batch.json").write_text("{}")
        self.well("run jobs/tiny.toml --fresh --limit 1")
        first, second = self.well("list").splitlines()
        self.assertIn(f"tiny/{broken.name}  unreadable  ", first)
        self.assertIn("  open  ", second)


class ABlockedBatch(BoardCommand):
    def test_does_not_stand_before_the_open_one_and_that_is_said(self) -> None:
        self.well("run jobs/tiny.toml --limit 5")
        good = self.batch()
        self.job(tables=GATE.replace("least_questions = 4", "least_questions = 7"))
        self.type("run jobs/tiny.toml --fresh")
        blocked = self.batch()
        self.job()
        for command in ("run jobs/tiny.toml", "report jobs/tiny.toml"):
            with self.subTest(command):
                told = self.type(command)
                self.assertEqual(0, told.code, told.stderr)
                self.assertIn(f"{blocked.name} is blocked by the batch gate, and passed over for", told.stderr)
                self.assertIn(good.name, told.stdout)

class ABatchOfAWrongClock(BoardCommand):
    def test_one_that_is_still_to_come_is_not_taken_for_the_newest_without_a_word(self) -> None:
        self.well("run jobs/tiny.toml --limit 5")
        now = self.batch()
        ahead = now.rename(now.with_name("99991231T235959Z"))
        for command, is_told in (("run jobs/tiny.toml", True), ("report jobs/tiny.toml", True),
                                 (f"report jobs/tiny.toml --batch {ahead.name}", False)):
            with self.subTest(command):
                told = self.type(command)
                self.assertEqual(0, told.code, told.stderr)
                self.assertEqual(is_told, f"{ahead.name} is taken for the newest, but" in told.stderr, told.stderr)
        soon = (datetime.now(UTC) + timedelta(hours=20)).strftime("%Y%m%dT%H%M%SZ")
        ahead.rename(ahead.with_name(soon))
        self.assertNotIn("taken for the newest", self.type("report jobs/tiny.toml").stderr)

class WhatASystemSaysOfItsRetries(BoardCommand):
    def test_as_much_of_it_is_kept_as_can_be_meant_and_no_key(self) -> None:
        said = ("ErrorFacts('Timeout', 'for ' + os.environ['MY_API_KEY'] + 'm' * 10**7, os.environ['MY_API_KEY'])",
                "float('nan'), 10**400, float('-inf')")
        robots = self.home / "robots.py"
        text = robots.read_text("utf-8").replace("values import", "values import ErrorFacts, Failure,")
        robots.write_text(text.replace("latency_s=0.25)", f"latency_s=0.25, retried=(Failure({', '.join(said)}),))"),
                          encoding="utf-8")
        with mock.patch.dict(os.environ, MY_API_KEY="sesame-0123456789"):
            self.well("run jobs/tiny.toml")
        trace = (self.batch() / "trace.jsonl").read_text("utf-8")
        self.assertNotIn("sesame", trace)
        kept = [line["data"] for line in map(json.loads, trace.splitlines()) if line.get("type") == "assistant/attempt"]
        self.assertTrue(kept)
        for one in kept:
            self.assertEqual("for [secret]" + "m" * 1988, one["message"])
            self.assertEqual((None, None, 0, 0.0), tuple(one[name] for name in ("text", "latency_s", "retries",
                                                                                "waited_s")))
        self.well("report jobs/tiny.toml")


if __name__ == "__main__":
    unittest.main()
