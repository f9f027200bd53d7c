"""Judging a batch: a row for every planned cell, made of questions, log and trace; and what may stand."""
from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import text_digest
from benchkit.basics.values import Case, Cell
from benchkit.boards.evaluation import NOTHING_BEFORE, Before, keep_what_is_unchanged, keep_what_was_judged
from benchkit.boards.pack import Pack, Step, Track
from benchkit.boards.scores import RowError, ScoreRow, changes_between, keep_rows, line_of, read_rows, row_of
from benchkit.running.plan import Selection
from benchkit.tasks.task import case_sha256
from tests.toy_game import ANSWER, CASES, LONG_LOOK, LOOK, ROBOT, Batch, Robot, timed_out, toy_pack


def spent(case: Case, answer: str, steps: Sequence[Step]) -> float:
    return sum(step.cost for step in steps) / 4


def seen(case: Case, answer: str, steps: Sequence[Step]) -> float:
    return len([one for step in steps for one in step.observations]) / 10


def honest(case: Case, answer: str, steps: Sequence[Step]) -> bool:
    return "blue" not in answer


def breaks(case: Case, answer: str, steps: Sequence[Step]) -> float:
    raise KeyError("no such colour")


SPENT = Track("spent", "capability", "a", "b", spent, "a" * 64)
SEEN = Track("seen", "capability", "a", "b", seen, "b" * 64)
HONEST = Track("honest", "gate", "a", "b", honest, "c" * 64)


def pack_of(*tracks: Track, version: str = "1") -> Pack:
    return replace(toy_pack(), tracks=tracks, judge_version=version)


PACK = pack_of(SPENT, SEEN, HONEST)


def gives(value: Any) -> Callable[[Case, str, Sequence[Step]], float]:
    """A judge that gives this, whatever it is."""
    def judge(case: Case, answer: str, steps: Sequence[Step]) -> float:
        return cast("float", value)
    return judge


class Judged(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.batch = Batch(self.folder)

    def rows(self, pack: Pack = PACK, before: Before = NOTHING_BEFORE) -> dict[str, ScoreRow]:
        """The rows of trial 1 by case."""
        rows = self.batch.examined(pack, before).rows
        return {row.cell.case: row for row in rows if row.cell.trial == 1}

    def run_robot(self, *script: object, limit: int | None = None, trials: int = 1) -> None:
        self.batch.run({ROBOT: Robot(list(script))}, trials=trials, selection=Selection(limit))  # type: ignore[arg-type]

    def before(self) -> dict[Cell, ScoreRow]:
        return {row.cell: row for row in self.rows().values()}


class Rows(Judged):
    def test_a_judge_reads_the_answer_and_the_steps_that_the_trace_has(self) -> None:
        self.run_robot(LOOK, LONG_LOOK, ANSWER, "it is blue")
        first, second = self.rows().values()
        self.assertEqual(({"spent": 1.0, "seen": 0.3}, {"honest": True}), (first.capabilities, first.gates))
        self.assertEqual(({"spent": 0.0, "seen": 0.1}, {"honest": False}), (second.capabilities, second.gates))

    def test_a_row_says_what_was_judged_and_by_what(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        row = self.rows()["toy-1"]
        self.assertEqual(
            (Cell(ROBOT, "toy-1", 1), 1, case_sha256(CASES[0]), text_digest(ANSWER), None, "1",
             {"spent": "a" * 16, "seen": "b" * 16, "honest": "c" * 16}),
            (row.cell, row.attempt, row.case_sha256, row.output_sha256, row.error, row.judge_version, row.fingerprints))

    def test_an_error_of_the_trial_is_its_incompleteness(self) -> None:
        self.run_robot(LOOK, timed_out(), ANSWER)
        row = self.rows()["toy-1"]
        self.assertEqual((RowError("Timeout", "no whole reply within 1 s"), {}, {}, None),
                         (row.error, row.capabilities, row.gates, row.output_sha256))

    def test_a_judge_that_raises_makes_the_cell_incomplete_and_never_a_zero(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        row = self.rows(pack_of(SPENT, replace(SEEN, judge=breaks)))["toy-1"]
        line = breaks.__code__.co_firstlineno + 1
        told = f"track seen raised KeyError: 'no such colour' (test_boards_evaluation.py, line {line})"
        self.assertEqual((RowError("CheckError", told), {}), (row.error, row.capabilities))

        for track, value, words in (
            (SPENT, 1.5, "track spent gave 1.5, not a number from 0 to 1"), (SPENT, -0.1, "track spent gave -0.1, not"),
            (SPENT, float("nan"), "track spent gave float"), (SPENT, None, "gave NoneType"), (SPENT, "1", "gave str"),
            (SPENT, True, "gave bool"), (HONEST, 1, "track honest gave int, not whether it held"),
        ):
            with self.subTest(words):
                error = self.rows(pack_of(replace(track, judge=gives(value)), SEEN))["toy-1"].error
                assert error is not None
                self.assertEqual("CheckError", error.type)
                self.assertIn(words, error.message)

    def test_cells_that_did_not_run_have_a_row_too_in_the_order_of_the_plan(self) -> None:
        self.run_robot(ANSWER, limit=1, trials=2)
        rows = self.batch.examined(PACK).rows
        self.assertEqual([("toy-1", 1), ("toy-2", 1), ("toy-1", 2), ("toy-2", 2)],
                         [(row.cell.case, row.cell.trial) for row in rows])
        self.assertEqual([None, *[RowError("NotRun", "not run: only some cases were asked for")] * 3],
                         [row.error for row in rows])

    def test_the_last_attempt_counts(self) -> None:
        self.run_robot(timed_out(), ANSWER)
        self.batch.run({ROBOT: Robot(["it is blue"])}, selection=Selection(retry_errors=True))
        row = self.rows()["toy-1"]
        self.assertEqual((2, {"honest": False}), (row.attempt, row.gates))

    def test_a_trial_that_is_not_in_the_trace_is_not_judged(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        lines = self.batch.trace_path.read_bytes().splitlines(keepends=True)
        self.batch.trace_path.write_bytes(b"".join(line for line in lines if b'"case":"toy-1"' not in line))
        row = self.rows()["toy-1"]
        self.assertEqual(RowError("CheckError", "what it saw and said is not in the trace"), row.error)

    def test_an_abandoned_trial_is_not_judged(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        # killed between the end of its last trial in the trace and its line in the log
        lines = self.batch.log_path.read_bytes().splitlines(keepends=True)
        self.batch.log_path.write_bytes(b"".join(lines[:-2]))
        self.run_robot("it is blue")
        self.assertEqual({"honest": False}, self.rows()["toy-2"].gates)
        self.assertEqual((2, 1), (self.batch.verified().segments, self.batch.verified().abandoned))


class WhatStands(Judged):
    """Rows of before under a judge that has changed."""

    def setUp(self) -> None:
        super().setUp()
        self.run_robot(LOOK, ANSWER, ANSWER)
        self.other = replace(SPENT, judge=lambda case, answer, steps: 0.75, fingerprint="d" * 64)

    def test_rows_stand_as_they_were_judged(self) -> None:
        self.assertEqual({"spent": 0.75, "seen": 0.2}, self.rows(pack_of(self.other, SEEN))["toy-1"].capabilities)
        before = Before(self.before(), keep_what_was_judged)
        row = self.rows(pack_of(self.other, SEEN, HONEST, version="2"), before)["toy-1"]
        self.assertEqual(before.rows[row.cell], row)

    def test_only_the_track_whose_judge_changed_is_judged_again(self) -> None:
        rows = {cell: replace(row, capabilities={**row.capabilities, "seen": 0.9})
                for cell, row in self.before().items()}
        row = self.rows(pack_of(self.other, SEEN, HONEST), Before(rows, keep_what_is_unchanged))["toy-1"]
        self.assertEqual({"spent": 0.75, "seen": 0.9}, row.capabilities)
        self.assertEqual("d" * 16, row.fingerprints["spent"])

    def test_a_track_that_is_new_is_judged_and_one_that_is_gone_is_left_out(self) -> None:
        new = replace(SEEN, name="new")
        row = self.rows(pack_of(SPENT, new), Before(self.before(), keep_what_was_judged))["toy-1"]
        self.assertEqual(({"spent": 0.25, "new": 0.2}, {}, {"spent", "new"}),
                         (row.capabilities, row.gates, set(row.fingerprints)))

    def test_a_row_of_another_answer_or_another_question_does_not_stand(self) -> None:
        changes: tuple[dict[str, Any], ...] = (
            {"output_sha256": "0" * 64}, {"case_sha256": "0" * 64}, {"attempt": 2})
        for change in changes:
            with self.subTest(change):
                rows = {cell: replace(row, **change) for cell, row in self.before().items()}
                row = self.rows(pack_of(self.other, SEEN), Before(rows, keep_what_was_judged))["toy-1"]
                self.assertEqual(0.75, row.capabilities["spent"])

    def test_an_answer_that_could_not_be_judged_stands_as_a_whole_or_is_judged_again(self) -> None:
        broken = pack_of(replace(SPENT, judge=breaks), SEEN, HONEST)
        rows = {row.cell: row for row in self.rows(broken).values()}
        self.assertEqual(rows, {row.cell: row for row in self.rows(
            PACK, Before(rows, keep_what_was_judged)).values()})
        row = self.rows(pack_of(self.other, SEEN, HONEST), Before(rows, keep_what_is_unchanged))["toy-1"]
        self.assertEqual((None, 0.75), (row.error, row.capabilities["spent"]))


class OnTheDisk(Judged):
    def test_rows_are_read_as_they_were_written_and_the_same_are_not_written_again(self) -> None:
        self.run_robot(LOOK, timed_out(), ANSWER)
        path = self.folder / "eval.jsonl"
        self.assertEqual({}, read_rows(path))
        rows = self.before()
        keep_rows(path, rows.values())
        self.assertEqual(rows, read_rows(path))
        self.assertEqual(2, len(path.read_bytes().splitlines()))
        inode = path.stat().st_ino
        keep_rows(path, rows.values())
        self.assertEqual(inode, path.stat().st_ino)

    def test_what_is_no_row_is_named_by_its_line_and_field(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        good = json.loads(line_of(self.rows()["toy-1"]))
        path = self.folder / "eval.jsonl"
        for change, words in (
            ({"tracks": {"spent": 2}}, "tracks.spent is 2, not a number from 0 to 1"),
            ({"gates": {"honest": 1}}, "gates.honest is 1, not true or false"),
            ({"verdict": "pass"}, "verdict is"), ({"verdict": "incomplete"}, "verdict is"),
            ({"trial": 0}, "trial is 0"),
            ({"error": {"type": "Odd", "message": ""}}, "error.type is"), ({"more": 1}, "more is no field"),
        ):
            with self.subTest(change):
                path.write_bytes(line_of(self.rows()["toy-2"]) + json.dumps({**good, **change}).encode() + b"\n")
                with self.assertRaisesRegex(Unusable, f"eval.jsonl, line 2: {words}.*delete the file"):
                    read_rows(path)

    def test_changes_are_told_field_by_field(self) -> None:
        self.run_robot(ANSWER, ANSWER)
        row = row_of(json.loads(line_of(self.rows()["toy-1"])))
        changed = replace(row, capabilities={"spent": 0.5, "seen": 0.1}, gates={"honest": False})
        place = "toy-1, toys:robot, trial 1"
        self.assertEqual([f"{place}: spent 0.0 -> 0.5", f"{place}: honest true -> false"],
                         [str(one) for one in changes_between({row.cell: row}, [changed])])
        self.assertEqual([], list(changes_between({row.cell: row}, [replace(row, judge_version="2")])))
        self.assertEqual(["toy-1, toys:robot, trial 1: row there -> none"],
                         [str(one) for one in changes_between({row.cell: row}, [])])
