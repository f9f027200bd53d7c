"""Batches: one folder each, found by path or stamp, batch.json read strictly."""
from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.boards.batch import (
    BATCH,
    BLOCKED,
    CASES,
    OPEN,
    PUBLISHED,
    Batch,
    BatchUsage,
    FoundBatch,
    batch_of,
    batch_to_wire,
    every_batch,
    find_batch,
    make_batch_folder,
    new_batch,
    newest,
    passed_over,
    put_batch,
    read_batch,
    write_batch,
)
from benchkit.boards.job import BatchGate, FromPack, Job
from benchkit.boards.job_pack import dataset_parts
from benchkit.boards.questions import Questions, make_questions, read_questions
from benchkit.boards.usage import TokenUse
from tests.boards_packs import PackTest

STAMP = "2026-11-30T12:00:00.000Z"
JOB = Job("mine", FromPack("tiny", 4, 1), ("baselines:even",), batch_gate=BatchGate(1, 1.0, 1.0))


class BatchTest(PackTest):
    def setUp(self) -> None:
        super().setUp()
        self.runs = self.home / "runs"
        self.pack = self.tiny()

    def questions(self, job: Job = JOB) -> Questions:
        return make_questions(job, self.pack)

    def start(self, stamp: str = STAMP, job: Job = JOB, status: str | None = None) -> FoundBatch:
        """A batch on the disk; its status as it begins, or another."""
        questions = self.questions(job)
        batch = new_batch(job, self.pack, questions, stamp)
        return put_batch(make_batch_folder(self.runs, job.name, stamp), replace(batch, status=status or batch.status),
                         questions)


class MakingBatches(BatchTest):
    def test_a_batch_has_its_questions_and_says_what_it_is(self) -> None:
        found = self.start()
        self.assertEqual(("mine/20261130T120000Z", OPEN), (found.name, found.batch.status))
        self.assertEqual(found, read_batch(found.folder))
        kept = read_questions(found.folder / CASES, found.batch.cases_sha256, found.batch.dataset.questions_sha256)
        self.assertEqual(4, len(kept.cases))
        self.assertEqual("", found.batch.dataset.differences(dataset_parts(JOB, self.pack)))

    def test_a_second_start_in_the_same_second_gets_a_folder_of_its_own(self) -> None:
        names = [self.start(stamp).folder.name for stamp in (STAMP, STAMP.replace(".000", ".999"), STAMP)]
        self.assertEqual(["20261130T120000Z", "20261130T120000Z-2", "20261130T120000Z-3"], names)

    def test_starts_at_once_never_share_a_folder(self) -> None:
        folders: list[Path] = []
        threads = [threading.Thread(target=lambda: folders.append(make_batch_folder(self.runs, "mine", STAMP)))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(8, len(set(folders)))

    def test_a_batch_whose_questions_are_not_worth_asking_begins_blocked(self) -> None:
        found = self.start(job=replace(JOB, batch_gate=BatchGate(9, 1.0, 1.0)))
        self.assertEqual(BLOCKED, found.batch.status)
        self.assertIn("fewer than least_questions = 9", found.batch.figures.blocked[0])

    def test_questions_made_anew_take_the_place_of_the_old_ones(self) -> None:
        found = self.start()
        job = replace(JOB, asks=FromPack("tiny", 5, 1))
        questions = self.questions(job)
        again = put_batch(found.folder, new_batch(job, self.pack, questions, STAMP), questions)
        self.assertEqual(again, read_batch(found.folder))
        self.assertEqual(5, len(read_questions(
            found.folder / CASES, again.batch.cases_sha256, again.batch.dataset.questions_sha256).cases))

    def test_a_place_where_no_folder_can_be_made_is_one_line(self) -> None:
        self.runs.write_text("a file", encoding="utf-8")
        with self.assertRaises(KitError) as caught:
            self.start()
        self.assertIn("runs", str(caught.exception))

    def test_a_disk_that_is_read_only_is_a_matter_of_the_surroundings(self) -> None:
        with mock.patch.object(Path, "mkdir", side_effect=OSError(30, "Read-only file system")), \
                self.assertRaises(EnvironmentFailure) as caught:
            self.start()
        self.assertIn("Read-only file system", str(caught.exception))


class FindingBatches(BatchTest):
    def test_batches_are_listed_by_job_and_age(self) -> None:
        other = replace(JOB, name="also")
        for stamp, job in ((STAMP, JOB), ("2026-11-30T11:59:59.000Z", JOB), (STAMP, other)):
            self.start(stamp, job)
        for _ in range(10):
            self.start()
        names = [found.name for found in every_batch(self.runs)]
        self.assertEqual(["also/20261130T120000Z", "mine/20261130T115959Z", "mine/20261130T120000Z",
                          "mine/20261130T120000Z-2"], names[:4])
        self.assertEqual("mine/20261130T120000Z-11", names[-1])
        self.assertEqual(names[1:], [name for name in names if name.startswith("mine/")])

    def test_the_newest_that_is_not_published_is_gone_on_with(self) -> None:
        self.assertIsNone(newest(self.runs, "mine", is_open=True))
        self.assertIsNone(newest(self.runs, "mine"))
        first = self.start()
        second = self.start("2026-11-30T13:00:00.000Z", status=PUBLISHED)
        self.assertEqual(first, newest(self.runs, "mine", is_open=True))
        self.assertEqual(second, newest(self.runs, "mine"))

    def test_a_blocked_batch_stands_before_nothing_but_is_told(self) -> None:
        blocked = self.start(status=BLOCKED)
        self.assertEqual((blocked, blocked), (newest(self.runs, "mine", is_open=True), newest(self.runs, "mine")))
        good = self.start("2026-11-30T13:00:00.000Z")
        self.assertEqual((), passed_over(self.runs, good))
        newer = self.start("2026-11-30T14:00:00.000Z", status=BLOCKED)
        self.assertEqual((good, good), (newest(self.runs, "mine", is_open=True), newest(self.runs, "mine")))
        self.assertEqual((newer,), passed_over(self.runs, good))

    def test_a_folder_whose_start_was_cut_off_is_no_batch(self) -> None:
        found = self.start()
        cut_off = make_batch_folder(self.runs, "mine", "2026-11-30T15:00:00.000Z")
        (self.runs / "mine" / "notes").mkdir()
        self.assertEqual([found], list(every_batch(self.runs)))
        self.assertEqual(found, newest(self.runs, "mine", is_open=True))
        with self.assertRaises(Unusable):
            find_batch(self.runs, cut_off.name, "mine")

    def test_a_batch_is_meant_by_path_by_job_and_stamp_or_by_stamp(self) -> None:
        found = self.start()
        for text, job in ((str(found.folder), None), (str(found.folder) + "/", "mine"), (found.name, None),
                          (found.folder.name, None), (found.folder.name, "mine")):
            with self.subTest(text=text):
                self.assertEqual(found.batch, find_batch(self.runs, text, job).batch)

    def test_whatever_means_no_batch_is_one_line_with_those_there_are(self) -> None:
        self.start()
        for text in ("20261130T120001Z", "nothing", "", "../..", "a\x00b", "x" * 5000):
            with self.subTest(text=text), self.assertRaises(Unusable) as caught:
                find_batch(self.runs, text)
            self.assertIn("the newest there are: mine/20261130T120000Z", str(caught.exception))
        with self.assertRaises(Unusable) as caught:
            find_batch(self.home / "nowhere", "20261130T120000Z")
        self.assertIn("the newest there are: none", str(caught.exception))

    def test_a_stamp_that_several_jobs_have_needs_a_path(self) -> None:
        self.start()
        self.start(job=replace(JOB, name="also"))
        with self.assertRaises(Unusable) as caught:
            find_batch(self.runs, "20261130T120000Z")
        self.assertIn("2 jobs have one; give its path", str(caught.exception))
        self.assertEqual("also/20261130T120000Z", find_batch(self.runs, "20261130T120000Z", "also").name)

    def test_a_batch_of_another_job_is_refused(self) -> None:
        found = self.start()
        with self.assertRaises(Unusable) as caught:
            find_batch(self.runs, str(found.folder), "also")
        self.assertIn("is one of the job mine, not of also", str(caught.exception))


class TheFile(BatchTest):
    def batch(self, **more: Any) -> Batch:
        return replace(new_batch(JOB, self.pack, self.questions(), STAMP), **more)

    def test_a_whole_batch_reads_back_the_same(self) -> None:
        batch = self.batch(
            systems={"model_triage:gemma": {"model": "gemma4:e2b", "options": {"seed": 1}}, "baselines:even": {}},
            usage=BatchUsage({"model_triage:gemma": TokenUse(2, 1, 10, 3), "baselines:even": TokenUse()}, TokenUse(1)),
            status=PUBLISHED)
        self.assertEqual(batch, batch_of(json.loads(json.dumps(batch_to_wire(batch)))))

    def test_the_file_has_the_words_of_the_contract(self) -> None:
        wire = json.loads((self.start().folder / BATCH).read_text(encoding="ascii"))
        self.assertEqual(("tiny", "single", "open"), (wire["job"]["pack"], wire["geometry"], wire["status"]))
        self.assertEqual({"eval_usage": {}, "gen_usage": "absent:cache_only"}, wire["usage"])
        self.assertEqual({"version", "benchkit_sha256", "pack_sha256"}, set(wire["kit"]))
        self.assertEqual({"right", "short", "polite"}, set(wire["scoring"]["tracks"]))
        self.assertEqual(["T-1", "T-2", "T-3", "T-4"], [case for case, _ in wire["cases_sha256"]])

    def test_a_changed_status_is_written_whole(self) -> None:
        found = self.start()
        write_batch(replace(found, batch=replace(found.batch, status=PUBLISHED)))
        self.assertEqual(PUBLISHED, read_batch(found.folder).batch.status)
        self.assertEqual([], list(found.folder.glob("*.partial-*")))

    def test_whatever_is_wrong_is_named_with_file_and_field(self) -> None:
        found = self.start()
        good = json.loads((found.folder / BATCH).read_text(encoding="ascii"))
        for change, words in (
            ({"batch": 2}, "batch is 2, not 1 (a batch of another version needs another kit)"),
            ({"status": "done"}, 'status is "done", not one of open'),
            ({"geometry": "gated"}, 'geometry is "gated", not single'),
            ({"job": {**good["job"], "count": "x"}}, 'job.count is "x", not a whole number'),
            ({"job": 5}, "job is 5, not an object"),
            ({"systems": {"m:x": 5}}, "systems.m:x is 5, not an object"),
            ({"usage": {"eval_usage": {"m:x": "lost"}, "gen_usage": "absent:cache_only"}}, "usage.eval_usage.m:x"),
            ({"world": {**good["world"], "questions_sha256": "0"}}, "world.fingerprint is not that of"),
            ({"scoring": {}}, "scoring.fingerprint is missing"),
            ({"cases_sha256": [["T-1", "x"]]}, "cases_sha256 is a list, not a list of [case, 64 hex digits]"),
            ({"cases_sha256": good["cases_sha256"][:1] * 2}, "no case twice"),
            ({"kit": {}}, "kit.version is missing"),
            ({"mood": 1}, "mood is no field that is known"),
        ):
            with self.subTest(words=words), self.assertRaises(Unusable) as caught:
                (found.folder / BATCH).write_text(json.dumps({**good, **change}), encoding="ascii")
                read_batch(found.folder)
            self.assertIn(words, str(caught.exception))
            self.assertIn(BATCH, str(caught.exception))

    def test_a_file_that_is_no_json_is_one_line(self) -> None:
        found = self.start()
        (found.folder / BATCH).write_bytes(b"{")
        with self.assertRaises(Unusable) as caught:
            read_batch(found.folder)
        self.assertIn("batch.json: it is not JSON", str(caught.exception))


if __name__ == "__main__":
    import unittest
    unittest.main()
