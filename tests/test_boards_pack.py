"""Packs: found by name, held to their contract, each judge with a fingerprint of what its verdict rests on."""
from __future__ import annotations

import unittest
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Case
from benchkit.boards.job_pack import pack_of_task, scoring_of
from benchkit.boards.pack import Pack, PriceList, Step, Track, cache_folder, load_pack
from benchkit.boards.scores import UnjudgedError, scores_of, value_of
from benchkit.tasks.task import Task, in_split, load_task, read_cases
from tests.boards_packs import JUDGES, PACK, WORDS, PackTest, put_pack

ROOT = Path(__file__).resolve().parent.parent


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

    def test_the_example_pack_holds_to_the_contract(self) -> None:
        pack = load_pack("early_warning", [ROOT])
        self.assertEqual(7, len(pack.tracks))
        self.assertEqual(len(pack.tracks), len({track.fingerprint for track in pack.tracks}))
        self.assertIn("SYNTHETIC", pack.synthetic or "")

    def test_a_blind_baseline_is_handed_the_payload_and_the_oracle_the_case(self) -> None:
        pack = self.tiny()
        case = pack.build(1, 1, None)[0]
        self.assertEqual(pack.payload(case, "gated"), pack.baselines["even"].handed(case, "gated"))
        self.assertIs(case, pack.baselines["oracle"].handed(case, "gated"))

    def test_a_pack_without_a_price_list_is_asked_in_single_only(self) -> None:
        pack = self.tiny(pack=PACK.replace("def prices():", "def no_prices():"))
        self.assertIsNone(pack.market)
        self.assertEqual(("single",), pack.geometries)

    def test_a_name_that_is_no_pack_is_refused_with_the_packs_there_are(self) -> None:
        put_pack(self.home)
        for name, words in (("tinny", "there are: tiny"), ("../tiny", "a-z"), ("Tiny", "a-z"), ("", "a-z")):
            with self.subTest(name=name), self.assertRaises(Unusable) as caught:
                load_pack(name, [self.home])
            self.assertIn(words, str(caught.exception))

    def test_the_working_folder_wins_over_the_folder_of_the_command(self) -> None:
        beside = self.home / "door"
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

    def test_a_pack_that_raises_while_it_is_read_is_one_line(self) -> None:
        self.assertIn("the pack raised KeyError", self.refused(
            pack=PACK.replace('return Prices("coins", 4, 3, {"hint": 2})', 'raise KeyError("gone")')))

    def test_a_pack_that_is_no_python_is_named_with_its_line(self) -> None:
        message = self.refused(judges="def right(:\n")
        self.assertIn("judges.py, line 1", message)

    def test_a_changed_room_is_run_anew(self) -> None:
        self.assertEqual(0.5, self.scored(self.tiny()))
        self.assertEqual(0.25, self.scored(self.tiny(judges=JUDGES.replace("else 0.5", "else 0.25"))))

    def scored(self, pack: Pack) -> float:
        return scores_of(pack.tracks, pack.build(2, 1, None)[0], "even, I think", ()).capabilities["short"]

    def test_the_cache_of_rewording_stands_beside_the_pack(self) -> None:
        self.assertEqual(put_pack(self.home) / "_llm_cache", cache_folder("tiny", [self.home]))


class FingerprintsOfTracks(PackTest):
    def changed(self, **texts: str) -> list[str]:
        """The tracks whose fingerprint differs from that of the unchanged pack."""
        before = scoring_of(self.tiny())
        now = scoring_of(self.tiny(**texts))
        return [name for name in before.tracks if before.tracks[name] != now.tracks[name]]

    def test_the_text_of_one_judge_touches_its_own_track_only(self) -> None:
        self.assertEqual(["short"], self.changed(judges=JUDGES.replace("else 0.5", "else 0.25")))
        self.assertEqual(["polite"], self.changed(judges=JUDGES.replace("damn", "darn")))

    def test_what_judges_share_touches_every_track(self) -> None:
        everyone = ["right", "short", "polite"]
        self.assertEqual(everyone, self.changed(words=WORDS.replace("answer.strip()", "answer.strip().lower()")))
        self.assertEqual(everyone, self.changed(judges="LIMIT = 4\n" + JUDGES))

    def test_what_no_judge_rests_on_touches_none(self) -> None:
        self.assertEqual([], self.changed(pack=PACK + "\n# a remark\n"))

    def test_line_ends_touch_nothing(self) -> None:
        before = self.tiny()
        for name in ("__init__.py", "judges.py", "words.py"):
            path = self.home / "packs" / "tiny" / name
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        now = load_pack("tiny", [self.home])
        self.assertEqual(scoring_of(before), scoring_of(now))
        self.assertEqual(before.sources, now.sources)
        self.assertEqual({name: one.source_sha256 for name, one in before.baselines.items()},
                         {name: one.source_sha256 for name, one in now.baselines.items()})


class JudgingAnAnswer(PackTest):
    CASE = Case("a", "s", None, "even")

    def test_scores_keep_capabilities_and_gates_apart(self) -> None:
        scores = scores_of(self.tiny().tracks, self.CASE, "even", [Step(None), Step("damn")])
        self.assertEqual(({"right": 1.0, "short": 1.0}, {"polite": False}), (scores.capabilities, scores.gates))
        self.assertEqual((1, False), (scores.capability, scores.held))

    def test_a_judge_that_gives_something_else_is_named(self) -> None:
        for kind, given, words in (
            ("capability", 1.5, "gave 1.5, not a number from 0 to 1"),
            ("capability", float("nan"), "gave float"),
            ("capability", True, "gave bool"),
            ("capability", None, "gave NoneType"),
            ("gate", 1, "gave int, not whether it held"),
        ):
            track = Track("odd", kind, "x", "y", lambda case, answer, steps, given=given: given,  # type: ignore
                          "0" * 64)
            with self.subTest(given=given), self.assertRaises(UnjudgedError) as caught:
                value_of(track, self.CASE, "", ())
            self.assertIn(f"track odd {words}", str(caught.exception))

    def test_a_judge_that_raises_is_named_with_its_message_file_and_line(self) -> None:
        def judge(case: Case, answer: str, steps: object) -> float:
            raise KeyError(answer)
        line = judge.__code__.co_firstlineno + 1
        track = Track("odd", "capability", "x", "y", judge, "0" * 64)
        with self.assertRaises(UnjudgedError) as caught:
            value_of(track, self.CASE, "red", ())
        self.assertEqual(f"track odd raised KeyError: 'red' (test_boards_pack.py, line {line})", str(caught.exception))


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

    def test_a_gate_that_is_no_check_is_refused_with_the_checks_there_are(self) -> None:
        with self.assertRaises(Unusable) as caught:
            pack_of_task(self.task, self.cases, ["obeys"])
        self.assertIn("gates names obeys; the checks of task triage_task are category", str(caught.exception))

    def test_gates_alone_leave_nothing_to_score(self) -> None:
        with self.assertRaises(Unusable) as caught:
            pack_of_task(self.task, self.cases, [track.name for track in self.pack.tracks])
        self.assertIn("names every check", str(caught.exception))

    def test_answers_are_counted_alike_on_both_sides(self) -> None:
        case = Case("a", "s", None, {"b": 1, "a": "x"})
        self.assertEqual(self.pack.answer_key(case), self.pack.said_key('{"a": "x",  "b": 1}'))
        self.assertEqual("no JSON", self.pack.said_key(" no JSON "))


if __name__ == "__main__":
    unittest.main()
