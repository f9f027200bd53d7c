"""The verdict on one output, and whether a task can be used at all."""
from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.basics.values import Case, ErrorFacts
from benchkit.tasks.judging import Judgement, judge, problems_of, summary_text
from benchkit.tasks.task import Task
from tests.recordings_samples import TASK_SOURCE, toy
from tests.test_tasks_task import InAFolder

CASE = Case("two", "development", 2, "yes", ("small",))


def task(**functions: Any) -> Task:
    """A task of the functions given; the others do what is right."""
    parts: dict[str, Any] = {
        "messages": lambda case: [{"role": "user", "content": "x"}], "schema": lambda: None,
        "check": lambda case, output: {"right": output == "yes"}, "explain": None, "baselines": {},
        "sees_labels": (), **functions}
    return Task("toy", "Toy", "1", "0" * 64, **parts)


def raises(*_: object) -> Any:
    raise KeyError("due")


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raises_oddly(*_: object) -> Any:
    raise OddError


RAISED = f"raised KeyError: 'due' (test_tasks_judging.py, line {raises.__code__.co_firstlineno + 1})"
ODDLY = f"raised OddError (test_tasks_judging.py, line {raises_oddly.__code__.co_firstlineno + 1})"


def incomplete(message: str) -> Judgement:
    return Judgement("incomplete", error=ErrorFacts("CheckError", message))


def fails(explain: object = None) -> Task:
    """A task of which check a does not hold, and b does."""
    return task(explain=explain, check=lambda case, output: {"b": True, "a": False})


class JudgingOneOutput(unittest.TestCase):
    def test_an_output_passes_when_every_check_holds_and_is_incomplete_where_one_gives_no_answer(self) -> None:
        no_answer = incomplete("check gave no {name: true or false}")
        bad_name = incomplete("check gave a name that is no text of one line")
        for made, output, expected in (
                (task(), "yes", Judgement("pass", {"right": True})),
                (task(explain=raises), "yes", Judgement("pass", {"right": True})),
                (task(), "", Judgement("fail", {"right": False})),
                (fails(), "", Judgement("fail", {"a": False, "b": True})),
                *((task(check=check), "yes", judgement) for check, judgement in (
                    (raises, incomplete(f"check {RAISED}")), (raises_oddly, incomplete(f"check {ODDLY}")),
                    (lambda case, output: None, no_answer), (lambda case, output: {}, no_answer),
                    (lambda case, output: {"a": 1}, incomplete("check a gave int, not true or false")),
                    (lambda case, output: {"a": None}, incomplete("check a gave NoneType, not true or false")),
                    (lambda case, output: {1: True}, bad_name), (lambda case, output: {"a\nb": True}, bad_name))),
                # only what failed is explained, in one line
                *((fails(explain), "x", Judgement("fail", {"a": False, "b": True}, explained))
                  for explain, explained in (
                      (lambda case, output: {"a": "why", "b": "not", "c": "no"}, {"a": "why"}),
                      (lambda case, output: {"a": "x\n\x1b" * 300}, {"a": ("x\\n\\x1b" * 300)[:197] + "..."}),
                      (lambda case, output: {}, None), (raises, {"a": f"explain {RAISED}"})))):
            with self.subTest(expected=expected):
                self.assertEqual(expected, judge(made, CASE, output))
        self.assertIn("explain raised TypeError", str(judge(fails(lambda case, output: None), CASE, "x").explain))

    def test_checks_are_sorted_by_name_so_that_equal_answers_are_equal_bytes(self) -> None:
        names = {f"check {number}" for number in range(20)}
        many = task(check=lambda case, output: dict.fromkeys(names, True))
        self.assertEqual(sorted(names), list(judge(many, CASE, "").checks or ()))

    def test_the_text_of_an_exception_is_the_same_in_every_process_and_on_one_line(self) -> None:
        def check(case: Case, output: str) -> dict[str, bool]:
            raise ValueError(f"no\n{object()}\x1b[2J")

        self.assertIn("raised ValueError: no\\n<object object at 0x...>\\x1b[2J (test_tasks",
                      getattr(judge(task(check=check), CASE, "yes").error, "message", ""))

    def test_a_signal_is_not_taken_for_an_answer(self) -> None:
        with self.assertRaises(KeyboardInterrupt):
            judge(task(check=mock.Mock(side_effect=KeyboardInterrupt)), CASE, "yes")


class CheckingATask(InAFolder):
    def problems(self, before: str = "", after: str = "") -> list[str]:
        self.assertIn(before, TASK_SOURCE)
        made, cases = toy(self.folder, TASK_SOURCE.replace(before, after, 1) if before else TASK_SOURCE)
        return list(problems_of(made, cases))

    def test_a_good_task_has_no_problems(self) -> None:
        self.assertEqual([], self.problems())

    def test_every_problem_names_task_case_and_function(self) -> None:
        with_problems = "def problems(case):\n    return {}\n\n\ndef baselines"
        for before, after, words in (
            ("{case.input} even", "{case.expected} even", "messages depends on expected or tags"),
            ("{case.input} even", "{case.tags} even", "messages depends on expected or tags"),
            ('return [{"role"', 'return [{"roll"', "messages[0] is not"),
            ("return None", "return 5", "schema is neither"),
            ('{"short": len(output) < 5, ', '{**({"short": True} if output else {}), ',
             "check gives right, short, and elsewhere right, on the output '{}' and on 5 other odd ones"),
            ("len(output) < 5", "output[0] == 'x'",
             "check raised IndexError: string index out of range (parity_task.py, line 14), on the output ''"),
            ("len(output) < 5", "5",
             "check short gave int, not true or false, on the output '' and on 6 other odd ones"),
            ('lambda case, seed: "yes"', "lambda case, seed: 5", "baseline always: it gave int, not a text"),
            ('lambda case, seed: "yes"', "lambda case, seed: 1 / 0",
             "baseline always raised ZeroDivisionError: division by zero (parity_task.py, line 22)"),
            ("def baselines", with_problems.format("['expected is odd']"), "expected is odd"),
            ("def baselines", with_problems.format("5"), "problems: it gave int"),
            ("def baselines", with_problems.format("exit(3)"),
             "problems called sys.exit(3) (parity_task.py, line 22)"),
            ("len(output) < 5", "exit()", "check called sys.exit(None) (parity_task.py, line 14)"),
            ("def check(case, output)", "def check(case)", "takes 1 positional argument but 2 were given (parity_task"),
            ("def baselines", with_problems.format("1 / 0"),
             "problems raised ZeroDivisionError: division by zero (parity_task.py, line 22)"),
        ):
            with self.subTest(after=after):
                found = self.problems(before, after)
                self.assertRegex(found[0], "^task parity_task, cases? ")
                self.assertTrue(any(words in problem for problem in found), found)

    def test_one_problem_is_told_once_for_each_check_with_the_cases_that_have_it(self) -> None:
        self.assertEqual(1, len(self.problems("len(output) < 5", "5")))
        self.assertEqual(2, len(self.problems("len(output) < 5", "1 / len(output)")))

    def test_functions_that_answer_otherwise_when_asked_again_are_named(self) -> None:
        counter = "import itertools\nNUMBERS = itertools.count()\n"
        for before, after, words in (
            ("Is {case.input}", "Is {next(NUMBERS)}", "messages depends"),
            ("len(output) < 5", "next(NUMBERS) % 2 == 0", "check answers otherwise"),
        ):
            with self.subTest(after=after):
                made, cases = toy(self.folder, counter + TASK_SOURCE.replace(before, after))
                self.assertTrue(any(words in problem for problem in problems_of(made, cases)))

    def test_the_summary_counts_splits_tags_labels_checks_and_baselines(self) -> None:
        made, cases = toy(self.folder)
        self.assertEqual(
            "cases.json and parity_task (Parity 1) can be used\n"
            "  cases:        development 2\n"
            "  expected:     yes 1, no 1\n"
            "  tags:         small 1\n"
            "  checks:       right, short\n"
            "  baselines:    always, label (sees labels)\n"
            "  for any task: coin (sees labels)", summary_text(made, cases, "cases.json", ("always", "coin")))

    def test_the_example_task_has_no_problems(self) -> None:
        from benchkit.tasks.task import load_task, read_cases
        root = Path(__file__).resolve().parent.parent
        self.assertEqual([], list(problems_of(load_task("triage_task", [root]), read_cases(root / "cases.json"))))
