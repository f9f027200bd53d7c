"""Systems without a model: the task's own baselines, and three that fit any task."""
from __future__ import annotations

import functools
import hashlib
import inspect
import unittest
from dataclasses import replace

import triage_task
from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import Unusable
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.systems.baselines import BaselineSystem, baseline_system, coin, constant, most_common
from benchkit.systems.system import Loaded, SystemOptions
from tests.running_samples import TASK

LABELS: tuple[JSON, ...] = ("no", "yes", {"b": 1, "a": 2}, "yes", "maybe")
CASES = tuple(Case(f"case-{number}", "development", number, expected) for number, expected in enumerate(LABELS))


def raises(case: Case, seed: int) -> str:
    raise KeyError(case.id)


def own(case: Case, seed: int) -> str:
    return f"{case.input} by {seed}"


def label(case: Case, seed: int) -> str:
    return f"right: {case.expected}"


class Baselines(unittest.TestCase):
    def system(self, name: str, sees_labels: tuple[str, ...] = (), cases: tuple[Case, ...] = CASES) -> BaselineSystem:
        functions = {"own": own, "raises": raises, "number": lambda case, seed: 7, "label": label, "coin": own,
                     "part": functools.partial(own, seed=1)}
        task = replace(TASK, baselines=functions, sees_labels=sees_labels)  # type: ignore[arg-type]
        return baseline_system(name, SystemOptions(
            clock=Clock(), stop=StopRequest(), say=lambda line: None, task=task, cases=cases))

    def ask(self, system: BaselineSystem, case: str = "case-1", seed: int = 1001) -> str:
        return system.answer(Request(case, seed - 1000, 1, seed, (), None, 0.0)).output

    def all_of(self, name: str, sees_labels: tuple[str, ...] = (), seed: int = 1001) -> list[str]:
        system = self.system(name, sees_labels)
        return [self.ask(system, case.id, seed) for case in CASES]


class TheTasksOwn(Baselines):
    def test_it_is_handed_the_whole_case_and_the_seed(self) -> None:
        system = self.system("own")
        self.assertEqual("3 by 1002", self.ask(system, "case-3", 1002))
        self.assertEqual(Reply("1 by 1001"), system.answer(Request("case-1", 1, 1, 1001, (), None, 0.0)))

    def test_it_needs_no_server_and_no_loading(self) -> None:
        system = self.system("own")
        self.assertEqual({"server": None, "server_version": None}, system.open())
        self.assertEqual(Loaded(0.0), system.warm())
        system.close()

    def test_its_settings_hold_the_digest_of_its_source_text(self) -> None:
        self.assertEqual({"baseline_sha256": hashlib.sha256(inspect.getsource(own).encode()).hexdigest()},
                         self.system("own").settings())
        digests = {str(self.system(name).settings()) for name in ("own", "label", "constant", "most-common")}
        self.assertEqual(4, len(digests))

    def test_one_of_the_task_comes_before_a_generic_one_of_the_same_name(self) -> None:
        self.assertEqual("1 by 1001", self.ask(self.system("coin")))

    def test_one_that_fails_is_the_tasks_fault_and_no_error_of_a_trial(self) -> None:
        line = raises.__code__.co_firstlineno + 1
        for name, words in (("raises", f"raised KeyError: 'case-1' (test_systems_baselines.py, line {line})"),
                            ("number", "gave int, not a text")):
            with self.subTest(name=name):
                with self.assertRaises(Unusable) as caught:
                    self.ask(self.system(name))
                self.assertEqual(f"task toy_task, case case-1: baseline {name} {words}", str(caught.exception))
                self.assertRaises(Unusable, self.system(name).open)

    def test_an_unknown_one_is_refused_with_those_there_are(self) -> None:
        with self.assertRaises(Unusable) as caught:
            self.system("no\x1bsuch")
        self.assertEqual("--system baselines:no\\x1bsuch: the task toy_task has no such baseline; there are coin, "
                         "constant, label, most-common, number, own, part, raises", str(caught.exception))

    def test_without_a_task_there_is_none(self) -> None:
        with self.assertRaisesRegex(Unusable, "belongs to a task"):
            baseline_system("own", SystemOptions(Clock(), StopRequest(), print, None, ()))

    def test_one_without_source_text_is_refused(self) -> None:
        with self.assertRaisesRegex(Unusable, "has no source text to be known by"):
            self.system("part")


class Generic(Baselines):
    def system(self, name: str, sees_labels: tuple[str, ...] = (), cases: tuple[Case, ...] = CASES) -> BaselineSystem:
        task = replace(TASK, baselines={"label": label}, sees_labels=sees_labels)
        return baseline_system(name, SystemOptions(
            clock=Clock(), stop=StopRequest(), say=lambda line: None, task=task, cases=cases))

    def test_constant_is_always_the_right_answer_of_the_first_case(self) -> None:
        self.assertEqual(["no"] * 5, self.all_of("constant"))
        self.assertEqual(["right: no"] * 5, self.all_of("constant", ("label",)))

    def test_most_common_is_a_right_answer_of_the_most_common_label(self) -> None:
        self.assertEqual(["yes"] * 5, self.all_of("most-common"))
        self.assertEqual(["right: yes"] * 5, self.all_of("most-common", ("label",)))

    def test_of_labels_equally_common_the_first_in_the_file_is_taken(self) -> None:
        system = self.system("most-common", cases=CASES[:3])
        self.assertEqual("no", self.ask(system))

    def test_the_right_answer_is_the_label_as_it_is_or_as_canonical_json(self) -> None:
        system = self.system("constant", cases=CASES[2:])
        self.assertEqual('{"a":2,"b":1}', self.ask(system, "case-3"))

    def test_a_coin_is_right_about_half_the_time_and_else_gives_the_next_cases_answer(self) -> None:
        system = self.system("coin")
        answers = [self.ask(system, "case-1", 1000 + trial) for trial in range(1, 401)]
        self.assertEqual({"yes", '{"a":2,"b":1}'}, set(answers))
        self.assertTrue(150 < answers.count("yes") < 250, answers.count("yes"))

    def test_a_coin_falls_the_same_way_every_time_and_differs_between_seeds_and_cases(self) -> None:
        self.assertEqual(self.all_of("coin"), self.all_of("coin"))
        self.assertGreater(len({tuple(self.all_of("coin", seed=1000 + trial)) for trial in range(1, 20)}), 5)

    def test_each_is_told_apart_by_its_source(self) -> None:
        self.assertEqual(
            3, len({str(self.system(name).settings()) for name in ("constant", "most-common", "coin")}))
        self.assertEqual(hashlib.sha256(inspect.getsource(coin).encode()).hexdigest(),
                         self.system("coin").settings()["baseline_sha256"])
        self.assertNotEqual(constant, most_common)

    def test_with_the_inbox_each_answers_in_the_tasks_own_form(self) -> None:
        case = Case("a", "development", {"from": "x", "date": "y", "subject": "s", "body": "b"},
                    {"category": "bug", "priority": "high", "needs_reply": True})
        task = replace(TASK, baselines=dict(triage_task.baselines()), sees_labels=("labels",), check=triage_task.check)
        for name in ("constant", "most-common", "coin", "labels"):
            with self.subTest(name=name):
                system = baseline_system(name, SystemOptions(
                    clock=Clock(), stop=StopRequest(), say=lambda line: None, task=task, cases=(case,)))
                self.assertTrue(all(triage_task.check(case, self.ask(system, "a")).values()))
