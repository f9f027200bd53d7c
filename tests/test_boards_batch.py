"""Batches: one folder each, found by path or stamp, batch.json read strictly."""
from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.boards import batch as batches
from benchkit.boards.batch import BLOCKED, PUBLISHED, FoundBatch, every_batch, find_batch, newest, read_batch
from benchkit.boards.job import BatchGate, FromPack, Job
from benchkit.boards.job_pack import dataset_parts
from benchkit.boards.questions import KeptQuestions, Questions, make_questions, read_questions
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
        batch = batches.new_batch(job, self.pack, questions, stamp)
        return batches.put_batch(batches.make_batch_folder(self.runs, job.name, stamp),
                                 replace(batch, status=status or batch.status), questions)

    def kept(self, found: FoundBatch) -> KeptQuestions:
        return read_questions(found.folder / batches.CASES, found.batch.cases_sha256,
                              found.batch.dataset.questions_sha256)


class MakingBatches(BatchTest):
    def test_a_batch_has_its_questions_and_says_what_it_is(self) -> None:
        found = self.start()
        self.assertEqual(("mine/20261130T120000Z", batches.OPEN), (found.name, found.batch.status))
        self.assertEqual((found, 4), (read_batch(found.folder), len(self.kept(found).cases)))
        self.assertEqual("", found.batch.dataset.differences(dataset_parts(JOB, self.pack)))
        # questions made anew take the place of the old ones
        job = replace(JOB, asks=FromPack("tiny", 5, 1))
        questions = self.questions(job)
        again = batches.put_batch(found.folder, batches.new_batch(job, self.pack, questions, STAMP), questions)
        self.assertEqual((again, 5), (read_batch(found.folder), len(self.kept(again).cases)))

    def test_every_start_gets_a_folder_of_its_own(self) -> None:
        names = [self.start(stamp).folder.name for stamp in (STAMP, STAMP.replace(".000", ".999"), STAMP)]
        self.assertEqual(["20261130T120000Z", "20261130T120000Z-2", "20261130T120000Z-3"], names)
        folders: list[Path] = []
        threads = [threading.Thread(target=lambda: folders.append(batches.make_batch_folder(self.runs, "mine", STAMP)))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(8, len(set(folders)))

    def test_a_place_where_no_folder_can_be_made_is_one_line(self) -> None:
        with mock.patch.object(Path, "mkdir", side_effect=OSError(30, "Read-only file system")), \
                self.assertRaisesRegex(EnvironmentFailure, "Read-only file system"):
            self.start()
        self.runs.write_text("a file", encoding="utf-8")
        with self.assertRaisesRegex(KitError, "runs"):
            self.start()


class FindingBatches(BatchTest):
    def test_batches_are_listed_by_job_and_age(self) -> None:
        for stamp, job in ((STAMP, JOB), ("2026-11-30T11:59:59.000Z", JOB), (STAMP, replace(JOB, name="also"))):
            self.start(stamp, job)
        for _ in range(10):
            self.start()
        self.assertEqual(["also/20261130T120000Z", "mine/20261130T115959Z", "mine/20261130T120000Z",
                          *(f"mine/20261130T120000Z-{number}" for number in range(2, 12))],
                         [name for name, _ in every_batch(self.runs)])

    def test_the_newest_that_is_not_published_is_gone_on_with_and_a_blocked_one_stands_before_nothing(self) -> None:
        for stamp, status, is_open, is_any in (
            (None, None, None, None), ("10", BLOCKED, "10", "10"), ("11", None, "11", "11"),
            ("12", PUBLISHED, "11", "12"), ("13", BLOCKED, "11", "12"),
        ):
            with self.subTest(stamp=stamp):
                if stamp is not None:
                    self.start(STAMP.replace("T12", f"T{stamp}"), status=status)
                for wanted, found in ((is_open, newest(self.runs, "mine", is_open=True)),
                                      (is_any, newest(self.runs, "mine"))):
                    self.assertEqual(wanted and f"mine/20261130T{wanted}0000Z", found and found.name)
        found = newest(self.runs, "mine")
        assert found is not None
        self.assertEqual(["mine/20261130T130000Z"], [one.name for one in batches.passed_over(self.runs, found)])

    def test_a_folder_whose_start_was_cut_off_is_no_batch(self) -> None:
        found = self.start()
        cut_off = batches.make_batch_folder(self.runs, "mine", "2026-11-30T15:00:00.000Z")
        (self.runs / "mine" / "notes").mkdir()
        self.assertEqual([(found.name, found.batch)], list(every_batch(self.runs)))
        self.assertEqual(found, newest(self.runs, "mine", is_open=True))
        with self.assertRaises(Unusable):
            find_batch(self.runs, cut_off.name, "mine")

    def test_a_batch_is_meant_by_path_by_job_and_stamp_or_by_a_stamp_that_one_job_has(self) -> None:
        found = self.start()
        for text, job in ((str(found.folder), None), (str(found.folder) + "/", "mine"), (found.name, None),
                          (found.folder.name, None), (found.folder.name, "mine")):
            with self.subTest(text=text):
                self.assertEqual(found.batch, find_batch(self.runs, text, job).batch)
        with self.assertRaisesRegex(Unusable, "is one of the job mine, not of also"):
            find_batch(self.runs, str(found.folder), "also")
        self.start(job=replace(JOB, name="also"))
        with self.assertRaisesRegex(Unusable, "2 jobs have one; give its path"):
            find_batch(self.runs, found.folder.name)
        self.assertEqual("also/20261130T120000Z", find_batch(self.runs, found.folder.name, "also").name)

    def test_whatever_means_no_batch_is_one_line_with_those_there_are(self) -> None:
        self.start()
        for text in ("20261130T120001Z", "nothing", "", "../..", "a\x00b", "x" * 5000):
            with self.subTest(text=text), self.assertRaisesRegex(
                    Unusable, "the newest there are: mine/20261130T120000Z"):
                find_batch(self.runs, text)
        with self.assertRaisesRegex(Unusable, "the newest there are: none"):
            find_batch(self.home / "nowhere", "20261130T120000Z")


class TheFile(BatchTest):
    def test_a_whole_batch_reads_back_the_same(self) -> None:
        batch = replace(
            batches.new_batch(JOB, self.pack, self.questions(), STAMP), status=PUBLISHED,
            systems={"model_triage:gemma": {"model": "gemma4:e2b", "options": {"seed": 1}}, "baselines:even": {}},
            usage=batches.BatchUsage({"model_triage:gemma": TokenUse(2, 1, 10, 3), "baselines:even": TokenUse()},
                                     TokenUse(1)))
        self.assertEqual(batch, batches.batch_of(json.loads(json.dumps(batches.batch_to_wire(batch)))))
        found = replace(self.start(), batch=batch)
        batches.write_batch(found)
        self.assertEqual(found, read_batch(found.folder))
        self.assertEqual([], list(found.folder.glob("*.partial-*")))

    def test_the_file_has_the_words_of_the_contract(self) -> None:
        wire = json.loads((self.start().folder / batches.BATCH).read_text(encoding="ascii"))
        self.assertEqual(("tiny", "single", "open"), (wire["job"]["pack"], wire["geometry"], wire["status"]))
        self.assertEqual({"eval_usage": {}, "gen_usage": "absent:cache_only"}, wire["usage"])
        self.assertEqual({"version", "benchkit_sha256", "pack_sha256"}, set(wire["kit"]))
        self.assertEqual({"right", "short", "polite"}, set(wire["scoring"]["tracks"]))
        self.assertEqual(["T-1", "T-2", "T-3", "T-4"], [case for case, _ in wire["cases_sha256"]])

    def test_whatever_is_wrong_is_named_with_file_and_field(self) -> None:
        path = self.start().folder / batches.BATCH
        good = json.loads(path.read_text(encoding="ascii"))
        table: tuple[tuple[dict[str, Any] | None, str], ...] = (
            (None, "it is not JSON"),
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
            ({"kit": {}}, "kit.version is missing"), ({"mood": 1}, "mood is no field that is known"))
        for change, words in table:
            with self.subTest(words=words), self.assertRaises(Unusable) as caught:
                path.write_text("{" if change is None else json.dumps({**good, **change}), encoding="ascii")
                read_batch(path.parent)
            self.assertIn(words, str(caught.exception))
            self.assertIn("batch.json: ", str(caught.exception))
