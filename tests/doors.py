"""Running a door as a person does: a process of its own, in a folder, with what it prints and returns."""
from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Told:
    """What a door printed, and its exit code."""

    code: int
    stdout: str
    stderr: str


def door(folder: Path, name: str, *flags: str | Path, environment: dict[str, str] | None = None) -> Told:
    """Run a door in a folder, isolated from the environment of the tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OLLAMA"))}
    found = subprocess.run(
        [sys.executable, str(ROOT / name), *map(str, flags)], cwd=folder, capture_output=True, check=False,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8", **(environment or {})}, timeout=60)
    return Told(found.returncode, found.stdout.decode(), found.stderr.decode())
