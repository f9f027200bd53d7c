"""What every command does alike: flags, one-line errors, exit codes. Cheap to import: argparse and nothing else.

Exit codes: 0 done; 1 the answer is "no"; 2 bad flags, files, tasks; 3 the surroundings; 130 and 143 after a signal;
141 stdout was closed.
"""
from __future__ import annotations

import argparse
import io
import math
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from benchkit import VERSION

if TYPE_CHECKING:
    from benchkit.basics.command import Command
    from benchkit.basics.values import Shard
    from benchkit.running.workload import RunContext

COMMANDS_OF_THE_KIT = ("bench.py", "harness.py", "report.py", "outputs_digest.py", "board.py")
_OFFERED = re.compile(rf"\bpython3 ({'|'.join(map(re.escape, COMMANDS_OF_THE_KIT))})(?!\S)")
DONE, NO = 0, 1
CLOSED_STDOUT = 141


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line and exit code 2; flags are never abbreviated.

    `twice` says what to do in place of giving a flag twice.
    """

    def __init__(self, prog: str, description: str | None = None, twice: Mapping[str, str] | None = None,
                 **more: Any) -> None:
        self._twice = twice or {}
        super().__init__(prog=prog, description=description, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        self.add_argument("--version", action="version", version=f"{prog.split()[0]} {VERSION}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or version as any story; argparse's own way hides a full disk and a reader that has gone."""
        def story() -> int:
            put(message)
            return DONE

        if file is not sys.stdout:
            super()._print_message(message, file)
        elif code := run(self.prog, story):
            self.exit(code)

    def error(self, message: str) -> NoReturn:
        """One line on stderr, exit code 2."""
        self.exit(2, f"{self.prog}: {one_line(message)} ({placed(f'python3 {self.prog}')} --help lists the flags)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, but a flag that is given twice is refused, for it is not clear which of the two is meant.

        So is what is left over, with the flags that may be meant.
        """
        words = sys.argv[1:] if args is None else args
        for word in words:
            # bytes that are no text come as halves of surrogate pairs
            if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
                self.error(f"the argument {word} is no UTF-8, and no file of the kit could hold it")
        flags = self.flags_in(words)
        for flag in flags:
            if flags.count(flag) > 1:
                self.error(f"{flag} is given {flags.count(flag)} times; {self._twice.get(flag, 'give it once')}")
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._nearest(unknown)}")
        return known, unknown

    def _nearest(self, words: Sequence[str]) -> str:
        """What may be meant by flags that there are not, as the end of a complaint; nothing where none is near."""
        from difflib import get_close_matches
        names = {flag.lstrip("-"): flag for flag in self._option_string_actions}  # hyphens are alike in all of them
        meant = [word.partition("=")[0].lstrip("-") for word in words if word.startswith("-")]
        near = [names[name] for word in meant for name in get_close_matches(word, names, 1)]
        return f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""

    def flags_in(self, words: Sequence[str]) -> list[str]:
        """The flags of this parser among the words of a command, as often as they stand there."""
        # no value can be mistaken for a flag: argparse takes none that begins with two hyphens
        before = list(words[:words.index("--")] if "--" in words else words)
        return [flag for flag in (word.partition("=")[0] for word in before) if flag in self._option_string_actions]

    def refuse_ignored(self, words: Sequence[str], mode: str, heeded: Collection[str]) -> None:
        """Complain of flags that a mode does not heed, by name."""
        ignored = [flag for flag in self.flags_in(words) if flag not in (mode, *heeded)]
        if ignored:
            self.error(f"{mode} does not heed {', '.join(ignored)}; leave {'it' if len(ignored) == 1 else 'them'} out")


def placed(text: str) -> str:
    """A sentence of the kit: where it offers a command (`python3 bench.py ...`), that as a person would type it here.

    Modules name commands by their bare names, for they do not know where a person stands.
    """
    from benchkit.basics.command import shell_word
    folder, command = os.path.split(sys.argv[0])
    if not folder or command not in COMMANDS_OF_THE_KIT:
        return text
    return _OFFERED.sub(lambda found: f"python3 {shell_word(os.path.join(folder, found[1]))}", text)


def parsed(parser: Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """What was typed: the flags; `start`, on the monotonic clock; and `words`, the command and what stood behind it."""
    start = time.monotonic()
    options: argparse.Namespace = parser.parse_args(argv)
    options.start, options.words = start, (typed(parser.prog, argv), *(sys.argv[1:] if argv is None else argv))
    return options


def command_of(options: argparse.Namespace, shard: Shard | None = None) -> Command:
    """The command as it was typed; outside of its job array, `--shard auto` would say nothing any more."""
    from benchkit.basics.command import Command
    command = Command(options.words[0], options.words[1:])
    return command if shard is None else command.having("--shard", str(shard))


def run_context(options: argparse.Namespace, *, is_quiet: bool = False) -> RunContext:
    """What surrounds a run in this process."""
    from benchkit.basics.clock import Clock, StopRequest
    from benchkit.running.workload import RunContext
    return RunContext(folders(), options.start, say, None if is_quiet else sys.stderr, Clock(), StopRequest())


def one_line(text: str) -> str:
    """The text on one line, control characters shown."""
    from benchkit.basics.texts import shown_line
    return shown_line(text, most=2000)


def as_process(main: Callable[[], int]) -> int:
    """Run a command's main as the process; what comes before its story ends without a traceback, too.

    That is Ctrl-C, which ends it by the signal, and want of memory.
    """
    try:
        import signal
        # a shell that starts something in the background may have it ignored, and then it stays so
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        return main()
    except (MemoryError, ImportError) as error:
        return _failed_for_want_of_memory(os.path.basename(sys.argv[0]), error)


def run(prog: str, story: Callable[[], int]) -> int:
    """Tell the story of a command; errors become one line on stderr and the exit code."""
    _mend_streams()
    from benchkit.basics.clock import signals_as_interrupt
    from benchkit.basics.errors import KitError
    try:
        with signals_as_interrupt(os._exit):
            code = story()
            return code if _flushed() else CLOSED_STDOUT
    except KitError as error:
        return _failed(prog, str(error), error.exit_code)
    except BrokenPipeError:
        _leave_stdout()
        return CLOSED_STDOUT
    except KeyboardInterrupt:
        return _failed(prog, "stopped by SIGINT", 130)
    except (MemoryError, RuntimeError, ImportError) as error:
        return _failed_for_want_of_memory(prog, error)
    except OSError as error:
        return _failed(prog, f"{error.strerror or type(error).__name__}"
                             f"{f': {error.filename}' if error.filename else ''}; nothing more was written", 3)


def _failed_for_want_of_memory(prog: str, error: Exception) -> int:
    """One line and 3 where there is no memory for a value, a thread or a library of Python's own; else the error.

    Nothing is imported here: that could fail for the same want.
    """
    words = str(error)
    is_library = isinstance(error, ImportError) and ("failed to map" in words or "allocate" in words)
    if not (is_library or isinstance(error, MemoryError) or words == "can't start new thread"):
        raise error
    if sys.stderr is not None:
        print(f"{prog}: there is not enough memory, or no room for another thread (ulimit -v, ulimit -u); what was "
              "recorded stays, and the same command goes on", file=sys.stderr, flush=True)
    return 3


def _failed(prog: str, message: str, code: int) -> int:
    try:
        _flushed()
    except OSError:
        _leave_stdout()
    say(f"{prog}: {message}")
    return code


def _flushed() -> bool:
    """Put out what was printed; False if its reader has gone (`| head`). Raises OSError where a disk is full."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        return True
    except BrokenPipeError:
        _leave_stdout()
        return False
    except OSError:
        _leave_stdout()
        raise


def _leave_stdout() -> None:
    # what is left in its buffer must not raise again when Python ends
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _mend_streams() -> None:
    """Any text can be printed, whatever the locale; a stream that was closed at the start takes everything.

    An unbuffered one (python3 -u, PYTHONUNBUFFERED) gets a buffer of a line: without any, what a full disk takes of a
    line counts as all of it, and the rest is lost without a word.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        try:
            stream.reconfigure(errors="backslashreplace")
            is_mended = not isinstance(stream.buffer, io.RawIOBase)
        except OSError:
            is_mended = False  # it was no pipe when it was opened, and takes no seek now
        if not is_mended:
            setattr(sys, name, open(stream.fileno(), "w", buffering=1, encoding=stream.encoding,  # noqa: SIM115 - as above
                                    errors="backslashreplace", closefd=False))


def say(line: str) -> None:
    """A line for the person who waits: stderr."""
    if sys.stderr is None:
        return
    try:
        print(one_line(placed(line)), file=sys.stderr, flush=True)
    except OSError:
        # nobody is there to be told; a run that records goes on
        return


def put(text: str) -> None:
    """A text on stdout, control characters shown: whatever a stranger's file says, no terminal is sent them.

    Line by line, for an unbuffered stdout takes a part of one large write for the whole of it.
    """
    from benchkit.basics.texts import shown
    for line in shown(text).splitlines(keepends=True):
        sys.stdout.write(line)


def typed(name: str, argv: Sequence[str] | None) -> str:
    """A command of the kit, named as a person would where they typed this command (`argv`: None, so sys.argv)."""
    return name if argv is not None else os.path.join(os.path.dirname(sys.argv[0]), name)


def path(text: str) -> Path:
    """A flag as a path."""
    return Path(text)


def folders() -> tuple[Path, Path]:
    """Where the modules of the user are looked for: the working folder, then beside the commands."""
    return Path.cwd(), Path(__file__).resolve().parent.parent


def whole_number(text: str) -> int:
    """A flag's whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 1 to 999,999,999")
    return int(text)


def seconds(text: str) -> float:
    """A flag's seconds: from a millisecond to 30 years, so that every clock and every log can hold them."""
    number = _number(text)
    if not 0.001 <= number <= 1e9:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds, from 0.001 to 1e9")
    return number


def _number(text: str) -> float:
    """The number in a text; NaN, which no range holds, if there is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def fraction(text: str) -> float:
    """A flag's number from 0 to 1."""
    number = _number(text)
    if not 0 <= number <= 1:
        points = f": {number:g} points (or %) are {number / 100:g}" if 1 < number <= 100 else ""
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 0 to 1{points}")
    return number


PART_OF_AN_ARRAY = ("(auto: the part of this task of a Slurm or Kubernetes job array; auto/N: of an array of N, of "
                    "which some tasks are run again)")
DEFAULT_TASK, DEFAULT_CASES, DEFAULT_SPLIT = "triage_task", "cases.json", "development"
DEFAULT_SYSTEM, DEFAULT_TRIALS = "model_triage:gemma", 10


def add_task_flags(parser: argparse.ArgumentParser) -> None:
    """--task and --cases, alike at every command; a flag not given is None, so that a log can fill it in."""
    parser.add_argument("--task", metavar="MODULE", help=f"the task (default {DEFAULT_TASK}, or what the log says)")
    parser.add_argument("--cases", metavar="FILE", default=DEFAULT_CASES, help="the cases (default %(default)s)")


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """--system, --split and --trials, alike at every command."""
    parser.add_argument("--system", metavar="MODULE:NAME",
                        help=f"who answers (default {DEFAULT_SYSTEM}, or what the log says)")
    parser.add_argument("--split", help=f"which cases (default {DEFAULT_SPLIT}, or what the log says)")
    parser.add_argument("--trials", type=whole_number, metavar="K",
                        help=f"trials of every case (default {DEFAULT_TRIALS}, or what the log says)")
