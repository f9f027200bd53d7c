"""board.py as a person uses it: a folder with a small pack, a job and robots, and commands typed.

Every call of a robot stands in calls.txt, so that a test can say how many there were.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import board
from benchkit.basics.json_text import close_line

# a test puts the modules back that were there before it: those of the kit are loaded once, and not in every test
from benchkit.boards import stories  # noqa: F401
from tests.boards_packs import JUDGES, PACK, PackTest, put_pack
from tests.commands import PYTHON, ROOT, Told

ROBOTS = '''\
import os
import re
import time

from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply, Timings, Usage
from benchkit.systems.system import Loaded


class Robot:
    def __init__(self, name):
        self.name = name

    def open(self):
        self.note("open")
        return {"server": "robots", "server_version": "1"}

    def settings(self):
        return {"name": self.name, "temperature": 1.0}

    def warm(self):
        return Loaded(0.0)

    def answer(self, request):
        self.note(request.case)
        if self.name == "slow":
            time.sleep(0.02)
        number = int(re.search(r"[0-9]+", request.messages[0]["content"]).group())
        right = "even" if number % 2 == 0 else "odd"
        if self.name == "late" and number == 4:
            raise TrialError("Timeout", "no whole reply within 120 s", "ev", latency_s=120.0)
        if self.name == "buyer" and len(request.messages) < 3:
            right = "hint"
        said = {"rude": "damn", "key": os.environ.get("ROBOT_KEY") and right}.get(self.name, right)
        return Reply(said or "no key", usage=Usage(10, 2), timings=Timings(output_s=0.5), latency_s=0.25)

    def close(self):
        pass

    def note(self, what):
        with open("calls.txt", "a", encoding="utf-8") as file:
            file.write(self.name + " " + what + "\\n")


def system(name, options):
    return Robot(name)
'''
JOB = {"pack": '"tiny"', "count": "6", "trials": "2", "seed": "1",
       "systems": '["baselines:even", "robots:good"]'}
GATE = "[batch_gate]\nleast_questions = 4\nmost_one_answer = 0.6\nmost_blind_score = 0.9\n"


_ROW = re.compile(r"^  \d+\. (.+?)  +(clean|open|no hard gate|not judged|\d+ of \d+)  +(\S+(?: to \S+)?)  +(\S+)"
                  r"  +(\S+ to \S+)  +(\d+ of \d+)$", re.MULTILINE)


def ranking(screen: str) -> list[tuple[str, str, str, str, str, str]]:
    """The rows of a ranking on a terminal: system, gate failures, headline, rank, interval, judged."""
    return _ROW.findall(screen)


def unfolded(screen: str) -> str:
    """What a terminal was told, as one line: where lines end says nothing."""
    return " ".join(screen.split())


def job_text(tables: str = GATE, **keys: str) -> str:
    """A job file; keys are TOML, an empty one is left out."""
    return "".join(f"{key} = {value}\n" for key, value in {**JOB, **keys}.items() if value) + "\n" + tables


class BoardCommand(PackTest):
    """A folder with packs/tiny, jobs/tiny.toml and robots.py, which is also the working folder."""

    _kept: ClassVar[dict[object, tuple[Told, dict[Path, bytes]]]] = {}

    def setUp(self) -> None:
        super().setUp()
        # no test here cuts the power: those of the disk and of the faults do
        for call in ("fsync", "fdatasync"):
            self.enterContext(mock.patch.object(os, call, create=True))
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.home)
        put_pack(self.home)
        self.job()
        (self.home / "robots.py").write_text(ROBOTS, encoding="utf-8")

    def job(self, name: str = "tiny", tables: str = GATE, **keys: str) -> None:
        """Write a job."""
        folder = self.home / "jobs"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text(job_text(tables, **keys), encoding="utf-8")

    def rewrite(self, path: Path | str, *changes: tuple[str, str], count: int = -1) -> None:
        """Change a text file of the folder: each of these must be in it."""
        path = self.home / path
        text = path.read_text(encoding="utf-8")
        for was, now in changes:
            self.assertIn(was, text)
            text = text.replace(was, now, count)
        path.write_text(text, encoding="utf-8")
        sys.modules.pop(path.stem, None)

    def pack(self, **changes: tuple[str, str]) -> None:
        """The pack as it was, but for a change of a part of it (`pack`, `judges` or `words`)."""
        texts = {"pack": PACK, "judges": JUDGES}
        for part, (was, _now) in changes.items():
            self.assertIn(was, texts[part])
        put_pack(self.home, **{part: texts[part].replace(*change) for part, change in changes.items()})

    def ask_3(self, more: str) -> None:
        """Have the pack ask something more of the number 3."""
        asks = 'ask = f"Is {number} even or odd?"'
        self.pack(pack=(asks, f'{asks} + (" {more}" if number == 3 else "")'))

    def type(self, command: str) -> Told:
        """Type `python3 board.py ...`, in this process."""
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                code = board.main(shlex.split(command))
            except SystemExit as left:
                code = int(str(left.code))
        return Told(code, stdout.getvalue(), stderr.getvalue())

    def process(self, *words: str) -> subprocess.Popen[str]:
        """`python3 board.py ...` as a process of its own, which ends with the test at the latest."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        process = subprocess.Popen(
            [*PYTHON, str(ROOT / "board.py"), *words], cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**kept, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(process.kill)
        return process

    def well(self, command: str, code: int = 0) -> str:
        """What a command prints that ends with this exit code."""
        told = self.type(command)
        self.assertEqual(code, told.code, told.stdout + told.stderr)
        return told.stdout

    def says(self, command: str, *words: str, code: int = 0, never: str = "") -> str:
        """The same of a command that has to print all these words, wherever lines are folded, and not others."""
        told = self.well(command, code)
        for one in words:
            self.assertIn(one, told if "\n" in one else unfolded(told))
        if never:
            self.assertNotIn(never, unfolded(told))
        return told

    def ran(self, command: str = "run jobs/tiny.toml") -> str:
        """What the first command of a test prints; the same one in the same folder is typed once, and its files kept.

        It stands for what a test begins with: a batch that a run has left.
        """
        before = _files_in(self.home)
        key = (command, *sorted((str(path.relative_to(self.home)), data) for path, data in before.items()))
        if key not in self._kept:
            told = self.type(command)
            self._kept[key] = told, {path.relative_to(self.home): data for path, data in _files_in(self.home).items()
                                     if before.get(path) != data}
        told, files = self._kept[key]
        for path, data in files.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_bytes(data)
        self.assertEqual(0, told.code, told.stdout + told.stderr)
        return told.stdout

    def refused(self, command: str, code: int = 2) -> str:
        """The one line that a refused command says; nothing else may have changed."""
        before = self.files()
        told = self.type(command)
        self.assertEqual((code, ""), (told.code, told.stdout), told.stderr)
        self.assertEqual(1, told.stderr.count("\n"), told.stderr)
        self.assertNotIn("Traceback", told.stderr)
        self.assertEqual(before, self.files())
        return told.stderr

    def refuses(self, command: str, *words: str, code: int = 2) -> None:
        """A command is refused with all these words."""
        told = self.refused(command, code)
        for one in words:
            self.assertIn(one, told)

    def board_says(self, *words: str, never: str = "") -> None:
        """Both files of the newest board say all this."""
        for name in ("board.md", "board.html"):
            text = self.text(name)
            for one in words:
                self.assertIn(one, text, name)
            if never:
                self.assertNotIn(never, text, name)

    def files(self) -> dict[str, bytes]:
        """Every file below runs/, and what is in it."""
        return {str(path.relative_to(self.home)): data for path, data in _files_in(self.home / "runs").items()}

    def batches(self, job: str = "tiny") -> list[Path]:
        """The folders of the batches of a job, oldest first."""
        return sorted((self.home / "runs" / job).iterdir(), key=lambda path: (len(path.name), path.name))

    def batch(self, job: str = "tiny") -> Path:
        """The newest of them."""
        return self.batches(job)[-1]

    def text(self, name: str) -> str:
        """A file of the newest batch, without the backslashes of Markdown."""
        return (self.batch() / name).read_text(encoding="utf-8").replace("\\", "")

    def batch_json(self, job: str = "tiny") -> dict[str, Any]:
        """What batch.json of the newest batch says."""
        found: dict[str, Any] = json.loads((self.batch(job) / "batch.json").read_text(encoding="utf-8"))
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The rows of eval.jsonl of the newest batch."""
        return self.lines("eval.jsonl")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The values of the lines of a file of the newest batch."""
        return [json.loads(line) for line in (self.batch() / name).read_text(encoding="utf-8").splitlines()]

    def change_lines(self, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
        """Change the values of a file's lines (a function of the list), each closed anew by its own sum."""
        values = self.lines(name)
        for value in values:
            del value["sum"]
        change(values)
        (self.batch() / name).write_bytes(b"".join(map(close_line, values)))

    def calls(self) -> Counter[str]:
        """How often each robot was asked; opening it is no question."""
        return Counter(line.split()[0] for line in self._noted() if not line.endswith(" open"))

    def opened(self) -> int:
        """How often a robot was opened."""
        return sum(line.endswith(" open") for line in self._noted())

    def _noted(self) -> list[str]:
        path = self.home / "calls.txt"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts}
