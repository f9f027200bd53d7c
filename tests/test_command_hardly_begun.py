"""A run of very many trials that has hardly begun: what is left costs neither room nor time, and is counted."""
from __future__ import annotations

import time
from dataclasses import replace
from random import Random

from benchkit.basics.values import Shard
from benchkit.recordings.recording import recording_of
from benchkit.recordings.replay import Circumstances, judge_recording
from benchkit.reports.tally import tally_of
from benchkit.running.plan import AllowedChanges, RemainingWork, Selection, cells_of, is_left, remaining_work, work_left
from benchkit.running.summary import status_of
from benchkit.tasks.task import in_split, load_task, read_cases
from benchkit.trial_log.lines import PlanLine
from benchkit.trial_log.reader import TrialLog, read_log
from tests.commands import ROOT
from tests.workflow import Workflow

RUN = "bench.py --system baselines:keywords --log recorded/smol.jsonl --quiet"


class HardlyBegun(Workflow):
    def test_one_trial_of_very_many_is_small_and_quick(self) -> None:
        start = time.process_time()
        self.well(f"{RUN} --trials 10 --budget-s 0.001")
        few = time.process_time() - start
        self.log.unlink()
        self.recording.unlink()
        start = time.process_time()
        told = self.well(f"{RUN} --trials 100000 --budget-s 0.001")
        self.assertLess(time.process_time() - start, 10 * few + 0.5)
        self.assertIn("299,999 of 300,000 planned trials did not run", told)
        self.assertIn("299,999 trials are left", told)
        self.assertLess(sum(map(len, self.files().values())), 100_000)
        self.assertFalse(self.recording.exists())
        self.assertEqual(f"python3 bench.py --log {self.log.relative_to(self.folder)} --convert recorded/smol.json",
                         self.offered(told, "recording"))

    def test_a_recording_that_is_there_does_not_stay_behind_its_log(self) -> None:
        self.well(f"{RUN} --trials 1")
        told = self.well(f"{RUN} --trials 7000 --limit 1")
        self.assertNotIn("  recording  ", told)
        self.assertEqual(7000, len(self.json(self.recording)["cases"][2]["trials"]))

    def test_what_is_counted_at_once_is_what_one_by_one_would_count(self) -> None:
        task, cases = load_task("triage_task", [ROOT]), in_split(read_cases(self.folder / "cases.json"), "development")

        def check() -> None:
            log = read_log(self.log, accept_damage=True)
            record = judge_recording(recording_of(log, None), task, cases, Circumstances("", {}))
            self.assertEqual(tally_of(replace(record, begun=None)), tally_of(record))
            self.assertEqual(sum(not log.is_recorded(cell) for cell in cells_of(log.planned())), status_of(log).left)

        for more in ("--trials 40 --limit 4", f"--trials 40 --case {self.ids[2]} --limit 9", "--trials 50 --limit 1"):
            self.well(f"{RUN} {more}")
            check()
        whole = self.log.read_bytes()
        for place in (6, -4):
            lines = whole.splitlines(keepends=True)
            lines[place] = lines[place].replace(b'"trial"', b'"trail"')
            self.log.write_bytes(b"".join(lines))
            check()
            self.well(f"{RUN} --accept-damage --trials 50 --limit 1")
            check()

    def test_what_is_ahead_is_what_would_be_run(self) -> None:
        dice = Random(10)
        self.well(f"{RUN} --trials 9 --limit 11")
        self.well(f"{RUN} --trials 9 --case {self.ids[1]}")
        log = read_log(self.log)
        wanted = replace(log.planned(), trials=12, systems=("baselines:keywords", "baselines:other"))
        for _ in range(200):
            wanted = replace(wanted, systems=("baselines:keywords", dice.choice(["baselines:other", "mine:x"])))
            shard = dice.choice([None, Shard(1, 2), Shard(3, 4), Shard(5, 7)])
            selection = Selection(
                dice.choice([None, None, 1, 5, 60]), dice.choice([None, None, *self.ids]), dice.random() < 0.5,
                dice.choice([None, wanted.systems[:1], wanted.systems]), dice.random() < 0.2, shard,
                dice.choice([None, None, lambda cell: cell.trial == 2]))
            changes = AllowedChanges(tuple(dice.sample(self.ids, dice.choice([0, 0, 1]))))
            with self.subTest(selection=selection, changes=changes):
                self.assertEqual(one_by_one(log, wanted, changes, selection),
                                 remaining_work(log, wanted, changes, selection))


def one_by_one(log: TrialLog, plan: PlanLine, changes: AllowedChanges, selection: Selection) -> RemainingWork:
    """The same, every cell looked at."""
    cells = list(cells_of(plan, selection.shard))
    work = list(work_left(log, plan, changes, selection))
    return RemainingWork(len(cells), sum(not is_left(log, cell, changes, selection) for cell in cells), len(work),
                         f"{work[0].cell.case}, trial {work[0].cell.trial}" if work else None,
                         sum(one.cell.system.startswith("baselines:") for one in work))
