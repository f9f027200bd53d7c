"""Several cells at once: what starts when, what is recorded together, and that it ends as one at a time would."""
from __future__ import annotations

import signal
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, Interrupted, KitError, TrialError, Unusable
from benchkit.basics.values import Cell, Failure, Reply, Request
from benchkit.running.at_once import run_at_once
from benchkit.running.engine import Answering, Callbacks, RunLimits, Stopped
from benchkit.running.plan import Assignment
from benchkit.systems.system import Loaded, System
from benchkit.trial_log.lines import TrialLine
from tests.commands import HANGS_S
from tests.test_running_engine import PROMPTS, SETTINGS

ROBOT, DOLL = "toys:robot", "toys:doll"
LONG_S = HANGS_S


def work(trials: int = 4, systems: Sequence[str] = (ROBOT,)) -> list[Assignment]:
    return [Assignment(Cell(system, case, trial), 1)
            for trial in range(1, trials + 1) for system in systems for case in "abc"]


def name(cell: Cell | Request) -> str:
    return f"{cell.case}{cell.trial}"


@dataclass
class FakeRun:
    """A system whose trials end when the test says so, a log, an observer and a clock. `asked` are those under way."""

    answers: Callable[[Request], Reply] = lambda request: Reply(name(request))
    events: list[str] = field(default_factory=list)
    lines: list[TrialLine] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)
    now: float = 100.0
    most: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    # the system
    def open(self) -> Mapping[str, object]:
        return {}

    def warm(self) -> Loaded:
        return Loaded(0.0)

    def close(self) -> None:
        """Nothing."""

    def answer(self, request: Request) -> Reply:
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
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
        self.groups[-1].append(name(line.cell))
        self.lines.append(line)

    @contextmanager
    def together(self) -> Iterator[None]:
        self.groups.append([])
        yield
        self.events += [f"synced {cell}" for cell in self.groups[-1]]

    def prepare(self, system: str) -> None:
        self.events.append(f"prepare {system} with {self.under_way}")

    def run(
        self, most: int, assignments: Sequence[Assignment] | None = None,
        budget_s: float | None = None,
    ) -> Stopped:
        system: System = self  # type: ignore[assignment]
        answering = {one: Answering(system, SETTINGS, PROMPTS) for one in (ROBOT, DOLL)}
        return run_at_once(
            work() if assignments is None else assignments, answering,
            Callbacks(self.prepare, self.record, self, self.together),
            RunLimits(Budget(100.0, budget_s), 120.0, self.stop, Clock(lambda: self.now, lambda: 1796040000.0)),
            most, self.said.append)

    def started(self) -> list[str]:
        return [event.split()[1] for event in self.events if event.startswith("starts")]

    def recorded_cells(self) -> list[str]:
        return [name(line.cell) for line in self.lines]


class Gate:
    """Answers that wait until so many are under way, so that a test knows that they were at once.

    With `first` those of later trials do not wait.
    """

    def __init__(self, count: int, first: bool = False) -> None:
        self.barrier = threading.Barrier(count, timeout=LONG_S)
        self.first = first

    def __call__(self, request: Request) -> Reply:
        if not (self.first and request.trial > 1):
            self.barrier.wait()
        return Reply(name(request))


class HowManyAtOnce(unittest.TestCase):
    def test_every_cell_is_asked_and_recorded_once(self) -> None:
        for most in (1, 2, 5, 12, 50):
            with self.subTest(most=most):
                fake = FakeRun()
                self.assertEqual(Stopped("done"), fake.run(most))
                self.assertEqual(sorted(name(one.cell) for one in work()), sorted(fake.recorded_cells()))
                self.assertLessEqual(fake.most, most)

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
                self.assertTrue(second_ended.wait(LONG_S))
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


class TheLog(unittest.TestCase):
    def test_what_ended_together_is_synced_together_and_shown_only_then(self) -> None:
        fake = FakeRun(Gate(4))
        fake.run(4)
        for cell in fake.recorded_cells():
            self.assertLess(fake.events.index(f"synced {cell}"), fake.events.index(f"shown {cell}"))
        self.assertEqual(12, sum(map(len, fake.groups)))

    def test_a_line_is_that_of_its_own_cell(self) -> None:
        fake = FakeRun(Gate(3))
        fake.run(3)
        for line in fake.lines:
            assert isinstance(line.outcome, Reply)
            self.assertEqual(name(line.cell), line.outcome.output)

    def test_one_system_is_prepared_when_nothing_of_another_is_under_way_or_unrecorded(self) -> None:
        fake = FakeRun()
        fake.run(4, work(2, (ROBOT, DOLL)))
        kinds = [event.split()[0] for event in fake.events]
        changes = [at for at, kind in enumerate(kinds) if kind == "prepare" and kinds[:at].count("starts") % 3 == 0]
        self.assertEqual([f"prepare {ROBOT} with 0", f"prepare {DOLL} with 0"] * 2,
                         [fake.events[at] for at in changes])
        for at in changes:
            self.assertEqual(kinds[:at].count("starts"), kinds[:at].count("shown"))

    def test_a_log_that_cannot_be_written_ends_it_at_once(self) -> None:
        class FullDisk(FakeRun):
            def record(self, line: TrialLine) -> None:
                raise EnvironmentFailure("the disk is full")
        fake = FullDisk()
        with self.assertRaises(EnvironmentFailure):
            fake.run(2)
        self.assertLessEqual(len(fake.started()), 4)


class WhenItEnds(unittest.TestCase):
    def test_no_trial_starts_after_the_budget_and_those_under_way_are_finished(self) -> None:
        fake = FakeRun()
        gate = Gate(3)

        def answers(request: Request) -> Reply:
            reply = gate(request)
            fake.now = 106.0
            return reply
        fake.answers = answers
        self.assertEqual(Stopped("budget"), fake.run(3, budget_s=5.0))
        self.assertEqual((["a1", "b1", "c1"], ["a1", "b1", "c1"]), (fake.started(), sorted(fake.recorded_cells())))

    def test_the_first_trial_starts_even_when_the_budget_is_over(self) -> None:
        fake = FakeRun(now=1000.0)
        self.assertEqual(Stopped("budget"), fake.run(8, budget_s=5.0))
        self.assertEqual(["a1"], fake.recorded_cells())

    def test_an_error_of_a_trial_is_recorded_and_the_run_goes_on(self) -> None:
        def answers(request: Request) -> Reply:
            if request.case == "b":
                raise TrialError("Timeout", "too slow", "half", retries=2, waited_s=1.5)
            return Reply("x")
        fake = FakeRun(answers)
        self.assertEqual(Stopped("done"), fake.run(3))
        failures = [line.outcome for line in fake.lines if isinstance(line.outcome, Failure)]
        self.assertEqual([("Timeout", 2, 1.5)] * 4, [(one.error.type, one.retries, one.waited_s) for one in failures])

    def test_an_error_that_no_further_trial_can_escape_ends_the_run_once_all_under_way_have_ended(self) -> None:
        gate = Gate(3, first=True)

        def answers(request: Request) -> Reply:
            gate(request)
            if request.case != "c":
                raise TrialError("Unreachable", "gone", stops=f"start it again, says {request.case}")
            return Reply("x")
        fake = FakeRun(answers)
        stopped = fake.run(3)
        self.assertEqual(("error", sorted(fake.started())), (stopped.reason, sorted(fake.recorded_cells())))
        self.assertIn("a1", fake.recorded_cells())
        self.assertLess(len(fake.lines), 12)
        self.assertIn("start it again", stopped.sentence or "")

    def test_a_signal_drops_what_is_under_way_and_keeps_what_has_ended(self) -> None:
        fake = FakeRun()
        both = Gate(2)

        def answers(request: Request) -> Reply:
            both(request)
            if request.trial == 2:
                fake.stop.signal = signal.SIGTERM
                raise Interrupted(signal.SIGTERM)
            return Reply("x")
        fake.answers = answers
        with self.assertRaises(Interrupted) as caught:
            fake.run(2, [one for one in work(2) if one.cell.case != "c"])
        self.assertEqual((143, ["a1", "b1"]), (caught.exception.exit_code, sorted(fake.recorded_cells())))

    def test_a_signal_before_anything_started_starts_nothing(self) -> None:
        fake = FakeRun()
        fake.stop.signal = signal.SIGINT
        with self.assertRaises(Interrupted):
            fake.run(4)
        self.assertEqual([], fake.started())

    def test_an_error_of_the_run_is_raised_where_it_is_waited_for_after_the_others_are_recorded(self) -> None:
        for error in (Unusable("the system gave no reply"), ZeroDivisionError("a defect")):
            gate = Gate(3, first=True)

            def answers(request: Request, gate: Gate = gate, error: Exception = error) -> Reply:
                gate(request)
                if request.case == "b":
                    raise error
                return Reply("x")
            fake = FakeRun(answers)
            with self.assertRaises((KitError, ZeroDivisionError)) as caught:
                fake.run(3)
            self.assertIs(error, caught.exception)
            self.assertLessEqual({"a1", "c1"}, set(fake.recorded_cells()))
            self.assertFalse([cell for cell in fake.recorded_cells() if cell.startswith("b")])

    def test_cells_that_cannot_be_named_any_more_end_it_as_an_error_of_the_run(self) -> None:
        error = Unusable("the log was changed while it was read")

        def cells() -> Iterator[Assignment]:
            yield from work()[:4]
            raise error
        fake = FakeRun()
        with self.assertRaises(Unusable) as caught:
            fake.run(2, cells())  # type: ignore[arg-type]  # any iterable will do
        self.assertIs(error, caught.exception)
        self.assertEqual(sorted(fake.recorded_cells()), sorted(name(one.cell) for one in work()[:3]))

    def test_its_threads_end_with_it(self) -> None:
        before = set(threading.enumerate())
        FakeRun(Gate(6)).run(6)
        for thread in set(threading.enumerate()) - before:
            thread.join(LONG_S)
            self.assertFalse(thread.is_alive())


if __name__ == "__main__":
    unittest.main()
