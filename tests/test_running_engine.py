"""Running cells, one by one and several at once: what is asked, recorded and shown in which order, and when it ends."""
from __future__ import annotations

import signal
import threading
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, Interrupted, TrialError, Unusable
from benchkit.basics.json_text import request_of
from benchkit.basics.values import JSON, Cell, Failure, Reply, Request
from benchkit.running.engine import Answering, Callbacks, RunLimits, Stopped, run_at_once, run_trials
from benchkit.running.plan import Assignment
from benchkit.systems.system import Loaded
from benchkit.tasks.task import Prompt
from benchkit.trial_log.lines import TrialLine
from tests.commands import HANGS_S

ROBOT, DOLL = "toys:robot", "toys:doll"
SETTINGS: Mapping[str, JSON] = {"model": "toy"}
PROMPTS = {case: Prompt(({"role": "user", "content": case},), None, f"{number:016x}")
           for number, case in enumerate("abc")}
IN_ORDER = None
"""Of `most`: one after the other; a number is that of several at once."""


def work(trials: int = 4, systems: Sequence[str] = (ROBOT,), cases: str = "abc") -> list[Assignment]:
    return [Assignment(Cell(system, case, trial), 1)
            for trial in range(1, trials + 1) for system in systems for case in cases]


def name(cell: Cell | Request) -> str:
    return f"{cell.case}{cell.trial}"


@dataclass
class FakeRun:
    """A system, a log, an observer and a clock that write down what happens; asking takes `takes_s` each time."""

    answers: Callable[[Request], Reply] = lambda request: Reply(name(request))
    events: list[str] = field(default_factory=list)
    lines: list[TrialLine] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    now: float = 100.0
    wall: float = 1796040000.0
    takes_s: float = 0.0
    stop: StopRequest = field(default_factory=StopRequest)
    most: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_disk_full: bool = False

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
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.events.append(f"ask {name(request)}")
            self.requests.append(request)
            self.now += self.takes_s
            self.wall += self.takes_s
        try:
            return self.answers(request)
        finally:
            with self.lock:
                self.under_way -= 1

    # the observer
    def starts(self, assignment: Assignment) -> None:
        self.events.append(f"starts {name(assignment.cell)}")

    def recorded(self, line: TrialLine) -> None:
        self.events.append(f"shown {name(line.cell)}")

    # the log
    def record(self, line: TrialLine) -> None:
        if self.is_disk_full:
            raise EnvironmentFailure("the disk is full")
        self.events.append(f"log {name(line.cell)}")
        self.lines.append(line)
        if self.groups:
            self.groups[-1].append(name(line.cell))

    @contextmanager
    def together(self) -> Iterator[None]:
        self.groups.append([])
        yield
        self.events += [f"synced {cell}" for cell in self.groups[-1]]

    def prepare(self, system: str) -> None:
        self.events.append(f"prepare {system} with {self.under_way}")

    def run(
        self, most: int | None = IN_ORDER, assignments: Iterable[Assignment] | None = None,
        budget_s: float | None = None, start: float = 100.0,
    ) -> Stopped:
        cells = work() if assignments is None else assignments
        answering = {one: Answering(self, SETTINGS, PROMPTS) for one in (ROBOT, DOLL)}
        callbacks = Callbacks(self.prepare, self.record, self, self.together)
        limits = RunLimits(Budget(start, budget_s), 120.0, self.stop, Clock(lambda: self.now, lambda: self.wall))
        if most is IN_ORDER:
            return run_trials(cells, answering, callbacks, limits)
        return run_at_once(cells, answering, callbacks, limits, most, self.events.append)

    def started(self) -> list[str]:
        return [event.split()[1] for event in self.events if event.startswith("starts")]

    def recorded_cells(self) -> list[str]:
        return [name(line.cell) for line in self.lines]


class Gate:
    """Answers that wait until so many are under way, so that a test knows that they were at once.

    With `first` those of later trials do not wait.
    """

    def __init__(self, count: int, first: bool = False) -> None:
        self.barrier = threading.Barrier(count, timeout=HANGS_S)
        self.first = first

    def __call__(self, request: Request) -> Reply:
        if not (self.first and request.trial > 1):
            self.barrier.wait()
        return Reply(name(request))


def raising(error: BaseException, case: str = "a", gate: Gate | None = None) -> Callable[[Request], Reply]:
    """Answers that raise at one case."""
    def answers(request: Request) -> Reply:
        if gate is not None:
            gate(request)
        if request.case == case:
            raise error
        return Reply("well")
    return answers


class ATrial(unittest.TestCase):
    def test_it_is_in_the_log_before_it_is_shown_and_before_the_next_is_asked(self) -> None:
        fake = FakeRun()
        self.assertEqual(Stopped("done"), fake.run(assignments=work(1, cases="ab")))
        self.assertEqual([f"{what} {cell}{more}" for cell in ("a1", "b1") for what, cell, more in (
            ("prepare", ROBOT, " with 0"), ("starts", cell, ""), ("ask", cell, ""), ("log", cell, ""),
            ("shown", cell, ""))], fake.events)

    def test_a_request_brings_seed_attempt_messages_and_a_deadline(self) -> None:
        fake = FakeRun()
        fake.run(assignments=[Assignment(Cell(ROBOT, "b", 3), 2)])
        self.assertEqual([Request("b", 3, 2, 1003, PROMPTS["b"].messages, None, 220.0)], fake.requests)

    def test_a_line_binds_the_answer_to_its_cell(self) -> None:
        fake = FakeRun()
        fake.run(assignments=work(1))
        line = fake.lines[0]
        self.assertEqual((Cell(ROBOT, "a", 1), 1, request_of(PROMPTS["a"].ask, SETTINGS, 1001),
                          "2026-11-30T12:00:00.000Z", None),
                         (line.cell, line.attempt, line.request, line.started_at, line.slept_s))
        fake = FakeRun(Gate(3))
        fake.run(3)
        self.assertEqual(12, len(fake.lines))
        for line in fake.lines:
            self.assertEqual(name(line.cell), line.outcome.output if isinstance(line.outcome, Reply) else "")

    def test_a_system_that_does_not_time_itself_is_timed_from_outside(self) -> None:
        for latency_s, kept in ((None, 2.5), (0.5, 0.5)):
            fake = FakeRun(lambda request, latency_s=latency_s: Reply("x", latency_s=latency_s),  # type: ignore[misc]
                           takes_s=2.5)
            fake.run(assignments=work(1))
            self.assertEqual(Reply("x", latency_s=kept), fake.lines[0].outcome)

    def test_a_machine_that_slept_during_a_trial_is_told(self) -> None:
        for slept, kept in ((4.0, None), (3600.0, 3600.0), (-3600.0, None)):
            with self.subTest(slept=slept):
                fake = FakeRun()

                def answers(request: Request, fake: FakeRun = fake, slept: float = slept) -> Reply:
                    fake.wall += slept
                    return Reply("x")
                fake.answers = answers
                fake.run(assignments=work(1, cases="a"))
                self.assertEqual(kept, fake.lines[0].slept_s)


class SeveralAtOnce(unittest.TestCase):
    def test_every_cell_is_asked_and_recorded_once_and_synced_before_it_is_shown(self) -> None:
        for most in (1, 2, 5, 12, 50):
            with self.subTest(most=most):
                fake = FakeRun()
                self.assertEqual(Stopped("done"), fake.run(most))
                self.assertEqual(sorted(name(one.cell) for one in work()), sorted(fake.recorded_cells()))
                self.assertEqual(12, sum(map(len, fake.groups)))
                self.assertLessEqual(fake.most, most)
                for cell in fake.recorded_cells():
                    self.assertLess(fake.events.index(f"synced {cell}"), fake.events.index(f"shown {cell}"))

    def test_as_many_as_wished_are_under_way(self) -> None:
        for most in (2, 3, 6, 12):
            with self.subTest(most=most):
                fake = FakeRun(Gate(most))
                self.assertEqual(Stopped("done"), fake.run(most))
                self.assertEqual(most, fake.most)

    def test_they_start_in_order_and_end_in_any(self) -> None:
        second_ended = threading.Event()

        def answers(request: Request) -> Reply:
            if name(request) == "a1":
                self.assertTrue(second_ended.wait(HANGS_S))
            second_ended.set()
            return Reply("x")
        fake = FakeRun(answers)
        fake.run(2)
        self.assertEqual([name(one.cell) for one in work()], fake.started())
        self.assertNotEqual("a1", fake.recorded_cells()[0])

    def test_nothing_is_started_far_ahead_of_what_is_recorded(self) -> None:
        fake = FakeRun()
        fake.run(3)
        for at in range(len(fake.events)):
            seen = [event.split()[0] for event in fake.events[:at]]
            self.assertLessEqual(seen.count("starts") - seen.count("synced"), 2 * 3)

    def test_no_work_is_done_at_once(self) -> None:
        fake = FakeRun()
        self.assertEqual((Stopped("done"), []), (fake.run(4, []), fake.lines))

    def test_one_system_is_prepared_when_nothing_of_another_is_under_way_or_unrecorded(self) -> None:
        fake = FakeRun()
        fake.run(4, work(2, (ROBOT, DOLL)))
        kinds = [event.split()[0] for event in fake.events]
        changes = [at for at, kind in enumerate(kinds) if kind == "prepare" and kinds[:at].count("starts") % 3 == 0]
        self.assertEqual([f"prepare {ROBOT} with 0", f"prepare {DOLL} with 0"] * 2,
                         [fake.events[at] for at in changes])
        for at in changes:
            self.assertEqual(kinds[:at].count("starts"), kinds[:at].count("shown"))

    def test_cells_that_cannot_be_named_any_more_end_it_as_an_error_of_the_run(self) -> None:
        error = Unusable("the log was changed while it was read")

        def cells() -> Iterator[Assignment]:
            yield from work()[:4]
            raise error
        fake = FakeRun()
        with self.assertRaises(Unusable) as caught:
            fake.run(2, cells())
        self.assertIs(error, caught.exception)
        self.assertEqual(sorted(fake.recorded_cells()), sorted(name(one.cell) for one in work()[:3]))

    def test_its_threads_end_with_it(self) -> None:
        before = set(threading.enumerate())
        FakeRun(Gate(6)).run(6)
        for thread in set(threading.enumerate()) - before:
            thread.join(HANGS_S)
            self.assertFalse(thread.is_alive())


class WhenItEnds(unittest.TestCase):
    def test_no_trial_starts_after_the_budget_and_those_under_way_are_finished(self) -> None:
        for budget_s, trials in ((0.5, 1), (1.0, 1), (1.5, 2), (2.5, 3), (4.5, 4), (None, 4)):
            with self.subTest(budget_s=budget_s):
                fake = FakeRun(takes_s=1.0)
                stopped = fake.run(assignments=work(2, cases="ab"), budget_s=budget_s)
                self.assertEqual((trials, "done" if trials == 4 else "budget"), (len(fake.lines), stopped.reason))
        fake = FakeRun(Gate(3), takes_s=2.0)
        self.assertEqual(Stopped("budget"), fake.run(3, budget_s=5.0))
        self.assertEqual((["a1", "b1", "c1"], ["a1", "b1", "c1"]), (fake.started(), sorted(fake.recorded_cells())))

    def test_the_first_trial_starts_even_when_loading_took_the_whole_budget(self) -> None:
        for most in (IN_ORDER, 8):
            fake = FakeRun()
            self.assertEqual(Stopped("budget"), fake.run(most, budget_s=5.0, start=10.0))
            self.assertEqual(["a1"], fake.recorded_cells())

    def test_an_error_of_a_trial_is_recorded_and_the_run_goes_on(self) -> None:
        for most in (IN_ORDER, 3):
            error = TrialError("Timeout", "too slow", "half", latency_s=3.0, retries=1, waited_s=0.5)
            fake = FakeRun(raising(error, "b"))
            self.assertEqual(Stopped("done"), fake.run(most))
            failures = [line.outcome for line in fake.lines if isinstance(line.outcome, Failure)]
            self.assertEqual([("Timeout", "too slow", "half", 3.0, 1, 0.5)] * 4, [
                (one.error.type, one.error.message, one.error.partial, one.latency_s, one.retries, one.waited_s)
                for one in failures])
            self.assertEqual(12, len(fake.lines))

    def test_an_error_that_no_further_trial_can_escape_is_recorded_and_ends_the_run(self) -> None:
        error = TrialError("Unreachable", "gone", stops="start it again")
        fake = FakeRun(raising(error, "b"))
        self.assertEqual(Stopped("error", "start it again"), fake.run())
        self.assertEqual(["a1", "b1"], fake.recorded_cells())
        # with several, once all under way have ended
        fake = FakeRun(raising(error, "b", Gate(3, first=True)))
        self.assertEqual(Stopped("error", "start it again"), fake.run(3))
        self.assertEqual(sorted(fake.started()), sorted(fake.recorded_cells()))
        self.assertIn("a1", fake.recorded_cells())
        self.assertLess(len(fake.lines), 12)

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
            fake = FakeRun(answers)
            self.assertEqual(stopped, fake.run(assignments=work(2, cases="ab")))
            self.assertEqual(3 if stopped.sentence else 4, len(fake.lines))

    def test_a_signal_before_a_trial_starts_none(self) -> None:
        for most in (IN_ORDER, 4):
            fake = FakeRun()
            fake.stop.signal = signal.SIGINT
            with self.assertRaises(Interrupted):
                fake.run(most)
            self.assertEqual([], fake.events)

    def test_a_signal_drops_what_is_under_way_and_keeps_what_has_ended(self) -> None:
        for most in (IN_ORDER, 2):
            fake, both = FakeRun(), Gate(2)

            def answers(request: Request, most: int | None = most, fake: FakeRun = fake, both: Gate = both) -> Reply:
                if most:
                    both(request)
                if request.trial == 2:
                    fake.stop.signal = signal.SIGTERM
                    raise Interrupted(signal.SIGTERM)
                return Reply("x")
            fake.answers = answers
            with self.assertRaises(Interrupted) as caught:
                fake.run(most, work(2, cases="ab"))
            self.assertEqual((143, ["a1", "b1"]), (caught.exception.exit_code, sorted(fake.recorded_cells())))

    def test_a_signal_during_a_trial_that_ended_all_the_same_is_obeyed_after_it_is_recorded(self) -> None:
        fake = FakeRun()

        def answers(request: Request) -> Reply:
            fake.stop.signal = signal.SIGINT
            return Reply("x")
        fake.answers = answers
        with self.assertRaises(Interrupted):
            fake.run()
        self.assertEqual(1, len(fake.lines))

    def test_nothing_is_asked_after_the_log_could_not_be_written(self) -> None:
        for most, started in ((IN_ORDER, 1), (2, 4)):
            fake = FakeRun(is_disk_full=True)
            with self.assertRaises(EnvironmentFailure):
                fake.run(most)
            self.assertLessEqual(len(fake.started()), started)
            self.assertFalse([event for event in fake.events if event.startswith("shown")])

    def test_an_error_of_the_run_is_raised_where_it_is_waited_for_after_the_others_are_recorded(self) -> None:
        for error in (Unusable("the system gave no reply"), ZeroDivisionError("a defect")):
            fake = FakeRun(raising(error, "b", Gate(3, first=True)))
            with self.assertRaises(type(error)) as caught:
                fake.run(3)
            self.assertIs(error, caught.exception)
            self.assertLessEqual({"a1", "c1"}, set(fake.recorded_cells()))
            self.assertFalse([cell for cell in fake.recorded_cells() if cell.startswith("b")])
