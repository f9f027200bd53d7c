"""Running cells: what is asked, recorded and shown in which order, and when it ends."""
from __future__ import annotations

import signal
import unittest
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, Interrupted, TrialError
from benchkit.basics.json_text import request_of
from benchkit.basics.values import JSON, Cell, Failure, Reply, Request
from benchkit.running.engine import Answering, Callbacks, RunLimits, Stopped, run_trials
from benchkit.running.plan import Assignment
from benchkit.systems.system import Loaded
from benchkit.tasks.task import Prompt
from benchkit.trial_log.lines import TrialLine

SETTINGS: Mapping[str, JSON] = {"model": "toy"}
PROMPTS = {case: Prompt(({"role": "user", "content": case},), None, f"{number:016x}")
           for number, case in enumerate("abc")}
WORK = tuple(Assignment(Cell("toys:robot", case, trial), 1) for trial in (1, 2) for case in "ab")


@dataclass
class FakeRun:
    """A system, a log, an observer and a clock that write down what happens; asking takes `takes_s` each time."""

    events: list[str] = field(default_factory=list)
    lines: list[TrialLine] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    now: float = 100.0
    wall: float = 1796040000.0
    takes_s: float = 1.0
    answers: Callable[[Request], Reply] = lambda request: Reply(f"about {request.case}")
    stop: StopRequest = field(default_factory=StopRequest)

    # the system
    def open(self) -> Mapping[str, JSON]:
        return {}

    def settings(self) -> Mapping[str, JSON]:
        return SETTINGS

    def warm(self) -> Loaded:
        return Loaded(0.0)

    def close(self) -> None:
        """Nothing."""

    def answer(self, request: Request) -> Reply:
        self.events.append(f"ask {request.case} {request.trial}")
        self.requests.append(request)
        self.now += self.takes_s
        self.wall += self.takes_s
        return self.answers(request)

    # the observer
    def starts(self, assignment: Assignment) -> None:
        self.events.append(f"starts {assignment.cell.case} {assignment.cell.trial}")

    def recorded(self, line: TrialLine) -> None:
        self.events.append(f"shown {line.cell.case} {line.cell.trial}")

    # the log
    def record(self, line: TrialLine) -> None:
        self.events.append(f"log {line.cell.case} {line.cell.trial}")
        self.lines.append(line)

    def prepare(self, system: str) -> None:
        self.events.append(f"prepare {system}")

    def run(self, work: tuple[Assignment, ...] = WORK, budget_s: float | None = None, start: float = 100.0) -> Stopped:
        return run_trials(
            work, {"toys:robot": Answering(self, SETTINGS, PROMPTS)}, Callbacks(self.prepare, self.record, self),
            RunLimits(Budget(start, budget_s), 120.0, self.stop, Clock(lambda: self.now, lambda: self.wall)))


def raising(error: BaseException, case: str = "a") -> Callable[[Request], Reply]:
    """Answers that raise at one case."""
    def answers(request: Request) -> Reply:
        if request.case == case:
            raise error
        return Reply("well")
    return answers


class TheOrderOfThings(unittest.TestCase):
    def test_a_trial_is_in_the_log_before_it_is_shown_and_before_the_next_is_asked(self) -> None:
        fake = FakeRun()
        self.assertEqual(Stopped("done"), fake.run(WORK[:2]))
        self.assertEqual(["prepare toys:robot", "starts a 1", "ask a 1", "log a 1", "shown a 1",
                          "prepare toys:robot", "starts b 1", "ask b 1", "log b 1", "shown b 1"], fake.events)

    def test_a_request_brings_seed_attempt_messages_and_a_deadline(self) -> None:
        fake = FakeRun()
        fake.run((Assignment(Cell("toys:robot", "b", 3), 2),))
        self.assertEqual([Request("b", 3, 2, 1003, PROMPTS["b"].messages, None, 220.0)], fake.requests)

    def test_a_line_binds_the_answer_to_its_cell(self) -> None:
        fake = FakeRun()
        fake.run(WORK[:1])
        line = fake.lines[0]
        self.assertEqual((Cell("toys:robot", "a", 1), 1, request_of(PROMPTS["a"].ask, SETTINGS, 1001),
                          "2026-11-30T12:00:00.000Z", None),
                         (line.cell, line.attempt, line.request, line.started_at, line.slept_s))

    def test_a_system_that_does_not_time_itself_is_timed_from_outside(self) -> None:
        fake = FakeRun(takes_s=2.5)
        fake.run(WORK[:1])
        self.assertEqual(Reply("about a", latency_s=2.5), fake.lines[0].outcome)
        fake = FakeRun(answers=lambda request: Reply("x", latency_s=0.5))
        fake.run(WORK[:1])
        self.assertEqual(0.5, fake.lines[0].outcome.latency_s)

    def test_a_machine_that_slept_during_a_trial_is_told(self) -> None:
        for slept, kept in ((4.0, None), (3600.0, 3600.0), (-3600.0, None)):
            with self.subTest(slept=slept):
                fake = FakeRun()

                def answers(request: Request, fake: FakeRun = fake, slept: float = slept) -> Reply:
                    fake.wall += slept
                    return Reply("x")
                fake.answers = answers
                fake.run(WORK[:1])
                self.assertEqual(kept, fake.lines[0].slept_s)


class WhenItEnds(unittest.TestCase):
    def test_no_trial_starts_after_the_budget_and_one_under_way_is_finished(self) -> None:
        for budget_s, trials in ((0.5, 1), (1.0, 1), (1.5, 2), (2.5, 3), (4.5, 4), (None, 4)):
            with self.subTest(budget_s=budget_s):
                fake = FakeRun()
                stopped = fake.run(budget_s=budget_s)
                self.assertEqual((trials, "done" if trials == 4 else "budget"), (len(fake.lines), stopped.reason))

    def test_the_first_trial_starts_even_when_loading_took_the_whole_budget(self) -> None:
        fake = FakeRun()
        self.assertEqual(Stopped("budget"), fake.run(budget_s=5.0, start=10.0))
        self.assertEqual(1, len(fake.lines))

    def test_an_error_of_a_trial_is_recorded_and_the_run_goes_on(self) -> None:
        error = TrialError("Timeout", "too slow", "half", latency_s=3.0, retries=1, waited_s=0.5)
        fake = FakeRun(answers=raising(error))
        self.assertEqual(Stopped("done"), fake.run())
        outcome = fake.lines[0].outcome
        assert isinstance(outcome, Failure)
        self.assertEqual(("Timeout", "too slow", "half", 3.0, 1, 0.5), (
            outcome.error.type, outcome.error.message, outcome.error.partial, outcome.latency_s, outcome.retries,
            outcome.waited_s))
        self.assertEqual(4, len(fake.lines))

    def test_an_error_that_no_further_trial_can_escape_is_recorded_and_ends_the_run(self) -> None:
        fake = FakeRun(answers=raising(TrialError("Unreachable", "gone", stops="start it again"), "b"))
        self.assertEqual(Stopped("error", "start it again"), fake.run())
        self.assertEqual(["a", "b"], [line.cell.case for line in fake.lines])

    def test_the_third_trial_in_a_row_that_a_server_refuses_to_wait_for_ends_the_run_with_the_words_of_the_first(
            self) -> None:
        refusals = [TrialError("ServerBusy", "no", stops_in_a_row=f"later: {number}") for number in range(4)]
        for outcomes, stopped in (
                (refusals, Stopped("error", "3 trials in a row ended so: later: 0")),
                ([refusals[0], None, refusals[1], refusals[2]], Stopped("done")),
                ([refusals[0], TrialError("Timeout", "slow"), refusals[1], refusals[2]], Stopped("done"))):
            left = iter(outcomes)

            def answers(request: Request, left: Iterator[TrialError | None] = left) -> Reply:
                error = next(left)
                if error is not None:
                    raise error
                return Reply("x")
            fake = FakeRun(answers=answers)
            self.assertEqual(stopped, fake.run())
            self.assertEqual(3 if stopped.sentence else 4, len(fake.lines))

    def test_a_signal_before_a_trial_starts_none(self) -> None:
        fake = FakeRun()
        fake.stop.signal = signal.SIGTERM
        with self.assertRaises(Interrupted):
            fake.run()
        self.assertEqual([], fake.events)

    def test_the_trial_under_way_is_dropped_at_a_signal(self) -> None:
        fake = FakeRun(answers=raising(Interrupted(signal.SIGINT), "b"))
        with self.assertRaises(Interrupted):
            fake.run()
        self.assertEqual(["a"], [line.cell.case for line in fake.lines])

    def test_a_signal_during_a_trial_that_ended_all_the_same_is_obeyed_after_it_is_recorded(self) -> None:
        fake = FakeRun()

        def answers(request: Request) -> Reply:
            fake.stop.signal = signal.SIGINT
            return Reply("x")
        fake.answers = answers
        with self.assertRaises(Interrupted):
            fake.run(WORK[:1])
        self.assertEqual(1, len(fake.lines))

    def test_nothing_is_asked_after_the_log_could_not_be_written(self) -> None:
        class FullDisk(FakeRun):
            def record(self, line: TrialLine) -> None:
                raise EnvironmentFailure("the disk is full")
        fake = FullDisk()
        with self.assertRaises(EnvironmentFailure):
            fake.run()
        self.assertEqual(["prepare toys:robot", "starts a 1", "ask a 1"], fake.events)


if __name__ == "__main__":
    unittest.main()
