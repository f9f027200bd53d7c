"""What all commands do alike: errors in one line, exit codes, streams that are closed, numbers as flags."""
from __future__ import annotations

import argparse
import io
import signal
import subprocess
import sys
import unittest
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from benchkit import cli
from benchkit.basics.errors import EnvironmentFailure, Interrupted, Unusable
from tests.commands import HANGS_S, ROOT

TOLD = "import sys; sys.path.insert(0, {root!r}); from benchkit import cli\n"


def told(story: Callable[[], int]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a story at a command."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = cli.run("bench.py", story)
    return code, stdout.getvalue(), stderr.getvalue()


def raising(error: BaseException) -> Callable[[], int]:
    """A story that prints and then fails."""
    def story() -> int:
        print("begun")
        raise error
    return story


class Stories(unittest.TestCase):
    def test_a_story_that_ends_well_gives_its_own_code_and_leaves_stderr_empty(self) -> None:
        for code in (cli.DONE, cli.NO):
            self.assertEqual((code, "", ""), told(partial(int, code)))

    def test_an_error_is_one_line_on_stderr_and_its_exit_code(self) -> None:
        for error, code, line in (
            (Unusable("cases.json: bad"), 2, "cases.json: bad"),
            (EnvironmentFailure("no server"), 3, "no server"),
            (Interrupted(signal.SIGINT), 130, "stopped by SIGINT"),
            (Interrupted(signal.SIGTERM, "; go on"), 143, "stopped by SIGTERM; go on"),
            (KeyboardInterrupt(), 130, "stopped by SIGINT"),
            (PermissionError(13, "Permission denied", "a/b"), 3, "Permission denied: a/b; nothing more was written"),
            (Unusable("two\nlines \x1b[31m"), 2, "two\\nlines \\x1b[31m"),
        ):
            with self.subTest(error=error):
                self.assertEqual((code, "begun\n", f"bench.py: {line}\n"), told(raising(error)))

    def test_anything_else_is_a_defect_and_is_not_hidden(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            told(raising(ZeroDivisionError()))


class BeforeTheStory(unittest.TestCase):
    EARLY = ("import os, signal, sys\nsys.path.insert(0, {root!r})\nfrom benchkit import cli\n"
             "def main():\n    os.kill(os.getpid(), signal.SIGINT)\n    return 7\n"
             "sys.exit(cli.as_process(main))\n")

    def early(self, *prefix: str) -> tuple[int, str]:
        """The exit code and stderr of a command that is stopped by Ctrl-C while its flags are read."""
        script = self.EARLY.format(root=str(ROOT))
        found = subprocess.run([*prefix, sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS_S,
                               check=False)
        return found.returncode, found.stderr

    def test_an_interrupt_ends_it_by_the_signal_and_without_a_traceback(self) -> None:
        self.assertEqual((-signal.SIGINT, ""), self.early())

    def test_an_interrupt_that_is_ignored_stays_ignored(self) -> None:
        self.assertEqual((7, ""), self.early("sh", "-c", 'trap "" INT; exec "$@"', "sh"))


class Streams(unittest.TestCase):
    def python(self, text: str, redirection: str, flags: str = "") -> tuple[int, str, str]:
        """A script at a command in a shell; the code is that of the script, not of `head`."""
        script = TOLD.format(root=str(ROOT)) + text
        found = subprocess.run(
            ["bash", "-c", f'"$0" {flags} -c "$1" {redirection}; exit ${{PIPESTATUS[0]}}', sys.executable, script],
            capture_output=True, text=True, timeout=HANGS_S, check=False)
        return found.returncode, found.stdout, found.stderr

    LONG = "sys.exit(cli.run('x.py', lambda: cli.put('line\\n' * 200000) or 0))"

    def test_a_reader_that_has_left_is_141_and_silence(self) -> None:
        for flags in ("", "-u"):
            with self.subTest(flags=flags):
                self.assertEqual((141, "line\n", ""), self.python(self.LONG, "| head -n 1", flags))

    def test_a_reader_that_has_left_before_a_short_text_came_is_the_same(self) -> None:
        late = "import time; time.sleep(0.3); sys.exit(cli.run('x.py', lambda: cli.put('short\\n') or 0))"
        self.assertEqual((141, "", ""), self.python(late, "| true"))

    def test_a_full_disk_behind_stdout_is_one_line_and_3(self) -> None:
        self.assertEqual((3, "", "x.py: No space left on device; nothing more was written\n"),
                         self.python(self.LONG, "> /dev/full"))

    def test_streams_closed_at_the_start_stop_nothing(self) -> None:
        self.assertEqual((0, "", ""), self.python(self.LONG, ">&-"))
        self.assertEqual((0, "", ""), self.python("sys.exit(cli.run('x.py', lambda: cli.say('s') or 0))", "2>&-"))
        failing = "from benchkit.basics.errors import Unusable\ndef story(): raise Unusable('bad')\n" \
                  "sys.exit(cli.run('x.py', story))"
        self.assertEqual((2, "", ""), self.python(failing, "2>&-"))
        self.assertEqual((2, "", "x.py: bad\n"), self.python(failing, ">&-"))

    def test_any_text_can_be_printed_in_any_locale(self) -> None:
        text = ("sys.exit(cli.run('x.py', lambda: "
                "cli.put('\\u00fc \\ud800 \\U0001f600\\n') or cli.say('\\u6f22') or 0))")
        code, stdout, stderr = self.python("import io\nsys.stdout.reconfigure(encoding='ascii')\n"
                                           "sys.stderr.reconfigure(encoding='ascii')\n" + text, "")
        self.assertEqual((0, "\\xfc \\ud800 \\U0001f600\n", "\\u6f22\n"), (code, stdout, stderr))

    def test_help_that_nobody_reads_on_is_141_and_silence(self) -> None:
        for flags in ("", "-u"):
            with self.subTest(flags=flags):
                self.assertEqual((141, "usage: x.py [-h] [--version]\n", ""), self.python(
                    "cli.Parser('x.py', 'word\\n' * 100000).parse_args(['--help'])", "| head -n 1", flags))

    def test_help_and_version_on_a_full_disk_are_one_line_and_3(self) -> None:
        for flag in ("--help", "--version"):
            for flags in ("", "-u"):
                with self.subTest(flag=flag, flags=flags):
                    self.assertEqual((3, "", "x.py: No space left on device; nothing more was written\n"), self.python(
                        f"cli.Parser('x.py', 'word\\n' * 9000).parse_args(['{flag}'])", "> /dev/full", flags))

    def test_help_without_a_stdout_goes_nowhere(self) -> None:
        self.assertEqual((0, "", ""), self.python("cli.Parser('x.py').parse_args(['--help'])", ">&-"))


class Flags(unittest.TestCase):
    def parsed(self, *words: str) -> tuple[int, str, str]:
        parser = cli.Parser("x.py", "What it is.")
        parser.add_argument("--trials", type=cli.whole_number)
        parser.add_argument("--budget-s", type=cli.seconds)
        parser.add_argument("--alpha", type=cli.fraction)
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr), self.assertRaises(SystemExit) as left:
            parser.parse_args(list(words))
        return int(str(left.exception.code)), stdout.getvalue(), stderr.getvalue()

    def test_a_complaint_is_one_line_and_2(self) -> None:
        for words, line in (
            (("--colour", "red"), "unrecognized arguments: --colour red"),
            (("--tri", "3"), "unrecognized arguments: --tri 3; did you mean --trials?"),
            (("--trial=3", "--budget", "4", "-alpha"),
             "unrecognized arguments: --trial=3 --budget 4 -alpha; did you mean --trials, --budget-s, --alpha?"),
            (("more", "--xyz"), "unrecognized arguments: more --xyz (python3"),
            (("--trials",), "argument --trials: expected one argument"),
            (("--trials", "x\n\x1b[31m"), "is not a whole number from 1 to 999,999,999"),
        ):
            with self.subTest(words=words):
                code, stdout, stderr = self.parsed(*words)
                self.assertEqual((2, ""), (code, stdout))
                self.assertRegex(stderr, r"\Ax\.py: [ -~]* \(python3 x\.py --help lists the flags\)\n\Z")
                self.assertIn(line, stderr)

    def test_whole_numbers_begin_at_one(self) -> None:
        self.assertEqual([1, 10, 999999999, 7], [cli.whole_number(text) for text in ("1", "10", "999999999", "007")])
        for text in ("", "0", "-1", "1.0", "1e3", "x", " 1", "1_0", "٣", "9" * 10):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                cli.whole_number(text)

    def test_seconds_are_finite_and_above_zero(self) -> None:
        self.assertEqual([0.5, 30.0, 1000.0], [cli.seconds(text) for text in ("0.5", "30", "1e3")])
        for text in ("", "0", "-1", "nan", "inf", "1e999", "x", "1_0", "٣", "1e-9", "1e10"):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                cli.seconds(text)

    def test_fractions_are_from_zero_to_one(self) -> None:
        self.assertEqual([0.0, 0.05, 1.0], [cli.fraction(text) for text in ("0", ".05", "1")])
        for text in ("", "-0.1", "1.1", "nan", "x"):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                cli.fraction(text)


class Places(unittest.TestCase):
    def test_modules_are_looked_for_in_the_working_folder_and_beside_the_commands(self) -> None:
        self.assertEqual((Path.cwd(), ROOT), cli.folders())

    def test_a_command_is_named_as_it_was_typed(self) -> None:
        before = sys.argv
        self.addCleanup(lambda: setattr(sys, "argv", before))
        for typed, name in (("bench.py", "report.py"), ("../kit/bench.py", "../kit/report.py")):
            sys.argv = [typed]
            self.assertEqual(name, cli.typed("report.py", None))
        self.assertEqual("report.py", cli.typed("report.py", []))
