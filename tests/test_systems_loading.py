"""Finding a system by its name, and holding one of the user to the contract."""
from __future__ import annotations

import itertools
import unittest
from collections.abc import Callable, Iterator
from functools import partial

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import BrokenOff, EnvironmentFailure, KitError, TrialError, Unusable
from benchkit.basics.values import Case, Reply, Request
from benchkit.systems.baselines import BaselineSystem
from benchkit.systems.loading import is_baseline, load_system, split_name
from benchkit.systems.system import Loaded, System, SystemOptions
from tests.running_samples import TASK
from tests.test_tasks_task import InAFolder

GOOD = '''\
from benchkit.basics.values import Reply

class Robot:
    def __init__(self, name, options):
        self.name, self.options = name, options
    def open(self): return {"server": "toy", "server_version": "1"}
    def settings(self): return {"name": self.name}
    def warm(self): return 1.5
    def answer(self, request): return Reply("yes")
    def close(self): self.closed = True

def system(name, options): return Robot(name, options)
'''
CASE = Case("a", "development", 1, "yes")
REQUEST = Request("a", 1, 1, 1001, (), None, 100.0)
AFTER = 3
"""The exit code of what fails when the log is begun already."""


class Loading(InAFolder):
    def load(self, name: str = "my_model:a:b", source: str | None = GOOD, now: Iterator[float] | None = None,
             ) -> System:
        if source is not None:
            self.write("my_model.py", source)
        return load_system(name, SystemOptions(
            clock=Clock(monotonic=partial(next, now or itertools.repeat(0.0))),
            stop=StopRequest(), say=lambda line: None, task=TASK, cases=(CASE,)), [self.folder])

    def refusal(self, act: Callable[[], object], kind: type[KitError] = Unusable, code: int | None = None) -> str:
        with self.assertRaises(KitError if code else kind) as caught:
            act()
        self.assertEqual(code or kind.exit_code, caught.exception.exit_code)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)


class ByName(Loading):
    def test_a_name_is_cut_at_its_first_colon(self) -> None:
        for name, parts in (("a:b", ("a", "b")), ("model_triage:smollm2:135m", ("model_triage", "smollm2:135m")),
                            ("replay:x/y.json", ("replay", "x/y.json"))):
            self.assertEqual(parts, split_name(name))
        for name in ("", "a", "a:", ":b", ":"):
            with self.subTest(name=name), self.assertRaisesRegex(Unusable, "module:name, such as model_triage:gemma"):
                split_name(name)

    def test_a_baseline_is_one_by_its_name_alone(self) -> None:
        for name, expected in (("baselines:x", True), ("baselines:", True), ("my_baselines:x", False),
                               ("Baselines:x", False), ("model:baselines:x", False)):
            self.assertEqual(expected, is_baseline(name))
        self.write("baselines.py", GOOD)
        self.assertIsInstance(self.load("baselines:coin", None), BaselineSystem)

    def test_a_system_of_the_user_is_given_its_name_and_the_options(self) -> None:
        system = self.load()
        self.assertEqual({"name": "a:b"}, system.settings())

    def test_what_is_no_system_is_refused_in_one_line(self) -> None:
        for name, source, words in (
            ("nowhere:x", None, "there is no module nowhere"),
            ("replay:a.json", None, "a replay is judged, not recorded: give python3 harness.py run this --system"),
            ("my_model:x", "", "my_model.py has no function system(name, options)"),
            ("my_model:x", "system = 1", "my_model.py has no function system(name, options)"),
            ("my_model:x", "1 +", "my_model.py, line 1: it is not Python"),
            ("my_model:x", "\nimport nowhere_at_all", "line 2: it cannot be imported: ModuleNotFoundError"),
            ("my_model:x", "def system(name, options): return 7",
             "--system my_model:x: system() of my_model.py gave int, which has no open, settings, warm, answer, close"),
            ("my_model:x", "def system(name, options):\n  raise ValueError('a\\nb')",
             "system() of my_model.py, line 2 raised ValueError: a\\nb"),
            ("my_model:x", "def system(name): return 7", "system() of my_model.py raised TypeError"),
            ("my_model.py:a:b", None,
             "--system my_model.py:a:b: a system is named after its module, not after the file: give my_model:a:b"),
            ("models/mine.py", None, "give models.mine:NAME"),
            ("os:x", None, "os is a module of Python itself"),
            ("benchkit:x", None, "benchkit is a module of the kit itself"),
        ):
            with self.subTest(name=name, source=source):
                self.assertIn(words, self.refusal(partial(self.load, name, source)))


class HeldToTheContract(Loading):
    def changed(self, old: str, new: str, now: Iterator[float] | None = None) -> System:
        self.assertIn(old, GOOD)
        return self.load(source=GOOD.replace(old, new), now=now)

    def test_one_that_keeps_it_is_passed_through(self) -> None:
        system = self.load()
        self.assertEqual({"server": "toy", "server_version": "1"}, system.open())
        self.assertEqual(Loaded(1.5), system.warm())
        self.assertEqual(Reply("yes"), system.answer(REQUEST))
        system.close()

    def test_loading_may_also_tell_what_was_loaded(self) -> None:
        system = self.changed("return 1.5", "from benchkit.systems.system import Loaded; return Loaded(2.0, 4096)")
        self.assertEqual(Loaded(2.0, 4096), system.warm())

    def test_errors_of_the_contract_pass(self) -> None:
        for error, kind in (("TrialError('Timeout', 'slow')", TrialError),
                            ("EnvironmentFailure('no')", EnvironmentFailure)):
            system = self.changed('return Reply("yes")', f"from benchkit.basics import errors; raise errors.{error}")
            with self.subTest(error=error), self.assertRaises(kind):
                system.answer(REQUEST)

    def test_anything_else_it_raises_is_one_line_with_its_place(self) -> None:
        system = self.changed('return Reply("yes")', "raise ValueError('an\\nswer')")
        self.assertEqual("--system my_model:a:b, case a, trial 1: answer() of my_model.py, line 9 raised ValueError: "
                         "an\\nswer",
                         self.refusal(lambda: system.answer(REQUEST), BrokenOff))
        for old, call in (('return {"server": "toy", "server_version": "1"}', "open"), ("return 1.5", "warm"),
                          ('return {"name": self.name}', "settings"), ("self.closed = True", "close")):
            with self.subTest(call=call):
                system = self.changed(old, "raise RuntimeError('so')")
                words = self.refusal(getattr(system, call), code=AFTER if call in ("warm", "close") else 2)
                self.assertRegex(words, rf"{call}\(\) of my_model.py, line \d+ raised RuntimeError: so")

    def test_one_that_leaves_python_is_caught_and_told(self) -> None:
        for old, call, code in (('return {"server": "toy", "server_version": "1"}', "open", 2),
                                ("return 1.5", "warm", AFTER), ("self.closed = True", "close", AFTER)):
            with self.subTest(call=call):
                system = self.changed(old, "import sys; sys.exit('enough')")
                words = self.refusal(getattr(system, call), code=code)
                self.assertRegex(words, rf"{call}\(\) of my_model.py, line \d+ called sys.exit\('enough'\)")
        system = self.changed('return Reply("yes")', "exit(0)")
        self.assertIn("answer() of my_model.py, line 9 called sys.exit(0)",
                      self.refusal(lambda: system.answer(REQUEST), BrokenOff))

    def test_a_reply_behind_its_deadline_is_a_timeout_that_keeps_the_text(self) -> None:
        for reply, end, is_late in (
                ("'yes'", 100.0, False), ("'yes'", 100.1, True), ("'yes', waited_s=5", 105.0, False),
                ("'yes', waited_s=5", 105.1, True), ("'yes', latency_s=7.5", 101.0, False),
                ("'yes', latency_s=7.5", 101.1, True), ("'yes', latency_s=99.5", 100.6, True)):
            with self.subTest(reply=reply, end=end):
                system = self.changed('Reply("yes")', f"Reply({reply})", iter((1.0, end)))
                if not is_late:
                    self.assertEqual("yes", system.answer(REQUEST).output)
                    continue
                with self.assertRaises(TrialError) as caught:
                    system.answer(REQUEST)
                error = caught.exception
                self.assertEqual(("Timeout", "yes", None), (error.type, error.partial, error.stops))
                latency_s = float(reply.partition("latency_s=")[2] or end - 1.0)
                self.assertEqual(latency_s, error.latency_s)

    def test_a_connection_that_fails_is_of_the_surroundings(self) -> None:
        system = self.changed('return {"server": "toy", "server_version": "1"}', "raise ConnectionRefusedError('no')")
        self.assertIn("open() of my_model.py, line 6 raised ConnectionRefusedError",
                      self.refusal(system.open, EnvironmentFailure))

    def test_what_it_gives_must_be_what_the_contract_says(self) -> None:
        for old, new, call, words in (
            ('{"server": "toy", "server_version": "1"}', "None", "open", "open() of my_model.py did not give"),
            ('{"name": self.name}', "[1]", "settings", "did not give a JSON object"),
            ('{"name": self.name}', "{1: 2}", "settings", "did not give a JSON object"),
            ('{"name": self.name}', "{'a': {1}}", "settings", "gave something that is not JSON"),
            ('{"name": self.name}', "{'a': float('nan')}", "settings", "gave something that is not JSON"),
            ('{"name": self.name}', "{'a': '\\ud800'}", "settings", "lone surrogate"),
            ('{"name": self.name}', "{'a': 2**60}", "settings", "beyond 2^53 - 1"),
            ("return 1.5", "return None", "warm", "did not give the seconds that loading took"),
            ("return 1.5", "return True", "warm", "did not give the seconds"),
            ("return 1.5", "return -1", "warm", "did not give the seconds"),
            ("return 1.5", "return float('nan')", "warm", "did not give the seconds"),
        ):
            with self.subTest(new=new):
                code = AFTER if call == "warm" else 2
                self.assertIn(words, self.refusal(getattr(self.changed(old, new), call), code=code))
        for new, words in (("'yes'", "str, and not a Reply whose output is a text"), ("None", "NoneType, and not a"),
                           ("Reply(7)", "a Reply whose output is of type int, not str")):
            with self.subTest(new=new):
                system = self.changed('Reply("yes")', new)
                self.assertIn(f"answer() of my_model.py gave {words}",
                              self.refusal(partial(system.answer, REQUEST), BrokenOff))


if __name__ == "__main__":
    unittest.main()
