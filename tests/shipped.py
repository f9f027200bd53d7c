"""What the kit comes with in `recorded/` and `runs/`: whoever uses it adds files there, and tests look past those."""
from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.commands import ROOT

SHIPPED: Mapping[str, frozenset[str]] = {
    "recorded": frozenset({
        "most-common.json", "most-common.jsonl", "qwen2.5-coder-partial.json", "qwen2.5-coder-partial.jsonl",
        "qwen2.5-coder.json", "qwen2.5-coder.jsonl", "recordings.json", "smollm2-llama-cpp.jsonl", "smollm2.json",
        "smollm2.jsonl"}),
    "runs": frozenset({
        "most-common.json", "qwen2.5-coder.json", "report.json", "small_gated", "small_single", "smollm2.json"}),
    "runs/small_gated": frozenset({"20261130T140229Z"}),
    "runs/small_single": frozenset({"20261130T134337Z"}),
}
"""The names in each folder."""
_MADE_BY_TOOLS = shutil.ignore_patterns(".git", "__pycache__", ".mypy_cache", ".ruff_cache", "*.pyc", "_llm_cache")


def not_shipped(folder: str, names: list[str]) -> set[str]:
    """The names in a folder of the tree that a copy of what is shipped leaves out (`ignore` of shutil.copytree)."""
    place = Path(folder).relative_to(ROOT).as_posix()
    return set(_MADE_BY_TOOLS(folder, names)) | (set(names) - SHIPPED.get(place, frozenset(names)))


def copy_of_the_tree(folder: Path) -> Path:
    """A copy of all that is shipped, in a folder that is not there yet."""
    return Path(shutil.copytree(ROOT, folder, ignore=not_shipped))
