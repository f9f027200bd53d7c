"""The simulation of a fleet against what can be worked out on paper."""
from __future__ import annotations

import io
import math
import unittest
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from random import Random
from statistics import mean

from benchkit.basics.values import Shard
from benchkit.running.plan import cells_of
from benchmarks.cuts import Plan, case_major_counts, known_after, trial_major_counts
from benchmarks.fleet import NEVER, Fleet, Interruptions, Job, shard_sizes, simulate, speeds_of
from benchmarks.merge_tree import Costs, log_bytes, merging, uploaded_bytes
from benchmarks.simulate_fleet import main
from tests.trial_logs import plan_line

COSTS = Costs(trials_per_s=1_000, bytes_per_trial=700, bytes_per_case=35, bytes_per_cell=2, bytes_per_own=11,
              start_s=0.5)
OFTEN = Interruptions(between_failures_s=5_000, repair_s=500, between_preemptions_s=2_000, replace_s=50)


class WithoutInterruptions(unittest.TestCase):
    def test_the_end_is_exact(self) -> None:
        for job, ends_s in (
            (Job(1_000, 10), 60 + 100 * 2.0), (Job(1_000, 10, pinned=True), 60 + 100 * 2.0),
            (Job(1_001, 10), 60 + 101 * 2.0), (Job(1_000, 20), 2 * (60 + 50 * 2.0)), (Job(1_000, 1), 60 + 1_000 * 2.0),
        ):
            with self.subTest(job=job):
                found = simulate(Fleet(10, 2.0, start_s=60), job, Random(1))
                self.assertEqual((ends_s, 0, 0, 0.0), (found.ended_s, found.left, found.interruptions, found.repeated))
                self.assertEqual(job.trials * 2.0 / 10, found.ideal_s)

    def test_trials_that_are_under_way_together_end_together(self) -> None:
        found = simulate(Fleet(1, 2.0, at_once=8), Job(20, 1), Random(1))
        self.assertEqual(3 * 8 * 2.0, found.ended_s)

    def test_one_slow_machine_makes_pinned_shards_wait_and_a_queue_of_small_ones_does_not(self) -> None:
        fleet = Fleet(10, 1.0, slow=0.1, slow_speed=0.5)
        self.assertEqual([0.5] + [1.0] * 9, sorted(speeds_of(fleet, Random(1))))
        pinned = simulate(fleet, Job(10_000, 10, pinned=True), Random(1))
        self.assertAlmostEqual(2 * 9.5 / 10, pinned.times_ideal)
        queued = simulate(fleet, Job(10_000, 1_000), Random(1))
        # the last shard begins before the ideal end, and takes the slow machine 20 s at most
        self.assertLessEqual(queued.ended_s, queued.ideal_s + 20)

    def test_all_machines_stop_when_the_time_is_over(self) -> None:
        found = simulate(Fleet(4, 2.0, start_s=10), Job(1_000, 4, until_s=111), Random(1))
        self.assertEqual(((50,) * 4, 800, 111, NEVER), (found.done, found.left, found.ended_s, found.times_ideal))

    def test_a_shard_whose_budget_is_over_ends_in_order_and_the_next_is_taken(self) -> None:
        for pinned, shards, done in ((False, 8, (50,) * 8), (True, 4, (50,) * 4)):
            found = simulate(Fleet(4, 2.0, start_s=10), Job(1_000, shards, pinned, budget_s=111), Random(1))
            self.assertEqual((done, 0.0), (found.done, found.repeated))

    def test_more_pinned_shards_than_machines_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "11 shards cannot be pinned to 10 machines"):
            simulate(Fleet(10, 2.0), Job(100, 11, pinned=True), Random(1))


class Interrupted(unittest.TestCase):
    def test_every_trial_ends_once_or_is_counted_as_left(self) -> None:
        for kept_every_s in (0.0, 100.0, NEVER):
            for pinned, shards in ((True, 7), (False, 7), (False, 40)):
                for until_s in (3_000.0, 1e9):
                    job = Job(10_003, shards, pinned, kept_every_s=kept_every_s, until_s=until_s)
                    with self.subTest(job=job):
                        fleet = Fleet(7, 2.0, 4, 1.0, 0.2, 0.2, 0.5, 10, OFTEN)
                        found = simulate(fleet, job, Random(3))
                        self.assertEqual(10_003, sum(found.done) + found.left)
                        for done, size in zip(found.done, shard_sizes(10_003, shards), strict=True):
                            self.assertTrue(0 <= done <= size)
                        self.assertEqual(until_s > 3_000, found.left == 0)
                        self.assertGreater(found.interruptions, 0)

    def test_the_same_seed_gives_the_same_run_and_another_one_another(self) -> None:
        fleet, job = Fleet(7, 2.0, 4, 1.0, 0.2, 0.2, 0.5, 10, OFTEN), Job(10_000, 40)
        self.assertEqual(simulate(fleet, job, Random(1)), simulate(fleet, job, Random(1)))
        self.assertNotEqual(simulate(fleet, job, Random(1)), simulate(fleet, job, Random(2)))

    def test_interruptions_come_as_often_as_the_rate_says(self) -> None:
        # 200,000 s of work in all and one interruption in 1,000 s: 200 of them, give or take four deviations of Poisson
        fleet = Fleet(20, 1.0, interruptions=Interruptions(between_failures_s=2_000, between_preemptions_s=2_000))
        found = simulate(fleet, Job(200_000, 200), Random(5))
        self.assertAlmostEqual(200, found.interruptions, delta=4 * math.sqrt(200))

    def test_an_interruption_costs_the_trials_under_way_and_no_more(self) -> None:
        for at_once in (1, 8):
            fleet = Fleet(20, 1.0, at_once, interruptions=Interruptions(1_000))
            found = simulate(fleet, Job(200_000, 200), Random(5))
            self.assertLessEqual(found.repeated, found.interruptions * at_once)
            self.assertAlmostEqual(at_once / 2, found.repeated / found.interruptions, delta=at_once / 8)

    def test_copies_lose_half_of_what_lies_between_them(self) -> None:
        fleet = Fleet(20, 1.0, interruptions=Interruptions(10_000))
        found = simulate(fleet, Job(4_000_000, 20, kept_every_s=100), Random(5))
        self.assertAlmostEqual(50, found.repeated / found.interruptions, delta=5)

    def test_what_keeps_only_whole_shards_takes_as_long_as_the_formula_of_restarts_says(self) -> None:
        # mean time to an uninterrupted stretch of T: (1/rate + repair) (exp(rate T) - 1)
        failing = Interruptions(between_failures_s=1_000, repair_s=200)
        fleet, job = Fleet(1, 1.0, interruptions=failing), Job(1_000, 1, kept_every_s=NEVER)
        times = [simulate(fleet, job, Random(seed)).ended_s for seed in range(3_000)]
        expected = (1_000 + 200) * (math.e - 1)
        self.assertAlmostEqual(expected, mean(times), delta=0.08 * expected)


class WhatACutLeaves(unittest.TestCase):
    def test_counts_are_those_of_the_cells_one_by_one(self) -> None:
        random = Random(7)
        for cases, trials, shards in ((6, 5, 4), (12, 7, 8), (10, 10, 1), (5, 9, 7), (9, 4, 9), (4, 3, 20)):
            plan = Plan(cases, trials)
            done = [random.randint(0, size) for size in shard_sizes(plan.cells, shards)]
            ran = [number for index in range(shards) for number in range(index, plan.cells, shards)[:done[index]]]
            with self.subTest(plan=plan, done=done):
                by_trial, by_case = Counter(at % cases for at in ran), Counter(at // trials for at in ran)
                self.assertEqual([by_trial[case] for case in range(cases)], trial_major_counts(plan, done))
                self.assertEqual([by_case[case] for case in range(cases)], case_major_counts(plan, done))

    def test_the_cells_of_a_shard_are_those_that_the_kit_runs(self) -> None:
        ids = [f"case-{number}" for number in range(6)]
        done = [3, 5, 0, 4]
        counts = Counter(cell.case for index, some in enumerate(done)
                         for cell in list(cells_of(plan_line(ids, trials=5), Shard(index + 1, 4)))[:some])
        self.assertEqual([counts[case] for case in ids], trial_major_counts(Plan(6, 5), done))

    def test_a_shard_that_is_missing_takes_whole_cases_away_if_shards_and_cases_have_a_common_divisor(self) -> None:
        plan = Plan(100, 30)
        for shards, fewest in ((10, 0), (11, 27), (50, 0), (99, 29)):
            done = shard_sizes(plan.cells, shards)
            done[0] = 0
            self.assertEqual(fewest, min(trial_major_counts(plan, done)), shards)

    def test_trial_major_leaves_little_of_every_case_and_case_major_all_of_some(self) -> None:
        plan = Plan(100, 30)
        half = [size // 2 for size in shard_sizes(plan.cells, 3)]
        trial_major = known_after(plan, trial_major_counts(plan, half), (1, 15, 30), Random(1))
        case_major = known_after(plan, case_major_counts(plan, half), (1, 15, 30), Random(1))
        self.assertEqual((15, (100, 100, 0)), (trial_major.fewest, trial_major.at_least))
        self.assertEqual((0, (50, 50, 50)), (case_major.fewest, case_major.at_least))
        self.assertEqual(1.0, case_major.width)
        self.assertAlmostEqual(0.46, trial_major.width, places=1)
        self.assertAlmostEqual(0.0, trial_major.error, delta=0.05)
        self.assertAlmostEqual(0.2, case_major.error, delta=0.05)


class Merges(unittest.TestCase):
    def test_a_tree_has_as_many_levels_as_the_logarithm_and_reads_every_trial_once_in_each(self) -> None:
        for logs, fan_in, levels, merges in ((1, 10, 0, 0), (10, 10, 1, 1), (1_000, 1_000, 1, 1), (1_000, 10, 3, 111),
                                             (1_000, 32, 2, 33), (11, 10, 2, 3)):
            with self.subTest(logs=logs, fan_in=fan_in):
                found = merging(COSTS, logs, 10_000, 0, fan_in, 1_000)
                self.assertEqual((levels, merges, levels * 10_000 * 700.0),
                                 (found.levels, found.merges, found.bytes_read))

    def test_the_last_merge_takes_all_trials_so_a_tree_is_never_sooner_than_one_merge(self) -> None:
        self.assertEqual(0.5 + 10, merging(COSTS, 100, 10_000, 50, 100, 1_000).took_s)
        self.assertEqual(2 * 0.5 + 1 + 10, merging(COSTS, 100, 10_000, 50, 10, 1_000).took_s)
        self.assertEqual(2 * (0.5 + 1) + 0.5 + 10, merging(COSTS, 100, 10_000, 50, 10, 5).took_s)

    def test_a_merge_of_merges_has_room_for_all_cells_and_a_merge_of_shards_only_for_theirs(self) -> None:
        self.assertEqual(10_000 * 2 + 100 * 11, merging(COSTS, 100, 10_000, 50, 100, 1).memory_bytes)
        self.assertEqual(10_000 * (2 + 11), merging(COSTS, 100, 10_000, 50, 10, 1).memory_bytes)

    def test_every_log_names_the_whole_plan(self) -> None:
        self.assertEqual(100 * 700 + 50 * 35, log_bytes(COSTS, 100, 50))
        self.assertEqual(100 * 700 + 10 * 50 * 35, merging(COSTS, 10, 100, 50, 10, 1).bytes_read)

    def test_a_merge_takes_two_logs_at_least(self) -> None:
        with self.assertRaisesRegex(ValueError, "two logs"):
            merging(COSTS, 10, 100, 50, 1, 1)

    def test_whole_copies_of_a_growing_log_add_up(self) -> None:
        self.assertEqual(1_000, uploaded_bytes(1_000, 60, 600))
        self.assertEqual(1_000, uploaded_bytes(1_000, 600, 600))
        self.assertEqual(250 + 500 + 750 + 1_000, uploaded_bytes(1_000, 2_400, 600))


class TheCommand(unittest.TestCase):
    def run_main(self, *words: str) -> tuple[int, str, str]:
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr):
            try:
                code = main(words)
            except SystemExit as exit_:
                code = int(exit_.code or 0)
        return code, stdout.getvalue(), stderr.getvalue()

    def test_a_table_stands_with_the_command_that_makes_it_again(self) -> None:
        words = ("--only", "balance", "--machines", "10", "--trials", "1000000", "--seeds", "2")
        code, stdout, stderr = self.run_main(*words)
        self.assertEqual((0, ""), (code, stderr))
        self.assertIn("1,000,000 trials in 10 runs on 10 machines: 55.6 h at best.", stdout)
        again = stdout.splitlines()[-1].removeprefix("again: python3 -m benchmarks.simulate_fleet ").split()
        self.assertEqual(sorted(words), sorted(again))
        self.assertEqual(stdout, self.run_main(*again)[1])

    def test_every_table_is_made(self) -> None:
        code, stdout, _ = self.run_main("--machines", "20", "--trials", "100000", "--runs", "2", "--seeds", "1")
        self.assertEqual((0, 5), (code, stdout.count("again: python3 -m benchmarks.simulate_fleet --only")))

    def test_flags_that_cannot_be_meant_are_refused_in_a_line(self) -> None:
        for words, line in ((("--machines", "0"), "--machines 0: it is more than 0"),
                            (("--slow-share", "2"), "--slow-share 2.0: it is a share, from 0 to 1"),
                            (("--start-s", "-1"), "not negative"), (("--mtbf-h", "nan"), "--mtbf-h nan"),
                            (("--trials", "10"), "10 runs of 10,000 cases have more")):
            code, stdout, stderr = self.run_main(*words)
            self.assertEqual((2, "", 1), (code, stdout, stderr.count("\n")))
            self.assertIn(line, stderr)
        self.assertEqual(2, self.run_main("--only", "nothing")[0])

    def test_help_says_what_is_aggregated(self) -> None:
        code, stdout, _ = self.run_main("--help")
        self.assertEqual(0, code)
        self.assertIn("What is aggregated", stdout)
