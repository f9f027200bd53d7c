"""board.py where a batch has lost something, or says what is not so: nothing is asked twice without a word."""
from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from unittest import mock

from tests.board_command import GATE, BoardCommand

RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"


class LostAnswers(BoardCommand):
    def take(self, count: int) -> None:
        """The last trial lines of the log, and what stands behind them."""
        path = self.batch() / "responses.jsonl"
        log = path.read_bytes().splitlines(keepends=True)
        trials = [line for line in log if b'"kind":"trial"' in line]
        path.write_bytes(b"".join(log[: log.index(trials[-count])]))

    def test_asked_again_they_are_no_board_to_publish(self) -> None:
        self.ran()
        self.take(5)
        self.says(RUN, "5 new cells", "trace invariant violations: 4", "its trial line is gone", code=1)
        self.says(f"publish {self.batch().name}", "is not published; nothing was written", code=1)

    def test_one_may_be_that_of_a_kill_and_is_counted_on_the_board_and_by_publish(self) -> None:
        self.ran()
        self.take(1)
        self.well(RUN)
        self.board_says("1 trial abandoned")
        self.says(f"publish {self.batch().name}", "trace self-consistent\n1 trial abandoned")

    def test_a_log_that_is_gone_is_named_and_nothing_is_asked_again(self) -> None:
        self.ran(f"{RUN} --limit 5")
        log = self.batch() / "responses.jsonl"
        for is_there in (False, True):
            log.write_bytes(b"") if is_there else log.unlink()
            for command in (RUN, REPORT, f"recompute {self.batch().name}"):
                self.refuses(command, "responses.jsonl: the answers are gone, and trace.jsonl or batch.json",
                             f"python3 board.py {RUN} --fresh")

    def test_a_system_that_is_gone_from_the_log_is_named(self) -> None:
        self.ran(f"{RUN} --offline")
        early = (self.batch() / "responses.jsonl").read_bytes()
        self.well(RUN)
        (self.batch() / "responses.jsonl").write_bytes(early)
        for command in (RUN, REPORT):
            self.refuses(command, "batch.json says that robots:good has answered")


class WhatBatchJsonSays(BoardCommand):
    def test_more_trials_than_are_planned_are_refused_and_fewer_are_what_a_kill_leaves(self) -> None:
        self.ran()
        path = self.batch() / "batch.json"
        self.rewrite(path, ('"trials": 2', '"trials": 5'))
        self.refuses(REPORT, "batch.json says trials = 5, and responses.jsonl plans 2")
        self.rewrite(path, ('"trials": 5', '"trials": 1'))
        self.says(REPORT, "12 of 12\n")
        self.assertEqual(2, self.batch_json()["job"]["trials"])

    def test_one_that_cannot_be_read_is_a_line_of_the_list(self) -> None:
        self.ran(f"{RUN} --limit 1")
        broken = self.batch()
        (broken / "batch.json").write_text("{}")
        self.well(f"{RUN} --fresh --limit 1")
        first, second = self.well("list").splitlines()
        self.assertIn(f"tiny/{broken.name}  unreadable  ", first)
        self.assertIn("  open  ", second)


class WhichIsTheNewest(BoardCommand):
    def test_a_blocked_batch_does_not_stand_before_the_open_one_and_that_is_said(self) -> None:
        self.ran(f"{RUN} --limit 5")
        good = self.batch()
        self.job(tables=GATE.replace("least_questions = 4", "least_questions = 7"))
        self.type(f"{RUN} --fresh")
        blocked = self.batch()
        self.job()
        for command in (RUN, REPORT):
            told = self.type(command)
            self.assertEqual(0, told.code, told.stderr)
            self.assertIn(f"{blocked.name} is blocked by the batch gate, and passed over for", told.stderr)
            self.assertIn(good.name, told.stdout)

    def test_one_that_is_still_to_come_is_not_taken_for_the_newest_without_a_word(self) -> None:
        self.ran(f"{RUN} --limit 5")
        soon = (datetime.now(UTC) + timedelta(hours=20)).strftime("%Y%m%dT%H%M%SZ")
        for stamp, command, is_told in (("99991231T235959Z", RUN, True), ("99991231T235959Z", REPORT, True),
                                        ("99991231T235959Z", f"{REPORT} --batch 99991231T235959Z", False),
                                        (soon, REPORT, False)):
            with self.subTest(command, stamp=stamp):
                self.batch().rename(self.batch().with_name(stamp))
                told = self.type(command)
                self.assertEqual(0, told.code, told.stderr)
                self.assertEqual(is_told, f"{stamp} is taken for the newest, but" in told.stderr, told.stderr)


class WhatASystemSaysOfItsRetries(BoardCommand):
    def test_as_much_of_it_is_kept_as_can_be_meant_and_no_key(self) -> None:
        said = ("ErrorFacts('Timeout', 'for ' + os.environ['MY_API_KEY'] + 'm' * 10**5, os.environ['MY_API_KEY'])",
                "float('nan'), 10**400, float('-inf')")
        self.rewrite("robots.py", ("values import", "values import ErrorFacts, Failure,"),
                     ("latency_s=0.25)", f"latency_s=0.25, retried=(Failure({', '.join(said)}),))"))
        with mock.patch.dict(os.environ, MY_API_KEY="sesame-0123456789"):
            self.well(RUN)
        trace = (self.batch() / "trace.jsonl").read_text("utf-8")
        self.assertNotIn("sesame", trace)
        kept = [line["data"] for line in map(json.loads, trace.splitlines()) if line["type"] == "assistant/attempt"]
        self.assertEqual([("for [secret]" + "m" * 1988, None, None, 0, 0.0)] * 12, [
            (one["message"], *(one[name] for name in ("text", "latency_s", "retries", "waited_s"))) for one in kept])
        self.well(REPORT)
