"""One session: what is asked of whom, what stands in the log in which order, and what is refused before that."""
from __future__ import annotations

import os
import signal
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.errors import BrokenOff, EnvironmentFailure, Interrupted, KitError, TrialError, Unusable
from benchkit.basics.values import Cell, Reply, Request
from benchkit.running.plan import Selection
from benchkit.running.progress import Verdicts
from benchkit.running.session import record, record_live
from benchkit.running.workload import Ended, RunConfig, RunContext, Workload, log_at, workload_of
from benchkit.systems.system import Loaded
from benchkit.tasks.task import load_task
from benchkit.trial_log.lines import Damage, TrialLine
from benchkit.trial_log.reader import TrialLog, read_log
from benchkit.trial_log.writer import LogWriter
from tests.recordings_samples import put_cases, put_task
from tests.running_samples import ROBOT, Robot, context, kinds, lines_of, order, silent
from tests.trial_logs import Lines, started

ONCE = "session plan system loaded a1 b1 a2 b2 stop"


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        self.log = Path(self.enterContext(tempfile.TemporaryDirectory())) / "robot.jsonl"
        self.said: list[str] = []

    def found(self) -> TrialLog | None:
        return read_log(self.log) if self.log.exists() and self.log.stat().st_size else None

    def record(self, wanted: Workload, stop: StopRequest | None = None) -> Ended:
        return record(wanted, self.found(), context(self.said, stop), silent)

    def asks(self, calls: str, robot: Robot, **more: Any) -> Ended:
        """Record with a robot, which is opened, asked these cells and closed."""
        ended = self.record(order(self.log, robot, **more))
        self.assertEqual(["open", "warm", *calls.split(", "), "close"], robot.calls)
        return ended

    def refused(self, wanted: Workload, kind: type[KitError] = Unusable) -> str:
        """The line of the error; the log is as it was."""
        before = self.log.read_bytes()
        with self.assertRaises(kind) as caught:
            self.record(wanted)
        self.assertEqual(before, self.log.read_bytes())
        return str(caught.exception)


class AStart(Recording):
    def test_a_session_is_opened_logged_loaded_run_and_closed_in_this_order(self) -> None:
        self.assertEqual(Ended("complete"), self.asks("a 1, b 1, a 2, b 2", Robot()))
        self.assertEqual(ONCE, kinds(self.log))

    def test_each_line_says_what_it_is_for(self) -> None:
        self.record(order(self.log, Robot(), hardware="a desk", budget=Budget(0.0, 1e9), timeout_s=7.0))
        session, plan, system, loaded, trial, *_, stop = lines_of(self.log)
        self.assertEqual(("a desk", 1e9, 7.0, []), tuple(session[name] for name in (
            "hardware", "budget_s", "timeout_s", "damage")))
        self.assertLessEqual({"python", "platform", "processor", "server", "server_version"},
                             set(session["environment"]))
        self.assertEqual(("development", 2, [ROBOT]), (plan["split"], plan["trials"], plan["systems"]))
        self.assertEqual({"model": "toy", "digest": "d1", "heat": 1.0}, system["settings"])
        self.assertEqual((1.5, 4096, {"family": "toys"}), tuple(loaded[name] for name in (
            "load_s", "context_length", "details")))
        self.assertEqual(("a", 1, 1, 1001, "a 1", 0.5), tuple(trial[name] for name in (
            "case", "trial", "attempt", "seed", "output", "latency_s")))
        self.assertEqual("complete", stop["reason"])

    def test_a_failed_open_makes_no_log_and_lets_go_of_the_system(self) -> None:
        robot = Robot(fails={"open": EnvironmentFailure("no server")})
        with self.assertRaises(EnvironmentFailure):
            self.record(order(self.log, robot))
        self.assertFalse(self.log.exists())
        self.assertEqual(["open", "close"], robot.calls)

    def test_a_log_of_no_bytes_is_as_none(self) -> None:
        self.log.touch()
        self.record(order(self.log, Robot()))
        self.assertEqual(ONCE, kinds(self.log))

    def test_a_model_that_does_not_load_ends_the_session_with_an_error(self) -> None:
        with self.assertRaises(EnvironmentFailure):
            self.record(order(self.log, Robot(fails={"warm": EnvironmentFailure("too large")})))
        self.assertEqual("session plan system stop", kinds(self.log))
        self.assertEqual("error", lines_of(self.log)[-1]["reason"])

    def test_a_second_writer_is_refused_and_the_system_let_go(self) -> None:
        self.record(order(self.log, Robot()))
        robot = Robot()
        with LogWriter.open(self.log):
            words = self.refused(order(self.log, robot, trials=3), EnvironmentFailure)
        self.assertIn(f"in use by another run (process {lines_of(self.log)[0]['pid']})", words)
        self.assertEqual(["open", "close"], robot.calls)

    def test_a_plan_larger_than_a_log_can_hold_is_refused_before_anyone_is_asked(self) -> None:
        for asked, words in (
            (order(self.log, Robot(), trials=10_000_001), "2 cases make 20,000,002 planned trials, more than the 20,0"),
            (order(self.log, Robot(), cases=["x" * 110 + str(one) for one in range(31_000)], trials=1),
             "31,000 cases are more than a plan line of 4,194,304 bytes names; share the cases out"),
        ):
            with self.subTest(words=words):
                robot = Robot()
                with self.assertRaisesRegex(Unusable, words):
                    self.record(replace(asked, systems={ROBOT: robot}))
                self.assertEqual([], robot.calls)
                self.assertFalse(self.log.exists())


class GoingOn(Recording):
    def test_the_same_order_goes_on_where_the_log_ends(self) -> None:
        self.record(order(self.log, Robot(), selection=Selection(limit=1)))
        self.assertEqual(Ended("complete"), self.asks("b 1, a 2, b 2", Robot()))
        self.assertEqual("session plan system loaded a1 stop session loaded b1 a2 b2 stop", kinds(self.log))
        self.assertEqual([], self.said)

    def test_nothing_to_do_asks_nobody_and_adds_nothing(self) -> None:
        self.record(order(self.log, Robot()))
        before = self.log.read_bytes()
        changes: tuple[dict[str, Any], ...] = (
            {}, {"cases": ("b", "a")}, {"hardware": "another"}, {"selection": Selection(case="a")},
            {"selection": Selection(retry_errors=True)}, {"rerun_changed": True})
        for more in changes:
            with self.subTest(more=more):
                robot = Robot()
                self.assertEqual(Ended(None), self.record(order(self.log, robot, **more)))
                self.assertEqual(([], before), (robot.calls, self.log.read_bytes()))

    def test_a_run_that_was_killed_before_its_plan_is_begun_anew(self) -> None:
        self.record(order(self.log, Robot()))
        self.log.write_bytes(self.log.read_bytes().splitlines(keepends=True)[0])
        self.record(order(self.log, Robot()))
        self.assertEqual("session " + ONCE, kinds(self.log))

    def test_other_circumstances_are_told(self) -> None:
        self.record(order(self.log, Robot(), selection=Selection(limit=1), hardware="a desk"))
        other = Robot(server={"server": "toy", "server_version": "2"}, loaded=Loaded(1.0, 8192))
        self.record(order(self.log, other))
        self.assertEqual([
            "the hardware was a desk in an earlier session and is not given now; latencies and texts may differ, and "
            "the report says so",
            "the server version was 1 in an earlier session and is 2 now; latencies and texts may differ, and the "
            "report says so",
            "the context length was 4096 in an earlier session and is 8192 now; texts may differ, and the report says "
            "so"], self.said)


class Choosing(Recording):
    def test_the_stop_line_says_that_only_a_part_was_chosen(self) -> None:
        for selection, reason, ran in (
            (Selection(limit=3), "selection", "a1 b1 a2"),
            (Selection(limit=4), "complete", "a1 b1 a2 b2"),
            (Selection(limit=99), "complete", "a1 b1 a2 b2"),
            (Selection(case="b"), "selection", "b1 b2"),
            (Selection(case="b", limit=1), "selection", "b1"),
        ):
            with self.subTest(selection=selection):
                self.log.unlink(missing_ok=True)
                self.assertEqual(Ended(reason), self.record(order(self.log, Robot(), selection=selection)))
                self.assertEqual(f"session plan system loaded {ran} stop", kinds(self.log))
                self.assertEqual([["a", "b"]], [[case for case, _ in line["cases"]] for line in lines_of(self.log)
                                               if line["kind"] == "plan"])

    def test_an_unknown_case_is_refused_before_anything_is_asked(self) -> None:
        robot = Robot()
        with self.assertRaisesRegex(Unusable, "--case x"):
            self.record(order(self.log, robot, selection=Selection(case="x")))
        self.assertEqual(([], False), (robot.calls, self.log.exists()))

    def test_errors_are_tried_again_as_the_next_attempt_but_never_a_prompt_that_is_too_long(self) -> None:
        def answers(request: Request) -> Reply:
            raise TrialError("PromptTooLong" if request.case == "a" else "Timeout", "no")
        self.record(order(self.log, Robot(answers=answers)))
        self.assertEqual(Ended("complete", again=(2, 0)), self.asks(
            "b 1 again 2, b 2 again 2", Robot(), selection=Selection(retry_errors=True)))
        log = read_log(self.log)
        self.assertEqual([("PromptTooLong", 1), (None, 2)], [
            (log.error_type(cell), log.attempts(cell)) for cell in (Cell(ROBOT, "a", 1), Cell(ROBOT, "b", 1))])

    def test_a_part_of_the_errors_tried_again_is_a_selection(self) -> None:
        self.record(order(self.log, Robot(fails=dict.fromkeys(("a 1", "b 1"), TrialError("Timeout", "no")))))
        ended = self.record(order(self.log, Robot(), selection=Selection(limit=1, retry_errors=True)))
        self.assertEqual(Ended("selection", again=(1, 0)), ended)


class WhatChanged(Recording):
    def setUp(self) -> None:
        super().setUp()
        self.record(order(self.log, Robot()))

    def test_a_setting_that_only_the_server_knows_is_refused_once_it_is_asked(self) -> None:
        robot = Robot(now={"model": "toy", "digest": "d2", "heat": 1.0})
        self.assertIn('digest: "d1" -> "d2"', self.refused(order(self.log, robot, trials=3)))
        self.assertEqual(["open", "close"], robot.calls)

    def test_changed_settings_are_run_again_when_that_is_wished(self) -> None:
        self.asks("a 1 again 2, b 1 again 2, a 2 again 2, b 2 again 2",
                  Robot(now={"model": "toy", "digest": "d1", "heat": 0.0}), rerun_changed=True)
        self.assertEqual(ONCE + " session system loaded a1 b1 a2 b2 stop", kinds(self.log))

    def test_a_rerun_that_was_stopped_goes_on_without_being_wished_again(self) -> None:
        self.record(order(self.log, Robot(), asked={"b": "B?"}, rerun_changed=True, selection=Selection(limit=1)))
        self.asks("b 2 again 2", Robot(), asked={"b": "B?"})


class WhenItEnds(Recording):
    def last(self) -> str:
        return str(lines_of(self.log)[-1].get("reason"))

    def test_a_signal_writes_the_stop_line_and_drops_the_trial_under_way(self) -> None:
        with self.assertRaises(Interrupted):
            self.record(order(self.log, Robot(fails={"b 1": Interrupted(signal.SIGTERM)})))
        self.assertEqual(("session plan system loaded a1 stop", "interrupted"), (kinds(self.log), self.last()))

    def test_a_signal_before_the_log_is_made_leaves_none(self) -> None:
        with self.assertRaises(Interrupted):
            self.record(order(self.log, Robot(fails={"open": Interrupted(signal.SIGINT)})))
        self.assertFalse(self.log.exists())

    def test_an_error_that_ends_the_run_is_told_with_its_sentence(self) -> None:
        gone = TrialError("Unreachable", "gone", stops="the server is gone")
        self.assertEqual(Ended("error", "the server is gone"), self.record(order(self.log, Robot(fails={"b 1": gone}))))
        self.assertEqual(("session plan system loaded a1 b1 stop", "error"), (kinds(self.log), self.last()))

    def test_an_answer_that_no_log_can_hold_ends_the_run_and_harms_no_line(self) -> None:
        robot = Robot(answers=lambda request: Reply("\ud800" if request.trial == 2 else "x"))
        with self.assertRaisesRegex(BrokenOff, "the answer of toys:robot to a, trial 2 cannot be kept: .*surrogate"):
            self.record(order(self.log, robot))
        self.assertEqual(("session plan system loaded a1 b1 stop", "error"), (kinds(self.log), self.last()))
        self.assertEqual((), read_log(self.log).harmless)

    def test_a_log_that_was_replaced_while_it_ran_gets_no_stop_line_and_the_error_says_why(self) -> None:
        def answers(request: Request) -> Reply:
            self.log.unlink()
            self.log.touch()
            return Reply("x")
        with self.assertRaisesRegex(EnvironmentFailure, "removed or replaced"):
            self.record(order(self.log, Robot(answers=answers)))
        self.assertEqual(b"", self.log.read_bytes())


class Sidecars(Recording):
    def test_what_belongs_to_a_trial_is_on_the_disk_before_its_line(self) -> None:
        log, seen = self.log, []

        class Trace:
            def begin(self, session: str, log: TrialLog) -> tuple[Damage, ...]:
                seen.append(f"begin {len(session)}")
                return (Damage(3, 4),)

            def before_line(self, line: TrialLine) -> None:
                seen.append(f"{line.cell.case}{line.cell.trial} after {len(lines_of(log))}")

            def close(self) -> None:
                seen.append("close")
        self.record(order(self.log, Robot(), trials=1, sidecar=Trace()))
        self.assertEqual(["begin 16", "a1 after 4", "b1 after 5", "close"], seen)
        self.assertEqual([[3, 4]], lines_of(self.log)[0]["trace_damage"])

    def test_several_systems_take_turns_and_each_is_loaded_before_its_first_trial(self) -> None:
        robot, doll = Robot(), Robot()
        self.record(order(self.log, robot, doll))
        self.assertEqual(["open", "warm", "a 1", "b 1", "a 2", "b 2", "close"], doll.calls)
        self.assertEqual("session plan system system loaded a1 b1 loaded a1 b1 a2 b2 a2 b2 stop", kinds(self.log))

    def test_systems_that_are_added_leave_those_before_in_the_plan(self) -> None:
        self.record(order(self.log, Robot()))
        doll = Robot()
        added = replace(order(self.log, Robot()), systems={"toys:doll": doll}, adds_systems=True)
        self.assertEqual(Ended("complete"), self.record(added))
        self.assertEqual(["open", "warm", "a 1", "b 1", "a 2", "b 2", "close"], doll.calls)
        plan = read_log(self.log).plan
        self.assertEqual((ROBOT, "toys:doll"), plan and plan.systems)


class Live(Recording):
    """A run with its signals: what a person is told who interrupts it."""

    def live(self, robot: Robot) -> Ended:
        verdicts = Verdicts(lambda case, output: "pass")
        return record_live(order(self.log, robot), log_at(self.log), context(self.said), verdicts)

    def test_an_interruption_is_told_with_what_is_kept_and_the_command_to_go_on(self) -> None:
        def answers(request: Request) -> Reply:
            os.kill(os.getpid(), signal.SIGINT)
            return Reply("yes")
        for robot, code, kept in (
                (Robot(fails={"open": Interrupted(signal.SIGTERM)}), 143, "SIGTERM; nothing was recorded yet"),
                (Robot(answers=answers), 130, f"SIGINT; what ended before is in {self.log}")):
            with self.assertRaises(Interrupted) as caught:
                self.live(robot)
            self.assertEqual((code, f"stopped by {kept}; go on with: python3 bench.py --quiet"),
                             (caught.exception.exit_code, str(caught.exception)))
            self.assertEqual(code == 130, self.log.exists())

    def test_the_handlers_are_put_back(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        self.assertEqual("complete", self.live(Robot()).reason)
        self.assertIs(before, signal.getsignal(signal.SIGINT))

    def test_a_log_in_which_nothing_is_planned_yet_is_none(self) -> None:
        self.assertIsNone(log_at(self.log))
        for data in (b"", b'{"bud', bytes(Lines().begin())):
            self.log.write_bytes(data)
            self.assertIsNone(log_at(self.log))
        self.log.write_bytes(bytes(started()) + b'{"torn')
        self.assertIsNotNone(log_at(self.log))

    def test_the_budget_counts_from_the_start_of_the_process(self) -> None:
        put_task(self.log.parent)
        around = RunContext((self.log.parent,), 7.0, self.said.append, None, Clock(), StopRequest())
        config = RunConfig("baselines:always", str(put_cases(self.log.parent)), "development", 2, self.log,
                           Command("bench.py", ()), budget_s=3.0)
        workload = workload_of(config, load_task("parity_task", around.folders), around, None)
        self.assertEqual((Budget(7.0, 3.0), ["two", "three"]), (workload.budget, [one.id for one in workload.cases]))
        self.assertFalse(self.log.exists())
