"""Packs: found by name, held to their contract, and what a batch of one must agree with, in words."""
from __future__ import annotations

import json
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.values import Case
from benchkit.boards import job_pack
from benchkit.boards.job import BatchGate, FromPack, FromTask, Job, JobLimits
from benchkit.boards.job_pack import Dataset, Scoring, dataset_parts, pack_of_task, scoring_of
from benchkit.boards.pack import Pack, PriceList, Step, cache_folder, folder_sha256, load_pack
from benchkit.boards.scores import scores_of
from benchkit.tasks.task import Task, in_split, load_task, read_cases
from tests.boards_packs import JUDGES, PACK, WORDS, PackTest, put_pack

ROOT = Path(__file__).resolve().parent.parent
JOB = Job("mine", FromPack("tiny", 6, 1), ("baselines:even",))
GATED = replace(JOB, geometry="gated")


class LoadingAPack(PackTest):
    def refused(self, **texts: str) -> str:
        with self.assertRaises(Unusable) as caught:
            self.tiny(**texts)
        return str(caught.exception)

    def test_a_pack_is_read_whole(self) -> None:
        pack = self.tiny()
        self.assertEqual(("tiny", "tiny", "1", "1", "SYNTHETIC: numbers"),
                         (pack.module, pack.name, pack.version, pack.judge_version, pack.synthetic))
        self.assertEqual([("right", "capability"), ("short", "capability"), ("polite", "gate")],
                         [(track.name, track.kind) for track in pack.tracks])
        self.assertEqual(("single", "gated"), pack.geometries)
        assert pack.market is not None
        self.assertEqual(PriceList("coins", 4.0, 3, {"hint": 2.0}), pack.market.prices)
        self.assertEqual(["even", "buyer"], [one.name for one in pack.baselines.values() if not one.sees_truth])
        case = pack.build(1, 1, None)[0]
        self.assertEqual(pack.payload(case, "gated"), pack.baselines["even"].handed(case, "gated"))
        self.assertIs(case, pack.baselines["oracle"].handed(case, "gated"))
        self.assertEqual(self.home / "packs" / "tiny" / "_llm_cache", cache_folder("tiny", [self.home]))
        without = self.tiny(pack=PACK.replace("def prices():", "def no_prices():"))
        self.assertEqual((None, ("single",)), (without.market, without.geometries))

    def test_the_example_pack_holds_to_the_contract(self) -> None:
        pack = load_pack("early_warning", [ROOT])
        self.assertEqual(7, len(pack.tracks))
        self.assertEqual(len(pack.tracks), len({track.fingerprint for track in pack.tracks}))
        self.assertIn("SYNTHETIC", pack.synthetic or "")

    def test_a_name_that_is_no_pack_is_refused_with_the_packs_there_are(self) -> None:
        put_pack(self.home)
        for name, words in (("tinny", "there are: tiny"), ("../tiny", "a-z"), ("Tiny", "a-z"), ("", "a-z")):
            with self.subTest(name=name), self.assertRaises(Unusable) as caught:
                load_pack(name, [self.home])
            self.assertIn(words, str(caught.exception))

    def test_the_working_folder_wins_over_the_folder_of_the_command(self) -> None:
        beside = self.home / "beside"
        put_pack(beside)
        put_pack(self.home, pack=PACK.replace('VERSION = "1"\nJUDGE', 'VERSION = "mine"\nJUDGE'))
        self.assertEqual("mine", load_pack("tiny", [self.home, beside]).version)
        self.assertEqual("1", load_pack("tiny", [self.home / "elsewhere", beside]).version)

    def test_whatever_is_missing_or_wrong_is_named(self) -> None:
        for change, words in (
            (("NAME =", "N ="), "NAME must be a text"),
            (('VERSION = "1"\nJUDGE', 'VERSION = 1\nJUDGE'), "VERSION must be a text"),
            (("SYNTHETIC =", "S ="), "SYNTHETIC must be"),
            (("def build", "def built"), "build must be a function"),
            (("def said_key", "def say_key"), "said_key must be a function"),
            (("def reply", "def replied"), "reply must be a function"),
            (("def baselines", "def lines"), "baselines must be a function"),
            (('"sees_truth": True', '"sees_truth": 1'), "baselines() must be"),
            (('"packs.tiny.judges"', '"packs.other.judges"'), "JUDGE_MODULE must be a module of the pack"),
            (('"packs.tiny.judges"', '"packs.tiny.none"'), "JUDGE_MODULE must be a module of the pack"),
            (('("packs.tiny.words",)', "5"), "JUDGE_HELPERS must be a list"),
        ):
            with self.subTest(words=words):
                message = self.refused(pack=PACK.replace(*change))
                self.assertIn(words, message)
                self.assertIn("tiny", message)

    def test_tracks_that_are_none_are_refused(self) -> None:
        for change, words in (
            (('"short", "capability"', '"right", "capability"'), "different names"),
            (('"capability"', '"gate"'), "a capability at least"),
            (('"polite", "gate"', '"polite", "wall"'), "a capability or a gate"),
            (('"whether it is brief"', '""'), "a sentence on what each measures"),
            (("tracks = (", "tracks = () and ("), "tracks must be a list"),
        ):
            with self.subTest(words=words):
                self.assertIn(words, self.refused(judges=JUDGES.replace(*change)))
        self.assertIn("judges.py, line 1", self.refused(judges="def right(:\n"))
        self.assertIn("the pack raised KeyError", self.refused(
            pack=PACK.replace('return Prices("coins", 4, 3, {"hint": 2})', 'raise KeyError("gone")')))

    def test_a_changed_module_is_run_anew(self) -> None:
        self.assertEqual(0.5, self.scored(self.tiny()))
        self.assertEqual(0.25, self.scored(self.tiny(judges=JUDGES.replace("else 0.5", "else 0.25"))))

    def scored(self, pack: Pack) -> float:
        return scores_of(pack.tracks, pack.build(2, 1, None)[0], "even, I think", ()).capabilities["short"]

class FingerprintsOfTracks(PackTest):
    def changed(self, **texts: str) -> list[str]:
        """The tracks whose fingerprint differs from that of the unchanged pack."""
        before = scoring_of(self.tiny())
        now = scoring_of(self.tiny(**texts))
        return [name for name in before.tracks if before.tracks[name] != now.tracks[name]]

    def test_the_text_of_one_judge_touches_its_own_track_only(self) -> None:
        self.assertEqual(["short"], self.changed(judges=JUDGES.replace("else 0.5", "else 0.25")))
        self.assertEqual(["polite"], self.changed(judges=JUDGES.replace("damn", "darn")))

    def test_what_judges_share_touches_every_track_and_what_no_judge_rests_on_touches_none(self) -> None:
        everyone = ["right", "short", "polite"]
        self.assertEqual(everyone, self.changed(words=WORDS.replace("answer.strip()", "answer.strip().lower()")))
        self.assertEqual(everyone, self.changed(judges="LIMIT = 4\n" + JUDGES))
        self.assertEqual([], self.changed(pack=PACK + "\n# a remark\n"))

    def test_line_ends_touch_nothing(self) -> None:
        before = self.tiny()
        for name in ("__init__.py", "judges.py", "words.py"):
            path = self.home / "packs" / "tiny" / name
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        now = load_pack("tiny", [self.home])
        self.assertEqual(scoring_of(before), scoring_of(now))
        self.assertEqual((before.pack_sha256, before.judge_sha256), (now.pack_sha256, now.judge_sha256))
        self.assertEqual({name: one.source_sha256 for name, one in before.baselines.items()},
                         {name: one.source_sha256 for name, one in now.baselines.items()})


class JudgingAnAnswer(PackTest):
    CASE = Case("a", "s", None, "even")

    def test_scores_keep_capabilities_and_gates_apart(self) -> None:
        scores = scores_of(self.tiny().tracks, self.CASE, "even", [Step(None), Step("damn")])
        self.assertEqual(({"right": 1.0, "short": 1.0}, {"polite": False}), (scores.capabilities, scores.gates))
        self.assertEqual((1, False), (scores.capability, scores.held))


class ATaskAsAPack(unittest.TestCase):
    cases: tuple[Case, ...]
    task: Task
    pack: Pack

    @classmethod
    def setUpClass(cls) -> None:
        cls.cases = in_split(read_cases(ROOT / "cases.json"), "development")
        cls.task = load_task("triage_task", [ROOT])
        cls.pack = pack_of_task(cls.task, cls.cases, ["ignores_instructions"])

    def test_checks_are_tracks_and_the_named_ones_are_gates(self) -> None:
        kinds = {track.name: track.kind for track in self.pack.tracks}
        self.assertEqual("gate", kinds.pop("ignores_instructions"))
        self.assertEqual({"capability"}, set(kinds.values()))
        self.assertIn("category", kinds)

    def test_a_right_answer_has_full_marks_and_an_empty_one_none_for_form(self) -> None:
        case = self.cases[0]
        right = self.pack.baselines["labels"]
        said = right.answer(right.handed(case, "single"), 1001, [])
        self.assertEqual((1, True), (scores_of(self.pack.tracks, case, said, ()).capability,
                                     scores_of(self.pack.tracks, case, said, ()).held))
        self.assertEqual(0.0, scores_of(self.pack.tracks, case, "", ()).capabilities["parses"])

    def test_the_payload_is_the_prompt_and_holds_no_label(self) -> None:
        case = self.cases[0]
        view = self.pack.payload(case, "single")
        self.assertEqual([dict(one) for one in self.task.messages(case)], self.pack.messages(view, None, None))
        self.assertEqual(self.task.schema(), self.pack.schema(view))
        self.assertEqual(("single",), self.pack.geometries)

    def test_blind_baselines_are_handed_a_case_without_labels(self) -> None:
        self.assertEqual({"constant", "most-common", "keywords"}, {
            name for name, one in self.pack.baselines.items() if not one.sees_truth})
        handed = self.pack.baselines["keywords"].handed(self.cases[0], "single")
        assert isinstance(handed, Case)
        self.assertIsNone(handed.expected)
        self.assertEqual(self.cases[0].input, handed.input)

    def test_a_gate_that_is_no_check_and_gates_alone_are_refused(self) -> None:
        for gates, words in ((["obeys"], "gates names obeys; the checks of task triage_task are category"),
                             ([track.name for track in self.pack.tracks], "names every check")):
            with self.assertRaisesRegex(Unusable, words):
                pack_of_task(self.task, self.cases, gates)

    def test_answers_are_counted_alike_on_both_sides(self) -> None:
        case = Case("a", "s", None, {"b": 1, "a": "x"})
        self.assertEqual(self.pack.answer_key(case), self.pack.said_key('{"a": "x",  "b": 1}'))
        self.assertEqual("no JSON", self.pack.said_key(" no JSON "))


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

    def test_a_world_reads_back_and_an_altered_one_is_refused(self) -> None:
        first = Dataset({"seed": 1}, "0" * 64).fingerprint
        for other in (Dataset({"seed": 2}, "0" * 64), Dataset({"seed": 1}, "1" * 64)):
            self.assertNotEqual(first, other.fingerprint)
        dataset = Dataset(dataset_parts(GATED, self.tiny()), "0" * 64)
        wire = json.loads(json.dumps(dataset.to_wire()))
        self.assertEqual(dataset, job_pack.dataset_of(Fields(wire)))
        self.assertEqual("", job_pack.dataset_of(Fields(wire)).differences(dataset.parts))
        wire["parts"]["seed"] = 2
        with self.assertRaisesRegex(ValueError, "world.fingerprint is not that of what stands beside it"):
            job_pack.dataset_of(Fields(wire, "world"))


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
        self.assertEqual(self.BASE, job_pack.scoring_in(Fields(wire)))
        changes: tuple[dict[str, Any], ...] = (
            {"judge_version": "2"}, {"tracks": {}}, {"fingerprint": "0" * 64}, {"tracks": {"right": 5}}, {"more": 1})
        for change in changes:
            with self.subTest(change=change), self.assertRaises(ValueError):
                job_pack.scoring_in(Fields({**wire, **change}))


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
