"""The trace as a file: its events, what a kill or a disk does to it, reading it again, and one trial as a story."""
from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchkit.basics.errors import BrokenOff, EnvironmentFailure, Interrupted, Unusable
from benchkit.basics.json_text import close_line
from benchkit.basics.values import JSON, Cell, Reply
from benchkit.boards.console import story_of
from benchkit.boards.trace_events import (
    KNOWN_EVENT_TYPES,
    SegmentKey,
    TraceEvent,
    event_bytes,
    event_of,
    said_in,
    shown_in,
    steps_in,
)
from benchkit.boards.trace_file import TraceWriter, segments_in, trace_damage_named_by
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.running.plan import Selection
from benchkit.trial_log.lines import Damage
from tests.toy_game import ANSWER, LONG_LOOK, LOOK, ROBOT, STAMP, Batch, Robot, ToyTurn, timed_out, toy_pack

ROOT = Path(__file__).resolve().parent.parent
SESSION, OTHER = "a" * 16, "b" * 16
TIMES: Mapping[str, JSON] = {"latency_s": 0.1, "retries": 0, "waited_s": 0.0}
DATA: Mapping[str, Mapping[str, JSON]] = {
    "trial/start": {"seed": 1001, "payload": ["any"], "schema": None, "tools": [], "prices": {"unit": "coins"}},
    "context/system": {"text": "be good"},
    "context/user": {"text": "who is it?"},
    "assistant/message": {"text": "me", "request": "0" * 16, "finish": "stop", "reasoning": None,
                          "usage": {"output_tokens": 3}, "timings": {"load_s": 0.5}, **TIMES},
    "assistant/attempt": {"text": None, "request": "0" * 16, "error": "Timeout", "message": "too late", **TIMES},
    "tool/call": {"call_id": "1.1", "arguments": "{"},
    "tool/result": {"call_id": "1.1", "observation": [{"id": "o1"}], "cost": 1.5, "grounded": True, "tool": "look",
                    "error": None},
    "trial/error": {"type": "Timeout", "message": "too late"},
    "trial/end": {"ended": "answer", "messages": 1, "cost": 1.5},
}
CELL = Cell(ROBOT, "toy-1", 1)


def event(kind: str = "context/user", seq: int = 0, cell: Cell = CELL, **data: JSON) -> TraceEvent:
    return TraceEvent(SegmentKey(SESSION, cell, 1), seq, STAMP, "gated", 1, kind, {**DATA[kind], **data})


def fields(kind: str = "context/user", **other: Any) -> dict[str, Any]:
    return {"v": 1, "seq": 0, "ts": STAMP, "session": SESSION, "case": "toy-1", "solver": ROBOT, "trial": 1,
            "attempt": 1, "geometry": "gated", "step": 1, "type": kind, "data": DATA[kind], **other}


class Events(unittest.TestCase):
    def test_every_type_has_its_keys_and_says_the_same_when_read_again(self) -> None:
        self.assertEqual(DATA.keys(), KNOWN_EVENT_TYPES.keys())
        for kind in KNOWN_EVENT_TYPES:
            with self.subTest(kind):
                self.assertEqual(DATA[kind].keys(), KNOWN_EVENT_TYPES[kind].keys())
                self.assertEqual(event_of(fields(kind)), event(kind))
                self.assertEqual(event_bytes(event(kind)), close_line(fields(kind)))

    def test_a_key_that_is_missing_or_wrong_is_named_with_its_type(self) -> None:
        for kind, keys in KNOWN_EVENT_TYPES.items():
            for name, holds in keys.items():
                with self.subTest(f"{kind} {name}"):
                    left = {key: value for key, value in DATA[kind].items() if key != name}
                    with self.assertRaisesRegex(ValueError, f'^field "data.{name}" of {kind} is missing'):
                        event_of(fields(kind, data=left))
                    if holds != "any JSON":
                        with self.assertRaisesRegex(ValueError, f'^field "data.{name}" of {kind} is not {holds}$'):
                            event_of(fields(kind, data={**DATA[kind], name: -1.5}))

    def test_what_no_event_can_say_is_refused(self) -> None:
        wrong: Mapping[str, Mapping[str, Any]] = {
            'type is "tool/guess", not one of trial/start, ': {"type": "tool/guess", "data": {}},
            'v is 2, not 1': {"v": 2},
            'seq is -1, not a whole number': {"seq": -1},
            'session is "one", not 16 hex digits': {"session": "one"},
            'geometry is "round", not one of single, gated': {"geometry": "round"},
            'attempt is 0, not': {"attempt": 0},
            'ts is "today", not a time': {"ts": "today"},
            'solver is "", not a text that is not empty': {"solver": ""},
            'data is null, not an object': {"data": None},
        }
        for wanted, other in wrong.items():
            given = {**fields(), **other}
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                event_of(given)

    def test_a_key_of_a_later_kit_is_passed_over(self) -> None:
        later = fields(data={**DATA["context/user"], "mood": "good"}, mood="good")
        self.assertEqual(event_of(later).data["text"], "who is it?")


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.batch = Batch(self.folder)

    def trace(self) -> bytes:
        return self.batch.trace_path.read_bytes()

    def put(self, data: bytes) -> None:
        self.batch.trace_path.write_bytes(data)

    def named(self) -> tuple[Damage, ...]:
        return trace_damage_named_by(self.batch.log())


class Writing(InAFolder):
    def test_an_event_is_in_the_file_when_it_happens_and_before_its_request_is_sent(self) -> None:
        seen: list[int] = []
        batch = self.batch

        class Looker(Robot):
            def answer(self, request: Any) -> Reply:
                told = batch.trace_path.read_bytes()
                seen.append(sum(message["content"].encode() in told for message in request.messages[-1:]))
                return super().answer(request)
        batch.run({ROBOT: Looker([LOOK, ANSWER, ANSWER])})
        self.assertEqual(seen, [1, 1, 1])

    def test_a_trial_is_synced_before_its_line_is_written(self) -> None:
        order: list[str] = []

        def sync(_fd: int) -> None:
            lines = self.batch.log_path.read_bytes().count(b'"kind":"trial"')
            order.append(f"{lines} lines, {self.trace().count(b'trial/end')} ends")
        self.batch.run({ROBOT: Robot()}, writer=TraceWriter(
            self.batch.trace_path, lambda: STAMP, DiskCalls(sync=sync, sync_folder=lambda path: None)))
        self.assertEqual(order, ["0 lines, 1 ends", "1 lines, 2 ends"])

    def test_a_disk_that_is_full_ends_the_session_and_no_line_is_written(self) -> None:
        def full(_fd: int, _data: memoryview | None = None) -> Any:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for calls in (DiskCalls(write=full), DiskCalls(sync=full)):
            with self.assertRaisesRegex(EnvironmentFailure, "trace.jsonl cannot be written: No space left"):
                self.batch.run({ROBOT: Robot()}, writer=TraceWriter(self.batch.trace_path, lambda: STAMP, calls))
            self.assertEqual(self.batch.trials(), [])
            self.assertEqual(self.batch.log().sessions[-1].stop.reason, "error")  # type: ignore[union-attr]
        self.batch.run({ROBOT: Robot()})
        self.assertTrue(self.batch.verified().is_consistent)

    def test_what_no_reader_would_take_never_gets_in(self) -> None:
        pack, large = self.batch.pack, toy_pack(turn=lambda case, said, steps, left: ToyTurn(
            "bought", "look", ({"text": "x" * 5_000_000},), 1.0, True))
        for text, asked, wanted in (("\ud800", pack, "a lone surrogate"), (LOOK, large, "more than a trace takes")):
            self.batch.pack = asked
            with self.subTest(wanted), self.assertRaisesRegex(BrokenOff, wanted):
                self.batch.run({ROBOT: Robot([Reply(text)])})
            self.batch.pack = pack
        self.batch.run({ROBOT: Robot()})
        self.assertTrue(self.batch.verified().is_consistent)

    def test_an_event_outside_of_a_trial_is_a_defect(self) -> None:
        writer = self.batch.writer()
        with self.assertRaises(RuntimeError):
            writer.emit(1, "context/user", {"text": ""})

    def test_a_trace_in_use_is_refused(self) -> None:
        with (AppendFile.open(self.batch.trace_path),
              self.assertRaisesRegex(EnvironmentFailure, "trace.jsonl is in use by another run")):
            self.batch.run({ROBOT: Robot()})
        self.assertEqual(self.batch.log_path.read_bytes(), b"")

    def test_a_run_with_nothing_to_do_touches_no_trace(self) -> None:
        self.batch.run({ROBOT: Robot()})
        before = self.trace()
        self.assertEqual(self.batch.run({ROBOT: Robot([])}).reason, None)
        self.assertEqual(self.trace(), before)


class Damaged(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.batch.run({ROBOT: Robot()}, selection=Selection(limit=1))
        self.size = len(self.trace())

    def go_on(self) -> None:
        self.batch.run({ROBOT: Robot()})

    def test_a_session_names_what_it_found(self) -> None:
        for tail, length in ((b"", 0), (b'{"attempt":1,"ca', 17), (b"torn\n", 5), (b"one\ntwo", 8)):
            with self.subTest(tail):
                self.setUp()
                self.put(self.trace() + tail)
                self.go_on()
                found = self.named()
                self.assertEqual(sum(one.length for one in found), length)
                self.assertTrue(all(one.offset >= self.size for one in found))
                self.assertTrue(self.batch.verified().is_consistent)

    def test_damaged_lines_that_touch_are_one_damage(self) -> None:
        self.put(self.trace() + b"torn\n" + b"\n" * 1000 + b"x\n")
        self.go_on()
        self.assertEqual([(one.offset, one.length) for one in self.named()], [(self.size, 1007)])
        self.assertTrue(self.batch.verified().is_consistent)

    def test_a_line_that_lost_only_its_newline_counts(self) -> None:
        self.put(self.trace()[:-1])
        self.go_on()
        self.assertEqual((self.named(), self.batch.verified().segments), ((), 2))

    def test_damage_named_once_stays_named(self) -> None:
        self.put(self.trace() + b"torn")
        self.go_on()
        self.put(self.trace() + b"torn again")
        self.batch.run({ROBOT: Robot()}, trials=2)
        self.assertEqual([one.length for one in self.named()], [5, 11])
        self.assertTrue(self.batch.verified().is_consistent)

    def test_an_altered_line_with_whole_lines_behind_it_is_refused_and_nothing_is_changed(self) -> None:
        altered = self.trace().replace(b"Which is it?", b"Which IS it?", 1)
        self.put(altered)
        log = self.batch.log_path.read_bytes()
        refused = r"trace.jsonl: line 3 \(byte \d+\): \d+ bytes are no whole line .*--accept-damage"
        with self.assertRaisesRegex(Unusable, refused):
            self.go_on()
        self.assertEqual((self.trace(), self.batch.log_path.read_bytes()), (altered, log))

    def test_an_event_of_an_unknown_type_is_refused_by_writer_and_reader(self) -> None:
        self.put(self.trace() + close_line(fields(type="tool/guess", data={})))
        with self.assertRaisesRegex(Unusable, r'trace.jsonl: line 10 .*: type is "tool/guess", not one of '):
            self.go_on()
        with self.assertRaisesRegex(Unusable, "tool/guess"):
            self.batch.segments()

    def test_a_whole_line_that_is_no_event_is_refused(self) -> None:
        self.put(self.trace() + close_line({"kind": "trial"}))
        with self.assertRaisesRegex(Unusable, r'line 10 \(byte \d+\): v is missing'):
            self.go_on()

    def test_a_trace_that_is_gone_is_begun_anew_and_found_out(self) -> None:
        self.batch.trace_path.unlink()
        self.go_on()
        verification = self.batch.verified()
        self.assertEqual((verification.segments, verification.headline), (1, "trace invariant violations: 1"))


class Reading(InAFolder):
    def test_segments_come_one_by_one_and_those_of_a_cell_can_be_asked_for(self) -> None:
        self.batch.run({ROBOT: Robot()}, trials=2)
        segments = list(segments_in(self.batch.trace_path))
        self.assertEqual([(one.key.cell.case, one.key.cell.trial) for one in segments],
                         [("toy-1", 1), ("toy-2", 1), ("toy-1", 2), ("toy-2", 2)])

    def test_a_trace_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(Unusable, "trace.jsonl: there is no such file"):
            list(segments_in(self.batch.trace_path))

    def test_a_long_trace_is_read_in_the_memory_of_one_trial(self) -> None:
        lines = (event_bytes(event("trial/start" if seq == 0 else "context/user", seq, Cell(ROBOT, "toy", trial),
                                   **({} if seq == 0 else {"text": "x" * 10_000})))
                 for trial in range(1, 301) for seq in range(6))
        with self.batch.trace_path.open("wb") as file:
            file.writelines(lines)
        script = ("import sys, tracemalloc; from pathlib import Path\n"
                  "from benchkit.boards.trace_file import segments_in\n"
                  "tracemalloc.start(); print(sum(1 for one in segments_in(Path(sys.argv[1]))),"
                  " tracemalloc.get_traced_memory()[1])")
        done = subprocess.run([sys.executable, "-c", script, str(self.batch.trace_path)], cwd=ROOT,
                              capture_output=True, text=True, check=True)
        count, peak = map(int, done.stdout.split())
        self.assertEqual(count, 300)
        self.assertLess(peak, 2_000_000)
        self.assertGreater(self.batch.trace_path.stat().st_size, 15_000_000)

    def test_steps_are_those_that_judges_read(self) -> None:
        self.batch.run({ROBOT: Robot([LONG_LOOK, LONG_LOOK, "what?", ANSWER])}, selection=Selection(limit=1))
        events = self.batch.segments()[0].events
        steps = steps_in(events)
        told = [(step.said, len(step.observations), step.cost, step.grounded, step.error) for step in steps]
        self.assertEqual(told, [
            (None, 1, 0.0, False, None), (LONG_LOOK, 1, 3.0, True, None),
            (LONG_LOOK, 0, 0.0, True, "that costs more than is left"), ("what?", 0, 0.0, False, "that is neither")])
        self.assertEqual(said_in(events), (LONG_LOOK, LONG_LOOK, "what?", ANSWER))
        self.assertEqual([message["content"] for message in shown_in(events)][:3],
                         ["Name the colour. 4 coins, 4 messages.", "Which is it?", "1 coins and 3 messages left"])

    def test_an_example_in_the_prompt_was_shown_and_not_said(self) -> None:
        talk = [{"role": "user", "content": "and this?"}, {"role": "assistant", "content": "it is blue"},
                {"role": "user", "content": "Which is it?"}]
        batch = Batch(self.folder, pack=toy_pack(messages=lambda *given: talk))
        batch.run({ROBOT: Robot()})
        events = batch.segments()[0].events
        self.assertEqual((shown_in(events)[:3], said_in(events)), (tuple(talk), (LOOK, ANSWER)))
        self.assertTrue(batch.verified().is_consistent)


class Stories(InAFolder):
    def story(self, *script: str | Exception) -> str:
        self.batch.run({ROBOT: Robot(list(script))}, selection=Selection(limit=1))
        return "\n".join(story_of(self.batch.segments()[0]))

    def test_a_trial_is_told_in_the_order_of_time(self) -> None:
        story = self.story(LOOK, "what?", ANSWER)
        parts = ("case toy-1, toys:robot, trial 1, attempt 1", "08:00:00.000  the trial begins, with seed 1001",
                 "it is shown, as system:\n    | Name the colour.", "it says, after 0.100 s, 3 tokens",
                 '    | {"buy":"look"}', "it buys look for 1: 1 observation", "3 coins and 3 messages left", "| what?",
                 "it brings nothing, for 0: that is neither", "| it is red",
                 "the trial ends with an answer; 3 messages, 1 spent")
        places = [story.find(part) for part in parts]
        self.assertNotIn(-1, places)
        self.assertEqual(places, sorted(places))

    def test_an_error_and_what_had_come_are_told(self) -> None:
        story = self.story(timed_out("it i"))
        self.assertIn("no whole reply: Timeout: no whole reply within 1 s", story)
        self.assertIn("what had come, which counts for nothing:\n    | it i", story)
        self.assertIn("the trial ends with an error; 0 messages", story)

    def test_an_open_trial_says_that_it_counts_for_nothing(self) -> None:
        with self.assertRaises(Interrupted):
            self.story(LOOK, Interrupted(2))
        self.assertIn("it was cut off here", "\n".join(story_of(self.batch.segments()[0])))

    def test_nothing_that_a_model_says_reaches_a_terminal_as_it_is(self) -> None:
        story = self.story("\x1b[2Jgone\u202e", "", "\x07", ANSWER)
        self.assertNotRegex(story, "[\x00-\x09\x0b-\x1f\x7f\u202e]")
        self.assertIn("\\x1b[2Jgone", story)
        self.assertIn("| (an empty text)", story)

    def test_every_type_can_be_told(self) -> None:
        from benchkit.boards.trace_file import Segment
        for kind in KNOWN_EVENT_TYPES:
            with self.subTest(kind):
                self.assertGreater(len(list(story_of(Segment((event(kind),))))), 1)


if __name__ == "__main__":
    unittest.main()
