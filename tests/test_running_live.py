"""The story of a live run: from names and files to an order, and what a person is told when it is interrupted."""
from __future__ import annotations

import os
import signal
import unittest
from dataclasses import replace
from typing import Any

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.errors import Interrupted, Unusable
from benchkit.basics.values import Reply, Request
from benchkit.running.session import record_live, verdicts_of
from benchkit.running.workload import Ended, RunConfig, RunContext, Workload, log_at, workload_of
from benchkit.tasks.task import load_task
from benchkit.trial_log.reader import TrialLog
from tests.recordings_samples import put_cases, put_task
from tests.running_samples import Robot
from tests.test_tasks_task import InAFolder
from tests.trial_logs import Lines, altered, complete, started


class Live(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        put_task(self.folder)
        self.cases = put_cases(self.folder)
        self.log = self.folder / "always.jsonl"
        self.stop = StopRequest()
        self.context = RunContext((self.folder,), 7.0, lambda line: None, None, Clock(), self.stop)

    def config(self, **more: Any) -> RunConfig:
        made = RunConfig("baselines:always", str(self.cases), "development", 2, self.log,
                         Command("bench.py", ("--quiet",)))
        return replace(made, **more)

    def order(self, task: str = "parity_task", **more: Any) -> Workload:
        return workload_of(self.config(**more), load_task(task, self.context.folders), self.context, None)

    def record(self, order: Workload, log: TrialLog | None) -> Ended:
        task = load_task("parity_task", self.context.folders)
        return record_live(order, log, self.context, verdicts_of(task, order.cases))


class FromAWish(Live):
    def test_an_order_holds_the_cases_of_the_split_and_who_is_asked(self) -> None:
        order = self.order()
        self.assertEqual((["two", "three"], ["baselines:always"], 2),
                         ([case.id for case in order.cases], list(order.systems), order.trials))
        self.assertFalse(self.log.exists())

    def test_the_budget_counts_from_the_start_of_the_process(self) -> None:
        self.assertEqual(Budget(self.context.start, 3.0), self.order(budget_s=3.0).budget)

    def test_what_cannot_be_used_is_refused(self) -> None:
        for more, words in (
            ({"system": "nobody"}, "module:name"), ({"system": "baselines:x"}, "no such baseline"),
            ({"task": "nowhere"}, "no module nowhere"), ({"split": "x"}, "--split x"),
            ({"cases": str(self.folder / "none.json")}, "none.json"),
        ):
            with self.subTest(more=more), self.assertRaisesRegex(Unusable, words):
                self.order(**more)

    def test_it_is_recorded_and_found_again(self) -> None:
        self.assertIsNone(log_at(self.log))
        self.assertEqual("complete", self.record(self.order(), None).reason)
        self.assertIsNone(self.record(self.order(), log_at(self.log)).reason)


class TheLogAsItIs(Live):
    def test_none_where_nothing_is_planned_yet(self) -> None:
        for data in (b"", b'{"bud', bytes(Lines().begin())):
            self.log.write_bytes(data)
            self.assertIsNone(log_at(self.log))

    def test_damage_is_refused_unless_it_is_accepted(self) -> None:
        lines = complete().lines
        self.log.write_bytes(b"".join([*lines[:5], altered(lines[5]), *lines[6:]]))
        with self.assertRaises(Unusable):
            log_at(self.log)
        self.assertIsNotNone(log_at(self.log, accept_damage=True))
        self.log.write_bytes(bytes(started()) + b'{"torn')
        self.assertIsNotNone(log_at(self.log))


class Interruptions(Live):
    def interrupted(self, robot: Robot, number: int = signal.SIGTERM) -> str:
        with self.assertRaises(Interrupted) as caught:
            self.record(replace(self.order(), systems={"baselines:always": robot}), log_at(self.log))
        self.assertEqual(143 if number == signal.SIGTERM else 130, caught.exception.exit_code)
        return str(caught.exception)

    def test_a_signal_is_told_with_what_is_kept_and_the_command_to_go_on(self) -> None:
        def answers(request: Request) -> Reply:
            os.kill(os.getpid(), signal.SIGINT)
            return Reply("yes")
        self.assertEqual(f"stopped by SIGINT; what ended before is in {self.log}; go on with: python3 bench.py --quiet",
                         self.interrupted(Robot(answers=answers), signal.SIGINT))

    def test_a_signal_before_anything_was_recorded_says_so(self) -> None:
        robot = Robot(fails={"open": Interrupted(signal.SIGTERM)})
        self.assertEqual("stopped by SIGTERM; nothing was recorded yet; go on with: python3 bench.py --quiet",
                         self.interrupted(robot))
        self.assertFalse(self.log.exists())

    def test_the_handlers_are_put_back(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        self.record(self.order(), None)
        self.assertIs(before, signal.getsignal(signal.SIGINT))


if __name__ == "__main__":
    unittest.main()
