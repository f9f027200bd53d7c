"""A system of somebody's own, written after the README's example: its answers, and Ctrl-C while it is asked."""
from __future__ import annotations

import re
import signal
import time
from unittest import mock

from benchkit.basics.clock import Clock
from benchkit.systems import server_session
from tests.commands import ROOT, Told
from tests.workflow import Workflow

PIECES = '''\
import os, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace

def ask_somehow(messages, seed):
    for number in range(3):
        yield SimpleNamespace(text="yes"[number], finish="length" if number == 2 else None, prompt_tokens=7,
                              output_tokens=number + 1)
        SLIP

'''
ACKNOWLEDGED = b"stopping after the request under way; again to leave now\n"
WAITS = "Path('asleep').touch(); all(time.sleep(0.01) or True for _ in iter(Path('go').exists, True))"


def example() -> str:
    """The module that the README shows."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if "def system(" in block)
    return str(found)


class AfterTheReadme(Workflow):
    FLAGS = ("--system", "my_model:fast", "--trials", "1", "--quiet")

    def put(self, slip: str = "pass", code: str = "") -> None:
        (self.folder / "my_model.py").write_text(PIECES.replace("SLIP", slip) + (code or example()), encoding="utf-8")
        self.log = self.folder / "recorded" / "fast.jsonl"

    def test_its_answers_tokens_and_ends_are_kept(self) -> None:
        self.put()
        self.well(f"bench.py {' '.join(self.FLAGS)}")
        trial = next(line for line in self.lines() if line["kind"] == "trial")
        self.assertEqual(("yes", "length", 7, 3), (trial["output"], trial["finish"], trial["usage"]["prompt_tokens"],
                                                   trial["usage"]["output_tokens"]))

    def test_an_error_of_its_server_is_one_incomplete_trial_with_what_had_come(self) -> None:
        self.put("if number == 1: raise ConnectionResetError('gone')")
        self.type(f"bench.py {' '.join(self.FLAGS)}")
        errors = [line["error"] for line in self.lines() if line["kind"] == "trial"]
        self.assertEqual([("Unreachable", "ye")] * 3, [(error["type"], error["partial"]) for error in errors])

    def test_it_is_stopped_at_the_next_piece_and_its_trial_is_dropped(self) -> None:
        self.put(WAITS)
        process = self.start(*self.FLAGS)
        self.wait_for((self.folder / "asleep").exists)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        self.assertEqual(ACKNOWLEDGED, process.stderr.readline())
        (self.folder / "go").touch()
        told = self.ended(process)
        self.assertEqual((130, ""), (told.code, told.stdout), told.stderr)
        self.assertIn("stopped by SIGINT; what ended before is in recorded/fast.jsonl; go on with: ", told.stderr)
        self.assertEqual(("interrupted", []), (self.lines()[-1]["reason"], self.trials()))

    def test_loading_shows_a_sign_of_life_where_the_system_gives_none(self) -> None:
        self.put(code=BROKEN.replace("def warm(self): return 0.0", "def warm(self):\n        "
                                     "while 'so far' not in sys.stderr.getvalue(): time.sleep(.01)\n"
                                     "        return 0.0"))
        with mock.patch.multiple(server_session, SIGN_OF_LIFE_S=0.02, TICK_S=0.01):
            told = self.type(f"bench.py {' '.join(self.FLAGS)}")
        self.assertEqual(0, told.code, told.stderr)
        self.assertRegex(told.stderr, r"\A(loading my_model:fast: \d+ s so far\n)+\Z")

    def test_a_sign_of_its_own_stands_in_for_one_from_outside(self) -> None:
        now, said = [0.0], list[str]()
        signs = server_session.SignsOfLife(said.append, Clock(lambda: now[0]))
        with mock.patch.object(server_session, "TICK_S", 0.01), signs.while_loading("slow"):
            now[0] = 10.0
            signs.say("own")
            now[0] = 19.9
            time.sleep(0.1)
            self.assertEqual(["own"], said)
            now[0] = 21.0
            self.wait_for(lambda: len(said) > 1)
        self.assertEqual(["own", "loading slow: 21 s so far"], said)

    def interrupted(self, place: str, code: str, parallel: str = "") -> Told:
        """What is told of a run whose system gets a signal in one of its functions, waits, and goes on so."""
        self.put(code=BROKEN.replace(f"def {place}(self", f"def {place}(self, *_):\n        {code}\n"
                                                          f"    def _{place}(self"))
        self.log.unlink(missing_ok=True)
        told = self.type(f"bench.py {' '.join(self.FLAGS)}{parallel}")
        self.assertEqual((130, ""), (told.code, told.stdout), told.stderr)
        self.assertNotIn("Traceback", told.stderr)
        if place != "open":
            self.assertEqual("interrupted", self.lines()[-1]["reason"])
        return told

    def test_one_that_does_not_look_is_told_of_at_once_and_stopped_after_the_request(self) -> None:
        for parallel in ("", " --parallel 2"):
            with self.subTest(parallel=parallel):
                told = self.interrupted("answer", "self.wait(lambda: 'stopping after' in sys.stderr.getvalue()); "
                                                  "return Reply('yes')", parallel)
                self.assertTrue(told.stderr.startswith(ACKNOWLEDGED.decode()), told.stderr)
                self.assertTrue(1 <= len(self.trials()) <= 2)

    def test_a_signal_while_it_loads_is_followed_by_no_request(self) -> None:
        for parallel in ("", " --parallel 2"):
            with self.subTest(parallel=parallel):
                self.interrupted("warm", "self.answer = lambda request: Path('asked').touch(); self.wait(); return 0.0",
                                 parallel)
                self.assertEqual([], self.trials())
                self.assertFalse((self.folder / "asked").exists())

    def test_what_a_signal_broke_off_is_no_error_of_the_system_and_runs_again(self) -> None:
        for ending in ("return None", "raise OSError('killed')", "raise KeyError('x')", "sys.exit(1)",
                       "raise TrialError('Unreachable', 'gone')", "raise TrialError('ServerError', 'x', stops='gone')",
                       "subprocess.run([sys.executable, '-S', '-c', 'raise SystemExit(1)'], check=True)"):
            for place in ("answer", "warm", "open") if "TrialError" not in ending else ("answer",):
                with self.subTest(ending=ending, place=place):
                    self.interrupted(place, f"self.wait(); {ending}")
                    self.assertEqual([], self.trials())


BROKEN = '''\
import signal, threading
from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply
class Broken:
    def __init__(self, stop): self.stop, self.once = stop, threading.Lock()
    def wait(self, until=lambda: True):
        if self.once.acquire(blocking=False): os.kill(os.getpid(), signal.SIGINT)
        while self.stop.signal is None or not until(): time.sleep(0.01)
    def open(self): return {'server': None}
    def settings(self): return {}
    def warm(self): return 0.0
    def answer(self, request): return Reply('yes')
    def close(self): pass
def system(name, options): return Broken(options.stop)
'''
