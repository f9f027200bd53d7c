"""Finding a system by its name, and holding one of the user to the contract."""
from __future__ import annotations

import itertools
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
        with self.assertRaises(kind) as caught:
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


OPEN, SETTINGS, WARM = 'return {"server": "toy", "server_version": "1"}', 'return {"name": self.name}', "return 1.5"
ANSWER, CLOSE = 'return Reply("yes")', "self.closed = True"
CALLS = {OPEN: "open", SETTINGS: "settings", WARM: "warm", ANSWER: "answer", CLOSE: "close"}


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
        more = self.changed(WARM, "from benchkit.systems.system import Loaded; return Loaded(2.0, 4096)")
        self.assertEqual(Loaded(2.0, 4096), more.warm())
        for error, kind in (("TrialError('Timeout', 'slow')", TrialError),
                            ("EnvironmentFailure('no')", EnvironmentFailure)):
            system = self.changed(ANSWER, f"from benchkit.basics import errors; raise errors.{error}")
            with self.subTest(error=error), self.assertRaises(kind):
                system.answer(REQUEST)

    def test_whatever_else_it_raises_or_gives_is_one_line_with_its_place(self) -> None:
        json, seconds = "did not give a JSON object", "did not give the seconds that loading took"
        for old, new, words in (
                *((old, "raise RuntimeError('so')", r"\(\) of my_model.py, line \d+ raised RuntimeError: so")
                  for old in CALLS),
                *((old, "import sys; sys.exit('enough')", r"\(\) of my_model.py, line \d+ called sys.exit\('enough'\)")
                  for old in (OPEN, WARM, CLOSE)),
                (ANSWER, "exit(0)", r"answer\(\) of my_model.py, line 9 called sys.exit\(0\)"),
                (ANSWER, "raise ValueError('an\\nswer')", r"^--system my_model:a:b, case a, trial 1: answer\(\) of "
                                                          r"my_model.py, line 9 raised ValueError: an\\nswer$"),
                (OPEN, "raise ConnectionRefusedError('no')",
                 r"open\(\) of my_model.py, line 6 raised ConnectionRefusedError"),
                (OPEN, "return None", r"open\(\) of my_model.py did not give"), (SETTINGS, "return [1]", json),
                (SETTINGS, "return {1: 2}", json), (SETTINGS, "return {'a': {1}}", "gave something that is not JSON"),
                (SETTINGS, "return {'a': float('nan')}", "gave something that is not JSON"),
                (SETTINGS, "return {'a': '\\ud800'}", "lone surrogate"),
                (SETTINGS, "return {'a': 2**60}", r"beyond 2\^53 - 1"), (WARM, "return None", seconds),
                (WARM, "return True", seconds), (WARM, "return -1", seconds), (WARM, "return float('nan')", seconds),
                (ANSWER, "return 'yes'", "gave str, and not a Reply whose output is a text"),
                (ANSWER, "return None", "gave NoneType, and not a Reply"),
                (ANSWER, "return Reply(7)", "gave a Reply whose output is of type int, not str")):
            call = CALLS[old]
            with self.subTest(call, new=new):
                function = getattr(self.changed(old, new), call)
                kind, code = (BrokenOff, AFTER) if call in ("warm", "answer", "close") else (
                    EnvironmentFailure, 3) if "Connection" in new else (Unusable, 2)
                line = self.refusal(partial(function, REQUEST) if call == "answer" else function, kind, code)
                self.assertRegex(line, words)

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
