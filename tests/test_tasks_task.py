"""The user's task and its cases: finding the module, its shape, the prompt it makes, what a file of cases may hold."""
from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Case, TaskName
from benchkit.tasks.modules import load_module
from benchkit.tasks.task import case_sha256, in_split, load_task, prompt_of, read_cases
from tests.commands import modules_of_a_user
from tests.recordings_samples import CASES, TASK_SOURCE, put_cases, put_task, toy

GOOD = {"id": "a", "split": "dev", "input": "x", "expected": 1, "tags": []}


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(modules_of_a_user())

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class FindingModules(InAFolder):
    def refused(self, name: str) -> str:
        with self.assertRaises(Unusable) as caught:
            load_module(name, [self.folder])
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_a_module_is_run_anew_from_its_text_in_the_working_folder_first(self) -> None:
        self.write("one/mine.py", "WHERE = 1")
        self.write("two/mine.py", "WHERE = 2")
        self.write("two/other.py", "WHERE = 3")
        folders = [self.folder / "one", self.folder / "two"]
        self.assertEqual((1, 3), (load_module("mine", folders).WHERE, load_module("other", folders).WHERE))
        for number in range(3):
            self.write("mine.py", f"WHERE = {number}")
            self.assertEqual(number, load_module("mine", [self.folder]).WHERE)
        self.assertFalse((self.folder / "__pycache__").exists())

    def test_a_module_may_be_in_a_package_and_import_its_neighbours_but_stands_in_for_none_of_python(self) -> None:
        self.write("folder/__init__.py", "")
        self.write("folder/mine.py", "WHERE = 1")
        self.assertEqual(1, load_module("folder.mine", [self.folder]).WHERE)
        self.write("neighbour_of_mine.py", "WHERE = 7")
        self.write("colorsys.py", "WHERE = 1")
        self.write("mine.py", "import colorsys\nfrom neighbour_of_mine import WHERE\nOWN = hasattr(colorsys, 'WHERE')")
        mine = load_module("mine", [self.folder])
        self.assertEqual((7, False), (mine.WHERE, mine.OWN))

    def test_what_is_no_module_of_the_user_is_refused_in_one_line(self) -> None:
        self.write("folder/__init__.py", "")
        for name, words in (
                ("bench", "the kit"), ("benchkit.cli", "the kit"), ("json", "Python"), ("token", "Python"),
                *((name, "is no name of a module")
                  for name in ("", "a/b", "../a", "a.py ", "a..b", ".a", "é", "a-b", "x\n")),
                ("nowhere", str(self.folder)), ("folder.nowhere", "no module folder.nowhere")):
            with self.subTest(name):
                self.assertIn(words, self.refused(name))

    def test_whatever_happens_at_import_is_refused_with_file_and_line(self) -> None:
        for text, words in (
            ("x = 1\ndef (", "line 2: it is not Python"),
            ("x = 1\nimport nowhere_at_all", "line 2: it cannot be imported: ModuleNotFoundError"),
            ("\n\n1 / 0", "line 3: it cannot be imported: ZeroDivisionError"),
            ("raise SystemExit('bye')", "SystemExit: bye"),
            ("raise ValueError('a\\nb')", r"a\nb"),
        ):
            with self.subTest(text=text):
                path = self.write("mine.py", text)
                message = self.refused("mine")
                self.assertIn(words, message)
                self.assertIn(str(path), message)
                self.assertNotIn("mine", sys.modules)


class LoadingATask(InAFolder):
    def refused(self, source: str) -> str:
        put_task(self.folder, source)
        with self.assertRaises(Unusable) as caught:
            load_task("parity_task", [self.folder])
        return str(caught.exception)

    def test_a_task_is_what_its_module_holds(self) -> None:
        task, _ = toy(self.folder)
        self.assertEqual(TaskName("parity_task", "Parity", "1"), task.title)
        self.assertEqual({"always", "label"}, set(task.baselines))
        self.assertEqual(("label",), task.sees_labels)

    def test_explain_and_baselines_may_be_left_out(self) -> None:
        task, _ = toy(self.folder, TASK_SOURCE.partition("def explain")[0])
        self.assertEqual((None, {}, ()), (task.explain, task.baselines, task.sees_labels))

    def test_what_a_task_lacks_is_named(self) -> None:
        for before, after, words in (
            ("def messages", "def massages", "messages"), ("def schema", "def scheme", "schema"),
            ("def check", "def chek", "check"), ('"Parity"', "5", "NAME"), ('"1"', '""', "VERSION"),
            ('"Parity"', r'"a\nb"', "NAME"), ('("label",)', '("nobody",)', "nobody"), ('("label",)', '"label"', "SEES"),
            ('return {"always"', 'return 5 + {"always"', "baselines() raised TypeError"),
            ('return {"always": lambda case, seed: "yes"', 'return {"always": 5', "baselines() must give"),
        ):
            with self.subTest(after=after):
                self.assertIn(before, TASK_SOURCE)
                self.assertIn(words, self.refused(TASK_SOURCE.replace(before, after)))

    def test_the_digest_of_the_source_does_not_follow_line_ends(self) -> None:
        task, _ = toy(self.folder)
        (self.folder / "parity_task.py").write_bytes(TASK_SOURCE.replace("\n", "\r\n").encode())
        self.assertEqual(task.source_sha256, load_task("parity_task", [self.folder]).source_sha256)

    def test_the_digest_of_the_source_follows_its_text(self) -> None:
        task, _ = toy(self.folder)
        other, _ = toy(self.folder, TASK_SOURCE + "# changed\n")
        self.assertNotEqual(task.source_sha256, other.source_sha256)


class MakingAPrompt(InAFolder):
    def test_the_ask_follows_messages_and_schema_and_nothing_else(self) -> None:
        task, cases = toy(self.folder)
        ask = prompt_of(task, cases[0]).ask
        checks, _ = toy(self.folder, TASK_SOURCE.replace("< 5", "< 6"))
        self.assertEqual(ask, prompt_of(checks, cases[0]).ask)
        for before, after in (("even?", "odd?"), ("return None", "return {}")):
            with self.subTest(after=after):
                other, _ = toy(self.folder, TASK_SOURCE.replace(before, after))
                self.assertNotEqual(ask, prompt_of(other, cases[0]).ask)

    def test_a_prompt_is_made_without_the_labels_in_hand(self) -> None:
        task, cases = toy(self.folder, TASK_SOURCE.replace("{case.input} even", "{case.expected}{case.tags} even"))
        self.assertEqual("Is None() even? yes or no", prompt_of(task, cases[0]).messages[0]["content"])

    def test_prompts_of_another_shape_are_refused_with_task_case_and_field(self) -> None:
        for statement, words in (
            ("return []", "messages is not a list"), ("return 'x'", "messages is not a list"),
            ("return [5]", "messages[0] is not"), ("return [{'role': 'user'}]", "messages[0] is not"),
            ("return [{'role': 'user', 'content': 'x', 'name': 'y'}]", "messages[0] is not"),
            ("return [{'role': 'tool', 'content': 'x'}]", "messages[0].role"),
            ("return [{'role': [], 'content': 'x'}]", "messages[0].role"),
            ("return [{'role': 'user', 'content': None}]", "messages[0].content"),
            ("return [{'role': 'user', 'content': '\\ud800'}]", "messages[0].content"),
            ("return case.expected['label']",
             "messages raised TypeError: 'NoneType' object is not subscriptable (parity_task.py, line 6)"),
            ("raise SystemExit(4)", "messages called sys.exit(4) (parity_task.py, line 6)"),
        ):
            with self.subTest(statement=statement):
                task, cases = toy(self.folder, TASK_SOURCE.replace("return [{", f"{statement}\n    return [{{"))
                with self.assertRaises(Unusable) as caught:
                    prompt_of(task, cases[0])
                self.assertIn(words, str(caught.exception))
                self.assertIn("task parity_task, case two", str(caught.exception))

    def test_schemas_that_are_no_json_object_are_refused(self) -> None:
        for value in ("[]", "'json'", "{'a': {1, 2}}", "{'a': float('nan')}", "5", "1 / 0"):
            with self.subTest(value=value):
                task, cases = toy(self.folder, TASK_SOURCE.replace("return None", f"return {value}"))
                with self.assertRaisesRegex(Unusable, "schema"):
                    prompt_of(task, cases[0])


class ReadingCases(InAFolder):
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
