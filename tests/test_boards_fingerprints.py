"""Fingerprints: what a batch must agree with, and differences in words."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.fields import Fields
from benchkit.boards.job import BatchGate, FromPack, FromTask, Job, JobLimits
from benchkit.boards.job_pack import (
    Dataset,
    Scoring,
    dataset_of,
    dataset_parts,
    pack_of_task,
    scoring_in,
    scoring_of,
)
from benchkit.boards.pack import folder_sha256
from benchkit.tasks.task import in_split, load_task, read_cases
from tests.boards_packs import JUDGES, PackTest

ROOT = Path(__file__).resolve().parent.parent
JOB = Job("mine", FromPack("tiny", 6, 1), ("baselines:even",))
GATED = replace(JOB, geometry="gated")


class TheWorld(PackTest):
    def differences(self, before: Job, now: Job, **pack: Any) -> str:
        """What differs in the world between two jobs; the second over a pack with other values."""
        tiny = self.tiny()
        return Dataset(dataset_parts(before, tiny), "0" * 64).differences(dataset_parts(now, replace(tiny, **pack)))

    def test_whatever_makes_other_questions_is_a_difference_in_words(self) -> None:
        for now, words in (
            (replace(JOB, asks=FromPack("tiny", 6, 2)), "seed: 1 -> 2"),
            (replace(JOB, asks=FromPack("tiny", 7, 1)), "count: 6 -> 7"),
            (replace(JOB, asks=FromPack("tiny", 6, 1, "m:x")), 'reword: null -> "m:x"'),
            (replace(JOB, batch_gate=BatchGate(most_one_answer=0.9)), "batch_gate.most_one_answer: 0.6 -> 0.9"),
            (replace(JOB, asks=FromPack("other", 6, 1)), 'pack: "tiny" -> "other"'),
        ):
            with self.subTest(words=words):
                self.assertEqual(words, self.differences(JOB, now))
        self.assertIn('geometry: "single" -> "gated"', self.differences(JOB, GATED))

    def test_another_version_of_the_pack_is_a_difference(self) -> None:
        self.assertEqual('version: "1" -> "2"', self.differences(JOB, JOB, version="2"))

    def test_prices_and_limits_count_in_gated_only(self) -> None:
        for limits, words in ((JobLimits(steps=2), "prices.steps: 3 -> 2"),
                              (JobLimits(budget=1.5), "prices.budget: 4.0 -> 1.5")):
            self.assertEqual(words, self.differences(GATED, replace(GATED, limits=limits)))
            self.assertEqual("", self.differences(JOB, replace(JOB, limits=limits)))
        market = self.tiny().market
        assert market is not None
        dearer = replace(market, prices=replace(market.prices, prices={"hint": 3.0}))
        self.assertEqual("prices.prices.hint: 2.0 -> 3.0", self.differences(GATED, GATED, market=dearer))
        self.assertEqual("", self.differences(JOB, JOB, market=dearer))

    def test_who_answers_and_how_often_makes_no_other_questions(self) -> None:
        now = replace(JOB, systems=("m:x",), trials=9, limits=JobLimits(timeout_s=1.0), env_file="keys.env")
        self.assertEqual("", self.differences(JOB, now))
        self.assertEqual("", self.differences(JOB, JOB, judge_version="9"))

    def test_a_task_counts_with_its_cases_split_and_hard_gates(self) -> None:
        cases = in_split(read_cases(ROOT / "cases.json"), "development")
        pack = pack_of_task(load_task("triage_task", [ROOT]), cases)
        before = Job("t", FromTask("triage_task", "cases.json"), ("baselines:keywords",))
        dataset = Dataset(dataset_parts(before, pack), "0" * 64)
        for asks, words in (
            (FromTask("triage_task", "cases.json", gates=("parses",)), 'gates: [] -> ["parses"]'),
            (FromTask("triage_task", "cases.json", split="test"), 'split: "development" -> "test"'),
            (FromTask("triage_task", "cases.json", count=3), "count: null -> 3"),
        ):
            self.assertEqual(words, dataset.differences(dataset_parts(replace(before, asks=asks), pack)))

    def test_the_fingerprint_covers_parts_and_questions(self) -> None:
        dataset = Dataset({"seed": 1}, "0" * 64)
        self.assertNotEqual(dataset.fingerprint, Dataset({"seed": 2}, "0" * 64).fingerprint)
        self.assertNotEqual(dataset.fingerprint, Dataset({"seed": 1}, "1" * 64).fingerprint)

    def test_a_world_reads_back_and_an_altered_one_is_refused(self) -> None:
        dataset = Dataset(dataset_parts(GATED, self.tiny()), "0" * 64)
        wire = json.loads(json.dumps(dataset.to_wire()))
        self.assertEqual(dataset, dataset_of(Fields(wire)))
        self.assertEqual("", dataset_of(Fields(wire)).differences(dataset.parts))
        wire["parts"]["seed"] = 2
        with self.assertRaises(ValueError) as caught:
            dataset_of(Fields(wire, "world"))
        self.assertIn("world.fingerprint is not that of what stands beside it", str(caught.exception))


class TheScoring(PackTest):
    BASE = Scoring("1", "a" * 64, {"right": "b" * 64, "short": "c" * 64})

    def test_differences_name_version_and_tracks(self) -> None:
        for now, words in (
            (replace(self.BASE, judge_version="2"), ("judge version: 1 -> 2",)),
            (replace(self.BASE, tracks={"right": "d" * 64, "short": "c" * 64}), ("track right: its judge changed",)),
            (replace(self.BASE, tracks={"right": "b" * 64}), ("track short is gone",)),
            (replace(self.BASE, tracks={**self.BASE.tracks, "new": "e" * 64}), ("track new is new",)),
            (replace(self.BASE, judge_sha256="f" * 64), ("the text of the judges' module changed",)),
            (self.BASE, ()),
        ):
            with self.subTest(words=words):
                self.assertEqual(words, self.BASE.differences(now, "packs.tiny"))

    def test_one_edited_judge_is_one_difference(self) -> None:
        before = scoring_of(self.tiny())
        now = scoring_of(self.tiny(judges=JUDGES.replace("else 0.5", "else 0.25")))
        self.assertEqual(("track short: its judge changed",), before.differences(now, "packs.tiny"))
        self.assertNotEqual(before.fingerprint, now.fingerprint)

    def test_a_scoring_reads_back_and_an_altered_one_is_refused(self) -> None:
        wire = json.loads(json.dumps(self.BASE.to_wire()))
        self.assertEqual(self.BASE, scoring_in(Fields(wire)))
        changes: tuple[dict[str, Any], ...] = (
            {"judge_version": "2"}, {"tracks": {}}, {"fingerprint": "0" * 64}, {"tracks": {"right": 5}}, {"more": 1})
        for change in changes:
            with self.subTest(change=change), self.assertRaises(ValueError):
                scoring_in(Fields({**wire, **change}))


class TheTextsOfAFolder(PackTest):
    def setUp(self) -> None:
        super().setUp()
        (self.home / "inner").mkdir()
        self.put("a.py", b"x = 1\n")
        self.put("inner/prices.toml", b"a = 1\n")
        self.before = folder_sha256(self.home)

    def put(self, name: str, data: bytes) -> None:
        path = self.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)

    def test_a_changed_added_or_moved_text_is_another_digest(self) -> None:
        for name, data in (("a.py", b"x = 2\n"), ("b.py", b""), ("inner/prices.toml", b"a = 2\n")):
            with self.subTest(name=name):
                self.put(name, data)
                self.assertNotEqual(self.before, folder_sha256(self.home))

    def test_line_ends_caches_and_other_files_are_none(self) -> None:
        self.put("a.py", b"x = 1\r\n")
        for name in ("__pycache__/a.py", "_llm_cache/x.py", "notes.txt", ".hidden/a.py"):
            self.put(name, b"whatever")
        self.assertEqual(self.before, folder_sha256(self.home))


if __name__ == "__main__":
    import unittest
    unittest.main()
