"""Each invariant of a trace broken on purpose and found by name, and what is no violation: kills, signals, retries."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
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
from tests.toy_game import ANSWER, CASES, LOOK, ROBOT, Batch, Robot, timed_out, toy_pack, turn

ROOT = Path(__file__).resolve().parent.parent
Events = list[dict[str, Any]]
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.toy_game import ROBOT, Batch, Robot, LOOK, ANSWER
class Killed(Robot):
    def answer(self, request):
        if len(self.asked) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().answer(request)
Batch(Path(sys.argv[1])).run({ROBOT: Killed()})
"""


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.batch = Batch(Path(folder.name))

    def trace(self) -> bytes:
        return self.batch.trace_path.read_bytes()

    def put(self, events: Events) -> None:
        """Write these events, each closed anew: lines that nobody can tell from true ones by themselves."""
        self.batch.trace_path.write_bytes(b"".join(map(close_line, events)))

    def events(self) -> Events:
        found = [json.loads(line) for line in self.trace().splitlines()]
        for event in found:
            del event["sum"]
        return found

    def found(self) -> set[str]:
        return {violation.invariant for violation in self.batch.verified().violations}

    def assert_consistent(self, segments: int, abandoned: int = 0) -> None:
        verification = self.batch.verified()
        self.assertEqual((verification.violations, verification.segments, verification.abandoned),
                         ((), segments, abandoned))
        self.assertEqual(verification.headline, "trace self-consistent")


def of(events: Events, kind: str, number: int = 0) -> dict[str, Any]:
    """The event of that type, the first or a later one."""
    return [event for event in events if event["type"] == kind][number]


def set_data(kind: str, name: str, value: Any, number: int = 0) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        of(events, kind, number)["data"][name] = value
    return change


def drop(kind: str, number: int = 0) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        events.remove(of(events, kind, number))
    return change


def drop_and_count_anew(kind: str, number: int = 0) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        drop(kind, number)(events)
        count_anew(events)
    return change


def count_anew(events: Events) -> None:
    """Give every segment a `seq` without gaps."""
    seq = 0
    for event in events:
        seq = 0 if event["type"] == "trial/start" else seq + 1
        event["seq"] = seq


def add_a_word_behind_the_last_request(events: Events) -> None:
    at = events.index(of(events, "trial/end"))
    events.insert(at, {**of(events, "context/user"), "step": 3})
    count_anew(events)


def add_a_result(events: Events) -> None:
    events.insert(events.index(of(events, "tool/result")) + 1, {**of(events, "tool/result")})
    count_anew(events)


def lose_a_call_with_its_result(events: Events) -> None:
    drop("tool/call")(events)
    drop_and_count_anew("tool/result")(events)


def swap_two_words(events: Events) -> None:
    one, other = of(events, "context/system")["data"], of(events, "context/user")["data"]
    one["text"], other["text"] = other["text"], one["text"]


def set_step(events: Events) -> None:
    of(events, "assistant/message")["step"] = 3


def end_twice(events: Events) -> None:
    events.insert(events.index(of(events, "trial/end")), {**of(events, "trial/end")})
    count_anew(events)


def change_geometry(events: Events) -> None:
    of(events, "trial/end")["geometry"] = "single"


def lose_a_segment(events: Events) -> None:
    del events[: events.index(of(events, "trial/start", 1))]


def repeat_a_segment(events: Events) -> None:
    events.extend(events[: events.index(of(events, "trial/start", 1))])


def move_a_segment_to_another_session(events: Events) -> None:
    for event in events[: events.index(of(events, "trial/start", 1))]:
        event["session"] = "f" * 16


def say_more_and_sign_it(events: Events) -> None:
    """Another word in the prompt, and every request signed anew: only the trial line tells."""
    of(events, "context/user")["data"]["text"] = "Which is it? It is red."
    first = [event_of(event) for event in events[: events.index(of(events, "trial/start", 1))]]
    opening = opening_of(first)
    assert opening is not None
    for number, (_, messages) in enumerate(sent_in(first)):
        request = opening.request(messages, Robot().settings(), 1001)
        of(events, "assistant/message", number)["data"]["request"] = request


def repeat_a_segment_at_once(events: Events) -> None:
    end = events.index(of(events, "trial/start", 1))
    events[end:end] = events[:end]


BREAKS: dict[str, tuple[str, Callable[[Events], None]]] = {
    # what is done to the first trial (a look, then the answer): the invariant that must be named
    "a lost event": (named.SEQ, drop("context/user")),
    "a lost result": (named.SEQ, drop("tool/result")),
    "a seq counted wrongly": (named.SEQ, lambda events: of(events, "tool/call").update(seq=9)),
    "a first event lost": (named.ORDER, drop("trial/start")),
    "a message at another step": (named.ORDER, set_step),
    "two ends": (named.ORDER, end_twice),
    "a segment twice, side by side": (named.ORDER, repeat_a_segment_at_once),
    "another geometry": (named.ORDER, change_geometry),
    "a segment lost": (named.SEGMENTS, lose_a_segment),
    "a segment twice": (named.SEGMENTS, repeat_a_segment),
    "a segment of another session": (named.SEGMENTS, move_a_segment_to_another_session),
    "an end lost": (named.SEGMENTS, drop("trial/end")),
    "a result of no call": (named.CALLS, set_data("tool/result", "call_id", "7.1")),
    "a result twice": (named.CALLS, add_a_result),
    "a call lost": (named.CALLS, drop_and_count_anew("tool/call")),
    "a call without result": (named.CALLS, drop_and_count_anew("tool/result")),
    "a call lost with its result": (named.CALLS, lose_a_call_with_its_result),
    "a call that was not said": (named.CALLS, set_data("tool/call", "arguments", "{}")),
    "a word changed in what was shown": (named.REQUESTS, set_data("context/user", "text", "Which is it!")),
    "a word left out of what was shown": (named.REQUESTS, drop_and_count_anew("context/user", 1)),
    "words in another order": (named.REQUESTS, swap_two_words),
    "a word shown that was sent nowhere": (named.REQUESTS, add_a_word_behind_the_last_request),
    "a message changed that entered the context": (named.REQUESTS, set_data("assistant/message", "text", "look!")),
    "another request": (named.REQUESTS, set_data("assistant/message", "request", "0" * 16)),
    "another payload": (named.REQUESTS, set_data("trial/start", "payload", {"observations": []})),
    "another schema": (named.REQUESTS, set_data("trial/start", "schema", None)),
    "another menu": (named.REQUESTS, set_data("trial/start", "tools", [])),
    "another seed": (named.REQUESTS, set_data("trial/start", "seed", 1)),
    "a prompt signed anew": (named.REQUESTS, say_more_and_sign_it),
    "a price changed": (named.COSTS, set_data("tool/result", "cost", 2.0)),
    "an observation changed that was bought": (
        named.PLAYED, set_data("tool/result", "observation", [{"id": "o1", "minute": 0, "text": "blue, I think"}])),
    "an observation left out of what was bought": (named.PLAYED, set_data("tool/result", "observation", [])),
    "a purchase called grounded otherwise": (named.PLAYED, set_data("tool/result", "grounded", False)),
    "another tool bought": (named.PLAYED, set_data("tool/result", "tool", "long look")),
    "a refusal made up": (named.PLAYED, set_data("tool/result", "error", "sold out")),
    "a time before the one before": (
        named.TIMES, lambda events: of(events, "tool/call").update(ts="2020-01-01T00:00:00.000Z")),
    "another bill": (named.COSTS, set_data("trial/end", "cost", 0.0)),
    "tokens changed": (named.COSTS, set_data("assistant/message", "usage", {"prompt_tokens": 1})),
    "latency changed": (named.COSTS, set_data("assistant/message", "latency_s", 9.0)),
    "retries changed": (named.COSTS, set_data("assistant/message", "retries", 0)),
    "a longer wait": (named.COSTS, set_data("assistant/message", "waited_s", 5.0, 1)),
    "another last message": (named.ANSWER, set_data("assistant/message", "text", "it is blue", 1)),
    "messages counted wrongly": (named.ANSWER, set_data("trial/end", "messages", 3)),
    "another ending": (named.ANSWER, set_data("trial/end", "ended", "error")),
}
BREAKS_OF_AN_ERROR: dict[str, tuple[str, Callable[[Events], None]]] = {
    # what is done to a first trial that ends in an error
    "another error": (named.ANSWER, set_data("trial/error", "type", "BrokenReply")),
    "no error": (named.ANSWER, drop_and_count_anew("trial/error")),
    "a partial text cut": (named.ANSWER, set_data("assistant/attempt", "text", "it")),
    "a partial text lost": (named.ANSWER, set_data("assistant/attempt", "text", None)),
    "the attempt lost": (named.ANSWER, drop_and_count_anew("assistant/attempt")),
    "another wait": (named.COSTS, set_data("assistant/attempt", "waited_s", 3.0)),
    "another request": (named.REQUESTS, set_data("assistant/attempt", "request", "0" * 16)),
}


class BrokenOnPurpose(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.batch.run({ROBOT: Robot()})
        self.assert_consistent(2)

    def test_every_invariant_is_found_by_name(self) -> None:
        whole = self.events()
        for what, (invariant, change) in BREAKS.items():
            with self.subTest(what):
                events: Events = json.loads(json.dumps(whole))
                change(events)
                self.put(events)
                verification = self.batch.verified()
                self.assertIn(invariant, self.found())
                self.assertEqual(verification.headline, f"trace invariant violations: {verification.count}")
                place = f"case toy-1 by {ROBOT}, attempt 1 in session "
                self.assertTrue(all(place in str(one) for one in verification.violations), verification.violations)

    def test_what_is_wrong_with_an_error_is_found_by_name(self) -> None:
        for path in (self.batch.log_path, self.batch.trace_path):
            path.unlink()
        self.batch.run({ROBOT: Robot([LOOK, timed_out(), LOOK, ANSWER])})
        self.assert_consistent(2)
        whole = self.events()
        for what, (invariant, change) in BREAKS_OF_AN_ERROR.items():
            with self.subTest(what):
                events: Events = json.loads(json.dumps(whole))
                change(events)
                self.put(events)
                self.assertIn(invariant, self.found())

    def test_an_altered_line_is_named_with_its_place(self) -> None:
        self.batch.trace_path.write_bytes(self.trace().replace(b"Which is it?", b"Which IS it?", 1))
        verification = self.batch.verified()
        self.assertIn(named.LINES, self.found())
        self.assertRegex(str(verification.violations[0]), r"line 3 \(byte \d+\): \d+ bytes are no whole line")

    def test_a_line_altered_at_the_very_end_is_found_although_a_torn_tail_is_none(self) -> None:
        self.batch.trace_path.write_bytes(self.trace().replace(b'"ended":"answer"', b'"ended":"ANSWER"'))
        self.assertIn(named.SEGMENTS, self.found())

    def test_every_invariant_has_been_broken(self) -> None:
        broken = {invariant for invariant, _change in BREAKS.values()} | {named.LINES}
        self.assertEqual(broken, set(named.INVARIANTS))

    def test_an_event_that_nobody_knows_is_refused(self) -> None:
        events = self.events()
        of(events, "tool/call")["type"] = "tool/guess"
        self.put(events)
        with self.assertRaisesRegex(Unusable, 'line 5 .*"tool/guess"'):
            self.batch.verified()

    def test_a_trace_that_is_gone_is_refused(self) -> None:
        self.batch.trace_path.unlink()
        with self.assertRaisesRegex(Unusable, "there is no such file"):
            self.batch.verified()

    def test_more_than_a_person_reads_is_counted(self) -> None:
        self.batch.run({ROBOT: Robot([LOOK, ANSWER] * 300)}, trials=101)
        self.batch.trace_path.write_bytes(b"")
        verification = self.batch.verified()
        self.assertEqual((verification.count, len(verification.violations)), (202, MOST_NAMED))

    def test_another_answer_in_the_log_is_found(self) -> None:
        lines = self.batch.log_path.read_bytes().splitlines(keepends=True)
        changed = [json.loads(line) for line in lines]
        trial = next(line for line in changed if line["kind"] == "trial")
        trial["output"] = "it is blue"
        for line in changed:
            del line["sum"]
        self.batch.log_path.write_bytes(b"".join(map(close_line, changed)))
        self.assertEqual(self.found(), {named.ANSWER})

    def test_in_single_another_payload_is_found_though_no_request_covers_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.batch = Batch(Path(folder), GameRules("single"))
            self.batch.run({ROBOT: Robot([ANSWER, ANSWER])})
            events = self.events()
            set_data("trial/start", "payload", {"now": "12:00", "observations": []})(events)
            self.put(events)
            self.assertEqual({named.PLAYED}, self.found())

    def test_a_purchase_that_the_question_did_not_give_is_found_in_every_field(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.batch = Batch(Path(folder))
            self.batch.run({ROBOT: Robot()})
            self.batch.pack = toy_pack(turn=lambda case, said, steps, left: replace(
                turn(case, said, steps, left), tool="a glimpse", grounded=False))
            told = [str(one) for one in self.batch.verified().violations]
            self.assertEqual(2, len(told))
            self.assertIn("grounded, tool of result 1.1 are not what turn gives", told[0])

    def test_spending_over_the_budget_is_found(self) -> None:
        from tests.toy_game import ToyTurn
        generous = toy_pack(turn=lambda case, said, steps, left:
                            ToyTurn("answer") if said == ANSWER else ToyTurn("bought", "look", (), 9.0, True))
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder), pack=generous)
            batch.run({ROBOT: Robot()})
            self.assertEqual({one.invariant for one in batch.verified().violations}, {named.COSTS})


class NoViolations(InAFolder):
    def test_single_and_gated_with_all_that_can_happen_in_a_trial(self) -> None:
        scripts: dict[str, list[str | Reply | Exception]] = {
            "answers": [LOOK, ANSWER, ANSWER], "last messages": [LOOK] * 8,
            "words": ["", "what?", "\U0001f600", ANSWER] * 2,
            "errors": [timed_out(), LOOK, timed_out(None)], "unknown": [Reply(LOOK), Reply(ANSWER), Reply(ANSWER)],
        }
        for geometry in ("single", "gated"):
            for what, script in scripts.items():
                with self.subTest(f"{geometry}: {what}"), tempfile.TemporaryDirectory() as folder:
                    batch = Batch(Path(folder), GameRules(geometry))
                    batch.run({ROBOT: Robot(list(script))})
                    self.assertEqual((batch.verified().violations, batch.verified().segments), ((), 2))

    def test_a_retried_trial_is_another_segment_of_a_later_session(self) -> None:
        self.batch.run({ROBOT: Robot([LOOK, timed_out(), ANSWER])})
        self.batch.run({ROBOT: Robot()}, selection=Selection(retry_errors=True))
        told = [(one.cell.case, one.attempt, isinstance(one.outcome, Failure)) for one in self.batch.trials()]
        self.assertEqual(told, [("toy-1", 1, True), ("toy-2", 1, False), ("toy-1", 2, False)])
        self.assertEqual([one.key.attempt for one in self.batch.segments()], [1, 1, 2])
        self.assert_consistent(3)

    def test_a_clock_that_is_put_back_makes_no_time_run_backwards(self) -> None:
        wall = iter([1.8e9] * 5 + [1.7e9] * 1000)
        self.batch.clock = Clock(monotonic=self.batch.clock.monotonic, wall=lambda: next(wall))
        self.batch.run({ROBOT: Robot()})
        self.assert_consistent(2)

    def test_systems_added_in_stages_share_the_trace(self) -> None:
        self.batch.run({ROBOT: Robot()})
        self.batch.run()
        self.batch.run({ROBOT: Robot(), "toys:other": Robot(temperature=0.5)}, trials=2)
        self.assert_consistent(4 + 2 + 4)

    def test_a_signal_in_a_step_leaves_an_abandoned_segment(self) -> None:
        with self.assertRaises(Interrupted):
            self.batch.run({ROBOT: Robot([LOOK, ANSWER, LOOK, Interrupted(signal.SIGINT)])})
        self.assert_consistent(1, abandoned=1)
        self.batch.run({ROBOT: Robot()})
        self.assert_consistent(2, abandoned=1)

    def test_a_kill_in_any_step_leaves_an_abandoned_segment_at_most(self) -> None:
        for asked in (1, 2):
            with self.subTest(asked), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-c", KILLED, folder, str(asked)], cwd=ROOT, check=False)
                self.assertEqual(done.returncode, -signal.SIGKILL)
                self.batch = Batch(Path(folder))
                self.assert_consistent(asked - 1, abandoned=1)
                self.assertIn("context/user", [event.type for event in self.batch.segments()[-1].events])
                self.batch.run({ROBOT: Robot()})
                self.assert_consistent(2, abandoned=1)

    def test_a_line_lost_from_an_abandoned_segment_is_found_all_the_same(self) -> None:
        with self.assertRaises(Interrupted):
            self.batch.run({ROBOT: Robot([LOOK, Interrupted(signal.SIGINT)])})
        events = self.events()
        drop("context/system")(events)
        self.put(events)
        self.assertEqual(self.found(), {named.SEQ})

    def test_a_trial_line_lost_to_named_damage_leaves_its_segment_abandoned(self) -> None:
        self.batch.run({ROBOT: Robot()})
        log = self.batch.log_path.read_bytes().splitlines(keepends=True)
        kept = [line for line in log if b'"kind":"stop"' not in line]
        self.batch.log_path.write_bytes(b"".join([*kept[:-1], kept[-1][:40]]))
        self.assert_consistent(1, abandoned=1)
        self.batch.run({ROBOT: Robot()})
        self.assert_consistent(2, abandoned=1)


class AnswersTakenOutOfTheLog(InAFolder):
    """A log that ends earlier has no damage; only the trace knows of the answers that stood there."""

    def setUp(self) -> None:
        super().setUp()
        self.batch.run({ROBOT: Robot()}, trials=3)

    def take(self, count: int) -> None:
        """The last trial lines, and what stands behind them."""
        log = self.batch.log_path.read_bytes().splitlines(keepends=True)
        trials = [line for line in log if b'"kind":"trial"' in line]
        self.batch.log_path.write_bytes(b"".join(log[: log.index(trials[-count])]))

    def test_one_is_as_after_a_kill(self) -> None:
        self.take(1)
        self.assert_consistent(5, abandoned=1)

    def test_all_but_the_last_of_a_session_are_named(self) -> None:
        self.take(4)
        self.batch.run({ROBOT: Robot()}, trials=3)
        verification = self.batch.verified()
        self.assertEqual((6, 1, 3), (verification.segments, verification.abandoned, verification.count))
        self.assertIn("its trial line is gone", str(verification.violations[0]))
        self.assertEqual(self.found(), {named.SEGMENTS})

    def test_with_their_session_all_are_named(self) -> None:
        self.batch.log_path.unlink()
        self.batch.run({ROBOT: Robot()}, trials=3)
        verification = self.batch.verified()
        self.assertEqual((6, 0, 6), (verification.segments, verification.abandoned, verification.count))
        self.assertIn("so is its session", str(verification.violations[0]))


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

    def test_leaves_a_trace_that_is_consistent_and_goes_on(self) -> None:
        ends = [at + 1 for at, byte in enumerate(self.whole) if byte == ord("\n")]
        cuts = sorted({0, *range(1, len(self.whole), 997), *ends, *(end - 1 for end in ends[::3])})
        for cut in cuts:
            with self.subTest(cut), tempfile.TemporaryDirectory() as folder:
                batch = Batch(Path(folder))
                batch.trace_path.write_bytes(self.whole[:cut])
                batch.log_path.write_bytes(b"".join(line for size, line in self.lines if size <= cut))
                left = batch.verified()
                self.assertEqual((left.violations, left.abandoned <= 1), ((), True))
                batch.run({ROBOT: Robot()})
                after = batch.verified()
                self.assertEqual((after.violations, after.segments, after.abandoned <= 1), ((), 2, True))

    def test_between_the_trace_and_the_line_of_a_trial_costs_that_trial_only(self) -> None:
        sizes = [size for size, _line in self.lines if size]
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder))
            batch.trace_path.write_bytes(self.whole[: sizes[1]])
            batch.log_path.write_bytes(b"".join(line for size, line in self.lines if size <= sizes[0]))
            self.assertEqual((batch.verified().violations, batch.verified().abandoned), ((), 1))


class AGrowingBatch(InAFolder):
    """A log that was read, and to which trials come before the trace is."""

    def test_trials_that_came_since_the_log_was_read_are_no_violation(self) -> None:
        self.batch.run({ROBOT: Robot()}, selection=Selection(limit=1))
        before = self.batch.log()
        self.batch.run({ROBOT: Robot()})
        found = verify(before, self.batch.trace_path)
        self.assertEqual(((), 1, 0), (found.violations, found.segments, found.abandoned))
        self.assertEqual(2, self.batch.verified().segments)

    def test_one_whose_line_was_taken_out_still_is(self) -> None:
        self.batch.run({ROBOT: Robot()}, trials=3, selection=Selection(limit=3))
        lines = self.batch.log_path.read_bytes().splitlines(keepends=True)
        for there, now, count, abandoned in ((-3, -2, 0, 1), (-4, -3, 1, 1), (-4, -1, 0, 0)):
            with self.subTest((there, now)):
                self.batch.log_path.write_bytes(b"".join(lines[:there]))
                before = self.batch.log()
                self.batch.log_path.write_bytes(b"".join(lines[:now]))
                found = verify(before, self.batch.trace_path)
                self.assertEqual((count, abandoned), (found.count, found.abandoned))


class ALongTrace(InAFolder):
    def test_is_verified_in_the_memory_of_its_trial_lines(self) -> None:
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
        self.assertGreater(len(self.trace()), 20_000_000)
        self.assertLess(peak, 4_000_000)


class TheValues(unittest.TestCase):
    def test_the_last_message_of_an_error_is_what_had_come(self) -> None:
        line = TrialLine(Cell(ROBOT, CASES[0].id, 1), 1, "0" * 16, "", Failure(ErrorFacts("Timeout", "late", None)))
        self.assertEqual(named.expected_of(line, {}).text, named.NOTHING)

    def test_a_log_without_trials_and_an_empty_trace_agree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder))
            batch.run({ROBOT: Robot()})
            log = batch.log_path.read_bytes().splitlines(keepends=True)
            batch.log_path.write_bytes(b"".join(log[:3]))
            batch.trace_path.write_bytes(b"")
            self.assertTrue(verify(batch.log(), batch.trace_path).is_consistent)


if __name__ == "__main__":
    unittest.main()
