"""What every door does alike: flags, one-line errors, exit codes. Cheap to import: argparse and nothing else.

Exit codes: 0 done; 1 the answer is "no"; 2 bad flags, files, tasks; 3 the surroundings; 130 and 143 after a signal;
141 stdout was closed. What does not live here: what a door is for (the doors), and the errors (basics/errors.py).
"""
from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from benchkit import VERSION

DONE, NO = 0, 1
CLOSED_STDOUT = 141


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line and exit code 2; flags are never abbreviated."""

    def __init__(self, prog: str, description: str | None = None, **more: Any) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        self.add_argument("--version", action="version", version=f"{prog.split()[0]} {VERSION}")

    def error(self, message: str) -> NoReturn:
        """One line on stderr, exit code 2."""
        self.exit(2, f"{self.prog}: {one_line(message)} (python3 {self.prog} --help lists the flags)\n")


def one_line(text: str) -> str:
    """The text on one line, control characters shown."""
    from benchkit.basics.names import shown_line
    return shown_line(text, most=2000)


def run(prog: str, story: Callable[[], int]) -> int:
    """Tell the story of a door; errors become one line on stderr and the exit code."""
    for stream in (sys.stdout, sys.stderr):
        _survive_any_text(stream)
    from benchkit.basics.errors import KitError
    try:
        code = story()
        sys.stdout.flush()
        return code
    except KitError as error:
        return _failed(prog, str(error), error.exit_code)
    except BrokenPipeError:
        # the reader has gone (`| head`); what is left in the buffer must not raise again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_STDOUT
    except KeyboardInterrupt:
        return _failed(prog, "stopped by SIGINT", 130)
    except OSError as error:
        return _failed(prog, f"{error.strerror or type(error).__name__}"
                             f"{f': {error.filename}' if error.filename else ''}; nothing more was written", 3)


def _failed(prog: str, message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print(f"{prog}: {one_line(message)}", file=sys.stderr)
    return code


def _survive_any_text(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """A line for the person who waits: stderr."""
    print(one_line(line), file=sys.stderr, flush=True)


def folders() -> tuple[Path, Path]:
    """Where the modules of the user are looked for: the working folder, then beside the doors."""
    return Path.cwd(), Path(__file__).resolve().parent.parent


def whole_number(text: str) -> int:
    """A flag's whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    """A flag's seconds: finite, above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds above 0")
    return number


def fraction(text: str) -> float:
    """A flag's number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 0 to 1")
    return number


DEFAULT_TASK, DEFAULT_CASES, DEFAULT_SPLIT = "triage_task", "cases.json", "development"
DEFAULT_SYSTEM, DEFAULT_TRIALS = "model_triage:gemma", 10


def add_task_flags(parser: argparse.ArgumentParser) -> None:
    """--task and --cases, alike at every door; a flag not given is None, so that a log can fill it in."""
    parser.add_argument("--task", metavar="MODULE", help=f"the task (default {DEFAULT_TASK}, or what the log says)")
    parser.add_argument("--cases", metavar="FILE", default=DEFAULT_CASES, help="the cases (default %(default)s)")


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """--system, --split and --trials, alike at every door."""
    parser.add_argument("--system", metavar="MODULE:NAME",
                        help=f"who answers (default {DEFAULT_SYSTEM}, or what the log says)")
    parser.add_argument("--split", help=f"which cases (default {DEFAULT_SPLIT}, or what the log says)")
    parser.add_argument("--trials", type=whole_number, metavar="K",
                        help=f"trials of every case (default {DEFAULT_TRIALS}, or what the log says)")
