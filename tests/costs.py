"""What a command costs: the seconds of a processor and the memory that a command takes, in a process of its own.

The memory is the most that was resident since the process began, so that what it was started from does not count.
"""
from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.commands import PYTHON, ROOT, Told

_MEASURED = """
import atexit, runpy, sys, time
def tell():
    lines = open("/proc/self/status").read().splitlines()
    peak = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    open(sys.argv[0] + ".cost", "w").write(f"{time.process_time()} {int(peak) * 1024}")
own, command, *flags = sys.argv[1:]
sys.argv = [command, *flags]
atexit.register(lambda: (sys.argv.__setitem__(0, own), tell()))
sys.path.insert(0, command.rpartition("/")[0])
runpy.run_path(command, run_name="__main__")
"""
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command told, and what that took: seconds of a processor, and bytes of memory at most."""

    told: Told
    cpu_s: float
    peak: int


def cost_of(folder: Path, name: str, *flags: str | Path) -> Cost:
    """Run a command in a folder, as `tests.commands.command` does, and measure it (Linux only)."""
    own = folder / "measured"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OLLAMA"))}
    found = subprocess.run(
        [*PYTHON, "-c", _MEASURED, str(own), str(ROOT / name), *map(str, flags)], cwd=folder, capture_output=True,
        check=False, env={**kept, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=600)
    cpu_s, peak = own.with_name("measured.cost").read_text(encoding="ascii").split()
    own.with_name("measured.cost").unlink()
    return Cost(Told(found.returncode, found.stdout.decode(), found.stderr.decode()), float(cpu_s), int(peak))
