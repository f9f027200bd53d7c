"""What is to be run: the plan that is wanted, held against the log."""
from __future__ import annotations

import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.values import Cell, Shard, TaskName
from benchkit.running import plan as planning
from benchkit.running.plan import ALL, AllowedChanges, Assignment, RemainingWork, Selection, cells_of, work_left
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import TrialLog, read_log
from tests.trial_logs import SYSTEM, Lines, complete, plan_line, trial_line, written

NO_CHANGES = AllowedChanges()


@dataclass(frozen=True)
class Recorded:
    """A log of which only this is known: attempts and the last error by (case, trial); others are not recorded."""

    found: dict[tuple[str, int], tuple[int, str | None]]
    stale: tuple[str, ...] = ()

    def attempts(self, cell: Cell) -> int:
        return self.found.get((cell.case, cell.trial), (0, None))[0]

    def is_recorded(self, cell: Cell) -> bool:
        return (cell.case, cell.trial) in self.found and cell.case not in self.stale

    def attempted(self) -> Iterator[tuple[int, Cell]]:
        return ((number, Cell(SYSTEM, *name)) for number, name in enumerate(self.found))

    def error_type(self, cell: Cell) -> str | None:
        return self.found.get((cell.case, cell.trial), (0, None))[1]


def cells(assignments: object) -> list[str]:
    """The cells of assignments, as `mail-1 1`."""
    return [f"{one.cell.case} {one.cell.trial}" for one in assignments]  # type: ignore[attr-defined]


class TheOrder(unittest.TestCase):
    def test_it_is_trial_by_trial_then_system_by_system_then_case_by_case(self) -> None:
        plan = plan_line(("b", "a"), trials=2, systems=("s:2", "s:1"))
        self.assertEqual(
            ["s:2 b 1", "s:2 a 1", "s:1 b 1", "s:1 a 1", "s:2 b 2", "s:2 a 2", "s:1 b 2", "s:1 a 2"],
            [f"{cell.system} {cell.case} {cell.trial}" for cell in cells_of(plan)])

    def test_a_shard_is_every_nth_cell_of_that_order(self) -> None:
        plan = plan_line(("b", "a", "c"), trials=3, systems=("s:2", "s:1"))
        for of in (1, 2, 3, 5, 7, 18, 40):
            for index in range(1, of + 1):
                with self.subTest(index=index, of=of):
                    self.assertEqual(list(cells_of(plan))[index - 1::of], list(cells_of(plan, Shard(index, of))))

    def test_a_shard_of_a_large_plan_is_counted_and_not_skipped_to(self) -> None:
        plan = plan_line(("a", "b", "c"), trials=10**9)
        self.assertEqual([Cell(SYSTEM, "c", 1), Cell(SYSTEM, "c", 500_000_001)],
                         list(cells_of(plan, Shard(3, 1_500_000_000))))

    def test_a_run_stopped_anywhere_leaves_every_case_with_t_or_t_plus_1_trials(self) -> None:
        order = list(cells_of(plan_line(("a", "b", "c"), trials=4)))
        for stopped in range(len(order) + 1):
            counts = {case: sum(cell.case == case for cell in order[:stopped]) for case in "abc"}
            self.assertLessEqual(max(counts.values()) - min(counts.values()), 1)


class WhatIsLeft(unittest.TestCase):
    LOG: TrialLog = Recorded(  # type: ignore[assignment]
        {("a", 1): (1, None), ("b", 1): (2, "Timeout"), ("c", 1): (1, "PromptTooLong"), ("d", 1): (1, None)}, ("d",))
    PLAN = plan_line(("a", "b", "c", "d", "e"), trials=1)

    def test_which_cells_are_left(self) -> None:
        for case, again, changes, left in (
            ("a", False, NO_CHANGES, False),
            ("a", True, NO_CHANGES, False),
            ("b", False, NO_CHANGES, False),
            ("b", True, NO_CHANGES, True),
            ("c", True, NO_CHANGES, False),
            ("d", False, NO_CHANGES, True),
            ("e", False, NO_CHANGES, True),
            ("a", False, AllowedChanges(("a",)), True),
            ("a", False, AllowedChanges(("b",)), False),
            ("a", False, AllowedChanges((), {SYSTEM: ("x",)}), True),
            ("a", False, AllowedChanges((), {"other:one": ("x",)}), False),
        ):
            with self.subTest(case=case, again=again, changes=changes):
                cell, selection = Cell(SYSTEM, case, 1), Selection(retry_errors=again)
                self.assertEqual(left, planning.is_left(self.LOG, cell, changes, selection))

    def test_all_run_again_where_that_is_asked_for(self) -> None:
        for case in "abcde":
            self.assertTrue(planning.is_left(self.LOG, Cell(SYSTEM, case, 1), NO_CHANGES, Selection(again=True)))

    def test_each_runs_as_the_next_attempt(self) -> None:
        work = list(work_left(self.LOG, self.PLAN, NO_CHANGES, Selection(retry_errors=True)))
        self.assertEqual([Assignment(Cell(SYSTEM, "b", 1), 3), Assignment(Cell(SYSTEM, "d", 1), 2),
                          Assignment(Cell(SYSTEM, "e", 1), 1)], work)

    def test_limit_case_and_systems_choose_among_what_is_left(self) -> None:
        plan = plan_line(("a", "e", "f"), trials=2)
        for selection, chosen in (
            (ALL, ["e 1", "f 1", "a 2", "e 2", "f 2"]),
            (Selection(limit=2), ["e 1", "f 1"]),
            (Selection(limit=99), ["e 1", "f 1", "a 2", "e 2", "f 2"]),
            (Selection(case="f"), ["f 1", "f 2"]),
            (Selection(case="a"), ["a 2"]),
            (Selection(case="f", limit=1), ["f 1"]),
            (Selection(systems=(SYSTEM,), limit=1), ["e 1"]),
            (Selection(systems=("other:one",)), []),
        ):
            with self.subTest(selection=selection):
                self.assertEqual(chosen, cells(work_left(self.LOG, plan, NO_CHANGES, selection)))

    def test_looking_ahead_counts_what_stays_and_what_runs(self) -> None:
        for selection, changes, remaining in (
            (ALL, NO_CHANGES, RemainingWork(5, 3, 2, "d, trial 1")),
            (Selection(retry_errors=True), NO_CHANGES, RemainingWork(5, 2, 3, "b, trial 1")),
            (Selection(retry_errors=True, limit=1), NO_CHANGES, RemainingWork(5, 2, 1, "b, trial 1")),
            (Selection(case="a"), NO_CHANGES, RemainingWork(5, 3, 0, None)),
            (ALL, AllowedChanges(("a",)), RemainingWork(5, 2, 3, "a, trial 1")),
        ):
            with self.subTest(selection=selection):
                self.assertEqual(remaining, planning.remaining_work(self.LOG, self.PLAN, changes, selection))

    def test_without_a_log_everything_is_ahead(self) -> None:
        self.assertEqual(RemainingWork(10, 0, 10, "a, trial 1"),
                         planning.remaining_work(None, replace(self.PLAN, trials=2), NO_CHANGES, ALL))


class WhatFits(unittest.TestCase):
    COMMAND = Command("bench.py", ("--quiet",))

    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "robot.jsonl"

    def log(self, lines: Lines | None = None) -> TrialLog:
        return read_log(written(self.path, bytes(lines or complete())))

    def refusal(self, wanted: PlanLine, **more: bool) -> str:
        with self.assertRaises(Unusable) as caught:
            planning.check_fits(self.log(), wanted, self.COMMAND, **more)
        self.assertTrue(str(caught.exception).startswith(f"{self.path}: "))
        return str(caught.exception)

    def test_a_plan_may_stay_grow_and_be_asked_otherwise(self) -> None:
        for wanted in (plan_line(), plan_line(trials=5), plan_line(("mail-0", "mail-1", "mail-2", "mail-3")),
                       plan_line(("mail-3", "mail-2", "mail-1")), plan_line(changed="mail-1"),
                       replace(plan_line(), kit="9", task=TaskName("triage_task", "other", "9"))):
            planning.check_fits(self.log(), wanted, self.COMMAND)

    def test_a_log_without_a_plan_fits_all(self) -> None:
        planning.check_fits(self.log(Lines().begin()), plan_line(trials=1, systems=("a:b",)), self.COMMAND)

    def test_a_contradiction_names_the_command_that_would_be_right(self) -> None:
        other_task = replace(plan_line(), task=TaskName("my_task", "inbox", "1"))
        for wanted, words in (
            (plan_line(systems=("baselines:coin",)),
             f"recorded with --system {SYSTEM}, not baselines:coin; go on with python3 bench.py --quiet --system "
             f"{SYSTEM}, or choose another --log"),
            (other_task, "recorded with --task triage_task, not my_task; go on with python3 bench.py --quiet --task"),
            (replace(plan_line(), split="test"), "--quiet --split development, or choose another --log"),
            (plan_line(trials=1), "it plans 2 trials, and 1 is fewer; go on with python3 bench.py --quiet --trials 2"),
        ):
            with self.subTest(words=words):
                self.assertIn(words, self.refusal(wanted))

    def test_systems_may_be_added_only_where_that_is_said(self) -> None:
        both = plan_line(systems=(SYSTEM, "baselines:coin"))
        planning.check_fits(self.log(), both, self.COMMAND, adds_systems=True)
        self.assertIn("--system", self.refusal(both))

    def test_a_planned_case_that_is_gone_is_named(self) -> None:
        self.assertIn("case mail-2 of its plan is not in the cases any more",
                      self.refusal(plan_line(("mail-1", "mail-3"))))
        self.assertIn("cases mail-1, mail-2 of its plan are not", self.refusal(plan_line(("mail-3",))))

    def test_changed_asks_are_those_of_planned_cases(self) -> None:
        log = self.log()
        wanted = plan_line(("mail-1", "mail-2", "mail-3", "new"), changed="mail-2")
        self.assertEqual(("mail-2",), planning.changed_asks(log, wanted))
        self.assertEqual((), planning.changed_asks(log, plan_line(("new", "mail-1", "mail-2", "mail-3"))))
        self.assertEqual((), planning.changed_asks(self.log(Lines().begin()), plan_line()))

    def test_changes_are_refused_with_all_that_differs_and_what_to_do(self) -> None:
        log = self.log()
        planning.refuse_changes(log, AllowedChanges(), "")
        with self.assertRaises(Unusable) as caught:
            planning.refuse_changes(log, AllowedChanges(
                ("mail-1",), {SYSTEM: ("options.top_k: 64 -> 1", 'digest: "a" -> "b"')}), "put it back")
        self.assertEqual(
            f"{self.path}: the prompt or schema of case mail-1 changed, and the settings of {SYSTEM} changed "
            '(options.top_k: 64 -> 1; digest: "a" -> "b") since it was recorded; put it back', str(caught.exception))

    def test_a_cell_once_recorded_is_left_when_its_request_changed_in_the_log(self) -> None:
        lines = complete().add(plan_line(changed="mail-2"), trial_line("mail-2", 1, asked="mail-2!", attempt=2))
        log = self.log(lines)
        self.assertEqual(["mail-2 2"], cells(work_left(log, plan_line(changed="mail-2"), NO_CHANGES, ALL)))
