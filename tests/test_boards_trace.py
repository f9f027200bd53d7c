"""The trace as a file: its events, what a kill or a disk does to it, reading it again, and one trial as a story."""
from __future__ import annotations

import errno
import os
import re
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
from benchkit.boards.trace_file import Segment, TraceWriter, segments_in, trace_damage_named_by
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.running.plan import Selection
from tests.toy_game import ANSWER, LONG_LOOK, LOOK, ROBOT, STAMP, Batch, Robot, ToyTurn, timed_out, toy_pack

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
        for kind, keys in KNOWN_EVENT_TYPES.items():
            self.assertEqual(DATA[kind].keys(), keys.keys())
            self.assertEqual(event_of(fields(kind)), event(kind))
            self.assertEqual(event_bytes(event(kind)), close_line(fields(kind)))
        # a key of a later kit is passed over
        later = fields(data={**DATA["context/user"], "mood": "good"}, mood="good")
        self.assertEqual(event_of(later).data["text"], "who is it?")

    def test_a_key_that_is_missing_or_wrong_is_named_with_its_type(self) -> None:
        for kind, keys in KNOWN_EVENT_TYPES.items():
            for name, holds in keys.items():
                left = {key: value for key, value in DATA[kind].items() if key != name}
                wrong = f"is not {holds}$" if holds != "any JSON" else None
                for data, told in ((left, "is missing"), ({**left, name: -1.5}, wrong)):
                    with self.subTest(f"{kind} {name}", told=told):
                        if told is None:
                            event_of(fields(kind, data=data))
                            continue
                        with self.assertRaisesRegex(ValueError, f'^field "data.{name}" of {kind} {told}'):
                            event_of(fields(kind, data=data))

    def test_what_no_event_can_say_is_refused(self) -> None:
        for wanted, other in (
            ('type is "tool/guess", not one of trial/start, ', {"type": "tool/guess", "data": {}}),
            ("v is 2, not 1", {"v": 2}), ("seq is -1, not a whole number", {"seq": -1}),
            ('session is "one", not 16 hex digits', {"session": "one"}),
            ('geometry is "round", not one of single, gated', {"geometry": "round"}),
            ("attempt is 0, not", {"attempt": 0}), ('ts is "today", not a time', {"ts": "today"}),
            ('solver is "", not a text that is not empty', {"solver": ""}),
            ("data is null, not an object", {"data": None}),
        ):
            given: dict[str, Any] = {**fields(), **other}
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                event_of(given)


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.batch = Batch(self.folder)

    def trace(self) -> bytes:
        return self.batch.trace_path.read_bytes()

    def named(self) -> list[tuple[int, int]]:
        """The damage that sessions name: offset, length."""
        return [(one.offset, one.length) for one in trace_damage_named_by(self.batch.log())]

    def assert_whole(self) -> None:
        self.assertTrue(self.batch.verified().is_consistent)


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
        self.assert_whole()

    def test_what_no_reader_would_take_never_gets_in(self) -> None:
        pack, large = self.batch.pack, toy_pack(turn=lambda case, said, steps, left: ToyTurn(
            "bought", "look", ({"text": "x" * 5_000_000},), 1.0, True))
        for text, asked, wanted in (("\ud800", pack, "a lone surrogate"), (LOOK, large, "more than a trace takes")):
            self.batch.pack = asked
            with self.subTest(wanted), self.assertRaisesRegex(BrokenOff, wanted):
                self.batch.run({ROBOT: Robot([Reply(text)])})
            self.batch.pack = pack
        self.batch.run({ROBOT: Robot()})
        self.assert_whole()

    def test_an_event_outside_of_a_trial_is_a_defect(self) -> None:
        writer = self.batch.writer()
        with self.assertRaises(RuntimeError):
            writer.emit(1, "context/user", {"text": ""})

    def test_a_trace_in_use_is_refused(self) -> None:
        with (AppendFile.open(self.batch.trace_path),
              self.assertRaisesRegex(EnvironmentFailure, "trace.jsonl is in use by another run")):
            self.batch.run({ROBOT: Robot()})
        self.assertEqual(self.batch.log_path.read_bytes(), b"")


class Damaged(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.batch.run({ROBOT: Robot()}, selection=Selection(limit=1))
        self.log, self.whole = self.batch.log_path.read_bytes(), self.trace()

    def go_on(self, trace: bytes, trials: int = 1) -> None:
        """Another session, behind these bytes."""
        self.batch.trace_path.write_bytes(trace)
        self.batch.run({ROBOT: Robot()}, trials=trials)

    def test_a_session_names_what_it_found_and_damaged_lines_that_touch_are_one_damage(self) -> None:
        for tail, lengths in ((b"", []), (b'{"attempt":1,"ca', [17]), (b"torn\n", [5]), (b"one\ntwo", [8]),
                              (b"torn\n" + b"\n" * 1000 + b"x\n", [1007])):
            with self.subTest(tail[:20]):
                self.batch.log_path.write_bytes(self.log)
                self.go_on(self.whole + tail)
                self.assertEqual([(len(self.whole), length) for length in lengths], self.named())
                self.assert_whole()

    def test_a_line_that_lost_only_its_newline_counts(self) -> None:
        self.go_on(self.whole[:-1])
        self.assertEqual(([], 2), (self.named(), self.batch.verified().segments))

    def test_damage_named_once_stays_named(self) -> None:
        self.go_on(self.whole + b"torn")
        self.go_on(self.trace() + b"torn again", trials=2)
        self.assertEqual([5, 11], [length for _, length in self.named()])
        self.assert_whole()

    def test_what_is_no_damage_of_a_kill_is_refused_and_nothing_is_changed(self) -> None:
        for trace, told in (
            (self.whole.replace(b"Which is it?", b"Which IS it?", 1),
             r"trace.jsonl: line 3 \(byte \d+\): \d+ bytes are no whole line .*--accept-damage"),
            (self.whole + close_line(fields(type="tool/guess", data={})),
             r'trace.jsonl: line 10 .*: type is "tool/guess", not one of '),
            (self.whole + close_line({"kind": "trial"}), r"line 10 \(byte \d+\): v is missing"),
        ):
            with self.subTest(told):
                with self.assertRaisesRegex(Unusable, told):
                    self.go_on(trace)
                self.assertEqual((trace, self.log), (self.trace(), self.batch.log_path.read_bytes()))
                with self.assertRaisesRegex(Unusable, told):
                    self.batch.segments()

    def test_a_trace_that_is_gone_is_begun_anew_and_found_out(self) -> None:
        self.batch.trace_path.unlink()
        self.batch.run({ROBOT: Robot()})
        found = self.batch.verified()
        self.assertEqual((1, "trace invariant violations: 1"), (found.segments, found.headline))


class Reading(InAFolder):
    def test_segments_come_one_by_one(self) -> None:
        self.batch.run({ROBOT: Robot()}, trials=2)
        self.assertEqual([(one.key.cell.case, one.key.cell.trial) for one in segments_in(self.batch.trace_path)],
                         [("toy-1", 1), ("toy-2", 1), ("toy-1", 2), ("toy-2", 2)])
        with self.assertRaisesRegex(Unusable, "none.jsonl: there is no such file"):
            next(segments_in(self.folder / "none.jsonl"))

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


TOLD = """\
case toy-1, toys:robot, trial 1, attempt 1, session S, gated
08:00:00.000  the trial begins, with seed 1001
    for sale: {"budget":4.0,"prices":{"long look":3.0,"look":1.0},"steps":4,"unit":"coins"}
08:00:00.000  it is shown, as system:
    | Name the colour. 4 coins, 4 messages.
08:00:00.000  it is shown, as user:
    | Which is it?
08:00:00.000  it says, after 0.100 s, 3 tokens (request R):
    | {"buy":"look"}
08:00:00.000  that is call 1.1
08:00:00.000  it buys look for 1: 1 observation
    | {"id":"o1","minute":0,"text":"red, I think"}
08:00:00.000  it is shown, as user:
    | 3 coins and 3 messages left
08:00:00.000  it says, after 0.100 s, 3 tokens (request R):
    | what?
08:00:00.000  that is call 2.1
08:00:00.000  it brings nothing, for 0: that is neither
08:00:00.000  it is shown, as user:
    | 3 coins and 2 messages left
08:00:00.000  it says, after 0.100 s, 3 tokens (request R):
    | it is red
08:00:00.000  the trial ends with an answer; 3 messages, 1 spent"""


class Stories(InAFolder):
    def story(self, *script: str | Exception) -> str:
        self.batch.run({ROBOT: Robot(list(script))}, selection=Selection(limit=1))
        return "\n".join(story_of(self.batch.segments()[0]))

    def test_a_trial_is_told_in_the_order_of_time(self) -> None:
        story = re.sub(r"session [0-9a-f]{16}", "session S", self.story(LOOK, "what?", ANSWER))
        self.assertEqual(TOLD, re.sub(r"request [0-9a-f]{16}", "request R", story))

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
        for kind in KNOWN_EVENT_TYPES:
            self.assertGreater(len(list(story_of(Segment((event(kind),))))), 1, kind)
