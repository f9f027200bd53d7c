"""This machine, as far as Python and the system tell it."""
from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from benchkit.basics.values import JSON

CPUINFO = Path("/proc/cpuinfo")


def environment(server: Mapping[str, JSON]) -> dict[str, JSON]:
    """What a session or a run record says of this machine, and of the server as the system tells it."""
    return {"python": platform.python_version(), "platform": platform.platform(), "processor": processor(CPUINFO),
            "processors": os.cpu_count(), **server}


def processor(cpuinfo: Path) -> str:
    """The model name of the first processor where Linux tells it, else what Python knows."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.machine()
