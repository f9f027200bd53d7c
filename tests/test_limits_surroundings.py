"""A machine that has too little, or answers oddly: fewer at once, or one line and exit code 3; never a traceback."""
from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
import unittest
from functools import partial
from pathlib import Path
from unittest import mock

from benchkit import cli
from benchkit.basics.clock import Clock, stamp_of
from benchkit.basics.command import Command, shell_word
from benchkit.basics.errors import EnvironmentFailure
from benchkit.basics.texts import shown
from benchkit.disk.locking import lock_file
from tests.commands import PYTHON, ROOT, Told
from tests.workflow import Workflow, typed

MB = 1_000_000
WANT = "there is not enough memory, or no room for another thread"
FEWER = "no more threads can be started here (too little memory, or ulimit -u): from now on "
ODD = ("a\x1b[31mred", "two\nlines\tand\x07", "a\u202eb\u2066c", "it's \\ $(x) \x9b", "\x1b]0;title\x07", "plain words")
SLOW = '''\
import time
from benchkit.basics.values import Reply
class Robot:
    def open(self): return {"server": "toy", "server_version": "1"}
    def settings(self): return {}
    def warm(self): return 0
    def answer(self, request):
        time.sleep(0.05)
        return Reply("yes")
    def close(self): pass
def system(name, options): return Robot()
'''
BELOW = """
import resource, runpy, sys
own = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize"))) * 1024
resource.setrlimit(resource.RLIMIT_AS, (own + int(sys.argv[1]),) * 2)
sys.argv = sys.argv[2:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Threads(Workflow):
    def run_with_room_for(self, threads: int) -> Told:
        """A run of 32 at once on a machine where so many of its threads can be alive."""
        start, alive = threading.Thread.start, threading.enumerate

        def may_start(thread: threading.Thread) -> None:
            if sum(one.name == "trials" for one in alive()) >= threads:
                raise RuntimeError("can't start new thread")
            start(thread)

        (self.folder / "slow.py").write_text(SLOW, encoding="utf-8")
        with mock.patch.object(threading.Thread, "start", may_start):
            return self.type("bench.py --system slow:x --trials 5 --parallel 32 --log recorded/smol.jsonl --quiet")

    def test_where_there_is_room_for_fewer_there_are_fewer_at_once_and_a_line_says_so(self) -> None:
        for room, told_of in ((10, "10 trials"), (1, "1 trial"), (0, "1 trial")):
            with self.subTest(room=room):
                told = self.run_with_room_for(room)
                self.assertEqual((0, f"{FEWER}{told_of} at once\n"), (told.code, told.stderr))
                self.assertEqual(sorted(self.every_cell(5)), sorted(self.trials()))
                self.log.unlink()

    def test_where_no_thread_can_show_progress_the_run_goes_on_without(self) -> None:
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            told = self.type("bench.py --system baselines:keywords --trials 1")
        self.assertEqual((0, ""), (told.code, told.stderr))

    def test_a_thread_that_is_needed_and_cannot_be_had_is_one_line_and_3(self) -> None:
        with mock.patch("benchkit.running.session.record_live", side_effect=RuntimeError("can't start new thread")):
            told = self.type("bench.py --system baselines:keywords --trials 1")
        self.assertEqual((3, "", 1), (told.code, told.stdout, told.stderr.count("\n")))
        self.assertIn(WANT, told.stderr)


@unittest.skipUnless(sys.platform.startswith("linux"), "memory is limited as Linux limits it")
class Memory(Workflow):
    def below(self, room: int, *words: str) -> Told:
        """A command in a process that may take so many bytes more than Python itself."""
        found = subprocess.run(
            [*PYTHON, "-c", BELOW, str(room), str(ROOT / words[0]), *words[1:]], cwd=self.folder,
            capture_output=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=600)
        return Told(found.returncode, found.stdout.decode(), found.stderr.decode())

    def test_threads_that_do_not_fit_are_not_started(self) -> None:
        (self.folder / "slow.py").write_text(SLOW, encoding="utf-8")
        told = self.below(150 * MB, "bench.py", "--system", "slow:x", "--trials", "20", "--parallel", "32",
                          "--log", "recorded/smol.jsonl", "--quiet")
        self.assertEqual(0, told.code, told.stderr)
        self.assertIn(FEWER, told.stderr)
        self.assertEqual(sorted(self.every_cell(20)), sorted(self.trials()))

    def test_a_file_that_does_not_fit_is_one_line_and_3(self) -> None:
        large = {"cases": [{**self.cases[0], "id": f"case-{number}", "input": "x" * 400} for number in range(100_000)]}
        (self.folder / "cases.json").write_text(json.dumps(large), encoding="utf-8")
        told = self.below(60 * MB, "harness.py", "check")
        self.assertEqual((3, "", 1), (told.code, told.stdout, told.stderr.count("\n")), told.stderr)
        self.assertIn(WANT, told.stderr)

    def test_a_task_is_not_blamed_for_want_of_memory(self) -> None:
        for old, new in (("NAME = ", "raise MemoryError\nNAME = "),
                         ("def messages(case", "def messages(case):\n    raise MemoryError\ndef unused(case")):
            with self.subTest(new=new):
                self.change("triage_task.py", old, new)
                self.refused("bench.py --system baselines:keywords --trials 1", 3, WANT)
                (self.folder / "triage_task.py").unlink()


class Clocks(Workflow):
    def test_a_time_that_no_file_can_hold_is_one_line_and_3(self) -> None:
        for wall in (-62_135_596_801.0, 253_402_300_800.0, 1e30, -1e30, float("nan"), float("inf")):
            with self.subTest(wall=wall):
                self.assertRaises(EnvironmentFailure, Clock(wall=partial(float, wall)).stamp)
        self.assertEqual("0001-01-01T00:00:00.000Z", stamp_of(-62_135_596_800.0))
        self.assertEqual("9999-12-31T23:59:59.500Z", stamp_of(253_402_300_799.5))

    def test_a_clock_that_jumps_there_ends_a_run_in_one_line_and_keeps_what_is_recorded(self) -> None:
        def stamp(_clock: Clock) -> str:
            return stamp_of(1e30 if len(self.trials()) == 4 else time.time())

        with mock.patch.object(Clock, "stamp", stamp):
            told = self.type("bench.py --system baselines:keywords --trials 3 --log recorded/smol.jsonl --quiet")
        self.assertEqual((3, "", 1), (told.code, told.stdout, told.stderr.count("\n")), told.stderr)
        self.assertIn("the clock of this machine", told.stderr)
        self.assertEqual(self.every_cell(2)[:4], self.trials())
        self.well("bench.py --log recorded/smol.jsonl --quiet")
        self.assert_once_each()

    def assert_once_each(self) -> None:
        """All three trials of every case are in the log, none twice."""
        self.assertEqual(sorted(self.every_cell(3)), sorted(self.trials()))


class Locks(Workflow):
    def test_a_file_system_that_neither_locks_nor_refuses_is_left_soon(self) -> None:
        class Interrupted:
            LOCK_EX = LOCK_NB = 0

            @staticmethod
            def flock(_fd: int, _how: int) -> None:
                """As Python's own does where each call is interrupted: it calls again, and looks at signals between."""
                while True:
                    time.sleep(0)

        start = time.process_time()
        with self.assertRaisesRegex(
            EnvironmentFailure, "it cannot be locked .neither had nor refused within 0.2 s.; put"
        ):
            lock_file(0, Interrupted, 0.2)
        self.assertLess(time.process_time() - start, 5)


class Streams(Workflow):
    def test_a_stdout_that_was_a_file_and_takes_no_seek_takes_text(self) -> None:
        class Unmovable(io.TextIOWrapper):
            def reconfigure(self, **_more: object) -> None:
                raise OSError(29, "Illegal seek")

        def story() -> int:
            cli.put("é\n")
            return cli.DONE

        path = self.folder / "out"
        with path.open("wb") as file:
            stdout = Unmovable(file, encoding="ascii")
            with mock.patch.object(sys, "stdout", stdout):
                self.assertEqual(0, cli.run("x.py", story))
            stdout.detach()
        self.assertEqual(b"\\xe9\n", path.read_bytes())


    @unittest.skipUnless(sys.platform.startswith("linux"), "the size of a file is limited as Linux limits it")
    def test_a_disk_with_room_for_all_but_the_last_letters_is_one_line_and_3(self) -> None:
        cut = ("import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
               "os.execv(sys.argv[2], sys.argv[2:])")
        self.well("bench.py --system baselines:keywords --trials 1")
        for flags, words in (
            ((), ["harness.py", "check"]), (("-u",), ["harness.py", "check"]), ((), ["report.py", "--help"]),
            ((), ["bench.py", "--log", "recorded/keywords.jsonl", "--status"])):
            command = [sys.executable, *flags, "-S", str(ROOT / words[0]), *words[1:]]
            size = len(typed(words).stdout.encode())
            for room, code in ((size, 0), (size - 3, 3)):
                with self.subTest(words, flags=flags, code=code), (self.folder / "out").open("wb") as out:
                    told = subprocess.run([sys.executable, "-S", "-c", cut, str(room), *command], stdout=out,
                                          stderr=subprocess.PIPE, text=True, check=False)
                    self.assertEqual((code, int(code == 3)), (told.returncode, told.stderr.count("\n")))


class Words(Workflow):
    def in_bash(self, command: str) -> list[str]:
        """The words that bash makes of a command."""
        found = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
        return found.stdout.decode().split("\0")[:-1]

    def test_an_offered_command_is_shell_with_nothing_in_it_that_a_terminal_obeys(self) -> None:
        for name in ODD:
            with self.subTest(name):
                self.assertEqual([name], self.in_bash(shell_word(name)))
                self.assertEqual(shown(shell_word(name)), shell_word(name))
                words = ("--log", name, "--quiet")
                self.assertEqual(["python3", "bench.py", *words], self.in_bash(str(Command("bench.py", words))))

    def offers(self, told: Told, *words: str) -> None:
        """What was told is safe on a terminal, and offers this command, as bash reads it."""
        text = told.stdout + told.stderr
        self.assertEqual(shown(text), text)
        lines = [line.partition("python3 ")[2].partition(", or choose")[0].partition(", with --cases")[0]
                 for line in text.split("\n")]
        self.assertIn(list(words), [self.in_bash(line) for line in lines if line], text)

    def test_names_of_files_are_offered_so_that_the_command_can_be_typed(self) -> None:
        for name in ODD:
            with self.subTest(name):
                log, out = str(Path("recorded", f"{name}.jsonl")), str(Path("runs", f"{name}.json"))
                flags = ("--system", "baselines:keywords", "--trials", "2", "--log", log)
                self.offers(typed(["bench.py", *flags, "--limit", "1"]), "bench.py", *flags, "--limit", "1")
                told = typed(["bench.py", *flags])
                self.offers(told, "harness.py", "run", "--task", "triage_task", "--cases", "cases.json", "--system",
                            f"replay:{log.removesuffix('l')}", "--split", "development", "--trials", "2", "--out", out)
                self.offers(typed(["harness.py", "run", "--system", f"replay:{log.removesuffix('l')}", "--out", out]),
                            "report.py", out, "--out", out.replace(".json", "-report.json"))
                for command in (["bench.py", "--log", log, "--status"], ["report.py", out], [
                        "bench.py", "--log", log, "--convert", f"{name}.json"], [
                        "outputs_digest.py", log], ["bench.py", "--log", log, "--export", f"{name}.jsonl"]):
                    told = typed(command)
                    self.assertEqual(shown(told.stdout + told.stderr), told.stdout + told.stderr, command)

    def test_an_argument_that_is_no_utf_8_is_one_line_and_2(self) -> None:
        odd = os.fsdecode(b"a\xff")
        commands: tuple[list[str], ...] = (
            ["bench.py", "--hardware", odd, "--system", "baselines:coin"], ["bench.py", "--log", f"{odd}.jsonl"],
            ["harness.py", "check", "--cases", odd], ["report.py", odd], ["outputs_digest.py", odd],
            ["board.py", "run", odd])
        for command in commands:
            with self.subTest(command):
                told = typed(command)
                self.assertEqual((2, "", 1), (told.code, told.stdout, told.stderr.count("\n")))
                self.assertIn("a\\udcff", told.stderr)
                self.assertIn("is no UTF-8", told.stderr)
        self.assertNotIn("recorded", [path.name for path in self.folder.iterdir()])
