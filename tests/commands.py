"""Running a command as a person does: a process of its own, in a folder, with what it prints and returns."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PYTHON = (sys.executable, "-S")
"""What runs a command: without `site`, since a command needs nothing that is installed, and starts sooner."""
HANGS_S = 600.0
"""So long a test waits for what should have come long ago: only for ever is too long, however busy the machine is."""
LATE_S = 30.0
"""What ends in a moment has ended by then, however busy the machine is; what waits for a silent server has not."""
PYTHON3 = f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n'
"""The same as a script that a shell can find as `python3`."""


_KEPT = {"benchkit", "tests", *sys.stdlib_module_names}


@contextmanager
def modules_of_a_user() -> Iterator[None]:
    """What is imported within is forgotten behind it, and what was forgotten is there again; but for the kit itself.

    To read its modules again for each test would take longer than most tests do.
    """
    def found() -> dict[str, ModuleType]:
        return {name: module for name, module in sys.modules.items() if name.partition(".")[0] not in _KEPT}

    before, path = found(), list(sys.path)
    try:
        yield
    finally:
        for name in found().keys() - before.keys():
            del sys.modules[name]
        sys.modules.update(before)
        sys.path[:] = path


@dataclass(frozen=True, slots=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    stdout: str
    stderr: str


def cli(folder: Path, name: str, *flags: str | Path, environment: dict[str, str] | None = None) -> Told:
    """Run a command in a folder, isolated from the environment of the tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OLLAMA"))}
    found = subprocess.run(
        [*PYTHON, str(ROOT / name), *map(str, flags)], cwd=folder, capture_output=True, check=False,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8", **(environment or {})},
        timeout=HANGS_S)
    return Told(found.returncode, found.stdout.decode(), found.stderr.decode())


def put_python3(folder: Path) -> None:
    """Make a folder, for the PATH of a shell, whose `python3` is this one."""
    folder.mkdir(exist_ok=True)
    python = folder / "python3"
    python.write_text(PYTHON3, encoding="utf-8")
    python.chmod(0o755)
