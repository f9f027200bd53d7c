"""The commands as a person uses them: in a folder of their own, typed as commands, against a fake Ollama.

`Workflow` types commands in this process (fast) or starts them as processes (to be killed, signalled, watched).
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import bench
import board
import harness
import outputs_digest
import report
from benchkit.basics.json_text import close_line, is_whole
from tests.commands import HANGS_S, PYTHON, ROOT, Told
from tests.fake_ollama import FakeOllama
from tests.test_tasks_task import InAFolder

COMMANDS_OF_THE_KIT: dict[str, Callable[[list[str] | None], int]] = {
    "bench.py": bench.main, "board.py": board.main, "harness.py": harness.main, "report.py": report.main,
    "outputs_digest.py": outputs_digest.main}
MODEL = "model_triage:smollm2:135m"
NOWHERE = "127.0.0.1:1"
"""An address where no server is: no test may find the one of this machine."""


def typed(words: Sequence[str], *, by_path: bool = False) -> Told:
    """Type `COMMAND FLAG ...`, in this process; `by_path`: as from another folder, with the path of the command."""
    name, *flags = words
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), mock.patch.object(
            sys, "argv", [str(ROOT / name), *flags] if by_path else sys.argv):
        try:
            code = COMMANDS_OF_THE_KIT[name](None if by_path else flags)
        except SystemExit as left:
            code = int(str(left.code))
    return Told(code, stdout.getvalue(), stderr.getvalue())


def typed_in(folder: Path, *words: str) -> Told:
    """Type `COMMAND FLAG ...` in a folder, in this process: that is 10 times as fast as a process of its own."""
    with contextlib.chdir(folder):
        return typed(words)


class Workflow(InAFolder):
    """A folder with three cases of the inbox (and one of its test split), and the commands."""

    def setUp(self) -> None:
        super().setUp()
        every = json.loads((ROOT / "cases.json").read_text(encoding="utf-8"))["cases"]
        self.cases = [case for case in every if case["split"] == "development"][:3]
        self.ids = [case["id"] for case in self.cases]
        self.put_cases([*self.cases, next(case for case in every if case["split"] == "test")])
        self.log, self.recording = self.folder / "recorded" / "smol.jsonl", self.folder / "recorded" / "smol.json"
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        self.enterContext(mock.patch.dict(os.environ, {"OLLAMA_HOST": NOWHERE}))

    def put_cases(self, cases: list[dict[str, Any]]) -> None:
        """Write cases.json."""
        (self.folder / "cases.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Put a changed copy of a module of the kit into the folder, where it comes before the kit's own."""
        path = self.folder / name
        text = (path if path.exists() else ROOT / name).read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")

    # ------------------------------------------------------------------------------- typing commands

    def type(self, command: str) -> Told:
        """Type `python3 COMMAND ...` (or `COMMAND ...`), in this process."""
        words = shlex.split(command)
        return typed(words[1:] if words[0] == "python3" else words)

    def well(self, command: str, code: int = 0) -> str:
        """Type a command that must end well, with no more on stderr than the files it wrote; its stdout."""
        told = self.type(command)
        more = [line for line in told.stderr.splitlines() if not line.startswith("written: ")]
        self.assertEqual((code, []), (told.code, more), told.stdout)
        return told.stdout

    def refused(self, command: str, code: int, *words: str) -> str:
        """Type a command that must be refused in one line, with nothing changed; that line."""
        before = self.files()
        told = self.type(command)
        self.assertEqual((code, ""), (told.code, told.stdout), told)
        self.assertRegex(told.stderr, r"\A[a-z_]+\.py( [a-z]+)?: [^\n]*\n\Z")
        for word in words:
            self.assertIn(word, told.stderr)
        self.assertEqual(before, self.files())
        return told.stderr

    def files(self) -> dict[str, bytes]:
        """Every file of the folder."""
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def offered(self, stdout: str, what: str) -> str:
        """A command that a command offered: the rest of the line that begins with `what`."""
        lines = [line.strip() for line in stdout.splitlines() if line.startswith(f"  {what}  ")]
        self.assertEqual(1, len(lines), stdout)
        return lines[0].removeprefix(what).strip()

    # ----------------------------------------------------------------------------------- processes

    def start(self, *flags: str, prefix: tuple[str, ...] = (), **more: Any) -> subprocess.Popen[bytes]:
        """bench.py as a process of its own; killed at the end if it still runs."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        process = subprocess.Popen(
            [*prefix, *PYTHON, str(ROOT / "bench.py"), *flags], cwd=self.folder,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self.addCleanup(stream.close)
        return process

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, however busy the machine is."""
        end = time.monotonic() + HANGS_S
        while not is_so():
            if time.monotonic() > end:
                self.fail("it did not come to be so")
            time.sleep(0.01)

    def ended(self, process: subprocess.Popen[bytes]) -> Told:
        """What a process told, once it has ended."""
        stdout, stderr = process.communicate(timeout=HANGS_S)
        return Told(process.returncode, stdout.decode(), stderr.decode())

    # ----------------------------------------------------------------------------------- looking at

    def lines(self, log: Path | None = None) -> list[dict[str, Any]]:
        """The whole lines of a log."""
        data = (log or self.log).read_bytes() if (log or self.log).exists() else b""
        return [json.loads(line) for line in data.splitlines() if is_whole(line)]

    def trials(self, log: Path | None = None) -> list[str]:
        """The trials of a log in order, as `case trial`."""
        return [f"{line['case']} {line['trial']}" for line in self.lines(log) if line["kind"] == "trial"]

    def every_cell(self, trials: int) -> list[str]:
        """All cells in the order of running."""
        return [f"{case} {trial}" for trial in range(1, trials + 1) for case in self.ids]

    def json(self, path: Path | str) -> Any:
        """A file's JSON."""
        return json.loads((self.folder / path).read_bytes())

    def alter(self, number: int, **fields: Any) -> None:
        """Change fields of a line of the log, and close it again."""
        lines = self.log.read_bytes().splitlines(keepends=True)
        value = json.loads(lines[number])
        value.pop("sum")
        lines[number] = close_line({**value, **fields})
        self.log.write_bytes(b"".join(lines))


class WorkflowWithServer(Workflow):
    """The same, with a fake Ollama that answers."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOllama())
        self.flags = f"--system {MODEL} --log recorded/smol.jsonl --host {self.server.host} --trials 2"

    def bench(self, more: str = "", flags: str | None = None) -> str:
        """A command line for bench.py against the fake server."""
        return f"python3 bench.py {self.flags if flags is None else flags} {more}".strip()

    def asked(self) -> list[str]:
        """The chats so far as `case trial`; a case is known by its subject."""
        subjects = {case["input"]["subject"]: case["id"] for case in self.cases}
        return [f"{next(name for subject, name in subjects.items() if subject in seen.body['messages'][-1]['content'])}"
                f" {seen.body['options']['seed'] - 1000}" for seen in self.server.chats()]

    def assert_once_each(self, trials: int) -> None:
        """Every cell is in the log, none twice."""
        self.assertEqual(Counter(self.every_cell(trials)), Counter(self.trials()))
