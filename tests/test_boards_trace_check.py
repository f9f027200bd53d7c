"""Each invariant of a trace broken on purpose and found by name, and what is no violation: kills, signals, retries."""
from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchkit.basics.clock import Clock
from benchkit.basics.errors import Interrupted, Unusable
from benchkit.basics.json_text import close_line
from benchkit.basics.values import Cell, ErrorFacts, Failure, Reply
from benchkit.boards import trace_invariants as named
from benchkit.boards.game import GameRules
from benchkit.boards.trace_check import MOST_NAMED, verify
from benchkit.boards.trace_events import event_of, opening_of, sent_in
from benchkit.running.plan import Selection
from benchkit.trial_log.lines import TrialLine
from tests.toy_game import ANSWER, CASES, LOOK, ROBOT, Batch, Robot, ToyTurn, timed_out, toy_pack, turn

ROOT = Path(__file__).resolve().parent.parent
Events = list[dict[str, Any]]
Change = Callable[[Events], None]


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.batch = self.another()

    def another(self, *given: Any, **more: Any) -> Batch:
        """A batch in a folder of its own."""
        return Batch(Path(self.enterContext(tempfile.TemporaryDirectory())), *given, **more)

    def put(self, events: Events) -> None:
        """Write these events, each closed anew: lines that nobody can tell from true ones by themselves."""
        self.batch.trace_path.write_bytes(b"".join(map(close_line, events)))

    def events(self) -> Events:
        found = [json.loads(line) for line in self.batch.trace_path.read_bytes().splitlines()]
        for event in found:
            del event["sum"]
        return found

    def found(self) -> set[str]:
        return {violation.invariant for violation in self.batch.verified().violations}

    def cut_log(self, end: int | Callable[[list[bytes]], int]) -> None:
        """Keep the lines of the log up to one."""
        log = self.batch.log_path.read_bytes().splitlines(keepends=True)
        self.batch.log_path.write_bytes(b"".join(log[: end if isinstance(end, int) else end(log)]))

    def assert_found(self, segments: int, abandoned: int = 0, *violations: str) -> None:
        """What came of a look: segments with a line, those abandoned, and of each violation a part of its text."""
        found = self.batch.verified()
        self.assertEqual((segments, abandoned, len(violations)), (found.segments, found.abandoned, found.count),
                         found.violations)
        for part, violation in zip(violations, found.violations, strict=True):
            self.assertIn(part, str(violation))
        self.assertEqual("trace self-consistent" if not violations else
                         f"trace invariant violations: {len(violations)}", found.headline)


def of(events: Events, kind: str, number: int = 0) -> dict[str, Any]:
    """The event of that type, the first or a later one."""
    return [event for event in events if event["type"] == kind][number]


def count_anew(events: Events) -> None:
    """Give every segment a `seq` without gaps."""
    seq = 0
    for event in events:
        seq = 0 if event["type"] == "trial/start" else seq + 1
        event["seq"] = seq


def set_data(kind: str, name: str, value: Any, number: int = 0) -> Change:
    return lambda events: of(events, kind, number)["data"].__setitem__(name, value)


def change(kind: str, **fields: Any) -> Change:
    return lambda events: of(events, kind).update(fields)


def drop(*kinds: str, number: int = 0, counts_anew: bool = True) -> Change:
    def dropped(events: Events) -> None:
        for kind in kinds:
            events.remove(of(events, kind, number))
        if counts_anew:
            count_anew(events)
    return dropped


def repeat(kind: str, before: str, **fields: Any) -> Change:
    def repeated(events: Events) -> None:
        events.insert(events.index(of(events, before)), {**of(events, kind), **fields})
        count_anew(events)
    return repeated


def with_first(rebuilt: Callable[[Events, Events], Events]) -> Change:
    """The trace made of its first segment and the rest."""
    def remade(events: Events) -> None:
        end = events.index(of(events, "trial/start", 1))
        events[:] = rebuilt(events[:end], events[end:])
    return remade


def swap_two_words(events: Events) -> None:
    one, other = of(events, "context/system")["data"], of(events, "context/user")["data"]
    one["text"], other["text"] = other["text"], one["text"]


def say_more_and_sign_it(events: Events) -> None:
    """Another word in the prompt, and every request signed anew: only the trial line tells."""
    of(events, "context/user")["data"]["text"] = "Which is it? It is red."
    first = [event_of(event) for event in events[: events.index(of(events, "trial/start", 1))]]
    opening = opening_of(first)
    assert opening is not None
    for number, (_, messages) in enumerate(sent_in(first)):
        request = opening.request(messages, Robot().settings(), 1001)
        of(events, "assistant/message", number)["data"]["request"] = request


BLUE = [{"id": "o1", "minute": 0, "text": "blue, I think"}]
BREAKS: dict[str, tuple[str, Change]] = {
    # what is done to the first trial (a look, then the answer): the invariant that must be named
    "a lost event": (named.SEQ, drop("context/user", counts_anew=False)),
    "a lost result": (named.SEQ, drop("tool/result", counts_anew=False)),
    "a seq counted wrongly": (named.SEQ, change("tool/call", seq=9)),
    "a first event lost": (named.ORDER, drop("trial/start", counts_anew=False)),
    "a message at another step": (named.ORDER, change("assistant/message", step=3)),
    "two ends": (named.ORDER, repeat("trial/end", before="trial/end")),
    "a segment twice, side by side": (named.ORDER, with_first(lambda first, rest: [*first, *first, *rest])),
    "another geometry": (named.ORDER, change("trial/end", geometry="single")),
    "a segment lost": (named.SEGMENTS, with_first(lambda first, rest: rest)),
    "a segment twice": (named.SEGMENTS, with_first(lambda first, rest: [*first, *rest, *first])),
    "a segment of another session": (named.SEGMENTS, with_first(
        lambda first, rest: [*({**event, "session": "f" * 16} for event in first), *rest])),
    "an end lost": (named.SEGMENTS, drop("trial/end", counts_anew=False)),
    "a result of no call": (named.CALLS, set_data("tool/result", "call_id", "7.1")),
    "a result twice": (named.CALLS, repeat("tool/result", before="tool/result")),
    "a call lost": (named.CALLS, drop("tool/call")),
    "a call without result": (named.CALLS, drop("tool/result")),
    "a call lost with its result": (named.CALLS, drop("tool/call", "tool/result")),
    "a call that was not said": (named.CALLS, set_data("tool/call", "arguments", "{}")),
    "a word changed in what was shown": (named.REQUESTS, set_data("context/user", "text", "Which is it!")),
    "a word left out of what was shown": (named.REQUESTS, drop("context/user", number=1)),
    "words in another order": (named.REQUESTS, swap_two_words),
    "a word shown that was sent nowhere": (named.REQUESTS, repeat("context/user", before="trial/end", step=3)),
    "a message changed that entered the context": (named.REQUESTS, set_data("assistant/message", "text", "look!")),
    "another request": (named.REQUESTS, set_data("assistant/message", "request", "0" * 16)),
    "another payload": (named.REQUESTS, set_data("trial/start", "payload", {"observations": []})),
    "another schema": (named.REQUESTS, set_data("trial/start", "schema", None)),
    "another menu": (named.REQUESTS, set_data("trial/start", "tools", [])),
    "another seed": (named.REQUESTS, set_data("trial/start", "seed", 1)),
    "a prompt signed anew": (named.REQUESTS, say_more_and_sign_it),
    "a price changed": (named.COSTS, set_data("tool/result", "cost", 2.0)),
    "an observation changed that was bought": (named.PLAYED, set_data("tool/result", "observation", BLUE)),
    "an observation left out of what was bought": (named.PLAYED, set_data("tool/result", "observation", [])),
    "a purchase called grounded otherwise": (named.PLAYED, set_data("tool/result", "grounded", False)),
    "another tool bought": (named.PLAYED, set_data("tool/result", "tool", "long look")),
    "a refusal made up": (named.PLAYED, set_data("tool/result", "error", "sold out")),
    "a time before the one before": (named.TIMES, change("tool/call", ts="2020-01-01T00:00:00.000Z")),
    "another bill": (named.COSTS, set_data("trial/end", "cost", 0.0)),
    "tokens changed": (named.COSTS, set_data("assistant/message", "usage", {"prompt_tokens": 1})),
    "latency changed": (named.COSTS, set_data("assistant/message", "latency_s", 9.0)),
    "retries changed": (named.COSTS, set_data("assistant/message", "retries", 0)),
    "a longer wait": (named.COSTS, set_data("assistant/message", "waited_s", 5.0, 1)),
    "another last message": (named.ANSWER, set_data("assistant/message", "text", "it is blue", 1)),
    "messages counted wrongly": (named.ANSWER, set_data("trial/end", "messages", 3)),
    "another ending": (named.ANSWER, set_data("trial/end", "ended", "error")),
}
BREAKS_OF_AN_ERROR: dict[str, tuple[str, Change]] = {
    # what is done to a first trial that ends in an error
    "another error": (named.ANSWER, set_data("trial/error", "type", "BrokenReply")),
    "no error": (named.ANSWER, drop("trial/error")),
    "a partial text cut": (named.ANSWER, set_data("assistant/attempt", "text", "it")),
    "a partial text lost": (named.ANSWER, set_data("assistant/attempt", "text", None)),
    "the attempt lost": (named.ANSWER, drop("assistant/attempt")),
    "another wait": (named.COSTS, set_data("assistant/attempt", "waited_s", 3.0)),
    "another request": (named.REQUESTS, set_data("assistant/attempt", "request", "0" * 16)),
}


class BrokenOnPurpose(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.batch.run({ROBOT: Robot()})
        self.assert_found(2)

    def test_every_invariant_is_found_by_name(self) -> None:
        self.assertEqual({invariant for invariant, _ in BREAKS.values()} | {named.LINES}, set(named.INVARIANTS))
        of_an_error = self.another()
        of_an_error.run({ROBOT: Robot([LOOK, timed_out(), LOOK, ANSWER])})
        for batch, breaks in ((self.batch, BREAKS), (of_an_error, BREAKS_OF_AN_ERROR)):
            self.batch = batch
            self.assert_found(2)
            whole = self.events()
            for what, (invariant, change) in breaks.items():
                with self.subTest(what):
                    events = copy.deepcopy(whole)
                    change(events)
                    self.put(events)
                    found = self.batch.verified()
                    self.assertIn(invariant, {one.invariant for one in found.violations})
                    self.assertEqual(f"trace invariant violations: {found.count}", found.headline)
                    place = f"case toy-1 by {ROBOT}, attempt 1 in session "
                    self.assertTrue(all(place in str(one) for one in found.violations), found.violations)

    def test_an_altered_line_is_named_with_its_place(self) -> None:
        whole = self.batch.trace_path.read_bytes()
        self.batch.trace_path.write_bytes(whole.replace(b"Which is it?", b"Which IS it?", 1))
        found = self.batch.verified()
        self.assertEqual(named.LINES, found.violations[0].invariant)
        self.assertRegex(str(found.violations[0]), r"line 3 \(byte \d+\): \d+ bytes are no whole line")
        # at the very end it is found although a torn tail is none
        self.batch.trace_path.write_bytes(whole.replace(b'"ended":"answer"', b'"ended":"ANSWER"'))
        self.assertIn(named.SEGMENTS, self.found())

    def test_a_trace_that_is_gone_is_refused(self) -> None:
        self.batch.trace_path.unlink()
        with self.assertRaisesRegex(Unusable, "there is no such file"):
            self.batch.verified()

    def test_more_than_a_person_reads_is_counted(self) -> None:
        self.batch.run({ROBOT: Robot([LOOK, ANSWER] * 300)}, trials=101)
        self.batch.trace_path.write_bytes(b"")
        found = self.batch.verified()
        self.assertEqual((202, MOST_NAMED), (found.count, len(found.violations)))

    def test_another_answer_in_the_log_is_found(self) -> None:
        lines = [json.loads(line) for line in self.batch.log_path.read_bytes().splitlines()]
        next(line for line in lines if line["kind"] == "trial")["output"] = "it is blue"
        for line in lines:
            del line["sum"]
        self.batch.log_path.write_bytes(b"".join(map(close_line, lines)))
        self.assertEqual({named.ANSWER}, self.found())

    def test_in_single_another_payload_is_found_though_no_request_covers_it(self) -> None:
        self.batch = self.another(GameRules("single"))
        self.batch.run({ROBOT: Robot([ANSWER, ANSWER])})
        events = self.events()
        set_data("trial/start", "payload", {"now": "12:00", "observations": []})(events)
        self.put(events)
        self.assertEqual({named.PLAYED}, self.found())

    def test_a_purchase_that_the_question_did_not_give_is_found_in_every_field(self) -> None:
        self.batch.pack = toy_pack(turn=lambda case, said, steps, left: replace(
            turn(case, said, steps, left), tool="a glimpse", grounded=False))
        self.assert_found(2, 0, *["grounded, tool of result 1.1 are not what turn gives"] * 2)

    def test_spending_over_the_budget_is_found(self) -> None:
        self.batch = self.another(pack=toy_pack(turn=lambda case, said, steps, left: ToyTurn(
            "answer") if said == ANSWER else ToyTurn("bought", "look", (), 9.0, True)))
        self.batch.run({ROBOT: Robot()})
        self.assertEqual({named.COSTS}, self.found())


class NoViolations(InAFolder):
    def test_single_and_gated_with_all_that_can_happen_in_a_trial(self) -> None:
        scripts: dict[str, Sequence[str | Reply | Exception]] = {
            "answers": [LOOK, ANSWER, ANSWER], "last messages": [LOOK] * 8,
            "words": ["", "what?", "\U0001f600", ANSWER] * 2,
            "errors": [timed_out(), LOOK, timed_out(None)], "unknown": [Reply(LOOK), Reply(ANSWER), Reply(ANSWER)],
        }
        for geometry in ("single", "gated"):
            for what, script in scripts.items():
                with self.subTest(f"{geometry}: {what}"):
                    self.batch = self.another(GameRules(geometry))
                    self.batch.run({ROBOT: Robot(list(script))})
                    self.assert_found(2)

    def test_a_retried_trial_is_another_segment_of_a_later_session(self) -> None:
        self.batch.run({ROBOT: Robot([LOOK, timed_out(), ANSWER])})
        self.batch.run({ROBOT: Robot()}, selection=Selection(retry_errors=True))
        told = [(one.cell.case, one.attempt, isinstance(one.outcome, Failure)) for one in self.batch.trials()]
        self.assertEqual(told, [("toy-1", 1, True), ("toy-2", 1, False), ("toy-1", 2, False)])
        self.assertEqual([one.key.attempt for one in self.batch.segments()], [1, 1, 2])
        self.assert_found(3)

    def test_a_clock_that_is_put_back_makes_no_time_run_backwards(self) -> None:
        wall = iter([1.8e9] * 5 + [1.7e9] * 1000)
        self.batch.clock = Clock(monotonic=self.batch.clock.monotonic, wall=lambda: next(wall))
        self.batch.run({ROBOT: Robot()})
        self.assert_found(2)

    def test_a_signal_in_a_step_leaves_an_abandoned_segment(self) -> None:
        with self.assertRaises(Interrupted):
            self.batch.run({ROBOT: Robot([LOOK, ANSWER, LOOK, Interrupted(signal.SIGINT)])})
        self.assert_found(1, 1)
        self.batch.run({ROBOT: Robot()})
        self.assert_found(2, 1)

    def test_a_line_lost_from_an_abandoned_segment_is_found_all_the_same(self) -> None:
        with self.assertRaises(Interrupted):
            self.batch.run({ROBOT: Robot([LOOK, Interrupted(signal.SIGINT)])})
        events = self.events()
        drop("context/system", counts_anew=False)(events)
        self.put(events)
        self.assertEqual({named.SEQ}, self.found())

    def test_a_trial_line_lost_to_named_damage_leaves_its_segment_abandoned(self) -> None:
        self.batch.run({ROBOT: Robot()})
        log = self.batch.log_path.read_bytes().splitlines(keepends=True)
        kept = [line for line in log if b'"kind":"stop"' not in line]
        self.batch.log_path.write_bytes(b"".join([*kept[:-1], kept[-1][:40]]))
        self.assert_found(1, 1)
        self.batch.run({ROBOT: Robot()})
        self.assert_found(2, 1)


class AnswersTakenOutOfTheLog(InAFolder):
    """A log that ends earlier has no damage; only the trace knows of the answers that stood there."""

    def test_one_is_as_after_a_kill_and_all_others_of_a_session_or_with_it_are_named(self) -> None:
        for taken, abandoned, violations in ((1, 1, []), (4, 1, ["its trial line is gone"] * 3),
                                             (None, 0, ["so is its session"] * 6)):
            with self.subTest(taken=taken):
                self.batch = self.another()
                self.batch.run({ROBOT: Robot()}, trials=3)
                if taken is None:
                    self.batch.log_path.unlink()
                else:
                    self.cut_log(lambda log, taken=taken: [  # type: ignore[misc]
                        number for number, line in enumerate(log) if b'"kind":"trial"' in line][-taken])
                if taken == 1:
                    self.assert_found(5, 1)
                self.batch.run({ROBOT: Robot()}, trials=3)
                self.assert_found(6, abandoned, *violations)
                self.assertLessEqual(self.found(), {named.SEGMENTS})


class AKillAtAnyByte(unittest.TestCase):
    """The trace and the log as a kill would leave them, for cuts all over the trace; then the next session."""

    whole: ClassVar[bytes]
    lines: ClassVar[list[tuple[int, bytes]]]

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder))
            writer = batch.writer()
            sizes: list[int] = []
            before_line = writer.before_line

            def noting(line: TrialLine) -> None:
                before_line(line)
                sizes.append(batch.trace_path.stat().st_size)
            writer.before_line = noting  # type: ignore[method-assign]
            batch.run({ROBOT: Robot([LOOK, "what?", ANSWER, LOOK, timed_out()])}, writer=writer)
            cls.whole = batch.trace_path.read_bytes()
            log = batch.log_path.read_bytes().splitlines(keepends=True)
        # each line of the log with the bytes of the trace that were there when it was written
        heads = [(0, line) for line in log if b'"kind":"trial"' not in line and b'"kind":"stop"' not in line]
        cls.lines = heads + list(zip(sizes, (line for line in log if b'"kind":"trial"' in line), strict=True))

    def killed(self, size: int, log_size: int) -> Batch:
        """The batch with the trace up to a size, and the lines of the log that were there at another."""
        batch = Batch(Path(self.enterContext(tempfile.TemporaryDirectory())))
        batch.trace_path.write_bytes(self.whole[:size])
        batch.log_path.write_bytes(b"".join(line for written, line in self.lines if written <= log_size))
        return batch

    def test_leaves_a_trace_that_is_consistent_and_goes_on(self) -> None:
        ends = [at + 1 for at, byte in enumerate(self.whole) if byte == ord("\n")]
        for cut in sorted({0, *range(1, len(self.whole), 997), *ends, *(end - 1 for end in ends[::3])}):
            with self.subTest(cut):
                batch = self.killed(cut, cut)
                left = batch.verified()
                self.assertEqual((left.violations, left.abandoned <= 1), ((), True))
                batch.run({ROBOT: Robot()})
                after = batch.verified()
                self.assertEqual((after.violations, after.segments, after.abandoned <= 1), ((), 2, True))

    def test_between_the_trace_and_the_line_of_a_trial_costs_that_trial_only(self) -> None:
        first, second = [size for size, _line in self.lines if size]
        found = self.killed(second, first).verified()
        self.assertEqual(((), 1), (found.violations, found.abandoned))


class AGrowingBatch(InAFolder):
    """A log that was read, and to which trials come before the trace is."""

    def test_trials_that_came_since_the_log_was_read_are_no_violation(self) -> None:
        self.batch.run({ROBOT: Robot()}, selection=Selection(limit=1))
        before = self.batch.log()
        self.batch.run({ROBOT: Robot()})
        found = verify(before, self.batch.trace_path)
        self.assertEqual(((), 1, 0), (found.violations, found.segments, found.abandoned))
        self.assert_found(2)

    def test_one_whose_line_was_taken_out_still_is(self) -> None:
        self.batch.run({ROBOT: Robot()}, trials=3, selection=Selection(limit=3))
        whole = self.batch.log_path.read_bytes()
        for there, now, count, abandoned in ((-3, -2, 0, 1), (-4, -3, 1, 1), (-4, -1, 0, 0)):
            with self.subTest((there, now)):
                self.batch.log_path.write_bytes(whole)
                self.cut_log(there)
                before = self.batch.log()
                self.batch.log_path.write_bytes(whole)
                self.cut_log(now)
                found = verify(before, self.batch.trace_path)
                self.assertEqual((count, abandoned), (found.count, found.abandoned))


class TheSizes(InAFolder):
    def test_a_long_trace_is_verified_in_the_memory_of_its_trial_lines(self) -> None:
        self.batch.run({ROBOT: Robot([LOOK, "x" * 100_000, ANSWER] * 100)}, trials=50)
        script = ("import sys, tracemalloc; from pathlib import Path\n"
                  "from benchkit.boards.trace_check import verify\n"
                  "from benchkit.trial_log.reader import read_log\n"
                  "log = read_log(Path(sys.argv[1])); tracemalloc.start(); done = verify(log, Path(sys.argv[2]))\n"
                  "print(done.segments, done.count, tracemalloc.get_traced_memory()[1])")
        done = subprocess.run([sys.executable, "-c", script, str(self.batch.log_path), str(self.batch.trace_path)],
                              cwd=ROOT, capture_output=True, text=True, check=True)
        segments, count, peak = map(int, done.stdout.split())
        self.assertEqual((segments, count), (100, 0))
        self.assertGreater(self.batch.trace_path.stat().st_size, 20_000_000)
        self.assertLess(peak, 4_000_000)

    def test_the_last_message_of_an_error_is_what_had_come(self) -> None:
        line = TrialLine(Cell(ROBOT, CASES[0].id, 1), 1, "0" * 16, "", Failure(ErrorFacts("Timeout", "late", None)))
        self.assertEqual(named.expected_of(line, {}).text, named.NOTHING)

    def test_a_log_without_trials_and_an_empty_trace_agree(self) -> None:
        self.batch.run({ROBOT: Robot()})
        self.cut_log(3)
        self.batch.trace_path.write_bytes(b"")
        self.assertTrue(verify(self.batch.log(), self.batch.trace_path).is_consistent)
