"""Which part of a plan a machine runs, as a person or a job array says it."""
from __future__ import annotations

import unittest

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Shard
from benchkit.running.plan import Selection, remaining_work, work_left
from benchkit.running.shards import better_number, mark_of, shard_of
from tests.test_running_plan import NO_CHANGES, cells
from tests.trial_logs import plan_line


def slurm(task: int, first: int, last: int, count: int, step: int | None = 1) -> dict[str, str]:
    """The variables of a task of a Slurm job array."""
    found = {"ID": task, "MIN": first, "MAX": last, "COUNT": count, **({} if step is None else {"STEP": step})}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in found.items()}


class AsGiven(unittest.TestCase):
    def test_a_shard_is_named_i_of_n(self) -> None:
        for text, shard in (("1/1", Shard(1, 1)), ("2/3", Shard(2, 3)), ("65535/65535", Shard(65535, 65535))):
            self.assertEqual(shard, shard_of(text, {}))
            self.assertEqual(text, str(shard))

    def test_what_is_no_shard_is_refused(self) -> None:
        for text in ("", "1", "/", "1/", "a/b", "1/2/3", "-1/2", " 1/2", "1/2 ", "0x1/2", "AUTO", "1.0/2", "\u0661/2"):
            with self.subTest(text=text), self.assertRaisesRegex(Unusable, "a shard is I/N"):
                shard_of(text, {})

    def test_a_shard_out_of_range_is_refused(self) -> None:
        for text in ("0/3", "4/3", "1/0", "0/0", "1/65536", "999999999/999999999"):
            with self.subTest(text=text), self.assertRaisesRegex(Unusable, f"^--shard {text}: I goes from 1 to N"):
                shard_of(text, {})

    def test_the_log_of_a_shard_is_marked(self) -> None:
        self.assertEqual((".shard-2-of-3", ""), (mark_of(Shard(2, 3)), mark_of(None)))


class HowMany(unittest.TestCase):
    def test_a_number_that_divides_the_cases_has_a_better_one_above_it(self) -> None:
        for of, columns, better in ((4, 64, 5), (64, 64, 65), (2, 64, 3), (3, 9, 4), (6, 30, 7), (1000, 10_000, 1001)):
            with self.subTest(of=of, columns=columns):
                self.assertEqual(better_number(Shard(1, of), columns), better)

    def test_other_numbers_spread_every_case(self) -> None:
        for of, columns in ((1, 64), (3, 64), (5, 64), (7, 30), (999, 10_000), (65, 64), (6, 64)):
            with self.subTest(of=of, columns=columns):
                self.assertIsNone(better_number(Shard(1, of), columns))

    def test_the_better_number_has_every_shard_hold_every_case(self) -> None:
        for of, columns in ((4, 64), (5, 35), (12, 144)):
            better = better_number(Shard(1, of), columns)
            assert better is not None
            held = {(cell % better, cell % columns) for cell in range(better * columns)}
            self.assertEqual(len(held), better * columns)


class FromAJobArray(unittest.TestCase):
    def test_every_task_of_a_slurm_range_is_a_shard_of_its_own(self) -> None:
        for first, last, step in ((0, 7, 1), (1, 8, 1), (0, 0, 1), (5, 5, 1), (17, 23, 3), (0, 30, 10), (1, 10, 4)):
            tasks = range(first, last + 1, step)
            # Slurm gives the last task there is, not the end of the range as typed
            found = [shard_of("auto", slurm(task, first, tasks[-1], len(tasks), step)) for task in tasks]
            self.assertEqual([Shard(number, len(tasks)) for number in range(1, len(tasks) + 1)], found)

    def test_a_slurm_that_tells_no_step_steps_by_one(self) -> None:
        self.assertEqual(Shard(2, 3), shard_of("auto", slurm(5, 4, 6, 3, None)))

    def test_a_slurm_list_that_is_no_range_is_refused(self) -> None:
        for variables in (slurm(3, 1, 8, 3), slurm(3, 1, 7, 3, 2), slurm(4, 1, 7, 4, 2), slurm(1, 1, 7, 7, 0)):
            with self.subTest(variables=variables), self.assertRaisesRegex(Unusable, "which is no range"):
                shard_of("auto", variables)

    def test_of_part_of_an_array_the_number_is_given_and_the_task_says_which(self) -> None:
        for task, first, last, count, step in ((3, 3, 3, 1, 1), (3, 3, 4, 2, 1), (7, 3, 7, 2, 4), (8, 1, 8, 8, 1),
                                               (8, 2, 8, 3, 1), (1, 1, 1, 1, None)):
            with self.subTest(task=task, first=first, last=last):
                self.assertEqual(Shard(task, 8), shard_of("auto/8", slurm(task, first, last, count, step)))
        self.assertEqual(Shard(3, 8), shard_of("auto/8", {"SLURM_ARRAY_TASK_ID": "3"}))
        for more in ({}, {"JOB_COMPLETIONS": "2"}):
            self.assertEqual(Shard(3, 8), shard_of("auto/8", {"JOB_COMPLETION_INDEX": "2", **more}))

    def test_a_task_that_would_have_another_shard_when_it_is_run_again_is_refused(self) -> None:
        for text, variables, words in (
                ("auto/8", slurm(0, 0, 7, 8), "gives 0/8: I goes from 1"),
                ("auto/8", slurm(3, 0, 7, 8), "numbered from 0; submit it as --array=1-8"),
                ("auto/8", slurm(9, 9, 9, 1), "gives 9/8"), ("auto/0", slurm(1, 1, 1, 1), "gives 1/0"),
                ("auto/8", {"JOB_COMPLETION_INDEX": "8"}, "gives 9/8"), ("auto/8", {}, "no task of a job array"),
                ("auto/", {}, "a shard is I/N"), ("auto/x", {}, "a shard is I/N"), ("auto/1/2", {}, "a shard is I/N")):
            with self.subTest(text, words=words), self.assertRaisesRegex(Unusable, words):
                shard_of(text, variables)

    def test_a_task_outside_of_its_own_array_is_refused(self) -> None:
        with self.assertRaisesRegex(Unusable, "give 4/3: I goes from 1"):
            shard_of("auto", slurm(4, 1, 3, 3))

    def test_an_indexed_job_counts_from_zero(self) -> None:
        for index in range(4):
            variables = {"JOB_COMPLETION_INDEX": str(index), "JOB_COMPLETIONS": "4"}
            self.assertEqual(Shard(index + 1, 4), shard_of("auto", variables))

    def test_variables_that_are_missing_or_no_numbers_are_named(self) -> None:
        for variables, words in (
            ({}, "this is no task of a job array"), ({"JOB_COMPLETION_INDEX": "0"}, "the variable JOB_COMPLETIONS"),
            ({"JOB_COMPLETION_INDEX": "x", "JOB_COMPLETIONS": "3"}, "JOB_COMPLETION_INDEX is x, no number"),
            ({"JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "3"}, "give 4/3"),
            ({"SLURM_ARRAY_TASK_ID": "1"}, "SLURM_ARRAY_TASK_MIN is empty or not set"),
            ({**slurm(1, 1, 3, 3), "SLURM_ARRAY_TASK_MAX": "-3"}, "SLURM_ARRAY_TASK_MAX is -3, no number"),
        ):
            with self.subTest(variables=variables), self.assertRaisesRegex(Unusable, words):
                shard_of("auto", variables)


class ItsCells(unittest.TestCase):
    def test_what_is_left_and_what_is_planned_are_those_of_the_shard(self) -> None:
        plan, selection = plan_line(("a", "b", "c"), trials=2), Selection(shard=Shard(2, 4))
        self.assertEqual(["b 1", "c 2"], cells(work_left(None, plan, NO_CHANGES, selection)))
        remaining = remaining_work(None, plan, NO_CHANGES, selection)
        self.assertEqual(
            (2, 0, 2, "b, trial 1"), (remaining.planned, remaining.recorded, remaining.chosen, remaining.first)
        )

    def test_a_limit_is_one_of_the_shard(self) -> None:
        plan, selection = plan_line(("a", "b", "c"), trials=2), Selection(limit=1, shard=Shard(3, 4))
        self.assertEqual(["c 1"], cells(work_left(None, plan, NO_CHANGES, selection)))
