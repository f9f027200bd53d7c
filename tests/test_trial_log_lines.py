"""The lines of the log and their wire form: each kind there and back, and every wrong field named."""
from __future__ import annotations

import json
import random
import unittest
from typing import Any

from benchkit.basics import json_text
from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.json_text import is_whole
from benchkit.basics.values import Failure, Reply, Timings, Usage
from benchkit.trial_log import lines
from benchkit.trial_log.lines import Damage, Line, LinePosition, LoadedLine, StopLine, SystemLine, TrialLine
from benchkit.trial_log.scan import ScannedTrial, scan_trial_line
from tests.trial_logs import SESSION_A, SETTINGS, STAMP, SYSTEM, failure, plan_line, session_line, trial_line

PLACE = LinePosition(SESSION_A, 7)
HOSTILE = 'é "quoted" \\ \n \x00 \x7f \u2028 🙂 </script> {"kind":"session"} ,"sum":"0123456789abcdef"}'
EVERY_KIND: tuple[Line, ...] = (
    session_line(), plan_line(), SystemLine(SYSTEM, SETTINGS), LoadedLine(3.5, 4096, {"quantization": "Q4_K_M"}),
    LoadedLine(0.0), trial_line(), trial_line(outcome=failure()), trial_line(HOSTILE, outcome=Reply(HOSTILE)),
    trial_line(outcome=Reply("", None, HOSTILE, Usage(), Timings(), None, 3, 1.5)),
    TrialLine(trial_line().cell, 2, "0" * 16, STAMP, failure(), 61.5), StopLine("budget", STAMP),
    lines.SessionLine(STAMP, None, {}, 1.0, None, 1, (Damage(0, 17), Damage(99, 0))),
)


def wire(line: Line) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(lines.bytes_of(line, PLACE))
    return fields


class ThereAndBack(unittest.TestCase):
    def test_every_kind_of_line_comes_back_as_it_was(self) -> None:
        for line in EVERY_KIND:
            data = lines.bytes_of(line, PLACE)
            with self.subTest(data[:60]):
                fields = json_text.parse(data)
                self.assertEqual(lines.line_of(fields), line)
                self.assertEqual(lines.place_of(fields), PLACE)

    def test_a_line_is_ascii_and_whole_whatever_the_model_said(self) -> None:
        for line in EVERY_KIND:
            data = lines.bytes_of(line, PLACE)
            self.assertTrue(is_whole(data[:-1]) and data.isascii() and data.count(b"\n") == 1 and data[-1:] == b"\n")

    def test_the_bytes_of_a_trial_line_are_these(self) -> None:
        self.assertEqual(lines.bytes_of(trial_line(), PLACE), (
            b'{"attempt":1,"case":"mail-1","finish":"stop","kind":"trial","latency_s":1.234567,"n":7,'
            b'"output":"mail-1 1","reasoning":null,"request":"caa62c6bbeb84c98","retries":0,"seed":1001,'
            b'"session":"aaaaaaaaaaaaaaaa","started_at":"2026-11-30T12:00:00.000Z","system":"model_triage:gemma",'
            b'"timings":{"first_token_s":0.25,"load_s":0.0,"other_s":0.0,"output_s":0.8,"prompt_s":0.2},"trial":1,'
            b'"usage":{"cached_tokens":null,"output_tokens":40,"prompt_tokens":120},"waited_s":0.0,'
            b'"sum":"d578f5becd5f3cfa"}\n'))

    def test_seconds_are_rounded_to_six_digits_and_unknown_ones_are_null(self) -> None:
        outcome = Reply("x", latency_s=1.00000049, timings=Timings(load_s=2.0000006))
        fields = wire(trial_line(outcome=outcome))
        self.assertEqual(fields["latency_s"], 1.0)
        self.assertEqual(fields["timings"]["load_s"], 2.000001)
        self.assertIsNone(fields["timings"]["prompt_s"])

    def test_a_failure_has_an_error_in_place_of_an_answer(self) -> None:
        fields = wire(trial_line(outcome=failure()))
        self.assertFalse({"output", "finish", "reasoning", "usage", "timings", "slept_s"} & fields.keys())
        self.assertEqual(fields["error"], {
            "type": "Timeout", "message": "no whole reply within 120 s", "partial": "half a"})

    def test_fields_of_a_later_kit_are_passed_over(self) -> None:
        for line in EVERY_KIND:
            self.assertEqual(lines.line_of({**wire(line), "new": {"deep": [1]}}), line)

    def test_what_is_unknown_may_be_null_as_a_whole(self) -> None:
        fields = {**wire(trial_line()), "usage": None, "timings": None}
        line = lines.line_of(fields)
        self.assertEqual(line, trial_line(outcome=Reply("mail-1 1", latency_s=1.234567)))
        self.assertEqual(lines.line_of({"kind": "loaded", "load_s": 1}), LoadedLine(1.0))


class WrongFields(unittest.TestCase):
    def refused(self, line: Line, name: str, value: object) -> str:
        fields = wire(line)
        if value is KeyError:
            del fields[name]
        else:
            fields[name] = value
        with self.assertRaises(ValueError) as raised:
            lines.line_of(fields)
        return str(raised.exception)

    def test_a_wrong_value_is_refused_with_the_name_of_its_field(self) -> None:
        trial, failed, session, plan = trial_line(), trial_line(outcome=failure()), session_line(), plan_line()
        error = wire(failed)["error"]
        ask = "0" * 16
        table: list[tuple[Line, str, list[object]]] = [
            (trial, "kind", ["Trial", "", None, 1, KeyError, []]),
            (trial, "system", ["", None, 3, KeyError]),
            (trial, "case", ["", None, ["x"], KeyError]),
            (trial, "trial", [0, -1, 1.0, True, "1", None, KeyError, 10**9]),
            (trial, "seed", [1000, 1002, "1001", 1001.0, None, KeyError]),
            (trial, "attempt", [0, True, 1.5, 70_000, KeyError]),
            (trial, "request", ["", "0" * 15, "0" * 17, "A" * 16, "g" * 16, None, KeyError]),
            (trial, "started_at", ["", "2026-11-30", "2026-11-30T12:00:00Z", STAMP + "\n", "2026-11-30 12:00:00.000Z",
                                   "2026-99-30T12:00:00.000Z", "٢026-11-30T12:00:00.000Z", None, 5, KeyError]),
            (trial, "latency_s", [-1, "1", True, [], KeyError, float("nan"), float("inf")]),
            (trial, "waited_s", [None, -0.5, "0", KeyError]),
            (trial, "slept_s", [-1, "6"]),
            (trial, "retries", [None, -1, 0.5, False, KeyError]),
            (trial, "output", [None, 3, {"a": 1}]),
            (trial, "finish", [3, KeyError]),
            (trial, "reasoning", [3, KeyError]),
            (trial, "usage", [3, [], {"prompt_tokens": -1}, {"output_tokens": 1.5}]),
            (trial, "timings", [3, [], {"load_s": "1"}, {"other_s": -1}]),
            (trial, "error", [error, None]),
            (failed, "error", [None, "Timeout", {}, {**error, "type": "Bored"}, {**error, "type": None},
                               {**error, "message": None}, {**error, "partial": 3}, KeyError]),
            (session, "v", [2, 0, "1", None, KeyError]),
            (session, "started_at", ["yesterday", None]),
            (session, "hardware", [3, KeyError]),
            (session, "environment", [None, [], "Linux", KeyError]),
            (session, "timeout_s", [None, "120", -1, KeyError]),
            (session, "budget_s", ["30", -1, KeyError]),
            (session, "pid", [None, -1, "4711", KeyError]),
            (session, "damage", [None, {}, [[1]], [[1, 2, 3]], [[-1, 2]], [[1.0, 2]], [[True, 2]], ["ab"], KeyError]),
            (plan, "kit", [None, 1, KeyError]),
            (plan, "task", [None, "triage", {}, {"module": "", "name": "x", "version": "1"},
                            {"module": "m", "name": "n", "version": 1}, KeyError]),
            (plan, "split", [None, KeyError]),
            (plan, "cases", [None, {}, ["mail"], [["mail"]], [["", ask]], [["a", "b"]], [[1, ask]],
                             [["a", ask], ["a", ask]], KeyError]),
            (plan, "trials", [0, "2", 2.0, True, 10**12, 10_000_000, KeyError]),
            (plan, "systems", [None, "gemma", [""], [1], ["a", "a"], KeyError]),
            (SystemLine(SYSTEM, SETTINGS), "settings", [None, [], "x", KeyError]),
            (LoadedLine(1.0), "load_s", [None, -1, "1", KeyError]),
            (LoadedLine(1.0), "context_length", [-1, "4096", 4096.0]),
            (LoadedLine(1.0), "details", [[], "Q4"]),
            (StopLine("budget", STAMP), "reason", ["bored", None, [], KeyError]),
            (StopLine("budget", STAMP), "at", ["noon", None, KeyError]),
        ]
        for line, name, values in table:
            for value in values:
                with self.subTest(kind=type(line).__name__, field=name, value=value):
                    text = self.refused(line, name, value)
                    self.assertRegex(text, rf"^{name}\b")
                    self.assertNotIn("\n", text)

    def test_a_wrong_field_inside_another_is_named_with_both(self) -> None:
        text = self.refused(trial_line(), "usage", {"prompt_tokens": "many"})
        self.assertEqual(text, 'usage.prompt_tokens is "many", not a whole number of at least 0, or null')

    def test_a_wrong_element_is_named_with_its_number(self) -> None:
        ask = "0" * 16
        for line, name, value, words in (
                (plan_line(), "cases", [["a", ask], ["b"]], 'cases[1] is ["b"], not [id, ask], a text that is not'),
                (plan_line(), "cases", [["a", ask], ["b", ask], ["a", ask]], 'cases[2] is "a", which stands'),
                (plan_line(), "systems", ["x", 3], "systems[1] is 3, not a text that is not empty"),
                (session_line(), "damage", [[0, 1], [1, -1]], "damage[1] is [1,-1], not [byte offset, length]"),
                (plan_line(), "cases", {}, "cases is an object, not a list of [id, ask]")):
            with self.subTest(words):
                self.assertIn(words, self.refused(line, name, value))

    def test_what_is_no_object_is_no_line(self) -> None:
        values: list[Any] = [None, [], "x", 3, True]
        for value in values:
            with self.subTest(value), self.assertRaises(ValueError):
                lines.line_of(value)

    def test_a_place_is_a_session_and_a_number(self) -> None:
        for session, n in ((None, 1), ("A" * 16, 1), ("a" * 16, -1), ("a" * 16, "1"), ("a" * 16, None)):
            with self.subTest(session=session, n=n), self.assertRaises(ValueError):
                lines.place_of({"session": session, "n": n})


class TheFastScan(unittest.TestCase):
    """The short way through a trial line must say what the long way says, or nothing."""

    def long_way(self, data: bytes) -> ScannedTrial | None:
        try:
            fields = json_text.parse(data)
            line, place = lines.line_of(fields), lines.place_of(fields)
        except ValueError:
            return None
        if not isinstance(line, TrialLine):
            return None
        error_type = line.outcome.error.type if isinstance(line.outcome, Failure) else None
        cell = line.cell
        return ScannedTrial(place.session, place.n, cell.system, cell.case, cell.trial, line.attempt, error_type)

    def test_every_trial_line_the_kit_writes_takes_the_short_way(self) -> None:
        trials = [line for line in EVERY_KIND if isinstance(line, TrialLine)]
        trials += [trial_line(outcome=failure(error_type)) for error_type in ERROR_TYPES]
        for line in trials:
            data = lines.bytes_of(line, PLACE)[:-1]
            with self.subTest(data[:60]):
                self.assertIsNotNone(scan_trial_line(data))
                self.assertEqual(scan_trial_line(data), self.long_way(data))

    def test_other_lines_take_the_long_way(self) -> None:
        for line in EVERY_KIND:
            if not isinstance(line, TrialLine):
                self.assertIsNone(scan_trial_line(lines.bytes_of(line, PLACE)[:-1]))

    def test_the_short_way_accepts_nothing_that_the_long_way_refuses(self) -> None:
        chance = random.Random(20)
        originals = [lines.bytes_of(line, PLACE)[:-1] for line in EVERY_KIND if isinstance(line, TrialLine)]
        pieces = [b'"', b"\\", b"0", b"00", b"-", b".5", b"e-07", b"e9", b"null", b"\\ud800", b"\\ud83d\\ude42",
                  b"\x00", b"\xff", b",", b"{", b"9" * 12, b"true", b"\\x", b"\\u00E9", b" ", b"\n",
                  b"Infinity", b'"a":1,']
        accepted = 0
        for _ in range(6000):
            data = bytearray(chance.choice(originals))
            for _ in range(chance.choice((1, 1, 2))):
                start = chance.randrange(len(data))
                data[start : start + chance.choice((0, 1, 1, 2, 8))] = chance.choice(pieces)
            seen = scan_trial_line(bytes(data))
            if seen is not None:
                accepted += 1
                self.assertEqual(seen, self.long_way(bytes(data)), bytes(data))
        self.assertGreater(accepted, 100)
