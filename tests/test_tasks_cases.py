"""Cases: what a file of strangers may hold, and what binds a verdict to a case."""
from __future__ import annotations

import hashlib
import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Case
from benchkit.tasks.task import case_sha256, in_split, read_cases
from tests.recordings_samples import CASES, put_cases

GOOD = {"id": "a", "split": "dev", "input": "x", "expected": 1, "tags": []}


class ReadingCases(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def refused(self, cases: object) -> str:
        path = put_cases(self.folder, cases)
        with self.assertRaises(Unusable) as caught:
            read_cases(path)
        self.assertIn(str(path), str(caught.exception))
        return str(caught.exception)

    def test_cases_are_read_in_the_order_of_the_file_and_tags_may_be_left_out_and_a_label_be_null(self) -> None:
        cases = read_cases(put_cases(self.folder))
        self.assertEqual(["two", "three", "nine"], [case.id for case in cases])
        self.assertEqual(Case("two", "development", 2, "yes", ("small",)), cases[0])
        bare = {**{key: value for key, value in GOOD.items() if key != "tags"}, "expected": None}
        self.assertEqual((Case("a", "dev", "x", None),), read_cases(put_cases(self.folder, [bare])))

    def test_whatever_is_wrong_is_named_with_file_case_and_field(self) -> None:
        for wrong, words in (
            ({"id": 5}, "cases[0].id is 5, not a text"),
            ({"id": ""}, "cases[0].id has 0 letters"),
            ({"id": "x" * 301}, "cases[0].id has 301 letters"),
            ({"id": "a\nb"}, "cases[0].id"),
            ({"id": "a\x1b[2J"}, r"a\x1b[2J"),
            ({"id": "a\u202eb"}, r"a\u202eb"),
            ({"id": " a"}, "spaces around it"),
            ({"split": None}, "cases[0] (a).split is null, not a text"),
            ({"split": ""}, "cases[0] (a).split has 0 letters"),
            ({"tags": "x"}, 'cases[0] (a).tags is "x", not a list'),
            ({"tags": [1]}, "cases[0] (a).tags is a list, not a list of texts"),
            ({"tags": ["x", "x"]}, "cases[0] (a).tags holds a tag twice"),
            ({"tags": [str(number) for number in range(101)]}, "more than 100"),
            ({"colour": "red"}, "cases[0] (a).colour is no field that is known"),
        ):
            with self.subTest(wrong=wrong):
                self.assertIn(words, self.refused([{**GOOD, **wrong}]))

    def test_a_missing_field_is_named(self) -> None:
        for name in ("split", "input", "expected"):
            with self.subTest(name=name):
                cases = [{key: value for key, value in GOOD.items() if key != name}]
                self.assertIn(f"cases[0] (a).{name} is missing", self.refused(cases))

    def test_ids_are_unique_also_when_case_folded(self) -> None:
        for other in ("a", "A"):
            with self.subTest(other=other):
                self.assertIn("cases[1]", self.refused([GOOD, {**GOOD, "id": other}]))

    def test_ids_that_look_like_paths_are_names_like_any_other(self) -> None:
        for name in ("../../x", "a:b", "CON", "\U0001f600", "x" * 300):
            with self.subTest(name=name):
                self.assertEqual(name, read_cases(put_cases(self.folder, [{**GOOD, "id": name}]))[0].id)

    def test_no_cases_at_all_are_refused(self) -> None:
        self.assertIn("cases is empty", self.refused([]))

    def test_files_of_another_shape_are_refused(self) -> None:
        for text in ("", "[]", "null", '{"cases": {}}', '{"cases": [], "more": 1}', '{"cases": [1]}',
                     '{"cases": [], "cases": []}', "{", "\ufeff{}", '{"cases": [{"id": NaN}]}'):
            with self.subTest(text=text):
                path = self.folder / "cases.json"
                path.write_text(text, encoding="utf-8")
                with self.assertRaises(Unusable):
                    read_cases(path)

    def test_a_missing_file_is_named(self) -> None:
        with self.assertRaisesRegex(Unusable, "nowhere.json"):
            read_cases(self.folder / "nowhere.json")


class ChoosingASplit(unittest.TestCase):
    cases = tuple(Case(str(entry["id"]), str(entry["split"]), entry["input"], entry["expected"]) for entry in CASES)

    def test_a_split_keeps_the_order_and_an_unknown_one_is_refused_with_those_there_are(self) -> None:
        self.assertEqual(["two", "three"], [case.id for case in in_split(self.cases, "development")])
        with self.assertRaisesRegex(Unusable, "development, test"):
            in_split(self.cases, "training")


class BindingAVerdict(unittest.TestCase):
    case = Case("a", "dev", {"text": "x"}, "yes", ("t",))

    def test_the_digest_is_over_the_canonical_text_of_id_input_expected_and_tags(self) -> None:
        text = b'{"expected":"yes","id":"a","input":{"text":"x"},"tags":["t"]}'
        self.assertEqual(hashlib.sha256(text).hexdigest(), case_sha256(self.case))
        for change in ({"id": "b"}, {"input": {"text": "y"}}, {"expected": "no"}, {"tags": ()}):
            with self.subTest(change=change):
                self.assertNotEqual(case_sha256(self.case), case_sha256(replace(self.case, **change)))
        self.assertEqual(case_sha256(self.case), case_sha256(replace(self.case, split="test")))
        one, other = json.loads('{"a": 1, "b": 2}'), json.loads('{"b": 2, "a": 1}')
        self.assertEqual(case_sha256(replace(self.case, input=one)), case_sha256(replace(self.case, input=other)))


if __name__ == "__main__":
    unittest.main()
